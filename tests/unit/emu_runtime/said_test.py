"""What programs are told that the runtime cannot serve, each line once. usage: said_test.py CASE PROGRAM [ARGUMENT]..., with GSAN_LAUNCH in the
environment where the program runs under it."""
import os
import subprocess
import sys

case, *program = sys.argv[1:]


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def once(said, *parts):
    lines = [line for line in said.splitlines() if all(part in line for part in parts)]
    assert len(lines) == 1, said


rc, out, said = run(*program)
if case == "static":  # NVIDIA's runtime inside the program
    assert "operation not supported" in out, out
    once(said, "tables that only NVIDIA's driver has", "-cudart shared")
    rc, out, said = run(os.environ["GSAN_LAUNCH"], "--device", "emu", "--report", "static-report", *program)
    assert rc == 67, said
    once(said, "tables that only NVIDIA's driver has", "-cudart shared")
elif case == "machine_code":  # no PTX in the program
    assert "no kernel image is available" in out, out
    once(said, "holds no PTX for sm_90")
elif case == "linked":  # nvcc -rdc=true: of PTX alone, which is linked when it is loaded
    assert (rc, out, said) == (0, "no error\n", ""), (rc, out, said)
else:
    assert rc == 0, said
    for name in ("cudaGraphConditionalHandleCreate", "cudaMallocArray", "cudaDeviceGraphMemTrim"):
        once(said, name, "cudaErrorNotSupported")

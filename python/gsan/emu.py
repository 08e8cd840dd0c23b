"""Runs a Python program on the emulated device, with NumPy arrays or CPU tensors of torch as arguments of its Triton kernels:

    python -m gsan.emu PROGRAM [ARGUMENTS]

which is `gsan-launch --device emu python -m gsan.emu PROGRAM [ARGUMENTS]`: write that to give options, or for several ranks.

Each launch copies its arrays to the device, waits, and copies them back (gsan.arrays), so that launches follow one another as in
one stream. Where a program asks Triton for torch's device, it is the CPU. triton.autotune takes its first configuration: times
mean nothing here.
"""
import os
import runpy
import sys
import traceback

from gsan import emulated, launcher

USAGE = 2  # the status of a call that is wrong


def fail(text, status=1):
    print(f"gsan.emu: {text}", file=sys.stderr)
    sys.exit(status)


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else USAGE
    if arguments[0].startswith("-"):
        fail(f"{arguments[0]}: options are gsan-launch's: gsan-launch [OPTIONS] --device emu python -m gsan.emu PROGRAM [ARGUMENTS]", USAGE)
    if os.path.isdir(arguments[0]):
        fail(f"{arguments[0]}: is a directory, not a program; usage: python -m gsan.emu PROGRAM [ARGUMENTS]", USAGE)
    if not os.path.isfile(arguments[0]):
        fail(f"{arguments[0]}: no such file; usage: python -m gsan.emu PROGRAM [ARGUMENTS]", USAGE)
    if "GSAN_SOCKET" not in os.environ:  # nobody has started us under gsan-launch yet
        command = launcher.find()
        os.execv(command[0], [*command, "--device", "emu", "--", sys.executable, "-m", "gsan.emu", *arguments])
    if os.environ.get("GSAN_DEVICE") != "emu":
        fail("gsan-launch runs this on a GPU: give it --device emu, or start the program without gsan.emu")
    emulated.await_triton()
    emulated.follow_children()
    sys.argv, sys.path[0] = arguments, os.path.dirname(os.path.abspath(arguments[0]))
    try:
        runpy.run_path(arguments[0], run_name="__main__")
    except (AssertionError, RuntimeError) as error:  # torch says of its device by one or the other, as it was built
        if "torch" not in sys.modules or "cuda" not in str(error).lower():
            raise
        traceback.print_exc()
        fail("torch has no GPU here: make tensors with device=\"cpu\", which kernels take")
    return 0


if __name__ == "__main__":
    sys.exit(main())

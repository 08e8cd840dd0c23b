"""gsan-nvcc: what it gives a fake nvcc (arguments), and what real ones make of it (compiled, cmake, linked). usage: nvcc_test.py CASE PROGRAM..."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
FAKE = os.path.join(HERE, "fake")
CICC = '"$CICC_PATH/cicc" --c++17 --orig_src_file_name "a.cu" -arch compute_80 -m64 "/tmp/a.ii" -o "/tmp/a.ptx"'
LINK = 'fatbinary -64 -link "--image3=kind=elf,sm=80,file=/tmp/dlink.cubin" --embedded-fatbin="/tmp/dlink.c"'
ADDED_80, ADDED_90A = (["-gencode", f"arch=compute_{a},code=compute_{a}"] for a in ("80", "90a"))


def fatbinary(*images):
    """nvcc's own command for these images: ("elf", "90a")"""
    words = "".join(f' "--image3=kind={kind},sm={arch},file=/tmp/a.{kind}"' for kind, arch in images)
    return f'fatbinary -64 --cicc-cmdline="-ftz=0 "{words} --embedded-fatbin="/tmp/a.fatbin.c"'


# What nvcc would run, and what is added to the arguments then.
PLANS = {
    "nothing is run: --version": ([], []),
    "the preprocessor alone": (['gcc -E -x c++ "a.cu"'], []),
    "PTX alone": ([CICC], ["-lineinfo"]),
    "PTX beside machine code": ([CICC, fatbinary(("elf", "80"), ("ptx", "80"))], ["-lineinfo"]),
    "machine code alone": ([CICC, fatbinary(("elf", "80"))], ["-lineinfo", *ADDED_80]),
    "PTX of another architecture": ([CICC, fatbinary(("elf", "80"), ("ptx", "75"))], ["-lineinfo", *ADDED_80]),
    "PTX without the feature": ([CICC, fatbinary(("elf", "90a"), ("ptx", "90"))], ["-lineinfo", *ADDED_90A]),
    "several": ([CICC, fatbinary(("elf", "80"), ("elf", "90a"), ("elf", "120"), ("ptx", "120"))],
                ["-lineinfo", *ADDED_80, *ADDED_90A]),
    "two sources": ([CICC, fatbinary(("elf", "80")), CICC, fatbinary(("elf", "80"))], ["-lineinfo", *ADDED_80]),
    "lines asked for": ([CICC.replace("-m64", "-m64 -generate-line-info"), fatbinary(("elf", "80"))], ADDED_80),
    "a debugger's": ([CICC.replace("-m64", "-m64  -g "), fatbinary(("elf", "80"))], ADDED_80),
    "PTX as source": ([fatbinary(("elf", "80"))], ADDED_80),
    "compiled and linked": ([CICC, fatbinary(("elf", "80"), ("ptx", "80")), LINK], ["-lineinfo"]),
    "linked alone": ([LINK], []),
}
GIVEN = ["-c", "a b.cu", "-DTEXT=\"it's\"", "", "-Xcompiler", "-Wall,-O2", "--options-file", "x.rsp", "two\nlines", "*", "-o", "a.o"]


def need(holds, what):
    if not holds:
        sys.exit(f"nvcc_test: {what}")


def call(program, arguments, scratch, plan=(), **more):
    """Its status, what it said, and how it called the fake: a list of lists."""
    calls = os.path.join(scratch, "calls")
    environment = {"PATH": "/usr/bin:/bin", "NVCC": FAKE, "FAKE_CALLS": calls, "FAKE_PLAN": "\n".join(plan), **more}
    done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, timeout=20)
    made = [json.loads(line) for line in open(calls)] if os.path.exists(calls) else []
    if made:
        os.remove(calls)
    return done.returncode, done.stdout + done.stderr, made


def arguments(program):
    with tempfile.TemporaryDirectory() as scratch:
        for what, (plan, added) in PLANS.items():
            status, said, made = call(program, GIVEN, scratch, plan)
            need((status, said, made) == (7, "", [[*GIVEN, *added]]), f"{what}: status {status}, {said!r}, {made}")
        status, said, made = call(program, GIVEN, scratch, [CICC, fatbinary(("elf", "80"))], FAKE_REFUSES="1")
        need(made == [[*GIVEN, "-lineinfo"]] and "PTX cannot be added" in said and "compute_80" in said, f"refused: {said!r}, {made}")
        status, said, made = call(program, GIVEN, scratch, [CICC, fatbinary(("elf", "80"))], FAKE_STATUS="1")
        need((status, said, made) == (7, "", [GIVEN]), f"wrong arguments: status {status}, {said!r}, {made}")


def found(program):
    """Which nvcc: NVCC, PATH, CUDA_HOME, and never itself."""
    with tempfile.TemporaryDirectory(prefix="a b") as scratch:
        folders = {name: os.path.join(scratch, name) for name in ("own", "home/bin", "path")}
        for folder in folders.values():
            os.makedirs(folder)
        os.symlink(program, os.path.join(folders["own"], "nvcc"))
        for name, target in (("home/bin", "nvcc"), ("path", "nvcc"), ("path", "other-nvcc")):
            with open(os.path.join(folders[name], target), "w") as file:
                file.write(f'#!/bin/sh\nprintf "%s\\n" "$0"\n')
            os.chmod(os.path.join(folders[name], target), 0o755)
        home = {"CUDA_HOME": os.path.join(scratch, "home")}
        path = {"PATH": f"{folders['own']}:{folders['path']}:/usr/bin:/bin"}
        bare = {"PATH": f"{folders['own']}:/usr/bin:/bin"}
        in_path, in_home = os.path.join(folders["path"], "nvcc"), os.path.join(folders["home/bin"], "nvcc")
        for more, expected in (
                ({"NVCC": in_home, **path}, in_home), ({"NVCC": "", **path}, in_path), ({"NVCC": "", **path, **home}, in_path),
                ({"NVCC": "", **bare, **home}, in_home), ({"NVCC": "other-nvcc", **path}, os.path.join(folders["path"], "other-nvcc")),
                ({"NVCC": "gsan-nvcc", **path}, in_path), ({"NVCC": program, **path}, in_path)):
            status, said, _ = call(program, ["--version"], scratch, **more)
            need((status, said) == (0, expected + "\n"), f"{more}: status {status}, {said!r}, not {expected}")
        for wrong in ("no-such-nvcc", os.path.join(scratch, "nvcc"), folders["path"], os.path.join(folders["own"], "nvcc")):
            status, said, _ = call(program, ["--version"], scratch, **{"NVCC": wrong, **path, **home})
            need(status == 1 and f"NVCC={wrong}: set NVCC" in said, f"NVCC={wrong}: status {status}, {said!r}")


CONSUMER = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CUDA)
add_library(kernels OBJECT fat.cu)
target_compile_options(kernels PRIVATE -fatbin)
add_executable(program main.cu)
"""


def cmake(program, nvcc, printer, source):
    """CMake takes it for its CUDA compiler, and what it builds has PTX where -real says that it has none."""
    with tempfile.TemporaryDirectory() as scratch:
        for name, text in (("CMakeLists.txt", CONSUMER), ("fat.cu", open(source).read()), ("main.cu", "int main() {}\n")):
            with open(os.path.join(scratch, name), "w") as file:
                file.write(text)
        build = os.path.join(scratch, "build")
        for command in (["cmake", "-S", scratch, "-B", build, f"-DCMAKE_CUDA_COMPILER={program}", "-DCMAKE_CUDA_ARCHITECTURES=80-real;90-real"],
                        ["cmake", "--build", build]):
            done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "NVCC": nvcc}, timeout=200)
            need(done.returncode == 0, f"{command}: {done.stdout}{done.stderr}")
        holds(printer, os.path.join(build, "CMakeFiles/kernels.dir/fat.cu.o"), ["kind 1 sm_80", "kind 1 sm_90", "kind 2 sm_80", "kind 2 sm_90"])


def holds(printer, file, entries):
    """The fat binary has these entries, and its PTX for sm_90 says lines."""
    printed = subprocess.run([printer, file, "90"], capture_output=True, text=True, check=True, timeout=20).stdout
    held = sorted(" ".join(line.split()[:3]) for line in printed.splitlines() if line.startswith("kind "))
    need(held == entries and ".loc" in printed, f"{file}: {held}, not {entries}\n{printed}")


def compiled(program, nvcc, printer, source):
    with tempfile.TemporaryDirectory(prefix="a b") as scratch:
        response, out = os.path.join(scratch, "options"), os.path.join(scratch, "a.fatbin")
        with open(response, "w") as file:
            file.write("-gencode arch=compute_80,code=sm_90\n")
        one, both = ["kind 1 sm_90", "kind 2 sm_90"], ["kind 1 sm_80", "kind 1 sm_90", "kind 2 sm_80", "kind 2 sm_90"]
        for options, more, entries in ((["-arch=sm_90"], {}, one), (["-arch", "compute_80", "--gpu-code=sm_80,sm_90"], {}, both),
                                       (["-optf", response], {}, one), ([], {"NVCC_APPEND_FLAGS": "-gencode arch=compute_90,code=sm_90"}, one)):
            done = subprocess.run([program, "-fatbin", *options, source, "-o", out], capture_output=True, text=True, timeout=100,
                                  env={**os.environ, "NVCC": nvcc, **more})
            need(done.returncode == 0, f"{options}: {done.stderr}")
            holds(printer, out, entries)
        for asked in (["--version"], ["-E", source], ["--no-such-option"]):
            plain, ours = (subprocess.run([who, *asked], capture_output=True, text=True, timeout=100, env={**os.environ, "NVCC": nvcc})
                           for who in (nvcc, program))
            need((plain.returncode, plain.stdout, plain.stderr) == (ours.returncode, ours.stdout, ours.stderr), f"{asked}: {ours.stderr}")
        asked_once(program, nvcc, printer, source, scratch)


def asked_once(program, nvcc, printer, source, scratch):
    """A source on standard input is there for the real call, and -time gets the rows of that one."""
    piped, timed, rows = (os.path.join(scratch, name) for name in ("piped.fatbin", "timed.fatbin", "rows.csv"))
    for options, out, text, status in ((["-x", "cu", "-"], piped, open(source).read(), 0), (["-x", "cu", "-"], timed, "no C", 1),
                                       ([source, "-time", rows], timed, "", 0)):
        done = subprocess.run([program, "-fatbin", "-arch=sm_90", *options, "-o", out], input=text, capture_output=True, text=True, timeout=100,
                              env={**os.environ, "NVCC": nvcc})
        need(done.returncode == status, f"{options}: status {done.returncode}: {done.stderr}")
    holds(printer, piped, ["kind 1 sm_90", "kind 2 sm_90"])
    with open(rows) as file:
        phases = [line.split(" , ")[1] for line in file]
    need(phases.count("cicc") == phases.count("nvcc (driver)") == phases.count("phase name") == 1, f"-time: {phases}")


LINKED = (["-arch=sm_90"], ["-gencode", "arch=compute_90,code=sm_90"], ["-gencode", "arch=compute_90,code=compute_90"])
PRINTED = ["-3 8 8 36 14 2", "both came", "second"]


def linked(program, nvcc, launch):
    """Objects that are linked (-rdc=true), by nvlink or by the driver: what one calls of the other is checked, too."""
    first, second = (os.path.join(HERE, "linked", name + ".cu") for name in ("first", "second"))
    environment = {**os.environ, "NVCC": nvcc}
    with tempfile.TemporaryDirectory() as scratch:
        made = os.path.join(scratch, "program")

        def make(who, *options):
            done = subprocess.run([who, "-rdc=true", "-cudart", "shared", *options], capture_output=True, text=True, timeout=200, env=environment, cwd=scratch)
            need(done.returncode == 0, f"{options}: {done.stdout}{done.stderr}")

        def run(form, status):
            report = os.path.join(scratch, "report")
            done = subprocess.run([launch, "--device", "emu", "--report", report, made, form], capture_output=True, text=True, timeout=100, env=environment)
            need(done.returncode == status, f"{form}: status {done.returncode}: {done.stdout}{done.stderr}")
            with open(os.path.join(report, "summary.json")) as file:
                return done, json.load(file)

        for options in LINKED:
            make(program, *options, first, second, "-o", made)
            done, summary = run("correct", 0)
            need(sorted(done.stdout.split("\n")) == ["", *PRINTED] and not summary["coverage"]["launches_unchecked"], f"{options}: {done.stdout}{done.stderr}")
            done, summary = run("racy", 66)
            lines = {(os.path.basename(f[side]["file"]), "racy" in f[side]["source"]) for f in summary["findings"] for side in ("first", "second")}
            need(lines == {("second.cu", True)}, f"{options}: {lines}: {done.stderr}")
        make(program, *LINKED[0], "-c", first, "-o", "first.o")
        make(nvcc, *LINKED[1], "-c", second, "-o", "second.o")
        make(nvcc, "-arch=sm_90", "first.o", "second.o", "-o", made)
        done, _ = run("correct", 67)
        need("(-rdc=true) has no PTX" in " ".join(done.stderr.split()), f"an object without PTX: {done.stderr}")


if __name__ == "__main__":
    {case.__name__: case for case in (arguments, found, compiled, cmake, linked)}[sys.argv[1]](*sys.argv[2:])

"""The house rules that a machine can look at: folders include only those before them, only some see cuda.h, every header
compiles alone, no function is longer than 80 lines.  usage: shape.py COMPILER INCLUDE_DIR_OF_CUDA"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SRC = os.path.join(ROOT, "src")
ALLOWED = {  # folder: those whose headers it may include, beside its own
    "base": "", "config": "base", "fatbin": "base", "ptx": "base device", "device": "", "clock": "base device ipc",
    "report": "base device", "ipc": "base device", "cuda": "base", "vmm": "base cuda device ipc",
    "driver": "base config cuda clock device fatbin ipc ptx vmm", "emu": "base fatbin ptx",
}
CUDA = {"cuda", "driver", "vmm", "ipc", "emu"}


def sources(top):
    for root, _, names in os.walk(top):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                yield os.path.join(root, name)


def includes():
    for path in sources(SRC):
        folder = os.path.relpath(path, SRC).split(os.sep)[0]
        with open(path) as file:
            for line in file:
                found = re.match(r'#\s*include\s+[<"]([^">]+)[">]', line)
                if not found:
                    continue
                if found.group(1) == "cuda.h" and folder not in CUDA:
                    yield f"{path}: includes cuda.h"
                other = found.group(1).split("/")[0]
                if "/" in found.group(1) and other in ALLOWED and other != folder and other not in ALLOWED[folder].split():
                    yield f"{path}: {folder} includes {found.group(1)}"


def functions():
    for top in ("src", "launcher"):
        for path in sources(os.path.join(ROOT, top)):
            with open(path) as file:
                start = None
                for number, line in enumerate(file, 1):
                    if line.startswith("{"):
                        start = number
                    elif line.startswith("}") and start:
                        if number - start - 1 > 80:
                            yield f"{path}:{start}: a function of {number - start - 1} lines"
                        start = None


def headers(compiler, cuda):
    for path in sources(SRC):
        if not path.endswith(".h"):
            continue
        with tempfile.NamedTemporaryFile("w", suffix=".c") as unit:
            unit.write(f'#include "{path}"\n')
            unit.flush()
            done = subprocess.run([compiler, "-std=gnu11", "-D_GNU_SOURCE", "-fsyntax-only", "-I", SRC, "-isystem", cuda, unit.name],
                                  capture_output=True, text=True)
        if done.returncode:
            yield f"{path}: does not compile alone: {done.stderr.splitlines()[0] if done.stderr else '?'}"


def main(compiler, cuda):
    wrong = [*includes(), *functions(), *headers(compiler, cuda)]
    print("\n".join(wrong))
    return 1 if wrong or not list(sources(SRC)) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

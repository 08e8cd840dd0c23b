"""launcher/completion.bash: offers what --help lists, for each option and for the words of each choice, and leaves the program's own
command line alone; of gsan-nvcc what nvcc's --help lists. usage: completion.py BIN FILE NVCC"""
import os
import re
import subprocess
import sys

BIN, FILE, NVCC = sys.argv[1:]
SCRIPT = """source "$1"; shift
compopt() { printf 'files: %s\\n' "${@: -1}"; }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); "$function" "$1"; printf '%s\\n' "${COMPREPLY[@]}" """


def offered(program, *words):
    environment = {**os.environ, "NVCC": NVCC, "function": "_gsan_nvcc" if program == "gsan-nvcc" else "_gsan"}
    done = subprocess.run(["bash", "-c", SCRIPT, "bash", FILE, f"{BIN}/{program}", *words], capture_output=True, text=True, timeout=20, env=environment)
    if done.returncode or done.stderr:
        sys.exit(f"completion: {program} {words}: status {done.returncode}: {done.stderr}")
    return [line for line in done.stdout.splitlines() if line]


def need(got, expected, *what):
    if sorted(got) != sorted(expected):
        sys.exit(f"completion: {' '.join(what)}: offered {sorted(got)}, not {sorted(expected)}")


def options(program):
    """{option: the name of its value, or None}, as --help prints them."""
    text = subprocess.run([f"{BIN}/{program}", "--help"], capture_output=True, text=True, timeout=20).stdout
    return {name: value or None for name, value in re.findall(r"^  (--?[\w-]+)(?: (\S+))?", text, re.M)}


def choices(program, known):
    for name, value in known.items():
        if value and "|" in value:
            words = value.split("|")
            need(offered(program, name, ""), words, program, name)
            need(offered(program, name, "=", ""), words, program, name + "=")
            need(offered(program, name, "="), words, program, name + "=")
            need(offered(program, name, words[-1]), [words[-1]], program, name, words[-1])
            need(offered(program, name, "no-such"), [], program, name)
        elif value in ("DIR", "FILE", "PATH"):
            need(offered(program, name, ""), ["files: dirnames" if value == "DIR" else "files: default"], program, name)
        elif value:
            need(offered(program, name, ""), [], program, name)


for program in ("gsan-launch", "gsan-report", "gsan-ptxas"):
    known = options(program)
    if len(known) < 5:
        sys.exit(f"completion: {program} --help lists {known}")
    need(offered(program, "-"), known, program)
    need(offered(program, "--h"), [name for name in known if name.startswith("--h")], program)
    need(offered(program, "--help", "--v"), [name for name in known if name.startswith("--v")], program)
    choices(program, known)
need(offered("gsan-report", ""), ["files: default"], "gsan-report")
for before in (["-n", "2", "--device", "emu", "sleep"], ["--report=r", "sleep"], ["--report", "=", "r", "sleep"], ["--", "sleep"], ["-n2", "sleep"]):
    need(offered("gsan-launch", *before, "-"), ["files: default"], *before)
need({"sleep"} & set(offered("gsan-launch", "-n", "2", "slee")), ["sleep"], "the program")
need(offered("gsan-launch", "-n", "2", "--dev"), ["--device"], "behind an option")
for before in (["--"], ["-n", "2", "--"]):
    need({"sleep", "files: default"} & set(offered("gsan-launch", *before, "slee")), ["sleep", "files: default"], "the program behind", *before)
    need(offered("gsan-launch", *before, "-"), ["files: default"], "an option behind", *before)
text = subprocess.run([NVCC, "--help"], capture_output=True, text=True, timeout=20).stdout
known = [name for names in re.findall(r"^(--\S+)(?:.*\((-\S+)\))?", text, re.M) for name in names if name]
if len(known) < 100:
    sys.exit(f"completion: nvcc --help lists {known}")
need(offered("gsan-nvcc", "-"), known, "gsan-nvcc")
need(offered("gsan-nvcc", "--gpu-a"), ["--gpu-architecture"], "gsan-nvcc")
for arguments in (["-rdc", ""], ["-rdc", "="], ["--relocatable-device-code", "=", ""]):
    need(offered("gsan-nvcc", *arguments), ["true", "false"], "gsan-nvcc", *arguments)
for option in ("-arch", "--gpu-architecture"):
    need({"all", "sm_90a", "compute_90"} & set(offered("gsan-nvcc", option, "")), ["all", "sm_90a", "compute_90"], "gsan-nvcc", option)
    need([word for word in offered("gsan-nvcc", option, "sm_") if not word.startswith("sm_")], [], "gsan-nvcc", option)
need(offered("gsan-nvcc", ""), ["files: default"], "gsan-nvcc")
need(offered("gsan-nvcc", "-o", ""), ["files: default"], "gsan-nvcc", "-o")
print("completion: as --help says")

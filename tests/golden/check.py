"""Checks of gsan-ptxas over PTX files.

usage: check.py GSAN_PTXAS IDENTITY sites FILE...     --sites against an independent count
       check.py GSAN_PTXAS IDENTITY assemble FILE...  instrumented text through a real ptxas (a sample of the files)
       check.py GSAN_PTXAS IDENTITY command FILE      the command's ways and its mistakes
       check.py GSAN_PTXAS IDENTITY fresh PYTHON      all of it on PTX that PYTHON's Triton compiles now; what `assemble` has
                                                      assembled already, but for the path of the kernels' source, is not again
"""
import collections
import glob
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
GSAN_PTXAS, IDENTITY = sys.argv[1:3]
FRESH = ["vadd", "matmul", "atomics_acq_rel_sys", "inline_asm", "message_passing", "atomic_wait"]
SAMPLE = re.compile(r"/(vadd_f8|matmul|matmul_tma|called|inline_asm|atomic_wait|spin_lock|mixed|volatile_fence|"
                    r"atomics_acq_rel_sys)\.sm90")


def run(*command, **more):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, **more)


def code(path):
    """The text without comments and debug sections."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", pathlib.Path(path).read_text(), flags=re.S)
    return re.sub(r"\.section[^{]*\{[^}]*\}", "", text)


def count(path):
    """Accesses and left ones by opcode, counted from the text alone, one regular expression per statement. Shares nothing
    with the parser."""
    text = code(path)
    kinds = collections.Counter()
    for op, words, rest in re.findall(r"(?<![\w.%$])(ld|ldu|st|atom|red|cp|tensormap|multimem|fence|call)((?:\.[\w:]+)*)\s([^;]*);", text):
        to_global = re.search(r"\.global\b", words)
        space = re.search(r"\.(shared|local|param|const)\b", words)
        if op in ("ld", "ldu", "st", "atom", "red"):
            if to_global or not space:
                kinds["ld" if op == "ldu" else op] += 1
        elif op == "cp" and "prefetch" not in words and ("bulk" in words or "reduce" in words):
            if to_global or ".tensor" in words:
                kinds["left"] += 1
        elif op == "cp" and to_global:
            kinds["cp"] += 1
        elif op == "fence":
            kinds["left"] += ".proxy" in words and "[" in rest
        elif op == "call":
            kinds["left"] += bool(re.match(r"(\([^)]*\)\s*,\s*)?%", rest.strip()))
        elif op == "multimem" or to_global:
            kinds["left"] += 1
    return +kinds


def listed(path):
    """The same from --sites."""
    result = run(GSAN_PTXAS, "--sites", path)
    assert result.returncode == 0 and not result.stderr, result.stderr
    kinds = collections.Counter()
    for line in result.stdout.splitlines():
        match = re.fullmatch(r".+:\d+:\d+ \S+ (?:(left) \S+: .+|(ld|st|atom|red|cp)\S*\.\S+\.\S+ \d+)", line)
        assert match, f"{path}: not a line of --sites: {line}"
        kinds[match[1] or match[2]] += 1
    return kinds


def check_sites(files):
    total = collections.Counter()
    for path in files:
        expected, got = count(path), listed(path)
        assert expected == got, f"{path}: counted {dict(expected)}, listed {dict(got)}"
        total += got
    print(f"{len(files)} files, {dict(total)}")
    assert total["ld"] and total["st"], "a corpus without accesses"


def assemblers():
    """Every real ptxas at hand, oldest release first."""
    found = glob.glob(str(ROOT / ".venv/*/lib/python3*/site-packages/nvidia/cu*/bin/ptxas"))
    found += glob.glob(str(ROOT / ".venv/*/lib/python3*/site-packages/triton/backends/nvidia/bin/ptxas-blackwell"))
    found += glob.glob(os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin/ptxas"))
    by_release = {}
    for path in found:
        release = re.search(r"release (\d+)\.(\d+)", run(path, "--version").stdout)
        if release:
            by_release[tuple(map(int, release.groups()))] = path
    return sorted(by_release.items())


def takes(release, path):
    """PTX x.y comes with CUDA (x + 4).y; from 13.0 on it is 9.0 for 13.0."""
    major, minor = map(int, re.search(r"\.version\s+(\d+)\.(\d+)", pathlib.Path(path).read_text()).groups())
    return (major + 4, minor) <= release


def check_assemble(files, all_releases=True):
    tools = assemblers()
    assert tools, "no real ptxas: make installs one into .venv"
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            arch = re.search(r"\.target\s+(\w+)", pathlib.Path(path).read_text())[1]
            usable = [tool for release, tool in tools if takes(release, path)]
            for tool in usable if all_releases and "matmul." in path else usable[-1:]:
                out = os.path.join(folder, "out.cubin")
                result = run(GSAN_PTXAS, "--real-ptxas", tool, "-lineinfo", f"--gpu-name={arch}", path, "-o", out)
                assert result.returncode == 0 and "gsan-ptxas:" not in result.stderr, f"{path}: {tool}: {result.stderr[-600:]}"
                assert b"__gsan_info" in pathlib.Path(out).read_bytes(), f"{path}: {tool}: plain code came out"
                done += 1
        assert os.listdir(folder) == ["out.cubin"], os.listdir(folder)
    print(f"{done} assembled")
    assert done


def check_command(path):
    source = pathlib.Path(path).read_bytes()
    same = subprocess.run([GSAN_PTXAS, "--emit-ptx", "--no-instrument", path], capture_output=True, check=True)
    assert same.stdout == source, "the copy differs"
    real = assemblers()[-1][1]
    version = run(GSAN_PTXAS, "--real-ptxas", real, "--version").stdout
    assert re.search(r"release \d+\.\d+", version) and re.fullmatch(r"gsan-ptxas \S+ abi \d+ build [0-9a-f]{16} cuda", version.splitlines()[-1])
    options = re.findall(r"^  (--\S+(?: [A-Z]+)?)", run(GSAN_PTXAS, "--help").stdout, re.M)
    helps = [run(GSAN_PTXAS, "--real-ptxas", real, how) for how in ("--help", "-h")]
    assert helps[0].stdout == helps[1].stdout and f"\nThe options of ptxas: {real} --help\n" in helps[0].stdout, helps[1].stdout
    page = re.sub(r"\\f[BIRP]", "", (ROOT / "man/gsan-ptxas.1").read_text()).replace("\\-", "-")
    headed = re.findall(r"^\.TP\n\.BI? (--.*)$", page, re.M)
    assert len(options) >= 6 and [head.replace('"', "").replace("  ", " ") for head in headed] == options, (options, headed)
    with tempfile.TemporaryDirectory() as folder:
        bad, out = os.path.join(folder, "bad.ptx"), os.path.join(folder, "out")
        pathlib.Path(bad).write_bytes(source.replace(b"add.s32", b"addd.s32"))
        plain, ours = run(real, "-arch=sm_80", bad, "-o", out), run(GSAN_PTXAS, "--real-ptxas", real, "-arch=sm_80", bad, "-o", out)
        assert plain.returncode and (plain.returncode, plain.stderr) == (ours.returncode, ours.stderr), ours.stderr
        pathlib.Path(bad).write_text("hello\n")
        result = run(GSAN_PTXAS, "--sites", bad)
        assert result.returncode == 1 and "bad.ptx:1:1: not PTX" in result.stderr, result.stderr
        result = run(GSAN_PTXAS, "--real-ptxas", "/nonexistent", path, "-o", out)
        assert result.returncode == 1 and "no real ptxas at /nonexistent" in result.stderr, result.stderr
        result = run(GSAN_PTXAS, "--real-ptxas", folder, path, "-o", out)
        assert result.returncode and f"cannot run {folder}: Permission denied" in result.stderr, result.stderr
        assert run(GSAN_PTXAS, "--real-ptxas").returncode == 1
        emu = {**os.environ, "GSAN_DEVICE": "emu"}
        result = run(GSAN_PTXAS, "--real-ptxas", real, "-arch=sm_80", path, "-o", out, env=emu)
        assert result.returncode == 0 and "__gsan_info" in pathlib.Path(out).read_text(), result.stderr
        assert run(IDENTITY, out).returncode == 0
        # a ptxas that takes the plain text alone: the plain result stays, with one warning
        stub = os.path.join(folder, "ptxas")
        pathlib.Path(stub).write_text('#!/bin/sh\ncase "$*" in *proc/self*) echo "x.ptx, line 1; error : no" >&2; exit 9;; esac\n'
                                      'while [ $# -gt 1 ]; do [ "$1" = -o ] && echo plain >"$2"; shift; done\n')
        os.chmod(stub, 0o755)
        result = run(GSAN_PTXAS, "--real-ptxas", stub, path, "-o", out)
        assert result.returncode == 0 and pathlib.Path(out).read_text() == "plain\n", result
        assert len(result.stderr.splitlines()) == 1 and "runs unchecked" in result.stderr, result.stderr


def sampled(path):
    """Is it what `assemble` assembles, whatever folder the kernels lie in?"""
    old = HERE / "ptx/triton" / os.path.basename(path)
    if not SAMPLE.search(str(old)) or not old.exists():
        return False
    of_file = re.compile(r'\.file\s+\d+ "[^"]*"')
    return of_file.sub("", code(old)) == of_file.sub("", code(path))


def check_fresh(python):
    with tempfile.TemporaryDirectory() as folder:
        result = run(python, HERE / "ptx/compile.py", folder, *FRESH)
        assert result.returncode == 0, result.stderr
        files = sorted(glob.glob(folder + "/*.ptx"))
        assert len(files) >= 8, files
        result = run(IDENTITY, *files)
        assert result.returncode == 0, result.stderr
        check_sites(files)
        check_assemble([f for f in files if ".sm90." in f and "vadd" not in f and not sampled(f)], all_releases=False)


def main():
    section, *rest = sys.argv[3:]
    os.environ["GSAN_CACHE_DIR"] = "/dev/null/none"  # each call compiles
    if section == "sites":
        check_sites(rest)
    elif section == "assemble":
        check_assemble([f for f in rest if SAMPLE.search(f)])
    elif section == "command":
        check_command(rest[0])
    elif section == "fresh":
        check_fresh(rest[0])
    else:
        sys.exit(__doc__)


main()

"""What checking costs while compiling: gsan-ptxas beside the ptxas that it calls, without a GPU.

    bench/compile.py --gsan-ptxas build/dev/bin/gsan-ptxas --ptxas PTXAS --output FILE     (--ptxas again for each version)

Kernels of the golden corpus, one a module and 66 a module: `weak` (vadd), `sync` (spin_lock), `wgmma` (matmul, of sm_90a alone). Of each
the processor seconds, the least of `--repeats`, of a plain call, and of checked ones that begin with an empty cache but for the runtime's
object: linked, whole (GSAN_LINKER=none), and once more, when its result is kept; and the bytes of the result. `runtime_s` is what the first
module of a user costs beside that: the object of the runtime, once for each ptxas and architecture. A row says in `over` what it misses of
the bounds (issue "Compile once, launch cheap"); then the exit status is 1.
"""
import argparse
import datetime
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
CORPUS = os.path.join(ROOT, "tests", "golden", "ptx", "triton")
MANY = 66
# name: (its PTX, architectures or None for all, kernels a module, seconds more than plain, bytes)
CASES = {
    "weak": ("vadd.sm80.t36", None, 1, 0.3, 400_000),
    "sync": ("spin_lock.sm80.t36", None, 1, 0.4, 700_000),
    "wgmma": ("matmul.sm90.t36", ["sm_90a"], 1, 1.2, 500_000),
    f"weak x {MANY}": ("vadd.sm80.t36", None, MANY, 5.0, None),
    f"sync x {MANY}": ("spin_lock.sm80.t36", None, MANY, 10.0, None),
}


def module(name, kernels):
    """The text of a file of the corpus, its kernel as often as asked for, without debug sections where that is more than once."""
    with open(os.path.join(CORPUS, name + ".ptx"), encoding="utf-8") as file:
        text = re.sub(r"//[^\n]*", "", file.read())
    if kernels == 1:
        return text
    head, kernel, end = re.fullmatch(r"(.*?)(\.visible \.entry .*?\n\}\n)(.*)", text, re.S).groups()
    name = re.search(r"\.entry (\w+)", kernel).group(1)
    kernel = re.sub(r"\n\s*(\.loc\s[^\n]*|\$L__(func_begin|func_end|tmp)\d+:)", "", kernel)
    return head + "".join(re.sub(rf"\b{name}\b", f"{name}_{i}", kernel) for i in range(kernels))


class Compiler:
    """Calls of one ptxas for one architecture, in a folder of their own."""

    def __init__(self, gsan_ptxas, ptxas, arch, folder):
        self.gsan_ptxas, self.ptxas, self.arch, self.folder = gsan_ptxas, ptxas, arch, folder
        self.cache, self.runtime = os.path.join(folder, "cache"), os.path.join(folder, "runtime")
        self.ptx, self.out = os.path.join(folder, "a.ptx"), os.path.join(folder, "a.cubin")

    def write(self, text):
        with open(self.ptx, "w", encoding="utf-8") as file:
            file.write(text)

    def call(self, *, checked, linker="auto"):
        """(processor seconds, bytes of the result, what it said of linking)"""
        env = {**os.environ, "GSAN_REAL_PTXAS": self.ptxas, "GSAN_CACHE_DIR": self.cache, "GSAN_LINKER": linker, "GSAN_LOG": "info"}
        env.pop("GSAN_DEVICE", None)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = subprocess.run([self.gsan_ptxas if checked else self.ptxas, f"--gpu-name={self.arch}", self.ptx, "-o", self.out],
                                env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if result.returncode or "unchecked" in result.stderr:
            sys.exit(f"bench/compile.py: {self.ptxas} for {self.arch}: {result.stderr}")
        return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, os.path.getsize(self.out),
                [line.split(": ")[-1] for line in result.stderr.splitlines() if "not linked" in line])

    def fresh(self):
        """The cache as it is when the runtime's object alone was made."""
        shutil.rmtree(self.cache, ignore_errors=True)
        if os.path.exists(self.runtime):
            shutil.copytree(self.runtime, self.cache)

    def first(self):
        """Makes the runtime's object: seconds; None if no module is linked."""
        self.write(module(CASES["sync"][0], 1))
        with_it = self.call(checked=True)[0]
        kept = sorted(os.scandir(os.path.join(self.cache, "ptxas")), key=lambda entry: entry.stat().st_mtime_ns)
        if len(kept) != 2:
            return None
        os.unlink(kept[1].path)  # the module's, made last
        os.rename(self.cache, self.runtime)
        self.fresh()
        return with_it - self.call(checked=True)[0]

    def row(self, text, repeats, *, whole):
        """One kernel or many; `whole`: that form, too, which takes minutes for many."""
        self.write(text)
        row = {}
        for form, options in {"plain": {"checked": False}, "whole": {"checked": True, "linker": "none"}, "linked": {"checked": True}}.items():
            calls = []
            for _ in range(repeats if form != "whole" or whole else 0):
                self.fresh()
                calls.append(self.call(**options))
            row[form + "_s"], row[form + "_bytes"], row["said"] = min(calls) if calls else (None, None, None)
        row["again_s"] = self.call(checked=True)[0]
        return row


def over(row, seconds, size):
    """What of its bounds a row misses."""
    said = []
    if row["linked_s"] - row["plain_s"] > seconds:
        said.append(f"{row['linked_s'] - row['plain_s']:.2f} s more than plain, not {seconds}")
    if size and row["linked_bytes"] > size:
        said.append(f"{row['linked_bytes']} bytes, not {size}")
    if row["again_s"] > 0.05 + row["plain_s"]:
        said.append(f"{row['again_s']:.2f} s once more")
    return said


def version(ptxas):
    text = subprocess.run([ptxas, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.search(r"release ([\d.]+)", text).group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--gsan-ptxas", required=True)
    parser.add_argument("--ptxas", action="append", required=True, help="a real ptxas; again for each")
    parser.add_argument("--arch", action="append", help="default: sm_80, sm_90a, sm_100a")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--output", required=True)
    args = parser.parse_args()
    rows, failed = [], 0
    for ptxas in args.ptxas:
        for arch in args.arch or ["sm_80", "sm_90a", "sm_100a"]:
            with tempfile.TemporaryDirectory(prefix="gsan-compile-") as folder:
                compiler = Compiler(os.path.abspath(args.gsan_ptxas), os.path.abspath(ptxas), arch, folder)
                runtime = compiler.first()
                for name, (ptx, only, kernels, seconds, size) in CASES.items():
                    if only and arch not in only:
                        continue
                    row = {"ptxas": version(ptxas), "arch": arch, "case": name, "runtime_s": runtime,
                           **compiler.row(module(ptx, kernels), args.repeats if kernels == 1 else 1, whole=kernels == 1)}
                    row["over"] = over(row, seconds, size)
                    failed += bool(row["over"])
                    rows.append({key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()})
                    forms = (f"{form} {row[form + '_s']:.2f} s, {row[form + '_bytes'] // 1000} KB" for form in ("plain", "linked", "whole")
                             if row[form + "_s"] is not None)
                    print(f"{row['ptxas']} {arch} {name}: {'; '.join(forms)}; again {row['again_s']:.2f} s. "
                          f"{'. '.join(row['over'] + row['said'][-1:])}", flush=True)
    with open(args.output, "w", encoding="utf-8") as file:
        json.dump({"commit": args.commit, "date": datetime.date.today().isoformat(), "rows": rows}, file, indent=1)
        file.write("\n")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

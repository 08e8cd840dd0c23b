"""What checking costs, counted on the emulated device: instructions and bytes that are the same in each run, not milliseconds.

    bench/cost.py [--build build/dev] [NAME...]     the table of the small sizes; names: the beginnings of rows' names
    bench/cost.py --check                           and whether a row has grown over bench/results/cost.json (CTest bench.cost)
    bench/cost.py --write [--all] [NAME...]         writes the figures there: these rows take the place of what there is

Each row launches one kernel twice under one schedule (`program`, which orders the program's operations alone), as it is and under
gsan-launch, and compares the two lines of EMU_STATS (docs/emulated-device.md): `x` is the clone's warp instructions over the original's,
`parts` the same by part of the runtime (`inserted`: what stands in the clone itself and not in the original), `own_bytes` and
`own_sectors` the bytes and sectors of shadow and tables per access of a lane that the program makes. --all has the larger sizes, too,
which take six minutes. The kernels are those of patterns.cu, bench.py's four (four.py compiles them) and some of the golden corpus. The
figures follow from the runtime's PTX, so from the clang that made it: another one's are not compared (exit 77).
"""
import argparse
import collections
import ctypes
import datetime
import json
import os
import random
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
RESULTS = os.path.join(ROOT, "bench", "results", "cost.json")
MOST = 1.02  # a row's figure over its committed one
FIGURES = ("x", "own_bytes", "own_sectors")
SEED = 1
DIFFERS = 77

Launch = collections.namedtuple("Launch", "ptx kernel grid block arguments shared times", defaults=(0, 1))  # the last of so many counts
NOTHING = None  # a null pointer
LOOPS = {"coalesced", "strided", "accumulate"}  # of patterns.cu: the kernels that take a number of rounds


class Words:
    """Device memory of so many 32-bit words: zero, or random numbers below a bound."""

    def __init__(self, count, below=1):
        self.count, self.below = max(count, 4096), below


def pattern(kernel, *, rounds, ctas, threads):
    """One of patterns.cu."""
    buffers = [Words(max(ctas * threads * rounds, 32 * ctas)), Words(max(ctas * threads * rounds, 32 * ctas))]
    return Launch("bench/ptx/patterns.ptx", kernel, ctas, threads, [*buffers, rounds] if kernel in LOOPS else buffers)


def polls(*, rounds, threads):
    """Of polls.ptx, one CTA: a flag that stays as it is, looked at so often by each thread."""
    return Launch("bench/ptx/polls.ptx", "poll", 1, threads, [Words(32), Words(threads), rounds])


def four(kernel, ctas):
    """One of bench.py's four, as it launches them, on fewer elements."""
    ptx, rest = f"bench/ptx/{kernel}.ptx", [NOTHING, NOTHING]
    if kernel == "add":
        return Launch(ptx, kernel, ctas, 128, [Words(1024 * ctas), Words(1024 * ctas), Words(1024 * ctas), 1024 * ctas, *rest])
    if kernel == "softmax":
        return Launch(ptx, kernel, ctas, 256, [Words(4096 * ctas), Words(4096 * ctas), 4096, *rest], 32)
    if kernel == "matmul":  # CTAs of 128 x 128, one beside the other; K of 256
        return Launch(ptx, kernel, ctas, 256, [Words(64 * 256 * ctas), Words(64 * 256), Words(64 * 128 * ctas), 128 * ctas, 128, 256, *rest],
                      32768)
    return Launch(ptx, kernel, ctas, 128, [Words(1024 * ctas, 1 << 16), Words(1 << 16), 1024 * ctas, *rest], 8192)


def triton(name, kernel, ctas, arguments, shared=0):
    return Launch(f"tests/golden/ptx/triton/{name}.ptx", kernel, ctas, 128, [*arguments, NOTHING, NOTHING], shared)


def nvcc(name, kernel, ctas, threads, arguments):
    return Launch(f"tests/golden/ptx/nvcc/{name}.ptx", kernel, ctas, threads, arguments)


SMALL = {  # what --check recounts
    **{f"coalesced, {n} rounds": pattern("coalesced", rounds=n, ctas=4, threads=64) for n in (4, 64)},
    **{f"strided, {n} rounds": pattern("strided", rounds=n, ctas=4, threads=64) for n in (4, 16)},
    **{f"accumulate, {n} rounds": pattern("accumulate", rounds=n, ctas=1, threads=64) for n in (1, 4)},
    **{f"counter_noresult, {n} CTAs": pattern("counter_noresult", rounds=1, ctas=n, threads=256) for n in (4, 16)},
    **{f"counter, {n} CTAs": pattern("counter", rounds=1, ctas=n, threads=64) for n in (1, 4)},
    **{f"gridlock, {n} CTAs": pattern("gridlock", rounds=1, ctas=n, threads=32) for n in (1, 4)},
    **{f"lanelock, {n} threads": pattern("lanelock", rounds=1, ctas=1, threads=n) for n in (4, 16)},
    **{f"poll, {n} rounds, {t} threads": polls(rounds=n, threads=t) for n in (4, 64) for t in (1, 32)},
    "add": four("add", 16),
    "add, third time": four("add", 16)._replace(times=3),
    "softmax": four("softmax", 4),
    "matmul": four("matmul", 2),
    "histogram": four("histogram", 64),
    "triton vadd_f16": triton("vadd_f16.sm80.t36", "vadd_typed", 8, [Words(4096), Words(4096), Words(4096), 4000]),
    "triton vadd_i8, unaligned": triton("vadd_i8.sm80.t36", "vadd", 8, [Words(4096), Words(4096), Words(4096), 2000]),
    "triton scan_rows": triton("scan_rows.sm80.t36", "scan_rows", 4, [Words(8192), Words(8192), 8, 1000], 1024),
    "triton atomics_acq_rel_gpu": triton("atomics_acq_rel_gpu.sm80.t36", "atomics", 2, [Words(64), Words(64), Words(512), Words(64)], 1024),
    "triton histogram_acq_rel": triton("histogram_acq_rel.sm80.t36", "histogram", 1, [Words(512, 64), Words(64), 512], 4096),
    "triton spin_lock": triton("spin_lock.sm80.t36", "spin_lock", 4, [Words(64), Words(256)], 1024),
    "triton called": triton("called.sm80.t36", "called", 1, [Words(256), Words(256)]),
    "triton atomic_words": triton("atomic_words.sm80.t39", "atomic_words", 1, [Words(256), Words(64), Words(256)], 1024),
    "nvcc last_block": nvcc("volatile_fence.sm80", "_Z10last_blockPKfPfS1_i", 4, 256, [Words(4096), Words(64), Words(64), 4096]),
    "nvcc flags": nvcc("volatile_fence.sm80", "_Z5flagsPiPdPK4int4PS1_", 1, 64, [Words(64), Words(64), Words(1024), Words(1024)]),
}
LARGE = {  # what --all counts, too: shapes that programs have. Of accumulate and lanelock larger ones take an hour as yet.
    **{f"coalesced, {n} rounds, 64 CTAs": pattern("coalesced", rounds=n, ctas=64, threads=256) for n in (64, 256, 1024, 4096)},
    **{f"strided, {n} rounds, 64 CTAs": pattern("strided", rounds=n, ctas=64, threads=256) for n in (64, 256, 1024)},
    "accumulate, 16 rounds, 64 CTAs": pattern("accumulate", rounds=16, ctas=64, threads=256),
    **{f"counter_noresult, {n} CTAs": pattern("counter_noresult", rounds=1, ctas=n, threads=256) for n in (64, 256, 1024)},
    **{f"counter, {n} CTAs of 256": pattern("counter", rounds=1, ctas=n, threads=256) for n in (4, 16, 64, 256, 1024)},
    **{f"gridlock, {n} CTAs": pattern("gridlock", rounds=1, ctas=n, threads=32) for n in (16, 64, 256)},
    "lanelock, 256 threads": pattern("lanelock", rounds=1, ctas=1, threads=256),
    "add, 1024 CTAs": four("add", 1024),
    "softmax, 256 CTAs": four("softmax", 256),
    "matmul, 32 CTAs": four("matmul", 32),
    "histogram, 1024 CTAs": four("histogram", 1024),
}
ALL = {**SMALL, **LARGE}


# ---- the program that launches


def ptx_of(path):
    """The emulated device has no tensor cores: another instruction stands for each of theirs, with the same memory behind it."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r"mma\.sync\.[\w.]+\s*\{ *(%\w+)[^}]*\},\s*\{[^}]*\},\s*\{[^}]*\},\s*\{ *(%\w+)[^}]*\};", r"add.f32 \1, \2, \2;", text)
    return re.sub(r"ldmatrix\.sync\.aligned\.m8n8\.x4(?:\.trans)?\.shared\.b16", "ld.shared.v4.b32", text)


class Cuda:
    """The driver, and the first device's primary context."""

    def __init__(self):
        self.library, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
        self("cuInit", 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self("cuCtxSetCurrent", context)

    def __call__(self, name, *arguments):
        error = getattr(self.library, name)(*arguments)
        if error:
            sys.exit(f"bench/{os.path.basename(sys.argv[0])}: {name}: CUDA error {error}")

    def argument(self, one):
        if one is NOTHING:
            return ctypes.c_uint64(0)
        if isinstance(one, int):
            return ctypes.c_uint32(one)
        at, draw = ctypes.c_uint64(), random.Random(SEED)
        values = (ctypes.c_uint32 * one.count)(*([draw.randrange(one.below) for _ in range(one.count)] if one.below > 1 else []))
        self("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(4 * one.count))
        self("cuMemcpyHtoD_v2", at, values, ctypes.c_size_t(4 * one.count))
        return at

    def launch(self, one):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self("cuModuleLoadData", ctypes.byref(module), ptx_of(one.ptx).encode() + b"\0")
        self("cuModuleGetFunction", ctypes.byref(function), module, one.kernel.encode())
        values = [self.argument(argument) for argument in one.arguments]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values))
        self("cuMemsetD32Async", self.argument(Words(1)), 0, ctypes.c_size_t(1), None)  # EMU_AFRESH begins behind the first device work
        self("cuCtxSynchronize")
        for _ in range(one.times):
            self("cuLaunchKernel", function, one.grid, 1, 1, one.block, 1, 1, one.shared, None, pointers, None)
        self("cuCtxSynchronize")


# ---- counting


def counted(build, name, *, checked, folder):
    """The line of EMU_STATS of the row's launch."""
    stats = os.path.join(folder, "checked" if checked else "plain")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("EMU_", "GSAN_", "LD_"))}
    env = {**kept, "EMU_STATS": stats, "EMU_AFRESH": "1", "EMU_SCHEDULE": "program", "EMU_SEED": str(SEED), "PYTHONDONTWRITEBYTECODE": "1",
           "XDG_CACHE_HOME": os.path.join(folder, "cache")}
    command = [sys.executable, os.path.abspath(__file__), "--launch", name]
    if checked:
        command = [os.path.join(build, "bin", "gsan-launch"), "--device", "emu", "--schedule", "program", "--seed", str(SEED), "--exit-code", "0",
                   "--report", os.path.join(folder, "report"), *command]
    else:
        env["LD_LIBRARY_PATH"] = os.path.join(build, "lib", "emu")
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    kernel = ALL[name].kernel + ("__gsan" if checked else "")
    with open(stats, encoding="utf-8") as file:
        lines = [line for line in map(json.loads, file) if line["kernel"] == kernel and line["completed"]]
    if done.returncode or len(lines) != ALL[name].times:
        sys.exit(f"bench/cost.py: {name}: {len(lines)} launches of {kernel} were counted, not {ALL[name].times} (status {done.returncode})\n"
                 f"{done.stdout}")
    return lines[-1]


def row_of(plain, checked):
    """The figures of a row from its two lines."""
    original, accesses = plain["instructions"], plain["program"]["accesses"]
    parts = {("inserted" if part == "kernel" else part): count["instructions"] - (original if part == "kernel" else 0)
             for part, count in checked["parts"].items()}
    figures = {"x": checked["instructions"] / original, "own_bytes": checked["ours"]["bytes"] / accesses,
               "own_sectors": checked["ours"]["sectors"] / accesses}
    return {**{name: round(value, 3) for name, value in figures.items()},
            "parts": {part: round(count / original, 3) for part, count in parts.items()},
            "original": original, "accesses": accesses}


def count(build, name):
    with tempfile.TemporaryDirectory(prefix="gsan-cost-") as folder:
        plain = counted(build, name, checked=False, folder=folder)
        checked = counted(build, name, checked=True, folder=folder)
    own, spun = checked["parts"]["kernel"]["program"], checked["parts"].get("strong_read", {"program": {"accesses": 0, "bytes": 0}})["program"]
    # Not sectors: lanes may take turns there. A CAS that would fail again the runtime may have read instead (gsan_spin).
    if any(not own[what] <= plain["program"][what] <= own[what] + spun[what] for what in ("accesses", "bytes")):
        sys.exit(f"bench/cost.py: {name}: the clone has made other accesses of its own than the original: {own}, not {plain['program']}")
    return row_of(plain, checked)


# ---- the committed figures


def compared(committed, rows, must):
    """What is wrong, a line each: a row of `must` that is not among the committed ones, or one that has grown over them."""
    wrong = [f"{name}: not in bench/results/cost.json" for name in must if name not in committed]
    for name, row in rows.items():
        for figure in FIGURES if name in committed else ():
            was, now = committed[name][figure], row[figure]
            if now > was * MOST:
                by = f"by {100 * (now / was - 1):.1f}%" if was else "from nothing"
                wrong.append(f"{name}: {figure} has grown {by}: {now}, committed is {was}")
    return wrong


def said(wrong):
    return "\n".join([*wrong, "If that is meant, commit the new figures: bench/cost.py --write (of larger sizes: --write --all)" if wrong else "no row has grown"])


def committed_file():
    if not os.path.exists(RESULTS):
        return {"rows": {}}
    with open(RESULTS, encoding="utf-8") as file:
        return json.load(file)


def write(kept, rows, clang):
    """Rows of other names stay, those that the table no longer has go."""
    today = datetime.date.today().isoformat()
    rows = {**kept["rows"], **{name: {**row, "date": today} for name, row in rows.items()}}
    body = ",\n".join(f"  {json.dumps(name)}: {json.dumps(rows[name])}" for name in ALL if name in rows)
    with open(RESULTS, "w", encoding="utf-8") as file:
        file.write(f'{{\n "clang": {json.dumps(clang)},\n "rows": {{\n{body}\n }}\n}}\n')


def clang_of(build):
    """The version of the clang that has made the runtime's PTX."""
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
        path = re.search(r"^GSAN_CLANG:\w+=(.*)$", file.read(), re.M).group(1)
    return subprocess.run([path, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[0]


def show(name, row):
    parts = ", ".join(f"{part} {value:.2f}" for part, value in sorted(row["parts"].items(), key=lambda one: -one[1]) if value >= 0.005)
    print(f"{name:32} {row['x']:9.2f}x  {row['own_bytes']:9.2f} B {row['own_sectors']:8.3f} sectors  {parts}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "dev"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--launch", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.launch:
        Cuda().launch(ALL[args.launch])
        return 0
    clang, committed = clang_of(args.build), committed_file()
    if args.check and committed.get("clang", clang) != clang:
        print(f"the figures are those of {committed['clang']}, the runtime is that of {clang}")
        return DIFFERS
    names = [name for name in (ALL if args.all else SMALL) if not args.names or name.startswith(tuple(args.names))]
    rows = {}
    for name in names:
        rows[name] = count(args.build, name)
        show(name, rows[name])
    if args.write:
        write(committed, rows, clang)
    wrong = compared(committed["rows"], rows, ALL) if args.check else []
    if args.check:
        print(said(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

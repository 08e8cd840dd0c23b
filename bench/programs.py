"""What checking programs costs that are written in CUDA C (programs.cu): the median of CUDA-event times, plain and under gsan-launch.

    programs.py --launch build/dev/bin/gsan-launch --output bench/results/programs.json [NAME...]
    programs.py --small --device emu                  each once, on small data: CTest bench.programs

One plain process measures all, then a checked process each one, so that the counters of its report are that program's, and one its racy
form. It has to find nothing in the first and a race in the second, to check each access, and what comes out has to be what comes out plain
and, of small data, what Python reckons. Exit status 1 if not.
"""
import argparse
import array
import collections
import ctypes
import datetime
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import zlib

import cost

ROOT = cost.ROOT
PTX = "bench/ptx/programs.ptx"
THREADS = 256
MASK = (1 << 32) - 1

# n and m, small and large; for these, of (in, out, work) how many words each has and below which power of two they are (0: zeros); CTAs; and
# what Python reckons, of in and all data, that comes out.
Program = collections.namedtuple("Program", "small large words ctas expected")


def product(a, n, m, data):
    return [sum(a[i * n + k] * a[n * n + k * n + j] for k in range(n)) for i in range(n) for j in range(n)]


def colours(edges, n, m, data):
    out = []
    for node in range(n):
        used = {out[other] for other in edges[node * m:(node + 1) * m] if other < node}
        out.append(next(colour for colour in range(1, m + 2) if colour not in used))
    return out


def steps(items, n, m, data):
    out = []
    for x in items[:n]:
        for _ in range(m):
            x = (x * 1664525 + 1013904223) & MASK
        out.append(x)
    return out


def sums(values, n, m, data):
    out, total = [], 0
    for value in values[:n]:
        total = (total + value) & MASK
        out.append(total)
    return out


def tiles(values, n, m, data):
    return [sum(values[(at + i * (part + 1)) % n] for part in range(m) for i in range(16)) for at in range(n)]


def stencil(values, n, m, data):
    now = list(values[:n])
    for _ in range(m):
        now = [(now[i - 1] + 2 * now[i] + now[(i + 1) % n]) & MASK for i in range(n)]
    return now


def times_vector(columns, n, m, data):
    return [sum((i + 1) * data["work"][columns[row * m + i]] for i in range(m)) for row in range(n)]


def searched(edges, n, m, data):
    out = list(data["out"])
    for node in range(n):
        for other in edges[node * m:(node + 1) * m] if data["out"][node] == 0 else ():
            out[other] = 1 if out[other] == MASK else out[other]
    return out


def quotient(a, b):  # as C has it
    return abs(a) // b * (1 if a >= 0 else -1)


def moved(bodies, n, m, data):
    return [(own + quotient(sum(quotient(far - own, 1 + ((far - own) ** 2 >> 8)) for far in bodies[:n]), m)) & MASK for own in bodies[:n]]


def turned(matrix, n, m, data):
    return [matrix[column * n + row] for row in range(n) for column in range(n)]


PROGRAMS = {
    "matrix_locks": Program((32, 2), (256, 4), lambda n, m: ((2 * n * n, 256), (n * n, 0), (n * n // 256, 0)), lambda n, m: n * n // 256 * m, product),
    "coloring": Program((512, 8), (1 << 16, 8), lambda n, m: ((n * m, n), (n, 0), (1, 0)), lambda n, m: n // 256, colours),
    "worklist": Program((512, 8), (1 << 16, 64), lambda n, m: ((n, 1 << 16), (n, 0), (1, 0)), lambda n, m: min(n // 256, 132), steps),
    "lookback": Program((2048, 0), (1 << 20, 0), lambda n, m: ((n, 256), (n, 0), (2 * n, 0)), lambda n, m: n // 256, sums),
    "streamk": Program((512, 4), (1 << 16, 4), lambda n, m: ((n, 256), (n, 0), (2 * n * m, 0)), lambda n, m: n // 256 * m, tiles),
    "grid_barrier": Program((1024, 3), (1 << 16, 11),  # odd: the last step writes to out
                            lambda n, m: ((n, 256), (n, 0), (1, 0)), lambda n, m: min(n // 256, 132), stencil),
    "spmv": Program((512, 8), (1 << 18, 16), lambda n, m: ((n * m, n), (n, 0), (n, 256)), lambda n, m: n // 256, times_vector),
    "bfs": Program((512, 4), (1 << 18, 8), lambda n, m: ((n * m, n), (n, 4), (1, 0)), lambda n, m: n // 256, searched),
    "nbody": Program((512, 16), (1 << 14, 16), lambda n, m: ((n, 1024), (n, 0), (1, 0)), lambda n, m: n // 256, moved),
    "transpose": Program((64, 0), (2048, 0), lambda n, m: ((n * n, 1 << 16), (n * n, 0), (1, 0)), lambda n, m: n * n // 1024, turned),
}


def drawn(count, below, seed):
    """So many 32-bit words, random below a power of two; 0: zeros."""
    if not below:
        return array.array("I", bytes(4 * count))
    mask = int.from_bytes((below - 1).to_bytes(4, "little") * count, "little")
    drawn_bits = int.from_bytes(random.Random(seed).randbytes(4 * count), "little")
    return array.array("I", (drawn_bits & mask).to_bytes(4 * count, "little"))


def data_of(name, size):
    data = {which: drawn(count, below, seed) for seed, (which, (count, below)) in
            enumerate(zip(("in", "out", "work"), PROGRAMS[name].words(*size)))}
    if name == "bfs":  # a quarter is at distance 0
        data["out"] = array.array("I", [MASK if value else 0 for value in data["out"]])
    return data


class Device(cost.Cuda):
    """The driver; times kernels on arrays that are as they were before each launch."""

    def __init__(self):
        super().__init__()
        self.module = ctypes.c_void_p()
        self("cuModuleLoadData", ctypes.byref(self.module), cost.ptx_of(PTX).encode() + b"\0")

    def name(self):
        said = ctypes.create_string_buffer(100)
        self("cuDeviceGetName", said, len(said), 0)
        return said.value.decode()

    def memory(self, words):
        at = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(4 * len(words)))
        self("cuMemcpyHtoD_v2", at, words.tobytes(), ctypes.c_size_t(4 * len(words)))
        return at

    def event(self):
        event = ctypes.c_void_p()
        self("cuEventCreate", ctypes.byref(event), 0)
        return event

    def run(self, kernel, ctas, data, size, samples):
        """Milliseconds of each launch behind the first, and the arrays behind the last."""
        first, now = ({which: self.memory(one) for which, one in data.items()} for _ in range(2))
        function, took, start, end = ctypes.c_void_p(), [], self.event(), self.event()
        self("cuModuleGetFunction", ctypes.byref(function), self.module, kernel.encode())
        values = [*now.values(), *map(ctypes.c_uint32, size)]
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values))
        for _ in range(1 + samples):
            for which, one in data.items():
                self("cuMemcpyDtoD_v2", now[which], first[which], ctypes.c_size_t(4 * len(one)))
            self("cuEventRecord", start, None)
            self("cuLaunchKernel", function, ctas, 1, 1, THREADS, 1, 1, 0, None, pointers, None)
            self("cuEventRecord", end, None)
            self("cuCtxSynchronize")
            ms = ctypes.c_float()
            self("cuEventElapsedTime", ctypes.byref(ms), start, end)
            took.append(ms.value)
        back = {}
        for which, one in data.items():
            got = (ctypes.c_uint32 * len(one))()
            self("cuMemcpyDtoH_v2", got, now[which], ctypes.c_size_t(4 * len(one)))
            back[which] = array.array("I", got)
        for at in (*first.values(), *now.values()):
            self("cuMemFree_v2", at)
        return took[1:], back


def measure(names, small, racy, samples):
    """{name: [median ms, checksum of what came out, whether Python reckons the same]}, and under "device" its name"""
    device = Device()
    measured = {"device": device.name()}
    for name in names:
        program = PROGRAMS[name]
        size = program.small if small else program.large
        data = data_of(name, size)
        took, back = device.run(name + "_racy" * racy, program.ctas(*size), data, size, samples)
        out = back["out"]
        good = not small or racy or list(out) == [value & MASK for value in program.expected(data["in"], *size, data)]
        measured[name] = [statistics.median(took), zlib.crc32(out.tobytes()), good]
    return measured


def run(args, prefix, names, where, *, racy=False):
    path = os.path.join(where, "measured.json")
    options = ["--small"] * args.small + ["--racy"] * racy
    emulated = args.device == "emu" and not prefix
    env = {**os.environ, "LD_LIBRARY_PATH": os.path.join(os.path.dirname(args.launch), "..", "lib", "emu")} if emulated else None
    done = subprocess.run([*prefix, sys.executable, os.path.abspath(__file__), "--measure", path, "--samples", str(1 if racy else args.samples),
                           *options, *names], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=args.seconds, env=env, check=False)
    if done.returncode:
        sys.exit(f"bench/programs.py: {' '.join(names)}: status {done.returncode}\n{done.stdout}")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def checked(args, name, where, *, racy):
    report = tempfile.mkdtemp(dir=where)
    prefix = [args.launch, "--device", args.device, "--exit-code", "0", "--report", report]
    measured = run(args, prefix, [name], where, racy=racy)
    with open(os.path.join(report, "summary.json"), encoding="utf-8") as file:
        return measured[name], json.load(file)


def row(args, name, plain, where):
    (ms, checksum, good), summary = checked(args, name, where, racy=False)
    _, twin = checked(args, name, where, racy=True)
    counters = summary["coverage"]["counters"]
    return {"program": name, "plain_ms": plain[0], "gsan_ms": ms, "gsan_x": ms / plain[0] if plain[0] else None, "accesses": counters["accesses"],
            "checked": counters["checked"], "findings": len(summary["findings"]), "twin_found": bool(twin["findings"]),
            "same": good and plain[2] and checksum == plain[1]}


def right(one):
    return one["twin_found"] and one["same"] and not one["findings"] and one["checked"] == one["accesses"] > 0


def show(one):
    said = [] if right(one) else [f"{one['findings']} FALSE FINDINGS"] * bool(one["findings"]) + ["TWIN MISSED"] * (not one["twin_found"]) + \
        ["ANOTHER RESULT"] * (not one["same"]) + [f"{one['checked']} of {one['accesses']} accesses checked"] * (one["checked"] != one["accesses"])
    times = f"{one['gsan_x']:9.2f}x" if one["gsan_x"] else " " * 10
    print(f"{one['program']:14} {times}  {one['plain_ms']:9.3f} ms  {one['gsan_ms']:9.3f} ms  {one['checked']:11} accesses  {', '.join(said) or 'ok'}",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--launch", default=os.path.join(ROOT, "build", "dev", "bin", "gsan-launch"))
    parser.add_argument("--device", default="cuda", choices=["cuda", "emu"])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=400, help="for a process, at most")
    parser.add_argument("--output", help="a file for the rows")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--racy", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    args = parser.parse_args()
    names = args.names or list(PROGRAMS)
    if args.measure:
        with open(args.measure, "w", encoding="utf-8") as file:
            json.dump(measure(names, args.small, args.racy, args.samples), file)
        return 0
    with tempfile.TemporaryDirectory(prefix="gsan-programs-") as where:
        plain = run(args, [], names, where)
        rows = []
        for name in names:
            rows.append(row(args, name, plain[name], where))
            show(rows[-1])
    if args.output:
        with open(args.output, "w", encoding="utf-8") as file:
            json.dump({"rows": rows, "device": plain["device"], "commit": args.commit, "date": datetime.date.today().isoformat()}, file, indent=1)
            file.write("\n")
    return not all(right(one) for one in rows)


if __name__ == "__main__":
    sys.exit(main())

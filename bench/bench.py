"""What checking costs: four Triton kernels, the median of CUDA-event times, in a plain run and under gsan-launch.

    bench.py --launch build/dev/bin/gsan-launch --output bench/results/speed.json [--linked]

One plain process measures all kernels, then one checked process each kernel, so that the counters of its report are that
kernel's. Each time is the median of `--samples` launches after a warm-up that ends with the compilation. The kernels are
those of the project's first measurements: add of 2^26 floats, softmax of 8192 rows of 4096, a 4096^3 half-precision
matrix product, a histogram of 2^24 numbers by relaxed atomics. Their racy twins (twins.py) run once under the same build
and settings: a row counts if its twin's race was found. `shadow_bytes_per_byte`: line records, and all of the tables with
the whole pool of byte-exact detail, over the memory of the program. `--linked`: those and MORE, which have no twins, with
clones compiled whole and linked (GSAN_LINKER), a process for each form; both stand beside the plain time.
"""
import argparse
import datetime
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "gpu"))
MORE = ("gather", "scatter", "halves", "attention")
TWINS = {"vadd": "add_twin", "softmax": "softmax_twin", "matmul": "matmul", "histogram": "histogram_twin"}


def cases():
    """{name: launch}, each a function without arguments that enqueues one launch."""
    import torch
    import kernels

    torch.manual_seed(1)
    x, y = torch.randn(2, 1 << 26, device="cuda")
    total = torch.empty_like(x)
    rows = torch.randn(8192, 4096, device="cuda")
    soft = torch.empty_like(rows)
    a, b = torch.randn(2, 4096, 4096, device="cuda", dtype=torch.float16)
    c = torch.empty_like(a)
    values = torch.randint(0, 1 << 16, (1 << 24,), device="cuda", dtype=torch.int32)
    bins = torch.zeros(1 << 16, device="cuda", dtype=torch.int32)
    index = torch.randperm(1 << 24, device="cuda", dtype=torch.int32)
    half = torch.randn(1 << 24, device="cuda", dtype=torch.float16)
    twice = torch.empty_like(half)
    q, k, v = torch.randn(3, 16 * 2048, 64, device="cuda", dtype=torch.float16)
    heads = torch.empty_like(q)
    return {
        "vadd": lambda: kernels.add[(x.numel() // 1024,)](x, y, total, x.numel(), BLOCK=1024),
        "softmax": lambda: kernels.softmax[(8192,)](soft, rows, 4096, BLOCK=4096, num_warps=8),
        "matmul": lambda: kernels.matmul[(32, 32)](a, b, c, 4096, 4096, 4096, BM=128, BN=128, BK=32, num_warps=8, num_stages=3),
        "histogram": lambda: kernels.histogram[(values.numel() // 1024,)](values, bins, values.numel(), BLOCK=1024),
        "gather": lambda: kernels.gather[(index.numel() // 1024,)](x, index, total, index.numel(), BLOCK=1024),
        "scatter": lambda: kernels.scatter[(index.numel() // 1024,)](x, index, total, index.numel(), BLOCK=1024),
        "halves": lambda: kernels.halves[(half.numel() // 1024,)](half, twice, half.numel(), BLOCK=1024),
        "attention": lambda: kernels.attention[(2048 // 64, 16)](q, k, v, heads, 2048, BM=64, BN=64, D=64),
    }


def median_ms(launch, samples):
    """The median in ms of so many launches, behind three that compile and warm up."""
    import torch

    for _ in range(3):
        launch()
    torch.cuda.synchronize()
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(samples)]
    for start, end in events:
        start.record()
        launch()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) for start, end in events)


def measure(names, samples):
    """{name: median in ms}"""
    return {name: median_ms(launch, samples) for name, launch in cases().items() if name in names}


def run(prefix, names, samples, where):
    path = os.path.join(where, "measured.json")
    subprocess.run([*prefix, sys.executable, os.path.abspath(__file__), "--measure", path, "--samples", str(samples),
                    "--kernels", ",".join(names)], check=True, timeout=400)
    with open(path) as file:
        return json.load(file)


def checked(launch, where, *program):
    """The job's summary, and where it ran."""
    report = tempfile.mkdtemp(dir=where)
    prefix = [launch, "--device", "cuda", "--exit-code", "0", "--report", report]
    measured = program[0](prefix) if callable(program[0]) else subprocess.run([*prefix, *program], check=True, timeout=400)
    with open(os.path.join(report, "summary.json")) as file:
        return measured, json.load(file)


def about():
    import torch
    query = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], stdout=subprocess.PIPE,
                           text=True, check=False).stdout.split("\n")[0]
    import triton
    return {"device": torch.cuda.get_device_name(), "driver": query, "torch": torch.__version__, "triton": triton.__version__}


def row(name, plain_ms, launch, samples, where, twins):
    measured, summary = checked(launch, where, lambda prefix: run(prefix, [name], samples, where))
    coverage = summary["coverage"]
    shadow = coverage["shadow_bytes"] + coverage.get("tables_bytes", 0)
    return {"kernel": name, "plain_ms": plain_ms, "gsan_ms": measured[name], "gsan_x": measured[name] / plain_ms,
            "shadow_bytes_per_byte": shadow / coverage["memory_bytes"], "accesses": coverage["counters"]["accesses"],
            "checked": coverage["counters"]["checked"], "findings": len(summary["findings"]),
            "twin_found": any(f["second"]["kernel"] == TWINS[name] for f in twins["findings"])}


def forms(names, launch, samples, where):
    """Rows of --linked, and whether both forms checked every access and found nothing."""
    plain, clean = run([], names, samples, where), True
    rows = [{"kernel": name, "plain_ms": plain[name]} for name in names]
    for form, linker in (("whole", "none"), ("linked", "auto")):
        os.environ["GSAN_LINKER"] = linker
        measured, summary = checked(launch, where, lambda prefix: run(prefix, names, samples, where))
        counters = summary["coverage"]["counters"]
        clean = clean and not summary["findings"] and counters["checked"] == counters["accesses"] > 0
        for one in rows:
            one[f"{form}_ms"] = measured[one["kernel"]]
            one[f"{form}_x"] = measured[one["kernel"]] / one["plain_ms"]
    return rows, clean


def write(path, result, commit):
    with open(path, "w") as file:
        json.dump({**result, **about(), "commit": commit, "date": datetime.date.today().isoformat()}, file, indent=1)
        file.write("\n")


def slower(one):
    return one["linked_x"] > 1.03 * one["whole_x"]


def linked(args, where):
    rows, clean = forms([*TWINS, *MORE], args.launch, args.samples, where)
    write(args.output, {"rows": rows, "clean": clean}, args.commit)
    for one in rows:
        print(f"{one['kernel']:10} plain {one['plain_ms']:8.3f} ms  whole {one['whole_x']:7.2f}x  linked {one['linked_x']:7.2f}x"
              f"{'  SLOWER' * slower(one)}")
    if not clean:
        print("NOT CLEAN: a finding, or accesses that were not checked")
    return not clean or any(slower(one) for one in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launch", default=os.path.join(ROOT, "build", "dev", "bin", "gsan-launch"))
    parser.add_argument("--output", default=os.path.join(ROOT, "bench", "results", "speed.json"))
    parser.add_argument("--samples", type=int, default=31)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--kernels", default=",".join(TWINS), help="which of them, separated by commas")
    parser.add_argument("--linked", action="store_true", help="whole and linked clones beside each other; fails where linked ones are slower")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    args = parser.parse_args()
    names = args.kernels.split(",")
    if args.measure:
        with open(args.measure, "w") as file:
            json.dump(measure(names, args.samples), file)
        return 0
    with tempfile.TemporaryDirectory() as where:
        if args.linked:
            return linked(args, where)
        plain = run([], names, args.samples, where)
        _, twins = checked(args.launch, where, sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "twins.py"))
        rows = [row(name, plain[name], args.launch, args.samples, where, twins) for name in names]
    geomean = math.exp(sum(math.log(one["gsan_x"]) for one in rows) / len(rows))
    write(args.output, {"geomean": geomean, "rows": rows}, args.commit)
    for one in rows:
        print(f"{one['kernel']:10} {one['gsan_x']:7.2f}x  {one['plain_ms']:8.3f} ms  {one['gsan_ms']:8.3f} ms  shadow "
              f"{one['shadow_bytes_per_byte']:.2f}  checked {one['checked']} of {one['accesses']}  twin "
              f"{'found' if one['twin_found'] else 'MISSED'}{'' if not one['findings'] else '  FALSE FINDINGS'}")
    print(f"geomean    {geomean:7.2f}x")
    return any(one["findings"] or not one["twin_found"] or one["checked"] != one["accesses"] for one in rows)


if __name__ == "__main__":
    sys.exit(main())

"""What checking costs: four Triton kernels, the median of CUDA-event times, in a plain run and in one under gsan-launch.

    bench.py --launch build/dev/bin/gsan-launch --output bench/results/bench.json

Both runs are processes of their own (this file again, with --measure). Each number is the median of `--samples`
launches after a warm-up that ends with the compilation; `spread` is the distance between the quartiles. The kernels are
those of the project's first measurements: add of 2^26 floats, softmax of 8192 rows of 4096, a 4096^3 half-precision
matrix product, a histogram of 2^24 numbers by relaxed atomics.
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
    return {
        "vadd": lambda: kernels.add[(x.numel() // 1024,)](x, y, total, x.numel(), BLOCK=1024),
        "softmax": lambda: kernels.softmax[(8192,)](soft, rows, 4096, BLOCK=4096, num_warps=8),
        "matmul": lambda: kernels.matmul[(32, 32)](a, b, c, 4096, 4096, 4096, BM=128, BN=128, BK=32, num_warps=8, num_stages=3),
        "histogram": lambda: kernels.histogram[(values.numel() // 1024,)](values, bins, values.numel(), BLOCK=1024),
    }


def measure(samples):
    """{name: {"ms": median, "spread": quartile distance, "n": samples}}"""
    import torch

    result = {}
    for name, launch in cases().items():
        for _ in range(3):
            launch()
        torch.cuda.synchronize()
        events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(samples)]
        for start, end in events:
            start.record()
            launch()
            end.record()
        torch.cuda.synchronize()
        times = [start.elapsed_time(end) for start, end in events]
        low, middle, high = statistics.quantiles(times, n=4)
        result[name] = {"ms": middle, "spread": high - low, "n": samples}
    return result


def run(prefix, samples, where):
    path = os.path.join(where, "measured.json")
    subprocess.run([*prefix, sys.executable, os.path.abspath(__file__), "--measure", path, "--samples", str(samples)],
                   check=True, timeout=400)
    with open(path) as file:
        return json.load(file)


def about():
    import torch
    query = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], stdout=subprocess.PIPE,
                           text=True, check=False).stdout.split("\n")[0]
    import triton
    return {"device": torch.cuda.get_device_name(), "driver": query, "torch": torch.__version__, "triton": triton.__version__}


def compare(plain, checked):
    kernels = {name: {"ratio": checked[name]["ms"] / plain[name]["ms"], "plain": plain[name], "checked": checked[name]}
               for name in plain}
    ratios = [kernel["ratio"] for kernel in kernels.values()]
    return {"geomean": math.exp(sum(map(math.log, ratios)) / len(ratios)), "kernels": kernels}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launch", default=os.path.join(ROOT, "build", "dev", "bin", "gsan-launch"))
    parser.add_argument("--output", default=os.path.join(ROOT, "bench", "results", "bench.json"))
    parser.add_argument("--samples", type=int, default=31)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        with open(args.measure, "w") as file:
            json.dump(measure(args.samples), file)
        return
    with tempfile.TemporaryDirectory() as where:
        plain = run([], args.samples, where)
        report = os.path.join(where, "report")
        checked = run([args.launch, "--device", "cuda", "--exit-code", "0", "--report", report], args.samples, where)
        with open(os.path.join(report, "summary.json")) as file:
            summary = json.load(file)
    coverage = summary["coverage"]
    result = {**compare(plain, checked), "accesses": coverage["counters"]["accesses"],
              "checked": coverage["counters"]["checked"], "launches_checked": coverage["launches_checked"],
              "launches_unchecked": coverage["launches_unchecked"], "findings": len(summary["findings"]), **about(),
              "date": datetime.date.today().isoformat()}
    with open(args.output, "w") as file:
        json.dump(result, file, indent=1)
    for name, kernel in result["kernels"].items():
        print(f"{name:10} {kernel['ratio']:7.2f}x  {kernel['plain']['ms']:8.3f} ms  {kernel['checked']['ms']:8.3f} ms")
    print(f"geomean    {result['geomean']:7.2f}x  accesses {result['accesses']}, checked {result['checked']}")


if __name__ == "__main__":
    main()

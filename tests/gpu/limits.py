"""Runs tests/gpu/limits.c under gsan-launch, for real counts or with counters that start near their ends. Arguments:
gsan-launch, the program, the device, then WHAT=COUNT[xRANKS]…, on a GPU for each rank; prints a line for each and exits with 1 if any is not as
it must be."""
import json
import os
import subprocess
import sys
import tempfile
import time

NEAR_THE_END = {"ctas": {}, "launches": {"GSAN_TEST_FIRST_LAUNCH": "65400"},
                "unwaited": {"GSAN_TEST_FIRST_LAUNCH": "65400"}, "sets": {"GSAN_TEST_FIRST_LAUNCH": "65400"}, "releases": {"GSAN_TEST_FIRST_EPOCH": "480"},
                "fills": {"LIMITS_FILL": str(256 << 20)}}


def verdict(launch, program, device, what, count, ranks):
    settings = {**NEAR_THE_END[what], "EMU_DEVICES": str(ranks)} if device == "emu" else {}
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report")
        start = time.monotonic()
        job = subprocess.run([launch, "-n", str(ranks), "--device", device, "--report", report, program, what, count],
                             env={**os.environ, **settings}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=280,
                             check=False)
        seconds = time.monotonic() - start
        with open(os.path.join(report, "summary.json")) as file:
            summary = json.load(file)
    sides = [(f["first"]["kernel"], f["second"]["kernel"], f["first"]["gpu"], f["second"]["gpu"])
             for each in summary["findings"] for f in each.get("pairs", [each])]
    counters = {name: n for name, n in summary["coverage"]["counters"].items() if n}
    unchecked = {name: summary["coverage"][f"{name}_unchecked"] for name in ("launches", "copies")}
    if any(unchecked.values()):
        return f"unchecked: {unchecked}", seconds, counters
    if job.returncode != 66 or sorted(sides) != [("racy", "racy", gpu, gpu) for gpu in range(ranks)]:
        return f"status {job.returncode}, findings {sides}: {job.stderr[-1500:]}", seconds, counters
    return "found", seconds, counters


def main():
    launch, program, device = sys.argv[1:4]
    failed = 0
    for word in sys.argv[4:]:
        what, count = word.split("=")
        count, _, ranks = count.partition("x")
        said, seconds, counters = verdict(launch, program, device, what, count, int(ranks or 1))
        failed += said != "found"
        print(f"{word}: {said} ({seconds:.1f} s, {counters})", flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

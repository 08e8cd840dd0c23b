"""Runs the pairs under gsan-launch on the emulated device, under seeds of each schedule: what is correct has no finding; of a twin a race
is found in each run, and its class is missing-barrier where an edge between its CTAs is there. Of twins that are racy by the letter of
PTX alone it is told formal; of the SILENT ones it need not be found, nor where no schedule shows it. `section` has the same on GPUs.

    detect.py [--bin BIN] [--seeds N] [--from SEED] [PAIR…]
"""
import argparse
import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEDULES = ("program", "random", "pct", "lag")
FORMALLY = {"publish": "missing-release", "receive": "missing-acquire"}  # what a twin that is racy by the letter of PTX alone lacks
SILENT = ("receive_fence_behind_barrier",)  # docs/memory-model.md: what one warp read, the fence of another acquires behind a barrier


def outcome(out, report):
    """Of what a job printed and its folder of reports: the kernels' names with what each twin is, and (class, formal) of each finding by
    kernel."""
    with open(os.path.join(report, "summary.json")) as file:
        summary = json.load(file)
    found = collections.defaultdict(list)
    for finding in (pair for each in summary["findings"] for pair in each.get("pairs", [each])):
        found[finding["second"]["kernel"]].append((finding["missing_edge_class"], finding["formal"]))
    return dict(line.split("\t") for line in out.splitlines() if "\t" in line), found


def job(build, seed, schedule, names):
    with tempfile.TemporaryDirectory(prefix="warps-") as report:
        done = subprocess.run([os.path.join(build, "gsan-launch"), "-n", "1", "--device", "emu", "--seed", str(seed), "--schedule", schedule,
                               "--report", report, os.path.join(build, "warps-run"), *names], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 66):
            sys.exit(f"seed {seed}, {schedule}: status {done.returncode}\n{done.stderr[-2000:]}")
        return outcome(done.stdout, report)


def complaints(kernels, found):
    for name, twin in kernels.items():
        classes = ", ".join(each for each, _ in found[name])
        if name.endswith("_correct") and classes:
            yield f"{name}: {classes}"
        if name.endswith("_racy") and twin != "unseen" and not classes and not name.startswith(SILENT):
            yield f"{name}: not found"
        if any(formal != (twin == "formal") for _, formal in found[name]) and twin != "unseen":
            yield f"{name}: {classes}, formal or not"
        if twin == "formal" and classes and not all(each == FORMALLY[name.split("_")[0]] for each, formal in found[name] if formal):
            yield f"{name}: {classes}, though that is there"


def section(run, names):
    """Rows for tests/gpu/run. Each kernel 20 times in a process, three processes: the driver compiles the runtime once per kernel, so
    that jobs of few pairs share the cores. run(arguments): a job of warps-run."""
    def one(some):
        for _ in range(3):
            result = run(["--repeats", "20", *some])
            if result.status not in (0, 66):
                yield f"{', '.join(some)}: status {result.status} {result.err[-300:]}", {}, {}
                return
            kernels, found = outcome(result.out, result.report)
            yield "; ".join(complaints(kernels, found)), kernels, found

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        done = [each for some in pool.map(lambda some: list(one(some)), [names[k:k + 3] for k in range(0, len(names), 3)]) for each in some]
    bad = [said for said, _, _ in done if said]
    classes = collections.Counter(each for _, _, found in done for kernel in found.values() for each, _ in kernel)
    print(dict(classes))
    yield "pairs", str(len(names)), str(len({name for _, kernels, _ in done for name in kernels}) // 2), 60
    yield "correct clean, twins found", "", "; ".join(sorted(set(bad)))[:2000], 60


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(HERE, "..", "..", "build", "dev", "bin"))
    parser.add_argument("--seeds", type=int, default=2, help="of each schedule")
    parser.add_argument("--from", type=int, default=1, dest="first")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    bad, classes = [], collections.Counter()
    for seed in range(args.first, args.first + args.seeds):
        for schedule in SCHEDULES:
            kernels, found = job(args.bin, seed, schedule, args.names)
            bad += [f"seed {seed}, {schedule}: {line}" for line in complaints(kernels, found)]
            classes.update(one for each in found.values() for one, _ in each)
    print("\n".join(bad) or "as expected", dict(classes), sep="\n")
    if not args.names and classes["missing-barrier"] < sum(classes.values()) / 2:
        bad.append("few are a missing barrier")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()

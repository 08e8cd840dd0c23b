"""Runs the pairs under gsan-launch on the emulated device, under seeds of each schedule: what is correct has no finding; of a twin a race
is found in each run, and its class is missing-barrier where an edge between its CTAs is there. Not of twins in which who waits counts as
behind all that its CTA has done (barriers of some warps, mbarriers, flags within the CTA), nor of those that are racy by the letter of
PTX alone: found or not.

    detect.py [--bin BIN] [--seeds N] [--from SEED] [PAIR…]
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEDULES = ("program", "random", "pct", "lag")
NOT_FOLLOWED = ("publish_named_of_two", "publish_another_id", "publish_arrive", "publish_mbarrier", "publish_flag_within_the_cta",
                "publish_by_hand_in_shared", "receive_named", "receive_arrive", "receive_mbarrier")


def job(build, seed, schedule, names):
    """The kernels' names with whether each is formal, findings by kernel, and what was said."""
    with tempfile.TemporaryDirectory(prefix="warps-") as report:
        done = subprocess.run([os.path.join(build, "gsan-launch"), "-n", "1", "--device", "emu", "--seed", str(seed), "--schedule", schedule,
                               "--report", report, os.path.join(build, "warps-run"), *names], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 66):
            sys.exit(f"seed {seed}, {schedule}: status {done.returncode}\n{done.stderr[-2000:]}")
        with open(os.path.join(report, "summary.json")) as file:
            summary = json.load(file)
    kernels = dict(line.split("\t") for line in done.stdout.splitlines() if "\t" in line)
    found = collections.defaultdict(list)
    for finding in summary["findings"]:
        found[finding["second"]["kernel"]].append(finding["missing_edge_class"])
    return kernels, found


def complaints(kernels, found):
    for name, formal in kernels.items():
        if name.endswith("_correct") and name in found:
            yield f"{name}: {', '.join(found[name])}"
        followed = not name.startswith(NOT_FOLLOWED) and formal == "0"
        if name.endswith("_racy") and followed and name not in found:
            yield f"{name}: not found"


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
            classes.update(one for each in found.values() for one in each)
    print("\n".join(bad) or "as expected", dict(classes), sep="\n")
    if not args.names and classes["missing-barrier"] < sum(classes.values()) / 2:
        bad.append("few are a missing barrier")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()

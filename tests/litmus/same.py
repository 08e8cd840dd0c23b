"""One job of two ranks, run again and again under one seed: its device work interleaves in the same way, and each rank does the
same, however long the hosts take, and the compiler, which finds its work done from the second run on. What the hosts of
different ranks do at once has no order.

    same.py --bin DIR [--runs N] [--seeds N,…]
"""
import argparse
import collections
import os
import subprocess
import sys
import tempfile

import judge

HOSTS = {"launch", "range", "record", "wait", "complete"}  # lines of a trace that hosts write, too
RANKS = 10**9                                              # numbers of a rank (docs/emulated-device.md, "Trace")
PROGRAMS = 30


def rank_of(word):
    return int(word[1]) if word[0] == "complete" else int(word[2 if word[0] == "wait" else 1]) // RANKS


def read(path):
    """The lines of device work, and those of each rank."""
    parts = collections.defaultdict(list)
    with open(path) as file:
        for line in file.read().splitlines()[1:]:
            word = line.split()
            parts[f"rank {rank_of(word)}"].append(line)
            if word[0] not in HOSTS:
                parts["the device"].append(line)
    return parts


def run(args, pack, work, seed, number):
    trace, report = (os.path.join(work, f"{what}-{seed}-{number}") for what in ("trace", "report"))
    command = [os.path.join(args.bin, "gsan-launch"), "-n", "2", "--device", "emu", "--seed", str(seed), "--report", report,
               os.path.join(args.bin, "litmus-run"), pack]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "EMU_TRACE": trace, "EMU_GRACE_MS": "5", "EMU_DEVICES": "4",
                               "GSAN_CACHE_DIR": os.path.join(work, "cache")})
    if done.returncode not in (0, 66):
        sys.exit(f"same: {' '.join(command)}: status {done.returncode}: {done.stderr[-2000:]}")
    return {"what is printed": sorted(done.stdout.splitlines()), **read(trace)}


def differences(runs, seed):
    for number, other in enumerate(runs[1:], 2):
        yield from (f"seed {seed}, run {number}: {text}" for text in compare(runs[0], other))


def compare(first, other):
    for what in sorted({*first, *other}):
        pairs = list(zip(first.get(what, []), other.get(what, [])))
        at = next((n for n, (a, b) in enumerate(pairs) if a != b), len(pairs))
        if first.get(what) != other.get(what):
            yield f"{what}, line {at + 1}: {other.get(what, [])[at:at + 1]}, and in run 1 {first.get(what, [])[at:at + 1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--seeds", default="2,5")
    args = parser.parse_args()
    programs = judge.gather(argparse.Namespace(bin=args.bin, programs=None, shapes=100, only="-ranks$"))[:PROGRAMS]
    with tempfile.TemporaryDirectory(prefix="same-") as work:
        pack = os.path.join(work, "pack.litmus")
        with open(pack, "w") as file:
            file.write("".join(p.text if p.text.endswith("\n") else p.text + "\n" for p in programs))
        complaints = []
        for seed in map(int, args.seeds.split(",")):
            complaints += differences([run(args, pack, work, seed, number) for number in range(1, args.runs + 1)], seed)
    for complaint in complaints:
        print(complaint)
    print(f"{len(programs)} programs, {args.runs} runs of each seed: {len(complaints)} differences")
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Random programs of warps (warps.c): what the PTX axioms say of all their executions, with a warp as the unit of order, against what
the reference detector says of those that the emulated device shows (gsan-reference --warps), pair of lines by pair.

    warps.py --from A --to B [--schedules NAME,...] [--seeds N] [--keep DIR] [--results FILE]
    warps.py --replay FILE…

of the programs of the seeds [A, B); FILE gets a range more, with its numbers. --replay: programs that once disagreed (kept/warps): of
these the detector finds every race of the reference.

Where fence.sc counts as fence.acq_rel, as in the reference, a pair that the reference has and no execution has by the axioms is false.
One that all executions have is missed if any run is without it, but of a warp whose lanes are parted, or came apart in that run
(counted: lanes_apart; the reference has it by threads). Of what only some executions have, the runs show some. Programs that are too
large for the axioms are judged by the runs alone: by whether a race was there in every one of them, in none, or in some (which of them
came first may matter, if what makes it race is a relaxed flag or two lanes of one warp). What the detector finds has to be among the
races of the reference, if not by warps, then by threads (judge.py, between_threads, says why); it may find fewer, which is counted, for
it takes lanes for one thread, and values that are not known for any. So does the reference by CTAs, whose races it has by warps, too, and those by threads. Of a pair that both have, both tell
whether it is formal.
With --keep, DIR gets the programs that disagree.
Exit status: 0 all agree; 1 they do not; 2 a job did not run.
"""
import argparse
import collections
import concurrent.futures
import datetime
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

BIN = os.environ.get("GSAN_BIN") or os.path.join(os.path.dirname(__file__), "..", "..", "build", "bin")
UNITS = ("--ctas", "--warps", "--threads") # of the reference: each has the races of the one before it
SCHEDULES = ("random", "program", "pct", "lag")
SLICE = 60    # programs of one job
LIMIT = 40000 # steps of the axioms, for one program
FOUND = 66


class Broken(Exception):
    """A job that did not run as it should."""


class Program:
    def __init__(self, path):
        self.path, self.name = path, os.path.basename(path).removesuffix(".litmus")
        self.axioms, self.pairs = None, {}  # {lines: "all" or "some"}; None with an answer that is not known
        self.runs = []                      # of each, the lines of the races
        self.lanes_apart = 0                # races that runs were without, for a warp's lanes came one after the other
        self.races = self.missed = 0        # of the reference, in all runs; of these not found by the detector
        self.kept = False

    def known(self):
        return self.axioms != "unknown"

    def parted(self):
        """Lines of warps whose lanes are in several groups: which of these came first may matter (a warp counts as one)."""
        groups, at = collections.defaultdict(lambda: collections.defaultdict(set)), None
        with open(self.path) as file:
            for number, line in enumerate(file, 1):
                head = re.match(r"cta (\d+)(?: threads? (\d+))?", line)
                if head:
                    at = int(head[1]), int(head[2] or 0) // 32, number
                elif at:
                    groups[at[:2]][at[2]].add(number)
        return {number for each in groups.values() if len(each) > 1 for lines in each.values() for number in lines}

    def complaints(self, where, said):
        races = said["--warps"]
        self.races += len(races)
        self.missed += len(races - said["found"])
        for lines in sorted(races - said["found"]) if self.kept else ():
            yield f"{self.name} {where}: the detector did not find {lines}"
        for lines in sorted(said["found"] - races - said["--threads"]):
            yield f"{self.name} {where}: the detector found {lines}, which is no race"
        for lines in sorted(said["found"] & races):
            if (lines in said["found_real"]) != (lines in said["real"]):
                yield f"{self.name} {where}: the detector tells {lines} {'real' if lines in said['found_real'] else 'formal'}, the reference does not"
        for less, more in itertools.pairwise(UNITS):
            for lines in sorted(said[less] - said[more]):
                yield f"{self.name} {where}: a race of {lines} in the reference with {less}, and not with {more}"
        if not self.known():
            return
        for lines in sorted(races - set(self.pairs)):
            yield f"{self.name} {where}: a race of {lines} in the reference, in no execution by the axioms"
        parted = self.parted()
        for lines in sorted(lines for lines, often in self.pairs.items() if often == "all" and lines not in races and not parted & set(lines)):
            if lines in said["--threads"]:  # lanes of one group came apart in this run
                self.lanes_apart += 1
                continue
            yield f"{self.name} {where}: no race of {lines} in the reference, in all executions by the axioms"


def make(first, last, folder):
    made = subprocess.run([os.path.join(BIN, "random-programs"), "warps", str(first), str(last), folder], capture_output=True, text=True)
    if made.returncode:
        raise Broken(made.stderr.strip())
    return [Program(os.path.join(folder, f"warps{seed}.litmus")) for seed in range(first, last)]


def ask_axioms(programs):
    done = subprocess.run([os.path.join(BIN, "axioms"), "--unit=warp", "--fence-sc=no", "--pairs", f"--limit={LIMIT}", *(p.path for p in programs)],
                          capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise Broken(f"axioms: {done.stderr[-2000:]}")
    names, program = {p.name: p for p in programs}, None
    for word in map(str.split, done.stdout.splitlines()):
        if word[0] == "pair":
            program.pairs[int(word[1]), int(word[2])] = word[3]
        else:
            program = names[word[0]]
            program.axioms = word[2] if word[1] == "allowed" else word[1]


def job(programs, schedule, seed, folder):
    """{who: races} of each program of one run."""
    place = tempfile.mkdtemp(dir=folder)
    trace, report = os.path.join(place, "trace"), os.path.join(place, "report")
    command = [os.path.join(BIN, "gsan-launch"), "--device", "emu", "--seed", str(seed), "--report", report, os.path.join(BIN, "litmus-run"),
               *(p.path for p in programs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280,
                          env={**os.environ, "EMU_TRACE": trace, "EMU_GRACE_MS": "2", "EMU_SCHEDULE": schedule})
    if done.returncode not in (0, FOUND):
        raise Broken(f"status {done.returncode} of {' '.join(command)}\n{done.stderr[-3000:]}")
    said = {unit: reference(unit, trace, programs) for unit in UNITS}
    said |= {"real": reference("--warps", trace, programs, formal=False), "found": collections.defaultdict(set), "found_real": collections.defaultdict(set)}
    with open(os.path.join(report, "summary.json")) as file:
        for f in (pair for finding in json.load(file)["findings"] for pair in finding.get("pairs", [finding])):
            for to in ("found",) if f["formal"] else ("found", "found_real"):
                add(said[to], programs, *((f[side]["kernel"], f[side]["line"]) for side in ("first", "second")))
    shutil.rmtree(place)
    return [{who: races[p.name] for who, races in said.items()} for p in programs]


def reference(unit, trace, programs, formal=True):
    judged = subprocess.run([os.path.join(BIN, "gsan-reference"), unit, trace], capture_output=True, text=True)
    if judged.returncode not in (0, 1):
        raise Broken(f"gsan-reference: {judged.stderr[-2000:]}")
    races = collections.defaultdict(set)
    for word in map(str.split, judged.stdout.splitlines()):
        if word[0] == "race" and (formal or word[-1] != "formal"):
            add(races, programs, (word[2], int(word[3])), (word[5], int(word[6])))
    return races


def add(to, programs, one, other):
    names = {programs[int(re.match(r"l(\d+)_", kernel).group(1))].name for kernel, _ in (one, other)}
    if len(names) != 1:
        raise Broken(f"a race between programs: {names}")
    to[names.pop()].add(tuple(sorted((one[1], other[1]))))


def run(programs, schedules, seeds, jobs, folder):
    slices = [programs[i:i + SLICE] for i in range(0, len(programs), SLICE)]
    todo = [(part, schedule, seed) for schedule in schedules for seed in range(1, seeds + 1) for part in slices]
    complaints = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for (part, schedule, seed), result in zip(todo, pool.map(lambda what: job(*what, folder), todo)):
            for p, said in zip(part, result):
                p.runs.append(said["--warps"])
                for complaint in p.complaints(f"{schedule} {seed}", said):
                    complaints.setdefault(p, []).append(complaint)
    return complaints


def numbers(programs):
    """{what the axioms say: {what the runs showed: programs}}"""
    table = collections.defaultdict(collections.Counter)
    for p in programs:
        racy = sum(map(bool, p.runs))
        table[p.axioms]["always" if racy == len(p.runs) else "sometimes" if racy else "never"] += 1
    return table


def total(programs, what):
    return sum(getattr(p, what) for p in programs)


def save(path, args, programs, disagree):
    ranges = []
    if os.path.exists(path):
        with open(path) as file:
            ranges = json.load(file)["ranges"]
    commit = subprocess.run(["git", "-C", os.path.dirname(os.path.abspath(__file__)), "rev-parse", "--short=12", "HEAD"], capture_output=True,
                            text=True).stdout.strip() or None
    ranges = [one for one in ranges if (one["from"], one["to"]) != (args.first, args.last)]
    ranges.append({"from": args.first, "to": args.last, "commit": commit, "date": datetime.date.today().isoformat(),
                   "schedules": args.schedules.split(","), "seeds": args.seeds, "programs": len(programs), "disagree": disagree,
                   **{what: total(programs, what) for what in ("lanes_apart", "races", "missed")},
                   "axioms": {answer: dict(sorted(row.items())) for answer, row in sorted(numbers(programs).items())}})
    with open(path, "w") as file:
        json.dump({"ranges": sorted(ranges, key=lambda one: one["from"])}, file, indent=1)
        file.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", type=int, dest="first", default=0)
    parser.add_argument("--to", type=int, dest="last", default=0)
    parser.add_argument("--replay", nargs="+", metavar="FILE")
    parser.add_argument("--schedules", default=",".join(SCHEDULES))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep")
    parser.add_argument("--results")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gsan-warps-") as folder:
        try:
            programs = [Program(path) for path in args.replay] if args.replay else make(args.first, args.last, folder)
            for p in programs:
                p.kept = bool(args.replay)
            ask_axioms(programs)
            complaints = run(programs, args.schedules.split(","), args.seeds, args.jobs, folder)
        except Broken as broken:
            print(f"warps: {broken}", file=sys.stderr)
            return 2
        for p in complaints if args.keep else ():
            os.makedirs(args.keep, exist_ok=True)
            shutil.copy(p.path, args.keep)
    if args.results:
        save(args.results, args, programs, len(complaints))
    table = numbers(programs)
    for p, said in list(complaints.items())[:20]:
        print("\n".join(said[:4]))
    for answer in sorted(table):
        print(f"by the axioms {answer}: {', '.join(f'{n} racy {often}' for often, n in sorted(table[answer].items()))}")
    print(f"{len(programs)} programs, {len(programs[0].runs)} runs of each, {len(complaints)} disagree, lanes apart {total(programs, 'lanes_apart')}; "
          f"the detector missed {total(programs, 'missed')} of {total(programs, 'races')} races")
    enough = args.replay or all(sum(table[answer].values()) * 20 >= len(programs) for answer in ("free", "race")) # else nothing would be shown
    return bool(complaints) or not enough


if __name__ == "__main__":
    sys.exit(main())

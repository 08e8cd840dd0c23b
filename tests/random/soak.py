#!/usr/bin/env python3
"""Random programs on the emulated device: the detector against the reference detector on the same trace.

    soak.py --from A --to B [--results FILE] [--keep] [--traces DIR] [--unexplained N]
                                                 programs of the seeds [A, B); with --results, seeds that are there already
                                                 are left out, and the numbers of all ranges are added up
    soak.py --copies --from A --to B …           the same with copies and sets between the launches
    soak.py --replay FILE.litmus...              programs that disagreed once, under many schedules
    soak.py --still KIND FILE.litmus             exit 0 if it still disagrees (the shrinker's question)

A finding that the reference has not is a false positive, unless it has it between threads (judge.py). A race of the
reference that is not found is a miss. It is explained if a later access stands for its first one (DESIGN 4: a record
replaces another if it conflicts with at least as much; the reference says where that may be) and that race was found:
named_by_later_access; or if that access is ordered before the second by observation, which the first is not
(replaced_by_ordered_access). Or if the same execution shows it when the samples fall otherwise: sample. The programs
whose races are missed run again, and only they, with other GSAN_SAMPLE_SEEDs, some times over: launches of other
numbers are sampled otherwise, too (EMU_AFRESH: their part of the trace is the same in any job). One whose part, or
whose races in the reference, are others than before is not used (traces_differ counts those programs). Or if it shows
it when each weak access is checked at once, not where its run ends (GSAN_TEST_RUN): late_check; or when values that
nothing checked has left order nothing (GSAN_TEST_LIFT): ambiguous_version; or when every RMW has an entry: coarse_path.
Or if the reference has it no more when a flag that another write races with keeps what was released there (REF_OVER):
behind_racing_flag; the race at the flag is one of its own. Or it is one of a copy or a set, and the reference has it no more when all that
the other side comes behind counts by the time that the copy is looked at, as do accesses that need not synchronise (REF_LATE): late_copy. What is left then runs 400 times with all limits lifted.
Half of the blocks of seeds switch between the program's own operations (EMU_SCHEDULE=program), so that a trace is to be
had again; the others, with more programs on the devices at a time, switch by priorities or inside the runtime, too, and
there misses are not judged (misses_not_judged), only false positives. With --keep, what disagrees is shrunk into
tests/random/kept; with --traces, DIR gets a folder for each job with a false positive, as many a one does not come
again: its programs, trace and reports.
Exit status: 0 all agree but for the misses that --unexplained allows, 1 they do not, 2 a job did not run.
"""
import argparse
import collections
import concurrent.futures
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import judge

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
KEPT = os.path.join(HERE, "kept")
PROGRAMS = os.path.join(judge.BIN, "random-programs")
BLOCK = 64  # RANDOM_BLOCK of generate.h
SPAN = 512  # seeds that are judged together; results hold whole spans
SAMPLE_SEEDS = range(2, 10)
# Why, and sampling seed, repetitions and settings of the jobs that show it.
LIFTS = (("sample", 2, 2, {}), ("sample", 3, 6, {}), ("sample", 4, 32, {}), ("late_check", 5, 32, {"GSAN_TEST_RUN": "1"}),
         ("ambiguous_version", 6, 32, {"GSAN_TEST_LIFT": "1"}), ("coarse_path", 7, 32, {"GSAN_TEST_LIFT": "2"}),
         ("several_of_these", 8, 64, {"GSAN_TEST_LIFT": "3", "GSAN_TEST_RUN": "1"}))
LONG = (("several_of_these", 9, 400, {"GSAN_TEST_LIFT": "3", "GSAN_TEST_RUN": "1"}),)  # minutes: for what is left in the end
LEAST = 0.3  # of the programs are racy, and as many free of races with an edge between ranks


def schedule_of(block):
    return ("program", "random", "program", "pct")[(block + block // 8) % 4]


def ranks_of(block):
    return 3 if block % 8 == 7 else 2


def devices_of(block):
    return 1 if block % 8 == 5 else ranks_of(block)


class Tally:
    """Numbers of a range of seeds."""

    def __init__(self):
        self.programs = self.racy = self.free_with_rank_edge = self.traces_differ = self.not_judged = 0
        self.rows, self.edges, self.explained = collections.Counter(), collections.Counter(), collections.Counter()
        self.false_positives, self.unexplained = [], []  # (schedule, Race)

    def add(self, other):
        self.programs += other.programs
        self.racy += other.racy
        self.free_with_rank_edge += other.free_with_rank_edge
        self.traces_differ += other.traces_differ
        self.not_judged += other.not_judged
        for name in ("rows", "edges", "explained"):
            getattr(self, name).update(getattr(other, name))
        self.false_positives += other.false_positives
        self.unexplained += other.unexplained

    def wrong(self):
        return [("false-positive", *one) for one in self.false_positives] + [("miss", *one) for one in self.unexplained]

    def row(self, first, last, seconds):
        return {"from": first, "to": last, "commit": commit(), "date": datetime.date.today().isoformat(),
                "seconds": round(seconds, 1), "programs": self.programs, "racy": self.racy,
                "free_with_rank_edge": self.free_with_rank_edge, "false_positives": len(self.false_positives),
                "misses_explained": dict(sorted(self.explained.items())), "misses_unexplained": len(self.unexplained),
                "misses_not_judged": self.not_judged, "traces_differ": self.traces_differ,
                "rows": dict(sorted(self.rows.items())), "edges": dict(sorted(self.edges.items()))}


def commit():
    return subprocess.run(["git", "-C", SOURCE, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True).stdout.strip() or None


# ---- one job ----------------------------------------------------------------------------------------------------------

def make(first, last, folder, copies):
    """Writes the programs; returns their files and how often each row of DESIGN occurs."""
    made = subprocess.run([PROGRAMS, "copies" if copies else "make", str(first), str(last), folder], capture_output=True, text=True)
    if made.returncode:
        raise judge.Broken(made.stderr.strip())
    rows = dict(reversed(line.split(" ", 1)) for line in made.stdout.splitlines())
    return [os.path.join(folder, f"{seed}.litmus") for seed in range(first, last)], {name: int(n) for name, n in rows.items()}


class Unit:
    """The programs of one job, in blocks of one schedule and equal ranks, and what its runs said."""

    def __init__(self, blocks, traces=None, copies=False):
        block = blocks[0][0] // BLOCK
        self.blocks, self.seeds = blocks, [seed for first, last in blocks for seed in range(first, last)]
        self.schedule, self.ranks, self.seed = schedule_of(block), ranks_of(block), block + 1
        self.tally, self.files, self.traces, self.copies = Tally(), [], traces, copies

    def run(self, sample_seed, files, repeat=1, settings=None):
        """Runs a job; its false positives count whatever it runs for."""
        with tempfile.TemporaryDirectory(prefix="gsan-soak-") as job:
            run = judge.run(files, self.ranks, self.schedule, self.seed, sample_seed, repeat, keep=self.traces and job,
                            afresh=self.schedule == "program", settings=settings)
            if self.traces and run.false_positives():
                self.preserve(job, files, run)
        said = self.tally.false_positives
        said += [(self.schedule, race) for race in run.false_positives() if (self.schedule, race) not in said]
        return run

    def preserve(self, job, files, run):
        os.makedirs(self.traces, exist_ok=True)
        folder = shutil.copytree(job, tempfile.mkdtemp(prefix=f"{self.seeds[0]}-", dir=self.traces), dirs_exist_ok=True)
        for path in files:
            shutil.copy(path, folder)
        with open(os.path.join(folder, "false-positives"), "w") as file:
            file.writelines(f"{race}\n" for race in sorted(run.false_positives()))

    def judge(self):
        with tempfile.TemporaryDirectory(prefix="gsan-soak-") as folder:
            for block in self.blocks:
                files, rows = make(*block, folder, self.copies)
                self.files += files
                self.tally.rows.update(rows)
            run = self.run(1, self.files)
            count_programs(self.tally, run, self.seeds)
            if self.schedule == "program":
                self.explain(run)
            else:
                self.tally.not_judged += len(run.missed())
        return self.tally

    def explain(self, first):
        """Counts which of the missed races are named by others, which the same trace shows with a limit lifted, and which are
        behind a racing flag; the rest is unexplained."""
        found = set(first.found)
        missed = self.unnamed(first, first.missed(), found)
        unseen = first.unseen(missed)
        self.tally.explained["late_copy"] += len(unseen)
        missed = self.lift(first, missed - unseen, found, LIFTS)
        left = first.over.unnamed(missed, found)
        self.tally.explained["behind_racing_flag"] += len(missed - left)
        self.tally.unexplained += [(self.schedule, race) for race in self.lift(first, left, found, LONG)]

    def lift(self, first, missed, found, lifts):
        """Those of the missed races that are not found with these limits lifted; `found` grows."""
        for cause, sample_seed, repeat, settings in lifts:
            if not missed:
                break
            lifted = self.run(sample_seed, self.parts({race.program() for race in missed}), repeat, settings)
            new = self.comparable(first, lifted)
            self.tally.explained[cause] += len(missed & new)
            found |= new
            missed = self.unnamed(first, missed - new, found)
        return missed

    def comparable(self, first, lifted):
        """What was found in the programs that did the same again."""
        same = {program for program, did in lifted.executions.items() if set(did) == set(first.executions[program]) and
                races_of(program, lifted.exact.racy) == races_of(program, first.exact.racy)}
        self.tally.traces_differ += len(lifted.executions) - len(same)
        return {race for race in lifted.found if race.program() in same}

    def parts(self, programs):
        """The files of the parts of the job in which the programs are."""
        places = {place // judge.AFRESH for place, seed in enumerate(self.seeds) if f"random{seed}" in programs}
        return [path for place, path in enumerate(self.files) if place // judge.AFRESH in places]

    def unnamed(self, run, missed, found):
        rest = run.exact.unnamed(missed, found)
        for race in missed - rest:
            self.tally.explained["replaced_by_ordered_access" if run.exact.behind(race) else "named_by_later_access"] += 1
        return rest


def races_of(program, races):
    return {race for race in races if race.program() == program}


def count_programs(tally, run, seeds):
    racy = {race.program() for race in run.exact.racy}
    for seed in seeds:
        name = f"random{seed}"
        edges = run.edges.get(name, {})
        tally.programs += 1
        tally.racy += name in racy
        tally.free_with_rank_edge += name not in racy and edges.get("cross-rank", 0) > 0
        tally.edges.update(edges)


# ---- what disagrees --------------------------------------------------------------------------------------------------

def keep(kind, schedule, race, copies):
    """Shrinks the program of a race on which the two disagree, into tests/random/kept."""
    seed = race.program().removeprefix("random")
    os.makedirs(KEPT, exist_ok=True)
    target = os.path.join(KEPT, f"{kind}-{seed}.litmus")
    with tempfile.TemporaryDirectory(prefix="gsan-soak-") as folder:
        whole = os.path.join(folder, "whole.litmus")
        with open(whole, "w") as file:
            subprocess.run([PROGRAMS, "print", *(["copies"] if copies else []), seed], stdout=file, check=True)
        small = subprocess.run([PROGRAMS, "shrink", whole, sys.executable, os.path.abspath(__file__), "--still", kind],
                               capture_output=True, text=True)
        text = small.stdout if small.returncode == 0 else open(whole).read()
    with open(target, "w") as file:
        file.write(f"# {kind}, found on {datetime.date.today().isoformat()} by seed {seed} under EMU_SCHEDULE={schedule}\n{text}")
    return target


def ranks_in(path):
    with open(path) as file:
        ranks = [int(line.split()[1]) for line in file if line.startswith("ranks ")]
    return max(ranks, default=1)


def disagreements(path, kinds, schedules=("program", "random", "pct"), seeds=(1, 2), repeat=25):
    """The races on which the two disagree in any of many executions. A miss is one that no sampling seed finds."""
    wrong = set()
    for schedule in schedules:
        for seed in seeds:
            run = judge.run([path], ranks_in(path), schedule, seed, repeat=repeat, afresh=schedule == "program")
            if "false-positive" in kinds:
                wrong |= {("false-positive", race) for race in run.false_positives()}
            if "miss" in kinds and schedule == "program":
                wrong |= {("miss", race) for race in never_found(path, run, seed, repeat)}
    return wrong


def never_found(path, run, seed, repeat):
    found, missed = set(run.found), run.missed()
    for sample_seed in SAMPLE_SEEDS:
        missed = run.exact.unnamed(missed - found, found)
        if missed:
            found |= judge.run([path], ranks_in(path), "program", seed, sample_seed, repeat=repeat, afresh=True).found
    missed = run.exact.unnamed(missed - found, found)
    return run.over.unnamed(missed - run.unseen(missed), found)


def still(kind, path):
    schedules = ("program",) if kind == "miss" else ("program", "random")
    return bool(disagreements(path, {kind}, schedules, seeds=(1,)))


def replay(paths):
    failed = 0
    for path in paths:
        wrong = disagreements(path, {"false-positive", "miss"})
        for kind, race in sorted(wrong):
            print(f"{path}: {kind}: {race}")
        failed |= bool(wrong)
    print(f"{len(paths)} kept programs, {'some disagree' if failed else 'all agree'}")
    return failed


# ---- ranges and results ----------------------------------------------------------------------------------------------

def load(path):
    if not path or not os.path.exists(path):
        return []
    with open(path) as file:
        return json.load(file)["ranges"]


def total(ranges):
    """The numbers of all ranges added up."""
    sums = {}
    for one in ranges:
        for name, value in one.items():
            if isinstance(value, dict):
                sums[name] = dict(sorted((collections.Counter(sums.get(name, {})) + collections.Counter(value)).items()))
            elif name not in ("from", "to", "commit", "date"):
                sums[name] = round(sums.get(name, 0) + value, 1)
    return sums


def save(path, ranges):
    ranges = sorted(ranges, key=lambda one: one["from"])
    newest = max(ranges, key=lambda one: one["date"])
    result = {"commit": newest["commit"], "date": newest["date"], **total(ranges), "ranges": ranges}
    with open(path + ".new", "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    os.replace(path + ".new", path)


def spans_left(first, last, ranges):
    """[from, to) of the spans of seeds that no range covers."""
    todo = []
    while first < last:
        done = [one["to"] for one in ranges if one["from"] <= first < one["to"]]
        end = max(done, default=min([last, (first // SPAN + 1) * SPAN, *(one["from"] for one in ranges if one["from"] > first)]))
        if not done:
            todo.append((first, end))
        first = end
    return todo


def units_of(span, schedules, traces=None, copies=False):
    """The jobs of a span: its blocks by schedule, ranks and devices."""
    jobs, (first, last) = collections.defaultdict(list), span
    while first < last:
        end, block = min(last, (first // BLOCK + 1) * BLOCK), first // BLOCK
        if schedule_of(block) in schedules:
            jobs[schedule_of(block), ranks_of(block), devices_of(block)].append((first, end))
        first = end
    return [Unit(blocks, traces, copies) for blocks in jobs.values()]


def progress(tally, done, count, began):
    rate = (time.time() - began) / max(1, done)
    print(f"\r{tally.programs} programs, {tally.racy} racy, {tally.free_with_rank_edge} free with an edge between ranks, "
          f"{len(tally.false_positives)} false positives, {sum(tally.explained.values())} misses explained, "
          f"{len(tally.unexplained)} not; {rate * (count - done) / 60:.1f} min left ", end="", flush=True)


def soak(first, last, args):
    whole, began, ranges = Tally(), time.time(), load(args.results)
    spans = {span: units_of(span, args.schedules.split(","), args.traces, args.copies) for span in spans_left(first, last, ranges)}
    left, finished, broken = {span: len(units) for span, units in spans.items()}, {}, 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        running = {pool.submit(unit.judge): (span, unit) for span, units in spans.items() for unit in units}
        for done, future in enumerate(concurrent.futures.as_completed(running), 1):
            span, unit = running[future]
            try:
                whole.add(future.result())
                for kind, schedule, race in future.result().wrong():
                    print(f"\r{kind} under {schedule}: {race}")
            except judge.Broken as error:
                print(f"\nseeds {unit.blocks}: {error}")
                broken = 1
                continue
            progress(whole, done, len(running), began)
            left[span] -= 1
            if not left[span]:
                finished[span] = Tally()
                for one in spans.pop(span):
                    finished[span].add(one.tally)
                if args.results:
                    save(args.results, ranges + joined(finished, began))
    print()
    return report(whole, args) or 2 * broken


def joined(finished, began):
    """Neighbouring spans as one range; the time is shared out by programs."""
    out, seconds, programs = [], time.time() - began, sum(t.programs for t in finished.values())
    for (first, last), tally in sorted(finished.items()):
        if not out or out[-1][1] != first:
            out.append([first, first, Tally()])
        out[-1][1] = last
        out[-1][2].add(tally)
    return [tally.row(first, last, seconds * tally.programs / programs) for first, last, tally in out if tally.programs]


def keep_some(wrong, copies):
    kept = set()
    for kind, schedule, race in wrong:
        if (kind, race.program()) not in kept and len(kept) < 10:
            kept.add((kind, race.program()))
            path = keep(kind, schedule, race, copies)
            print(f"kept: {os.path.relpath(path, SOURCE)}\n{open(path).read()}")


def report(tally, args):
    """Prints rows, keeps what disagrees. 1: something is wrong."""
    for title, counts in (("instructions, by row of DESIGN 6", tally.rows), ("edges in the reference", tally.edges),
                          ("misses explained", tally.explained)):
        print(f"{title}: " + ", ".join(f"{name} {n}" for name, n in sorted(counts.items())))
    print(f"misses not judged {tally.not_judged}, programs not used again because their trace differs {tally.traces_differ}")
    if args.keep:
        keep_some(tally.wrong(), args.copies)
    few = tally.programs >= 500 and min(tally.racy, tally.free_with_rank_edge) < LEAST * tally.programs
    if few:
        print(f"of {tally.programs} programs only {tally.racy} are racy and {tally.free_with_rank_edge} free with an edge between ranks")
    if len(tally.unexplained) > args.unexplained:
        print(f"{len(tally.unexplained)} misses are unexplained, {args.unexplained} allowed")
    return 1 if tally.false_positives or len(tally.unexplained) > args.unexplained or few else 0


def main():
    parser = argparse.ArgumentParser(description="random programs: the detector against the reference detector")
    parser.add_argument("--from", dest="first", type=int, default=0, metavar="A")
    parser.add_argument("--to", dest="last", type=int, metavar="B")
    parser.add_argument("--results", metavar="FILE")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() * 3 // 2,
                        help="at once (half as many again as processors: the ranks of a job wait for each other)")
    parser.add_argument("--unexplained", type=int, default=0, metavar="N", help="misses without explanation that are no failure")
    parser.add_argument("--schedules", default="program,random,pct", help="leave out the blocks of others; under `random` the hosts' own "
                        "order counts, and a run is not had again")
    parser.add_argument("--copies", action="store_true", help="programs with copies and sets between their launches")
    parser.add_argument("--keep", action="store_true", help="shrink up to ten disagreements into tests/random/kept")
    parser.add_argument("--traces", metavar="DIR", help="keep programs, trace and reports of jobs with a false positive")
    parser.add_argument("--replay", nargs="*", metavar="FILE")
    parser.add_argument("--still", nargs=2, metavar=("KIND", "FILE"))
    args = parser.parse_args()
    try:
        if args.still:
            return 0 if still(*args.still) else 1
        if args.replay is not None:
            return replay(args.replay)
    except judge.Broken as error:
        print(f"soak.py: {error}", file=sys.stderr)
        return 2
    if args.last is None or not 0 <= args.first < args.last:
        parser.error("write --from A --to B with A less than B")
    return soak(args.first, args.last, args)


if __name__ == "__main__":
    sys.exit(main())

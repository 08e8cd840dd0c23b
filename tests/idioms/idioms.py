"""Runs each idiom of this folder, correct and with its two mutants, under gsan-launch: what is correct is clean and computes
what it must; of a mutant a race is found in all runs but one, and every sentence names the line that was changed.

    idioms.py [--build DIR] [--runs N] [--mutant 0|1|2]… [--show] [NAME…]
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SHAPE = ["--ctas", "4", "--threads", "64", "--rounds", "3"]
NATIVE = ["--ctas", "132", "--threads", "256", "--rounds", "3", "--repeats", "20"]
SMALL = {"ll": ["--ctas", "2", "--threads", "32"], "lamport": ["--ctas", "2", "--threads", "32"]}  # lanes that wait one by one
TWO_RANKS = {"allreduce_oneshot", "allreduce_twoshot", "ll", "ll128", "lamport"}
SCHEDULES = ("program", "pct", "random")
GOOD = {0: "clean", 1: "found", 2: "found"}

# What the detector does not do yet, of (idiom, mutant; 0: the correct form). A row that has become right fails the test, and goes.
#   false: a finding in the correct form; missed: in more runs than one nothing; words: a sentence does not name the line.
TODAY = {
}


def names():
    return sorted(name[:-3] for name in os.listdir(HERE) if name.endswith(".cu"))


def edge(name, mutant):
    """FILE:LINE that the sentences must name."""
    with open(os.path.join(HERE, name + ".cu")) as file:
        lines = file.read().splitlines()
    for mark in (f"edge {mutant}", f"M{mutant}("):
        found = [number for number, line in enumerate(lines, 1) if re.search(rf"{re.escape(mark)}(?!\d)", line)]
        if found:
            assert len(found) == 1, f"{name}: {mark} on several lines"
            return f"{name}.cu:{found[0]}"
    raise ValueError(f"{name} has no mutant {mutant}")


Run = collections.namedtuple("Run", "what said")  # what: clean, false, found, missed, words, or why it did not end well


def look(result, name, mutant):
    """What one job turned out to be."""
    if result.status not in (0, 66):
        return Run(f"status {result.status}: {result.err[-1500:]} {result.out[-200:]}", [])
    with open(os.path.join(result.report, "summary.json")) as file:
        summary = json.load(file)
    said = [f"{f['kind']} x{f['count']}: {f['missing_edge']}" for f in summary["findings"]]
    if not summary["coverage"]["counters"]["checked"] or not re.search(r"\d+ runs, \d+ wrong results", result.out):
        return Run("nothing was checked, or nothing ran", said)
    if not mutant:
        return Run("false" if said else "clean", said)
    place = re.compile(rf"\b{re.escape(edge(name, mutant))}\b")
    return Run("missed" if not said else "found" if all(map(place.search, said)) else "words", said)


def verdict(runs, mutant):
    """One word for all runs of a form; how many were so. A broken job is its own word."""
    count = collections.Counter(run.what for run in runs)
    broken = [what for what in count if what not in ("clean", "false", "found", "missed", "words")]
    if broken:
        return broken[0]
    if not mutant:
        return "false" if count["false"] else "clean"
    if count["missed"] > (1 if len(runs) > 1 else 0):
        return "missed"
    return "words" if count["words"] else "found"


def measure(run, forms, options, workers=1):
    """(name, mutant, runs) of each form; options: those of each run, for gsan-launch and the program."""
    def job(task):
        (name, mutant), (launcher, program) = task
        ranks = 2 if name in TWO_RANKS else 1
        shape = [*program, *(SMALL.get(name, []) if program is SHAPE else [])]
        return look(run(ranks, launcher, ["--mutant", str(mutant), *shape, name]), name, mutant)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        said = list(pool.map(job, [(form, option) for form in forms for option in options]))
    for i, form in enumerate(forms):
        yield (*form, said[i * len(options):(i + 1) * len(options)])


def section(run, repeats=1):
    """Rows (case, expected, got, repeats) of tests/gpu/run. run(ranks, options of gsan-launch, arguments of idioms-run)."""
    forms = [(name, mutant) for name in names() for mutant in range(3)]
    workers = max(1, min(8, (os.cpu_count() or 1) // 2))
    for name, mutant, runs in measure(run, forms, [([], NATIVE)] * repeats, workers):
        got = verdict(runs, mutant)
        if got in ("false", "words"):
            print("\n".join(line for one in runs for line in one.said))
        yield f"{name}: {'mutant ' + str(mutant) if mutant else 'correct'}", GOOD[mutant], got, len(runs)


class Emulated:
    """A job on the emulated device."""

    def __init__(self, build, place):
        self.build, self.place = build, place

    def __call__(self, ranks, launcher, arguments):
        report = tempfile.mkdtemp(dir=self.place)
        command = [os.path.join(self.build, "bin", "gsan-launch"), "-n", str(ranks), "--device", "emu", "--report", report, *launcher,
                   os.path.join(self.build, "bin", "idioms-run"), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100,
                                  env={"EMU_GRACE_MS": "5", "EMU_STEP_LIMIT": "20000000", **os.environ})
        except subprocess.TimeoutExpired as late:
            done = subprocess.CompletedProcess(command, None, "", f"no end within {late.timeout} s")
        done.report, done.status, done.out, done.err = report, done.returncode, done.stdout, done.stderr
        return done


def complaints_of(results, show):
    for name, mutant, runs in results:
        got, today = verdict(runs, mutant), TODAY.get((name, mutant), GOOD[mutant])
        print(f"{'ok  ' if got == today else 'FAIL'} {name} {mutant}: {got} ({' '.join(run.what[:60] for run in runs)})", flush=True)
        if show or got != today:
            print("\n".join(f"     {line}" for line in sorted({line for run in runs for line in run.said})))
        if got != today and got == GOOD[mutant]:
            yield f"{name} {mutant} is {got} and no longer {today}: take its row out of TODAY"
        elif got != today:
            yield f"{name} {mutant}: {got}, not {today}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build", "dev"))
    parser.add_argument("--runs", type=int, default=3, help="of each form, with schedules by turns")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mutant", type=int, action="append")
    parser.add_argument("--show", action="store_true", help="all sentences")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    forms = [(name, mutant) for name in args.names or names() for mutant in args.mutant or range(3)]
    options = [(["--seed", str(args.seed + i // len(SCHEDULES)), "--schedule", SCHEDULES[i % len(SCHEDULES)]], SHAPE)
               for i in range(args.runs)]
    with tempfile.TemporaryDirectory(prefix="idioms-") as place:
        complaints = list(complaints_of(measure(Emulated(args.build, place), forms, options), args.show))
    print("\n".join(complaints) or "as expected")
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()

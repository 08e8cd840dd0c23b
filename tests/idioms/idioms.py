"""Runs each idiom of this folder, correct and with its two mutants, under gsan-launch: what is correct is clean and computes
what it must; of a mutant a race is found in all runs but one, and every sentence names the line that was changed (`edge`), but of
races whose second access is `late`. Where a mutant lacks a barrier of its CTA, a finding is of class missing-barrier, too. On the
emulated device the reference detector says of each run whether there was a race, warp by warp; it must say so of mutants alone, and
of all their runs.

With --witness, idioms of barriers run on the emulated device without gsan, while warps lag: each mutant must compute something wrong
under one of some seeds, a truth that rests on no detector, and the correct form under none.

    idioms.py [--build DIR] [--runs N] [--seed N] [--mutant 0|1|2]… [--show] [NAME…]
    idioms.py [--build DIR] [--lags N] [--mutant 0|1|2]… --witness [NAME…]

CTest has one seed of each schedule; ten of each: --runs 40 --seed 100 and the names of idioms of barriers.
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
NATIVE = ["--ctas", "132", "--threads", "256", "--rounds", "3"]
EACH = {"ll", "ll128", "lamport"}  # a strong location for each thread, which waits for itself
SMALL = ["--ctas", "2", "--threads", "32"]  # of these, emulated
CONTENDED = {"lock_cas", "lock_clh", "lock_rw", "lock_ticket", "queue", "treiber"}  # all CTAs want one word: quadratic
FEW = {**dict.fromkeys(EACH | {"lock_ticket"}, 24), **dict.fromkeys(CONTENDED - {"lock_ticket"}, 44), "grid_sync": 66, "grid_barrier": 66,
       # A clock has room for what reductions observe in some tens of lines (docs/memory-model.md, the list of what is bounded).
       "histogram": 4, "last_block_red": 4,
       "barrier_again": 8}  # natively; who reads a count while another raises it counts as behind both: of many some always does
CHEAP = {"allreduce_oneshot", "allreduce_twoshot", "lookback_flags", "lookback_word", "splitk", "streamk", "last_block",
         "stream_value"}
BARRIERS = {"histogram", "last_block_red", "fifo", "streamk_lock", "grid_barrier", "prefix", "barrier_again", "ll_again"}
LAGS = 20  # seeds of a witness
# Where a CTA's other warps do not wait for the one that waits, most of them read before it has acquired anything. Of all races that two
# sites have in a launch one is said, the first: no flag was seen. So it is where a CTA reads before the other's warps have stored.
AHEAD = {("histogram", 2), ("streamk_lock", 2), ("grid_barrier", 1), ("grid_barrier", 2), ("barrier_again", 2)}
SAID = {("grid_barrier", 2): "missing-acquire"}  # instead: the flag was read, and the fence of the warp that polls comes later
SEVERAL_RANKS = {"allreduce_oneshot", "allreduce_twoshot", "ll", "ll128", "lamport"}
SCHEDULES = ("program", "pct", "random")
# Forms that run once more, emulated: the program's options, the schedule, how many seeds of it.
WIDE = (["--ctas", "16", "--threads", "64", "--rounds", "3"], "program", 1)  # where that is cheap
MANY = (["--ctas", "24", "--threads", "32", "--rounds", "3"], "random", 2)   # flags of many CTAs to tell apart
MORE = {**{(name, 0): WIDE for name in CHEAP}, **{(name, mutant): MANY for name in ("queue", "dekker") for mutant in (1, 2)},
        ("grid_barrier", 1): (["--ctas", "72", "--threads", "64", "--rounds", "1"], "pct", 1),  # more than a clock has room for
        ("grid_barrier", 2): (SHAPE, "pct", 6),  # what AHEAD says hides the acquire in most runs
        ("streamk_lock", 2): (["--ctas", "16", "--threads", "64", "--rounds", "2"], "random", 24),  # one in five brings other races than AHEAD out
        ("histogram", 1): (["--ctas", "4", "--threads", "256", "--rounds", "1"], "program", 1),  # reductions at more places than a clock has
        ("histogram", 2): (SHAPE + ["--ctas", "8", "--rounds", "6"], "pct", 2),  # ... as do warps that stand aside
        ("allreduce_oneshot", 1): (SHAPE + ["--ctas", "24", "--repeats", "3"], "random", 1)}  # until lists widen
UNMODELLED = {"stream_value"}  # the reference detector takes what a stream writes for a plain store
PARTED = ("program", "pct", "program")  # of EACH: lanes that part stay so under `random`, and each looks for itself
WORKERS = 2  # emulated; CTest gives this as many processors
GOOD = {0: "clean", 1: "found", 2: "found"}


def names():
    return sorted(name[:-3] for name in os.listdir(HERE) if name.endswith(".cu"))


def chosen(only, ranks):
    """Those of these names, or all; of another number of ranks than two those that have several."""
    return only or (names() if ranks == 2 else sorted(SEVERAL_RANKS))


def source(name):
    with open(os.path.join(HERE, name + ".cu")) as file:
        return file.read()


def edge(name, mutant):
    """FILE:LINE that the sentences must name."""
    lines = source(name).splitlines()
    for mark in (f"edge {mutant}", f"M{mutant}("):
        found = [number for number, line in enumerate(lines, 1) if re.search(rf"{re.escape(mark)}(?!\d)", line)]
        if found:
            assert len(found) == 1, f"{name}: {mark} on several lines"
            return f"{name}.cu:{found[0]}"
    raise ValueError(f"{name} has no mutant {mutant}")


def lacks_barrier(name, mutant):
    """Is it a barrier of the CTA that the mutant does without?"""
    return re.search(rf"M{mutant}\(.*SYNC", source(name), re.IGNORECASE) is not None


def late(name, mutant):
    """FILE:LINE of each access that may come too late."""
    return [f"{name}.cu:{number}" for number, line in enumerate(source(name).splitlines(), 1) if re.search(rf"late {mutant}(?!\d)", line)]


# what: clean, false, found, missed, words (they blame another line), unnamed (none: whose flag it was was not seen), unseen (a mutant whose race did
# not come about), or why it did not end well; classes: of its findings
Run = collections.namedtuple("Run", "what said classes", defaults=((),))


def look(result, name, mutant):
    """What one job turned out to be."""
    if result.status not in (0, 66):
        return Run(f"status {result.status}: {result.err[-1500:]} {result.out[-200:]}", [])
    with open(os.path.join(result.report, "summary.json")) as file:
        summary = json.load(file)
    racy = getattr(result, "racy", None)  # None: nobody has said
    if racy not in (None, bool(mutant)) and name not in UNMODELLED:
        if mutant and not summary["findings"]:
            return Run("unseen", [])
        return Run(f"the reference detector finds {'a' if racy else 'no'} race", [])
    pairs = [pair for finding in summary["findings"] for pair in finding.get("pairs", [finding])]
    said = [f"{f['kind']} x{f['count']}: {f['missing_edge']}" for f in pairs]
    if not summary["coverage"]["counters"]["checked"] or not re.search(r"\d+ runs, \d+ wrong results", result.out):
        return Run("nothing was checked, or nothing ran", said)
    if not mutant:
        return Run("false" if said else "clean", said)
    place = re.compile(rf"\b{re.escape(edge(name, mutant))}\b")
    other = {f["missing_edge_class"] for f in pairs if not (place.search(f["missing_edge"]) or comes_late(f, name, mutant) or widened(f, summary))}
    what = "missed" if not said else "found" if not other else "unnamed" if other <= {"no-synchronisation", "missing-stream-edge"} else "words"
    return Run(what, said, {f["missing_edge_class"] for f in pairs})


def comes_late(finding, name, mutant):
    second = finding["second"]
    return f"{os.path.basename(second.get('file') or '')}:{second.get('line')}" in late(name, mutant)


def widened(finding, summary):
    """Of a clock without room for all CTAs: that a barrier is missing is known then, by which of several flag stores may not be."""
    return finding["missing_edge_class"] == "missing-barrier" and re.search("the flag (store|atomic) is by ", finding["missing_edge"]) and \
        summary["coverage"]["counters"]["clock_entries_collapsed"] > 0


def verdict(runs, mutant, needed=None):
    """One word for all runs of a form; how many were so. A broken job is its own word. needed: the class that a finding has."""
    count = collections.Counter(run.what for run in runs)
    broken = [what for what in count if what not in ("clean", "false", "found", "missed", "words", "unnamed", "unseen")]
    if broken:
        return broken[0]
    if not mutant:
        return "false" if count["false"] else "clean"
    if count["missed"] + count["unseen"] > (1 if len(runs) > 1 else 0):
        return "missed"
    if count["unnamed"] > (1 if len(runs) > 1 else 0):
        return "unnamed"
    if needed and not any(needed in run.classes for run in runs):
        return f"no {needed}"
    return "words" if count["words"] else "found"


def needed(name, mutant):
    """The class that one finding must have, at least."""
    return SAID.get((name, mutant), "missing-barrier") if mutant and lacks_barrier(name, mutant) else None


def measure(run, forms, options, workers=1, ranks=2):
    """(name, mutant, runs) of each form; options(name, mutant): those of each run, for gsan-launch and the program."""
    def job(task):
        (name, mutant), (launcher, program) = task
        return look(run(ranks if name in SEVERAL_RANKS else 1, launcher, ["--mutant", str(mutant), *program, name]), name, mutant)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        jobs = [(form, [pool.submit(job, (form, option)) for option in options(*form)]) for form in forms]
        for form, each in jobs:
            yield (*form, [one.result() for one in each])


def section(run, gpus, only=(), ranks=2, native=NATIVE, repeats=(20, 4, 4)):
    """Rows (case, expected, got, repeats) of tests/gpu/run. run(ranks, options of gsan-launch, arguments of idioms-run). The
    driver compiles the runtime for each kernel, so jobs run side by side. repeats: of the correct form and of each mutant, which
    needs to be found once."""
    forms = [(name, mutant) for name in chosen(only, ranks) for mutant in range(3) if name not in SEVERAL_RANKS or gpus >= ranks]
    workers = max(1, min(12, (os.cpu_count() or 1) * 3 // 4))

    def options(name, mutant):
        return [([], native + ["--repeats", str(repeats[mutant])] + (["--ctas", str(FEW[name])] if name in FEW else []))]
    for name, mutant, runs in measure(run, forms, options, workers, ranks):
        got = verdict(runs, mutant, None if (name, mutant) in AHEAD else needed(name, mutant))
        if got != GOOD[mutant]:
            print("\n".join([got, *(line for one in runs for line in one.said)]), flush=True)
        yield f"{name}: {('correct', 'mutant 1', 'mutant 2')[mutant]}", GOOD[mutant], got, repeats[mutant]
    if gpus < ranks and not only:
        yield f"{len(SEVERAL_RANKS)} idioms of {ranks} ranks", "ended", f"not run: {gpus} GPUs here", 0


Result = collections.namedtuple("Result", "report status out err racy")


class Emulated:
    """A job on the emulated device, and what the reference detector says of its trace."""

    def __init__(self, build, place):
        self.build, self.place = build, place

    def __call__(self, ranks, launcher, arguments):
        report = tempfile.mkdtemp(dir=self.place)
        trace = report + ".trace"
        program = [os.path.join(self.build, "bin", "idioms-run"), *arguments]
        command = [os.path.join(self.build, "bin", "gsan-launch"), "-n", str(ranks), "--device", "emu", "--report", report,
                   *launcher, *program]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=250,
                                  env={"EMU_GRACE_MS": "5", "EMU_STEP_LIMIT": "300000000", **os.environ, "EMU_TRACE": trace})
            judge = subprocess.run([os.path.join(self.build, "bin", "gsan-reference"), "--warps", trace], capture_output=True,
                                   text=True, check=False, timeout=250)
        except subprocess.TimeoutExpired as late:
            return Result(report, None, "", f"no end of {os.path.basename(late.cmd[0])} within {late.timeout} s", None)
        broken = judge.returncode not in (0, 1)
        return Result(report, 2 if broken else done.returncode, done.stdout, judge.stderr if broken else done.stderr,
                      judge.returncode == 1)


def wrong(build, name, mutant, seed):
    """How many results are wrong, without gsan and with warps that lag."""
    env = {**os.environ, "LD_LIBRARY_PATH": os.path.join(build, "lib", "emu"), "EMU_SCHEDULE": "lag", "EMU_SEED": str(seed),
           "EMU_STEP_LIMIT": "100000000", "MASTER_PORT": f"{name}-{mutant}-{seed}-{os.getpid()}"}
    command = [os.path.join(build, "bin", "idioms-run"), "--mutant", str(mutant), *SHAPE, name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=250, env=env)
    count = re.search(r"(\d+) wrong results", done.stdout)
    assert count, f"{name} {mutant}, seed {seed}: status {done.returncode}: {done.stderr}"
    return int(count[1])


def complaints_of_witnesses(build, forms, lags):
    """Of a mutant a seed is looked for of which a result is wrong; of a correct form there must be none."""
    def first(form):
        return next((seed for seed in range(1, lags + 1) if wrong(build, *form, seed)), 0)
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for (name, mutant), seed in zip(forms, pool.map(first, forms)):
            says = f"wrong under lag, seed {seed}" if seed else f"right under {lags} seeds of lag"
            print(f"{'ok  ' if bool(mutant) == bool(seed) else 'FAIL'} {name} {mutant}: {says}", flush=True)
            if bool(mutant) != bool(seed):
                yield f"{name} {mutant} is {says}"


def complaints_of(results, show):
    for name, mutant, runs in results:
        got = verdict(runs, mutant, needed(name, mutant))
        right = got == GOOD[mutant]
        each = " ".join(run.what.splitlines()[0][:60] for run in runs)
        print(f"{'ok  ' if right else 'FAIL'} {name} {mutant}: {got} ({each})", flush=True)
        if show or not right:
            print("\n".join(f"     {line}" for line in sorted({line for run in runs for line in run.said})))
        if not right:
            yield f"{name} {mutant} is {got}, not {GOOD[mutant]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build", "dev"))
    parser.add_argument("--runs", type=int, help="of each form, with schedules by turns; if unset one of each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=2, help="of the idioms that have several; other than 2: those idioms alone")
    parser.add_argument("--mutant", type=int, action="append")
    parser.add_argument("--show", action="store_true", help="all sentences")
    parser.add_argument("--witness", action="store_true", help="delays by which mutants of barriers compute something wrong")
    parser.add_argument("--lags", type=int, default=LAGS, help="seeds of a witness")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    forms = [(name, mutant) for name in chosen(args.names, args.ranks) for mutant in args.mutant or range(3)]

    def options(name, mutant):
        schedules, shape = SCHEDULES + (("lag",) if name in BARRIERS else ()), SHAPE
        if name in EACH:
            schedules, shape = PARTED, SHAPE + SMALL
        number = args.runs or len(schedules)
        seeds = [args.seed + i // len(schedules) + (1000 if name in EACH and i % 3 == 2 else 0) for i in range(number)]
        runs = [(["--seed", str(seed), "--schedule", schedules[i % len(schedules)]], shape) for i, seed in enumerate(seeds)]
        shape, schedule, number = MORE.get((name, mutant) if args.ranks == 2 else None, (None, None, 0))
        return runs + [(["--seed", str(args.seed + i), "--schedule", schedule], shape) for i in range(number)]
    if args.witness:
        complaints = list(complaints_of_witnesses(args.build, [form for form in forms if form[0] in BARRIERS], args.lags))
        print("\n".join(complaints) or "as expected")
        sys.exit(bool(complaints))
    with tempfile.TemporaryDirectory(prefix="idioms-") as place:
        complaints = list(complaints_of(measure(Emulated(args.build, place), forms, options, WORKERS, args.ranks), args.show))
    print("\n".join(complaints) or "as expected")
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()

"""Runs litmus programs under the detector on the emulated device until each has shown its outcome, and compares what was said
of those executions: by `expect`, by the axioms (tests/axioms), by the detector, and by the reference detector
(tests/reference) on the very same execution. Any disagreement fails.

    judge.py --bin DIR [--programs DIR] [--shapes EVERY] [--seeds N] [--jobs N] [--only REGEX] [--table FILE [--write]]
             [--memory weak] [--unit warp]

--table compares the rows of what ran with those in docs/memory-model.md: for each shape and placement how many programs there
are, what the axioms say of them, and what the detector said. With --write they are put there.

--unit warp asks axioms and reference what races if a warp is a thread, not a CTA. The detector does not know that yet: what it
finds is compared with what they say only in that it must be among the races of the reference.

--memory weak runs them under EMU_MEMORY=weak, all of them under every seed. The reference detector knows no such memory, so that
only executions with the named outcome are judged; no outcome that the axioms forbid may appear.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TERM = re.compile(r"^([A-Za-z_]\w*)(?:\.(\d+)(?:\.(\d+))?:(r\d+))?$")
WARPS = "by warps"
SLICE = 30  # programs of one job: what launches acquired is kept in lists of some dozens (coverage: clock_entries_collapsed)


class Program:
    def __init__(self, text, source):
        self.text, self.source = text, source
        self.name = re.search(r"^litmus (\S+)", text, re.M).group(1)
        ranks, devices = re.search(r"^ranks (\d+)", text, re.M), re.search(r"^devices ([\d ]+)", text, re.M)
        count = int(ranks.group(1)) if ranks else 1
        self.where = (count, tuple(map(int, devices.group(1).split())) if devices else tuple(range(count)))
        exists = re.search(r"^exists ([^#\n]+)", text, re.M)
        self.outcome = [[self.term(t) for t in clause.split("&")] for clause in exists.group(1).split("|")] if exists else [[]]
        expect = re.search(r"^expect (\w+)([^#\n]*)", text, re.M)
        self.expect, self.kinds = (expect.group(1), expect.group(2).split()) if expect else (None, [])
        self.cites = bool(re.search(r"^cites ", text, re.M))
        self.axioms = self.pure = None        # "allowed race" …
        self.missed = 0                       # under weak memory
        self.seen, self.got = 0, None         # executions with the outcome; what the detector said of them
        self.excused = False                  # its race was lost to what the report says is not known

    def term(self, text):
        left, right = (side.strip() for side in text.split("="))
        place, cta, thread, reg = TERM.match(left).groups()
        if reg is None:
            return place, int(right, 0)
        # The first section of the CTA, as parse.c has it, unless the thread is named.
        sections = re.split(r"^launch ", self.text, flags=re.M)
        mine = next(s for s in sections[1:] if s.split()[0] == place)
        first = re.search(rf"^\s*cta {cta}(?: threads? (\d+))?\s*(?:\.\.|#|$)", mine, re.M)
        thread = thread if thread is not None else (first.group(1) if first and first.group(1) else "0")
        return f"{place}.{cta}.{thread}:{reg}", int(right, 0)

    def shows(self, values):
        return any(all(values.get(key) == value for key, value in clause) for clause in self.outcome)


def split(text, source):
    return [Program(part, source) for part in re.split(r"^(?=litmus )", text, flags=re.M) if re.match("litmus ", part)]


def gather(args):
    programs = []
    for name in sorted(os.listdir(args.programs)) if args.programs else []:
        if name.endswith(".litmus"):
            with open(os.path.join(args.programs, name)) as file:
                programs += split(file.read(), name)
    if args.shapes:
        done = subprocess.run([os.path.join(args.bin, "litmus-shapes"), "--every", str(args.shapes)], capture_output=True,
                              text=True, check=True)
        programs += split(done.stdout, "shapes")
    programs = [p for p in programs if re.search(args.only, p.name)]
    twice = [name for name, n in collections.Counter(p.name for p in programs).items() if n > 1]
    if twice or not programs:
        sys.exit(f"judge: names that two programs have: {twice}" if twice else "judge: no program to run")
    return programs


def ask_axioms(args, programs, work):
    """What the axioms say, with the documented deviations and without."""
    paths = []
    for number, program in enumerate(programs):
        paths.append(os.path.join(work, f"{number}.litmus"))
        with open(paths[-1], "w") as file:
            file.write(program.text)
    pure = ["--kernel-fences=no", "--unit=thread", "--cluster-gpu=no"]
    for options, field in ((["--unit=" + args.unit], "axioms"), (pure, "pure")):
        for first in range(0, len(paths), 1000):
            done = subprocess.run([os.path.join(args.bin, "axioms"), *options, *paths[first:first + 1000]], capture_output=True,
                                  text=True)
            lines = done.stdout.splitlines()
            if len(lines) != len(paths[first:first + 1000]):
                sys.exit(f"judge: axioms: {done.stderr[-2000:]}")
            for program, line in zip(programs[first:], lines):
                if line.split()[0] != program.name:
                    sys.exit(f"judge: axioms answered for {line.split()[0]}, not {program.name}")
                setattr(program, field, " ".join(line.split()[1:3]))


class Job:
    """One run of some programs, all of the same ranks and devices, under one seed."""

    def __init__(self, args, programs, seed, work):
        self.args, self.programs, self.seed = args, programs, seed
        self.place = tempfile.mkdtemp(dir=work)
        pack, report, trace = (os.path.join(self.place, name) for name in ("pack.litmus", "report", "trace"))
        with open(pack, "w") as file:
            file.write("".join(p.text if p.text.endswith("\n") else p.text + "\n" for p in programs))
        ranks = programs[0].where[0]
        command = [os.path.join(args.bin, "gsan-launch"), *(["-n", str(ranks)] if ranks > 1 else []), "--device", "emu", "--seed",
                   str(seed), "--report", report, os.path.join(args.bin, "litmus-run"), pack]
        memory = {"EMU_MEMORY": "weak"} if args.memory == "weak" else {"EMU_TRACE": trace}
        environment = {**os.environ, **memory, "EMU_GRACE_MS": "5", "EMU_DEVICES": "4"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=args.limit)
        self.error = None
        if done.returncode not in (0, 66) or not os.path.exists(os.path.join(report, "summary.json")):
            self.error = f"{' '.join(command)}\nstatus {done.returncode}: {done.stderr[-3000:]}"
            return
        self.values = collections.defaultdict(dict)
        for line in done.stdout.splitlines():
            if line.startswith("outcome "):
                _, name, _, *pairs = line.split()
                self.values[name].update((key, int(value)) for key, value in (pair.split("=") for pair in pairs))
        self.found = self.read_report(report)
        self.reference = self.ask_reference(args, trace) if args.memory == "strong" else None
        if not args.keep:
            shutil.rmtree(self.place)

    def program_of(self, kernel):
        found = re.match(r"l(\d+)_", kernel)
        return self.programs[int(found.group(1))].name if found else None

    def read_report(self, report):
        with open(os.path.join(report, "summary.json")) as file:
            summary = json.load(file)
        found = collections.defaultdict(set)
        self.ambiguous = summary["coverage"]["counters"]["ambiguous_versions"]
        for finding in (pair for each in summary["findings"] for pair in each.get("pairs", [each])):
            names = {self.program_of(finding[side]["kernel"]) for side in ("first", "second")}
            if len(names) != 1 or None in names:
                self.error = f"a finding between programs: {names}"
            lines, name = sorted((finding["first"]["line"], finding["second"]["line"])), names.pop()
            found[name].update((kind, *lines) for kind in (finding["kind"], *finding.get("also", ())))
        return found

    def ask_reference(self, args, trace):
        done = subprocess.run([os.path.join(args.bin, "gsan-reference"), f"--{args.unit}s", trace], capture_output=True, text=True)
        found = collections.defaultdict(set)
        if done.returncode not in (0, 1):
            self.error = f"gsan-reference {trace}: {done.stderr[-2000:]}"
        for line in done.stdout.splitlines():
            word = line.split()
            if word[0] == "race":
                names = {self.program_of(word[2]), self.program_of(word[5])}
                if len(names) != 1 or None in names:
                    self.error = f"the reference has a race between programs: {line}"
                found[names.pop()].add((word[1], *sorted((int(word[3]), int(word[6])))))
        return found


def compare(job, complaints):
    """What everybody said of the executions of one job; a line for each execution on which they differ. Returns the programs
    whose race was not found in company: what one program leaves unknown counts as order for the launches behind it (the
    report's counters say so), so these are judged again alone."""
    alone = []
    for p in job.programs:
        found, reference = job.found.get(p.name, set()), (job.reference or {}).get(p.name, set())
        values = job.values.get(p.name, {})
        if job.args.unit == "warp":
            false = {tuple(lines) for _, *lines in found} - {tuple(lines) for _, *lines in reference}
            if false:
                complaints.append(f"{p.name} seed {job.seed}: found, and no race by warps: {sorted(false)}")
            found = reference
        got, said = "race" if found else "free", {}
        if job.reference is not None:
            said["reference"] = "race" if reference else "free"
        if not values:
            said["outcome"] = "not printed"
        if values and p.shows(values):
            if got == "free" and len(job.programs) > 1 and "race" in (p.expect, said.get("reference"), *p.axioms.split()):
                alone.append(p)
                continue
            if got == "free" and job.ambiguous and "race" in (p.expect, said.get("reference")):
                p.excused = True  # the report says that a version was not known: another schedule must find it
                continue
            p.seen += 1
            if got == "free" and job.args.memory == "weak" and "race" in (p.expect, p.axioms.split()[-1]):
                p.missed += 1  # of two that record, then look, at one moment neither may see the other (judge)
                continue
            p.got = got if p.got in (None, got) else "some"
            if not p.axioms.startswith("unknown"):
                said["axioms"] = p.axioms.split()[1] if p.axioms.startswith("allowed") else p.axioms
            if p.expect:
                said["expected"] = p.expect
            if got == "race" and p.kinds and not {kind for kind, *_ in found} & set(p.kinds):
                said["kind"] = f"one of {' '.join(p.kinds)}"
        elif got == "free" and len(job.programs) > 1:
            continue
        if set(said.values()) - {got, "some"}:
            complaints.append(f"{p.name} seed {job.seed}: detector {sorted(found) or got}; "
                              + "; ".join(f"{who} {word}" for who, word in said.items())
                              + f"; reference {sorted(reference)}; {' '.join(f'{k}={v}' for k, v in sorted(values.items()))}")
    return alone


def run(args, programs, work, complaints):
    """Seed after seed, what has not shown its outcome yet. Weak outcomes get one chance. By warps, all under each seed: which
    of them came first must not matter."""
    waiting = programs
    for seed in range(1, args.seeds + 1):
        groups = collections.defaultdict(list)
        for p in waiting:
            groups[p.where].append(p)
        slices = [group[i:i + SLICE] for group in groups.values() for i in range(0, len(group), SLICE)]
        while slices and not any("status" in c for c in complaints):
            alone = []
            with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
                for job in pool.map(lambda s: Job(args, s, seed, work), slices):
                    if job.error:
                        complaints.append(job.error)
                    else:
                        alone += compare(job, complaints)
            slices = [[p] for p in alone]
        waiting = [p for p in waiting if args.memory == "weak" or args.unit == "warp" or (not p.seen and "+-" not in p.name)]
        if not waiting or any("status" in c for c in complaints):
            break
    return waiting


def table(args, programs):
    """Rows of shape × placement; hand-written programs have one row each, without a placement, or by warps."""
    rows = collections.OrderedDict()
    for p in programs:
        parts = p.name.split("-")
        key = (parts[0].rstrip("+"), parts[-1]) if p.source == "shapes" else (p.name, "" if args.unit == "cta" else WARPS)
        rows.setdefault(key, []).append(p)
    lines = []
    for (shape, where), group in sorted(rows.items()):
        def of(word):
            return [p for p in group if p.axioms == f"allowed {word}" and p.got]
        unseen = sum(p.got is None and p.axioms.startswith("allowed") for p in group)
        forbidden = sum(p.axioms.startswith("forbidden") for p in group)
        cells = [f"{len(of(w))}, {sum(p.got == w for p in of(w))}" for w in ("race", "free")]
        pure = sum(p.pure != p.axioms for p in group)
        lines.append("| " + " | ".join([shape, where, str(len(group)), *cells, str(unseen), str(forbidden), str(pure)]) + " |")
    return lines


def kind_of(line):
    """Of a row: shapes first, then what is written by hand, then what is judged by warps."""
    return {"": 1, WARPS: 2}.get(line.split(" | ")[1].strip(), 0)


def settle(args, programs):
    """The rows of what ran, compared with those of the same kind in the file, or put there. What differs."""
    with open(args.table) as file:
        lines = file.read().splitlines()
    head = [n for n, line in enumerate(lines) if line.startswith("| shape | where |")]
    if len(head) != 1:
        return [f"{args.table} has no table of shapes"]
    first = last = head[0] + 2
    while last < len(lines) and lines[last].startswith("| "):
        last += 1
    ran = [0] if args.shapes else []
    ran += [1 if args.unit == "cta" else 2] if args.programs else []
    old, new = [line for line in lines[first:last] if kind_of(line) in ran], table(args, programs)
    kept = [line for line in lines[first:last] if line not in old]
    if old == new:
        return []
    if args.write:
        with open(args.table, "w") as file:
            file.write("\n".join(lines[:first] + sorted(kept + new, key=kind_of) + lines[last:]) + "\n")
        return []
    return [*(f"{args.table}: - {line}" for line in old if line not in new),
            *(f"{args.table}: + {line}" for line in new if line not in old),
            f"{args.table}: its rows are not what this run got; to put them there: {sys.executable} {' '.join(sys.argv)} --write"]


def judge(args, programs, work):
    complaints, unknown = [], []
    ask_axioms(args, programs, work)
    for p in programs:
        if p.axioms.startswith("unknown"): # more executions than the enumerator looks at: a few of many may be
            unknown.append(f"{p.name}: the axioms gave up")
        elif p.expect and p.axioms != f"allowed {p.expect}" and p.axioms != "forbidden -":
            complaints.append(f"{p.name}: expected {p.expect}, axioms {p.axioms}")
        elif p.cites and not p.expect:
            complaints.append(f"{p.source}: cites without expect")
    complaints += unknown if len(unknown) * 100 > len(programs) else []
    unseen = run(args, programs, work, complaints)
    missed, seen = sum(p.missed for p in programs), sum(p.seen for p in programs)
    if missed * 100 > seen:
        complaints.append(f"{missed} of {seen} executions under weak memory had a race that was not found: more than one in 100")
    complaints += [f"{p.name}: its race was only ever lost to versions that are not known" for p in unseen if p.excused]
    rare = sum(not p.seen for p in unseen) * 20 <= len(programs) # some shapes need a chance that few schedules give
    complaints += [f"{p.name}: its outcome did not appear under {args.seeds} seeds (axioms: {p.axioms})"
                   for p in unseen if not p.seen and ((p.source != "shapes" and args.memory == "strong") or not rare)]
    return complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--programs")
    parser.add_argument("--shapes", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=int, default=280)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--memory", choices=["strong", "weak"], default="strong")
    parser.add_argument("--unit", choices=["cta", "warp"], default="cta")
    parser.add_argument("--table")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    if args.table and args.only:
        parser.error("--table wants all programs of a kind, --only some")
    programs = gather(args)
    work = tempfile.mkdtemp(prefix="litmus-")
    try:
        complaints = judge(args, programs, work)
    finally:
        if not args.keep:
            shutil.rmtree(work)
    stale = settle(args, programs) if args.table and not complaints else []
    for complaint in (complaints + stale)[:200]:
        print(complaint)
    said = collections.Counter(p.got or "not seen" for p in programs)
    print(f"{len(programs)} programs: " + ", ".join(f"{n} {word}" for word, n in sorted(said.items()))
          + f"; {len(complaints)} disagreements")
    sys.exit(bool(complaints or stale))


if __name__ == "__main__":
    main()

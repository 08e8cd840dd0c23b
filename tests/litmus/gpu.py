"""Litmus programs on real GPUs, for tests/gpu/run litmus: which there are, and what many repeats of them said. As a program, the
same on the emulated device, with few repeats of few programs, so that the harness itself is tested:

    gpu.py --build DIR [--repeats N] [--every N]
"""
import argparse
import bisect
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

import judge

REPEATS, EVERY = 100, 120   # of one program; one shape of so many is drawn
SHARE, FEW = 0.99, 0.05     # of the repeats with the outcome that must find the race; in fewer of all repeats, one may miss
JOB = 2  # programs of a job: each of their kernels takes seconds to compile, so that many small jobs share the cores


def groups(build, every):
    """{(ranks, devices): programs}: those by hand and a draw of the shapes, with an `expect`."""
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
    programs = []
    for name in sorted(os.listdir(place)):
        with open(os.path.join(place, name)) as file:
            programs += judge.split(file.read(), name)
    drawn = subprocess.run([os.path.join(build, "bin", "litmus-shapes"), "--gpu", "--every", str(every)], capture_output=True, text=True,
                           check=True).stdout
    found = collections.defaultdict(list)
    for program in programs + judge.split(drawn, "shapes"):
        if program.expect:  # what follows a flag stands under an `if`: the correct ones are free in every execution
            found[program.where].append(program)
    return found


def runs(lines):
    """What each repeat read; ranks print their parts on lines of their own."""
    values = collections.defaultdict(dict)
    for line in lines:
        _, _, repeat, *pairs = line.split()
        values[repeat].update((key, int(value)) for key, value in (pair.split("=") for pair in pairs))
    return values.values()


def in_repeats(program, findings):
    """In how many repeats a race was found. A finding counts pairs of launches, so repeats: of two lines in one order. Several of
    the same two threads may be of the same repeats, and the most frequent stands for all; threads that race in either order
    do so in different repeats, but for programs in which both orders can be had at once: there it may be less."""
    starts = [number for number, line in enumerate(program.text.splitlines(), 1) if re.match(r"\s*(cta|launch) ", line)]
    most = collections.Counter()
    for finding in findings:
        order = tuple(bisect.bisect(starts, finding[side]["line"]) for side in ("first", "second"))
        most[order] = max(most[order], finding["count"])
    return sum(most.values())


def look(programs, result, repeats):
    """[(program, repeats with the outcome, repeats with a finding)] of one job, and why it did not end well or None."""
    try:
        with open(os.path.join(result.report, "summary.json")) as file:
            findings = [pair for each in json.load(file)["findings"] for pair in each.get("pairs", [each])]
    except (OSError, ValueError):
        findings = None
    if findings is None or result.status not in (0, 66):
        return [], f"{programs[0].name} … {programs[-1].name}: status {result.status} {result.err[-300:]}"
    lines, found = collections.defaultdict(list), collections.defaultdict(list)
    for line in result.out.splitlines():
        if line.startswith("outcome "):
            lines[line.split()[1]].append(line)
    for finding in findings:
        number = re.match(r"l(\d+)_", finding["first"]["kernel"])
        if number:
            found[programs[int(number.group(1))].name].append(finding)
    short = [p.name for p in programs if len(runs(lines[p.name])) != repeats]
    if short:
        return [], f"not {repeats} repeats of {' '.join(short)}"
    return [(p, sum(map(p.shows, runs(lines[p.name]))), in_repeats(p, found[p.name])) for p in programs], None


def job(part, run, repeats):
    """The programs of a job run one after the other, each until the host has seen its end: on the same streams, what one acquires
    would order the launches of the next."""
    with tempfile.NamedTemporaryFile("w", suffix=".litmus") as pack:
        pack.write("".join(p.text if p.text.endswith("\n") else p.text + "\n" for p in part))
        pack.flush()
        return run(part[0].where[0], ["--repeat", str(repeats), "--batch", "1", "--polls", "200", "--module", "16", pack.name])


def misses(outcomes, found, repeats, share=SHARE):
    """Too many of the repeats with the outcome have no finding."""
    if outcomes < FEW * repeats:
        return outcomes - found > 1
    return found < share * outcomes


def measure(programs, run, repeats, share):
    """Rows (case, expected, got, repeats) of programs of the same ranks and devices."""
    racy, correct, silent, missed, excused, false, broken = [], [], [], [], [], [], []
    parts = [programs[first:first + JOB] for first in range(0, len(programs), JOB)]
    with concurrent.futures.ThreadPoolExecutor(max(1, os.cpu_count() * 3 // 4)) as pool:
        results = list(pool.map(lambda part: job(part, run, repeats), parts))
    for part, result in zip(parts, results):
        said, why = look(part, result, repeats)
        broken += [why] if why else []
        for program, outcomes, found in said:
            numbers = f"{program.name} {found}/{outcomes}"
            if program.expect == "free":
                correct.append(program)
                false += [numbers] if found else []
            elif not outcomes:
                silent.append(program.name)
            else:
                racy.append(program)
                if found < share * outcomes:
                    (missed if misses(outcomes, found, repeats, share) else excused).append(numbers)
    ran = len(racy) + len(correct) + len(silent)
    yield f"{ran} of {len(programs)} programs ran", "ended", "; ".join(broken) or "ended", repeats
    yield (f"{len(racy)} racy programs" + (f", a rare outcome of which one was missed: {', '.join(excused)}" if excused else ""), "found",
           f"missed {', '.join(missed)}" if missed else "found" if racy else "none showed its outcome", repeats)
    if silent:
        yield (f"{len(silent)} racy programs never showed their outcome: {', '.join(silent)}", "fewer",
               "fewer" if len(silent) < len(racy) else "too many to judge", repeats)
    yield f"{len(correct)} correct programs", "clean", f"found in {', '.join(false)}" if false else "clean", repeats


def section(build, run, gpus, repeats=REPEATS, every=EVERY, share=SHARE, only=None):
    """All rows, or those of `only` so many ranks. run(ranks, arguments of litmus-run): a job's status, out, err and report."""
    for (ranks, devices), programs in sorted(groups(build, every).items()):
        if only and ranks != only:
            continue
        where = f"{ranks} ranks on {len(set(devices))} GPUs"
        if max(devices) >= gpus:
            yield f"{where}: {len(programs)} programs", "ended", f"not run: {gpus} GPUs here", 0
            continue
        for case, *row in measure(programs, run, repeats, share):
            yield f"{where}: {case}", *row


# ---- the same on the emulated device ----------------------------------------------------------------------------
class Emulated:
    def __init__(self, build, place, devices=4):
        self.build, self.place, self.devices, self.deaf = build, place, devices, False  # deaf: as if nothing had been found

    def __call__(self, ranks, arguments):
        report = tempfile.mkdtemp(dir=self.place)
        done = subprocess.run([os.path.join(self.build, "bin", "gsan-launch"), "-n", str(ranks), "--device", "emu", "--seed", "1",
                               "--report", report, os.path.join(self.build, "bin", "litmus-run"), *arguments], capture_output=True,
                              text=True, env={**os.environ, "EMU_GRACE_MS": "5", "EMU_DEVICES": str(self.devices)})
        if self.deaf:
            with open(os.path.join(report, "summary.json"), "w") as file:
                json.dump({"findings": []}, file)
        done.report, done.status, done.out, done.err = report, done.returncode, done.stdout, done.stderr
        return done


def rules():
    """Of 100 repeats: (outcomes, found) that pass, and that do not."""
    good, bad = [(100, 99), (100, 100), (50, 50), (5, 5), (4, 3), (4, 4), (1, 0), (100, 130)], [(100, 98), (50, 49), (5, 4), (4, 2), (2, 0)]
    return [pair for pair in good if misses(*pair, 100)] + [pair for pair in bad if not misses(*pair, 100)]


def deaf(build, run, repeats):
    """Is it said which race is missed, and that race alone, if no report has a finding? The rows that are not as expected."""
    programs = [p for p in groups(build, 1000)[1, (0,)] if p.name in ("hand-relaxed-flag", "hand-release-acquire")]
    run.deaf = True
    got = [got for _, expected, got, _ in measure(programs, run, repeats, SHARE) if got != expected]
    return [] if len(programs) == 2 and got == [f"missed hand-relaxed-flag 0/{repeats}"] else [f"without findings: {got}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--every", type=int, default=400)
    parser.add_argument("--share", type=float, default=0.6, help="of the repeats with the outcome that must find the race")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="litmus-") as place:
        run = Emulated(args.build, place)
        complaints = [f"the rule is another for {pair}" for pair in rules()]
        for case, expected, got, repeats in section(args.build, run, 4, args.repeats, args.every, args.share):
            print(f"{'ok  ' if got == expected else 'FAIL'} {case}: {got} x{repeats}", flush=True)
            complaints += [case] if got != expected else []
        complaints += deaf(args.build, run, args.repeats)
    print("\n".join(complaints) or "as expected")
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()

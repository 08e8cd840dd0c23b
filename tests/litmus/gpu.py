"""Litmus programs on real GPUs, for tests/gpu/run litmus: which there are, and what many repeats of them said."""
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import tempfile

import judge

REPEATS, SHARE = 100, 0.99  # of one program; of the repeats with the outcome that must find the race
JOB = 6  # programs of a job: the driver compiles the runtime once per kernel, so many small jobs share the cores


def groups(build):
    """{(ranks, devices): programs}: those by hand and a draw of the shapes, with an `expect`."""
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
    programs = []
    for name in sorted(os.listdir(place)):
        with open(os.path.join(place, name)) as file:
            programs += judge.split(file.read(), name)
    drawn = subprocess.run([os.path.join(build, "bin", "litmus-shapes"), "--gpu", "--every", "120"], capture_output=True, text=True,
                           check=True).stdout
    found = collections.defaultdict(list)
    for program in programs + judge.split(drawn, "shapes"):
        if program.expect:  # what follows a flag stands under an `if`: the correct ones are free in every execution
            found[program.where].append(program)
    return found


def shown(program, out):
    """In how many repeats the outcome was there; ranks print their parts on lines of their own."""
    values = collections.defaultdict(dict)
    for line in out:
        _, _, repeat, *pairs = line.split()
        values[repeat].update((key, int(value)) for key, value in (pair.split("=") for pair in pairs))
    return sum(program.shows(v) for v in values.values())


def look(programs, result):
    """(program, repeats with the outcome, repeats with a finding) of one job; None: it did not end well."""
    try:
        with open(os.path.join(result.report, "summary.json")) as file:
            findings = json.load(file)["findings"]
    except (OSError, ValueError):
        return None
    if result.status not in (0, 66):
        return None
    lines, found = collections.defaultdict(list), collections.Counter()
    for line in result.out.splitlines():
        if line.startswith("outcome "):
            lines[line.split()[1]].append(line)
    for finding in findings:
        number = re.match(r"l(\d+)_", finding["first"]["kernel"])
        if number:
            name = programs[int(number.group(1))].name
            found[name] += finding["count"]  # pairs of launches; a repeat is found in one order of its sides or the other
    return [(p, shown(p, lines[p.name]), found[p.name]) for p in programs]


def job(part, run):
    with tempfile.NamedTemporaryFile("w", suffix=".litmus") as pack:
        pack.write("".join(p.text if p.text.endswith("\n") else p.text + "\n" for p in part))
        pack.flush()
        return run(pack.name)


def measure(programs, run):
    """Rows (case, expected, got, repeats): racy programs, correct ones, and those that never showed."""
    racy = correct = silent = 0
    missed, false, broken = [], [], []
    parts = [programs[first:first + JOB] for first in range(0, len(programs), JOB)]
    with concurrent.futures.ThreadPoolExecutor(max(1, os.cpu_count() * 3 // 4)) as pool:
        results = list(pool.map(lambda part: job(part, run), parts))
    for part, result in zip(parts, results):
        said = look(part, result)
        if said is None:
            broken.append(f"{part[0].name} … {part[-1].name}: status {result.status} {result.err[-300:]}")
            continue
        for program, outcomes, found in said:
            if program.expect == "free":
                correct += 1
                false += [program.name] if found else []
            elif not outcomes:
                silent += 1
            else:
                racy += 1
                missed += [f"{program.name} {found}/{outcomes}"] if found < SHARE * outcomes else []
    yield "jobs", "ended", "; ".join(broken) or "ended", REPEATS
    yield f"{racy} racy programs ({silent} more never showed)", "found", f"missed {missed}" if missed or not racy else "found", REPEATS
    yield f"{correct} correct programs", "clean", f"found in {false}" if false else "clean", REPEATS

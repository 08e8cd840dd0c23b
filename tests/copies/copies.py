"""Copies and sets as accesses of their stream (copies.c): each form is clean as it stands, and without its edge its race is found, with the
lines that called the driver. `copies.py FORM`, or --list; and what is said of copies that are not checked."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import expect  # noqa: E402
import jobs  # noqa: E402

PROGRAM = os.path.join(jobs.BIN, "copies")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "copies.c")
SEEDS = (1, 2)
WRITE, READ, ATOMIC = "write-after-write", {"write-after-read", "read-after-write"}, "atomic-vs-plain"
COPY, SET, FREE = "memcpy", "memset", "free"
# Without the edge: the kinds of its findings, and the operations of sides that are no kernel's.
FORMS = {
    "in_then_kernel": (READ, {COPY}), "kernel_then_in": (READ, {COPY}), "kernel_then_out": (READ, {COPY}), "out_then_kernel": (READ, {COPY}),
    "kernel_then_within": (READ, {COPY}), "within_then_kernel": (READ, {COPY}), "set_then_kernel": (READ, {SET}),
    "kernel_then_set": ({WRITE}, {SET}), "kernel_then_set16": ({WRITE}, {SET}), "blocking_out": (READ, {COPY}), "blocking_in": (READ, {COPY}),
    "blocking_set": (READ, {SET}), "two_copies": ({WRITE}, {COPY}), "in_then_out": (READ, {COPY}), "two_sets": ({WRITE}, {SET}),
    "set_then_out": (READ, {COPY, SET}), "neighbours": ({WRITE}, {COPY}), "columns": ({WRITE}, {COPY, SET}), "rows_out": (READ, {COPY}),
    "boxes": ({WRITE}, {COPY, SET}), "of_variable": (READ, {COPY}), "flag_by_copy": (READ, {COPY}), "word_observed": (READ, {COPY}),
    "word_taken": ({WRITE}, {COPY}), "word_asked_for": ({WRITE}, set()), "word_tells": ({WRITE}, set()), "progress": ({ATOMIC}, {COPY}),
    "result": ({ATOMIC}, {COPY}), "overwritten": ({WRITE}, {COPY}), "by_flag": ({WRITE}, {SET}), "freed_and_reused": ({WRITE}, {COPY}),
    "waited_between": ({WRITE}, {SET}), "given_between": ({WRITE}, {SET}),
    "context_ended": (READ, {COPY}), "context_elsewhere": (READ, {COPY}), "context_reset": (READ, {COPY}),
    "many": (READ | {WRITE}, {COPY, SET}), "fetched_ahead": (READ, {COPY}), "fetched_bytes": (READ, {COPY}), "fetched_in_turn": (READ, {COPY}),
    "set_ahead": ({ATOMIC}, {SET}), "counted_ahead": ({ATOMIC}, {SET}), "sent_behind": (READ, {COPY}), "freed_behind": (READ, {COPY}),
    "polled_set": ({WRITE}, set()), "polled_copy": ({WRITE}, set()), "polled_long": (READ | {WRITE}, {COPY}),
    "given_by_threads": ({ATOMIC, WRITE}, {SET, FREE}), "freed_beside_a_slow_one": ({WRITE}, {COPY}),
    "given_in_turn": (READ, {FREE}), "given_behind_host": (READ, {FREE}), "given_before": ({"write-after-read"}, {FREE}),
    "given_large": ({"write-after-read"}, {FREE}),
}
ALONE = {"given_large"}  # on a device that nobody else uses: how much is free of that
UNNAMED = {"many"}  # more streams than have numbers
CALLERS = {"given_by_threads": "giver"}  # the form itself gives memory back; else it calls the driver


def function_of(line):
    """The function of copies.c whose body has that line: its name stands at the last line before it that begins one."""
    with open(SOURCE, encoding="utf-8") as file:
        lines = file.read().split("\n")
    return next(m[1] for m in (re.match(r"static void \*?(\w+)\(", text) for text in reversed(lines[:line])) if m)


def sides(finding):
    return [side for side in (finding["first"], finding["second"]) if side["op"] in (COPY, SET, FREE)]


def form(scratch, name):
    """Without its edge it is found under each seed; not, under all but one, where a flag was read whose version is not known, which orders all."""
    kinds, operations = FORMS[name]
    hidden = 0
    for seed in SEEDS:
        options = ("--seed", str(seed))
        clean = jobs.launched(scratch, [PROGRAM, name], ranks=1, options=options).ends(0).summary(ranks=1)
        expect.need(not clean["findings"] and clean["coverage"]["copies_checked"] and not clean["coverage"]["copies_unchecked"], str(clean))
        job = jobs.launched(scratch, [PROGRAM, name, "racy"], ranks=1, options=options)
        racy = job.summary(ranks=1)
        if job.status == 0 and racy["coverage"]["counters"]["ambiguous_versions"]:
            hidden += 1
            expect.need(hidden < len(SEEDS), str(job))
            continue
        job.ends(jobs.FOUND)
        found = expect.pairs(racy)
        expect.need({f["kind"] for f in found} <= set(kinds) and {s["op"] for f in found for s in sides(f)} <= operations, str(found))
        for finding in (f for f in found if f["missing_edge_class"] == "missing-stream-edge" and name not in UNNAMED):
            expect.need({"stream"} <= set(finding["first"]) & set(finding["second"]), f"a side without its stream: {finding}")
        for finding in (f for f in found if FREE in (f["first"]["op"], f["second"]["op"])):
            expect.need(finding["missing_edge_class"] == "use-after-free-async" and finding["second"]["op"] == FREE, f"a free: {finding}")
        for side in (side for f in found for side in sides(f)):
            expect.need(side["grid"] is None and side["cta"] is None and side["kernel"].startswith("cuMem"), str(side))
            caller = name if side["op"] == FREE else CALLERS.get(name, name)
            expect.need(side["function"] == caller and os.path.samefile(side["file"], SOURCE) and function_of(side["line"]) == caller, str(side))


def without_lines(scratch):
    """Of a binary without lines its file is named, and where in it the call is; the function if the table of symbols has it, and no other."""
    name = "kernel_then_out"
    for option, function in (("-g", name), ("-s", None)):
        program = os.path.join(scratch, "a program" + option)
        subprocess.run(["strip", option, "-o", program, PROGRAM], check=True)
        jobs.launched(scratch, [program, name], ranks=1).ends(0)
        job = jobs.launched(scratch, [program, name, "racy"], ranks=1).ends(jobs.FOUND)
        for side in (side for finding in expect.pairs(job.summary(ranks=1)) for side in sides(finding)):
            file, _, offset = side["object"].rpartition("+0x")
            expect.need(os.path.samefile(file, program) and side["file"] is None and side["function"] == function, str(side))
            expect.need(within(int(offset, 16), name), f"{offset} is not in {name}")
            expect.need("in_ptx" not in side and any(s.get("in_ptx") for f in expect.pairs(job.summary(ranks=1)) for s in (f["first"], f["second"])), str(side))
            job.says("the PTX of a kernel has no line information")
            job.says(f"a program{option}+0x{offset}: memcpy\n", f", in {name} (-g and" if function else "(-g and addr2line show its line)")


def within(offset, name):
    """Is it the function's, as the whole program's symbols say?"""
    lines = [line.split() for line in subprocess.run(["nm", "-S", PROGRAM], check=True, capture_output=True, text=True).stdout.splitlines()]
    return any(int(line[0], 16) <= offset < int(line[0], 16) + int(line[1], 16) for line in lines if len(line) == 4 and line[3] == name)


def switched_off(scratch):
    """--copies 0: nothing is found, and the report says that they were not checked."""
    job = jobs.launched(scratch, [PROGRAM, "two_copies", "racy"], ranks=1, options=("--copies", "0")).ends(0)
    coverage = job.summary(ranks=1)["coverage"]
    expect.need(not coverage["copies_checked"] and coverage["copies_unchecked"] == 4, str(coverage))
    jobs.launched(scratch, [PROGRAM, "two_copies"], ranks=1, options=("--copies", "0", "--require-checked")).ends(67).says("4 of 4 copies ran unchecked")
    jobs.launched(scratch, [PROGRAM, "in_then_kernel"], ranks=1, options=("--require-checked",)).ends(0).says("and 3 copies)")


def filled(scratch):
    """What the program allocated goes with the context."""
    jobs.launched(scratch, [PROGRAM, "context_filled"], ranks=1).ends(0)


CASES = {**{name: lambda scratch, name=name: form(scratch, name) for name in FORMS}, "without_lines": without_lines, "switched_off": switched_off, "context_filled": filled}

if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(";".join(CASES), end="")
    else:
        jobs.main(CASES)

"""Memory that hosts use, too (hostmem.c): each form is clean as it stands, and without its edge its race is found, of the memory that it is in.
`hostmem.py FORM`, or --list."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import expect  # noqa: E402
import jobs  # noqa: E402

PROGRAM = os.path.join(jobs.BIN, "hostmem")
SEEDS = (1, 2)
BYTES, PAGE = 1 << 16, os.sysconf("SC_PAGESIZE")
MANAGED, PINNED, REGISTERED = f"cuMemAllocManaged({BYTES})", f"cuMemHostAlloc({BYTES})", f"cuMemHostRegister({BYTES})"
WRITES, READS, ATOMIC = {"write-after-write"}, {"read-after-write", "write-after-read"}, {"atomic-vs-plain"}
# Without the edge: the kinds of its findings, and whose memory they name.
FORMS = {
    "managed_ctas": (WRITES, {MANAGED}), "pinned_ctas": (WRITES, {PINNED}), "registered_ctas": (WRITES, {REGISTERED}),
    "managed_streams": (READS, {MANAGED}), "pinned_streams": (READS, {PINNED}), "registered_streams": (READS, {REGISTERED}),
    "pinned_again": (READS, {PINNED}), "managed_again": (READS, {MANAGED}), "registered_again": (READS, {REGISTERED}),
    "copied_from": (READS, {PINNED}), "copied_to": (READS, {PINNED}), "copied_rows": (READS, {PINNED}), "set_managed": (READS, {MANAGED}),
    "within_managed": (READS, {MANAGED}), "counted": (ATOMIC, {MANAGED}), "flag": (READS, {MANAGED}), "flag_apart": (READS, {MANAGED}),
    "told": (READS, {PINNED}), "relayed": (READS, {PINNED}), "variable": (READS, {"data"}),
    "many": (READS, {f"cuMemHostRegister({PAGE})", PINNED}),
}
# On a GPU the first kernel has begun before the second one is enqueued, perhaps; and there may be one GPU alone.
EMULATED = {"enqueued": (READS, {MANAGED}), "two_gpus": (READS, {PINNED})}


def run(scratch, *arguments, ranks=1, options=()):
    environment = {**jobs.Job.environment(scratch), "EMU_DEVICES": "2"}
    return jobs.launched(scratch, [PROGRAM, *arguments], ranks=ranks, options=options, environment=environment)


def form(scratch, name):
    kinds, memory = {**FORMS, **EMULATED}[name]
    for seed in SEEDS:
        options = ("--seed", str(seed))
        clean = run(scratch, name, options=options).ends(0).summary(ranks=1)
        expect.need(not clean["findings"] and not clean["coverage"]["copies_unchecked"], str(clean))
        racy = run(scratch, name, "racy", options=options).ends(jobs.FOUND).summary(ranks=1)
        found = expect.pairs(racy)
        expect.need({f["kind"] for f in found} <= kinds, str(found))
        expect.need({f["allocation"]["label"] for f in found} <= memory, str([f["allocation"] for f in found]))


def silent(scratch, name):
    """It has no racy form: hosts' own accesses go unseen."""
    for seed in SEEDS:
        summary = run(scratch, name, options=("--seed", str(seed))).ends(0).summary(ranks=1)
        expect.need(not summary["findings"], str(summary))


def two_processes(scratch):
    """Each has its own."""
    run(scratch, "managed_streams", ranks=2).ends(0).summary(ranks=2)
    racy = run(scratch, "managed_streams", "racy", ranks=2).ends(jobs.FOUND).summary(ranks=2)
    ranks = {tuple(side["rank"] for side in (f["first"], f["second"])) for f in expect.pairs(racy)}
    expect.need(ranks <= {(0, 0), (1, 1)} and ranks, str(ranks))


def full(scratch):
    """What finds no room in the table is not checked, and named."""
    summary = run(scratch, "full", "racy").ends(0).says("memory of cuMemHostRegister").summary(ranks=1)
    expect.need(not summary["findings"] and summary["coverage"]["counters"]["foreign"] == 256, str(summary["coverage"]))


CASES = {**{name: lambda scratch, name=name: form(scratch, name) for name in (*FORMS, *EMULATED)},
         **{name: lambda scratch, name=name: silent(scratch, name) for name in ("ring", "filled", "pageable")}, "two_processes": two_processes, "full": full}

if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(";".join(CASES), end="")
    else:
        jobs.main(CASES)

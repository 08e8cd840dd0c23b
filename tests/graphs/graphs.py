"""Graphs (graphs.c): each form is clean as it stands, and without its edge its race is found. `graphs.py FORM`, or --list; and what is said of
replays that are not checked."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import expect  # noqa: E402
import jobs  # noqa: E402

PROGRAM = os.path.join(jobs.BIN, "graphs")
SEEDS = (1, 2)
MEMCPY, MEMSET = "cuGraphMemcpyNode", "cuGraphMemsetNode"
# Without the edge: the kernels on both sides of its findings.
FORMS = {
    "chain": {("together", "together")}, "fork_and_join": {("add", "add")}, "by_hand": {("add", "put")}, "child": {("add", "put")},
    "copied": {(MEMCPY, "put")}, "set": {("add", MEMSET)}, "flags": {("receive", "send_relaxed")}, "wide": {("put", "put")}, "many": {("add", "add"), ("add", "put")},
    "then_kernel": {("add", "put")}, "kernel_then": {("add", "put")}, "then_host": {("add", "put")}, "copy_then_kernel": {("add", MEMCPY)},
    "streams_then_set": {(MEMSET, "put")}, "branch_then_kernel": {("add", "put")}, "two_streams": {("add", "put")}, "one_in_two_streams": {("put", "put")},
    "default_stream": {("add", "put")}, "updated": {("add", "put")}, "not_updated": {("add", "put")}, "kernel_changed": {("add", "put")},
    "copy_changed": {("add", MEMCPY)}, "switched_off": {("add", "put")}, "switched_on": {("add", "put")}, "switched_off_updated": {("add", MEMSET)},
    "freed_while_captured": {("cuMemFreeAsync", "put")}, "while_captured": {("add", "put")}, "loaded_while_captured": {("change", "keep")}, "library_while_captured": {("change", "keep")}, "cloned": {("add", "put")}, "asked": {("add", "put")},
}


def sides(finding):
    return tuple(sorted(side["kernel"] for side in (finding["first"], finding["second"])))


def form(scratch, name):
    for seed in SEEDS:
        options = ("--seed", str(seed), "--require-checked")
        clean = jobs.launched(scratch, [PROGRAM, name], ranks=1, options=options).ends(0).summary(ranks=1)
        expect.need(not clean["findings"] and clean["coverage"]["launches_checked"] and not clean["coverage"]["kernels_unchecked"], str(clean))
        racy = jobs.launched(scratch, [PROGRAM, name, "racy"], ranks=1, options=options).ends(jobs.FOUND).summary(ranks=1)
        expect.need({sides(f) for f in expect.pairs(racy)} <= FORMS[name], str(racy["findings"]))
        expect.need(not racy["coverage"]["launches_unchecked"], str(racy["coverage"]))


def branches(scratch):
    """Of two branches of a graph one is the stream's that it was launched in, and the other is of none that has a name."""
    racy = jobs.launched(scratch, [PROGRAM, "fork_and_join", "racy"], ranks=1).ends(jobs.FOUND).summary(ranks=1)
    for pair in expect.pairs(racy):
        expect.need("stream" in pair["first"] or "stream" in pair["second"], str(pair))
        expect.need(not ("stream" in pair["first"] and "stream" in pair["second"]), f"a branch as a stream: {pair}")
    jobs.launched(scratch, [PROGRAM, "fork_and_join"], ranks=1).ends(0)


def two_ranks(scratch):
    """Each on a GPU of its own, of the two that it sees."""
    for name in ("fork_and_join", "then_kernel"):
        clean = jobs.launched(scratch, [PROGRAM, name], ranks=2, options=("--require-checked",)).ends(0).summary(ranks=2)
        expect.need(not clean["findings"] and not clean["coverage"]["launches_unchecked"], str(clean))
        racy = jobs.launched(scratch, [PROGRAM, name, "racy"], ranks=2, options=("--require-checked",)).ends(jobs.FOUND).summary(ranks=2)
        expect.need({sides(f) for f in expect.pairs(racy)} <= FORMS[name] and not racy["coverage"]["launches_unchecked"], str(racy))


def of_several(scratch):
    """What is made when its process has used one GPU goes on to be checked; what is made when it has used two is not, and is listed."""
    for racy in ([], ["racy"]):
        job = jobs.launched(scratch, [PROGRAM, "of_several", *racy], ranks=2).ends(jobs.FOUND if racy else 0).says("its process uses several GPUs")
        coverage = job.summary(ranks=2)["coverage"]
        expect.need(coverage["launches_unchecked"] == 2, str(coverage))


def alternating(scratch):
    """Replays for which no tag is left, in two streams: nobody's records come behind the replay before."""
    for racy in ([], ["racy"]):
        job = jobs.launched(scratch, [PROGRAM, "alternating", *racy], ranks=8, options=("--allow-unchecked",)).ends(jobs.FOUND if racy else 0)
        summary = job.summary(ranks=8)
        coverage = summary["coverage"]
        expect.need(coverage["launches_checked"] >= 2000 and coverage["launches_unchecked"] >= 1000, str(coverage))
        expect.need({sides(f) for f in expect.pairs(summary)} <= {("add", "add")}, str(summary["findings"]))


def too_many(scratch):
    """More nodes under way than there are tags: later replays compute the same, unchecked, and that is counted; nothing is invented."""
    for racy in ([], ["racy"]):
        job = jobs.launched(scratch, [PROGRAM, "too_many", *racy], ranks=1).ends(0)
        coverage = job.summary(ranks=1)["coverage"]
        expect.need(coverage["launches_checked"] > 20000 and coverage["launches_unchecked"] > 2000, str(coverage))
        job.says("no launch tag is free")


CASES = {**{name: lambda scratch, name=name: form(scratch, name) for name in FORMS}, "branches": branches, "too_many": too_many,
         "alternating": alternating, "two_ranks": two_ranks, "of_several": of_several}

if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(";".join(CASES), end="")
    else:
        jobs.main(CASES)

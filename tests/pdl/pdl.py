"""Programmatic dependent launch (pdl.c): each form is clean as it stands, with nothing withheld, and without its edge its race is found, by its class.
`pdl.py FORM`, or --list."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import expect  # noqa: E402
import jobs  # noqa: E402

PROGRAM = os.path.join(jobs.BIN, "pdl")
SEEDS = (1, 2, 3)
EPOCHS = {3: "511"}  # by its seed: where a CTA's begin, so that the second has a tag of the CTA's own
DEPENDENCY, STREAM = "missing-grid-dependency", "missing-stream-edge"
MOVED = {("move", "put_trigger")}
# Without the edge: the kernels of its findings.
FORMS = {
    "waited": MOVED, "waited_late": {("load_wait", "put_trigger")}, "trigger_last": {("move", "put_trigger_last")}, "not_triggered": MOVED,
    "not_asked": MOVED, "grandparent": {("old_wait_move_on", "put_trigger")}, "grandparent_waited": {("old_wait_move_on", "put_trigger")},
    "one_thread": {("one_waits_late", "put_trigger")}, "one_warp": MOVED, "in_a_function": MOVED, "overwritten": {("move", "put")},
    "with_a_clock": {("move_count", "put_trigger")}, "with_a_clock_late": {("load_wait_count", "put_trigger")}, "reduced": {("put_trigger", "red")},
    "handed_on": {("last_waits", "put_trigger")}, "told": {("flagged_relaxed", "put_trigger")}, "in_a_buffer": {("load_wait", "put_trigger")},
    "copied": MOVED, "graph_of_nothing": MOVED, "synchronised": MOVED, "own_event": MOVED, "other_stream": MOVED,
    "behind_it": {("move", "wait_move"), ("move", "put_trigger")},
}
CLASSES = {"other_stream": STREAM, "told": "missing-acquire"}


def sides(finding):
    return tuple(sorted(side["kernel"] for side in (finding["first"], finding["second"])))


def run(scratch, seed, *arguments):
    environment = {**jobs.Job.environment(scratch), "GSAN_TEST_FIRST_EPOCH": EPOCHS.get(seed, "1")}
    return jobs.launched(scratch, [PROGRAM, *arguments], ranks=1, options=("--seed", str(seed)), environment=environment)


def form(scratch, name):
    for seed in SEEDS:
        clean = run(scratch, seed, name).ends(0).summary(ranks=1)
        expect.need(not clean["findings"] and not clean["coverage"]["withheld"], str(clean))
        racy = run(scratch, seed, name, "racy").ends(jobs.FOUND).summary(ranks=1)
        expect.need({sides(f) for f in expect.pairs(racy)} == FORMS[name], str([sides(f) for f in expect.pairs(racy)]))
        expect.need({f["missing_edge_class"] for f in racy["findings"]} == {CLASSES.get(name, DEPENDENCY)}, str(racy["findings"]))


def ordered(scratch, name):
    """It has no racy form: edges of graphs are whole, and what an event at the trigger orders is not known."""
    for seed in SEEDS:
        summary = run(scratch, seed, name).ends(0).summary(ranks=1)
        expect.need(not summary["findings"] and not summary["coverage"]["launches_unchecked"], str(summary))


CASES = {**{name: lambda scratch, name=name: form(scratch, name) for name in FORMS},
         **{name: lambda scratch, name=name: ordered(scratch, name) for name in ("captured", "programmatic_event")}}

if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(";".join(CASES), end="")
    else:
        jobs.main(CASES)

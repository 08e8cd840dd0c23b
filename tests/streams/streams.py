"""Two launches in two streams (streams.c): each form is clean as it stands, and without its edge, or with a weak flag, all that is said is that, of launches
in the order in which they were given, with each seed. `streams.py FORM`, or --list."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import expect  # noqa: E402
import jobs  # noqa: E402

PROGRAM = os.path.join(jobs.BIN, "streams")
SEEDS = range(1, 7)
STREAM, WEAK = "missing-stream-edge", "weak-flag"
# Of the racy form: what is missing, and, of an edge between the launches, which is the first.
FORMS = {
    "counted": (STREAM, "count"), "counted_on": (STREAM, "count"), "reset": (STREAM, "reset"), "payload": (STREAM, "put_count"),
    "crowd": (STREAM, "count"), "shared": (STREAM, "count"),
    "raised": (WEAK, None), "awaited": (WEAK, None), "called_behind_event": (STREAM, None), "called_before_event": (STREAM, None), "called_and_seen": (STREAM, None),
    "called_beside": (STREAM, None), "called_often": (STREAM, None),
}
MAY_MISS = {"shared"}
ON_GPUS = ("called_for_kernel", "called_for_copy", "called_for_event", "called_for_host")  # whose functions the emulated device would wait for


MOST = 60_000_000  # warp instructions of one launch; of those that put each other out one took 400 million


def run(scratch, seed, *arguments):
    stats = os.path.join(scratch, "stats")
    job = jobs.launched(scratch, [PROGRAM, *arguments], ranks=1, options=("--seed", str(seed)),
                        environment={**jobs.Job.environment(scratch), "EMU_STATS": stats})
    with open(stats, encoding="utf-8") as lines:
        took = max(json.loads(line)["instructions"] for line in lines)
    expect.need(took <= MOST, f"{took} instructions in a launch, {MOST} at most: {job}")
    return job


def form(scratch, name):
    said, first = FORMS[name]
    for seed in SEEDS:
        expect.clean(run(scratch, seed, name).ends(0).summary(ranks=1))
        job = run(scratch, seed, name, "racy")
        if name in MAY_MISS and not job.status:
            continue
        job.ends(jobs.FOUND)
        summary = job.summary(ranks=1)
        expect.need(len(summary["findings"]) == 1 or said == WEAK, f"seed {seed}: {job}")
        for pair in expect.pairs(summary):
            expect.need(pair["missing_edge_class"] == said, f"seed {seed}: {job}")
            expect.need(not first or pair["first"]["kernel"] == first, f"seed {seed}: {job}")


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(";".join(FORMS), end="")
    else:
        jobs.main({name: lambda scratch, name=name: form(scratch, name) for name in FORMS})

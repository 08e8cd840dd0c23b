"""Values that streams write and wait for (values.c): each form is clean as it stands, with nothing withheld, and without its edge its race is found.
`values.py FORM`, or --list; and what is full, or not known, makes nothing up."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import expect  # noqa: E402
import jobs  # noqa: E402

PROGRAM = os.path.join(jobs.BIN, "values")
SEEDS = (1, 2, 3)
WRITE, COPY, SET = "cuStreamWriteValue32", "cuMemcpyDtoDAsync", "cuMemsetD32Async"
PUT_GET = {("get", "put")}
# Without the edge: the kernels, or the driver's functions, on both sides of its findings.
FORMS = {
    "polled": {("poll_and_get", "put")}, "polled_first": {("poll_and_get", "put")}, "polled_by_kernel_before": PUT_GET,
    "not_acquired": {("poll_relaxed_and_get", "put")}, "waited": PUT_GET, "waited_first": PUT_GET, "raised_by_kernel": {("get", "raise_and_put")},
    "counted_by_kernel": {("count_and_put", "get")}, "copied": {(COPY, "get")}, "copied_back": {(COPY, "put")}, "progress_waited": {(COPY, "get")},
    "progress_polled": {(COPY, "poll_relaxed_and_get")}, "turns": PUT_GET, "wide_polled": {("put", "wide")}, "wide_waited": PUT_GET, "halves": PUT_GET,
    "batch": PUT_GET, "relayed": PUT_GET, "relayed_in_a_batch": {("poll_and_get", "put")}, "waited_for_set": PUT_GET, "waited_for_copy": PUT_GET,
    "waited_long_after": PUT_GET, "taken": {("put", "take_relaxed_and_get")},
    "continued": {("poll_late_and_get", "put")}, "cleared": {("clear", WRITE)}, "cleared_by_set": {(SET, WRITE)},
}
UNKNOWN = {"halves"}  # who reads there comes behind anything


def sides(finding):
    return tuple(sorted(side["kernel"] for side in (finding["first"], finding["second"])))


def clean(scratch, name, seed, *options):
    summary = jobs.launched(scratch, [PROGRAM, name], ranks=1, options=("--seed", str(seed), *options)).ends(0).summary(ranks=1)
    expect.need(not summary["findings"] and not summary["coverage"]["withheld"], str(summary))
    return summary["coverage"]


def form(scratch, name):
    for seed in SEEDS:
        coverage = clean(scratch, name, seed)
        expect.need(name in UNKNOWN or not (coverage["notes"] or coverage["counters"]["ambiguous_versions"]), str(coverage))
        racy = jobs.launched(scratch, [PROGRAM, name, "racy"], ranks=1, options=("--seed", str(seed))).ends(jobs.FOUND).summary(ranks=1)
        expect.need({sides(f) for f in expect.pairs(racy)} == FORMS[name], str([sides(f) for f in expect.pairs(racy)]))


def not_held_up(scratch):
    """The first launches of all lie behind waits that come later: with no kernel of ours before them."""
    for name in ("waited_first", "raised_by_kernel", "counted_by_kernel"):
        clean(scratch, name, SEEDS[0], "--copies", "0")


def widened(scratch, name, counted):
    """It has no racy form: all that is unknown orders."""
    for seed in SEEDS:
        coverage = clean(scratch, name, seed)
        expect.need(counted(coverage), str(coverage))


def ambiguous(coverage):
    return coverage["counters"]["ambiguous_versions"]


def noted(coverage):
    return any(note["name"] == "cuStreamWaitValue" for note in coverage["notes"])


CASES = {**{name: lambda scratch, name=name: form(scratch, name) for name in FORMS}, "not_held_up": not_held_up,
         "one_bucket": lambda scratch: widened(scratch, "one_bucket", ambiguous), "captured": lambda scratch: widened(scratch, "captured", ambiguous),
         "many_words": lambda scratch: widened(scratch, "many_words", ambiguous),
         "many_waits": lambda scratch: widened(scratch, "many_waits", noted)}

if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(";".join(CASES), end="")
    else:
        jobs.main(CASES)

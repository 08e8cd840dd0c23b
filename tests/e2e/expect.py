"""What a report must say. The lines of an example are found by their marker comments (`# site: NAME`), so that nobody
has to count lines. As a program, for scripts:

    expect.py DIR --clean
    expect.py DIR --source FILE --sites NAME... --ranks R...
"""
import argparse
import json
import os
import re
import sys

KINDS = {"read-after-write", "write-after-read", "write-after-write", "atomic-vs-plain", "insufficient-scope",
         "stale-nc-read"}
CLASSES = {  # and what the sentence of each must say
    "missing-release": r" makes it a release at scope \.\w+; release is missing$",
    "missing-release-and-acquire": r" release is missing, and so is an acquire at ",
    "missing-acquire": r" acquires at scope .* acquire is missing$",
    "narrow-scope": r"scopes? .* not include ",
    "early-release": r" releases only what came before it,| released something, but not |; no release there would order that",
    "weak-flag": r" is weak[:,] ",
    "flag-of-another-cta": r" is of another CTA, ",
    "missing-barrier": r" another (warp|thread) than .*barrier is missing$",
    "stale-flag": r" went on by an older value than ",
    "early-reuse": r" went on by too old a value: | is executed again without a wait for ",
    "late-acquire": r" stands before the flag read at .* by which its CTA waits; move it behind that$",
    "missing-lock": r" is behind the lock that is taken at .* is not; lock is missing$",
    "missing-grid-dependency": r" may begin before .* has ended .*, and no griddepcontrol\.wait .* comes before its \w+$",
    "use-after-free-async": r" was seen, and what is given back may be somebody else's by then$",
    "missing-stream-edge": r"the two launches(, on GPU \d+ and GPU \d+,)? was seen$",
    "non-coherent-load": r": ld\.global\.nc may return old data",
    "no-synchronisation": r"(rank \d+|two processes of rank \d+|the two CTAs of one launch) was seen$",
}
SIDE_KEYS = {"rank", "gpu", "kernel", "file", "line", "op", "semantics", "scope"}


class Unexpected(Exception):
    pass


def need(condition, text):
    if not condition:
        raise Unexpected(text)


def site_lines(source):
    """{marker: line} of a source file."""
    with open(source) as file:
        found = ((re.search(r"# site: (\S+)", line), number) for number, line in enumerate(file, 1))
        return {match.group(1): number for match, number in found if match}


def read(directory, ranks=None):
    """summary.json, after a look at its shape and at that of each rank's report."""
    with open(os.path.join(directory, "summary.json")) as file:
        summary = json.load(file)
    names = [f"rank-{r}.json" for r in range(len(summary["ranks"]))]
    need(ranks is None or len(names) == ranks, f"{len(names)} ranks in summary.json, not {ranks}")
    for name in names:
        with open(os.path.join(directory, name)) as file:
            check_shape(json.load(file), name)
    check_shape(summary, "summary.json")
    return summary


def check_pairs(finding, name):
    """The root stands first, and above all; one finding has one class, or says what each of its pairs lacks of it."""
    of = finding.get("pairs", [finding])
    need(len(of) > 1 or "pairs_unlisted" in finding or "pairs" not in finding, f"{name}: a list of one pair: {finding}")
    for key in ("kind", "first", "second", "missing_edge", "missing_edge_class", "edge"):
        need(of[0].get(key) == finding.get(key), f"{name}: its {key} is not the root's: {finding}")
    counted = [pair["count"] for pair in of if ("suppressed" in pair) == ("suppressed" in finding)]
    need(finding["count"] == sum(counted) or "pairs_unlisted" in finding, f"{name}: another count than its pairs have: {finding}")
    need(len({pair["formal"] for pair in of}) == 1, f"{name}: formal pairs with others: {finding}")


def check_launches(finding, name):
    """Of two launches of one process the one that was given first stands first, whichever was checked first; they are of two streams."""
    first, second = finding["first"], finding["second"]
    if finding["missing_edge_class"] != "missing-stream-edge" or first.get("participant") != second.get("participant"):
        return
    need(first["launch"] < second["launch"] and " before the " in finding["missing_edge"], f"{name}: the later launch first: {finding}")
    need(first.get("stream") != second.get("stream") or "stream" not in first, f"{name}: of one stream: {finding}")


def check_shape(report, name):
    for key in ("schema_version", "ranks", "findings", "coverage"):
        need(key in report, f"{name} has no {key}")
    for finding in report["findings"]:
        check_pairs(finding, name)
    for finding in pairs(report):
        need(finding["kind"] in KINDS, f"{name}: kind {finding['kind']}")
        need(finding["count"] >= 1 and finding["missing_edge"] and "allocation" in finding, f"{name}: {finding}")
        need(re.search(CLASSES[finding["missing_edge_class"]], finding["missing_edge"]), f"{name}: not of its class: {finding}")
        check_launches(finding, name)
        for side in (finding["first"], finding["second"]):
            need(SIDE_KEYS <= set(side), f"{name}: a side lacks {SIDE_KEYS - set(side)}")


def pairs(summary):
    """All pairs of lines that its findings explain, the root of each first."""
    return [pair for finding in summary["findings"] for pair in finding.get("pairs", [finding])]


def describe(summary):
    def side(s):
        return f"{s['op']} {s['file']}:{s['line']} rank {s['rank']} kernel {s['kernel']}"
    return "; ".join(f"{f['kind']}: {side(f['first'])} / {side(f['second'])}" for f in pairs(summary)) or "none"


def checked(summary):
    coverage = summary["coverage"]
    need(coverage["launches_checked"] > 0, "no launch was checked")
    need(coverage["counters"]["checked"] > 0, "no access was checked")


def clean(summary):
    need(not summary["findings"], f"findings in a correct form: {describe(summary)}")
    checked(summary)


def race(summary, source, sites, ranks, kernels=None):
    """A pair between exactly these two sites and ranks; none between any other places, but for flags whose scope
    does not reach: they race with each other, and say so by their kind."""
    lines = site_lines(source)
    wanted = sorted(lines[site] for site in sites)
    flags = {line for site, line in lines.items() if site.startswith("flag-")}
    checked(summary)
    need(summary["findings"], "the race was not found")
    met = False
    for finding in pairs(summary):
        sides = finding["first"], finding["second"]
        if finding["kind"] == "insufficient-scope" and {side["line"] for side in sides} <= flags:
            continue
        for side in sides:
            need(os.path.basename(side["file"] or "?") == os.path.basename(source) and side["line"] in wanted,
                 f"a finding elsewhere: {describe(summary)}")
            need(kernels is None or side["kernel"] in kernels, f"not in {kernels}: {describe(summary)}")
        met |= sorted(side["line"] for side in sides) == wanted and sorted(side["rank"] for side in sides) == sorted(ranks)
    need(met, f"no finding between lines {wanted} in ranks {ranks}: {describe(summary)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--clean", action="store_true")
    parser.add_argument("--source")
    parser.add_argument("--sites", nargs=2)
    parser.add_argument("--ranks", nargs=2, type=int)
    args = parser.parse_args()
    try:
        summary = read(args.directory)
        clean(summary) if args.clean else race(summary, args.source, args.sites, args.ranks)
    except (Unexpected, OSError, KeyError, ValueError) as error:
        sys.exit(f"expect: {args.directory}: {error!r}")


if __name__ == "__main__":
    main()

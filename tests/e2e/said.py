"""What is said of the race of a form of said.c, by its class and its sentence, in each of six runs; and that the form is clean as it stands."""
import os

import expect
import jobs

PROGRAM = os.path.join(jobs.BIN, "e2e_said")
SEEDS = range(1, 7)
NARROW = "the scope .cta of the fence at said.cu:{}, {} the flag {} at said.cu:{}, does not include the other CTA"
BEFORE, BEHIND = NARROW.format(2, "before", "store", 3), NARROW.format(12, "behind", "read", 11)
NO_RELEASE = ("the flag store at said.cu:3 is relaxed, and no fence between the store at said.cu:1 and it makes it a release at scope .gpu; "
              "release is missing")
FORMALLY = NO_RELEASE.replace("between", "of the thread that raises it, behind the barrier between").replace(" makes", ", makes")
EARLY = "the flag atomic at said.cu:25 comes before the {} at said.cu:{}; no release there would order that; move it behind said.cu:{}"
EARLY_RELEASE = "the flag atomic at said.cu:25 releases only what came before it, and the {} comes after it; move it behind said.cu:{}"
# Of each form what may be said of what races.
FORMS = {
    "fence_release": {("narrow-scope", BEFORE)},
    "fence_acquire": {("narrow-scope", BEHIND)},
    "fence_both": {("narrow-scope", BEFORE + ", nor does the scope .cta of the fence at said.cu:12, behind the flag read at said.cu:11, include the other CTA")},
    "fence_and_none": {("narrow-scope", BEFORE + "; an acquire is missing, too, at the flag read at said.cu:11")},
    "fence_of_one": {("narrow-scope", BEFORE)},
    "fence_too_early": {("missing-release", NO_RELEASE)},
    "fence_passed": {("missing-release", NO_RELEASE)},
    "fence_before_barrier": {("missing-release", FORMALLY)},
    "fence_beside_wide": {("missing-release", FORMALLY)},
    "scope_of_both": {("narrow-scope", "scopes .cta and .cta do not include both CTAs"),
                      ("narrow-scope", "the scope .cta of the release at said.cu:3 does not include the other CTA, nor does the scope .cta of the "
                       "acquire at said.cu:11 include the other CTA")},
    # who reads before the one thread has acquired anything has seen no flag: then the text tells it
    "barrier_of_reader": {("missing-barrier", "the load at said.cu:13 is by another thread than the one of its CTA that acquires the flag store at said.cu:3 by "
                           "the flag read at said.cu:11, "
                           "and no barrier of that CTA stands between the acquire and it; barrier is missing"),
                          ("missing-barrier", "the load at said.cu:13 is by another thread than the one of its CTA that waits by the flag read at said.cu:11, "
                           "and no barrier of that CTA stands between the wait and it; barrier is missing")},
    "read_before_wait": {("late-acquire", "the load at said.cu:13 stands before the flag read at said.cu:11, by which its CTA waits; move it behind that")},
    "flag_left": {("stale-flag", "the flag read at said.cu:11, before the load at said.cu:13, went on by an older value than the flag store at said.cu:3 puts behind "
                   "the store at said.cu:1: of an earlier round, or as a launch left it")},
    "ring": {("early-reuse", "the flag read at said.cu:31, before the store at said.cu:32, went on by too old a value: not by that which the flag store at "
              "said.cu:43 puts behind the load at said.cu:42; or the flag read at said.cu:41, before that, did")},
    "buffers": {("early-reuse", "the store at said.cu:32 is executed again without a wait for the flag store at said.cu:43, behind the load at said.cu:42 of the "
                 "round before; wait is missing")},
    "lock_forgotten": {("missing-lock", f"the {one} is behind the lock that is taken at said.cu:21, and the {other} is not; lock is missing")
                       for one in ("load at said.cu:22", "store at said.cu:23") for other in ("load at said.cu:27", "store at said.cu:28")},
    "lock_exchanged": {("missing-release", NO_RELEASE.replace("flag store at said.cu:3 ", "flag atomic at said.cu:25 ").replace(":1 ", ":23 ")),
                       ("missing-release", NO_RELEASE.replace("flag store at said.cu:3 ", "flag atomic at said.cu:25 ").replace("store at said.cu:1 ", "load at said.cu:22 "))},
    "lock_early": {("early-release", EARLY.format("store", 23, 23)), ("early-release", EARLY.format("load", 22, 22))},
    "lock_early_release": {("early-release", EARLY_RELEASE.format("store", 23)), ("early-release", EARLY_RELEASE.format("load", 22))},
}

ONE = {"lock_forgotten"}  # whatever is accessed without the lock

FORMS["lock_bare"] = FORMS["lock_exchanged"]


def form(name):
    def case(scratch):
        for seed in SEEDS:
            options = ("--seed", str(seed), "--formal", "fail")
            expect.clean(jobs.launched(scratch, [PROGRAM, name], ranks=1, options=options).ends(0).summary(ranks=1))
            findings = jobs.launched(scratch, [PROGRAM, name, "racy"], ranks=1, options=options).ends(jobs.FOUND).summary(ranks=1)["findings"]
            said = {(finding["missing_edge_class"], finding["missing_edge"].partition(": ")[2]) for finding in findings}
            expect.need(said and said <= FORMS[name], f"seed {seed}: {said}")
            expect.need(name not in ONE or len(findings) == 1, f"seed {seed}: {len(findings)} findings")
    return case


if __name__ == "__main__":
    jobs.main({name: form(name) for name in FORMS})

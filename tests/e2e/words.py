"""The sentence of a finding names the edge that is missing: two ranks on two GPUs, the first writes x and raises a flag, the
second waits for the flag and reads x. Each racy form has a correct twin, in which what the sentence asks for is there."""
import os

import expect
import jobs

HEAD = "litmus message\nranks 2\ndevices 0 1\nlocation x\nlocation f\nlocation g\nlaunch P rank 0\ncta 0\n"
ACQUIRE, RELAXED = "poll ld.acquire.sys.global.b32 r0 f 1 400", "poll ld.relaxed.sys.global.b32 r0 f 1 400"
PAYLOAD, LOAD, RELEASE = "st.global.b32 x 1", "ld.global.b32 r1 x", "st.release.sys.global.b32 f 1"
RAISE, FENCE, NARROW, ACQUIRES = "st.relaxed.sys.global.b32 f 1", "fence.acq_rel.sys", "fence.acq_rel.gpu", "fence.acquire.sys"
WAIT, END = "if r0 == 1", "end"
NO_RELEASE = "the flag store at {f} is relaxed, and no fence between the store at {x} and it makes it a release at scope .sys; release is missing"
EARLY = "the flag store at {f} comes before the store at {x}; no release there would order that; move it behind {x}"
CORRECT = [PAYLOAD, RELEASE], [ACQUIRE, WAIT, LOAD, END]
BY_FENCE = ["st.relaxed.sys.global.b32 g 1", "cta 1", "poll ld.relaxed.sys.global.b32 r0 g 1 400", WAIT, FENCE, RAISE, END]
FENCES = [PAYLOAD, FENCE, RAISE], [RELAXED, WAIT, FENCE, LOAD, END]

# the racy sides, the class of the race on x and what is said of it, and the correct sides
FORMS = {
    "no_fence": ([PAYLOAD, RAISE], CORRECT[1], "missing-release", NO_RELEASE, FENCES),
    "fence_too_early": ([FENCE, PAYLOAD, RAISE], CORRECT[1], "missing-release", NO_RELEASE, FENCES),
    "fence_too_narrow": ([PAYLOAD, NARROW, RAISE], CORRECT[1], "narrow-scope",
                         "the scope .gpu of the fence at {n}, before the flag store at {f}, does not include GPU 1 of rank 1", FENCES),
    "fence_of_acquire": ([PAYLOAD, ACQUIRES, RAISE], CORRECT[1], "missing-release", NO_RELEASE, FENCES),
    "fence_then_flag": ([FENCE, RAISE, PAYLOAD], CORRECT[1], "early-release", EARLY, FENCES),
    "flag_too_early": ([RAISE, PAYLOAD], [RELAXED, WAIT, LOAD, END], "early-release", EARLY, FENCES),
    "flag_too_early_acquired": ([RAISE, PAYLOAD], CORRECT[1], "early-release", EARLY, FENCES),
    "narrow_fence_relaxed_read": ([PAYLOAD, NARROW, RAISE], [RELAXED, WAIT, LOAD, END], "narrow-scope",
                                  "the scope .gpu of the fence at {n}, before the flag store at {f}, does not include GPU 1 of rank 1", FENCES),
    "flag_too_narrow": ([PAYLOAD, RAISE.replace("sys", "gpu")], CORRECT[1], "narrow-scope",
                        "the scope .gpu of the flag store at {f} does not include GPU 1 of rank 1", FENCES),
    "release_too_narrow": ([PAYLOAD, RELEASE.replace("sys", "gpu")], CORRECT[1], "narrow-scope",
                           "the scope .gpu of the release at {f} does not include GPU 1 of rank 1", CORRECT),
    "release_too_early": ([RELEASE, PAYLOAD], CORRECT[1], "early-release",
                          "the flag store at {f} releases only what came before it, and the store comes after it; move it behind {x}", CORRECT),
    "no_acquire": (CORRECT[0], [FENCE, RELAXED, WAIT, LOAD, END], "missing-acquire",
                   "the flag read at {r} is relaxed, and no fence between it and the load at {l} acquires at scope .sys what the flag "
                   "store at {f} released; acquire is missing", FENCES),
    "acquire_too_narrow": (CORRECT[0], [ACQUIRE.replace("sys", "gpu"), WAIT, LOAD, END], "narrow-scope",
                           "the scope .gpu of the acquire at {r} does not include GPU 0 of rank 0", CORRECT),
    "acquire_fence_too_narrow": (CORRECT[0], [RELAXED, WAIT, NARROW, LOAD, END], "narrow-scope",
                                 "the scope .gpu of the fence at {n}, behind the flag read at {r}, does not include GPU 0 of rank 0", FENCES),
    # the fence does acquire, but from the CTA that raised the flag
    "another_cta": ([RELEASE, "cta 1", PAYLOAD], FENCES[1], "flag-of-another-cta",
                    "the flag store at {f} is of another CTA, and nothing orders the store at {x} before it", FENCES),
    "another_cta_fence": ([FENCE, RAISE, "cta 1", PAYLOAD], CORRECT[1], "flag-of-another-cta",
                          "the flag store at {f} is of another CTA, and nothing orders the store at {x} before it", FENCES),
    "relaxed_both": ([PAYLOAD, RAISE], [RELAXED, WAIT, LOAD, END], "missing-release-and-acquire",
                     NO_RELEASE + ", and so is an acquire at the flag read at {r}", FENCES),
    # no wider scope would mend it; fences that come too late, and too early
    "relaxed_both_narrow": ([PAYLOAD, RAISE.replace("sys", "gpu"), FENCE], [FENCE, RELAXED, WAIT, LOAD, END], "missing-release-and-acquire",
                            NO_RELEASE + ", and so is an acquire at the flag read at {r}", FENCES),
    # handed on by a CTA that acquires everything, and releases it at a scope too narrow
    "handed_on": ([PAYLOAD, FENCE, "st.relaxed.sys.global.b32 g 1", "cta 1", "poll ld.acquire.gpu.global.b32 r0 g 1 400", WAIT,
                   RELEASE.replace("sys", "gpu"), END], CORRECT[1], "narrow-scope",
                  "the scope .gpu of the release at {f} does not include GPU 1 of rank 1",
                  CORRECT),
    # by a CTA that lacks nothing: its fence acquires what it read, and releases it
    "handed_on_by_fence": ([PAYLOAD, *BY_FENCE], CORRECT[1], "missing-release", NO_RELEASE.replace("{f}", "{g}"), ([PAYLOAD, FENCE, *BY_FENCE], CORRECT[1])),
}


def place(text, what):
    lines = [number for number, line in enumerate(text.splitlines(), 1) if what(line)]
    return f"message.litmus:{lines[0]}" if lines else None


def run(scratch, sides, status):
    """The job's summary, the places of the program by short names."""
    text = HEAD + "\n".join(sides[0]) + "\nlaunch Q rank 1\ncta 0\n" + "\n".join(sides[1]) + "\n"
    folder = os.path.join(scratch, str(status))
    os.mkdir(folder)
    with open(os.path.join(folder, "message.litmus"), "w") as file:
        file.write(text)
    job = jobs.launched(folder, [os.path.join(jobs.BIN, "litmus-run"), "message.litmus"], options=["--seed", "1"]).ends(status)
    expect.need("Q.0.0:r0=1" in job.out, f"the reader gave up\n{job}")
    start = {"x": "st.global.b32 x", "l": "ld.global.b32", "n": NARROW}
    places = {name: place(text, lambda line, form=form: line.startswith(form)) for name, form in start.items()}
    places.update({name: place(text, lambda line, name=name: line.startswith("st.re") and f" {name} " in line) for name in "fg"},
                  r=place(text, lambda line: line.startswith("poll") and " f " in line))
    return job.summary(ranks=2), places


def form(writer, reader, class_, says, correct):
    def case(scratch):
        summary, places = run(scratch, (writer, reader), jobs.FOUND)
        wanted = ": " + says.format(**places)
        races = [f for f in expect.pairs(summary) if f["kind"] != "insufficient-scope"]
        said = [f["missing_edge"] for f in races]
        rest = said[0].partition(wanted)[2] if len(said) == 1 and wanted in said[0] else None
        expect.need(rest == "" or (rest and not wanted.endswith("missing")), f"not {wanted!r}: {said}")
        expect.need(races[0]["missing_edge_class"] == class_, f"{races[0]['missing_edge_class']}, not {class_}: {said}")
        expect.clean(run(scratch, correct, 0)[0])
    return case


def only_flag(scratch):
    """A guess is said to be likely, unless no other flag could have been meant: one and two of them, all relaxed."""
    one, two = [PAYLOAD, RAISE], [PAYLOAD, RAISE.replace(" f ", " g "), RAISE]
    waits = [RELAXED, WAIT, LOAD, END]
    for writer, reader in ((one, waits), (two, [RELAXED.replace(" f ", " g "), WAIT, *waits, END])):
        folder = os.path.join(scratch, str(len(writer)))
        os.mkdir(folder)
        finding, = run(folder, (writer, reader), jobs.FOUND)[0]["findings"]
        expect.need(finding["guessed"] and finding["missing_edge_class"] == "missing-release-and-acquire", str(finding))
        expect.need(finding.get("only_flag", False) == (writer == one), str(finding))


if __name__ == "__main__":
    jobs.main({**{name: form(*parts) for name, parts in FORMS.items()}, "only_flag": only_flag})

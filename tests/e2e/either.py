"""What is said of a race does not hang on the schedule: over many seeds, all findings of a racy form have the one class that is true, and name the
lines that would have to be mended, whichever access came first; where either may, both orders have to come. The correct twin is clean throughout."""
import os

import expect
import jobs

FILE = "either.litmus"
MEND = "  # mend "  # and for which flag
COPIES = 25


def program(*parts, ranks=1):
    return "\n".join(["litmus either", *(["ranks 2", "devices 0 1"] if ranks == 2 else []), *(line for part in parts for line in part)]) + "\n"


def mutual(raises, waits, fused=False):
    """Both ranks write to the other one, raise its flag, and wait for their own: in one launch, or in the next."""
    lines = [f"location {name}{me} rank {me}" for name in "xf" for me in range(2)]
    take = [["repeat 200", "if r0 != 1", waits.format(f=f"f{me}"), "end", "end", "if r0 == 1", f"ld.global.b32 r1 x{me}", "end"] for me in range(2)]
    for me in range(2):
        lines += [f"launch P{me} rank {me}", "cta 0", f"st.global.b32 x{1 - me} 1", raises.format(f=f"f{1 - me}"), *(take[me] if fused else [])]
    for me in range(0 if fused else 2):
        lines += [f"launch Q{me} rank {me}", "cta 0", *take[me]]
    return program(lines, ranks=2)


def consumer(bar):
    """Two warps write, and one of them releases that behind a barrier; of the other CTA one warp waits for it, and both read. What matters is seldom
    seen: there are many copies, of lines of their own."""
    lines = ["location x bytes 256", "location f", "launch P block 64", "cta 0 thread 0", "st.global.b32 x 1", "bar",
             "st.release.gpu.global.b32 f 1", "cta 0 threads 32..63", "st.global.b32 x tid*4 1", "bar",
             "cta 1 thread 0", "poll ld.acquire.gpu.global.b32 r0 f 1 400" + MEND + "{i}", *bar, "ld.global.b32 r1 x",
             "cta 1 threads 32..63", *bar, "ld.global.b32 r1 x tid*4"]
    return "".join(program(lines).replace("litmus either", f"litmus either{i}").replace("{i}", str(i)) for i in range(COPIES))


def flagged(*writes):
    """A CTA writes, another one acquires the flag, if it is there, and reads then."""
    return program(["location x", "location f", "launch P", "cta 0", *writes, "cta 1", "poll ld.acquire.gpu.global.b32 r0 f 1 400", "if r0 == 1",
                    "ld.global.b32 r1 x", "end"])


def beside(one, other):
    """Two CTAs that meet at one place, and nothing else."""
    return program(["location x", "launch P", "cta 0", one, "cta 1", other])


XCHG, CAS = "atom.{sem}.sys.global.exch.b32 _ {{f}} 1" + MEND + "{{f}}", "atom.{sem}.sys.global.cas.b32 r0 {{f}} 1 1" + MEND + "{{f}}"
RAISE, AWAIT = XCHG.format(sem="relaxed"), CAS.format(sem="relaxed")
RELEASE, ACQUIRE = XCHG.format(sem="release"), CAS.format(sem="acquire")
def behind(meets, raises, waits, lane=1):
    """Another thread raises the flag, behind a barrier, but before it in the text."""
    return program(["location x", "location f", "launch P block 64", f"cta 0 thread {lane}", meets, raises, "cta 0 thread 0", "st.global.b32 x 1", meets,
                    "cta 1 thread 0", waits, "if r0 == 1", "ld.global.b32 r1 x", "end"])


ADD, NC = "atom.relaxed.gpu.global.add.u32 {} x 1", "ld.global.nc.b32 r0 x"
RAISES, WAITS = "st.{}.gpu.global.b32 f 1", "poll ld.{}.gpu.global.b32 r0 f 1 400"
LATER = RAISES.format("relaxed") + MEND, RAISES.format("release")
NONE = "no-synchronisation"

# the racy program, its class, what else may be said, for the flag was not seen yet when they raced; and the correct program
FORMS = {
    "mutual": (mutual(RAISE, AWAIT), "missing-release-and-acquire", (), mutual(RELEASE, ACQUIRE)),
    "mutual_fused": (mutual(RAISE, AWAIT, True), "missing-release-and-acquire", (), mutual(RELEASE, ACQUIRE, True)),
    "consumer": (consumer(()), "missing-barrier", (NONE,), consumer(("bar",))),
    "later_lane": (behind("bar.warp.sync", LATER[0], WAITS.format("acquire")), "missing-release", (), behind("bar.warp.sync", LATER[1], WAITS.format("acquire"))),
    "later_warp": (behind("bar", LATER[0], WAITS.format("acquire"), 32), "missing-release", (), behind("bar", LATER[1], WAITS.format("acquire"), 32)),
    "later_both": (behind("bar", LATER[0], WAITS.format("relaxed") + MEND, 32), "missing-release-and-acquire", (),
                   behind("bar", LATER[1], WAITS.format("acquire"), 32)),
    "too_early": (flagged("st.relaxed.gpu.global.b32 f 1" + MEND, "st.global.b32 x 1" + MEND), "early-release", (NONE,),
                  flagged("st.global.b32 x 1", "st.release.gpu.global.b32 f 1")),
    "store": (beside(ADD.format("_"), "st.global.b32 x 7" + MEND), "weak-flag", (), beside(ADD.format("_"), "st.relaxed.gpu.global.b32 x 7")),
    "load": (beside(ADD.format("r0"), "ld.global.b32 r0 x" + MEND), "weak-flag", (), beside(ADD.format("r0"), "ld.relaxed.gpu.global.b32 r0 x")),
    "strong_load": (beside("ld.acquire.gpu.global.b32 r0 x", "st.global.b32 x 7" + MEND), "weak-flag", (),
                    beside("ld.acquire.gpu.global.b32 r0 x", "st.release.gpu.global.b32 x 7")),
    "nc": (beside(NC + MEND, "st.global.b32 x 7"), "non-coherent-load", (), beside(NC, "ld.global.b32 r0 x")),
    "nc_atomic": (beside(NC + MEND, ADD.format("_")), "weak-flag", (), beside(NC, NC)),
}
SEEDS = range(1, 13)
FIRST = ("store", "load", "strong_load", "nc", "nc_atomic")  # of these either access may be first


def run(scratch, name, text, seed):
    folder = os.path.join(scratch, f"{name}{seed}")
    os.mkdir(folder)
    with open(os.path.join(folder, FILE), "w") as file:
        file.write(text)
    job = jobs.launched(folder, [os.path.join(jobs.BIN, "litmus-run"), FILE], ranks=2 if "ranks 2" in text else 1,
                        options=["--seed", str(seed), "--schedule", "random"])
    expect.need(job.status in (0, jobs.FOUND), f"{job}")
    return job.summary()


def form(name, racy, class_, others, correct):
    def case(scratch):
        mend = {}
        for number, line in enumerate(racy.splitlines(), 1):
            if MEND in line:
                mend.setdefault(line.split(MEND)[1], set()).add(number)
        seen, first, known = set(), set(), set()
        for seed in SEEDS:
            findings = run(scratch, "racy", racy, seed)["findings"]
            lines = {frozenset((f[side]["file"], f[side]["line"]) for side in ("first", "second")) for f in findings}
            expect.need(len(lines) == len(findings), f"seed {seed}: two findings of one pair of lines: {findings}")
            for finding in findings:
                of = finding["missing_edge_class"]
                expect.need(of == class_ or of in others, f"seed {seed}: {of}: {finding['missing_edge']}")
                seen.add(of)
                known |= {finding["fingerprint"]} if of == class_ else set()
                first.add(finding["first"]["line"])
                expect.need(of != class_ or {op["line"] for op in finding.get("edge", ())} in mend.values(), f"seed {seed}: {finding}")
            expect.clean(run(scratch, "correct", correct, seed))
        expect.need(class_ in seen and len(known) <= len(mend), f"no seed shows it, or as several: {seen}, {known}")
        expect.need(name not in FIRST or len(first) == 2, f"one access is always the first: {first}")
    return case


if __name__ == "__main__":
    jobs.main({name: form(name, *parts) for name, parts in FORMS.items()})

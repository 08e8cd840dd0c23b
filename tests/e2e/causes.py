"""One finding for each missing edge, with all pairs of lines that it explains: two ranks on two GPUs, the first writes and raises a flag, the
second waits for the flag and reads. `scope`: several lines behind one flag whose scope is too narrow; its twin `two` has two flags that
lack something each; and what is done with the pairs of one finding: suppressed one by one, compared with an earlier report, merged. And lines of
Triton: `called`, what is written on a line, and what a helper does that is called there, are suppressed one by one; `edges`, launches of which
each lacks something else at the same lines; `weak`, flags that are; `counters`, atomics that hand nothing over, beside a store that races; `early`, a flag that is raised before the data, without a loop and in one;
`schedules`, what is one finding with each; `last`, a ticket of which a sample is known."""
import json
import os
import subprocess

import expect
import jobs

FILE = "causes.litmus"
RELEASE, ACQUIRE = "st.release.{scope}.global.b32 {flag} 1", "poll ld.acquire.{scope}.global.b32 r0 {flag} 1 400"


def program(*messages):
    """Each message: its flag, its scope, and the locations that it hands over."""
    names = [name for flag, _, data in messages for name in (flag, *data.split())]
    send = [line for flag, scope, data in messages
            for line in (*(f"st.global.b32 {name} 1" for name in data.split()), RELEASE.format(scope=scope, flag=flag))]
    take = [line for flag, scope, data in messages
            for line in (ACQUIRE.format(scope=scope, flag=flag), "if r0 == 1", *(f"ld.global.b32 r1 {name}" for name in data.split()), "end")]
    return "\n".join(["litmus causes", "ranks 2", "devices 0 1", *(f"location {name}" for name in names),
                      "launch P rank 0", "cta 0", *send, "launch Q rank 1", "cta 0", *take]) + "\n"


def run(scratch, name, text, status=jobs.FOUND, options=(), ranks=2):
    folder = os.path.join(scratch, name)
    os.mkdir(folder)
    with open(os.path.join(folder, FILE), "w") as file:
        file.write(text)
    job = jobs.launched(folder, [os.path.join(jobs.BIN, "litmus-run"), FILE], ranks, ["--seed", "1", *options]).ends(status)
    return job, job.summary(ranks=ranks)


CALLED = """import numpy, triton, triton.language as tl


@triton.jit
def bump(at):
    value = tl.load(at)
    tl.store(at, value + 1)
    return value


@triton.jit
def kernel(out, at):
    tl.store(out, bump(at))


kernel[(GRID,)](*(numpy.zeros(1, dtype="int32") for _ in range(2)))
"""


MESSAGE = """import sys

import numpy, triton, triton.language as tl


@triton.jit
def kernel(data, flag, out, raised: tl.constexpr, awaited: tl.constexpr, barrier: tl.constexpr):
    i = tl.arange(0, 128)
    if tl.program_id(0) == 0:
        tl.store(data + i, i)
        if barrier:
            tl.debug_barrier()
        tl.atomic_xchg(flag, 1, sem=raised)
    elif tl.program_id(0) == 1:
        while tl.atomic_cas(flag, 1, 1, sem=awaited) != 1:
            pass
        if barrier:
            tl.debug_barrier()
        tl.store(out + i, tl.load(data + i))


for how in sys.argv[1:]:
    data, flag, out = (numpy.zeros(size, dtype="int32") for size in (128, 1, 128))
    kernel[(2,)](data, flag, out, "relaxed" if how == "release" else "release", "acquire", how != "barrier")
"""
COUNTERS = """import sys

import numpy, triton, triton.language as tl


@triton.jit
def kernel(out, own, SCOPE: tl.constexpr, STORE: tl.constexpr, HOW: tl.constexpr):
    i = tl.arange(0, 64)
    if STORE:
        tl.store(out + 128 + i, tl.program_id(0))
    seen = tl.atomic_add(out + i, 1, sem="relaxed", scope=SCOPE)
    if HOW != "plain" and HOW != "released":
        tl.store(own + tl.program_id(0) * 64 + i, seen)
    tl.atomic_add(out + 64 + i, 1, sem="relaxed")
    if HOW != "plain" and HOW != "seen":
        tl.atomic_add(out + 512, 1, sem="release")


kernel[(4,)](*(numpy.zeros(1024, dtype="int32") for _ in range(2)), sys.argv[1], int(sys.argv[2]), sys.argv[3])
"""


EARLY = """import sys

import numpy, triton, triton.language as tl


@triton.jit
def kernel(data, flag, out, ROUNDS, LOOP: tl.constexpr, EARLY: tl.constexpr):
    if tl.program_id(0) == 0:
        if LOOP:
            for i in range(ROUNDS):
                tl.atomic_xchg(flag, i + 1, sem="relaxed")
                tl.store(data + i, i)
        else:
            if EARLY:
                tl.atomic_xchg(flag, 2, sem="relaxed")
            tl.store(data, 1)
            if not EARLY:
                tl.atomic_xchg(flag, 2, sem="release")
    else:
        while tl.atomic_add(flag, 0, sem="relaxed" if LOOP or EARLY else "acquire") < 2:
            pass
        tl.store(out, tl.load(data))


kernel[(2,)](*(numpy.zeros(64, dtype="int32") for _ in range(3)), 4, sys.argv[1] == "loop", sys.argv[1] != "correct")
"""


def of_triton(scratch, name, text, status=jobs.FOUND, arguments=(), options=()):
    """One rank on arrays of numpy's, on the emulated device."""
    folder = os.path.join(scratch, name)
    os.mkdir(folder)
    with open(os.path.join(folder, "kernels.py"), "w") as file:
        file.write(text)
    environment = {**jobs.Job.environment(folder), "PYTHONPATH": os.path.join(jobs.SOURCE, "python")}
    job = jobs.launched(folder, [jobs.python(), "-m", "gsan.emu", "kernels.py", *arguments], 1, ["--seed", "1", *options], environment=environment)
    return job.ends(status), job.summary(ranks=1)


LOCK = """import sys

import numpy, triton, triton.language as tl


@triton.jit
def kernel(lock, sum, WEAK: tl.constexpr):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(sum, tl.load(sum) + 1)
    tl.debug_barrier()
    if WEAK:
        tl.store(lock, 0)  # mend
    else:
        tl.atomic_xchg(lock, 0)


kernel[(4,)](*(numpy.zeros(1, dtype="int32") for _ in range(2)), sys.argv[1] == "weak")
"""


COUNTED = """import sys

import numpy, triton, triton.language as tl


@triton.jit
def kernel(part, bins, ticket, out, CTAS: tl.constexpr, HOW: tl.constexpr):
    i = tl.arange(0, 64)
    cta, last = tl.program_id(0), -1
    if HOW == "early":
        last = tl.atomic_add(ticket, 1, sem="acquire")  # early
    if HOW != "late":
        tl.store(part + cta * 64 + i, i)
    tl.atomic_add(bins + (i * 7 + cta) % 64, 1, sem="relaxed")
    tl.debug_barrier()
    if HOW != "early":
        last = tl.atomic_add(ticket, 1)  # late
    if HOW == "late":
        tl.store(part + cta * 64 + i, i)
    if last == CTAS - 1:
        sum = tl.zeros((64,), tl.int32)
        for k in range(CTAS):
            sum += tl.load(part + k * 64 + i)
        tl.store(out + i, sum + tl.atomic_add(bins + i, 0, sem="relaxed"))


kernel[(4,)](*(numpy.zeros(256, dtype="int32") for _ in range(4)), 4, sys.argv[1], num_warps=2)
"""


def places(text, *names):
    """(line of the store, line of the load) of each."""
    lines = [line.split() for line in text.splitlines()]
    def of(start, name):
        return next(number for number, line in enumerate(lines, 1) if line[0].startswith(start) and name in line[1:])
    return {tuple(of(start, name) for start in (("st.", "ld.") if name[0] != "f" else ("st.release", "poll"))) for name in names}


def lines(finding):
    return {(pair["first"]["line"], pair["second"]["line"]) for pair in expect.pairs({"findings": [finding]})}


def report(*arguments, status=0):
    done = subprocess.run([jobs.REPORT, *arguments], capture_output=True, text=True, check=False)
    expect.need(done.returncode == status, f"gsan-report {arguments}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def scope(scratch):
    text = program(("f", "gpu", "x y z"))
    job, summary = run(scratch, "narrow", text)
    finding, = summary["findings"]
    expect.need(lines(finding) == places(text, "f", "x", "y", "z"), str(finding))
    expect.need((finding["kind"], finding["missing_edge_class"]) == ("insufficient-scope", "narrow-scope"), str(finding))
    expect.need({op["line"] for op in finding["edge"]} == set(*places(text, "f")) and all(op["scope"] == "gpu" for op in finding["edge"]), str(finding))
    also = [line.split("also:")[1] for line in job.err.splitlines() if line.startswith("  also:")]
    expect.need(len(also) == 3 and "gsan: 1 finding in 2 ranks" in job.err, f"{job}")
    expect.clean(run(scratch, "wide", program(("f", "sys", "x y z")), 0)[1])


def two(scratch):
    text = program(("f", "gpu", "x"), ("f2", "gpu", "y"))
    _, summary = run(scratch, "both", text)
    expect.need(sorted(map(sorted, map(lines, summary["findings"]))) == sorted(map(sorted, (places(text, "f", "x"), places(text, "f2", "y")))),
                str(summary["findings"]))
    expect.need(len({finding["fingerprint"] for finding in summary["findings"]}) == 2, "two edges have one fingerprint")
    text = program(("f", "sys", "x"), ("f2", "gpu", "y"))  # who mends one sees the other
    finding, = run(scratch, "one", text)[1]["findings"]
    expect.need(lines(finding) == places(text, "f2", "y"), str(finding))


def suppressed(scratch):
    """The finding goes only with all of its pairs, and its root may be another one until then."""
    text = program(("f", "gpu", "x y"))
    job, summary = run(scratch, "all", text)
    rules = report(job.report, "--suggest").splitlines(keepends=True)
    expect.need(len(rules) == 3, str(rules))
    for number, left in ((1, 2), (2, 1), (3, 0)):
        file = os.path.join(scratch, f"{number}.supp")
        with open(file, "w") as to:
            to.writelines(rules[:number])
        by_tool = json.loads(report(job.report, "--suppressions", file, "--format", "json", "--fail-on", "any", status=jobs.FOUND if left else 0))
        by_job = run(scratch, f"suppressed{number}", text, jobs.FOUND if left else 0, ("--suppressions", file))[1]
        for whole in (by_tool, by_job):
            finding, = whole["findings"]
            expect.need(("suppressed" in finding) == (not left) and finding["fingerprint"] == summary["findings"][0]["fingerprint"], str(finding))
            pairs = expect.pairs(whole)
            expect.need(sum("suppressed" in pair for pair in pairs) == number and len(pairs) == 3, str(pairs))
            expect.need(sum(one["findings"] for one in whole["suppressions"]) == number, str(whole["suppressions"]))
            expect.check_shape(whole, "summary.json")


def known(scratch):
    """A further pair of a missing edge that is known is not new, whoever is the root; another edge is. What moves lines changes nothing."""
    before = run(scratch, "before", program(("f", "gpu", "x")))[0].report
    more, other = (run(scratch, name, text)[0].report for name, text in
                   (("more", program(("f", "gpu", "a x"))), ("other", program(("f", "gpu", "x"), ("f2", "gpu", "y")))))
    printed = report(more, "--baseline", before)
    expect.need("gsan: old finding 1 of 1" in printed and "1 finding, 0 of them new," in printed, printed)
    printed = report(other, "--baseline", before, status=jobs.FOUND)
    expect.need("2 findings, 1 of them new," in printed, printed)
    report(other, "--baseline", before, "--fail-on", "never")
    whole = json.loads(report(more, before, other, "--format", "json"))
    counts = sorted(len(expect.pairs({"findings": [finding]})) for finding in whole["findings"])
    expect.need(counts == [2, 3], f"merged: {counts}")


def called(scratch):
    """Each line of a suggestion is for the finding that it stands with; one CTA alone has none."""
    job, summary = of_triton(scratch, "race", CALLED.replace("GRID", "4"))
    rules = report(job.report, "--suggest").splitlines()
    known = {finding["fingerprint"] for finding in summary["findings"]}
    expect.need(len(known) == 3 and len(rules) == 3 and all(rule.count(" at kernels.py:") == 2 for rule in rules), f"{rules}\n{job}")
    hidden = set()
    for rule in rules:
        file = os.path.join(scratch, "one.supp")
        with open(file, "w") as to:
            to.write(rule + "\n")
        whole = json.loads(report(job.report, "--suppressions", file, "--format", "json"))
        one, = (finding["fingerprint"] for finding in whole["findings"] if "suppressed" in finding)
        hidden.add(one)
    expect.need(hidden == known, f"{hidden} of {known}")
    expect.clean(of_triton(scratch, "alone", CALLED.replace("GRID", "1"), 0)[1])


WEAK = """litmus causes
location p
location q
location count
location out
launch P
cta 0
{first}
cta 1
{writer}
cta 2
{reader}
"""


def weak(scratch):
    """A weak flag explains what its own CTA did before it raised it, and no other's accesses, nor later ones; of words that are read by volatile
    loads behind a relaxed atomic that is.  The same edges, and as many, with each seed."""
    read, both = "ld.volatile.global.b32 r0 p", "ld.volatile.global.b32 r0 p\nld.volatile.global.b32 r1 q"
    alone = run(scratch, "alone", WEAK.format(first="st.global.b32 p 1", writer="st.global.b32 out 1", reader=read), ranks=1)[0].report
    for seed in "0123":
        def of(name, writer, reader, status=jobs.FOUND):
            return run(scratch, name + seed, WEAK.format(first="st.global.b32 p 1" if "p" in reader.split() else "ld.global.b32 r0 out", writer=writer, reader=reader), status, ("--seed", seed), ranks=1)
        for name, reader, said in (("data", read + "\nld.global.b32 r1 q", "no-synchronisation"), ("flags", both, "weak-flag")):
            job, summary = of(name, "st.global.b32 q 1", reader)
            expect.need(classes(summary) == sorted(("weak-flag", said)) and not any("pairs" in finding for finding in summary["findings"]), f"{job}")
            report(job.report, "--baseline", alone, status=jobs.FOUND)
        for name, release, acquire, status in (("counted", "relaxed", "relaxed", jobs.FOUND), ("correct", "release", "acquire", 0)):
            job, summary = of(name, f"st.global.b32 q 1\natom.{release}.gpu.global.add.u32 r0 count 1",
                              f"poll ld.{acquire}.gpu.global.b32 r0 count 1 400\nif r0 == 1\nld.volatile.global.b32 r1 q\nend", status)
            said = [] if not status else ["missing-release-and-acquire"]
            expect.need(classes(summary) == said and all(finding["count"] == 1 for finding in summary["findings"]), f"{job}")


def given_back(scratch):
    """A lock that is given back by a weak store: that store is what is wrong, of all pairs, and not that the lock was taken before what it guards."""
    mend = next(number for number, line in enumerate(LOCK.splitlines(), 1) if "# mend" in line)
    for seed, schedule in enumerate(("program", "random", "pct"), 1):
        options = ("--seed", str(seed), "--schedule", schedule)
        job, summary = of_triton(scratch, f"weak{seed}", LOCK, arguments=["weak"], options=options)
        finding, = summary["findings"]
        for pair in expect.pairs(summary):
            expect.need(pair["missing_edge_class"] == "weak-flag" and [op["line"] for op in pair["edge"]] == [mend], f"{pair}\n{job}")
        expect.need(mend in (finding["first"]["line"], finding["second"]["line"]), f"{job}")
        expect.clean(of_triton(scratch, f"correct{seed}", LOCK, 0, ["correct"], options)[1])


def counted(scratch):
    """What counts beside a ticket is no flag: a ticket that is drawn before the data is too early, with each schedule, whoever drew it and whichever warp
    of the last CTA reads first, and whichever of the two accesses came first."""
    for seed, schedule in enumerate(("program", "random", "pct") * 2, 1):
        options = ("--seed", str(seed), "--schedule", schedule)
        for how in ("early", "late"):
            drawn = next(number for number, line in enumerate(COUNTED.splitlines(), 1) if "# " + how in line)
            job, summary = of_triton(scratch, f"{how}{seed}", COUNTED, arguments=[how], options=options)
            finding, = summary["findings"]
            expect.need(finding["missing_edge_class"] == "early-release" and finding["edge"][0]["line"] == drawn, f"{job}")
        if seed <= 2:
            expect.clean(of_triton(scratch, f"correct{seed}", COUNTED, 0, ["correct"], options)[1])


def classes(summary):
    return sorted(finding["missing_edge_class"] for finding in summary["findings"])


def edges(scratch):
    """Two launches lack a release and a barrier at the same two lines: each is a finding, and new to who knew of the other alone."""
    reports = {}
    for name, lacks in (("release", ["release"]), ("barrier", ["barrier"]), ("both", ["release", "barrier"])):
        job, summary = of_triton(scratch, name, MESSAGE, arguments=lacks)
        expect.need(classes(summary) == sorted(f"missing-{lack}" for lack in lacks), f"{job}")
        reports[name] = job.report
    for name in ("release", "barrier"):
        expect.need("2 findings, 1 of them new," in report(reports["both"], "--baseline", reports[name], status=jobs.FOUND), f"both on {name}")
        report(reports[name], "--baseline", reports["both"])
    expect.need("gsan: 2 findings in" in report(reports["release"], reports["barrier"]), "merged")
    expect.clean(of_triton(scratch, "correct", MESSAGE, 0, ["nothing", "nothing"])[1])


def counters(scratch):
    """No scope of atomics that hand nothing over would mend the store, nor would a release; nor is it old because one of them has a scope too narrow.
    released: so it is if there is a counter that releases, which nobody acquires; seen: what is counted may be a flag, which lacks more than scope."""
    for how in ("plain", "released", "seen", "both"):
        for scope_of, store, found in (("cta", "1", 2), ("gpu", "1", 1), ("cta", "0", 1)):
            job, summary = of_triton(scratch, scope_of + store + how, COUNTERS, arguments=[scope_of, store, how])
            findings = summary["findings"]
            expect.need(len(findings) == found and all("pairs" not in finding for finding in findings), f"{job}")
            for finding in findings:
                scoped, said = finding["kind"] == "insufficient-scope", finding["missing_edge_class"]
                expect.need((said == "narrow-scope") == scoped and (scoped or how in ("seen", "both") or said == "no-synchronisation"), f"{job}")
                expect.need("only_flag" not in finding, f"{job}")  # a place that raises it as it reads it may be a counter's
        before, after = (os.path.join(scratch, "cta" + store + how, "report") for store in "01")
        report(after, "--baseline", before, status=jobs.FOUND)
        expect.clean(of_triton(scratch, "correct" + how, COUNTERS, 0, ["gpu", "0", how])[1])


BATCH = """litmus causes
location x
location f
location y
location g
launch P
cta 0
st.global.b32 x 1
{raise} f 1
cta 1
poll {await} r0 f 1 400
if r0 == 1
ld.global.b32 r1 x
st.global.b32 y 1
{raise} g 1
end
cta 2
poll {await} r0 g 1 400
if r0 == 1
ld.global.b32 r1 y
end
"""
TICKET = """import sys

import numpy, triton, triton.language as tl


@triton.jit
def kernel(ticket, out, last, LAST: tl.constexpr):
    i = tl.arange(0, 32)
    at = tl.atomic_add(ticket + i * 0, 1, sem="relaxed")
    tl.store(out + at, at)
    if LAST:
        tl.store(last + i, at)


kernel[(4,)](*(numpy.zeros(128, dtype="int32") for _ in range(3)), sys.argv[1] == "last")
"""


def schedules(scratch):
    """One cause is one finding, and the same one with each seed: of a weak flag and the data before it, which are checked together, though who waits may
    have read both before that; and of a store behind a ticket, by which nobody waits."""
    known = {}
    weak, correct = ({"raise": f"st.{how}global.b32", "await": f"ld.{awaits}.global.b32"} for how, awaits in (("", "volatile"), ("release.gpu.", "acquire.gpu")))
    for seed in map(str, range(8)):
        found = {"batch": run(scratch, "batch" + seed, BATCH.format(**weak), options=("--seed", seed), ranks=1),
                 "ticket": of_triton(scratch, "ticket" + seed, TICKET, arguments=["last"], options=["--seed", seed])}
        for name, said in (("batch", ["weak-flag"] * 2), ("ticket", ["no-synchronisation"])):
            job, summary = found[name]
            edges_of = sorted(finding["fingerprint"] for finding in summary["findings"])
            expect.need(classes(summary) == said and known.setdefault(name, edges_of) == edges_of, f"{name}: {job}")
        for pair in expect.pairs(found["batch"][1]):
            expect.need((pair["kind"] == "read-after-write" and not pair.get("also")) or "volatile" in (pair["first"]["semantics"], pair["second"]["semantics"]),
                        f"{seed}: the data is read before it is written: {pair}")
    expect.clean(run(scratch, "correct", BATCH.format(**correct), 0, ranks=1)[1])
    expect.clean(of_triton(scratch, "tickets", TICKET, 0, ["none"])[1])


LAST = """import sys

import numpy, triton, triton.language as tl


@triton.jit
def kernel(part, ticket, out, CTAS: tl.constexpr, SEM: tl.constexpr):
    i = tl.arange(0, 64)
    cta = tl.program_id(0)
    tl.store(part + cta * 64 + i, i)
    tl.debug_barrier()
    last = tl.atomic_add(ticket, 1, sem=SEM)  # ticket
    if last == CTAS - 1:
        sum = tl.zeros((64,), tl.int32)
        for k in range(CTAS):
            sum += tl.load(part + k * 64 + i)
        tl.store(out + i, sum)


kernel[(8,)](*(numpy.zeros(size, dtype="int32") for size in (512, 1, 64)), 8, sys.argv[1], num_warps=2)
"""


def last(scratch):
    """The ticket by which the last CTA goes on, of a kernel of relaxed operations alone: it is named with each seed, whether the device has seen it or not."""
    drawn = next(number for number, line in enumerate(LAST.splitlines(), 1) if "# ticket" in line)
    for seed in range(1, 9):
        job, summary = of_triton(scratch, f"relaxed{seed}", LAST, arguments=["relaxed"], options=["--seed", str(seed)])
        finding, = summary["findings"]
        expect.need(finding["missing_edge_class"] == "missing-release-and-acquire" and finding["guessed"], f"{job}")
        expect.need([op["line"] for op in finding["edge"]] == [drawn], f"{job}")
        if seed <= 2:
            expect.clean(of_triton(scratch, f"correct{seed}", LAST, 0, ["acq_rel"], options=["--seed", str(seed)])[1])


def early(scratch):
    """A release would not help a flag that is raised before the data. In a loop it would, for the data of the round before. That somebody waited for the
    flag is not seen with each schedule: of relaxed RMWs the quick way leaves no hint (src/device/red.h)."""
    for how, said in (("once", "early-release"), ("loop", "missing-release-and-acquire")):
        named = 0
        for seed in "012345":
            job, summary = of_triton(scratch, how + seed, EARLY, arguments=[how], options=["--seed", seed])
            expect.need(classes(summary) in ([said], ["no-synchronisation"]), f"{how}: {job}")
            named += classes(summary) == [said]
        expect.need(named >= 4, f"{how}: named with {named} of 6 seeds")
    expect.clean(of_triton(scratch, "correct", EARLY, 0, ["correct"])[1])


if __name__ == "__main__":
    jobs.main({"scope": scope, "two": two, "suppressed": suppressed, "known": known, "called": called, "edges": edges, "weak": weak, "counters": counters,
               "early": early, "given_back": given_back, "counted": counted, "schedules": schedules, "last": last})

"""Programs that must come out right, as a table of (program, arguments, ranks, racy): `emulated` for the emulated device in CTest,
`native` for tests/gpu/run cases, of so many ranks. The racy forms need not name their lines here: that a race is found, and nothing in the correct
form, is what each is for: no formal one either. Some say the class that one finding has, too (CLASSES), or that all are formal.

    cases.py NAME        one case on the emulated device, as CTest runs it
    cases.py --list
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))
BREAKS = ("no-first", "no-last", "first-relaxed", "last-relaxed", "scope")
BARRIERS = ("no-barrier-first", "no-barrier-last")
CLASSES = {"exchange-no-barrier-last": "missing-barrier"}  # of the first most warps read before anything was acquired
FORMAL = {"exchange-warps-first-relaxed"}  # a relaxed RMW, a barrier, and then other warps read
SPAWNED = "spawned.py"  # whose job has one rank
SMALL = ["--blocks", "20", "--warps", "1", "--count", "8192", "--rounds", "3"]
WARPS = ["--warps", "2"]  # which a barrier is for


def table(exchange, warps, ranks, locks, cas):
    """{name: (program, arguments, ranks, racy)}"""
    cases = {"exchange": ("exchange.py", exchange, ranks, False)}
    cases.update({f"exchange-{what}": ("exchange.py", [*exchange, "--break", what], ranks, True) for what in BREAKS})
    cases.update({f"exchange-{what}": ("exchange.py", [*exchange, *warps, "--break", what], ranks, True) for what in BARRIERS})
    if warps:
        cases["exchange-warps"] = ("exchange.py", [*exchange, *warps], ranks, False)
        cases["exchange-warps-first-relaxed"] = ("exchange.py", [*exchange, *warps, "--break", "first-relaxed"], ranks, True)
    cases["spawned"] = (SPAWNED, [str(ranks), *exchange], ranks, False)
    cases["spawned-scope"] = (SPAWNED, [str(ranks), *exchange, "--break", "scope"], ranks, True)
    cases["lock-groups"] = ("lock_groups.py", locks, 1, False)
    cases["cas-then-load"] = ("cas_then_load.py", cas, 1, True)
    return cases


EMULATED = table(SMALL, WARPS, 2, ["--ctas", "48", "--locks", "3", "--width", "256"], [])


def native(ranks):
    return table([], [], ranks, [], [])


def started(program, ranks):
    """How many ranks gsan-launch starts."""
    return 1 if program == SPAWNED else ranks


def one(name):
    """The case as a function of its scratch directory (jobs.main)."""
    import expect
    import jobs

    def run(scratch):
        program, arguments, ranks, racy = EMULATED[name]
        for number, schedule in enumerate(("program", "pct"), 1):
            place = os.path.join(scratch, schedule)
            os.makedirs(place)
            job = jobs.launched(place, [jobs.python(), os.path.join(HERE, program), *arguments], started(program, ranks),
                                ["--schedule", schedule, "--seed", str(number), "--formal", "fail"],
                                environment={**jobs.Job.environment(scratch), "PYTHONPATH": jobs.EXAMPLES, "EMU_DEVICES": str(max(2, ranks))})
            summary = job.ends(jobs.FOUND if racy else 0).summary(started(program, ranks))
            expect.checked(summary)
            expect.need(not summary["coverage"]["counters"]["unmapped_participants"], "somebody's tables are not mapped")
            if not racy:
                expect.clean(summary)
            formal = {finding["formal"] for finding in summary["findings"]}
            expect.need(formal == {name in FORMAL} or not racy, f"formal: {formal}")
            classes = {finding["missing_edge_class"] for finding in summary["findings"]}
            expect.need(CLASSES.get(name) in {None, *classes}, f"no finding is a {CLASSES.get(name)}: {classes}")
    return run


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(";".join(EMULATED), end="")
    else:
        import jobs
        jobs.main({name: one(name) for name in EMULATED})

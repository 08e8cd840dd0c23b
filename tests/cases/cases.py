"""Programs that must come out right, as a table of (program, arguments, ranks, racy): `emulated` for the emulated device in CTest,
`native` for tests/gpu/run cases, of so many ranks. The racy forms need not name their lines here: that a race is found, and nothing in the correct
form, is what each is for: no formal one either. Some say the class that one finding has, too (CLASSES), or that all are formal, or
what must be printed (SAYS).

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
SPAWNED, PYTESTED = "spawned.py", "pytested.py"  # whose jobs have one rank
GATHER = ("swapped", "other-stream", "relaxed", "no-wait", "wrong-flag", "early")
GATHER_SMALL = ["--blocks", "4", "--count", "8192"]
SMALL = ["--blocks", "20", "--warps", "1", "--count", "8192", "--rounds", "3"]
WARPS = ["--warps", "2"]  # which a barrier is for


def table(exchange, warps, ranks, locks, cas, gather):
    """{name: (program, arguments, ranks, racy)}"""
    cases = {"exchange": ("exchange.py", exchange, ranks, False)}
    cases.update({f"exchange-{what}": ("exchange.py", [*exchange, "--break", what], ranks, True) for what in BREAKS})
    cases.update({f"exchange-{what}": ("exchange.py", [*exchange, *warps, "--break", what], ranks, True) for what in BARRIERS})
    if warps:
        cases["exchange-warps"] = ("exchange.py", [*exchange, *warps], ranks, False)
        cases["exchange-warps-first-relaxed"] = ("exchange.py", [*exchange, *warps, "--break", "first-relaxed"], ranks, True)
    cases["spawned"] = (SPAWNED, [str(ranks), "spawn", *exchange], ranks, False)
    cases["spawned-scope"] = (SPAWNED, [str(ranks), "spawn", *exchange, "--break", "scope"], ranks, True)
    cases["gather"] = ("gather.py", gather, ranks, False)
    cases.update({f"gather-{what}": ("gather.py", [*gather, "--break", what], ranks, True) for what in GATHER})
    cases["lock-groups"] = ("lock_groups.py", locks, 1, False)
    cases["lock-groups-relaxed"] = ("lock_groups.py", [*locks, "--break", "relaxed"], 1, True)
    cases["cas-then-load"] = ("cas_then_load.py", cas, 1, True)
    cases["cas-then-load-strong"] = ("cas_then_load.py", [*cas, "--strong"], 1, False)
    return cases


# What Triton's tutorials teach: each checks its result against NumPy's, and has a racy twin. Of those that multiply no matrices, and of products of
# tiles of 32, Triton makes the same PTX for sm_80 as for sm_90: they have no form of their own.
SM80 = ["--arch", "sm80"]
TUTORIALS = {
    "matmul": ("matmul.py", []), "matmul-sm80": ("matmul.py", [*SM80, "--stages", "4"]),
    "matmul-alone": ("matmul.py", ["--stages", "1"]), "matmul-small": ("matmul.py", ["--stages", "2", "--block", "16", "16", "32"]),
    "matmul-halves": ("matmul.py", ["--sum", "float16"]), "matmul-halves-sm80": ("matmul.py", ["--sum", "float16", *SM80]),
    "matmul-split": ("matmul.py", ["--split", "2"]), "matmul-split-no-atomic": ("matmul.py", ["--split", "2", "--break", "no-atomic"]),
    "matmul-t39": ("matmul.py", []), "matmul-sm80-t39": ("matmul.py", [*SM80, "--stages", "3"]),
    "grouped-matmul": ("grouped_matmul.py", []), "grouped-matmul-overlap": ("grouped_matmul.py", ["--break", "overlap"]),
    "grouped-matmul-wide": ("grouped_matmul.py", ["--tile", "64"]), "grouped-matmul-wide-sm80": ("grouped_matmul.py", ["--tile", "64", *SM80]),
    "grouped-matmul-wide-sm80-overlap": ("grouped_matmul.py", ["--tile", "64", *SM80, "--break", "overlap"]),
    "attention": ("attention.py", []), "attention-causal-sm80": ("attention.py", ["--causal", *SM80]),
    "attention-t39": ("attention.py", ["--causal"]), "attention-overlap": ("attention.py", ["--break", "overlap"]),
    "layer-norm": ("layer_norm.py", []), "layer-norm-no-lock": ("layer_norm.py", ["--break", "no-lock"]),
    "print": ("print.py", []),
}
for kind in ("float64", "float32", "bfloat16", "int8", "e4m3", "e5m2"):
    TUTORIALS[f"matmul-{kind}"] = ("matmul.py", ["--type", kind])
    TUTORIALS[f"matmul-{kind}-mma"] = ("matmul.py", ["--type", kind, "--arch", "sm89"])
for kernel in ("add", "softmax", "dropout"):
    TUTORIALS[kernel] = ("rows.py", [kernel])
    TUTORIALS[f"{kernel}-overlap"] = ("rows.py", [kernel, "--break", "overlap"])
SAYS = {"print": [f"pid ({p}, 0, 0) idx ({i:2}) element: (operand 1) {(32 * p + i) / 4:f}" for p in range(2) for i in range(32)] +
        [f"pid ({p}, 0, 0) idx () program: 0x{p:08x}" for p in range(2)]}  # lines on stdout

EIGHT = {}
for start in ("fork", "forkserver", "spawn"):
    arguments = ["8", start, "--blocks", "2", "--warps", "1", "--count", "512", "--rounds", "1"]
    EIGHT[f"spawned-{start}-8"] = (SPAWNED, arguments, 8, False)
    EIGHT[f"spawned-{start}-8-scope"] = (SPAWNED, [*arguments, "--break", "scope"], 8, True)

SMALLEST = ["--blocks", "2", "--warps", "1", "--count", "512", "--rounds", "1"]
BECOME = {"spawned-exec": (SPAWNED, ["2", "exec", *SMALLEST], 2, False),
          "spawned-exec-scope": (SPAWNED, ["2", "exec", *SMALLEST, "--break", "scope"], 2, True)}
TESTS = {"pytested": (PYTESTED, ["2", "spawn", *SMALLEST], 2, False),
         "pytested-scope": (PYTESTED, ["2", "spawn", *SMALLEST, "--break", "scope"], 2, True)}

EMULATED = {**EIGHT, **BECOME, **TESTS, **table(SMALL, WARPS, 2, ["--ctas", "48", "--locks", "3", "--width", "256"], [], GATHER_SMALL),
            **{name: (*row, 1, "--break" in row[1]) for name, row in TUTORIALS.items()}}


def native(ranks):
    """With the tutorials that the GPU's own Triton compiles for it."""
    tutorials = {name: row for name, row in TUTORIALS.items() if "--arch" not in row[1] and not name.endswith("-t39")}
    return {**table([], [], ranks, [], [], []), **{name: (*row, 1, "--break" in row[1]) for name, row in tutorials.items()}}


def started(program, ranks):
    """How many ranks gsan-launch starts."""
    return 1 if program in (SPAWNED, PYTESTED) else ranks


def one(name):
    """The case as a function of its scratch directory (jobs.main)."""
    import expect
    import jobs

    def run(scratch):
        program, arguments, ranks, racy = EMULATED[name]
        for number, schedule in enumerate(("program", "pct")[:1 if name in {**TUTORIALS, **EIGHT, **TESTS} else 2], 1):
            place = os.path.join(scratch, schedule)
            os.makedirs(place)
            python = jobs.python("3.9" if name.endswith("-t39") else "3.6")
            job = jobs.launched(place, [python, os.path.join(HERE, program), *arguments], started(program, ranks),
                                ["--schedule", schedule, "--seed", str(number), "--formal", "fail"],
                                environment={**jobs.Job.environment(scratch), "PYTHONPATH": jobs.EXAMPLES, "EMU_DEVICES": str(max(2, ranks)),
                                             "EMU_GRACE_MS": "20"})  # eight hosts sleep in turns
            summary = job.ends(jobs.FOUND if racy else 0).summary(started(program, ranks))
            expect.checked(summary)
            missing = set(SAYS.get(name, ())) - set(job.out.splitlines())
            expect.need(not missing, f"stdout lacks {sorted(missing)}")
            expect.need(not summary["coverage"]["counters"]["unmapped_participants"], "somebody's tables are not mapped")
            if not racy:
                expect.clean(summary)
            formal = {finding["formal"] for finding in expect.pairs(summary)}
            expect.need(formal == {name in FORMAL} or not racy, f"formal: {formal}")
            classes = {finding["missing_edge_class"] for finding in expect.pairs(summary)}
            expect.need(CLASSES.get(name) in {None, *classes}, f"no finding is a {CLASSES.get(name)}: {classes}")
    return run


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        print(";".join(EMULATED), end="")
    else:
        import jobs
        jobs.main({name: one(name) for name in EMULATED})

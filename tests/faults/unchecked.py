"""Status 67: a job that did not fail and found nothing says so if its silence means nothing."""
import os

import expect
import jobs

UNCHECKED = 67
NO_CUDA = ["sh", "-c", "exit 0"]
LOST = ["sh", "-c", 'exec env -u LD_PRELOAD "$@"', "sh"]


def kernels(launches, *status):
    return [os.path.join(jobs.BIN, "faults_kernels"), launches, *status]


def run(scratch, program, options=(), ranks=1, status=UNCHECKED, environment=None):
    environment = {**jobs.Job.environment(scratch), "EMU_JOIN_SECONDS": "1", **(environment or {})}
    job = jobs.launched(scratch, program, ranks=ranks, options=options, environment=environment).ends(status)
    expect.need(("exit status 67" in job.err) == (status == UNCHECKED), f"words of status 67\n{job}")
    expect.need(job.summary(ranks=ranks)["exit"] == status, f"summary.json has another status\n{job}")
    return job


def per_rank(*programs):
    """Each rank another program."""
    script = "; ".join(f'[ "$RANK" != {rank} ] || exec {" ".join(program)}' for rank, program in enumerate(programs))
    return ["sh", "-c", script]


def none_checked(scratch):
    """Kernels were launched, and none was checked: no copy of theirs, or nothing that it accessed has shadow."""
    for launches in ("u", "uuu", "f", "uf"):
        run(scratch, kernels(launches)).says("none was checked", "--allow-unchecked")
        run(scratch, kernels(launches), ["--allow-unchecked"], status=0).says("NOT CHECKED")
    run(scratch, per_rank(kernels("u"), kernels("-")), ranks=2)
    run(scratch, kernels("u"), status=0, environment={"TORCHELASTIC_MAX_RESTARTS": "3"})


def some_checked(scratch):
    """The twins: something was checked, or there was nothing to check."""
    for launches in ("c", "cu", "cf", "uc", "fcu", "-"):
        run(scratch, kernels(launches), status=0)
    run(scratch, ["sh", "-c", " ".join(kernels("c")) + "; true"], status=0)  # a script that starts the program
    run(scratch, per_rank(kernels("c"), kernels("u")), ranks=2, status=0)
    run(scratch, per_rank(kernels("-"), ["sh", "-c", f"'(exec {' '.join(kernels('c'))})'"]), ranks=2, status=0)


def module_refused(scratch):
    """What was not loaded could not be launched: the silence says nothing, unless something else was checked."""
    for launches, name, why in (("e", "machine code of " + kernels("e")[0], ""), ("b", "alone.c", ": its fat binary has no PTX")):
        said = f"gsan: NOT CHECKED: module {name} in rank 0: the driver refused it (CUDA_ERROR_NO_BINARY_FOR_GPU){why}"
        job = run(scratch, kernels(launches)).says("a module was refused, and no kernel was checked", "--allow-unchecked")
        expect.need(said in " ".join(job.err.split()), f"{said}\n{job}")
        run(scratch, kernels(launches), ["--allow-unchecked"], status=0).says("NOT CHECKED: module")
        run(scratch, kernels(launches + "c"), status=0).says("NOT CHECKED: module")
        run(scratch, kernels(launches + "c"), ["--require-checked"]).says("not all was checked")
        run(scratch, kernels(launches + "r"), status=jobs.FOUND)


def not_seen(scratch):
    """A rank of which no process joined is named first, whatever the others did."""
    for ranks, program, missing in ((1, [*LOST, *kernels("c")], "0"), (1, NO_CUDA, "0"),
                                    (2, per_rank(kernels("c"), ["env", "-u", "LD_PRELOAD", *kernels("c")]), "1"),
                                    (2, per_rank(["env", "-u", "LD_PRELOAD", "-u", "GSAN_SOCKET", *kernels("c", "0")], kernels("c")), "0"),
                                    (3, per_rank(kernels("c"), ["true"], ["true"]), "1, 2")):
        job = run(scratch, program, ranks=ranks).says("with --allow-unchecked")
        first = next(line for line in job.err.splitlines() if line.startswith("gsan: "))
        expect.need(first.startswith(f"gsan: NOT CHECKED: every process in rank {missing}: ") and "LD_PRELOAD" in job.err, str(job))
        run(scratch, program, ["--allow-unchecked"], ranks=ranks, status=0).says(f"every process in rank {missing}")


def precedence(scratch):
    """The program's own status, then what was found, then that too little was checked."""
    lost = ["env", "-u", "LD_PRELOAD"]
    run(scratch, kernels("u", "3"), status=3)
    run(scratch, [*lost, *kernels("u", "5")], status=5)
    run(scratch, per_rank(kernels("c"), ["sh", "-c", "'exit 4'"]), ranks=2, status=4).says("every process in rank 1")
    run(scratch, per_rank(kernels("r"), [*lost, *kernels("c")]), ranks=2, status=jobs.FOUND).says("every process in rank 1")
    run(scratch, per_rank(kernels("r"), [*lost, *kernels("c")]), ["--exit-code", "7"], ranks=2, status=7)
    run(scratch, per_rank(kernels("r"), [*lost, *kernels("c")]), ["--exit-code", "0"], ranks=2)
    run(scratch, kernels("ru"), ["--require-checked"], status=jobs.FOUND)
    run(scratch, kernels("cu", "3"), ["--require-checked"], status=3)


def required(scratch):
    """--require-checked: not one kernel may run unchecked."""
    run(scratch, kernels("cu"), ["--require-checked"]).says("1 of 2 launches ran unchecked")
    run(scratch, per_rank(kernels("c"), kernels("cu")), ["--require-checked"], ranks=2).says("1 of 3 launches")
    run(scratch, kernels("u"), ["--require-checked"])
    run(scratch, NO_CUDA, ["--require-checked"])
    run(scratch, kernels("ccc"), ["--require-checked"], status=0)
    run(scratch, kernels("-"), ["--require-checked"], status=0)
    run(scratch, kernels("cu"), ["--require-checked"], environment={"TORCHELASTIC_MAX_RESTARTS": "3"})
    crowd = " & ".join([" ".join(kernels("cs"))] * 4)  # four processes, room for two
    full = {"GSAN_TEST_PLACES": "2"}
    run(scratch, ["sh", "-c", crowd + " & wait"], ["--require-checked"], environment=full).says("the job had no room for it")
    run(scratch, ["sh", "-c", crowd + " & wait"], status=0, environment=full).says("the job had no room for it")
    run(scratch, ["sh", "-c", crowd + " & wait"], ["--require-checked"], status=0).says("in 4 launches")


def refused_options(scratch):
    job = jobs.launched(scratch, kernels("c"), ranks=1, options=["--require-checked", "--allow-unchecked"]).ends(2)
    job.says("--allow-unchecked and --require-checked ask for opposite things: leave one of them out")


def explored(scratch):
    """Over many schedules, what was found says more, whichever comes last."""
    explore = ["--explore", "3"]
    jobs.launched(scratch, kernels("u"), ranks=1, options=explore).ends(UNCHECKED)
    jobs.launched(scratch, kernels("u"), ranks=1, options=[*explore, "--allow-unchecked"]).ends(0)
    jobs.launched(scratch, kernels("cu"), ranks=1, options=explore).ends(0)
    for found in (0, 1, 2):  # the seed of the run that finds something
        script = f'[ "$EMU_SEED" = {found} ] && exec {" ".join(kernels("r"))}; exec {" ".join(kernels("u"))}'
        jobs.launched(scratch, ["sh", "-c", script], ranks=1, options=explore).ends(jobs.FOUND)


def sanitized(scratch):
    """A program with GCC's AddressSanitizer, which wants to be the first library, unless its user says otherwise."""
    program = [os.path.join(jobs.BIN, "faults_kernels_sanitized"), "r"]
    jobs.launched(scratch, program, ranks=1).ends(jobs.FOUND).says("write-after-write")
    strict = {**jobs.Job.environment(scratch), "ASAN_OPTIONS": "verify_asan_link_order=1"}
    jobs.launched(scratch, program, ranks=1, environment=strict).ends(1).says("ASan runtime does not come first")


if __name__ == "__main__":
    jobs.main({case.__name__: case for case in (
        none_checked, some_checked, module_refused, not_seen, precedence, required, refused_options, explored, sanitized)})

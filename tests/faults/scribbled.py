"""A program that writes over the memory that its job's processes share: the supervisor takes no number there for granted. The job ends, its
report is whole and has what was found before, and who joins afterwards is checked, or it is said that it is not."""
import os

import expect
import jobs
import runs

SCRIBBLE, KERNELS = os.path.join(jobs.BIN, "faults_scribble"), os.path.join(jobs.BIN, "faults_kernels")


TWICE = ["/bin/sh", "-c", f"{KERNELS} c; {KERNELS} c"]


def scribbled(scratch, how, seed=0, then=(), **environment):
    before = runs.files(scratch)
    environment = {**runs.marked(scratch), "EMU_JOIN_SECONDS": "3", **environment}
    job = jobs.launched(scratch, [*runs.telling(scratch, [SCRIBBLE, how, str(seed), *then])], ranks=1, environment=environment, limit=60)
    expect.need("supervisor is gone" not in job.err and job.status == jobs.FOUND, f"{how} {seed}\n{job}")
    summary = job.summary(ranks=1)
    kernels = {finding["first"]["kernel"] for finding in summary["findings"]}
    expect.need("store" in kernels, f"{how} {seed}: what was found is lost\n{job}")
    runs.nothing_left(scratch, before, str(job))
    return job, summary


def ones(scratch):
    scribbled(scratch, "ones")
    scribbled(scratch, "ones", then=[KERNELS, "c"])


def noise(scratch):
    for seed in range(3):
        scribbled(scratch, "noise", seed, then=[KERNELS, "c"] if seed else ())


def head(scratch):
    """How many take part, and how many bits their tags have: asked when a place is used again."""
    job, _ = scribbled(scratch, "head", then=TWICE, GSAN_TEST_PLACES="2")
    expect.need(job.err.count("the job's memory was written over by a program of it") == 2, str(job))


def states(scratch):
    for seed in range(3):
        _, summary = scribbled(scratch, "states", seed, then=TWICE, GSAN_TEST_PLACES="2")
        expect.need(len(summary["findings"]) == 1, f"{summary['findings']}")


def rings(scratch):
    for seed in range(3):
        scribbled(scratch, "rings", seed, then=[KERNELS, "c"])


if __name__ == "__main__":
    jobs.main({case.__name__: case for case in (ones, noise, head, states, rings)})

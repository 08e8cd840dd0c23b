"""gsan-launch --explore: one report over many schedules of the emulated device, each finding with the seed that shows it
again; other devices, starters and numbers are refused."""
import json
import os

import expect
import jobs

SOMETIMES = os.path.join(jobs.BIN, "e2e_sometimes")
SEEDS = range(3, 15)


def explored(scratch, *options, program=(SOMETIMES,), ranks=1):
    return jobs.launched(scratch, program, ranks=ranks,
                         options=["--explore", str(len(SEEDS)), "--seed", str(SEEDS[0]), *options])


def summary(folder):
    with open(os.path.join(folder, "summary.json")) as file:
        return json.load(file)


def lines(finding):
    return sorted((finding["first"]["line"], finding["second"]["line"]))


def one_schedule(scratch, schedule):
    job = explored(scratch, "--schedule", schedule).ends(jobs.FOUND)
    whole = summary(job.report)
    expect.need(whole["explored"] == {"schedules": len(SEEDS), "schedule": schedule, "first_seed": SEEDS[0]}, f"{whole}")
    expect.need([lines(f) for f in whole["findings"]] == [[10, 21]], f"{whole['findings']}")
    finding = whole["findings"][0]
    single = {seed: summary(os.path.join(job.report, f"seed-{seed}"))["findings"] for seed in SEEDS}
    showing = [seed for seed in SEEDS if single[seed]]
    expect.need(0 < len(showing) < len(SEEDS), f"{schedule}: seeds {showing} show the race: it must be some, not all")
    expect.need(finding["schedules"] == len(showing) and finding["first_seed"] == showing[0], f"{finding}")
    job.says(f"in {len(showing)} of {len(SEEDS)} schedules; the first again: --seed {showing[0]} --schedule {schedule}")

    def again(seed):
        there = os.path.join(scratch, f"again-{seed}")
        os.mkdir(there)
        return jobs.launched(there, [SOMETIMES], ranks=1, options=["--seed", str(seed), "--schedule", schedule])
    replay = again(showing[0]).ends(jobs.FOUND)
    expect.need(summary(replay.report)["findings"] == single[showing[0]], "the replay shows something else")
    again(next(seed for seed in SEEDS if seed not in showing)).ends(0)


def random(scratch):
    one_schedule(scratch, "random")


def pct(scratch):
    one_schedule(scratch, "pct")


def two_ranks(scratch):
    """All schedules show it, in a job of two ranks; what each run printed stands beside its report."""
    job = jobs.launched(scratch, jobs.c_form("message_passing", "--order", "relaxed"),
                        options=["--explore", "3", "--schedule", "program"]).ends(jobs.FOUND)
    whole = summary(job.report)
    expect.need([f["schedules"] for f in whole["findings"]] == [3], f"{whole['findings']}")
    expect.need("messages" not in job.out, "a run's output is not the exploration's")
    for seed in range(3):
        with open(os.path.join(job.report, f"seed-{seed}", "output.txt")) as file:
            expect.need("message_passing: 1 messages" in file.read(), f"seed {seed}: its output is not kept")


def clean(scratch):
    job = jobs.launched(scratch, jobs.c_form("message_passing"), options=["--explore", "2"]).ends(0)
    expect.need(summary(job.report)["findings"] == [], "a correct program has findings")
    job.says("explored 2 schedules", "0 findings in 2 ranks")


def failing_program(scratch):
    """A program that fails under some schedules only: its status, and which seed."""
    job = explored(scratch, program=(SOMETIMES, "--crash")).ends(3)
    job.says("the program ended with status 3", "/output.txt", "in ")
    expect.need(len(summary(job.report)["findings"]) == 1, "the finding of the failing runs is lost")


def refused(scratch):
    program, report = SOMETIMES, os.path.join(scratch, "report")

    def launch(*options, status=2, prefix=()):
        return jobs.Job([*prefix, jobs.LAUNCH, "--report", report, *options, program], scratch).ends(status)
    launch("--device", "emu", "--explore", "0").says("--explore")
    launch("--device", "cuda", "--explore", "3").says("--explore is for the emulated device: add --device emu")
    launch("--device", "cuda", "--schedule", "pct").says("--schedule is for the emulated device: add --device emu")
    launch("--device", "emu", "--schedule", "fair").says("--schedule", "random|program|pct")
    launch("--device", "emu", "--seed", "2147483647", "--explore", "2").says("the last seed would be above")
    launch("--device", "emu", "--explore", "2", prefix=["env", "OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=1"]).says(
        "--explore starts the ranks itself", "say -n N")
    expect.need(not os.path.exists(os.path.join(report, "seed-0")), "a refused exploration ran")


if __name__ == "__main__":
    jobs.main({case.__name__: case for case in (random, pct, two_ranks, clean, failing_program, refused)})

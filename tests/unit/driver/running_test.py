"""Jobs on the emulated device, under schedules that part warps: in running.c GSan has reason to empty its tables, and the host's waits say
nothing of what still runs; in epochs.c warps end epochs of each other; in arrival.c one tells of another's copy; orders.c
has order of a kind of its own. They end, as they do
plain, and are clean; but for some forms, in which a race is found. Arguments: gsan-launch, the program, a form."""
import sys

from job import run


def main():
    launch, program, form = sys.argv[1:]
    for seed in ("1", "2", "3"):
        job, summary, said = run(launch, program, form, options=("--schedule", "random", "--seed", seed), timeout=50)
        racy = form.endswith(("relaxed", "unfenced"))
        assert job.returncode == (66 if racy else 0) and bool(summary["findings"]) == racy, said


main()

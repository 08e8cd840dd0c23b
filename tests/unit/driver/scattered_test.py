"""A job on the emulated device whose accesses need more detail than there is at first (scattered.c): it gets more, and only the first kernel's
last records are lost. Arguments: gsan-launch, the program, a form."""
import sys

from job import run


def main():
    launch, program, form = sys.argv[1:]
    job, summary, said = run(launch, program, form, options=("--schedule", "program"))
    racy = form == "racy"
    assert job.returncode == (66 if racy else 0) and len(summary["findings"]) == racy, said
    assert summary["coverage"]["counters"]["unrecorded"] == (9 << 15) - (1 << 18), said
    assert summary["coverage"]["tables_bytes"] > 400 << 20, said


main()

"""Jobs on the emulated device: a program that ends without a wait. Its race is found, and either its accesses are counted or the
report says that they are not. Arguments: gsan-launch, the program, a form of it."""
import sys

from job import run

COUNTED = {"return", "release", "reset", "destroy", "destroyed", "moved", "executing"}  # the others: nobody could fetch the counters


def main():
    launch, program, form = sys.argv[1:]
    job, summary, said = run(launch, program, form)
    assert "nothing was checked" not in job.stderr, said
    if form.endswith("alone"):
        assert job.returncode == 0 and not summary["findings"] and summary["coverage"]["launches_checked"] == 1 + (form != "alone"), said
        return
    assert job.returncode == (128 + 9 if form == "kill" else 66) and len(summary["findings"]) == 1, said
    assert summary["findings"][0]["count"] == (2 if form == "exec" else 1), said
    counters, notes = summary["coverage"]["counters"], [note["key"] for note in summary["coverage"]["notes"]]
    unknown = "the counters of the last 1 launch in rank 0 are unknown: ended without a wait"
    if form in COUNTED:
        assert counters["accesses"] == 2 and "uncounted" not in notes and unknown not in job.stderr, said
        assert "(checked 2 accesses in 1 launch)" in job.stderr, said
    else:
        assert "uncounted" in notes and unknown in job.stderr and "(checked at least " in job.stderr, said


main()

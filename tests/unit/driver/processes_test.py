"""Jobs of one rank on the emulated device whose rank is two processes (processes.c): a race between them says so and names both, though
their launches have one number; one that waits for the other is clean, and a race within one process names none. One that the job has
no room for works unchecked, and is named. Arguments: gsan-launch, the program, a form."""
import os
import sys

from job import run

WORDS = {"parted": ("no synchronisation between two processes of rank 0 was seen", "no-synchronisation"),
         "streams": ("no event, stream wait, graph dependency or synchronisation between the two launches was seen", "missing-stream-edge")}


def main():
    launch, program, form = sys.argv[1:]
    if form == "full":
        os.environ["GSAN_TEST_PLACES"] = "1"
    job, summary, said = run(launch, program, form)
    assert job.returncode == (66 if form in WORDS else 0) and len(summary["findings"]) == (form in WORDS), said
    assert ("the job had no room for it" in job.stderr) == (form == "full") and len(job.stdout.split()) == 2 - (form == "streams"), said
    for finding in summary["findings"]:
        sides = finding["first"], finding["second"]
        pids = [str(side["pid"]) for side in sides if "pid" in side]
        assert finding["missing_edge"].endswith(WORDS[form][0]) and finding["missing_edge_class"] == WORDS[form][1], said
        if form == "parted":
            assert sorted(pids) == sorted(job.stdout.split()) and len(set(pids)) == 2, said
            assert all(f"rank 0, pid {pid}, GPU 0, kernel store" in job.stderr for pid in pids), said
            assert sides[0]["launch"] == sides[1]["launch"] and {side["participant"] for side in sides} == {0, 16}, said
        else:
            assert not pids and {side["participant"] for side in sides} == {0} and " pid " not in job.stderr, said


main()

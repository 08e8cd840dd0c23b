"""Jobs of one rank on the emulated device in which processes come and go (places.c), so that places are used again: a race with the last that
comes is found, its twin is clean, and no more is unchecked than must be. Four of them are there at once, or nineteen, more than a rank and sixteen guests; or one comes late, when
others have exchanged data and one of them has gone. With `few` there are three places, else as many as a job has.
Arguments: gsan-launch, the program, a form."""
import os
import sys

from job import run

#        turns, what the last turn does, turns without the one that lives; how many find no place
FORMS = {"theirs": (70, "theirs", 0, 0), "ours": (70, "ours", 0, 0), "correct": (70, "correct", 0, 0),
         "crowd": (18, "crowd", 0, 0), "crush": (18, "crush", 0, 0), "crush_few": (2, "crush", 0, 0),
         "four": (3, "crowd", 0, 0), "four_crush": (3, "crush", 0, 0), "late_correct": (2, "correct", 0, 0), "late_ours": (2, "ours", 0, 0),
         "theirs_few": (7, "theirs", 0, 0), "ours_few": (7, "ours", 0, 0), "correct_few": (7, "correct", 0, 0),
         "once_few": (8, "once", 0, 0), "alone_few": (8, "theirs", 5, 0), "kept_few": (5, "kept", 0, 3)}


def main():
    launch, program, form = sys.argv[1:]
    turns, last, quiet, refused = FORMS[form]
    if form.endswith("_few"):
        os.environ["GSAN_TEST_PLACES"] = "3"
    job, summary, said = run(launch, program, str(turns), last, str(quiet), timeout=250)
    racy = last in ("theirs", "ours", "crush")
    assert job.returncode == (66 if racy else 0) and len(summary["findings"]) == racy, said
    assert job.stderr.count("the supervisor refused this process") == refused, said
    assert ("the job had no room for it" in job.stderr) == (refused > 0), said
    named = [line.split("pid ")[1].split(":")[0] for line in job.stderr.splitlines() if "the supervisor refused this process (the job has room for no more" in line]
    assert len(named) == refused and all(f"process {pid} on GPU 0" in " ".join(job.stderr.split()) for pid in named), said
    assert not summary["coverage"]["counters"]["lost_records"], said
    for finding in summary["findings"]:
        sides = finding["first"], finding["second"]
        assert finding["missing_edge_class"] == "no-synchronisation" and len({side["participant"] for side in sides}) == 2, said
        assert finding["allocation"]["offset"] == 0 and finding["count"] in (1, 2), said  # 2: each store saw the other one
        assert all(0 < side["launch"] < 500 for side in sides), said  # its own, whoever had the place before


if __name__ == "__main__":
    main()

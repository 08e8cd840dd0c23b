"""Jobs of two ranks on the emulated device that share memory by fabric handles (fabric.c): the same without gsan-launch, then checked.
What races is found, on the memory of its owner, and what does not is clean; nothing of it is unchecked but what a process outside of the job
made, which is said once. FORM.full: two processes of a job that has room for one. Arguments: gsan-launch, the program, a form."""
import os
import sys

from job import crowded_pair, plain_pair, run

RACY = {"racy", "peer", "narrow", "twice", "again", "own", "handed", "late"}
SIDES = {"own": {0}, "handed": {0}, "late": {1}}
FOREIGN = "a fabric handle of memory that is none of this job's, or not checked: not checked"


def judge(form, job, summary, said):
    assert job.returncode == (66 if form in RACY else 0) and bool(summary["findings"]) == (form in RACY), said
    for finding in summary["findings"]:
        assert {finding[side]["rank"] for side in ("first", "second")} == SIDES.get(form, {0, 1}), said
        assert finding["allocation"]["rank"] == 0 and finding["allocation"]["label"] == f"cuMemCreate({4 << 20})", said
        if form == "narrow":
            assert finding["kind"] == "insufficient-scope" or "scope" in finding["missing_edge"], said
        if form == "racy":
            assert finding["allocation"]["offset"] == (4 << 20) - 4, said
    notes = [note for note in summary["coverage"]["notes"] if note["key"] == "foreign"]
    if form == "foreign":
        assert [note["reason"] for note in notes if "Import" in note["name"]] == [FOREIGN], said
    else:
        assert not notes and "not checked" not in said and summary["coverage"]["counters"]["foreign"] == 0, said


def main():
    launch, program, form = sys.argv[1:]
    name = f"gsan-test-fabric-{os.getpid()}"
    form, *full = form.split(".")
    if form == "absent":
        os.environ["EMU_FABRIC"] = "0"
    plain_pair(program, form, name)
    if full:
        crowded_pair(launch, program, form, name)
    else:
        judge(form, *run(launch, program, form, name, ranks=2))


main()

"""Jobs of two ranks on the emulated device that share memory by CUDA IPC handles (ipc.c): the same without gsan-launch, then checked.
What races is found, on the memory of its owner, and what does not is clean; nothing of it is unchecked. FORM.full: two processes of
a job that has room for one: the one that opens works unchecked and is named; nothing is found. Arguments: gsan-launch, the program, a form."""
import os
import sys

from job import crowded_pair, plain_pair, run

RACY = {"racy", "peer", "small", "offset", "narrow", "closed_one", "late", "event_before"}
OWN = {"closed_one"}  # both sides and the memory are rank 1's
SIDES = {"late": {1}, "closed_one": {1}}


def main():
    launch, program, form = sys.argv[1:]
    name = f"gsan-test-ipc-{os.getpid()}"
    form, *full = form.split(".")
    plain_pair(program, form, name)
    if full:
        crowded_pair(launch, program, form, name)
        return
    for seed in range(1, 5 if form in OWN else 2):  # whichever of the two kernels comes first
        judge(form, *run(launch, program, form, name, options=("--seed", str(seed)), ranks=2))


def judge(form, job, summary, said):
    assert job.returncode == (66 if form in RACY else 0) and bool(summary["findings"]) == (form in RACY), said
    for finding in summary["findings"]:
        assert {finding[side]["rank"] for side in ("first", "second")} == SIDES.get(form, {0, 1}), said
        assert finding["allocation"]["rank"] == (form in OWN) and finding["allocation"]["label"].startswith("cuMemAlloc("), said
        if form == "narrow":
            assert finding["kind"] == "insufficient-scope" or "scope" in finding["missing_edge"], said
        if form == "offset":
            assert finding["allocation"]["offset"] == (3 << 20) - 4, said
    assert "not checked" not in said and summary["coverage"]["counters"]["foreign"] == 0, said


main()

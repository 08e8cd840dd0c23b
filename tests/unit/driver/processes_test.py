"""Jobs of one rank on the emulated device whose rank is two processes (processes.c): a race between them says so and names both, though
their launches have one number; one that waits for the other is clean, and a race within one process names none. Arguments:
gsan-launch, the program, a form."""
import json
import os
import subprocess
import sys
import tempfile

WORDS = {"parted": "no synchronisation between two processes of rank 0 was seen",
         "streams": "no synchronisation between the two launches was seen"}


def main():
    launch, program, form = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report")
        job = subprocess.run([launch, "-n", "1", "--device", "emu", "--report", report, program, form], capture_output=True, text=True,
                             timeout=100)
        with open(os.path.join(report, "summary.json")) as file:
            summary = json.load(file)
    said = f"{form}: exit {job.returncode}\n{job.stdout}\n{job.stderr}\n{json.dumps(summary, indent=1)}"
    assert job.returncode == (66 if form in WORDS else 0) and len(summary["findings"]) == (form in WORDS), said
    for finding in summary["findings"]:
        sides = finding["first"], finding["second"]
        pids = [str(side["pid"]) for side in sides if "pid" in side]
        assert finding["missing_edge"].endswith(WORDS[form]), said
        if form == "parted":
            assert sorted(pids) == sorted(job.stdout.split()) and len(set(pids)) == 2, said
            assert all(f"rank 0, pid {pid}, GPU 0, kernel store" in job.stderr for pid in pids), said
            assert sides[0]["launch"] == sides[1]["launch"] and {side["participant"] for side in sides} == {0, 1}, said
        else:
            assert not pids and {side["participant"] for side in sides} == {0} and " pid " not in job.stderr, said


main()

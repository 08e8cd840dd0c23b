"""Jobs on the emulated device, under schedules that part warps: in running.c GSan has reason to empty its tables, and the host's waits say
nothing of what still runs; in epochs.c warps end epochs of each other; in arrival.c one tells of another's copy; orders.c
has order of a kind of its own. They end, as they do
plain, and are clean; but for some forms, in which a race is found. Arguments: gsan-launch, the program, a form."""
import json
import os
import subprocess
import sys
import tempfile


def main():
    launch, program, form = sys.argv[1:]
    for seed in ("1", "2", "3"):
        with tempfile.TemporaryDirectory() as scratch:
            report = os.path.join(scratch, "report")
            job = subprocess.run([launch, "-n", "1", "--device", "emu", "--schedule", "random", "--seed", seed, "--report", report, program,
                                  form], capture_output=True, text=True, timeout=50)
            with open(os.path.join(report, "summary.json")) as file:
                summary = json.load(file)
        said = f"{form}, seed {seed}: exit {job.returncode}\n{job.stdout}\n{job.stderr}\n{json.dumps(summary, indent=1)}"
        racy = form.endswith(("relaxed", "unfenced"))
        assert job.returncode == (66 if racy else 0) and bool(summary["findings"]) == racy, said


main()

"""Jobs on the emulated device with two GPUs (devices.c): what orders two kernels does so whichever GPU is current, and what does not is a
race. Arguments: gsan-launch, the program, a form."""
import json
import os
import subprocess
import sys
import tempfile


def main():
    launch, program, form = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report")
        job = subprocess.run([launch, "-n", "1", "--device", "emu", "--report", report, program, form], capture_output=True, text=True,
                             timeout=100)
        with open(os.path.join(report, "summary.json")) as file:
            summary = json.load(file)
    racy = form == "own" or form.startswith("other_")
    said = f"{form}: exit {job.returncode}\n{job.stdout}\n{job.stderr}\n{json.dumps(summary, indent=1)}"
    assert job.returncode == (66 if racy else 0) and bool(summary["findings"]) == racy, said


main()

"""A job on the emulated device, and its report."""
import json
import os
import subprocess
import tempfile


def run(launch, *program, options=(), timeout=100, ranks=1):
    """The process that ended, the summary of its report, and both with all that was said, for an assertion."""
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report")
        job = subprocess.run([launch, "-n", str(ranks), "--device", "emu", *options, "--report", report, *program], capture_output=True, text=True,
                             timeout=timeout)
        with open(os.path.join(report, "summary.json"), encoding="utf-8") as file:
            summary = json.load(file)
    said = f"{' '.join((*options, *program))}: exit {job.returncode}\n{job.stdout}\n{job.stderr}\n{json.dumps(summary, indent=1)}"
    return job, summary, said

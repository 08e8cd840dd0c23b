"""A job on the emulated device that stores strongly to more locations than GSan has entries for, and bytes to more lines than it has
blocks of detail for (entries.c). What the host has seen complete makes room: nothing is missed, and nothing is false; but not where
another process may have the memory. Arguments: gsan-launch, the program, a form."""
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
    said = f"{form}: exit {job.returncode}\n{job.stdout}\n{job.stderr}\n{json.dumps(summary, indent=1)}"
    racy = form in ("relaxed", "stale", "uncounted")
    assert job.returncode == (66 if racy else 0) and len(summary["findings"]) == racy, said
    counters = summary["coverage"]["counters"]
    assert {counters[name] > 0 for name in ("sync_table_full", "unrecorded")} == {form == "exported"}, said
    assert not counters["ambiguous_versions"], said


main()

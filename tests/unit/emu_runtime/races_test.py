"""Programs of nvcc on the emulated device (races.cu): the racy form is found at the line that says so, the correct one is clean, and both run
as they are. Arguments: gsan-launch, the program, its source, a case."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "driver"))
from job import run  # noqa: E402

launch, program, source, case = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    lines = {number for number, line in enumerate(file, 1) if case in line.partition("// racy: ")[2].strip().split(", ")}
assert lines
for form in ("racy", "correct"):
    subprocess.run([program, case, form], check=True, timeout=60)
    job, summary, said = run(launch, program, case, form)
    assert summary["coverage"]["launches_unchecked"] == 0 and summary["coverage"]["launches_checked"] > 0, said
    assert job.returncode == (66 if form == "racy" else 0) and bool(summary["findings"]) == (form == "racy"), said
    for finding in summary["findings"]:
        sides = (finding["first"], finding["second"])
        assert all(side["file"] == source for side in sides) and any(side["line"] in lines for side in sides), said

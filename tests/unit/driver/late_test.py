"""Jobs on the emulated device: races on a module variable, and races after the numbers of launches came round. Each racy
program is found, each correct one is clean. Arguments: gsan-launch, the program, a case."""
import json
import os
import subprocess
import sys
import tempfile

CASES = {
    "variable": ("VARIABLE", 3, {}),
    "renewed": ("MEMORY", 90, {"GSAN_TEST_FIRST_LAUNCH": "65510"}),
    "again": ("MEMORY", 60, {"GSAN_TEST_FIRST_LAUNCH": str(2 * 32768 + 14330)}),
}


def run(launch, program, form, where, launches, settings):
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report")
        job = subprocess.run([launch, "-n", "1", "--device", "emu", "--report", report, program, form, where, str(launches)],
                             env={**os.environ, **settings}, capture_output=True, text=True, timeout=200)
        with open(os.path.join(report, "summary.json")) as file:
            return job, json.load(file)


def main():
    launch, program, case = sys.argv[1:]
    where, launches, settings = CASES[case]
    for form, status, count in (("racy", 66, 1), ("correct", 0, 0)):
        job, summary = run(launch, program, form, where, launches, settings)
        said = f"{form}: exit {job.returncode}\n{job.stdout}\n{job.stderr}\n{json.dumps(summary, indent=1)}"
        assert job.returncode == status, said
        assert len(summary["findings"]) == count, said
        if case != "variable":
            assert summary["coverage"]["counters"]["history_renewals"] > 0, said
        if case == "variable" and count:
            assert summary["findings"][0]["allocation"]["label"] == "words", said


main()

"""Jobs on the emulated device: races on a module variable, and races after the numbers of launches came round. Each racy
program is found, each correct one is clean. Arguments: gsan-launch, gsan-ptxas, the program, a case."""
import json
import os
import subprocess
import sys
import tempfile

CASES = {  # what the program is told, its settings, whether its module comes as what gsan-ptxas made of it
    "variable": ("VARIABLE", 3, {}, False),
    "cubin": ("VARIABLE", 3, {}, True),
    "flag": ("FLAG", 3, {}, True),
    "library": ("LIBRARY", 3, {}, False),
    "library_cubin": ("LIBRARY", 3, {}, True),
    "managed": ("MANAGED", 3, {}, False),
    "pinned": ("PINNED", 3, {}, False),
    "registered": ("REGISTERED", 3, {}, False),
    "renewed": ("MEMORY", 90, {"GSAN_TEST_FIRST_LAUNCH": "65510"}, False),
    "again": ("MEMORY", 60, {"GSAN_TEST_FIRST_LAUNCH": str(2 * 32768 + 14330)}, False),
}


def image(ptxas, program, scratch):
    """The emulated device's cubin: checked PTX."""
    source, made = os.path.join(scratch, "late.ptx"), os.path.join(scratch, "late.cubin")
    emulated = os.path.join(os.path.dirname(ptxas), "..", "lib", "emu")
    with open(source, "w") as file:
        subprocess.run([program, "ptx"], check=True, stdout=file, env={**os.environ, "LD_LIBRARY_PATH": emulated})
    subprocess.run([ptxas, "--gpu-name=sm_90", source, "-o", made], check=True, env={**os.environ, "GSAN_DEVICE": "emu"})
    return made


def run(launch, ptxas, program, form, case):
    where, launches, settings, cubin = CASES[case]
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report")
        command = [program, form, where, str(launches)] + ([image(ptxas, program, scratch)] if cubin else [])
        job = subprocess.run([launch, "-n", "1", "--device", "emu", "--report", report, *command],
                             env={**os.environ, **settings}, capture_output=True, text=True, timeout=200)
        with open(os.path.join(report, "summary.json")) as file:
            return job, json.load(file)


LABELS = {"MANAGED": "cuMemAllocManaged(8192)", "PINNED": "cuMemHostAlloc(8192)", "REGISTERED": "cuMemHostRegister(8192)"}


def where_of(case):
    return CASES[case][0]


def main():
    launch, ptxas, program, case = sys.argv[1:]
    for form, status, count in (("racy", 66, 1), ("correct", 0, 0)):
        job, summary = run(launch, ptxas, program, form, case)
        said = f"{form}: exit {job.returncode}\n{job.stdout}\n{job.stderr}\n{json.dumps(summary, indent=1)}"
        assert "that hosts can read" not in job.stderr, said
        assert job.returncode == status, said
        assert len(summary["findings"]) == count, said
        if where_of(case) == "MEMORY":
            assert summary["coverage"]["counters"]["history_renewals"] > 0, said
        elif count and where_of(case) != "FLAG":
            assert summary["findings"][0]["allocation"]["label"] == LABELS.get(where_of(case), "words"), said
        assert summary["coverage"]["counters"]["foreign"] == 0, said


main()

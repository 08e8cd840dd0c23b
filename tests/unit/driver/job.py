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


def plain_pair(*program):
    """The two ranks of a program without gsan-launch."""
    ranks = [subprocess.Popen(program, env={**os.environ, "RANK": str(rank)}, stderr=subprocess.PIPE, text=True) for rank in range(2)]
    for rank in ranks:
        _, err = rank.communicate(timeout=100)
        assert rank.returncode == 0, f"without gsan-launch: {err}"


def crowded_pair(launch, *program):
    """Both ranks as processes of a job that has room for one: nothing is found, and the other one is named."""
    os.environ["GSAN_TEST_PLACES"] = "1"
    both = 'RANK=0 "$@" & first=$!; RANK=1 "$@" && wait $first'
    job, summary, said = run(launch, "sh", "-c", both, "sh", *program)
    assert job.returncode == 0 and not summary["findings"] and "the job had no room for it" in job.stderr, said

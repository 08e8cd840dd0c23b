"""Jobs on the emulated device: a stream writes a value (value.c), or a kernel writes where the host reads (told.c), which orders who
reads it and nobody else; kernels end, and call functions, in all ways (calls.c); launches that may order anything are refused, or very
many (many.c); threads end (threads.c); calls of all kinds are refused (refused.c). Each racy program is found, each correct one is
clean, under several seeds. Arguments: gsan-launch, the program, a form."""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

SEEDS = (1, 2, 3)
OWN = {"shared", "local"}  # of told.c: nothing is written that others can read


def run(launch, program, form, case, seed):
    with tempfile.TemporaryDirectory() as scratch:
        report = os.path.join(scratch, "report")
        job = subprocess.run([launch, "-n", "1", "--device", "emu", "--seed", str(seed), "--report", report, program, case, form],
                             capture_output=True, text=True, timeout=60)
        with open(os.path.join(report, "summary.json")) as file:
            return job, json.load(file)


def main():
    launch, program, case = sys.argv[1:]
    for form, status, count in (("racy", 66, 1), ("correct", 0, 0)):
        with concurrent.futures.ThreadPoolExecutor(len(SEEDS)) as pool:  # they sleep most of the time
            done = list(pool.map(lambda seed: run(launch, program, form, case, seed), SEEDS))
        for seed, (job, summary) in zip(SEEDS, done):
            said = f"{form}, seed {seed}: exit {job.returncode}\n{job.stdout}\n{job.stderr}\n{json.dumps(summary, indent=1)}"
            assert job.returncode == status and len(summary["findings"]) == count, said
            assert case not in OWN or not summary["coverage"]["counters"]["foreign"], said


main()

"""Jobs on the emulated device: a stream writes a value (value.c), or a kernel writes where the host reads (told.c), which orders who
reads it and nobody else; kernels end, and call functions, in all ways (calls.c); launches that may order anything are refused, or very
many (many.c); a warp stores small elements (elements.c); threads end (threads.c); calls of all kinds are refused (refused.c). Each racy program is found, each correct one is
clean, under several seeds. Arguments: gsan-launch, the program, a form."""
import concurrent.futures
import sys

from job import run

SEEDS = (1, 2, 3)
OWN = {"shared", "local"}  # of told.c: nothing is written that others can read


def main():
    launch, program, case = sys.argv[1:]
    for form, status, count in (("racy", 66, 1), ("correct", 0, 0)):
        with concurrent.futures.ThreadPoolExecutor(len(SEEDS)) as pool:  # they sleep most of the time
            done = list(pool.map(lambda seed: run(launch, program, case, form, options=("--seed", str(seed)), timeout=60), SEEDS))
        for job, summary, said in done:
            assert job.returncode == status and len(summary["findings"]) == count, said
            assert case not in OWN or not summary["coverage"]["counters"]["foreign"], said


main()

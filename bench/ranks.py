"""What each rank's work costs while other ranks work beside it: run it with 1, 2 and 4 ranks, plain (torchrun) and checked
(gsan-launch -n N). Each prints one line of JSON:

    local_ms    tests/gpu/kernels.py's add of 2^26 floats of its own memory: the median of 31 launches
    far_ms      the same with one input in the memory of the next rank (with several ranks; rank 0 alone, then all at once: far_all_ms)
    launch_us   of the host, for each launch of an add of 1,024 floats: the median of 50 chunks of 200
    memory      bytes of its GPU that are in use at the end, so what checking takes is the difference from a plain run

A rank stays on the same processors however many there are: a quarter of those that it may use. `ranks.py racy` measures nothing: each rank adds
into memory of the next one while that rank does, which is a race.

    python -m torch.distributed.run --standalone --nproc-per-node 4 bench/ranks.py
    gsan-launch -n 4 python bench/ranks.py
"""
import json
import os
import statistics
import sys
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
sys.path[:0] = [os.path.join(ROOT, "examples"), os.path.join(ROOT, "tests", "gpu")]

import ranks  # noqa: E402
import torch  # noqa: E402
import kernels  # noqa: E402
from bench import median_ms  # noqa: E402

COUNT, SAMPLES, CHUNKS, CHUNK = 1 << 26, 31, 50, 200


def launch_us(launch):
    each = []
    for _ in range(CHUNKS):
        start = time.perf_counter()
        for _ in range(CHUNK):
            launch()
        each.append((time.perf_counter() - start) / CHUNK * 1e6)
        torch.cuda.synchronize()
    return statistics.median(each)


def stay(place):
    """On a quarter of the processors: the host's work then costs a rank as much beside others as alone."""
    own = sorted(os.sched_getaffinity(0))
    part = max(1, len(own) // 4)
    os.sched_setaffinity(0, own[place % 4 * part:][:part])


def racy(world, x, buffers):
    """Every rank, and the one before it, adds into its buffer; no host has seen an end of that when the others enqueue theirs."""
    kernels.add[(1,)](x, x, x, 1024, BLOCK=1024)  # compiles
    world.synchronize()
    world.barrier()
    for owner in (world.rank, (world.rank + 1) % world.size):
        kernels.add[(1,)](x, x, buffers[owner], 1024, BLOCK=1024)
    world.barrier()
    world.synchronize()


def main():
    stay(int(os.environ.get("LOCAL_RANK", "0")))
    world = ranks.open_world()
    x, total = world.zeros(COUNT, "float32"), world.zeros(COUNT, "float32")
    buffers = world.shared(COUNT, "float32")

    def add(y, n):
        return lambda: kernels.add[(n // 1024,)](x, y, total, n, BLOCK=1024)

    if "racy" in sys.argv[1:]:
        racy(world, x, buffers)
        world.close()
        return
    said = {"rank": world.rank}
    add(x, COUNT)()  # compiles
    world.synchronize()
    world.barrier()
    said["local_ms"] = median_ms(add(x, COUNT), SAMPLES)
    world.barrier()
    said["launch_us"] = launch_us(add(x, 1024))
    world.barrier()
    if world.size > 1:
        far = add(buffers[(world.rank + 1) % world.size], COUNT)
        if world.rank == 0:
            said["far_ms"] = median_ms(far, SAMPLES)
        world.barrier()
        said["far_all_ms"] = median_ms(far, SAMPLES)
    free, whole = torch.cuda.mem_get_info()
    said["memory"] = whole - free
    sys.stdout.write(json.dumps(said) + "\n")  # in one piece, whatever other ranks write
    sys.stdout.flush()
    world.barrier()
    world.close()


if __name__ == "__main__":
    main()

"""One GPU, one lock: every program takes a lock by compare-and-swap, adds one to a plain counter and gives the lock
back. Correct if the lock is taken with acquire and given back with release; `--order relaxed` is mutual exclusion in
name only: nothing orders one program's accesses to the counter before the next one's.
"""
import argparse

import ranks
import triton
import triton.language as tl


@triton.jit
def add_one(counter, lock, TAKE: tl.constexpr, GIVE: tl.constexpr):
    while tl.atomic_cas(lock, 0, 1, sem=TAKE, scope="gpu") != 0:
        pass
    count = tl.load(counter)  # site: counter-load
    tl.store(counter, count + 1)  # site: counter-store
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0, sem=GIVE, scope="gpu")


PROGRAMS = 64


def options(order):
    return {"TAKE": "acquire", "GIVE": "release"} if order == "release" else {"TAKE": "relaxed", "GIVE": "relaxed"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--order", choices=["release", "relaxed"], default="release")
    parser.add_argument("--programs", type=int, default=PROGRAMS)
    parser.add_argument("--iterations", type=int, default=1)
    args = parser.parse_args()
    world = ranks.open_world()
    wrong = 0
    for _ in range(args.iterations):
        counter, lock = world.zeros(1, "int32"), world.zeros(1, "int32")
        add_one[(args.programs,)](counter, lock, **options(args.order))
        world.synchronize()
        wrong += int(world.numpy(counter)[0]) != args.programs
    print(f"counter_lock: {args.iterations} runs, {wrong} wrong counts", flush=True)
    world.close()
    if args.order == "release" and wrong:
        raise SystemExit("counter_lock: the correct form lost a count")


if __name__ == "__main__":
    main()

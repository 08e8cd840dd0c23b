"""What torchrun.py has torchrun run: a message from rank 0 to rank 1, which is relaxed, and so races, in attempts that are named. In
attempts that fail, rank 1 ends by status 3 once its kernels are done.

    worker.py [--relaxed ATTEMPT…] [--fail ATTEMPT…]     (PYTHONPATH: the examples folder)
"""
import argparse
import os
import sys

import message_passing
from driver_world import DriverWorld

ATTEMPT = int(os.environ["TORCHELASTIC_RESTART_COUNT"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--relaxed", type=int, nargs="*", default=[])
    parser.add_argument("--fail", type=int, nargs="*", default=[])
    args = parser.parse_args()
    world = DriverWorld()  # the torch that can be imported is stub/'s
    order = "relaxed" if ATTEMPT in args.relaxed else "release"
    message_passing.run_once(world, 1000, *message_passing.options(order, "sys", "after", "atomic"))
    print(f"rank {world.rank} of {world.size}, attempt {ATTEMPT}, {os.environ['GSAN_RANK']}, {'PYTHON_EXEC' in os.environ}", flush=True)
    world.close()
    if world.rank == 1 and ATTEMPT in args.fail:
        sys.exit(3)


if __name__ == "__main__":
    main()

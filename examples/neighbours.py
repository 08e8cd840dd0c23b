"""Two programs side by side on half-precision numbers: program p stores every second element from p on, so that each
32-bit word is written by both, each its own half. That is no race. With `--layout overlapping` the programs store runs
that share all elements but two: a race, although both store the same values.
"""
import argparse

import numpy
import ranks
import triton
import triton.language as tl


@triton.jit
def fill(out, BLOCK: tl.constexpr, STRIDE: tl.constexpr):
    at = tl.program_id(0) + tl.arange(0, BLOCK) * STRIDE
    tl.store(out + at, (at % 1024).to(tl.float16))  # site: element-store


BLOCK = 512
STRIDE = {"interleaved": 2, "overlapping": 1}


def options(layout):
    return {"BLOCK": BLOCK, "STRIDE": STRIDE[layout]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layout", choices=list(STRIDE), default="interleaved")
    parser.add_argument("--iterations", type=int, default=1)
    args = parser.parse_args()
    world = ranks.open_world()
    written = (BLOCK - 1) * STRIDE[args.layout] + 2
    expected = (numpy.arange(written) % 1024).astype(numpy.float16)
    for _ in range(args.iterations):
        out = world.zeros(2 * BLOCK, "float16")
        fill[(2,)](out, **options(args.layout))
        world.synchronize()
        if not (world.numpy(out)[:written] == expected).all():
            raise SystemExit("neighbours: wrong elements")
    print(f"neighbours: {args.iterations} runs, all elements as expected", flush=True)
    world.close()


if __name__ == "__main__":
    main()

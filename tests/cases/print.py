"""Each program prints a line for each of its elements, and one of its own: what tl.device_print writes comes out on stdout.

    gsan-launch python print.py     (PYTHONPATH: the examples folder)
"""
import ranks
import numpy
import triton
import triton.language as tl


@triton.jit
def tell(x, COUNT: tl.constexpr):
    at = tl.program_id(0) * COUNT + tl.arange(0, COUNT)
    tl.device_print("element ", at, tl.load(x + at))
    tl.device_print("program ", tl.program_id(0), hex=True)


def main():
    world = ranks.open_world()
    tell[(2,)](world.array(numpy.arange(64, dtype="float32") / 4), 32, num_warps=1)
    world.synchronize()
    world.close()


if __name__ == "__main__":
    main()

"""Products of several pairs of matrices, each of its own shape, in one launch: a fixed number of programs, each of which goes
through the tiles of all of them. --break overlap has two programs at a time take the same tiles.

    gsan-launch python grouped_matmul.py [--programs 4] [--tile 32] [--arch sm80] [--break overlap]     (PYTHONPATH: the examples folder)
"""
import argparse
import os

import ranks
import numpy
import triton
import triton.language as tl

SHAPES = [(2, 2, 2), (3, 1, 1), (1, 4, 3)]  # M, N, K in tiles


@triton.jit
def multiply(table, pairs, STRIDE: tl.constexpr, TILE: tl.constexpr, STAGES: tl.constexpr):
    tile = tl.program_id(0)
    before = 0
    at = tl.arange(0, TILE)
    for pair in range(pairs):
        row = table + pair * 6
        a = tl.load(row).to(tl.pointer_type(tl.float16))
        b = tl.load(row + 1).to(tl.pointer_type(tl.float16))
        c = tl.load(row + 2).to(tl.pointer_type(tl.float32))
        M, N, K = tl.load(row + 3).to(tl.int32), tl.load(row + 4).to(tl.int32), tl.load(row + 5).to(tl.int32)
        wide = N // TILE
        tiles = M // TILE * wide
        while tile < before + tiles:
            m = (tile - before) // wide * TILE + at
            n = (tile - before) % wide * TILE + at
            total = tl.zeros((TILE, TILE), dtype=tl.float32)
            for k in tl.range(0, K, TILE, num_stages=STAGES):
                x = tl.load(a + m[:, None] * K + (k + at)[None, :])
                y = tl.load(b + (k + at)[:, None] * N + n[None, :])
                total = tl.dot(x, y, total)
            tl.store(c + m[:, None] * N + n[None, :], total)
            tile += STRIDE
        before += tiles


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=4)
    parser.add_argument("--tile", type=int, default=32, help="64: of whole warp groups, where the GPU has wgmma")
    parser.add_argument("--arch", help="compile for another GPU than this one: sm80, sm89")
    parser.add_argument("--break", dest="what", choices=["overlap"])
    a = parser.parse_args()
    if a.arch:
        os.environ["TRITON_OVERRIDE_ARCH"] = a.arch
    world, drawn = ranks.open_world(), numpy.random.default_rng(2)
    groups, table = [], []
    for m, n, k in ([count * a.tile for count in shape] for shape in SHAPES):
        x, y = drawn.integers(-4, 5, (m, k)), drawn.integers(-4, 5, (k, n))
        buffers = world.array(x.astype("float16")), world.array(y.astype("float16")), world.zeros(m * n, "float32")
        groups.append((buffers, x @ y))
        table += [*(b.data_ptr() for b in buffers), m, n, k]
    stride = a.programs // 2 if a.what == "overlap" else a.programs
    multiply[(a.programs,)](world.array(numpy.array(table, "int64")), len(SHAPES), stride, a.tile, 2, num_warps=4)
    world.synchronize()
    wrong = sum(int((world.numpy(buffers[2]).reshape(want.shape) != want).sum()) for buffers, want in groups)
    print(f"grouped_matmul: {wrong} wrong elements", flush=True)
    world.close()
    if wrong:
        raise SystemExit("grouped_matmul: the products are wrong")


if __name__ == "__main__":
    main()

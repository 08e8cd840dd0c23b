"""Small integers multiplied as matrices on tensor cores: C = A B of every type that tl.dot takes, with software pipelining, and
split along K, where programs add their parts to C. All sums are exact in every type. --break no-atomic has them add by a load and
a store.

    gsan-launch python matmul.py [--type float16] [--sum float32] [--stages 3] [--split 2] [--arch sm80] [--break no-atomic]
                                 (PYTHONPATH: the examples folder)
"""
import argparse
import os

import ranks
import numpy
import triton
import triton.language as tl

# Of each type: what numpy keeps it in, what Triton calls it, and the codes of 0 to 4 where numpy does not know it.
TYPES = {"float16": ("float16", tl.float16, None), "float32": ("float32", tl.float32, None), "int8": ("int8", tl.int8, None),
         "float64": ("float64", tl.float64, None),
         "bfloat16": ("int16", tl.bfloat16, [0, 0x3F80, 0x4000, 0x4040, 0x4080]),
         "e4m3": ("int8", tl.float8e4nv, [0, 0x38, 0x40, 0x44, 0x48]), "e5m2": ("int8", tl.float8e5, [0, 0x3C, 0x40, 0x42, 0x44])}
SUMS = {"float64": tl.float64, "float32": tl.float32, "float16": tl.float16, "int32": tl.int32}


@triton.jit
def multiply(a, b, c, M, N, K, TYPE: tl.constexpr, SUM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
             STAGES: tl.constexpr, SPLIT: tl.constexpr, ATOMIC: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.program_id(2) * (K // SPLIT) + tl.arange(0, BK)
    rows = a.to(tl.pointer_type(TYPE)) + m[:, None] * K + k[None, :]
    columns = b.to(tl.pointer_type(TYPE)) + k[:, None] * N + n[None, :]
    total = tl.zeros((BM, BN), dtype=SUM)
    for _ in tl.range(0, K // SPLIT, BK, num_stages=STAGES):
        x = tl.load(rows, mask=m[:, None] < M, other=0.0)
        y = tl.load(columns, mask=n[None, :] < N, other=0.0)
        total = tl.dot(x, y, total, out_dtype=SUM)
        rows += BK
        columns += BK * N
    out = c + m[:, None] * N + n[None, :]
    inside = (m[:, None] < M) & (n[None, :] < N)
    if SPLIT == 1:
        tl.store(out, total, mask=inside)
    elif ATOMIC:
        tl.atomic_add(out, total, mask=inside, sem="relaxed")
    else:
        tl.store(out, tl.load(out, mask=inside) + total, mask=inside)


def encoded(values, name):
    kept, _, codes = TYPES[name]
    if codes is None:
        return values.astype(kept)
    magnitude = numpy.array(codes)[abs(values)]
    sign = 1 << (8 * numpy.dtype(kept).itemsize - 1)
    return (magnitude | (values < 0) * sign).astype(f"u{kept}").view(kept)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--type", choices=TYPES, default="float16")
    parser.add_argument("--sum", choices=SUMS)
    parser.add_argument("--stages", type=int, default=3)
    parser.add_argument("--split", type=int, default=1)
    parser.add_argument("--warps", type=int, default=4)
    parser.add_argument("--block", type=int, nargs=3, default=[64, 32, 32])
    parser.add_argument("--shape", type=int, nargs=3, default=[100, 48, 128])
    parser.add_argument("--arch", help="compile for another GPU than this one: sm80, sm89")
    parser.add_argument("--break", dest="what", choices=["no-atomic"])
    a = parser.parse_args()
    if a.arch:
        os.environ["TRITON_OVERRIDE_ARCH"] = a.arch
    world, drawn = ranks.open_world(), numpy.random.default_rng(1)
    (m, n, k), (bm, bn, bk) = a.shape, a.block
    into = a.sum or {"int8": "int32", "float64": "float64"}.get(a.type, "float32")
    x, y = drawn.integers(-4, 5, (m, k)), drawn.integers(-4, 5, (k, n))
    c = world.zeros(m * n, into)
    multiply[triton.cdiv(m, bm), triton.cdiv(n, bn), a.split](
        world.array(encoded(x, a.type)), world.array(encoded(y, a.type)), c, m, n, k, TYPES[a.type][1], SUMS[into], bm, bn, bk,
        a.stages, a.split, a.what != "no-atomic", num_warps=a.warps)
    world.synchronize()
    wrong = int((world.numpy(c).reshape(m, n) != x @ y).sum())
    print(f"matmul: {a.type} {into}: {wrong} wrong elements", flush=True)
    world.close()
    if wrong and not a.what:
        raise SystemExit("matmul: the correct form is wrong")


if __name__ == "__main__":
    main()

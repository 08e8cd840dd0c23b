"""Attention without the matrix of scores in memory: each program keeps the running maximum and sum of its rows while it goes
through blocks of keys and values, and rescales what it has by what it finds. --break overlap has neighbouring programs write some
rows in common.

    gsan-launch python attention.py [--causal] [--stages 2] [--arch sm80] [--break overlap]     (PYTHONPATH: the examples folder)
"""
import argparse
import math
import os

import ranks
import numpy
import triton
import triton.language as tl


@triton.jit
def attend(q, k, v, out, scale, LENGTH: tl.constexpr, WIDTH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr,
           STAGES: tl.constexpr, SHIFT: tl.constexpr):
    head = tl.program_id(1) * LENGTH * WIDTH
    m = tl.program_id(0) * BM - SHIFT * tl.program_id(0) + tl.arange(0, BM)
    n, d = tl.arange(0, BN), tl.arange(0, WIDTH)
    mine = m[:, None] * WIDTH + d[None, :]
    query = tl.load(q + head + mine)
    highest = tl.full((BM,), -float("inf"), dtype=tl.float32)
    weight = tl.zeros((BM,), dtype=tl.float32)
    result = tl.zeros((BM, WIDTH), dtype=tl.float32)
    for start in tl.range(0, (tl.program_id(0) + 1) * BM if CAUSAL else LENGTH, BN, num_stages=STAGES):
        key = tl.load(k + head + (start + n)[None, :] * WIDTH + d[:, None])
        score = tl.dot(query, key) * scale
        if CAUSAL:
            score = tl.where(m[:, None] >= (start + n)[None, :], score, -float("inf"))
        higher = tl.maximum(highest, tl.max(score, 1))
        p = tl.exp2(score - higher[:, None])
        shrink = tl.exp2(highest - higher)
        weight = weight * shrink + tl.sum(p, 1)
        value = tl.load(v + head + (start + n)[:, None] * WIDTH + d[None, :])
        result = tl.dot(p.to(tl.float16), value, result * shrink[:, None])
        highest = higher
    tl.store(out + head + mine, result / weight[:, None])


def reference(q, k, v, causal):
    score = q.astype("float64") @ k.astype("float64").swapaxes(1, 2) / math.sqrt(q.shape[2])
    if causal:
        score = numpy.where(numpy.tri(q.shape[1], dtype=bool), score, -numpy.inf)
    p = numpy.exp(score - score.max(2, keepdims=True))
    return p / p.sum(2, keepdims=True) @ v.astype("float64")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--stages", type=int, default=2)
    parser.add_argument("--heads", type=int, default=2)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--block", type=int, nargs=2, default=[64, 32])
    parser.add_argument("--arch", help="compile for another GPU than this one: sm80, sm89")
    parser.add_argument("--break", dest="what", choices=["overlap"])
    a = parser.parse_args()
    if a.arch:
        os.environ["TRITON_OVERRIDE_ARCH"] = a.arch
    world, drawn = ranks.open_world(), numpy.random.default_rng(3)
    q, k, v = (drawn.standard_normal((a.heads, a.length, a.width)).astype("float16") for _ in range(3))
    out = world.zeros(q.size, "float32")
    scale = math.log2(math.e) / math.sqrt(a.width)
    attend[a.length // a.block[0], a.heads](world.array(q), world.array(k), world.array(v), out, scale, a.length, a.width, *a.block,
                                            a.causal, a.stages, 16 if a.what == "overlap" else 0, num_warps=4)
    world.synchronize()
    error = float(abs(world.numpy(out).reshape(q.shape) - reference(q, k, v, a.causal)).max())
    print(f"attention: differs by {error:.2g} at most", flush=True)
    world.close()
    if error > 4e-3 and not a.what:  # p is rounded to half precision: 2**-11 of values of up to 4
        raise SystemExit("attention: the correct form is wrong")


if __name__ == "__main__":
    main()

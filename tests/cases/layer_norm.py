"""Layer normalisation, forward and backward. Backward, each program makes one row of dx, and adds its part of dw and db to one of
a few rows of sums, each under a lock; a second launch adds up those. --break no-lock leaves the locks out.

    gsan-launch python layer_norm.py [--rows 12] [--break no-lock]     (PYTHONPATH: the examples folder)
"""
import argparse

import ranks
import numpy
import triton
import triton.language as tl


@triton.jit
def forward(x, w, b, y, means, scales, N, EPSILON: tl.constexpr, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside = at < N
    v = tl.load(x + row * N + at, mask=inside, other=0.0)
    mean = tl.sum(v, 0) / N
    off = tl.where(inside, v - mean, 0.0)
    scale = tl.rsqrt(tl.sum(off * off, 0) / N + EPSILON)
    tl.store(means + row, mean)
    tl.store(scales + row, scale)
    tl.store(y + row * N + at, off * scale * tl.load(w + at, mask=inside) + tl.load(b + at, mask=inside), mask=inside)


@triton.jit
def backward(x, w, dy, means, scales, dx, dw, db, locks, begun, N, GROUPS: tl.constexpr, LOCK: tl.constexpr, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    inside, group = at < N, row % GROUPS
    scale = tl.load(scales + row)
    g = tl.load(dy + row * N + at, mask=inside, other=0.0)
    unit = tl.where(inside, (tl.load(x + row * N + at, mask=inside, other=0.0) - tl.load(means + row)) * scale, 0.0)
    wg = g * tl.load(w + at, mask=inside, other=0.0)
    tl.store(dx + row * N + at, (wg - unit * (tl.sum(unit * wg, 0) / N) - tl.sum(wg, 0) / N) * scale, mask=inside)
    part_w, part_b = g * unit, g
    if LOCK:
        while tl.atomic_cas(locks + group, 0, 1) == 1:
            pass
    if tl.load(begun + group) == 0:
        tl.atomic_xchg(begun + group, 1)
    else:
        part_w += tl.load(dw + group * N + at, mask=inside)
        part_b += tl.load(db + group * N + at, mask=inside)
    tl.store(dw + group * N + at, part_w, mask=inside)
    tl.store(db + group * N + at, part_b, mask=inside)
    if LOCK:
        tl.debug_barrier()
        tl.atomic_xchg(locks + group, 0)


@triton.jit
def add_up(parts, total, N, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    group = tl.arange(0, GROUPS)
    v = tl.load(parts + group[:, None] * N + at[None, :], mask=at[None, :] < N, other=0.0)
    tl.store(total + at, tl.sum(v, 0), mask=at < N)


def reference(x, w, b, dy, epsilon):
    off = x - x.mean(1, keepdims=True)
    scale = 1 / numpy.sqrt((off * off).mean(1, keepdims=True) + epsilon)
    unit, wg = off * scale, dy * w
    dx = (wg - unit * (unit * wg).mean(1, keepdims=True) - wg.mean(1, keepdims=True)) * scale
    return unit * w + b, dx, (dy * unit).sum(0), dy.sum(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=12)
    parser.add_argument("--width", type=int, default=200)
    parser.add_argument("--break", dest="what", choices=["no-lock"])
    a = parser.parse_args()
    world, drawn, groups, epsilon = ranks.open_world(), numpy.random.default_rng(4), 4, 1e-5
    rows, n, block = a.rows, a.width, triton.next_power_of_2(a.width)
    host = [drawn.standard_normal(shape).astype("float32") for shape in ((rows, n), (n,), (n,), (rows, n))]
    x, w, b, dy = (world.array(v) for v in host)
    y, dx, dw, db = (world.zeros(count, "float32") for count in (rows * n, rows * n, n, n))
    means, scales, parts_w, parts_b = (world.zeros(count, "float32") for count in (rows, rows, groups * n, groups * n))
    locks, begun = world.zeros(groups, "int32"), world.zeros(groups, "int32")
    forward[(rows,)](x, w, b, y, means, scales, n, epsilon, block)
    backward[(rows,)](x, w, dy, means, scales, dx, parts_w, parts_b, locks, begun, n, groups, a.what != "no-lock", block)
    for parts, total in ((parts_w, dw), (parts_b, db)):
        add_up[(triton.cdiv(n, 128),)](parts, total, n, groups, 128)
    world.synchronize()
    error = max(float(abs(world.numpy(got) - want.ravel()).max())
                for got, want in zip((y, dx, dw, db), reference(*(v.astype("float64") for v in host), epsilon)))
    print(f"layer_norm: differs by {error:.2g} at most", flush=True)
    world.close()
    if error > 1e-4 and not a.what:
        raise SystemExit("layer_norm: the correct form is wrong")


if __name__ == "__main__":
    main()

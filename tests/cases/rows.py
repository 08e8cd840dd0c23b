"""Kernels of one element or one row at a time: a sum of vectors, softmax by rows, dropout by a counter-based generator. --break
overlap has neighbouring programs write some elements in common.

    gsan-launch python rows.py add|softmax|dropout [--break overlap]     (PYTHONPATH: the examples folder)
"""
import argparse

import ranks
import numpy
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, N, STEP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * STEP + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < N) + tl.load(y + at, mask=at < N), mask=at < N)


@triton.jit
def softmax(x, out, rows, N, STEP: tl.constexpr, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, STEP, num_stages=STAGES):
        v = tl.load(x + row * N + at, mask=at < N, other=-float("inf"))
        e = tl.exp(v - tl.max(v, 0))
        tl.store(out + row * N + at, e / tl.sum(e, 0), mask=at < N)


@triton.jit
def dropout(x, out, N, seed, RATE: tl.constexpr, STEP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * STEP + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < N)
    tl.store(out + at, tl.where(tl.rand(seed, at) > RATE, v / (1 - RATE), 0.0), mask=at < N)


def philox(seed, count):
    """The first word of Philox4x32-10 of counters (0 … count - 1, 0, 0, 0): Salmon and others, SC 2011."""
    words = [numpy.arange(count, dtype="uint64"), *(numpy.zeros(count, "uint64") for _ in range(3))]
    key, low = [seed & 0xFFFFFFFF, seed >> 32], numpy.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = words[0] * numpy.uint64(0xD2511F53), words[2] * numpy.uint64(0xCD9E8D57)
        words = [b >> numpy.uint64(32) ^ words[1] ^ numpy.uint64(key[0]), b & low,
                 a >> numpy.uint64(32) ^ words[3] ^ numpy.uint64(key[1]), a & low]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return words[0].astype("uint32")


def kept(seed, count, rate):
    """Which elements stay: a word is a number of [0, 1) by its magnitude as a signed one."""
    word = philox(seed, count).view("int32")
    return numpy.where(word < 0, -word - 1, word).astype("float32") * numpy.float32(4.6566127342e-10) > rate


def add_case(world, drawn, broken):
    x, y = (drawn.standard_normal(1000).astype("float32") for _ in range(2))
    out = world.zeros(1000, "float32")
    add[(5,)](world.array(x), world.array(y), out, 1000, 240 if broken else 256, 256)
    return out, x + y


def softmax_case(world, drawn, broken):
    x = drawn.standard_normal((9, 300)).astype("float32")
    out = world.zeros(x.size, "float32")
    softmax[(4,)](world.array(x), out, 9, 300, 2 if broken else 4, 512, 2)
    e = numpy.exp(x.astype("float64") - x.max(1, keepdims=True))
    return out, e / e.sum(1, keepdims=True)


def dropout_case(world, drawn, broken):
    x, seed = drawn.standard_normal(1000).astype("float32"), 0x123456789A
    out = world.zeros(1000, "float32")
    dropout[(5,)](world.array(x), out, 1000, seed, 0.25, 240 if broken else 256, 256)
    return out, numpy.where(kept(seed, 1000, 0.25), x / 0.75, 0)


CASES = {"add": add_case, "softmax": softmax_case, "dropout": dropout_case}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", choices=CASES)
    parser.add_argument("--break", dest="what", choices=["overlap"])
    a = parser.parse_args()
    world = ranks.open_world()
    out, want = CASES[a.kernel](world, numpy.random.default_rng(5), a.what)
    world.synchronize()
    error = float(abs(world.numpy(out) - want.ravel()).max())
    print(f"rows: {a.kernel} differs by {error:.2g} at most", flush=True)
    world.close()
    if error > 1e-6:
        raise SystemExit(f"rows: {a.kernel} is wrong")


if __name__ == "__main__":
    main()

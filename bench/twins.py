"""The kernels of the bench with a race in each, between CTAs of one launch: what a checked run must find to count. The matrix
product races as it is when its result goes where another factor lies."""
import os
import sys

import torch
import triton
import triton.language as tl

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "gpu"))
import kernels  # noqa: E402


@triton.jit
def add_twin(x, y, out, n, BLOCK: tl.constexpr):  # each program's block reaches into its neighbour's
    at = tl.program_id(0) * (BLOCK // 2) + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax_twin(out, x, columns, BLOCK: tl.constexpr):  # two programs write each row
    row = tl.program_id(0) // 2 * columns
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def histogram_twin(x, bins, n, BLOCK: tl.constexpr):  # the first program clears a bin that others count in
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=0)
    tl.store(bins + at, 0, mask=inside & (tl.program_id(0) == 0))
    tl.atomic_add(bins + value, 1, mask=inside, sem="relaxed")


def main():
    torch.manual_seed(1)
    x, y = torch.randn(2, 1 << 20, device="cuda")
    out = torch.empty_like(x)
    add_twin[(x.numel() // 512,)](x, y, out, x.numel(), BLOCK=1024)
    rows = torch.randn(512, 4096, device="cuda")
    softmax_twin[(1024,)](torch.empty_like(rows), rows, 4096, BLOCK=4096, num_warps=8)
    a, b = torch.randn(2, 1024, 1024, device="cuda", dtype=torch.float16)
    kernels.matmul[(8, 8)](a, b, b, 1024, 1024, 1024, BM=128, BN=128, BK=32, num_warps=8, num_stages=3)
    values = torch.randint(0, 1 << 10, (1 << 20,), device="cuda", dtype=torch.int32)
    bins = torch.zeros(1 << 10, device="cuda", dtype=torch.int32)
    histogram_twin[(values.numel() // 1024,)](values, bins, values.numel(), BLOCK=1024)
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()

"""A program for gsan-launch: torch and Triton with CUDA graphs. `captured.py graph|compile [racy]`: the racy one reads, in another stream, what
a replay writes."""
import sys

import torch
import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, by, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * by, mask=at < n)


def launch(x, y, by):
    scale[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), by, BLOCK=1024)


def replays(x, y):
    """A graph of a kernel that is checked, of two of torch's own, and of a copy; the last of them writes y."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        launch(x, y, 2.0)  # compiles it
    torch.cuda.current_stream().wait_stream(side)
    between, graph = torch.empty_like(x), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        launch(x, between, 2.0)
        between.add_(1.0)
        launch(between, y, 3.0)
    return graph.replay, lambda: torch.equal(y, (x * 2 + 1) * 3)


def compiled(x, y):
    work = torch.compile(lambda a: (a * 2 + 1).relu().cumsum(0), mode="reduce-overhead")
    want = (x * 2 + 1).relu().cumsum(0)

    def run():
        torch.compiler.cudagraph_mark_step_begin()
        y.copy_(work(x))
    return run, lambda: torch.allclose(y, want)


def main():
    form, racy = sys.argv[1], "racy" in sys.argv[2:]
    x, y, z = torch.randn(1 << 16, device="cuda"), torch.zeros(1 << 16, device="cuda"), torch.zeros(1 << 16, device="cuda")
    run, right = {"graph": replays, "compile": compiled}[form](x, y)
    for _ in range(20):
        run()
    torch.cuda.synchronize()
    assert right(), "wrong"
    other = torch.cuda.Stream()
    run()
    if not racy:
        other.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(other):
        launch(y, z, 1.0)
    torch.cuda.synchronize()
    print("ended")


main()

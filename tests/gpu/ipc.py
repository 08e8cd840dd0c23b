"""torch.multiprocessing: a process sends a CUDA tensor to another one, spawned, through a queue (CUDA IPC), and Triton kernels of both
write to it. `ipc.py correct`: one after the other; `ipc.py racy`: at the same time, to the same elements."""
import sys

import torch
import torch.multiprocessing as multiprocessing
import triton
import triton.language as tl

COUNT, OFFSET = 1 << 20, 4096  # elements: the tensor's, and where its sent part begins


@triton.jit
def produce(data, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(data + at, at)  # site: produce


@triton.jit
def consume(data, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(data + at, at + 1)  # site: consume


def consumer(queue, barrier, racy):
    torch.cuda.set_device(0)
    part = queue.get()
    torch.cuda.synchronize()  # ends the stream's wait for the sender's event, which would order everything
    barrier.wait()
    if not racy:
        barrier.wait()
    consume[(part.numel() // 1024,)](part, BLOCK=1024)
    if racy:
        barrier.wait()
    torch.cuda.synchronize()
    del part
    barrier.wait()


def main(racy):
    context = multiprocessing.get_context("spawn")
    queue, barrier = context.Queue(), context.Barrier(2)
    child = context.Process(target=consumer, args=(queue, barrier, racy))
    child.start()
    data = torch.empty(COUNT, device="cuda", dtype=torch.int32)
    part = data[OFFSET:]
    queue.put(part)
    barrier.wait()
    produce[(part.numel() // 1024,)](part, BLOCK=1024)
    if racy:
        barrier.wait()  # both are enqueued
        torch.cuda.synchronize()
    else:
        torch.cuda.synchronize()
        barrier.wait()
    barrier.wait()
    child.join()
    if not racy:
        expected = torch.arange(1, part.numel() + 1, dtype=torch.int32)
        if not torch.equal(part.cpu(), expected):
            sys.exit("ipc: the consumer's values are not there")
    return child.exitcode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] == "racy"))

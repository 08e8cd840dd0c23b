"""torch.multiprocessing: a process sends a CUDA tensor to others, spawned, through queues (CUDA IPC), and all of them write to it.
`ipc.py correct [GPUS]`: one after the other; `ipc.py racy [GPUS]`: at the same time, to the same elements. The sender is on the first GPU; with
one GPU there is one receiver, on it, whose kernel does; with more there is one on each other GPU, which copies the tensor there and back again:
torch opens it for the sender's GPU alone."""
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
    tl.store(data + at, tl.load(data + at) + 1)  # site: consume


def consumer(place, gpu, queue, barrier, racy):
    """place: how many receivers come before it."""
    torch.cuda.set_device(gpu)
    part = queue.get()
    local = part if part.device.index == gpu else torch.empty_like(part, device="cuda")
    torch.cuda.synchronize(part.device)  # ends the stream's wait for the sender's event, which would order everything
    barrier.wait()
    for _ in range(0 if racy else place + 1):
        barrier.wait()
    if local is not part:
        local.copy_(part)
    consume[(local.numel() // 1024,)](local, BLOCK=1024)
    if local is not part:
        part.copy_(local)
    if racy:
        barrier.wait()
    torch.cuda.synchronize(part.device)
    torch.cuda.synchronize()
    for _ in range(0 if racy else barrier.parties - 1 - place):
        barrier.wait()
    del part, local
    barrier.wait()


def main(racy, gpus):
    context, count = multiprocessing.get_context("spawn"), max(1, gpus - 1)
    queues, barrier = [context.Queue() for _ in range(count)], context.Barrier(count + 1, timeout=60)
    children = [context.Process(target=consumer, args=(place, (place + 1) % gpus, queues[place], barrier, racy)) for place in range(count)]
    for child in children:
        child.start()
    data = torch.zeros(COUNT, device="cuda", dtype=torch.int32)
    part = data[OFFSET:]
    for queue in queues:
        queue.put(part)
    barrier.wait()
    produce[(part.numel() // 1024,)](part, BLOCK=1024)
    if racy:
        barrier.wait()  # all are enqueued
        torch.cuda.synchronize()
    else:
        torch.cuda.synchronize()
        for _ in range(count + 1):
            barrier.wait()
    barrier.wait()
    for child in children:
        child.join()
    if not racy:
        expected = torch.arange(count, part.numel() + count, dtype=torch.int32)
        if not torch.equal(part.cpu(), expected):
            sys.exit("ipc: the last receiver's values are not there")
    return max(child.exitcode for child in children)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] == "racy", int(sys.argv[2]) if len(sys.argv) > 2 else 1))

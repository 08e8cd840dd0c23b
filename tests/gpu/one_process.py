"""One process on all GPUs that it sees, by torch and Triton: a pipeline. Each GPU works on a batch and stores the result into one of two
buffers on the next GPU, whose stream waits for that; it waits in turn until the buffer was read, two batches before.

    one_process.py correct         the result is as it should be
    one_process.py overwrites      nobody waits until a buffer was read
    one_process.py unseen          nobody waits until a buffer was written
    one_process.py copies          the results go by copies of torch, which waits by itself

Prints `result` and the sum of what comes out, and `seconds`; exits 1 if a correct form's is wrong.
"""
import sys
import time

import torch
import triton
import triton.language as tl

BATCHES, SIZE, BLOCK = 40, 1 << 16, 1024


@triton.jit
def stage(source, target, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(source + at)  # site: take
    tl.store(target + at, value + 1)  # site: put


class Gpu:
    """A stage: two buffers that the one before fills, and what it does with them."""

    def __init__(self, number):
        self.device = torch.device("cuda", number)
        with torch.cuda.device(self.device):
            self.stream = torch.cuda.Stream()
            self.buffers = [torch.zeros(SIZE, dtype=torch.int32, device=self.device) for _ in range(2)]
            self.local = torch.zeros(SIZE, dtype=torch.int32, device=self.device)
            self.written, self.read = ([torch.cuda.Event() for _ in range(2)] for _ in range(2))

    def work(self, k, out, following, form):
        """Batch k: from the own buffer to `out`, which lies on the following GPU, or is the last one's own."""
        with torch.cuda.device(self.device), torch.cuda.stream(self.stream):
            if form != "unseen":
                self.stream.wait_event(self.written[k])
            if following and form != "overwrites":
                self.stream.wait_event(following.read[k])
            target = self.local if form == "copies" and following else out
            stage[(SIZE // BLOCK,)](self.buffers[k], target, BLOCK=BLOCK)
            self.read[k].record()
            if following:
                if form == "copies":
                    out.copy_(self.local, non_blocking=True)
                following.written[k].record(self.stream)


def peers(gpus):
    """torch lets two GPUs use each other's memory at the first copy between them."""
    for a in gpus:
        for b in gpus:
            if a is not b:
                a.buffers[0][:4].copy_(b.buffers[0][:4])
    for gpu in gpus:
        torch.cuda.synchronize(gpu.device)


def main():
    form, gpus = sys.argv[1], [Gpu(number) for number in range(torch.cuda.device_count())]
    out = [torch.zeros(SIZE, dtype=torch.int32, device=gpus[-1].device) for _ in range(BATCHES)]
    peers(gpus)
    start = time.monotonic()
    for batch in range(BATCHES):
        k = batch % 2
        with torch.cuda.device(gpus[0].device), torch.cuda.stream(gpus[0].stream):
            gpus[0].buffers[k].fill_(batch)
            gpus[0].written[k].record()
        for gpu, following in zip(gpus, [*gpus[1:], None]):
            gpu.work(k, following.buffers[k] if following else out[batch], following, form)
    for gpu in gpus:
        torch.cuda.synchronize(gpu.device)
    print("seconds", f"{time.monotonic() - start:.3f}")
    wrong = sum(int((out[batch] != batch + len(gpus)).sum()) for batch in range(BATCHES))
    print("result", wrong, flush=True)
    return int(wrong > 0 and form in ("correct", "copies"))


if __name__ == "__main__":
    sys.exit(main())

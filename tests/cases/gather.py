"""All ranks gather each other's parts by the copy engine, and sum them: each part that has been copied to a peer is told of by a number that the
stream writes there behind it (cuStreamWriteValue32), which the peer's kernel waits for. The kernels are in the GPU first, round by round.
--break makes one thing wrong:

    swapped        the number is written before the copy        other-stream   by a stream that is not behind the copy
    relaxed        the kernel's look at it acquires nothing     no-wait        the kernel does not look
    wrong-flag     it looks at its own rank's numbers           early          the part is copied before it was filled

    gsan-launch -n 2 python gather.py [--break WHAT] [--blocks 132] [--rounds 3]     (PYTHONPATH: the examples folder)
"""
import argparse
import ctypes
import time

import ranks
import triton
import triton.language as tl

AWAIT = """{{
    .reg .u32 seen;
    .reg .pred less;
again:
    ld.{sem}.sys.global.u32 seen, [$1];
    setp.lt.u32 less, seen, $2;
    @less bra again;
    mov.u32 $0, seen;
}}"""


@triton.jit
def fill(part, value, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(part + at, value + at % 64, mask=at < N)


@triton.jit
def add(parts, flags, result, N, told, rank, SIZE: tl.constexpr, BLOCK: tl.constexpr, WAIT: tl.constexpr, OWN: tl.constexpr, ASM: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    for peer in tl.static_range(SIZE):
        if WAIT:
            if OWN:
                tl.inline_asm_elementwise(ASM, "=r,l,r", [flags + rank, told], dtype=tl.int32, is_pure=False, pack=1)
            else:
                tl.inline_asm_elementwise(ASM, "=r,l,r", [flags + peer, told], dtype=tl.int32, is_pure=False, pack=1)
    tl.debug_barrier()
    while start < N:
        at = start + tl.arange(0, BLOCK)
        total = tl.zeros([BLOCK], dtype=tl.int32)
        for peer in tl.static_range(SIZE):
            total += tl.load(parts + peer * N + at, mask=at < N)
        tl.store(result + at, total, mask=at < N)
        start += tl.num_programs(0) * BLOCK


class Driver:
    """The calls of the driver that are looked at here."""
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            raise SystemExit(f"{name}: error {status}")

    def made(self, name, *arguments):
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle

    def follows(self, stream, other):
        event = self.made("cuEventCreate", 2)  # CU_EVENT_DISABLE_TIMING
        self.call("cuEventRecord", event, other)
        self.call("cuStreamWaitEvent", stream, event, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--break", dest="what", choices=["swapped", "other-stream", "relaxed", "no-wait", "wrong-flag", "early"])
    parser.add_argument("--blocks", type=int, default=132)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=1 << 18)
    a = parser.parse_args()
    world, cuda = ranks.open_world(), Driver()
    me, size, n, block = world.rank, world.size, a.count, 512
    parts = world.shared(a.rounds * size * n, "int32")
    flags = world.shared(128, "int32")
    mine, results = world.zeros(n, "int32"), world.zeros(a.rounds * n, "int32")
    main_stream = ctypes.c_void_p(triton.runtime.driver.active.get_current_stream(triton.runtime.driver.active.get_current_device()))
    copies, other = (cuda.made("cuStreamCreate", 1) for _ in range(2))  # CU_STREAM_NON_BLOCKING

    def at(buffer, element=0):
        return ctypes.c_uint64(buffer.data_ptr() + 4 * element)

    asm = AWAIT.format(sem="relaxed" if a.what == "relaxed" else "acquire")
    grid = (triton.cdiv(n, 4096),)
    fill[grid](mine, me, n, 4096)  # compiled, and loaded, before anything waits
    add[(1,)](parts[me], flags[me], results, 0, 0, me, size, block, a.what != "no-wait", a.what == "wrong-flag", asm)
    world.synchronize()
    world.barrier()
    time.sleep(0.1)  # a library's kernels may read the numbers as far as is known: all hosts have seen the barrier's end before these are written
    for i in range(a.rounds):
        fill[grid](mine, 100 * i + me, n, 4096)
        if a.what != "early":
            cuda.follows(copies, main_stream)
        add[(a.blocks,)](Part(parts[me], i * size * n), flags[me], Part(results, i * n), n, i + 1, me, size, block, a.what != "no-wait", a.what == "wrong-flag", asm)
        for peer in range(size):
            def copy():
                cuda.call("cuMemcpyDtoDAsync_v2", at(parts[peer], (i * size + me) * n), at(mine), ctypes.c_size_t(4 * n), copies)

            def tell():
                stream = other if a.what == "other-stream" else copies
                cuda.call("cuStreamWriteValue32_v2", stream, at(flags[peer], me), ctypes.c_uint32(i + 1), 0)

            for step in (tell, copy) if a.what == "swapped" else (copy, tell):
                step()
        cuda.follows(main_stream, copies)
    world.synchronize()
    world.barrier()
    got = world.numpy(results).astype("int64").reshape(a.rounds, n)
    import numpy
    want = numpy.array([[sum(100 * i + r for r in range(size))] for i in range(a.rounds)]) + size * (numpy.arange(n) % 64)
    print(f"gather: rank {me}: {int((got != want).sum())} wrong elements", flush=True)
    world.close()


class Part:
    """A buffer from an element on, as Triton takes one."""
    def __init__(self, buffer, first):
        self.pointer, self.dtype = buffer.data_ptr() + 4 * first, buffer.dtype

    def data_ptr(self):
        return self.pointer


if __name__ == "__main__":
    main()

"""A grid barrier that needs all its programs on the GPU at once, with as many programs as fit of the plain kernel.
A plain run prints how many those are (`grid NAME PROGRAMS`); a checked run is given these numbers (NAME=PROGRAMS), since
what it would be told itself might be the tool's own idea."""
import ctypes
import hashlib
import sys

import torch
import triton
import triton.language as tl

ROUNDS = 4


@triton.jit(do_not_specialize=["programs"])  # one kernel, whose occupancy is what counts
def rounds(data, arrived, programs, ROUNDS: tl.constexpr, BLOCK: tl.constexpr):
    """Each round, every program reads what its neighbour wrote in the round before."""
    me = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = (me + at).to(tl.float32)
    for i in range(ROUNDS):
        tl.store(data + (i * programs + me) * BLOCK + at, value)
        tl.debug_barrier()
        tl.atomic_add(arrived + i, 1, sem="acq_rel", scope="gpu")
        while tl.atomic_add(arrived + i, 0, sem="acquire", scope="gpu") < programs:
            pass
        tl.debug_barrier()
        value = tl.sqrt(tl.load(data + (i * programs + (me + 1) % programs) * BLOCK + at) + value)
    tl.store(data + (ROUNDS * programs + me) * BLOCK + at, value)


KERNELS = {f"{block}x{warps}": (block, warps) for block, warps in ((1024, 4), (4096, 4), (8192, 8), (2048, 2))}


def resident(kernel, warps):
    """Programs that fit on the GPU at once, as the driver says."""
    count = ctypes.c_int()
    cuda = ctypes.CDLL("libcuda.so.1")
    error = cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(ctypes.byref(count), ctypes.c_void_p(kernel.function),
                                                             32 * warps, ctypes.c_size_t(kernel.metadata.shared))
    if error or not count.value:
        sys.exit(f"residency: the occupancy query failed with {error}")
    return count.value * torch.cuda.get_device_properties(0).multi_processor_count


def main():
    given = dict(argument.split("=") for argument in sys.argv[1:])
    for name, (block, warps) in KERNELS.items():
        arrived = torch.zeros(ROUNDS, device="cuda", dtype=torch.int32)
        compiled = rounds[(1,)](torch.zeros((ROUNDS + 1) * block, device="cuda"), arrived, 1, ROUNDS, block, num_warps=warps)
        programs = int(given[name]) if given else resident(compiled, warps)
        data = torch.zeros((ROUNDS + 1) * programs * block, device="cuda")
        arrived.zero_()
        rounds[(programs,)](data, arrived, programs, ROUNDS, block, num_warps=warps)
        torch.cuda.synchronize()
        print(f"grid {name} {programs}")
        print(f"result {name} {hashlib.sha256(data.cpu().numpy().tobytes()).hexdigest()[:16]}", flush=True)


if __name__ == "__main__":
    main()

"""Two ranks, one message: rank 0 stores a payload into the memory of rank 1 and raises a flag there; rank 1 waits for
the flag and reads the payload. Correct if the flag is raised after the payload with release and awaited with acquire,
both at a scope that spans the GPUs. Each argument but --via and --iterations can break that:

    --order relaxed    the flag moves by relaxed operations, which order nothing
    --scope gpu        release and acquire reach their own GPU only
    --flag before      the flag is raised before the payload is stored

--via says how the flag moves: Triton's tl.atomic_*, inline PTX, or tl.atomic_store/tl.atomic_poll (Triton 3.9 on).
Run it with two ranks: `gsan-launch -n 2 python examples/message_passing.py --order relaxed`.
"""
import argparse

import numpy
import ranks
import triton
import triton.language as tl

# Thread 0 raises the flag; every thread waits for it. $0 is a result that Triton wants and nobody reads.
RAISE_ASM = """{{
    .reg .u32 tid;
    .reg .pred first;
    mov.u32 tid, %tid.x;
    setp.eq.u32 first, tid, 0;
    @first st.{order}.{scope}.global.u32 [$1], 1;
    mov.u32 $0, 0;
}}"""
AWAIT_ASM = """{{
    .reg .pred again;
poll:
    ld.{order}.{scope}.global.u32 $0, [$1];
    setp.ne.u32 again, $0, 1;
    @again bra poll;
}}"""


@triton.jit
def raise_flag(flag, VIA: tl.constexpr, ORDER: tl.constexpr, SCOPE: tl.constexpr, ASM: tl.constexpr):
    tl.debug_barrier()
    if VIA == "asm":
        tl.inline_asm_elementwise(ASM, "=&r,l", [flag], dtype=tl.int32, is_pure=False, pack=1)  # site: flag-raise-asm
    elif VIA == "poll":
        tl.atomic_store(flag, 1, sem=ORDER, scope=SCOPE)  # site: flag-raise-poll
    else:
        tl.atomic_xchg(flag, 1, sem=ORDER, scope=SCOPE)  # site: flag-raise-atomic


@triton.jit
def await_flag(flag, VIA: tl.constexpr, ORDER: tl.constexpr, SCOPE: tl.constexpr, ASM: tl.constexpr):
    if VIA == "asm":
        tl.inline_asm_elementwise(ASM, "=&r,l", [flag], dtype=tl.int32, is_pure=False, pack=1)  # site: flag-await-asm
    elif VIA == "poll":
        tl.atomic_poll(flag, 1, sem=ORDER, scope=SCOPE)  # site: flag-await-poll
    else:
        while tl.atomic_cas(flag, 1, 1, sem=ORDER, scope=SCOPE) != 1:  # site: flag-await-atomic
            pass
    tl.debug_barrier()


@triton.jit
def send(payload, flags, value, BLOCK: tl.constexpr, EARLY: tl.constexpr, VIA: tl.constexpr, ORDER: tl.constexpr,
         SCOPE: tl.constexpr, ASM: tl.constexpr):
    part = tl.program_id(0)
    at = part * BLOCK + tl.arange(0, BLOCK)
    if EARLY:
        raise_flag(flags + part, VIA, ORDER, SCOPE, ASM)
    tl.store(payload + at, value + at)  # site: payload-store
    if not EARLY:
        raise_flag(flags + part, VIA, ORDER, SCOPE, ASM)


@triton.jit
def receive(payload, flags, result, BLOCK: tl.constexpr, VIA: tl.constexpr, ORDER: tl.constexpr,
            SCOPE: tl.constexpr, ASM: tl.constexpr):
    part = tl.program_id(0)
    at = part * BLOCK + tl.arange(0, BLOCK)
    await_flag(flags + part, VIA, ORDER, SCOPE, ASM)
    message = tl.load(payload + at)  # site: payload-load
    tl.store(result + at, message)


BLOCK, PARTS = 512, 4


def options(order, scope, flag, via):
    """The constants that `send` and `receive` are compiled with, in this order of kernels."""
    acquire = "acquire" if order == "release" else order
    shared = {"BLOCK": BLOCK, "VIA": via, "SCOPE": scope}
    return ({**shared, "EARLY": flag == "before", "ORDER": order, "ASM": RAISE_ASM.format(order=order, scope=scope)},
            {**shared, "ORDER": acquire, "ASM": AWAIT_ASM.format(order=acquire, scope=scope)})


def run_once(world, value, sending, receiving):
    """One message through fresh buffers; returns what rank 1 received."""
    payload = world.shared(BLOCK * PARTS, "int32")
    flags = world.shared(PARTS, "int32")
    result = world.zeros(BLOCK * PARTS, "int32")
    world.synchronize()
    world.barrier()  # the buffers are zero everywhere
    if world.rank == 0:
        send[(PARTS,)](payload[1], flags[1], value, **sending)
    elif world.rank == 1:
        receive[(PARTS,)](payload[1], flags[1], result, **receiving)
    world.barrier()  # both kernels are launched before either host waits for its own
    world.synchronize()
    received = world.numpy(result) if world.rank == 1 else None
    world.barrier()  # nobody frees what a peer still uses
    return received


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--order", choices=["release", "relaxed"], default="release")
    parser.add_argument("--scope", choices=["sys", "gpu"], default="sys")
    parser.add_argument("--flag", choices=["after", "before"], default="after", help="the payload")
    parser.add_argument("--via", choices=["atomic", "asm", "poll"], default="atomic")
    parser.add_argument("--iterations", type=int, default=1)
    args = parser.parse_args()
    correct = (args.order, args.scope, args.flag) == ("release", "sys", "after")
    world = ranks.open_world()
    if world.size < 2:
        raise SystemExit(f"message_passing needs 2 ranks and has {world.size}: start it with gsan-launch -n 2 or mpirun -np 2")
    constants = options(args.order, args.scope, args.flag, args.via)
    wrong = 0
    for i in range(args.iterations):
        received = run_once(world, 1000 * (i + 1), *constants)
        if received is not None:
            wrong += int((received != 1000 * (i + 1) + numpy.arange(BLOCK * PARTS)).sum())
    if world.rank == 1:
        print(f"message_passing: {args.iterations} messages, {wrong} wrong elements", flush=True)
    world.close()
    if correct and wrong:
        raise SystemExit("message_passing: the correct form received a wrong message")


if __name__ == "__main__":
    main()

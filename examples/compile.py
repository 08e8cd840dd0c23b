"""Compiles the kernels of the Python examples to PTX with Triton, without a GPU, for the C programs in host/.

    compile.py OUTPUT_DIR ARCH

writes EXAMPLE-FORM-KERNEL.ptx and beside each a .launch file: kernel name, warps per program, bytes of dynamic shared
memory. A form's name is its options joined by dots, as the C programs spell them.
"""
import itertools
import pathlib
import sys

import ranks  # noqa: F401 (finds Triton)
import counter_lock
import message_passing
import neighbours
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile as triton_compile


def message_forms():
    """One correct form and one for each way to break it, by each way to move the flag that Triton 3.6 has."""
    forms = [("release", "sys", "after"), ("relaxed", "sys", "after"), ("release", "gpu", "after"),
             ("release", "sys", "before")]
    for via, (order, scope, flag) in itertools.product(["atomic", "asm"], forms):
        sending, receiving = message_passing.options(order, scope, flag, via)
        name = f"message_passing-{order}.{scope}.{flag}.{via}"
        yield name, message_passing.send, {"payload": "*i32", "flags": "*i32", "value": "i32"}, sending
        yield name, message_passing.receive, {"payload": "*i32", "flags": "*i32", "result": "*i32"}, receiving


def single_forms():
    for order in ("release", "relaxed"):
        yield (f"counter_lock-{order}", counter_lock.add_one, {"counter": "*i32", "lock": "*i32"},
               counter_lock.options(order))
    for layout in neighbours.STRIDE:
        yield f"neighbours-{layout}", neighbours.fill, {"out": "*fp16"}, neighbours.options(layout)


def main():
    output, arch = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    output.mkdir(parents=True, exist_ok=True)
    for form, kernel, arguments, constants in itertools.chain(message_forms(), single_forms()):
        signature = {**arguments, **{name: "constexpr" for name in constants}}
        aligned = {(i,): [["tt.divisibility", 16]] for i, kind in enumerate(arguments.values()) if kind[0] == "*"}
        source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=aligned)
        binary = triton_compile(source, target=GPUTarget("cuda", arch, 32))
        stem = output / f"{form}-{kernel.__name__}"
        stem.with_name(stem.name + ".ptx").write_text(binary.asm["ptx"])
        shape = f"{binary.metadata.name} {binary.metadata.num_warps} {binary.metadata.shared}\n"
        stem.with_name(stem.name + ".launch").write_text(shape)


if __name__ == "__main__":
    main()

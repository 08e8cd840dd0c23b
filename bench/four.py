"""Compiles bench.py's four kernels, as bench.py launches them, for cost.py: PTX for sm_80 (what the emulated device executes has no wgmma).

    .venv/triton-3.6/bin/python bench/four.py FOLDER

Those are the kernels of tests/gpu/kernels.py, which imports torch: nothing of it is needed here.
"""
import os
import pathlib
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "gpu"))
sys.modules["torch"] = types.ModuleType("torch")
sys.dont_write_bytecode = True

import kernels  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource, compile as triton_compile  # noqa: E402

F32, F16, I32 = "*fp32", "*fp16", "*i32"
# as bench.py's cases() launches them: the kernel, its arguments, its constants, options
FOUR = {
    "add": ({"x": F32, "y": F32, "out": F32, "n": "i32"}, {"BLOCK": 1024}, {}),
    "softmax": ({"out": F32, "x": F32, "columns": "i32"}, {"BLOCK": 4096}, {"num_warps": 8}),
    "matmul": ({"a": F16, "b": F16, "c": F16, "M": "i32", "N": "i32", "K": "i32"}, {"BM": 128, "BN": 128, "BK": 32},
               {"num_warps": 8, "num_stages": 3}),
    "histogram": ({"x": I32, "bins": I32, "n": "i32"}, {"BLOCK": 1024}, {}),
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, (arguments, constants, options) in FOUR.items():
        source = ASTSource(fn=getattr(kernels, name), signature={**arguments, **{one: "constexpr" for one in constants}}, constexprs=constants,
                           attrs={(i,): [["tt.divisibility", 16]] for i in range(len(arguments))})
        binary = triton_compile(source, target=GPUTarget("cuda", 80, 32), options=options)
        (folder / f"{name}.ptx").write_text(binary.asm["ptx"].replace(str(ROOT), "."))
        print(name, binary.metadata.num_warps, binary.metadata.shared)


if __name__ == "__main__":
    main()

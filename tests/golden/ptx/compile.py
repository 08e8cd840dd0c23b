"""Compiles the corpus kernels to PTX with the Triton of the Python that runs this, without a GPU.

usage: compile.py FOLDER [NAME ...]     writes FOLDER/<kernel>.sm<arch>.t<triton version>.ptx
"""
import os
import pathlib
import sys
import tempfile

os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp(prefix="gsan-corpus-")

import triton  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kernels  # noqa: E402


def compile_one(item, arch):
    """PTX text of one corpus entry for sm_<arch>."""
    signature = {**item["signature"], **{k: "constexpr" for k in item["constants"]}}
    source = ASTSource(fn=item["fn"], signature=signature, constexprs=item["constants"],
                       attrs={(i,): [["tt.divisibility", 16]] for i, kind in enumerate(item["signature"].values())
                              if kind.startswith("*")})
    target = GPUTarget("cuda", arch, 32)
    return triton.compile(source, target=target, options={"num_warps": item["warps"]}).asm["ptx"]


def main():
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    version = "".join(triton.__version__.split(".")[:2])
    failed = 0
    for item in kernels.CORPUS:
        if names and item["name"] not in names:
            continue
        for arch in item["arches"]:
            path = folder / f"{item['name']}.sm{arch}.t{version}.ptx"
            try:
                path.write_text(compile_one(item, arch))
            except Exception as error:  # one kernel that this Triton refuses must not hide the others
                print(f"{path.name}: {type(error).__name__}: {str(error).splitlines()[-1][:200]}", file=sys.stderr)
                failed += 1
                continue
            print(path.name)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        status = main()
    finally:
        import shutil
        shutil.rmtree(os.environ["TRITON_CACHE_DIR"], ignore_errors=True)
    sys.exit(status)

"""Launches a kernel of cas_then_load.cu, as nvcc 13.0 compiled it (nvcc -ptx -lineinfo -arch=compute_80), over the bare driver.

    gsan-launch python cas_then_load.py [--strong] [--ctas 8] [--threads 64]      (PYTHONPATH: the examples folder)
"""
import argparse
import ctypes
import os

import ranks  # noqa: F401 (finds Triton and gsan)
from gsan.driver import Cuda

PTX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cas_then_load.ptx")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strong", action="store_true", help="the correct form")
    parser.add_argument("--ctas", type=int, default=8)
    parser.add_argument("--threads", type=int, default=64)
    a = parser.parse_args()
    cuda, module, function = Cuda(), ctypes.c_void_p(), ctypes.c_void_p()
    cuda.take(int(os.environ.get("LOCAL_RANK", os.environ.get("OMPI_COMM_WORLD_LOCAL_RANK", "0"))))
    with open(PTX, "rb") as file:
        cuda.cuModuleLoadData(ctypes.byref(module), file.read() + b"\0")
    cuda.cuModuleGetFunction(ctypes.byref(function), module, b"grow_strong" if a.strong else b"grow")
    at = ctypes.c_uint64(cuda.alloc(4096))
    cuda.cuMemsetD32_v2(at, 0, ctypes.c_size_t(1024))
    arguments = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(at), ctypes.c_void_p))
    cuda.cuLaunchKernel(function, a.ctas, 1, 1, a.threads, 1, 1, 0, None, arguments, None)
    cuda.cuCtxSynchronize()


if __name__ == "__main__":
    main()

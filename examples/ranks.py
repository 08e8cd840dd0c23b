"""What an example needs from the world around its kernels: its rank, memory that peers can address, a barrier.

`open_world()` picks one of two forms of the same small interface: PyTorch and its symmetric memory where torch is
installed (`torch_world`), else the bare CUDA driver (`driver_world`), which is how the examples run on the emulated
device. Kernels are launched by Triton's own `kernel[grid]` in both.

A world has `rank`, `size`, and
    zeros(count, dtype)    a buffer on this rank's GPU
    array(host)            one that holds the elements of a NumPy array
    shared(count, dtype)   one such buffer per rank, as a list: element r lies in the memory of rank r
    barrier()              of the hosts; says nothing about work that still runs on the GPUs
    synchronize()          waits for this rank's GPU
    numpy(buffer)          a copy on the host
    close()
"""
import os
import sys


def _venv_python():
    """The interpreter that scripts/setup installed beside this checkout, or None."""
    python = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".venv", "triton-3.6", "bin", "python")
    return os.path.abspath(python) if os.path.exists(python) else None


def need_triton():
    """Goes on in the project's own venv when this interpreter has no Triton."""
    try:
        import triton  # noqa: F401
    except ImportError:
        python = _venv_python()
        if not python or os.path.realpath(sys.prefix) == os.path.realpath(os.path.dirname(os.path.dirname(python))):
            sys.exit(f"{sys.executable} has no triton: run `make setup` and use .venv/triton-3.6/bin/python")
        os.execv(python, [python, *sys.argv])


def open_world():
    try:
        import torch  # noqa: F401
    except ImportError:
        from driver_world import DriverWorld
        return DriverWorld()
    from torch_world import TorchWorld
    return TorchWorld()


need_triton()
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))  # gsan, where it is not installed

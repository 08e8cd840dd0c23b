"""What emu.py runs under gsan.emu: kernels over host arrays, as a user has them. Each case checks what comes back.

    python -m gsan.emu kernels.py CASE
"""
import concurrent.futures
import multiprocessing
import os
import subprocess
import sys

import numpy
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, N, STEP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * STEP + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < N) + tl.load(y + at, mask=at < N), mask=at < N)


@triton.autotune(configs=[triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 64})], key=["N"])
@triton.jit
def double(x, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, 2 * tl.load(x + at, mask=at < N), mask=at < N)


@triton.autotune(configs=[triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 64})], key=["N"], reset_to_zero=["out"], restore_value=["x"])
@triton.jit
def total(x, out, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + at, mask=at < N, other=0)))


@triton.jit
def through(pointers):
    at = tl.load(pointers).to(tl.pointer_type(tl.float32))
    tl.store(at, tl.load(at) + 1)


def numbers(count, dtype="float32"):
    return numpy.arange(count, dtype=dtype)


def launch(x, y, out, step=256, count=1000):
    add[(triton.cdiv(count, step),)](x, y, out, count, step, BLOCK=256)


def plain():
    out = numpy.zeros(1000, "float32")
    launch(numbers(1000), numbers(1000), out)
    launch(out, y=numbers(1000), out=out)
    assert (out == 3 * numbers(1000)).all(), out


def threads():
    """Of a pool, at once."""
    def run(number):
        out = numpy.zeros(1000, "float32")
        launch(number * numbers(1000), numbers(1000), out)
        assert (out == (number + 1) * numbers(1000)).all(), out

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(run, range(6)))


def overlap():
    out = numpy.zeros(1000, "float32")
    launch(numbers(1000), numbers(1000), out, step=240)


def compiled(step=256):
    """As Triton's tutorial of softmax launches: what has been compiled is asked what it takes, and is given each argument."""
    x, out = numbers(1000), numpy.zeros(1000, "float32")
    kernel = add.warmup(x, x, out, 1000, step, BLOCK=256, grid=(1,))
    kernel._init_handles()
    assert kernel.n_regs > 0 and triton.runtime.driver.active.utils.get_device_properties(0)["multiprocessor_count"] > 0
    kernel[(triton.cdiv(1000, step), 1, 1)](x, x, out, 1000, step, 256)
    assert step < 256 or (out == 2 * numbers(1000)).all(), out


def compiled_overlap():
    compiled(240)


def processes(case):
    """That do what the case does: forked before the device is taken, and started in each other way; then this one."""
    for way in ("fork", "spawn", "forkserver"):
        child = multiprocessing.get_context(way).Process(target=case)
        child.start()
        child.join()
        assert child.exitcode == 0, (way, child.exitcode)
    subprocess.run([sys.executable, __file__, case.__name__], check=True)
    case()


def processes_plain():
    processes(plain)


def processes_overlap():
    processes(overlap)


def users():
    """What the sitecustomize that stands behind ours has left."""
    import sitecustomize
    assert sitecustomize.USERS == os.environ["USERS"]


def processes_users():
    processes(users)


def views():
    """Of one array; a kernel is given the address of a view's first element, and may go beyond the view."""
    whole = numbers(3000)
    launch(whole[:1000], whole[1000:2000], whole[2000:])
    assert (whole[2000:] == numbers(1000) + numbers(2000)[1000:]).all(), whole
    matrix = numpy.zeros((10, 100), "float32").T
    launch(whole[999::-1], whole[:1], matrix)
    assert (matrix.base.ravel() == whole[999:1999] + whole[:1000]).all(), matrix


def empty():
    launch(numpy.zeros(0, "float32"), numpy.zeros(0, "float32"), numpy.zeros(0, "float32"), count=0, step=1)


def read_only():
    x, out = numbers(1000), numpy.zeros(1000, "float32")
    x.flags.writeable = False
    launch(x, x, out)
    assert (out == 2 * numbers(1000)).all(), out


def read_only_written():
    out = numpy.zeros(1000, "float32")
    out.flags.writeable = False
    launch(numbers(1000), numbers(1000), out)


def tuned():
    x = numbers(1000)
    double[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, 1000)
    assert (x == 2 * numbers(1000)).all(), x
    assert double.best_config.kwargs["BLOCK"] == 128


def tuned_reset():
    """The array is set to zero when the configuration is chosen, and not again."""
    out = numpy.full(1, 7, "int32")
    for launches in (1, 2):
        total[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](numpy.ones(1000, "int32"), out, 1000)
        assert out == launches * 1000, out


def hooked():
    """A hook gets the array, and the kernel what the hook wrote."""
    out = numpy.zeros(1000, "float32")
    add.add_pre_run_hook(lambda x, *_, **__: x.fill(5))
    launch(numbers(1000), numbers(1000), out)
    assert (out == 5 + numbers(1000)).all(), out


def host_address():
    """Of an array that no kernel was given."""
    out = numpy.zeros(1, "float32")
    through[(8,)](numpy.array([out.ctypes.data]))


def complex_numbers():
    launch(numbers(1000, "complex64"), numbers(1000), numbers(1000))


def big_endian():
    launch(numbers(1000, ">f4"), numbers(1000), numbers(1000))


def in_tuple():
    launch((numbers(1000),), numbers(1000), numbers(1000))


def torch_tensor(device="cpu"):
    import torch
    out = torch.Tensor(numpy.zeros(2000, "float32"), device)[1000:]
    launch(torch.Tensor(numbers(1000)), torch.Tensor(numbers(1000)), out)
    assert (out.array == 2 * numbers(1000)).all(), out.array
    assert str(triton.runtime.driver.active.get_active_torch_device()) == "cpu"


def torch_on_gpu():
    torch_tensor("cuda:0")


def torch_without_gpu():
    """What torch 2.15 says where it is asked for a tensor on the emulated device."""
    import torch  # noqa: F401
    raise RuntimeError("Unexpected error from cudaGetDeviceCount(). Error 801: operation not supported")


def own_status():
    plain()
    sys.exit(3)


if __name__ == "__main__":
    globals()[sys.argv[1]]()

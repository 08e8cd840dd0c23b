"""The CUDA driver by ctypes, and Triton's CUDA driver on it: how a program launches Triton's kernels without torch.

    cuda = Cuda()
    cuda.take(0)
    triton.runtime.driver.set_active(Driver(cuda))
    kernel[grid](Buffer(cuda.alloc(4096), "int32"), ...)
"""
import ctypes
import subprocess

import triton  # noqa: F401 (before its parts)
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.driver import CudaDriver, CudaLauncher, CudaUtils

CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 75, 76


class Cuda:
    """libcuda.so.1; a call that fails raises RuntimeError with the driver's name for the error."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.device = self.context = None

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*args):
            error = function(*args)
            if error:
                raise RuntimeError(f"{name}: {self._text('cuGetErrorName', error)} ({error}): {self._text('cuGetErrorString', error)}")

        return call

    def _text(self, function, error):
        text = ctypes.c_char_p()
        getattr(self.library, function)(error, ctypes.byref(text))
        return (text.value or b"unknown error").decode()

    def take(self, number):
        """Makes the primary context of that device current, counting round those that there are."""
        count, device, context = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
        self.cuInit(0)
        self.cuDeviceGetCount(ctypes.byref(count))
        self.cuDeviceGet(ctypes.byref(device), number % count.value)
        self.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        self.device, self.context = device.value, context
        self.enter()

    def enter(self):
        """Makes that context current for another thread, too."""
        self.cuCtxSetCurrent(self.context)

    def attribute(self, which):
        value = ctypes.c_int()
        self.cuDeviceGetAttribute(ctypes.byref(value), which, self.device)
        return value.value

    def alloc(self, size):
        """The address of so many bytes of device memory."""
        address = ctypes.c_uint64()
        self.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size))
        return address.value

    def free(self, address):
        self.cuMemFree_v2(ctypes.c_uint64(address))

    def upload(self, address, host, size):
        """host: an address, too, as is download's."""
        self.cuMemcpyHtoD_v2(ctypes.c_uint64(address), ctypes.c_void_p(host), ctypes.c_size_t(size))

    def download(self, host, address, size):
        self.cuMemcpyDtoH_v2(ctypes.c_void_p(host), ctypes.c_uint64(address), ctypes.c_size_t(size))


class Buffer:
    """Device memory as Triton wants to see it: an address and an element type."""

    def __init__(self, address, dtype):
        self.address, self.dtype = address, dtype

    def data_ptr(self):
        return self.address


def _utils():
    try:
        return CudaUtils()
    except (RuntimeError, subprocess.CalledProcessError) as error:
        if isinstance(error, RuntimeError) and "C compiler" not in str(error):
            raise
        raise RuntimeError("gsan: Triton builds its launchers with a C compiler (gcc, clang, or what CC names) and Python's headers: "
                           "`apt install gcc python3-dev`, for one") from error


class Driver(CudaDriver):
    """Triton's CUDA driver, with the questions that it puts to torch answered by libcuda."""

    def __init__(self, cuda):
        self.cuda = cuda
        self.utils = _utils()
        self.launcher_cls = CudaLauncher
        capability = (cuda.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                      cuda.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR))
        self.get_device_capability = lambda device=None: capability
        self.get_current_stream = lambda device=None: 0
        self.get_current_device = lambda: cuda.device
        self.set_current_device = lambda device: None

    def get_current_target(self):
        major, minor = self.get_device_capability()
        return GPUTarget("cuda", 10 * major + minor, 32)

"""A world of ranks over the bare CUDA driver: no PyTorch, ctypes on libcuda.so.1, Triton's own launcher.

Memory that peers can address is made as PyTorch's symmetric memory makes it: each rank creates an allocation that can
be exported as a file descriptor, the descriptors travel over a UNIX socket, and every rank maps those of its peers.
Ranks meet at an abstract socket named after MASTER_PORT; rank 0 listens.
"""
import array
import ctypes
import os
import socket
import time

import numpy
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.driver import CudaDriver, CudaLauncher, CudaUtils

MEET_SECONDS = 60
CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 75, 76
CU_MEM_ALLOCATION_TYPE_PINNED = CU_MEM_LOCATION_TYPE_DEVICE = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1
CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3


class _Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _AllocationProp(ctypes.Structure):
    """CUmemAllocationProp, with its allocFlags as eight bytes of nothing."""
    _fields_ = [("type", ctypes.c_int), ("handle_types", ctypes.c_int), ("location", _Location),
                ("win32", ctypes.c_void_p), ("flags", ctypes.c_uint8 * 8)]


class _Access(ctypes.Structure):
    _fields_ = [("location", _Location), ("flags", ctypes.c_int)]


class Cuda:
    """libcuda.so.1; a call that fails raises with the driver's name for the error."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*args):
            error = function(*args)
            if error:
                text = ctypes.c_char_p()
                self.library.cuGetErrorName(error, ctypes.byref(text))
                raise RuntimeError(f"{name}: {(text.value or b'unknown error').decode()} ({error})")

        return call


class Buffer:
    """Device memory as Triton wants to see it: an address and an element type."""

    def __init__(self, address, count, dtype, free=None):
        self.address, self.count, self.dtype, self.free = address, count, dtype, free

    def data_ptr(self):
        return self.address

    def __del__(self):
        if self.free:
            self.free()


class _Driver(CudaDriver):
    """Triton's CUDA driver, with the four questions that it puts to torch answered by libcuda."""

    def __init__(self, cuda, device):
        self.utils = CudaUtils()
        self.launcher_cls = CudaLauncher
        major, minor = ctypes.c_int(), ctypes.c_int()
        cuda.cuDeviceGetAttribute(ctypes.byref(major), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)
        cuda.cuDeviceGetAttribute(ctypes.byref(minor), CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)
        capability = major.value, minor.value
        self.get_device_capability = lambda device=None: capability
        self.get_current_stream = lambda device=None: 0
        self.get_current_device = lambda: device
        self.set_current_device = lambda device: None

    def get_current_target(self):
        major, minor = self.get_device_capability()
        return GPUTarget("cuda", 10 * major + minor, 32)


def _environment(*names, default):
    return next((int(os.environ[name]) for name in names if name in os.environ), default)


class DriverWorld:
    def __init__(self):
        self.rank = _environment("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", default=0)
        self.size = _environment("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", default=1)
        self.cuda = Cuda()
        self._meet()
        self._take_device(_environment("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", default=self.rank))
        triton.runtime.driver.set_active(_Driver(self.cuda, self.device))

    def _take_device(self, local_rank):
        count, device, context = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
        self.cuda.cuInit(0)
        self.cuda.cuDeviceGetCount(ctypes.byref(count))
        self.cuda.cuDeviceGet(ctypes.byref(device), local_rank % count.value)
        self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        self.cuda.cuCtxSetCurrent(context)
        self.device = device.value
        self.prop = _AllocationProp(CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                    _Location(CU_MEM_LOCATION_TYPE_DEVICE, self.device))
        granularity = ctypes.c_size_t()
        self.cuda.cuMemGetAllocationGranularity(ctypes.byref(granularity), ctypes.byref(self.prop), 0)
        self.granularity = granularity.value

    def _meet(self):
        """self.links: on rank 0 a connection to every other rank in order, on the others one to rank 0."""
        self.links = []
        if self.size == 1:
            return
        name = f"\0example-{os.getuid()}-{os.environ.get('MASTER_PORT', '29500')}"
        deadline = time.monotonic() + MEET_SECONDS
        if self.rank == 0:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
                listener.bind(name)
                listener.listen(self.size)
                listener.settimeout(MEET_SECONDS)
                links = [listener.accept()[0] for _ in range(self.size - 1)]
            self.links = sorted(links, key=lambda link: int.from_bytes(link.recv(4), "little"))
            return
        link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        while link.connect_ex(name):
            if time.monotonic() > deadline:
                raise RuntimeError(f"rank {self.rank}: rank 0 did not come within {MEET_SECONDS} s")
            time.sleep(0.02)
        link.send(self.rank.to_bytes(4, "little"))
        self.links = [link]

    def _exchange(self, fds):
        """Every rank gives one descriptor and gets those of all ranks, in order; with none it is a barrier."""
        if self.rank == 0:
            every = list(fds)
            for link in self.links:
                every += self._receive(link)
            for link in self.links:
                self._send(link, every)
            return every
        for link in self.links:
            self._send(link, fds)
            for fd in fds:
                os.close(fd)
            return self._receive(link)
        return list(fds)

    def _send(self, link, fds):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        link.sendmsg([b"x"], rights)

    def _receive(self, link):
        data, rights, _, _ = link.recvmsg(1, socket.CMSG_SPACE(4 * self.size))
        if not data:
            raise RuntimeError(f"rank {self.rank}: a peer is gone")
        return [fd for _, _, fds in rights for fd in array.array("i", fds)]

    def barrier(self):
        self._exchange([])

    def synchronize(self):
        self.cuda.cuCtxSynchronize()

    def zeros(self, count, dtype):
        size = count * numpy.dtype(dtype).itemsize
        address = ctypes.c_uint64()
        self.cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size))
        self.cuda.cuMemsetD8_v2(address, ctypes.c_ubyte(0), ctypes.c_size_t(size))
        return Buffer(address.value, count, dtype, lambda: self.cuda.cuMemFree_v2(address))

    def array(self, host):
        buffer = self.zeros(host.size, host.dtype.name)
        host = numpy.ascontiguousarray(host)
        self.cuda.cuMemcpyHtoD_v2(ctypes.c_uint64(buffer.address), ctypes.c_void_p(host.ctypes.data), ctypes.c_size_t(host.nbytes))
        return buffer

    def shared(self, count, dtype):
        size = count * numpy.dtype(dtype).itemsize
        room = (size + self.granularity - 1) // self.granularity * self.granularity
        handle, fd = ctypes.c_uint64(), ctypes.c_int(-1)
        self.cuda.cuMemCreate(ctypes.byref(handle), ctypes.c_size_t(room), ctypes.byref(self.prop), ctypes.c_ulonglong(0))
        self.cuda.cuMemExportToShareableHandle(ctypes.byref(fd), handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                               ctypes.c_ulonglong(0))
        buffers = []
        for rank, peer in enumerate(self._exchange([fd.value])):
            if rank != self.rank:
                imported = ctypes.c_uint64()
                self.cuda.cuMemImportFromShareableHandle(ctypes.byref(imported), ctypes.c_void_p(peer),
                                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
            buffers.append(self._map(handle if rank == self.rank else imported, room, count, dtype))
            os.close(peer)
        self.cuda.cuMemsetD8_v2(ctypes.c_uint64(buffers[self.rank].address), ctypes.c_ubyte(0), ctypes.c_size_t(size))
        return buffers

    def _map(self, handle, room, count, dtype):
        address, length = ctypes.c_uint64(), ctypes.c_size_t(room)
        access = _Access(_Location(CU_MEM_LOCATION_TYPE_DEVICE, self.device), CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        self.cuda.cuMemAddressReserve(ctypes.byref(address), length, ctypes.c_size_t(0), ctypes.c_uint64(0),
                                      ctypes.c_ulonglong(0))
        self.cuda.cuMemMap(address, length, ctypes.c_size_t(0), handle, ctypes.c_ulonglong(0))
        self.cuda.cuMemSetAccess(address, length, ctypes.byref(access), ctypes.c_size_t(1))
        self.cuda.cuMemRelease(handle)

        def free():
            self.cuda.cuMemUnmap(address, length)
            self.cuda.cuMemAddressFree(address, length)

        return Buffer(address.value, count, dtype, free)

    def numpy(self, buffer):
        host = numpy.empty(buffer.count, buffer.dtype)
        self.cuda.cuMemcpyDtoH_v2(ctypes.c_void_p(host.ctypes.data), ctypes.c_uint64(buffer.address),
                                  ctypes.c_size_t(host.nbytes))
        return host

    def close(self):
        for link in self.links:
            link.close()

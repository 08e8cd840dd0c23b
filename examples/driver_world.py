"""A world of ranks over the bare CUDA driver (gsan.driver): no PyTorch, ctypes on libcuda.so.1, Triton's own launcher.

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
from gsan.driver import Buffer, Cuda, Driver

MEET_SECONDS = 60
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


class Memory(Buffer):
    """A buffer that goes with its last reference."""

    def __init__(self, address, count, dtype, free):
        super().__init__(address, dtype)
        self.count, self.free = count, free

    def __del__(self):
        self.free()


def _environment(*names, default):
    return next((int(os.environ[name]) for name in names if name in os.environ), default)


class DriverWorld:
    def __init__(self):
        self.rank = _environment("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", default=0)
        self.size = _environment("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", default=1)
        self.cuda = Cuda()
        self._meet()
        self._take_device(_environment("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", default=self.rank))
        triton.runtime.driver.set_active(Driver(self.cuda))

    def _take_device(self, local_rank):
        self.cuda.take(local_rank)
        self.prop = _AllocationProp(CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                    _Location(CU_MEM_LOCATION_TYPE_DEVICE, self.cuda.device))
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
        address = self.cuda.alloc(size)
        self.cuda.cuMemsetD8_v2(ctypes.c_uint64(address), ctypes.c_ubyte(0), ctypes.c_size_t(size))
        return Memory(address, count, dtype, lambda: self.cuda.free(address))

    def array(self, host):
        buffer = self.zeros(host.size, host.dtype.name)
        host = numpy.ascontiguousarray(host)
        self.cuda.upload(buffer.address, host.ctypes.data, host.nbytes)
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
        access = _Access(_Location(CU_MEM_LOCATION_TYPE_DEVICE, self.cuda.device), CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        self.cuda.cuMemAddressReserve(ctypes.byref(address), length, ctypes.c_size_t(0), ctypes.c_uint64(0),
                                      ctypes.c_ulonglong(0))
        self.cuda.cuMemMap(address, length, ctypes.c_size_t(0), handle, ctypes.c_ulonglong(0))
        self.cuda.cuMemSetAccess(address, length, ctypes.byref(access), ctypes.c_size_t(1))
        self.cuda.cuMemRelease(handle)

        def free():
            self.cuda.cuMemUnmap(address, length)
            self.cuda.cuMemAddressFree(address, length)

        return Memory(address.value, count, dtype, free)

    def numpy(self, buffer):
        host = numpy.empty(buffer.count, buffer.dtype)
        self.cuda.download(host.ctypes.data, buffer.address, host.nbytes)
        return host

    def close(self):
        for link in self.links:
            link.close()

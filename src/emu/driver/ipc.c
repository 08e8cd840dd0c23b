#include "emu/driver/ipc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/driver/queue.h"
#include "emu/driver/range.h"
#include "emu/driver/trace.h"

static const char magic[8] = "emu-ipc";

int emu_ipc_create(uint64_t size)
{
	int fd = memfd_create("gsan-emu-ipc", MFD_CLOEXEC);
	if (fd >= 0 && ftruncate(fd, (off_t)size)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int emu_ipc_name(struct emu_ipc_name *name, enum emu_ipc_kind kind, int fd)
{
	struct stat st;
	if (fstat(fd, &st))
		return -1;
	*name = (struct emu_ipc_name){.kind = kind, .pid = getpid(), .fd = fd, .inode = st.st_ino, .size = (uint64_t)st.st_size};
	memcpy(name->magic, magic, sizeof magic);
	return 0;
}

CUresult emu_ipc_open(const struct emu_ipc_name *name, enum emu_ipc_kind kind, int *fd)
{
	char path[64], link[32];
	struct stat st;
	if (memcmp(name->magic, magic, sizeof magic) || name->kind != (uint32_t)kind)
		return CUDA_ERROR_INVALID_VALUE;
	if (name->pid == getpid() && kind != EMU_IPC_FABRIC)
		return CUDA_ERROR_INVALID_CONTEXT;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", name->pid, name->fd);
	ssize_t n = readlink(path, link, sizeof link - 1); /* opening another sort of file may have effects */
	if (n < 0 || strncmp(link, "/memfd:", 7))
		return CUDA_ERROR_INVALID_VALUE;
	int got = open(path, O_RDWR | O_CLOEXEC);
	if (got < 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!fstat(got, &st) && st.st_ino == name->inode && (uint64_t)st.st_size == name->size) {
		*fd = got;
		return CUDA_SUCCESS;
	}
	close(got); /* it was freed, and the number is another file's */
	return CUDA_ERROR_INVALID_VALUE;
}

/* ---- memory */

struct opened { struct opened *next; uint64_t base, inode; unsigned opens; };
static struct opened *opened;

/* The bytes move into a memfd under their address; no kernel runs, for the lock is held. */
static int share(struct emu_range *r)
{
	uint64_t mapped = (r->size + 4095) / 4096 * 4096, done = 0;
	char *at = (char *)(uintptr_t)r->base;
	int fd = emu_ipc_create(mapped);
	if (fd < 0)
		return -1;
	while (done < mapped) {
		ssize_t n = write(fd, at + done, mapped - done);
		if (n <= 0)
			break;
		done += (uint64_t)n;
	}
	if (done < mapped || mmap(at, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
		close(fd);
		return -1;
	}
	r->shared = 1;
	r->fd = fd;
	return 0;
}

CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
	CUcontext c;
	struct emu_ipc_name name;
	CUresult result = handle ? emu_enter_context(&c) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	struct emu_range *r = emu_range_find(&emu_known, address);
	if (!r || !emu_range_ipc_capable(r))
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	if ((!r->shared && share(r)) || emu_ipc_name(&name, EMU_IPC_MEMORY, r->fd))
		return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	name.device = r->device;
	name.number = emu_trace_number(r->id);
	name.bytes = r->size;
	memcpy(handle, &name, sizeof name);
	return emu_leave(CUDA_SUCCESS);
}

static struct opened *opened_find(uint64_t base, uint64_t inode)
{
	for (struct opened *o = opened; o; o = o->next)
		if (o->base == base || o->inode == inode)
			return o;
	return NULL;
}

static CUresult map(CUcontext c, const struct emu_ipc_name *name, int fd, CUdeviceptr *base)
{
	struct opened *o = calloc(1, sizeof *o);
	struct emu_range r = {.kind = EMU_OPENED, .device = name->device, .context = c, .size = name->bytes, .shared = 1, .fd = fd,
			      .number = name->number};
	if (o && !emu_range_map(&r)) {
		*o = (struct opened){opened, r.base, name->inode, 1};
		opened = o;
		*base = r.base;
		return CUDA_SUCCESS;
	}
	free(o);
	close(fd);
	return CUDA_ERROR_MAP_FAILED;
}

CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle, unsigned flags)
{
	CUcontext c;
	struct emu_ipc_name name;
	int fd;
	CUresult result = address && !(flags & ~(unsigned)CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) ? emu_enter_context(&c)
											     : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	memcpy(&name, &handle, sizeof name);
	if (!name.bytes || name.bytes > name.size || name.device < 0 || name.device >= emu.devices)
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	result = emu_ipc_open(&name, EMU_IPC_MEMORY, &fd);
	if (result)
		return emu_leave(result);
	struct opened *o = opened_find(0, name.inode);
	if (!o)
		return emu_leave(map(c, &name, fd, address));
	close(fd);
	o->opens++;
	*address = o->base;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuIpcOpenMemHandle(CUdeviceptr *address, CUipcMemHandle handle, unsigned flags)
{
	return cuIpcOpenMemHandle_v2(address, handle, flags);
}

CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr address)
{
	CUcontext c;
	CUresult result = address ? emu_enter_context(&c) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	result = emu_wait_context(c);
	struct opened *o = opened_find(address, 0);
	if (!o)
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	if (--o->opens)
		return emu_leave(result);
	emu_range_free(emu_range_find(&emu_known, address));
	for (struct opened **at = &opened; *at; at = &(*at)->next)
		if (*at == o) {
			*at = o->next;
			break;
		}
	free(o);
	return emu_leave(result);
}

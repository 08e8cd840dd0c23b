#include "emu/driver/vmm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/driver/ipc.h"
#include "emu/driver/job.h"
#include "emu/driver/range.h"
#include "emu/driver/trace.h"

#define GRANULARITY (2ull << 20)
#define MEMFD_NAME "gsan-emu-physical-%d-%llu" /* device and number travel with the descriptor, in its name */

/* Its address is the program's handle. It lives while handles or mappings refer to it. */
struct emu_physical {
	struct emu_physical *next;
	int fd;
	uint64_t size;
	unsigned long long number;
	unsigned handles, mappings;
	CUmemAllocationProp prop;
};
static struct emu_physical *physicals;

CUmemAllocationHandleType emu_physical_handle_types(const struct emu_physical *physical)
{
	return physical->prop.requestedHandleTypes;
}

uint64_t emu_physical_number(const struct emu_physical *physical) { return physical->number; }

static struct emu_physical *known(CUmemGenericAllocationHandle handle)
{
	for (struct emu_physical *p = physicals; p; p = p->next)
		if ((uintptr_t)p == handle)
			return p->handles ? p : NULL;
	return NULL;
}

static struct emu_physical *add_physical(int fd, uint64_t size, const CUmemAllocationProp *prop)
{
	struct emu_physical *p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	*p = (struct emu_physical){.next = physicals, .fd = fd, .size = size, .handles = 1, .prop = *prop};
	return physicals = p;
}

static void free_if_unused(struct emu_physical *p)
{
	if (p->handles || p->mappings)
		return;
	for (struct emu_physical **at = &physicals; *at; at = &(*at)->next)
		if (*at == p) {
			*at = p->next;
			break;
		}
	if (p->prop.location.type == CU_MEM_LOCATION_TYPE_DEVICE)
		emu.device[p->prop.location.id].used -= p->size;
	close(p->fd);
	free(p);
}

/* EMU_FABRIC=0: as on H200s without an IMEX channel, whose attribute says that there are such handles all the same. */
static int fabric_permitted(void) { return emu_env_number("EMU_FABRIC", 1) != 0; }

static CUresult check_prop(const CUmemAllocationProp *prop)
{
	if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->requestedHandleTypes & ~(unsigned)(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED; /* host memory by NUMA node */
	return prop->location.id >= 0 && prop->location.id < emu.devices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *prop,
					       CUmemAllocationGranularity_flags option)
{
	(void)option;
	CUresult result = bytes && prop ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	result = check_prop(prop);
	if (!result)
		*bytes = GRANULARITY;
	return emu_leave(result);
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
			     unsigned long long flags)
{
	char name[64];
	CUresult result = handle && prop && size && !flags && size % GRANULARITY == 0 ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	result = check_prop(prop);
	if (!result && prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC && !fabric_permitted())
		result = CUDA_ERROR_NOT_PERMITTED;
	if (result)
		return emu_leave(result);
	uint64_t *used = &emu.device[prop->location.id].used;
	if (size > EMU_DEVICE_BYTES - *used)
		return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	const unsigned long long number = emu_trace_number(++emu.ids);
	snprintf(name, sizeof name, MEMFD_NAME, prop->location.id, number);
	int fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0)
		return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	struct emu_physical *p = ftruncate(fd, (off_t)size) ? NULL : add_physical(fd, size, prop);
	if (!p) {
		close(fd);
		return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	}
	p->number = number;
	*used += size;
	*handle = (uintptr_t)p;
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
	CUresult result = emu_enter();
	if (result)
		return result;
	struct emu_physical *p = known(handle);
	if (!p)
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	p->handles--;
	free_if_unused(p);
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
	CUresult result = prop ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	const struct emu_physical *p = known(handle);
	if (p)
		*prop = p->prop;
	return emu_leave(p ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
	CUresult result = handle ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	const struct emu_range *r = emu_range_find(&emu_known, (uintptr_t)address);
	if (!r || !r->physical)
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	r->physical->handles++;
	*handle = (uintptr_t)r->physical;
	return emu_leave(CUDA_SUCCESS);
}

/* ---- between processes */

static CUresult export_fd(const struct emu_physical *p, int *out)
{
	int fd = fcntl(p->fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = fd;
	return CUDA_SUCCESS;
}

static CUresult export_fabric(const struct emu_physical *p, CUmemFabricHandle *out)
{
	struct emu_ipc_name name;
	if (emu_ipc_name(&name, EMU_IPC_FABRIC, p->fd))
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(out, &name, sizeof name);
	return CUDA_SUCCESS;
}

static int is_shareable(CUmemAllocationHandleType type)
{
	return type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || type == CU_MEM_HANDLE_TYPE_FABRIC;
}

CUresult CUDAAPI cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
					      unsigned long long flags)
{
	CUresult result = out && !flags ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	const struct emu_physical *p = known(handle);
	if (!p || !is_shareable(type) || !(p->prop.requestedHandleTypes & (unsigned)type))
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	return emu_leave(type == CU_MEM_HANDLE_TYPE_FABRIC ? export_fabric(p, out) : export_fd(p, out));
}

/* The device that a memfd of ours was made on, -1: it is none; and its number. */
static int device_of_fd(int fd, unsigned long long *number)
{
	char path[64], link[128];
	int device = -1;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(path, link, sizeof link - 1);
	link[n > 0 ? n : 0] = 0;
	return sscanf(link, "/memfd:" MEMFD_NAME, &device, number) == 2 && device < emu.devices ? device : -1;
}

/* A descriptor of our own for what a fabric handle names, every byte of which counts. */
static CUresult fabric_open(const void *handle, int *fd)
{
	struct emu_ipc_name name, bare;
	if (!fabric_permitted())
		return CUDA_ERROR_NOT_PERMITTED;
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&name, handle, sizeof name);
	bare = (struct emu_ipc_name){.kind = name.kind, .pid = name.pid, .fd = name.fd, .inode = name.inode, .size = name.size};
	memcpy(bare.magic, name.magic, sizeof bare.magic);
	return memcmp(&name, &bare, sizeof name) ? CUDA_ERROR_INVALID_VALUE : emu_ipc_open(&name, EMU_IPC_FABRIC, fd);
}

/* Takes the descriptor over. */
static CUresult import_fd(int fd, CUmemAllocationHandleType type, CUmemGenericAllocationHandle *handle)
{
	struct stat st;
	unsigned long long number = 0;
	int device = device_of_fd(fd, &number);
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .requestedHandleTypes = type,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
	int ours = device >= 0 && !fstat(fd, &st);
	struct emu_physical *p = ours ? add_physical(fd, (uint64_t)st.st_size, &prop) : NULL;
	if (!p) {
		close(fd);
		return ours ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
	}
	p->number = number;
	emu.device[device].used += p->size;
	*handle = (uintptr_t)p;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *os_handle,
						CUmemAllocationHandleType type)
{
	CUresult result = handle && is_shareable(type) ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	int fd = -1;
	if (result)
		return result;
	if (type == CU_MEM_HANDLE_TYPE_FABRIC)
		result = fabric_open(os_handle, &fd);
	else
		fd = fcntl((int)(intptr_t)os_handle, F_DUPFD_CLOEXEC, 3); /* the caller may close its own */
	if (!result && fd < 0)
		result = CUDA_ERROR_INVALID_VALUE;
	return emu_leave(result ? result : import_fd(fd, type, handle));
}

/* ---- addresses */

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *address, size_t size, size_t align, CUdeviceptr hint,
				     unsigned long long flags)
{
	CUresult result = address && size && !flags && size % GRANULARITY == 0 && !(align & (align - 1))
				  ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	uint64_t at = emu_range_reserve(hint, size, align > GRANULARITY ? align : GRANULARITY);
	struct emu_range r = {.base = at, .size = size, .kind = EMU_RESERVED};
	if (!at)
		return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	if (!emu_range_add(&emu_reserved, &r)) {
		munmap((void *)(uintptr_t)at, size);
		return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	}
	*address = at;
	return emu_leave(CUDA_SUCCESS);
}

static int overlaps_known(uint64_t base, uint64_t size)
{
	for (size_t i = 0; i < emu_known.count; i++)
		if (emu_known.range[i].base < base + size && base < emu_known.range[i].base + emu_known.range[i].size)
			return 1;
	return 0;
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr address, size_t size)
{
	CUresult result = emu_enter();
	if (result)
		return result;
	struct emu_range *r = emu_range_find(&emu_reserved, address);
	if (!r || r->base != address || r->size != size || overlaps_known(address, size))
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	munmap((void *)(uintptr_t)address, size);
	emu_range_remove(&emu_reserved, r);
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemMap(CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
			  unsigned long long flags)
{
	CUresult result = size && !offset && !flags && size % GRANULARITY == 0 ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	struct emu_physical *p = known(handle);
	const struct emu_range *in = emu_range_find(&emu_reserved, address);
	if (!p || !in || size > p->size || address - in->base + size > in->size || overlaps_known(address, size))
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	void *at = (void *)(uintptr_t)address;
	if (mmap(at, size, PROT_NONE, MAP_SHARED | MAP_FIXED, p->fd, 0) == MAP_FAILED)
		return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	struct emu_range r = {.base = address, .size = size, .kind = EMU_MAPPED, .device = p->prop.location.id, .physical = p};
	if (!emu_range_add(&emu_known, &r)) {
		mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
	}
	p->mappings++;
	return emu_leave(CUDA_SUCCESS);
}

/* The mapping that starts at *address and ends no later than `end`; advances past it. */
static struct emu_range *next_mapping(uint64_t *address, uint64_t end)
{
	struct emu_range *r = emu_range_find(&emu_known, *address);
	if (!r || r->base != *address || !r->physical || r->base + r->size > end)
		return NULL;
	*address += r->size;
	return r;
}

/* Whether whole mappings fill the range. */
static int mappings_fill(uint64_t address, uint64_t size)
{
	uint64_t end = address + size;
	while (address < end)
		if (!next_mapping(&address, end))
			return 0;
	return size != 0;
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr address, size_t size)
{
	CUresult result = emu_enter();
	if (result)
		return result;
	if (!mappings_fill(address, size))
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	mmap((void *)(uintptr_t)address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	for (uint64_t at = address; at < address + size;) {
		struct emu_range *r = next_mapping(&at, address + size);
		struct emu_physical *p = r->physical;
		emu_range_remove(&emu_known, r);
		p->mappings--;
		free_if_unused(p);
	}
	return emu_leave(CUDA_SUCCESS);
}

/* The process has one page table for all its devices: it allows what any device may. */
static void protect(const struct emu_range *r)
{
	unsigned most = 0;
	for (int d = 0; d < EMU_DEVICES_MAX; d++)
		most |= r->access[d];
	int protection = most & 2 ? PROT_READ | PROT_WRITE : most ? PROT_READ : PROT_NONE;
	mprotect((void *)(uintptr_t)r->base, r->size, protection);
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	CUresult result = desc && count ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	if (!mappings_fill(address, size))
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < count; i++)
		if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || desc[i].location.id < 0 ||
		    desc[i].location.id >= emu.devices)
			return emu_leave(CUDA_ERROR_INVALID_VALUE);
	for (uint64_t at = address; at < address + size;) {
		struct emu_range *r = next_mapping(&at, address + size);
		for (size_t i = 0; i < count; i++)
			r->access[desc[i].location.id] = (unsigned)desc[i].flags;
		protect(r);
	}
	return emu_leave(CUDA_SUCCESS);
}

CUresult CUDAAPI cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address)
{
	CUresult result = flags && location ? emu_enter() : CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	const struct emu_range *r = emu_range_find(&emu_known, address);
	if (!r || !r->physical || location->type != CU_MEM_LOCATION_TYPE_DEVICE || location->id < 0 ||
	    location->id >= emu.devices)
		return emu_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = r->access[location->id];
	return emu_leave(CUDA_SUCCESS);
}

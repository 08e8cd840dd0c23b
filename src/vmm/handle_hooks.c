/* The driver's virtual memory management. The program's reservations come from the view region, which is reserved
 * already; its handles are real ones, with a canonical range beside them; what it exports is a token of ours, or a fabric
 * handle of the driver's that the supervisor is told of, so that an importer finds the owner's shadow. Memory that this does
 * not fit (other devices, host memory, foreign descriptors) is the real driver's alone, and counts as unchecked. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "ipc/ipc.h"
#include "vmm/block.h"
#include "vmm/handle.h"
#include "vmm/lent.h"

static struct spans reserved = SPANS(struct span); /* what the program holds of the view region */

static int in_views(uint64_t at) { return at >= GSAN_VIEW_BASE && at < GSAN_VIEW_BASE + GSAN_VIEW_SIZE; }
static int in_arena(uint64_t at) { return at >= GSAN_ARENA_BASE && at < GSAN_ARENA_BASE + GSAN_ARENA_SIZE; }

static int in_reserved(uint64_t at, uint64_t size)
{
	pthread_mutex_lock(&vmm_lock);
	const struct span *r = spans_find(&reserved, at);
	int inside = r && size <= r->size - (at - r->base);
	pthread_mutex_unlock(&vmm_lock);
	return inside;
}

CUresult vmm_cuMemAddressReserve(CUdeviceptr *at, size_t size, size_t align, CUdeviceptr hint, unsigned long long flags)
{
	struct participant *p = participant_current();
	struct span r = {.size = size};
	if (!p || !at || !size || size % GSAN_PAGE || flags || (align & (align - 1)))
		return real.cuMemAddressReserve(at, size, align, hint, flags);
	pthread_mutex_lock(&vmm_lock);
	int rc = arena_take(&vmm_views, size, align > GSAN_PAGE ? align : GSAN_PAGE, &r.base);
	if (!rc && (rc = spans_insert(&reserved, &r)))
		arena_give(&vmm_views, r.base, size);
	pthread_mutex_unlock(&vmm_lock);
	if (rc)
		return real.cuMemAddressReserve(at, size, align, hint, flags);
	*at = r.base;
	return CUDA_SUCCESS;
}

CUresult vmm_cuMemAddressFree(CUdeviceptr at, size_t size)
{
	if (!participant_started() || !in_views(at))
		return real.cuMemAddressFree(at, size);
	pthread_mutex_lock(&vmm_lock);
	const struct span *r = spans_find(&reserved, at);
	int whole = r && r->base == at && r->size == size && !view_within(at, size);
	if (whole) {
		spans_remove(&reserved, spans_behind(&reserved, at));
		arena_give(&vmm_views, at, size);
	}
	pthread_mutex_unlock(&vmm_lock);
	return whole ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* 1: memory that lingered was given back. */
static int handle_short(void)
{
	struct participant *p = participant_any();
	struct vmm_section s;
	if (!p || vmm_enter(p, &s))
		return 0;
	int some = block_short();
	vmm_leave(&s);
	return some;
}

/* The properties go through as they are: what the program asks about its handle later is what it asked for. */
CUresult vmm_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
			 unsigned long long flags)
{
	struct vmm_section s;
	char label[64];
	CUresult rc = real.cuMemCreate(handle, size, prop, flags);
	if (rc == CUDA_ERROR_OUT_OF_MEMORY && handle_short())
		rc = real.cuMemCreate(handle, size, prop, flags);
	if (rc || !participant_current() || prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return rc;
	struct participant *p = participant_on(prop->location.id); /* whose context need not be current */
	if (!p)
		return rc;
	snprintf(label, sizeof label, "cuMemCreate(%zu)", size);
	if (vmm_enter(p, &s))
		return rc;
	if (handle_add(p, *handle, size, label))
		vmm_note(p, "foreign", "cuMemCreate", "%zu bytes could not be given shadow: not checked", size);
	vmm_leave(&s);
	return rc;
}

CUresult vmm_cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct participant *p = participant_any();
	struct vmm_section s;
	/* First, for the driver may give the value to another thread at once; and without the lock, for it may wait. */
	if (p && !vmm_enter(p, &s)) {
		handle_release(handle);
		vmm_leave(&s);
	}
	return real.cuMemRelease(handle);
}

CUresult vmm_cuMemMap(CUdeviceptr at, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
		      unsigned long long flags)
{
	struct participant *p = participant_any();
	struct vmm_section s;
	int ours = p && in_arena(at);
	if (ours && !in_reserved(at, size))
		return CUDA_ERROR_INVALID_VALUE;
	CUresult rc = real.cuMemMap(at, size, offset, handle, flags);
	if (rc || !p || vmm_enter(p, &s))
		return rc;
	struct handle *h = ours ? handle_find(handle) : NULL;
	if (!h || view_add(p, h, at, size, offset)) {
		if (ours)
			view_add(p, NULL, at, size, offset);
		vmm_note(p, "foreign", "cuMemMap", "%zu bytes of memory or addresses that gsan does not know: not checked", size);
	}
	vmm_leave(&s);
	return rc;
}

CUresult vmm_cuMemUnmap(CUdeviceptr at, size_t size)
{
	struct participant *p = participant_any();
	struct vmm_section s;
	if (p && in_arena(at) && !in_reserved(at, size))
		return CUDA_ERROR_INVALID_VALUE; /* a block: cuMemAlloc's memory is not the program's to unmap */
	CUresult rc = real.cuMemUnmap(at, size); /* may wait for kernels: without the lock */
	if (rc || !p || !in_arena(at) || vmm_enter(p, &s))
		return rc;
	view_remove(p, at, size);
	vmm_leave(&s);
	return rc;
}

CUresult vmm_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *at)
{
	struct participant *p = participant_any();
	struct vmm_section s;
	struct span opened;
	if ((p && in_arena((uintptr_t)at) && !in_views((uintptr_t)at)) || lent_holding((uintptr_t)at, &opened))
		return CUDA_ERROR_INVALID_VALUE; /* a block: NCCL tells cuMemAlloc's memory by this answer */
	CUresult rc = real.cuMemRetainAllocationHandle(handle, at);
	if (rc || !p || vmm_enter(p, &s))
		return rc;
	handle_retain(*handle, (uintptr_t)at);
	vmm_leave(&s);
	return rc;
}

/* The memory's records are there for whoever gets it, and msg says what it is. Who is to send that, or NULL: they are not. */
static struct participant *export_begin(struct participant *p, struct handle *h, struct ipc_msg *msg)
{
	if (!h->importer)
		p = participant_of(h->canonical);
	*msg = (struct ipc_msg){.participant = p->index, .base = h->canonical, .size = h->size, .alloc = h->alloc};
	h->exported = 1;
	p->exported = 1;
	return !h->importer && shadow_publish(p, h->canonical, h->size) ? NULL : p;
}

/* The program gets a token; the real descriptor stays with the supervisor. 0 or -EIO. */
static int export_token(struct participant *p, struct handle *h, int *out)
{
	struct ipc_msg msg;
	int real_fd = *out, token = -1;
	p = export_begin(p, h, &msg);
	msg.type = IPC_EXPORT;
	if (!p || ipc_call(p->socket, &msg, real_fd, &token) || token < 0)
		return -EIO;
	close(real_fd);
	*out = token;
	return 0;
}

/* The program gets what the driver gave. 0 or -EIO. */
static int export_fabric(struct participant *p, struct handle *h, const void *out)
{
	struct ipc_msg msg;
	p = export_begin(p, h, &msg);
	msg.type = IPC_NAME;
	msg.length = sizeof(CUmemFabricHandle);
	memcpy(msg.text, out, sizeof(CUmemFabricHandle));
	return p && !ipc_call(p->socket, &msg, -1, NULL) ? 0 : -EIO;
}

static int is_shared(CUmemAllocationHandleType type)
{
	return type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || type == CU_MEM_HANDLE_TYPE_FABRIC;
}

CUresult vmm_cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
					  unsigned long long flags)
{
	struct participant *p = participant_any();
	struct vmm_section s;
	CUresult rc = real.cuMemExportToShareableHandle(out, handle, type, flags);
	if (rc || !p || vmm_enter(p, &s))
		return rc;
	struct handle *h = is_shared(type) ? handle_find(handle) : NULL;
	int seen = h && !(type == CU_MEM_HANDLE_TYPE_FABRIC ? export_fabric(p, h, out) : export_token(p, h, out));
	if (!seen) /* the real handle goes out: works, and its importers see foreign memory */
		vmm_note(p, "foreign", "cuMemExportToShareableHandle", "exported as it is: peers' accesses are not checked");
	vmm_leave(&s);
	return rc;
}

/* Whose memory is it? What is sent is a token, for which *fd comes, or a fabric handle. 0, or -errno: it is not known. */
static int import_ask(const struct participant *p, void *os, CUmemAllocationHandleType type, struct ipc_msg *msg, int *fd)
{
	*msg = (struct ipc_msg){.type = IPC_IMPORT, .participant = p->index};
	if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
		int rc = ipc_call(p->socket, msg, (int)(intptr_t)os, fd);
		return rc ? rc : *fd < 0 ? -EIO : 0;
	}
	msg->type = IPC_NAMED;
	msg->length = sizeof(CUmemFabricHandle);
	memcpy(msg->text, os, sizeof(CUmemFabricHandle));
	return ipc_call(p->socket, msg, -1, NULL);
}

/* A token must be changed back even in a process that runs unchecked. */
CUresult vmm_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *os, CUmemAllocationHandleType type)
{
	struct participant *p = participant_current();
	struct vmm_section s;
	struct ipc_msg msg;
	const int fabric = type == CU_MEM_HANDLE_TYPE_FABRIC;
	int fd = -1;
	if (!p)
		p = participant_joined();
	if (!p || !is_shared(type) || (fabric && (!os || !participant_started())))
		return real.cuMemImportFromShareableHandle(handle, os, type);
	const int known = !import_ask(p, os, type, &msg, &fd);
	CUresult rc = real.cuMemImportFromShareableHandle(handle, fd >= 0 ? (void *)(intptr_t)fd : os, type);
	if (fd >= 0)
		close(fd);
	if (!known && !rc)
		vmm_note(p, "foreign", "cuMemImportFromShareableHandle", "a %s: not checked",
			 fabric ? "fabric handle of memory that is none of this job's, or not checked" : "descriptor that gsan did not export");
	if (known && rc)
		handle_return(p, msg.base);
	if (!known || rc || !participant_started() || vmm_enter(p, &s))
		return rc;
	if (handle_import(p, *handle, msg.base, msg.size, msg.alloc)) /* that it has the memory stays known: who has it goes on */
		vmm_note(p, "foreign", "cuMemImportFromShareableHandle", "the owner's shadow could not be mapped: not checked");
	vmm_leave(&s);
	return rc;
}

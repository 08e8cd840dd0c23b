#include "vmm/lent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/ipc.h"
#include "vmm/block.h"
#include "vmm/handle.h"

static const char magic[8] = {'g', 's', 'a', 'n', '-', 'i', 'p', 'c'};

struct name {
	char magic[8];
	uint64_t job; /* its nonce */
	uint32_t owner, number;
	uint64_t offset, size; /* in the memory of that number */
	uint8_t rest[24];
};
_Static_assert(sizeof(struct name) == sizeof(CUipcMemHandle), "");

/* What is mapped once for all numbers of it. */
struct piece { struct piece *next; uint32_t id; unsigned uses; int apart; uint64_t at, size; };
struct opened { struct span at; uint32_t number; unsigned count; struct piece *piece; };
static struct piece *pieces;
static struct spans opened = SPANS(struct opened);

/* ---- by the owner */

/* Any address of a block stands for all of it, as with the driver, which has no handles of pools' memory either. */
CUresult vmm_cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr at)
{
	struct participant *p = participant_of(at);
	struct vmm_section s;
	if (!p || !handle || vmm_enter(p, &s))
		return real.cuIpcGetMemHandle(handle, at);
	struct block *b = block_find(at);
	struct name name = {.job = p->job->nonce, .owner = (uint32_t)p->index};
	int ours = b && !b->limbo, pooled = ours && b->pool, rc = -EINVAL;
	if (ours && !pooled) {
		rc = block_lend(p, b, &name.offset);
		name.number = b->lent;
		name.size = b->size;
	}
	vmm_leave(&s);
	if (!ours)
		return real.cuIpcGetMemHandle(handle, at);
	if (rc)
		return pooled ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_MAP_FAILED;
	memcpy(name.magic, magic, sizeof magic);
	memcpy(handle, &name, sizeof name);
	return CUDA_SUCCESS;
}

/* ---- opening */

static struct opened *opened_number(uint32_t number)
{
	for (size_t i = 0; i < opened.count; i++) {
		struct opened *o = spans_at(&opened, i);
		if (o->number == number)
			return o;
	}
	return NULL;
}

void lent_share(CUdevice device)
{
	for (const struct piece *q = pieces; q; q = q->next)
		vmm_access(device, q->at, q->size);
}

/* Addresses: of the view region, or where there is no room, any. 0 or -EIO. */
static int piece_reserve(struct piece *q)
{
	CUdeviceptr at;
	q->apart = !participant_started() || arena_take(&vmm_views, q->size, GSAN_PAGE, &q->at);
	if (!q->apart)
		return 0;
	if (real.cuMemAddressReserve(&at, q->size, 0, 0, 0))
		return -EIO;
	q->at = at;
	return 0;
}

static void piece_unreserve(const struct piece *q)
{
	if (q->apart)
		real.cuMemAddressFree(q->at, q->size);
	else
		arena_give(&vmm_views, q->at, q->size);
}

/* The owner's records follow the data. */
static void piece_check(struct participant *p, const struct piece *q, CUmemGenericAllocationHandle name, uint64_t canonical)
{
	int checked = !q->apart && !handle_import(p, name, canonical, q->size, 0);
	if (checked) {
		checked = !view_add(p, handle_find(name), q->at, q->size, 0);
		handle_release(name); /* the view keeps it */
	}
	if (checked)
		return;
	if (!q->apart)
		view_add(p, NULL, q->at, q->size, 0);
	vmm_note(p, "foreign", "cuIpcOpenMemHandle", "the owner's shadow could not be mapped: not checked");
}

/* Maps it where the current device, too, can use it. 0 or -EIO. */
static int piece_map(struct participant *p, struct piece *q, uint64_t canonical, int fd, int device)
{
	CUmemGenericAllocationHandle name;
	int rc = -EIO;
	if (real.cuMemImportFromShareableHandle(&name, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
		return -EIO;
	if (piece_reserve(q))
		goto release;
	if (real.cuMemMap(q->at, q->size, 0, name, 0))
		goto unreserve;
	if (!vmm_access(device, q->at, q->size)) {
		for (uint32_t left = vmm_devices & ~(1u << device); left; left &= left - 1)
			vmm_access(__builtin_ctz(left), q->at, q->size);
		piece_check(p, q, name, canonical);
		rc = 0;
		goto release;
	}
	real.cuMemUnmap(q->at, q->size);
unreserve:
	piece_unreserve(q);
release:
	real.cuMemRelease(name);
	return rc;
}

/* The piece that the supervisor's reply names; NULL: it cannot be mapped. */
static struct piece *piece_use(struct participant *p, const struct ipc_msg *reply, int fd, int device)
{
	struct piece *q = pieces;
	while (q && q->id != reply->cursor)
		q = q->next;
	if (!q) {
		q = malloc(sizeof *q);
		if (!q)
			return NULL;
		*q = (struct piece){.next = pieces, .id = reply->cursor, .size = reply->size};
		if (piece_map(p, q, reply->base, fd, device)) {
			free(q);
			return NULL;
		}
		pieces = q;
	}
	q->uses++;
	return q;
}

/* One use less; then 1: it is the caller's to unmap. */
static int piece_leave(struct piece *q)
{
	struct piece **at = &pieces;
	if (--q->uses)
		return 0;
	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	return 1;
}

/* What a section held is not needed for the driver's part, which may wait for kernels. */
static void piece_unmap(struct participant *p, struct piece *q)
{
	struct vmm_section s;
	CUresult rc = real.cuMemUnmap(q->at, q->size);
	if (!rc && !vmm_enter(p, &s)) {
		if (!q->apart)
			view_remove(p, q->at, q->size);
		piece_unreserve(q);
		vmm_leave(&s);
	}
	free(q);
}

/* Whoever has it mapped, the job knows the process's first as who opened it. */
static void number_close(uint32_t number)
{
	const struct participant *p = participant_joined();
	struct ipc_msg msg = {.type = IPC_CLOSE, .participant = p->index, .alloc = number};
	ipc_call(p->socket, &msg, -1, NULL);
}

/* With vmm_lock held. A program may have written into the handle. *gone: to be unmapped without the lock. */
static CUresult open_new(struct participant *p, const struct name *name, int device, CUdeviceptr *at, struct piece **gone)
{
	const struct participant *owner = participant_number(name->owner), *by = owner ? owner : participant_joined(); /* its own it may not */
	struct ipc_msg msg = {.type = IPC_OPEN, .participant = by->index, .alloc = name->number};
	int fd = -1, rc = ipc_call(by->socket, &msg, -1, &fd);
	if (rc || fd < 0)
		return rc == -ELOOP ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
	int sound = name->size && name->offset < msg.size && name->size <= msg.size - name->offset;
	struct piece *q = sound ? piece_use(p, &msg, fd, device) : NULL;
	close(fd);
	struct opened o = {.number = name->number, .count = 1, .piece = q};
	if (q) {
		o.at = (struct span){q->at + name->offset, name->size};
		size_t i = spans_behind(&opened, o.at.base);
		sound = i == opened.count || ((struct opened *)spans_at(&opened, i))->at.base >= o.at.base + o.at.size;
	}
	if (q && sound && !spans_insert(&opened, &o)) {
		*at = o.at.base;
		return CUDA_SUCCESS;
	}
	number_close(name->number);
	*gone = q && piece_leave(q) ? q : NULL;
	return sound ? CUDA_ERROR_MAP_FAILED : CUDA_ERROR_INVALID_VALUE;
}

static CUresult open_again(const struct name *name, struct opened *o, CUdeviceptr *at)
{
	if (o->at.base != o->piece->at + name->offset || o->at.size != name->size)
		return CUDA_ERROR_INVALID_VALUE;
	o->count++;
	*at = o->at.base;
	return CUDA_SUCCESS;
}

/* A handle of ours must be changed back even in a process that runs unchecked. */
CUresult vmm_cuIpcOpenMemHandle_v2(CUdeviceptr *at, CUipcMemHandle handle, unsigned flags)
{
	struct participant *p = participant_current();
	struct piece *gone = NULL;
	struct vmm_section s;
	struct name name;
	CUdevice device;
	if (!p)
		p = participant_joined();
	memcpy(&name, &handle, sizeof name);
	if (!p || !p->job || memcmp(name.magic, magic, sizeof magic) || name.job != p->job->nonce)
		return real.cuIpcOpenMemHandle_v2(at, handle, flags);
	if (!at || flags & ~(unsigned)CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult rc = real.cuCtxGetDevice(&device);
	if (rc)
		return rc;
	if (vmm_enter(p, &s))
		return CUDA_ERROR_INVALID_CONTEXT;
	struct opened *o = opened_number(name.number);
	rc = o ? open_again(&name, o, at) : open_new(p, &name, device, at, &gone);
	vmm_leave(&s);
	if (gone)
		piece_unmap(p, gone);
	return rc;
}

/* ---- closing */

/* One opening less: 0 it is none of ours, 1 others are left, 2 it was the last, and *last is what to undo. */
static int close_one(CUdeviceptr at, struct opened *last)
{
	int found = 0;
	pthread_mutex_lock(&vmm_lock);
	struct opened *o = spans_find(&opened, at);
	if (o && o->at.base == at) {
		found = --o->count ? 1 : 2;
		*last = *o;
		if (found == 2)
			spans_remove(&opened, spans_behind(&opened, at));
	}
	pthread_mutex_unlock(&vmm_lock);
	return found;
}

/* Kernels may still use what is unmapped: waits as cuMemFree does. */
CUresult vmm_cuIpcCloseMemHandle(CUdeviceptr at, int *waited)
{
	struct participant *p = participant_any();
	struct opened last;
	if (!p)
		p = participant_joined();
	int found = p ? close_one(at, &last) : 0;
	*waited = 0;
	if (found < 2)
		return found ? CUDA_SUCCESS : real.cuIpcCloseMemHandle(at);
	CUresult rc = vmm_free_waits(p, GSAN_PAGE);
	if (rc == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) /* it has waited nevertheless */
		rc = CUDA_SUCCESS;
	*waited = !rc;
	pthread_mutex_lock(&vmm_lock);
	int unused = piece_leave(last.piece);
	pthread_mutex_unlock(&vmm_lock);
	if (unused)
		piece_unmap(p, last.piece);
	number_close(last.number);
	return rc;
}

int lent_holding(uint64_t at, struct span *found)
{
	pthread_mutex_lock(&vmm_lock);
	const struct opened *o = spans_find(&opened, at);
	if (o)
		*found = o->at;
	pthread_mutex_unlock(&vmm_lock);
	return o != NULL;
}

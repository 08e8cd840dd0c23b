/* Line records: which pages of the shadow region are mapped here, own and peers'. One 2 MiB page of records serves 8 MiB
 * of data, so neighbouring allocations share pages; a page, once mapped, stays. Each own extent is one handle, which
 * peers can map; an extent of a peer is mapped once. */
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "base/log.h"
#include "ipc/ipc.h"
#include "vmm/inside.h"
#include "vmm/span.h"

struct extent {
	struct span at; /* shadow addresses */
	CUmemGenericAllocationHandle handle; /* own only */
	int published;
	struct participant *by; /* who mapped it */
};
static struct spans extents = SPANS(struct extent);

/* The pages of line records for a canonical range. */
static struct span shadow_pages(uint64_t base, uint64_t size)
{
	uint64_t first = gsan_shadow(base) & ~(uint64_t)(GSAN_PAGE - 1);
	uint64_t end = vmm_round(gsan_shadow(base + size - 1) + sizeof(struct gsan_line), GSAN_PAGE);
	return (struct span){first, end - first};
}

static int shadow_map(struct participant *p, uint64_t at, uint64_t size)
{
	struct extent e = {.at = {at, size}, .by = p};
	if (vmm_back(p, at, size, &e.handle))
		return -ENOMEM;
	if (vmm_zero(p, at, size) || spans_insert(&extents, &e)) {
		vmm_unback(at, size, e.handle);
		return -ENOMEM;
	}
	atomic_fetch_add_explicit(&p->job->rank[p->index].shadow_bytes, size, memory_order_relaxed);
	return 0;
}

int shadow_cover(struct participant *p, uint64_t base, uint64_t size)
{
	struct span want = shadow_pages(base, size);
	uint64_t at = want.base, end = want.base + want.size;
	while (at < end) {
		size_t i = spans_behind(&extents, at);
		const struct span *e = i < extents.count ? spans_at(&extents, i) : NULL;
		uint64_t until = e && e->base < end ? e->base : end;
		if (e && e->base <= at) {
			at = e->base + e->size;
			continue;
		}
		if (shadow_map(p, at, until - at))
			return -ENOMEM;
		at = until;
	}
	return 0;
}

/* What is kept aside of records (device/aside.h), in the tables of `owner`. */
static int aside_clear(struct participant *p, uint32_t owner, uint64_t base, uint64_t size, int idle)
{
	if (!atomic_load_explicit(&p->job->held, memory_order_acquire))
		return 0;
	const struct gsan_part part = gsan_aside(base, size);
	return (idle ? vmm_clear : vmm_zero)(p, vmm_tables_base(owner) + part.at, part.bytes);
}

int shadow_clear(struct participant *p, uint64_t base, uint64_t size)
{
	uint64_t first = gsan_shadow(base), end = gsan_shadow(base + size - 1) + sizeof(struct gsan_line);
	return vmm_zero(p, first, end - first) ? -EIO : aside_clear(p, gsan_owner(base), base, size, 0);
}

static int extent_publish(struct participant *p, struct extent *e)
{
	int rc = e->published ? 0 : vmm_offer(p, IPC_SHADOW, e->at.base, e->at.size, e->handle);
	e->published |= !rc;
	return rc;
}

int shadow_publish(struct participant *p, uint64_t base, uint64_t size)
{
	struct span want = shadow_pages(base, size);
	for (size_t i = spans_behind(&extents, want.base); i < extents.count; i++) {
		struct extent *e = spans_at(&extents, i);
		if (e->at.base >= want.base + want.size)
			break;
		int rc = extent_publish(p, e);
		if (rc)
			return rc;
	}
	return 0;
}

/* Maps a peer's extent, once. */
static int extent_adopt(struct participant *p, uint64_t base, uint64_t size, int fd)
{
	struct extent e = {.at = {base, size}, .published = 1, .by = p};
	if (spans_find(&extents, base))
		return 0;
	if (vmm_adopt(p, base, size, fd))
		return -EIO;
	if (!spans_insert(&extents, &e))
		return 0;
	real.cuMemUnmap(base, size);
	return -ENOMEM;
}

int shadow_import(struct participant *p, uint64_t base, uint64_t size)
{
	struct span want = shadow_pages(base, size);
	uint64_t end = want.base + want.size, covered = 0;
	uint32_t cursor = 0;
	for (;;) {
		struct ipc_msg msg = {.type = IPC_GET, .space = IPC_SHADOW, .participant = p->index, .base = want.base,
				      .size = want.size, .cursor = cursor};
		int fd = -1, rc = ipc_call(p->socket, &msg, -1, &fd);
		if (rc) /* no further one, or no supervisor */
			break;
		cursor = msg.cursor;
		rc = extent_adopt(p, msg.base, msg.size, fd);
		if (fd >= 0)
			close(fd);
		if (rc)
			return rc;
		uint64_t from = msg.base > want.base ? msg.base : want.base;
		uint64_t to = msg.base + msg.size < end ? msg.base + msg.size : end;
		covered += to > from ? to - from : 0;
	}
	return covered == want.size ? 0 : -ENOENT;
}

int shadow_value(struct participant *p, uint64_t canonical)
{
	p->values = 1;
	const uint8_t mark = GSAN_LINE_VALUE >> 24;
	return vmm_upload(p, gsan_shadow(canonical) + offsetof(struct gsan_line, flags) + 3, &mark, sizeof mark);
}

void shadow_share(CUdevice device)
{
	for (size_t i = 0; i < extents.count; i++) {
		const struct span *e = spans_at(&extents, i);
		vmm_access(device, e->base, e->size);
	}
}

uint32_t shadow_forget(uint32_t gone)
{
	return spans_forget(&extents, gone, GSAN_SHADOW_BASE, gsan_shadow(GSAN_DATA_BASE + GSAN_SLICE) - GSAN_SHADOW_BASE);
}

/* Alone in its process, or others may have its memory (vmm_history_end). */
int shadow_end(struct participant *p)
{
	for (size_t i = 0; i < extents.count; i++) {
		const struct extent *e = spans_at(&extents, i);
		if (e->handle && vmm_clear(p, e->at.base, e->at.size))
			return -EIO;
	}
	return aside_clear(p, (uint32_t)p->index, 0, GSAN_SLICE, 1);
}

int shadow_renew(struct participant *p, int idle)
{
	for (size_t i = 0; i < extents.count; i++) {
		const struct extent *e = spans_at(&extents, i);
		int rc = idle ? vmm_clear(p, e->at.base, e->at.size) : vmm_zero(p, e->at.base, e->at.size);
		if (rc && (idle || e->by == p || vmm_zero(e->by, e->at.base, e->at.size))) /* out of its reach, perhaps */
			return -EIO;
	}
	for (uint32_t left = atomic_load_explicit(&p->mapped, memory_order_relaxed); left; left &= left - 1)
		if (aside_clear(p, (uint32_t)__builtin_ctz(left), 0, GSAN_SLICE, idle))
			return -EIO;
	return 0;
}

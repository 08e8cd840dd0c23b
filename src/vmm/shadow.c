/* Line records: which pages of the shadow region are mapped here, own and peers'. One 2 MiB page of records serves 8 MiB
 * of data, so neighbouring allocations share pages; a page, once mapped, stays. Each own extent is one handle, which
 * peers can map; an extent of a peer is mapped once. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "ipc/ipc.h"
#include "vmm/inside.h"

struct extent {
	uint64_t base, size; /* shadow addresses */
	CUmemGenericAllocationHandle handle; /* own only */
	int published;
};
static struct extent *extents; /* sorted by base */
static size_t extent_count, extent_room;

static size_t extent_behind(uint64_t at) /* the first extent that ends behind `at` */
{
	size_t lo = 0, hi = extent_count;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (extents[mid].base + extents[mid].size <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int extent_add(const struct extent *e)
{
	if (extent_count == extent_room) {
		size_t room = extent_room ? extent_room * 2 : 64;
		struct extent *grown = realloc(extents, room * sizeof *grown);
		if (!grown)
			return -ENOMEM;
		extents = grown;
		extent_room = room;
	}
	size_t at = extent_behind(e->base);
	for (size_t i = extent_count; i > at; i--)
		extents[i] = extents[i - 1];
	extents[at] = *e;
	extent_count++;
	return 0;
}

/* The pages of line records for a canonical range. */
static struct arena_range shadow_pages(uint64_t base, uint64_t size)
{
	uint64_t first = gsan_shadow(base) & ~(uint64_t)(GSAN_PAGE - 1);
	uint64_t end = vmm_round(gsan_shadow(base + size - 1) + sizeof(struct gsan_line), GSAN_PAGE);
	return (struct arena_range){first, end - first};
}

static int shadow_map(struct participant *p, uint64_t at, uint64_t size)
{
	struct extent e = {.base = at, .size = size};
	if (vmm_back(p, at, size, &e.handle))
		return -ENOMEM;
	if (vmm_zero(p, at, size) || extent_add(&e)) {
		vmm_unback(at, size, e.handle);
		return -ENOMEM;
	}
	atomic_fetch_add_explicit(&p->job->rank[p->index].shadow_bytes, size, memory_order_relaxed);
	return 0;
}

int shadow_cover(struct participant *p, uint64_t base, uint64_t size)
{
	struct arena_range want = shadow_pages(base, size);
	uint64_t at = want.base, end = want.base + want.size;
	while (at < end) {
		size_t i = extent_behind(at);
		uint64_t until = i < extent_count && extents[i].base < end ? extents[i].base : end;
		if (i < extent_count && extents[i].base <= at) {
			at = extents[i].base + extents[i].size;
			continue;
		}
		if (shadow_map(p, at, until - at))
			return -ENOMEM;
		at = until;
	}
	return 0;
}

int shadow_clear(struct participant *p, uint64_t base, uint64_t size)
{
	uint64_t first = gsan_shadow(base), end = gsan_shadow(base + size - 1) + sizeof(struct gsan_line);
	return vmm_zero(p, first, end - first);
}

int shadow_publish(struct participant *p, uint64_t base, uint64_t size)
{
	struct arena_range want = shadow_pages(base, size);
	for (size_t i = extent_behind(want.base); i < extent_count && extents[i].base < want.base + want.size; i++) {
		struct ipc_msg msg = {.type = IPC_PUT, .space = IPC_SHADOW, .participant = p->index,
				      .base = extents[i].base, .size = extents[i].size};
		int fd, rc;
		if (extents[i].published)
			continue;
		if (vmm_export(extents[i].handle, &fd))
			return -EIO;
		rc = ipc_call(p->socket, &msg, fd, NULL);
		close(fd);
		if (rc)
			return rc;
		extents[i].published = 1;
	}
	return 0;
}

int shadow_import(struct participant *p, uint64_t base, uint64_t size)
{
	struct arena_range want = shadow_pages(base, size);
	uint64_t covered = 0;
	uint32_t cursor = 0;
	for (;;) {
		struct ipc_msg msg = {.type = IPC_GET, .space = IPC_SHADOW, .participant = p->index, .base = want.base,
				      .size = want.size, .cursor = cursor};
		int fd = -1, rc = ipc_call(p->socket, &msg, -1, &fd);
		if (rc)
			break;
		cursor = msg.cursor;
		size_t i = extent_behind(msg.base);
		int known = i < extent_count && extents[i].base <= msg.base;
		struct extent e = {.base = msg.base, .size = msg.size, .published = 1};
		if (!known && (vmm_adopt(p, e.base, e.size, fd) || extent_add(&e)))
			rc = -EIO;
		close(fd);
		if (rc)
			return rc;
		uint64_t from = msg.base > want.base ? msg.base : want.base;
		uint64_t to = msg.base + msg.size < want.base + want.size ? msg.base + msg.size : want.base + want.size;
		covered += to > from ? to - from : 0;
	}
	return covered == want.size ? 0 : -ENOENT;
}

int shadow_renew(struct participant *p)
{
	for (size_t i = 0; i < extent_count; i++)
		if (vmm_zero(p, extents[i].base, extents[i].size))
			return -EIO;
	return 0;
}

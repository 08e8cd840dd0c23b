#include "vmm/handle.h"

#include <errno.h>
#include <stdlib.h>

#include "ipc/ipc.h"

/* The driver may name one piece of memory by several values, and reuses a value that was released. */
struct name { struct span value; /* of size 1 */ struct handle *handle; uint32_t refs; };
static struct spans names = SPANS(struct name);
static struct spans views = SPANS(struct view);

struct handle *handle_find(CUmemGenericAllocationHandle value)
{
	const struct name *n = spans_find(&names, value);
	return n ? n->handle : NULL;
}

/* Canonical addresses whose memory is gone here, while others may have it (exported), or checks be of it. */
struct vacating { struct span at; int exported; struct freed freed; };
static struct spans vacating = SPANS(struct vacating);
#define VACATES 8u /* so many are asked about at once */

static int vacating_is_out(const struct participant *p, const struct vacating *v)
{
	struct ipc_msg msg = {.type = IPC_VACATE, .participant = p->index, .base = v->at.base, .size = v->at.size};
	return v->exported && ipc_call(p->socket, &msg, -1, NULL);
}

/* Those that nobody has any more, and no check is of, may be used again. */
static void handle_vacate_some(void)
{
	static size_t next; /* in turn: some may be held for long */
	struct freed_look l;
	if (!vacating.count)
		return;
	freed_look(&l, 0);
	for (unsigned asked = 0; vacating.count && asked < VACATES; asked++) {
		size_t i = next++ % vacating.count;
		struct vacating *v = spans_at(&vacating, i);
		struct participant *p = participant_of(v->at.base);
		struct span gone = v->at;
		if (!freed_over(&v->freed, &l) || vacating_is_out(p, v))
			continue;
		spans_remove(&vacating, i);
		if (!shadow_clear(p, gone.base, gone.size))
			arena_give(&p->slice, gone.base, vmm_round(gone.size, GSAN_PAGE));
	}
}

void handle_return(const struct participant *importer, uint64_t canonical)
{
	struct ipc_msg msg = {.type = IPC_RETURN, .participant = importer->index, .base = canonical};
	ipc_call(importer->socket, &msg, -1, NULL);
}

/* Frees what has neither name nor view. */
static void handle_drop(struct handle *h)
{
	struct vacating gone = {.at = {h->canonical, h->size}, .exported = h->exported};
	if (h->names || h->views)
		return;
	if (h->importer)
		handle_return(h->importer, h->canonical);
	freed_since(&gone.freed);
	if (!h->importer && !h->spent)
		spans_insert(&vacating, &gone);
	free(h);
}

static void name_remove(struct name *n)
{
	struct handle *h = n->handle;
	spans_remove(&names, spans_behind(&names, n->value.base));
	h->names--;
	handle_drop(h);
}

static int name_add(CUmemGenericAllocationHandle value, struct handle *h)
{
	struct name fresh = {{value, 1}, h, 1}, *n = spans_find(&names, value);
	if (n && n->handle == h) {
		n->refs++;
		return 0;
	}
	if (n) /* released where we did not see it */
		name_remove(n);
	int rc = spans_insert(&names, &fresh);
	h->names += !rc;
	return rc;
}

void handle_release(CUmemGenericAllocationHandle value)
{
	struct name *n = spans_find(&names, value);
	if (n && !--n->refs)
		name_remove(n);
}

static int handle_new(CUmemGenericAllocationHandle name, const struct handle *as)
{
	struct handle *h = malloc(sizeof *h);
	if (!h)
		return -ENOMEM;
	*h = *as;
	if (!name_add(name, h))
		return 0;
	free(h);
	return -ENOMEM;
}

int handle_add(struct participant *p, CUmemGenericAllocationHandle name, uint64_t size, const char *label)
{
	struct handle h = {.size = size};
	handle_vacate_some();
	if (arena_take(&p->slice, vmm_round(size, GSAN_PAGE), GSAN_PAGE, &h.canonical))
		return -ENOMEM;
	if (shadow_cover(p, h.canonical, size) || handle_new(name, &h)) {
		arena_give(&p->slice, h.canonical, vmm_round(size, GSAN_PAGE));
		return -ENOMEM;
	}
	handle_find(name)->alloc = vmm_announce(p, h.canonical, size, label);
	return 0;
}

int handle_import(struct participant *p, CUmemGenericAllocationHandle name, uint64_t canonical, uint64_t size,
		  uint32_t alloc)
{
	struct handle h = {.canonical = canonical, .size = size, .alloc = alloc, .importer = p}, *known = handle_find(name);
	if (known && known->canonical == canonical) { /* the driver knows it for what this process has already */
		int rc = name_add(name, known);
		if (!rc)
			handle_return(p, canonical); /* it is kept until it is dropped */
		return rc;
	}
	int own = participant_of(canonical) != NULL, rc = own ? 0 : -EIO;
	for (int place = 0; !own && participant_at_place(place); place++) /* it may leave, and its records lead there */
		if (!vmm_tables(participant_at_place(place), gsan_owner(canonical)))
			rc = 0;
	if (!rc && !own)
		rc = shadow_import(p, canonical, size);
	return rc ? rc : handle_new(name, &h);
}

int handle_retain(CUmemGenericAllocationHandle name, uint64_t at)
{
	const struct view *v = spans_find(&views, at);
	return v && v->handle ? name_add(name, v->handle) : -ENOENT;
}

/* The view table's entries for [at, at + size): 0, or consecutive canonical pages. */
static int view_table_write(struct participant *p, uint64_t at, uint64_t size, uint64_t canonical)
{
	uint64_t pages = vmm_round(size, GSAN_PAGE) / GSAN_PAGE, first = (at - GSAN_VIEW_BASE) / GSAN_PAGE;
	uint32_t *entry = calloc(pages, sizeof *entry);
	if (!entry)
		return -ENOMEM;
	for (uint64_t i = 0; canonical && i < pages; i++)
		entry[i] = (uint32_t)((canonical - GSAN_DATA_BASE) / GSAN_PAGE + i + 1);
	int rc = vmm_upload(p, p->view_table + first * sizeof *entry, entry, pages * sizeof *entry);
	free(entry);
	return rc;
}

int view_add(struct participant *p, struct handle *h, uint64_t at, uint64_t size, uint64_t offset)
{
	struct view v = {{at, size}, h, h ? h->canonical + offset : 0};
	if (h && ((at | offset) % GSAN_PAGE || offset > h->size || size > h->size - offset))
		return -EINVAL; /* the table has whole pages only, and the driver would not have it either */
	view_remove(p, at, size); /* the driver would have refused: an unmap that we did not see */
	int rc = spans_insert(&views, &v);
	if (rc || !h)
		return rc;
	h->views++;
	if (!view_table_write(p, at, size, h->canonical + offset))
		return 0;
	view_remove(p, at, size);
	return -EIO;
}

void view_remove(struct participant *p, uint64_t at, uint64_t size)
{
	for (size_t i = spans_behind(&views, at); i < views.count;) {
		struct view v = *(struct view *)spans_at(&views, i);
		if (v.at.base >= at + size)
			break;
		spans_remove(&views, i);
		if (!v.handle)
			continue;
		if (view_table_write(p, v.at.base, v.at.size, 0))
			v.handle->spent = 1; /* the table still leads to it */
		v.handle->views--;
		handle_drop(v.handle);
	}
}

uint64_t view_canonical(uint64_t at)
{
	const struct view *v = spans_find(&views, at);
	return v && v->handle ? v->canonical + (at - v->at.base) : 0;
}

int view_within(uint64_t at, uint64_t size)
{
	size_t i = spans_behind(&views, at);
	return i < views.count && ((struct view *)spans_at(&views, i))->at.base < at + size;
}

uint32_t handle_owners(void)
{
	uint32_t owners = 0;
	for (size_t i = 0; i < names.count; i++)
		owners |= 1u << gsan_owner(((struct name *)spans_at(&names, i))->handle->canonical);
	for (size_t i = 0; i < views.count; i++) {
		const struct view *v = spans_at(&views, i);
		owners |= v->handle ? 1u << gsan_owner(v->handle->canonical) : 0;
	}
	return owners;
}

#include "vmm/handle.h"

#include <errno.h>
#include <stdlib.h>

static struct handle *handles;
static struct view *views;

struct handle *handle_find(CUmemGenericAllocationHandle real_handle)
{
	for (struct handle *h = handles; h; h = h->next)
		if (h->real == real_handle && h->refs)
			return h;
	return NULL;
}

struct handle *handle_of_view(uint64_t at)
{
	for (struct view *v = views; v; v = v->next)
		if (v->at <= at && at < v->at + v->size)
			return v->handle;
	return NULL;
}

static struct handle *handle_new(CUmemGenericAllocationHandle real_handle, uint64_t canonical, uint64_t size)
{
	struct handle *h = calloc(1, sizeof *h);
	if (!h)
		return NULL;
	*h = (struct handle){.real = real_handle, .canonical = canonical, .size = size, .refs = 1, .next = handles};
	handles = h;
	return h;
}

int handle_add(struct participant *p, CUmemGenericAllocationHandle real_handle, uint64_t size, const char *label)
{
	uint64_t canonical;
	struct handle *h = NULL;
	if (arena_take(&vmm_slice, vmm_round(size, GSAN_PAGE), GSAN_PAGE, &canonical))
		return -ENOMEM;
	if (!shadow_cover(p, canonical, size))
		h = handle_new(real_handle, canonical, size);
	if (!h) {
		arena_give(&vmm_slice, canonical, vmm_round(size, GSAN_PAGE));
		return -ENOMEM;
	}
	h->alloc = vmm_announce(p, canonical, size, label);
	return 0;
}

int handle_import(struct participant *p, CUmemGenericAllocationHandle real_handle, uint64_t canonical, uint64_t size,
		  uint32_t alloc)
{
	int own = gsan_owner(canonical) == (uint32_t)p->index;
	int rc = own ? 0 : shadow_import(p, canonical, size);
	struct handle *h = rc ? NULL : handle_new(real_handle, canonical, size);
	if (!h)
		return rc ? rc : -ENOMEM;
	h->imported = 1;
	h->alloc = alloc;
	return 0;
}

static void handle_drop(struct participant *p, struct handle *h)
{
	struct handle **link = &handles;
	if (h->refs || h->views)
		return;
	while (*link != h)
		link = &(*link)->next;
	*link = h->next;
	if (!h->imported && !shadow_clear(p, h->canonical, h->size))
		arena_give(&vmm_slice, h->canonical, vmm_round(h->size, GSAN_PAGE));
	free(h);
}

void handle_unref(struct participant *p, struct handle *h)
{
	h->refs--;
	handle_drop(p, h);
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
	struct view *v = calloc(1, sizeof *v);
	int rc = v ? view_table_write(p, at, size, h->canonical + offset) : -ENOMEM;
	if (rc) {
		free(v);
		return rc;
	}
	*v = (struct view){at, size, h, views};
	views = v;
	h->views++;
	return 0;
}

void view_remove(struct participant *p, uint64_t at, uint64_t size)
{
	struct view **link = &views;
	while (*link) {
		struct view *v = *link;
		if (v->at < at || v->at >= at + size) {
			link = &v->next;
			continue;
		}
		view_table_write(p, v->at, v->size, 0);
		*link = v->next;
		v->handle->views--;
		handle_drop(p, v->handle);
		free(v);
	}
}

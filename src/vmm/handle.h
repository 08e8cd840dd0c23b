/* The program's own virtual memory management: its handles, each with a canonical address that names its bytes in every
 * rank, and its views, the places where it maps them. */
#ifndef GSAN_VMM_HANDLE_H
#define GSAN_VMM_HANDLE_H

#include "vmm/inside.h"

struct handle {
	CUmemGenericAllocationHandle real;
	uint64_t canonical, size;
	uint32_t alloc;
	uint32_t refs;   /* cuMemCreate, import and retain, less cuMemRelease */
	uint32_t views;  /* mappings that hold it */
	int imported;    /* the canonical range is a peer's */
	struct handle *next;
};
struct view { uint64_t at, size; struct handle *handle; struct view *next; };

/* All with vmm_lock held. */
struct handle *handle_find(CUmemGenericAllocationHandle real);
struct handle *handle_of_view(uint64_t at);
int handle_add(struct participant *p, CUmemGenericAllocationHandle real, uint64_t size, const char *label);
int handle_import(struct participant *p, CUmemGenericAllocationHandle real, uint64_t canonical, uint64_t size, uint32_t alloc);
void handle_unref(struct participant *p, struct handle *h);
int view_add(struct participant *p, struct handle *h, uint64_t at, uint64_t size, uint64_t offset); /* 0 or -errno */
void view_remove(struct participant *p, uint64_t at, uint64_t size);

#endif

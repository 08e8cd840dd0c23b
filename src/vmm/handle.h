/* The program's own virtual memory management: its memory, each piece with a canonical address that names its bytes in
 * every rank; the names (the driver's handles) that the program has for it; its views, the places where it maps it. */
#ifndef GSAN_VMM_HANDLE_H
#define GSAN_VMM_HANDLE_H

#include "vmm/inside.h"
#include "vmm/span.h"

struct handle {
	uint64_t canonical, size;
	uint32_t alloc;
	uint32_t names;  /* what cuMemCreate, import and retain gave and cuMemRelease has not taken yet */
	uint32_t views;  /* mappings that hold it */
	struct participant *importer; /* NULL: this process has made it; else of this process, for which the supervisor counts one import of it */
	uint8_t exported; /* others may hold the memory */
	uint8_t spent;    /* the canonical addresses may never be used again */
};
struct view { struct span at; struct handle *handle; uint64_t canonical; }; /* handle NULL: memory that is not checked */

/* All with vmm_lock held. Those that return int: 0 or -errno, then nothing changed. */
struct handle *handle_find(CUmemGenericAllocationHandle name);
int handle_add(struct participant *p, CUmemGenericAllocationHandle name, uint64_t size, const char *label);
int handle_import(struct participant *p, CUmemGenericAllocationHandle name, uint64_t canonical, uint64_t size, uint32_t alloc);
int handle_retain(CUmemGenericAllocationHandle name, uint64_t at); /* of the view there */
void handle_return(const struct participant *importer, uint64_t canonical); /* one import of it is over, or came to nothing */
void handle_release(CUmemGenericAllocationHandle name); /* unknown: nothing to do */
int view_add(struct participant *p, struct handle *h, uint64_t at, uint64_t size, uint64_t offset);
void view_remove(struct participant *p, uint64_t at, uint64_t size);
uint64_t view_canonical(uint64_t at); /* 0: nothing checked is mapped there */
uint32_t handle_owners(void); /* whose memory is known here, a bit each */
int view_within(uint64_t at, uint64_t size); /* something is mapped there */

#endif

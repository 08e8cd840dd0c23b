/* A driver without a device behind `real`: it books what it gave out, and refuses what the real one refuses. */
#ifndef TEST_VMM_FAKE_H
#define TEST_VMM_FAKE_H

#include <cuda.h>
#include <stdint.h>

#define MIB (1ull << 20)

struct fake {
	int calls, fail_at;      /* the fail_at-th call fails; 0: none */
	const char *failed;      /* that call's name */
	int rename;              /* cuMemRetainAllocationHandle gives new values */
	int alike;               /* cuMemImportFromShareableHandle gives the value that the memory has */
	int refuse_create;       /* cuMemCreate says: out of memory; 2: until something is unmapped */
	int shut;                /* everything says: deinitialised */
	CUcontext gone;          /* it was destroyed */
	CUstream captured;       /* a stream that is being captured */
	int unclonable;          /* it was asked to free something: of its graph there are no clones any more */
	int broken;              /* something broke the capture */
	int locked;              /* waits with vmm_lock held */
	int wild;                /* copies to where nothing is mapped */
	int waits;               /* calls that waited for the device */
	int opens;               /* handles of CUDA IPC that it was given */
	CUresult event;          /* answer of cuEventQuery */
	int event_after;         /* it is success from its so many-th question on; 0: never */
	int asked;               /* so often that was asked */
	uint32_t access;         /* devices that any memory was made accessible to, a bit each */
	/* what is given out now */
	int retained, physicals, mappings, reservations, streams, events, pinned, registered, plain;
};
extern struct fake fake;
extern CUcontext fake_context[4]; /* the primary ones of devices 0 and 1, and two more of device 0 */
extern CUmemoryPool fake_pool[2]; /* their default pools, which are their pools now */

void fake_install(void);
int fake_memory(uint64_t size);                  /* a descriptor of memory that another process made */
CUmemFabricHandle fake_fabric(int memory);       /* the name of that, good while the descriptor is open */
uint64_t fake_mapped(uint64_t at, uint64_t end); /* bytes mapped in that range */
uint32_t fake_view(uint64_t at);                 /* the view table's entry for an address */
void fake_mark(uint64_t at);                     /* leaves a mark in device memory … */
int fake_marked(void);                           /* … and how many of them nothing has overwritten */

#endif

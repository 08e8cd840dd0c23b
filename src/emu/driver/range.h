/* Memory that the driver knows, as sorted ranges: what an address belongs to, for pointer queries and for checking
 * copies. Device addresses are host addresses. Plain allocations come from one fixed region, with an inaccessible page
 * between any two: so they are the same in every run and process, and running off an end is a fault. */
#ifndef GSAN_EMU_DRIVER_RANGE_H
#define GSAN_EMU_DRIVER_RANGE_H

#include "emu/driver/process.h"

enum emu_range_kind { EMU_DEVICE, EMU_MANAGED, EMU_HOST, EMU_REGISTERED, EMU_VARIABLE, EMU_MAPPED, EMU_RESERVED, EMU_OPENED };

struct emu_physical;
struct emu_range {
	uint64_t base, size;
	enum emu_range_kind kind;
	CUdevice device;
	CUcontext context;
	uint64_t id;                   /* CU_POINTER_ATTRIBUTE_BUFFER_ID */
	unsigned flags;                /* of cuMemHostAlloc or cuMemHostRegister */
	CUmemoryPool pool;             /* stream-ordered memory */
	struct emu_physical *physical; /* EMU_MAPPED */
	unsigned access[EMU_DEVICES_MAX]; /* EMU_MAPPED: CUmemAccess_flags */
	int shared, fd;                /* CUDA IPC: its bytes are those of a memfd */
	uint64_t number;               /* EMU_OPENED: as the trace names it, in every process */
};
struct emu_ranges { struct emu_range *range; size_t count, room; };

extern struct emu_ranges emu_known;    /* every kind but reservations */
extern struct emu_ranges emu_reserved; /* cuMemAddressReserve */

struct emu_range *emu_range_find(const struct emu_ranges *in, uint64_t address); /* the one that holds it, or NULL */
struct emu_range *emu_range_add(struct emu_ranges *to, const struct emu_range *range); /* NULL: out of memory */
void emu_range_remove(struct emu_ranges *from, struct emu_range *range);
int emu_range_covers(uint64_t address, uint64_t size); /* accessible memory of ours, without a gap */

/* New memory of one of the first five kinds. */
CUresult emu_range_alloc(CUcontext context, enum emu_range_kind kind, uint64_t size, struct emu_range **range);
void emu_range_free(struct emu_range *range);
void emu_range_end(CUcontext context); /* frees what it allocated, and registered */
int emu_range_map(struct emu_range *range); /* a shared one: maps it, sets its base and adds it. 0 or -1 */
int emu_range_ipc_capable(const struct emu_range *range); /* cuIpcGetMemHandle takes it */
/* Zeroes memory of ours within one range by giving its pages back: worth it from EMU_RANGE_MUCH bytes on. 0: not done. */
#define EMU_RANGE_MUCH (64ull << 10)
int emu_range_clear(uint64_t address, uint64_t size);
/* size bytes of inaccessible addresses, at the hint if it is free, else from the region of reservations. 0: none. */
uint64_t emu_range_reserve(uint64_t hint, uint64_t size, uint64_t align);

#endif

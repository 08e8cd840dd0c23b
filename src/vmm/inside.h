/* What the files of this folder share. */
#ifndef GSAN_VMM_INSIDE_H
#define GSAN_VMM_INSIDE_H

#include <pthread.h>

#include "cuda/real.h"
#include "vmm/arena.h"
#include "vmm/span.h"
#include "vmm/vmm.h"

#define VMM_ZEROS (4u << 20)

extern pthread_mutex_t vmm_lock;
/* Devices of this process, a bit each, that work or may touch the others' memory. All may use what is mapped here, as far as they can: no
 * pages of ours are a device's own, as cuMemAlloc's are, which any context may copy. */
extern _Atomic uint32_t vmm_devices;
void vmm_share(CUdevice device); /* is one of them from now on */
extern struct arena vmm_views; /* free pages of the view region */

/* Driver calls of our own: the participant's context is current, and a capture is not disturbed (DESIGN §3).
 * 0, or -EIO: the driver refuses, as at its end; then there is nothing to end. */
struct vmm_section { CUstreamCaptureMode mode; int relaxed, pushed; };
int vmm_begin(struct participant *p, struct vmm_section *s);
void vmm_relaxed(struct vmm_section *s); /* the same in the current context */
void vmm_end(const struct vmm_section *s);
/* The same with vmm_lock held, which all that follows but vmm_zero(), vmm_clear(), vmm_upload() and vmm_note() wants. */
int vmm_enter(struct participant *p, struct vmm_section *s);
void vmm_leave(const struct vmm_section *s);

/* The process's first, whatever context is current; NULL: none. Of another GPU's memory its owner: participant_of(). */
struct participant *participant_started(void);
/* For calls of ours that any may make: the one whose context is current, else the first. NULL: none. */
struct participant *participant_any(void);
/* The first, or one that joined the job but could not start: it still imports what peers export. */
struct participant *participant_joined(void);
struct participant *participant_number(uint32_t index); /* of this process, by its number in the job. NULL: nobody */

/* Writes zeros by the copy engine, which no kernel can hold up. 0 or -EIO. */
int vmm_zero(struct participant *p, uint64_t at, uint64_t size);
/* The same by a kernel, some fifty times as fast: while nothing runs. */
int vmm_clear(struct participant *p, uint64_t at, uint64_t size);
int vmm_upload(struct participant *p, uint64_t at, const void *from, uint64_t size);

/* Device memory of our own, exportable, mapped and accessible at `at` (a multiple of GSAN_PAGE). 0 or -ENOMEM. */
int vmm_back(struct participant *p, uint64_t at, uint64_t size, CUmemGenericAllocationHandle *handle);
int vmm_unback(uint64_t at, uint64_t size, CUmemGenericAllocationHandle handle); /* -EIO: the pages are still there */
/* Maps what another process exported. 0 or -EIO. */
int vmm_adopt(struct participant *p, uint64_t at, uint64_t size, int fd);
int vmm_access(int device, uint64_t at, uint64_t size); /* lets one more device use what is mapped. 0 or -EIO */
int vmm_tables(struct participant *p, uint32_t peer); /* maps its tables, unless they are. 0 or -EIO */
int vmm_export(CUmemGenericAllocationHandle handle, int *fd); /* the caller closes it. 0 or -EIO */
/* Lets peers map it (ipc/proto.h: IPC_TABLES, IPC_SHADOW). 0 or -errno. */
int vmm_offer(struct participant *p, uint32_t space, uint64_t at, uint64_t size, CUmemGenericAllocationHandle handle);
static inline uint64_t vmm_tables_base(uint32_t participant) { return GSAN_TABLE_BASE + (uint64_t)participant * GSAN_TABLE_SLICE; }

/* Waits as the plain cuMemFree of a piece of that size does. Not with vmm_lock held. */
CUresult vmm_free_waits(struct participant *p, size_t piece);

uint64_t vmm_round(uint64_t size, uint64_t unit);
void vmm_note(struct participant *p, const char *key, const char *name, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
uint32_t vmm_announce(struct participant *p, uint64_t base, uint64_t size, const char *label); /* its number */

/* shadow.c: line records. cover: mapped, zeroed where new, for canonical [base, base + size). 0 or -ENOMEM. */
int shadow_cover(struct participant *p, uint64_t base, uint64_t size);
int shadow_clear(struct participant *p, uint64_t base, uint64_t size);  /* of what nobody uses, and no check is of any more. 0 or -EIO */
int shadow_publish(struct participant *p, uint64_t base, uint64_t size); /* lets peers map it. 0 or -errno */
int shadow_import(struct participant *p, uint64_t base, uint64_t size);  /* a peer's. 0 or -errno */
int shadow_renew(struct participant *p, int idle); /* all that are mapped here, by a kernel if the GPU is idle. 0 or -EIO */
int shadow_end(struct participant *p);   /* of its own memory, while nothing runs. 0 or -EIO */
int shadow_value(struct participant *p, uint64_t canonical); /* sets GSAN_LINE_VALUE. 0 or -EIO */
void shadow_share(CUdevice device);      /* for vmm_share() */

/* What is freed, until no check is of it any more: freed_since() when that is so, freed_look() at times, which lets vmm_lock go, and freed_over() by
 * what that saw. freed_wait(): looks until nothing that is freed by now has checks, not for long; not with vmm_lock held. 1: it has none. */
struct freed { uint64_t number, checks; };
struct freed_look { uint64_t last; struct vmm_checks checks; };
void freed_since(struct freed *f);
void freed_look(struct freed_look *l, int wait);
int freed_over(struct freed *f, const struct freed_look *l);
int freed_wait(void);

/* detail.c: maps what participant q has behind its tables, as far as it is not mapped. 0 or -errno. */
int detail_adopt(struct participant *p, uint32_t q);
/* The tables of q, or what lies behind them: mapped here by its owner, by another participant, or now. 0 or -errno. */
int tables_map(struct participant *p, uint32_t q, uint64_t base, uint64_t size);

/* Of participants that have left, a bit each: unmaps their tables, or their line records. Bits of those of which nothing is mapped any more. */
uint32_t tables_forget(uint32_t gone);
uint32_t shadow_forget(uint32_t gone);
uint32_t spans_forget(struct spans *mapped, uint32_t gone, uint64_t base, uint64_t slice); /* each has its slice, from `base` on */

uint64_t range_canonical(uint64_t at); /* range.c; 0: no range is there */
uint64_t vmm_canonical(uint64_t at);   /* value.c: of a block, a view or a range; 0: none is there */
void ranges_context_ended(CUcontext context);
void ranges_renew(struct participant *p); /* tells the device what it could not be told */

#endif

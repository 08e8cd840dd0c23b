/* vmm: the program's device memory. Every allocation lands in the arena (layout.h) with its shadow mapped beside it;
 * handles that ranks exchange are virtualised, so that a peer's mapping finds the owner's shadow. Three layers:
 * arena.c hands out addresses, shadow.c maps line records, freed.c says when old ones may go, block.c and handle.c are the program's two kinds of memory
 * (cuMemAlloc, and its own cuMemCreate/cuMemMap), lent.c is CUDA IPC; *_hooks.c are the driver's functions on top of them. Beside them
 * participant.c starts it all, once for each GPU, pool.c says which memory pools blocks stand for, range.c is for what lies outside the arena (module variables, what hosts use, too),
 * forget.c gives up what is of processes that left, value.c for what streams write, label.c for what the program calls its memory, workspace.c for cooperative grids, detail.c what lies
 * behind the tables, memory.c makes the driver calls of our own, span.c is their sorted array.
 *
 * One lock guards all of it (vmm_lock), and is never held across a call that can wait for the program's kernels. */
#ifndef GSAN_VMM_VMM_H
#define GSAN_VMM_VMM_H

#include <cuda.h>

#include "cuda/hooks.h"
#include "device/runtime.h"
#include "ipc/job.h"
#include "vmm/arena.h"

/* This process on one GPU, as the job knows it. */
struct participant {
	int index;              /* number in the job */
	int place;              /* number in the process, in the order of their start */
	int socket;             /* to the supervisor */
	struct job *job;
	CUdevice device;
	/* Ours in a context: where it started, and the device's primary one as soon as the program uses another. Threads that see the old
	 * ones meanwhile may use them. */
	_Atomic(CUcontext) context;
	_Atomic(CUstream) stream;  /* our copies: non-blocking */
	_Atomic(void *) zeros;     /* pinned, VMM_ZEROS bytes */
	_Atomic uint64_t ring;     /* device address of its finding ring */
	_Atomic uint64_t writers;  /* device address of the job's struct gsan_writers, or 0 */
	uint64_t view_table;    /* device address of u32[GSAN_VIEW_PAGES], the same for all of the process */
	struct arena slice;     /* free pages of its canonical slice, */
	struct arena small;     /* free parts of chunks for small blocks, */
	struct arena variables; /* canonical addresses with shadow, of no module variable now, */
	struct arena hosts;     /* and those for memory that hosts use, too: under the section, all four */
	uint64_t hosts_bytes;   /* of these, given out */
	int tells;              /* the device knows that there is managed memory; likewise */
	_Atomic uint32_t mapped;  /* whose tables it may use */
	_Atomic uint32_t refused; /* whose it cannot */
	_Atomic uint32_t looked;  /* 1 + the job's `changes` at which nobody's were missing, 0 = never */
	uint32_t allocations;     /* numbers given out */
	int exported;             /* others may have its memory, and kernels of theirs use its tables; under the section */
	_Atomic int several;      /* the program works in another context of the device, too */
	_Atomic int homeless;     /* the context that ours lay in has ended: until it is set up in another one calls go to the driver as they are */
	uint64_t detail_open;     /* bytes behind its tables that kernels may use; under the section */
	int values;               /* streams may write values, whose marks are in line records; under the section */
	_Atomic uint64_t workspace; /* of cooperative grids; 0: none yet, or none to be had */
	_Atomic int workspace_tried;
};
#define VMM_GPUS 8 /* of a process are checked, with 32 devices to choose from; what runs on others is not */

/* The participant of the calling thread's current context, started if need be; NULL: this context runs unchecked. Cheap. */
struct participant *participant_current(void);
/* The same for a launch of what was launched before: where the process sees one GPU the driver is not asked, and a thread without a
 * context learns from its launch that it has none. */
struct participant *participant_launching(void);
/* Makes the context of what is ours current, for as long as it is not popped; -EIO: it has ended (drivers have died of being asked for one
 * that has), or the driver refuses. */
int participant_push(struct participant *p);
/* The process's first while the current context is on a GPU that runs unchecked; else NULL. */
struct participant *participant_elsewhere(void);
int participant_several(void); /* the process has started, and sees several GPUs */
int participant_uses_several(void); /* it has used several by now, checked or not */
/* Of this process: at that place, on that device, whose slice holds that canonical address. NULL: nobody, or not yet. */
struct participant *participant_at_place(int place);
struct participant *participant_on(CUdevice device);
struct participant *participant_of(uint64_t canonical);

/* How far those kernels of src/driver are that may leave records of what the program is done with, in the order in which they are begun: the first
 * `over` of them are. Of what was freed before they were looked at no other than the first `begun` are; 0: that is not known this time. */
struct vmm_checks { uint64_t begun, over; };
/* Set by src/driver. It asks the device: never with vmm_lock held. wait: for a moment, for who asks again. */
extern void (*vmm_look)(struct vmm_checks *checks, int wait);

/* Memory that streams gave back stays mapped until a host has waited for everything, or is short (block.c). The newest such free of which that is
 * not known yet, or 0; and that a host has waited for all that was enqueued when it was asked for. Cheap. */
uint64_t vmm_lingers(void);
void vmm_waited(uint64_t newest);

/* Has an address of the program a line record, and do hosts use it, too? Views of what is not checked count as ours. */
enum vmm_checked { VMM_UNCHECKED, VMM_OURS, VMM_HOSTS };
enum vmm_checked vmm_checked(uint64_t at);
uint32_t vmm_mapped(struct participant *p); /* bit per participant; maps the tables of newcomers */
uint64_t vmm_view_table(struct participant *p);
uint64_t vmm_ring(struct participant *p);
uint64_t vmm_writers(struct participant *p);
/* Empties every line record mapped here, by copies, while kernels may run. 0 or -EIO. */
int vmm_renew(struct participant *p);
/* The same some fifty times as fast, while nothing of this participant runs. -EBUSY: another one is on its GPU, whose kernels may. */
int vmm_renew_idle(struct participant *p);
int vmm_several_contexts(struct participant *p); /* does the program work in more than one, on this device? */
/* Empties what is much used (device/runtime.h), unless others may use it. Nothing of this participant may run. 1: it did. */
int vmm_history_end(struct participant *p, const struct gsan_history *used);

/* Places are short, and of some whose processes have left this one has something (forget.c). Cheap. */
int vmm_may_forget(const struct participant *p);
/* Gives up what it has of them but for memory that the program still has, and all history. Nothing of this process may run, nor be launched
 * meanwhile. 1: it did. */
int vmm_forget(struct participant *p);

/* There is little detail left (device/runtime.h): gets more, or opens what the others have mapped by now. Nothing of it need be over. */
void vmm_detail_grow(struct participant *p);

/* Module variables of `owner` (a module or library), which lie outside the arena: checked from here on, until dropped. */
void vmm_variable(struct participant *p, uint64_t at, uint64_t size, const char *name, const void *owner);
void vmm_variables_drop(struct participant *p, const void *owner);
/* Memory that hosts use, too, of that device address: checked from here on. Of `owner`, with whose variables it is dropped, or NULL. 0 or -errno:
 * it is not checked. */
int vmm_hosts(uint64_t at, uint64_t size, const char *name, const void *owner, int managed);
/* What begins there, before the driver frees it, after which another thread may have it; 0: nothing that is checked. Then what has that number is
 * dropped. */
uint64_t vmm_hosts_number(uint64_t start);
void vmm_hosts_drop(uint64_t start, uint64_t number);

/* The canonical address of what lies at `at`, a value that a stream is about to wait for, or `written` by one: of this the device knows from here on.
 * 0: it lies in memory that hosts may read, too. */
uint64_t vmm_value(struct participant *p, uint64_t at, int written);

/* What findings call that memory from here on. 0; -ENOENT: it is not one piece of this process's own checked memory; -ENOSPC. */
#define VMM_LABEL_MAX 200 /* bytes */
int vmm_label(uint64_t at, uint64_t size, const char *name);

/* Memory with shadow by which the grids of a cooperative kernel on that stream slot, not a shared one, may synchronise: zeros at
 * first, and whatever such a grid left. Asked in the current context; 0: there is none. */
uint64_t vmm_workspace(struct participant *p, uint32_t slot);

/* A context has ended: what the program allocated there is free, and what of ours lay there is set up again in the next one that it uses on that GPU, ... */
void vmm_context_ended(CUcontext context);
void vmm_context_began(CUcontext context, CUdevice device); /* ... at the latest when a call looks at it, or now, of the primary one */
/* What a call of the program's has returned: with some errors its context is lost, and then allocations fail as in a plain run. */
void vmm_result(CUresult rc);
/* The bodies of hooks: those that cuda/hooks.h declares, and those that bodies in src/driver call. */
CUresult vmm_cuMemFree_v2(CUdeviceptr at);
CUresult vmm_cuMemFreeAsync(CUdeviceptr at, CUstream stream);
uint64_t vmm_block_size(CUdeviceptr at); /* of the program's block that starts there, as it was rounded; 0: there is none */
CUresult vmm_cuIpcCloseMemHandle(CUdeviceptr at, int *waited); /* for the device, as cuMemFree does: 1 */

#endif

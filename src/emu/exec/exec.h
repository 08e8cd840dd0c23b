/* emu/exec: the part of the emulated device that executes PTX. It knows modules, grids and memory, but no driver API,
 * no streams and no processes: src/emu/driver calls it. Device addresses are host addresses of this process. Nothing
 * here knows GSan: it executes whatever PTX it is given. */
#ifndef GSAN_EMU_EXEC_H
#define GSAN_EMU_EXEC_H

#include <stddef.h>
#include <stdint.h>

struct emu_module;
struct emu_kernel;
struct emu_grid;

enum emu_fault { EMU_FAILED, EMU_ILLEGAL_ADDRESS, EMU_ILLEGAL_INSTRUCTION, EMU_ASSERTED };
struct emu_error {
	char text[640];           /* says instruction, kernel and line */
	enum emu_fault fault;     /* of a grid that ended in EMU_FAULT */
};

/* How the executor asks for memory of module variables (.global, .const): zeroed, aligned, freed with the module. */
struct emu_memory {
	void *context;
	void *(*alloc)(void *context, size_t size, size_t align);
	void (*release)(void *context, void *at, size_t size);
};

int emu_module_load(const char *ptx, size_t size, const struct emu_memory *memory, struct emu_module **module,
		    struct emu_error *error);
void emu_module_unload(struct emu_module *module);
size_t emu_module_kernels(const struct emu_module *module);
struct emu_kernel *emu_module_kernel(const struct emu_module *module, size_t index);
struct emu_kernel *emu_module_find(const struct emu_module *module, const char *name);
int emu_module_global(const struct emu_module *module, const char *name, void **at, size_t *size); /* -ENOENT */

const char *emu_kernel_name(const struct emu_kernel *kernel);
struct emu_kernel_info {
	uint32_t params;          /* number of parameters */
	uint32_t param_bytes;     /* of the parameter buffer */
	uint32_t shared_bytes;    /* static */
	uint32_t max_threads;     /* per block */
	uint32_t local_bytes;
};
void emu_kernel_info(const struct emu_kernel *kernel, struct emu_kernel_info *info);
uint64_t emu_kernel_digest(const struct emu_kernel *kernel); /* of the program's operations in it, once it was launched */
int emu_kernel_param(const struct emu_kernel *kernel, uint32_t index, uint32_t *offset, uint32_t *size); /* -EINVAL */

/* What the executor must know of, and tell about, the program's own operations, which it finds in the order in which they
 * happen. */
struct emu_access {
	uint64_t cta;             /* linear index */
	uint32_t thread, line;    /* linear thread; of .loc, 0 = none */
	const char *op, *sem, *scope; /* as in the trace's text: docs/emulated-device.md */
	uint64_t address;
	uint32_t bytes, elements; /* all; of a vector, otherwise 1 */
	uint8_t reads, writes;
	uint64_t read, wrote;     /* the first 8 bytes */
};
enum emu_barrier_event {
	EMU_ARRIVE,               /* lanes of a warp arrive */
	EMU_PHASE,                /* all that it waits for have: it is complete, and begins anew */
	EMU_PASS,                 /* lanes go on behind the phase that was complete last */
	EMU_INIT,                 /* of an mbarrier: made, or no more */
};
struct emu_barrier {
	uint64_t cta;
	uint32_t warp, lanes, line; /* EMU_ARRIVE, EMU_PASS */
	const char *kind, *how;   /* as in the trace's text */
	uint64_t id;              /* its number; of an mbarrier its offset in shared memory */
	uint32_t count;           /* threads, or arrivals, that a phase waits for; 0: all threads of the CTA */
};
struct emu_trace {
	const char *suffix;       /* of the kernels that are rewritten copies of others in their module; NULL: there are none */
	int tells;                /* the functions below are called */
	void (*access)(uint64_t launch, const struct emu_access *a);
	void (*fence)(uint64_t launch, const struct emu_access *a); /* no address */
	void (*shared)(uint64_t launch, const struct emu_access *a); /* a strong access to shared memory: what it orders, nobody follows */
	void (*barrier)(uint64_t launch, enum emu_barrier_event event, const struct emu_barrier *b);
	void (*exit)(uint64_t launch, uint64_t cta);
};

/* What launches cost, counted where that is asked for: by the function in which an instruction stands, and whose memory it
 * accesses. The functions of a kernel that are the program's, its copies by a rewriter and what that put in them included, are
 * part 0. */
#define EMU_PARTS 16
struct emu_span { uint64_t low, high; };
struct emu_stats {
	const char *suffix;       /* as in emu_trace */
	unsigned (*part)(const char *name, size_t length); /* of any other function: below EMU_PARTS */
	const struct emu_span *ours; /* addresses that are not the program's */
	size_t spans;
};
struct emu_traffic {              /* accesses to global memory, generic addresses included */
	uint64_t accesses, bytes; /* of all lanes; an RMW's bytes count once */
	uint64_t sectors;         /* of 32 bytes; one counts once per warp instruction */
};
struct emu_count {
	uint64_t instructions;    /* of warps: what lanes at one place execute together is one */
	struct emu_traffic program, ours;
};

struct emu_launch {
	uint32_t grid[3], block[3], cluster[3];
	uint32_t dynamic_shared;
	const void *params;       /* param_bytes, copied */
	uint32_t sms;             /* number of SMs: CTA c of the grid reports %smid = place % sms */
	uint32_t resident;        /* CTAs resident at once; further ones start when one ends */
	const struct emu_trace *trace; /* NULL: none. The same for all launches of a process */
	const struct emu_stats *stats; /* likewise */
	int (*known)(uint64_t address, uint64_t size); /* the device may access it; NULL: all */
	uint64_t weak;            /* seed of what memory does late or early: weak.h; 0: it is sequentially consistent */
};
int emu_grid_new(struct emu_kernel *kernel, const struct emu_launch *launch, struct emu_grid **grid, struct emu_error *error);
enum emu_state { EMU_RUNNING, EMU_DONE, EMU_FAULT };
/* Executes about `steps` warp instructions. `random` is the scheduler's state (a 64-bit seed, updated): which warp
 * runs next, and for how long, depends on it alone; every runnable warp runs again within a bounded number of steps. */
enum emu_state emu_grid_run(struct emu_grid *grid, uint32_t steps, uint64_t *random, struct emu_error *error);

/* Schedules whose choices see the program's own operations alone (emu_launch.trace says which they are): a step lets some
 * lanes of a warp pass one such operation, and runs the warp until each of its lanes stands before the next, or before a call
 * that a rewriter put there for it. */
#define EMU_CHANGES 8
struct emu_steps {
	uint32_t steps;           /* to make at most */
	uint32_t made;            /* set: those that were made */
	uint64_t random;          /* as of emu_grid_run */
	uint32_t stay;            /* of 8 times, how often the same warp goes on; without priorities */
	int lag;                  /* one warp at a time lags far behind the others */
	/* With priorities (probabilistic concurrency testing): the runnable warp of the highest goes on. It falls to the lowest
	 * when the job has made so many steps as one of `change` says, and after 20 steps in a row, lest others wait for ever. */
	uint64_t seed;            /* of the priorities of this launch; 0: there are none */
	uint64_t start;           /* steps that the job had made before */
	uint64_t floor;           /* somebody outside this grid has this priority: it ends when its own are lower */
	uint64_t change[EMU_CHANGES];
};
enum emu_state emu_grid_step(struct emu_grid *grid, struct emu_steps *steps, struct emu_error *error);
uint64_t emu_grid_priority(const struct emu_grid *grid, uint64_t seed); /* the highest of its runnable warps; 0: none */
uint64_t emu_priority(uint64_t seed, uint64_t what); /* of anything by a number of its own; never 0 */
void emu_grid_number(struct emu_grid *grid, uint64_t number); /* of the launch, for the trace */
const struct emu_count *emu_grid_counts(const struct emu_grid *grid); /* by part; NULL: nothing is counted */
void emu_grid_free(struct emu_grid *grid);

#endif

/* The machine inside the executor. A module's functions are decoded into one flat program, operands resolved to places,
 * each when the first kernel that can reach it is launched; all kernels share them. A warp holds the registers of all its
 * module's functions and of its own kernel, 32 lanes side by side (structure of arrays), a program counter per lane, and
 * a frame of local memory per lane. A lane has at most one activation of a function that does not recurse, so such
 * functions need no saved registers.
 *
 * A place is an offset: bit 31 chooses the program's constants, else the warp's registers. Lane l of a value of w bytes
 * lies at place + l * w; a predicate is one 32-bit mask. Addresses of global, local, const and param space are host
 * addresses; a .shared address is an offset in the CTA's buffer (PTX may keep it in 32 bits). */
#ifndef GSAN_EMU_EXEC_MACHINE_H
#define GSAN_EMU_EXEC_MACHINE_H

#include "base/pool.h"
#include "base/random.h"
#include "emu/exec/exec.h"
#include "ptx/ptx.h"

#define EXEC_LANES 32u
#define EXEC_ALL 0xffffffffu
#define EXEC_NOWHERE 0u          /* the sink: a register nobody reads */
#define EXEC_SINK_BYTES 512u
#define EXEC_CONSTANT 0x80000000u
#define EXEC_OPERANDS 12
#define EXEC_BARRIERS 16
#define EXEC_WARPS 32u /* of a CTA, at most */
#define EXEC_RECURSION 1024u     /* deepest call stack of a recursive kernel */
#define EXEC_RECURSION_BYTES 65536u

struct exec_warp;
struct exec_insn;
typedef void (*exec_fn)(struct exec_warp *w, const struct exec_insn *n, uint32_t m);

/* What an instruction does to the program counter; all but NEXT end a straight run. */
enum exec_flow { FLOW_NEXT, FLOW_BRANCH, FLOW_INDEXED, FLOW_CALL, FLOW_RETURN, FLOW_EXIT, FLOW_TRAP, FLOW_WARP, FLOW_BARRIER, FLOW_YIELD };

/* How an instruction's address is formed. */
enum exec_mode { MODE_ABSOLUTE, MODE_NARROW /* 32-bit register */, MODE_WINDOW /* one, of local or const memory */, MODE_FRAME, MODE_PARAM };

enum { /* exec_insn.flags */
	F_RZ = 1, F_RM = 2, F_RP = 3, F_ROUND = 3, /* 0 = rn */
	F_RNA = 1 << 2, F_INTEGER = 1 << 3, /* .rni … */
	F_FTZ = 1 << 4, F_SAT = 1 << 5, F_SATFINITE = 1 << 6, F_RELU = 1 << 7, F_NAN = 1 << 8, F_XORSIGN = 1 << 9,
	F_ABS = 1 << 10, F_ACQUIRE = 1 << 11, F_RELEASE = 1 << 12, F_SHARED = 1 << 13, F_SIGNED = 1 << 14,
	F_NOT_C = 1 << 15, /* the last predicate operand is negated */
	F_CC = 1 << 16, F_CLAMP = 1 << 17, F_SHIFTAMT = 1 << 18, F_INDIRECT = 1 << 19, F_COUNTED = 1 << 20, F_FULL = 1 << 21,
	F_TO = 1 << 22, F_PARITY = 1 << 23, F_APPROX = 1 << 24, F_ROUNDS = 1 << 25, /* a rounding was written */
	F_ALIGNED = 1 << 26, /* the lanes that meet are at one instruction */
	F_FRAGMENT = 1 << 27 /* of a matrix that may lie in shared memory: in registers */
};

struct exec_call;
struct exec_traced;
struct exec_insn {
	exec_fn run;
	int64_t imm;               /* address offset, lop3's table, kind of special register … */
	uint32_t x[EXEC_OPERANDS]; /* places */
	uint32_t flags;
	uint32_t guard;            /* place of the predicate; EXEC_NOWHERE: none */
	uint32_t address;          /* place of the address register */
	uint32_t target;           /* branch: instruction */
	uint8_t point;             /* of the program, while schedules choose between its operations: exec_warp_step */
	uint8_t guard_not, flow, mode, sub; /* sub: comparison, atomic operation, shuffle mode … */
	uint8_t bool_op;
	uint8_t size, count, wide; /* memory: bytes of an element, elements, bytes of the register */
	uint8_t width[3];          /* bytes of x[0..2] where they vary */
	uint8_t type[3];           /* first, second and last type of the instruction: enum ptx_type */
	uint8_t part;              /* of the kernel: count.h */
	union {
		const struct exec_call *call;
		exec_fn counted;   /* memory: what it does, while that is counted; count.c */
	};
	uint8_t items;             /* of all vectors of registers; x[k] of such an operand is its first one's index */
	union {
		const uint32_t *targets; /* brx.idx: imm labels */
		const uint32_t *item; /* places */
	};
	const struct ptx_instr *source;
	const struct exec_traced *traced; /* of the program, while it is traced: trace.h */
};

/* A value passed at a call: in the caller's frame, in a register, or a formal parameter of the callee. */
struct exec_pass { uint32_t place, size; uint8_t in_register; };
struct exec_call {
	uint32_t callee;           /* function index; unused when indirect */
	uint32_t args, results;
	struct exec_pass *arg, *result;
};

/* One decoding of a function. What the trace says of it may depend on the kernel that reaches it, as may its places in
 * shared memory. */
struct exec_version {
	struct exec_version *next;
	const struct ptx_function *original; /* whose operations its own are: trace.h */
	const struct emu_kernel *kernel;     /* the only one that may use it; NULL: all */
	uint32_t entry;            /* first instruction */
	uint8_t part;
};

struct exec_function { /* one function of a module */
	const struct ptx_function *source;
	uint32_t *callee;          /* functions that it may call, each once */
	const struct ptx_decl **shared; /* shared variables that it names, in order of appearance, each once */
	uint32_t callees, shareds;
	uint32_t local_bytes;      /* of its local variables; */
	uint32_t local_chain;      /* the most that it and what it calls have at once */
	uint8_t local_known;
	uint32_t frame_bytes;      /* local and parameter variables */
	uint32_t args, results;
	struct exec_pass *arg, *result;
	struct exec_pass *saved;   /* registers that a recursive call must keep */
	uint32_t saves;
	uint32_t chain, chain_bytes; /* the most that it and what it calls need: calls, bytes of frames; unless anything recurses */
	uint8_t recursive;
	struct exec_version *version;
};

struct exec_file { struct exec_file *next; void *memory; size_t bytes; }; /* before the registers of a warp */

struct exec_program {
	struct exec_insn *insn;
	uint32_t insns, room;
	unsigned char *constant;
	uint32_t constants, constant_room; /* bytes */
	struct exec_constant *known; /* those constants, by value: decode.c */
	uint32_t known_slots, knowns;
	uint64_t *where;           /* by decl id: place of a register + 1, or offset in the frame + 1 */
	uint32_t register_bytes;   /* per warp, of all functions; a kernel's own follow */
	struct exec_file *file;    /* that no warp has */
	uint32_t files;
	struct pool pool;
};

struct exec_symbol { /* what a variable's declaration stands for, by decl id */
	uint64_t at;               /* host address, offset in the frame, in shared memory or in the parameters */
	uint64_t size;
	uint8_t known;
};

struct emu_kernel {
	struct emu_module *module;
	uint32_t function;
	char *name;
	uint32_t params, param_bytes, shared_bytes, dynamic_at; /* dynamic_at: where extern shared memory begins */
	uint32_t *param_offset, *param_size;
	struct exec_shared { const struct ptx_decl *decl; uint64_t at; } *shared; /* offset of each shared variable used here */
	uint32_t shareds;
	uint32_t max_threads;
	uint8_t *reach;            /* functions it can call, by index */
	const struct emu_kernel *plain; /* the kernel that it is a rewritten copy of; NULL: unknown yet, or none */
	/* Made at the first launch: */
	uint64_t digest;           /* of its own operations */
	uint32_t *entry;           /* first instruction of each function in reach, by index; NULL: not made yet */
	uint32_t register_bytes;   /* per warp: the functions', then its own */
	uint32_t local_bytes;      /* per lane */
	uint32_t depth;            /* deepest call stack */
};

struct emu_module {
	char *text;
	struct ptx_module *ptx;
	struct emu_memory memory;
	struct exec_symbol *symbol; /* by decl id */
	size_t kernels;
	struct emu_kernel *kernel;
	char *const_low, *const_high; /* range of .const variables */
	struct exec_handle { uint32_t function; } *handle; /* a function's address is &handle[function] */
	struct exec_function *function; /* parallel to the parsed module's */
	struct exec_program *program; /* made at the first launch */
	struct pool pool;
};

/* Of one activation: the call, the function called, the caller's frame. */
struct exec_link { uint32_t at, function, bytes; uint64_t frame; };

/* Why a lane does not run: the number of its CTA barrier, or one of these. */
enum { WAIT_WARP = 64 };

struct exec_warp {
	unsigned char *base[2];    /* registers, constants */
	struct exec_cta *cta;
	uint32_t number;
	uint32_t live, waiting;    /* lanes that have not exited; lanes that wait at a barrier */
	uint32_t parked;           /* lanes that stand before a point: an operation of the program that they may not start yet */
	uint64_t demoted;          /* when it lost its priority; 0 = not yet */
	uint32_t carry;            /* CC.CF by lane */
	uint32_t at;               /* instruction being executed, for faults */
	uint32_t turn;             /* lane that leads next when lanes take turns */
	int leader;                /* lane whose group goes first; -1: the one that is behind */
	int32_t leads;             /* instructions for which it does */
	int32_t patient;           /* what `patience` begins with */
	int32_t patience, quantum; /* instructions until those lead that have not run since; for how many */
	int32_t apart;             /* instructions until some group goes ahead at random */
	uint32_t ran;              /* lanes that have run since `patience` began, but for those that led */
	uint32_t sleeps;           /* nanoseconds, if its last slice ended so */
	uint32_t slices;
	uint32_t held;             /* rounds that pass before its next slice */
	uint32_t pc[EXEC_LANES];
	uint32_t depth[EXEC_LANES];
	uint8_t wait[EXEC_LANES];
	uint32_t members[EXEC_LANES]; /* WAIT_WARP: lanes it waits for */
	uint32_t bytes[EXEC_LANES];   /* of the frame */
	uint64_t frame[EXEC_LANES], local[EXEC_LANES]; /* of the activation; where the lane's memory begins */
	uint64_t address[EXEC_LANES];
	uint32_t tid[3][EXEC_LANES];
	struct exec_link *link;    /* [depth][lane] */
	struct exec_saved { unsigned char *data; size_t size, room; } saved[EXEC_LANES]; /* registers of recursive calls */
	struct exec_weak *weak;    /* NULL: memory is strong. weak.h */
	const char *fault;         /* set by a handler: what is wrong, with the lane */
	enum emu_fault fault_kind;
	uint32_t fault_lane;
};

struct exec_barrier { uint32_t arrived, any, all, count, came[EXEC_WARPS]; }; /* came: lanes, of each warp */

struct exec_cta {
	struct emu_grid *grid;
	uint64_t linear;
	uint32_t index[3], place;
	uint32_t warps, threads, live;
	struct exec_warp *warp;
	unsigned char *shared;     /* static, then dynamic */
	unsigned char *local;
	struct exec_barrier barrier[EXEC_BARRIERS];
	uint8_t running;
};

struct emu_grid {
	struct emu_kernel *kernel;
	struct exec_program *program;
	struct emu_launch launch;
	unsigned char *params, *workspace; /* one allocation; the workspace is for cooperative launches */
	uint32_t shared_bytes, threads, warps_each;
	size_t local_stride;       /* bytes per lane */
	uint8_t began;
	uint64_t next_cta, ctas, done, id, number;
	uint32_t slots;            /* resident CTAs */
	struct exec_cta *cta;
	uint32_t *order, orders, turn; /* the round being run: shuffled warps */
	uint32_t ran;              /* warps that ran in this round */
	struct exec_warp *last;    /* the warp of the last step, and how many it and its CTA have had in a row */
	uint32_t in_a_row, cta_in_a_row;
	uint64_t stepped, lags_until; /* steps of the program so far, those in which nobody else could go on included; until when */
	uint32_t laggard;          /* one of its warps lags */
	struct emu_error fault;
	char words[192];           /* of a fault that are not known before it happens */
	enum emu_state state;
	struct emu_count *counts;  /* by part; NULL: nothing is counted */
};

static inline void *exec_at(const struct exec_warp *w, uint32_t place)
{
	return w->base[place >> 31] + (place & ~EXEC_CONSTANT);
}

/* graph.c: what calls what. 0 or -ENOMEM. */
int exec_graph_make(struct emu_module *module);
void exec_graph_reach(const struct emu_module *module, uint32_t function, uint8_t *reach);
/* program.c: decodes what a kernel reaches. Returns 0, -ENOMEM, or -ENOTSUP with the text. */
int exec_kernel_make(struct emu_kernel *kernel, const struct emu_launch *launch, struct emu_error *error);
void exec_program_free(struct exec_program *p);
/* A warp's registers: those of functions hold what an earlier warp left in them. NULL: out of memory. */
unsigned char *exec_registers_take(struct emu_kernel *kernel);
void exec_registers_give(struct emu_kernel *kernel, unsigned char *registers);
/* layout.c: variables. */
int exec_layout_globals(struct emu_module *module, struct emu_error *error);
int exec_layout_kernel(struct emu_kernel *kernel);
uint64_t exec_decl_bytes(const struct ptx_decl *d);
uint32_t exec_decl_align(const struct ptx_decl *d);
/* warp.c: runs one warp for up to `budget` instructions; returns those executed. */
uint32_t exec_warp_run(struct exec_warp *w, uint32_t budget, uint64_t *random);
void exec_warp_step(struct exec_warp *w, int lane, uint32_t budget);
void exec_warp_fault(struct exec_warp *w, uint32_t lane, enum emu_fault kind, const char *what);
void exec_lane_exit(struct exec_warp *w, uint32_t lanes);
int exec_is_global(const struct exec_warp *w, uint64_t address); /* memory.c */
/* schedule.c: until the steps are made or the grid ends; `running` is the warp at hand, for faults. grid.c: after each slice or
 * step of a warp; when nobody can run; for messages. */
void exec_schedule_slices(struct emu_grid *g, uint32_t steps, uint64_t *random, struct exec_warp *volatile *running);
void exec_schedule_steps(struct emu_grid *g, struct emu_steps *steps, struct exec_warp *volatile *running);
void exec_drift(struct emu_grid *g);  /* some stores reach memory, perhaps: weak.h */
void exec_ran(struct emu_grid *g, struct exec_warp *w);
#define EXEC_LINE 320 /* bytes of what these two write */
#define EXEC_NAME 128
void exec_show_name(char *to, size_t room, const char *name); /* of a kernel, as people call it */
void exec_describe_line(char *to, size_t room, const struct ptx_module *m, const struct ptx_instr *i); /* of the PTX and the source */
void exec_deadlocked(struct emu_grid *g);
/* memory.c: what the bits of an mbarrier say. */
uint32_t exec_mbarrier_expects(uint64_t b);
unsigned exec_mbarrier_phase(uint64_t b);
/* barrier.c, rendezvous.c */
void exec_barrier_arrive(struct exec_warp *w, const struct exec_insn *n, uint32_t lanes);
void exec_barrier_recheck(struct exec_cta *cta);
void exec_rendezvous(struct exec_warp *w, const struct exec_insn *n, uint32_t lanes);
void exec_rendezvous_recheck(struct exec_warp *w);
void exec_rendezvous_stuck(struct exec_warp *w);
/* special.c: reads a special register by its number (an index of exec_special_find). */
int exec_special_find(const char *name, size_t length, uint32_t *width);
void exec_special_read(struct exec_warp *w, const struct exec_insn *n, uint32_t m);
extern uint64_t exec_time; /* instructions executed by this process: %clock, %globaltimer */

#endif

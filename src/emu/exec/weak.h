/* EMU_MEMORY=weak: what threads see of global memory as late, and as early, as PTX lets them. All stores reach memory in one
 * order (it is multi-copy atomic), and what lies there is always what other processes see.
 *
 * - A store waits in its thread's buffer, and drains at a moment drawn by the seed, some warps' sooner than others'. Two to one granule of 8 bytes drain in order;
 *   others in any, but none before those that stood there when the thread executed a fence or a store that releases. fence.sc,
 *   membar, fence.proxy, a releasing RMW or store to shared memory, a barrier and the thread's end drain the buffer.
 * - A load may return what its bytes held at any moment since the thread last acquired (an acquiring load, RMW or fence; a
 *   barrier; its start): as if it had executed then. It never goes back behind what the thread wrote, or read before, there. A
 *   load that acquires, an RMW and an access of 16 bytes see the newest.
 *
 * Scopes are taken as wide enough. Shared and local memory are strong, and so are copies and sets. Loads never see what is
 * written later: no load buffering. What other processes wrote is seen as soon as it is in memory: only the stores of a
 * process's own kernels are remembered. */
#ifndef GSAN_EMU_EXEC_WEAK_H
#define GSAN_EMU_EXEC_WEAK_H

#include "emu/exec/ops.h"

#define WEAK_STORES 8u     /* of a thread that wait */
#define WEAK_SEEN 16u      /* granules whose newest value a thread must not go behind */

struct weak_store { u64 at, value; u32 size, epoch; };
struct weak_lane {
	u64 floor;             /* moment that it last acquired */
	u32 stores, seen, epoch;
	struct weak_store store[WEAK_STORES]; /* in program order */
	struct { u64 granule, moment; } newest[WEAK_SEEN];
};
struct exec_weak { /* of a warp */
	u64 random;
	u32 lazy;              /* a lane lets a store drain in one of 2^lazy moments */
	u32 pending;           /* lanes with stores that wait */
	struct weak_lane lane[EXEC_LANES];
	unsigned char image[EXEC_LANES][64]; /* what a lane loads or stores, on its way from or to a register */
	u64 address[EXEC_LANES];
};

void weak_start(struct exec_warp *w, u64 seed);
void weak_drift(struct exec_warp *w);          /* some of what waits drains, perhaps */
/* What lanes load is put into their images, and the address of those that access global memory becomes the image's; a store goes
 * into the images, and from there into buffers. All return, or are given, those lanes. weak_back: addresses are what they were. */
u32 weak_load(struct exec_warp *w, const struct exec_insn *n, u32 m);
u32 weak_to_images(struct exec_warp *w, u32 m);
void weak_store(struct exec_warp *w, const struct exec_insn *n, u32 m);
void weak_back(struct exec_warp *w, u32 m);
void weak_elsewhere(struct exec_warp *w, const struct exec_insn *n, u32 m); /* before a store that may be to shared memory */
void weak_settle(struct exec_warp *w, const struct exec_insn *n, unsigned l); /* what the lane must let drain before an RMW */
void weak_before_rmw(struct exec_warp *w, const struct exec_insn *n, unsigned l);
void weak_fence(struct exec_warp *w, const struct exec_insn *n, u32 m);
void weak_release(struct exec_warp *w, u32 m); /* all that waits drains */
void weak_acquire(struct exec_warp *w, u32 m);

#endif

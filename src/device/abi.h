/* The calls that the PTX rewriter emits and the device runtime defines. One row per function in GSAN_CALLS: the
 * rewriter reads the parameter list from here, the runtime's test compares it with the PTX that clang made.
 *
 * A checked clone of entry K is `K__gsan`: the same parameters, then
 *     .param .align 8 .b8 gsan_launch_record[sizeof(struct gsan_launch)], twice that if K has griddepcontrol.wait,
 * and it starts with   launch = cvta.param(gsan_launch_record);   self = gsan_enter(launch, flags);
 * A private function F that an entry reaches by direct calls is cloned as `F__gsan` with two trailing parameters
 * (.b64 launch, .b64 self). Beside each clone stands `.visible .global .align 8 .b8 K__gsan_info[]`: the text that
 * src/ptx/info.h describes (ABI number, flags, sites).
 *
 * `self` names the CTA: record bits 48..63 tag, 38..47 cta; bits 0..31 hold 1 + index of its CTA state, or 0. It is a
 * register of each thread, and the clone of a kernel without GSAN_ENTER_SYNC, but with GSAN_ENTER_REDS, sets a bit of it. */
#ifndef GSAN_DEVICE_ABI_H
#define GSAN_DEVICE_ABI_H

#include "device/layout.h"

#define GSAN_CLONE_SUFFIX "__gsan"
#define GSAN_INFO_SUFFIX "__gsan_info"
#define GSAN_RECORD_PARAM "gsan_launch_record"
#define GSAN_RANGE_KERNEL "gsan_range__gsan" /* no clones: goes over copies and sets (range.h) */
#define GSAN_NODES_KERNEL "gsan_nodes__gsan" /* nor this one: makes the records of a graph's nodes (nodes.h) */
#define GSAN_EMU_OWN_FLAGS 3u /* on the emulated device of our events and streams: EMU_TRACE_OWN_FLAGS (cuda/own.h) */
#define GSAN_ROOM_KERNEL "gsan_room__gsan"   /* has a lot of local memory (driver/room.h) */

/* flags of gsan_enter */
#define GSAN_ENTER_SYNC 1u /* the kernel or a function it reaches has a fence, or what acquires or releases: it keeps a clock */
#define GSAN_ENTER_REDS_SHIFT 1u /* or relaxed operations, GSAN_REDS_* */
#define GSAN_ENTER_REDS (15u << GSAN_ENTER_REDS_SHIFT)
#define GSAN_REDS_LEARN 1u /* of some the program learns what they read */
#define GSAN_REDS_LOAD 2u  /* some are loads */
#define GSAN_REDS_SCOPES (1u << GSAN_GPU | 1u << GSAN_SYS) /* these some have */

/* in `self`: the thread made one of these, or waited for another of its CTA that did, perhaps */
#define GSAN_SELF_BEHIND_RED (1ull << 37)

/* Descriptor of an access, an immediate u32 at the call. */
#define GSAN_DESC_SITE_SHIFT 0u   /* 16: site */
#define GSAN_DESC_BYTES_SHIFT 16u /* 6: bytes per thread, 1..32, whole vector; of a strong one + log2 of its elements */
#define GSAN_DESC_OP_SHIFT 22u    /* 5: enum gsan_op + scope */
#define GSAN_DESC_SEM_SHIFT 27u   /* 3: enum gsan_sem */
#define GSAN_DESC_VALUE (1u << 30) /* `value` holds what is read or written (zero-extended), or for after(): was read */
#define GSAN_DESC_USED (1u << 31)  /* RMW: its result is read by the program */

#define GSAN_BATCH_MAX 8u
#define GSAN_BATCH_BESIDE 256u /* two of its accesses, one behind the other, may be one (device/batch.h) */
#define GSAN_BATCH_NUMBER_SHIFT 9u
#define GSAN_LINES_WHOLE 1u

/* Of an mbarrier, whose address is a multiple of 8 */
#define GSAN_MBARRIER_ODD 1u
#define GSAN_MBARRIER_ANY 2u

/* What is left to do of a red, as gsan_red, gsan_relaxed and gsan_hold say; 0: nothing */
#define GSAN_RED_GENERAL 1u /* this lane's goes the general way */
#define GSAN_RED_WHOLE 2u   /* that of some lanes does, and the whole warp comes along */
#define GSAN_RED_UNSEEN 4u  /* no write to these bytes is known: a value that is not 0 goes to learned */
#define GSAN_RED_RACING 8u  /* of a CAS: something races with it, perhaps if it writes alone */

/* Every function takes (u64 launch, u64 self) first; u = u32, l = u64.
 *   enter      (launch, flags) -> self            at the start of a clone, all threads
 *   leave      ()                                 before each ret/exit of a clone with GSAN_ENTER_SYNC
 *   access<N>  (valid, a0, d0, … )                N weak accesses; bit i of `valid`: this thread makes access i. Above
 *                                                 GSAN_BATCH_NUMBER_SHIFT: the batch's number in its module;
 *                                                 GSAN_BATCH_BESIDE as it says.
 *                                                 Placed at the end of the straight-line run that holds them
 *   lines      (quick, n, line, desc)             the same run, recognised by the clone itself: all 32 lanes make all n
 *                                                 accesses, and each access covers whole aligned lines or halves of
 *                                                 lines, group of lanes by group. Lane i of a group brings the address
 *                                                 of access i's half line, or of its line with GSAN_LINES_WHOLE, and
 *                                                 its descriptor; the others bring 0. quick: as the clone's
 *                                                 parameter has it
 *   red        (quick, address, desc) -> todo     before a relaxed RMW of at most 8 bytes whose result nobody reads: checks it. Else
 *                                                 than 0, hold comes next
 *   relaxed    (quick, address, desc) -> todo     the same before other relaxed operations, of a kernel that keeps no clock; a CAS comes as
 *                                                 GSAN_OP_TRY
 *   hold       (todo, address, desc) -> todo      checks it. Else than 0, take comes before it and reduced after it
 *   take       (todo, address, desc)              takes the lock of its location's entry, if it has one
 *   tried      (todo, address, desc)              after a CAS that wrote, or with GSAN_RED_RACING, before reduced; desc: what it did, an
 *                                                 RMW or a load
 *   reduced    (todo, address, desc)              publishes what it releases, joins what it observed
 *   learned    (address, desc)                    after a read whose value is not 0, with GSAN_RED_UNSEEN: something unseen wrote it, perhaps
 *   before     (whole, address, desc, value)      before a strong store, or an RMW: takes the lock of its location's
 *                                                 entry. An RMW with GSAN_DESC_VALUE is a CAS of which after() will
 *                                                 not be told whether it wrote; value: what a strong vector stores
 *   spin       (turn, address, desc, expected)    before a CAS, by each lane that has not made it, in each turn (0: of another
 *              -> value                             lane; 1: its own: it may hold its entry from here on; 2: of the whole warp,
 *                                                 whose lanes get the same answer), with the descriptor of the load that it is
 *                                                 if it fails. Else than expected: it would fail, and say nothing that its warp
 *                                                 has not had before; the value stands for its result, and it is not made
 *   look       (address, desc) -> looked          before a strong load: which version its location has
 *   after      (whole, address, desc, value,      after a strong load, store or RMW: checks it, joins what it acquires,
 *               looked)                           publishes what it releases. value: what was read, or stored. Of a
 *                                                 CAS that failed (GSAN_SEM_CAS) desc has the load that it was
 *   fence      (desc)                             before a fence or membar; desc: semantics and scope only
 *   unseen     ()                                 before a call of what has no clone: it may acquire anything
 *   barrier    ()                                 before a barrier of all threads of the CTA
 *   meet       (id, all, waits)                   before a barrier of so many threads; waits = 0: bar.arrive
 *   met        (id)                               after one that waits
 *   arrive     (where)                            before an arrival at an mbarrier: its address in shared memory, with
 *                                                 GSAN_MBARRIER_ODD if the phase under way is of odd parity
 *   waited     (where)                            after a wait for such a phase; GSAN_MBARRIER_ANY: of either parity
 *   behind     ()                                 after what may have waited for any other warp of the CTA
 *   depended   () -> launch                       after griddepcontrol.wait: the record that holds from here on (layout.h)
 * The rewriter guards a predicated operation's calls with the same predicate (access<N>: with `valid`). What stands around an
 * operation goes with it: for all lanes of the warp at once (whole = 1, or GSAN_RED_WHOLE), if all come to it together, else
 * for one lane after the other, operation included (whole = 0), so that none has an entry's lock while it waits for another. */
#define GSAN_CALLS(X) \
	X(enter, "lu", "l") \
	X(leave, "ll", "") \
	X(access1, "lluLu", "") \
	X(access2, "lluLuLu", "") \
	X(access4, "lluLuLuLuLu", "") \
	X(access8, "lluLuLuLuLuLuLuLuLu", "") \
	X(lines, "lluuLu", "") \
	X(red, "lluLu", "u") \
	X(relaxed, "lluLu", "u") \
	X(hold, "lluLu", "u") \
	X(take, "lluLu", "") \
	X(tried, "lluLu", "") \
	X(learned, "llLu", "") \
	X(reduced, "lluLu", "") \
	X(before, "lluLul", "") \
	X(spin, "lluLul", "l") \
	X(look, "llLu", "u") \
	X(after, "lluLulu", "") \
	X(fence, "llu", "") \
	X(unseen, "ll", "") \
	X(barrier, "ll", "") \
	X(meet, "lluuu", "") \
	X(met, "llu", "") \
	X(arrive, "llu", "") \
	X(waited, "llu", "") \
	X(behind, "ll", "") \
	X(depended, "ll", "l")

#endif

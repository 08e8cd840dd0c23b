/* What a checked clone says of itself: the text in `K__gsan_info`, written by the rewriter, read by libgsan and by the
 * supervisor. UTF-8 lines, fields separated by one tab, no other escapes than \t \n \\ inside a field, a NUL ends it:
 *
 *   gsan-info <abi> <kernel> <flags: "sync" or "-">
 *   source <path of the PTX or module name>
 *   site <id> <file> <line> <column> <function> <op> <semantics> <scope> <bytes> <inlined-at or "-">
 *   apart <from> <to> <end>                         sites of a function, of which the text does not tell which comes first (apart.h)
 *   fence <id> <file> <line> <column> <function> <op> <semantics> <scope> 0 <inlined-at or "-"> <id>-<id>,…
 *                                                   it stands before what of its function has that id or a larger one; and to which sites no
 *                                                   way leads but over it (fences.h)
 *   early <id> <id>-<id>,…                          a flag, and the sites to which no way leads but over it, and none from there to it but over a fence
 *   awaits <id> <id>-<id>,…                         an access of that site reads again and again until it finds something (awaits.h); the sites to which no way
 *                                                   leads but over one of its instructions
 *   takes <id>                                      one of these that puts something else than what it waits for: who takes a lock
 *   again <id>                                      of a weak access: a thread may come there again, in a loop or in what was one before it was unrolled
 *   barrier <id> <id>-<id>,…                        one of all threads of a CTA stands before what of its function has that id or a larger one; likewise
 *   left <file> <line> <opcode> <reason>            an access that is not checked
 *   variable <name>                                 one of the module's own variables in global memory
 *   variables <kernel>                              they stand in that kernel's text
 *   warps                                           it calls nothing unseen: what its warps wait for each other is known
 *   host                                            no kernel, but a driver function of that name (driver/caller.h), which copies: site 0
 *                                                   is what it writes, 1 what it reads
 *   frame <file of the object> <address in it, in hexadecimal> a caller of it, innermost first
 *   triggers <"at once" or "-">                     the next launch may begin before it has ended (griddepcontrol.launch_dependents); and perhaps before it has
 *                                                   executed its griddepcontrol.wait
 *   grid                                            of a cooperative launch it may be told another workspace (%envreg1)
 *
 * id is the 16-bit number in records: sites of a function are numbered as they stand in its text. file "-" means no line information: line is the PTX line then. op is ld, ld.nc,
 * st, atom.add …; semantics weak, relaxed, acquire, release, acq_rel, volatile, mmio; scope cta, cluster, gpu, sys or "-".
 * inlined-at is file:line[,file:line…], innermost first. */
#ifndef GSAN_PTX_INFO_H
#define GSAN_PTX_INFO_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "ptx/apart.h"

#define PTX_INFO_MAGIC "gsan-info\t" /* how it begins */

struct ptx_site {
	uint32_t id, line, column, bytes;
	int late; /* of weak accesses that it stands for, one is checked when what stands behind it has been executed (plan.h) */
	int awaits, takes, again;
	const char *behind; /* of one that awaits: the sites to which no way leads but over it; else NULL */
	const char *file, *function, *op, *semantics, *scope, *inlined_at; /* inside the info's own copy */
};
struct ptx_fence { struct ptx_site at; const char *behind; };
struct ptx_early { uint32_t flag; const char *sites; };
struct ptx_barrier { uint32_t id; const char *behind; };
struct ptx_frame { const char *object; uint64_t address; /* as the object's file has it */ };
struct ptx_left { const char *file, *opcode, *reason; uint32_t line; };
struct ptx_info {
	uint32_t abi;
	const char *kernel, *source;
	int sync;
	uint32_t sites; struct ptx_site *site; /* sorted by id */
	uint32_t aparts; struct ptx_apart *apart; /* by their ids */
	uint32_t fences; struct ptx_fence *fence; /* as they stand in the text */
	uint32_t earlies; struct ptx_early *early;
	uint32_t barriers; struct ptx_barrier *barrier;
	uint32_t lefts; struct ptx_left *left;
	int host; /* no kernel: a driver function that copies or sets, as a place of the program calls it */
	uint32_t frames; struct ptx_frame *frame; /* who called it, innermost first */
	void *memory;
};
/* Returns 0, -EINVAL (not an info text, or of another ABI number: info->abi tells which), -ENOMEM. */
int ptx_info_parse(const char *text, uint64_t size, struct ptx_info *info);
void ptx_info_free(struct ptx_info *info);
const struct ptx_site *ptx_info_site(const struct ptx_info *info, uint32_t id);
/* Do the threads of a CTA execute whatever they do at the place of `a` before what they do at that of `b`? 0: not, or nobody knows. */
int ptx_info_before(const struct ptx_info *info, const struct ptx_site *a, const struct ptx_site *b);
/* Does a thread of one GPU do what it does at the place of `b` behind the flag that it raises at that of `a`, in each round of a loop, and is that released
 * by the flag of the next round? 0: not, or nobody knows. */
int ptx_info_early(const struct ptx_info *info, const struct ptx_site *a, const struct ptx_site *b);
/* Of two sites of one function, the second executed behind the first: the fences that were executed before the second on any way, and, but for a loop,
 * behind the first; NULL: no further one than `after`, which is NULL or one of these. */
const struct ptx_fence *ptx_info_fence(const struct ptx_info *info, const struct ptx_site *a, const struct ptx_site *b, const struct ptx_fence *after);
/* Does a thread come to the place of `b` from that of `a` only over a barrier of its CTA? 0: not, or nobody knows. */
int ptx_info_meets(const struct ptx_info *info, const struct ptx_site *a, const struct ptx_site *b);
/* Does a thread come to `b` only behind what waits at the place of `wait`, itself or another one of its CTA, that it meets at a barrier? Likewise. */
int ptx_info_waited(const struct ptx_info *info, const struct ptx_site *wait, const struct ptx_site *b);
/* Writes a tab, and behind it a field of such a text. */
void ptx_info_field(struct text *out, const char *bytes, size_t n);

#endif

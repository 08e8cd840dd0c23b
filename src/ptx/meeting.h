/* Where the warps of a CTA wait for each other: barriers of all threads, of some, mbarriers in shared memory, flags by hand there; and
 * the text of the calls that say so to the runtime (abi.h). Source: PTX ISA 9.x, 9.7.13.1 (barrier), 9.7.13.15 (mbarrier). */
#ifndef GSAN_PTX_MEETING_H
#define GSAN_PTX_MEETING_H

#include "base/text.h"
#include "ptx/ptx.h"

enum ptx_meeting {
	PTX_MEETS_NOBODY,
	PTX_MEETS_ALL,    /* a barrier of all threads */
	PTX_MEETS_SOME,   /* one that says how many come: bar.sync or bar.red with a count, bar.arrive */
	PTX_MEETS_LATER,  /* an arrival at an mbarrier */
	PTX_MEETS_PHASE,  /* a wait for a phase of one */
	PTX_MEETS_UNKNOWN /* it may wait for any */
};
/* Is each arrival at an mbarrier of the module, and each wait, understood? Else none is followed: who waits counts as behind all. */
int ptx_mbarriers_known(const struct ptx_module *m);
enum ptx_meeting ptx_meeting_of(const struct ptx_module *m, const struct ptx_instr *i, int mbarriers);

/* What comes before the instruction and behind it, if it meets anybody. Both return the calls made, as bits of enum ptx_call. */
uint32_t ptx_meeting_before(struct text *t, const struct ptx_module *m, const struct ptx_instr *i, enum ptx_meeting meeting);
uint32_t ptx_meeting_behind(struct text *t, const struct ptx_module *m, const struct ptx_instr *i, enum ptx_meeting meeting);

#endif

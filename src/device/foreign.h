/* Accesses to memory that has no shadow: hosts' (managed, pinned), what the driver or a library keeps. They are counted. What a
 * kernel writes there a host may wait for, and launch something behind it: of launches that may tell a host so, the supervisor
 * hears, for what comes behind the host is not known (launcher/supervisor/belief.c). */
#ifndef GSAN_DEVICE_FOREIGN_H
#define GSAN_DEVICE_FOREIGN_H

#include "device/desc.h"
#include "device/report.h"

/* Once for each launch. */
NEVER void foreign_told(const struct gsan_launch *l)
{
	u32 *told = &own_launch(l)->told, old = gpu_load32(told);
	while (old != l->seq) {
		u32 now = gpu_cas32(told, old, l->seq);
		if (now == old)
			report_told(l);
		old = now == old ? l->seq : now;
	}
}

/* A write there may tell a host something: a strong one at .sys, or a weak one behind a fence at .sys. (The latter races with the
 * host's read, and yet many a program relies on it.) */
ALWAYS void foreign_write(const struct who *w, u32 desc)
{
	u32 op = desc_op(desc);
	int strong = op_is_strong(op) && op_scope(op) == GSAN_SYS;
	if (op_writes(op) && (strong || (!op_is_strong(op) && w->state && gpu_load32(&w->state->fence[1]))))
		foreign_told(w->launch);
}

/* An access of one lane to what has no shadow. 0: it is shared memory of this CTA, or local memory, which are not meant. */
NEVER int foreign_access(const struct who *w, u64 address, u32 desc)
{
	if (gpu_is_own(address))
		return 0;
	foreign_write(w, desc);
	return 1;
}

#endif

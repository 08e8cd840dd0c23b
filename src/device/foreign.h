/* Accesses to what hosts use, too (managed, pinned), and to memory that has no shadow: what the driver or a library keeps. The latter
 * are counted. What a kernel writes there a host may wait for, and launch something behind it: of launches that may tell a host so, the
 * supervisor hears, for what comes behind the host is not known (launcher/supervisor/belief.c). */
#ifndef GSAN_DEVICE_FOREIGN_H
#define GSAN_DEVICE_FOREIGN_H

#include "device/desc.h"
#include "device/report.h"

/* Once for each launch. */
NEVER void foreign_told(const struct gsan_launch *l)
{
	u32 *told = &own_launch(l)->told, old = gpu_load32(told), *tells = &own_tables(l)->tells;
	while (old != l->seq) {
		u32 now = gpu_cas32(told, old, l->seq);
		if (now == old && !gpu_load32(tells))
			gpu_store32(tells, 1);
		if (now == old)
			report_told(l);
		old = now == old ? l->seq : now;
	}
}

/* An access of one lane to what has no shadow. Any write may tell, also a weak one: a kernel's end releases it, and many a host polls
 * for such. 0: it is shared memory of this CTA, or local memory, which are not meant. */
NEVER int foreign_access(const struct gsan_launch *l, u64 address, u32 desc)
{
	if (gpu_is_own(address))
		return 0;
	if (op_may_write(desc_op(desc)))
		foreign_told(l);
	return 1;
}

#endif

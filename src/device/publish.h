/* A launch's entry of the launch table, written by the first warp that claims it. Who meets a record of the others meanwhile waits for it
 * (tag_await). */
#ifndef GSAN_DEVICE_PUBLISH_H
#define GSAN_DEVICE_PUBLISH_H

#include "device/launch.h"
#include "device/learnt.h"

/* Which numbers had been given out before the launch writes where a host may read: launches with these the host has not put behind that. Asked for
 * only where kernels write there, for it is the host's memory that says it. */
NEVER u32 launch_given(const struct gsan_launch *l)
{
	if (!gpu_load32(&own_tables(l)->tells))
		return 0;
	return gpu_acquire32(&((const struct gsan_ring *)(uintptr_t)l->ring)->given); /* before the claim, behind which the others go on */
}

NEVER void launch_publish(const struct gsan_launch *l)
{
	struct dev_launch *e = own_launch(l);
	if (gpu_cached64(&e->seq) >> 32 == l->seq) /* once claimed it stays so: a yes may come from the L1 */
		return;
	u32 claim = gpu_load32(&e->claim);
	if (claim == l->seq)
		return;
	launch_floor(l);
	u32 given = launch_given(l);
	if (gpu_cas32(&e->claim, claim, l->seq) != claim)
		return;
	launch_fill(launch_whole(l), e);
	launch_base(launch_whole(l));
	if (given) /* else what an older launch left, which is less */
		gpu_store32(&e->given, given);
	learnt_before(l);
	gpu_release32(&e->seq, l->seq);
}

#endif

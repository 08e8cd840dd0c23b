/* CTA states: what a CTA of a synchronising kernel keeps between its operations. The first warp of the CTA makes it, in
 * one of the 16 places of its bucket, the last thread to leave frees it. */
#ifndef GSAN_DEVICE_STATE_H
#define GSAN_DEVICE_STATE_H

#include "device/shadow.h"

NEVER u32 state_find(struct dev_tables *t, u64 key, u32 bucket)
{
	for (u32 i = 0; i < DEV_BUCKET; i++)
		if (gpu_load64(&t->state[bucket * DEV_BUCKET + i].key) == key)
			return bucket * DEV_BUCKET + i + 1;
	return 0;
}

ALWAYS void state_reset(struct dev_state *s)
{
	u64 *word = (u64 *)s;
	for (u32 i = 1; i < sizeof *s / 8; i++)
		gpu_store64(word + i, 0);
	gpu_store32(&s->epoch, 1);
}

/* Index + 1 of the state of this CTA; the first warp makes it. 0: its bucket is full. */
NEVER u32 state_enter(const struct gsan_launch *l, u64 cta)
{
	struct dev_tables *t = own_tables(l);
	u64 key = (u64)l->seq << 32 | (u32)(cta + 1);
	u32 bucket = (u32)mix64(key) & (DEV_BUCKETS - 1);
	u32 found = state_find(t, key, bucket);
	if (found)
		return found;
	gpu_lock(&t->bucket_lock[bucket]);
	found = state_find(t, key, bucket);
	if (!found)
		found = state_find(t, 0, bucket);
	if (found && gpu_load64(&t->state[found - 1].key) != key) {
		state_reset(&t->state[found - 1]);
		gpu_fence_sys();
		gpu_store64(&t->state[found - 1].key, key);
	}
	gpu_unlock(&t->bucket_lock[bucket]);
	if (!found)
		count(l, GSAN_N_STATE_FULL, 1);
	return found;
}

/* `threads` more have left; the last one of the CTA frees the state. */
ALWAYS void state_leave(struct dev_state *s, u32 threads)
{
	u32 all = gpu_ntid_x() * gpu_ntid_y() * gpu_ntid_z();
	if (gpu_add32(&s->exited, threads) + threads == all) {
		gpu_fence_sys();
		gpu_store64(&s->key, 0);
	}
}

#endif

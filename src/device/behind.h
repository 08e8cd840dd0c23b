/* A copy or a set is checked late, when it is over (range.h): what came behind it may have been there already. Is it before the access that
 * made a record? Everything that this CTA has acquired counts, be it behind its access, and what cannot be known counts as ordered. */
#ifndef GSAN_DEVICE_BEHIND_H
#define GSAN_DEVICE_BEHIND_H

#include "device/order.h"
#include "device/state.h"

#define BEHIND_BLOCKS 4096u /* of 1,024 CTAs: one more may have made it in each */
ALWAYS u64 launch_ctas(const struct dev_launch *e) { return (u64)gpu_load32(&e->grid[0]) * gpu_load32(&e->grid[1]) * gpu_load32(&e->grid[2]); }

/* The next state, from *block on, of a CTA that may have made the record; NULL: there is none that still runs and keeps one. */
NEVER struct dev_state *behind_state(const struct gsan_launch *l, u64 rec, u64 *block)
{
	const struct dev_launch *e = tag_launch(l, rec_tag(rec));
	struct dev_tables *t = dev_tables(tag_participant(l, rec_tag(rec)));
	int private = tag_private(l, rec_tag(rec));
	u64 ctas = private ? 1 : launch_ctas(e);
	for (; *block << GSAN_CTA_BITS < ctas; ++*block) {
		u64 key = private ? gpu_load64(&e->cta) : state_key(gpu_load32(&e->seq), cta_of_hash(*block, rec_cta(rec), l->seed));
		u32 found = state_find(t, key, state_bucket(key));
		if (found)
			return &t->state[found - 1];
	}
	return 0;
}

/* Does the copy come before what that state's CTA has acquired? If it is another CTA's by now, that says nothing, and counts as yes. */
NEVER int behind_knows(const struct who *w, u64 rec, struct dev_state *s)
{
	u64 key = gpu_load64(&s->key);
	int knows = gpu_load32(&s->clock.flags) & DEV_CLOCK_EVERYTHING ||
		    closure_covers(w, w->base, 0, s, ASKED_CTA /* whichever warp of it */, (rec & ~0ull << GSAN_REC_TAG_SHIFT) | ELEM_ALL);
	return knows || gpu_load64(&s->key) != key;
}

NEVER int behind_states(const struct who *w, u64 rec)
{
	u64 block = 0;
	if (launch_ctas(tag_launch(w->launch, rec_tag(rec))) >> GSAN_CTA_BITS >= BEHIND_BLOCKS)
		return 1;
	for (struct dev_state *s; (s = behind_state(w->launch, rec, &block)); block++)
		if (behind_knows(w, rec, s))
			return 1;
	return 0;
}

/* Has the record's launch acquired anything, or one before it, or may it do so yet? */
NEVER int behind_acquires(const struct gsan_launch *l, u64 rec)
{
	const struct dev_launch *e = tag_launch(l, rec_tag(rec));
	u64 block = 0;
	return order_inherits_as(l, &e->order, tag_participant(l, rec_tag(rec)), launch_stream(e), gpu_load32(&e->seq)) ||
	       launch_ctas(e) >> GSAN_CTA_BITS >= BEHIND_BLOCKS || behind_state(l, rec, &block) != 0;
}

/* First the CTA's state, if it is there, for when it leaves it hands on what it has acquired, and frees that then. */
NEVER int behind(const struct who *w, u64 rec)
{
	const struct gsan_launch *l = w->launch;
	if (!rec_epoch(rec) && !tag_private(l, rec_tag(rec))) /* a CTA without a state that should have had one */
		return 1;
	if (!tag_mapped(l, rec_tag(rec)) || order_has(&tag_launch(l, rec_tag(rec))->order, l->participant, l->stream, l->seq))
		return 1;
	return behind_states(w, rec) || closure_covers(w, w->base, 0, 0, ASKED_LETTER, (rec & ~0ull << GSAN_REC_TAG_SHIFT) | ELEM_ALL);
}

#endif

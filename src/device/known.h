/* What a CTA and the newest version of a location are known to share already, so that who spins on a location, and who writes there
 * again, goes through what has changed since and not through all: of a version, elements that this CTA has read; of the CTA's clock,
 * elements that the version has. Under the locks of entry and state. */
#ifndef GSAN_DEVICE_KNOWN_H
#define GSAN_DEVICE_KNOWN_H

#include "device/desc.h"
#include "device/elem_order.h"

/* ---- read before -------------------------------------------------------------------------------------------------------- */
/* Beside the warp that looked at a location: what it set aside may become a formal edge (F3), or was joined. Else an RMW looks again. */
#define LOOKED_FORMALLY 0x100u
/* The generation at which this warp read the newest version last, being morally strong with it; 0: never. What it found it has joined
 * or set aside, whatever it acquired; but where that left a hint, a read at another site leaves its own. */
ALWAYS u32 looked_at_last(const struct dev_state *s, const struct dev_sync *e, u32 as, u32 site)
{
	u32 hinted = gpu_own32(&s->looked_hinted), by = gpu_own32(&s->looked_by);
	return gpu_own64(&s->looked_key) == gpu_load64(&e->key) && (by == as || by == (as | LOOKED_FORMALLY)) && (!hinted || hinted == site + 1) ?
		       gpu_own32(&s->looked) : 0;
}
ALWAYS void looked_now(struct dev_state *s, u64 key, u32 generation, u32 as, u32 site, int hinted)
{
	gpu_store64(&s->looked_key, key);
	gpu_store32(&s->looked, generation);
	gpu_store32(&s->looked_by, as);
	gpu_store32(&s->looked_hinted, hinted ? site + 1 : 0);
}
ALWAYS int changed_since(const struct dev_sync *e, u32 i, u32 looked) { return !looked || (int)(gpu_load32(&e->changed[i]) - looked) > 0; }

/* ---- released before ---------------------------------------------------------------------------------------------------- */
/* Is `told` about the newest version of this location, and releases of that scope? */
ALWAYS int told_about(const struct dev_state *s, const struct dev_sync *e, u32 scope)
{
	return gpu_own64(&s->told_key) == gpu_load64(&e->key) && gpu_own32(&s->told_lineage) == gpu_own32(&e->lineage) &&
	       gpu_own32(&s->told_scope) == scope;
}
/* From here on it is; those elements are there. */
ALWAYS void told_set(struct dev_state *s, const struct dev_sync *e, u32 scope, u64 told)
{
	gpu_store64(&s->told_key, gpu_load64(&e->key));
	gpu_store32(&s->told_lineage, gpu_own32(&e->lineage));
	gpu_store32(&s->told_scope, scope);
	gpu_store64(&s->told, told);
}

ALWAYS void told_begin(struct dev_state *s, const struct dev_sync *e, u32 scope)
{
	if (!told_about(s, e, scope))
		told_set(s, e, scope, 0);
}

/* `elem`, which has just been joined to place `at` of the clock, stands in the newest version. */
ALWAYS void told_by(const struct who *w, const struct dev_sync *e, u32 at, u64 elem)
{
	struct dev_state *s = w->state;
	u32 scope = gpu_own32(&s->told_scope);
	u64 ours = elem_handed_on(gpu_own64(&s->clock.elem[at]), elem_by_us(w->launch, scope, 0));
	if (told_about(s, e, scope) && elem_within(w->launch, ours, elem, 1))
		gpu_store64(&s->told, gpu_own64(&s->told) | 1ull << at);
}

#endif

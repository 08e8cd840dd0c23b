/* What makes a race formal: it is one by the letter of PTX, and none where the three rules below hold, too, which all known GPUs
 * keep. The same trace goes through a second detector (ref.held) that has them; what is a race in the first alone is formal. They
 * are about the warps or threads of a CTA that meet at a barrier, so of CTAs that are one program nothing is told.
 *
 *  F1  What a fence covered whose thread then came to a barrier counts for the strong writes of all behind it, as if they had
 *      fenced that themselves:  __threadfence(); __syncthreads(); if (!tid) atomicAdd(flag, 1);
 *  F2  What strong reads observed before a barrier is acquired by a fence of anybody behind it, for who fences:
 *      if (!tid) while (!*flag); __syncthreads(); __threadfence();
 *  F3  What an RMW observed whose result is used is acquired at the next barrier by all behind it, if it reaches so far:
 *      if (!tid) last = atomicAdd(count, 1) == n; __syncthreads();  (A cas that fails is a read.)
 *      Not in a CTA of one warp, where the runtime follows no barrier: there it is a race in earnest.
 *
 * Who only arrives gets nothing. Where something unknown orders all of a CTA (barrier.c), that is a barrier of all. */
#include "reference/model.h"

#include <stdlib.h>

void formal_observe(struct ref *r, const struct access *a, const struct part *p)
{
	if (r->formal && a->rmw && a->writes && r->launch[r->cta[a->cta].launch].block > reference_units[UNIT_WARP].threads)
		r->cta[a->cta].relaxed = clock_join(r->cta[a->cta].relaxed, p->clock);
}

void formal_arrive(struct ref *r, struct met *m, uint32_t thread)
{
	const struct cta *c = &r->cta[thread];
	if (!r->formal)
		return;
	for (int i = 0; i < FENCES; i++)
		if (c->fence_form[i] == FORM_FENCE)
			m->fence[i] = clock_join(m->fence[i], c->fence[i]);
	parts_join(&m->heard, &c->heard);
	for (uint32_t at = c->places; at != NO_INDEX; at = r->place[at].next)
		parts_join(&m->heard, &r->place[at].pending);
	m->clock = clock_join(m->clock, c->relaxed);
}

void formal_pass(struct ref *r, const struct met *m, uint32_t thread)
{
	struct cta *c = &r->cta[thread];
	for (int i = 0; i < FENCES; i++) {
		if (clock_covers(c->fence[i], m->fence[i]))
			continue;
		c->fence[i] = clock_join(c->fence[i], m->fence[i]);
		c->fence_form[i] = FORM_FENCE;
	}
	parts_join(&c->heard, &m->heard);
}

void formal_tell(struct ref *r)
{
	const struct ref_race *held;
	const size_t races = r->held ? ref_races(r->held, &held) : 0;
	for (size_t i = 0; r->held && i < r->races; i++)
		r->race[i].formal = !races || !bsearch(&r->race[i], held, races, sizeof *held, races_by_sites);
}

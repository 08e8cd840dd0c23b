/* How far a job is, in one sentence: what a launcher on a terminal asks for while its ranks run. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/hash.h"
#include "supervisor/state.h"

/* Of candidates of other launches, the same in each order; never 0. */
static uint64_t progress_pair(const struct candidate *c)
{
	const struct gsan_side *side[2] = {&c->finding.first, &c->finding.second};
	uint64_t pair = 1;
	for (int i = 0; i < 2; i++) {
		uint64_t place = hash_step(hash_step(HASH_START, side[i]->participant), side[i]->kernel);
		pair += hash_step(place, side[i]->site);
	}
	return pair ? pair : 1;
}

/* 1: it was not there. There is room. */
static int progress_insert(uint64_t *table, size_t mask, uint64_t pair)
{
	size_t i = (pair >> 8) & mask;
	while (table[i] && table[i] != pair)
		i = (i + 1) & mask;
	const int fresh = !table[i];
	table[i] = pair;
	return fresh;
}

/* At most so many findings: what may be ordered is looked into at the end, and several may have one cause. */
static uint32_t progress_findings(const struct supervisor *s)
{
	size_t room = 1024;
	uint32_t n = 0;
	while (room < 2 * (size_t)s->candidates)
		room *= 2;
	uint64_t *table = calloc(room, sizeof *table);
	for (uint32_t i = 0; table && i < CANDIDATE_BUCKETS; i++)
		for (const struct candidate *c = s->bucket[i]; c; c = c->next)
			if ((c->belief == BELIEF_OPEN || c->belief == BELIEF_RACE) && (!c->finding.formal || s->config.formal == FORMAL_FAIL))
				n += (uint32_t)progress_insert(table, room - 1, progress_pair(c));
	free(table);
	return n;
}

void supervisor_progress(const struct supervisor *s, struct text *out)
{
	uint64_t launches = 0, checked = 0;
	const uint32_t findings = progress_findings(s);
	for (uint32_t p = 0; p < GSAN_PARTICIPANTS; p++)
		if (s->owner[p]) {
			launches += atomic_load_explicit(&s->job->rank[p].launches_checked, memory_order_relaxed);
			checked += atomic_load_explicit(&s->job->rank[p].counter[GSAN_N_CHECKED], memory_order_relaxed);
		}
	for (uint32_t i = 0; i < s->config.size; i++) {
		launches += s->past[i].launches_checked;
		checked += s->past[i].counter[GSAN_N_CHECKED];
	}
	if (!launches && !s->compiles)
		return;
	text_printf(out, "%s%" PRIu32 " finding%s so far, checked %" PRIu64 " launch%s, %" PRIu64 " access%s", findings ? "up to " : "", findings,
		    findings == 1 ? "" : "s", launches, launches == 1 ? "" : "es", checked, checked == 1 ? "" : "es");
	if (s->compiles)
		text_puts(out, "; kernels are being compiled");
}

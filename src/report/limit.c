/* How many findings of a kind are kept with all that is known of them; the others are counted. What decides the exit status goes first, so
 * that of each kind of which there is anything, something is there. */
#include "report/report.h"

enum limit_turn { LIMIT_NEW, LIMIT_OLD, LIMIT_FORMAL, LIMIT_SUPPRESSED, LIMIT_TURNS };

static enum limit_turn limit_turn(const struct report_finding *f)
{
	return f->suppressed ? LIMIT_SUPPRESSED : f->formal ? LIMIT_FORMAL : f->age == REPORT_OLD ? LIMIT_OLD : LIMIT_NEW;
}

/* Rings are written to by programs. */
static enum gsan_kind limit_kind(const struct report_finding *f) { return f->kind < GSAN_TOLD ? f->kind : GSAN_KIND_NONE; }

static void limit_drop(struct report *r, const struct report_finding *f)
{
	if (f->formal)
		r->formal_unlisted++;
	if (f->formal || f->suppressed) /* its suppression counts it */
		return;
	r->unlisted[limit_kind(f)].findings++;
	r->unlisted[limit_kind(f)].count += f->count;
	r->unlisted[limit_kind(f)].old += f->age == REPORT_OLD;
}

void report_limit(struct report *r, uint32_t details)
{
	uint32_t room[GSAN_TOLD][LIMIT_TURNS] = {{0}}, kept = 0;
	for (uint32_t i = 0; i < r->findings; i++)
		room[limit_kind(&r->finding[i])][limit_turn(&r->finding[i])]++;
	for (int kind = 0; kind < GSAN_TOLD; kind++)
		for (uint32_t turn = 0, left = details; turn < LIMIT_TURNS; turn++) {
			room[kind][turn] = room[kind][turn] < left ? room[kind][turn] : left;
			left -= room[kind][turn];
		}
	index_free(&r->index);
	for (uint32_t i = 0; i < r->findings; i++) {
		const struct report_finding f = r->finding[i];
		uint32_t *left = &room[limit_kind(&f)][limit_turn(&f)];
		if (*left) {
			--*left;
			r->finding[kept++] = f;
		} else {
			limit_drop(r, &f);
		}
	}
	r->findings = kept;
}

uint64_t report_unlisted(const struct report *r)
{
	uint64_t n = 0;
	for (int kind = 0; kind < GSAN_TOLD; kind++)
		n += r->unlisted[kind].findings;
	return n;
}

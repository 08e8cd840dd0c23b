/* How many findings of a kind are kept with all that is known of them; the others are counted. What decides the exit status goes first, so
 * that of each kind of which there is anything, something is there. So are as many pairs beside the roots, in the order of the report. */
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

/* room: for pairs beside the root, of each kind of root. */
static void limit_pairs(struct report *r, struct report_finding *f, uint32_t *room)
{
	if (!f->pairs)
		return;
	const uint32_t kept = f->pairs - 1 > *room ? *room + 1 : f->pairs;
	const struct report_finding *pair = &r->pair[f->pair];
	for (uint32_t i = kept; i < f->pairs; i++)
		if (report_counts(f, &pair[i])) {
			f->count_unlisted += pair[i].count;
			f->kinds_unlisted |= pair[i].also | 1u << pair[i].kind;
		}
	f->pairs_unlisted += f->pairs - kept;
	if (kept < f->pairs) { /* as whoever reads the report will see it */
		const struct report_finding whole = report_whole(pair, kept);
		f->schedules = whole.schedules;
		f->first_seed = whole.first_seed;
	}
	f->pairs = kept;
	*room -= kept - 1;
}

void report_limit(struct report *r, uint32_t details)
{
	uint32_t pairs[GSAN_TOLD];
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
	for (int kind = 0; kind < GSAN_TOLD; kind++)
		pairs[kind] = details;
	for (uint32_t i = 0; i < kept; i++)
		limit_pairs(r, &r->finding[i], &pairs[limit_kind(&r->finding[i])]);
}

uint64_t report_unlisted(const struct report *r)
{
	uint64_t n = 0;
	for (int kind = 0; kind < GSAN_TOLD; kind++)
		n += r->unlisted[kind].findings;
	return n;
}

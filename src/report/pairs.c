/* What a missing edge explains beside the root, for people: pairs of equal lines are one, whatever their ranks and kinds. */
#include "report/pairs.h"

#include <string.h>

#include "report/order.h"
#include "report/suppress.h"

#define PAIRS_SHOWN 8 /* of a finding, and of the ranks of one pair of lines */
#define PAIRS_INDENT 10

static int pairs_same_side(const struct report_side *a, const struct report_side *b)
{
	return report_same_place(&a->at, &b->at) && !report_text_order(a->inlined_at, b->inlined_at) && !report_text_order(a->kernel, b->kernel) &&
	       !report_text_order(a->op, b->op);
}

static int pairs_crossed(const struct report_finding *a, const struct report_finding *b)
{
	return !pairs_same_side(&a->first, &b->first) && pairs_same_side(&a->first, &b->second) && pairs_same_side(&a->second, &b->first);
}

static int pairs_same_lines(const struct report_finding *a, const struct report_finding *b)
{
	const int same = (pairs_same_side(&a->first, &b->first) && pairs_same_side(&a->second, &b->second)) || pairs_crossed(a, b);
	return same && a->suppressed == b->suppressed && !report_text_order(report_label(a), report_label(b));
}

int pairs_next(const struct report *r, const struct report_finding *f, struct pairs *lines)
{
	uint32_t all, at = lines->pair ? lines->next : 1;
	const struct report_finding *pair = report_pairs(r, f, &all);
	if (at >= all)
		return 0;
	*lines = (struct pairs){.pair = &pair[at], .pairs = 1, .count = pair[at].count, .next = at + 1};
	for (; lines->next < all && pairs_same_lines(lines->pair, &pair[lines->next]); lines->pairs++) /* a place that is not known is no other's */
		lines->count += pair[lines->next++].count;
	return 1;
}

static void pairs_add_side(struct text *out, const struct report_side *side)
{
	text_puts(out, report_noun(side));
	report_add_where(out, " at ", side, "");
}

void pairs_add_sides(struct text *out, const struct report_finding *pair)
{
	pairs_add_side(out, &pair->first);
	text_puts(out, ", ");
	pairs_add_side(out, &pair->second);
}

/* Of all pairs and both sides, or -1. */
static int pairs_rank(const struct pairs *lines)
{
	const int rank = lines->pair->first.rank;
	for (uint32_t i = 0; i < lines->pairs; i++)
		if (lines->pair[i].first.rank != rank || lines->pair[i].second.rank != rank)
			return -1;
	return rank;
}

/* "ranks 0 and 1, 0 and 0", "rank 0": each once */
static void pairs_add_ranks(struct text *out, const struct pairs *lines)
{
	uint32_t shown = 0, more = 0;
	int before[2] = {-1, -1};
	if (pairs_rank(lines) >= 0) {
		text_printf(out, "; rank %d", pairs_rank(lines));
		return;
	}
	for (uint32_t i = 0; i < lines->pairs; i++) {
		const int crossed = pairs_crossed(lines->pair, &lines->pair[i]);
		const int a = crossed ? lines->pair[i].second.rank : lines->pair[i].first.rank;
		const int b = crossed ? lines->pair[i].first.rank : lines->pair[i].second.rank, again = i && a == before[0] && b == before[1];
		before[0] = a;
		before[1] = b;
		if (a < 0 || b < 0 || again)
			continue;
		if (shown == PAIRS_SHOWN) {
			more++;
			continue;
		}
		text_printf(out, "%s%d and %d", shown++ ? ", " : "; ranks ", a, b);
	}
	if (more)
		text_printf(out, " and %u more pair%s of ranks", more, more == 1 ? "" : "s");
}

void pairs_add(struct text *out, const struct pairs *lines)
{
	pairs_add_sides(out, lines->pair);
	pairs_add_ranks(out, lines);
	if (report_label(lines->pair))
		text_printf(out, "; label %s", report_label(lines->pair));
	text_puts(out, "; ");
	int one_launch = 1;
	for (uint32_t i = 0; i < lines->pairs; i++)
		one_launch &= report_in_one_launch(&lines->pair[i]);
	report_add_count(out, lines->count, lines->pairs == 1 && report_is_single(lines->pair), one_launch);
}

static void pairs_say(const struct page *p, struct text *line, const struct report_finding *about)
{
	text_puts(p->out, "  also:   ");
	page_sentence(p, PAIRS_INDENT, PAIRS_INDENT, line->data ? line->data : "", about);
	p->out->failed |= line->failed;
	text_free(line);
}

void pairs_text(const struct page *p, const struct report *r, const struct report_finding *f)
{
	struct text line = {0};
	uint32_t shown = 0, more = 0;
	for (struct pairs lines = {0}; pairs_next(r, f, &lines);) {
		const int counts = report_counts(f, lines.pair);
		if (!p->style->verbose && (!counts || shown == PAIRS_SHOWN)) {
			more += (uint32_t)counts;
			continue;
		}
		pairs_add(&line, &lines);
		if (!counts)
			text_printf(&line, "; suppressed by %s:%u", r->suppression[lines.pair->suppressed - 1].file,
				    r->suppression[lines.pair->suppressed - 1].line);
		pairs_say(p, &line, lines.pair);
		shown++;
	}
	if (more)
		text_printf(&line, "and %u more pair%s of lines (gsan-report --verbose)", more, more == 1 ? "" : "s");
	if (f->pairs_unlisted)
		text_printf(&line, "%s%u more, not listed (--details)", more ? ", and " : "and ", f->pairs_unlisted);
	if (line.size)
		pairs_say(p, &line, NULL);
}

/* One line for each pair that counts, equal ones once. */
void pairs_hide(struct text *out, const struct report *r, const struct report_finding *f)
{
	struct text said[PAIRS_SHOWN] = {{0}};
	uint32_t n, shown = 0, more = 0, k;
	const struct report_finding *pair = report_pairs(r, f, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct text line = {0};
		if (!report_counts(f, &pair[i]))
			continue;
		report_suggest_one(&line, r, &pair[i]);
		for (k = 0; k < shown && strcmp(said[k].data ? said[k].data : "", line.data ? line.data : "");)
			k++;
		out->failed |= line.failed;
		more += k == PAIRS_SHOWN;
		if (k == shown && k < PAIRS_SHOWN)
			said[shown++] = line;
		else
			text_free(&line);
	}
	for (k = 0; k < shown; k++) {
		text_printf(out, "%*s%s\n", k ? PAIRS_INDENT : 0, "", said[k].data ? said[k].data : "");
		text_free(&said[k]);
	}
	if (more)
		text_printf(out, "%*s(and further ones: gsan-report --suggest)\n", PAIRS_INDENT, "");
}

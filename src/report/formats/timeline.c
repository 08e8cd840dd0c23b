/* When what ran: for each participant a curve that rises with the operations that its streams had been given, and on it the launches of each
 * finding, joined by a line. Drawn by the times at which hosts enqueued, which is all that is known; one of a merged report would mix runs. */
#include "report/formats/format.h"

#include <inttypes.h>

#define TIMELINE_LEFT 110u /* pixels, for the names */
#define TIMELINE_WIDTH 760u
#define TIMELINE_LANE 56u
#define TIMELINE_RISE 40u
#define TIMELINE_FINDINGS 200u /* so many are drawn, those first that stand first */

struct timeline { const struct report *r; uint64_t end; /* ms */ };
struct mark { unsigned x, y; };

static uint64_t timeline_end(const struct report *r)
{
	uint64_t end = 1;
	for (uint32_t i = 0; i < r->job.lanes; i++) {
		const struct report_lane *lane = &r->job.lane[i];
		for (uint32_t k = 0; k < lane->points; k++)
			end = lane->point[k].ms > end ? lane->point[k].ms : end;
	}
	return end;
}

static uint32_t timeline_last(const struct report_lane *lane)
{
	const uint32_t number = lane->points ? lane->point[lane->points - 1].number : 0;
	return number ? number : 1;
}

static struct mark timeline_at(const struct timeline *t, uint32_t lane, uint64_t ms, uint32_t number)
{
	const uint64_t last = timeline_last(&t->r->job.lane[lane]), most = number < last ? number : last;
	return (struct mark){TIMELINE_LEFT + (unsigned)(ms * TIMELINE_WIDTH / t->end),
			     (lane + 1) * TIMELINE_LANE - 8 - (unsigned)(most * TIMELINE_RISE / last)};
}

/* The first time by which the launch had been enqueued, else the last one. 0: no lane is its participant's. */
static int timeline_side(const struct timeline *t, const struct report_side *side, struct mark *at)
{
	for (uint32_t i = 0; i < t->r->job.lanes; i++) {
		const struct report_lane *lane = &t->r->job.lane[i];
		uint32_t k = 0;
		if (lane->participant != side->participant || !lane->points)
			continue;
		while (k + 1 < lane->points && lane->point[k].number <= side->launch)
			k++;
		*at = timeline_at(t, i, lane->point[k].ms, side->launch);
		return 1;
	}
	return 0;
}

static void timeline_lane(struct text *out, const struct timeline *t, uint32_t i)
{
	const struct report_lane *lane = &t->r->job.lane[i];
	text_printf(out, "<text x=\"0\" y=\"%u\">", (i + 1) * TIMELINE_LANE - 20);
	if (lane->rank >= 0)
		text_printf(out, "rank %d, ", lane->rank);
	text_printf(out, "GPU %d</text>\n<polyline class=\"lane\" points=\"", lane->gpu);
	for (uint32_t k = 0; k < lane->points; k++) {
		const struct mark m = timeline_at(t, i, lane->point[k].ms, lane->point[k].number), foot = timeline_at(t, i, lane->point[k].ms, 0);
		if (!k)
			text_printf(out, "%u,%u", foot.x, foot.y);
		text_printf(out, " %u,%u", m.x, m.y);
	}
	text_puts(out, "\"><title>");
	text_counted(out, timeline_last(lane) - 1, "operation", "operations");
	text_puts(out, "</title></polyline>\n");
}

static void timeline_finding(struct text *out, const struct timeline *t, const struct report_finding *f, uint32_t number)
{
	struct mark a, b;
	if (!timeline_side(t, &f->first, &a) || !timeline_side(t, &f->second, &b))
		return;
	text_printf(out, "<a href=\"#f%" PRIu32 "\"><line class=\"mark\" x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\"/>", number, a.x, a.y, b.x, b.y);
	text_printf(out, "<circle class=\"mark\" cx=\"%u\" cy=\"%u\" r=\"4\"/><circle class=\"mark\" cx=\"%u\" cy=\"%u\" r=\"4\"/><title>finding %" PRIu32 ": launch %u and launch %u</title></a>\n",
		    a.x, a.y, b.x, b.y, number, f->first.launch, f->second.launch);
}

void timeline_add(struct text *out, const struct report *r)
{
	const struct timeline t = {r, timeline_end(r)};
	if (!r->job.lanes || r->merged || r->schedules)
		return;
	text_puts(out, "<h2>Launches</h2>\n<p class=\"soft\">What each GPU's streams had been given, by the time of the host; the launches of each finding on it");
	text_printf(out, r->findings > TIMELINE_FINDINGS ? ", of the first %u.</p>\n" : ".</p>\n", TIMELINE_FINDINGS);
	text_printf(out, "<svg class=\"time\" role=\"img\" viewBox=\"0 0 %u %u\">\n", TIMELINE_LEFT + TIMELINE_WIDTH + 10, r->job.lanes * TIMELINE_LANE + 24);
	for (uint32_t i = 0; i < r->job.lanes; i++)
		timeline_lane(out, &t, i);
	for (uint32_t i = 0; i < r->findings && i < TIMELINE_FINDINGS; i++)
		timeline_finding(out, &t, &r->finding[i], i + 1);
	text_printf(out, "<text x=\"%u\" y=\"%u\">0</text><text x=\"%u\" y=\"%u\" text-anchor=\"end\">%" PRIu64 ".%03u s</text>\n</svg>\n", TIMELINE_LEFT,
		    r->job.lanes * TIMELINE_LANE + 16, TIMELINE_LEFT + TIMELINE_WIDTH, r->job.lanes * TIMELINE_LANE + 16, t.end / 1000, (unsigned)(t.end % 1000));
}

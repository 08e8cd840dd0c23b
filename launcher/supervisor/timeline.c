/* When each participant's streams had been given how much, of the moments that it noted (job.h): for the report's timeline. */
#include "report/report.h"
#include "supervisor/state.h"

static uint64_t timeline_ms(const struct supervisor *s, uint64_t ns)
{
	const uint64_t ms = ns / 1000000;
	return ms > s->config.job->began_ms ? ms - s->config.job->began_ms : 0;
}

/* Its moments, evenly chosen if they are many. */
static uint32_t timeline_points(const struct supervisor *s, const struct owner *owner, const struct job_rank *rank, struct report_point *point)
{
	uint32_t have = atomic_load_explicit(&rank->moments, memory_order_acquire), take; /* pairs with the owner's release store */
	have = have < JOB_MOMENTS ? have : JOB_MOMENTS;
	take = have < REPORT_POINTS ? have : REPORT_POINTS;
	for (uint32_t i = 0; i < take; i++) {
		const struct job_moment *m = &rank->moment[take > 1 ? (uint64_t)i * (have - 1) / (take - 1) : 0];
		point[i] = (struct report_point){timeline_ms(s, m->until), supervisor_launch(owner, m->next)};
	}
	return take;
}

int supervisor_timeline(const struct supervisor *s, struct report *r)
{
	struct report_lane lane[REPORT_LANES_MAX];
	struct report_point point[REPORT_LANES_MAX][REPORT_POINTS];
	uint32_t lanes = 0;
	for (uint32_t p = 0; p < GSAN_PARTICIPANTS && lanes < REPORT_LANES_MAX; p++) {
		const struct owner *owner = s->owner[p];
		const uint32_t points = owner ? timeline_points(s, owner, &s->job->rank[p], point[lanes]) : 0;
		if (!points)
			continue;
		lane[lanes] = (struct report_lane){(int)p, supervisor_owner_rank(s, owner), (int)owner->gpu, points, point[lanes]};
		lanes++;
	}
	return lanes ? report_set_lanes(r, lane, lanes) : 0;
}

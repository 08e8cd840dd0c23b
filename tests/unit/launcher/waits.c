/* Who waits, as the supervisor is told of it: what is reported, and what not. */
#include <stdlib.h>

#include "../check.h"
#include "supervisor/state.h"

static struct supervisor *s;

static void make(int status, enum member_state state)
{
	s = calloc(1, sizeof *s);
	CHECK(s);
	s->config.size = 1;
	s->job = calloc(1, sizeof *s->job);
	CHECK(s->job);
	s->job->participants = 1;
	s->member[0].state = state;
	s->member[0].status = status;
	CHECK(!supervisor_owner_join(s, 0, 0, 1, "0000:01:00.0"));
}

static void drop(void)
{
	supervisor_owners_free(s);
	free(s->job);
	free(s);
}

static void tell(uint32_t seq, uint16_t site, uint32_t times)
{
	struct gsan_finding f = {.kind = GSAN_WAITS, .bytes = 4, .address = 64, .second = {.seq = seq, .site = site, .stream = 3}};
	f.waits.value = seq;
	f.waits.known = 1;
	f.waits.times = times;
	supervisor_waits(s, &f);
}

/* How many are reported. */
static uint32_t waits(uint32_t *unlisted, uint32_t *first)
{
	struct report r = {.ranks = 1};
	r.rank[0].end = s->member[0].state == MEMBER_RUNNING ? REPORT_RUNNING : REPORT_EXITED;
	r.rank[0].status = s->member[0].status;
	supervisor_waits_report(s, &r);
	const uint32_t n = r.waits;
	*unlisted = r.waits_unlisted;
	*first = n ? r.wait[0].side.launch : 0;
	report_free(&r);
	return n;
}

static uint32_t listed(void)
{
	uint32_t unlisted, first;
	return waits(&unlisted, &first);
}

/* A place is one of a launch and an instruction; the last word of it counts. */
static void places(void)
{
	struct report r = {.ranks = 1, .rank[0].status = 1};
	make(1, MEMBER_DONE);
	tell(5, 1, 4096);
	tell(5, 2, 4096);
	tell(6, 1, 4096);
	tell(5, 1, 8192);
	supervisor_waits_report(s, &r);
	CHECK(r.waits == 3 && !r.waits_unlisted);
	CHECK(r.wait[0].side.launch == 5 && r.wait[0].times == 8192 && r.wait[0].value == 5 && r.wait[0].value_known && r.wait[0].address == 64);
	report_free(&r);
	drop();
}

/* Of a rank that ended well nothing is said, whatever it did not wait for. */
static void ended_well(void)
{
	static const struct { int status; enum member_state state; uint32_t waits; } row[] = {
		{0, MEMBER_DONE, 0}, {3, MEMBER_DONE, 1}, {0, MEMBER_RUNNING, 1},
	};
	for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
		make(row[i].status, row[i].state);
		tell(5, 1, 4096);
		CHECK(listed() == row[i].waits);
		drop();
	}
}

/* A launch that the host has seen end waits no longer; nor does, likely, one of which the next word is long overdue. */
static void over(void)
{
	struct job_clock *clock;
	make(1, MEMBER_DONE);
	clock = &s->job->rank[0].clock;
	tell(5, 1, 4096);
	atomic_store(&clock->floor, 5);
	atomic_store(&clock->stream[3], 4);
	atomic_store(&clock->stream[2], 9);
	CHECK(listed() == 1);
	atomic_store(&clock->stream[3], 5);
	CHECK(listed() == 0);
	atomic_store(&clock->stream[3], 0);
	atomic_store(&clock->floor, 6);
	CHECK(listed() == 0);
	atomic_store(&clock->floor, 0);
	CHECK(listed() == 1);
	s->wait[0].last -= 60000;
	s->wait[0].since = s->wait[0].last - 20000; /* it is told of again after 20 s more, or some more */
	CHECK(listed() == 1);
	s->wait[0].since = s->wait[0].last - 5000;
	CHECK(listed() == 0);
	drop();
}

/* What a process waited for when it left it waits for however late the report is, and whoever has its place by then. */
static void left(void)
{
	make(1, MEMBER_DONE);
	tell(5, 1, 4096);
	tell(6, 1, 4096);
	s->wait[0].last -= 60000; /* the newest: launch 6 */
	s->wait[0].since = s->wait[0].last;
	supervisor_waits_leave(s, 0);
	CHECK(s->waits == 1 && listed() == 1);
	s->wait[0].last -= 60000;
	atomic_store(&s->job->rank[0].clock.floor, 9);
	CHECK(!supervisor_owner_join(s, 0, 0, 2, "0000:01:00.0"));
	supervisor_waits_leave(s, 0);
	CHECK(listed() == 1);
	tell(5, 1, 4096); /* of another process */
	CHECK(s->waits == 2 && listed() == 1);
	drop();
}

/* 64 are listed, those that were told of last, 1,024 are kept: all others are counted. */
static void many(void)
{
	uint32_t unlisted, first;
	make(1, MEMBER_DONE);
	for (uint32_t seq = 1; seq <= REPORT_WAITS_MAX; seq++)
		tell(seq, 1, 4096);
	CHECK(waits(&unlisted, &first) == REPORT_WAITS_MAX && !unlisted && first == REPORT_WAITS_MAX);
	for (uint32_t seq = REPORT_WAITS_MAX + 1; seq <= WAITS_KEPT; seq++)
		tell(seq, 1, 4096);
	CHECK(waits(&unlisted, &first) == REPORT_WAITS_MAX && unlisted == WAITS_KEPT - REPORT_WAITS_MAX && first == WAITS_KEPT);
	tell(1, 1, 8192);
	CHECK(waits(&unlisted, &first) == REPORT_WAITS_MAX && unlisted == WAITS_KEPT - REPORT_WAITS_MAX && first == 1);
	tell(2000, 1, 4096);
	CHECK(waits(&unlisted, &first) == REPORT_WAITS_MAX && unlisted == WAITS_KEPT - REPORT_WAITS_MAX + 1 && first == 2000);
	atomic_store(&s->job->rank[0].clock.floor, WAITS_KEPT + 1);
	CHECK(waits(&unlisted, &first) == 1);
	tell(2001, 1, 4096); /* in the place of one that is over */
	CHECK(s->waits == WAITS_KEPT && s->waits_lost == 1);
	drop();
}

/* The ring is the program's memory, too. */
static void scribbled(void)
{
	struct gsan_finding f = {.kind = GSAN_WAITS, .second = {.participant = GSAN_PARTICIPANTS}};
	make(1, MEMBER_DONE);
	supervisor_waits(s, &f);
	f.second = (struct gsan_side){.participant = 1};
	supervisor_waits(s, &f); /* nobody is there */
	f.second = (struct gsan_side){.stream = GSAN_STREAMS};
	supervisor_waits(s, &f);
	CHECK(!s->waits && !listed());
	f.second = (struct gsan_side){.seq = 1, .kernel = 7, .site = 0xffff};
	supervisor_waits(s, &f);
	CHECK(listed() == 1 && !s->wait[0].known && !s->wait[0].kernel);
	drop();
}

int main(void)
{
	places();
	ended_well();
	over();
	left();
	many();
	scribbled();
	return 0;
}

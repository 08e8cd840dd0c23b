#include "copies.h"

#include "access.h"

#include <string.h>

/* ---- where ----------------------------------------------------------------------------------------------------- */

static size_t step_of(const struct lit_program *p, int launch)
{
	size_t at = 0;
	while (p->step[at].op != LIT_DO_LAUNCH || p->step[at].launch != launch)
		at++;
	return at;
}

static void insert(struct build *b, size_t at, struct lit_step s)
{
	build_step(b, s);
	memmove(b->p->step + at + 1, b->p->step + at, (b->p->steps - 1 - at) * sizeof s);
	b->p->step[at] = s;
}

/* In the launch's stream, behind it or before: in order with it, and with whatever the hosts order with it on that side. */
static void beside(struct build *b, int launch, int behind, struct lit_step s)
{
	size_t at = step_of(b->p, launch) + (size_t)behind;
	s.rank = b->p->launch[launch].rank;
	s.stream = build_breaks(b) ? (int)build_below(b, 3) : b->p->launch[launch].stream;
	if (build_breaks(b))
		at = build_below(b, (uint32_t)b->p->steps + 1);
	insert(b, at, s);
}

/* ---- what ------------------------------------------------------------------------------------------------------ */

static int data_new(struct build *b)
{
	static const uint16_t sizes[] = {4, 8, 16, 16, 64, 128, 256, 512, 1024};
	return build_location(b, "data", (int)build_below(b, (uint32_t)b->p->ranks), sizes[build_below(b, sizeof sizes / sizeof *sizes)]);
}

/* Over all of it, or some bytes. from < 0: a set. */
static struct lit_step range(struct build *b, int to, int from)
{
	uint32_t bytes = b->p->location[to].bytes, offset = 0;
	if (from >= 0 && b->p->location[from].bytes < bytes)
		bytes = b->p->location[from].bytes;
	if (build_chance(b, 40)) {
		offset = build_below(b, bytes);
		bytes = 1 + build_below(b, bytes - offset);
	}
	struct lit_step s = {.op = from < 0 ? LIT_DO_SET : LIT_DO_COPY, .to = {to, (int32_t)offset}, .bytes = bytes};
	if (from >= 0)
		s.from = (struct lit_place){from, (int32_t)offset};
	else
		s.value = (uint8_t)(1 + build_below(b, 255));
	return s;
}

static void touch(struct build *b, struct build_actor *a, int location, enum lit_op op)
{
	build_instr(b, a, access_data(b, a, location, 0, b->p->location[location].bytes, op));
}

/* ---- idioms ---------------------------------------------------------------------------------------------------- */

/* Two launches that the hosts order, and between them a copy or a set: what the first does with the copy's target or its source, and the second. */
static void between(struct build *b)
{
	struct build_actor *first = build_any_actor(b), *second = build_any_actor(b);
	for (int tries = 0; tries < 20 && !b->before[first->launch][second->launch]; tries++) {
		first = build_any_actor(b);
		second = build_any_actor(b);
	}
	if (first->launch == second->launch || (!b->before[first->launch][second->launch] && !build_breaks(b)))
		return;
	int to = data_new(b), from = build_chance(b, 60) ? data_new(b) : -1, behind = build_chance(b, 50);
	if (build_chance(b, 70))
		touch(b, first, from >= 0 && build_chance(b, 60) ? from : to, build_chance(b, 60) ? LIT_ST : LIT_LD);
	if (build_chance(b, 70))
		touch(b, second, from >= 0 && build_chance(b, 40) ? from : to, build_chance(b, 40) ? LIT_ST : LIT_LD);
	beside(b, behind ? first->launch : second->launch, behind, range(b, to, from));
	if (build_chance(b, 30))
		beside(b, second->launch, 0, range(b, to, -1));
}

/* Over what others use. */
static void anywhere(struct build *b)
{
	int to = (int)build_below(b, (uint32_t)b->p->locations), from = (int)build_below(b, (uint32_t)b->p->locations);
	struct lit_step s = range(b, to, build_chance(b, 50) ? from : -1);
	s.rank = (int)build_below(b, (uint32_t)b->p->ranks);
	s.stream = (int)build_below(b, 3);
	insert(b, build_below(b, (uint32_t)b->p->steps + 1), s);
}

void copies_add(struct build *b)
{
	for (uint32_t n = 1 + build_below(b, 3); n--;)
		between(b);
	if (b->p->locations && build_chance(b, b->broken ? 30 : 0))
		anywhere(b);
}

/* What the text of kernels tells where the device knows no flag between two accesses, or one of another round: who waits before the one, and what is
 * raised behind the other. What is said of it is a guess: whether it is of one word the text does not tell. */
#include <string.h>

#include "supervisor/state.h"

/* An access, as its kernel's text has it. */
struct rounds {
	const struct ptx_info *info;
	const struct ptx_site *at;    /* NULL: it is not known */
	const struct ptx_site *waits; /* the last wait before it, behind which each thread comes to it; NULL: there is none */
	const struct ptx_site *lone;  /* the only place of its function that waits; NULL: none does, or several */
};

static int rounds_elsewhere(const struct ptx_site *a, const struct ptx_site *b)
{
	return a->line != b->line || strcmp(a->file, b->file) || strcmp(a->inlined_at, b->inlined_at);
}

static struct rounds rounds_of(const struct kernel *kernel, uint16_t id)
{
	struct rounds r = {.info = kernel && !kernel->info.host ? &kernel->info : NULL};
	const struct ptx_site *lone = NULL;
	r.at = r.info ? ptx_info_site(r.info, id) : NULL;
	r.at = r.at && strcmp(r.at->file, "-") ? r.at : NULL; /* without lines nothing could be named */
	int several = 0;
	for (const struct ptx_site *s = r.at ? r.info->site : NULL; r.at && s < r.info->site + r.info->sites; s++) {
		if (!s->awaits || !strcmp(s->semantics, "weak") || strcmp(s->function, r.at->function))
			continue;
		several |= lone && rounds_elsewhere(s, lone);
		lone = s;
		if (ptx_info_waited(r.info, s, r.at) && (!r.waits || s->id < r.at->id))
			r.waits = s;
	}
	r.lone = several ? NULL : lone;
	return r;
}

/* The next flag behind the access that is raised, and is no wait; NULL: there is none. */
static const struct ptx_site *rounds_raised(const struct rounds *r)
{
	for (const struct ptx_site *s = r->info->site; s < r->info->site + r->info->sites; s++) {
		const int writes = !strcmp(s->op, "st") || !strncmp(s->op, "atom", 4) || !strncmp(s->op, "red", 3);
		if (s->id > r->at->id && writes && !s->awaits && strcmp(s->semantics, "weak") && !strcmp(s->function, r->at->function))
			return s;
	}
	return NULL;
}

static struct report_flag rounds_flag(const struct rounds *r, const struct ptx_site *s)
{
	return s ? supervisor_flag(s, r->info->kernel) : (struct report_flag){0};
}

static void rounds_say(struct report_finding *f, enum gsan_reason why, struct report_flag write, struct report_flag read)
{
	f->reason = why;
	f->both = f->certain = 0;
	f->flag_write = write;
	f->flag_read = read;
}

/* Does it stand between where a lock is taken and where it is given back, and the other one, of the same function, behind no wait at all? */
static int rounds_holds(const struct rounds *one, const struct rounds *other)
{
	return one->info == other->info && !strcmp(one->at->function, other->at->function) && one->waits && one->waits->takes && !other->waits && rounds_raised(one);
}
static int rounds_lock(const struct rounds *first, const struct rounds *second, struct report_finding *f)
{
	static const struct report_flag none;
	if (rounds_holds(first, second))
		rounds_say(f, GSAN_WHY_UNLOCKED, rounds_flag(first, first->waits), none);
	else if (rounds_holds(second, first))
		rounds_say(f, GSAN_WHY_UNLOCKED, none, rounds_flag(second, second->waits));
	return f->reason == GSAN_WHY_UNLOCKED;
}

/* What waits before the store: or, where not in each round, as in the first ones of a ring, the only place of its function that does, but for the load's. */
static const struct ptx_site *rounds_wait(const struct rounds *writer, const struct rounds *reader)
{
	const struct ptx_site *found = writer->waits;
	for (const struct ptx_site *s = writer->info->site; !writer->waits && s < writer->info->site + writer->info->sites; s++) {
		const int loads = reader->info == writer->info && reader->waits && !rounds_elsewhere(s, reader->waits);
		if (!s->awaits || loads || !strcmp(s->semantics, "weak") || strcmp(s->function, writer->at->function))
			continue;
		if (found && rounds_elsewhere(s, found))
			return NULL;
		found = s;
	}
	return found;
}

/* A store that is executed again, or waits, did not wait for the load, which is of an earlier round. */
static void rounds_reused(const struct rounds *writer, const struct rounds *reader, struct report_finding *f)
{
	const struct ptx_site *wait = rounds_wait(writer, reader);
	const int locks = (wait && wait->takes) || (reader->waits && reader->waits->takes);
	if (locks || !(writer->waits || (reader->waits && writer->at->again)))
		return;
	rounds_say(f, GSAN_WHY_REUSED, rounds_flag(reader, rounds_raised(reader)), rounds_flag(writer, wait));
	f->awaited = rounds_flag(reader, reader->waits);
}

/* The load stands before the only wait of its kernel, or another thread of its CTA waits. */
static void rounds_beside(const struct rounds *writer, const struct rounds *reader, struct report_finding *f)
{
	const struct report_flag write = rounds_flag(writer, rounds_raised(writer)), read = rounds_flag(reader, reader->lone);
	if (ptx_info_before(reader->info, reader->at, reader->lone))
		rounds_say(f, GSAN_WHY_LATE_ACQUIRE, write, read);
	else if (ptx_info_before(reader->info, reader->lone, reader->at) && f->reason == GSAN_WHY_NONE)
		rounds_say(f, GSAN_WHY_UNAWAITED, write, read);
}

/* Nothing is known of a flag of theirs. */
static void rounds_unknown(const struct rounds *writer, const struct rounds *reader, struct report_finding *f)
{
	if (!reader->waits) {
		if (reader->lone)
			rounds_beside(writer, reader, f);
		return;
	}
	const struct ptx_site *raised = rounds_raised(writer);
	if (f->kind == GSAN_WAR)
		rounds_reused(writer, reader, f);
	if (f->reason == GSAN_WHY_NONE && raised && !reader->waits->takes)
		rounds_say(f, GSAN_WHY_OLDER, rounds_flag(writer, raised), rounds_flag(reader, reader->waits));
}

/* Does the flag's place stand behind the access, or that place once more, if it was unrolled? */
static int rounds_behind(const struct rounds *r, const struct ptx_site *flag)
{
	for (const struct ptx_site *s = flag ? r->info->site : NULL; flag && s < r->info->site + r->info->sites; s++)
		if (s->id > r->at->id && !rounds_elsewhere(s, flag) && !strcmp(s->function, r->at->function))
			return 1;
	return 0;
}

/* Of a loop the device may see a barrier that is missing between one round and the next, where the text has one in each. */
static void rounds_contradict(const struct candidate *c, const struct rounds *first, const struct rounds *writer, const struct rounds *reader, struct report_finding *f)
{
	const struct ptx_site *flag = c->flag[0] == c->kernel[0] ? ptx_info_site(first->info, c->finding.flag_write_site) : NULL;
	const struct rounds *second = first == writer ? reader : writer;
	const int alone = f->reason == GSAN_WHY_ACQUIRED_ALONE;
	if (alone && second == reader && !second->waits && second->lone)
		rounds_beside(writer, reader, f);
	else if ((alone && second->waits) || (f->reason == GSAN_WHY_PUBLISHED_ALONE && flag && ptx_info_meets(first->info, first->at, flag)) ||
		 (f->reason == GSAN_WHY_BEFORE_PAYLOAD && !f->early && !c->certain && rounds_behind(first, flag)))
		rounds_reused(writer, reader, f);
}

void supervisor_rounds(const struct candidate *c, struct report_finding *f)
{
	const struct rounds first = rounds_of(c->kernel[0], c->finding.first.site), second = rounds_of(c->kernel[1], c->finding.second.site);
	const int known = first.at && second.at && !f->formal && !report_two_launches(f) && !report_is_strong(&f->first) && !report_is_strong(&f->second);
	const int war = f->kind == GSAN_WAR, one_way = war || f->kind == GSAN_RAW;
	const struct rounds *writer = war ? &second : &first, *reader = war ? &first : &second;
	if (!known || (!one_way && f->kind != GSAN_WAW) || !strcmp(f->first.op, "ld.nc") || !strcmp(f->second.op, "ld.nc"))
		return;
	if (f->reason == GSAN_WHY_NONE && !rounds_lock(&first, &second, f) && one_way)
		rounds_unknown(writer, reader, f);
	else if (one_way)
		rounds_contradict(c, &first, writer, reader, f);
}

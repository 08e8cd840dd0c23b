/* What a litmus program must keep to, so that whoever takes one (the emitter, the enumerator of executions, a GPU) need not
 * look again. */
#include "litmus.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct checker { const struct lit_program *p; char *error; size_t room; int failed; };

static void wrong(struct checker *c, uint32_t line, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void wrong(struct checker *c, uint32_t line, const char *format, ...)
{
	va_list args;
	int used;

	if (c->failed)
		return;
	c->failed = -EINVAL;
	used = snprintf(c->error, c->room, "%s:%u: ", c->p->file ? c->p->file : c->p->name, line);
	va_start(args, format);
	if (used >= 0 && (size_t)used < c->room)
		vsnprintf(c->error + used, c->room - (size_t)used, format, args);
	va_end(args);
}

/* Bytes from the start of the memory that the location lies in. */
static int64_t offset_in_root(const struct lit_program *p, int location)
{
	int64_t offset = 0;

	for (; p->location[location].base >= 0; location = p->location[location].base)
		offset += p->location[location].offset;
	return offset;
}

static void check_access(struct checker *c, const struct lit_thread *t, const struct lit_instr *i)
{
	const struct lit_location *l = &c->p->location[i->location];
	int64_t size = (int64_t)i->bytes * i->vector, first = i->offset + (int64_t)i->stride * t->first;
	int64_t last = i->offset + (int64_t)i->stride * (t->first + t->threads - 1) + size;

	if (first < 0 || last > l->bytes)
		wrong(c, i->line, "reaches outside of '%s', which has %u bytes; give it more", l->name, l->bytes);
	else if ((offset_in_root(c->p, i->location) + i->offset) % size || i->stride % size)
		wrong(c, i->line, "%d bytes that are not aligned to as many: a GPU refuses that; change the offset", (int)size);
	if (i->op == LIT_POLL && !i->count)
		wrong(c, i->line, "a poll that never looks; write at least 1 behind the value");
	if ((i->op == LIT_LD || i->op == LIT_POLL) && i->reg + i->vector > LIT_REGS)
		wrong(c, i->line, "the vector fills registers behind r%d; begin lower", LIT_REGS - 1);
}

static void check_thread(struct checker *c, const struct lit_thread *t)
{
	int depth = 0, conditions = 0;
	enum lit_op open[LIT_REGS];

	for (size_t n = 0; n < t->instrs; n++) {
		const struct lit_instr *i = &t->instr[n];

		if (i->location >= 0)
			check_access(c, t, i);
		if (i->op == LIT_IF || i->op == LIT_REPEAT) {
			if (depth == 8) {
				wrong(c, i->line, "more than 8 levels; write less deep");
				return;
			}
			open[depth++] = i->op;
			conditions += i->op == LIT_IF;
		} else if (i->op == LIT_END) {
			if (!depth) {
				wrong(c, i->line, "an end that ends nothing; remove it");
				return;
			}
			conditions -= open[--depth] == LIT_IF;
		} else if (i->op == LIT_BAR && (i->meet == LIT_SYNC || i->meet == LIT_ARRIVE || i->meet == LIT_REDUCE) &&
			   (!i->count || i->count % 32)) {
			wrong(c, i->line, "a barrier of %u threads; write a multiple of 32", i->count);
		} else if (i->op == LIT_BAR && conditions) {
			wrong(c, i->line, "a barrier under a condition may not be met by all threads; write it outside");
		}
	}
	if (depth)
		wrong(c, t->instr[t->instrs - 1].line, "an if or repeat is still open; write end");
}

/* How many barriers a section passes. */
static uint64_t barriers(const struct lit_thread *t)
{
	uint64_t sum = 0, times[10] = {1};
	int depth = 0;

	for (size_t n = 0; n < t->instrs; n++) {
		const struct lit_instr *i = &t->instr[n];

		if (i->op == LIT_IF || i->op == LIT_REPEAT) {
			times[depth + 1] = times[depth] * (i->op == LIT_REPEAT ? i->count : 1);
			depth++;
		} else if (i->op == LIT_END) {
			depth--;
		} else if (i->op == LIT_BAR && i->meet == LIT_ALL) {
			sum += times[depth];
		}
	}
	return sum;
}

static uint32_t line_of(const struct lit_thread *t)
{
	return t->instrs ? t->instr[0].line : 0;
}

static void check_pair(struct checker *c, const struct lit_thread *a, const struct lit_thread *b)
{
	if (a->launch != b->launch || a->cta != b->cta)
		return;
	if (a->first < b->first + b->threads && b->first < a->first + a->threads)
		wrong(c, line_of(b), "threads of cta %u that have a section already; write other ones", b->cta);
	if (!c->failed && barriers(a) != barriers(b))
		wrong(c, line_of(b), "%llu barriers where another section of the CTA has %llu; write as many in each",
		      (unsigned long long)barriers(b), (unsigned long long)barriers(a));
}

/* Named barriers and mbarriers: all come, and who meets whom does not depend on chance. */
static void check_barriers(struct checker *c)
{
	struct lit_use (*use)[LIT_USES];
	uint32_t *uses, line = 0;
	const char *what;

	if (c->failed || !lit_has_barriers(c->p))
		return;
	use = calloc(c->p->threads, sizeof(*use));
	uses = calloc(c->p->threads, sizeof(*uses));
	what = use && uses ? lit_barriers(c->p, use, uses, &line) : "no memory";
	if (what)
		wrong(c, line, "%s", what);
	free(use);
	free(uses);
}

static void check_sections(struct checker *c)
{
	const struct lit_program *p = c->p;

	for (size_t t = 0; t < p->threads && !c->failed; t++) {
		const struct lit_launch *l = &p->launch[p->thread[t].launch];

		if (p->thread[t].cta >= l->grid || p->thread[t].first + p->thread[t].threads > l->block)
			wrong(c, line_of(&p->thread[t]), "launch %s has %u CTAs of %u threads; write a larger grid or block", l->name,
			      l->grid, l->block);
		check_thread(c, &p->thread[t]);
		for (size_t other = 0; other < t; other++)
			check_pair(c, &p->thread[other], &p->thread[t]);
	}
	check_barriers(c);
}

static void check_range(struct checker *c, uint32_t line, const struct lit_place *p, uint32_t bytes)
{
	const struct lit_location *l = &c->p->location[p->location];

	if (!bytes || p->offset < 0 || (uint64_t)p->offset + bytes > l->bytes)
		wrong(c, line, "reaches outside of '%s', which has %u bytes, or has none; give it more", l->name, l->bytes);
}

static void check_steps(struct checker *c)
{
	const struct lit_program *p = c->p;

	for (size_t s = 0; s < p->steps && !c->failed; s++) {
		const struct lit_step *step = &p->step[s];
		int known = 0;

		if (step->op == LIT_DO_LAUNCH && (!p->launch[step->launch].block || !p->launch[step->launch].grid))
			wrong(c, step->line, "a launch without threads; write block 32");
		if (step->op == LIT_DO_COPY || step->op == LIT_DO_SET)
			check_range(c, step->line, &step->to, step->bytes);
		if (step->op == LIT_DO_COPY)
			check_range(c, step->line, &step->from, step->bytes);
		for (size_t before = 0; before < s; before++)
			known |= p->step[before].op == LIT_DO_RECORD && p->step[before].rank == step->rank &&
				 p->step[before].event == step->event;
		if ((step->op == LIT_DO_WAIT || step->op == LIT_DO_SYNC_EVENT) && !known)
			wrong(c, step->line, "event %d of rank %d was not recorded; write 'record %d rank %d' before", step->event,
			      step->rank, step->event, step->rank);
	}
}

int lit_check(const struct lit_program *p, char *error, size_t room)
{
	struct checker c = {.p = p, .error = error, .room = room};

	for (size_t l = 0; l < p->locations; l++) {
		const struct lit_location *at = &p->location[l];

		if (at->base >= (int)l || at->offset < 0 || !at->bytes || (at->base >= 0 && p->location[at->base].rank != at->rank))
			wrong(&c, 1, "location '%s' is empty, or does not fit the one that it lies in; write 'location %s bytes 4 at BASE + 0'",
			      at->name, at->name);
	}
	check_steps(&c);
	check_sections(&c);
	return c.failed;
}

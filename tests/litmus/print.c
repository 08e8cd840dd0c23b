/* A litmus program as text. Every line that is written is counted, so that instructions learn where they stand. */
#include "litmus.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

struct printer { struct lit_program *p; FILE *to; uint32_t line; };

static void put(struct printer *pr, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct printer *pr, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(pr->to, format, args);
	va_end(args);
	pr->line += strchr(format, '\n') != NULL;
}

static void print_address(struct printer *pr, const struct lit_instr *i)
{
	put(pr, " %s", pr->p->location[i->location].name);
	if (i->offset)
		put(pr, "%+d", i->offset);
	if (i->stride)
		put(pr, " tid*%d", i->stride);
}

static void print_access(struct printer *pr, const struct lit_instr *i)
{
	char opcode[LIT_OPCODE];

	lit_opcode_write(i, opcode);
	put(pr, "%s%s", i->op == LIT_POLL ? "poll " : "", opcode);
	if (i->op == LIT_LD || i->op == LIT_POLL || (i->op == LIT_ATOM && i->reg >= 0))
		put(pr, " r%d", i->reg);
	else if (i->op == LIT_ATOM)
		put(pr, " _");
	if (i->op == LIT_FENCE) {
		put(pr, "\n");
		return;
	}
	print_address(pr, i);
	if (i->op == LIT_ATOM && i->rmw == LIT_CAS)
		put(pr, " %" PRIu64, i->compare);
	if (i->op == LIT_POLL)
		put(pr, " %" PRIu64 " %u", i->value, i->count);
	else if (i->op != LIT_LD && i->value_reg >= 0)
		put(pr, " r%d", i->value_reg);
	else if (i->op != LIT_LD)
		put(pr, " %" PRIu64, i->value);
	put(pr, "\n");
}

static void print_barrier(struct printer *pr, const struct lit_instr *i)
{
	static const char *const words[] = {[LIT_ALL] = "bar", [LIT_SYNC] = "bar.sync", [LIT_ARRIVE] = "bar.arrive", [LIT_REDUCE] = "bar.red",
					    [LIT_WARP] = "bar.warp.sync", [LIT_MARRIVE] = "mbarrier.arrive", [LIT_MWAIT] = "mbarrier.wait",
					    [LIT_MTOKEN] = "mbarrier.wait"};

	put(pr, "%s", words[i->meet]);
	if (i->meet == LIT_MTOKEN)
		put(pr, " %u token", i->barrier);
	else if (i->meet != LIT_ALL && i->meet != LIT_WARP)
		put(pr, " %u %u", i->barrier, i->meet == LIT_MWAIT ? (unsigned)i->value : i->count);
	put(pr, "\n");
}

static void print_thread(struct printer *pr, struct lit_thread *t)
{
	int depth = 2;

	put(pr, "cta %u", t->cta);
	if (t->threads > 1)
		put(pr, " threads %u..%u", t->first, t->first + t->threads - 1);
	else if (t->first)
		put(pr, " thread %u", t->first);
	put(pr, "\n");
	for (size_t n = 0; n < t->instrs; n++) {
		struct lit_instr *i = &t->instr[n];

		i->line = pr->line;
		depth -= 2 * (i->op == LIT_END);
		put(pr, "%*s", depth, "");
		if (i->op == LIT_BAR)
			print_barrier(pr, i);
		else if (i->op == LIT_END)
			put(pr, "end\n");
		else if (i->op == LIT_IF)
			put(pr, "if r%d %s %" PRIu64 "\n", i->reg, i->negated ? "!=" : "==", i->value);
		else if (i->op == LIT_REPEAT)
			put(pr, "repeat %u\n", i->count);
		else
			print_access(pr, i);
		depth += 2 * (i->op == LIT_IF || i->op == LIT_REPEAT);
	}
}

static void print_launch(struct printer *pr, int launch)
{
	const struct lit_launch *l = &pr->p->launch[launch];

	put(pr, "launch %s rank %d stream %d grid %u block %u\n", l->name, l->rank, l->stream, l->grid, l->block);
	for (size_t t = 0; t < pr->p->threads; t++)
		if (pr->p->thread[t].launch == launch)
			print_thread(pr, &pr->p->thread[t]);
}

static void print_place(struct printer *pr, const struct lit_place *p)
{
	put(pr, " %s", pr->p->location[p->location].name);
	if (p->offset)
		put(pr, "%+d", p->offset);
}

static void print_range(struct printer *pr, const struct lit_step *s)
{
	put(pr, "%s", s->op == LIT_DO_COPY ? "copy" : "set");
	print_place(pr, &s->to);
	if (s->op == LIT_DO_COPY)
		print_place(pr, &s->from);
	else
		put(pr, " value %u", s->value);
	put(pr, " bytes %u rank %d stream %d\n", s->bytes, s->rank, s->stream);
}

static void print_step(struct printer *pr, struct lit_step *s)
{
	s->line = pr->line;
	switch (s->op) {
	case LIT_DO_LAUNCH: print_launch(pr, s->launch); break;
	case LIT_DO_RECORD: put(pr, "record %d rank %d stream %d\n", s->event, s->rank, s->stream); break;
	case LIT_DO_WAIT: put(pr, "wait %d rank %d stream %d\n", s->event, s->rank, s->stream); break;
	case LIT_DO_COPY:
	case LIT_DO_SET: print_range(pr, s); break;
	case LIT_DO_SYNC_STREAM: put(pr, "sync stream %d rank %d\n", s->stream, s->rank); break;
	case LIT_DO_SYNC_EVENT: put(pr, "sync event %d rank %d\n", s->event, s->rank); break;
	case LIT_DO_SYNC_ALL: put(pr, "sync all rank %d\n", s->rank); break;
	}
}

static void print_outcome(struct printer *pr)
{
	const struct lit_program *p = pr->p;

	for (size_t n = 0; n < p->terms; n++) {
		const struct lit_term *term = &p->term[n];

		put(pr, "%s", !n ? "exists " : term->clause == term[-1].clause ? " & " : " | ");
		if (term->location >= 0) {
			put(pr, "%s", p->location[term->location].name);
		} else {
			const struct lit_thread *t = &p->thread[term->thread];

			put(pr, "%s.%u.%u:r%d", p->launch[t->launch].name, t->cta, t->first, term->reg);
		}
		put(pr, " = %" PRIu64, term->value);
	}
	if (p->terms)
		put(pr, "\n");
	if (p->expect != LIT_UNSAID)
		put(pr, "expect %s%s%s\n", p->expect == LIT_RACE ? "race" : "free", p->kinds ? " " : "", p->kinds ? p->kinds : "");
	if (p->cites)
		put(pr, "cites \"%s\"\n", p->cites);
}

void lit_print(struct lit_program *p, FILE *to)
{
	struct printer pr = {.p = p, .to = to, .line = 1};

	put(&pr, "litmus %s\n", p->name);
	put(&pr, "ranks %d\n", p->ranks);
	put(&pr, "devices");
	for (int r = 0; r < p->ranks; r++)
		put(&pr, " %d", p->device[r]);
	put(&pr, "\n");
	for (size_t l = 0; l < p->locations; l++) {
		const struct lit_location *at = &p->location[l];

		put(&pr, "location %s rank %d bytes %u", at->name, at->rank, at->bytes);
		if (at->base >= 0)
			put(&pr, " at %s + %d", p->location[at->base].name, at->offset);
		put(&pr, "\n");
	}
	for (size_t s = 0; s < p->steps; s++)
		print_step(&pr, &p->step[s]);
	print_outcome(&pr);
}

#include "build.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"

const struct lit_instr build_plain = {.bytes = 4, .vector = 1, .location = -1, .reg = -1, .value_reg = -1};

uint64_t build_random(struct build *b) { return random_next(&b->state); }

uint32_t build_below(struct build *b, uint32_t n) { return (uint32_t)((build_random(b) >> 32) * n >> 32); }
int build_chance(struct build *b, uint32_t percent) { return build_below(b, 100) < percent; }
int build_breaks(struct build *b) { return build_chance(b, b->broken); }
struct build_actor *build_any_actor(struct build *b) { return &b->actor[build_below(b, (uint32_t)b->actors)]; }

void *build_append(void *list, size_t *count, size_t size)
{
	void **at = list;
	char *bigger = realloc(*at, (*count + 1) * size);
	if (!bigger)
		abort(); /* a test program: nothing to save */
	*at = bigger;
	memset(bigger + *count * size, 0, size);
	return bigger + (*count)++ * size;
}

int build_location(struct build *b, const char *role, int rank, uint32_t bytes)
{
	struct lit_program *p = b->p;
	struct lit_location *l = build_append(&p->location, &p->locations, sizeof *l);
	snprintf(l->name, sizeof l->name, "%s%zu", role, p->locations - 1);
	l->rank = rank;
	l->bytes = bytes;
	l->base = -1;
	return (int)p->locations - 1;
}

int build_location_over(struct build *b, const char *role, int base, int32_t offset, uint32_t bytes)
{
	int at = build_location(b, role, b->p->location[base].rank, bytes);
	b->p->location[at].base = base;
	b->p->location[at].offset = offset;
	return at;
}

int build_launch(struct build *b, int rank, int stream, uint32_t grid, uint32_t block)
{
	struct lit_program *p = b->p;
	struct lit_launch *l = build_append(&p->launch, &p->launches, sizeof *l);
	snprintf(l->name, sizeof l->name, "%c", (int)('A' + p->launches - 1));
	l->rank = rank;
	l->stream = stream;
	l->grid = grid;
	l->block = block;
	return (int)p->launches - 1;
}

int build_thread(struct build *b, int launch, uint32_t cta, uint32_t first, uint32_t threads)
{
	struct lit_program *p = b->p;
	struct lit_thread *t = build_append(&p->thread, &p->threads, sizeof *t);
	*t = (struct lit_thread){.launch = launch, .cta = cta, .first = first, .threads = threads};
	return (int)p->threads - 1;
}

void build_step(struct build *b, struct lit_step step)
{
	struct lit_step *s = build_append(&b->p->step, &b->p->steps, sizeof *s);
	*s = step;
}

static void append_to(struct build *b, int thread, struct lit_instr instr)
{
	struct lit_thread *t = &b->p->thread[thread];
	struct lit_instr *i = build_append(&t->instr, &t->instrs, sizeof *i);
	*i = instr;
}

void build_instr(struct build *b, const struct build_actor *a, struct lit_instr instr) { append_to(b, a->thread, instr); }

void build_helper_instr(struct build *b, const struct build_actor *a, struct lit_instr instr)
{
	append_to(b, a->helper >= 0 ? a->helper : a->thread, instr);
}

void build_bar(struct build *b, const struct build_actor *a)
{
	struct lit_instr bar = build_plain;
	bar.op = LIT_BAR;
	if (a->helper < 0)
		return;
	append_to(b, a->thread, bar);
	append_to(b, a->helper, bar);
}

void build_if(struct build *b, const struct build_actor *a, int reg, uint64_t value)
{
	struct lit_instr i = build_plain;
	i.op = LIT_IF;
	i.reg = reg;
	i.value = value;
	build_instr(b, a, i);
}

void build_end(struct build *b, const struct build_actor *a)
{
	struct lit_instr end = build_plain;
	end.op = LIT_END;
	build_instr(b, a, end);
}

int build_reg(struct build_actor *a, int count)
{
	if (a->regs + count > LIT_REGS)
		a->regs = 0;
	a->regs += count;
	return a->regs - count;
}

int build_rank(const struct build *b, const struct build_actor *a) { return b->p->launch[a->launch].rank; }
int build_device(const struct build *b, const struct build_actor *a) { return b->p->device[build_rank(b, a)]; }

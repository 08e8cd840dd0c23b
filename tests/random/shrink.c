#include "shrink.h"

#include <stdlib.h>
#include <string.h>

struct shrinker {
	struct lit_program *best;
	shrink_judge judge;
	void *context;
	size_t tries;
};

static void *duplicate(const void *from, size_t bytes)
{
	void *to = malloc(bytes ? bytes : 1);
	if (!to)
		abort();
	if (bytes)
		memcpy(to, from, bytes);
	return to;
}

static char *duplicate_text(const char *from) { return from ? duplicate(from, strlen(from) + 1) : NULL; }

struct lit_program *shrink_copy(const struct lit_program *p)
{
	struct lit_program *c = duplicate(p, sizeof *p);
	c->location = duplicate(p->location, p->locations * sizeof *p->location);
	c->launch = duplicate(p->launch, p->launches * sizeof *p->launch);
	c->thread = duplicate(p->thread, p->threads * sizeof *p->thread);
	for (size_t t = 0; t < p->threads; t++)
		c->thread[t].instr = duplicate(p->thread[t].instr, p->thread[t].instrs * sizeof *p->thread[t].instr);
	c->step = duplicate(p->step, p->steps * sizeof *p->step);
	c->term = NULL; /* random programs name no outcome */
	c->terms = 0;
	c->file = duplicate_text(p->file);
	c->kinds = duplicate_text(p->kinds);
	c->cites = duplicate_text(p->cites);
	return c;
}

/* ---- leaving out ----------------------------------------------------------------------------------------------- */

static void cut(void *list, size_t *count, size_t size, size_t at, size_t n)
{
	char *bytes = list;
	memmove(bytes + at * size, bytes + (at + n) * size, (*count - at - n) * size);
	*count -= n;
}

static void cut_thread(struct lit_program *p, size_t t)
{
	free(p->thread[t].instr);
	cut(p->thread, &p->threads, sizeof *p->thread, t, 1);
}

static int cut_launch(struct lit_program *p, size_t l)
{
	for (size_t t = p->threads; t-- > 0;) {
		if (p->thread[t].launch == (int)l)
			cut_thread(p, t);
		else if (p->thread[t].launch > (int)l)
			p->thread[t].launch--;
	}
	for (size_t s = p->steps; s-- > 0;) {
		if (p->step[s].op == LIT_DO_LAUNCH && p->step[s].launch == (int)l)
			cut(p->step, &p->steps, sizeof *p->step, s, 1);
		else if (p->step[s].op == LIT_DO_LAUNCH && p->step[s].launch > (int)l)
			p->step[s].launch--;
	}
	cut(p->launch, &p->launches, sizeof *p->launch, l, 1);
	return p->launches > 0;
}

static int location_is_used(const struct lit_program *p, size_t l)
{
	for (size_t t = 0; t < p->threads; t++)
		for (size_t i = 0; i < p->thread[t].instrs; i++)
			if (p->thread[t].instr[i].location == (int)l)
				return 1;
	for (size_t other = 0; other < p->locations; other++)
		if (p->location[other].base == (int)l)
			return 1;
	for (size_t s = 0; s < p->steps; s++)
		if ((p->step[s].bytes && p->step[s].to.location == (int)l) || (p->step[s].op == LIT_DO_COPY && p->step[s].from.location == (int)l))
			return 1;
	return 0;
}

static int cut_location(struct lit_program *p, size_t l)
{
	if (location_is_used(p, l))
		return 0;
	for (size_t t = 0; t < p->threads; t++)
		for (size_t i = 0; i < p->thread[t].instrs; i++)
			p->thread[t].instr[i].location -= p->thread[t].instr[i].location > (int)l;
	for (size_t other = 0; other < p->locations; other++)
		p->location[other].base -= p->location[other].base > (int)l;
	for (size_t s = 0; s < p->steps; s++) {
		p->step[s].to.location -= p->step[s].to.location > (int)l;
		p->step[s].from.location -= p->step[s].from.location > (int)l;
	}
	cut(p->location, &p->locations, sizeof *p->location, l, 1);
	return 1;
}

static int cut_step(struct lit_program *p, size_t s)
{
	if (p->step[s].op == LIT_DO_LAUNCH)
		return 0;
	cut(p->step, &p->steps, sizeof *p->step, s, 1);
	return 1;
}

/* ---- instructions ---------------------------------------------------------------------------------------------- */

static size_t block_end(const struct lit_thread *t, size_t at) /* of the if or repeat at `at` */
{
	size_t depth = 0;
	for (size_t i = at; i < t->instrs; i++) {
		depth += t->instr[i].op == LIT_IF || t->instr[i].op == LIT_REPEAT;
		depth -= t->instr[i].op == LIT_END;
		if (!depth)
			return i;
	}
	return t->instrs - 1;
}

static void cut_instrs(struct lit_thread *t, size_t at, size_t n) { cut(t->instr, &t->instrs, sizeof *t->instr, at, n); }

/* The k-th barrier of a CTA goes from all its sections at once. */
static void cut_bar(struct lit_program *p, const struct lit_thread *of, size_t at)
{
	size_t before = 0;
	int launch = of->launch;
	uint32_t cta = of->cta;
	for (size_t i = 0; i < at; i++)
		before += of->instr[i].op == LIT_BAR;
	for (size_t t = 0; t < p->threads; t++) {
		size_t seen = 0;
		if (p->thread[t].launch != launch || p->thread[t].cta != cta)
			continue;
		for (size_t i = 0; i < p->thread[t].instrs; i++)
			if (p->thread[t].instr[i].op == LIT_BAR && seen++ == before) {
				cut_instrs(&p->thread[t], i, 1);
				break;
			}
	}
}

/* Without the instruction at `at`; of an if or repeat, without its frame, or with `whole` without what it holds either. */
static int cut_instr(struct lit_program *p, size_t thread, size_t at, int whole)
{
	struct lit_thread *t = &p->thread[thread];
	const struct lit_instr *i = &t->instr[at];
	if (i->op == LIT_END)
		return 0;
	if (i->op == LIT_BAR) {
		cut_bar(p, t, at);
	} else if (i->op == LIT_IF || i->op == LIT_REPEAT) {
		size_t end = block_end(t, at);
		if (whole) {
			cut_instrs(t, at, end - at + 1);
		} else {
			cut_instrs(t, end, 1);
			cut_instrs(t, at, 1);
		}
	} else {
		cut_instrs(t, at, 1);
	}
	return 1;
}

/* ---- making simpler -------------------------------------------------------------------------------------------- */

static int set8(uint8_t *field, uint8_t value) { return *field != value ? *field = value, 1 : 0; }
static int set32(uint32_t *field, uint32_t value) { return *field > value ? *field = value, 1 : 0; }

static int simpler_scope(struct lit_instr *i, enum lit_scope scope)
{
	if (i->scope == LIT_NO_SCOPE || i->scope >= scope)
		return 0;
	i->scope = scope;
	return 1;
}

static int simpler_weak(struct lit_instr *i)
{
	if ((i->op != LIT_LD && i->op != LIT_ST) || i->sem == LIT_WEAK)
		return 0;
	i->sem = LIT_WEAK;
	i->scope = LIT_NO_SCOPE;
	return 1;
}

static int simpler_relaxed(struct lit_instr *i)
{
	if (i->op == LIT_FENCE || i->op > LIT_POLL || i->sem == LIT_WEAK || i->sem == LIT_RELAXED || i->sem == LIT_NC)
		return 0;
	i->scope = i->scope == LIT_NO_SCOPE ? LIT_SYS : i->scope;
	i->sem = LIT_RELAXED;
	return 1;
}

static int simpler_store(struct lit_instr *i) /* an atomic becomes a store of its value */
{
	if (i->op != LIT_ATOM && i->op != LIT_RED)
		return 0;
	i->op = LIT_ST;
	i->reg = -1;
	i->sem = i->sem == LIT_ACQ_REL ? LIT_RELEASE : i->sem == LIT_ACQUIRE ? LIT_RELAXED : i->sem;
	i->rmw = LIT_ADD;
	return 1;
}

static int simpler_fence(struct lit_instr *i)
{
	if (i->op != LIT_FENCE || i->sem == LIT_ACQ_REL)
		return 0;
	i->sem = LIT_ACQ_REL;
	i->membar = 0;
	return 1;
}

/* One way of being simpler; 0: the instruction is that already. */
static int simplify_instr(struct lit_instr *i, int way)
{
	switch (way) {
	case 0: return simpler_weak(i);
	case 1: return simpler_relaxed(i);
	case 2: return simpler_store(i);
	case 3: return simpler_fence(i);
	case 4: return simpler_scope(i, LIT_SYS);
	case 5: return simpler_scope(i, LIT_GPU);
	case 6: return i->op <= LIT_ST && set8(&i->vector, 1);
	case 7: return set8(&i->generic, 0);
	case 8: return i->stride ? i->stride = 0, 1 : 0;
	case 9: return i->offset ? i->offset = 0, 1 : 0;
	case 10: return i->op <= LIT_RED && i->bytes != 4 ? i->bytes = 4, 1 : 0;
	case 11: return i->op == LIT_REPEAT && set32(&i->count, 2);
	case 12: return i->op == LIT_ATOM && i->reg >= 0 ? i->reg = -1, 1 : 0;
	default: return -1;
	}
}

static int simplify_launch(struct lit_program *p, size_t l, int way)
{
	struct lit_launch *at = &p->launch[l];
	uint32_t grid = 1, block = 32;
	for (size_t t = 0; t < p->threads; t++)
		if (p->thread[t].launch == (int)l) {
			grid = p->thread[t].cta + 1 > grid ? p->thread[t].cta + 1 : grid;
			block = p->thread[t].first + p->thread[t].threads > block ? 64 : block;
		}
	switch (way) {
	case 0: return set32(&at->grid, grid);
	case 1: return set32(&at->block, block);
	case 2: return at->stream ? at->stream = 0, 1 : 0; /* the steps keep theirs: more order, or less */
	default: return -1;
	}
}

/* Without the last rank, if nothing is left of it. */
static int drop_rank(struct lit_program *p)
{
	int last = --p->ranks, used = last == 0;
	for (size_t l = 0; l < p->launches; l++)
		used |= p->launch[l].rank == last;
	for (size_t l = 0; l < p->locations; l++)
		used |= p->location[l].rank == last;
	for (size_t s = 0; s < p->steps; s++)
		used |= p->step[s].rank == last;
	return !used;
}

static int own_all(struct lit_program *p) /* all memory is rank 0's */
{
	int changed = 0;
	for (size_t l = 0; l < p->locations; l++) {
		changed |= p->location[l].rank != 0;
		p->location[l].rank = 0;
	}
	return changed;
}

/* ---- the search ------------------------------------------------------------------------------------------------ */

/* Takes the candidate: it becomes the best, or is freed. */
static int attempt(struct shrinker *s, struct lit_program *candidate, int changed)
{
	char error[200];
	int good = changed > 0 && !lit_check(candidate, error, sizeof error);
	if (good) {
		s->tries++;
		good = s->judge(candidate, s->context);
	}
	lit_free(good ? s->best : candidate);
	if (good)
		s->best = candidate;
	return good;
}

static int cut_lists(struct shrinker *s)
{
	int changed = 0;
	struct lit_program *c;
	for (size_t i = s->best->launches; i-- > 0;)
		c = shrink_copy(s->best), changed |= attempt(s, c, cut_launch(c, i));
	for (size_t i = s->best->threads; i-- > 0;)
		c = shrink_copy(s->best), cut_thread(c, i), changed |= attempt(s, c, 1);
	for (size_t i = s->best->steps; i-- > 0;)
		c = shrink_copy(s->best), changed |= attempt(s, c, cut_step(c, i));
	return changed;
}

static int cut_all_instrs(struct shrinker *s)
{
	int changed = 0;
	for (size_t t = 0; t < s->best->threads; t++)
		for (size_t i = s->best->thread[t].instrs; i-- > 0;)
			for (int whole = 1; whole >= 0 && i < s->best->thread[t].instrs; whole--) {
				enum lit_op op = s->best->thread[t].instr[i].op;
				struct lit_program *c = shrink_copy(s->best);
				if (attempt(s, c, (whole || op == LIT_IF || op == LIT_REPEAT) && cut_instr(c, t, i, whole))) {
					changed = 1;
					break;
				}
			}
	return changed;
}

static int simplify_instrs(struct shrinker *s)
{
	int changed = 0, did;
	for (size_t t = 0; t < s->best->threads; t++)
		for (size_t i = 0; i < s->best->thread[t].instrs; i++)
			for (int way = 0;; way++) {
				struct lit_program *c = shrink_copy(s->best);
				did = simplify_instr(&c->thread[t].instr[i], way);
				changed |= attempt(s, c, did);
				if (did < 0)
					break;
			}
	return changed;
}

static int simplify_rest(struct shrinker *s)
{
	int changed = 0;
	for (size_t l = 0; l < s->best->launches; l++)
		for (int way = 0, did = 0; did >= 0; way++) {
			struct lit_program *c = shrink_copy(s->best);
			did = simplify_launch(c, l, way);
			changed |= attempt(s, c, did);
		}
	for (size_t l = s->best->locations; l-- > 0;) {
		struct lit_program *c = shrink_copy(s->best);
		changed |= attempt(s, c, cut_location(c, l));
	}
	struct lit_program *c = shrink_copy(s->best);
	changed |= attempt(s, c, own_all(c));
	c = shrink_copy(s->best);
	changed |= attempt(s, c, drop_rank(c));
	return changed;
}

struct lit_program *shrink(struct lit_program *p, shrink_judge judge, void *context, size_t *tries)
{
	struct shrinker s = {.best = p, .judge = judge, .context = context};
	int changed;
	do {
		changed = cut_lists(&s);
		changed |= cut_all_instrs(&s);
		changed |= simplify_instrs(&s);
		changed |= simplify_rest(&s);
	} while (changed);
	*tries = s.tries;
	return s.best;
}

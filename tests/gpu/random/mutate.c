#include "mutate.h"

#include "forms.h"
#include "player.h"
#include "random/build.h"

static int is_data(const struct native_op *o) /* nobody waits for it */
{
	const struct form *f = forms_get(o->code);

	if (!f || (f->like.op == LIT_FENCE && !forms_is_batch(o->code)))
		return 0;
	return o->tid_end != 1 && !(o->flags & (NATIVE_TO_REG | NATIVE_FROM_REG));
}

static int is_fence(const struct native_op *o)
{
	const struct form *f = forms_get(o->code);

	return f && !forms_is_batch(o->code) && f->like.op == LIT_FENCE;
}

static int is_target(const struct native_launch *l, uint32_t n)
{
	const size_t forms = forms_count();

	for (uint32_t k = 0; k < l->list.ops; k++) {
		const struct native_op *o = &l->list.op[k];
		size_t what = o->code - forms;

		if (o->code >= forms && what >= NATIVE_JUMP && what <= NATIVE_AGAIN && what != NATIVE_SET && o->target == n)
			return 1;
	}
	return 0;
}

/* Another form of the same operation, if there is one. What is waited for keeps a scope that hardware obeys. */
static void weaken(struct build *b, struct native_op *o)
{
	static const enum lit_sem sems[] = {LIT_WEAK, LIT_RELAXED, LIT_RELAXED, LIT_ACQUIRE, LIT_RELEASE, LIT_VOLATILE};
	static const enum lit_scope scopes[] = {LIT_CTA, LIT_GPU, LIT_SYS};
	struct lit_instr i = forms_get(o->code)->like;
	int polled = i.op == LIT_LD && o->flags & NATIVE_TO_REG, code;

	if (i.op != LIT_FENCE && build_chance(b, 70))
		i.sem = sems[build_below(b, 6)];
	if (polled && (i.sem == LIT_WEAK || i.sem == LIT_NC))
		i.sem = LIT_RELAXED;
	if (i.sem == LIT_WEAK || i.sem == LIT_VOLATILE)
		i.scope = LIT_NO_SCOPE;
	else if (i.scope == LIT_NO_SCOPE || (!polled && build_chance(b, 50)))
		i.scope = scopes[build_below(b, 3)];
	i.generic = i.generic && i.sem == LIT_WEAK;
	code = forms_find(&i);
	if (code >= 0)
		o->code = (uint16_t)code;
}

/* A data operation, some places on. Jumps keep to places. */
static void move(struct build *b, struct native_launch *l, uint32_t n)
{
	const size_t forms = forms_count();

	for (uint32_t steps = 1 + build_below(b, 6); steps-- && n + 2 < l->list.ops; n++) {
		struct native_op *o = &l->list.op[n], was = *o;

		if (is_target(l, n) || is_target(l, n + 1) || (o[1].code >= forms && o[1].code != forms + NATIVE_BARRIER))
			return;
		o[0] = o[1];
		o[1] = was;
	}
}

static void mutate_op(struct build *b, struct native_launch *l, uint32_t n)
{
	struct native_op *o = &l->list.op[n];
	const struct form *f = forms_get(o->code);

	if (!f)
		return;
	if (is_fence(o)) {
		o->cta_end = 0; /* nobody executes it */
	} else if (!is_data(o)) {
		if (!forms_is_batch(o->code))
			weaken(b, o);
	} else if (build_chance(b, 35)) {
		o->rotate = build_below(b, l->grid);
	} else if (build_chance(b, 50)) {
		move(b, l, n);
	} else if (!forms_is_batch(o->code)) {
		weaken(b, o);
	}
}

/* The kernel that has all its forms. */
static void choose_kernel(struct native_launch *l)
{
	for (uint32_t n = 0; n < l->list.ops; n++)
		while (!player_has(l->kernel, l->list.op[n].code))
			l->kernel++;
}

void mutate(struct native *p, uint64_t seed)
{
	struct build b = {.state = seed * 0x9e6c63d0676a9a99ull};

	for (uint32_t times = 2 + build_below(&b, 8); times--;) {
		struct native_launch *l = &p->launch[build_below(&b, (uint32_t)p->launches)];

		mutate_op(&b, l, build_below(&b, l->list.ops));
		choose_kernel(l);
		struct native_step *s = &p->step[build_below(&b, (uint32_t)p->steps)];
		if (s->op == NATIVE_DO_EVENT && build_chance(&b, 30))
			s->stream = s->what; /* waits for itself */
	}
}

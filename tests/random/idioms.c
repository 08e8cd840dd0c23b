#include "idioms.h"

#include "access.h"

/* How a flag is raised: perhaps a fence, then a strong write. `adds`: on a flag of 0, several producers may do so. */
struct raise_form { enum lit_sem fence; enum lit_op op; enum lit_rmw rmw; enum lit_sem sem; int adds, again; };
static const struct raise_form raises[] = {
	{LIT_WEAK, LIT_ST, LIT_ADD, LIT_RELEASE, 0, 0},
	{LIT_ACQ_REL, LIT_ST, LIT_ADD, LIT_RELAXED, 0, 0},
	{LIT_RELEASE, LIT_ST, LIT_ADD, LIT_RELAXED, 0, 0},
	{LIT_SC, LIT_ST, LIT_ADD, LIT_RELAXED, 0, 0},
	{LIT_SC, LIT_ST, LIT_ADD, LIT_VOLATILE, 0, 0},
	{LIT_ACQ_REL, LIT_ST, LIT_ADD, LIT_MMIO, 0, 0},
	{LIT_WEAK, LIT_ST, LIT_ADD, LIT_RELEASE, 0, 1},
	{LIT_WEAK, LIT_ATOM, LIT_EXCH, LIT_RELEASE, 0, 0},
	{LIT_WEAK, LIT_ATOM, LIT_EXCH, LIT_ACQ_REL, 0, 0},
	{LIT_ACQ_REL, LIT_ATOM, LIT_EXCH, LIT_RELAXED, 0, 0},
	{LIT_WEAK, LIT_ATOM, LIT_CAS, LIT_RELEASE, 0, 0},
	{LIT_WEAK, LIT_RED, LIT_OR, LIT_RELEASE, 0, 0},
	{LIT_WEAK, LIT_RED, LIT_MAX, LIT_RELEASE, 0, 0},
	{LIT_WEAK, LIT_ATOM, LIT_XOR, LIT_ACQ_REL, 0, 0},
	{LIT_WEAK, LIT_ATOM, LIT_ADD, LIT_RELEASE, 1, 0},
	{LIT_WEAK, LIT_ATOM, LIT_ADD, LIT_ACQ_REL, 1, 0},
	{LIT_WEAK, LIT_RED, LIT_ADD, LIT_RELEASE, 1, 0},
	{LIT_ACQ_REL, LIT_RED, LIT_ADD, LIT_RELAXED, 1, 0},
	{LIT_SC, LIT_RED, LIT_ADD, LIT_RELAXED, 1, 0},
	{LIT_RELEASE, LIT_ATOM, LIT_ADD, LIT_RELAXED, 1, 0},
};
#define RAISES (sizeof raises / sizeof *raises)

/* How it is observed: a strong read, then perhaps a fence or an acquiring operation on the same flag. */
enum look_then { LOOK_NOTHING, LOOK_FENCE, LOOK_LD, LOOK_ATOM };
struct look_form { enum lit_op op; enum lit_rmw rmw; enum lit_sem sem; enum look_then then; enum lit_sem after; };
static const struct look_form looks[] = {
	{LIT_POLL, LIT_ADD, LIT_ACQUIRE, LOOK_NOTHING, LIT_WEAK},
	{LIT_POLL, LIT_ADD, LIT_ACQUIRE, LOOK_NOTHING, LIT_WEAK},
	{LIT_POLL, LIT_ADD, LIT_RELAXED, LOOK_FENCE, LIT_ACQ_REL},
	{LIT_POLL, LIT_ADD, LIT_RELAXED, LOOK_FENCE, LIT_ACQUIRE},
	{LIT_POLL, LIT_ADD, LIT_RELAXED, LOOK_FENCE, LIT_SC},
	{LIT_POLL, LIT_ADD, LIT_VOLATILE, LOOK_FENCE, LIT_SC},
	{LIT_POLL, LIT_ADD, LIT_MMIO, LOOK_FENCE, LIT_ACQ_REL},
	{LIT_POLL, LIT_ADD, LIT_RELAXED, LOOK_LD, LIT_ACQUIRE},
	{LIT_POLL, LIT_ADD, LIT_RELAXED, LOOK_ATOM, LIT_ACQUIRE},
	{LIT_POLL, LIT_ADD, LIT_RELAXED, LOOK_ATOM, LIT_ACQ_REL},
	{LIT_LD, LIT_ADD, LIT_ACQUIRE, LOOK_NOTHING, LIT_WEAK},
	{LIT_LD, LIT_ADD, LIT_RELAXED, LOOK_FENCE, LIT_ACQ_REL},
	{LIT_ATOM, LIT_ADD, LIT_ACQUIRE, LOOK_NOTHING, LIT_WEAK},
	{LIT_ATOM, LIT_OR, LIT_ACQ_REL, LOOK_NOTHING, LIT_WEAK},
	{LIT_ATOM, LIT_CAS, LIT_ACQUIRE, LOOK_NOTHING, LIT_WEAK},
	{LIT_ATOM, LIT_ADD, LIT_RELAXED, LOOK_FENCE, LIT_ACQ_REL},
};
#define LOOKS (sizeof looks / sizeof *looks)

/* ---- flags ----------------------------------------------------------------------------------------------------- */

static int flag_new(struct build *b, const struct build_actor *near)
{
	int rank = build_chance(b, 60) ? build_rank(b, near) : (int)build_below(b, (uint32_t)b->p->ranks);
	return build_location(b, "flag", rank, build_chance(b, 75) ? 4 : 8);
}

static struct lit_instr flag_access(struct build *b, struct build_actor *a, int flag, enum lit_op op, enum lit_rmw rmw,
				    enum lit_sem sem, enum lit_scope scope)
{
	struct lit_instr i = access_rmw(b, a, flag, rmw, op != LIT_RED && (op != LIT_ATOM || build_chance(b, 60)));
	i.op = op;
	i.sem = sem;
	i.scope = sem == LIT_VOLATILE || sem == LIT_MMIO || sem == LIT_WEAK ? LIT_NO_SCOPE : scope;
	i.count = op == LIT_POLL ? 80 : 0;
	if (op == LIT_ST || op == LIT_RED)
		i.reg = -1;
	return i;
}

static const struct raise_form *raise_any(struct build *b, int adds)
{
	const struct raise_form *f;
	do
		f = &raises[build_below(b, RAISES)];
	while (adds && !f->adds);
	return f;
}

/* `to` is the actor for whom the scope must be enough. */
static void flag_raise(struct build *b, struct build_actor *a, const struct build_actor *to, int flag, uint64_t value,
		       const struct raise_form *f)
{
	enum lit_sem sem = f->sem;
	if (f->fence != LIT_WEAK && !build_breaks(b))
		build_instr(b, a, access_fence(b, f->fence, access_scope(b, a, to)));
	if (build_breaks(b))
		sem = f->op == LIT_ST && build_chance(b, 40) ? LIT_WEAK : LIT_RELAXED;
	struct lit_instr i = flag_access(b, a, flag, f->op, f->rmw, sem, access_scope(b, a, to));
	i.value = value;
	if (f->again) {
		struct lit_instr first = i;
		first.value = 77;
		build_instr(b, a, first);
		i.sem = LIT_RELAXED;
		i.scope = access_scope(b, a, to);
	}
	build_instr(b, a, i);
}

/* Leaves what it saw in the register that it returns. */
static int flag_look(struct build *b, struct build_actor *a, const struct build_actor *from, int flag, uint64_t value,
		     const struct look_form *f)
{
	enum lit_sem sem = build_breaks(b) ? LIT_RELAXED : f->sem;
	enum lit_rmw rmw = f->rmw;
	struct lit_instr i = flag_access(b, a, flag, f->op, rmw, sem, access_scope(b, a, from));
	if (i.reg < 0)
		i.reg = build_reg(a, 1);
	i.value = f->op == LIT_POLL || rmw == LIT_CAS ? value : 0;
	i.compare = value;
	build_instr(b, a, i);
	if (f->then == LOOK_FENCE && !build_breaks(b))
		build_instr(b, a, access_fence(b, f->after, access_scope(b, a, from)));
	if (f->then == LOOK_LD && !build_breaks(b))
		build_instr(b, a, flag_access(b, a, flag, LIT_LD, LIT_ADD, f->after, access_scope(b, a, from)));
	if (f->then == LOOK_ATOM && !build_breaks(b)) {
		struct lit_instr again = flag_access(b, a, flag, LIT_ATOM, LIT_ADD, f->after, access_scope(b, a, from));
		again.value = 0;
		build_instr(b, a, again);
	}
	return i.reg;
}

static const struct look_form *look_any(struct build *b) { return &looks[build_below(b, LOOKS)]; }

/* ---- data ------------------------------------------------------------------------------------------------------ */

static int data_new(struct build *b, const struct build_actor *near)
{
	static const uint16_t sizes[] = {4, 4, 8, 16, 16, 64, 128, 256, 512};
	int rank = build_chance(b, 60) ? build_rank(b, near) : (int)build_below(b, (uint32_t)b->p->ranks);
	return build_location(b, "data", rank, sizes[build_below(b, sizeof sizes / sizeof *sizes)]);
}

static void data_instr(struct build *b, struct build_actor *a, int data, enum lit_op op, int helper)
{
	struct lit_instr i = access_data(b, a, data, 0, b->p->location[data].bytes, op);
	if (op == LIT_LD && build_breaks(b) && build_chance(b, 30)) {
		i.sem = LIT_NC;
		i.generic = 0;
	}
	if (helper && (i.offset -= i.stride * 32) < 0) /* its threads count from 32 */
		i.offset = i.stride = 0;
	if (helper)
		build_helper_instr(b, a, i);
	else
		build_instr(b, a, i);
}

/* By the CTA's second warp, if it has one, and then a barrier on that side of it on which the first warp synchronises. */
static void data_write(struct build *b, struct build_actor *a, int data)
{
	int helper = a->helper >= 0 && build_chance(b, 60);
	uint32_t n = 1 + build_chance(b, 25);
	while (n--)
		data_instr(b, a, data, LIT_ST, helper);
	if (helper && !build_breaks(b))
		build_bar(b, a);
}

static void data_use(struct build *b, struct build_actor *a, int data)
{
	data_instr(b, a, data, build_chance(b, 75) ? LIT_LD : LIT_ST, 0);
}

static struct build_actor *other_actor(struct build *b, const struct build_actor *than)
{
	struct build_actor *a;
	int far = build_chance(b, 70);
	for (int tries = 0; tries < 20; tries++) {
		a = build_any_actor(b);
		if (a != than && (!far || tries > 10 || build_rank(b, a) != build_rank(b, than)) &&
		    (tries > 15 || !b->before[a->launch][than->launch]))
			return a;
	}
	return a != than ? a : than == b->actor ? b->actor + 1 : b->actor;
}

/* Inside an `if` on what the flag said, or not. */
static void guarded(struct build *b, struct build_actor *a, int reg, uint64_t value, int data)
{
	int guard = !build_breaks(b);
	if (guard)
		build_if(b, a, reg, value);
	data_use(b, a, data);
	if (guard)
		build_end(b, a);
}

/* ---- the idioms ------------------------------------------------------------------------------------------------ */

static void message(struct build *b)
{
	struct build_actor *from = build_any_actor(b), *to = other_actor(b, from);
	int data = data_new(b, from), flag = flag_new(b, to);
	int late = build_breaks(b) && build_chance(b, 40);
	uint64_t value = 1 + build_below(b, 3);
	if (!late)
		data_write(b, from, data);
	access_noise(b, from);
	flag_raise(b, from, to, flag, value, raise_any(b, 0));
	if (late)
		data_write(b, from, data);
	int reg = flag_look(b, to, from, flag, value, look_any(b));
	access_noise(b, to);
	guarded(b, to, reg, value, data);
}

/* Several producers add to one flag; whoever reads the sum has all of them by the chain of RMWs. */
static void chain(struct build *b)
{
	struct build_actor *to = build_any_actor(b);
	int flag = flag_new(b, to), data[BUILD_ACTORS], silent[BUILD_ACTORS];
	size_t n = 0;
	uint64_t sum = 0;
	for (struct build_actor *a = b->actor; a < b->actor + b->actors && n < 4; a++) {
		if (a == to || b->before[to->launch][a->launch])
			continue;
		silent[n] = n && build_chance(b, 30); /* a link that releases nothing */
		data[n] = data_new(b, a);
		data_write(b, a, data[n]);
		if (silent[n])
			build_instr(b, a, flag_access(b, a, flag, build_chance(b, 50) ? LIT_ATOM : LIT_RED, LIT_ADD, LIT_RELAXED,
						      access_scope(b, a, to)));
		else
			flag_raise(b, a, to, flag, 1, raise_any(b, 1));
		sum += a->threads;
		n++;
	}
	if (!n)
		return;
	int reg = flag_look(b, to, b->actor == to ? to + 1 : b->actor, flag, sum, look_any(b));
	for (size_t i = 0; i < n; i++)
		if (!silent[i] || build_breaks(b))
			guarded(b, to, reg, sum, data[i]);
}

/* From one to another to a third, by two flags. */
static void relay(struct build *b)
{
	struct build_actor *from = build_any_actor(b), *over = other_actor(b, from), *to = other_actor(b, over);
	int data = data_new(b, from), first = flag_new(b, over), second = flag_new(b, to);
	if (to == from)
		return;
	data_write(b, from, data);
	flag_raise(b, from, over, first, 1, raise_any(b, 0));
	int reg = flag_look(b, over, from, first, 1, look_any(b)), guard = !build_breaks(b);
	if (guard)
		build_if(b, over, reg, 1);
	flag_raise(b, over, to, second, 1, raise_any(b, 0));
	if (guard)
		build_end(b, over);
	reg = flag_look(b, to, over, second, 1, look_any(b));
	guarded(b, to, reg, 1, data);
}

/* The flag changes hands by a compare-and-swap: 0, 1, 2. */
static void handover(struct build *b)
{
	struct build_actor *from = build_any_actor(b), *over = other_actor(b, from), *to = other_actor(b, over);
	int data = data_new(b, from), flag = flag_new(b, to);
	if (to == from)
		return;
	data_write(b, from, data);
	flag_raise(b, from, to, flag, 1, raise_any(b, 0));
	struct lit_instr cas = flag_access(b, over, flag, LIT_ATOM, LIT_CAS, build_chance(b, 50) ? LIT_RELAXED : LIT_ACQ_REL,
					   access_scope(b, over, to));
	struct lit_instr repeat = build_plain;
	cas.compare = 1;
	cas.value = 2;
	repeat.op = LIT_REPEAT;
	repeat.count = 2 + build_below(b, 8);
	build_instr(b, over, repeat);
	build_instr(b, over, cas);
	build_end(b, over);
	int reg = flag_look(b, to, over, flag, 2, look_any(b));
	guarded(b, to, reg, 2, data);
}

/* Each leaves a part and counts; the last to arrive reads all parts. */
static void last_arriver(struct build *b)
{
	int counter = flag_new(b, b->actor), data[BUILD_ACTORS];
	size_t n = b->actors < 4 ? b->actors : 4;
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++) {
		data[i] = data_new(b, &b->actor[i]);
		sum += b->actor[i].threads;
	}
	for (size_t i = 0; i < n; i++) {
		struct build_actor *a = &b->actor[i], *far = other_actor(b, a);
		int fenced = build_chance(b, 50);
		data_write(b, a, data[i]);
		if (fenced && !build_breaks(b))
			build_instr(b, a, access_fence(b, LIT_ACQ_REL, access_scope(b, a, far)));
		struct lit_instr add = flag_access(b, a, counter, LIT_ATOM, LIT_ADD, fenced || build_breaks(b) ? LIT_RELAXED : LIT_ACQ_REL,
						   access_scope(b, a, far));
		if (add.reg < 0)
			add.reg = build_reg(a, 1);
		build_instr(b, a, add);
		if (fenced && !build_breaks(b))
			build_instr(b, a, access_fence(b, LIT_ACQ_REL, access_scope(b, a, far)));
		build_if(b, a, add.reg, sum - 1);
		for (size_t k = 0; k < n; k++)
			if (k != i)
				data_use(b, a, data[k]);
		build_end(b, a);
	}
}

/* A lock taken by compare-and-swap, in a few attempts. */
static void lock_section(struct build *b, struct build_actor *a, const struct build_actor *rival, int lock, int data)
{
	struct lit_instr take = flag_access(b, a, lock, LIT_ATOM, LIT_CAS, build_breaks(b) ? LIT_RELAXED : LIT_ACQUIRE,
					    access_scope(b, a, rival));
	struct lit_instr give = flag_access(b, a, lock, build_chance(b, 50) ? LIT_ST : LIT_ATOM, LIT_EXCH,
					    build_breaks(b) ? LIT_RELAXED : LIT_RELEASE, access_scope(b, a, rival));
	struct lit_instr repeat = build_plain;
	repeat.op = LIT_REPEAT;
	repeat.count = 2 + build_below(b, 3);
	if (take.reg < 0)
		take.reg = build_reg(a, 1);
	take.compare = 0;
	take.value = 1;
	give.value = 0;
	build_instr(b, a, repeat);
	build_instr(b, a, take);
	build_if(b, a, take.reg, 0);
	data_instr(b, a, data, LIT_LD, 0);
	data_instr(b, a, data, LIT_ST, 0);
	build_instr(b, a, give);
	build_end(b, a);
	build_end(b, a);
}

static void lock(struct build *b)
{
	struct build_actor *one = build_any_actor(b), *two = other_actor(b, one);
	int mutex = flag_new(b, one), data = data_new(b, one);
	lock_section(b, one, two, mutex, data);
	lock_section(b, two, one, mutex, data);
	if (build_chance(b, 30))
		lock_section(b, one, two, mutex, data);
}

/* Order that only the hosts make: streams, events, synchronisation. Without it, a race. */
static void ordered(struct build *b)
{
	struct build_actor *first = build_any_actor(b), *second = first;
	for (int tries = 0; tries < 20; tries++) {
		first = build_any_actor(b);
		second = build_any_actor(b);
		if (b->before[first->launch][second->launch])
			break;
	}
	if (!b->before[first->launch][second->launch] && !build_breaks(b))
		return;
	int data = data_new(b, first), write = build_chance(b, 70);
	if (write)
		data_write(b, first, data);
	else
		data_instr(b, first, data, LIT_LD, 0);
	struct lit_instr i = access_data(b, second, data, 0, b->p->location[data].bytes, write && build_chance(b, 70) ? LIT_LD : LIT_ST);
	if (i.op == LIT_LD && build_chance(b, 40)) {
		i.sem = LIT_NC;
		i.generic = 0;
	}
	build_instr(b, second, i);
}

/* The start of a kernel releases what came before the launch: a relaxed flag, first thing, is enough. */
static void kernel_start(struct build *b)
{
	struct build_actor *before = build_any_actor(b), *raiser = build_any_actor(b);
	for (int tries = 0; tries < 20 && !b->before[before->launch][raiser->launch]; tries++) {
		before = build_any_actor(b);
		raiser = build_any_actor(b);
	}
	struct build_actor *to = other_actor(b, raiser);
	if (before == raiser || to == before)
		return;
	int data = data_new(b, before), flag = flag_new(b, to);
	data_write(b, before, data);
	struct lit_instr raise = flag_access(b, raiser, flag, LIT_ST, LIT_ADD, LIT_RELAXED, access_scope(b, raiser, to));
	raise.value = 5;
	build_instr(b, raiser, raise);
	int reg = flag_look(b, to, raiser, flag, 5, look_any(b));
	guarded(b, to, reg, 5, data);
}

/* The end of a kernel acquires what its relaxed loads saw, for what follows in the stream. */
static void kernel_end(struct build *b)
{
	struct build_actor *from = build_any_actor(b), *looker = other_actor(b, from), *to = build_any_actor(b);
	for (int tries = 0; tries < 20 && !b->before[looker->launch][to->launch]; tries++)
		to = build_any_actor(b);
	if (to == from || to == looker || !b->before[looker->launch][to->launch])
		return;
	int data = data_new(b, from), flag = flag_new(b, to);
	data_write(b, from, data);
	flag_raise(b, from, looker, flag, 3, raise_any(b, 0));
	struct lit_instr look = flag_access(b, looker, flag, LIT_POLL, LIT_ADD, LIT_RELAXED, access_scope(b, looker, from));
	look.value = 3;
	build_instr(b, looker, look);
	data_use(b, to, data);
}

/* Neighbouring parts of one array, perhaps with a step too far. */
static void neighbours(struct build *b)
{
	static const uint8_t sizes[] = {1, 2, 4, 8, 16, 16};
	uint32_t part = sizes[build_below(b, sizeof sizes)];
	struct build_actor *near = build_any_actor(b);
	int array = build_location(b, "array", build_rank(b, near), part * (BUILD_ACTORS + 1));
	for (size_t i = 0; i < b->actors; i++) {
		uint32_t shift = build_breaks(b) ? part : 0;
		struct lit_instr at = access_data(b, &b->actor[i], array, (int32_t)((uint32_t)i * part + shift), part, build_chance(b, 60) ? LIT_ST : LIT_LD);
		build_instr(b, &b->actor[i], at);
	}
}

/* Whole lines, a warp's worth per actor; the others are single threads that pick one element. */
static void lines(struct build *b)
{
	static const uint8_t strides[] = {4, 8, 16};
	struct build_actor *near = build_any_actor(b);
	uint32_t stride = strides[build_below(b, sizeof strides)];
	int array = build_location(b, "lines", build_rank(b, near), (BUILD_ACTORS + 1) * 512);
	for (size_t i = 0; i < b->actors; i++) {
		struct build_actor *a = &b->actor[i];
		struct lit_instr at = access_data(b, a, array, (int32_t)i * 512, 512, build_chance(b, 60) ? LIT_ST : LIT_LD);
		if (a->threads == 32) {
			at.bytes = stride == 8 ? 8 : 4;
			at.vector = stride == 16 ? 4 : 1;
			at.offset = (int32_t)i * 512 + (build_breaks(b) ? 512 - (int32_t)(stride * build_below(b, 4)) : 0);
			at.stride = (int32_t)stride;
			if (at.reg >= 0)
				at.reg = build_reg(a, at.vector);
		} else if (build_breaks(b)) {
			at.offset = (int32_t)(build_below(b, (uint32_t)b->actors * 512) / 16 * 16);
		}
		build_instr(b, a, at);
	}
}

/* Strong accesses only: no race as long as their scopes reach and their bytes agree. */
static void strong(struct build *b)
{
	struct build_actor *near = build_any_actor(b);
	int x = flag_new(b, near);
	for (struct build_actor *a = b->actor; a < b->actor + b->actors; a++) {
		const struct build_actor *far = other_actor(b, a);
		for (uint32_t n = build_below(b, 3); n--;) {
			struct lit_instr i = access_any(b, a, x);
			i.vector = 1;
			i.stride = i.offset = 0;
			i.bytes = (uint8_t)(build_breaks(b) ? i.bytes : b->p->location[x].bytes);
			if ((i.op == LIT_ATOM || i.op == LIT_RED) && i.rmw == LIT_INC)
				i.rmw = LIT_ADD;
			if ((i.sem == LIT_WEAK || i.sem == LIT_NC) && !build_breaks(b))
				i.sem = LIT_RELAXED;
			if (i.sem != LIT_WEAK && i.sem != LIT_VOLATILE && i.sem != LIT_MMIO && i.sem != LIT_NC)
				i.scope = build_breaks(b) ? access_scope(b, a, far) : LIT_SYS;
			else
				i.scope = LIT_NO_SCOPE;
			if (i.reg >= 0)
				i.reg = build_reg(a, 1);
			build_instr(b, a, i);
		}
	}
}

/* Many readers and one writer: more readers than shadow has places. */
static void readers(struct build *b)
{
	struct build_actor *writer = build_any_actor(b);
	int data = data_new(b, writer), count = flag_new(b, writer);
	uint64_t n = 0;
	for (struct build_actor *a = b->actor; a < b->actor + b->actors; a++) {
		if (a == writer || b->before[writer->launch][a->launch])
			continue;
		data_instr(b, a, data, LIT_LD, 0);
		flag_raise(b, a, writer, count, 1, raise_any(b, 1));
		n += a->threads;
	}
	if (!n)
		return;
	int reg = flag_look(b, writer, writer == b->actor ? writer + 1 : b->actor, count, n, look_any(b));
	int guard = !build_breaks(b);
	if (guard)
		build_if(b, writer, reg, n);
	data_instr(b, writer, data, LIT_ST, 0);
	if (guard)
		build_end(b, writer);
}

/* Nothing but chance, on few and overlapping bytes. */
static void chaos(struct build *b)
{
	static const uint8_t sizes[] = {4, 8, 16, 32};
	int x = build_location(b, "mix", (int)build_below(b, (uint32_t)b->p->ranks), sizes[build_below(b, sizeof sizes)]);
	int y = x;
	if (b->p->location[x].bytes > 4)
		y = build_location_over(b, "over", x, 2 + (int)build_below(b, 2) * 2, 4);
	for (struct build_actor *a = b->actor; a < b->actor + b->actors; a++)
		for (uint32_t n = build_below(b, 4); n--;)
			build_instr(b, a, access_any(b, a, build_chance(b, 60) ? x : y));
}

/* Each launch knows few operations, all on the same bytes: kernels of red alone, of weak accesses and red, of loads alone. */
static void specialists(struct build *b)
{
	static const struct { enum lit_op op; enum lit_sem sem; int unread; } all[] = {
		{LIT_LD, LIT_WEAK, 0}, {LIT_ST, LIT_WEAK, 0}, {LIT_RED, LIT_RELAXED, 0}, {LIT_RED, LIT_RELAXED, 0}, {LIT_ATOM, LIT_RELAXED, 0},
		{LIT_ATOM, LIT_RELAXED, 1}, {LIT_ATOM, LIT_ACQ_REL, 0}, {LIT_LD, LIT_RELAXED, 0}, {LIT_ST, LIT_RELAXED, 0},
		{LIT_LD, LIT_ACQUIRE, 0}, {LIT_ST, LIT_RELEASE, 0}, {LIT_RED, LIT_RELEASE, 0}, {LIT_LD, LIT_NC, 0},
	};
	uint32_t known[BUILD_LAUNCHES][2];
	int x = build_location(b, "one", (int)build_below(b, (uint32_t)b->p->ranks), build_chance(b, 60) ? 4 : 8);
	enum lit_scope scope = build_chance(b, 50) ? LIT_GPU : LIT_SYS;
	for (int i = 0; i < BUILD_LAUNCHES; i++)
		for (int k = 0; k < 2; k++)
			known[i][k] = build_below(b, sizeof all / sizeof *all);
	for (struct build_actor *a = b->actor; a < b->actor + b->actors; a++)
		for (uint32_t n = build_below(b, 5); n--;) {
			uint32_t k = known[a->launch][build_below(b, 2)];
			int weak = all[k].sem == LIT_WEAK || all[k].sem == LIT_NC, rmw = all[k].op == LIT_RED || all[k].op == LIT_ATOM;
			struct lit_instr i = rmw ? access_rmw(b, a, x, LIT_ADD, all[k].op == LIT_ATOM && !all[k].unread) :
						   access_data(b, a, x, 0, b->p->location[x].bytes, all[k].op);
			i.op = all[k].op;
			i.sem = all[k].sem;
			if (!weak) {
				i.scope = build_breaks(b) ? access_scope(b, a, other_actor(b, a)) : scope;
				i.bytes = b->p->location[x].bytes == 8 ? 8 : 4;
				i.vector = 1;
				i.offset = i.stride = 0;
			}
			if (i.sem == LIT_NC)
				i.generic = 0;
			build_instr(b, a, i);
		}
}

static const struct { void (*add)(struct build *); uint32_t weight; } idioms[] = {
	{message, 30}, {chain, 10}, {relay, 8}, {handover, 5}, {last_arriver, 7}, {lock, 8}, {ordered, 8}, {kernel_start, 5},
	{kernel_end, 5}, {neighbours, 7}, {lines, 5}, {strong, 6}, {readers, 5}, {chaos, 5}, {specialists, 5},
};

void idioms_add(struct build *b)
{
	uint32_t all = 0, at;
	for (size_t i = 0; i < sizeof idioms / sizeof *idioms; i++)
		all += idioms[i].weight;
	at = build_below(b, all);
	for (size_t i = 0; i < sizeof idioms / sizeof *idioms; i++) {
		if (at < idioms[i].weight) {
			idioms[i].add(b);
			return;
		}
		at -= idioms[i].weight;
	}
}

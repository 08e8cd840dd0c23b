#include "access.h"

#include <string.h>

static uint32_t element_bytes(struct build *b, uint32_t room)
{
	static const uint8_t likely[] = {4, 4, 4, 8, 1, 2, 4, 8};
	uint32_t bytes = likely[build_below(b, sizeof likely)];
	while (bytes > room)
		bytes /= 2;
	return bytes ? bytes : 1;
}

/* PTX wants addresses that are multiples of the whole vector. */
static int32_t aligned(struct build *b, int32_t offset, uint32_t room, uint32_t size)
{
	int32_t first = (offset + (int32_t)size - 1) / (int32_t)size * (int32_t)size;
	uint32_t places = ((uint32_t)(offset + (int32_t)room - first)) / size;
	return first + (places > 1 && build_chance(b, 40) ? (int32_t)(build_below(b, places) * size) : 0);
}

static int fits(int32_t offset, uint32_t room, uint32_t size)
{
	int32_t first = (offset + (int32_t)size - 1) / (int32_t)size * (int32_t)size;
	return first + (int32_t)size <= offset + (int32_t)room;
}

static uint32_t vector_of(struct build *b, int32_t offset, uint32_t room, uint32_t bytes)
{
	uint32_t vector = build_chance(b, 70) ? 1 : build_chance(b, 50) ? 2 : 4;
	while (vector > 1 && (vector * bytes > 16 || !fits(offset, room, vector * bytes)))
		vector /= 2;
	return vector;
}

/* Lanes side by side if the room is enough for all, else all at one place. */
static void share_out(struct build *b, const struct build_actor *a, struct lit_instr *i, int32_t offset, uint32_t room)
{
	uint32_t size = (uint32_t)i->bytes * i->vector;
	if (a->threads == 1 || build_chance(b, 15) || !fits(offset, room, size * a->threads))
		return;
	i->stride = (int32_t)size;
	i->offset = (offset + (int32_t)size - 1) / (int32_t)size * (int32_t)size;
}

static int base_offset(const struct build *b, int location)
{
	const struct lit_location *l = &b->p->location[location];
	return l->base < 0 ? 0 : l->offset + base_offset(b, l->base);
}

/* Alignment is that of the address: a location that lies in another one may start anywhere. */
static void place(struct build *b, const struct build_actor *a, struct lit_instr *i, int32_t offset, uint32_t room)
{
	int32_t base = base_offset(b, i->location);
	while (!fits(base + offset, room, i->bytes))
		i->bytes /= 2;
	i->vector = (uint8_t)vector_of(b, base + offset, room, i->bytes);
	i->offset = aligned(b, base + offset, room, (uint32_t)i->bytes * i->vector);
	share_out(b, a, i, base + offset, room);
	i->offset -= base;
}

struct lit_instr access_data(struct build *b, struct build_actor *a, int location, int32_t offset, uint32_t bytes, enum lit_op op)
{
	struct lit_instr i = build_plain;
	i.op = op;
	i.location = location;
	i.bytes = (uint8_t)element_bytes(b, bytes);
	place(b, a, &i, offset, bytes);
	i.generic = (uint8_t)build_chance(b, 15);
	if (op == LIT_LD)
		i.reg = build_reg(a, i.vector);
	else
		i.value = 1 + build_below(b, 100);
	return i;
}

/* Which operands each operation takes: PTX has no red.exch and red.cas, inc and 64-bit forms of some are missing. */
static enum lit_rmw rmw_for(struct build *b, enum lit_op op, uint32_t bytes)
{
	enum lit_rmw rmw = (enum lit_rmw)build_below(b, LIT_INC + 1);
	if ((op == LIT_RED && (rmw == LIT_EXCH || rmw == LIT_CAS)) || (rmw == LIT_INC && bytes != 4))
		return LIT_ADD;
	return rmw;
}

struct lit_instr access_rmw(struct build *b, struct build_actor *a, int location, enum lit_rmw rmw, int result)
{
	struct lit_instr i = build_plain;
	i.op = LIT_ATOM;
	i.sem = LIT_RELAXED;
	i.scope = LIT_SYS;
	i.rmw = rmw;
	i.location = location;
	i.bytes = b->p->location[location].bytes == 8 ? 8 : 4;
	i.generic = (uint8_t)build_chance(b, 10);
	i.reg = result ? build_reg(a, 1) : -1;
	i.value = 1;
	return i;
}

struct lit_instr access_fence(struct build *b, enum lit_sem sem, enum lit_scope scope)
{
	struct lit_instr i = build_plain;
	i.op = LIT_FENCE;
	i.sem = sem;
	i.scope = scope;
	i.membar = sem == LIT_SC && scope != LIT_CLUSTER && build_chance(b, 50);
	return i;
}

static enum lit_scope any_scope(struct build *b)
{
	static const uint8_t likely[] = {LIT_CTA, LIT_GPU, LIT_GPU, LIT_SYS, LIT_SYS, LIT_SYS, LIT_SYS, LIT_CLUSTER};
	return (enum lit_scope)likely[build_below(b, sizeof likely)];
}

enum lit_scope access_scope(struct build *b, const struct build_actor *one, const struct build_actor *other)
{
	int near = build_device(b, one) == build_device(b, other);
	if (build_breaks(b))
		return build_chance(b, 50) || near ? LIT_CTA : LIT_GPU;
	if (near && build_chance(b, 60))
		return LIT_GPU;
	return LIT_SYS;
}

static struct lit_instr any_fence(struct build *b)
{
	static const uint8_t sems[] = {LIT_ACQUIRE, LIT_RELEASE, LIT_ACQ_REL, LIT_ACQ_REL, LIT_SC, LIT_SC};
	return access_fence(b, (enum lit_sem)sems[build_below(b, sizeof sems)], any_scope(b));
}

/* Semantics that PTX allows with the operation. */
static void any_semantics(struct build *b, struct lit_instr *i)
{
	static const uint8_t loads[] = {LIT_WEAK, LIT_WEAK, LIT_RELAXED, LIT_RELAXED, LIT_ACQUIRE, LIT_VOLATILE, LIT_MMIO, LIT_NC};
	static const uint8_t stores[] = {LIT_WEAK, LIT_WEAK, LIT_RELAXED, LIT_RELAXED, LIT_RELEASE, LIT_VOLATILE, LIT_MMIO};
	static const uint8_t rmws[] = {LIT_RELAXED, LIT_RELAXED, LIT_ACQUIRE, LIT_RELEASE, LIT_ACQ_REL};
	if (i->op == LIT_LD)
		i->sem = (enum lit_sem)loads[build_below(b, sizeof loads)];
	else if (i->op == LIT_ST)
		i->sem = (enum lit_sem)stores[build_below(b, sizeof stores)];
	else
		i->sem = (enum lit_sem)rmws[build_below(b, i->op == LIT_RED ? 2 : sizeof rmws)];
	if (i->op == LIT_RED && build_chance(b, 40))
		i->sem = LIT_RELEASE; /* a red never acquires */
	if (i->sem != LIT_WEAK && i->sem != LIT_VOLATILE && i->sem != LIT_MMIO && i->sem != LIT_NC)
		i->scope = any_scope(b);
	if (i->sem == LIT_MMIO)
		i->vector = 1;
	if (i->sem == LIT_NC)
		i->generic = 0;
}

struct lit_instr access_any(struct build *b, struct build_actor *a, int location)
{
	static const uint8_t ops[] = {LIT_LD, LIT_LD, LIT_LD, LIT_ST, LIT_ST, LIT_ST, LIT_ATOM, LIT_RED};
	const struct lit_location *l = &b->p->location[location];
	enum lit_op op = (enum lit_op)ops[build_below(b, sizeof ops)];
	struct lit_instr i = access_data(b, a, location, 0, l->bytes, op == LIT_LD ? LIT_LD : LIT_ST);
	if (op == LIT_ATOM || op == LIT_RED) {
		if (l->bytes < 4 || base_offset(b, location) % 4)
			op = LIT_ST; /* atomics need words */
		else {
			i = access_rmw(b, a, location, rmw_for(b, op, l->bytes == 8 && base_offset(b, location) % 8 == 0 ? 8 : 4),
				       op == LIT_ATOM && build_chance(b, 60));
			if (base_offset(b, location) % 8 || i.rmw == LIT_INC)
				i.bytes = 4;
			i.compare = build_below(b, 3);
		}
	}
	i.op = op;
	any_semantics(b, &i);
	return i;
}

static int private_location(struct build *b, const struct build_actor *a)
{
	static const uint16_t sizes[] = {4, 8, 16, 64, 512};
	int rank = build_chance(b, 70) ? build_rank(b, a) : (int)build_below(b, (uint32_t)b->p->ranks);
	return build_location(b, "own", rank, sizes[build_below(b, sizeof sizes / sizeof *sizes)]);
}

static struct lit_instr noise_instr(struct build *b, struct build_actor *a)
{
	struct lit_program *p = b->p;
	if (build_chance(b, b->dirty) && p->locations)
		return access_any(b, a, (int)build_below(b, (uint32_t)p->locations));
	if (build_chance(b, 25))
		return any_fence(b);
	return access_any(b, a, private_location(b, a));
}

void access_noise(struct build *b, struct build_actor *a)
{
	uint32_t n = build_chance(b, 60) ? 0 : 1 + build_below(b, 2);
	int loop = n && build_chance(b, 20);
	struct lit_instr repeat = build_plain;
	repeat.op = LIT_REPEAT;
	repeat.count = 2 + build_below(b, 2);
	if (loop)
		build_instr(b, a, repeat);
	for (uint32_t i = 0; i < n; i++)
		build_instr(b, a, noise_instr(b, a));
	if (loop)
		build_end(b, a);
}

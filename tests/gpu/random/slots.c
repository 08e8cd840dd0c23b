#include "slots.h"

#include <stdlib.h>

/* ---- weak accesses --------------------------------------------------------------------------------------------- */
void slots_some_lanes(struct make *m, struct native_op *op)
{
	if (make_chance(m, 30))
		op->lanes = make_chance(m, 50) ? ~0u << make_below(m, 31) : (uint32_t)build_random(&m->b);
	if (make_chance(m, 15))
		op->tid_first = (uint16_t)make_below(m, m->l->block);
	if (make_chance(m, 15))
		op->tid_end = (uint16_t)(1 + make_below(m, m->l->block));
	if (make_chance(m, 10))
		op->cta_end = (uint16_t)(1 + make_below(m, m->l->grid));
}

static void slot_place(struct array *a, struct native_op *op, uint32_t row)
{
	op->rank = (uint16_t)a->rank;
	op->address = a->at + a->first + (uint64_t)row * a->step;
	op->cta_stride = a->cta_stride;
	op->tid_stride = a->tid_stride;
	op->tid_mul = a->tid_mul;
	op->tid_add = a->tid_add;
	op->tid_mask = a->tid_mask;
}

/* A scalar or vector in a slot. whole: all of it, by all threads. */
struct native_op *slots_access(struct make *m, struct array *a, enum lit_op what, int whole, int nc)
{
	struct lit_instr i = {.op = what, .sem = nc ? LIT_NC : LIT_WEAK, .bytes = 4, .vector = 1,
			      .reg = what == LIT_LD ? 0 : -1, .value_reg = -1};
	uint32_t size = whole ? a->size : 1u << make_below(m, 5), row = make_below(m, a->rows), offset;
	struct native_op op, *added;

	while (size > a->size)
		size /= 2;
	i.bytes = (uint8_t)(size < 4 || (size == 4 && !nc) ? size : size == 8 || make_chance(m, 30) ? 8 : 4);
	if (nc)
		i.bytes = 4;
	if (!nc && i.sem == LIT_WEAK && size >= 2 && size <= 4 && make_chance(m, 20))
		i.bytes = (uint8_t)(size / 2);
	if (!nc && size == 8 && make_chance(m, 40))
		i.bytes = make_chance(m, 50) ? 4 : 2;
	i.vector = (uint8_t)(size / i.bytes ? size / i.bytes : 1);
	if (!nc && m->sync && size == i.bytes && size >= 4 && make_chance(m, m->l->grid * m->l->block > STRONG_THREADS ? 1 : 5)) {
		i.sem = make_chance(m, 50) ? LIT_RELAXED : LIT_VOLATILE;
		i.scope = i.sem == LIT_RELAXED ? make_scope(m) : LIT_NO_SCOPE;
	}
	i.generic = i.sem == LIT_WEAK && i.bytes == 4 && i.vector != 2 && make_chance(m, 15);
	if (forms_find(&i) < 0 || (nc && size < 4))
		return slots_access(m, a, what, whole, 0);
	offset = make_below(m, a->size / size) * size;
	op = native_op((uint16_t)forms_find(&i));
	slot_place(a, &op, row);
	op.address += offset;
	op.value = make_below(m, 1000);
	op.flags = what == LIT_LD ? NATIVE_KEEP : make_chance(m, 70) ? NATIVE_MIX : 0;
	added = native_add(m->l, op);
	if (!whole)
		slots_some_lanes(m, added);
	return added;
}

/* Straight-line code over several slots of the thread; NULL: no batch fits. With loads and stores, the second half of the slots
 * gets what is stored. */
static struct native_op *slots_batch(struct make *m, struct array *a, int stores)
{
	static const struct form_batch all[] = {{4, 0, 4, 4}, {8, 0, 4, 1}, {0, 4, 4, 4}, {0, 8, 4, 1}, {2, 2, 4, 4},
						{3, 3, 1, 1}, {4, 0, 8, 2}, {0, 4, 2, 1}, {2, 2, 8, 1}};
	const struct form_batch *f = &all[make_below(m, sizeof(all) / sizeof(*all))];
	uint32_t n = f->loads > f->stores ? f->loads : f->stores, both = f->loads && f->stores;
	struct native_op op;

	if ((uint32_t)f->bytes * f->vector > a->size || n * (1 + both) > a->rows || (f->stores && !stores))
		return NULL;
	op = native_op((uint16_t)forms_batch(*f));
	slot_place(a, &op, 0);
	op.step = a->step;
	op.behind = (int32_t)(n * a->step);
	op.value = make_below(m, 1000);
	op.flags = (uint8_t)((f->loads ? NATIVE_KEEP : 0) | NATIVE_MIX);
	struct native_op *added = native_add(m->l, op);
	slots_some_lanes(m, added);
	return added;
}

/* ---- phases ---------------------------------------------------------------------------------------------------- */
void slots_threads(struct make *m, struct array *a) /* which thread has which slot, in this phase */
{
	uint32_t n = m->l->block;

	a->tid_mul = 1;
	a->tid_add = 0;
	a->tid_mask = ~0u;
	if (n & (n - 1) || make_chance(m, 60))
		return;
	a->tid_mul = (uint16_t)(2 * make_below(m, n) + 1);
	a->tid_add = (uint16_t)make_below(m, n);
	a->tid_mask = n - 1;
}

void slots_own(struct make *m, struct array *a)
{
	for (uint32_t n = 1 + make_below(m, 3); n--;)
		if (!make_chance(m, 40) || !slots_batch(m, a, 1))
			slots_access(m, a, make_chance(m, 50) ? LIT_LD : LIT_ST, 0, 0);
	a->quiet = 0;
}

void slots_from(struct make *m, struct native_op *op) /* slots of another CTA */
{
	uint32_t grid = m->l->grid, back = m->cta_first ? m->cta_first : grid > 1 ? 1 + make_below(m, grid - 1) : 0;

	op->rotate = grid - back;
	op->cta_first = (uint16_t)m->cta_first;
	op->cta_end = NATIVE_ALL;
}

void slots_read(struct make *m, struct array *a)
{
	for (uint32_t n = 1 + make_below(m, 3); n--;) {
		struct native_op *op = make_chance(m, 40) ? slots_batch(m, a, 0) : NULL;

		op = op ? op : slots_access(m, a, LIT_LD, 0, m->single && a->quiet && !m->running && make_chance(m, 50));
		slots_from(m, op);
	}
}

/* Where the slots of CTAs and threads lie in this launch. */
void slots_layout(struct make *m, struct array *a, uint32_t grid, uint32_t block)
{
	uint32_t gap = a->size * (make_chance(m, 60) ? 0 : 1 + make_below(m, 3));

	a->first = a->size * (make_chance(m, 50) ? 0 : make_below(m, 32));
	if (make_chance(m, 70)) {
		a->tid_stride = a->size;
		a->step = a->size * block + gap;
		a->cta_stride = a->step * a->rows + gap;
	} else {
		a->step = a->size;
		a->tid_stride = a->size * a->rows + gap;
		a->cta_stride = a->tid_stride * block;
	}
	if (a->first + (uint64_t)a->cta_stride * grid > a->bytes)
		abort();
}

void slots_arrays(struct make *m)
{
	static const uint8_t sizes[] = {1, 2, 4, 4, 4, 8, 16, 16};
	static const uint8_t rows[] = {1, 1, 2, 4, 8};
	uint32_t most = 0;

	for (int p = 0; p < m->phases; p++)
		most = m->grid[p] * m->block[p] > most ? m->grid[p] * m->block[p] : most;
	m->arrays = 1 + (int)make_below(m, ARRAYS);
	for (int i = 0; i < m->arrays; i++) {
		struct array *a = &m->array[i];

		*a = (struct array){.quiet = 1};
		a->size = sizes[make_below(m, 8)];
		a->rows = m->o->broken && !i ? 1 : rows[make_below(m, 5)];
		a->rank = (int)make_below(m, (uint32_t)m->o->ranks);
		while ((uint64_t)most * a->rows * a->size > MOST_BYTES / 4 && a->rows > 1)
			a->rows /= 2;
		while ((uint64_t)most * a->rows * a->size > MOST_BYTES / 4 && a->size > 1)
			a->size /= 2;
		a->bytes = ((uint64_t)most + 64) * (a->rows + 4u) * a->size + (uint64_t)m->grid[0] * a->size * 16; /* with any gaps */
		for (int p = 0; p < m->phases; p++) {
			uint64_t with = ((uint64_t)m->block[p] * (a->rows + 4u) + 16 + 4u * a->rows) * a->size * m->grid[p] + 64 * a->size;

			a->bytes = with > a->bytes ? with : a->bytes;
		}
		a->at = make_room(m, a->rank, a->bytes);
	}
}

/* Values that streams write (cuStreamWriteValue): who reads one strongly comes behind all that its stream was given before. Which ones there
 * are the host says before they are written (layout.h, struct gsan_values); and what is before each, for the launch table, that clocks name it by. */
#ifndef GSAN_DEVICE_VALUES_H
#define GSAN_DEVICE_VALUES_H

#include "device/acquire.h"

ALWAYS const struct gsan_writers *launch_writers(const struct gsan_launch *l) { return (const struct gsan_writers *)(uintptr_t)l->writers; }

/* Does a stream write values there? One may be what any known write left, or 0. */
ALWAYS int sync_by_stream(u64 canonical)
{
	return !!(gpu_load32(&((const struct gsan_line *)(uintptr_t)gsan_shadow(canonical))->flags) & GSAN_LINE_VALUE);
}

/* How many there are by now: who reads there what he read before, and knows of no more, has learnt nothing. */
ALWAYS u32 values_told(const struct gsan_launch *l, u64 canonical)
{
	return sync_by_stream(canonical) && l->writers ? gpu_peek32(&launch_writers(l)->told) : 0;
}

/* What is kept of a location's values, as it stood at one moment. */
struct values { const struct gsan_values *in; u32 changes; };
ALWAYS int values_stand(const struct values *v)
{
	gpu_fence_sys();
	return gpu_peek32(&v->in->changing) == v->changes;
}

/* Were there values that are not kept? */
ALWAYS int values_lost(const struct gsan_writers *all, const struct values *v) { return gpu_peek32(&v->in->lost) || gpu_peek32(&all->lost); }

/* ---- the launch that a stream's operation is ----------------------------------------------------------------------------------- */
ALWAYS u32 operation_tag(const struct gsan_launch *op) { return gpu_peek32(&op->tag) & 0xffff; }
ALWAYS u32 operation_stream(const struct gsan_launch *op) { return gpu_peek32(&op->tag) >> 16; } /* and participant */
ALWAYS u32 operation_gpu(const struct gsan_launch *op) { return gpu_peek32((const char *)op + __builtin_offsetof(struct gsan_launch, tag_bits)) >> 16 & 31; }

/* As launch_fill(), launch_floor() and launch_base() for a kernel's (launch.h), of a record in the host's memory, whose place may have become
 * another's meanwhile: then everything counts as before it. */
NEVER void operation_fill(const struct gsan_launch *l, const struct gsan_launch *op, u32 seq, struct dev_tables *t, struct dev_launch *e)
{
	u32 words = sizeof e->order / 8, pairs = gpu_peek32(&op->order.pairs);
	gpu_store32(&e->kernel, gpu_peek32(&op->kernel));
	gpu_store32(&e->where, operation_stream(op) >> 8 | operation_gpu(op) << 8);
	gpu_store32(&e->grid[0], 1);
	gpu_store32(&e->grid[1], 1);
	gpu_store32(&e->grid[2], 1);
	for (u32 i = 0; i < words; i++)
		gpu_store64((u64 *)&e->order + i, gpu_peek64((const u64 *)&op->order + i));
	for (u32 left = l->mapped; left; left &= left - 1) {
		u32 p = gpu_first(left), last = gpu_peek32(&op->order.flags) & GSAN_ORDER_UNKNOWN ? ~0u : gpu_peek32(&op->order.floor[p]) - 1;
		if (last > gpu_load32(&t->base[p]))
			gpu_max32(&t->base[p], last);
	}
	for (u32 i = 0; i < pairs && i < GSAN_ORDER_PAIRS; i++) {
		u64 both = gpu_peek64(&op->order.pair[i]);
		gpu_max32(&t->base[both & (GSAN_PARTICIPANTS - 1)], (u32)(both >> 32));
	}
	gpu_fence_sys();
	if (gpu_peek32(&op->seq) != seq)
		gpu_or32(&e->order.flags, GSAN_ORDER_UNKNOWN);
}

/* Its entry of the launch table, made by who needs it first: this launch, another that read the value, or the kernel that checks it (publish.h).
 * 0: its tag is that of a later launch. */
NEVER int operation_publish(const struct gsan_launch *l, const struct gsan_launch *op, u32 tag, u32 seq)
{
	struct dev_tables *t = dev_tables(tag_participant(l, tag));
	struct dev_launch *e = &t->launch[tag_launch(l, tag) - t->launch];
	u32 claim = gpu_load32(&e->claim), now;
	if (claim != seq)
		for (u32 left = l->mapped; left; left &= left - 1)
			gpu_max32(&t->floor[gpu_first(left)], gpu_peek32(&op->order.floor[gpu_first(left)]));
	for (gpu_fence_sys(); claim != seq; claim = now) {
		if ((int)(claim - seq) > 0)
			return 0;
		now = gpu_cas32(&e->claim, claim, seq);
		if (now != claim)
			continue;
		operation_fill(l, op, seq, t, e);
		gpu_max64(&t->newest, seq);
		gpu_release32(&e->seq, seq);
		return 1;
	}
	tag_await(l, tag);
	return 1;
}

/* What is before it, and itself; of one whose tag is another's by now what its participant was given by then. 0: its record was just overwritten. */
NEVER u64 operation_elem(const struct gsan_launch *l, const struct gsan_launch *op)
{
	u32 seq = gpu_peek32(&op->seq), tag, gpu;
	gpu_fence_sys();
	tag = operation_tag(op);
	gpu = operation_gpu(op);
	gpu_fence_sys();
	if (!seq || gpu_peek32(&op->seq) != seq)
		return 0;
	if (!operation_publish(l, op, tag, seq))
		return elem_observed(elem_prefix(tag_participant(l, tag), seq));
	return elem_write((u64)tag << GSAN_REC_TAG_SHIFT | 1ull << GSAN_REC_EPOCH_SHIFT, elem_by(gpu, GSAN_SYS, 0), 1);
}

/* ---- what was read ------------------------------------------------------------------------------------------------------------- */
/* Which of the places have the bytes of a read: some of a value's, all, and that very value, or any. As bits of one u32 each. */
struct values_found { u32 apart, all, any, same; };
ALWAYS void values_find(const struct gsan_values *in, u64 canonical, u32 bytes, u64 value, struct values_found *f)
{
	u64 mask = bytes < 8 ? (1ull << 8 * bytes) - 1 : ~0ull;
	*f = (struct values_found){0, 0, 0, 0};
	for (u32 i = 0; i < GSAN_VALUE_WAYS; i++) {
		const struct gsan_value *way = &in->way[i];
		u64 at = gpu_peek64(&way->at), size = gpu_peek32(&way->bytes);
		if (!at || at >= canonical + bytes || at + size <= canonical)
			continue;
		int covers = at <= canonical && at + size >= canonical + bytes;
		f->apart |= (u32)!covers << i;
		f->all |= (u32)covers << i;
		f->any |= (u32)(covers && gpu_peek32(&way->any)) << i;
		f->same |= (u32)(covers && !((gpu_peek64(&way->value) >> 8 * (canonical - at) ^ value) & mask)) << i;
	}
}

/* As they stand; 0: they keep changing. */
#define VALUES_TRIES 64u
ALWAYS int values_look(const struct gsan_writers *all, u64 canonical, u32 bytes, u64 value, struct values *v, struct values_found *f)
{
	v->in = &all->values[gsan_value_bucket(canonical)];
	for (u32 tries = 0; tries < VALUES_TRIES; tries++) {
		v->changes = gpu_peek32(&v->in->changing);
		gpu_fence_sys();
		values_find(v->in, canonical, bytes, value, f);
		if (!(v->changes & 1) && values_stand(v))
			return 1;
		gpu_pause();
	}
	return 0;
}

/* By a read of .cta nobody outside its CTA is observed. */
ALWAYS void value_read(const struct who *w, u64 e, u64 canonical, u32 desc)
{
	u64 writer = writer_of(e & REC_WHO, elem_gate(e), 1);
	if (elem_reached(w->launch, e, desc_scope(desc)))
		elem_read(w, 0, e, canonical, desc, writer, 1, 0);
	else
		hint_set(w, e, writer, GSAN_WHY_ACQUIRE_SCOPE, desc);
}

/* What a strong read of a location that a stream writes values to takes of them: those that have the value that was read, and what stands for older
 * ones. If none has, and nothing else is known to, it is `new`: any, for an RMW may have made it of one. `chained`: one may have anyhow. SOME: one has
 * that value. */
enum values_read { VALUES_NONE, VALUES_SOME, VALUES_UNKNOWN };
NEVER enum values_read values_read(const struct who *w, u64 canonical, u32 desc, u64 value, int new, int chained)
{
	const struct gsan_launch *l = w->launch;
	int known = desc & GSAN_DESC_VALUE && desc_bytes(desc) <= 8;
	struct values_found f;
	struct values v;
	for (u32 tries = 0; l->writers && desc_bytes(desc) <= 8 && tries < VALUES_TRIES; tries++) {
		if (!values_look(launch_writers(l), canonical, desc_bytes(desc), value, &v, &f))
			break;
		u32 same = f.same & ~f.any, which = !known || chained || (new && !same) ? f.all : same ? same | f.any : 0, broken = 0;
		for (u32 left = which; left; left &= left - 1) {
			const struct gsan_launch *op = &v.in->way[gpu_first(left)].record;
			broken |= (u32)!tag_mapped(l, operation_tag(op));
			u64 e = broken ? 0 : operation_elem(l, op);
			if (e && !elem_is_nothing(w, e) && !elem_is_later(l, e))
				value_read(w, e, canonical, desc);
		}
		if (broken || values_lost(launch_writers(l), &v) || (f.apart && !which))
			return VALUES_UNKNOWN;
		if (values_stand(&v))
			return same ? VALUES_SOME : VALUES_NONE;
	}
	return VALUES_UNKNOWN;
}

#endif

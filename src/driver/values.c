#include "driver/values.h"

#include <string.h>

#include "vmm/vmm.h"

/* ---- what streams write ---------------------------------------------------------------------------------------- */

#define VALUES_TRIES 100000u /* some milliseconds: who has it, and its process, may be gone */

/* 0: somebody else keeps it. */
static int values_enter(struct gsan_values *v)
{
	for (unsigned tries = 0; tries < VALUES_TRIES; tries++) {
		uint32_t now = __atomic_load_n(&v->changing, __ATOMIC_RELAXED);
		if (!(now & 1) && __atomic_compare_exchange_n(&v->changing, &now, now + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			return 1;
	}
	return 0;
}

static void values_leave(struct gsan_values *v)
{
	__atomic_fetch_add(&v->changing, 1, __ATOMIC_SEQ_CST);
}

/* Of one stream, to one location? */
static int values_alike(const struct gsan_value *a, const struct gsan_value *b)
{
	return a->at == b->at && a->bytes == b->bytes && a->record.participant == b->record.participant && a->record.stream == b->record.stream;
}

static int values_older(const struct gsan_value *a, const struct gsan_value *b) { return (int32_t)(a->record.seq - b->record.seq) < 0; }

/* The same value again: the newer one says more. Slots that streams share have no order. */
static struct gsan_value *values_again(struct gsan_values *v, const struct gsan_value *new)
{
	for (unsigned i = 0; i < GSAN_VALUE_WAYS && new->record.stream != GSAN_STREAMS - 1; i++)
		if (values_alike(&v->way[i], new) && !v->way[i].any && v->way[i].value == new->value)
			return &v->way[i];
	return NULL;
}

static struct gsan_value *values_free(struct gsan_values *v)
{
	for (unsigned i = 0; i < GSAN_VALUE_WAYS; i++)
		if (!v->way[i].at)
			return &v->way[i];
	return NULL;
}

/* The two oldest of one stream at one location, that of `like` if it has two, become one, which stands for any value. NULL: none has two. */
static struct gsan_value *values_merge(struct gsan_values *v, const struct gsan_value *like)
{
	struct gsan_value *first = NULL, *second = NULL;

	for (unsigned i = 0; i < GSAN_VALUE_WAYS; i++) {
		struct gsan_value *way = &v->way[i];
		if (!values_alike(way, like) || way->record.stream == GSAN_STREAMS - 1)
			continue;
		if (!first || values_older(way, first)) {
			second = first;
			first = way;
		} else if (!second || values_older(way, second)) {
			second = way;
		}
	}
	if (second)
		second->any = 1;
	return second ? first : NULL;
}

static struct gsan_value *values_place(struct gsan_values *v, const struct gsan_value *new)
{
	struct gsan_value *to = values_again(v, new);

	to = to ? to : values_free(v);
	to = to ? to : values_merge(v, new);
	for (unsigned i = 0; !to && i < GSAN_VALUE_WAYS; i++)
		to = values_merge(v, &v->way[i]);
	return to;
}

/* A device may be reading what stood there. */
static void value_put(struct gsan_value *to, const struct gsan_value *new)
{
	uint32_t seq = new->record.seq;
	struct gsan_value v = *new;

	v.record.seq = 0;
	__atomic_store_n(&to->record.seq, 0, __ATOMIC_SEQ_CST);
	memcpy(to, &v, sizeof(v));
	__atomic_store_n(&to->record.seq, seq, __ATOMIC_SEQ_CST);
}

static struct gsan_values *values_at(struct flow *f, uint64_t canonical)
{
	return &f->participant->job->writers.values[gsan_value_bucket(canonical)];
}

void values_lose(struct flow *f, uint64_t canonical)
{
	__atomic_store_n(&values_at(f, canonical)->lost, 1, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&f->participant->job->writers.told, 1, __ATOMIC_SEQ_CST);
}

void values_tell(struct flow *f, uint64_t canonical, uint64_t value, uint32_t bytes, const struct gsan_launch *record)
{
	struct gsan_value new = {.at = canonical, .value = value, .bytes = bytes, .record = *record}, *to = NULL;
	struct gsan_values *v = values_at(f, canonical);

	if (values_enter(v)) {
		to = values_place(v, &new);
		if (to)
			value_put(to, &new);
		values_leave(v);
	}
	if (!to)
		values_lose(f, canonical);
	else
		__atomic_fetch_add(&f->participant->job->writers.told, 1, __ATOMIC_SEQ_CST);
}

/* ---- what they read -------------------------------------------------------------------------------------------- */

/* A bit of the first so many that is free, from a place on that moves on, taken; none: GSAN_LOOKS. */
static unsigned look_take(struct gsan_writers *all, unsigned places)
{
	static _Atomic unsigned next;

	for (unsigned i = 0; i < GSAN_LOOKS; i++) {
		unsigned at = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) % places;
		uint64_t bit = 1ull << at % 64;
		if (!(__atomic_fetch_or(&all->look_taken[at / 64], bit, __ATOMIC_SEQ_CST) & bit))
			return at;
	}
	return GSAN_LOOKS;
}

/* A device may still be reading what stood there. */
static void look_put(struct gsan_look *to, const struct gsan_look *new)
{
	uint32_t seq = new->record.seq;
	struct gsan_look k = *new;

	k.record.seq = 0;
	__atomic_store_n(&to->record.seq, 0, __ATOMIC_SEQ_CST);
	memcpy(to, &k, sizeof(k));
	__atomic_store_n(&to->record.seq, seq, __ATOMIC_SEQ_CST);
}

struct gsan_look *values_look(struct flow *f, const struct gsan_look *word)
{
	struct gsan_writers *all = &f->participant->job->writers;
	unsigned at = look_take(all, word->condition == GSAN_WORD_WRITTEN ? GSAN_LOOKS / 2 : GSAN_LOOKS);

	if (at == GSAN_LOOKS)
		return NULL;
	look_put(&all->look[at], word);
	__atomic_fetch_or(&all->look_used[at / 64], 1ull << at % 64, __ATOMIC_SEQ_CST);
	return &all->look[at];
}

void values_unlooked(struct flow *f, int written, uint32_t more)
{
	__atomic_fetch_add(&f->participant->job->writers.unlooked[written][f->clock.participant], more, __ATOMIC_SEQ_CST);
}

void values_looked(struct flow *f, struct gsan_look *look)
{
	struct gsan_writers *all = &f->participant->job->writers;
	unsigned at = (unsigned)(look - all->look);

	__atomic_fetch_and(&all->look_used[at / 64], ~(1ull << at % 64), __ATOMIC_SEQ_CST);
	__atomic_fetch_and(&all->look_taken[at / 64], ~(1ull << at % 64), __ATOMIC_SEQ_CST);
}

/* ---- whose participant's number another one had ------------------------------------------------------------------ */

void values_start(struct flow *f)
{
	struct gsan_writers *all = &f->participant->job->writers;

	if (flow_graphs_wait())
		__atomic_store_n(&all->lost, 1, __ATOMIC_RELAXED);
	for (int written = 0; written < 2; written++)
		__atomic_store_n(&all->unlooked[written][f->clock.participant], 0, __ATOMIC_RELAXED);
	for (unsigned at = 0; at < GSAN_LOOKS; at++)
		if (all->look_used[at / 64] >> at % 64 & 1 && all->look[at].record.participant == f->clock.participant)
			values_looked(f, &all->look[at]);
	for (unsigned b = 0; b < GSAN_VALUE_BUCKETS; b++) {
		struct gsan_values *v = &all->values[b];
		if (!values_enter(v)) {
			v->lost = 1;
			continue;
		}
		for (unsigned i = 0; i < GSAN_VALUE_WAYS; i++)
			if (v->way[i].at && v->way[i].record.participant == f->clock.participant)
				v->way[i].at = 0;
		values_leave(v);
	}
}

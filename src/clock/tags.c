/* A record's tag is the low bits of its launch's number, so tags come round. Two rules keep an old record from being
 * taken for a new launch's: before the numbers enter the next half of the tag space, all shadow is cleared (the caller
 * does it, on -EAGAIN); and a launch that may have been running at that moment may have left records behind it, so its
 * tag is passed over for the whole half. Tags that CTAs draw for themselves (layout.h) are passed over, too. */
#include <errno.h>
#include <string.h>

#include "clock/vec.h"

static uint32_t clock_half(const struct clock *c, uint32_t seq)
{
	return seq >> (c->tags.bits - 1);
}

static int clock_tag_busy(const struct clock *c, uint32_t seq)
{
	uint32_t period = 1u << c->tags.bits;
	uint8_t slot = c->tags.slot[seq & (period - 1)];

	return seq >= period && slot != CLOCK_NO_RECORDS && seq - period > c->tags.seen[slot];
}

int clock_tag(struct clock *c, uint32_t slot, enum clock_use use, uint32_t *half)
{
	uint32_t period = 1u << c->tags.bits, seq = c->next;
	uint32_t most = seq + period / 4; /* busy or private tags passed over before a launch is refused its check */

	if (use == CLOCK_CHECKED && c->tags.busy > seq)
		seq = c->tags.busy;

	for (;; seq++) {
		*half = clock_half(c, seq);
		if (*half > c->tags.renewed && seq >= period) /* the first time round, no tag is old */
			return -EAGAIN;
		if (seq & (period - 1) /* nobody's: layout.h */ && !gsan_tag_private(seq, c->tags.bits) && !clock_tag_busy(c, seq))
			break;
		/* A busy tag keeps its slot's name, or the launch would be forgotten by the next round. */
		if (use == CLOCK_PLAIN)
			return 0;
		if (seq >= most) {
			c->tags.busy = seq;
			return -EBUSY;
		}
	}
	c->next = seq;
	c->tags.slot[seq & (period - 1)] = use == CLOCK_CHECKED ? (uint8_t)slot : CLOCK_NO_RECORDS;
	return 0;
}

/* The first of `count` numbers from `seq` on that lie in one half, and name neither nobody nor a CTA. */
static uint32_t clock_row(const struct clock *c, uint32_t seq, uint32_t count)
{
	uint32_t size = 1u << (c->tags.bits - 1), from = seq & ~(size - 1);

	if ((seq & (size - 1)) + count > size / 8 * 7)
		seq = from + size;
	return seq + !(seq & (2 * size - 1));
}

/* A tag below `swept` is of a launch that was complete: few launches have to look at each. */
int clock_tag_block(struct clock *c, const struct clock_block *b, uint32_t *half)
{
	uint32_t period = 1u << c->tags.bits, most = clock_row(c, c->next, b->count) + period / 4;
	uint32_t seq = clock_row(c, c->tags.row > c->next && b->count >= c->tags.row_count ? c->tags.row : c->next, b->count);
	uint32_t swept = atomic_load_explicit(&c->tags.swept, memory_order_relaxed);

	for (uint32_t looked = 0; looked < b->count;) {
		*half = clock_half(c, seq);
		if (*half > c->tags.renewed && seq >= period)
			return -EAGAIN;
		if (seq >= most) {
			c->tags.row = seq;
			c->tags.row_count = b->count;
			return -EBUSY;
		}
		if (seq + b->count <= period || seq + b->count - period <= swept)
			break;
		if (clock_tag_busy(c, seq + looked++)) {
			seq = clock_row(c, seq + looked, b->count);
			looked = 0;
		}
	}
	c->next = seq;
	memcpy(c->tags.slot + (seq & (period - 1)), b->slot, b->count);
	return 0;
}

/* A floor that lies further back than half of the tags would have the newest ones below it, by modulo arithmetic (device/launch.h). What is
 * older than three eighths of them counts as seen by the host, then: too much, and counted if there is anybody whom it may matter to. */
void clock_tags_short(struct clock *c, uint32_t from, uint32_t newest)
{
	uint32_t period = 1u << c->tags.bits, keep = period / 8 * 3, step = period / 32, *before = &c->before[c->participant];

	if ((from - 1) / step == newest / step || newest - c->begun <= keep || clock_floor(c, &c->host, c->next) >= newest - keep)
		return;
	if (*before >= newest - keep)
		return;
	*before = newest - keep;
	c->generation++;
	clock_publish(c);
	if (c->job && (c->lives > 1 || atomic_load_explicit(&c->job->participants, memory_order_relaxed) > 1))
		atomic_fetch_add_explicit(&c->job->rank[c->participant].counter[GSAN_N_ORDER_FULL], 1, memory_order_relaxed);
}

void clock_renewing(struct clock *c, const struct clock_vec *also, struct clock_sweep *sweep)
{
	struct clock_vec known;

	pthread_mutex_lock(&c->lock);
	clock_over(c, also, &known);
	for (uint32_t s = 0; s < GSAN_STREAMS; s++) {
		uint32_t over = s == CLOCK_SHARED ? c->shared_over : known.seen[s];

		sweep->seen[s] = c->slot[s].last <= over ? c->next - 1 : over;
	}
	sweep->floor = clock_floor(c, &known, c->next);
	pthread_mutex_unlock(&c->lock);
}

void clock_renewed(struct clock *c, uint32_t half, const struct clock_sweep *sweep)
{
	pthread_mutex_lock(&c->lock);
	if (c->tags.renewed < half) {
		c->tags.renewed = half;
		memcpy(c->tags.seen, sweep->seen, sizeof(sweep->seen));
		c->tags.busy = c->tags.row = 0;
		atomic_store_explicit(&c->tags.swept, sweep->floor, memory_order_release); /* partner: clock_swept() */
	}
	pthread_mutex_unlock(&c->lock);
}

int clock_renews_soon(struct clock *c, uint32_t *half)
{
	pthread_mutex_lock(&c->lock);
	uint32_t size = 1u << (c->tags.bits - 1), next = clock_half(c, c->next) + 1;
	int soon = next > c->tags.renewed && next > 1 /* the first time round, no tag is old */ && (c->next & (size - 1)) >= size / 2;
	pthread_mutex_unlock(&c->lock);
	if (soon)
		*half = next;
	return soon;
}

uint32_t clock_swept(struct clock *c)
{
	return atomic_load_explicit(&c->tags.swept, memory_order_acquire);
}

void clock_start_at(struct clock *c, uint32_t seq)
{
	pthread_mutex_lock(&c->lock);
	c->first = c->begun = seq;
	if (c->job)
		clock_raise(&c->begun, clock_first(c, c->participant));
	c->next = c->begun;
	c->generation++;
	if (c->job)
		atomic_store_explicit(&c->job->rank[c->participant].next, c->next, memory_order_release);
	c->tags.renewed = clock_half(c, c->next);
	clock_publish(c);
	pthread_mutex_unlock(&c->lock);
}

/* From vectors to what travels: the base order in a launch record, and the host clock that peers read. Both use the
 * same shape, a floor (everything below is before) and, for streams that are further, pairs. */
#include <string.h>

#include "clock/vec.h"

/* Own launches: a pair for each slot of which something at or above the floor is before. */
static uint32_t clock_pairs(const struct clock *c, const struct clock_vec *v, uint32_t floor, struct gsan_pair *pair,
		uint32_t room)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < c->slots; s++) {
		if (v->seen[s] < floor)
			continue;
		if (n < room)
			pair[n] = (struct gsan_pair){.participant = (uint8_t)c->participant, .stream = (uint8_t)s,
					.seq = v->seen[s]};
		n++;
	}
	return n;
}

/* Reads a peer's published clock. Entries only grow, so a mix of two generations is a state the peer's host was in or
 * will be in; each entry alone is true when it is read. */
static void clock_peer_read(struct clock_peer *peer, uint32_t q, struct job_rank *rank)
{
	/* Partner: the release store in clock_publish(). */
	uint32_t generation = atomic_load_explicit(&rank->clock.generation, memory_order_acquire);

	if (peer->valid && peer->generation == generation)
		return;
	peer->valid = 1;
	peer->generation = generation;
	peer->floor = atomic_load_explicit(&rank->clock.floor, memory_order_relaxed);
	peer->pairs = 0;
	for (uint32_t s = 0; s < GSAN_STREAMS; s++) {
		uint32_t seq = atomic_load_explicit(&rank->clock.stream[s], memory_order_relaxed);
		if (seq && seq >= peer->floor)
			peer->pair[peer->pairs++] = (struct gsan_pair){.participant = (uint8_t)q, .stream = (uint8_t)s,
					.seq = seq};
	}
}

static void clock_order_peers(struct clock *c, struct gsan_order *order)
{
	for (uint32_t q = 0; q < c->job->participants && q < GSAN_PARTICIPANTS; q++) {
		struct job_rank *rank = &c->job->rank[q];
		struct clock_peer *peer = &c->peer[q];

		if (q == c->participant)
			continue;
		if (atomic_load_explicit(&rank->next, memory_order_relaxed) < c->before[q])
			c->before[q] = 0; /* another process now */
		clock_raise(&order->floor[q], c->before[q]);
		if (atomic_load_explicit(&rank->state, memory_order_acquire) == JOB_LEFT) {
			order->floor[q] = UINT32_MAX; /* the process is gone, and its kernels with it */
			continue;
		}
		if (c->job->host_order_modelled)
			continue;
		clock_peer_read(peer, q, rank);
		clock_raise(&order->floor[q], peer->floor);
		for (uint32_t i = 0; i < peer->pairs; i++, order->pairs++)
			if (order->pairs < GSAN_ORDER_PAIRS)
				order->pair[order->pairs] = peer->pair[i];
	}
}

void clock_order(struct clock *c, const struct clock_vec *v, uint32_t seq, struct gsan_order *order)
{
	memset(order, 0, sizeof(*order));
	uint32_t floor = clock_floor(c, v, seq);
	clock_raise(&floor, c->before[c->participant]);
	for (uint32_t q = 0; q < GSAN_PARTICIPANTS; q++)
		order->floor[q] = c->first; /* a floor far behind a tag would look like one before it */
	order->floor[c->participant] = floor;
	order->pairs = clock_pairs(c, v, floor, order->pair, GSAN_ORDER_PAIRS);
	if (c->job)
		clock_order_peers(c, order);
	if (clock_unknown(c, v) || order->pairs > GSAN_ORDER_PAIRS)
		order->flags |= GSAN_ORDER_UNKNOWN;
	if (order->pairs > GSAN_ORDER_PAIRS)
		order->pairs = GSAN_ORDER_PAIRS;
}

void clock_publish(struct clock *c)
{
	if (!c->job)
		return;
	struct job_clock *to = &c->job->rank[c->participant].clock;

	atomic_store_explicit(&to->floor, clock_floor(c, &c->host, c->next), memory_order_relaxed);
	for (uint32_t s = 0; s < c->slots; s++)
		atomic_store_explicit(&to->stream[s], c->host.seen[s], memory_order_relaxed);
	/* Partner: the acquire load in clock_peer_read(). */
	atomic_fetch_add_explicit(&to->generation, 1, memory_order_release);
}

/* From vectors to what travels: the base order in a launch record, and the host clock that peers read. Both use the
 * same shape, a floor (everything below is before) and, for streams that are further, pairs. */
#include <string.h>

#include "clock/vec.h"

/* Adds a pair. Without room the one goes that lies least above its participant's floor, which rises over it: of that participant too
 * much counts as before, and all else stays as it is. 1: so it was. */
static int order_add(struct gsan_order *order, struct gsan_pair pair)
{
	uint32_t *floor = order->floor;

	if (order->pairs < GSAN_ORDER_PAIRS) {
		order->pair[order->pairs++] = pair;
		return 0;
	}
	for (uint32_t i = 0; i < GSAN_ORDER_PAIRS; i++) {
		struct gsan_pair it = order->pair[i];
		if ((int32_t)(it.seq - floor[it.participant]) >= (int32_t)(pair.seq - floor[pair.participant]))
			continue;
		order->pair[i] = pair;
		pair = it;
	}
	int rises = floor[pair.participant] <= pair.seq;
	clock_raise(&floor[pair.participant], pair.seq + 1);
	return rises;
}

/* ---- of the own participant ---------------------------------------------------------------------------------- */

/* Takes another slot in: 1 if that lowers the floor. Of one that is not all before, what is known stays: its first launch that is not
 * before has its number, and `pending` moves with the host alone. */
static int kept_take(struct clock *c, struct clock_kept *k, const struct clock_vec *v, uint32_t other)
{
	uint32_t open = clock_open_seq(c, v, other);

	if (!open) {
		k->closed |= 1ull << other;
		return 0;
	}
	k->closed &= ~(1ull << other);
	if (open >= k->floor)
		return 0;
	k->floor = open;
	return 1;
}

/* A pair for each other slot of which something at or above the floor is before. */
static void kept_pairs(const struct clock *c, struct clock_kept *k, uint32_t own)
{
	const struct clock_vec *v = &c->slot[own].vec;
	struct gsan_order order = {0};
	uint32_t floor = k->floor;

	clock_raise(&floor, c->before[c->participant]);
	order.floor[c->participant] = floor;
	k->widened = 0;
	for (uint32_t s = 0; s < c->slots; s++)
		if (s != own && v->seen[s] >= floor)
			k->widened |= order_add(&order, (struct gsan_pair){.participant = (uint8_t)c->participant, .stream = (uint8_t)s,
									   .seq = v->seen[s]});
	k->raised = order.floor[c->participant];
	k->pairs = order.pairs;
	memcpy(k->pair, order.pair, sizeof(k->pair));
}

/* What was found at the slot's launch before, and what other slots began since. A slot that is none of `live` is all before: the
 * host has seen it complete, and the slot's vector has joined the host's. */
static const struct clock_kept *kept_update(struct clock *c, uint32_t s)
{
	struct clock_kept *k = &c->slot[s].kept;
	const struct clock_vec *v = &c->slot[s].vec;
	int changed = k->generation != c->generation;

	if (changed) {
		k->generation = c->generation;
		k->taken = 0;
		k->closed = 0;
		k->floor = UINT32_MAX;
		k->unknown = clock_unknown(c, v);
	}
	for (uint64_t left = k->closed; left; left &= left - 1)
		changed |= kept_take(c, k, v, (uint32_t)__builtin_ctzll(left));
	for (; k->taken < c->lives; k->taken++)
		if (c->live[k->taken] != s)
			changed |= kept_take(c, k, v, c->live[k->taken]);
	if (changed)
		kept_pairs(c, k, s);
	return k;
}

/* ---- of peers ------------------------------------------------------------------------------------------------ */

/* What a peer's host may have seen the end of, this one may know from it. A number above those given out is another process's. */
static void clock_peer_before(struct clock *c, const struct job_rank *rank)
{
	for (uint32_t q = 0; q < c->job->participants && q < GSAN_PARTICIPANTS; q++) {
		uint32_t before = atomic_load_explicit(&rank->clock.before[q], memory_order_relaxed);
		if (before <= atomic_load_explicit(&c->job->rank[q].next, memory_order_relaxed))
			clock_raise(&c->before[q], before);
	}
}

/* Reads a peer's published clock. Entries only grow, so a mix of two generations is a state the peer's host was in or
 * will be in; each entry alone is true when it is read. */
static void clock_peer_read(struct clock *c, uint32_t q)
{
	struct clock_peer *peer = &c->peer[q];
	const struct job_rank *rank = &c->job->rank[q];
	/* Partner: the release store in clock_publish(). */
	uint32_t generation = atomic_load_explicit(&rank->clock.generation, memory_order_acquire);

	if (peer->valid && peer->generation == generation)
		return;
	peer->valid = 1;
	peer->generation = generation;
	peer->floor = atomic_load_explicit(&rank->clock.floor, memory_order_relaxed);
	peer->pairs = 0;
	clock_peer_before(c, rank);
	for (uint32_t s = 0; s < GSAN_STREAMS; s++) {
		uint32_t seq = atomic_load_explicit(&rank->clock.stream[s], memory_order_relaxed);
		if (seq && seq >= peer->floor)
			peer->pair[peer->pairs++] = (struct gsan_pair){.participant = (uint8_t)q, .stream = (uint8_t)s,
					.seq = seq};
	}
}

static void clock_order_peer(struct clock *c, uint32_t q, struct gsan_order *order)
{
	struct job_rank *rank = &c->job->rank[q];
	struct clock_peer *peer = &c->peer[q];

	if (atomic_load_explicit(&rank->next, memory_order_relaxed) < c->before[q])
		c->before[q] = 0; /* another process now */
	clock_raise(&order->floor[q], c->before[q]);
	if (atomic_load_explicit(&rank->state, memory_order_acquire) == JOB_LEFT) { /* the process is gone, and its kernels with it */
		uint32_t next = atomic_load_explicit(&rank->next, memory_order_relaxed);
		clock_raise(&order->floor[q], job_first_next(clock_first(c, q), next, c->job->rank_bits, q));
		return;
	}
	if (clock_is_silent(c, q) && atomic_load_explicit(&rank->next, memory_order_relaxed) < peer->floor)
		*peer = (struct clock_peer){0}; /* likewise; and it knows what it was told by words, no more */
	clock_raise(&order->floor[q], peer->floor);
	for (uint32_t i = 0; i < peer->pairs; i++)
		c->peers_widened |= order_add(order, peer->pair[i]);
}

/* What peers tell, read again when any of them may have told more, or this clock knows more. */
static const struct gsan_order *peers_update(struct clock *c)
{
	struct gsan_order *order = &c->peers;
	uint32_t changes = c->job ? atomic_load_explicit(&c->job->changes, memory_order_acquire) : 0;

	if (c->peers_generation == c->generation && c->peers_changes == changes)
		return order;
	c->peers_generation = c->generation;
	c->peers_changes = changes;
	order->pairs = 0;
	c->peers_widened = 0;
	for (uint32_t q = 0; q < GSAN_PARTICIPANTS; q++)
		order->floor[q] = clock_first(c, q); /* a floor far behind a tag would look like one before it */
	uint32_t peers = !c->job ? 0 : c->job->participants < GSAN_PARTICIPANTS ? c->job->participants : GSAN_PARTICIPANTS;
	for (uint32_t q = 0; q < peers; q++)
		if (q != c->participant && !clock_is_silent(c, q))
			clock_peer_read(c, q);
	for (uint32_t q = 0; q < peers; q++)
		if (q != c->participant)
			clock_order_peer(c, q, order);
	return order;
}

/* ---- of other GPUs of the process ---------------------------------------------------------------------------- */

static uint32_t peer_seen(const struct clock_peer *peer, uint32_t s)
{
	for (uint32_t i = 0; i < peer->pairs; i++)
		if (peer->pair[i].stream == s)
			return peer->pair[i].seq;
	return 0;
}

/* What streams wait for beside what the host of both has seen, which is told for good; this order may have been widened, which is not. 1: it was. */
static int order_sight(struct clock *c, struct clock_vec *v, uint32_t place, struct gsan_order *order)
{
	const struct clock_sight *sight = &v->sight[place];
	uint32_t q = c->beside[place]->participant, told = c->peer[q].floor;
	int widened = 0, news = told < sight->floor;

	clock_raise(&order->floor[q], sight->floor);
	for (uint32_t s = 0; s < GSAN_STREAMS; s++) {
		if (sight->seen[s] < told || sight->seen[s] <= peer_seen(&c->peer[q], s))
			continue;
		news = 1;
		if (sight->seen[s] < order->floor[q])
			continue;
		widened |= order_add(order, (struct gsan_pair){.participant = (uint8_t)q, .stream = (uint8_t)s, .seq = sight->seen[s]});
	}
	if (!news)
		v->beside &= ~(1u << place);
	return widened;
}

static int order_sights(struct clock *c, struct clock_vec *v, struct gsan_order *order)
{
	int widened = 0;

	for (uint32_t left = v->beside; left; left &= left - 1)
		widened |= order_sight(c, v, (uint32_t)__builtin_ctz(left), order);
	return widened;
}

/* ---- a launch ------------------------------------------------------------------------------------------------ */

static int order_pairs(struct gsan_order *order, const struct gsan_pair *pair, uint32_t count)
{
	int widened = 0;

	for (uint32_t i = 0; i < count; i++)
		widened |= order_add(order, pair[i]);
	return widened;
}

/* Before are launches of the own slot up to `own`, and others as `k` has it, though no number from `limit` on for that alone. 1: it was widened. */
static int order_put(struct clock *c, uint32_t s, const struct clock_kept *k, uint32_t limit, uint32_t own, struct gsan_order *order)
{
	struct clock_slot *slot = &c->slot[s];
	const struct gsan_order *peers = peers_update(c);
	uint32_t floor = k->floor < limit ? k->floor : limit;
	int widened = k->widened | c->peers_widened;

	clock_raise(&floor, c->before[c->participant]);
	if (k->widened)
		clock_raise(&floor, k->raised);
	memcpy(order->floor, peers->floor, sizeof(order->floor));
	order->floor[c->participant] = floor;
	order->pairs = 0;
	if (own >= floor)
		order_add(order, (struct gsan_pair){.participant = (uint8_t)c->participant, .stream = (uint8_t)s, .seq = own});
	widened |= order_pairs(order, k->pair, k->pairs);
	widened |= order_pairs(order, peers->pair, peers->pairs);
	widened |= order_sights(c, &slot->vec, order);
	order->flags = k->unknown || (slot->unknown_first && slot->vec.seen[s] >= slot->unknown_first) ? GSAN_ORDER_UNKNOWN : 0;
	return widened;
}

void clock_order(struct clock *c, uint32_t s, uint32_t seq, struct gsan_order *order)
{
	int widened = order_put(c, s, kept_update(c, s), seq, c->slot[s].vec.seen[s], order);

	if (widened && c->job)
		atomic_fetch_add_explicit(&c->job->rank[c->participant].counter[GSAN_N_ORDER_FULL], 1, memory_order_relaxed);
}

/* The floor stands at the first launch of its own that it may overtake; of other slots what lies above that is in pairs. */
void clock_order_early(struct clock *c, uint32_t s, struct gsan_order *order)
{
	struct clock_kept k = *kept_update(c, s);
	uint32_t early = c->slot[s].early;

	if (k.floor > early)
		k.floor = early;
	kept_pairs(c, &k, s);
	order_put(c, s, &k, k.floor, early - 1, order);
	order->flags |= GSAN_ORDER_EARLY;
}

void clock_publish(struct clock *c)
{
	if (!c->job)
		return;
	struct job_clock *to = &c->job->rank[c->participant].clock;

	atomic_store_explicit(&to->floor, clock_floor(c, &c->host, c->next), memory_order_relaxed);
	for (uint32_t s = 0; s < c->slots; s++)
		atomic_store_explicit(&to->stream[s], c->host.seen[s], memory_order_relaxed);
	for (uint32_t q = 0; q < GSAN_PARTICIPANTS; q++) /* who had this place before may have told more */
		if (atomic_load_explicit(&to->before[q], memory_order_relaxed) < c->before[q])
			atomic_store_explicit(&to->before[q], c->before[q], memory_order_relaxed);
	/* Partner: the acquire load in clock_peer_read(). */
	atomic_fetch_add_explicit(&to->generation, 1, memory_order_release);
	job_changed(c->job);
}

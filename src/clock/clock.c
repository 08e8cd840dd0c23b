/* The algebra of streams, events and the host within one participant. */
#include "clock/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock/vec.h"

/* Held for a few hundred instructions: who meets another thread there had better look again than sleep. */
static void clock_lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t kind;

	pthread_mutexattr_init(&kind);
#ifdef __GLIBC__
	pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
	pthread_mutex_init(lock, &kind);
	pthread_mutexattr_destroy(&kind);
}

int clock_init(struct clock *c, struct job *job, uint32_t participant, uint32_t tag_bits)
{
	memset(c, 0, sizeof(*c));
	c->tags.slot = malloc((size_t)1 << tag_bits);
	if (!c->tags.slot)
		return -ENOMEM;
	memset(c->tags.slot, CLOCK_NO_RECORDS, (size_t)1 << tag_bits);
	c->tags.bits = tag_bits;
	clock_lock_init(&c->lock);
	c->job = job;
	c->participant = participant;
	c->next = c->first = c->begun = 1;
	c->slots = c->generation = c->version = 1;
	c->slot[CLOCK_LEGACY].state = CLOCK_OPEN;
	c->slot[CLOCK_LEGACY].blocking = 1;
	return 0;
}

void clock_destroy(struct clock *c)
{
	pthread_mutex_destroy(&c->lock);
	free(c->tags.slot);
}

void clock_meet(struct clock *a, uint32_t place_a, struct clock *b, uint32_t place_b)
{
	struct { struct clock *clock; uint32_t place; } met[2] = {{a, place_a}, {b, place_b}};

	for (int i = 0; i < 2; i++) {
		struct clock *c = met[i].clock, *other = met[1 - i].clock;
		pthread_mutex_lock(&c->lock);
		c->place = met[i].place;
		c->beside[met[1 - i].place] = other;
		c->siblings |= 1u << other->participant;
		c->generation++;
		pthread_mutex_unlock(&c->lock);
	}
}

/* A slot never used, or one whose stream is gone and all of whose work the host has seen complete. */
static uint32_t clock_slot_find(struct clock *c)
{
	for (uint32_t s = 1; s < CLOCK_SHARED; s++) {
		const struct clock_slot *slot = &c->slot[s];
		if (slot->state == CLOCK_FREE || (slot->state == CLOCK_CLOSED && slot->last <= c->host.seen[s]))
			return s;
	}
	c->shared++;
	return CLOCK_SHARED;
}

uint32_t clock_slot_open(struct clock *c, int blocking)
{
	pthread_mutex_lock(&c->lock);
	uint32_t s = clock_slot_find(c);
	struct clock_slot *slot = &c->slot[s];

	if (s == CLOCK_SHARED) {
		slot->blocking |= blocking;
		if (slot->blocking) /* and so is, from now on, what it launched before */
			c->ahead |= 1ull << s;
	} else {
		memset(&slot->vec, 0, sizeof(slot->vec)); /* a new stream waits for nothing; `last` goes on */
		slot->blocking = blocking;
	}
	slot->legacy = slot->kept.generation = 0;
	slot->state = CLOCK_OPEN;
	if (c->slots <= s)
		c->slots = s + 1;
	pthread_mutex_unlock(&c->lock);
	return s;
}

void clock_slot_close(struct clock *c, uint32_t slot)
{
	pthread_mutex_lock(&c->lock);
	if (slot != CLOCK_LEGACY && slot != CLOCK_SHARED)
		c->slot[slot].state = CLOCK_CLOSED;
	pthread_mutex_unlock(&c->lock);
}

uint32_t clock_slots(struct clock *c)
{
	pthread_mutex_lock(&c->lock);
	uint32_t slots = c->slots;
	pthread_mutex_unlock(&c->lock);
	return slots;
}

/* What a slot is told, of its own launches, too: those are before its next one however early that begins. */
static void clock_slot_learn(struct clock *c, uint32_t s, const struct clock_vec *v, uint32_t slots)
{
	clock_join(&c->slot[s].vec, v, slots);
	clock_raise(&c->slot[s].early, v->seen[s] + 1);
}

static void clock_slot_join(struct clock *c, uint32_t s, uint32_t other)
{
	clock_slot_learn(c, s, &c->slot[other].vec, c->slots);
	clock_raise(&c->slot[s].vec.seen[other], c->slot[other].last);
	c->slot[s].kept.generation = 0;
}

/* The legacy slot joins those that went on since it did so last. */
static void clock_legacy_update(struct clock *c)
{
	for (; c->ahead; c->ahead &= c->ahead - 1) {
		uint32_t other = (uint32_t)__builtin_ctzll(c->ahead);
		if (c->slot[other].state != CLOCK_FREE && c->slot[other].blocking) {
			clock_slot_join(c, CLOCK_LEGACY, other);
			c->version++;
		}
	}
}

/* Something of a slot changed that the legacy default stream, or who waits for that, has to join. */
static void clock_slot_went_on(struct clock *c, uint32_t s)
{
	if (s == CLOCK_LEGACY)
		c->version++;
	else if (c->slot[s].blocking)
		c->ahead |= 1ull << s;
}

/* Brings a slot's vector up to now: the host's knowledge, its own launches, and the implicit order between the legacy
 * default stream and every blocking stream (CUDA driver API, "Stream synchronization behavior"). */
static void clock_slot_update(struct clock *c, uint32_t s)
{
	struct clock_slot *slot = &c->slot[s];

	if (slot->kept.generation != c->generation) /* which grows with the host's knowledge */
		clock_slot_learn(c, s, &c->host, c->slots);
	clock_raise(&slot->vec.seen[s], slot->last);
	if (s == CLOCK_LEGACY) {
		clock_legacy_update(c);
	} else if (slot->blocking && slot->legacy != c->version) {
		clock_slot_join(c, s, CLOCK_LEGACY);
		slot->legacy = c->version;
	}
}

static void clock_live(struct clock *c)
{
	c->lives = 0;
	for (uint32_t s = 0; s < c->slots; s++)
		if (c->slot[s].last > c->host.seen[s])
			c->live[c->lives++] = (uint8_t)s;
	c->generation++;
}

/* The legacy slot's next launch joins what blocking slots did, and they join that: if it is refused, they did not meet. */
static void clock_legacy_tries(struct clock *c)
{
	c->tried = c->ahead;
	if (c->tried)
		clock_copy(&c->sure, &c->slot[CLOCK_LEGACY].vec);
}

/* Brings the slot's vector up to now, for the numbers up to `newest`; those from `from` on were not given out. */
static void clock_numbering(struct clock *c, uint32_t s, uint32_t from, uint32_t newest)
{
	if (s == CLOCK_LEGACY)
		clock_legacy_tries(c);
	clock_slot_update(c, s);
	clock_tags_short(c, from, newest);
}

static void clock_numbered(struct clock *c, uint32_t count)
{
	c->next += count;
	if (c->job) {
		atomic_store_explicit(&c->job->rank[c->participant].next, c->next, memory_order_release);
		__atomic_store_n(&c->job->rank[c->participant].ring.given, c->next, __ATOMIC_RELEASE); /* partner: launch_given() */
	}
}

/* The slot has launches from `first` to `last`, and `previous` before that. */
static void clock_slot_launched(struct clock *c, uint32_t s, uint32_t first, uint32_t previous, uint32_t last)
{
	struct clock_slot *slot = &c->slot[s];

	if (slot->last <= c->host.seen[s]) {
		slot->pending = first;
		c->live[c->lives++] = (uint8_t)s;
	}
	slot->previous = previous;
	slot->last = last;
	clock_slot_went_on(c, s);
}

int clock_launch(struct clock *c, uint32_t s, enum clock_use use, uint32_t *seq, struct gsan_order *order, uint32_t *half)
{
	pthread_mutex_lock(&c->lock);
	uint32_t from = c->next;
	int rc = clock_tag(c, s, use, half);
	if (!rc) {
		clock_numbering(c, s, from, c->next);
		*seq = c->next;
		clock_numbered(c, 1);
		if (order)
			clock_order(c, s, *seq, order);
		clock_slot_launched(c, s, *seq, c->slot[s].last, *seq);
	}
	pthread_mutex_unlock(&c->lock);
	return rc;
}

static void clock_block_launched(struct clock *c, const struct clock_block *b, uint32_t seq)
{
	struct clock_slot *own = &c->slot[b->chain[0].slot];

	for (uint32_t i = 0; i < b->chains; i++) {
		const struct clock_chain *chain = &b->chain[i];
		if (!chain->last)
			continue;
		uint32_t last = seq + chain->last - 1;
		clock_slot_launched(c, chain->slot, seq + chain->first - 1, chain->previous ? seq + chain->previous - 1 : c->slot[chain->slot].last, last);
		if (i) {
			clock_raise(&own->vec.seen[chain->slot], last);
			own->kept.generation = 0;
		}
	}
}

int clock_launch_block(struct clock *c, const struct clock_block *b, uint32_t *seq, struct gsan_order *order, uint32_t *half)
{
	uint32_t s = b->chain[0].slot;

	pthread_mutex_lock(&c->lock);
	uint32_t from = c->next;
	int rc = clock_tag_block(c, b, half);
	if (!rc) {
		clock_numbering(c, s, from, c->next + b->count - 1);
		clock_order(c, s, c->next, order);
		rc = order->pairs + b->pairs > GSAN_ORDER_PAIRS ? -ENOSPC : 0;
	}
	if (!rc) {
		*seq = c->next;
		clock_numbered(c, b->count);
		clock_block_launched(c, b, *seq);
	}
	pthread_mutex_unlock(&c->lock);
	return rc;
}

/* Streams that share a slot are not told apart: which launch one comes behind is not known. What the host has seen the end of is no matter. */
int clock_early(struct clock *c, uint32_t s, uint32_t seq, struct gsan_order *early)
{
	struct clock_slot *slot = &c->slot[s];

	pthread_mutex_lock(&c->lock);
	int begins = s != CLOCK_SHARED && slot->last == seq && slot->triggers && slot->triggers == slot->previous && slot->early <= slot->previous;
	if (begins)
		clock_order_early(c, s, early);
	pthread_mutex_unlock(&c->lock);
	return begins;
}

void clock_triggers(struct clock *c, uint32_t s, uint32_t seq, int at_once)
{
	struct clock_slot *slot = &c->slot[s];

	pthread_mutex_lock(&c->lock);
	if (slot->last == seq) {
		slot->triggers = seq;
		if (!at_once)
			clock_raise(&slot->early, seq);
	}
	pthread_mutex_unlock(&c->lock);
}

/* That other slots have joined the number itself means nothing: there is no such launch. The tag may keep the slot's name: then it is passed
 * over once. */
void clock_refused(struct clock *c, uint32_t s, uint32_t seq)
{
	struct clock_slot *slot = &c->slot[s];

	pthread_mutex_lock(&c->lock);
	if (slot->last == seq) {
		slot->last = slot->previous;
		if (s == CLOCK_LEGACY && c->tried) {
			clock_copy(&slot->vec, &c->sure);
			c->ahead |= c->tried;
			c->tried = 0;
		}
		clock_live(c);
	}
	pthread_mutex_unlock(&c->lock);
}

void clock_record(struct clock *c, uint32_t slot, struct clock_vec *event)
{
	pthread_mutex_lock(&c->lock);
	clock_slot_update(c, slot);
	if (slot == CLOCK_LEGACY)
		c->tried = 0; /* now they met, whatever becomes of a launch */
	clock_copy(event, &c->slot[slot].vec);
	pthread_mutex_unlock(&c->lock);
}

/* Nothing is enqueued: what the legacy slot would join is not joined yet. */
void clock_mark(struct clock *c, uint32_t s, struct clock_vec *mark)
{
	struct clock_slot *slot = &c->slot[s];

	pthread_mutex_lock(&c->lock);
	uint64_t ahead = s == CLOCK_LEGACY ? c->ahead : 0;
	uint32_t generation = slot->kept.generation, version = c->version;
	struct clock_vec vec;
	if (ahead)
		clock_copy(&vec, &slot->vec);
	clock_slot_update(c, s);
	clock_copy(mark, &slot->vec);
	if (ahead) {
		clock_copy(&slot->vec, &vec);
		slot->kept.generation = generation;
		c->ahead = ahead;
		c->version = version;
	}
	pthread_mutex_unlock(&c->lock);
}

void clock_mark_but(struct clock *c, uint64_t slots, struct clock_vec *mark)
{
	pthread_mutex_lock(&c->lock);
	clock_copy(mark, &c->host);
	for (uint32_t s = 0; s < c->slots; s++) {
		if (slots >> s & 1)
			continue;
		clock_join(mark, &c->slot[s].vec, c->slots);
		clock_raise(&mark->seen[s], c->slot[s].last);
	}
	pthread_mutex_unlock(&c->lock);
}

void clock_mark_all(struct clock *c, struct clock_vec *mark) { clock_mark_but(c, 0, mark); }

/* In the legacy slot a wait is an action as a launch is, and comes behind what blocking slots did (same place of the driver API). */
void clock_wait(struct clock *c, uint32_t slot, const struct clock_vec *event)
{
	pthread_mutex_lock(&c->lock);
	if (slot == CLOCK_LEGACY) {
		clock_slot_update(c, slot);
		c->tried = 0;
	}
	clock_slot_learn(c, slot, event, GSAN_STREAMS);
	c->slot[slot].kept.generation = 0;
	clock_slot_went_on(c, slot);
	pthread_mutex_unlock(&c->lock);
}

/* Its floor may be found as late as this: what was launched since the event lies above it. */
int clock_wait_beside(struct clock *c, uint32_t slot, struct clock *other, const struct clock_vec *event)
{
	struct clock_vec mine;

	pthread_mutex_lock(&other->lock);
	int unknown = clock_unknown(other, event);
	uint32_t floor = clock_floor(other, event, other->next);
	pthread_mutex_unlock(&other->lock);
	clock_copy(&mine, event);
	memset(mine.seen, 0, sizeof(mine.seen));
	if (event->beside >> c->place & 1)
		memcpy(mine.seen, event->sight[c->place].seen, sizeof(mine.seen));
	mine.beside &= ~(1u << c->place);
	clock_join_sight(&mine, other->place, floor, event->seen);
	clock_wait(c, slot, &mine);
	return unknown;
}

/* Something that is over came behind whatever was enqueued until now, perhaps. */
static void clock_all_before(struct clock *c)
{
	for (uint32_t q = 0; c->job && q < c->job->participants && q < GSAN_PARTICIPANTS; q++)
		clock_raise(&c->before[q], atomic_load_explicit(&c->job->rank[q].next, memory_order_acquire));
	c->before[c->participant] = c->next;
	c->generation++;
}

/* Waits whose end the host has seen. Streams that share a slot are not told apart: theirs are never known to be over. */
static int clock_resolve(struct clock_slot *slot, uint32_t seen)
{
	if (!slot->unknown_first || seen < slot->unknown_first)
		return 0;
	slot->unknown_first = seen < slot->unknown_last ? seen + 1 : 0;
	if (!slot->unknown_first)
		slot->unknown_last = 0;
	return 1;
}

void clock_host_waited(struct clock *c, const struct clock_vec *mark)
{
	pthread_mutex_lock(&c->lock);
	clock_raise(&c->shared_over, mark->seen[CLOCK_SHARED]);
	pthread_mutex_unlock(&c->lock);
}

void clock_host_join(struct clock *c, const struct clock_vec *mark)
{
	int over = 0;

	pthread_mutex_lock(&c->lock);
	clock_join_seen(c->host.seen, mark->seen, GSAN_STREAMS);
	if (c->shared < 2)
		clock_raise(&c->shared_over, c->host.seen[CLOCK_SHARED]);
	clock_live(c);
	for (uint32_t s = 0; s < c->slots; s++) {
		clock_raise(&c->slot[s].pending, c->host.seen[s] + 1);
		over |= s != CLOCK_SHARED && clock_resolve(&c->slot[s], c->host.seen[s]);
	}
	if (over)
		clock_all_before(c);
	clock_publish(c);
	pthread_mutex_unlock(&c->lock);
}

uint32_t clock_host_seen(struct clock *c, uint32_t seen[GSAN_STREAMS])
{
	pthread_mutex_lock(&c->lock);
	memcpy(seen, c->host.seen, sizeof(c->host.seen));
	uint32_t floor = c->before[c->participant];
	pthread_mutex_unlock(&c->lock);
	return floor;
}

void clock_wait_unknown(struct clock *c, uint32_t s, uint32_t seq)
{
	struct clock_slot *slot = &c->slot[s];

	pthread_mutex_lock(&c->lock);
	if (!slot->unknown_first)
		slot->unknown_first = seq;
	clock_raise(&slot->unknown_last, seq);
	c->generation++;
	pthread_mutex_unlock(&c->lock);
}

void clock_host_unknown(struct clock *c)
{
	pthread_mutex_lock(&c->lock);
	clock_all_before(c);
	clock_publish(c);
	pthread_mutex_unlock(&c->lock);
}

int clock_idle(struct clock *c, const struct clock_vec *also)
{
	struct clock_vec over;

	pthread_mutex_lock(&c->lock);
	clock_over(c, also, &over);
	int idle = clock_floor(c, &over, c->next) == c->next;
	pthread_mutex_unlock(&c->lock);
	return idle;
}

static int clock_has_no_peers(const struct clock *c, uint32_t slot)
{
	return slot != CLOCK_SHARED && !c->siblings && (!c->job || atomic_load_explicit(&c->job->participants, memory_order_acquire) <= 1);
}

int clock_alone(struct clock *c, uint32_t slot)
{
	pthread_mutex_lock(&c->lock);
	int alone = clock_has_no_peers(c, slot);
	for (uint32_t s = 0; alone && s < c->slots; s++)
		alone = s == slot || c->slot[s].last <= c->host.seen[s];
	pthread_mutex_unlock(&c->lock);
	return alone;
}

int clock_alone_still(struct clock *c, uint32_t slot, uint32_t seq)
{
	pthread_mutex_lock(&c->lock);
	int alone = clock_has_no_peers(c, slot) && c->host.seen[slot] >= seq;
	for (uint32_t s = 0; alone && s < c->slots; s++)
		alone = s == slot || c->slot[s].last < seq;
	pthread_mutex_unlock(&c->lock);
	return alone;
}

/* Words by which hosts tell each other what is over (struct job_word). */
#include <string.h>

#include "clock/vec.h"

/* Its place, taken if nobody has said it; NULL: that was not asked for. */
static struct job_word *word_of(struct job *job, uint64_t name, int take)
{
	for (uint32_t i = 0; i < JOB_WORDS; i++) {
		struct job_word *w = &job->word[i];
		uint64_t is = atomic_load_explicit(&w->name, memory_order_acquire);
		if (!is && !take)
			return NULL;
		if (is == name || (!is && (atomic_compare_exchange_strong(&w->name, &is, name) || is == name)))
			return w;
	}
	return &job->word[JOB_WORDS];
}

static void word_raise(_Atomic uint32_t *to, uint32_t number)
{
	uint32_t was = atomic_load_explicit(to, memory_order_relaxed);

	while (was < number && !atomic_compare_exchange_weak_explicit(to, &was, number, memory_order_release, memory_order_relaxed))
		continue;
}

void clock_release(struct clock *c, uint64_t name)
{
	pthread_mutex_lock(&c->lock);
	struct job_word *w = c->job && c->job->host_order_modelled ? word_of(c->job, name, 1) : NULL;
	for (uint32_t q = 0; w && q < GSAN_PARTICIPANTS; q++) {
		if (q == c->participant) {
			for (uint32_t s = 0; s < GSAN_STREAMS; s++)
				word_raise(&w->host[q].stream[s], c->host.seen[s]);
			word_raise(&w->host[q].floor, clock_floor(c, &c->host, c->next));
		} else if (clock_is_silent(c, q)) {
			for (uint32_t i = 0; i < c->peer[q].pairs; i++)
				word_raise(&w->host[q].stream[c->peer[q].pair[i].stream], c->peer[q].pair[i].seq);
			word_raise(&w->host[q].floor, c->peer[q].floor);
		}
	}
	pthread_mutex_unlock(&c->lock);
}

static void word_take(struct clock_peer *peer, const struct job_word *w, uint32_t q)
{
	uint32_t seen[GSAN_STREAMS] = {0};

	clock_raise(&peer->floor, atomic_load_explicit(&w->host[q].floor, memory_order_acquire));
	for (uint32_t i = 0; i < peer->pairs; i++)
		seen[peer->pair[i].stream] = peer->pair[i].seq;
	peer->pairs = 0;
	for (uint32_t s = 0; s < GSAN_STREAMS; s++) {
		clock_raise(&seen[s], atomic_load_explicit(&w->host[q].stream[s], memory_order_acquire));
		if (seen[s] && seen[s] >= peer->floor)
			peer->pair[peer->pairs++] = (struct gsan_pair){.participant = (uint8_t)q, .stream = (uint8_t)s, .seq = seen[s]};
	}
}

void clock_acquire(struct clock *c, uint64_t name)
{
	pthread_mutex_lock(&c->lock);
	const struct job_word *w = c->job && c->job->host_order_modelled ? word_of(c->job, name, 0) : NULL;
	for (uint32_t q = 0; w && q < GSAN_PARTICIPANTS; q++)
		if (q != c->participant && clock_is_silent(c, q))
			word_take(&c->peer[q], w, q);
	if (w && w == &c->job->word[JOB_WORDS])
		atomic_fetch_add_explicit(&c->job->rank[c->participant].counter[GSAN_N_ORDER_FULL], 1, memory_order_relaxed);
	c->generation += w != NULL;
	pthread_mutex_unlock(&c->lock);
}

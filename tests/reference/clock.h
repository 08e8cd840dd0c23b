/* Vector clocks: what is before something. A sorted list of elements, key and value, where absent means 0, and an element
 * stands for all smaller values of its key. Clocks are shared: one that others hold is never changed. NULL is empty.
 *
 *   key STREAM s   value n     the first n launches of stream s are complete
 *   key CTA t      value e     what logical thread t did up to event e
 *   key CHAIN c    value e     the writes of chain c (a head and the RMWs that continue it) up to event e: those alone */
#ifndef REFERENCE_CLOCK_H
#define REFERENCE_CLOCK_H

#include <stdint.h>

enum { CLOCK_STREAM = 1, CLOCK_CTA, CLOCK_CHAIN };
#define CLOCK_KEY(kind, index) ((uint64_t)(kind) << 32 | (index))

struct clock_elem {
	uint64_t key, value;
};

struct clock {
	uint32_t holders, count, room;
	struct clock_elem elem[];
};

struct clock *clock_hold(struct clock *c);
void clock_drop(struct clock *c);
uint64_t clock_at(const struct clock *c, uint64_t key);
int clock_covers(const struct clock *a, const struct clock *b); /* b is within a */
/* These give up the caller's hold of `a` and return one of the result. */
struct clock *clock_with(struct clock *a, uint64_t key, uint64_t value); /* at least */
struct clock *clock_join(struct clock *a, struct clock *b);
struct clock *clock_meet(struct clock *a, const struct clock *b); /* what is within both */
struct clock *clock_prune(struct clock *a, int (*implied)(const void *, const struct clock *, const struct clock_elem *), const void *with);

#endif

/* Memory that the program has freed may still have checks of copies under way, which leave records: its addresses are used again when these are
 * over. Nobody waits for that but who needs them. */
#include <stdatomic.h>
#include <stddef.h>

#include "vmm/inside.h"

#define LOOKS 10000u

void (*vmm_look)(struct vmm_checks *checks, int wait);

static uint64_t numbers; /* under vmm_lock */

static struct vmm_checks look(int wait)
{
	struct vmm_checks checks = {1, 1};
	if (vmm_look)
		vmm_look(&checks, wait);
	return checks;
}

void freed_since(struct freed *f) { *f = (struct freed){.number = ++numbers}; }

void freed_look(struct freed_look *l, int wait)
{
	l->last = numbers;
	pthread_mutex_unlock(&vmm_lock);
	l->checks = look(wait);
	pthread_mutex_lock(&vmm_lock);
}

int freed_over(struct freed *f, const struct freed_look *l)
{
	if (!f->checks && f->number <= l->last)
		f->checks = l->checks.begun;
	return f->checks && f->checks <= l->checks.over;
}

/* Where kernels of the program leave no room for checks they are waited for once. */
int freed_wait(void)
{
	static _Atomic uint64_t vain; /* no more than so many were over then */
	struct vmm_checks now = look(0);
	uint64_t begun = now.begun;
	for (unsigned left = LOOKS; !begun || begun > now.over; left--) {
		if (!left)
			atomic_store_explicit(&vain, now.over, memory_order_relaxed);
		if (now.over == atomic_load_explicit(&vain, memory_order_relaxed))
			return 0;
		now = look(1);
		begun = begun ? begun : now.begun;
	}
	return 1;
}

/* Where races lie: the allocations in which one pair of lines races. Those of the lowest addresses are kept, however the instances came. */
#include <inttypes.h>
#include <string.h>

#include "report/order.h"
#include "report/report.h"

/* "cuMemAlloc(4096)" says how much: that may be another in each run. */
static int report_is_call(const char *label)
{
	const size_t name = strspn(label, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	const size_t size = label[name] == '(' ? strspn(label + name + 1, "0123456789") : 0;
	return !strncmp(label, "cu", 2) && size && !strcmp(label + name + 1 + size, ")");
}

const char *report_label(const struct report_finding *f)
{
	const char *label = f->allocation.size ? f->allocation.label : NULL;
	return label && !report_is_call(label) ? label : NULL;
}

void report_add_memory(struct text *out, const struct report_allocation *a)
{
	text_printf(out, "byte %" PRIu64 " of %" PRIu64 " at 0x%" PRIx64, a->offset, a->size, a->base);
	if (a->rank >= 0)
		text_printf(out, ", allocated by rank %d", a->rank);
	if (a->label)
		text_printf(out, " (%s)", a->label);
}

static int memory_order(const struct report_allocation *a, const struct report_allocation *b)
{
	ORDER(report_number_order((uint32_t)(a->rank + 1), (uint32_t)(b->rank + 1)));
	return report_number_order(a->base, b->base);
}

const struct report_allocation *report_memories(const struct report_finding *f, uint32_t *count)
{
	*count = f->memories ? f->memories : f->allocation.size > 0;
	return f->memories ? f->memory : &f->allocation;
}

static void memory_add(struct report_finding *f, const struct report_allocation *a)
{
	uint32_t at = 0;
	while (at < f->memories && memory_order(&f->memory[at], a) < 0)
		at++;
	if (at < f->memories && !memory_order(&f->memory[at], a)) {
		if (a->offset < f->memory[at].offset)
			f->memory[at].offset = a->offset;
		return;
	}
	f->memory_unlisted |= f->memories == REPORT_MEMORIES;
	if (at == REPORT_MEMORIES)
		return;
	const uint32_t kept = f->memories - (f->memories == REPORT_MEMORIES);
	memmove(&f->memory[at + 1], &f->memory[at], (kept - at) * sizeof *f->memory);
	f->memory[at] = *a;
	f->memories = kept + 1;
}

void report_join_memory(struct report_finding *to, const struct report_finding *a, const struct report_finding *b)
{
	struct report_finding both = {.memory_unlisted = a->memory_unlisted | b->memory_unlisted};
	const struct report_finding *const of[] = {a, b};
	for (int i = 0; i < 2; i++) {
		uint32_t n;
		const struct report_allocation *memory = report_memories(of[i], &n);
		for (uint32_t k = 0; k < n; k++)
			memory_add(&both, &memory[k]);
	}
	to->memories = both.memories > 1 ? both.memories : 0;
	to->memory_unlisted = both.memory_unlisted;
	memcpy(to->memory, both.memory, sizeof to->memory);
}

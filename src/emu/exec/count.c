#include "emu/exec/count.h"

#include "emu/exec/ops.h"
#include "emu/exec/trace.h"

#define SECTOR 32u /* bytes; no access of a lane lies in two, for it is aligned */

uint8_t exec_count_part(struct emu_kernel *kernel, uint32_t f, const struct emu_stats *stats)
{
	const struct ptx_module *m = kernel->module->ptx;
	if (f == kernel->function || exec_trace_original(kernel, f, stats->suffix))
		return 0;
	const struct ptx_span name = m->function[f].name;
	return (uint8_t)stats->part(m->text + name.off, name.len);
}

static int is_ours(const struct emu_stats *stats, u64 address)
{
	for (size_t k = 0; k < stats->spans; k++)
		if (address >= stats->ours[k].low && address < stats->ours[k].high)
			return 1;
	return 0;
}

/* The sectors that the instruction touched before. */
struct sectors { u64 seen[EXEC_LANES]; u32 count; };
static int is_new(struct sectors *s, u64 sector)
{
	for (u32 k = s->count; k-- > 0;)
		if (s->seen[k] == sector)
			return 0;
	s->seen[s->count++] = sector;
	return 1;
}

/* The addresses are those that the instruction has left in the warp. */
static void count(const struct exec_warp *w, const struct exec_insn *n, u32 m, u32 bytes)
{
	const struct emu_grid *g = w->cta->grid;
	struct emu_count *to = &g->counts[n->part];
	struct sectors s = { .count = 0 };
	for (u32 rest = w->fault ? 0 : m; rest; rest &= rest - 1) {
		const u64 a = w->address[__builtin_ctz(rest)];
		if (!exec_is_global(w, a))
			continue;
		struct emu_traffic *t = is_ours(g->launch.stats, a) ? &to->ours : &to->program;
		t->accesses++;
		t->bytes += bytes;
		t->sectors += (u64)is_new(&s, a / SECTOR);
	}
}

static void count_access(OP_ARGS)
{
	n->counted(w, n, m);
	count(w, n, m, (u32)n->size * n->count);
}

static void count_copy(OP_ARGS)
{
	n->counted(w, n, m);
	count(w, n, m, n->size);
}

void exec_count_memory(struct exec_insn *n, int copies)
{
	if (n->flags & F_SHARED && !copies)
		return;
	n->counted = n->run;
	n->run = copies ? count_copy : count_access;
}

/* Loads, stores, copies, address conversion and mbarriers (PTX ISA 9.7.9, 9.7.13). Every access of up to 8 bytes is one
 * host access, so other processes that map the memory see what another GPU would; acquire and release become host
 * fences. A misaligned address, one outside the CTA's shared memory and one of the host's that the driver does not know
 * are faults here; an unmapped one is the host's SIGSEGV, which grid.c turns into a fault. */
#include "emu/exec/ops.h"
#include "emu/exec/weak.h"

#include <string.h>

/* Shared addresses below the CTA's own buffer size are offsets in it. Returns 0 after a fault. */
static int shared_addresses(struct exec_warp *w, u32 m, u32 bytes)
{
	const u64 base = (u64)(uintptr_t)w->cta->shared, size = w->cta->grid->shared_bytes;
	for (u32 rest = m; rest; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		if (w->address[l] + bytes > size || w->address[l] > size) {
			exec_warp_fault(w, l, EMU_ILLEGAL_ADDRESS, "access outside shared memory");
			return 0;
		}
		w->address[l] += base;
	}
	return 1;
}

int exec_is_global(const struct exec_warp *w, u64 a)
{
	const struct emu_grid *g = w->cta->grid;
	const struct emu_module *m = g->kernel->module;
	return a - (u64)(uintptr_t)w->cta->shared >= g->shared_bytes &&
	       a - (u64)(uintptr_t)w->cta->local >= g->local_stride * g->threads &&
	       a - (u64)(uintptr_t)g->params >= g->kernel->param_bytes &&
	       a - (u64)(uintptr_t)m->const_low >= (u64)(m->const_high - m->const_low);
}

/* A GPU knows no other memory of the host's than what the driver was told of. */
static int all_known(struct exec_warp *w, u32 m, u32 bytes)
{
	const struct emu_grid *g = w->cta->grid;
	const u64 own = (u64)(uintptr_t)g->workspace;
	if (!g->launch.known)
		return 1;
	for (u32 rest = m; rest; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		const u64 a = w->address[l];
		if (exec_is_global(w, a) && a - own >= 256 && !g->launch.known(a, bytes)) {
			exec_warp_fault(w, l, EMU_ILLEGAL_ADDRESS, "illegal address");
			return 0;
		}
	}
	return 1;
}

int exec_address(struct exec_warp *w, const struct exec_insn *n, u32 m, u32 bytes)
{
	u64 *address = w->address, misaligned = 0;
	const u64 offset = (u64)n->imm;

	switch (n->mode) {
	case MODE_FRAME: EACH(address[l] = w->frame[l] + offset); break;
	case MODE_PARAM: EACH(address[l] = (u64)(uintptr_t)w->cta->grid->params + offset); break;
	case MODE_NARROW: {
		const u32 *a = exec_at(w, n->address);
		EACH(address[l] = (u32)(a[l] + (u32)offset));
		break;
	}
	case MODE_WINDOW: { /* the lower half of a host address */
		const u32 *a = exec_at(w, n->address);
		const u64 constants = (u64)(uintptr_t)w->cta->grid->kernel->module->const_low;
		EACH(const u64 base = n->sub == PTX_LOCAL ? w->local[l] : constants; address[l] = base + (u32)(a[l] + (u32)offset - (u32)base));
		break;
	}
	default: {
		const u64 *a = exec_at(w, n->address);
		EACH(address[l] = a[l] + offset);
	}
	}
	if ((n->flags & F_SHARED) && !shared_addresses(w, m, bytes))
		return 0;
	EACH(misaligned |= (address[l] & (bytes - 1)) != 0 ? (u64)1 << l : 0);
	if (misaligned) {
		exec_warp_fault(w, (u32)__builtin_ctzll(misaligned), EMU_ILLEGAL_ADDRESS, "misaligned address");
		return 0;
	}
	return n->mode != MODE_ABSOLUTE || n->flags & F_SHARED || all_known(w, m, bytes);
}

#define LOAD(T, S, D) \
	do { \
		D *d = exec_at(w, place); \
		EACH(d[l] = (D)(S)__atomic_load_n((const T *)(uintptr_t)(w->address[l] + at), __ATOMIC_RELAXED)); \
	} while (0)
#define LOAD_AS(T, S) \
	switch (n->wide) { \
	case 2: LOAD(T, S, u16); break; \
	case 4: LOAD(T, S, u32); break; \
	default: LOAD(T, S, u64); break; \
	}
static void load_element(OP_ARGS, u32 place, u32 at)
{
	switch (n->size | (n->flags & F_SIGNED ? 32 : 0)) {
	case 1: LOAD_AS(u8, u8) break;
	case 1 | 32: LOAD_AS(u8, s8) break;
	case 2: LOAD_AS(u16, u16) break;
	case 2 | 32: LOAD_AS(u16, s16) break;
	case 4: LOAD_AS(u32, u32) break;
	case 4 | 32: LOAD_AS(u32, s32) break;
	case 8: case 8 | 32: LOAD(u64, u64, u64); break;
	default: EACH(memcpy((u128 *)exec_at(w, place) + l, (const void *)(uintptr_t)(w->address[l] + at), 16)); break;
	}
}

static void load_elements(OP_ARGS)
{
	for (unsigned k = 0; k < n->count; k++)
		load_element(w, n, m, n->x[k], k * n->size);
}

static void load_weakly(OP_ARGS)
{
	const u32 there = n->flags & F_SHARED || n->mode != MODE_ABSOLUTE ? 0 : weak_load(w, n, m);
	load_elements(w, n, m);
	weak_back(w, there);
	if (n->flags & F_ACQUIRE)
		weak_acquire(w, m);
}

void op_load(OP_ARGS)
{
	if (!exec_address(w, n, m, (u32)n->size * n->count))
		return;
	if (w->weak)
		load_weakly(w, n, m);
	else
		load_elements(w, n, m);
	if (n->flags & F_ACQUIRE)
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

#define STORE(T, S) \
	do { \
		const S *d = exec_at(w, place); \
		EACH(__atomic_store_n((T *)(uintptr_t)(w->address[l] + at), (T)d[l], __ATOMIC_RELAXED)); \
	} while (0)
static void store_element(OP_ARGS, u32 place, u32 at)
{
	switch (n->size) {
	case 1: /* from a register of 2, 4 or 8 bytes */
		if (n->wide == 2)
			STORE(u8, u16);
		else if (n->wide == 4)
			STORE(u8, u32);
		else
			STORE(u8, u64);
		break;
	case 2:
		if (n->wide == 2)
			STORE(u16, u16);
		else if (n->wide == 4)
			STORE(u16, u32);
		else
			STORE(u16, u64);
		break;
	case 4:
		if (n->wide == 4)
			STORE(u32, u32);
		else
			STORE(u32, u64);
		break;
	case 8: STORE(u64, u64); break;
	default: EACH(memcpy((void *)(uintptr_t)(w->address[l] + at), (const u128 *)exec_at(w, place) + l, 16)); break;
	}
}

void op_store(OP_ARGS)
{
	if (!exec_address(w, n, m, (u32)n->size * n->count))
		return;
	if (n->flags & F_RELEASE)
		__atomic_thread_fence(__ATOMIC_RELEASE);
	const u32 there = w->weak && !(n->flags & F_SHARED) && n->mode == MODE_ABSOLUTE ? weak_to_images(w, m) : 0;
	if (w->weak && (m & ~there) && n->mode != MODE_FRAME)
		weak_elsewhere(w, n, m & ~there);
	for (unsigned k = 0; k < n->count; k++)
		store_element(w, n, m, n->x[k], k * n->size);
	if (there)
		weak_store(w, n, there);
}

void op_fence(OP_ARGS)
{
	if (w->weak)
		weak_fence(w, n, m);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void op_nothing(OP_ARGS) { (void)w, (void)n, (void)m; }
void op_createpolicy(OP_ARGS) { u64 *d = X(u64, 0); EACH(d[l] = 0); } /* a cache hint: nobody looks inside */

/* cp.async: copied at issue, which every correct program must allow. x[0] is the global address, x[1] the source size. */
void op_copy_async(OP_ARGS)
{
	const u64 *from = X(u64, 0);
	const u32 *have = n->count > 1 ? X(u32, 1) : NULL;
	if (!exec_address(w, n, m, n->size))
		return;
	if (w->weak)
		weak_release(w, m); /* it reads memory itself */
	EACH(const u32 bytes = have && have[l] < n->size ? have[l] : n->size;
	     u8 *to = (u8 *)(uintptr_t)w->address[l]; w->address[l] = from[l] + n->x[2];
	     memcpy(to, (const void *)(uintptr_t)w->address[l], bytes); memset(to + bytes, 0, n->size - bytes));
}

/* Address windows: shared is the CTA's buffer; const and parameters lie within the global window, as on hardware. */
void op_cvta_shared(OP_ARGS) { u64 *d = X(u64, 0); const u64 *a = X(u64, 1); EACH(d[l] = a[l] + (u64)(uintptr_t)w->cta->shared); }
void op_cvta_to_shared(OP_ARGS) { u64 *d = X(u64, 0); const u64 *a = X(u64, 1); EACH(d[l] = a[l] - (u64)(uintptr_t)w->cta->shared); }

static int within(u64 a, const void *low, size_t size)
{
	return a - (u64)(uintptr_t)low < size;
}
void op_isspacep(OP_ARGS)
{
	const u64 *a = X(u64, 1);
	const struct emu_grid *g = w->cta->grid;
	const struct emu_module *module = g->kernel->module;
	u32 r = 0;
	EACH(const int shared = within(a[l], w->cta->shared, g->shared_bytes);
	     const int local = within(a[l], w->cta->local, g->local_stride * g->threads); int is;
	     switch (n->sub) {
	     case PTX_SHARED: is = shared; break;
	     case PTX_LOCAL: is = local; break;
	     case PTX_CONST: is = within(a[l], module->const_low, (size_t)(module->const_high - module->const_low)); break;
	     case PTX_PARAM: is = within(a[l], g->params, g->kernel->param_bytes); break;
	     default: is = !shared && !local;
	     } r |= (u32)is << l);
	op_set_mask(w, n->x[0], m, r);
}

/* An mbarrier object of ours: bits 0-19 arrivals still expected in this phase, 20-39 arrivals per phase, 40-61 bytes
 * outstanding (offset by half their range), 63 the phase's parity. Shared memory belongs to one CTA: no atomics. */
#define MBAR_ONE 1u
#define MBAR_MASK 0xfffffu
#define MBAR_TX ((u64)1 << 40)
#define MBAR_TX_ZERO ((u64)1 << 61)
u32 exec_mbarrier_expects(u64 b) { return (u32)(b >> 20) & MBAR_MASK; }
unsigned exec_mbarrier_phase(u64 b) { return (unsigned)(b >> 63); }
static u64 *mbarrier(struct exec_warp *w, unsigned l)
{
	return (u64 *)(uintptr_t)w->address[l];
}
static void mbarrier_settle(u64 *b)
{
	if ((*b & MBAR_MASK) == 0 && (*b >> 40 & 0x3fffff) == MBAR_TX_ZERO >> 40)
		*b = (*b ^ (u64)1 << 63) | (*b >> 20 & MBAR_MASK);
}
void op_mbarrier_init(OP_ARGS)
{
	const u32 *count = X(u32, 0);
	if (exec_address(w, n, m, 8))
		EACH(*mbarrier(w, l) = MBAR_TX_ZERO | (u64)(count[l] & MBAR_MASK) << 20 | (count[l] & MBAR_MASK));
}
void op_mbarrier_inval(OP_ARGS)
{
	if (exec_address(w, n, m, 8))
		EACH(*mbarrier(w, l) = 0);
}
static void arrive(struct exec_warp *w, const struct exec_insn *n, u32 m, const u32 *count, const u32 *bytes)
{
	if (!exec_address(w, n, m, 8))
		return;
	if (w->weak)
		weak_release(w, m);
	for (u32 rest = m; rest; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		u64 *b = mbarrier(w, l);
		const u32 arrivals = count ? count[l] : 1;
		if (n->x[0] != EXEC_NOWHERE)
			X(u64, 0)[l] = *b;
		if ((*b & MBAR_MASK) < arrivals) {
			exec_warp_fault(w, l, EMU_FAILED, "more arrivals at an mbarrier than it expects");
			return;
		}
		*b += (bytes ? bytes[l] * MBAR_TX : 0) - arrivals;
		if (n->sub) /* arrive_drop: later phases expect fewer */
			*b -= (u64)arrivals << 20;
		mbarrier_settle(b);
	}
}
void op_mbarrier_arrive(OP_ARGS) { arrive(w, n, m, n->count > 1 ? X(u32, 1) : NULL, NULL); }
void op_mbarrier_arrive_tx(OP_ARGS) { arrive(w, n, m, NULL, X(u32, 1)); }
void op_mbarrier_async(OP_ARGS) /* without .noinc the pending count is raised first: no net effect */
{
	if (n->sub)
		arrive(w, n, m, NULL, NULL);
}
void op_mbarrier_tx(OP_ARGS) /* sub: complete_tx */
{
	const u32 *bytes = X(u32, 0);
	if (exec_address(w, n, m, 8))
		EACH(u64 *b = mbarrier(w, l); *b += n->sub ? (u64)0 - bytes[l] * MBAR_TX : bytes[l] * MBAR_TX; mbarrier_settle(b));
}
void op_mbarrier_wait(OP_ARGS) /* true once the phase of the state, or of that parity, is complete; try_wait never blocks */
{
	u32 r = 0;
	if (!exec_address(w, n, m, 8))
		return;
	EACH(const u32 phase = n->flags & F_PARITY ? X(u32, 1)[l] & 1 : (u32)(X(u64, 1)[l] >> 63);
	     r |= (u32)(*mbarrier(w, l) >> 63 != phase) << l);
	op_set_mask(w, n->x[0], m, r);
	if (w->weak)
		weak_acquire(w, r);
}
void op_mbarrier_pending(OP_ARGS) { u32 *d = X(u32, 0); const u64 *a = X(u64, 1); EACH(d[l] = (u32)(a[l] & MBAR_MASK)); }

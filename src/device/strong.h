/* Strong operations and fences: what happens before one executes, and after it. */
#ifndef GSAN_DEVICE_STRONG_H
#define GSAN_DEVICE_STRONG_H

#include "device/abi.h"
#include "device/caller.h"
#include "device/calls.h"
#include "device/clock.h"
#include "device/desc.h"
#include "device/entry.h"
#include "device/foreign.h"
#include "device/lock.h"
#include "device/shadow.h"
#include "device/sync.h"
#include "device/waits.h"

ALWAYS u64 element_at(u64 canonical, u32 desc, u32 k)
{
	return canonical == NO_ADDRESS ? canonical : canonical + k * desc_element(desc);
}

ALWAYS u64 element_value(u64 value, u32 desc, u32 k) /* known only of 8 bytes in all */
{
	u32 bits = 8 * desc_element(desc);
	return bits < 64 ? value >> (k * bits & 63) & ((1ull << bits) - 1) : value;
}

/* A CAS of which nobody will say whether it wrote. In before() alone. */
ALWAYS int untold(u32 desc) { return op_is_rmw(desc_op(desc)) && desc & GSAN_DESC_VALUE; }
ALWAYS int at_once(u32 desc) { return !desc_is_scalar(desc) || untold(desc); }

/* Its check. Of a CAS some lanes wrote, perhaps, and some did not: these come as what they did. */
ALWAYS void strong_access(struct who *w, u64 canonical, u32 desc, int whole)
{
	for (u32 rest = gpu_which(whole, 1), same; rest; rest &= ~same) {
		u32 one = gpu_from(whole, desc, gpu_first(rest));
		same = gpu_which(whole, desc == one);
		warp_scattered(w, desc == one ? canonical : NO_ADDRESS, desc_op(one), one & 0xffff, desc_vector(one), desc_element(one), whole);
	}
	report_reasons(w);
}

void gsan_before(u64 launch, u64 self, u32 whole, u64 address, u32 desc, u64 value)
{
	int early = looks_early(desc) && !untold(desc);
	struct who w = who_of(launch, self, early);
	u64 canonical = shadow_canonical(w.launch, address);
	if (early)
		strong_access(&w, canonical, desc, whole);
	for (u32 k = 0; k < desc_elements(desc); k++) {
		u64 at = element_at(canonical, desc, k);
		int publishes = sync_publishes(&w, at, desc, whole);
		u32 group = gpu_same(whole, at);
		struct dev_sync *e = 0;
		EACH_OF(whole, publishes && gpu_leads(group))
			e = sync_entry(&w, at, desc_scalar(desc));
		gpu_meet(whole);
		e = (struct dev_sync *)(uintptr_t)gpu_from64(whole, (u64)(uintptr_t)e, gpu_first(group));
		if (at_once(desc)) {
			EACH_OF(whole, e != 0)
				sync_at_once(&w, e, at, desc_scalar(desc), element_value(value, desc, k));
		} else {
			sync_hold(w.launch, e, whole);
			EACH_OF(whole, e && w.state && desc_releases(desc) && sync_held(w.launch, e))
				sync_time(&w, e, desc);
		}
		gpu_meet(whole);
	}
}

/* Which versions the elements of a load have: of several, the sum, which grows with each. */
ALWAYS u32 look(const struct who *w, u64 canonical, u32 desc)
{
	u32 sum = 0;
	for (u32 k = 0; k < desc_elements(desc); k++) {
		u64 at = element_at(canonical, desc, k);
		sum += sync_reachable(w, at) ? sync_look(at, desc_element(desc)) : 0;
	}
	return sum;
}

/* What a load knew of one of its elements: nothing, if any of them has changed. */
ALWAYS u32 looked_at(const struct who *w, u64 canonical, u32 desc, u32 k, u32 looked)
{
	u64 at = element_at(canonical, desc, k);
	u32 this = !desc_is_scalar(desc) && looked && sync_reachable(w, at) ? sync_look(at, desc_element(desc)) : looked;
	return this == looked || look(w, canonical, desc) == looked ? this : 0;
}

/* Who looks again, and stood in a queue the last time, lets those go first: above all the one that all wait for. */
#define QUEUED_NS 8000u
#define QUEUED_MOST 125u /* nanosleep takes a millisecond at most */
ALWAYS void look_later(const struct who *w, u64 canonical, u32 desc)
{
	u32 queued = w->state ? gpu_load32(&w->state->queued) : 0;
	if (!queued || gpu_load64(&w->state->polled_key) != sync_key(canonical, desc_bytes(desc)))
		return;
	gpu_store32(&w->state->queued, 0);
	gpu_sleep((queued < QUEUED_MOST ? queued : QUEUED_MOST) * QUEUED_NS);
}

/* What a CAS would read, acquired as it does. */
ALWAYS u64 spin_read(u64 address, u32 desc)
{
	const void *p = (const void *)(uintptr_t)address;
	if (desc_bytes(desc) == 4)
		return desc_acquires(desc) ? gpu_acquire32(p) : gpu_load32(p);
	u64 value = gpu_load64(p);
	if (desc_acquires(desc))
		gpu_fence_sys();
	return value;
}

/* Without a lock, by all lanes at once, together or not: those that wait do not keep the one that they wait for from its turn. As with what
 * was polled, the generation may be from before a write that is not over: then the value is the same, and the next CAS sees more. */
u64 gsan_spin(u64 launch, u64 self, u32 turn, u64 address, u32 desc, u64 expected)
{
	if (!(u32)self)
		return expected;
	struct who w = who_of(launch, self, 0);
	u64 canonical = shadow_canonical(w.launch, address), spun = gpu_load64(&own_warp(&w)->spun);
	struct dev_sync *e = sync_reachable(&w, canonical) ? sync_find(canonical, desc_bytes(desc), 0, 0) : 0;
	u64 value = e && spun ? spin_read(address, desc) : expected;
	int whole = turn > 1, known = value != expected && spun == spun_of(&w, canonical, gpu_load32(&e->generation), value, desc_scalar(desc));
	if (gpu_all(whole, known)) {
		count_accesses(&w, 1, 1);
		if (gpu_speaks(whole))
			waits_read(&w, canonical, desc, value);
		gpu_pause(); /* the one that it waits for may be of this warp */
		return value;
	}
	if (turn == 1 && e)
		sync_try(w.launch, e);
	return expected;
}

u32 gsan_look(u64 launch, u64 self, u64 address, u32 desc)
{
	struct who w = {.launch = (const struct gsan_launch *)(uintptr_t)launch};
	w.state = caller_state(w.launch, self);
	u64 canonical = shadow_canonical(w.launch, address);
	look_later(&w, canonical, desc);
	if (!desc_is_scalar(desc)) /* here, not in look(): gsan_after has that, and its frame would grow */
		return look(&w, canonical, desc);
	return sync_reachable(&w, canonical) ? sync_look(canonical, desc_bytes(desc)) : 0;
}

/* After a strong operation and its check: what it observed counts from here on, for the CTA of all who made it. */
ALWAYS void settle(const struct who *w, int whole)
{
	if (w->state && gpu_speaks(whole) && gpu_load32(&w->state->fresh) && state_take(w)) {
		clock_settle(w);
		state_give(w);
	}
	gpu_meet(whole);
}

/* Order that comes from where we cannot look: it may be any. */
ALWAYS void unreachable(const struct who *w, u32 desc)
{
	gpu_or32(&w->state->pending_flags, DEV_CLOCK_EVERYTHING);
	if (desc_sem(desc) != GSAN_SEM_NONE)
		gpu_or32(&w->state->clock.flags, DEV_CLOCK_EVERYTHING);
}

/* Has a load read what its CTA's last look, by its warp, has read there, which had nothing to say either? */
ALWAYS int reads_again(const struct who *w, u32 whole, u64 canonical, u32 desc, u64 value)
{
	u64 spun = gpu_load64(&own_warp(w)->spun);
	int known = 0;
	if (spun && sync_reachable(w, canonical)) {
		gpu_fence_cta(); /* the value comes before the number */
		u32 generation = polled_generation(w, sync_find(canonical, desc_bytes(desc), 0, 0), canonical);
		known = sync_polled(w, canonical, generation, value, desc) && spun == spun_of(w, canonical, generation, value, desc);
	}
	if (!gpu_all((int)whole, known))
		return 0;
	if (gpu_speaks((int)whole)) {
		u32 lanes = whole ? gpu_popc(GPU_WARP) : 1;
		count_accesses(w, lanes, lanes);
		waits_read(w, canonical, desc, value);
	}
	return 1;
}

void gsan_after(u64 launch, u64 self, u32 whole, u64 address, u32 desc, u64 value, u32 looked)
{
	struct who w = who_of(launch, self, 1);
	u64 canonical = shadow_accessed(w.launch, address, desc);
	int load = desc & GSAN_DESC_VALUE && !op_writes(desc_op(desc)) && !desc_is_cas(desc) && desc_is_scalar(desc);
	if (w.state && load && reads_again(&w, whole, canonical, desc, value))
		return;
	int reads = w.state && sync_reads(desc), foreign = canonical == NO_ADDRESS && foreign_access(w.launch, address, desc);
	struct synced sync = {0, 0, 0};
	if (reads)
		gpu_fence_sys(); /* whoever's store we read has made its entry, and has its lock or has published */
	for (u32 k = 0; k < desc_elements(desc); k++) { /* first what it acquires: that goes for itself, too */
		u64 at = element_at(canonical, desc, k);
		int there = sync_reachable(&w, at), counts = there && (reads || op_writes(desc_op(desc)));
		struct dev_sync *e = counts ? sync_find(at, desc_element(desc), 0, 0) : 0;
		u32 known = looked_at(&w, canonical, desc, k, looked);
		if (reads && !there && (foreign || canonical != NO_ADDRESS))
			unreachable(&w, desc);
		u32 group = gpu_same(whole, at);
		int each = !desc_is_rmw(desc) || desc_is_cas(desc); /* lane for itself: it stores what it does, or fails. Else one for all */
		EACH_OF(whole, counts && (each || gpu_leads(group)))
			sync = sync_after(&w, e, at, desc_scalar(desc), element_value(value, desc, k), known, whole);
		gpu_meet(whole);
		u64 held = gpu_from64(whole, (u64)(uintptr_t)sync.held, gpu_first(group));
		sync.held = each ? sync.held : (struct dev_sync *)(uintptr_t)held;
	}
	int failed = desc_cas_failed(desc), by_hand = reads && w.launch->warp_bits && canonical == NO_ADDRESS && !foreign;
	if (gpu_which(whole, by_hand) && gpu_speaks(whole)) /* a flag in shared memory */
		barrier_behind(&w, 1);
	gpu_meet(whole);
	int over = failed || looks_early(desc); /* it wrote nothing, or was checked: others need not wait */
	sync_release(over ? sync.held : 0, whole);
	if (sync.put)
		sync_digest(&w, canonical, desc_scalar(desc));
	gpu_meet(whole);
	if (failed && w.state) /* by now what another lane of the warp released has ended an epoch: this read is not among that */
		w.base = state_base(w.state, w.warp, 1);
	if (!looks_early(desc))
		strong_access(&w, canonical, desc, whole);
	sync_release(over ? 0 : sync.held, whole);
	settle(&w, whole);
	if (sync.spun) /* now that all it read counts */
		gpu_store64(&own_warp(&w)->spun, sync.spun);
	u32 outside = gpu_which(whole, foreign), checked = gpu_which(whole, canonical != NO_ADDRESS);
	if (!gpu_speaks(whole))
		return;
	count_accesses(&w, gpu_popc(outside | checked), gpu_popc(checked));
	if (reads)
		waits_read(&w, canonical == NO_ADDRESS ? address : canonical, desc, value);
}

void gsan_fence(u64 launch, u64 self, u32 desc)
{
	struct who w = who_of(launch, self, 0);
	u32 active = gpu_active();
	if (!w.state)
		return;
	EACH_TURN(active)
		sync_fence(&w, desc);
	gpu_meet(active == GPU_WARP);
}

/* Before a call of what is not seen. From here on the CTA counts as behind everything, and may have told anything to a host, or to other
 * CTAs of its launch; and those behind it count so, too, for it may not come back to say that it leaves. */
void gsan_unseen(u64 launch, u64 self)
{
	struct who w = who_of(launch, self, 0);
	foreign_told(w.launch);
	if (w.state && gpu_load32(&w.state->clock.flags) & DEV_CLOCK_EVERYTHING && launch_unseen(w.launch))
		return;
	gpu_store32(&own_launch(w.launch)->unseen, w.launch->seq);
	if (w.state)
		order_lost(&w, 1);
	acquired_everything(w.launch);
}

#endif

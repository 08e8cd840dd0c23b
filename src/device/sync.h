/* Synchronisation: the versions of strongly written locations, and what releases, acquires and fences do with them. A strong
 * write holds its location's entry while it executes: it reads the newest version and publishes the next, with what it
 * releases. A load looks which version is the newest before it executes, and joins afterwards what it observed: link by link
 * where both are morally strong, those elements whose gates include each other mutually (PTX ISA: release and acquire
 * patterns, observation). */
#ifndef GSAN_DEVICE_SYNC_H
#define GSAN_DEVICE_SYNC_H

#include "device/abi.h"
#include "device/acquire.h"
#include "device/barrier.h"
#include "device/clock.h"
#include "device/coarse.h"
#include "device/desc.h"
#include "device/elem_order.h"
#include "device/elems.h"
#include "device/entry.h"
#include "device/hint.h"
#include "device/inherit.h"
#include "device/launch.h"
#include "device/lock.h"
#include "device/meeting.h"
#include "device/observed.h"
#include "device/release.h"
#include "device/shadow.h"
#include "device/state.h"
#include "device/version.h"
#include "device/which.h"

/* ---- before a strong write -------------------------------------------------------------------------------------------- */

/* May what is released there be known? Not of what hosts write, too, and not of NO_ADDRESS, which counts as that (layout.h). */
ALWAYS int sync_reachable(const struct who *w, u64 canonical)
{
	return !gsan_is_hosts(canonical) && w->launch->mapped >> gsan_owner(canonical) & 1;
}

/* Does a strong write of it make an entry for its location? Not of a kernel of relaxed operations alone: histograms are made of those,
 * hash tables, graph algorithms. */
ALWAYS int sync_makes(const struct who *w) { return w->state || w->stateless || w->launch->lifted & GSAN_LIFT_COARSE; }

/* Is there anything to publish, of what is in reach? If not, the coarse path has it: when a kernel begins all lanes come with one
 * place to go to, and one of them says so. */
ALWAYS int sync_publishes(const struct who *w, u64 canonical, u32 desc, int whole)
{
	int there = sync_reachable(w, canonical), publishes = there && (sync_makes(w) || sync_find(canonical, desc_bytes(desc), 0, 0));
	int notes = there && !publishes && desc_scope(desc) != GSAN_CTA; /* which reaches nobody */
	if (gpu_which(whole, notes)) {
		struct dev_tables *t = notes ? dev_tables(gsan_owner(canonical)) : 0;
		u32 same = gpu_same(whole, (u64)(uintptr_t)t);
		EACH_OF(whole, notes && gpu_leads(same))
			coarse_note(w, t, 0);
		gpu_meet(whole);
	}
	return publishes;
}

/* Before the first write that an entry is for. Operations of kernels without states that found none do not say afterwards what they did
 * there; those of other launches whose records stand there, or were displaced, are left the time to execute before. */
#define ENTRY_GRACE 256u /* pauses */
NEVER void sync_grace(const struct who *w, u64 canonical)
{
	struct sampled s;
	u32 taken = 0, strong = 0;
	gpu_fence_sys();
	if (!sampled_at(canonical, &s))
		return;
	for (u32 i = 0; i < SAMPLED; i++) {
		int live = rec_live(w->launch, s.r[i]);
		taken += live && i < GSAN_DETAIL_READS;
		strong += live && op_is_strong(rec_op(s.r[i])) && rec_tag(s.r[i]) != w->launch->tag;
	}
	for (u32 i = 0; (strong || taken == GSAN_DETAIL_READS) && i < ENTRY_GRACE; i++)
		gpu_pause();
}

/* The entry that a strong write of one lane goes to; NULL: the coarse path has it. */
NEVER struct dev_sync *sync_entry(const struct who *w, u64 canonical, u32 desc)
{
	struct dev_tables *t = dev_tables(gsan_owner(canonical));
	int make = sync_makes(w);
	struct dev_sync *e = sync_find(canonical, desc_bytes(desc), make, desc_is_rmw(desc) ? DEV_SYNC_RMW_QUOTA : DEV_SYNCS);
	if (e) {
		u32 mark = line_mark_sync(t, canonical);
		if (!gpu_load32(&e->mark))
			gpu_cas32(&e->mark, 0, mark);
		if (!(gpu_load32(&e->version[0].flags) & DEV_VALID))
			sync_grace(w, canonical);
		return e;
	}
	if (make) {
		count(w->launch, GSAN_N_SYNC_FULL, 1);
		if (!gpu_load32(&t->sync_full))
			gpu_store32(&t->sync_full, 1);
	}
	coarse_note(w, t, make ? coarse_time(w, desc) : 0);
	if (w->stateless || (w->state && gpu_load32(&w->state->clock.flags) & DEV_CLOCK_EVERYTHING))
		coarse_everything(t, w->launch);
	gpu_fence_sys();
	return 0;
}

/* Before the operation, its entry held: what it releases ends here, not with what other warps do meanwhile. */
NEVER void sync_time(const struct who *w, struct dev_sync *e, u32 desc)
{
	u32 time;
	if (desc_is_cas(desc)) { /* which may fail: a spin on a lock would use up the epochs */
		time = gpu_load32(&own_warp(w)->time);
	} else if (state_take(w)) { /* locks are taken entry first */
		time = epoch_end(w);
		state_give(w);
	} else {
		return;
	}
	if (time > gpu_load32(&e->time))
		gpu_store32(&e->time, time);
}

/* The locks of an entry, if there is one, and of this CTA's state, if it has one; in this order everywhere. */
NEVER int entry_lock(const struct who *w, struct dev_sync *e)
{
	if (e && !lock_take(w->launch, &e->lock))
		return 0;
	if (!w->state || state_take(w))
		return 1;
	if (e)
		lock_give(&e->lock);
	return 0;
}
ALWAYS void entry_unlock(const struct who *w, struct dev_sync *e)
{
	if (w->state)
		state_give(w);
	if (e)
		lock_give(&e->lock);
}

/* A strong write of which after() cannot tell enough: an element of a vector, a CAS of 16 bytes that may fail. Published before
 * it executes, and so in the order of publication. */
NEVER void sync_at_once(const struct who *w, struct dev_sync *e, u64 canonical, u32 desc, u64 value)
{
	if (!entry_lock(w, e))
		return;
	gpu_fence_sys(); /* who sees what is written finds the lock taken (sync_glance) */
	if (desc_is_rmw(desc) && w->state)
		version_taken(w, &e->version[0], canonical, desc);
	version_write(w, e, desc, value, w->state && desc_releases(desc) ? epoch_end(w) : 0, w->state ? state_base(w->state, w->warp, 0) : 0);
	gpu_store32(&e->version[0].flags, gpu_load32(&e->version[0].flags) | DEV_EARLY);
	if (w->state && !desc_is_rmw(desc)) /* of which no record is there yet */
		epoch_part(w);
	entry_unlock(w, e);
	gpu_fence_sys(); /* the publication is visible to whoever sees the program's store */
}

/* What was published at once has executed: who loads from here on reads that, if nobody published since. */
NEVER void sync_came(const struct who *w, struct dev_sync *e)
{
	if (!lock_take(w->launch, &e->lock))
		return;
	gpu_fence_sys(); /* as above */
	u32 flags = gpu_load32(&e->version[0].flags);
	if (flags & DEV_EARLY && elem_is_own(w, gpu_load64(&e->version[0].writer) & REC_WHO)) {
		gpu_store32(&e->version[0].flags, flags & ~DEV_EARLY);
		gpu_add32(&e->generation, 1); /* not for who looked before */
	}
	lock_give(&e->lock);
}

/* ---- after it has executed --------------------------------------------------------------------------------------------- */

/* Does the operation read for synchronisation? A red, or an atom whose result nobody reads, observes nothing unless it
 * acquires by itself (then it joins what earlier reads set aside). */
ALWAYS int sync_reads(u32 desc)
{
	if (desc_is_rmw(desc))
		return desc & GSAN_DESC_USED || desc_acquires(desc) || desc_is_cas(desc);
	return desc_op(desc) < GSAN_OP_STRONG_ST;
}

/* What a load knows of its location's entry before it executes: 0 = there is none, else its generation. Whoever was writing
 * then raises it before the load can take the lock. */
NEVER u32 sync_look(u64 canonical, u32 bytes)
{
	struct dev_sync *e = sync_find(canonical, bytes, 0, 0);
	return e ? gpu_acquire32(&e->generation) << 1 | 1 : 0;
}

/* What a strong read found is taken in: now its location's earlier reads are acquired by it, if it acquires, and who looks there next knows. */
ALWAYS void sync_known(const struct who *w, u64 canonical, u32 generation, u64 value, u32 desc)
{
	if (desc_acquires(desc))
		pending_join(w, sync_key(canonical, desc_bytes(desc)), desc_scope(desc));
	sync_poll(w, canonical, generation, value, desc);
}

/* What a strong read acquires, by one lane; under the locks of the entry, if there is one, and of the state. 1: that has been put down, which
 * `later` permits, for sync_digest(). */
NEVER int sync_read(const struct who *w, struct dev_sync *e, u64 canonical, u32 desc, u64 value, int exact, int later)
{
	u32 generation = polled_generation(w, e, canonical);
	int put = 0;
	if (sync_learns(desc) && e)
		put = sync_after_entry(w, e, canonical, desc, value, exact, later);
	else if (sync_learns(desc))
		sync_after_none(w, canonical, desc, value);
	else if (e)
		version_taken(w, &e->version[0], canonical, desc);
	if (!put)
		sync_known(w, canonical, generation, value, desc);
	return put;
}

/* What was put down, under the state's lock, which goes. */
ALWAYS void sync_digest(const struct who *w, u64 canonical, u32 desc)
{
	version_digest(w, canonical, desc);
	sync_known(w, canonical, gpu_own32(&w->state->read_generation), gpu_own64(&w->state->read_value), desc);
	state_give(w);
}

/* Lanes that wrote to one location with one instruction: the value is that of one of them. */
ALWAYS void sync_wrote_more(struct dev_version *v, u64 value)
{
	if (gpu_own64(&v->value) != value)
		gpu_store32(&v->flags, gpu_own32(&v->flags) & ~DEV_VALUE);
}

/* May what it read be taken in when the entry is others' again? A relaxed operation neither publishes that nor is behind it itself. And
 * none of the warp's other lanes needs the lock of the state before. */
ALWAYS int reads_later(const struct dev_sync *e, u32 desc, int whole)
{
	return !desc_acquires(desc) && !desc_releases(desc) && (!whole || (gpu_own32(&e->lanes) == GPU_WARP && !desc_is_cas(desc)));
}

/* After a strong write of one lane that held the lock meanwhile: it read the newest version, and makes the next. One lane of
 * those that share the location does it for all; what each of them read is not told apart. 1: what it read is left to sync_digest(), and the
 * state's lock with it. */
NEVER int sync_wrote(const struct who *w, struct dev_sync *e, u64 canonical, u32 desc, u64 value, int whole)
{
	u32 failed = (u32)desc_cas_failed(desc), ended = gpu_own32(&e->ended);
	u32 told = ended & DEV_MANY ? desc & ~GSAN_DESC_VALUE : desc;
	int reads = w->state && (desc_is_rmw(desc) || failed) && !(ended & DEV_READ), writes = !failed && !(ended & DEV_WROTE), put = 0;
	if (keeps_no_clock(w) && sync_reads(desc))
		version_learnt(w, e, canonical, desc);
	if (failed && w->state && (!reads || sync_polled(w, canonical, polled_generation(w, e, canonical), value, told)))
		return 0; /* a spin on a lock of the program's: it saw what it saw before */
	if (!reads && !writes && !failed)
		sync_wrote_more(&e->version[0], value);
	if ((!reads && !writes) || (w->state && !state_take(w)))
		return 0;
	if (reads)
		put = sync_read(w, e, canonical, told, value, 1, reads_later(e, desc, whole));
	else if (!w->state && !w->stateless && writes && desc_is_rmw(desc) && rec_tag(gpu_load64(&e->version[0].writer)) != w->launch->tag)
		version_taken(w, &e->version[0], canonical, desc); /* for the rest of this one, and those behind */
	u32 time = gpu_own32(&e->time);
	if (writes && w->state && desc_is_cas(desc) && desc_releases(desc) && time == gpu_load32(&own_warp(w)->time))
		time = epoch_end(w); /* no other warp did so since sync_time(): what came between goes with it */
	if (writes && w->state && desc_releases(desc) && time < gpu_own32(&own_warp(w)->synced))
		time = epoch_end(w); /* what it read has put it behind other warps of its CTA: that goes with it */
	if (writes)
		version_write(w, e, desc, value, time, w->state ? state_base(w->state, w->warp, 0) : 0);
	if (writes && w->state)
		epoch_part(w);
	if (w->state && !put)
		state_give(w);
	gpu_store32(&e->ended, ended | DEV_READ | (failed ? 0 : DEV_WROTE));
	return put;
}

/* A load of the newest version alone, put down without the entry's lock: who spins on a location does not keep those who write there waiting.
 * What was copied counts if nobody has taken the lock meanwhile, who makes that seen before he writes. 1: it is for sync_digest(). */
#define GLANCE_TRIES 64u
NEVER int sync_glance(const struct who *w, const struct dev_sync *e, u64 canonical, u32 desc, u64 value, u32 looked)
{
	for (u32 tries = 0; tries < GLANCE_TRIES; tries++) {
		if (tries)
			lock_pause(tries);
		if (!lock_is_free(&e->lock))
			continue;
		if (!state_take(w))
			return 0;
		u32 turns = gpu_acquire32(&e->lock), generation = gpu_load32(&e->generation);
		u32 of = turn_ahead(turns, turns) ? 0 : sync_which(w, e, canonical, desc, value, looked == (generation << 1 | 1));
		int put = (of & ~OF_EXACTLY) == OF_NEWEST && version_put(w, e, desc, value, (of & OF_EXACTLY) != 0);
		gpu_fence_sys();
		if (put && gpu_load32(&e->lock) == turns)
			return 1;
		state_give(w);
		if (of && !put)
			return 0;
	}
	return 0;
}

/* What is left to do behind a strong operation of one lane. */
struct synced {
	struct dev_sync *held; /* the entry that it holds and has to release once it was checked, or NULL */
	int put;               /* 1: sync_digest() */
	u64 spun;              /* of a CAS that failed, or a load that said nothing new: spun_of(), for its warp once all is done; 0: of others */
};

/* After a strong operation of one lane, on its location's entry if there is one. */
NEVER struct synced sync_after(const struct who *w, struct dev_sync *e, u64 canonical, u32 desc, u64 value, u32 looked, int whole)
{
	struct synced none = {0, 0, 0};
	if (e && sync_held(w->launch, e)) {
		u64 spun = w->state && desc_cas_failed(desc) && !sync_by_stream(canonical) ? spun_of(w, canonical, gpu_load32(&e->generation), value, desc) : 0;
		return (struct synced){e, sync_wrote(w, e, canonical, desc, value, whole), spun};
	}
	if (e && op_writes(desc_op(desc)))
		sync_came(w, e);
	if (keeps_no_clock(w) && e && sync_reads(desc))
		version_learns_more(w, e, canonical, desc);
	if (!w->state || !sync_reads(desc))
		return none;
	int still = desc & GSAN_DESC_VALUE || !e || lock_is_free(&e->lock); /* else a write may have executed that is not published */
	u32 generation = polled_generation(w, e, canonical);
	if (!desc_is_rmw(desc) && still && sync_polled(w, canonical, generation, value, desc))
		return (struct synced){0, 0, spun_of(w, canonical, generation, value, desc)};
	gpu_store32(&w->state->queued, 0);
	if (e && sync_learns(desc) && !op_writes(desc_op(desc)) && sync_glance(w, e, canonical, desc, value, looked)) {
		sync_digest(w, canonical, desc);
		return none;
	}
	gpu_store32(&w->state->queued, e ? lock_queue(&e->lock) : 0);
	if (!entry_lock(w, e))
		return none;
	int exact = e && looked == (gpu_load32(&e->generation) << 1 | 1);
	if (!sync_read(w, e, canonical, desc, value, exact, e && lock_wanted(&e->lock))) {
		entry_unlock(w, e);
		return none;
	}
	lock_give(&e->lock);
	sync_digest(w, canonical, desc);
	return none;
}

/* ---- fences, and the end ------------------------------------------------------------------------------------------------ */

/* Keeps the clock for later strong writes, as far as a fence of `scope` carries it: what has come since the last fence of that scope,
 * for the threads of a CTA often fence one after the other. A wider fence replaces all, and serves for narrower ones. */
NEVER void fence_keep(const struct who *w, u32 scope)
{
	struct dev_state *s = w->state;
	u32 n = gpu_own32(&s->clock.count), wide = scope == GSAN_SYS, known = gpu_own32(&s->kept_scope);
	u64 all = n < 64 ? (1ull << n) - 1 : ~0ull, kept = known ? gpu_own64(&s->kept) & all : 0, us = who_warps(w), had;
	if (wide && (known != GSAN_SYS || gpu_own32(&s->fenced.count) + n - gpu_popc((u32)kept) - gpu_popc((u32)(kept >> 32)) > DEV_CLOCK)) {
		if (!w->launch->warp_bits) /* else some of it is what other warps fenced */
			gpu_store32(&s->fenced.count, 0);
		kept = 0;
	}
	had = kept;
	if (w->launch->warp_bits && !(gpu_own32(&s->kept_by) & us))
		kept = 0;
	struct elems fenced = {.word = s->fenced.elem, .count = &s->fenced.count, .room = DEV_CLOCK, .kind = ELEMS_GATED,
			       .known = w->launch->warp_bits ? s->fenced_known : 0};
	for (u32 i = 0; i < n && i < DEV_CLOCK; i++) {
		u64 its = clock_known(w, i);
		fenced.whose = us | (its & KNOWN_FORMALLY);
		if (!its)
			all &= ~(1ull << i) | kept;
		else if (!(kept >> i & 1))
			elems_add(w->launch, &fenced, elem_widened(gpu_own64(&s->clock.elem[i]), scope), 0);
	}
	gpu_store64(&s->kept, all);
	gpu_store32(&s->kept_by, (all & ~had ? 0 : gpu_own32(&s->kept_by)) | (u32)us);
	gpu_store32(&s->kept_scope, scope);
	gpu_or32(&s->fenced.flags, gpu_load32(&s->clock.flags));
	warp_fences(w, (u32)wide);
}

/* A fence or membar: keeps what is released so far for later strong writes, joins what earlier strong reads set aside. */
NEVER void sync_fence(const struct who *w, u32 desc)
{
	u32 sem = desc >> GSAN_DESC_SEM_SHIFT & 7, scope = desc_scope(desc);
	if (scope == GSAN_CTA)
		return; /* orders a CTA's own threads, which count as one */
	if (!state_take(w))
		return;
	if (sem != GSAN_SEM_RELEASE) {
		pending_join(w, 0, scope);
		hint_fenced(w);
	}
	if (sem != GSAN_SEM_ACQUIRE)
		fence_keep(w, scope == GSAN_SYS ? GSAN_SYS : GSAN_GPU);
	state_give(w);
}

/* `threads` more have left. The end of a kernel is a fence: what its strong reads observed is before whatever its stream
 * does next. */
NEVER void sync_leave(const struct who *w, u32 threads)
{
	struct dev_state *s = w->state;
	if (w->stateless)
		acquired_everything(w->launch);
	enum left left = s ? state_leaves(s, threads) : LEFT;
	if (left == LEFT_OTHERS_WAIT)
		barrier_open(w, state_waiting(gpu_load32(&s->threads)));
	if (left != LEFT_LAST)
		return;
	if (!state_take(w)) /* behind what the others did under it, its release too: the state is another CTA's soon */
		return;
	acquired_clock(w);
	if (gpu_load32(&s->pending_flags) & DEV_CLOCK_EVERYTHING)
		acquired_everything(w->launch);
	for (u32 i = 0; i < gpu_own32(&s->pendings) && i < DEV_PENDING; i++)
		if (elem_reached(w->launch, s->pending[i].elem, GSAN_SYS) && !elem_inherited(w->launch, s->pending[i].elem))
			acquired_add(w->launch, s->pending[i].elem);
	state_give(w);
	state_free(w->launch, s);
}

#endif

/* The reference detector: which accesses of a trace race, by the definitions, with nothing sampled and nothing replaced.
 *
 * WHO. A logical thread is, by default, a CTA of one launch: what its threads do is ordered by the trace, barriers inside a
 * CTA add nothing. A copy or set is a launch with one logical thread. All hosts together are one clock (host_order=assumed).
 *  REF_WARPS   a logical thread is a warp; its lanes count as one. What is ordered only because another warp of the CTA happened
 *              to do or learn something in time is a race then. Races within a CTA are not looked for.
 *  REF_THREADS it is a thread, as in PTX, and races within a CTA are races.
 *
 * CLOCKS. Every logical thread carries a clock: the set of accesses that are before what it does next. It is kept as a
 * sparse list (clock.h). An access (thread t, event e) is before another if the other thread's clock, when it makes that
 * access, has t up to e; or the whole launch of t; or, for a write, its chain up to e. Events are line numbers.
 *
 * WHAT ORDERS (PTX ISA 8.x, chapter 8 "Memory Consistency Model"; DESIGN is the project's own):
 *  launches   of a stream follow each other; a recording holds what its stream had enqueued; a wait adds it to another
 *             stream. What a host was told is complete is before all that any host enqueues later (DESIGN 7).
 *  start, end of a kernel: a launch begins with all that is before it, as base clock, and with fence.acq_rel.sys, so that
 *             even a relaxed write hands the base clock on. It ends with another, so that what its relaxed reads observed
 *             is before the work behind it. PTX promises less; libraries rely on it (DESIGN 6).
 *  strong     is an access that is relaxed, acquire, release, acq_rel, volatile or mmio (both relaxed.sys), or atomic
 *             (8.4). A strong vector access is one access per element (8.2.4).
 *  morally    strong are two accesses in program order, or both strong with scopes that include each other's thread; and
 *             of exactly the same bytes (8.7). Scopes (8.5): .cta reaches the own CTA alone, .cluster counts as .gpu (no
 *             clusters are launched), .gpu the same device, .sys all. Proxies are all generic (8.6).
 *  observes   a read the write whose value it returns, if both are morally strong; here that is the last write in the
 *             trace, for one machine executed all of it in that order. Through an RMW, it observes what that observed
 *             (8.9.2). So writes form chains: a head, and RMWs that each are morally strong with the one they read from.
 *             A store starts a new chain, as does an RMW that is not morally strong with what it read. A cas that fails
 *             is a read. A read that finds bytes of a write beside bytes of others still observes it: errs to silence.
 *  releases   (8.8): a release operation; a releasing fence and a later strong write; a release operation on M and a later
 *             strong write to M, both by one thread. What is handed on is the thread's clock at the *first* operation of
 *             the pattern. A fence counts for all of its logical thread.
 *  acquires   (8.8): an acquire operation; a strong read and a later acquiring fence; a strong read of M and a later acquire
 *             operation on M. What strong reads observed is set aside until then. By the project's rule a red, or an
 *             atom whose result nobody reads, sets nothing aside and acquires nothing by itself; such an acquiring atom
 *             does join what earlier reads of M set aside (DESIGN 6).
 *  synchronise a release pattern and an acquire pattern (8.9.4): a write of the one is observed by a read of the other, and the
 *             first operation of the one and the last of the other have scopes that include each other. Scope and device
 *             of the first operation therefore travel with each released clock (struct part) along the chain.
 *  causality  (8.9.5) is program order and synchronisation, closed; what an acquire operation gets is before that operation
 *             itself, too (a weak store to a flag that is then released does not race with the acquire). And, before
 *             that, one step of observation: an observed write *itself* (not what came before it) is before all that
 *             follows the read in its thread.
 *  barriers   inside a CTA, where warps or threads are told apart: who arrives at a phase of a barrier is before who goes on behind
 *             that phase, and nobody else is. So a release publishes what its own warp did, and others before the last barrier
 *             that they share with it (who only arrives is before who waits, not the other way); an acquire serves its own
 *             warp, and others behind such a barrier. The phases of an mbarrier have what those before them had. Strong accesses
 *             to shared memory and relaxed arrivals order all of the CTA: errs to silence.
 *  formal     is a race that is one by all this and none where three more rules hold, about warps that meet at a barrier: formal.c.
 *  over       other writes: a store ends the chain that it overwrites, of whatever size or strength it is. With REF_OVER only a
 *             strong one of exactly the chain's bytes does: where another races with the chain, the detector does not know
 *             which came last. And an RMW continues a weak store of its own thread that covers its bytes, and more. Nothing
 *             but a race at the very flag tells the two apart.
 *  fence.sc   is acq_rel by default: a deviation. With REF_SC, the fences whose scopes include each other synchronise in
 *             the order of the trace (8.9.3), which is one order that the model allows.
 *
 * WHAT RACES (8.7.1): two accesses by different logical threads, of common bytes, one of them a write, neither before the
 * other, not morally strong. A non-coherent load is held against the base clock of its launch: that another thread, or
 * its own, wrote the bytes since is `stale-nc-read`.
 *
 * WHAT IS DOMINATED. The detector under test keeps few records. One replaces another only if it is ordered after it, in the
 * same logical thread or by launches, and conflicts with at least as much: in each granule of 8 bytes its bytes, those of all
 * lanes that made it if it is weak, include the other's, and it is a write if the other is, weak if the other is, and of no
 * wider scope (DESIGN 4). A pair whose first access may so be gone, and whose last successor races with the second access
 * just as well, is dominated: the race is named by its successor. Of two sites all pairs must be so. A weak access may be
 * looked at as late as its thread's next strong access, fence or barrier (DESIGN 4): until then a successor may come, and the
 * race is named by whichever was the last when it was looked at.
 *
 * NOTHING IS LOST. A cell of bytes keeps all accesses except (a) those that are before everything still to come: below the
 * clocks of the hosts and of all launches that are enqueued and not done; (b) a repeat by the same thread and instruction
 * of an access that nobody can tell apart from it: no release between them, no write of them observed by itself, now or
 * later. Repeats are counted, so counts are of pairs of accesses.
 *
 * definition_test.c holds all of this against the relations written out as sets of pairs. */
#include "reference/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The runtime takes a CTA for one program: the default is what it is compared with. */
#define UNIT_DEFAULT UNIT_CTA
const struct unit reference_units[UNITS] = {
	[UNIT_CTA] = { .flag = REF_CTAS, .threads = 1024, .inside = 0 },
	[UNIT_WARP] = { .flag = REF_WARPS, .threads = 32, .inside = 0 },
	[UNIT_THREAD] = { .flag = REF_THREADS, .threads = 1, .inside = 1 },
};

static struct ref *open_one(const char *name, unsigned flags)
{
	struct ref *r = table_alloc(sizeof *r);
	r->name = strdup(name);
	r->flags = flags;
	r->unit = &reference_units[UNIT_DEFAULT];
	for (int i = UNITS; i--;)
		if (flags & reference_units[i].flag)
			r->unit = &reference_units[i];
	r->live = NO_INDEX;
	return r;
}

struct ref *ref_open(const char *name, unsigned flags)
{
	struct ref *r = open_one(name, flags);
	if (r->unit != &reference_units[UNIT_CTA]) {
		r->held = open_one(name, flags);
		r->held->formal = 1;
	}
	return r;
}

/* Lines of words and numbers, all of them short but `complete`. */
int ref_line(struct ref *r, const char *line, char *error, size_t room)
{
	const size_t length = strcspn(line, "\r\n");
	char *copy = strndup(line, length);
	int rc;
	r->line++;
	r->error = error;
	r->room = room;
	if (!copy)
		return ref_fail(r, "out of memory; give it a shorter trace");
	if (r->line == 1)
		rc = strcmp(copy, "gsan-trace 1") ? ref_fail(r, "the first line is not 'gsan-trace 1'; is this a trace of the emulated device?") : 0;
	else
		rc = trace_line(r, copy);
	free(copy);
	return !rc && r->held ? ref_line(r->held, line, error, room) : rc;
}

int ref_end(struct ref *r, char *error, size_t room)
{
	r->error = error;
	r->room = room;
	if (!r->line)
		return ref_fail(r, "the trace is empty; was EMU_TRACE set when the program ran?");
	if (r->live != NO_INDEX)
		return ref_fail(r, "the trace ends before launch %llu is done; did the program end early?",
				(unsigned long long)r->launch[r->live].id);
	return 0;
}

void ref_close(struct ref *r)
{
	if (r->held)
		ref_close(r->held);
	memory_free(r);
	barrier_free(r);
	order_free(r);
	for (size_t i = 0; i < r->places; i++) {
		parts_free(&r->place[i].released);
		parts_free(&r->place[i].pending);
	}
	for (size_t i = 0; i < r->chains; i++)
		free(r->chain[i].launch);
	parts_free(&r->sc);
	names_free(&r->names);
	struct table *const tables[] = { &r->launch_by_id, &r->stream_by_id, &r->recording_by_id, &r->cta_by_index, &r->place_by_key,
					 &r->memory_by_id, &r->strong_by_bytes, &r->barrier_by_id, &r->race_by_sites, &r->race_by_kernels, &r->edge_by_name };
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		table_free(tables[i]);
	if (r->explain.first && !--r->explain.first->holders)
		free(r->explain.first);
	free(r->explain.text);
	free(r->place);
	free(r->chain);
	for (size_t i = 0; i < r->races; i++)
		free(r->race[i].by);
	free(r->race);
	free(r->edge);
	free(r->name);
	free(r);
}

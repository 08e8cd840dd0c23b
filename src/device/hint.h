/* Hints: flags that were read and gave no edge, and why. They order nothing; when a race is reported, one of them says which edge
 * is missing: a flag that the first side's CTA wrote behind its access, and that was read before the second access.
 *
 * A CTA keeps the last few that it met, its participant's table keeps some of all CTAs, for those that come behind them. Whoever
 * meets one writes it without a lock, over what is there; a reader believes what has the right sum. */
#ifndef GSAN_DEVICE_HINT_H
#define GSAN_DEVICE_HINT_H

#include "device/abi.h"
#include "device/elem_order.h"
#include "device/launch.h"
#include "device/order.h"
#include "device/state.h"
#include "device/warps.h"

ALWAYS u64 hint_mix(u64 x) { return (x ^ x >> 29) * 0x9e3779b97f4a7c15ull; }
ALWAYS u32 hint_sum(u64 writer, u64 by, u64 reader) { return (u32)(hint_mix(hint_mix(hint_mix(writer) ^ by) ^ reader) >> 32); }

ALWAYS void hint_put(struct dev_hint *to, u64 writer, u64 by, u64 reader, u32 why)
{
	gpu_store64(&to->writer, writer);
	gpu_store64(&to->by, by);
	gpu_store64(&to->reader, reader);
	gpu_store64(&to->why, (u64)hint_sum(writer, by, reader) << 32 | why);
}

/* Into the table: hints of the same two launches and sites share a set, lest they displace all others, and in it those of one writer a
 * shelf, where who races with that writer finds them. Of the same two CTAs an earlier one stays, too, for who comes behind that read
 * alone. */
ALWAYS u32 hint_shelf(u32 set, u64 writer) { return set * DEV_HINT_WRITERS + rec_cta(writer) % DEV_HINT_WRITERS; }
ALWAYS void hint_keep(const struct gsan_launch *l, u64 writer, u64 by, u64 reader, u32 why)
{
	struct dev_tables *t = own_tables(l);
	u64 both = (u64)rec_site(by) << 48 | (u64)rec_site(reader) << 32 | rec_tag(by) << 16 | rec_tag(reader);
	u32 shelf = hint_shelf((u32)(hint_mix(both) >> 40) % DEV_HINT_SETS, writer);
	u32 way = (rec_cta(reader) + 3 * rec_epoch(writer)) % DEV_HINT_WAYS;
	hint_put(&t->hint[shelf][way], writer, by, reader, why);
	if (!(gpu_load32(&t->hint_used[shelf]) >> way & 1))
		gpu_or32(&t->hint_used[shelf], 1u << way);
}

/* What `writer` (tag, CTA and epoch) wrote was read by this CTA at `site`, and gives no edge. by: the record of the write, as far as
 * its site and launch go, if that handed it on. `own`: among the few that the CTA keeps, too. */
NEVER void hint_add(const struct who *w, u64 writer, u64 by, u32 site, u32 why, int own)
{
	struct dev_state *s = w->state;
	u64 reader = rec_of(w->base & REC_STAMP, GSAN_OP_LD, site, 0);
	writer &= REC_STAMP;
	u32 n = s ? gpu_load32(&s->hints) : 0;
	const struct dev_hint *last = n && own ? &s->hint[(n - 1) % DEV_OWN_HINTS] : 0;
	if (last && gpu_load64(&last->writer) == writer && gpu_load64(&last->reader) == reader && gpu_load64(&last->by) == by)
		return; /* in a loop that waits */
	why |= n << HINT_TURN_SHIFT;
	hint_keep(w->launch, writer, by, reader, why);
	if (!s || !own)
		return;
	if (last && !((gpu_load64(&last->writer) ^ writer) & REC_WHO) && rec_site(gpu_load64(&last->by)) == rec_site(by) &&
	    rec_site(gpu_load64(&last->reader)) == site)
		n--; /* the same once more */
	hint_put(&s->hint[n % DEV_OWN_HINTS], writer, by, reader, why);
	gpu_store32(&s->hints, n + 1);
}

/* A strong write of a launch that keeps no clock, and a read of it, by their records: such a kernel releases nothing. `more`: HINT_ACQUIRES if the
 * reader acquires, HINT_EITHER. */
NEVER void hint_unsaid(const struct who *w, u64 writer, u64 reader, u32 more)
{
	const struct gsan_launch *l = w->launch;
	int same = launch_gpu(tag_launch(l, rec_tag(writer))) == launch_gpu(tag_launch(l, rec_tag(reader)));
	u32 why = !(more & HINT_ACQUIRES) ? GSAN_WHY_RELAXED_WRITE : /* as in hint_set */
		  !scope_reaches(op_scope(rec_op(writer)), same) ? GSAN_WHY_RELEASE_SCOPE :
		  !scope_reaches(op_scope(rec_op(reader)), same) ? GSAN_WHY_ACQUIRE_SCOPE : GSAN_WHY_RELAXED_WRITE;
	hint_keep(l, writer & REC_STAMP, (writer & REC_WHO) | (u64)rec_site(writer) << GSAN_REC_SITE_SHIFT,
		  rec_of(reader & REC_STAMP, GSAN_OP_LD, rec_site(reader), 0), why | more);
}

/* An acquire fence of this CTA: what it read before is acquired, where that was released; who comes behind it knows, too, that the read
 * lacks nothing. What the scope of the fence does not reach (`writer`) is not. */
NEVER void hint_fenced(const struct who *w)
{
	struct dev_state *s = w->state;
	u32 n = gpu_load32(&s->hints), i = gpu_load32(&s->hints_fenced);
	for (i = n - i > DEV_OWN_HINTS ? n - DEV_OWN_HINTS : i; i < n; i++) {
		const struct dev_hint *h = &s->hint[i % DEV_OWN_HINTS];
		u32 why = (u32)gpu_load64(&h->why);
		if ((why & HINT_REASON) == GSAN_WHY_RELAXED_WRITE && !(why & HINT_ACQUIRES))
			hint_keep(w->launch, gpu_load64(&h->writer), gpu_load64(&h->by), gpu_load64(&h->reader), why | HINT_ACQUIRES);
	}
	gpu_store32(&s->hints_fenced, n);
}
NEVER void hint_unreached(const struct who *w, u64 writer)
{
	struct dev_state *s = w->state;
	u32 n = gpu_load32(&s->hints);
	for (u32 i = 0; i < DEV_OWN_HINTS && i < n; i++) {
		struct dev_hint *h = &s->hint[i];
		u64 why = gpu_load64(&h->why);
		if (gpu_load64(&h->writer) == (writer & REC_STAMP) && ((u32)why & HINT_REASON) == GSAN_WHY_NO_ACQUIRE)
			gpu_store64(&h->why, (why & ~(u64)HINT_REASON) | GSAN_WHY_ACQUIRE_SCOPE);
	}
}

/* ---- which of them explains a race ------------------------------------------------------------------------------------- */

struct hint { u64 writer, by, reader; u32 reason, both, score, turn; uint16_t acquired, overtaken, rivals; };

/* How well a reason explains: the edge from this very CTA, the read by this one or by one that it is behind, and nothing else missing
 * there; then another CTA of the launch, which may have been behind the first; what both sides have to mend comes last. Between
 * them are the reasons that a clock tells. */
#define HINT_EXACT 20u /* these: + 2 if this CTA itself read it, + 1 if by what was not made to write */
#define HINT_LIKELY 16u
#define HINT_ITSELF 12u /* the race is that of the flag */
#define HINT_TOO_EARLY 11u
#define HINT_COUNTED 10u /* the same, of a word that RMWs add to, and that is read weakly: more likely it is data */
#define HINT_BOTH 6u
#define HINT_BOTH_OWN (HINT_BOTH + 2)
#define HINT_OTHER_CTA 5u
#define HINT_BOTH_LIKELY 0u
#define HINT_EITHER_WAY 1u /* that alone */
#define HINT_BEST (HINT_EXACT + 3)
#define HINT_CONFIDENCE(score) (1u << (score) / 4)
#define HINT_ITSELF_CONFIDENCE 1u /* elsewhere the same lines may be data of a flag that is seen */
_Static_assert(HINT_CONFIDENCE(HINT_EXACT) == GSAN_CERTAIN && HINT_CONFIDENCE(HINT_EXACT - 1) < GSAN_CERTAIN, "");

/* Is the flag's write behind the access in its own CTA? */
ALWAYS int hint_behind(const struct gsan_launch *l, u64 writer, u64 rec)
{
	if (rec_tag(writer) == rec_tag(rec))
		return stamp_within(l, rec, writer, STAMP_CTA);
	return tag_private(l, rec_tag(writer)) && private_follows(l, rec_tag(writer), rec);
}

/* Is the flag weak? */
ALWAYS int hint_is_weak(u32 why) { return why == GSAN_WHY_WEAK_WRITE || why == GSAN_WHY_WEAK_READ; }

/* Of one CTA's warp, the text tells which came first, as far as there are no loops. Not of what another CTA handed on, whose write `by` is then. */
ALWAYS int hint_own_flag(const struct gsan_launch *l, const struct hint *h, u64 rec)
{
	u32 tag = rec_tag(rec);
	int one = rec_tag(h->writer) == tag && (tag_private(l, tag) || !((h->writer ^ rec) & REC_WHO)) && !((h->writer ^ h->by) & REC_WHO);
	return one && stamp_same_warp(h->writer, rec, tag_warp_bits(l, tag));
}

/* A hint as it stands in a table, of a writer of participant `p`. 0: there is none that can be believed. */
ALWAYS int hint_get(const struct gsan_launch *l, const struct dev_hint *from, u32 p, struct hint *h, u64 *why)
{
	gpu_load128(from, &h->writer, &h->by);
	u32 of = tag_participant(l, rec_tag(h->writer));
	if (!h->writer || of != p || tag_below_floor(l, rec_tag(h->writer)))
		return 0;
	gpu_load128(&from->reader, &h->reader, why);
	return *why >> 32 == hint_sum(h->writer, h->by, h->reader) && tag_mapped(l, rec_tag(h->reader)) && tag_mapped(l, rec_tag(h->by));
}

/* Did the record's own CTA raise that flag, too, at that place? One of its hints says so, whoever read it. */
NEVER int hint_raised(const struct gsan_launch *l, const struct hint *h, u64 rec)
{
	struct hint other;
	u64 why;
	if (!h->writer)
		return 0;
	if (!((h->writer ^ h->by) & REC_WHO) && (tag_private(l, rec_tag(rec)) ? rec_tag(h->writer) == rec_tag(rec) : !((h->writer ^ rec) & REC_WHO)))
		return 1;
	const struct dev_tables *t = dev_tables(tag_participant(l, rec_tag(rec)));
	for (u32 shelf = hint_shelf(0, rec); shelf < DEV_HINT_SHELVES; shelf += DEV_HINT_WRITERS)
		for (u32 used = gpu_load32(&t->hint_used[shelf]); used; used &= used - 1)
			if (hint_get(l, &t->hint[shelf][gpu_first(used)], tag_participant(l, rec_tag(rec)), &other, &why) && !((other.writer ^ rec) & REC_WHO) &&
			    !((other.writer ^ other.by) & REC_WHO) && rec_site(other.by) == rec_site(h->by))
				return 1;
	return 0;
}

/* Does the flag's write stand before the access in the text? */
ALWAYS int hint_stands_first(const struct hint *h, u64 rec)
{
	u32 site = rec_site(h->by); /* 0: not known */
	return site && site <= rec_site(rec);
}
/* Of one stretch between releases the text says which came first, as far as there are no loops. */
ALWAYS int hint_stands_before(const struct hint *h, u64 rec) { return hint_stands_first(h, rec) && !((h->writer ^ rec) & REC_STAMP); }

/* Had the warp that made the record raised the flag before, though relaxed, which was acquired? Then nobody need look for another one. */
ALWAYS int hint_too_early(const struct gsan_launch *l, const struct hint *h, u64 rec, u32 why)
{
	return (why & (HINT_REASON | HINT_ACQUIRES | HINT_EARLY)) == (GSAN_WHY_RELAXED_WRITE | HINT_ACQUIRES) && hint_stands_first(h, rec) &&
	       hint_own_flag(l, h, rec);
}

/* Is this CTA's read of a flag before its access at `site`: earlier in the text, if no time parts them, or another warp's from before a barrier? */
ALWAYS int hint_read_first(const struct who *w, const struct hint *h, u32 site)
{
	u64 at = w->base & REC_STAMP, read = h->reader & REC_STAMP;
	if (rec_tag(read) != rec_tag(at))
		return 1;
	if (stamp_same_warp(read, at, tag_warp_bits(w->launch, rec_tag(at))))
		return read != at || rec_site(h->reader) < site;
	return w->state && stamp_within(w->launch, read, state_stamp(w, gpu_load32(&own_warp(w)->synced)), STAMP_WARPS);
}

/* Would an edge from `writer` to `reader` order the record before this access? What its kernel's start releases needs no release. */
ALWAYS void hint_judge(const struct who *w, struct hint *h, u64 rec, u32 site, u32 why)
{
	const struct gsan_launch *l = w->launch;
	int behind = hint_behind(l, h->writer, rec), same = rec_tag(h->writer) == rec_tag(rec), own = who_made(w, h->reader);
	int later = !same && !behind && order_before(l, &tag_launch(l, rec_tag(h->writer))->order, rec_tag(rec));
	int before = hint_stands_before(h, rec);
	u32 acquired = why & HINT_ACQUIRES, more = 2 * (u32)own + !(why & HINT_RELEASES);
	h->acquired = acquired != 0;
	h->overtaken = 0;
	h->score = 0;
	h->reason = why & HINT_REASON;
	h->turn = why >> HINT_TURN_SHIFT & 0xffff;
	if (who_made(w, h->writer))
		return;
	if (!behind && !later && (!same || !((h->writer ^ rec) & REC_WHO))) {
		if (own && hint_too_early(l, h, rec, why)) {
			h->reason = GSAN_WHY_BEFORE_PAYLOAD;
			h->both = 0;
			h->score = HINT_BOTH_LIKELY + more;
		}
		return;
	}
	if (!behind && why & HINT_EARLY) /* what that CTA was behind of, it released */
		return;
	int first = !own || hint_read_first(w, h, site);
	if (hint_is_weak(h->reason) && ((!later && (!behind || before)) || !first))
		return; /* of another CTA, or before it, or read behind the access: that is a race for itself */
	for (int i = 0; i < 2; i++) /* is that edge there after all? And is the read before this access? */
		if ((i ? !own : !behind && !later) && order_slow(w, i ? h->reader : h->writer, NO_POINT) != i)
			return;
	if (later && h->reason == GSAN_WHY_RELAXED_WRITE) {
		if (acquired || why & HINT_EITHER)
			return;
		h->reason = GSAN_WHY_NO_ACQUIRE;
	}
	h->both = h->reason == GSAN_WHY_RELAXED_WRITE && !acquired;
	if (why & HINT_EITHER)
		h->score = HINT_EITHER_WAY;
	else if (h->both)
		h->score = (behind && !before ? HINT_BOTH : HINT_BOTH_LIKELY) + more;
	else if (h->writer == (rec & REC_STAMP) && rec_site(h->by) == rec_site(rec) && rec_site(h->reader) == site)
		h->score = HINT_ITSELF + more;
	else
		h->score = (behind || later ? HINT_EXACT : first ? HINT_LIKELY : HINT_BOTH_LIKELY) + more;
}

/* Of two that explain as well: is this one's read later in the same CTA? Who waits for several flags goes on by the last one. Of what
 * one read observed of a CTA, its first write behind the access: what it wrote afterwards was for others. */
ALWAYS int hint_nearer(const struct hint *h, const struct hint *than)
{
	if ((h->reader ^ than->reader) & REC_STAMP)
		return !((h->reader ^ than->reader) & REC_WHO) && rec_epoch(h->reader) > rec_epoch(than->reader);
	if (h->reader != than->reader)
		return ((h->turn - than->turn) & 0xffff) < 0x8000;
	return !((h->writer ^ than->writer) & REC_WHO) && rec_epoch(h->writer) < rec_epoch(than->writer);
}

/* Was another flag met that explains the race, too, however badly? Then nobody knows which of them was meant. */
ALWAYS u32 hint_rivals(const struct hint *h, const struct hint *best)
{
	u32 other = (rec_site(h->by) ^ rec_site(best->by)) | (rec_site(h->reader) ^ rec_site(best->reader));
	return best->rivals || (h->score && best->score && other);
}
/* Of a flag that both sides have to mend: is it the first side's own, raised behind its access, and the only one of all that this CTA read? */
ALWAYS int hint_is_only(const struct who *w, const struct hint *h)
{
	u32 read = w->state ? gpu_load32(&w->state->hints) : 0;
	return h->both && h->score >= HINT_BOTH_OWN && !h->rivals && read <= DEV_OWN_HINTS;
}

NEVER void hint_consider(const struct who *w, const struct dev_hint *from, u64 rec, u32 site, u32 more, struct hint *best)
{
	const struct gsan_launch *l = w->launch;
	struct hint h;
	u64 why;
	if (!hint_get(l, from, tag_participant(l, rec_tag(rec)), &h, &why))
		return;
	hint_judge(w, &h, rec, site, (u32)why | more);
	best->rivals = h.rivals = (uint16_t)hint_rivals(&h, best);
	if (h.score > best->score || (h.score && h.score == best->score && hint_nearer(&h, best)))
		*best = h;
}

/* Those of this CTA, newest first. */
NEVER void hint_find_own(const struct who *w, u64 rec, u32 site, struct hint *best)
{
	const struct dev_state *s = w->state;
	u32 n = s ? gpu_load32(&s->hints) : 0, fenced = s ? gpu_load32(&s->hints_fenced) : 0;
	for (u32 i = 0; i < n && i < DEV_OWN_HINTS; i++)
		hint_consider(w, &s->hint[(n - 1 - i) % DEV_OWN_HINTS], rec, site, n - i <= fenced ? HINT_ACQUIRES : 0, best);
}

/* Those that a participant knows: of that writer, or of all. */
ALWAYS void hint_find_known(const struct who *w, const struct dev_tables *t, u64 rec, u32 site, int all, struct hint *best)
{
	for (u32 shelf = all ? 0 : hint_shelf(0, rec); shelf < DEV_HINT_SHELVES; shelf += all ? 1 : DEV_HINT_WRITERS)
		for (u32 used = gpu_load32(&t->hint_used[shelf]); used; used &= used - 1)
			hint_consider(w, &t->hint[shelf][gpu_first(used)], rec, site, 0, best);
}

/* What is stored weakly is checked together, behind the last of it: who saw a flag there meanwhile seems to come first with what it does then. Is there
 * such a flag behind this access at `site`, which the CTA of `rec` read? */
NEVER void hint_find_overtaken(const struct who *w, u64 rec, u32 site, struct hint *best)
{
	const struct gsan_launch *l = w->launch;
	const struct dev_tables *t = own_tables(l);
	struct hint h;
	u64 why;
	for (u32 shelf = hint_shelf(0, w->base); shelf < DEV_HINT_SHELVES; shelf += DEV_HINT_WRITERS)
		for (u32 used = gpu_load32(&t->hint_used[shelf]); used; used &= used - 1) {
			int good = hint_get(l, &t->hint[shelf][gpu_first(used)], l->participant, &h, &why) && h.writer == (w->base & REC_STAMP) && !((h.reader ^ rec) & REC_WHO);
			if (good && hint_is_weak((u32)why & HINT_REASON) && why & HINT_EITHER && rec_site(h.by) - site - 1 < GSAN_BATCH_MAX)
				*best = (struct hint){.by = h.by, .reader = h.reader, .reason = (u32)why & HINT_REASON, .score = HINT_EITHER_WAY, .overtaken = 1};
		}
}

/* Of the race of `rec` with this access at `site`. This participant's are looked through in any case: of what this CTA read there is
 * more than it keeps. Others than the first side's explain it if that has none. */
NEVER void hint_find(const struct who *w, u64 rec, u32 site, struct hint *best)
{
	hint_find_own(w, rec, site, best);
	for (int all = 0; all < 2 && (!all || best->score < HINT_EXACT || (best->writer ^ rec) & REC_WHO); all++)
		for (u32 i = 0; i < GSAN_PARTICIPANTS && (!i || best->score < HINT_BEST); i++) {
			u32 p = (w->launch->participant + i) % GSAN_PARTICIPANTS;
			if (w->launch->mapped >> p & 1)
				hint_find_known(w, dev_tables(p), rec, site, all, best);
		}
}

#endif

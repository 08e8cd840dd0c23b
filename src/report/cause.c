/* Which missing edge explains a finding best, where its instances or other findings give several reasons, and which findings have one cause.
 * Everything is looked up by a hash of what has to be equal, for there may be very many findings. */
#include "report/cause.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "report/index.h"
#include "report/order.h"
#include "report/weak.h"

/* Of two that become what `a` says: does neither have another flag? One that says nothing of why has none. */
static int report_only(const struct report_finding *a, const struct report_finding *b)
{
	const int nothing = !b->reason && !b->missing_edge;
	return a->only && (nothing || (b->only && !report_reason_order(a, b)));
}

/* What of a finding is the sum of its instances. */
void report_sum(struct report_finding *to, const struct report_finding *a, const struct report_finding *b)
{
	uint64_t count = a->count + b->count, weight = a->weight + b->weight;
	int certain = a->certain | b->certain, only = report_only(a, b);
	uint32_t within = a->within | b->within;
	uint64_t seed = a->first_seed < b->first_seed ? a->first_seed : b->first_seed;
	uint32_t schedules = a->schedules + b->schedules, also = a->also | b->also;
	int formal = a->formal & b->formal;
	report_join_memory(to, a, b);
	to->count = count;
	to->weight = weight;
	to->certain = certain;
	to->only = only;
	to->within = within;
	to->first_seed = seed;
	to->schedules = schedules;
	to->also = also;
	to->formal = formal;
}

uint32_t report_within(const struct report_finding *f) { return 1u << report_two_launches(f); }

static int report_came_to(const char *semantics, const char *one) { return semantics && !strcmp(semantics, one); }

/* Not if an RMW lacks what it did not come for: most of those that release need not acquire what they read, nor need those that acquire
 * release what their CTA did before. */
int report_sure(const struct report_finding *f)
{
	int other_half = (f->reason == GSAN_WHY_NO_ACQUIRE && report_came_to(f->flag_read.semantics, "release")) ||
			 (f->reason == GSAN_WHY_RELAXED_WRITE && report_came_to(f->flag_write.semantics, "acquire"));
	return f->missing_edge ? report_knows_edge(f) : f->certain && !other_half;
}

/* Whose reason explains better: one of a race that is not formal, one that is certain, then one that explains more, of the other
 * findings, too. */
static int report_reason_rank(const struct report_finding *a, const struct report_finding *b)
{
	ORDER(report_number_order((uint64_t)a->formal, (uint64_t)b->formal));
	ORDER(report_number_order(!report_sure(a), !report_sure(b)));
	return report_number_order(b->support, a->support);
}
static int report_by_weight(const void *a, const void *b)
{
	const struct report_finding *one = a, *other = b;
	ORDER(report_finding_order(one, other));
	ORDER(report_reason_rank(one, other));
	ORDER(report_instance_order(one, other));
	return report_reason_order(one, other);
}

/* Whichever came first. */
static int report_same_kernels(const struct report_finding *a, const struct report_finding *b)
{
	return (!report_text_order(a->first.kernel, b->first.kernel) && !report_text_order(a->second.kernel, b->second.kernel)) ||
	       (!report_text_order(a->first.kernel, b->second.kernel) && !report_text_order(a->second.kernel, b->first.kernel));
}

/* Are they of one pair of sites, whichever came first, in memory of one name? */
int report_same_sides(const struct report_finding *a, const struct report_finding *b)
{
	if (report_text_order(report_label(a), report_label(b)))
		return 0;
	return (!report_side_order(&a->first, &b->first) && !report_side_order(&a->second, &b->second)) ||
	       (!report_side_order(&a->first, &b->second) && !report_side_order(&a->second, &b->first));
}

/* ld.global.nc that nothing orders before what was written then may as well have come behind it: what it lacks is the same. Not if an edge is
 * missing by which the write would wait for it, which a plain load lacks, too. */
static void report_name_nc(struct report_finding *f)
{
	const int nc = f->kind == GSAN_WAR && f->first.op && !strcmp(f->first.op, "ld.nc");
	if (nc && !f->formal && !f->missing_edge && (!f->reason || report_flag_races(f)))
		f->kind = GSAN_STALE_NC;
}

/* A flag does not explain what its own write lacks to be before another access, nor its read behind one: of a weak one that is that it is weak. */
static int cause_is_flag(const struct report_flag *flag, const struct report_side *side)
{
	return flag->at.file && !report_place_order(&flag->at, &side->at) && !report_text_order(flag->inlined_at, side->inlined_at) &&
	       !report_text_order(flag->semantics, side->semantics);
}
static int cause_is(const struct report_side *side, const char *noun, int strong)
{
	return !strcmp(report_noun(side), noun) && side->semantics && report_is_strong(side) == strong;
}
static struct report_flag cause_flag(const struct report_side *side)
{
	return (struct report_flag){side->at, side->scope, side->semantics, side->inlined_at, side->kernel, side->op};
}
static void report_name_itself(struct report_finding *f)
{
	if (report_is_weak_flag(f->reason) || f->missing_edge || f->kind == GSAN_SCOPE || !(cause_is_flag(&f->flag_write, &f->first) || cause_is_flag(&f->flag_read, &f->second)))
		return;
	const struct report_side *writes = cause_is(&f->first, "store", 0) ? &f->first : &f->second, *reads = writes == &f->first ? &f->second : &f->first;
	const int raised = cause_is(writes, "store", 0) && (cause_is(reads, "load", 1) || cause_is(reads, "atomic", 1));
	f->reason = raised ? GSAN_WHY_WEAK_WRITE : GSAN_WHY_NONE;
	f->both = f->certain = f->early = f->only = 0;
	f->flag_write = raised ? cause_flag(writes) : (struct report_flag){0};
	f->flag_read = raised ? cause_flag(reads) : (struct report_flag){0};
}

/* May what it lacks be what the same two lines lack where nothing was seen? A guess hangs on the schedule, and so does whether a weak flag is seen, or
 * whether one thread of a CTA has met the flag when another one, which no barrier keeps back, goes on. */
static int cause_may_be(const struct report_finding *f)
{
	return !report_sure(f) || report_is_weak_flag(f->reason) || f->reason == GSAN_WHY_PUBLISHED_ALONE || f->reason == GSAN_WHY_ACQUIRED_ALONE;
}

/* Have two findings one cause? Those of one pair of sites, whichever came first, that lack the same edge: which of the two is first
 * is the schedule's choice, and an atomic that fails is a load. A flag that is weak itself needs no other reason where it is seen, nor does a pair
 * that is a race in earnest one of the letter, nor ld.global.nc, which is no cause with others. A finding that was worded before stands for itself,
 * unless one is formal and one is not. */
static int report_one_cause(const struct report_finding *a, const struct report_finding *b)
{
	const int nc = a->kind == GSAN_STALE_NC;
	if (!report_same_sides(a, b) || nc != (b->kind == GSAN_STALE_NC))
		return 0;
	if (a->formal != b->formal)
		return 1;
	if (a->missing_edge || b->missing_edge)
		return 0;
	if ((!a->reason || !b->reason) && !(a->within & b->within & 3))
		return 0;
	if (nc || (!a->reason && cause_may_be(b)) || (!b->reason && cause_may_be(a)))
		return 1;
	return a->reason == b->reason && !report_place_order(&a->flag_write.at, &b->flag_write.at) &&
	       !report_place_order(&a->flag_read.at, &b->flag_read.at);
}

/* By what findings of the same kernels are looked up: the same reason; what one that is certain may have in common with one that guesses; and
 * one cause. */
enum cause_key { CAUSE_REASON, CAUSE_READ, CAUSE_FIRST, CAUSE_SECOND, CAUSE_SIDES, CAUSE_ONE, CAUSE_KEYS };

static uint64_t cause_read_hash(const struct report_finding *f) { return report_place_hash(&f->flag_read.at); }
static uint64_t cause_first_hash(const struct report_finding *f) { return report_side_hash(&f->first); }
static uint64_t cause_second_hash(const struct report_finding *f) { return report_side_hash(&f->second); }

static int cause_same_reason(const struct report_finding *a, const struct report_finding *b) { return !report_reason_order(a, b); }
static int cause_same_read(const struct report_finding *a, const struct report_finding *b)
{
	return !report_place_order(&a->flag_read.at, &b->flag_read.at);
}
static int cause_same_first(const struct report_finding *a, const struct report_finding *b)
{
	return !report_side_order(&a->first, &b->first);
}
static int cause_same_second(const struct report_finding *a, const struct report_finding *b)
{
	return !report_side_order(&a->second, &b->second);
}

static const struct {
	uint64_t (*hash)(const struct report_finding *f);
	int (*same)(const struct report_finding *a, const struct report_finding *b);
} cause_keys[CAUSE_KEYS] = {
	[CAUSE_REASON] = {report_reason_hash, cause_same_reason}, [CAUSE_READ] = {cause_read_hash, cause_same_read},
	[CAUSE_FIRST] = {cause_first_hash, cause_same_first},	  [CAUSE_SECOND] = {cause_second_hash, cause_same_second},
	[CAUSE_SIDES] = {report_sides_hash, report_same_sides},	  [CAUSE_ONE] = {report_sides_hash, report_one_cause},
};

static uint64_t cause_hash(const struct report_finding *f, enum cause_key key)
{
	return hash_then(cause_keys[key].hash(f), report_kernels_hash(f) + key);
}
static int cause_same(const struct report_finding *a, const struct report_finding *b, enum cause_key key)
{
	return report_same_kernels(a, b) && cause_keys[key].same(a, b);
}

/* The first of the index that is the same as `f`; NULL: there is none. */
static uint32_t *cause_find(const struct report *r, const struct index *x, enum cause_key key, const struct report_finding *f)
{
	const uint64_t hash = cause_hash(f, key);
	uint32_t at = 0, *known;
	while ((known = index_next(x, hash, &at)) && !cause_same(&r->finding[*known], f, key))
		;
	return known;
}

/* What all findings of these kernels weigh that give the same reason. The first of them gathers it, and the others have it from there. */
static int cause_support(struct report *r)
{
	struct index reasons = {0};
	uint32_t *first = malloc(r->findings * sizeof *first + 1);
	int rc = first ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < r->findings && !rc; i++) {
		struct report_finding *f = &r->finding[i];
		const uint32_t *known = cause_find(r, &reasons, CAUSE_REASON, f);
		first[i] = known ? *known : i;
		f->support = 0;
		r->finding[first[i]].support += f->weight;
		if (!known)
			rc = index_add(&reasons, cause_hash(f, CAUSE_REASON), i);
	}
	for (uint32_t i = 0; i < r->findings && !rc; i++)
		r->finding[i].support = r->finding[first[i]].support;
	index_free(&reasons);
	free(first);
	return rc;
}

/* Is it said of a flag that one side's CTA need not have met? Of a race of the flag itself nothing is guessed. */
static int cause_guesses(const struct report_finding *f)
{
	static const int guess[GSAN_WHY_ACQUIRED_ALONE + 1] = {[GSAN_WHY_RELAXED_WRITE] = 1, [GSAN_WHY_NO_ACQUIRE] = 1, [GSAN_WHY_RELEASE_SCOPE] = 1,
				    [GSAN_WHY_ACQUIRE_SCOPE] = 1, [GSAN_WHY_OTHER_CTA] = 1, [GSAN_WHY_BEFORE_PAYLOAD] = 1};
	return (size_t)f->reason < sizeof guess / sizeof *guess && guess[f->reason] && report_place_order(&f->flag_write.at, &f->first.at);
}

/* Of equals the one that comes first. */
static int cause_better(const struct report *r, uint32_t a, uint32_t b)
{
	const int order = report_reason_rank(&r->finding[a], &r->finding[b]);
	return order < 0 || (!order && a < b);
}

/* One that is certain is what others may learn from, if by one of the keys none explains better. */
static int cause_teach(struct report *r, struct index *certain, uint32_t i)
{
	const struct report_finding *f = &r->finding[i];
	int rc = 0;
	for (enum cause_key key = f->flag_read.at.file ? CAUSE_READ : CAUSE_FIRST; key <= CAUSE_SIDES && !rc; key++) {
		uint32_t *known = cause_find(r, certain, key, f);
		if (!known)
			rc = index_add(certain, cause_hash(f, key), i);
		else if (cause_better(r, i, *known))
			*known = i;
	}
	return rc;
}

/* What a formal race lacks is not what another one does; it ranks last, so that none is hidden by it. */
static void cause_look(const struct report *r, const struct index *certain, const struct report_finding *f, enum cause_key key, uint32_t *best)
{
	const uint32_t *known = cause_find(r, certain, key, f);
	if (known && (f->formal || !r->finding[*known].formal) && (*best == UINT32_MAX || cause_better(r, *known, *best)))
		*best = *known;
}

static void cause_take(struct report_finding *f, const struct report_finding *from)
{
	f->early &= !report_place_order(&f->flag_write.at, &from->flag_write.at);
	f->only = 0;
	f->unawaited &= from->unawaited;
	f->reason = from->reason;
	f->both = from->both;
	f->flag_write = from->flag_write;
	f->flag_read = from->flag_read;
	f->fence_write = from->fence_write;
	f->fence_read = from->fence_read;
}

/* One that guesses takes the reason of another one that is certain and concerns it: of several CTAs that wrote the flag it saw the
 * wrong one, or of several flags another one. That is about the same read of a flag, or, that not being known, the same first access; about
 * the same two accesses; or about one of them, if both sides of the flag would have to be mended. */
static int cause_learn(struct report *r, struct index *certain, uint32_t i)
{
	struct report_finding *f = &r->finding[i];
	const int early = f->reason == GSAN_WHY_BEFORE_PAYLOAD; /* an edge that is there, only too early, may well be what is wrong */
	uint32_t best = UINT32_MAX;
	if (report_sure(f) || !f->weight || !cause_guesses(f))
		return 0;
	cause_look(r, certain, f, CAUSE_SIDES, &best);
	if (!early)
		cause_look(r, certain, f, f->flag_read.at.file ? CAUSE_READ : CAUSE_FIRST, &best);
	if (!early && f->both) {
		cause_look(r, certain, f, CAUSE_FIRST, &best);
		cause_look(r, certain, f, CAUSE_SECOND, &best);
	}
	if (best == UINT32_MAX)
		return 0;
	cause_take(f, &r->finding[best]);
	return report_sure(f) ? cause_teach(r, certain, i) : 0;
}

static int cause_learn_all(struct report *r)
{
	struct index certain = {0};
	int rc = 0;
	for (uint32_t i = 0; i < r->findings && !rc; i++)
		rc = report_sure(&r->finding[i]) ? cause_teach(r, &certain, i) : 0;
	for (uint32_t i = 0; i < r->findings && !rc; i++)
		rc = cause_learn(r, &certain, i);
	index_free(&certain);
	return rc;
}

/* Whose flag is raised too early lets the other side go on before its access, or behind it: which of the two came first is the schedule's choice, and a
 * guess for the one order takes what is said of the other. */
static int cause_learn_early(struct report *r)
{
	struct index early = {0};
	int rc = 0;
	for (uint32_t i = 0; i < r->findings && !rc; i++)
		rc = r->finding[i].early ? index_add(&early, cause_hash(&r->finding[i], CAUSE_SIDES), i) : 0;
	for (uint32_t i = 0; i < r->findings && !rc; i++) {
		struct report_finding *f = &r->finding[i];
		const int learns = !f->early && !f->formal && !f->missing_edge && !report_sure(f) && cause_guesses(f);
		const uint32_t *by = learns ? cause_find(r, &early, CAUSE_SIDES, f) : NULL;
		if (by && !r->finding[*by].formal)
			cause_take(f, &r->finding[*by]);
	}
	index_free(&early);
	return rc;
}

/* What races because a flag is weak itself lacks that, whatever else was guessed of it: who gives a lock back weakly was behind the taking of it, which
 * is no flag raised too early. */
static int cause_learn_weak(struct report *r)
{
	struct index flags = {0};
	const int rc = weak_flags(r, &flags);
	for (uint32_t i = 0; i < r->findings && !rc; i++) {
		struct report_finding *f = &r->finding[i];
		const uint32_t by = !f->missing_edge && !report_sure(f) && cause_guesses(f) ? weak_flag_of(r, &flags, f) : WEAK_NONE;
		if (by != WEAK_NONE)
			cause_take(f, &r->finding[by]);
	}
	index_free(&flags);
	return rc;
}

/* Of one pair of lines, who stands for what is not certain, within launches and between them. */
#define CAUSE_NOBODY UINT32_MAX
struct cause_pair { uint32_t within[2]; };

/* Who stands for `f`, too; CAUSE_NOBODY: it stands for itself, as what is certain does. */
static uint32_t cause_stands(const struct cause_pair *pair, const struct report_finding *f)
{
	if (report_sure(f))
		return CAUSE_NOBODY;
	return f->within & 1 && pair->within[0] != CAUSE_NOBODY ? pair->within[0] : f->within & 2 ? pair->within[1] : CAUSE_NOBODY;
}

static void cause_keeps(struct cause_pair *pair, uint32_t kept, uint32_t within)
{
	for (int i = 0; i < 2; i++)
		if (within >> i & 1 && pair->within[i] == CAUSE_NOBODY)
			pair->within[i] = kept;
}

/* Of a pair of lines each edge that is certain to be missing is one of its own, for who mends one meets the next. */
int report_elect(struct report *r)
{
	static const struct cause_pair nobody = {{CAUSE_NOBODY, CAUSE_NOBODY}};
	struct cause_pair pair = nobody;
	uint32_t kept = 0;
	for (uint32_t i = 0; i < r->findings; i++) {
		report_name_itself(&r->finding[i]);
		report_name_nc(&r->finding[i]);
	}
	int rc = cause_support(r);
	if (r->findings)
		qsort(r->finding, r->findings, sizeof *r->finding, report_by_weight);
	for (uint32_t i = 0; i < r->findings; i++) {
		const struct report_finding f = r->finding[i];
		if (kept && report_finding_order(&r->finding[kept - 1], &f))
			pair = nobody;
		uint32_t by = cause_stands(&pair, &f);
		if (by == CAUSE_NOBODY)
			r->finding[by = kept++] = f;
		else
			report_sum(&r->finding[by], &r->finding[by], &f);
		cause_keeps(&pair, by, r->finding[by].within);
	}
	r->findings = kept;
	for (uint32_t i = 0; i < kept; i++)
		r->finding[i].count += !r->finding[i].count; /* its launches were counted where the same lines lack something else */
	rc = rc ? rc : cause_learn_all(r);
	rc = rc ? rc : cause_learn_early(r);
	return rc ? rc : cause_learn_weak(r);
}

/* What stands for findings of one cause: one that is not formal, one that says what is missing, the kind that says most, then the earliest. */
static int report_cause_rank(const struct report_finding *f)
{
	static const int rank[] = {[GSAN_SCOPE] = 0, [GSAN_ATOMIC_PLAIN] = 1, [GSAN_RAW] = 2, [GSAN_WAR] = 3, [GSAN_WAW] = 4, [GSAN_STALE_NC] = 5};
	return 100 * f->formal + 10 * !f->reason + rank[f->kind];
}

void report_join(struct report_finding *into, const struct report_finding *other)
{
	const int fuller = into->edge.ops == other->edge.ops ? report_cause_rank(other) < report_cause_rank(into) : other->edge.ops > into->edge.ops;
	struct report_finding whole = fuller ? *other : *into;
	report_join_memory(&whole, into, other);
	whole.only = report_only(&whole, fuller ? into : other);
	whole.group = into->group;
	whole.count = into->count + other->count;
	whole.schedules = into->schedules > other->schedules ? into->schedules : other->schedules; /* at least: some may be the same */
	whole.first_seed = into->first_seed < other->first_seed ? into->first_seed : other->first_seed;
	whole.formal = into->formal & other->formal;
	whole.within = into->within | other->within;
	whole.also = (into->also | other->also | 1u << into->kind | 1u << other->kind) & ~(1u << whole.kind);
	*into = whole;
}

/* What is left does not depend on the order of arrival; formal ones come last, and find what they are part of. */
int report_merge_causes(struct report *r)
{
	struct index sides = {0};
	uint32_t kept = 0;
	int rc = 0;
	report_sort_findings(r);
	for (uint32_t i = 0; i < r->findings; i++) {
		const uint32_t *known = cause_find(r, &sides, CAUSE_ONE, &r->finding[i]);
		if (known) {
			report_join(&r->finding[*known], &r->finding[i]);
			continue;
		}
		r->finding[kept] = r->finding[i];
		rc = rc ? rc : index_add(&sides, cause_hash(&r->finding[kept], CAUSE_ONE), kept);
		kept++;
	}
	r->findings = kept;
	index_free(&sides);
	return rc;
}

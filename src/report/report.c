#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/utf8.h"

/* Names come out of programs, and reports from elsewhere: behind this every writer may rely on UTF-8 that commands no terminal. */
static size_t report_next(const char *string, size_t left, uint32_t *point, int *clean)
{
	size_t n = utf8_next(string, left, point);
	*clean = n && (!utf8_commands(*point) || *point == '\t');
	return n ? n : 1;
}

static void report_clean(struct text *out, const char *string)
{
	uint32_t point;
	int clean;
	for (size_t left = strlen(string), n; left; string += n, left -= n) {
		n = report_next(string, left, &point, &clean);
		if (clean)
			text_add(out, string, n);
		else
			text_printf(out, point < 0x100 ? "\\x%02x" : "\\u%04x", point);
	}
}

static int report_is_clean(const char *string)
{
	uint32_t point;
	int clean = 1;
	for (size_t left = strlen(string), n; left && clean; string += n, left -= n)
		n = report_next(string, left, &point, &clean);
	return clean;
}

const char *report_copy(struct report *r, const char *string)
{
	struct text clean = {0};
	if (!string || report_is_clean(string))
		return string ? pool_copy(&r->pool, string, strlen(string)) : NULL;
	report_clean(&clean, string);
	const char *copy = clean.failed ? NULL : pool_copy(&r->pool, clean.data, clean.size);
	text_free(&clean);
	return copy;
}

static int report_text_order(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

static int report_number_order(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

#define ORDER(comparison) \
	do { \
		int order_ = (comparison); \
		if (order_) \
			return order_; \
	} while (0)

static int report_place_order(const struct report_place *a, const struct report_place *b)
{
	ORDER(report_text_order(a->file, b->file));
	ORDER(report_number_order(a->line, b->line));
	return report_number_order(a->column, b->column);
}

static int report_side_order(const struct report_side *a, const struct report_side *b)
{
	ORDER(report_place_order(&a->at, &b->at));
	ORDER(report_number_order((uint32_t)(a->rank + 1), (uint32_t)(b->rank + 1)));
	ORDER(report_text_order(a->kernel, b->kernel));
	return report_text_order(a->op, b->op);
}

/* Findings that compare equal here are one finding, counted: the same sites, kind, ranks and kernels. */
static int report_finding_order(const struct report_finding *a, const struct report_finding *b)
{
	ORDER(report_side_order(&a->first, &b->first));
	ORDER(report_side_order(&a->second, &b->second));
	return report_number_order(a->kind, b->kind);
}

/* What is said of why: findings of the same sites whose instances differ in it are kept apart until one is elected. */
static int report_reason_order(const struct report_finding *a, const struct report_finding *b)
{
	ORDER(report_number_order(a->reason, b->reason));
	ORDER(report_number_order((uint64_t)a->both, (uint64_t)b->both));
	ORDER(report_place_order(&a->flag_write.at, &b->flag_write.at));
	ORDER(report_place_order(&a->flag_read.at, &b->flag_read.at));
	return report_text_order(a->missing_edge, b->missing_edge);
}

static int report_cta_order(const struct report_side *a, const struct report_side *b)
{
	ORDER(report_number_order(!a->cta_known, !b->cta_known));
	for (int i = 2; i >= 0; i--)
		ORDER(report_number_order(a->cta[i], b->cta[i]));
	return 0;
}

static int report_process_order(const struct report_side *a, const struct report_side *b)
{
	ORDER(report_number_order((uint32_t)(a->participant + 1), (uint32_t)(b->participant + 1)));
	return report_number_order((uint32_t)a->pid, (uint32_t)b->pid);
}

/* Which of two equal findings stands for both: one that is not formal, then the earliest, so that arrival does not matter. The process
 * decides last: who it was changes from run to run, and parts no findings (report_side_order). */
static int report_instance_order(const struct report_finding *a, const struct report_finding *b)
{
	ORDER(report_number_order((uint64_t)a->formal, (uint64_t)b->formal));
	ORDER(report_number_order(a->first.launch, b->first.launch));
	ORDER(report_number_order(a->second.launch, b->second.launch));
	ORDER(report_number_order(!a->reason, !b->reason)); /* one that says what is missing goes before one that does not */
	ORDER(report_cta_order(&a->first, &b->first));
	ORDER(report_cta_order(&a->second, &b->second));
	ORDER(report_number_order(a->allocation.base + a->allocation.offset, b->allocation.base + b->allocation.offset));
	ORDER(report_number_order(a->reason, b->reason));
	ORDER(report_process_order(&a->first, &b->first));
	return report_process_order(&a->second, &b->second);
}

static int report_note_order(const struct report_note *a, const struct report_note *b)
{
	ORDER(report_text_order(a->key, b->key));
	ORDER(report_text_order(a->name, b->name));
	return report_text_order(a->reason, b->reason);
}

static int report_left_order(const struct report_left *a, const struct report_left *b)
{
	ORDER(report_place_order(&a->at, &b->at));
	ORDER(report_text_order(a->opcode, b->opcode));
	return report_text_order(a->reason, b->reason);
}

static int report_by_finding(const void *a, const void *b)
{
	const struct report_finding *one = a, *other = b;
	ORDER(report_number_order((uint64_t)one->formal, (uint64_t)other->formal));
	return report_finding_order(one, other);
}
static int report_came_to(const char *semantics, const char *one) { return semantics && !strcmp(semantics, one); }

/* Not if an RMW lacks what it did not come for: most of those that release need not acquire what they read, nor need those that acquire
 * release what their CTA did before. */
static int report_sure(const struct report_finding *f)
{
	int other_half = (f->reason == GSAN_WHY_NO_ACQUIRE && report_came_to(f->flag_read.semantics, "release")) ||
			 (f->reason == GSAN_WHY_RELAXED_WRITE && report_came_to(f->flag_write.semantics, "acquire"));
	return f->certain && !other_half;
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
	return report_instance_order(one, other);
}
static int report_by_note(const void *a, const void *b) { return report_note_order(a, b); }
static int report_by_left(const void *a, const void *b) { return report_left_order(a, b); }

/* Makes room for one more element of an array; returns its place or NULL. */
static void *report_grow(void **array, uint32_t *count, uint32_t *room, size_t size)
{
	if (*count == *room) {
		uint32_t more = *room ? *room * 2 : 16;
		void *grown = realloc(*array, more * size);
		if (!grown)
			return NULL;
		*array = grown;
		*room = more;
	}
	return (char *)*array + size * (*count)++;
}

static void report_copy_side(struct report *r, struct report_side *side)
{
	const char **const text[] = {&side->kernel, &side->at.file, &side->function, &side->inlined_at, &side->op,
				     &side->semantics, &side->scope, &side->source};
	for (size_t i = 0; i < sizeof text / sizeof *text; i++)
		*text[i] = report_copy(r, *text[i]);
}

static void report_copy_flag(struct report *r, struct report_flag *flag)
{
	const char **const text[] = {&flag->at.file, &flag->scope, &flag->semantics, &flag->inlined_at};
	for (size_t i = 0; i < sizeof text / sizeof *text; i++)
		*text[i] = report_copy(r, *text[i]);
}

static void report_copy_finding(struct report *r, struct report_finding *f)
{
	report_copy_side(r, &f->first);
	report_copy_side(r, &f->second);
	report_copy_flag(r, &f->flag_write);
	report_copy_flag(r, &f->flag_read);
	f->allocation.label = report_copy(r, f->allocation.label);
	f->missing_edge = report_copy(r, f->missing_edge);
}

/* What of a finding is the sum of its instances. */
static void report_sum(struct report_finding *to, const struct report_finding *a, const struct report_finding *b)
{
	uint64_t count = a->count + b->count, weight = a->weight + b->weight;
	int certain = a->certain | b->certain;
	uint64_t seed = a->first_seed < b->first_seed ? a->first_seed : b->first_seed;
	uint32_t schedules = a->schedules + b->schedules, also = a->also | b->also;
	int formal = a->formal & b->formal;
	to->count = count;
	to->weight = weight;
	to->certain = certain;
	to->first_seed = seed;
	to->schedules = schedules;
	to->also = also;
	to->formal = formal;
}

int report_append_finding(struct report *r, const struct report_finding *finding)
{
	struct report_finding *added = report_grow((void **)&r->finding, &r->findings, &r->findings_room, sizeof *added);
	if (!added)
		return -ENOMEM;
	*added = *finding;
	report_copy_finding(r, added);
	return 0;
}

int report_add_finding(struct report *r, const struct report_finding *finding)
{
	for (uint32_t i = 0; i < r->findings; i++) {
		struct report_finding *known = &r->finding[i], sum = *known;
		if (report_finding_order(known, finding) || report_reason_order(known, finding))
			continue;
		if (report_instance_order(finding, known) < 0) {
			sum = *finding;
			report_copy_finding(r, &sum);
		}
		report_sum(&sum, known, finding);
		*known = sum;
		return 0;
	}
	return report_append_finding(r, finding);
}

uint64_t report_now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int report_set_job(struct report *r, const struct report_job *job)
{
	const char **const text[] = {&r->job.host, &r->job.directory, &r->job.device, &r->job.driver, &r->job.commit};
	const char **argv = pool_alloc(&r->pool, job->arguments * sizeof *argv);
	if (!argv)
		return -ENOMEM;
	r->job = *job;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++)
		*text[i] = report_copy(r, *text[i]);
	for (uint32_t i = 0; i < job->arguments; i++)
		argv[i] = report_copy(r, job->argv[i]);
	r->job.argv = argv;
	if (job->began_ms)
		r->job.duration_ms = report_now_ms() - job->began_ms;
	return 0;
}

int report_add_note(struct report *r, const struct report_note *note)
{
	for (uint32_t i = 0; i < r->notes; i++)
		if (!report_note_order(&r->note[i], note)) {
			r->note[i].ranks |= note->ranks;
			return 0;
		}
	struct report_note *added = report_grow((void **)&r->note, &r->notes, &r->notes_room, sizeof *added);
	if (!added)
		return -ENOMEM;
	*added = (struct report_note){report_copy(r, note->key), report_copy(r, note->name), report_copy(r, note->reason),
				      note->ranks};
	return 0;
}

int report_add_left(struct report *r, const struct report_left *left)
{
	for (uint32_t i = 0; i < r->lefts; i++)
		if (!report_left_order(&r->left[i], left)) {
			r->left[i].ranks |= left->ranks;
			return 0;
		}
	struct report_left *added = report_grow((void **)&r->left, &r->lefts, &r->lefts_room, sizeof *added);
	if (!added)
		return -ENOMEM;
	*added = *left;
	added->at.file = report_copy(r, left->at.file);
	added->opcode = report_copy(r, left->opcode);
	added->reason = report_copy(r, left->reason);
	return 0;
}

/* Whichever came first. */
static int report_same_kernels(const struct report_finding *a, const struct report_finding *b)
{
	return (!report_text_order(a->first.kernel, b->first.kernel) && !report_text_order(a->second.kernel, b->second.kernel)) ||
	       (!report_text_order(a->first.kernel, b->second.kernel) && !report_text_order(a->second.kernel, b->first.kernel));
}

static void report_support(struct report *r)
{
	for (uint32_t i = 0; i < r->findings; i++)
		for (uint32_t k = 0; k < r->findings; k++) {
			struct report_finding *one = &r->finding[i];
			const struct report_finding *other = &r->finding[k];
			if (!report_reason_order(one, other) && report_same_kernels(one, other))
				one->support += other->weight;
		}
}

/* Is it said of a flag that one side's CTA need not have met? Of a race of the flag itself nothing is guessed. */
static int report_guesses(const struct report_finding *f)
{
	static const int guess[GSAN_WHY_ACQUIRED_ALONE + 1] = {[GSAN_WHY_RELAXED_WRITE] = 1, [GSAN_WHY_NO_ACQUIRE] = 1, [GSAN_WHY_RELEASE_SCOPE] = 1,
				    [GSAN_WHY_ACQUIRE_SCOPE] = 1, [GSAN_WHY_OTHER_CTA] = 1, [GSAN_WHY_BEFORE_PAYLOAD] = 1};
	return guess[f->reason] && report_place_order(&f->flag_write.at, &f->first.at);
}

/* Are they of one pair of sites, whichever came first? */
static int report_same_sides(const struct report_finding *a, const struct report_finding *b)
{
	return (!report_side_order(&a->first, &b->first) && !report_side_order(&a->second, &b->second)) ||
	       (!report_side_order(&a->first, &b->second) && !report_side_order(&a->second, &b->first));
}

/* Where one guesses: is the other one about the same read of a flag, or, that not being known, the same first access; the same two
 * accesses; or one of them, if both sides of the flag would have to be mended? */
static int report_concerns(const struct report_finding *f, const struct report_finding *other)
{
	if (f->reason == GSAN_WHY_BEFORE_PAYLOAD)
		return report_same_sides(f, other); /* an edge that is there, only too early, may well be what is wrong */
	if (f->flag_read.at.file ? !report_place_order(&f->flag_read.at, &other->flag_read.at) : !report_side_order(&f->first, &other->first))
		return 1;
	return report_same_sides(f, other) || (f->both && (!report_side_order(&f->first, &other->first) ||
							    !report_side_order(&f->second, &other->second)));
}

/* One that guesses takes the reason of another one that is certain and concerns it: of several CTAs that wrote the flag it saw the
 * wrong one, or of several flags another one. What a formal race lacks is not what another one does. */
static void report_learn(struct report *r, struct report_finding *f)
{
	const struct report_finding *best = NULL;
	if (report_sure(f) || !f->weight || !report_guesses(f))
		return;
	for (uint32_t i = 0; i < r->findings; i++) {
		const struct report_finding *other = &r->finding[i];
		if (report_sure(other) && (f->formal || !other->formal) && report_same_kernels(f, other) && report_concerns(f, other) &&
		    (!best || report_reason_rank(other, best) < 0))
			best = other;
	}
	if (!best)
		return;
	f->reason = best->reason;
	f->both = best->both;
	f->flag_write = best->flag_write;
	f->flag_read = best->flag_read;
}

/* The instances of one finding may give several reasons, for a flag read in another order hides the one that matters: the best is
 * taken, as its earliest instance has it. */
static void report_elect(struct report *r)
{
	uint32_t kept = 0;
	report_support(r);
	if (r->findings)
		qsort(r->finding, r->findings, sizeof *r->finding, report_by_weight);
	for (uint32_t i = 0; i < r->findings; i++)
		if (kept && !report_finding_order(&r->finding[kept - 1], &r->finding[i]))
			report_sum(&r->finding[kept - 1], &r->finding[kept - 1], &r->finding[i]);
		else
			r->finding[kept++] = r->finding[i];
	r->findings = kept;
	for (uint32_t i = 0; i < kept; i++)
		report_learn(r, &r->finding[i]);
}

/* What stands for findings of one cause: one that is not formal, the kind that says most, then the earliest. */
static int report_cause_rank(const struct report_finding *f)
{
	static const int rank[] = {[GSAN_SCOPE] = 0, [GSAN_ATOMIC_PLAIN] = 1, [GSAN_RAW] = 2, [GSAN_WAR] = 3, [GSAN_WAW] = 4};
	return 100 * f->formal + 2 * rank[f->kind] + !f->reason;
}

/* Have two findings one cause? Those of one pair of sites, whichever came first, that lack the same edge: which of the two is first
 * is the schedule's choice, and an atomic that fails is a load. A flag that is weak itself needs no other reason, nor does a pair that is a
 * race in earnest one of the letter. ld.global.nc and a finding that was worded before stand for themselves; the latter unless one is
 * formal and one is not. */
static int report_one_cause(const struct report_finding *a, const struct report_finding *b)
{
	if (!report_same_sides(a, b) || a->kind == GSAN_STALE_NC || b->kind == GSAN_STALE_NC)
		return 0;
	if (a->formal != b->formal)
		return 1;
	if (a->missing_edge || b->missing_edge)
		return 0;
	if ((!a->reason && report_flag_races(b)) || (!b->reason && report_flag_races(a)))
		return 1;
	return a->reason == b->reason && !report_place_order(&a->flag_write.at, &b->flag_write.at) &&
	       !report_place_order(&a->flag_read.at, &b->flag_read.at);
}

static void report_join(struct report_finding *into, const struct report_finding *other)
{
	struct report_finding whole = report_cause_rank(other) < report_cause_rank(into) ? *other : *into;
	whole.count = into->count + other->count;
	whole.formal = into->formal & other->formal;
	whole.also = (into->also | other->also | 1u << into->kind | 1u << other->kind) & ~(1u << whole.kind);
	*into = whole;
}

/* The findings are sorted: what is left does not depend on the order of arrival. */
static void report_merge_causes(struct report *r)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < r->findings; i++) {
		uint32_t k = 0;
		while (k < kept && !report_one_cause(&r->finding[k], &r->finding[i]))
			k++;
		if (k < kept)
			report_join(&r->finding[k], &r->finding[i]);
		else
			r->finding[kept++] = r->finding[i];
	}
	r->findings = kept;
}

void report_sort(struct report *r)
{
	if (r->findings)
		qsort(r->finding, r->findings, sizeof *r->finding, report_by_finding);
	if (r->notes)
		qsort(r->note, r->notes, sizeof *r->note, report_by_note);
	if (r->lefts)
		qsort(r->left, r->lefts, sizeof *r->left, report_by_left);
}

/* Of a finding that has no words yet. */
static int report_word(struct report *r, struct report_finding *f)
{
	struct text sentence = {0};
	report_missing_edge(&sentence, f);
	f->missing_edge_class = report_class(f);
	f->missing_edge = sentence.failed ? NULL : report_copy(r, sentence.data);
	text_free(&sentence);
	return f->missing_edge ? 0 : -ENOMEM;
}

int report_finish(struct report *r)
{
	int rc = 0;
	report_elect(r);
	report_merge_causes(r);
	report_sort(r); /* who stands for several may belong elsewhere */
	for (uint32_t i = 0; i < r->findings && !rc; i++)
		if (!r->finding[i].missing_edge)
			rc = report_word(r, &r->finding[i]);
	return rc;
}

uint32_t report_formal(const struct report *r)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->findings; i++)
		n += (uint32_t)r->finding[i].formal;
	return n;
}

void report_unlist_formal(struct report *r)
{
	const uint32_t n = report_formal(r);
	r->formal_unlisted += n;
	r->findings -= n;
}

void report_free(struct report *r)
{
	free(r->finding);
	free(r->note);
	free(r->left);
	pool_free(&r->pool);
	*r = (struct report){0};
}

struct report_rank report_total(const struct report *r)
{
	struct report_rank total = {.gpu = -1, .withheld = r->withheld, .withheld_merged = r->withheld_merged,
				    .ordered_late = r->ordered_late};
	for (uint32_t i = 0; i < r->ranks; i++) {
		const struct report_rank *one = &r->rank[i];
		total.launches_checked += one->launches_checked;
		total.launches_unchecked += one->launches_unchecked;
		total.memory_bytes += one->memory_bytes;
		total.shadow_bytes += one->shadow_bytes;
		total.tables_bytes += one->tables_bytes;
		for (int c = 0; c < GSAN_N_COUNTERS; c++)
			total.counter[c] += one->counter[c];
	}
	return total;
}

int report_checked(const struct report *r)
{
	struct report_rank total = report_total(r);
	return total.launches_checked > 0 && total.counter[GSAN_N_CHECKED] > 0;
}

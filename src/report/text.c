/* The report for people, as gsan-launch prints it at the end of a job and gsan-report prints it again. What was not
 * checked comes first, so that nobody reads "0 findings" as "no race" where little was looked at. */
#include "report/report.h"

#include <inttypes.h>
#include <string.h>

#define TEXT_LIST_MAX 20 /* lines of one list; the JSON has them all */

static void text_ranks(struct text *out, uint32_t ranks)
{
	const char *comma = "";
	for (int i = 0; i < REPORT_RANKS_MAX; i++)
		if (ranks >> i & 1) {
			text_printf(out, "%s%d", comma, i);
			comma = ", ";
		}
}

static void text_ends(struct text *out, const struct report *r)
{
	for (uint32_t i = 0; i < r->ranks; i++) {
		const struct report_rank *one = &r->rank[i];
		if (one->end == REPORT_SIGNALLED)
			text_printf(out, "gsan: rank %u: killed by signal %d (%s)\n", i, one->status, strsignal(one->status));
		else if (one->end == REPORT_EXITED && one->status)
			text_printf(out, "gsan: rank %u: exited with status %d\n", i, one->status);
		else if (one->end == REPORT_LOST)
			text_printf(out, "gsan: rank %u: its launcher was killed\n", i);
		else if (one->end == REPORT_MISSING)
			text_printf(out, "gsan: rank %u: never started\n", i);
		else if (one->end == REPORT_RUNNING)
			text_printf(out, "gsan: rank %u: was still running when this was written\n", i);
	}
}

/* The notes of one key: why they are told, and what their names name. */
static void text_notes(struct text *out, const struct report *r, const char *key, const char *why, const char *what)
{
	unsigned listed = 0;
	for (uint32_t i = 0; i < r->notes; i++) {
		const struct report_note *note = &r->note[i];
		if (strcmp(note->key, key) || listed++ >= TEXT_LIST_MAX)
			continue;
		text_printf(out, "gsan: %s: %s%s in rank ", why, what, note->name);
		text_ranks(out, note->ranks);
		text_printf(out, ": %s\n", note->reason);
	}
	if (listed > TEXT_LIST_MAX)
		text_printf(out, "gsan: %s: %u more of this sort\n", why, listed - TEXT_LIST_MAX);
}

static void text_side(struct text *out, const char *which, const struct report_side *side, const struct report_side *other, int two)
{
	text_printf(out, "  %s ", which);
	if (side->at.file) {
		report_add_frame(out, &side->at, side->inlined_at);
		text_puts(out, ": ");
	}
	text_printf(out, "%s", side->op ? side->op : "access");
	if (side->semantics)
		text_printf(out, ".%s", side->semantics);
	if (side->scope)
		text_printf(out, ".%s", side->scope);
	if (side->bytes)
		text_printf(out, " of %u byte%s", side->bytes, side->bytes == 1 ? "" : "s");
	text_puts(out, "\n          ");
	if (side->rank >= 0)
		text_printf(out, "rank %d, ", side->rank);
	if (two && side->pid > 0)
		text_printf(out, "pid %d, ", side->pid);
	if (two && side->pid == other->pid) /* in two PID namespaces, or not known */
		text_printf(out, "participant %d, ", side->participant);
	if (side->gpu >= 0)
		text_printf(out, "GPU %d, ", side->gpu);
	text_printf(out, "kernel %s, launch %u, ", side->kernel ? side->kernel : "?", side->launch);
	if (side->cta_known)
		text_printf(out, "CTA (%u, %u, %u)", side->cta[0], side->cta[1], side->cta[2]);
	else
		text_puts(out, "a CTA");
	text_printf(out, " of grid (%u, %u, %u)", side->grid[0], side->grid[1], side->grid[2]);
	if (side->function && (!side->kernel || strcmp(side->function, side->kernel)))
		text_printf(out, ", in %s", side->function);
	if (side->inlined_at)
		text_printf(out, ", inlined at %s", side->inlined_at);
	text_puts(out, "\n");
}

static void text_finding(struct text *out, const struct report *r, const struct report_finding *f, uint32_t number, uint32_t of)
{
	const struct report_allocation *a = &f->allocation;
	text_printf(out, "\ngsan: %s %u of %u: %s", f->formal ? "formal race" : "finding", number, of, report_kind_name(f->kind));
	for (int k = 0; k < 32; k++)
		if (f->also >> k & 1)
			text_printf(out, " and %s", report_kind_name((enum gsan_kind)k));
	if (f->missing_edge_class)
		text_printf(out, " (%s)", report_class_name(f->missing_edge_class));
	text_printf(out, f->count == 1 ? ", seen once\n" : ", seen %" PRIu64 " times\n", f->count);
	if (f->schedules)
		text_printf(out, "  found:  in %u of %u schedules; the first again: --seed %" PRIu64 " --schedule %s\n", f->schedules, r->schedules,
			    f->first_seed, r->schedule ? r->schedule : "random");
	text_side(out, "first: ", &f->first, &f->second, report_two_processes(f));
	text_side(out, "second:", &f->second, &f->first, report_two_processes(f));
	if (a->size) {
		text_printf(out, "  memory: byte %" PRIu64 " of %" PRIu64 " at 0x%" PRIx64, a->offset, a->size, a->base);
		if (a->rank >= 0)
			text_printf(out, ", allocated by rank %d", a->rank);
		if (a->label)
			text_printf(out, " (%s)", a->label);
		text_puts(out, "\n");
	}
	text_printf(out, "  why:    %s\n", f->missing_edge ? f->missing_edge : "unknown");
}

/* The formal ones, or the others. */
static void text_findings(struct text *out, const struct report *r, int formal)
{
	const uint32_t all = report_formal(r), of = formal ? all : r->findings - all;
	uint32_t number = 0;
	if (formal && of)
		text_puts(out, "\ngsan: formal races: what follows races by the letter of PTX, but no GPU is known to show it (--formal fail: it "
			       "counts as others do; --formal ignore: it is not listed)\n");
	for (uint32_t i = 0; i < r->findings; i++)
		if (r->finding[i].formal == formal)
			text_finding(out, r, &r->finding[i], ++number, of);
}

static void text_limits(struct text *out, const struct report *r, const struct report_rank *sum)
{
	static const char *const name[] = GSAN_COUNTER_NAMES;
	const char *before = "\ngsan: what limited the check: ";
	for (int i = GSAN_N_FOREIGN; i < GSAN_N_COUNTERS; i++)
		if (sum->counter[i] && i != GSAN_N_FOUND) {
			text_printf(out, "%s%s %" PRIu64, before, name[i], sum->counter[i]);
			before = ", ";
		}
	if (r->lefts) {
		text_printf(out, "%sinstructions left unchecked %u", before, r->lefts);
		before = ", ";
	}
	if (sum->withheld) {
		text_printf(out, "%swithheld %" PRIu64 " (something that is not modelled may order them)", before, sum->withheld);
		if (sum->withheld_merged)
			text_printf(out, ", %" PRIu64 " of them perhaps only because older launches of unknown effect are no longer told apart",
				    sum->withheld_merged);
		before = ", ";
	}
	if (before[0] == ',')
		text_puts(out, "\n");
}

/* Launches that ran, perhaps, but whose counters nobody could fetch. */
static int text_uncounted(struct text *out, const struct report *r)
{
	int any = 0;
	for (uint32_t i = 0; i < r->notes; i++) {
		const struct report_note *note = &r->note[i];
		if (strcmp(note->key, REPORT_UNCOUNTED))
			continue;
		text_printf(out, "gsan: the counters of %s in rank ", note->name);
		text_ranks(out, note->ranks);
		text_printf(out, " are unknown: %s\n", note->reason);
		any = 1;
	}
	return any;
}

static void text_count(struct text *out, const struct report *r)
{
	const uint32_t formal = report_formal(r), all = formal + r->formal_unlisted, findings = r->findings - formal;
	text_printf(out, "gsan: %u finding%s", findings, findings == 1 ? "" : "s");
	if (all)
		text_printf(out, " and %u formal race%s%s", all, all == 1 ? "" : "s", formal ? "" : ", not listed,");
	text_printf(out, " in %u rank%s", r->ranks, r->ranks == 1 ? "" : "s");
}

static void text_last(struct text *out, const struct report *r, const struct report_rank *sum)
{
	int started = 0, uncounted = text_uncounted(out, r);
	for (uint32_t i = 0; i < r->ranks; i++)
		started |= r->rank[i].gpu >= 0;
	if (r->findings || r->formal_unlisted || uncounted || report_checked(r)) {
		text_count(out, r);
		text_printf(out, " (checked %s%" PRIu64 " accesses in %" PRIu64 " launches)\n", uncounted ? "at least " : "",
			    sum->counter[GSAN_N_CHECKED], sum->launches_checked);
		return;
	}
	text_puts(out, "gsan: nothing was checked: ");
	if (!started)
		text_puts(out, "no rank started CUDA under gsan\n");
	else if (sum->launches_checked)
		text_printf(out, "%" PRIu64 " launches made no access that could be checked\n", sum->launches_checked);
	else if (sum->launches_unchecked)
		text_printf(out, "all %" PRIu64 " launches ran unchecked\n", sum->launches_unchecked);
	else
		text_puts(out, "no kernel was launched\n");
}

void report_text(struct text *out, const struct report *r, const char *directory)
{
	struct report_rank sum = report_total(r);
	text_notes(out, r, REPORT_PROCESS, "NOT CHECKED", "");
	text_notes(out, r, REPORT_UNCHECKED, "NOT CHECKED", "kernel ");
	text_notes(out, r, "foreign", "NOT CHECKED", "memory of ");
	if (sum.launches_unchecked)
		text_printf(out, "gsan: NOT CHECKED: %" PRIu64 " of %" PRIu64 " launches\n", sum.launches_unchecked,
			    sum.launches_unchecked + sum.launches_checked);
	text_ends(out, r);
	text_findings(out, r, 0);
	text_findings(out, r, 1);
	text_limits(out, r, &sum);
	if (sum.withheld)
		text_notes(out, r, "order", "may order what is withheld", "");
	if (r->schedules)
		text_printf(out, "gsan: explored %u schedule%s: --schedule %s, seeds %" PRIu64 " to %" PRIu64 "\n", r->schedules,
			    r->schedules == 1 ? "" : "s", r->schedule ? r->schedule : "random", r->first_seed,
			    r->first_seed + r->schedules - 1);
	if (directory)
		text_printf(out, "gsan: the report is in %s\n", directory);
	text_last(out, r, &sum);
}

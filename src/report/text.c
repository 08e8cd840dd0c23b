/* The report for people, as gsan-launch prints it at the end of a job and gsan-report prints it again. Who waits in a job that hangs comes
 * first; then what was not checked, so that nobody reads "0 findings" as "no race" where little was looked at. */
#include "report/page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "report/pairs.h"

#define TEXT_SIDE 10  /* columns before what is said of a finding */
#define TEXT_FURTHER 6 /* before the second line of a sentence that begins with "gsan: " */

static void text_ranks(struct text *out, uint32_t ranks)
{
	const char *comma = "";
	for (int i = 0; i < REPORT_RANKS_MAX; i++)
		if (ranks >> i & 1) {
			text_printf(out, "%s%d", comma, i);
			comma = ", ";
		}
}

/* A line of its own, "gsan: " before it. */
static void text_say(const struct page *p, enum page_colour colour, struct text *sentence)
{
	page_paint(p, colour, "gsan: ");
	page_sentence(p, TEXT_FURTHER, TEXT_FURTHER, sentence->data ? sentence->data : "", NULL);
	p->out->failed |= sentence->failed;
	text_free(sentence);
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

/* The notes of one key, each by name. */
static void text_notes(const struct page *p, const struct report *r, const char *key, const char *why, const char *what)
{
	for (uint32_t i = 0; i < r->notes; i++) {
		const struct report_note *note = &r->note[i];
		struct text line = {0};
		if (strcmp(note->key, key))
			continue;
		text_printf(&line, "%s: %s%s in rank ", why, what, report_note_name(note));
		text_ranks(&line, note->ranks);
		text_printf(&line, ": %s", note->reason);
		text_say(p, PAGE_WARNING, &line);
	}
}

static int text_by_reason(const void *a, const void *b)
{
	const struct report_note *one = *(const struct report_note *const *)a, *other = *(const struct report_note *const *)b;
	return strcmp(one->reason ? one->reason : "", other->reason ? other->reason : "");
}

/* "; 12 kernels: no PTX; 1 kernel: it runs in a cluster" */
static void text_kernels(struct text *out, const struct report *r)
{
	const struct report_note **note = malloc(r->notes * sizeof *note + 1);
	size_t n = 0, same;
	for (uint32_t i = 0; note && i < r->notes; i++)
		if (!strcmp(r->note[i].key, REPORT_UNCHECKED))
			note[n++] = &r->note[i];
	if (n)
		qsort(note, n, sizeof *note, text_by_reason);
	for (size_t i = 0; i < n; i += same) {
		for (same = 1; i + same < n && !text_by_reason(&note[i], &note[i + same]);)
			same++;
		text_printf(out, "; %zu kernel%s: %s", same, same == 1 ? "" : "s", note[i]->reason ? note[i]->reason : "?");
	}
	out->failed |= !note;
	free(note);
}

/* "; 12 launches of 2 kernels, left out by --include or --exclude" */
static void text_left_out(struct text *out, const struct report *r, const struct report_rank *sum)
{
	uint32_t kernels = 0;
	for (uint32_t i = 0; i < r->notes; i++)
		kernels += !strcmp(r->note[i].key, REPORT_LEFT_OUT);
	if (sum->launches_left_out)
		text_printf(out, "; %" PRIu64 " launch%s of %u kernel%s, left out by --include or --exclude", sum->launches_left_out,
			    sum->launches_left_out == 1 ? "" : "es", kernels, kernels == 1 ? "" : "s");
}

/* "; memory of cuMemHostAlloc, cuMemAllocManaged": each once, the notes are sorted. */
static void text_foreign(struct text *out, const struct report *r)
{
	const char *before = "; memory of ", *last = NULL;
	for (uint32_t i = 0; i < r->notes; i++) {
		const struct report_note *note = &r->note[i];
		if (strcmp(note->key, REPORT_FOREIGN) || (last && !strcmp(last, note->name)))
			continue;
		text_printf(out, "%s%s", before, note->name);
		before = ", ";
		last = note->name;
	}
}

/* Processes that were not taken in and modules that were refused are named, for there is something to be done about each; the rest is counted. */
static void text_unchecked(const struct page *p, const struct report *r, const struct report_rank *sum, const char *folder)
{
	struct text line = {0}, parts = {0};
	text_notes(p, r, REPORT_PROCESS, "NOT CHECKED", "");
	text_notes(p, r, REPORT_MODULE, "NOT CHECKED", "module ");
	if (sum->launches_unchecked) {
		text_printf(&parts, "; %" PRIu64 " of ", sum->launches_unchecked);
		text_counted(&parts, sum->launches_unchecked + sum->launches_checked, "launch", "launches");
	}
	text_kernels(&parts, r);
	text_left_out(&parts, r, sum);
	text_foreign(&parts, r);
	if (sum->copies_unchecked) {
		text_printf(&parts, "; %" PRIu64 " of ", sum->copies_unchecked);
		text_counted(&parts, sum->copies_unchecked + sum->copies_checked, "copy", "copies");
	}
	if (parts.size) {
		text_printf(&line, "NOT CHECKED: %s", parts.data + 2);
		if (folder && !p->style->verbose)
			text_printf(&line, " (each by name: gsan-report --verbose %s)", folder);
		text_say(p, PAGE_WARNING, &line);
	}
	text_free(&parts);
	if (!p->style->verbose)
		return;
	text_notes(p, r, REPORT_UNCHECKED, "NOT CHECKED", "kernel ");
	text_notes(p, r, REPORT_LEFT_OUT, "NOT CHECKED", "kernel ");
	text_notes(p, r, REPORT_FOREIGN, "NOT CHECKED", "memory of ");
	text_notes(p, r, REPORT_COPY, "NOT CHECKED", "");
	for (uint32_t i = 0; i < r->lefts; i++) {
		const struct report_left *left = &r->left[i];
		text_printf(&line, "NOT CHECKED: %s:%u: %s: %s", left->at.file ? left->at.file : "?", left->at.line, left->opcode, left->reason);
		text_say(p, PAGE_WARNING, &line);
	}
}

/* Something of a finding, behind TEXT_SIDE columns of a label. */
static void text_about(const struct page *p, const char *label, const char *what, const struct report_finding *f)
{
	text_puts(p->out, label);
	page_sentence(p, TEXT_SIDE, TEXT_SIDE, what ? what : "", f);
}

/* FILE:LINE: OPERATION, and the line there. */
static void text_access(const struct page *p, const char *which, const struct report_side *side)
{
	struct text place = {0}, relative = {0};
	int elsewhere = 0;
	text_printf(p->out, "  %s ", which);
	if (side->at.file) {
		elsewhere = report_add_frame(&place, &side->at, side->inlined_at);
		page_add_relative(p, &relative, place.data ? place.data : "");
	} else if (side->object) {
		page_add_relative(p, &relative, side->object);
	}
	if (relative.size) {
		page_paint(p, PAGE_PLACE, "%s", relative.data);
		text_puts(p->out, ": ");
	}
	report_add_operation(p->out, side);
	if (side->bytes)
		text_printf(p->out, " of %u byte%s", side->bytes, side->bytes == 1 ? "" : "s");
	text_puts(p->out, "\n");
	if (elsewhere && place.data)
		page_frame_excerpt(p, TEXT_SIDE, side, place.data);
	else
		page_excerpt(p, TEXT_SIDE, side, elsewhere);
	text_free(&place);
	text_free(&relative);
}

/* Where the instruction itself is written, if it is said to be elsewhere, and how it came there. */
static void text_inlined(struct text *out, const struct report_side *side)
{
	struct text frame = {0};
	if (side->inlined_at && side->at.file && report_add_frame(&frame, &side->at, side->inlined_at))
		text_printf(out, ", at %s:%u", side->at.file, side->at.line);
	if (side->inlined_at) {
		text_puts(out, ", inlined at ");
		report_add_chain(out, side->inlined_at);
	}
	text_free(&frame);
}

static void text_launch(struct text *out, const struct report_side *side, int streams)
{
	if (side->gpu >= 0)
		text_printf(out, "GPU %d, ", side->gpu);
	text_printf(out, report_is_copy(side) ? "%s, " : "kernel %s, ", report_kernel_name(side));
	report_add_launch(out, side, streams);
	if (!report_is_copy(side)) {
		text_puts(out, ", ");
		if (side->cta_known)
			text_printf(out, "CTA (%u, %u, %u)", side->cta[0], side->cta[1], side->cta[2]);
		else
			text_puts(out, "a CTA");
		text_printf(out, " of grid (%u, %u, %u)", side->grid[0], side->grid[1], side->grid[2]);
	}
	if (side->function && (!side->kernel || strcmp(side->function, side->kernel)))
		text_printf(out, ", in %s", report_function_name(side));
	if (side->object)
		text_puts(out, " (-g and addr2line show its line)");
	text_inlined(out, side);
}

static void text_side(const struct page *p, const char *which, const struct report_finding *f, int second)
{
	const struct report_side *side = second ? &f->second : &f->first, *other = second ? &f->first : &f->second;
	const int two = report_two_processes(f);
	struct text who = {0};
	text_access(p, which, side);
	if (side->rank >= 0)
		text_printf(&who, "rank %d, ", side->rank);
	if (two && side->pid > 0)
		text_printf(&who, "pid %d, ", side->pid);
	if (two && side->pid == other->pid) /* in two PID namespaces, or not known */
		text_printf(&who, "participant %d, ", side->participant);
	text_launch(&who, side, report_two_launches(f));
	text_about(p, "          ", who.data, f);
	text_free(&who);
}

/* Who waits: what the reader of a job that hangs looks for first. */
static void text_waits(const struct page *p, const struct report *r)
{
	for (uint32_t i = 0; i < r->waits; i++) {
		const struct report_wait *w = &r->wait[i];
		struct text line = {0};
		text_printf(p->out, "gsan: wait %u of %u: ", i + 1, r->waits + r->waits_unlisted);
		page_paint(p, PAGE_KIND, "rank %d", w->side.rank);
		text_puts(p->out, " read the same again and again, and its launch did not end\n");
		text_access(p, "reads: ", &w->side);
		text_printf(&line, "rank %d, ", w->side.rank);
		text_launch(&line, &w->side, 0);
		text_about(p, "          ", line.data, NULL);
		text_free(&line);
		report_add_wait_memory(&line, w);
		text_about(p, "  memory: ", line.data, NULL);
		text_free(&line);
		report_add_wait_seen(&line, w);
		text_about(p, "  sees:   ", line.data, NULL);
		text_free(&line);
		text_puts(p->out, "\n");
	}
	if (r->waits_unlisted)
		text_printf(p->out, "gsan: %u more wait%s not listed: these are the newest\n", r->waits_unlisted, r->waits_unlisted == 1 ? " is" : "s are");
}

/* Which part of the text has a finding. */
enum text_section { TEXT_FINDINGS, TEXT_FORMAL, TEXT_SUPPRESSED };

static enum text_section text_section(const struct report_finding *f)
{
	return f->suppressed ? TEXT_SUPPRESSED : f->formal ? TEXT_FORMAL : TEXT_FINDINGS;
}

static uint32_t text_of(const struct report *r, enum text_section section)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < r->findings; i++)
		n += text_section(&r->finding[i]) == section;
	return n;
}

static void text_heading(const struct page *p, const struct report_finding *f, uint32_t number, uint32_t of)
{
	struct text kinds = {0};
	text_puts(&kinds, report_kind_name(f->kind));
	for (int k = 0; k < 32; k++)
		if (f->also >> k & 1)
			text_printf(&kinds, " and %s", report_kind_name((enum gsan_kind)k));
	static const char *const age[] = {[REPORT_NO_AGE] = "", [REPORT_NEW] = "new ", [REPORT_OLD] = "old "};
	static const char *const what[] = {[TEXT_FINDINGS] = "finding", [TEXT_FORMAL] = "formal race", [TEXT_SUPPRESSED] = "suppressed finding"};
	text_printf(p->out, "\ngsan: %s%s %u of %u: ", age[f->age], what[text_section(f)], number, of);
	page_paint(p, f->formal ? PAGE_FORMAL : PAGE_KIND, "%s", kinds.data ? kinds.data : "");
	if (f->missing_edge_class)
		text_printf(p->out, " (%s)", report_class_name(f->missing_edge_class));
	text_puts(p->out, ", ");
	report_add_count(p->out, f->count, report_is_single(f), report_in_one_launch(f));
	text_puts(p->out, "\n");
	text_free(&kinds);
}

static void text_memory(const struct page *p, const struct report_finding *f)
{
	const struct report_allocation *a = &f->allocation;
	struct text line = {0};
	uint32_t n;
	if (!a->size)
		return;
	report_add_memory(&line, a);
	text_about(p, "  memory: ", line.data, f);
	text_free(&line);
	const struct report_allocation *memory = report_memories(f, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (memory[i].rank == a->rank && memory[i].base == a->base)
			continue;
		text_puts(&line, "and ");
		report_add_memory(&line, &memory[i]);
		text_about(p, "          ", line.data, f);
		text_free(&line);
	}
	if (f->memory_unlisted)
		text_about(p, "          ", "and others", f);
}

void report_text_finding(struct text *out, const struct report *r, const struct report_finding *f, const struct report_style *style)
{
	const struct page page = {out, style}, *p = &page;
	if (f->schedules)
		text_printf(out, "  found:  in %s%u of %u schedule%s; the first again: --seed %" PRIu64 " --schedule %s\n",
			    f->pairs && f->schedules < r->schedules ? "at least " : "", f->schedules, r->schedules, r->schedules == 1 ? "" : "s",
			    f->first_seed, r->schedule ? r->schedule : "random");
	text_side(p, "first: ", f, 0);
	text_side(p, "second:", f, 1);
	text_memory(p, f);
	text_about(p, report_is_likely(f) ? "  likely: " : "  why:    ", f->missing_edge ? f->missing_edge : "unknown", f);
	pairs_text(p, r, f);
	text_puts(out, f->suppressed ? "  hidden: " : "  hide:   ");
	if (f->suppressed)
		text_printf(out, "by the suppression at %s:%u\n", r->suppression[f->suppressed - 1].file, r->suppression[f->suppressed - 1].line);
	else
		pairs_hide(out, r, f);
	if (style->verbose)
		text_printf(out, "  known:  as %016" PRIx64 "\n", f->cause);
}

static void text_findings(const struct page *p, const struct report *r, enum text_section section)
{
	const uint32_t of = text_of(r, section);
	struct text heading = {0};
	uint32_t number = 0;
	if (section == TEXT_FORMAL && of) {
		text_puts(p->out, "\n");
		text_puts(&heading, "formal races: what follows races by the letter of PTX, but no GPU is known to show it (--formal fail: it counts "
				    "as others do; --formal ignore: it is not listed)");
		text_say(p, PAGE_PLAIN, &heading);
	}
	for (uint32_t i = 0; i < r->findings; i++)
		if (text_section(&r->finding[i]) == section) {
			text_heading(p, &r->finding[i], ++number, of);
			report_text_finding(p->out, r, &r->finding[i], p->style);
		}
}

static void text_limits(const struct page *p, const struct report *r, const struct report_rank *sum)
{
	static const char *const name[] = GSAN_COUNTER_NAMES;
	struct text parts = {0}, line = {0};
	for (int i = GSAN_N_FOREIGN; i < GSAN_N_COUNTERS; i++)
		if (sum->counter[i] && i != GSAN_N_FOUND)
			text_printf(&parts, ", %s %" PRIu64, name[i], sum->counter[i]);
	if (r->lefts)
		text_printf(&parts, ", instructions left unchecked %u", r->lefts);
	if (sum->withheld)
		text_printf(&parts, ", withheld %" PRIu64 " (something that is not modelled may order them)", sum->withheld);
	if (sum->withheld_merged)
		text_printf(&parts, ", %" PRIu64 " of them perhaps only because older launches of unknown effect are no longer told apart",
			    sum->withheld_merged);
	if (parts.size) {
		text_puts(p->out, "\n");
		text_printf(&line, "what limited the check (gsan-report(1), COUNTERS): %s", parts.data + 2);
		text_say(p, PAGE_PLAIN, &line);
	}
	text_free(&parts);
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

static int text_in_ptx(const struct report *r)
{
	int any = 0;
	for (uint32_t i = 0; i < r->findings; i++)
		any |= !r->finding[i].suppressed && (r->finding[i].first.in_ptx || r->finding[i].second.in_ptx);
	for (uint32_t i = 0; i < r->waits; i++)
		any |= r->wait[i].side.in_ptx;
	return any;
}

/* What there is to know of lines that are not shown, or perhaps not those that ran. */
static void text_lines(const struct page *p, const struct report *r)
{
	struct text line = {0};
	if (text_in_ptx(r)) {
		text_puts(&line, "the PTX of a kernel has no line information: nvcc's -lineinfo (which gsan-nvcc gives) would show lines of its source");
		text_say(p, PAGE_PLAIN, &line);
	}
	for (uint32_t i = 0; i < r->notes; i++) {
		if (strcmp(r->note[i].key, REPORT_SOURCE))
			continue;
		page_add_relative(p, &line, r->note[i].name);
		text_printf(&line, ": %s: the lines of it that are shown may not be those that ran", r->note[i].reason);
		text_say(p, PAGE_WARNING, &line);
	}
}

/* What suppressions are good for, and how to write one. */
static void text_suppressions(const struct page *p, const struct report *r, const char *folder)
{
	const uint64_t pairs = report_tally(r).suppressed;
	uint32_t used = 0;
	struct text line = {0};
	for (uint32_t i = 0; i < r->suppressions; i++)
		used += r->suppression[i].findings > 0;
	if (r->suppressions)
		text_printf(p->out, "gsan: suppressed: %" PRIu64 " pair%s of lines, by %u of %u suppressions\n", pairs, pairs == 1 ? "" : "s", used,
			    r->suppressions);
	for (uint32_t i = 0; i < r->suppressions; i++) {
		const struct report_suppression *s = &r->suppression[i];
		if (s->findings && !p->style->verbose)
			continue;
		if (s->findings)
			text_printf(&line, "suppressed: %" PRIu64 " by %s:%u: %s", s->findings, s->file, s->line, s->rule);
		else
			text_printf(&line, "unused suppression: %s:%u: %s (or an earlier one matched first)", s->file, s->line, s->rule);
		text_say(p, PAGE_PLAIN, &line);
	}
	if (folder && (text_of(r, TEXT_FINDINGS) || text_of(r, TEXT_FORMAL)))
		text_printf(p->out, "gsan: what hides a finding is a line for the file of --suppressions (all: gsan-report --suggest %s)\n", folder);
}

static void text_count(struct text *out, const struct report *r)
{
	const struct report_tally t = report_tally(r);
	const uint64_t unlisted = report_unlisted(r);
	uint64_t fresh = 0;
	int compared = 0; /* with a baseline */
	for (uint32_t i = 0; i < r->findings; i++) {
		fresh += report_decides(&r->finding[i]) && r->finding[i].age != REPORT_OLD;
		compared |= r->finding[i].age != REPORT_NO_AGE;
	}
	for (int kind = 0; kind < GSAN_TOLD; kind++)
		fresh += r->unlisted[kind].findings - r->unlisted[kind].old;
	text_printf(out, "gsan: %" PRIu64 " finding%s", t.findings, t.findings == 1 ? "" : "s");
	if (unlisted)
		text_printf(out, ", %" PRIu64 " of them not listed (--details)", unlisted);
	if (t.findings && (compared || fresh < t.findings))
		text_printf(out, ", %" PRIu64 " of them new,", fresh);
	if (t.formal)
		text_printf(out, " and %" PRIu64 " formal race%s%s", t.formal, t.formal == 1 ? "" : "s",
			    t.formal > r->formal_unlisted ? "" : ", not listed,");
	if (t.suppressed)
		text_printf(out, " (%" PRIu64 " pair%s of lines suppressed)", t.suppressed, t.suppressed == 1 ? "" : "s");
	if (r->deselected)
		text_printf(out, " (%u more, not selected)", r->deselected);
	text_printf(out, " in %u rank%s", r->ranks, r->ranks == 1 ? "" : "s");
	if (r->merged > 1)
		text_printf(out, " of %u reports", r->merged);
}

/* A Python program that is not run by gsan.emu: where there is no driver but ours, Triton finds none. */
static int text_lacks_driver(const struct report_job *job)
{
	const char *program = job->arguments ? job->argv[0] : "", *slash = strrchr(program, '/');
	int runs = !job->device || strcmp(job->device, "emu") || strncmp(slash ? slash + 1 : program, "python", 6);
	for (uint32_t i = 0; i < job->arguments && !runs; i++)
		runs = strstr(job->argv[i], "gsan.emu") != NULL;
	return !runs;
}

static void text_last(struct text *out, const struct report *r, const struct report_rank *sum)
{
	const uint64_t unchecked = sum->launches_unchecked + sum->launches_left_out;
	int started = 0, uncounted = text_uncounted(out, r);
	for (uint32_t i = 0; i < r->ranks; i++)
		started |= r->rank[i].gpu >= 0;
	if (r->findings || r->formal_unlisted || report_unlisted(r) || uncounted || report_checked(r)) {
		if (report_runs_unchecked(r))
			text_printf(out, "gsan: in %u of the runs nothing was checked\n", r->unchecked);
		text_count(out, r);
		text_puts(out, uncounted ? " (checked at least " : " (checked ");
		text_counted(out, sum->counter[GSAN_N_CHECKED], "access", "accesses");
		text_puts(out, " in ");
		text_counted(out, sum->launches_checked, "launch", "launches");
		if (sum->copies_checked) {
			text_puts(out, " and ");
			text_counted(out, sum->copies_checked, "copy", "copies");
		}
		text_puts(out, ")\n");
		return;
	}
	text_puts(out, "gsan: nothing was checked: ");
	if (!started) {
		text_puts(out, "no rank started CUDA under gsan\n");
		if (text_lacks_driver(&r->job))
			text_puts(out, "gsan: Triton's own driver finds no GPU here: gsan-launch --device emu python -m gsan.emu PROGRAM runs it on the emulated device\n");
	} else if (sum->launches_checked) {
		text_counted(out, sum->launches_checked, "launch", "launches");
		text_puts(out, " made no access that could be checked\n");
	} else if (unchecked == 1)
		text_puts(out, "the only launch ran unchecked\n");
	else if (unchecked)
		text_printf(out, "all %" PRIu64 " launches ran unchecked\n", unchecked);
	else
		text_puts(out, "no kernel was launched\n");
}

/* "GPU 0: PCI 0000:01:00.0, NUMA node 1, 18 NVLinks to GPU 1" */
static void text_gpus(const struct page *p, const struct report *r)
{
	for (uint32_t i = 0; i < r->gpus; i++) {
		const struct report_gpu *one = &r->gpu[i];
		struct text line = {0};
		text_printf(&line, "GPU %d: PCI %s", one->number, one->bus ? one->bus : "unknown");
		if (one->numa >= 0)
			text_printf(&line, ", NUMA node %d", one->numa);
		for (uint32_t j = 0; one->linked && j < r->gpus; j++)
			if (one->links[j])
				text_printf(&line, ", %u NVLink%s to GPU %d", one->links[j], one->links[j] == 1 ? "" : "s", r->gpu[j].number);
		text_say(p, PAGE_PLAIN, &line);
	}
}

static void text_explored(struct text *out, const struct report *r)
{
	if (!r->schedules)
		return;
	text_printf(out, "gsan: explored %u ", r->schedules);
	if (r->unexplored)
		text_printf(out, "of %u ", r->schedules + r->unexplored);
	text_printf(out, "schedule%s: --schedule %s, seeds %" PRIu64 " to %" PRIu64 "\n", r->schedules + r->unexplored == 1 ? "" : "s",
		    r->schedule ? r->schedule : "random", r->first_seed, r->first_seed + r->schedules - 1);
}

static void text_whole(struct text *out, const struct report *r, const char *folder, const struct report_style *style)
{
	const struct page p = {out, style};
	struct report_rank sum = report_total(r);
	text_waits(&p, r);
	text_unchecked(&p, r, &sum, folder);
	text_ends(out, r);
	text_findings(&p, r, TEXT_FINDINGS);
	text_findings(&p, r, TEXT_FORMAL);
	if (style->verbose)
		text_findings(&p, r, TEXT_SUPPRESSED);
	text_limits(&p, r, &sum);
	if (sum.withheld && style->verbose)
		text_notes(&p, r, "order", "may order what is withheld", "");
	text_explored(out, r);
	if (style->verbose)
		text_gpus(&p, r);
	text_lines(&p, r);
	text_suppressions(&p, r, folder);
	if (folder)
		text_printf(out, "gsan: the report is in %s\n", folder);
	text_last(out, r, &sum);
}

void report_text(struct text *out, const struct report *r, const char *folder, const struct report_style *style)
{
	const size_t room = folder ? UTF8_CLEAN_ROOM(strlen(folder)) : 1;
	char *clean = malloc(room);
	if (clean && folder)
		utf8_clean(clean, room, folder);
	if (clean)
		text_whole(out, r, folder ? clean : NULL, style);
	out->failed |= !clean;
	free(clean);
}

/* One page of HTML for people: summary, which ranks race with which, each finding with both accesses side by side, and what was not checked.
 * It holds no script and fetches nothing, so that it can be shown from anywhere; colours follow the reader's choice of light or dark. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/formats/escape.h"
#include "report/formats/format.h"
#include "report/frame.h"
#include "report/pairs.h"

#define HTML_OPEN 20 /* findings whose details are shown at once */

static const char html_style[] =
	":root{color-scheme:light dark;--line:#8884;--soft:#8881;--race:#c22;--formal:#a60;--mark:#fd06}\n"
	"@media(prefers-color-scheme:dark){:root{--race:#f77;--formal:#fb5}}\n"
	"body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem}\n"
	"h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2.5rem;border-bottom:1px solid var(--line)}\n"
	"table{border-collapse:collapse;display:block;max-width:100%;overflow-x:auto}th,td{padding:.2rem .7rem;border:1px solid var(--line);text-align:left;vertical-align:top}\n"
	"td.n{text-align:right;font-variant-numeric:tabular-nums}td.some{background:var(--mark)}\n"
	"code,pre{font:13px/1.45 ui-monospace,monospace;overflow-wrap:anywhere}\n"
	"pre{background:var(--soft);padding:.5rem;margin:.4rem 0;white-space:pre-wrap}mark{background:var(--mark);color:inherit}\n"
	"details{border:1px solid var(--line);border-radius:.3rem;margin:.6rem 0;padding:.4rem .8rem}summary{cursor:pointer}\n"
	".race{color:var(--race);font-weight:600}.formal{color:var(--formal);font-weight:600}.soft{opacity:.75}\n"
	".sides{display:grid;grid-template-columns:1fr 1fr;gap:1rem}.sides>div{min-width:0}\n"
	"@media(max-width:50rem){.sides{grid-template-columns:1fr}}\n"
	".time{max-width:100%;font:13px system-ui,sans-serif}.time text{fill:currentColor}.lane{fill:none;stroke:currentColor;opacity:.6}\n"
	".mark{fill:var(--race);stroke:var(--race)}a:focus .mark{stroke-width:4}\n";

/* Text, whatever it holds. */
static void html_text(struct text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void html_text(struct text *out, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		out->failed = 1;
	va_end(args);
	escape_xml(out, text ? text : "");
	free(text);
}

static void html_cell(struct text *out, const char *tag, const char *text)
{
	text_printf(out, "<%s>", tag);
	escape_xml(out, text ? text : "?");
	text_printf(out, "</%s>", tag);
}

static void html_count(struct text *out, uint64_t count)
{
	text_printf(out, count ? "<td class=\"n some\">%" PRIu64 "</td>" : "<td class=\"n\">%" PRIu64 "</td>", count);
}

static void html_head(struct text *out, const struct report *r)
{
	const struct report_tally t = report_tally(r);
	text_puts(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		       "<meta name=\"viewport\" content=\"width=device-width\">\n"
		       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
		       "<title>GSan report</title>\n<style>\n");
	text_printf(out, "%s</style>\n</head>\n<body>\n<h1>GSan: %" PRIu64 " finding%s", html_style, t.findings, t.findings == 1 ? "" : "s");
	if (report_unlisted(r))
		text_printf(out, ", %" PRIu64 " of them not listed", report_unlisted(r));
	if (t.formal)
		text_printf(out, ", %" PRIu64 " formal", t.formal);
	if (t.suppressed)
		text_printf(out, ", %" PRIu64 " suppressed", t.suppressed);
	text_puts(out, "</h1>\n");
}

static void html_checked(struct text *out, const struct report_rank *sum)
{
	const uint64_t copies = sum->copies_checked + sum->copies_unchecked;
	text_counted(out, sum->counter[GSAN_N_CHECKED], "access", "accesses");
	text_puts(out, " in ");
	text_counted(out, sum->launches_checked, "launch", "launches");
	text_puts(out, sum->counter[GSAN_N_CHECKED] == 1 ? " was checked; " : " were checked; ");
	text_counted(out, sum->launches_unchecked, "launch", "launches");
	text_puts(out, " ran unchecked");
	if (!copies)
		return;
	text_printf(out, "; %" PRIu64 " of ", sum->copies_checked);
	text_counted(out, copies, "copy", "copies");
	text_puts(out, sum->copies_checked == 1 ? " was checked" : " were checked");
}

static void html_job(struct text *out, const struct report *r)
{
	const struct report_job *job = &r->job;
	char start[REPORT_TIME_SIZE];
	if (!job->start)
		return;
	text_puts(out, "<pre>");
	for (uint32_t i = 0; i < job->arguments; i++)
		html_text(out, "%s%s", i ? " " : "", job->argv[i]);
	text_puts(out, "</pre>\n<p class=\"soft\">");
	html_text(out, "%s, %" PRIu64 ".%03u s, on %s (%s%s%s), in %s", report_time(start, job->start), job->duration_ms / 1000,
		  (unsigned)(job->duration_ms % 1000), job->host ? job->host : "?", job->device ? job->device : "?",
		  job->driver ? " " : "", job->driver ? job->driver : "", job->directory ? job->directory : "?");
	if (r->merged > 1)
		html_text(out, "; and %u more report%s", r->merged - 1, r->merged == 2 ? "" : "s");
	text_puts(out, "</p>\n");
}

static void html_summary(struct text *out, const struct report *r)
{
	const struct report_rank sum = report_total(r);
	uint64_t count[GSAN_TOLD] = {0};
	for (uint32_t i = 0; i < r->findings; i++)
		if (!r->finding[i].suppressed)
			count[r->finding[i].kind < GSAN_TOLD ? r->finding[i].kind : GSAN_KIND_NONE]++;
	text_puts(out, "<h2>Summary</h2>\n<table>\n<tr>");
	for (int kind = GSAN_RAW; kind < GSAN_TOLD; kind++)
		html_cell(out, "th", report_kind_name((enum gsan_kind)kind));
	text_puts(out, "</tr>\n<tr>");
	for (int kind = GSAN_RAW; kind < GSAN_TOLD; kind++)
		html_count(out, count[kind] + r->unlisted[kind].findings);
	text_puts(out, "</tr>\n</table>\n<p>");
	if (!report_checked(r))
		text_puts(out, "<span class=\"race\">Nothing was checked.</span> ");
	else if (report_runs_unchecked(r))
		text_printf(out, "<span class=\"race\">In %u of the runs nothing was checked.</span> ", r->unchecked);
	html_checked(out, &sum);
	if (sum.launches_left_out)
		text_printf(out, ", and %" PRIu64 " more were left out by --include or --exclude", sum.launches_left_out);
	text_puts(out, ".</p>\n");
}

static void html_gpus(struct text *out, const struct report_rank *rank)
{
	const char *before = "";
	text_puts(out, "<td>");
	for (int i = 0; i < REPORT_GPUS_MAX; i++)
		if (rank->gpus >> i & 1) {
			text_printf(out, "%s%d", before, i);
			before = ", ";
		}
	text_puts(out, "</td>");
}

/* Of pairs of lines. Rows: the rank of the first access; columns: that of the second. */
static void html_matrix(struct text *out, const struct report *r)
{
	uint32_t count[REPORT_RANKS_MAX][REPORT_RANKS_MAX] = {{0}};
	for (uint32_t i = 0; i < r->findings; i++) {
		uint32_t pairs;
		const struct report_finding *pair = report_pairs(r, &r->finding[i], &pairs);
		for (uint32_t k = 0; k < pairs; k++) {
			const int first = pair[k].first.rank, second = pair[k].second.rank;
			if (first >= 0 && second >= 0 && first < REPORT_RANKS_MAX && second < REPORT_RANKS_MAX)
				count[first][second]++;
		}
	}
	text_puts(out, "<h2>Ranks</h2>\n<table>\n<tr><th>first access \\ second</th>");
	for (uint32_t k = 0; k < r->ranks; k++)
		text_printf(out, "<th>rank %u</th>", k);
	text_puts(out, "<th>GPU</th><th>number</th><th>end</th></tr>\n");
	for (uint32_t i = 0; i < r->ranks; i++) {
		const struct report_rank *rank = &r->rank[i];
		text_printf(out, "<tr><th>rank %u</th>", i);
		for (uint32_t k = 0; k < r->ranks; k++)
			html_count(out, count[i][k]);
		html_cell(out, "td", rank->gpu < 0 ? "none" : rank->gpu_name);
		html_gpus(out, rank);
		text_printf(out, "<td>%s", report_end_name(rank->end));
		if (rank->end == REPORT_EXITED || rank->end == REPORT_SIGNALLED)
			text_printf(out, " %d", rank->status);
		text_puts(out, "</td></tr>\n");
	}
	text_puts(out, "</table>\n");
}

/* The line, with the character at the column marked. */
static void html_source(struct text *out, const struct report_side *side)
{
	const char *line = side->source;
	const size_t size = line ? strlen(line) : 0, column = report_column(&side->at, line);
	size_t from = column && column <= size ? column - 1 : size, to;
	struct text before = {0}, marked = {0};
	if (!line)
		return;
	while (from && (line[from] & 0xc0) == 0x80) /* of a source that is another by now */
		from--;
	to = from;
	while (to < size && (to == from || (line[to] & 0xc0) == 0x80))
		to++;
	text_add(&before, line, from);
	text_add(&marked, line + from, to - from);
	text_printf(out, "<pre>%u  ", side->at.line);
	escape_xml(out, before.data);
	if (marked.size)
		html_cell(out, "mark", marked.data);
	escape_xml(out, line + to);
	text_puts(out, "</pre>\n");
	out->failed |= before.failed | marked.failed;
	text_free(&before);
	text_free(&marked);
}

static void html_side(struct text *out, const char *which, const struct report_side *side, int streams)
{
	struct text place = {0}, operation = {0}, chain = {0};
	struct report_side own = *side;
	if (side->at.file)
		report_add_frame(&place, &side->at, side->inlined_at);
	text_printf(out, "<div><b>%s</b> ", which);
	html_cell(out, "code", place.data ? place.data : "?");
	text_puts(out, "\n");
	char *line = place.data ? frame_take(&own, place.data) : NULL;
	html_source(out, &own);
	text_puts(out, "<p>");
	report_add_operation(&operation, side);
	html_text(out, "%s of %u byte%s, kernel %s, ", operation.data ? operation.data : "", side->bytes, side->bytes == 1 ? "" : "s", report_kernel_name(side));
	report_add_launch(out, side, streams);
	if (side->cta_known)
		html_text(out, ", CTA (%u, %u, %u)", side->cta[0], side->cta[1], side->cta[2]);
	if (side->rank >= 0)
		html_text(out, ", rank %d on GPU %d", side->rank, side->gpu);
	if (side->function)
		html_text(out, ", in %s", report_function_name(side));
	if (side->object)
		html_text(out, ", at %s (-g and addr2line show its line)", side->object);
	report_add_chain(&chain, side->inlined_at);
	if (side->inlined_at)
		html_text(out, ", inlined at %s from %s:%u", chain.data ? chain.data : "", side->at.file ? side->at.file : "?", side->at.line);
	text_puts(out, "</p></div>\n");
	free(line);
	text_free(&place);
	text_free(&operation);
	text_free(&chain);
}

/* What the missing edge explains, too: each pair of lines with its ranks. */
static void html_pairs(struct text *out, const struct report *r, const struct report_finding *f)
{
	if (f->pairs > 1)
		text_puts(out, "<p>It explains, too:</p>\n<table>\n<tr><th>kind</th><th>accesses</th><th>ranks</th><th>launches, or pairs of them</th></tr>\n");
	for (uint32_t i = 1; i < f->pairs; i++) {
		const struct report_finding *pair = &r->pair[f->pair + i];
		struct text said = {0};
		pairs_add_sides(&said, pair);
		text_puts(out, report_counts(f, pair) ? "<tr>" : "<tr class=\"soft\">");
		html_cell(out, "td", report_kind_name(pair->kind));
		html_cell(out, "td", said.data);
		text_printf(out, "<td>%d, %d</td>", pair->first.rank, pair->second.rank);
		html_count(out, pair->count);
		text_puts(out, "</tr>\n");
		text_free(&said);
	}
	text_puts(out, f->pairs > 1 ? "</table>\n" : "");
	if (f->pairs_unlisted)
		text_printf(out, "<p>%u further pair%s of lines %s not listed (--details).</p>\n", f->pairs_unlisted, f->pairs_unlisted == 1 ? "" : "s",
			    f->pairs_unlisted == 1 ? "is" : "are");
}

static const char *html_class(const struct report_finding *f) { return f->suppressed ? "soft" : f->formal ? "formal" : "race"; }

static void html_finding(struct text *out, const struct report *r, const struct report_finding *f, int open)
{
	static const char *const age[] = {[REPORT_NO_AGE] = "", [REPORT_NEW] = "new ", [REPORT_OLD] = "old "};
	const struct report_allocation *a = &f->allocation;
	text_printf(out, "<details id=\"f%td\"%s>\n<summary>%s<span class=\"%s\">", f - r->finding + 1, open ? " open" : "", age[f->age], html_class(f));
	html_text(out, "%s", report_kind_name(f->kind));
	text_printf(out, "</span>%s", f->formal ? " (formal)" : "");
	if (f->missing_edge_class)
		html_text(out, ", %s", report_class_name(f->missing_edge_class));
	if (f->suppressed)
		html_text(out, ", suppressed by %s:%u", r->suppression[f->suppressed - 1].file, r->suppression[f->suppressed - 1].line);
	text_puts(out, ", ");
	report_add_count(out, f->count, report_is_single(f), report_in_one_launch(f));
	text_printf(out, " <code class=\"soft\">%016" PRIx64 "</code></summary>\n", f->cause);
	text_puts(out, report_is_likely(f) ? "<p>Likely: " : "<p>");
	escape_xml(out, f->missing_edge ? f->missing_edge : "?");
	text_puts(out, "</p>\n<div class=\"sides\">\n");
	html_side(out, "first", &f->first, report_two_launches(f));
	html_side(out, "second", &f->second, report_two_launches(f));
	text_puts(out, "</div>\n");
	if (a->size) {
		text_puts(out, "<p>");
		html_text(out, "Byte %" PRIu64 " of %" PRIu64 " at 0x%" PRIx64 ", allocated by rank %d%s%s", a->offset, a->size, a->base, a->rank,
			  a->label ? ": " : "", a->label ? a->label : "");
		text_puts(out, "</p>\n");
	}
	html_pairs(out, r, f);
	text_puts(out, "</details>\n");
}

static void html_waits(struct text *out, const struct report *r)
{
	if (!r->waits)
		return;
	text_puts(out, "<h2>Who waits</h2>\n<p>");
	text_counted(out, r->waits + r->waits_unlisted, "place", "places");
	text_puts(out, " where a launch read the same again and again, and did not end");
	text_printf(out, r->waits_unlisted ? "; the newest %u of them:</p>\n" : ":</p>\n", r->waits);
	for (uint32_t i = 0; i < r->waits; i++) {
		const struct report_wait *w = &r->wait[i];
		struct text said = {0};
		html_side(out, "reads", &w->side, 0);
		report_add_wait_memory(&said, w);
		text_puts(&said, ": ");
		report_add_wait_seen(&said, w);
		html_cell(out, "p", said.data);
		text_puts(out, "\n");
		text_free(&said);
	}
}

static void html_row(struct text *out, const char *what, const char *name, const char *reason)
{
	text_puts(out, "<tr>");
	html_cell(out, "td", what);
	html_cell(out, "td", name);
	html_cell(out, "td", reason);
	text_puts(out, "</tr>\n");
}

static void html_suppressions(struct text *out, const struct report *r)
{
	if (!r->suppressions)
		return;
	text_puts(out, "<h2>Suppressions</h2>\n<table>\n<tr><th>line</th><th>suppression</th><th>findings</th><th>launches, or pairs of them</th></tr>\n");
	for (uint32_t i = 0; i < r->suppressions; i++) {
		const struct report_suppression *s = &r->suppression[i];
		text_puts(out, "<tr><td>");
		html_text(out, "%s:%u", s->file, s->line);
		text_puts(out, "</td>");
		html_cell(out, "td", s->rule);
		html_count(out, s->findings);
		html_count(out, s->count);
		text_puts(out, "</tr>\n");
	}
	text_puts(out, "</table>\n");
}

static void html_coverage(struct text *out, const struct report *r)
{
	static const char *const name[] = GSAN_COUNTER_NAMES;
	const struct report_rank sum = report_total(r);
	text_puts(out, "<h2>What was not checked, and what limited the check</h2>\n<table>\n");
	for (uint32_t i = 0; i < r->notes; i++)
		html_row(out, r->note[i].key, report_note_name(&r->note[i]), r->note[i].reason);
	for (uint32_t i = 0; i < r->lefts; i++) {
		const struct report_left *left = &r->left[i];
		struct text place = {0};
		text_printf(&place, "%s:%u: %s", left->at.file ? left->at.file : "?", left->at.line, left->opcode ? left->opcode : "?");
		html_row(out, "instruction", place.data, left->reason);
		text_free(&place);
	}
	text_puts(out, "</table>\n<table>\n");
	for (int i = 0; i < GSAN_N_COUNTERS; i++)
		if (sum.counter[i])
			text_printf(out, "<tr><td>%s</td><td class=\"n\">%" PRIu64 "</td></tr>\n", name[i], sum.counter[i]);
	if (sum.withheld)
		text_printf(out, "<tr><td>withheld</td><td class=\"n\">%" PRIu64 "</td></tr>\n", sum.withheld);
	text_puts(out, "</table>\n");
}

void format_html(struct text *out, const struct format_view *view)
{
	const struct report *r = view->report;
	html_head(out, r);
	html_job(out, r);
	html_waits(out, r);
	html_summary(out, r);
	html_matrix(out, r);
	timeline_add(out, r);
	text_puts(out, "<h2>Findings</h2>\n");
	for (uint32_t i = 0; i < r->findings; i++)
		html_finding(out, r, &r->finding[i], i < HTML_OPEN && !r->finding[i].suppressed);
	html_suppressions(out, r);
	html_coverage(out, r);
	text_puts(out, "</body>\n</html>\n");
}

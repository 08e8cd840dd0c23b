/* JUnit's XML, as CI systems read it: each finding a test case that failed, but for those that are old, formal or suppressed, which are skipped; each
 * kernel that ran unchecked, and each module that was refused, one that was skipped; and each rank one, so that there always is one. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/formats/escape.h"
#include "report/formats/format.h"
#include "report/page.h"

struct junit { struct text *out; unsigned tests, failures, errors, skipped; };

static void junit_attribute(struct text *out, const char *name, const char *value)
{
	text_printf(out, " %s=\"", name);
	escape_xml(out, value ? value : "?");
	text_puts(out, "\"");
}

/* The case begins; what became of it follows, if anything did. */
static void junit_case(struct junit *j, const char *class, const char *name)
{
	text_puts(j->out, "\t\t<testcase");
	junit_attribute(j->out, "classname", class);
	junit_attribute(j->out, "name", name);
	text_puts(j->out, " time=\"0\">");
	j->tests++;
}

static void junit_end(struct junit *j) { text_puts(j->out, "</testcase>\n"); }

static void junit_outcome(struct junit *j, unsigned *count, const char *tag, const char *message)
{
	text_printf(j->out, "<%s", tag);
	junit_attribute(j->out, "message", message);
	text_puts(j->out, "/>");
	++*count;
}

/* An id stands for a name that is not known, and is another one in each run. */
static const char *junit_kernel(const struct report_side *side)
{
	const char *name = report_kernel_name(side);
	return *name == '#' ? "?" : name;
}

/* "race with take, 327fcf0d257a6906", of the kernel that is its class. CI systems know a test again by these two: no line, no folder, and not
 * which access was seen first. */
static const char *junit_name(struct text *name, const struct report_finding *f)
{
	const char *first = junit_kernel(&f->first), *second = junit_kernel(&f->second);
	const int order = strcmp(first, second);
	text_puts(name, f->formal ? "formal race" : "race");
	if (order)
		text_printf(name, " with %s", order < 0 ? second : first);
	text_printf(name, ", %016" PRIx64, f->cause);
	return order < 0 ? first : second;
}

static void junit_finding(struct junit *j, const struct report *r, const struct report_finding *f)
{
	const struct report_style style = {.width = PAGE_WIDTH, .directory = r->job.directory, .verbose = 1};
	struct text name = {0}, whole = {0}, why = {0};
	const char *class = junit_name(&name, f);
	junit_case(j, class, name.data);
	if (f->suppressed) {
		const struct report_suppression *by = &r->suppression[f->suppressed - 1];
		text_printf(&why, "suppressed by %s:%u: %s", by->file, by->line, by->rule);
		junit_outcome(j, &j->skipped, "skipped", why.data);
	} else if (f->formal) {
		junit_outcome(j, &j->skipped, "skipped", "a race by the letter of PTX, that no GPU is known to show");
	} else if (f->age == REPORT_OLD) {
		junit_outcome(j, &j->skipped, "skipped", "the baseline has it, too");
	} else {
		text_puts(j->out, "<failure");
		junit_attribute(j->out, "type", report_kind_name(f->kind));
		report_add_why(&why, f);
		junit_attribute(j->out, "message", why.data);
		text_puts(j->out, ">");
		report_text_finding(&whole, r, f, &style);
		escape_xml(j->out, whole.data ? whole.data : "");
		text_puts(j->out, "</failure>");
		j->failures++;
	}
	junit_end(j);
	j->out->failed |= name.failed | whole.failed | why.failed;
	text_free(&why);
	text_free(&name);
	text_free(&whole);
}

static void junit_unlisted(struct junit *j, enum gsan_kind kind, const struct report_unlisted *unlisted)
{
	const int old = unlisted->old == unlisted->findings;
	char message[80];
	snprintf(message, sizeof message, "%" PRIu64 " more are counted, and not listed (--details)", unlisted->findings);
	junit_case(j, "gsan", report_kind_name(kind));
	junit_outcome(j, old ? &j->skipped : &j->failures, old ? "skipped" : "failure", message);
	junit_end(j);
}

static void junit_unchecked(struct junit *j, const struct report_note *note)
{
	junit_case(j, report_note_name(note), strcmp(note->key, REPORT_MODULE) ? "not checked" : "not loaded");
	junit_outcome(j, &j->skipped, "skipped", note->reason);
	junit_end(j);
}

/* How it ended, and who waited then. */
static void junit_rank(struct junit *j, const struct report *r, unsigned number)
{
	const struct report_rank *rank = &r->rank[number];
	struct text message = {0};
	char name[32];
	snprintf(name, sizeof name, "rank %u", number);
	const int numbered = rank->end == REPORT_EXITED || rank->end == REPORT_SIGNALLED;
	text_printf(&message, numbered ? "%s %d" : "%s", report_end_name(rank->end), rank->status);
	for (uint32_t i = 0; i < r->waits; i++)
		if (r->wait[i].side.rank == (int)number) {
			text_puts(&message, "; ");
			report_add_wait(&message, &r->wait[i]);
		}
	junit_case(j, "gsan", name);
	if (rank->end != REPORT_EXITED || rank->status)
		junit_outcome(j, &j->errors, "error", message.data ? message.data : "");
	junit_end(j);
	j->out->failed |= message.failed;
	text_free(&message);
}

/* Or that nothing was, in a run: else all would be green. */
static void junit_checked(struct junit *j, const struct report *r)
{
	struct text why = {0};
	if (report_add_unchecked(&why, r)) {
		junit_case(j, "gsan", "checked");
		junit_outcome(j, &j->skipped, "skipped", why.data ? why.data : "");
		junit_end(j);
	}
	j->out->failed |= why.failed;
	text_free(&why);
}

static void junit_suite(struct text *out, const struct junit *j, const struct report_job *job)
{
	char start[REPORT_TIME_SIZE];
	text_printf(out, "\t<testsuite name=\"gsan\" tests=\"%u\" failures=\"%u\" errors=\"%u\" skipped=\"%u\"", j->tests, j->failures,
		    j->errors, j->skipped);
	text_printf(out, " time=\"%" PRIu64 ".%03u\"", job->duration_ms / 1000, (unsigned)(job->duration_ms % 1000));
	if (job->start) {
		start[strcspn(report_time(start, job->start), "Z")] = 0; /* the schema takes no time zone */
		junit_attribute(out, "timestamp", start);
		junit_attribute(out, "hostname", job->host);
	}
	text_puts(out, ">\n");
}

void format_junit(struct text *out, const struct format_view *view)
{
	const struct report *r = view->report;
	struct text cases = {0}; /* their numbers come first */
	struct junit j = {.out = &cases};
	for (uint32_t i = 0; i < r->findings; i++)
		junit_finding(&j, r, &r->finding[i]);
	for (int kind = GSAN_RAW; kind < GSAN_TOLD; kind++)
		if (r->unlisted[kind].findings)
			junit_unlisted(&j, (enum gsan_kind)kind, &r->unlisted[kind]);
	for (uint32_t i = 0; i < r->notes; i++)
		if (!strcmp(r->note[i].key, REPORT_UNCHECKED) || !strcmp(r->note[i].key, REPORT_MODULE))
			junit_unchecked(&j, &r->note[i]);
	for (uint32_t i = 0; i < r->ranks; i++)
		junit_rank(&j, r, i);
	junit_checked(&j, r);
	text_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
	junit_suite(out, &j, &r->job);
	text_add(out, cases.data, cases.size);
	text_puts(out, "\t</testsuite>\n</testsuites>\n");
	out->failed |= cases.failed;
	text_free(&cases);
}

/* SARIF 2.1.0 (OASIS), as code hosts read it: each kind a rule, each finding a result at the user's line of its first access, with the
 * second one, what was inlined, what would have to be mended, and all other pairs that the missing edge explains as related locations. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/formats/escape.h"
#include "report/formats/format.h"
#include "report/frame.h"
#include "report/json.h"

#define SARIF_SCHEMA "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#define SARIF_ROOT "JOBDIR" /* what names of files are meant from */

static const char *const sarif_rules[GSAN_TOLD] = {
	[GSAN_RAW] = "A read that nothing orders behind a write of the same bytes.",
	[GSAN_WAR] = "A write that nothing orders behind a read of the same bytes.",
	[GSAN_WAW] = "Two writes of the same bytes that nothing orders.",
	[GSAN_ATOMIC_PLAIN] = "An atomic and a plain access to the same bytes that nothing orders.",
	[GSAN_SCOPE] = "Two strong accesses whose scopes do not include both.",
	[GSAN_STALE_NC] = "A load by way of the non-coherent cache of what may be written meanwhile.",
};

static void sarif_text(cJSON *object, const char *key, const char *text)
{
	json_string(json_object(object, key), "text", text ? text : "?");
}

static void sarif_driver(cJSON *run)
{
	cJSON *driver = json_object(json_object(run, "tool"), "driver"), *rules;
	json_string(driver, "name", "GSan");
	json_string(driver, "version", GSAN_VERSION);
	rules = json_list(driver, "rules");
	for (int kind = GSAN_RAW; kind < GSAN_TOLD; kind++) {
		cJSON *rule = json_object(rules, NULL);
		json_string(rule, "id", report_kind_name((enum gsan_kind)kind));
		sarif_text(rule, "shortDescription", sarif_rules[kind]);
		json_string(json_object(rule, "defaultConfiguration"), "level", "error");
	}
}

/* An absolute name becomes one from the job's directory, if it is below that. */
static void sarif_artifact(cJSON *physical, const struct report_job *job, const char *file)
{
	const char *name = report_below(job->directory, file);
	struct text uri = {0};
	cJSON *artifact = json_object(physical, "artifactLocation");
	text_puts(&uri, name[0] == '/' ? "file://" : "");
	escape_uri(&uri, name);
	json_string(artifact, "uri", uri.data ? uri.data : "");
	if (name[0] != '/' && job->directory)
		json_string(artifact, "uriBaseId", SARIF_ROOT);
	text_free(&uri);
}

/* In SARIF, of UTF-16 code units; 0: not known. */
static unsigned sarif_column(const struct report_place *at, const char *source)
{
	const unsigned column = report_column(at, source);
	unsigned units = 1;
	if (!source || !column || column > strlen(source))
		return column;
	for (unsigned i = 0; i + 1 < column; i++)
		units += ((source[i] & 0xc0) != 0x80) + ((source[i] & 0xf8) == 0xf0);
	return units;
}

/* source: the line's text, or NULL. */
static void sarif_place(cJSON *location, const struct report_job *job, const struct report_place *at, const char *source)
{
	cJSON *physical = json_object(location, "physicalLocation"), *region;
	sarif_artifact(physical, job, at->file);
	if (!at->line)
		return;
	region = json_object(physical, "region");
	json_number(region, "startLine", at->line);
	if (report_column(at, source))
		json_number(region, "startColumn", sarif_column(at, source));
	if (source)
		sarif_text(region, "snippet", source);
}

/* FILE:LINE as report_add_frame says it, taken apart; file: whose storage it is. */
static struct report_place sarif_frame(struct text *file, const struct report_side *side, int *elsewhere)
{
	*elsewhere = report_add_frame(file, &side->at, side->inlined_at);
	char *colon = file->data ? strrchr(file->data, ':') : NULL;
	if (!*elsewhere || !colon)
		return side->at;
	*colon = 0;
	return (struct report_place){file->data, (uint32_t)strtoul(colon + 1, NULL, 10), 0};
}

static void sarif_function(cJSON *location, const struct report_side *side)
{
	cJSON *logical = json_object(json_list(location, "logicalLocations"), NULL);
	json_string(logical, "name", side->function ? report_function_name(side) : report_kernel_name(side));
	if (side->function ? side->function_name : side->kernel_name)
		json_string(logical, "decoratedName", side->function ? side->function : side->kernel);
	json_string(logical, "kind", "function");
}

/* Where a side is, in the user's own source; and, as a related location, where that was inlined from. */
static void sarif_side(cJSON *locations, cJSON *related, const struct report_job *job, const struct report_side *side, const char *message)
{
	cJSON *location = json_object(locations, NULL);
	struct text file = {0};
	int elsewhere = 0;
	if (side->at.file) {
		const struct report_place frame = sarif_frame(&file, side, &elsewhere);
		sarif_place(location, job, &frame, elsewhere ? NULL : side->source);
	}
	sarif_function(location, side);
	sarif_text(location, "message", message);
	if (elsewhere) {
		location = json_object(related, NULL);
		sarif_place(location, job, &side->at, side->source);
		sarif_text(location, "message", "inlined from here");
	}
	text_free(&file);
}

static void sarif_describe(struct text *out, const char *which, const struct report_side *side)
{
	text_printf(out, "%s access: ", which);
	report_add_operation(out, side);
	text_printf(out, " in kernel %s", side->kernel ? side->kernel : "?");
	if (side->rank >= 0)
		text_printf(out, " of rank %d", side->rank);
	if (side->object)
		text_printf(out, ", at %s", side->object);
}

static void sarif_identify(cJSON *result, const struct report_finding *f)
{
	static const char *const state[] = {[REPORT_NEW] = "new", [REPORT_OLD] = "unchanged"};
	char digits[17];
	snprintf(digits, sizeof digits, "%016" PRIx64, f->cause);
	json_string(json_object(result, "partialFingerprints"), "gsan/v1", digits);
	json_number(result, "occurrenceCount", f->count);
	if (f->age)
		json_string(result, "baselineState", state[f->age]);
	cJSON *properties = json_object(result, "properties");
	if (f->missing_edge_class)
		json_string(properties, "missingEdgeClass", report_class_name(f->missing_edge_class));
	json_bool(properties, "formal", f->formal);
	if (report_is_likely(f))
		json_bool(properties, "likely", 1);
	if (f->pairs + f->pairs_unlisted > 1)
		json_number(properties, "pairs", f->pairs + (uint64_t)f->pairs_unlisted);
}

/* A pair beside the root: `number` counts them. */
static void sarif_pair(cJSON *related, const struct report_job *job, const struct report_finding *pair, uint32_t number)
{
	const struct report_side *const side[] = {&pair->first, &pair->second};
	for (int i = 0; i < 2; i++) {
		struct text message = {0};
		text_printf(&message, "pair %u, ", number);
		sarif_describe(&message, i ? "second" : "first", side[i]);
		sarif_side(related, related, job, side[i], message.data);
		text_free(&message);
	}
}

/* `frame`: of FILE:LINE. */
static void sarif_line(cJSON *related, const struct report_job *job, const struct frame *frame, const char *source, const char *message)
{
	cJSON *location = json_object(related, NULL);
	struct text file = {0};
	text_add(&file, frame->at, frame->file);
	sarif_place(location, job, &(struct report_place){file.data ? file.data : "", frame->line ? frame->line : 1, 0}, source);
	sarif_text(location, "message", message);
	text_free(&file);
}

/* The operations that would have to be mended, and the calls that they were inlined at. */
static void sarif_edge(cJSON *related, const struct report_job *job, const struct report_finding *f)
{
	for (uint32_t i = 0; i < f->edge.ops; i++) {
		const struct report_op *op = &f->edge.op[i];
		struct frame frame = frame_line(&op->at, op->inlined_at, op->inlined_source);
		struct text message = {0};
		text_printf(&message, "%smissing edge: what would have to be mended in kernel %s", report_is_likely(f) ? "likely " : "", op->kernel ? op->kernel : "?");
		sarif_line(related, job, &frame, op->source, message.data);
		text_free(&message);
		while (frame_next(&frame)) {
			char *source = frame.source ? strndup(frame.source, frame.width) : NULL;
			sarif_line(related, job, &frame, source, "missing edge: it was inlined here");
			free(source);
		}
	}
}

static void sarif_suppressed(cJSON *result, const struct report_suppression *by)
{
	cJSON *one = json_object(json_list(result, "suppressions"), NULL);
	struct text why = {0};
	text_printf(&why, "%s:%u: %s", by->file, by->line, by->rule);
	json_string(one, "kind", "external");
	json_string(one, "justification", why.data);
	text_free(&why);
}

static void sarif_result(cJSON *results, const struct report *r, const struct report_finding *f)
{
	const struct report_job *job = &r->job;
	cJSON *result = json_object(results, NULL);
	struct text first = {0}, second = {0}, why = {0};
	report_add_why(&why, f);
	sarif_describe(&first, "first", &f->first);
	sarif_describe(&second, "second", &f->second);
	json_string(result, "ruleId", report_kind_name(f->kind));
	json_number(result, "ruleIndex", (uint64_t)(f->kind - GSAN_RAW));
	json_string(result, "level", f->formal ? "note" : "error");
	sarif_text(result, "message", why.data);
	cJSON *locations = json_list(result, "locations"), *related = json_list(result, "relatedLocations");
	sarif_side(related, related, job, &f->second, second.data);
	sarif_side(locations, related, job, &f->first, first.data);
	sarif_edge(related, job, f);
	for (uint32_t i = 1; i < f->pairs; i++)
		if (report_counts(f, &r->pair[f->pair + i]))
			sarif_pair(related, job, &r->pair[f->pair + i], i + 1);
	sarif_identify(result, f);
	if (f->suppressed)
		sarif_suppressed(result, &r->suppression[f->suppressed - 1]);
	text_free(&first);
	text_free(&second);
	text_free(&why);
}

static void sarif_job(cJSON *invocation, const struct report_job *job)
{
	cJSON *arguments = json_list(invocation, "arguments");
	char text[REPORT_TIME_SIZE];
	for (uint32_t i = 0; i < job->arguments; i++)
		json_item(arguments, job->argv[i]);
	json_string(invocation, "startTimeUtc", report_time(text, job->start));
	json_string(invocation, "endTimeUtc", report_time(text, job->start + (int64_t)(job->duration_ms / 1000)));
	if (job->host)
		json_string(invocation, "machine", job->host);
}

static void sarif_notify(cJSON *notifications, struct text *said)
{
	cJSON *one = json_object(notifications, NULL);
	json_string(one, "level", "warning");
	sarif_text(one, "message", said->data);
	text_free(said);
}

/* Who waits; then what was not checked, or is not listed: a result that is missing is not one that is not there. */
static void sarif_notifications(cJSON *invocation, const struct report *r)
{
	cJSON *notifications = json_list(invocation, "toolExecutionNotifications");
	for (uint32_t i = 0; i < r->waits; i++) {
		struct text said = {0};
		text_printf(&said, "rank %d: ", r->wait[i].side.rank);
		report_add_wait(&said, &r->wait[i]);
		sarif_notify(notifications, &said);
	}
	for (uint32_t i = 0; i < r->notes; i++) {
		const struct report_note *note = &r->note[i];
		struct text said = {0};
		text_printf(&said, "%s: %s: %s", note->key, report_note_name(note), note->reason ? note->reason : "?");
		sarif_notify(notifications, &said);
	}
	for (int kind = 0; kind < GSAN_TOLD; kind++) {
		struct text said = {0};
		text_printf(&said, "%s: %" PRIu64 " more are counted, and not listed (--details)", report_kind_name((enum gsan_kind)kind),
			    r->unlisted[kind].findings);
		if (r->unlisted[kind].findings)
			sarif_notify(notifications, &said);
		text_free(&said);
	}
}

static void sarif_invocation(cJSON *run, const struct report *r)
{
	cJSON *invocation = json_object(json_list(run, "invocations"), NULL);
	int succeeded = !r->unexplored;
	for (uint32_t i = 0; i < r->ranks; i++)
		succeeded &= r->rank[i].end == REPORT_EXITED && !r->rank[i].status;
	json_bool(invocation, "executionSuccessful", succeeded);
	json_integer(invocation, "exitCode", r->exit_status < 0 ? 0 : r->exit_status);
	if (r->job.start)
		sarif_job(invocation, &r->job);
	sarif_notifications(invocation, r);
}

static void sarif_root(cJSON *run, const struct report_job *job)
{
	struct text uri = {0};
	if (!job->directory || !*job->directory)
		return;
	text_puts(&uri, "file://");
	escape_uri(&uri, job->directory);
	text_puts(&uri, job->directory[strlen(job->directory) - 1] == '/' ? "" : "/");
	json_string(json_object(json_object(run, "originalUriBaseIds"), SARIF_ROOT), "uri", uri.data ? uri.data : "");
	text_free(&uri);
}

void format_sarif(struct text *out, const struct format_view *view)
{
	const struct report *r = view->report;
	cJSON *log = json_begin(), *run, *results;
	json_string(log, "$schema", SARIF_SCHEMA);
	json_string(log, "version", "2.1.0");
	run = json_object(json_list(log, "runs"), NULL);
	sarif_driver(run);
	sarif_invocation(run, r);
	sarif_root(run, &r->job);
	results = json_list(run, "results");
	for (uint32_t i = 0; i < r->findings; i++)
		sarif_result(results, r, &r->finding[i]);
	char *text = json_end(log, 1);
	if (text)
		text_puts(out, text);
	else
		out->failed = 1;
	free(text);
}

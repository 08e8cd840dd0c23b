/* summary.json back into a struct report. A key that is missing or of another type is an error that names it; but what a later release
 * added under the same schema_version may be missing, for an older one wrote reports without it (report.h). */
#include "report/report.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/read_value.h"
#include "report/span.h"

#define READ_FINDINGS "findings"
#define READ_SPACE " \t\r\n" /* of JSON */

static const char *const read_counters[] = GSAN_COUNTER_NAMES;
/* Those that every report has; the device grew others. */
static const uint32_t read_counters_always = 1u << GSAN_N_ACCESSES | 1u << GSAN_N_CHECKED | 1u << GSAN_N_FOREIGN | 1u << GSAN_N_UNRECORDED |
					     1u << GSAN_N_LOST | 1u << GSAN_N_DROPPED;

static uint32_t read_also(struct read *x, const cJSON *o)
{
	const cJSON *item, *array = read_array(x, o, "also");
	uint32_t kinds = 0;
	cJSON_ArrayForEach(item, array) {
		enum gsan_kind kind = GSAN_KIND_NONE;
		if (!cJSON_IsString(item) || report_kind_find(item->valuestring, &kind))
			read_wrong(x, "also", "names no kind of finding");
		kinds |= 1u << kind;
	}
	return kinds;
}

static enum report_class read_class(struct read *x, const cJSON *o)
{
	enum report_class class = REPORT_NO_CLASS;
	const char *name = read_string(x, o, "missing_edge_class");
	if (!name || report_class_find(name, &class))
		read_wrong(x, "missing_edge_class", "names no class of missing edges");
	return class;
}

static uint64_t read_fingerprint(struct read *x, const cJSON *o)
{
	const char *digits = read_string(x, o, "fingerprint");
	uint64_t value = 0;
	int end = -1;
	if (!digits || sscanf(digits, "%16" SCNx64 "%n", &value, &end) != 1 || end != 16 || digits[end])
		read_wrong(x, "fingerprint", "is not of 16 hexadecimal digits");
	return value;
}

/* FILE:LINE of one of the report's suppressions. */
static uint32_t read_suppressed(struct read *x, const cJSON *o)
{
	const char *place = read_string(x, o, "suppressed"), *colon = place ? strrchr(place, ':') : NULL;
	const unsigned long line = colon ? strtoul(colon + 1, NULL, 10) : 0;
	for (uint32_t i = 0; colon && i < x->r->suppressions; i++) {
		const struct report_suppression *s = &x->r->suppression[i];
		if (s->line == line && strlen(s->file) == (size_t)(colon - place) && !strncmp(s->file, place, (size_t)(colon - place)))
			return i + 1;
	}
	read_wrong(x, "suppressed", "names none of the suppressions");
	return 0;
}

static void read_op(struct read *x, const cJSON *o, struct report_op *op)
{
	op->kernel = read_string(x, o, "kernel");
	op->at.file = read_string(x, o, "file");
	op->at.line = read_small(x, o, "line");
	op->at.column = read_small(x, o, "column");
	op->inlined_at = read_string(x, o, "inlined_at");
	op->semantics = read_string(x, o, "semantics");
	op->scope = read_string(x, o, "scope");
	op->source = read_string(x, o, "source");
	if (cJSON_HasObjectItem(o, "inlined_source"))
		op->inlined_source = read_lines(x, o, "inlined_source");
	if (!op->at.file)
		read_wrong(x, "edge", "has an operation without a file");
}

static void read_edge(struct read *x, const cJSON *o, struct report_edge *edge)
{
	const cJSON *item, *array = read_array(x, o, "edge");
	cJSON_ArrayForEach(item, array) {
		if (edge->ops == REPORT_EDGE_OPS)
			read_wrong(x, "edge", "has too many operations");
		else
			read_op(x, item, &edge->op[edge->ops++]);
	}
}

/* What a finding and each of its pairs have. */
static void read_race(struct read *x, const cJSON *o, struct report_finding *f)
{
	const char *kind = read_string(x, o, "kind");
	if (!kind || report_kind_find(kind, &f->kind))
		read_wrong(x, "kind", "names no kind of finding");
	f->also = cJSON_HasObjectItem(o, "also") ? read_also(x, o) : 0;
	f->count = read_number(x, o, "count");
	f->within = read_bool(x, o, "one_launch") ? 0 : REPORT_LAUNCHES_APART; /* older reports do not say */
	read_side(x, o, "first", &f->first);
	read_side(x, o, "second", &f->second);
	read_allocation(x, o, &f->allocation);
	if (cJSON_HasObjectItem(o, "allocations"))
		read_allocations(x, o, f);
	f->memory_unlisted = read_bool(x, o, "allocations_unlisted");
	f->missing_edge = read_string(x, o, "missing_edge");
	f->missing_edge_class = cJSON_HasObjectItem(o, "missing_edge_class") ? read_class(x, o) : REPORT_NO_CLASS; /* older reports */
	if (cJSON_HasObjectItem(o, "edge"))
		read_edge(x, o, &f->edge);
	f->certain = !read_bool(x, o, "guessed");
	f->only = read_bool(x, o, "only_flag");
	f->formal = read_bool(x, o, "formal");
	f->suppressed = cJSON_HasObjectItem(o, "suppressed") ? read_suppressed(x, o) : 0;
	if (cJSON_HasObjectItem(o, "old"))
		f->age = read_bool(x, o, "old") ? REPORT_OLD : REPORT_NEW;
	if (cJSON_HasObjectItem(o, "schedules")) {
		f->schedules = read_small(x, o, "schedules");
		f->first_seed = read_number(x, o, "first_seed");
	}
	f->group = x->findings;
}

static void read_append(struct read *x, const struct report_finding *f)
{
	if (!x->rc && report_append_finding(x->r, f))
		x->rc = -ENOMEM;
}

/* What the pairs from `first` on count; all: suppressed ones, too. */
static uint64_t read_counted(const struct report *r, uint32_t first, int all)
{
	uint64_t sum = 0;
	for (uint32_t i = first; i < r->findings; i++)
		sum += all || !r->finding[i].suppressed ? r->finding[i].count : 0;
	return sum;
}

/* Of the finding that they are: how many further ones there are, and what they count. */
static void read_pairs_unlisted(struct read *x, const cJSON *o, const struct report_finding *f, uint32_t first)
{
	const uint64_t some = read_counted(x->r, first, 0), sum = some ? some : read_counted(x->r, first, 1);
	const uint32_t unlisted = cJSON_HasObjectItem(o, "pairs_unlisted") ? read_small(x, o, "pairs_unlisted") : 0;
	if (first == x->r->findings || f->count < sum || (f->count > sum && !unlisted))
		read_wrong(x, "count", "is not that of its pairs");
	if (x->rc)
		return;
	x->r->finding[first].pairs_unlisted = unlisted;
	x->r->finding[first].count_unlisted = f->count - sum;
	x->r->finding[first].kinds_unlisted = unlisted ? f->also | 1u << f->kind : 0;
}

/* One with several pairs is what those are. */
static void read_finding(struct read *x, const cJSON *o)
{
	const uint32_t first = x->r->findings;
	const cJSON *item, *array = cJSON_HasObjectItem(o, "pairs") ? read_array(x, o, "pairs") : NULL;
	struct report_finding f = {0};
	read_race(x, o, &f);
	x->unidentified |= !cJSON_HasObjectItem(o, "fingerprint"); /* older reports */
	f.cause = x->unidentified ? 0 : read_fingerprint(x, o);
	if (!array)
		read_append(x, &f);
	cJSON_ArrayForEach(item, array) {
		struct report_finding pair = {.cause = f.cause};
		read_race(x, item, &pair);
		read_append(x, &pair);
	}
	if (array)
		read_pairs_unlisted(x, o, &f, first);
	x->findings++;
}

/* Each parsed alone. */
static void read_elements(struct read *x, const struct span *list)
{
	const char *at = list->from, *end, *const last = list->to - 1;
	if (at + 1 + strspn(at + 1, READ_SPACE) == last)
		return;
	for (; !x->rc && (at == list->from || *at == ','); at = end + strspn(end, READ_SPACE)) {
		cJSON *o = cJSON_ParseWithLengthOpts(at + 1, (size_t)(list->to - at - 1), &end, 0); /* else it asks how long all is */
		if (o)
			read_finding(x, o);
		else
			read_wrong(x, READ_FINDINGS, "is not JSON");
		cJSON_Delete(o);
	}
	if (at != last)
		read_wrong(x, READ_FINDINGS, "is not JSON");
}

static void read_findings(struct read *x, const cJSON *root, const struct span *list)
{
	read_array(x, root, READ_FINDINGS);
	if (list->from)
		read_elements(x, list);
	if (!x->rc && (report_regroup(x->r) || report_identify_pairs(x->r)))
		x->rc = -ENOMEM;
	for (uint32_t i = 0; i < x->r->findings && x->unidentified; i++)
		x->r->finding[i].cause = x->r->finding[i].fingerprint;
	const uint64_t formal = read_later(x, root, "formal_findings"), listed = report_formal(x->r);
	if (cJSON_HasObjectItem(root, "formal_findings") && (formal < listed || formal > UINT32_MAX))
		read_wrong(x, "formal_findings", "is another number than there are");
	else
		x->r->formal_unlisted = (uint32_t)(formal > listed ? formal - listed : 0);
}

/* A list of numbers below 32, as bits. */
static uint32_t read_bits(struct read *x, const cJSON *o, const char *key)
{
	const cJSON *item, *array = read_array(x, o, key);
	uint32_t bits = 0;
	cJSON_ArrayForEach(item, array)
		if (cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 32)
			bits |= 1u << (int)item->valuedouble;
		else
			read_wrong(x, key, "holds something that is no number from 0 to 31");
	return bits;
}

static void read_notes(struct read *x, const cJSON *coverage, const char *key, const char *name)
{
	const cJSON *o, *array = read_array(x, coverage, key);
	cJSON_ArrayForEach(o, array) {
		struct report_note note = {.key = REPORT_UNCHECKED};
		if (!strcmp(name, "name"))
			note.key = read_string(x, o, "key");
		note.name = read_string(x, o, name);
		note.kernel_name = read_maybe(x, o, "kernel_name");
		note.reason = read_string(x, o, "reason");
		note.ranks = read_bits(x, o, "ranks");
		if (!note.key)
			read_wrong(x, "key", "is null");
		if (!x->rc && report_add_note(x->r, &note))
			x->rc = -ENOMEM;
	}
}

static void read_coverage(struct read *x, const cJSON *root)
{
	const cJSON *o = read_object(x, root, "coverage"), *item;
	struct report_rank *sum = &x->r->rank[0]; /* the summary has sums only: they stand with the first rank */
	sum->launches_checked = read_number(x, o, "launches_checked");
	sum->launches_unchecked = read_number(x, o, "launches_unchecked");
	sum->launches_left_out = read_later(x, o, "launches_left_out");
	sum->copies_checked = read_later(x, o, "copies_checked");
	sum->copies_unchecked = read_later(x, o, "copies_unchecked");
	read_notes(x, o, "kernels_unchecked", "kernel");
	read_notes(x, o, "notes", "name");
	const cJSON *left = read_array(x, o, "left");
	cJSON_ArrayForEach(item, left) {
		struct report_left one = {.at.file = read_string(x, item, "file"), .ranks = 1};
		one.at.line = read_small(x, item, "line");
		one.opcode = read_string(x, item, "opcode");
		one.reason = read_string(x, item, "reason");
		if (!x->rc && report_add_left(x->r, &one))
			x->rc = -ENOMEM;
	}
	const cJSON *counters = read_object(x, o, "counters");
	for (int i = 0; i < GSAN_N_COUNTERS; i++)
		sum->counter[i] = (read_counters_always >> i & 1 ? read_number : read_later)(x, counters, read_counters[i]);
	x->r->withheld = read_number(x, o, "withheld");
	x->r->withheld_merged = read_later(x, o, "withheld_merged");
	x->r->ordered_late = read_number(x, o, "ordered_late");
	sum->memory_bytes = read_number(x, o, "memory_bytes");
	sum->shadow_bytes = read_number(x, o, "shadow_bytes");
	sum->tables_bytes = read_later(x, o, "tables_bytes");
}

static void read_suppressions(struct read *x, const cJSON *root)
{
	const cJSON *o, *array = read_array(x, root, "suppressions");
	cJSON_ArrayForEach(o, array) {
		uint32_t number;
		const struct report_suppression one = {read_string(x, o, "file"), read_small(x, o, "line"), read_string(x, o, "rule"),
						       read_number(x, o, "findings"), read_number(x, o, "count")};
		if (!one.file || !one.rule)
			read_wrong(x, "suppressions", "lacks a file or a rule");
		if (!x->rc && report_add_suppression(x->r, &one, &number))
			x->rc = -ENOMEM;
	}
}

static void read_wait(struct read *x, const cJSON *o)
{
	struct report_wait w = {0};
	read_side(x, o, "read", &w.side);
	w.address = read_hex(x, o, "address");
	read_allocation(x, o, &w.allocation);
	w.value_known = !cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(o, "value"));
	w.value = read_hex(x, o, "value");
	w.times = read_number(x, o, "times");
	if (x->r->waits == REPORT_WAITS_MAX)
		read_wrong(x, "waits", "are too many");
	if (!x->rc)
		report_append_wait(x->r, &w);
}

static void read_waits(struct read *x, const cJSON *root)
{
	const cJSON *o, *array = read_array(x, root, "waits");
	cJSON_ArrayForEach(o, array)
		read_wait(x, o);
	x->r->waits_unlisted = cJSON_HasObjectItem(root, "waits_unlisted") ? read_small(x, root, "waits_unlisted") : 0;
}

static void read_unlisted(struct read *x, const cJSON *root)
{
	const cJSON *o, *array = read_array(x, root, "unlisted");
	cJSON_ArrayForEach(o, array) {
		enum gsan_kind kind = GSAN_KIND_NONE;
		const char *name = read_string(x, o, "kind");
		if (!name || report_kind_find(name, &kind))
			read_wrong(x, "kind", "names no kind of finding");
		x->r->unlisted[kind].findings = read_number(x, o, "findings");
		x->r->unlisted[kind].count = read_number(x, o, "count");
	}
}

static void read_rank(struct read *x, const cJSON *o)
{
	if (x->r->ranks == REPORT_RANKS_MAX) {
		read_wrong(x, "ranks", "are too many");
		return;
	}
	struct report_rank *one = &x->r->rank[x->r->ranks++];
	const char *end = read_string(x, o, "end");
	int found = 0, status = read_integer(x, o, "status"), signal = read_integer(x, o, "signal");
	for (enum report_end e = REPORT_RUNNING; end && e <= REPORT_MISSING; e++)
		if (!strcmp(end, report_end_name(e))) {
			one->end = e;
			found = 1;
		}
	if (!found)
		read_wrong(x, "end", "names no way to end");
	one->status = one->end == REPORT_SIGNALLED ? signal : status;
	one->gpu = read_integer(x, o, "gpu");
	one->gpu_name = read_string(x, o, "gpu_name");
	one->gpu_bus = read_string(x, o, "gpu_bus");
	one->gpus = cJSON_HasObjectItem(o, "gpus") ? read_bits(x, o, "gpus") : one->gpu >= 0 && one->gpu < REPORT_GPUS_MAX ? 1u << one->gpu : 0;
}

static void read_gpu(struct read *x, const cJSON *o)
{
	if (x->r->gpus == REPORT_GPUS_MAX) {
		read_wrong(x, "gpus", "are too many");
		return;
	}
	struct report_gpu *one = &x->r->gpu[x->r->gpus++];
	const cJSON *links = cJSON_GetObjectItemCaseSensitive(o, "nvlinks"), *item;
	uint32_t to = 0;
	one->number = read_integer(x, o, "gpu");
	one->bus = read_string(x, o, "bus");
	one->numa = read_integer(x, o, "numa");
	one->linked = cJSON_IsArray(links);
	if (!one->linked && !cJSON_IsNull(links))
		read_wrong(x, "nvlinks", "is neither a list nor null");
	cJSON_ArrayForEach(item, links)
		if (to == REPORT_GPUS_MAX || !cJSON_IsNumber(item) || item->valuedouble < 0 || item->valuedouble > 1000)
			read_wrong(x, "nvlinks", "is not a list of numbers of links");
		else
			one->links[to++] = (uint32_t)item->valuedouble;
}

static void read_gpus(struct read *x, const cJSON *root)
{
	const cJSON *item, *list = read_array(x, root, "gpus");
	cJSON_ArrayForEach(item, list)
		read_gpu(x, item);
}

static void read_explored(struct read *x, const cJSON *root)
{
	const cJSON *o = read_object(x, root, "explored");
	x->r->schedules = read_small(x, o, "schedules");
	x->r->schedule = report_copy(x->r, read_string(x, o, "schedule"));
	x->r->first_seed = read_number(x, o, "first_seed");
	x->r->unexplored = cJSON_HasObjectItem(o, "unexplored") ? read_small(x, o, "unexplored") : 0;
}

static void read_argv(struct read *x, const cJSON *job)
{
	const cJSON *item, *list = read_array(x, job, "argv");
	const char **argv = pool_alloc(&x->r->pool, (size_t)cJSON_GetArraySize(list) * sizeof *argv);
	cJSON_ArrayForEach(item, list)
		if (!argv || !cJSON_IsString(item))
			read_wrong(x, "argv", "is not a list of texts");
		else
			argv[x->r->job.arguments++] = report_copy(x->r, item->valuestring);
	x->r->job.argv = argv;
}

static void read_timeline(struct read *x, const cJSON *job)
{
	const cJSON *item, *at, *list = read_array(x, job, "timeline");
	struct report_lane lane[REPORT_LANES_MAX];
	struct report_point point[REPORT_LANES_MAX][REPORT_POINTS];
	uint32_t lanes = 0;
	cJSON_ArrayForEach(item, list) {
		if (lanes == REPORT_LANES_MAX) {
			read_wrong(x, "timeline", "is too long");
			return;
		}
		struct report_lane *l = &lane[lanes];
		*l = (struct report_lane){read_integer(x, item, "participant"), read_integer(x, item, "rank"), read_integer(x, item, "gpu"), 0, point[lanes]};
		cJSON_ArrayForEach(at, read_array(x, item, "points")) {
			if (l->points == REPORT_POINTS) {
				read_wrong(x, "points", "is too long");
				return;
			}
			point[lanes][l->points++] = (struct report_point){read_number(x, at, "ms"), read_small(x, at, "number")};
		}
		lanes++;
	}
	if (!x->rc && report_set_lanes(x->r, lane, lanes))
		x->rc = -ENOMEM;
}

static void read_job(struct read *x, const cJSON *root)
{
	const cJSON *o = read_object(x, root, "job");
	struct report_job *job = &x->r->job;
	struct tm utc = {0};
	read_argv(x, o);
	job->host = read_string(x, o, "host");
	job->directory = read_string(x, o, "directory");
	const char *start = read_string(x, o, "start"), *end = start ? strptime(start, REPORT_TIME, &utc) : NULL;
	if (!end || *end)
		read_wrong(x, "start", "is not a time");
	job->start = timegm(&utc);
	job->duration_ms = read_number(x, o, "duration_ms");
	job->seed = read_number(x, o, "seed");
	job->device = read_string(x, o, "device");
	job->driver = read_string(x, o, "driver");
	job->commit = read_string(x, o, "commit");
	if (cJSON_HasObjectItem(o, "timeline")) /* older reports have none */
		read_timeline(x, o);
}

/* All but the findings: they stand where `list` says. *more: something stands behind its end. */
static cJSON *read_frame(const char *json, struct span *list, int *more)
{
	struct text frame = {0};
	const char *end = "";
	*list = span_find(json, READ_FINDINGS);
	if (list->from) {
		text_add(&frame, json, (size_t)(list->from - json));
		text_puts(&frame, "[]");
		text_puts(&frame, list->to);
	}
	cJSON *root = cJSON_ParseWithOpts(frame.data ? frame.data : json, &end, 0);
	*more = root && end[strspn(end, " \t\r\n")];
	text_free(&frame);
	return root;
}

int report_read(struct report *r, const char *json, char *error, size_t error_size)
{
	struct read x = {.r = r, .error = error, .error_size = error_size};
	struct span list;
	const cJSON *item;
	*r = (struct report){0};
	int more;
	cJSON *root = read_frame(json, &list, &more);
	if (!cJSON_IsObject(root) || more) {
		snprintf(error, error_size, !root ? "is not JSON" : more ? "has something behind the end of its report" : "is JSON, but no report");
		cJSON_Delete(root);
		return -EINVAL;
	}
	if (read_number(&x, root, "schema_version") != REPORT_SCHEMA_VERSION)
		read_wrong(&x, "schema_version", "is one that this program does not know");
	const cJSON *ranks = read_array(&x, root, "ranks");
	cJSON_ArrayForEach(item, ranks)
		read_rank(&x, item);
	if (cJSON_HasObjectItem(root, "gpus")) /* nor have older reports this */
		read_gpus(&x, root);
	if (cJSON_HasObjectItem(root, "job")) /* older reports have none */
		read_job(&x, root);
	r->merged = (uint32_t)read_later(&x, root, "merged");
	r->unchecked = (uint32_t)read_later(&x, root, "nothing_checked");
	r->deselected = (uint32_t)read_later(&x, root, "deselected");
	if (cJSON_HasObjectItem(root, "explored"))
		read_explored(&x, root);
	if (cJSON_HasObjectItem(root, "suppressions"))
		read_suppressions(&x, root);
	if (cJSON_HasObjectItem(root, "unlisted"))
		read_unlisted(&x, root);
	if (cJSON_HasObjectItem(root, "waits"))
		read_waits(&x, root);
	read_findings(&x, root, &list);
	read_coverage(&x, root);
	r->exit_status = read_integer(&x, root, "exit");
	cJSON_Delete(root);
	return x.rc;
}

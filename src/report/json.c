/* The report as JSON (configs/report.schema.json). Keys come in one fixed order, and numbers are whole. What changes from run to run stands
 * under `job`, in the summary alone; but for process ids, of findings between two processes of one rank, whose sides nothing else tells
 * apart. */
#include "report/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const json_counters[] = GSAN_COUNTER_NAMES;
static int json_failed;

static cJSON *json_check(cJSON *made)
{
	if (!made)
		json_failed = 1;
	return made;
}

cJSON *json_begin(void)
{
	json_failed = 0;
	return json_check(cJSON_CreateObject());
}

/* The object is gone; NULL: something has failed. */
static char *json_print(cJSON *root, int indent)
{
	char *printed = json_failed ? NULL : indent ? cJSON_Print(root) : cJSON_PrintUnformatted(root);
	cJSON_Delete(root);
	return printed;
}

char *json_end(cJSON *root, int indent)
{
	char *printed = json_print(root, indent);
	struct text out = {0};
	if (printed) {
		text_puts(&out, printed);
		text_puts(&out, "\n");
	}
	cJSON_free(printed);
	return out.data ? text_take(&out) : NULL;
}

void json_number(cJSON *object, const char *key, uint64_t value)
{
	json_check(cJSON_AddNumberToObject(object, key, (double)value));
}

void json_integer(cJSON *object, const char *key, int value)
{
	json_check(value < 0 ? cJSON_AddNullToObject(object, key) : cJSON_AddNumberToObject(object, key, value));
}

void json_string(cJSON *object, const char *key, const char *value)
{
	json_check(value ? cJSON_AddStringToObject(object, key, value) : cJSON_AddNullToObject(object, key));
}

void json_bool(cJSON *object, const char *key, int value) { json_check(cJSON_AddBoolToObject(object, key, value)); }

/* To the list, or as the key of the object. */
static cJSON *json_put(cJSON *into, const char *key, cJSON *made)
{
	if (json_check(made) && (key ? cJSON_AddItemToObject(into, key, made) : cJSON_AddItemToArray(into, made)))
		return made;
	json_failed = 1;
	cJSON_Delete(made);
	return NULL;
}

cJSON *json_object(cJSON *object, const char *key) { return json_put(object, key, cJSON_CreateObject()); }
cJSON *json_list(cJSON *object, const char *key) { return json_put(object, key, cJSON_CreateArray()); }
void json_item(cJSON *list, const char *value) { json_put(list, NULL, cJSON_CreateString(value)); }

static void json_triple(cJSON *object, const char *key, const uint32_t *value, int known)
{
	const int numbers[3] = {(int)value[0], (int)value[1], (int)value[2]};
	json_put(object, key, known ? cJSON_CreateIntArray(numbers, 3) : cJSON_CreateNull());
}

static void json_place(cJSON *object, const struct report_place *at)
{
	json_string(object, "file", at->file);
	json_number(object, "line", at->line);
	json_number(object, "column", at->column);
}

/* Not there if people call it as the driver does. */
static void json_name(cJSON *object, const char *key, const char *name)
{
	if (name)
		json_string(object, key, name);
}

/* Where there are any. */
static void json_lines(cJSON *object, const char *key, const char *lines)
{
	cJSON *array = lines ? json_list(object, key) : NULL;
	for (size_t n; lines; lines = lines[n] ? lines + n + 1 : NULL) {
		n = strcspn(lines, "\n");
		char *line = strndup(lines, n);
		json_item(array, line);
		free(line);
	}
}

static void json_side(cJSON *finding, const char *key, const struct report_side *side, int with_pid)
{
	cJSON *o = json_object(finding, key);
	json_integer(o, "rank", side->rank);
	json_integer(o, "gpu", side->gpu);
	json_integer(o, "participant", side->participant);
	if (with_pid && side->pid > 0)
		json_integer(o, "pid", side->pid);
	json_string(o, "kernel", side->kernel);
	json_name(o, "kernel_name", side->kernel_name);
	json_triple(o, "grid", side->grid, side->grid[0] > 0);
	json_triple(o, "cta", side->cta, side->cta_known);
	json_number(o, "launch", side->launch);
	if (side->stream)
		json_number(o, "stream", side->stream - 1);
	json_place(o, &side->at);
	if (side->in_ptx)
		json_bool(o, "in_ptx", 1);
	json_string(o, "function", side->function);
	json_name(o, "function_name", side->function_name);
	json_string(o, "inlined_at", side->inlined_at);
	json_name(o, "object", side->object);
	json_string(o, "op", side->op);
	json_number(o, "bytes", side->bytes);
	json_string(o, "semantics", side->semantics);
	json_string(o, "scope", side->scope);
	json_string(o, "source", side->source);
	json_lines(o, "inlined_source", side->inlined_source);
}

static void json_hex(cJSON *object, const char *key, uint64_t value)
{
	char digits[32];
	snprintf(digits, sizeof digits, "0x%" PRIx64, value);
	json_string(object, key, digits);
}

static void json_memory(cJSON *o, const struct report_allocation *a)
{
	json_integer(o, "rank", a->rank);
	json_hex(o, "base", a->base);
	json_number(o, "size", a->size);
	json_number(o, "offset", a->offset);
	json_string(o, "label", a->label);
}

static void json_allocation(cJSON *of, const struct report_allocation *a)
{
	if (a->size)
		json_memory(json_object(of, "allocation"), a);
	else
		json_check(cJSON_AddNullToObject(of, "allocation"));
}

/* Where there are several. */
static void json_allocations(cJSON *finding, const struct report_finding *f)
{
	cJSON *array = f->memories ? json_list(finding, "allocations") : NULL;
	for (uint32_t i = 0; i < f->memories; i++)
		json_memory(json_object(array, NULL), &f->memory[i]);
	if (f->memory_unlisted)
		json_bool(finding, "allocations_unlisted", 1);
}

static void json_also(cJSON *finding, uint32_t kinds)
{
	cJSON *array = json_list(finding, "also");
	for (int i = 0; i < 32; i++)
		if (kinds >> i & 1)
			json_item(array, report_kind_name((enum gsan_kind)i));
}

static void json_fingerprint(cJSON *finding, uint64_t fingerprint)
{
	char digits[17];
	snprintf(digits, sizeof digits, "%016" PRIx64, fingerprint);
	json_string(finding, "fingerprint", digits);
}

static void json_suppressed(cJSON *finding, const struct report_suppression *by)
{
	struct text place = {0};
	text_printf(&place, "%s:%u", by->file, by->line);
	json_string(finding, "suppressed", place.data);
	text_free(&place);
}

/* The operations that would have to be mended. */
static void json_edge(cJSON *finding, const struct report_edge *edge)
{
	cJSON *array = edge->ops ? json_list(finding, "edge") : NULL;
	for (uint32_t i = 0; i < edge->ops; i++) {
		const struct report_op *op = &edge->op[i];
		cJSON *o = json_object(array, NULL);
		json_string(o, "kernel", op->kernel);
		json_place(o, &op->at);
		json_string(o, "inlined_at", op->inlined_at);
		json_string(o, "semantics", op->semantics);
		json_string(o, "scope", op->scope);
		json_string(o, "source", op->source);
		json_lines(o, "inlined_source", op->inlined_source);
	}
}

/* What a finding and each of its pairs have. */
static void json_race(cJSON *o, const struct report *r, const struct report_finding *f, uint64_t fingerprint)
{
	json_string(o, "kind", report_kind_name(f->kind));
	if (f->also)
		json_also(o, f->also);
	json_fingerprint(o, fingerprint);
	json_number(o, "count", f->count);
	if (report_in_one_launch(f))
		json_bool(o, "one_launch", 1);
	json_side(o, "first", &f->first, report_two_participants(f));
	json_side(o, "second", &f->second, report_two_participants(f));
	json_allocation(o, &f->allocation);
	json_allocations(o, f);
	json_string(o, "missing_edge", f->missing_edge);
	if (f->missing_edge_class)
		json_string(o, "missing_edge_class", report_class_name(f->missing_edge_class));
	json_edge(o, &f->edge);
	if (f->edge.ops && !f->certain)
		json_bool(o, "guessed", 1);
	if (f->edge.ops && f->only)
		json_bool(o, "only_flag", 1);
	json_bool(o, "formal", f->formal);
	if (f->suppressed)
		json_suppressed(o, &r->suppression[f->suppressed - 1]);
	if (f->age)
		json_bool(o, "old", f->age == REPORT_OLD);
	if (!f->schedules)
		return;
	json_number(o, "schedules", f->schedules);
	json_number(o, "first_seed", f->first_seed);
}

void json_finding(cJSON *o, const struct report *r, const struct report_finding *f, const struct report_finding *pair)
{
	json_race(o, r, f, f->cause);
	if (f->pairs_unlisted)
		json_number(o, "pairs_unlisted", f->pairs_unlisted);
	cJSON *array = f->pairs ? json_list(o, "pairs") : NULL;
	for (uint32_t i = 0; i < f->pairs; i++)
		json_race(json_object(array, NULL), r, &pair[i], pair[i].fingerprint);
}

static int json_is_of(const struct report_finding *f, int rank) { return f->first.rank == rank || f->second.rank == rank; }

/* A finding of the pairs that concern a rank; those are gathered in `pair`, which has room for all. Returns their number. */
static uint32_t json_of_rank(const struct report *r, const struct report_finding *f, int rank, struct report_finding *whole,
			     struct report_finding *pair)
{
	uint32_t all, n = 0;
	const struct report_finding *of = report_pairs(r, f, &all);
	for (uint32_t i = 0; i < all; i++)
		if (json_is_of(&of[i], rank))
			pair[n++] = of[i];
	if (!n)
		return 0;
	*whole = report_whole(pair, n);
	whole->pairs = n > 1 ? n : 0;
	whole->count -= whole->count_unlisted; /* of whom those are nobody knows */
	whole->pairs_unlisted = f->pairs_unlisted;
	return n;
}

/* As cJSON prints it as an element of a list of the root: no string holds a newline. */
static void json_add_element(struct text *out, const char *printed)
{
	for (size_t n; *printed; printed += n) {
		n = strcspn(printed, "\n");
		text_add(out, printed, n);
		if (!printed[n])
			continue;
		text_puts(out, "\n\t\t");
		n++;
	}
}

static void json_add_finding(struct text *out, const struct report *r, const struct report_finding *f, const struct report_finding *pair)
{
	cJSON *o = json_begin();
	json_finding(o, r, f, pair);
	char *printed = json_print(o, 1);
	out->failed |= !printed;
	json_add_element(out, printed ? printed : "");
	cJSON_free(printed);
}

/* One at a time: as a tree, all of them take several times their text. */
static void json_add_findings(struct text *out, const struct report *r, int rank)
{
	struct report_finding *pair = rank < 0 ? NULL : malloc((r->pairs + 1) * sizeof *pair);
	const char *before = "[";
	out->failed |= rank >= 0 && !pair;
	for (uint32_t i = 0; i < r->findings && !out->failed; i++) {
		const struct report_finding *f = &r->finding[i];
		struct report_finding of_rank = {0};
		uint32_t n;
		if (rank >= 0 && !json_of_rank(r, f, rank, &of_rank, pair))
			continue;
		text_puts(out, before);
		json_add_finding(out, r, rank < 0 ? f : &of_rank, rank < 0 ? report_pairs(r, f, &n) : pair);
		before = ", ";
	}
	text_puts(out, before[0] == '[' ? "[]" : "]");
	free(pair);
}

static int json_concerns(uint32_t ranks, int rank) { return rank < 0 || (ranks >> rank & 1); }

/* The numbers of its bits. */
static void json_bits(cJSON *object, const char *key, uint32_t bits)
{
	cJSON *array = json_list(object, key);
	for (int i = 0; i < 32; i++)
		if (bits >> i & 1)
			json_put(array, NULL, cJSON_CreateNumber(i));
}

/* The notes of kernels (kernels_unchecked), or all others (notes). */
static void json_notes(cJSON *coverage, const char *key, const struct report *r, int rank, int kernels)
{
	cJSON *array = json_list(coverage, key);
	for (uint32_t i = 0; i < r->notes; i++) {
		const struct report_note *note = &r->note[i];
		if ((strcmp(note->key, REPORT_UNCHECKED) == 0) != kernels || !json_concerns(note->ranks, rank))
			continue;
		cJSON *o = json_object(array, NULL);
		if (!kernels)
			json_string(o, "key", note->key);
		json_string(o, kernels ? "kernel" : "name", note->name);
		json_name(o, "kernel_name", note->kernel_name);
		json_string(o, "reason", note->reason);
		json_bits(o, "ranks", note->ranks);
	}
}

static void json_left(cJSON *coverage, const struct report *r, int rank)
{
	cJSON *array = json_list(coverage, "left");
	for (uint32_t i = 0; i < r->lefts; i++) {
		const struct report_left *left = &r->left[i];
		if (!json_concerns(left->ranks, rank))
			continue;
		cJSON *o = json_object(array, NULL);
		json_string(o, "file", left->at.file);
		json_number(o, "line", left->at.line);
		json_string(o, "opcode", left->opcode);
		json_string(o, "reason", left->reason);
	}
}

static void json_coverage(cJSON *root, const struct report *r, int rank)
{
	cJSON *o = json_object(root, "coverage");
	struct report_rank sum = rank < 0 ? report_total(r) : r->rank[rank];
	json_number(o, "launches_checked", sum.launches_checked);
	json_number(o, "launches_unchecked", sum.launches_unchecked);
	json_number(o, "launches_left_out", sum.launches_left_out);
	json_number(o, "copies_checked", sum.copies_checked);
	json_number(o, "copies_unchecked", sum.copies_unchecked);
	json_notes(o, "kernels_unchecked", r, rank, 1);
	json_left(o, r, rank);
	json_notes(o, "notes", r, rank, 0);
	cJSON *counters = json_object(o, "counters");
	for (int i = 0; i < GSAN_N_COUNTERS; i++)
		json_number(counters, json_counters[i], sum.counter[i]);
	json_number(o, "withheld", sum.withheld);
	json_number(o, "withheld_merged", sum.withheld_merged);
	json_number(o, "ordered_late", sum.ordered_late);
	json_number(o, "memory_bytes", sum.memory_bytes);
	json_number(o, "shadow_bytes", sum.shadow_bytes);
	json_number(o, "tables_bytes", sum.tables_bytes);
}

static void json_rank(cJSON *array, const struct report *r, uint32_t i)
{
	const struct report_rank *one = &r->rank[i];
	cJSON *o = json_object(array, NULL);
	json_number(o, "rank", i);
	json_string(o, "end", report_end_name(one->end));
	json_integer(o, "status", one->end == REPORT_EXITED ? one->status : -1);
	json_integer(o, "signal", one->end == REPORT_SIGNALLED ? one->status : -1);
	json_integer(o, "gpu", one->gpu);
	json_string(o, "gpu_name", one->gpu_name);
	json_string(o, "gpu_bus", one->gpu_bus);
	if (one->gpus & (one->gpus - 1))
		json_bits(o, "gpus", one->gpus);
}

static void json_gpus(cJSON *root, const struct report *r)
{
	cJSON *array = json_list(root, "gpus");
	for (uint32_t i = 0; i < r->gpus; i++) {
		const struct report_gpu *one = &r->gpu[i];
		cJSON *o = json_object(array, NULL), *links;
		json_number(o, "gpu", (uint64_t)one->number);
		json_string(o, "bus", one->bus);
		json_integer(o, "numa", one->numa);
		if (!one->linked) {
			json_check(cJSON_AddNullToObject(o, "nvlinks"));
			continue;
		}
		links = json_list(o, "nvlinks");
		for (uint32_t j = 0; j < r->gpus; j++)
			json_put(links, NULL, cJSON_CreateNumber(one->links[j]));
	}
}

static void json_explored(cJSON *root, const struct report *r)
{
	cJSON *o = json_object(root, "explored");
	json_number(o, "schedules", r->schedules);
	json_string(o, "schedule", r->schedule);
	json_number(o, "first_seed", r->first_seed);
	if (r->unexplored)
		json_number(o, "unexplored", r->unexplored);
}

static void json_timeline(cJSON *root, const struct report_job *job)
{
	cJSON *list = json_list(root, "timeline");
	for (uint32_t i = 0; i < job->lanes; i++) {
		const struct report_lane *lane = &job->lane[i];
		cJSON *o = json_object(list, NULL);
		json_integer(o, "participant", lane->participant);
		json_integer(o, "rank", lane->rank);
		json_integer(o, "gpu", lane->gpu);
		cJSON *points = json_list(o, "points");
		for (uint32_t k = 0; k < lane->points; k++) {
			cJSON *point = json_object(points, NULL);
			json_number(point, "ms", lane->point[k].ms);
			json_number(point, "number", lane->point[k].number);
		}
	}
}

void json_job(cJSON *root, const struct report_job *job)
{
	cJSON *o = json_object(root, "job"), *argv = json_list(o, "argv");
	char start[REPORT_TIME_SIZE];
	for (uint32_t i = 0; i < job->arguments; i++)
		json_item(argv, job->argv[i]);
	json_string(o, "host", job->host);
	json_string(o, "directory", job->directory);
	json_string(o, "start", report_time(start, job->start));
	json_number(o, "duration_ms", job->duration_ms);
	json_number(o, "seed", job->seed);
	json_string(o, "device", job->device);
	json_string(o, "driver", job->driver);
	json_string(o, "commit", job->commit);
	if (job->lanes)
		json_timeline(o, job);
}

static void json_unlisted(cJSON *root, const struct report *r)
{
	cJSON *array = report_unlisted(r) ? json_list(root, "unlisted") : NULL;
	for (int kind = 0; kind < GSAN_TOLD; kind++) {
		const struct report_unlisted *u = &r->unlisted[kind];
		if (!u->findings)
			continue;
		cJSON *o = json_object(array, NULL);
		json_string(o, "kind", report_kind_name((enum gsan_kind)kind));
		json_number(o, "findings", u->findings);
		json_number(o, "count", u->count);
	}
}

static void json_suppressions(cJSON *root, const struct report *r)
{
	cJSON *array = r->suppressions ? json_list(root, "suppressions") : NULL;
	for (uint32_t i = 0; i < r->suppressions; i++) {
		const struct report_suppression *s = &r->suppression[i];
		cJSON *o = json_object(array, NULL);
		json_string(o, "file", s->file);
		json_number(o, "line", s->line);
		json_string(o, "rule", s->rule);
		json_number(o, "findings", s->findings);
		json_number(o, "count", s->count);
	}
}

static void json_waits(cJSON *root, const struct report *r, int rank)
{
	cJSON *array = r->waits ? json_list(root, "waits") : NULL;
	for (uint32_t i = 0; i < r->waits; i++) {
		const struct report_wait *w = &r->wait[i];
		if (rank >= 0 && w->side.rank != rank)
			continue;
		cJSON *o = json_object(array, NULL);
		json_side(o, "read", &w->side, 0);
		json_hex(o, "address", w->address);
		json_allocation(o, &w->allocation);
		if (w->value_known)
			json_hex(o, "value", w->value);
		else
			json_string(o, "value", NULL);
		json_number(o, "times", w->times);
	}
	if (rank < 0 && r->waits_unlisted)
		json_number(root, "waits_unlisted", r->waits_unlisted);
}

#define JSON_FINDINGS "\001" /* where they belong: no text of a report has such a byte */

static char *json_frame(const struct report *r, int rank)
{
	cJSON *root = json_begin();
	json_number(root, "schema_version", REPORT_SCHEMA_VERSION);
	json_string(root, "tool", "gsan " GSAN_VERSION);
	if (rank >= 0)
		json_number(root, "rank", (uint64_t)rank);
	if (rank < 0 && r->job.start)
		json_job(root, &r->job);
	if (r->merged > 1)
		json_number(root, "merged", r->merged);
	if (report_runs_unchecked(r))
		json_number(root, "nothing_checked", r->unchecked);
	if (r->deselected)
		json_number(root, "deselected", r->deselected);
	cJSON *ranks = json_list(root, "ranks");
	for (uint32_t i = 0; i < r->ranks; i++)
		json_rank(ranks, r, i);
	json_gpus(root, r);
	if (r->schedules)
		json_explored(root, r);
	json_waits(root, r, rank);
	json_put(root, "findings", cJSON_CreateRaw(JSON_FINDINGS));
	if (rank < 0) {
		json_suppressions(root, r);
		json_unlisted(root, r);
		json_number(root, "formal_findings", report_formal(r) + r->formal_unlisted);
	}
	json_coverage(root, r, rank);
	json_integer(root, "exit", r->exit_status);
	return json_end(root, 1);
}

char *report_json(const struct report *r, int rank)
{
	char *frame = json_frame(r, rank), *at = frame ? strstr(frame, JSON_FINDINGS) : NULL;
	struct text out = {0};
	if (at) {
		text_add(&out, frame, (size_t)(at - frame));
		json_add_findings(&out, r, rank);
		text_puts(&out, at + strlen(JSON_FINDINGS));
	}
	free(frame);
	if (at && !out.failed)
		return text_take(&out);
	text_free(&out);
	return NULL;
}

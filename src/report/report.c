#include "report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/now.h"
#include "base/utf8.h"
#include "report/cause.h"
#include "report/order.h"

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

/* Most names are those of many findings. */
static const char *report_intern(struct report *r, const char *string)
{
	const size_t n = strlen(string);
	const uint64_t hash = hash_bytes(HASH_START, string, n);
	for (uint32_t at = 0, *known; (known = index_next(&r->text_index, hash, &at));)
		if (!strcmp(r->text[*known], string))
			return r->text[*known];
	const char *copy = pool_copy(&r->pool, string, n), **added;
	if (!copy || !(added = report_grow((void **)&r->text, &r->texts, &r->texts_room, sizeof *added)))
		return NULL;
	*added = copy;
	return index_add(&r->text_index, hash, r->texts - 1) ? NULL : copy;
}

/* Names come out of programs, and reports from elsewhere: behind this every writer may rely on UTF-8 that commands no terminal. */
const char *report_copy(struct report *r, const char *string)
{
	if (!string || utf8_is_clean(string))
		return string ? report_intern(r, string) : NULL;
	const size_t room = UTF8_CLEAN_ROOM(strlen(string));
	char *clean = malloc(room);
	if (clean)
		utf8_clean(clean, room, string);
	const char *copy = clean ? report_intern(r, clean) : NULL;
	free(clean);
	return copy;
}

/* Of several lines, each so: newlines between them stay. */
static const char *report_copy_lines(struct report *r, const char *lines)
{
	struct text clean = {0};
	if (!lines || !strchr(lines, '\n'))
		return report_copy(r, lines);
	for (size_t n;; lines += n + 1) {
		n = strcspn(lines, "\n");
		char *line = strndup(lines, n);
		const char *copy = line ? report_copy(r, line) : NULL;
		clean.failed |= !copy;
		text_puts(&clean, copy ? copy : "");
		free(line);
		if (!lines[n])
			break;
		text_puts(&clean, "\n");
	}
	const char *copy = clean.failed ? NULL : report_intern(r, clean.data);
	text_free(&clean);
	return copy;
}

static int report_by_finding(const void *a, const void *b)
{
	const struct report_finding *one = a, *other = b;
	ORDER(report_number_order((uint64_t)one->formal, (uint64_t)other->formal));
	ORDER(report_finding_order(one, other));
	return report_edge_order(one, other);
}
static int report_by_note(const void *a, const void *b) { return report_note_order(a, b); }
static int report_by_wait(const void *a, const void *b) { return report_wait_order(a, b); }
static int report_by_left(const void *a, const void *b) { return report_left_order(a, b); }

static void report_copy_side(struct report *r, struct report_side *side)
{
	const char **const text[] = {&side->kernel, &side->kernel_name, &side->at.file, &side->function, &side->function_name, &side->inlined_at, &side->object,
				     &side->op, &side->semantics, &side->scope, &side->source};
	for (size_t i = 0; i < sizeof text / sizeof *text; i++)
		*text[i] = report_copy(r, *text[i]);
	side->inlined_source = report_copy_lines(r, side->inlined_source);
}

static void report_copy_flag(struct report *r, struct report_flag *flag)
{
	const char **const text[] = {&flag->at.file, &flag->scope, &flag->semantics, &flag->inlined_at, &flag->kernel, &flag->op};
	for (size_t i = 0; i < sizeof text / sizeof *text; i++)
		*text[i] = report_copy(r, *text[i]);
}

static void report_copy_edge(struct report *r, struct report_edge *edge)
{
	for (uint32_t i = 0; i < edge->ops; i++) {
		struct report_op *op = &edge->op[i];
		const char **const text[] = {&op->kernel, &op->at.file, &op->inlined_at, &op->scope, &op->semantics, &op->source};
		for (size_t k = 0; k < sizeof text / sizeof *text; k++)
			*text[k] = report_copy(r, *text[k]);
		op->inlined_source = report_copy_lines(r, op->inlined_source);
	}
}

static void report_copy_finding(struct report *r, struct report_finding *f)
{
	report_copy_side(r, &f->first);
	report_copy_side(r, &f->second);
	report_copy_flag(r, &f->flag_write);
	report_copy_flag(r, &f->flag_read);
	report_copy_flag(r, &f->fence_write);
	report_copy_flag(r, &f->fence_read);
	report_copy_edge(r, &f->edge);
	f->allocation.label = report_copy(r, f->allocation.label);
	for (uint32_t i = 0; i < f->memories; i++)
		f->memory[i].label = report_copy(r, f->memory[i].label);
	f->missing_edge = report_copy(r, f->missing_edge);
}

int report_take_edge(struct report *r, struct report_finding *to, const struct report_finding *from)
{
	to->missing_edge = report_copy(r, from->missing_edge);
	to->missing_edge_class = from->missing_edge_class;
	to->edge = from->edge;
	to->certain = from->certain;
	to->only = from->only;
	report_copy_edge(r, &to->edge);
	return to->missing_edge ? 0 : -ENOMEM;
}

int report_append_finding(struct report *r, const struct report_finding *finding)
{
	struct report_finding *added = report_grow((void **)&r->finding, &r->findings, &r->findings_room, sizeof *added);
	if (!added)
		return -ENOMEM;
	*added = *finding;
	added->within |= report_launches(finding);
	report_copy_finding(r, added);
	return 0;
}

void report_append_wait(struct report *r, const struct report_wait *wait)
{
	if (r->waits == REPORT_WAITS_MAX) {
		r->waits_unlisted++;
		return;
	}
	struct report_wait *added = &r->wait[r->waits++];
	*added = *wait;
	report_copy_side(r, &added->side);
	added->allocation.label = report_copy(r, wait->allocation.label);
}

static uint64_t report_finding_hash(const struct report_finding *f)
{
	return hash_then(hash_then(report_side_hash(&f->first), report_side_hash(&f->second)), report_reason_hash(f)) + f->kind;
}

/* Whatever was appended meanwhile is found, too. */
static int report_index(struct report *r)
{
	int rc = 0;
	for (; r->index.used < r->findings && !rc;)
		rc = index_add(&r->index, report_finding_hash(&r->finding[r->index.used]), r->index.used);
	return rc;
}

static struct report_finding *report_known(struct report *r, const struct report_finding *f)
{
	const uint64_t hash = report_finding_hash(f);
	for (uint32_t at = 0, *known; (known = index_next(&r->index, hash, &at));)
		if (!report_finding_order(&r->finding[*known], f) && !report_reason_order(&r->finding[*known], f))
			return &r->finding[*known];
	return NULL;
}

/* Has it been seen in these launches before, for whatever reason? -ENOMEM. */
static int report_met(struct report *r, const struct report_finding *f)
{
	const uint64_t sides = hash_then(report_side_hash(&f->first), report_side_hash(&f->second)), hash = hash_then(f->launches, sides + f->kind);
	uint32_t at = 0;
	return index_next(&r->met, hash, &at) ? 1 : index_add(&r->met, hash, 0);
}

int report_add_finding(struct report *r, const struct report_finding *finding)
{
	struct report_finding once = *finding;
	report_launched_first(&once, 0);
	if (report_index(r))
		return -ENOMEM;
	struct report_finding *known = report_known(r, &once);
	const int met = once.launches ? report_met(r, &once) : 0;
	if (met < 0)
		return met;
	once.count = met ? 0 : once.count;
	if (!known)
		return report_append_finding(r, &once);
	struct report_finding sum = *known;
	if (report_instance_order(&once, known) < 0) {
		sum = once;
		report_copy_finding(r, &sum);
	}
	report_sum(&sum, known, &once);
	sum.within |= report_launches(&once);
	sum.early = known->early | once.early;
	*known = sum;
	return 0;
}

const char *report_time(char text[REPORT_TIME_SIZE], int64_t seconds)
{
	time_t at = (time_t)seconds;
	struct tm utc;
	if (!gmtime_r(&at, &utc) || !strftime(text, REPORT_TIME_SIZE, REPORT_TIME, &utc))
		text[0] = 0;
	return text;
}

int report_set_job(struct report *r, const struct report_job *job)
{
	const char **const text[] = {&r->job.host, &r->job.directory, &r->job.device, &r->job.driver, &r->job.commit};
	const char **argv = pool_alloc(&r->pool, job->arguments * sizeof *argv);
	if (!argv)
		return -ENOMEM;
	r->job = *job;
	r->job.lanes = 0;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++)
		*text[i] = report_copy(r, *text[i]);
	for (uint32_t i = 0; i < job->arguments; i++)
		argv[i] = report_copy(r, job->argv[i]);
	r->job.argv = argv;
	if (job->began_ms)
		r->job.duration_ms = (uint64_t)now_ms() - job->began_ms;
	return 0;
}

int report_set_lanes(struct report *r, const struct report_lane *lane, uint32_t lanes)
{
	struct report_lane *own = pool_alloc(&r->pool, lanes * sizeof *own);
	r->job.lanes = 0;
	if (!own)
		return -ENOMEM;
	memcpy(own, lane, lanes * sizeof *own);
	for (uint32_t i = 0; i < lanes; i++) {
		struct report_point *point = pool_alloc(&r->pool, lane[i].points * sizeof *point);
		if (!point)
			return -ENOMEM;
		memcpy(point, lane[i].point, lane[i].points * sizeof *point);
		own[i].point = point;
	}
	r->job.lane = own;
	r->job.lanes = lanes;
	return 0;
}

/* Equals are found by what they are, for a program may bring very many kernels. report_sort forgets where they are. */
static int report_index_notes(struct report *r)
{
	int rc = 0;
	for (; r->note_index.used < r->notes && !rc;)
		rc = index_add(&r->note_index, report_note_hash(&r->note[r->note_index.used]), r->note_index.used);
	return rc;
}

int report_add_note(struct report *r, const struct report_note *note)
{
	const struct report_note clean = {.key = report_copy(r, note->key), .name = report_copy(r, note->name), .kernel_name = report_copy(r, note->kernel_name),
					  .reason = report_copy(r, note->reason), .ranks = note->ranks};
	const uint64_t hash = report_note_hash(&clean);
	if (report_index_notes(r))
		return -ENOMEM;
	for (uint32_t at = 0, *known; (known = index_next(&r->note_index, hash, &at));)
		if (!report_note_order(&r->note[*known], &clean)) {
			r->note[*known].ranks |= note->ranks;
			return 0;
		}
	struct report_note *added = report_grow((void **)&r->note, &r->notes, &r->notes_room, sizeof *added);
	if (!added)
		return -ENOMEM;
	*added = clean;
	return 0;
}

static int report_index_lefts(struct report *r)
{
	int rc = 0;
	for (; r->left_index.used < r->lefts && !rc;)
		rc = index_add(&r->left_index, report_left_hash(&r->left[r->left_index.used]), r->left_index.used);
	return rc;
}

int report_add_left(struct report *r, const struct report_left *left)
{
	struct report_left clean = *left;
	clean.at.file = report_copy(r, left->at.file);
	clean.opcode = report_copy(r, left->opcode);
	clean.reason = report_copy(r, left->reason);
	const uint64_t hash = report_left_hash(&clean);
	if (report_index_lefts(r))
		return -ENOMEM;
	for (uint32_t at = 0, *known; (known = index_next(&r->left_index, hash, &at));)
		if (!report_left_order(&r->left[*known], &clean)) {
			r->left[*known].ranks |= left->ranks;
			return 0;
		}
	struct report_left *added = report_grow((void **)&r->left, &r->lefts, &r->lefts_room, sizeof *added);
	if (!added)
		return -ENOMEM;
	*added = clean;
	return 0;
}

/* What equals matched is added up. */
int report_add_suppression(struct report *r, const struct report_suppression *suppression, uint32_t *number)
{
	struct report_suppression clean = *suppression;
	clean.file = report_copy(r, suppression->file);
	clean.rule = report_copy(r, suppression->rule);
	if (!clean.file || !clean.rule)
		return -ENOMEM;
	const uint64_t hash = hash_step(hash_bytes(HASH_START, clean.rule, strlen(clean.rule)), clean.line);
	for (uint32_t at = 0, *i; (i = index_next(&r->suppression_index, hash, &at));) {
		struct report_suppression *known = &r->suppression[*i];
		if (known->line != clean.line || known->rule != clean.rule || known->file != clean.file) /* equal texts are one */
			continue;
		known->findings += clean.findings;
		known->count += clean.count;
		*number = *i + 1;
		return 0;
	}
	struct report_suppression *added = report_grow((void **)&r->suppression, &r->suppressions, &r->suppressions_room, sizeof *added);
	if (!added)
		return -ENOMEM;
	*added = clean;
	*number = r->suppressions;
	return index_add(&r->suppression_index, hash, r->suppressions - 1);
}

void report_sort_findings(struct report *r)
{
	index_free(&r->index); /* all is elsewhere now */
	if (r->findings)
		qsort(r->finding, r->findings, sizeof *r->finding, report_by_finding);
}

void report_sort_notes(struct report *r)
{
	index_free(&r->note_index);
	if (r->notes)
		qsort(r->note, r->notes, sizeof *r->note, report_by_note);
}

void report_sort(struct report *r)
{
	report_sort_findings(r);
	report_sort_notes(r);
	index_free(&r->left_index);
	if (r->waits)
		qsort(r->wait, r->waits, sizeof *r->wait, report_by_wait);
	if (r->lefts)
		qsort(r->left, r->lefts, sizeof *r->left, report_by_left);
}

/* Of a finding that has no words yet. */
static int report_word(struct report *r, struct report_finding *f)
{
	struct text sentence = {0};
	report_missing_edge(&sentence, f);
	f->certain = report_sure(f) || !f->reason || report_flag_races(f);
	f->missing_edge_class = report_class(f);
	f->only &= !f->certain && f->missing_edge_class == REPORT_MISSING_BOTH;
	f->missing_edge = sentence.failed ? NULL : report_copy(r, sentence.data);
	text_free(&sentence);
	return f->missing_edge ? report_set_edge(r, f) : -ENOMEM;
}

int report_finish(struct report *r)
{
	int rc = report_elect(r);
	for (uint32_t i = 0; i < r->findings; i++)
		report_launched_first(&r->finding[i], 1);
	rc = rc ? rc : report_merge_causes(r);
	report_sort(r); /* who stands for several may belong elsewhere */
	for (uint32_t i = 0; i < r->findings && !rc; i++)
		if (!r->finding[i].missing_edge)
			rc = report_word(r, &r->finding[i]);
	return rc;
}

int report_decides(const struct report_finding *f) { return !f->formal && !f->suppressed; }

struct report_tally report_tally(const struct report *r)
{
	struct report_tally t = {report_unlisted(r), r->formal_unlisted, 0};
	for (uint32_t i = 0; i < r->findings; i++) {
		const struct report_finding *f = &r->finding[i];
		t.findings += (uint64_t)report_decides(f);
		t.formal += f->formal && !f->suppressed;
	}
	for (uint32_t i = 0; i < r->suppressions; i++)
		t.suppressed += r->suppression[i].findings;
	return t;
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
	index_free(&r->index);
	r->formal_unlisted += n;
	r->findings -= n;
}

void report_free(struct report *r)
{
	index_free(&r->index);
	index_free(&r->met);
	index_free(&r->text_index);
	index_free(&r->note_index);
	index_free(&r->left_index);
	index_free(&r->suppression_index);
	free(r->text);
	free(r->finding);
	free(r->pair);
	free(r->suppression);
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
		total.launches_left_out += one->launches_left_out;
		total.copies_checked += one->copies_checked;
		total.copies_unchecked += one->copies_unchecked;
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
	int kernels = total.launches_checked > 0 && total.counter[GSAN_N_CHECKED] > 0;
	return kernels || (total.copies_checked > 0 && !total.launches_checked && !total.launches_unchecked && !total.launches_left_out);
}

uint32_t report_runs_unchecked(const struct report *r)
{
	return r->merged > 1 || r->schedules ? r->unchecked : 0;
}

int report_add_unchecked(struct text *out, const struct report *r)
{
	const int nothing = !report_checked(r);
	const uint32_t runs = report_runs_unchecked(r);
	if (nothing)
		text_puts(out, "nothing was checked");
	else if (runs)
		text_printf(out, "nothing was checked in %u of the runs", runs);
	return nothing || runs;
}

/* By what a finding is known again in another run: what the program is, and nothing of how it ran. A pair of lines: the kind, as far as it does
 * not say which side came first, the label of the memory, and of each side kernel, function, operation, the file's name without its folder, and
 * the text of the source line, and of those that it was inlined at, with white space squeezed, so that lines may move. Where a text is not
 * known, the number of the line. Not: seeds, ranks, CTAs, launches, offsets, counts; and the missing edge, for which of several is seen to be
 * missing depends on the schedule.
 *
 * A finding: what the missing edge is (group.c), and not which pairs were seen, nor which of them is the root. That is its class and the
 * operations that would have to be mended; of two launches that nothing orders, their kernels; else the two lines.
 *
 * What is written twice is known twice: of several that would have one fingerprint, at different places, the second has another, and so on. */
#include "report/report.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "report/frame.h"
#include "report/order.h"

/* The end of each part is hashed, too: "ab" and "c" are not "a" and "bc". */
static uint64_t fingerprint_add(uint64_t hash, const char *text)
{
	return text ? hash_bytes(hash, text, strlen(text) + 1) : hash_step(hash, 0x100);
}

/* A name of a kernel or a function. One that has none has an id, which is this run's; and nvcc calls an unnamed namespace by a hash of the file
 * and what is in it: 36_GLOBAL__N__754eaf86_4_k_cu_1a2b3c4d. */
static uint64_t fingerprint_name(uint64_t hash, const char *name)
{
	static const char unnamed[] = "_GLOBAL__N_";
	const char *at;
	if (!name || *name == '#')
		return fingerprint_add(hash, name ? "#" : NULL);
	for (; (at = strstr(name, unnamed)); name = at) {
		const char *digits = at;
		while (digits > name && isdigit((unsigned char)digits[-1]))
			digits--;
		const size_t length = digits < at ? strtoul(digits, NULL, 10) : 0, most = strlen(at);
		hash = hash_bytes(hash_bytes(hash, name, (size_t)(digits - name)), unnamed, sizeof unnamed);
		at += length >= sizeof unnamed - 1 && length <= most ? length : sizeof unnamed - 1;
	}
	return fingerprint_add(hash, name);
}

/* Up to its end, or its newline. */
static uint64_t fingerprint_squeezed(uint64_t hash, const char *line)
{
	int space = 0;
	while (isspace((unsigned char)*line) && *line != '\n')
		line++;
	for (; *line && *line != '\n'; line++) {
		if (isspace((unsigned char)*line)) {
			space = 1;
			continue;
		}
		if (space)
			hash = hash_step(hash, ' ');
		space = 0;
		hash = hash_step(hash, (unsigned char)*line);
	}
	return hash_step(hash, 0);
}

static const char *fingerprint_base(const char *file)
{
	const char *slash = file ? strrchr(file, '/') : NULL;
	return slash ? slash + 1 : file;
}

/* Of each further place that it was inlined at: the line's text, if there is any, else its file and number. */
static uint64_t fingerprint_inlined(uint64_t hash, struct frame *f)
{
	while (frame_next(f)) {
		const char *slash = memrchr(f->at, '/', f->size), *name = slash ? slash + 1 : f->at;
		hash = f->source ? fingerprint_squeezed(hash, f->source) : hash_bytes(hash, name, (size_t)(f->at + f->size - name));
	}
	return hash;
}

/* Where it is written. */
static uint64_t fingerprint_line(uint64_t hash, const struct report_side *side)
{
	struct frame inlined = frame_first(side->inlined_at, side->inlined_source);
	hash = side->source ? fingerprint_squeezed(hash, side->source) : hash_step(hash, side->at.line);
	return fingerprint_inlined(hash, &inlined);
}

static uint64_t fingerprint_side(const struct report_side *side)
{
	const char *const part[] = {fingerprint_base(side->at.file), side->op, side->semantics, side->scope};
	uint64_t hash = fingerprint_name(fingerprint_name(HASH_START, side->kernel), side->function);
	for (size_t i = 0; i < sizeof part / sizeof *part; i++)
		hash = fingerprint_add(hash, part[i]);
	return fingerprint_line(hash, side);
}

/* Read-after-write and write-after-read are one race, and of an atomic that may fail the kind depends on whether it did: what the
 * operations are says the rest. */
static const char *fingerprint_kind(enum gsan_kind kind)
{
	return kind == GSAN_SCOPE || kind == GSAN_STALE_NC ? report_kind_name(kind) : "race";
}

/* Of two, whichever is first. */
static uint64_t fingerprint_both(uint64_t hash, uint64_t a, uint64_t b) { return hash_then(hash_then(hash, a < b ? a : b), a < b ? b : a); }

static uint64_t fingerprint_memory(uint64_t hash, const struct report_finding *f)
{
	return report_label(f) ? fingerprint_add(hash, report_label(f)) : hash;
}

static uint64_t fingerprint_pair(const struct report_finding *f)
{
	const uint64_t hash = fingerprint_add(HASH_START, fingerprint_kind(f->kind));
	return fingerprint_both(fingerprint_memory(hash, f), fingerprint_side(&f->first), fingerprint_side(&f->second));
}

/* The user's line, and where that was inlined. */
static uint64_t fingerprint_op(const struct report_op *op)
{
	struct frame own = frame_line(&op->at, op->inlined_at, op->inlined_source);
	const uint32_t line = own.line;
	char *file = strndup(own.at, own.file);
	const char *const part[] = {fingerprint_base(op->at.file), fingerprint_base(file), op->semantics, op->scope};
	uint64_t hash = fingerprint_name(HASH_START, op->kernel);
	for (size_t i = 0; i < sizeof part / sizeof *part; i++)
		hash = fingerprint_add(hash, part[i]);
	free(file);
	return fingerprint_inlined(op->source ? fingerprint_squeezed(hash, op->source) : hash_step(hash, line), &own);
}

/* A kernel; of a copy, its caller's line, too. */
static uint64_t fingerprint_launch(const struct report_side *side)
{
	return report_is_copy(side) ? fingerprint_side(side) : fingerprint_name(HASH_START, side->kernel);
}

/* A line of a kernel, whatever happens there; of code without lines, the access. */
static uint64_t fingerprint_place(const struct report_side *side)
{
	if (!side->at.file)
		return fingerprint_side(side);
	return fingerprint_line(fingerprint_add(fingerprint_name(HASH_START, side->kernel), fingerprint_base(side->at.file)), side);
}

static uint64_t fingerprint_ops(enum report_class class, const struct report_op *a, const struct report_op *b)
{
	return fingerprint_both(fingerprint_add(HASH_START, report_class_name(class)), fingerprint_op(a), fingerprint_op(b));
}

uint64_t report_part_cause(const struct report_finding *f, uint32_t i)
{
	return fingerprint_ops(report_part_class(f, i), &f->edge.op[i], &f->edge.op[i]);
}

uint64_t report_edge_fingerprint(const struct report_finding *f)
{
	const int launches = report_of_launches(f->missing_edge_class);
	uint64_t (*const side)(const struct report_side *) = launches ? fingerprint_launch : fingerprint_place;
	if (f->edge.ops)
		return fingerprint_ops(f->missing_edge_class, &f->edge.op[0], &f->edge.op[f->edge.ops - 1]);
	const uint64_t hash = fingerprint_add(HASH_START, launches ? report_class_name(f->missing_edge_class) : "lines");
	return fingerprint_both(fingerprint_memory(hash, f), side(&f->first), side(&f->second));
}

/* Of its pairs one that names most operations says what the edge is: those that do name the same. */
static uint64_t fingerprint_finding(const struct report *r, const struct report_finding *f)
{
	uint32_t n, best = 0;
	const struct report_finding *pair = report_pairs(r, f, &n);
	for (uint32_t i = 1; i < n; i++)
		if (pair[i].edge.ops > pair[best].edge.ops)
			best = i;
	return report_edge_fingerprint(&pair[best]);
}

/* ---- what is written twice ---- */

struct fingerprint_of { uint64_t hash; struct report_finding *f; };

static int fingerprint_order(const struct fingerprint_of *a, const struct fingerprint_of *b) { return report_number_order(a->hash, b->hash); }

/* By the places of a pair, and not by its ranks. */
static int fingerprint_by_place(const void *a, const void *b)
{
	const struct fingerprint_of *one = a, *other = b;
	ORDER(fingerprint_order(one, other));
	return report_sites_order(one->f, other->f);
}

/* Findings lie in their order. */
static int fingerprint_by_finding(const void *a, const void *b)
{
	const struct fingerprint_of *one = a, *other = b;
	ORDER(fingerprint_order(one, other));
	return (one->f > other->f) - (one->f < other->f);
}

static uint64_t fingerprint_nth(uint64_t hash, uint32_t nth) { return nth ? hash_step(hash, nth) : hash; }

int report_identify_pairs(struct report *r)
{
	struct fingerprint_of *of = malloc(((size_t)r->findings + r->pairs) * sizeof *of + 1);
	size_t count = 0;
	uint32_t nth = 0;
	if (!of)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->pairs; i++, count++)
		of[count] = (struct fingerprint_of){fingerprint_pair(&r->pair[i]), &r->pair[i]};
	for (uint32_t i = 0; i < r->findings; i++)
		if (!r->finding[i].pairs)
			of[count++] = (struct fingerprint_of){fingerprint_pair(&r->finding[i]), &r->finding[i]};
	if (count)
		qsort(of, count, sizeof *of, fingerprint_by_place);
	for (size_t i = 0; i < count; i++) {
		if (!i || of[i - 1].hash != of[i].hash)
			nth = 0;
		else if (report_sites_order(of[i - 1].f, of[i].f))
			nth++;
		of[i].f->fingerprint = fingerprint_nth(of[i].hash, nth);
	}
	free(of);
	for (uint32_t i = 0; i < r->findings; i++) {
		uint32_t n;
		r->finding[i].fingerprint = report_pairs(r, &r->finding[i], &n)->fingerprint;
	}
	return 0;
}

static int fingerprint_findings(struct report *r)
{
	struct fingerprint_of *of = malloc(r->findings * sizeof *of + 1);
	if (!of)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->findings; i++)
		of[i] = (struct fingerprint_of){fingerprint_finding(r, &r->finding[i]), &r->finding[i]};
	if (r->findings)
		qsort(of, r->findings, sizeof *of, fingerprint_by_finding);
	for (uint32_t i = 0, nth = 0; i < r->findings; i++) {
		struct report_finding *f = of[i].f;
		nth = i && of[i - 1].hash == of[i].hash ? nth + 1 : 0;
		f->cause = fingerprint_nth(of[i].hash, nth);
		for (uint32_t k = 0; k < f->pairs; k++)
			r->pair[f->pair + k].cause = f->cause;
	}
	free(of);
	return 0;
}

int report_identify(struct report *r)
{
	const int rc = report_identify_pairs(r);
	return rc ? rc : fingerprint_findings(r);
}

/* ---- in two reports ---- */

struct report_identity report_identity(const struct report_finding *f)
{
	const uint64_t a = fingerprint_side(&f->first), b = fingerprint_side(&f->second);
	const int crossed = a > b || (a == b && f->first.rank > f->second.rank);
	return (struct report_identity){f->fingerprint, {crossed ? f->second.rank : f->first.rank, crossed ? f->first.rank : f->second.rank}};
}

int report_identity_order(const struct report_identity *a, const struct report_identity *b)
{
	if (a->fingerprint != b->fingerprint)
		return a->fingerprint < b->fingerprint ? -1 : 1;
	if (a->rank[0] != b->rank[0])
		return a->rank[0] < b->rank[0] ? -1 : 1;
	return (a->rank[1] > b->rank[1]) - (a->rank[1] < b->rank[1]);
}

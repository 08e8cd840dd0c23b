/* By what a finding is known again in another run: what the program is, and nothing of how it ran. A pair of lines: the kind, as far as it does
 * not say which side came first, and of each side kernel, function, operation, the file's name without its folder, and the text of the source
 * line with white space squeezed, so that lines may move. Where that text is not known, the number of the line. Not: seeds, ranks, CTAs,
 * launches, offsets, counts; and the missing edge, for which of several is seen to be missing depends on the schedule.
 *
 * A finding: what the missing edge is (group.c), and not which pairs were seen, nor which of them is the root. That is its class and the
 * operations that would have to be mended; of two launches that nothing orders, their kernels; else the pair of lines. */
#include "report/report.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* The end of each part is hashed, too: "ab" and "c" are not "a" and "bc". */
static uint64_t fingerprint_add(uint64_t hash, const char *text)
{
	return text ? hash_bytes(hash, text, strlen(text) + 1) : hash_step(hash, 0x100);
}

static uint64_t fingerprint_squeezed(uint64_t hash, const char *line)
{
	int space = 0;
	while (isspace((unsigned char)*line))
		line++;
	for (; *line; line++) {
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

static uint64_t fingerprint_side(const struct report_side *side)
{
	const char *const part[] = {side->kernel && side->kernel[0] == '#' ? "#" : side->kernel, /* an id is this run's */
				    side->function, fingerprint_base(side->at.file), side->op, side->semantics, side->scope};
	uint64_t hash = HASH_START;
	for (size_t i = 0; i < sizeof part / sizeof *part; i++)
		hash = fingerprint_add(hash, part[i]);
	return side->source ? fingerprint_squeezed(hash, side->source) : hash_step(hash, side->at.line);
}

/* Read-after-write and write-after-read are one race, and of an atomic that may fail the kind depends on whether it did: what the
 * operations are says the rest. */
static const char *fingerprint_kind(enum gsan_kind kind)
{
	return kind == GSAN_SCOPE || kind == GSAN_STALE_NC ? report_kind_name(kind) : "race";
}

uint64_t report_fingerprint(const struct report_finding *f)
{
	const uint64_t a = fingerprint_side(&f->first), b = fingerprint_side(&f->second);
	const uint64_t hash = fingerprint_add(HASH_START, fingerprint_kind(f->kind));
	return hash_then(hash_then(hash, a < b ? a : b), a < b ? b : a);
}

/* The user's line. */
static uint64_t fingerprint_op(const struct report_op *op)
{
	struct text frame = {0};
	report_add_op(&frame, op);
	char *colon = frame.data ? strrchr(frame.data, ':') : NULL;
	const unsigned long line = colon ? strtoul(colon + 1, NULL, 10) : 0;
	if (colon)
		*colon = 0;
	const char *const part[] = {op->kernel && op->kernel[0] == '#' ? "#" : op->kernel, fingerprint_base(op->at.file), fingerprint_base(frame.data),
				    op->semantics, op->scope};
	uint64_t hash = HASH_START;
	for (size_t i = 0; i < sizeof part / sizeof *part; i++)
		hash = fingerprint_add(hash, part[i]);
	text_free(&frame);
	return op->source ? fingerprint_squeezed(hash, op->source) : hash_step(hash, line);
}

/* A kernel; of a copy, its caller's line, too. */
static uint64_t fingerprint_launch(const struct report_side *side)
{
	return report_is_copy(side) ? fingerprint_side(side) : fingerprint_add(HASH_START, side->kernel && side->kernel[0] == '#' ? "#" : side->kernel);
}

static uint64_t fingerprint_cause(const struct report_finding *f)
{
	const int ops = f->edge.ops > 0;
	if (!ops && f->missing_edge_class != REPORT_MISSING_STREAM_EDGE)
		return report_fingerprint(f);
	const uint64_t a = ops ? fingerprint_op(&f->edge.op[0]) : fingerprint_launch(&f->first);
	const uint64_t b = ops ? fingerprint_op(&f->edge.op[f->edge.ops - 1]) : fingerprint_launch(&f->second);
	const uint64_t hash = fingerprint_add(HASH_START, report_class_name(f->missing_edge_class));
	return hash_then(hash_then(hash, a < b ? a : b), a < b ? b : a);
}

/* Of its pairs one that names most operations says what the edge is: those that do name the same. */
static uint64_t fingerprint_finding(const struct report *r, const struct report_finding *f)
{
	uint32_t n, best = 0;
	const struct report_finding *pair = report_pairs(r, f, &n);
	for (uint32_t i = 1; i < n; i++)
		if (pair[i].edge.ops > pair[best].edge.ops)
			best = i;
	return fingerprint_cause(&pair[best]);
}

void report_identify(struct report *r)
{
	for (uint32_t i = 0; i < r->pairs; i++)
		r->pair[i].fingerprint = report_fingerprint(&r->pair[i]);
	for (uint32_t i = 0; i < r->findings; i++) {
		struct report_finding *f = &r->finding[i];
		f->fingerprint = report_fingerprint(f);
		f->cause = fingerprint_finding(r, f);
		for (uint32_t k = 0; k < f->pairs; k++)
			r->pair[f->pair + k].cause = f->cause;
	}
}

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

/* By what a finding is known again in another run: what the program is, and nothing of how it ran. In: the kind, as far as it does not say
 * which side came first, and of each side kernel, function, operation, the file's name without its folder, and the text of the source line
 * with white space squeezed, so that lines may move. Where that text is not known, the number of the line. Out: seeds, ranks, CTAs,
 * launches, offsets, counts; and the missing edge, for which of several is seen to be missing depends on the schedule. */
#include "report/report.h"

#include <ctype.h>
#include <stdio.h>
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

void report_identify(struct report *r)
{
	for (uint32_t i = 0; i < r->findings; i++)
		r->finding[i].fingerprint = report_fingerprint(&r->finding[i]);
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

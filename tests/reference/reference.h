/* The reference detector: exact vector clocks over the trace that the emulated device writes (docs/emulated-device.md).
 * reference.c states the algorithm. Feed it the trace line by line, then look at what it found. */
#ifndef REFERENCE_REFERENCE_H
#define REFERENCE_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

struct ref;

enum ref_kind { REF_RAW, REF_WAR, REF_WAW, REF_ATOMIC_PLAIN, REF_SCOPE, REF_STALE_NC, REF_KINDS };

struct ref_site {
	const char *kernel;
	uint32_t line;
	int or; /* of several in a row, from the second one on: in place of those before it */
	int second; /* it stands for the second access, not the first */
};

struct ref_race { /* of two sites; [0] came first in the trace */
	enum ref_kind kind;
	int formal;            /* by the letter of PTX alone (formal.c); with REF_WARPS and REF_THREADS only */
	const char *kernel[2]; /* "copy" and "set" for work of the host */
	uint32_t site[2];      /* source line; 0: none */
	uint32_t rank[2];
	uint64_t count;        /* of pairs of accesses */
	uint64_t dominated;    /* of these: a later access stands for the first one, and races with the second, too */
	struct ref_site *by;   /* the last such of each pair; where dominated is count, a record of the first may be gone. Of a weak
				* second access, which may be looked at late: each that was the last meanwhile, joined by `or`,
				* less its own site if there are others. Of a copy or set, which is looked at once it is over, also each
				* that stands for the other access by then.
				* Kernel "-": all that stand for it are before the second access, by observation; it goes unnoticed */
	size_t bys, by_room;
	uint64_t memory, offset, bytes, event[2]; /* of the first pair: what both touched, line numbers in the trace */
};

struct ref_edge { /* how often something ordered accesses that were not ordered before */
	const char *name;
	const char *kernel; /* of the one who learnt */
	uint64_t count;
};

enum {
	REF_SC = 1,   /* fence.sc: a total order of those whose scopes include each other, as they came in the trace */
	REF_OVER = 2, /* a location's chain goes on over weak writes and such of other sizes, as it does in the detector under test */
	REF_LATE = 32, /* a copy or set counts as before what those who touch its bytes come behind by the time that it is looked at, and any strong
			* access as one that synchronises: as in the detector under test, which cannot know more then */
	/* What a logical thread is; of several, the first: reference.c has the default. */
	REF_CTAS = 4,    /* a CTA */
	REF_WARPS = 8,   /* a warp: order between CTAs goes through warps and barriers; races within a CTA are not looked for */
	REF_THREADS = 16 /* a thread */
};

/* `name` is what messages call the trace. */
struct ref *ref_open(const char *name, unsigned flags);
/* The next line, with or without its newline. Returns 0, or -EINVAL with "NAME:LINE: what is wrong; what to do". */
int ref_line(struct ref *r, const char *line, char *error, size_t room);
/* After the last line: an incomplete trace is an error. */
int ref_end(struct ref *r, char *error, size_t room);
/* What was found so far, sorted; valid until the next call with `r`. */
size_t ref_races(struct ref *r, const struct ref_race **races);
size_t ref_edges(struct ref *r, const struct ref_edge **edges);
void ref_close(struct ref *r);

const char *ref_kind_name(enum ref_kind kind);
/* Before the first line: what to explain, two line numbers. The text is there once the later one was read; NULL before. */
void ref_explain(struct ref *r, uint64_t event1, uint64_t event2);
const char *ref_explanation(const struct ref *r);

#endif

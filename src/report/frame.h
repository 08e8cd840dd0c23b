/* frame: walks the places that something was inlined at, the innermost first: "FILE:LINE,FILE:LINE…", as reports have them, and the text of these
 * lines, a line for each. */
#ifndef GSAN_REPORT_FRAME_H
#define GSAN_REPORT_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "report/report.h"

struct frame {
	const char *at;     /* all of it: `size` bytes, of which FILE has `file`: all, where there is no line */
	size_t size, file;
	uint32_t line;      /* 0: there is none */
	const char *source; /* `width` bytes; NULL: not known */
	size_t width;
	const char *rest, *sources; /* what is behind it; NULL: nothing */
};

struct frame frame_first(const char *inlined_at, const char *sources); /* stands before the first; both may be NULL */
int frame_next(struct frame *f); /* 0: there is no more */
/* Goes to the user's own line of what stands at `at`: if that is in a library's header, the innermost in a file of the kernel's own. 0: it is `at`. */
int frame_own(struct frame *f, const struct report_place *at);
/* The user's own line, `at` or one that it was inlined at. Behind it stand the places that this was inlined at. */
struct frame frame_line(const struct report_place *at, const char *inlined_at, const char *sources);
/* Lets a side stand at one of the places that it was inlined at, "FILE:LINE", if the text of that line is known: which is returned, malloc'ed, as the
 * side's source. NULL: it is not, and the side is as it was. */
char *frame_take(struct report_side *side, const char *place);

#endif

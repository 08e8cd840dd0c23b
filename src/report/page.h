/* page: how lines for people are set: names of files from the working directory, sentences wrapped, colours on terminals. A FILE:LINE is
 * never broken, and never has a colour begin or end within it, so that grep finds it. */
#ifndef GSAN_REPORT_PAGE_H
#define GSAN_REPORT_PAGE_H

#include "report/report.h"

enum page_colour { PAGE_PLAIN, PAGE_KIND, PAGE_FORMAL, PAGE_PLACE, PAGE_CARET, PAGE_FAINT, PAGE_WARNING, PAGE_COLOURS };
enum page_when { PAGE_AUTO, PAGE_ALWAYS, PAGE_NEVER }; /* auto: on a terminal, unless NO_COLOR or TERM=dumb is set */
#define PAGE_WIDTH 100                                 /* where there is no terminal */

struct page { struct text *out; const struct report_style *style; };

/* The style for what is written to `fd`. */
void page_style(struct report_style *style, int fd, enum page_when when);
void page_paint(const struct page *p, enum page_colour colour, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A sentence that begins in column `at`; its further lines begin in column `indent`, and it ends the line. about: the finding whose files
 * it names, which are not broken though they may hold spaces; or NULL. */
void page_sentence(const struct page *p, unsigned at, unsigned indent, const char *sentence, const struct report_finding *about);
/* The line that `side` is about, with a caret, from column `indent` on; nothing if it is not known. named: its file is not yet. */
void page_excerpt(const struct page *p, unsigned indent, const struct report_side *side, int named);
/* Of a side that is shown at FILE:LINE, where it was inlined: the line there, if it is known, else its own, named. */
void page_frame_excerpt(const struct page *p, unsigned indent, const struct report_side *side, const char *frame);
const char *page_name(const struct page *p, const char *file); /* from the style's directory, if it is below that */
void page_add_relative(const struct page *p, struct text *out, const char *string); /* names become so wherever they stand in it */

#endif

#include "report/page.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/utf8.h"
#include "report/frame.h"

#define PAGE_NARROW 40 /* columns that are used even if the terminal has fewer */
#define PAGE_WIDEST 100000 /* that COLUMNS may say */

static int page_coloured(int terminal, enum page_when when)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	if (when != PAGE_AUTO)
		return when == PAGE_ALWAYS;
	return terminal && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

/* Shells keep COLUMNS to themselves: where it is exported, somebody means it, for a pager, too. */
static unsigned page_wide(int fd)
{
	const char *said = getenv("COLUMNS");
	struct winsize size;
	char *end;
	const long columns = said && *said >= '1' && *said <= '9' ? strtol(said, &end, 10) : 0;
	if (columns > 0 && columns <= PAGE_WIDEST && !*end)
		return (unsigned)columns;
	return isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : PAGE_WIDTH;
}

void page_style(struct report_style *style, int fd, enum page_when when)
{
	const unsigned width = page_wide(fd);
	style->colour = page_coloured(isatty(fd), when);
	style->width = width < PAGE_NARROW ? PAGE_NARROW : width;
}

void page_paint(const struct page *p, enum page_colour colour, const char *format, ...)
{
	static const char *const begin[PAGE_COLOURS] = {
		[PAGE_KIND] = "\033[1;31m", [PAGE_FORMAL] = "\033[1;33m", [PAGE_PLACE] = "\033[1m", [PAGE_CARET] = "\033[1;32m",
		[PAGE_FAINT] = "\033[2m", [PAGE_WARNING] = "\033[33m",
	};
	const int paints = p->style->colour && begin[colour];
	char *text = NULL;
	va_list args;
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		p->out->failed = 1;
	va_end(args);
	text_puts(p->out, paints ? begin[colour] : "");
	text_puts(p->out, text ? text : "");
	text_puts(p->out, paints ? "\033[0m" : "");
	free(text);
}

/* A name begins a sentence, or follows what parts names in sentences and chains of frames. */
void page_add_relative(const struct page *p, struct text *out, const char *string)
{
	const char *directory = p->style->directory, *from = string;
	const size_t n = directory ? strlen(directory) : 0;
	for (const char *at = string; n > 1 && (at = strstr(at, directory)); at += n)
		if (at[n] == '/' && (at == string || strchr(" (,", at[-1]))) {
			text_add(out, from, (size_t)(at - from));
			from = at + n + 1;
		}
	text_puts(out, from);
}

/* Of the character at `at`, which takes *size bytes. A part of one, of a line that is another by now, takes one. */
static unsigned page_cells(const char *at, size_t left, size_t *size)
{
	uint32_t point;
	const size_t n = utf8_next(at, left, &point);
	*size = n ? n : 1;
	return n ? utf8_cells(point) : (*at & 0xc0) != 0x80;
}

static unsigned page_columns(const char *text, size_t n)
{
	unsigned columns = 0;
	for (size_t i = 0, size; i < n; i += size)
		columns += page_cells(text + i, n - i, &size);
	return columns;
}

const char *page_name(const struct page *p, const char *file)
{
	return report_below(p->style->directory, file);
}

static size_t page_starts(const char *at, const char *name)
{
	const size_t n = name ? strlen(name) : 0;
	return n && !strncmp(at, name, n) ? n : 0;
}

/* How long the word at `at` is: to the next space, but for those within a name. */
static size_t page_word(const char *at, const char *const name[2])
{
	size_t n = 0;
	while (at[n] && at[n] != ' ') {
		const size_t first = page_starts(at + n, name[0]), second = page_starts(at + n, name[1]);
		n += first ? first : second ? second : 1;
	}
	return n;
}

static const char *page_file(const struct page *p, const struct report_side *side)
{
	return side->at.file ? page_name(p, side->at.file) : NULL;
}

void page_sentence(const struct page *p, unsigned at, unsigned indent, const char *sentence, const struct report_finding *about)
{
	const char *const name[2] = {about ? page_file(p, &about->first) : NULL, about ? page_file(p, &about->second) : NULL};
	struct text relative = {0};
	page_add_relative(p, &relative, sentence);
	int begun = 0; /* a word stands in this line */
	for (const char *word = relative.data ? relative.data : ""; *word;) {
		const size_t n = page_word(word, name);
		const unsigned columns = page_columns(word, n);
		if (begun && p->style->width && at + 1 + columns > p->style->width) {
			text_printf(p->out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (begun) {
			text_puts(p->out, " ");
			at++;
		}
		begun = 1;
		text_add(p->out, word, n);
		at += columns;
		word += n + (word[n] == ' ');
	}
	text_puts(p->out, "\n");
	p->out->failed |= relative.failed;
	text_free(&relative);
}

/* What of a line is shown, in columns: from the first one on, all of it or as much as there is room for around the caret. */
struct page_window { unsigned first, count; };

static struct page_window page_window(unsigned length, unsigned caret, unsigned room)
{
	if (length <= room)
		return (struct page_window){0, length};
	unsigned first = caret > room / 2 ? caret - room / 2 : 0;
	if (first > length - room)
		first = length - room;
	return (struct page_window){first, room};
}

#define PAGE_CUT "\u2026" /* of one column, in the place of what is not shown on that side */

/* Of `columns` in all. Tabs become one space each, so that the caret stands right whatever the terminal makes of them. */
static void page_add_code(struct text *out, const char *line, unsigned columns, struct page_window window)
{
	unsigned column = 0;
	const int before_it = window.first > 0, behind_it = window.first + window.count < columns;
	window.first += (unsigned)before_it;
	window.count -= (unsigned)(before_it + behind_it);
	text_puts(out, before_it ? PAGE_CUT : "");
	for (size_t left = strlen(line), size; left; line += size, left -= size) {
		const unsigned before = column;
		column += page_cells(line, left, &size);
		if (before >= window.first && column <= window.first + window.count)
			text_add(out, *line == '\t' ? " " : line, size);
		else if (before < window.first && column > window.first) /* half of it is in the window */
			text_puts(out, " ");
	}
	text_puts(out, behind_it ? PAGE_CUT : "");
}

/* From the first character on that is no space; caret: in columns from there, -1: not known. */
static const char *page_code(const struct report_side *side, int *caret)
{
	const char *line = side->source + strspn(side->source, " \t");
	const size_t skipped = (size_t)(line - side->source), column = report_column(&side->at, side->source);
	*caret = column > skipped && column <= strlen(side->source) ? (int)page_columns(line, column - 1 - skipped) : -1;
	return line;
}

/* What stands before the line of code. Returns how many columns it takes. */
static unsigned page_gutter(const struct page *p, unsigned indent, const struct report_side *side, int named)
{
	struct text gutter = {0};
	text_printf(&gutter, "%*s", (int)indent, "");
	if (named)
		text_printf(&gutter, "%s:%u | ", page_name(p, side->at.file), side->at.line);
	else
		text_printf(&gutter, "%5u | ", side->at.line);
	page_paint(p, PAGE_FAINT, "%s", gutter.data ? gutter.data : "");
	const unsigned columns = page_columns(gutter.data, gutter.size);
	text_free(&gutter);
	return columns;
}

void page_frame_excerpt(const struct page *p, unsigned indent, const struct report_side *side, const char *frame)
{
	struct report_side of = *side;
	char *line = frame_take(&of, frame);
	page_excerpt(p, indent, &of, !line);
	free(line);
}

void page_excerpt(const struct page *p, unsigned indent, const struct report_side *side, int named)
{
	int caret;
	const char *line = side->source ? page_code(side, &caret) : "";
	if (!*line)
		return;
	const unsigned used = page_gutter(p, indent, side, named), least = PAGE_NARROW / 2;
	const unsigned room = !p->style->width ? ~0u : p->style->width > used + least ? p->style->width - used : least;
	const unsigned columns = page_columns(line, strlen(line));
	const struct page_window window = page_window(columns, caret < 0 ? 0 : (unsigned)caret, room);
	page_add_code(p->out, line, columns, window);
	text_puts(p->out, "\n");
	if (caret < 0)
		return;
	page_paint(p, PAGE_FAINT, "%*s", (int)used, "| ");
	text_printf(p->out, "%*s", caret - (int)window.first, "");
	page_paint(p, PAGE_CARET, "^");
	text_puts(p->out, "\n");
}

#include "base/lines.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LINES_BLANK " \t\r"
#define LINES_MARK "\xef\xbb\xbf" /* some editors begin UTF-8 with it */
#define LINES_NEAR 24 /* bytes of a name that are compared with others */
#define LINES_BEGUN 3u /* characters that may stand for a whole word */

void lines_begin(struct lines *l, const char *name, char *text, size_t size)
{
	const size_t mark = strlen(LINES_MARK) <= size && !memcmp(text, LINES_MARK, strlen(LINES_MARK)) ? strlen(LINES_MARK) : 0;
	*l = (struct lines){.name = name, .at = text + mark, .end = text + size};
}

int lines_wrong(struct lines *l, const char *format, ...)
{
	va_list args;
	int n = snprintf(l->error, sizeof l->error, "%.200s:%u: ", l->name, l->number);
	va_start(args, format);
	vsnprintf(l->error + n, sizeof l->error - (size_t)n, format, args);
	va_end(args);
	return -EINVAL;
}

/* What stands between quotes, without them, in its place. Returns where the line goes on, or NULL: the quotes are not closed. */
static char *lines_quoted(char *word)
{
	char *from = word + 1, *to = word;
	for (; *from && *from != '"'; *to++ = *from++)
		from += *from == '\\' && (from[1] == '"' || from[1] == '\\');
	char *rest = *from ? from + 1 : NULL;
	*to = 0;
	return rest;
}

static int lines_word(struct lines *l, char **at)
{
	char *word = *at, *rest;
	if (l->words == LINES_WORDS)
		return lines_wrong(l, "more than %d words", LINES_WORDS);
	if (*word == '"') {
		rest = lines_quoted(word);
		if (!rest)
			return lines_wrong(l, "a quote is not closed");
		if (*rest && !strchr(LINES_BLANK, *rest))
			return lines_wrong(l, "no blank behind a closing quote");
	} else {
		rest = word + strcspn(word, LINES_BLANK);
	}
	*at = rest + (*rest != 0);
	*rest = 0;
	l->word[l->words++] = word;
	return 0;
}

static int lines_split(struct lines *l, char *line)
{
	l->words = 0;
	for (line += strspn(line, LINES_BLANK); *line && *line != '#'; line += strspn(line, LINES_BLANK))
		if (lines_word(l, &line))
			return -EINVAL;
	return l->words > 0;
}

int lines_next(struct lines *l)
{
	int rc = 0;
	while (l->at < l->end && !rc) {
		char *line = l->at, *newline = memchr(line, '\n', (size_t)(l->end - line)), *stop = newline ? newline : l->end;
		l->number++;
		l->at = newline ? newline + 1 : l->end;
		*stop = 0;
		rc = strlen(line) == (size_t)(stop - line) ? lines_split(l, line) : lines_wrong(l, "a byte of value 0: is this text?");
	}
	return rc;
}

void lines_add_word(struct text *out, const char *word)
{
	if (*word && *word != '#' && *word != '"' && !word[strcspn(word, LINES_BLANK)]) {
		text_puts(out, word);
		return;
	}
	text_puts(out, "\"");
	for (; *word; word++)
		text_printf(out, *word == '"' || *word == '\\' ? "\\%c" : "%c", *word);
	text_puts(out, "\"");
}

/* How many letters are to be put in, left out or changed, or swapped with the next (optimal string alignment). */
static unsigned lines_distance(const char *a, size_t m, const char *b, size_t n)
{
	unsigned row[3][LINES_NEAR + 1];
	for (unsigned k = 0; k <= n; k++)
		row[0][k] = k;
	for (unsigned i = 1; i <= m; i++) {
		const unsigned *above = row[(i - 1) % 3], *before = row[(i + 1) % 3];
		unsigned *here = row[i % 3];
		here[0] = i;
		for (unsigned k = 1; k <= n; k++) {
			const unsigned changed = above[k - 1] + (a[i - 1] != b[k - 1]), fewer = above[k] < here[k - 1] ? above[k] : here[k - 1];
			here[k] = changed < fewer + 1 ? changed : fewer + 1;
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] && before[k - 2] + 1 < here[k])
				here[k] = before[k - 2] + 1;
		}
	}
	return row[m % 3][n];
}

/* The only one that begins with all of the word. */
static const char *lines_begun(const char *word, size_t m, const char *const *names, size_t count)
{
	const char *only = NULL;
	for (size_t i = 0; i < count && m >= LINES_BEGUN; i++) {
		if (!names[i] || strncmp(names[i], word, m))
			continue;
		if (only)
			return NULL;
		only = names[i];
	}
	return only;
}

const char *lines_nearest(const char *word, const char *const *names, size_t count)
{
	const size_t m = strlen(word);
	const char *best = NULL;
	unsigned least = (unsigned)m / 3 + 1; /* what is further off was not meant */
	for (size_t i = 0; i < count && m <= LINES_NEAR; i++) {
		const size_t n = names[i] ? strlen(names[i]) : 0;
		const unsigned distance = n && n <= LINES_NEAR ? lines_distance(word, m, names[i], n) : least;
		if (distance < least) {
			least = distance;
			best = names[i];
		}
	}
	return best ? best : lines_begun(word, m, names, count);
}

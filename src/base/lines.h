/* Files that people write, in the one form that all of them have here: settings, suppressions, what kernels order. Lines of words with
 * blanks between them. A word that holds blanks, or begins with `#`, stands in double quotes, where \" and \\ are a quote and a
 * backslash; a `#` that begins a word begins a comment. */
#ifndef GSAN_BASE_LINES_H
#define GSAN_BASE_LINES_H

#include <stddef.h>

#include "base/text.h"

#define LINES_WORDS 32 /* in a line, at most */

struct lines {
	const char *name;        /* the file's, for messages */
	char *at, *end;
	unsigned number, words;  /* of the line that was read last, from 1 on */
	char *word[LINES_WORDS]; /* in the text that lines_begin was given */
	char error[512];         /* FILE:LINE: what is wrong with it */
};

/* `text` has a NUL at its end, and is changed by reading. */
void lines_begin(struct lines *l, const char *name, char *text, size_t size);
int lines_next(struct lines *l); /* 1: the next line that has words; 0: there is none; -EINVAL with `error` */
/* Says in `error` what is wrong with the line that was read last, and returns -EINVAL. */
int lines_wrong(struct lines *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

void lines_add_word(struct text *out, const char *word); /* so that it is read back as it is */
/* Which of `names` somebody may have meant by `word`, or NULL. */
const char *lines_nearest(const char *word, const char *const *names, size_t count);

#endif

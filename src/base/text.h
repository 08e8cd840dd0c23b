/* A growable text: append, print, take. After a failed allocation `failed` stays set and appends do nothing, so that a
 * writer checks once, at the end. */
#ifndef GSAN_BASE_TEXT_H
#define GSAN_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text { char *data; size_t size, room; int failed; }; /* data is NUL-terminated once anything was added */

void text_add(struct text *t, const char *bytes, size_t n);
void text_puts(struct text *t, const char *string);
void text_printf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_counted(struct text *t, uint64_t n, const char *one, const char *many); /* "1 launch", "2 launches" */
char *text_take(struct text *t); /* malloc'ed, or NULL if an append failed; *t is empty then */
void text_free(struct text *t);

/* How much of a text stands before its ending; 0: it has another one, or nothing before it. */
size_t text_before(const char *text, size_t size, const char *ending);

/* Reads a whole file into a malloc'ed, NUL-terminated buffer. Returns 0 or -errno. */
int text_read_file(const char *path, char **data, size_t *size);
int text_write_fd(int fd, const char *data, size_t size); /* all of it; 0 or -errno */
/* Writes beside the target and renames, so that no reader sees half a file. Returns 0 or -errno. */
int text_write_file(const char *path, const char *data, size_t size);

#endif

/* Text from elsewhere: what of it is UTF-8, and what of that may do something to whoever shows it. */
#ifndef GSAN_BASE_UTF8_H
#define GSAN_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The code point at the start of `bytes`, of which there are `n` > 0. Returns how many bytes it takes; 0: they are not UTF-8 (RFC 3629:
 * neither surrogates nor longer forms than need be), and *point is the first byte. */
size_t utf8_next(const char *bytes, size_t n, uint32_t *point);
/* Does it command rather than show? Controls (C0, DEL, C1), line and paragraph separators, what turns the direction of writing, and what
 * is no character (XML takes none of those either). */
int utf8_commands(uint32_t point);

#endif

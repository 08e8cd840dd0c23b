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
/* How many cells of a terminal it takes: 2 of East Asian scripts and of pictures, 0 of what is put on the character before it, else 1. By blocks
 * of Unicode, where UAX #11 and terminals differ by single characters. */
unsigned utf8_cells(uint32_t point);
/* Is there nothing in it but UTF-8 that does not command, and tabs? `bytes` ends with a NUL. */
int utf8_is_clean(const char *bytes);
/* Writes it so: what else there is becomes \xNN or \uNNNN. At most `room` bytes, of which the last is a NUL; what has no room is left out.
 * UTF8_CLEAN_ROOM(strlen(bytes)) suffices. Returns how many bytes stand before the NUL. */
size_t utf8_clean(char *to, size_t room, const char *bytes);
#define UTF8_CLEAN_ROOM(n) (4 * (n) + 1)

#endif

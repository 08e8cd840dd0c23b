/* Where a caller of the driver stands in its source: as addr2line (binutils) says of its addresses, if it is there and the object has line
 * information. */
#ifndef GSAN_SUPERVISOR_SYMBOLS_H
#define GSAN_SUPERVISOR_SYMBOLS_H

#include "ptx/info.h"

struct symbol { char *file, *function; uint32_t line; }; /* malloc'ed; file NULL: not known */

/* The innermost frame of which a line is known. It takes some milliseconds, and is given up after seconds. */
struct symbol symbols_find(const struct ptx_info *info);
void symbols_free(struct symbol *s);

#endif

/* Where a caller of the driver stands in its source: as addr2line (binutils) says of its addresses, if it is there and the object has line
 * information; else where it stands in its binary. */
#ifndef GSAN_SUPERVISOR_SYMBOLS_H
#define GSAN_SUPERVISOR_SYMBOLS_H

#include "ptx/info.h"

/* All malloc'ed. object: of the binary's file, "+0x" and where in it; NULL: `file` and `line` are known, or nothing is. */
struct symbol { char *file, *function, *object; uint32_t line; };

/* The innermost frame of which a line is known; if there is none, the innermost. It takes some milliseconds, and is given up after seconds. */
struct symbol symbols_find(const struct ptx_info *info);
void symbols_free(struct symbol *s);

#endif

/* Which function of a binary holds an address, as the binary's own table of symbols says: of one that was compiled without -g that is all there
 * is to know, and of one that was stripped not even that. A symbol is named only if the address lies within its size. */
#ifndef GSAN_SUPERVISOR_OBJECT_H
#define GSAN_SUPERVISOR_OBJECT_H

#include <stdint.h>

/* address: as the file has it. malloc'ed, as the compiler calls it; NULL: not known, or no ELF file of 64 bits. */
char *object_function(const char *file, uint64_t address);

#endif

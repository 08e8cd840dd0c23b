/* What programs say by include/gsan/annotate.h, which finds these exported functions by name. */
#ifndef GSAN_DRIVER_ANNOTATE_H
#define GSAN_DRIVER_ANNOTATE_H

#include <stddef.h>

int annotate_ignores(void); /* what the calling thread launches */

int gsan_annotate_label(const void *memory, size_t size, const char *name);
void gsan_annotate_ignore_begin(void);
void gsan_annotate_ignore_end(void);
int gsan_annotate_release(const char *word);
int gsan_annotate_acquire(const char *word);

#endif

/* What a kernel that runs unchecked may order, by its name: the table in configs/kernels.conf, built in, after the
 * lines of the file that GSAN_KERNELS names. */
#ifndef GSAN_DRIVER_MODELS_H
#define GSAN_DRIVER_MODELS_H

#include <stddef.h>

enum model { MODEL_NONE, MODEL_LOCAL, MODEL_BARRIER };
struct models { struct models_row { enum model model; const char *glob; } *row; size_t rows; };

enum model models_find(const char *kernel);
/* Adds the lines of `text` (base/lines.h), which stays theirs. -EINVAL: some are no models; each is a warning. */
int models_read(struct models *m, const char *name, char *text, size_t size);
enum model models_match(const struct models *m, const char *kernel); /* of the first line that matches */

#endif

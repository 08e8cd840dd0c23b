/* What a kernel that runs unchecked may order, by its name: the table in configs/kernels.conf, built in, after the
 * lines of the file that GSAN_KERNELS names. */
#ifndef GSAN_DRIVER_MODELS_H
#define GSAN_DRIVER_MODELS_H

enum model { MODEL_NONE, MODEL_LOCAL, MODEL_BARRIER };

enum model models_find(const char *kernel);
/* The first line of `lines` that matches; a line that is no model is reported once per call at level warning. */
enum model models_match(const char *lines, const char *kernel);

#endif

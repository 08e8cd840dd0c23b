/* Describe: writes the text that info.h defines for one clone, and wraps it into the variable that carries it. */
#ifndef GSAN_PTX_DESCRIBE_H
#define GSAN_PTX_DESCRIBE_H

#include "ptx/plan.h"

/* reached, stack: scratch, as for ptx_plan_reach; reached must be zeroed. */
void ptx_describe(const struct ptx_plan *plan, uint32_t entry, const char *source, uint8_t *reached, uint32_t *stack,
		  struct text *out);
/* ".visible .global .align 8 .b8 K__gsan_info[n] = {…};" */
void ptx_describe_variable(const struct ptx_module *m, struct ptx_span kernel, const struct text *info, struct text *out);

#endif

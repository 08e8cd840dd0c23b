/* Who called the driver, for reports: a copy has no kernel, so the supervisor knows it as one of the driver function's name, of which each place
 * that calls it is another one. */
#ifndef GSAN_DRIVER_CALLER_H
#define GSAN_DRIVER_CALLER_H

#include "driver/flow.h"

/* The number of driver function `name` as it is called now; told to the supervisor the first time. 0: it could not be. */
uint32_t caller_kernel(struct flow *f, const char *name);

#endif

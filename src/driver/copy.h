/* Copies and sets, as far as order goes: each takes a number in its stream; one that the host waits for joins the host's
 * clock when it returns. (Their ranges are not checked.) */
#ifndef GSAN_DRIVER_COPY_H
#define GSAN_DRIVER_COPY_H

#include "driver/flow.h"

struct copy { struct flow *flow; int blocks; struct clock_vec mark; };
void copy_begin(struct copy *c, CUstream stream, int blocks);
void copy_end(struct copy *c, CUresult rc);

#endif

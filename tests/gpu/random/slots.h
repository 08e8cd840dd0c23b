/* Weak accesses: arrays whose slots belong to one thread each, or that all read. */
#ifndef GSAN_SLOTS_H
#define GSAN_SLOTS_H

#include "make.h"

void slots_arrays(struct make *m);                                                   /* chooses them */
void slots_layout(struct make *m, struct array *a, uint32_t grid, uint32_t block);   /* where slots lie in this launch */
void slots_threads(struct make *m, struct array *a);                                 /* which thread has which, in this phase */
/* A scalar or vector in a slot. whole: all of it, by all threads. */
struct native_op *slots_access(struct make *m, struct array *a, enum lit_op what, int whole, int nc);
void slots_some_lanes(struct make *m, struct native_op *op);                         /* or all threads, perhaps */
void slots_from(struct make *m, struct native_op *op);                               /* moves it to another CTA's slots */
void slots_own(struct make *m, struct array *a);                                     /* each thread loads and stores its own */
void slots_read(struct make *m, struct array *a);                                    /* all read what is others' */

#endif

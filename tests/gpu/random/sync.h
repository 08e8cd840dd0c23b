/* How the CTAs of a program meet: flags, counters, locks, the last to arrive. An element of it is
 * missing where the program is broken. */
#ifndef GSAN_SYNC_H
#define GSAN_SYNC_H

#include "make.h"

/* Thread 0 of each CTA says that its CTA has come so far: an RMW that adds 1, or a store of `value`. */
void sync_raise(struct make *m, int rank, uint64_t at, uint32_t stride, int adds, uint32_t value);
/* Thread 0 of each CTA waits until the flag holds the value; what it acquires serves the CTA. */
void sync_await(struct make *m, int rank, uint64_t at, uint32_t stride, uint32_t rotate, uint32_t value);
void sync_count(struct make *m);      /* bins that all count in, and nothing else touches */
void sync_locked(struct make *m);     /* a sum per lock, to which each CTA adds under it */
void sync_last(struct make *m);       /* what follows is the last CTA's alone, up to … */
void sync_last_ends(struct make *m);

#endif

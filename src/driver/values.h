/* values: what the operations of streams on single words do, told to all GPUs before these are enqueued (layout.h: struct gsan_value, struct gsan_look).
 * The tables lie in memory that all processes share; nothing here waits for anybody. */
#ifndef GSAN_DRIVER_VALUES_H
#define GSAN_DRIVER_VALUES_H

#include "driver/copy.h"

/* An operation of `record` writes a value of so many bytes there. */
void values_tell(struct flow *f, uint64_t canonical, uint64_t value, uint32_t bytes, const struct gsan_launch *record);
/* Somebody writes a value there of which that is not known: what is read there may be it. */
void values_lose(struct flow *f, uint64_t canonical);
/* A word that a stream reads, or copies to or sets, until values_looked(). NULL: there is no room. */
struct gsan_look *values_look(struct flow *f, const struct gsan_look *word);
void values_looked(struct flow *f, struct gsan_look *look);
/* So many words more are under way of which GPUs do not know: what is read of these, or, if they are written, of any, is not known. */
void values_unlooked(struct flow *f, int written, uint32_t more);

void values_start(struct flow *f); /* what a participant left that had its number is forgotten */

#endif

/* index: which elements of an array have a given hash, so that equals are found without a look at all others. The caller compares. */
#ifndef GSAN_REPORT_INDEX_H
#define GSAN_REPORT_INDEX_H

#include <stdint.h>

struct index_slot;
struct index { struct index_slot *slot; uint32_t room, used; }; /* all 0: empty */

int index_add(struct index *x, uint64_t hash, uint32_t element); /* 0 or -ENOMEM */
/* The elements of that hash, as they were added, each call the next one, then NULL; *at begins as 0. It may be replaced by one that compares
 * equal. */
uint32_t *index_next(const struct index *x, uint64_t hash, uint32_t *at);
void index_free(struct index *x);

#endif

/* A sorted array of address ranges that do not meet, each the head of a larger item: blocks, shadow extents, views and
 * reservations by address, handles by value. Pointers to items hold until the next insert or remove. */
#ifndef GSAN_VMM_SPAN_H
#define GSAN_VMM_SPAN_H

#include <stddef.h>
#include <stdint.h>

struct span { uint64_t base, size; }; /* the first member of an item */
struct spans { size_t item; char *items; size_t count, room; };
#define SPANS(type) {.item = sizeof(type)}

void *spans_at(const struct spans *s, size_t i);
size_t spans_behind(const struct spans *s, uint64_t at); /* index of the first that ends behind `at`, or count */
void *spans_find(const struct spans *s, uint64_t at);    /* the one that holds `at`, or NULL */
int spans_insert(struct spans *s, const void *item);     /* copies it. 0 or -ENOMEM */
void spans_remove(struct spans *s, size_t i);

#endif

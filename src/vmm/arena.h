/* A range of addresses, handed out first-fit and taken back; nothing is mapped here. Host memory only. */
#ifndef GSAN_VMM_ARENA_H
#define GSAN_VMM_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena_range { uint64_t base, size; };
struct arena { struct arena_range *free; size_t count, room; }; /* sorted by address, never touching each other */

int arena_give(struct arena *a, uint64_t base, uint64_t size); /* 0, -ENOMEM: the range is lost */
/* align: a power of two. 0, or -ENOMEM: no room. */
int arena_take(struct arena *a, uint64_t size, uint64_t align, uint64_t *base);
void arena_drop(struct arena *a);

#endif

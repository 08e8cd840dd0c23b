/* A bump allocator: many small objects of one lifetime, freed together. Memory comes zeroed and 16-byte aligned. */
#ifndef GSAN_BASE_POOL_H
#define GSAN_BASE_POOL_H

#include <stddef.h>

struct pool_block;
struct pool { struct pool_block *block; };

void *pool_alloc(struct pool *p, size_t size); /* NULL when out of memory */
char *pool_copy(struct pool *p, const char *bytes, size_t n); /* NUL-terminated copy, NULL when out of memory */
void pool_free(struct pool *p);

#endif

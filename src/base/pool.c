#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

struct pool_block {
	struct pool_block *next;
	size_t used, room;
	_Alignas(16) char data[];
};

void *pool_alloc(struct pool *p, size_t size)
{
	size = (size + 15) & ~(size_t)15;
	struct pool_block *b = p->block;
	if (!b || b->room - b->used < size) {
		size_t room = size > 65536 ? size : 65536;
		b = calloc(1, sizeof *b + room);
		if (!b)
			return NULL;
		b->room = room;
		b->next = p->block;
		p->block = b;
	}
	void *at = b->data + b->used;
	b->used += size;
	return at;
}

char *pool_copy(struct pool *p, const char *bytes, size_t n)
{
	char *at = pool_alloc(p, n + 1);
	if (at && n)
		memcpy(at, bytes, n);
	return at;
}

void pool_free(struct pool *p)
{
	while (p->block) {
		struct pool_block *next = p->block->next;
		free(p->block);
		p->block = next;
	}
}

#include "vmm/span.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void *spans_at(const struct spans *s, size_t i) { return s->items + i * s->item; }

size_t spans_behind(const struct spans *s, uint64_t at)
{
	size_t lo = 0, hi = s->count;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		const struct span *m = spans_at(s, mid);
		if (m->base + m->size <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void *spans_find(const struct spans *s, uint64_t at)
{
	size_t i = spans_behind(s, at);
	struct span *found = i < s->count ? spans_at(s, i) : NULL;
	return found && found->base <= at ? found : NULL;
}

int spans_insert(struct spans *s, const void *item)
{
	if (s->count == s->room) {
		size_t room = s->room ? s->room * 2 : 64;
		char *grown = realloc(s->items, room * s->item);
		if (!grown)
			return -ENOMEM;
		s->items = grown;
		s->room = room;
	}
	char *at = spans_at(s, spans_behind(s, ((const struct span *)item)->base));
	memmove(at + s->item, at, (size_t)((char *)spans_at(s, s->count) - at));
	memcpy(at, item, s->item);
	s->count++;
	return 0;
}

void spans_remove(struct spans *s, size_t i)
{
	char *at = spans_at(s, i);
	s->count--;
	memmove(at, at + s->item, (s->count - i) * s->item);
}

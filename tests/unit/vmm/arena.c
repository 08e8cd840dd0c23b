/* The address allocator against a map of single bytes: random takes and gives of one seed, then exhaustion. */
#include "vmm/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPACE 4096u
#define BASE 0x10000u
#define HELD 64

static unsigned char used[SPACE];
static struct arena_range held[HELD];
static int failures;

static void fail(const char *what)
{
	if (failures++ < 5)
		printf("FAIL %s\n", what);
}

static int free_run(uint64_t size, uint64_t align) /* is there room, by the model? */
{
	for (uint64_t at = 0; at + size <= SPACE; at++)
		if ((BASE + at) % align == 0 && !memchr(used + at, 1, size))
			return 1;
	return 0;
}

static void take(struct arena *a, int i, unsigned random)
{
	uint64_t size = 1 + random % 300, align = 1u << (random >> 10) % 8, at;
	int rc = arena_take(a, size, align, &at);
	if (rc) {
		if (free_run(size, align))
			fail("refused though there is room");
		return;
	}
	if (at % align || at < BASE || at + size > BASE + SPACE || memchr(used + (at - BASE), 1, size))
		fail("gave what is not free, not aligned or outside");
	memset(used + (at - BASE), 1, size);
	held[i] = (struct arena_range){at, size};
}

int main(void)
{
	struct arena a = {0};
	srand(7);
	arena_give(&a, BASE, SPACE);
	for (int step = 0; step < 20000; step++) {
		int i = rand() % HELD;
		if (!held[i].size) {
			take(&a, i, (unsigned)rand());
			continue;
		}
		arena_give(&a, held[i].base, held[i].size);
		memset(used + (held[i].base - BASE), 0, held[i].size);
		held[i].size = 0;
	}
	for (int i = 0; i < HELD; i++)
		if (held[i].size)
			arena_give(&a, held[i].base, held[i].size);
	if (a.count != 1 || a.free[0].base != BASE || a.free[0].size != SPACE)
		fail("the free ranges do not grow together again");
	arena_drop(&a);
	puts(failures ? "failed" : "passed");
	return failures != 0;
}

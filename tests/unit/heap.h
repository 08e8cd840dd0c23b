/* Memory for tests that drive the emulated device's executor without its driver: the process's own heap, zeroed. */
#ifndef TESTS_UNIT_HEAP_H
#define TESTS_UNIT_HEAP_H

#include <stdlib.h>
#include <string.h>

#include "emu/exec/exec.h"

static void *heap_allocate(void *context, size_t size, size_t align)
{
	(void)context;
	void *at = aligned_alloc(align, (size + align - 1) / align * align);
	return at ? memset(at, 0, size) : NULL;
}
static void heap_release(void *context, void *at, size_t size)
{
	(void)context, (void)size;
	free(at);
}
static const struct emu_memory heap = {NULL, heap_allocate, heap_release};

#endif

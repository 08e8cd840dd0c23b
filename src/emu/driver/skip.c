#include "emu/driver/skip.h"

#include <stdlib.h>
#include <string.h>

#define SPANS 16u /* further ones are not seen */

/* "LOW-HIGH[,…]" */
const struct emu_span *emu_skip(size_t *spans)
{
	static struct emu_span span[SPANS];
	static size_t count;
	static int read;
	const char *s = read ? NULL : getenv("EMU_TRACE_SKIP");
	for (read = 1; s && *s && count < SPANS; count++) {
		char *end;
		span[count].low = strtoull(s, &end, 0);
		span[count].high = *end == '-' ? strtoull(end + 1, &end, 0) : 0;
		s = *end == ',' ? end + 1 : NULL;
	}
	*spans = count;
	return span;
}

/* "NAME[,…]" */
int emu_skipped_kernel(const char *name)
{
	const char *own = getenv("EMU_TRACE_OWN");
	for (size_t n; own; own = own[n] ? own + n + 1 : NULL) {
		n = strcspn(own, ",");
		if (strlen(name) == n && !memcmp(own, name, n))
			return 1;
	}
	return 0;
}

int emu_skipped_flags(unsigned flags)
{
	const char *own = getenv("EMU_TRACE_OWN_FLAGS");
	return own && flags == strtoul(own, NULL, 0);
}

int emu_skipped(uint64_t address)
{
	size_t spans;
	const struct emu_span *span = emu_skip(&spans);
	for (size_t k = 0; address && k < spans; k++)
		if (address >= span[k].low && address < span[k].high)
			return 1;
	return 0;
}

int emu_skipped_range(unsigned flags, uint64_t to, uint64_t from)
{
	return emu_skipped_flags(flags) || emu_skipped(to) || emu_skipped(from);
}

#include "config/settings.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"

static const struct { const char *name; uint64_t low, high; } settings[] = {
#define SETTING(id, name, low, high, help) {name, low, high},
#include "config/settings.def"
#undef SETTING
};

#define UNREAD 0ull
#define UNSET 1ull
#define SET (1ull << 32) /* + the number */
static _Atomic uint64_t known[SETTINGS]; /* relaxed: every thread would read the same */

static uint64_t setting_read(enum setting s)
{
	const char *text = getenv(settings[s].name);
	char *end;

	if (!text || !*text)
		return UNSET;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 0);
	if (!errno && !*end && *text != '-' && value >= settings[s].low && value <= settings[s].high)
		return SET + value;
	log_warning("%s: '%s' is not a number from %llu to %llu; it is ignored", settings[s].name, text,
		    (unsigned long long)settings[s].low, (unsigned long long)settings[s].high);
	return UNSET;
}

uint32_t setting_number(enum setting s, uint32_t otherwise)
{
	uint64_t value = atomic_load_explicit(&known[s], memory_order_relaxed);

	if (value == UNREAD) {
		value = setting_read(s);
		atomic_store_explicit(&known[s], value, memory_order_relaxed);
	}
	return value == UNSET ? otherwise : (uint32_t)(value - SET);
}

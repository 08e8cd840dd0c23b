/* Settings of a running process: environment variables that hold a number, as data (settings.def). A value that is no
 * number in range is said once, by name, and counts as unset: a library must not end its process for that. */
#ifndef GSAN_CONFIG_SETTINGS_H
#define GSAN_CONFIG_SETTINGS_H

#include <stdint.h>

enum setting {
#define SETTING(id, ...) SETTING_##id,
#include "config/settings.def"
#undef SETTING
	SETTINGS
};

/* Reads the environment the first time only: the answer is the same for the process's life, for one `otherwise`. */
uint32_t setting_number(enum setting s, uint32_t otherwise);

#endif

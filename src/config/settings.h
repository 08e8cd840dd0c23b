/* Settings: one table (settings.def) for all programs. The command line says more than the environment, that more than the file which
 * --config names: lines of a key and its value, in the form of base/lines.h. One file serves all programs, each of which takes its own. */
#ifndef GSAN_CONFIG_SETTINGS_H
#define GSAN_CONFIG_SETTINGS_H

#include <stdint.h>

#include "config/options.h"

enum setting {
#define SETTING(id, ...) SETTING_##id,
#include "config/settings.def"
#undef SETTING
	SETTINGS
};
/* Of the whole job: all its launchers must say the same. Of ranks: gsan-launch hands it on to what it starts. */
enum settings_of { OF_LAUNCH = 1, OF_REPORT = 2, OF_JOB = 4 | OF_LAUNCH, OF_RANKS = 8 | OF_LAUNCH };

extern const struct option_row settings_rows[SETTINGS];

/* Behind options_parse of all that the command line has: what that does not say is taken from the environment, from the file, or is
 * initial. 0, or -EINVAL with a sentence in `error`. */
int settings_complete(enum settings_of of, struct option_value values[SETTINGS], char *error, size_t error_size);
void settings_print(struct text *out, enum settings_of of, const struct option_value values[SETTINGS]); /* --print-config: as such a file */
/* What asks for no work: --help, --version, --print-config. 1: it is printed; 0: it was not that; -errno: it cannot be printed,
 * which is said. */
struct settings_words { const char *program, *usage, *status; }; /* usage and status: what --help says before the options, and behind them */
int settings_tell(enum settings_of of, const struct option_value values[SETTINGS], const struct settings_words *words);
void settings_export(enum settings_of of, const struct option_value values[SETTINGS]); /* to the environment: what somebody has said */

/* In a process that has no command line of ours: a number of its environment. What is not set, or is no number in range, which is said
 * once, is `otherwise`. Reads the environment the first time only: the answer is the same for the process's life. */
uint32_t setting_number(enum setting s, uint32_t otherwise);

#endif

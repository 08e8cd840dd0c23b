/* config: options and settings as data. A program's options are rows of a table; the row is all there is: parser, --help and the check of
 * the man page read it. On a command line, options end at the first argument that is not one, or at `--`, because what follows is somebody
 * else's command line. */
#ifndef GSAN_CONFIG_OPTIONS_H
#define GSAN_CONFIG_OPTIONS_H

#include <stddef.h>

#include "base/text.h"

enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_NUMBER, OPTION_CHOICE };
enum option_source { OPTION_INITIAL, OPTION_FILE, OPTION_ENVIRONMENT, OPTION_COMMAND }; /* the stronger later */
struct option_row {
	unsigned of;         /* whose option it is: bits of enum setting_of, where programs share a table; elsewhere 0 */
	const char *name;    /* without dashes; one letter makes it a short option; NULL: no command line has it */
	enum option_kind kind;
	const char *value;   /* its name in --help; of a choice: the words, separated by `|` */
	long low, high;      /* of a number */
	const char *initial; /* NULL: none */
	const char *variable; /* of the environment; NULL: it is for the command line alone */
	const char *help;
};
struct option_value {
	const char *text;         /* NULL: it has no value */
	long number;              /* of a flag 1: yes; of a choice, the word's place from 0 */
	enum option_source given; /* who said it; OPTION_INITIAL, 0: nobody */
	unsigned line;            /* of the file, where that said it */
};
struct options { const struct option_row *row; size_t count; unsigned of; }; /* of the rows, those of a program */

/* values: one per row, of which those change that this command line has. *rest = index of the first argument behind the options.
 * Returns 0 or -EINVAL with a sentence in `error`. */
int options_parse(const struct options *o, int argc, char **argv, struct option_value *values, int *rest, char *error, size_t error_size);
/* Takes over what somebody says of an option, unless that is wrong; `given` stays. 0 or -EINVAL, and options_set says why. */
int options_take(const struct option_row *row, const char *text, struct option_value *value);
int options_set(const struct option_row *row, const char *text, struct option_value *value, char *error, size_t error_size);
/* One line per option, as --help and the man page show it. */
void options_help(struct text *out, const struct options *o);
/* "--report DIR", "-n N": how an option is written, for messages and for the man page check. */
void options_spell(struct text *out, const struct option_row *row);

#endif

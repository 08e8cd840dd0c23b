/* config: command lines as data. A program lists its options in a .def file, one OPTION row each; the row is all there
 * is: parser, --help and the check of the man page read it. Options end at the first argument that is not one, or at
 * `--`, because what follows is somebody else's command line. */
#ifndef GSAN_CONFIG_OPTIONS_H
#define GSAN_CONFIG_OPTIONS_H

#include <stddef.h>

#include "base/text.h"

enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_NUMBER, OPTION_CHOICE };
struct option_row {
	const char *name;    /* without dashes; one letter makes it a short option */
	enum option_kind kind;
	const char *value;   /* its name in --help; of a choice: the words, separated by `|` */
	long low, high;      /* of a number */
	const char *initial; /* NULL: none */
	const char *variable; /* of the environment, that says otherwise than `initial` if it is set; NULL: none */
	const char *help;
};
struct option_value { const char *text; long number; int given; }; /* number: of a choice, the word's place from 0 */

/* values: one per row, filled with the initial values first, then with the environment's. *rest = index of the first argument behind the options.
 * Returns 0 or -EINVAL with a sentence in `error`. */
int options_parse(const struct option_row *rows, size_t count, int argc, char **argv, struct option_value *values,
		  int *rest, char *error, size_t error_size);
/* One line per option, as --help and the man page show it. */
void options_help(struct text *out, const struct option_row *rows, size_t count);
/* "--report DIR", "-n N": how an option is written, for messages and for the man page check. */
void options_spell(struct text *out, const struct option_row *row);

#endif

#include "config/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"

static const struct option_row *options_find(const struct options *o, const char *name, size_t n)
{
	for (size_t i = 0; i < o->count; i++) {
		const struct option_row *row = &o->row[i];
		if ((row->of & o->of) == o->of && row->name && strlen(row->name) == n && !strncmp(row->name, name, n))
			return row;
	}
	return NULL;
}

/* words: separated by `|`. */
static int options_choose(const char *words, const char *text, long *number)
{
	size_t n = strlen(text);
	long place = 0;
	for (const char *at = words; at; place++) {
		const char *end = strchr(at, '|');
		size_t word = end ? (size_t)(end - at) : strlen(at);
		if (n == word && !strncmp(at, text, n)) {
			*number = place;
			return 0;
		}
		at = end ? end + 1 : NULL;
	}
	return -EINVAL;
}

static int options_number(const struct option_row *row, const char *text, long *number)
{
	char *end;
	errno = 0;
	long value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < row->low || value > row->high)
		return -EINVAL;
	*number = value;
	return 0;
}

/* Of a flag; each other one says that it is set. What is no option takes 0 and 1 (GSAN_COPIES), and people write the others, too. */
#define OPTIONS_FLAG "no|yes|0|1|false|true|off|on"

int options_take(const struct option_row *row, const char *text, struct option_value *value)
{
	long number = 0;
	int rc = 0;
	if (row->kind == OPTION_NUMBER)
		rc = options_number(row, text, &number);
	else if (row->kind != OPTION_TEXT)
		rc = options_choose(row->kind == OPTION_FLAG ? OPTIONS_FLAG : row->value, text, &number);
	if (rc)
		return rc;
	value->text = text;
	value->number = row->kind == OPTION_FLAG ? number & 1 : number;
	return 0;
}

int options_set(const struct option_row *row, const char *text, struct option_value *value, char *error, size_t size)
{
	struct text spelled = {0};
	int rc = options_take(row, text, value);
	if (!rc)
		return 0;
	options_spell(&spelled, row);
	if (row->kind == OPTION_NUMBER)
		snprintf(error, size, "%s: '%s' is not a number from %ld to %ld", spelled.data, text, row->low, row->high);
	else
		snprintf(error, size, "%s: '%s' is %s", spelled.data, text, row->kind == OPTION_FLAG ? "neither yes (1, true, on) nor no (0, false, off)" : "none of them");
	text_free(&spelled);
	return rc;
}

/* The value, which may be in the same argument. A flag needs none. Returns how many arguments that takes, or -EINVAL. */
static int options_value(const struct option_row *row, const char *joined, int left, char **at, const char **text, char *error, size_t size)
{
	*text = joined ? joined : row->kind == OPTION_FLAG ? "yes" : left > 1 ? at[1] : NULL;
	if (row->kind == OPTION_FLAG && joined && !row->variable) {
		snprintf(error, size, "option '%s' takes no value", at[0]);
		return -EINVAL;
	}
	if (!*text) {
		snprintf(error, size, "option '%s' needs a value: %s", at[0], row->value);
		return -EINVAL;
	}
	return joined || row->kind == OPTION_FLAG ? 1 : 2;
}

#define OPTIONS_MOST 128 /* that a name is looked for among */

static void options_unknown(const struct options *o, const char *said, const char *name, size_t n, char *error, size_t size)
{
	const char *names[OPTIONS_MOST];
	char word[64];
	for (size_t i = 0; i < o->count && i < OPTIONS_MOST; i++)
		names[i] = (o->row[i].of & o->of) == o->of && o->row[i].name && o->row[i].name[1] ? o->row[i].name : NULL;
	snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : 0), name);
	const char *near = n > 1 ? lines_nearest(word, names, o->count < OPTIONS_MOST ? o->count : OPTIONS_MOST) : NULL;
	snprintf(error, size, near ? "unknown option '%s': did you mean --%s? (see --help)" : "unknown option '%s' (see --help)", said, near);
}

/* One option at argv[at]. Returns how many arguments it took, or -EINVAL. */
static int options_one(const struct options *o, int argc, char **argv, int at, struct option_value *values, char *error, size_t size)
{
	int is_help = !strcmp(argv[at], "-h"), is_long = is_help || argv[at][1] == '-'; /* what everybody tries first */
	const char *name = is_help ? "help" : argv[at] + 1 + is_long, *equals = strchr(name, '=');
	size_t n = equals ? (size_t)(equals - name) : strlen(name);
	const struct option_row *row = options_find(o, name, n);
	const char *text = equals ? equals + 1 : NULL;
	if (!row && !is_long && n > 1) { /* -n4 */
		row = options_find(o, name, 1);
		text = name + 1;
	}
	if (!row || (strlen(row->name) > 1) != is_long) {
		options_unknown(o, argv[at], name, n, error, size);
		return -EINVAL;
	}
	struct option_value *value = &values[row - o->row];
	int taken = options_value(row, text, argc - at, argv + at, &text, error, size);
	if (taken < 0 || options_set(row, text, value, error, size))
		return -EINVAL;
	value->given = OPTION_COMMAND;
	return taken;
}

int options_parse(const struct options *o, int argc, char **argv, struct option_value *values, int *rest, char *error, size_t error_size)
{
	int at = 1;
	while (at < argc && argv[at][0] == '-' && argv[at][1]) {
		if (!strcmp(argv[at], "--")) {
			at++;
			break;
		}
		int taken = options_one(o, argc, argv, at, values, error, error_size);
		if (taken < 0)
			return taken;
		at += taken;
	}
	*rest = at;
	return 0;
}

void options_spell(struct text *out, const struct option_row *row)
{
	text_printf(out, "%s%s", strlen(row->name) > 1 ? "--" : "-", row->name);
	if (row->kind != OPTION_FLAG)
		text_printf(out, " %s", row->value);
}

static void options_help_row(struct text *out, const struct option_row *row)
{
	size_t start = out->size;
	text_puts(out, "  ");
	options_spell(out, row);
	size_t width = out->size - start;
	if (width > 32)
		text_printf(out, "\n%34s", "");
	else
		text_printf(out, "%*s", (int)(34 - width), "");
	text_puts(out, row->help);
	if (row->initial)
		text_printf(out, " (default %s)", row->initial);
	text_puts(out, "\n");
}

void options_help(struct text *out, const struct options *o)
{
	for (size_t i = 0; i < o->count; i++)
		if ((o->row[i].of & o->of) == o->of && o->row[i].name)
			options_help_row(out, &o->row[i]);
}

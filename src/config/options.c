#include "config/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option_row *options_find(const struct option_row *rows, size_t count, const char *name, size_t n)
{
	for (size_t i = 0; i < count; i++)
		if (strlen(rows[i].name) == n && !strncmp(rows[i].name, name, n))
			return &rows[i];
	return NULL;
}

static int options_choose(const struct option_row *row, const char *text, long *number)
{
	size_t n = strlen(text);
	long place = 0;
	for (const char *at = row->value; at; place++) {
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

/* `variable`: where the text is from, if it is not from the command line, or NULL. */
static int options_set(const struct option_row *row, const char *variable, const char *text, struct option_value *value, char *error, size_t size)
{
	struct text spelled = {0};
	int rc = 0;
	if (row->kind == OPTION_NUMBER)
		rc = options_number(row, text, &value->number);
	else if (row->kind == OPTION_CHOICE)
		rc = options_choose(row, text, &value->number);
	if (!rc) {
		value->text = text;
		return 0;
	}
	if (variable)
		text_printf(&spelled, "%s: ", variable);
	options_spell(&spelled, row);
	if (row->kind == OPTION_NUMBER)
		snprintf(error, size, "%s: '%s' is not a number from %ld to %ld", spelled.data, text, row->low, row->high);
	else
		snprintf(error, size, "%s: '%s' is none of them", spelled.data, text);
	text_free(&spelled);
	return rc;
}

/* One option at argv[at]. Returns how many arguments it took, or -EINVAL. */
static int options_one(const struct option_row *rows, size_t count, int argc, char **argv, int at,
		       struct option_value *values, char *error, size_t size)
{
	int is_help = !strcmp(argv[at], "-h"), is_long = is_help || argv[at][1] == '-'; /* what everybody tries first */
	const char *name = is_help ? "help" : argv[at] + 1 + is_long, *equals = strchr(name, '=');
	size_t n = equals ? (size_t)(equals - name) : strlen(name);
	const struct option_row *row = options_find(rows, count, name, n);
	const char *text = equals ? equals + 1 : NULL;
	int taken = 1;
	if (!row && !is_long && n > 1) { /* -n4 */
		row = options_find(rows, count, name, 1);
		text = name + 1;
	}
	if (!row || (strlen(row->name) > 1) != is_long) {
		snprintf(error, size, "unknown option '%s' (see --help)", argv[at]);
		return -EINVAL;
	}
	struct option_value *value = &values[row - rows];
	value->given = 1;
	if (row->kind == OPTION_FLAG && text) {
		snprintf(error, size, "option '%s' takes no value", argv[at]);
		return -EINVAL;
	}
	if (row->kind == OPTION_FLAG)
		return taken;
	if (!text) {
		if (at + 1 >= argc) {
			snprintf(error, size, "option '%s' needs a value: %s", argv[at], row->value);
			return -EINVAL;
		}
		text = argv[at + 1];
		taken = 2;
	}
	return options_set(row, NULL, text, value, error, size) ? -EINVAL : taken;
}

static int options_begin(const struct option_row *row, struct option_value *value, char *error, size_t size)
{
	const char *text = row->variable ? getenv(row->variable) : NULL;
	int rc = row->initial ? options_set(row, NULL, row->initial, value, error, size) : 0;
	return rc || !text || !*text ? rc : options_set(row, row->variable, text, value, error, size);
}

int options_parse(const struct option_row *rows, size_t count, int argc, char **argv, struct option_value *values,
		  int *rest, char *error, size_t error_size)
{
	int at = 1;
	for (size_t i = 0; i < count; i++) {
		values[i] = (struct option_value){0};
		if (options_begin(&rows[i], &values[i], error, error_size))
			return -EINVAL;
	}
	while (at < argc && argv[at][0] == '-' && argv[at][1]) {
		if (!strcmp(argv[at], "--")) {
			at++;
			break;
		}
		int taken = options_one(rows, count, argc, argv, at, values, error, error_size);
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

void options_help(struct text *out, const struct option_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t start = out->size;
		text_puts(out, "  ");
		options_spell(out, &rows[i]);
		size_t width = out->size - start;
		if (width > 32)
			text_printf(out, "\n%34s", "");
		else
			text_printf(out, "%*s", (int)(34 - width), "");
		text_puts(out, rows[i].help);
		if (rows[i].initial)
			text_printf(out, " (default %s%s%s)", rows[i].initial, rows[i].variable ? ", or " : "",
				    rows[i].variable ? rows[i].variable : "");
		text_puts(out, "\n");
	}
}

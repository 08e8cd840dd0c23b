#include "config/settings.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/lines.h"
#include "base/log.h"

#define SETTINGS_COLUMN 40 /* of the comments in what is printed */

const struct option_row settings_rows[SETTINGS] = {
#define SETTING(id, of, name, kind, value, low, high, initial, variable, help) {of, name, kind, value, low, high, initial, variable, help},
#include "config/settings.def"
#undef SETTING
};

static int settings_has(const struct option_row *row, enum settings_of of) { return (row->of & of) == (unsigned)of && row->name && row->variable; }

/* ---- the environment ---- */

static int settings_environment(enum settings_of of, struct option_value *values, char *error, size_t size)
{
	for (int s = 0; s < SETTINGS; s++) {
		const struct option_row *row = &settings_rows[s];
		const char *text = settings_has(row, of) ? getenv(row->variable) : NULL;
		struct option_value said = {.given = OPTION_ENVIRONMENT};
		char why[300];
		if (!text || !*text)
			continue;
		if (options_set(row, text, &said, why, sizeof why)) {
			snprintf(error, size, "%s: %s", row->variable, why);
			return -EINVAL;
		}
		if (!values[s].given)
			values[s] = said;
	}
	return 0;
}

/* What is no setting, and is read all the same. */
static const char *const settings_others[] = {"GSAN_BIN", "GSAN_BUILD", "GSAN_CALLER", "GSAN_CLANG", "GSAN_EMU_JOB", "GSAN_LAUNCH", "GSAN_LINKER",
	"GSAN_PTXAS", "GSAN_RANK", "GSAN_REAL_PTXAS", "GSAN_REAL_PTXAS_BLACKWELL", "GSAN_SOCKET", "GSAN_WORKER_PYTHON"};

static int settings_reads(const char *name)
{
	for (size_t i = 0; i < sizeof settings_others / sizeof *settings_others; i++)
		if (!strcmp(settings_others[i], name))
			return 1;
	for (int s = 0; s < SETTINGS; s++)
		if (settings_rows[s].variable && !strcmp(settings_rows[s].variable, name))
			return 1;
	return 0;
}

/* A variable of the environment may be anybody's: one that looks like a setting is no error, and is not passed over in silence. */
static void settings_doubt(void)
{
	const char *names[SETTINGS];
	for (int s = 0; s < SETTINGS; s++)
		names[s] = settings_rows[s].variable;
	for (char **at = environ; *at; at++) {
		const int n = (int)strcspn(*at, "=");
		char name[64];
		if (strncmp(*at, "GSAN_", 5) || snprintf(name, sizeof name, "%.*s", n, *at) >= (int)sizeof name || settings_reads(name))
			continue;
		const char *near = lines_nearest(name, names, SETTINGS);
		if (near)
			log_warning("%s is no setting, and is ignored: did you mean %s?", name, near);
	}
}

/* ---- the file ---- */

static int settings_unknown(struct lines *l)
{
	const char *names[SETTINGS];
	for (int s = 0; s < SETTINGS; s++)
		names[s] = settings_rows[s].variable && s != SETTING_CONFIG ? settings_rows[s].name : NULL;
	const char *near = lines_nearest(l->word[0], names, SETTINGS);
	if (near)
		return lines_wrong(l, "'%.60s' is no setting: did you mean '%s'?", l->word[0], near);
	return lines_wrong(l, "'%.60s' is no setting; --print-config lists them", l->word[0]);
}

static int settings_key(const char *word)
{
	int s = 0;
	while (s < SETTINGS && (!settings_rows[s].name || strcmp(settings_rows[s].name, word)))
		s++;
	return s;
}

/* `file`: what lines before this one have said. */
static int settings_line(struct lines *l, struct option_value *file)
{
	const int s = settings_key(l->word[0]);
	const struct option_row *row = &settings_rows[s];
	char why[300];
	if (s == SETTINGS)
		return settings_unknown(l);
	if (!row->variable || s == SETTING_CONFIG)
		return lines_wrong(l, "'%s' is not for a file", row->name);
	if (file[s].given)
		return lines_wrong(l, "'%s' is said in line %u, too", row->name, file[s].line);
	if (l->words != 2)
		return lines_wrong(l, "a line is a setting and one value: %s %s", row->name, row->kind == OPTION_FLAG ? "yes|no" : row->value);
	if (options_set(row, l->word[1], &file[s], why, sizeof why))
		return lines_wrong(l, "%s", why);
	file[s].given = OPTION_FILE;
	file[s].line = l->number;
	return 0;
}

static int settings_file(enum settings_of of, struct option_value *values, char *error, size_t size)
{
	static char *text; /* values point into it; of the last call */
	struct option_value file[SETTINGS] = {{0}};
	const char *name = values[SETTING_CONFIG].text;
	struct lines l;
	size_t length;
	free(text);
	text = NULL;
	int rc = name ? text_read_file(name, &text, &length) : 0;
	if (rc)
		snprintf(error, size, "--config %.200s: cannot be read: %s", name, strerror(-rc));
	if (rc || !name)
		return rc ? -EINVAL : 0;
	lines_begin(&l, name, text, length);
	while ((rc = lines_next(&l)) > 0 && !(rc = settings_line(&l, file)))
		;
	if (rc)
		snprintf(error, size, "%s", l.error);
	for (int s = 0; s < SETTINGS && !rc; s++)
		if (file[s].given && settings_has(&settings_rows[s], of) && !values[s].given)
			values[s] = file[s];
	return rc;
}

int settings_complete(enum settings_of of, struct option_value values[SETTINGS], char *error, size_t error_size)
{
	int rc = settings_environment(of, values, error, error_size);
	settings_doubt();
	if (!rc)
		rc = settings_file(of, values, error, error_size);
	for (int s = 0; s < SETTINGS && !rc; s++)
		if (!values[s].given && settings_rows[s].initial)
			rc = options_set(&settings_rows[s], settings_rows[s].initial, &values[s], error, error_size);
	return rc;
}

/* ---- what came of it ---- */

static void settings_source(struct text *out, enum setting s, const struct option_value *values)
{
	switch (values[s].given) {
	case OPTION_INITIAL: text_puts(out, values[s].text || settings_rows[s].kind == OPTION_FLAG ? "default" : "not set"); break;
	case OPTION_FILE: text_printf(out, "%s:%u", values[SETTING_CONFIG].text, values[s].line); break;
	case OPTION_ENVIRONMENT: text_puts(out, settings_rows[s].variable); break;
	case OPTION_COMMAND: text_puts(out, "command line"); break;
	}
}

static void settings_print_row(struct text *out, enum setting s, const struct option_value *values)
{
	const struct option_row *row = &settings_rows[s];
	const char *text = row->kind == OPTION_FLAG ? (values[s].number ? "yes" : "no") : values[s].text;
	const int fits = text && !strchr(text, '\n') && s != SETTING_CONFIG; /* else it is a comment */
	const size_t start = out->size;
	text_printf(out, "%s%s ", fits ? "" : "# ", row->name);
	lines_add_word(out, text && !strchr(text, '\n') ? text : row->value);
	text_printf(out, "%*s # ", out->size - start < SETTINGS_COLUMN ? (int)(SETTINGS_COLUMN - (out->size - start)) : 0, "");
	settings_source(out, s, values);
	text_puts(out, text && strchr(text, '\n') ? "; it holds a newline, which no file can say\n" : "\n");
}

void settings_print(struct text *out, enum settings_of of, const struct option_value values[SETTINGS])
{
	for (int s = 0; s < SETTINGS; s++)
		if (settings_has(&settings_rows[s], of))
			settings_print_row(out, (enum setting)s, values);
}

int settings_tell(enum settings_of of, const struct option_value values[SETTINGS], const struct settings_words *words)
{
	const struct options options = {settings_rows, SETTINGS, of};
	struct text out = {0};
	if (values[SETTING_HELP].given) {
		text_puts(&out, words->usage);
		options_help(&out, &options);
		text_puts(&out, words->status);
	} else if (values[SETTING_VERSION].given) {
		text_printf(&out, "%s %s\n", words->program, GSAN_VERSION);
	} else if (values[SETTING_PRINT_CONFIG].given) {
		settings_print(&out, of, values);
	} else {
		return 0;
	}
	const int rc = fputs(out.data ? out.data : "", stdout) < 0 || fflush(stdout) ? -errno : 1;
	if (rc < 0)
		log_error("standard output: cannot be written: %s", strerror(-rc));
	text_free(&out);
	return rc;
}

void settings_export(enum settings_of of, const struct option_value values[SETTINGS])
{
	for (int s = 0; s < SETTINGS; s++)
		if (settings_has(&settings_rows[s], of) && values[s].given)
			setenv(settings_rows[s].variable, values[s].text, 1);
}

/* ---- a number of the environment ---- */

#define UNREAD 0ull
#define UNSET 1ull
#define SET (1ull << 32) /* + the number */
static _Atomic uint64_t known[SETTINGS]; /* relaxed: every thread would read the same */

static uint64_t setting_read(const struct option_row *row)
{
	const char *text = getenv(row->variable);
	struct option_value value;

	if (!text || !*text)
		return UNSET;
	if (!options_take(row, text, &value))
		return SET + (uint64_t)value.number;
	log_warning("%s: '%s' is not a number from %ld to %ld; it is ignored", row->variable, text, row->low, row->high);
	return UNSET;
}

uint32_t setting_number(enum setting s, uint32_t otherwise)
{
	uint64_t value = atomic_load_explicit(&known[s], memory_order_relaxed);

	if (value == UNREAD) {
		value = setting_read(&settings_rows[s]);
		atomic_store_explicit(&known[s], value, memory_order_relaxed);
	}
	return value == UNSET ? otherwise : (uint32_t)(value - SET);
}

/* gsan-report: prints again what gsan-launch has written, of one run or of several together, in the format that is asked for, and says
 * by its status whether something was found. Every file is read into a struct report first, so that a damaged one is never passed on as good. */
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "config/settings.h"
#include "report/formats/format.h"
#include "report/page.h"
#include "report/suppress.h"

enum { MAIN_UNREADABLE = 1, MAIN_USAGE = 2, MAIN_FOUND = 66 };
enum main_fail { FAIL_NEW, FAIL_ANY, FAIL_NEVER };

static const struct options main_options = {settings_rows, SETTINGS, OF_REPORT};

static const struct settings_words main_words = {
	"gsan-report",
	"usage: gsan-report [OPTIONS] [DIR|FILE]... [OPTIONS]\n"
	"Prints the reports that gsan-launch --report DIR has written, several as one (if none is named, what --report says).\n\n",
	"\nExit status: 0; 66: found what --fail-on says; 1: a report cannot be read, or the output not be written;\n"
	"2: wrong usage.\n",
};

/* Of a directory, its summary. Returns 0, or -errno once it has said what is wrong; *r is valid for report_free whatever comes back. */
static int main_read(const char *name, struct report *r)
{
	struct text path = {0};
	struct stat what;
	char error[200] = "", *json = NULL;
	size_t size;
	*r = (struct report){0};
	text_puts(&path, name);
	if (stat(name, &what) || S_ISDIR(what.st_mode))
		text_puts(&path, "/summary.json");
	int rc = path.failed ? -ENOMEM : text_read_file(path.data, &json, &size);
	if (!rc)
		rc = report_read(r, json, error, sizeof error);
	if (rc)
		log_error("%s: %s", path.data ? path.data : name, rc == -EINVAL && *error ? error : strerror(-rc));
	text_free(&path);
	free(json);
	return rc;
}

static int main_merge(char *const *names, int count, struct report *r)
{
	int rc = 0;
	for (int i = 0; i < count && !rc; i++) {
		struct report one;
		rc = main_read(names[i], &one);
		if (!rc && (rc = report_merge(r, &one)))
			log_error("out of memory");
		report_free(&one);
	}
	return rc;
}

static int main_compare(const char *name, struct report *r)
{
	struct report baseline;
	int rc = main_read(name, &baseline);
	if (!rc && (rc = report_compare(r, &baseline)))
		log_error("out of memory");
	report_free(&baseline);
	return rc;
}

/* A device or a pipe cannot be replaced, and is written to. */
static int main_write(const char *name, const struct text *out)
{
	struct stat what;
	const int replace = name && (lstat(name, &what) ? errno == ENOENT : S_ISREG(what.st_mode));
	if (replace) {
		int rc = text_write_file(name, out->data ? out->data : "", out->size);
		if (rc)
			log_error("%s: cannot be written: %s", name, strerror(-rc));
		return rc;
	}
	FILE *file = name ? fopen(name, "we") : stdout;
	int failed = !file || (out->size && fwrite(out->data, 1, out->size, file) != out->size) || fflush(file);
	if (failed)
		log_error("%s: cannot be written: %s", name ? name : "standard output", strerror(errno));
	if (file && name)
		fclose(file);
	return failed ? -EIO : 0;
}

static int main_print(const struct option_value *option, const struct report *r, const char *folder)
{
	const char *name = option[SETTING_OUTPUT].given ? option[SETTING_OUTPUT].text : option[SETTING_OUTPUT_SHORT].text;
	char directory[PATH_MAX];
	struct report_style style = {.verbose = option[SETTING_VERBOSE].given, .directory = getcwd(directory, sizeof directory)};
	struct text out = {0};
	page_style(&style, name ? -1 : STDOUT_FILENO, (enum page_when)option[SETTING_COLOR].number);
	if (option[SETTING_SUGGEST].given)
		report_suggest(&out, r);
	else
		format_find(option[SETTING_FORMAT].text)(&out, &(struct format_view){r, folder, &style});
	if (out.failed)
		log_error("out of memory");
	int rc = out.failed ? -ENOMEM : main_write(name, &out);
	text_free(&out);
	return rc;
}

/* Neither formal races nor suppressed ones count, as they do not for gsan-launch. */
static int main_status(const struct option_value *option, const struct report *r)
{
	const struct option_value *on = &option[SETTING_FAIL_ON];
	const enum main_fail fail = on->given ? (enum main_fail)on->number : option[SETTING_BASELINE].given ? FAIL_NEW : FAIL_NEVER;
	for (uint32_t i = 0; i < r->findings && fail != FAIL_NEVER; i++)
		if (report_decides(&r->finding[i]) && (fail == FAIL_ANY || r->finding[i].age != REPORT_OLD))
			return MAIN_FOUND;
	for (int kind = 0; kind < GSAN_TOLD && fail != FAIL_NEVER; kind++)
		if (r->unlisted[kind].findings > (fail == FAIL_ANY ? 0 : r->unlisted[kind].old))
			return MAIN_FOUND;
	return 0;
}

/* Pair by pair: a finding goes only with all of them. */
static int main_suppress(struct report *r, const struct suppressions *suppressions)
{
	int rc = report_ungroup(r);
	rc = rc ? rc : report_suppress(r, suppressions);
	return rc ? rc : report_regroup(r);
}

static int main_run(const struct option_value *option, const struct suppressions *suppressions, char **names, int count)
{
	const char *const folder = count == 1 ? names[0] : option[SETTING_REPORT].text;
	const char *const pattern[REPORT_PATTERNS] = {[REPORT_BY_KIND] = option[SETTING_KIND].text,
						      [REPORT_BY_KERNEL] = option[SETTING_KERNEL].text,
						      [REPORT_BY_FILE] = option[SETTING_FILES].text,
						      [REPORT_BY_RANK] = option[SETTING_RANK].text,
						      [REPORT_BY_LABEL] = option[SETTING_LABEL].text};
	struct report r = {0};
	int rc = count > 1 ? main_merge(names, count, &r) : main_read(folder, &r);
	if (!rc && option[SETTING_BASELINE].given)
		rc = main_compare(option[SETTING_BASELINE].text, &r);
	if (!rc && (rc = main_suppress(&r, suppressions)))
		log_error("out of memory");
	report_select(&r, pattern);
	if (!option[SETTING_SUGGEST].given || option[SETTING_DETAILS].given) /* a file of all, unless fewer are asked for */
		report_limit(&r, (uint32_t)option[SETTING_DETAILS].number);
	if (!rc)
		rc = main_print(option, &r, count > 1 ? NULL : folder);
	int status = rc ? MAIN_UNREADABLE : main_status(option, &r);
	report_free(&r);
	return status;
}

static int main_usage(const char *error)
{
	log_error("%s", error);
	return MAIN_USAGE;
}

/* A pattern that no kind ever matches is a mistake: nobody would see it in an empty list. */
static int main_kind_exists(const char *pattern)
{
	for (int kind = GSAN_RAW; kind < GSAN_TOLD; kind++)
		if (!fnmatch(pattern, report_kind_name((enum gsan_kind)kind), 0))
			return 1;
	return 0;
}

/* Likewise of ranks: one or two, each a number or *. */
static int main_rank_exists(const char *pattern)
{
	for (int i = 0; i < 2; i++) {
		const size_t n = *pattern == '*' ? 1 : strspn(pattern, "0123456789");
		pattern += n;
		if (!n || !*pattern)
			return n > 0;
		if (*pattern++ != ',')
			return 0;
	}
	return 0;
}

/* Is there a file that has no name? A variable of a script is not set, perhaps. */
static int main_is_empty(const struct option_value *option, char **argv, int names, char *error, size_t size)
{
	static const enum setting file[] = {SETTING_REPORT, SETTING_OUTPUT, SETTING_OUTPUT_SHORT};
	for (size_t i = 0; i < sizeof file / sizeof *file; i++)
		if (option[file[i]].text && !*option[file[i]].text) {
			snprintf(error, size, "%s%s: an empty name", settings_rows[file[i]].name[1] ? "--" : "-", settings_rows[file[i]].name);
			return 1;
		}
	for (int i = 0; i < names; i++)
		if (!*argv[i]) {
			snprintf(error, size, "a report to read: an empty name");
			return 1;
		}
	return 0;
}

/* Options may stand before, between and behind what is to be read: that is gathered at the start of argv, and counted. */
static int main_parse(int argc, char **argv, struct option_value *option, int *names, char *error, size_t size)
{
	int at = 0, rest = 1, ended = 0;
	for (*names = 0; at < argc;) {
		if (!ended && options_parse(&main_options, argc - at, argv + at, option, &rest, error, size))
			return -EINVAL;
		at += ended ? 1 : rest;
		ended |= !strcmp(argv[at - 1], "--");
		if (at < argc)
			argv[(*names)++] = argv[at];
	}
	if (settings_complete(OF_REPORT, option, error, size))
		return -EINVAL;
	if (main_is_empty(option, argv, *names, error, size))
		return -EINVAL;
	if (option[SETTING_SUGGEST].given == OPTION_COMMAND && option[SETTING_FORMAT].given == OPTION_COMMAND) {
		snprintf(error, size, "--suggest prints a file of suppressions, which has no other format: leave --format %s out", option[SETTING_FORMAT].text);
		return -EINVAL;
	}
	if (option[SETTING_KIND].given && !main_kind_exists(option[SETTING_KIND].text)) {
		snprintf(error, size, "--kind: '%s' matches no kind of finding", option[SETTING_KIND].text);
		return -EINVAL;
	}
	if (option[SETTING_RANK].given && !main_rank_exists(option[SETTING_RANK].text)) {
		snprintf(error, size, "--rank: '%s' is neither a rank nor two of them, as in 0 or 0,1", option[SETTING_RANK].text);
		return -EINVAL;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct option_value option[SETTINGS] = {{0}};
	struct suppressions suppressions = {0};
	char error[600];
	int names;
	log_set_program("gsan-report");
	log_set_alone(1);
	if (main_parse(argc, argv, option, &names, error, sizeof error))
		return main_usage(error);
	const int told = settings_tell(OF_REPORT, option, &main_words);
	if (told)
		return told < 0 ? MAIN_UNREADABLE : 0;
	const char *file = option[SETTING_SUPPRESSIONS].text;
	const int wrong = file && suppressions_read(&suppressions, file, error, sizeof error);
	int status = wrong ? main_usage(error) : main_run(option, &suppressions, argv, names);
	suppressions_free(&suppressions);
	return status;
}

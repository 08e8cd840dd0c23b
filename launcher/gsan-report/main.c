/* gsan-report: prints again what gsan-launch has written. The summary is read into a struct report first, whatever the
 * format, so that a damaged file is never passed on as a good one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/options.h"
#include "report/report.h"

enum report_option {
#define OPTION(id, ...) REPORT_OPTION_##id,
#include "gsan-report/options.def"
#undef OPTION
	REPORT_OPTIONS
};
static const struct option_row rows[REPORT_OPTIONS] = {
#define OPTION(id, name, kind, value, low, high, initial, help) {name, kind, value, low, high, initial, NULL, help},
#include "gsan-report/options.def"
#undef OPTION
};

static void main_help(void)
{
	struct text out = {0};
	text_puts(&out, "usage: gsan-report [OPTIONS] DIR [OPTIONS]\n"
			"Prints the report that gsan-launch --report DIR has written.\n\n");
	options_help(&out, rows, REPORT_OPTIONS);
	text_puts(&out, "\nExit status: 0 if the report could be read, else 1; 2: wrong usage.\n");
	fputs(out.data ? out.data : "", stdout);
	text_free(&out);
}

static int main_print(const char *folder, int as_json)
{
	struct text path = {0}, out = {0};
	struct report r = {0};
	char error[200] = "", *json = NULL;
	size_t size;
	text_printf(&path, "%s/summary.json", folder);
	int rc = text_read_file(path.data, &json, &size);
	if (rc) {
		log_error("%s: %s", path.data, strerror(-rc));
		goto done;
	}
	rc = report_read(&r, json, error, sizeof error);
	if (rc) {
		log_error("%s: %s", path.data, rc == -EINVAL ? error : strerror(-rc));
		goto done;
	}
	if (as_json)
		text_add(&out, json, size);
	else
		report_text(&out, &r, folder);
	fwrite(out.data, 1, out.size, stdout);
	if (out.failed || fflush(stdout)) {
		rc = -EIO;
		log_error("cannot print the report");
	}
done:
	text_free(&path);
	text_free(&out);
	report_free(&r);
	free(json);
	return rc ? 1 : 0;
}

static int main_usage(const char *error)
{
	log_error("%s", error);
	return 2;
}

int main(int argc, char **argv)
{
	struct option_value value[REPORT_OPTIONS], late[REPORT_OPTIONS];
	char error[300];
	int at, rest;
	log_set_program("gsan-report");
	if (options_parse(rows, REPORT_OPTIONS, argc, argv, value, &at, error, sizeof error))
		return main_usage(error);
	/* The directory comes first on most command lines: what stands behind it are options again. */
	if (at < argc && options_parse(rows, REPORT_OPTIONS, argc - at, argv + at, late, &rest, error, sizeof error))
		return main_usage(error);
	if (value[REPORT_OPTION_HELP].given || (at < argc && late[REPORT_OPTION_HELP].given)) {
		main_help();
		return 0;
	}
	if (value[REPORT_OPTION_VERSION].given || (at < argc && late[REPORT_OPTION_VERSION].given)) {
		puts("gsan-report " GSAN_VERSION);
		return 0;
	}
	if (at == argc)
		return main_usage("no report directory given (see --help)");
	if (at + rest != argc)
		return main_usage("more than one report directory given (see --help)");
	const struct option_value *format = &(late[REPORT_OPTION_FORMAT].given ? late : value)[REPORT_OPTION_FORMAT];
	return main_print(argv[at], format->number == 1);
}

/* Settings: who says more than whom, what each mistake is called, that what is printed can be read back, and that the man pages name each.
 * argv: a folder to write to, gsan-launch.1, gsan-report.1. */
#include "config/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "base/lines.h"

static const char *folder;
static struct option_value v[SETTINGS];
static char error[600], file[300];

static const char *written(const char *text)
{
	snprintf(file, sizeof file, "%s/a.conf", folder);
	FILE *f = fopen(file, "w");
	CHECK(f && fputs(text, f) >= 0 && !fclose(f));
	return file;
}

/* One argument, or none, and the file. */
static int complete(enum settings_of of, const char *argument, const char *text)
{
	const struct options mine = {settings_rows, SETTINGS, (unsigned)of};
	static char one[100];
	char program[] = "p", config[] = "--config", *argv[] = {program, config, file, one, NULL};
	int rest;
	snprintf(one, sizeof one, "%s", argument ? argument : "--config=");
	memset(v, 0, sizeof v);
	error[0] = 0;
	written(text);
	CHECK(!options_parse(&mine, argument ? 4 : 3, argv, v, &rest, error, sizeof error));
	return settings_complete(of, v, error, sizeof error);
}

static void wrong(const char *text, const char *says)
{
	char want[400];
	CHECK(complete(OF_LAUNCH, NULL, text) == -EINVAL);
	snprintf(want, sizeof want, "%s:%s", file, says);
	if (strcmp(error, want))
		fprintf(stderr, "%s\nis not\n%s\n", error, want);
	CHECK(!strcmp(error, want));
}

static void test_precedence(void)
{
	static const char text[] = "# of this project\nseed 3\nreport \"two words\"\nrequire-checked yes\nformat json\n";
	CHECK(!complete(OF_LAUNCH, NULL, text) && v[SETTING_SEED].number == 3 && v[SETTING_SEED].given == OPTION_FILE && v[SETTING_SEED].line == 2);
	CHECK(!strcmp(v[SETTING_REPORT].text, "two words") && v[SETTING_REQUIRE_CHECKED].number == 1);
	CHECK(v[SETTING_TIMEOUT].number == 60 && !v[SETTING_TIMEOUT].given && !v[SETTING_RANKS].text && !v[SETTING_FORMAT].given);
	setenv("GSAN_SEED", "4", 1);
	CHECK(!complete(OF_LAUNCH, NULL, text) && v[SETTING_SEED].number == 4 && v[SETTING_SEED].given == OPTION_ENVIRONMENT);
	CHECK(!complete(OF_LAUNCH, "--seed=5", text) && v[SETTING_SEED].number == 5 && v[SETTING_SEED].given == OPTION_COMMAND);
	CHECK(!complete(OF_LAUNCH, "--require-checked=no", text) && !v[SETTING_REQUIRE_CHECKED].number);
	static const char *const said[][2] = {{"0", "1"}, {"no", "yes"}, {"false", "true"}, {"off", "on"}};
	for (size_t i = 0; i < sizeof said / sizeof *said; i++)
		for (int is = 0; is < 2; is++) {
			setenv("GSAN_REQUIRE_CHECKED", said[i][is], 1);
			CHECK(!complete(OF_LAUNCH, NULL, "") && v[SETTING_REQUIRE_CHECKED].number == is);
		}
	unsetenv("GSAN_REQUIRE_CHECKED");
	setenv("GSAN_SEED", "many", 1);
	CHECK(complete(OF_LAUNCH, "--seed=5", text) == -EINVAL && !strcmp(error, "GSAN_SEED: --seed S: 'many' is not a number from 0 to 2147483647"));
	CHECK(!complete(OF_REPORT, NULL, text) && v[SETTING_FORMAT].given == OPTION_FILE && !v[SETTING_SEED].given); /* one file for all */
	setenv("GSAN_SEED", "", 1);
	CHECK(!complete(OF_LAUNCH, NULL, "") && v[SETTING_SEED].number == 0 && !v[SETTING_SEED].given);
	setenv("GSAN_CONFIG", written("seed 8\n"), 1);
	memset(v, 0, sizeof v);
	CHECK(!settings_complete(OF_LAUNCH, v, error, sizeof error) && v[SETTING_SEED].number == 8);
	setenv("GSAN_CONFIG", "/no/such", 1);
	memset(v, 0, sizeof v);
	CHECK(settings_complete(OF_LAUNCH, v, error, sizeof error) == -EINVAL &&
	      !strcmp(error, "--config /no/such: cannot be read: No such file or directory"));
	unsetenv("GSAN_CONFIG");
}

static void test_wrong(void)
{
	wrong("\nsead 3\n", "2: 'sead' is no setting: did you mean 'seed'?");
	wrong("require_checked yes\n", "1: 'require_checked' is no setting: did you mean 'require-checked'?");
	wrong("zzz 3\n", "1: 'zzz' is no setting; --print-config lists them");
	wrong("seed 3\nwait 5\nseed 4\n", "3: 'seed' is said in line 1, too");
	wrong("seed = 3\n", "1: a line is a setting and one value: seed S");
	wrong("seed\n", "1: a line is a setting and one value: seed S");
	wrong("require-checked\n", "1: a line is a setting and one value: require-checked yes|no");
	wrong("require-checked 2\n", "1: --require-checked: '2' is neither yes (1, true, on) nor no (0, false, off)");
	wrong("seed x\n", "1: --seed S: 'x' is not a number from 0 to 2147483647");
	wrong("device gpu\n", "1: --device auto|cuda|emu: 'gpu' is none of them");
	wrong("format yaml\n", "1: --format text|json|ndjson|sarif|junit|prometheus|html: 'yaml' is none of them"); /* of another program */
	wrong("n 4\n", "1: 'n' is not for a file");
	wrong("config b.conf\n", "1: 'config' is not for a file");
	wrong("report \"x\n", "1: a quote is not closed");
	wrong("GSAN_TEST_RUN 1\n", "1: 'GSAN_TEST_RUN' is no setting; --print-config lists them");
}

/* What is printed says the same as a file. */
static void test_printed(void)
{
	static const char *const report[] = {"two words", "#x", "a\"b\\"};
	for (size_t i = 0; i < sizeof report / sizeof *report; i++) {
		struct text first = {0}, again = {0}, text = {0};
		text_puts(&text, "exit-code 7\nallow-unchecked yes\nreport ");
		lines_add_word(&text, report[i]);
		setenv("GSAN_WAIT", "9", 1);
		CHECK(!complete(OF_LAUNCH, "--seed=5", text.data));
		settings_print(&first, OF_LAUNCH, v);
		unsetenv("GSAN_WAIT");
		CHECK(strstr(first.data, "# command line\n") && strstr(first.data, "# GSAN_WAIT\n") && strstr(first.data, "a.conf:1\n"));
		CHECK(strstr(first.data, "\ntimeout 60  ") && strstr(first.data, "\n# kernels FILE  ") && strstr(first.data, "# not set\n"));
		CHECK(!strstr(first.data, "format") && !strstr(first.data, "TEST") && !strstr(first.data, "(null)"));
		CHECK(!complete(OF_LAUNCH, NULL, first.data) || !fprintf(stderr, "%s\n%s", error, first.data));
		CHECK(!strcmp(v[SETTING_REPORT].text, report[i]));
		CHECK(v[SETTING_SEED].number == 5 && v[SETTING_WAIT].number == 9 && v[SETTING_EXIT_CODE].number == 7 && v[SETTING_ALLOW_UNCHECKED].number);
		settings_print(&again, OF_LAUNCH, v);
		CHECK(!strstr(again.data, "default") && !strstr(again.data, "GSAN_WAIT"));
		text_free(&first);
		text_free(&again);
		text_free(&text);
	}
}

static void test_exported(void)
{
	unsetenv("GSAN_WARPS");
	CHECK(!complete(OF_LAUNCH, "--warps=0", "seed 3\n"));
	settings_export(OF_RANKS, v);
	CHECK(!strcmp(getenv("GSAN_WARPS"), "0") && !getenv("GSAN_CACHE_MB") && !*getenv("GSAN_SEED"));
}

static void test_numbers(void)
{
	setenv("GSAN_SAMPLE_SEED", "4294967295", 1);
	CHECK(setting_number(SETTING_SAMPLE_SEED, 5) == 4294967295u);
	setenv("GSAN_SAMPLE_SEED", "7", 1);
	CHECK(setting_number(SETTING_SAMPLE_SEED, 5) == 4294967295u); /* read once */
	setenv("GSAN_TEST_FIRST_EPOCH", "512", 1);
	CHECK(setting_number(SETTING_TEST_FIRST_EPOCH, 1) == 1);
	unsetenv("GSAN_TEST_FIRST_LAUNCH");
	CHECK(setting_number(SETTING_TEST_FIRST_LAUNCH, 3) == 3);
}

/* Variables and options are named after each other, once, and the page of whose they are names them. */
static void test_table(char **path)
{
	static char page[2][1 << 17];
	for (int i = 0; i < 2; i++) {
		FILE *f = fopen(path[i], "r");
		CHECK(f && fread(page[i], 1, sizeof page[i] - 1, f) > 0 && !fclose(f));
	}
	for (int s = 0; s < SETTINGS; s++) {
		const struct option_row *row = &settings_rows[s];
		char variable[64] = "GSAN_";
		CHECK(row->variable || row->name);
		for (int k = 0; k < s; k++)
			CHECK(!row->name || !settings_rows[k].name || strcmp(row->name, settings_rows[k].name));
		if (!row->variable)
			continue;
		CHECK(!(row->of & OF_LAUNCH) || strstr(page[0], row->variable));
		CHECK(!(row->of & OF_REPORT) || strstr(page[1], row->variable));
		for (size_t n = 0; row->name && n <= strlen(row->name); n++)
			variable[5 + n] = (char)(row->name[n] == '-' ? '_' : row->name[n] >= 'a' ? row->name[n] - 'a' + 'A' : row->name[n]);
		CHECK(!row->name || !strcmp(row->variable, variable));
	}
}

int main(int argc, char **argv)
{
	CHECK(argc == 4);
	folder = argv[1];
	test_precedence();
	test_wrong();
	test_printed();
	test_exported();
	test_numbers();
	test_table(argv + 2);
	return 0;
}

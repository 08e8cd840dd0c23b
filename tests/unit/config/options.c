/* Command lines: every kind of option, where they end, and what each mistake is called. */
#include "config/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: not true: %s (%s)\n", __FILE__, __LINE__, #condition, error); \
			exit(1); \
		} \
	} while (0)

static const struct option_row rows[] = {
	{"n", OPTION_NUMBER, "N", 1, 32, NULL, NULL, "ranks"},
	{"device", OPTION_CHOICE, "auto|cuda|emu", 0, 0, "auto", "TEST_DEVICE", "device"},
	{"report", OPTION_TEXT, "DIR", 0, 0, "out", NULL, "report"},
	{"help", OPTION_FLAG, NULL, 0, 0, NULL, NULL, "help"},
};
enum { N, DEVICE, REPORT, HELP, ROWS };
static struct option_value v[ROWS];
static char error[200];
static int rest;

static int parse(const char *line)
{
	static char copy[200];
	char *argv[20] = {0}, *save = NULL;
	int argc = 0;
	snprintf(copy, sizeof copy, "%s", line);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	error[0] = 0;
	return options_parse(rows, ROWS, argc, argv, v, &rest, error, sizeof error);
}

static void wrong(const char *line, const char *says)
{
	CHECK(parse(line) == -EINVAL);
	CHECK(strstr(error, says));
}

int main(void)
{
	CHECK(!parse("p") && rest == 1 && !v[N].given && v[DEVICE].number == 0 && !strcmp(v[REPORT].text, "out"));
	CHECK(!parse("p -n 4 --device emu --report=r prog -n x") && rest == 6);
	CHECK(v[N].number == 4 && v[N].given && v[DEVICE].number == 2 && !strcmp(v[REPORT].text, "r"));
	CHECK(!parse("p -n3 -- --help") && rest == 3 && v[N].number == 3 && !v[HELP].given);
	CHECK(!parse("p --help") && v[HELP].given);
	CHECK(!parse("p -h") && v[HELP].given);
	CHECK(!parse("p x -h") && rest == 1 && !v[HELP].given);
	CHECK(!parse("p - x") && rest == 1);
	wrong("p --nope", "unknown option '--nope'");
	wrong("p -report x", "unknown option '-report'");
	wrong("p -hx", "unknown option '-hx'");
	wrong("p --n 3", "unknown option '--n'");
	wrong("p -n 0", "'0' is not a number from 1 to 32");
	wrong("p -n 3x", "'3x' is not a number");
	wrong("p --device gpu", "--device auto|cuda|emu: 'gpu' is none of them");
	wrong("p --report", "needs a value: DIR");
	wrong("p --help=1", "takes no value");

	setenv("TEST_DEVICE", "cuda", 1);
	CHECK(!parse("p") && v[DEVICE].number == 1 && !v[DEVICE].given);
	CHECK(!parse("p --device emu") && v[DEVICE].number == 2 && v[DEVICE].given);
	setenv("TEST_DEVICE", "gpu", 1);
	wrong("p", "TEST_DEVICE: --device auto|cuda|emu: 'gpu' is none of them");
	setenv("TEST_DEVICE", "", 1);
	CHECK(!parse("p") && v[DEVICE].number == 0);

	struct text help = {0};
	options_help(&help, rows, ROWS);
	CHECK(strstr(help.data, "  -n N   ") && strstr(help.data, "--device auto|cuda|emu") && strstr(help.data, "(default auto, or TEST_DEVICE)"));
	text_free(&help);
	return 0;
}

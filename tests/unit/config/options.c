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
	{1, "n", OPTION_NUMBER, "N", 1, 32, NULL, NULL, "ranks"},
	{3, "device", OPTION_CHOICE, "auto|cuda|emu", 0, 0, "auto", "TEST_DEVICE", "device"},
	{1, "report", OPTION_TEXT, "DIR", 0, 0, "out", NULL, "report"},
	{3, "help", OPTION_FLAG, NULL, 0, 0, NULL, NULL, "help"},
	{1, "strict", OPTION_FLAG, NULL, 0, 0, NULL, "TEST_STRICT", "strict"},
	{2, "theirs", OPTION_FLAG, NULL, 0, 0, NULL, NULL, "another program's"},
	{1, NULL, OPTION_NUMBER, NULL, 0, 1, NULL, "TEST_ALONE", "of the environment"},
};
enum { N, DEVICE, REPORT, HELP, STRICT, THEIRS, ALONE, ROWS };
static const struct options mine = {rows, ROWS, 1};
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
	memset(v, 0, sizeof v);
	return options_parse(&mine, argc, argv, v, &rest, error, sizeof error);
}

static void wrong(const char *line, const char *says)
{
	CHECK(parse(line) == -EINVAL);
	CHECK(strstr(error, says));
}

int main(void)
{
	CHECK(!parse("p") && rest == 1 && !v[N].given && !v[DEVICE].text && !v[REPORT].text);
	CHECK(!parse("p -n 4 --device emu --report=r prog -n x") && rest == 6);
	CHECK(v[N].number == 4 && v[N].given && v[DEVICE].number == 2 && !strcmp(v[REPORT].text, "r"));
	CHECK(!parse("p -n3 -- --help") && rest == 3 && v[N].number == 3 && !v[HELP].given);
	CHECK(!parse("p --strict") && v[STRICT].number == 1 && v[STRICT].given == OPTION_COMMAND);
	CHECK(!parse("p --strict --strict=no") && v[STRICT].number == 0 && v[STRICT].given == OPTION_COMMAND);
	CHECK(!parse("p --device emu --device cuda") && v[DEVICE].number == 1);
	CHECK(!parse("p --help") && v[HELP].given);
	CHECK(!parse("p -h") && v[HELP].given);
	CHECK(!parse("p x -h") && rest == 1 && !v[HELP].given);
	CHECK(!parse("p - x") && rest == 1);
	wrong("p --nope", "unknown option '--nope'");
	wrong("p -report x", "unknown option '-report': did you mean --report?");
	wrong("p --repotr=x", "unknown option '--repotr=x': did you mean --report?");
	wrong("p -hx", "unknown option '-hx'");
	wrong("p --n 3", "unknown option '--n'");
	wrong("p -n 0", "'0' is not a number from 1 to 32");
	wrong("p -n 3x", "'3x' is not a number");
	wrong("p --device gpu", "--device auto|cuda|emu: 'gpu' is none of them");
	wrong("p --report", "needs a value: DIR");
	wrong("p --help=1", "takes no value");
	wrong("p --strict=2", "--strict: '2' is neither yes (1, true, on) nor no (0, false, off)");
	wrong("p --theirs", "unknown option '--theirs'");
	wrong("p --(null)", "unknown option '--(null)'");

	struct text help = {0};
	options_help(&help, &mine);
	CHECK(strstr(help.data, "  -n N   ") && strstr(help.data, "--device auto|cuda|emu") && strstr(help.data, "(default auto)") &&
	      !strstr(help.data, "theirs") && !strstr(help.data, "of the environment"));
	text_free(&help);
	return 0;
}

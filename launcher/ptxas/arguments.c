#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/options.h"
#include "ptxas.h"

static const struct option_row rows[] = {
#define OPTION(name, kind, value, low, high, initial, help) {0, name, kind, value, low, high, initial, NULL, help},
#include "options.def"
#undef OPTION
};
#define ROWS (sizeof(rows) / sizeof(*rows))

/* ptxas options whose value is the next argument, when it is not joined by '=': of 12.8 to 13.5. */
static const char *const with_value[] = {
	"-o", "--output-file", "-arch", "--gpu-name", "-m", "--machine", "-O", "--opt-level", "-Ofc", "--Ofast-compile",
	"-maxrregcount", "--maxrregcount", "-func-maxrregcount", "--device-function-maxrregcount", "-maxntid", "--maxntid",
	"-minnctapersm", "--minnctapersm", "-regUsageLevel", "--register-usage-level", "-e", "--entry", "-ias", "--input-as-string",
	"-optf", "--options-file", "-dlcm", "--def-load-cache", "-def-load-cache", "-dscm", "--def-store-cache", "-def-store-cache",
	"-flcm", "--force-load-cache", "-fscm", "--force-store-cache", "-fmad", "--fmad", "-pic", "--position-independent-code",
	"-allow-expensive-optimizations", "--allow-expensive-optimizations", "-device-stack-protector", "--device-stack-protector",
	"-enable-func-clone-sc", "--enable-func-clone-sc", "-sanitize", "--sanitize", "-split-compile", "--split-compile"};

static int is_one_of(const char *arg, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(arg, list[i]))
			return 1;
	return 0;
}

static int takes_next(const char *arg)
{
	return is_one_of(arg, with_value, sizeof(with_value) / sizeof(*with_value));
}

/* The number of arguments that this one of ours takes, 0 if it is none of ours. */
static int take_own(struct ptxas_args *a, char **argv, const char **error)
{
	const char **const texts[ROWS] = {&a->real, &a->source};
	int *const flags[ROWS] = {NULL, NULL, &a->emit, &a->plain, &a->sites, &a->clear, &a->version, &a->help};
	size_t i = 0, n;

	if (!strcmp(argv[0], "-h"))
		return a->help = 1;
	if (strncmp(argv[0], "--", 2))
		return 0;
	while (i < ROWS && strncmp(argv[0] + 2, rows[i].name, strlen(rows[i].name)))
		i++;
	if (i == ROWS)
		return 0;
	n = 2 + strlen(rows[i].name);
	if (flags[i])
		return argv[0][n] ? 0 : (*flags[i] = 1);
	if (argv[0][n] == '=') {
		*texts[i] = argv[0] + n + 1;
		return 1;
	}
	*texts[i] = argv[1];
	if (!argv[1])
		*error = i ? "--source needs a name" : "--real-ptxas needs a path";
	return argv[1] ? 2 : 1;
}

/* Options with which the whole program stays in one object, and that have no value. */
static const char *const keeps_whole[] = {"-c", "--compile-only", "-ewp", "--extensible-whole-program", "-g", "--device-debug",
	"--compile-as-tools-patch", "-astoolspatch", "--preserve-relocs", "-preserve-relocs"};

/* Options with which the caller decides how many threads a ptxas has. */
static const char *const says_threads[] = {"-split-compile", "--split-compile", "-jobserver", "--jobserver"};

static int is_or_begins(const char *arg, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(arg, list[i], strlen(list[i])) && (!arg[strlen(list[i])] || arg[strlen(list[i])] == '='))
			return 1;
	return 0;
}

/* Which GPU, if this says so: "--gpu-name=sm_90a", or the value behind "-arch". */
static const char *arch_of(const char *arg, const char *last, int value_of_last)
{
	static const char *const names[] = {"-arch", "--gpu-name"};

	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(names[i]);

		if (value_of_last && !strcmp(last, names[i]))
			return arg;
		if (!value_of_last && !strncmp(arg, names[i], n) && arg[n] == '=')
			return arg + n + 1;
	}
	return NULL;
}

/* Notes what an argument for the real ptxas means to us: input, output, -v, architecture. */
static void note(struct ptxas_args *a, int value_of_last)
{
	const char *arg = a->argv[a->argc - 1], *last = a->argv[a->argc - 2], *arch = arch_of(arg, last, value_of_last);

	a->arch = arch ? arch : a->arch;
	a->whole |= !value_of_last && is_one_of(arg, keeps_whole, sizeof(keeps_whole) / sizeof(*keeps_whole));
	a->threads |= !value_of_last && is_or_begins(arg, says_threads, sizeof(says_threads) / sizeof(*says_threads));
	if (value_of_last) {
		if (!strcmp(last, "-o") || !strcmp(last, "--output-file")) {
			a->output = a->argc - 1;
			a->output_skip = 0;
		}
	} else if (!strncmp(arg, "--output-file=", 14)) {
		a->output = a->argc - 1;
		a->output_skip = 14;
	} else if (arg[0] != '-') {
		a->input = a->input ? -1 : a->argc - 1;
	} else if (!strcmp(arg, "-v") || !strcmp(arg, "--verbose")) {
		a->verbose = 1;
	} else if (!strcmp(arg, "-ias") || !strcmp(arg, "--input-as-string") || !strcmp(arg, "-optf") ||
		   !strcmp(arg, "--options-file")) {
		a->input = -1;
	}
}

int ptxas_args_parse(int argc, char **argv, struct ptxas_args *args, const char **error)
{
	const char *base = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	int value = 0;

	*args = (struct ptxas_args){.blackwell = strstr(base, "blackwell") != NULL, .argc = 1};
	*error = NULL;
	args->argv = calloc((size_t)argc + 1, sizeof(*args->argv));
	if (!args->argv)
		return -ENOMEM;
	args->argv[0] = argv[0];
	for (int i = 1; i < argc; i++) {
		int own = value ? 0 : take_own(args, argv + i, error);

		if (*error)
			return -EINVAL;
		if (own) {
			i += own - 1;
			continue;
		}
		args->argv[args->argc++] = argv[i];
		note(args, value);
		value = !value && takes_next(argv[i]);
	}
	return 0;
}

void ptxas_args_help(struct text *out)
{
	text_puts(out, "usage: gsan-ptxas [options] [options of ptxas] FILE.ptx [-o OUT]\n\n"
		       "Stands in for ptxas and adds race-checked copies of every kernel. All other options go to the\n"
		       "real ptxas unchanged.\n\n");
	options_help(out, &(struct options){rows, ROWS, 0});
}

const char *ptxas_args_source(const struct ptxas_args *args)
{
	return args->source ? args->source : args->argv[args->input];
}

const char *ptxas_args_output(const struct ptxas_args *args)
{
	return args->output ? args->argv[args->output] + args->output_skip : "elf.o";
}

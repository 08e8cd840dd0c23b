#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "ptx/rewrite.h"
#include "ptxas.h"

/* ---- the plain run ---- */

struct registers { struct ptx_regs *reg; uint32_t count; };

/* ptxas -v: "… Compiling entry function 'K' for 'sm_90'", later "… Used 26 registers". Names are cut out in place. */
static struct registers parse_registers(char *log)
{
	struct registers r = {0};
	char *kernel = NULL, *save = NULL;
	size_t lines = 1;

	for (const char *s = log; *s; s++)
		lines += *s == '\n';
	r.reg = calloc(lines, sizeof(*r.reg));
	for (char *line = r.reg ? strtok_r(log, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
		char *entry = strstr(line, "entry function '"), *used = strstr(line, "Used ");

		if (entry) {
			kernel = entry + 16;
			kernel[strcspn(kernel, "'")] = '\0';
		} else if (used && kernel) {
			r.reg[r.count++] = (struct ptx_regs){kernel, (uint32_t)strtoul(used + 5, NULL, 10)};
			kernel = NULL;
		}
	}
	return r;
}

/* The lines of -v go only to a caller who asked for them; they are marked "info", or indented below such a line. */
static void relay_log(const char *log, FILE *to, int verbose)
{
	int info = 0;

	while (*log) {
		size_t n = strcspn(log, "\n");

		n += log[n] == '\n';
		info = (n > 1 && log[0] == ' ' && info) || (memmem(log, n, " info", 5) && memmem(log, n, "ptxas", 5));
		if (verbose || !info)
			fwrite(log, 1, n, to);
		log += n;
	}
	fflush(to);
}

static char *read_log(int fd)
{
	char *data = NULL;
	size_t size;

	return ptxas_memory_read(fd, &data, &size) ? strdup("") : data;
}

static void relay(const struct ptxas_args *a, const struct ptxas_result *r)
{
	relay_log(r->said[0], stdout, a->verbose);
	relay_log(r->said[1], stderr, a->verbose);
}

/* Runs the real ptxas as it was asked to, and -v with it, for what it says. */
static int run_plain(const struct ptxas_args *a, const char *real, struct ptxas_result *to)
{
	int out = ptxas_memory("stdout"), err = ptxas_memory("stderr"), status;
	char **argv = calloc((size_t)a->argc + 2, sizeof(*argv));

	if (out < 0 || err < 0 || !argv) {
		free(argv);
		return -ENOMEM;
	}
	memcpy(argv, a->argv, (size_t)a->argc * sizeof(*argv));
	argv[0] = strdup(real);
	if (!a->verbose)
		argv[a->argc] = strdup("-v");
	status = ptxas_run(argv, out, err);
	to->said[0] = read_log(out);
	to->said[1] = read_log(err);
	relay(a, to);
	free(argv[0]);
	free(argv[a->argc]);
	free(argv);
	close(out);
	close(err);
	return status;
}

/* ---- the instrumented run ---- */

/* Copies into the existing file: its mode, owner and links stay as the plain run made them. */
static int replace_output(const char *path, const char *data, size_t size)
{
	FILE *f = fopen(path, "we");
	int bad;

	if (!f)
		return -errno;
	bad = fwrite(data, 1, size, f) != size;
	bad |= fclose(f) != 0;
	return bad ? -EIO : 0;
}

/* The first line that says "error" or "fatal", for one warning. */
static const char *first_error(char *log)
{
	char *save = NULL;

	for (char *line = strtok_r(log, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (strstr(line, "error") || strstr(line, "fatal"))
			return line;
	return "no reason given";
}

static char **instrumented_argv(const struct ptxas_args *a, const char *real, char *in_path, char *out_path)
{
	char **argv = calloc((size_t)a->argc + 3, sizeof(*argv));
	int n = a->argc;

	if (!argv)
		return NULL;
	memcpy(argv, a->argv, (size_t)n * sizeof(*argv));
	argv[0] = strdup(real);
	argv[a->input] = in_path;
	if (a->output && !a->output_skip) {
		argv[a->output] = out_path;
	} else {
		if (a->output) /* --output-file=…: two options in its place */
			argv[a->output] = argv[--n];
		argv[n++] = strdup("-o");
		argv[n++] = out_path;
	}
	argv[n] = NULL;
	return argv;
}

/* Assembles `text` and puts the result, *to's cubin, in place of the plain one. */
static int assemble(const struct ptxas_args *a, const char *real, const char *text, size_t size, struct ptxas_result *to)
{
	int in = ptxas_memory("gsan.ptx"), out = ptxas_memory("gsan.cubin"), said = ptxas_memory("log"), status = -ENOMEM;
	char in_path[64], out_path[64], *log = NULL, **argv;

	snprintf(in_path, sizeof(in_path), "/proc/self/fd/%d", in);
	snprintf(out_path, sizeof(out_path), "/proc/self/fd/%d", out);
	argv = instrumented_argv(a, real, in_path, out_path);
	if (argv && in >= 0 && out >= 0 && said >= 0)
		status = text_write_fd(in, text, size);
	if (!status)
		status = ptxas_run(argv, said, said);
	if (!status)
		status = ptxas_memory_read(out, &to->cubin, &to->cubin_size);
	if (!status && to->cubin_size)
		status = replace_output(ptxas_args_output(a), to->cubin, to->cubin_size);
	else if (said >= 0)
		log = read_log(said);
	if (status)
		log_warning("%s: runs unchecked: its instrumented form does not assemble: %s", a->argv[a->input],
			    status < 0 ? strerror(-status) : first_error(log));
	free(log);
	free(argv);
	close(in);
	close(out);
	close(said);
	return status;
}

/* All that the plain run said, malloc'ed; NULL without one, or without memory. */
static char *all_said(const struct ptxas_result *r)
{
	char *all;

	return r->said[0] && r->said[1] && asprintf(&all, "%s\n%s", r->said[0], r->said[1]) >= 0 ? all : NULL;
}

/* 1: the checked form, *to's cubin, has taken the plain one's place. */
static int instrument(const struct ptxas_args *a, const char *real, struct ptxas_result *to)
{
	const char *path = a->argv[a->input];
	char *log = all_said(to);
	struct registers regs = log ? parse_registers(log) : (struct registers){0};
	struct ptx_rewrite_options options = {.source = path, .kernels = regs.count, .reg = regs.reg};
	struct ptx_rewrite_stats stats;
	struct ptx_error error = {0};
	char *text = NULL, *out = NULL;
	size_t size, out_size;
	int emulated = ptxas_emulated(), status = text_read_file(path, &text, &size);

	if (!status)
		status = ptx_rewrite(text, size, &options, &out, &out_size, &stats, &error);
	if (status == -EINVAL)
		log_warning("%s: runs unchecked: line %u: %s", path, error.line, error.text);
	else if (status)
		log_warning("%s: runs unchecked: %s", path, strerror(-status));
	else if (emulated)
		status = replace_output(ptxas_args_output(a), out, out_size);
	else if (stats.clones)
		status = assemble(a, real, out, out_size, to);
	if (emulated && status)
		log_error("%s: cannot write the program for the emulated device", ptxas_args_output(a));
	free(text);
	free(out);
	free(regs.reg);
	free(log);
	return !status && to->cubin_size;
}

void ptxas_result_free(struct ptxas_result *r)
{
	free(r->cubin);
	free(r->said[0]);
	free(r->said[1]);
	*r = (struct ptxas_result){0};
}

/* Does a message name the input? Then it is not said again of another file with the same text. */
static int names_input(const struct ptxas_args *a, const struct ptxas_result *r)
{
	return strstr(r->said[0], a->argv[a->input]) || strstr(r->said[1], a->argv[a->input]);
}

int ptxas_emulated(void)
{
	const char *device = getenv("GSAN_DEVICE");

	return device && !strcmp(device, "emu");
}

static int compile(const struct ptxas_args *a, const char *real, const struct ptxas_cache *cache)
{
	struct ptxas_result made = {0};
	int status = real ? run_plain(a, real, &made) : 0;

	if (status < 0)
		log_error("%s: cannot run it: %s", real, strerror(-status));
	else if (!status && a->input < 0)
		log_warning("runs unchecked: more than one input, or an options file");
	else if (!status && a->input > 0 && instrument(a, real, &made) && !names_input(a, &made))
		ptxas_cache_keep(cache, &made);
	ptxas_result_free(&made);
	return status < 0 ? 1 : status;
}

/* 1: an earlier call has made it. */
static int reuse(const struct ptxas_args *a, const struct ptxas_cache *cache)
{
	struct ptxas_result kept;
	int good;

	if (!ptxas_cache_take(cache, &kept))
		return 0;
	good = !replace_output(ptxas_args_output(a), kept.cubin, kept.cubin_size);
	if (good)
		relay(a, &kept);
	ptxas_result_free(&kept);
	return good;
}

int ptxas_compile(const struct ptxas_args *args, const char *real)
{
	struct ptxas_cache cache;
	int status;

	ptxas_cache_open(&cache, args, real);
	status = reuse(args, &cache) ? 0 : compile(args, real, &cache);
	ptxas_cache_close(&cache);
	return status;
}

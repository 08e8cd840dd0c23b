#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "device/layout.h"
#include "ptx/plan.h"
#include "ptx/rewrite.h"
#include "ptxas.h"

static int write_out(const struct ptxas_args *a, const char *data, size_t size)
{
	int status = 0;

	if (a->output)
		status = text_write_file(ptxas_args_output(a), data, size);
	else if (fwrite(data, 1, size, stdout) != size || fflush(stdout))
		status = -EIO;
	if (status)
		log_error("%s: cannot write: %s", a->output ? ptxas_args_output(a) : "standard output", strerror(-status));
	return status ? 1 : 0;
}

static int say_bad(const char *path, const struct ptx_error *error, int status)
{
	if (status == -EINVAL)
		log_error("%s:%u:%u: %s; give PTX text, such as `nvcc -ptx` or Triton write", path, error->line, error->column,
			  error->text);
	else
		log_error("%s: %s", path, strerror(-status));
	return 1;
}

static int list_sites(const struct ptxas_args *a, const char *path, const char *text, size_t size)
{
	struct ptx_module *m;
	struct ptx_error error;
	struct ptx_plan plan;
	struct text out = {0};
	int status = ptx_parse(text, size, &m, &error);

	if (status)
		return say_bad(path, &error, status);
	status = ptx_plan_make(m, 1, &plan);
	if (!status) {
		ptx_plan_print(&plan, ptxas_args_source(a), &out);
		ptx_plan_free(&plan);
	}
	status = status || out.failed ? say_bad(path, &error, -ENOMEM) : write_out(a, out.size ? out.data : "", out.size);
	text_free(&out);
	ptx_free(m);
	return status;
}

static int emit(const struct ptxas_args *a, const char *path, const char *text, size_t size)
{
	struct ptx_rewrite_options options = {.source = ptxas_args_source(a)};
	struct ptx_rewrite_stats stats;
	struct ptx_error error;
	char *out;
	size_t out_size;
	int status;

	if (a->plain)
		return write_out(a, text, size);
	status = ptx_rewrite(text, size, &options, &out, &out_size, &stats, &error);
	if (status)
		return say_bad(path, &error, status);
	status = write_out(a, out, out_size);
	free(out);
	return status;
}

/* --emit-ptx and --sites: no real ptxas takes part. */
static int show(const struct ptxas_args *a)
{
	const char *path = a->input > 0 ? a->argv[a->input] : NULL;
	char *text;
	size_t size;
	int status;

	if (!path) {
		log_error("--emit-ptx and --sites need exactly one PTX file");
		return 1;
	}
	status = text_read_file(path, &text, &size);
	if (status) {
		log_error("%s: %s", path, strerror(-status));
		return 1;
	}
	status = a->sites ? list_sites(a, path, text, size) : emit(a, path, text, size);
	free(text);
	return status;
}

unsigned long long ptxas_build(void)
{
	static unsigned long long hash; /* 0: not known yet */
	char *image;
	size_t size;

	if (hash || text_read_file("/proc/self/exe", &image, &size))
		return hash;
	hash = hash_bytes(HASH_START, image, size);
	free(image);
	return hash;
}

/* The whole text is part of Triton's cache key: the last line tells checked cubins from plain ones. */
static int version(const char *real)
{
	char *argv[] = {real ? strdup(real) : NULL, strdup("--version"), NULL};
	int status = real ? ptxas_run(argv, -1, -1) : 0;

	printf("gsan-ptxas %s abi %u build %016llx %s\n", GSAN_VERSION, GSAN_ABI, ptxas_build(),
	       ptxas_emulated() ? "emu" : "cuda");
	free(argv[0]);
	free(argv[1]);
	return status < 0 ? 1 : status;
}

static int help(const struct ptxas_args *a)
{
	struct text out = {0};
	char *real = ptxas_find(a);
	int bad;

	ptxas_args_help(&out);
	if (real)
		text_printf(&out, "\nThe options of ptxas: %s --help\n", real);
	free(real);
	bad = out.failed || fputs(out.data, stdout) < 0;
	text_free(&out);
	return bad;
}

static int with_real(const struct ptxas_args *a)
{
	char *real = ptxas_find(a);
	int status;

	if (a->version) {
		status = version(real);
	} else if (!real && (!ptxas_emulated() || a->real || a->plain)) {
		log_error("no real ptxas%s%s: give --real-ptxas PATH, or set GSAN_REAL_PTXAS%s or CUDA_HOME",
			  a->real ? " at " : "", a->real ? a->real : "", a->blackwell ? "_BLACKWELL" : "");
		status = 1;
	} else if (a->plain || !a->input) {
		if (real)
			a->argv[0] = real;
		status = real ? ptxas_run(a->argv, -1, -1) : 1;
		status = status < 0 ? 1 : status;
	} else {
		status = ptxas_compile(a, real);
	}
	free(real);
	return status;
}

int main(int argc, char **argv)
{
	struct ptxas_args args;
	const char *error;
	int status;

	log_set_program("gsan-ptxas");
	if (ptxas_args_parse(argc, argv, &args, &error)) {
		log_error("%s", error ? error : "out of memory");
		return 1;
	}
	if (args.help)
		status = help(&args);
	else if (args.clear)
		status = ptxas_cache_clear();
	else if (args.emit || args.sites)
		status = show(&args);
	else
		status = with_real(&args);
	free(args.argv);
	return status;
}

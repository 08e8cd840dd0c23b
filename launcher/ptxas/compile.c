#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "device/abi.h"
#include "linker.h"
#include "ptx/parted.h"
#include "ptx/rewrite.h"
#include "ptxas.h"

/* ---- what ptxas -v says ---- */

struct said { struct ptx_regs *reg; uint32_t *spilled; uint32_t count; }; /* by kernel; spilled: bytes, stores and loads */

static uint32_t number_before(const char *line, const char *words)
{
	const char *at = strstr(line, words);

	while (at && at > line && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return at ? (uint32_t)strtoul(at, NULL, 10) : 0;
}

/* "… Compiling entry function 'K' for 'sm_90'", then "… 148 bytes spill stores, 88 bytes spill loads", then "… Used 26 registers"; those of
 * other functions follow. Names are cut out in place. */
static struct said parse_said(char *log)
{
	struct said r = {0};
	char *kernel = NULL, *save = NULL;
	uint32_t spilled = 0;
	size_t lines = 1;

	for (const char *s = log; *s; s++)
		lines += *s == '\n';
	r.reg = calloc(lines, sizeof(*r.reg));
	r.spilled = calloc(lines, sizeof(*r.spilled));
	for (char *line = r.reg && r.spilled ? strtok_r(log, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
		char *entry = strstr(line, "entry function '"), *used = strstr(line, "Used ");

		if (entry) {
			kernel = entry + 16;
			kernel[strcspn(kernel, "'")] = '\0';
			spilled = 0;
		} else if (kernel && !used) {
			spilled += number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
		} else if (used && kernel) {
			r.spilled[r.count] = spilled;
			r.reg[r.count++] = (struct ptx_regs){kernel, (uint32_t)strtoul(used + 5, NULL, 10)};
			kernel = NULL;
		}
	}
	return r;
}

static void said_free(struct said *s)
{
	free(s->reg);
	free(s->spilled);
	*s = (struct said){0};
}

/* ---- the plain run ---- */

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

/* `more`: options behind the others, NULL-terminated. */
static char **instrumented_argv(const struct ptxas_args *a, const char *real, char *in_path, char *out_path, char *const *more)
{
	char **argv = calloc((size_t)a->argc + 6, sizeof(*argv));
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
	while (*more)
		argv[n++] = *more++;
	argv[n] = NULL;
	return argv;
}

/* Assembles `text`. *log: what the ptxas said; malloc'ed, or NULL. 0, -errno, or its exit status. */
static int assemble(const struct ptxas_args *a, const char *real, const struct text *text, char *const *more, struct ptxas_bytes *to,
		    char **log)
{
	struct ptxas_call call;
	int status = ptxas_call_open(&call, "gsan.ptx");
	char **argv = instrumented_argv(a, real, call.in_path, call.out_path, more);

	if (!status)
		status = argv ? ptxas_call_run(&call, argv, text, to) : -ENOMEM;
	*log = call.said >= 0 ? read_log(call.said) : NULL;
	free(argv);
	ptxas_call_close(&call);
	return status;
}

/* ---- one module ---- */

struct module {
	const struct ptxas_args *a;
	const char *real;
	const struct linkers *linkers;
	char *text;
	size_t size;
	char *log; /* of the plain run, which `plain` points into */
	struct said plain;
	struct ptx_rewrite_stats stats;
};

/* 0 with its text, or a status; that of the whole-program form is said. */
static int rewrite(struct module *m, int linked, struct text *to)
{
	struct ptx_rewrite_options options = {.source = ptxas_args_source(m->a), .kernels = m->plain.count, .reg = m->plain.reg, .linked = linked};
	struct ptx_error error = {0};
	char *out = NULL;
	size_t size;
	int status = ptx_rewrite(m->text, m->size, &options, &out, &size, &m->stats, &error);

	if (status == -EINVAL && !linked)
		log_warning("%s: runs unchecked: line %u: %s", options.source, error.line, error.text);
	else if (status && !linked)
		log_warning("%s: runs unchecked: %s", options.source, strerror(-status));
	if (!status)
		*to = (struct text){.data = out, .size = size};
	return status;
}

/* ---- linked ---- */

/* Registers of the runtime's functions: those of an entry are at least as many once it is linked, and may not be more than its bound. */
static const unsigned bounds[] = {32, 24};
/* Bytes spilled more than by the plain kernel, and by each checked instruction of a clone: then its registers are better off without an ABI. (In the
 * golden corpus each kernel's whole form spills more than its linked one.) */
#define SPILLED_MORE 512u
#define SPILLED_EACH 64u

/* Has a clone a barrier to which the threads of a warp may come one by one (`barrier.sync` without `.aligned`)? In one that calls what is
 * elsewhere, ptxas makes the warp gather there as for a shuffle (SASS WARPSYNC.COLLECTIVE.ALL), and programs went wrong on an H100 that
 * are right with an aligned one, or with nothing elsewhere (docs/gpu-results.md, 0d1a566). */
static int gathers(const struct module *m)
{
	struct ptx_module *parsed = NULL;
	struct ptx_error error;
	int gathers = memmem(m->text, m->size, "barrier.", 8) != NULL;

	if (gathers && !ptx_parse(m->text, m->size, &parsed, &error))
		gathers = ptx_parted_gathers(parsed);
	ptx_free(parsed);
	return gathers;
}

/* May the runtime be linked at all? 1: yes. Calls of what is elsewhere make wgmma wait for itself (FACTS H). */
static int may_link(const struct module *m)
{
	const char *why = !m->a->arch ? "no --gpu-name" : m->a->whole ? "an option wants one object" :
			  memmem(m->text, m->size, "wgmma.", 6) ? "it has wgmma" : gathers(m) ? "it has a barrier that is not aligned" : NULL;

	if (m->linkers->count && why)
		log_info("%s: its clones are not linked: %s", ptxas_args_source(m->a), why);
	return m->linkers->count && !why;
}

/* The length of its kernel's name; 0: it is no clone. */
static size_t cloned(const char *name)
{
	return text_before(name, strlen(name), GSAN_CLONE_SUFFIX);
}

static uint32_t spilled_plain(const struct module *m, const char *clone)
{
	size_t n = cloned(clone);

	for (uint32_t i = 0; i < m->plain.count; i++)
		if (!strncmp(m->plain.reg[i].kernel, clone, n) && !m->plain.reg[i].kernel[n])
			return m->plain.spilled[i];
	return 0;
}

/* The names that have to be in the result; NULL: one of the clones spills too much. malloc'ed. */
static const char **linked_names(const struct module *m, const struct said *said)
{
	const char **names = calloc((size_t)said->count + 1, sizeof(*names));
	uint32_t more = SPILLED_MORE + SPILLED_EACH * (m->stats.checked / m->stats.clones);

	for (uint32_t i = 0; names && i < said->count; i++) {
		const char *name = names[i] = said->reg[i].kernel;

		if (cloned(name) && said->spilled[i] > spilled_plain(m, name) + more) {
			log_info("%s: is not linked: it would spill %u bytes", name, said->spilled[i]);
			free(names);
			return NULL;
		}
	}
	return names;
}

static int join(const struct module *m, const struct ptxas_bytes *object, const char *const *names, struct ptxas_bytes *cubin)
{
	int rc = -ENOENT;

	for (size_t i = 0; rc && (!i || rc == -EIO) && i < sizeof(bounds) / sizeof(*bounds); i++) {
		struct ptxas_bytes runtime;

		if (runtime_object(m->real, m->a->arch, bounds[i], &runtime))
			return -ENOENT;
		rc = linkers_run(m->linkers, m->a->arch, object, &runtime, names, cubin);
		free(runtime.data);
	}
	return rc;
}

/* In several threads where there are several clones: the code is the same. (Whole programs take longer so: they have a call graph of the
 * whole runtime.) Whatever goes wrong then, such as an older ptxas that does not know the option, is tried in one. */
static int assemble_linked(const struct module *m, const struct text *text, struct ptxas_bytes *object, char **log)
{
	char ewp[] = "-ewp", v[] = "-v", split[40], *more[4] = {ewp};
	unsigned threads = m->a->threads ? 1 : ptxas_threads(m->stats.clones);
	int n = 1, status;

	if (!m->a->verbose)
		more[n++] = v;
	snprintf(split, sizeof(split), "--split-compile=%u", threads);
	more[n] = threads > 1 ? split : NULL;
	status = assemble(m->a, m->real, text, more, object, log);
	if (status > 0 && more[n]) {
		free(*log);
		more[n] = NULL;
		status = assemble(m->a, m->real, text, more, object, log);
	}
	return status;
}

/* 0: *to is the module with its clones, linked to the runtime. Else the whole-program form has to do. */
static int make_linked(struct module *m, struct ptxas_bytes *to)
{
	char *log = NULL;
	struct ptxas_bytes object = {0};
	struct text text = {0};
	struct said said = {0};
	const char **names = NULL;
	int rc = rewrite(m, 1, &text);

	if (!rc)
		rc = m->stats.clones ? assemble_linked(m, &text, &object, &log) : -ENOENT;
	if (!rc) {
		said = log ? parse_said(log) : (struct said){0};
		names = said.count ? linked_names(m, &said) : NULL;
		rc = names ? join(m, &object, names, to) : -E2BIG;
	}
	if (rc && m->stats.clones)
		log_info("%s: its clones are not linked: they hold the whole runtime", ptxas_args_source(m->a));
	free(names);
	said_free(&said);
	free(log);
	free(object.data);
	free(text.data);
	return rc;
}

/* ---- whole ---- */

static int make_whole(struct module *m, struct ptxas_bytes *to)
{
	char *none[] = {NULL}, *log = NULL;
	struct text text = {0};
	int emulated = ptxas_emulated(), status = rewrite(m, 0, &text);

	if (!status && emulated) {
		*to = (struct ptxas_bytes){text.data, text.size};
		text.data = NULL;
	} else if (!status && m->stats.already) { /* the plain run has made it */
		status = text_read_file(ptxas_args_output(m->a), &to->data, &to->size);
	} else if (!status && m->stats.clones) {
		status = assemble(m->a, m->real, &text, none, to, &log);
		if (status)
			log_warning("%s: runs unchecked: its instrumented form does not assemble: %s", ptxas_args_source(m->a),
				    status < 0 || !log ? strerror(status < 0 ? -status : ENOMEM) : first_error(log));
	}
	free(log);
	free(text.data);
	return status;
}

/* All that the plain run said, malloc'ed; NULL without one, or without memory. */
static char *all_said(const struct ptxas_result *r)
{
	char *all;

	return r->said[0] && r->said[1] && asprintf(&all, "%s\n%s", r->said[0], r->said[1]) >= 0 ? all : NULL;
}

/* 1: the checked form, *to's cubin, has taken the plain one's place. */
static int instrument(const struct ptxas_args *a, const char *real, const struct linkers *linkers, struct ptxas_result *to)
{
	struct module m = {.a = a, .real = real, .linkers = linkers, .log = all_said(to)};
	struct ptxas_bytes made = {0};
	int status = text_read_file(a->argv[a->input], &m.text, &m.size);

	if (m.log)
		m.plain = parse_said(m.log);
	if (status)
		log_warning("%s: runs unchecked: %s", ptxas_args_source(a), strerror(-status));
	else if (ptxas_emulated() || !may_link(&m) || make_linked(&m, &made))
		status = make_whole(&m, &made);
	if (!status && made.size && !ptxas_emulated())
		elf_trim_text(&made);
	if (!status && made.size)
		status = replace_output(ptxas_args_output(a), made.data, made.size);
	if (ptxas_emulated() && status)
		log_error("%s: cannot write the program for the emulated device", ptxas_args_output(a));
	to->cubin = made.data;
	to->cubin_size = made.size;
	free(m.text);
	said_free(&m.plain);
	free(m.log);
	return !status && made.size;
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

static int compile(const struct ptxas_args *a, const char *real, const struct linkers *linkers, const struct ptxas_cache *cache)
{
	struct ptxas_result made = {0};
	int status = real ? run_plain(a, real, &made) : 0;

	if (status < 0)
		log_error("%s: cannot run it: %s", real, strerror(-status));
	else if (!status && a->input < 0)
		log_warning("runs unchecked: more than one input, or an options file");
	else if (!status && a->input > 0 && instrument(a, real, linkers, &made) && !names_input(a, &made))
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
	struct linkers linkers = {0};
	int status;

	if (real && !ptxas_emulated())
		linkers_find(real, &linkers);
	ptxas_cache_open(&cache, args, real, &linkers);
	status = reuse(args, &cache) ? 0 : compile(args, real, &linkers, &cache);
	ptxas_cache_close(&cache);
	linkers_free(&linkers);
	return status;
}

#include "ptx/link.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/edit.h"

#define PREFIX "gsan__"

static int same(const struct ptx_module *m, struct ptx_span a, struct ptx_span b)
{
	return a.len == b.len && !memcmp(m->text + a.off, m->text + b.off, a.len);
}

static int is_own(const struct ptx_module *m, struct ptx_span name)
{
	return name.len > 5 && !memcmp(m->text + name.off, "gsan_", 5);
}

static int find(const struct ptx_module *m, const char *name, uint32_t *at)
{
	for (*at = 0; *at < m->functions; ++*at)
		if (m->function[*at].body.len && ptx_is(m, m->function[*at].name, name))
			return 0;
	return -EINVAL;
}

/* Marks what `from` names, and so on. The runtime's call graph is shallow and ours: recursion follows it. */
static void reach(const struct ptx_module *m, uint32_t from, uint8_t *reached)
{
	const struct ptx_function *f = &m->function[from];

	if (reached[from])
		return;
	reached[from] = 1;
	for (uint32_t i = 0; i < f->instrs; i++)
		for (uint32_t k = 0; k < f->instr[i].operands; k++) {
			const struct ptx_decl *d = f->instr[i].operand[k].decl;

			if (d && d->is_function)
				reach(m, d->function, reached);
		}
}

static void rename_calls(const struct ptx_module *m, const struct ptx_function *f, struct ptx_edits *e)
{
	for (uint32_t i = 0; i < f->instrs; i++)
		for (uint32_t k = 0; k < f->instr[i].operands; k++) {
			const struct ptx_operand *o = &f->instr[i].operand[k];

			if (o->decl && o->decl->is_function && !is_own(m, o->decl->name))
				ptx_edit_insert(e, o->text.off, PREFIX);
		}
}

static int print(const struct ptx_module *m, const struct ptx_function *f, struct text *out)
{
	struct ptx_edits e = {0};
	uint32_t from = f->whole.off;
	int status;

	while (from < f->name.off && strncmp(m->text + from, ".func", 5))
		from++;
	if (!is_own(m, f->name))
		ptx_edit_insert(&e, f->name.off, PREFIX);
	rename_calls(m, f, &e);
	status = ptx_edit_print(&e, m->text, from, f->whole.off + f->whole.len, out);
	text_puts(out, "\n");
	ptx_edit_clear(&e);
	return status;
}

static int print_reached(const struct ptx_module *m, const uint8_t *reached, struct text *out)
{
	int status = 0;

	for (uint32_t g = 0; g < m->globals; g++)
		if (!g || m->global[g]->whole.off != m->global[g - 1]->whole.off)
			text_printf(out, "%.*s\n", (int)m->global[g]->whole.len, m->text + m->global[g]->whole.off);
	for (uint32_t f = 0; !status && f < m->functions; f++) {
		int wanted = reached[f];

		for (uint32_t g = 0; !wanted && !m->function[f].body.len && g < m->functions; g++)
			wanted = reached[g] && same(m, m->function[f].name, m->function[g].name);
		if (wanted)
			status = print(m, &m->function[f], out);
	}
	return status;
}

/* The runtime is one text, and by far the longest that a rewriting process reads: it is parsed once and kept. */
static int parse(const char *runtime, size_t size, const struct ptx_module **module)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct ptx_module *kept;
	struct ptx_module *m;
	struct ptx_error error;
	int status = 0;

	pthread_mutex_lock(&lock);
	if (!kept || kept->text != runtime || kept->size != size) {
		status = ptx_parse(runtime, size, &m, &error);
		if (!status)
			kept = m; /* one of another text, if there is any, may still be in use */
	}
	*module = kept;
	pthread_mutex_unlock(&lock);
	return status;
}

int ptx_link(const char *runtime, size_t size, uint32_t calls, struct text *out, uint32_t *major, uint32_t *minor)
{
	const struct ptx_module *m;
	uint8_t *reached;
	int status = parse(runtime, size, &m);

	if (status)
		return status;
	reached = calloc(m->functions + 1, 1);
	if (!reached)
		status = -ENOMEM;
	for (uint32_t c = 0; !status && c < PTX_CALLS; c++) {
		uint32_t at;

		if (!(calls >> c & 1))
			continue;
		status = find(m, ptx_call_name((enum ptx_call)c), &at);
		if (!status)
			reach(m, at, reached);
	}
	if (!status)
		status = print_reached(m, reached, out);
	*major = m->version_major;
	*minor = m->version_minor;
	free(reached);
	return status ? status : out->failed ? -ENOMEM : 0;
}

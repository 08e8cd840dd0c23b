#include "ptx/rewrite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/runtime.h"
#include "ptx/clone.h"
#include "ptx/describe.h"
#include "ptx/link.h"

/* cvta.param needs PTX 7.7 */
#define LEAST_MAJOR 7u
#define LEAST_MINOR 7u

struct rewrite {
	const struct ptx_module *m;
	const struct ptx_rewrite_options *options;
	struct ptx_plan plan;
	struct ptx_edits edits;
	uint8_t *reached;
	uint32_t *stack;
	uint32_t calls;
};

static uint32_t regs_of(const struct rewrite *r, struct ptx_span kernel)
{
	for (uint32_t i = 0; i < r->options->kernels; i++)
		if (ptx_is(r->m, kernel, r->options->reg[i].kernel))
			return r->options->reg[i].regs;
	return 0;
}

/* A text that went through here before has entries of the clones' names: it stays as it is. */
static int is_rewritten(const struct ptx_module *m)
{
	for (uint32_t f = 0; f < m->functions; f++) {
		struct ptx_span name = m->function[f].name;

		if (text_before(m->text + name.off, name.len, GSAN_CLONE_SUFFIX))
			return 1;
	}
	return 0;
}

static int add_clone(struct rewrite *r, uint32_t f)
{
	const struct ptx_function *fn = &r->m->function[f];
	struct text out = {0}, info = {0};
	int status;

	text_puts(&out, "\n");
	status = ptx_clone_print(&r->plan, f, regs_of(r, fn->name), r->options->run, &out, &r->calls);
	if (!status && fn->is_entry) {
		memset(r->reached, 0, r->m->functions);
		ptx_describe(&r->plan, f, r->options->source, r->reached, r->stack, &info);
		ptx_describe_variable(r->m, fn->name, &info, &out);
	}
	if (out.failed || info.failed)
		status = -ENOMEM;
	if (!status)
		ptx_edit_add(&r->edits, fn->whole.off + fn->whole.len, 0, out.data, out.size);
	text_free(&out);
	text_free(&info);
	return status;
}

/* Where module-scope text may be inserted: in front of the first function or variable. */
static uint32_t first_declaration(const struct ptx_module *m)
{
	uint32_t off = m->function[0].whole.off;

	return m->globals && m->global[0]->whole.off < off ? m->global[0]->whole.off : off;
}

/* The runtime's functions and the prototypes of cloned functions, which must precede their calls. */
static int add_runtime(struct rewrite *r, struct ptx_error *error)
{
	struct text out = {0};
	const struct ptx_module *m = r->m;
	uint32_t major = 0, minor = 0;
	char version[32];
	int status = ptx_link(device_runtime_ptx, device_runtime_ptx_size, r->calls, r->options->linked, &out, &major, &minor);

	if (status == -EINVAL)
		snprintf(error->text, sizeof(error->text), "the device runtime lacks a function");
	for (uint32_t f = 0; !status && f < m->functions; f++)
		if (r->plan.function[f].cloned && !m->function[f].is_entry)
			status = ptx_clone_prototype(&r->plan, f, &out);
	if (!status && out.failed)
		status = -ENOMEM;
	if (!status)
		ptx_edit_add(&r->edits, first_declaration(m), 0, out.data, out.size);
	text_free(&out);
	if (major < LEAST_MAJOR || (major == LEAST_MAJOR && minor < LEAST_MINOR)) {
		major = LEAST_MAJOR;
		minor = LEAST_MINOR;
	}
	if (m->version_major < major || (m->version_major == major && m->version_minor < minor)) {
		snprintf(version, sizeof(version), "%u.%u", major, minor);
		ptx_edit_add(&r->edits, m->version.off, m->version.len, version, strlen(version));
	}
	return status;
}

static int rewrite_module(struct rewrite *r, struct text *out, struct ptx_rewrite_stats *stats, struct ptx_error *error)
{
	int status = ptx_plan_make(r->m, !r->options->clocks, &r->plan);

	if (status)
		return status;
	r->plan.linked = r->options->linked;
	*stats = (struct ptx_rewrite_stats){r->plan.clones, r->plan.sites, r->plan.checked, r->plan.left, r->plan.skipped, 0};
	r->reached = calloc(r->m->functions + 1, 1);
	r->stack = calloc(r->m->functions + 1, sizeof(*r->stack));
	if (!r->reached || !r->stack)
		status = -ENOMEM;
	for (uint32_t f = 0; !status && r->plan.clones && f < r->m->functions; f++)
		if (r->plan.function[f].cloned)
			status = add_clone(r, f);
	if (!status && r->plan.clones)
		status = add_runtime(r, error);
	if (!status)
		status = ptx_edit_print(&r->edits, r->m->text, 0, (uint32_t)r->m->size, out);
	ptx_edit_clear(&r->edits);
	free(r->reached);
	free(r->stack);
	ptx_plan_free(&r->plan);
	return status;
}

int ptx_rewrite(const char *text, size_t size, const struct ptx_rewrite_options *options, char **out, size_t *out_size,
		struct ptx_rewrite_stats *stats, struct ptx_error *error)
{
	struct ptx_module *m;
	struct text result = {0};
	int status = ptx_parse(text, size, &m, error);
	struct rewrite r = {.options = options};

	if (status)
		return status;
	*stats = (struct ptx_rewrite_stats){0};
	r.m = m;
	stats->already = is_rewritten(m);
	if (stats->already)
		text_add(&result, text, m->size);
	else
		status = rewrite_module(&r, &result, stats, error);
	if (!status && result.failed)
		status = -ENOMEM;
	if (status) {
		if (status == -EINVAL && !error->text[0])
			snprintf(error->text, sizeof(error->text), "edits overlap");
		text_free(&result);
	} else {
		*out_size = result.size;
		*out = text_take(&result);
	}
	ptx_free(m);
	return status;
}

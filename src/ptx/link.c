#include "ptx/link.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/edit.h"

#define PREFIX "gsan__"

/* The calls whose functions stand in a module whose runtime is linked, by a first measurement on an H100 (FACTS H): the hot path, where
 * ptxas allocates registers across calls; all others keep to the ABI, and are called seldom. */
static const uint32_t hot = 1u << PTX_CALL_enter | 1u << PTX_CALL_access1 | 1u << PTX_CALL_access2 | 1u << PTX_CALL_access4 |
			    1u << PTX_CALL_access8 | 1u << PTX_CALL_lines | 1u << PTX_CALL_red | 1u << PTX_CALL_relaxed;

enum place { NOWHERE, HERE, ELSEWHERE }; /* of a function of the runtime: not needed, in the module, linked to it */

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

static int is_hot(const struct ptx_module *m, const struct ptx_function *f)
{
	for (uint32_t c = 0; c < PTX_CALLS; c++)
		if (hot >> c & 1 && ptx_is(m, f->name, ptx_call_name((enum ptx_call)c)))
			return 1;
	return 0;
}

/* Places what `from` names, and so on. The runtime's call graph is shallow and ours: recursion follows it. */
static void reach(const struct ptx_module *m, uint32_t from, int linked, uint8_t *place)
{
	const struct ptx_function *f = &m->function[from];

	if (place[from])
		return;
	place[from] = linked && !is_hot(m, f) ? ELSEWHERE : HERE;
	if (place[from] == ELSEWHERE)
		return;
	for (uint32_t i = 0; i < f->instrs; i++)
		for (uint32_t k = 0; k < f->instr[i].operands; k++) {
			const struct ptx_decl *d = f->instr[i].operand[k].decl;

			if (d && d->is_function)
				reach(m, d->function, linked, place);
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

/* A definition, or a declaration; without its body if it stands elsewhere. */
static int print(const struct ptx_module *m, const struct ptx_function *f, const char *linkage, int body, struct text *out)
{
	struct ptx_edits e = {0};
	uint32_t from = f->whole.off, to = f->whole.off + f->whole.len;
	int status;

	while (from < f->name.off && strncmp(m->text + from, ".func", 5))
		from++;
	if (!is_own(m, f->name))
		ptx_edit_insert(&e, f->name.off, PREFIX);
	if (body)
		rename_calls(m, f, &e);
	text_puts(out, linkage);
	status = ptx_edit_print(&e, m->text, from, f->body.len && !body ? f->body.off : to, out);
	text_puts(out, f->body.len && !body ? ";\n" : "\n");
	ptx_edit_clear(&e);
	return status;
}

/* Where the function is that this one defines or declares. */
static enum place place_of(const struct ptx_module *m, const uint8_t *place, uint32_t f)
{
	if (m->function[f].body.len)
		return place[f];
	for (uint32_t g = 0; g < m->functions; g++)
		if (place[g] && same(m, m->function[f].name, m->function[g].name))
			return place[g];
	return NOWHERE;
}

/* `visible`: the linkage of what is here. Of what is elsewhere the prototype is printed, once. */
static int print_placed(const struct ptx_module *m, const uint8_t *place, const char *visible, struct text *out)
{
	int status = 0;

	for (uint32_t g = 0; g < m->globals; g++)
		if (!g || m->global[g]->whole.off != m->global[g - 1]->whole.off)
			text_printf(out, "%.*s\n", (int)m->global[g]->whole.len, m->text + m->global[g]->whole.off);
	for (uint32_t f = 0; !status && f < m->functions; f++)
		if (place[f] == ELSEWHERE && m->function[f].body.len)
			status = print(m, &m->function[f], ".extern ", 0, out);
	for (uint32_t f = 0; !status && f < m->functions; f++)
		if (place_of(m, place, f) == HERE)
			status = print(m, &m->function[f], visible, 1, out);
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

/* The parsed runtime, and a place for each of its functions: nowhere. malloc'ed; 0, or as ptx_link() returns. */
static int begin(const char *runtime, size_t size, const struct ptx_module **m, uint8_t **place)
{
	int status = parse(runtime, size, m);

	if (status)
		return status;
	*place = calloc((*m)->functions + 1, 1);
	return *place ? 0 : -ENOMEM;
}

int ptx_link(const char *runtime, size_t size, uint32_t calls, int linked, struct text *out, uint32_t *major, uint32_t *minor)
{
	const struct ptx_module *m;
	uint8_t *place;
	int status = begin(runtime, size, &m, &place);

	if (status)
		return status;
	for (uint32_t c = 0; !status && c < PTX_CALLS; c++) {
		uint32_t at;

		if (!(calls >> c & 1))
			continue;
		status = find(m, ptx_call_name((enum ptx_call)c), &at);
		if (!status)
			reach(m, at, linked, place);
	}
	if (!status)
		status = print_placed(m, place, "", out);
	*major = m->version_major;
	*minor = m->version_minor;
	free(place);
	return status ? status : out->failed ? -ENOMEM : 0;
}

int ptx_link_object(const char *runtime, size_t size, struct text *out)
{
	const struct ptx_module *m;
	uint8_t *place;
	int status = begin(runtime, size, &m, &place);

	if (status)
		return status;
	for (uint32_t f = 0; f < m->functions; f++)
		place[f] = m->function[f].body.len && !is_hot(m, &m->function[f]) ? HERE : NOWHERE;
	text_add(out, m->text, m->function[0].whole.off);
	status = print_placed(m, place, ".visible ", out);
	free(place);
	return status ? status : out->failed ? -ENOMEM : 0;
}

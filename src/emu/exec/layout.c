/* Where variables live: .global and .const in memory the driver provides, initialised from their source text; .shared at
 * offsets per kernel, of those variables the kernel can reach; kernel parameters in their buffer. */
#include "emu/exec/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t exec_decl_bytes(const struct ptx_decl *d)
{
	const uint64_t bits = ptx_type_bits(d->type), bytes = bits < 8 ? 1 : bits / 8;
	return bytes * (d->vector ? d->vector : 1) * d->elements;
}

uint32_t exec_decl_align(const struct ptx_decl *d)
{
	const uint32_t bits = ptx_type_bits(d->type), bytes = (bits < 8 ? 1 : bits / 8) * (d->vector ? d->vector : 1);
	return d->align ? d->align : bytes ? bytes : 1;
}

static uint64_t align_up(uint64_t v, uint64_t a)
{
	return (v + a - 1) / a * a;
}

/* Reads one initialiser after another; *at moves on. */
struct reader { struct emu_module *module; const char *at, *end; };

static const struct ptx_decl *find_global(const struct ptx_module *m, const char *name, size_t length)
{
	for (uint32_t k = 0; k < m->globals; k++)
		if (m->global[k]->name.len == length && !memcmp(m->text + m->global[k]->name.off, name, length))
			return m->global[k];
	return NULL;
}

static int name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%' || c == '.';
}

static uint64_t read_symbol(struct reader *r)
{
	const char *from = r->at;
	const struct ptx_module *m = r->module->ptx;
	while (r->at < r->end && name_char(*r->at))
		r->at++;
	const size_t length = (size_t)(r->at - from);
	const struct ptx_decl *d = find_global(m, from, length);
	if (d)
		return r->module->symbol[d->id].at;
	for (uint32_t k = 0; k < m->functions; k++)
		if (m->function[k].name.len == length && !memcmp(m->text + m->function[k].name.off, from, length))
			return (uint64_t)(uintptr_t)&r->module->handle[k];
	return 0;
}

static uint64_t float_literal(struct reader *r, enum ptx_type type)
{
	char *stop;
	if (r->end - r->at > 2 && r->at[0] == '0' && strchr("fFdD", r->at[1])) {
		const uint64_t bits = strtoull(r->at + 2, &stop, 16);
		r->at = stop;
		return bits;
	}
	const double v = strtod(r->at, &stop);
	const float f = (float)v;
	uint64_t bits = 0;
	r->at = stop;
	if (type == PTX_F32)
		memcpy(&bits, &f, 4);
	else
		memcpy(&bits, &v, 8);
	return bits;
}

static uint64_t read_value(struct reader *r, enum ptx_type type)
{
	char *stop;
	if ((*r->at >= 'a' && *r->at <= 'z') || (*r->at >= 'A' && *r->at <= 'Z') || *r->at == '_' || *r->at == '$') {
		uint64_t v;
		if (r->end - r->at > 8 && !memcmp(r->at, "generic(", 8)) {
			r->at += 8;
			v = read_symbol(r);
			while (r->at < r->end && *r->at != ')')
				r->at++;
			r->at++;
		} else {
			v = read_symbol(r);
		}
		while (r->at < r->end && *r->at == ' ')
			r->at++;
		if (r->at < r->end && (*r->at == '+' || *r->at == '-')) {
			const int negative = *r->at++ == '-';
			while (r->at < r->end && *r->at == ' ')
				r->at++;
			const uint64_t offset = strtoull(r->at, &stop, 0);
			r->at = stop;
			v += negative ? 0 - offset : offset;
		}
		return v;
	}
	if (type == PTX_F32 || type == PTX_F64)
		return float_literal(r, type);
	const uint64_t v = *r->at == '-' ? (uint64_t)strtoll(r->at, &stop, 0) : strtoull(r->at, &stop, 0);
	r->at = stop == r->at ? r->at + 1 : stop;
	if (r->at < r->end && *r->at == 'U')
		r->at++;
	return v;
}

static void initialise(struct emu_module *module, const struct ptx_decl *d)
{
	const uint32_t bytes = ptx_type_bits(d->type) / 8;
	char *to = (char *)(uintptr_t)module->symbol[d->id].at;
	const char *stop = to + module->symbol[d->id].size;
	struct reader r = { module, module->ptx->text + d->init.off, module->ptx->text + d->init.off + d->init.len };

	while (r.at < r.end && to + bytes <= stop) {
		if (strchr(" \t\r\n{},=", *r.at)) {
			r.at++;
			continue;
		}
		const uint64_t v = read_value(&r, d->type);
		memcpy(to, &v, bytes < 8 ? bytes : 8);
		to += bytes;
	}
}

static int is_static(const struct ptx_decl *d)
{
	return (d->space == PTX_GLOBAL || d->space == PTX_CONST) && !d->is_function && !d->is_label;
}

typedef int (*visit)(struct emu_module *module, const struct ptx_decl *d);
static int each_static(struct emu_module *module, visit f)
{
	const struct ptx_module *m = module->ptx;
	int rc = 0;
	for (uint32_t k = 0; !rc && k < m->globals; k++)
		if (is_static(m->global[k]))
			rc = f(module, m->global[k]);
	for (uint32_t k = 0; k < m->functions; k++)
		for (uint32_t i = 0; !rc && i < m->function[k].decls; i++)
			if (is_static(m->function[k].decl[i]))
				rc = f(module, m->function[k].decl[i]);
	return rc;
}

static int count_const(struct emu_module *module, const struct ptx_decl *d)
{
	if (d->space == PTX_CONST) {
		module->const_high += align_up(exec_decl_bytes(d) ? exec_decl_bytes(d) : 1, 256);
	}
	return 0;
}
static int place(struct emu_module *module, const struct ptx_decl *d)
{
	struct exec_symbol *s = &module->symbol[d->id];
	const uint64_t size = exec_decl_bytes(d) ? exec_decl_bytes(d) : 1;
	void *at;
	if (d->space == PTX_CONST) {
		at = module->const_high;
		module->const_high += align_up(size, 256);
	} else {
		at = module->memory.alloc(module->memory.context, size, exec_decl_align(d) > 256 ? exec_decl_align(d) : 256);
	}
	if (!at)
		return -ENOMEM;
	*s = (struct exec_symbol){ .at = (uint64_t)(uintptr_t)at, .size = size, .known = 1 };
	return 0;
}
static int fill(struct emu_module *module, const struct ptx_decl *d)
{
	if (d->init.len)
		initialise(module, d);
	return 0;
}

int exec_layout_globals(struct emu_module *module, struct emu_error *error)
{
	each_static(module, count_const);
	const size_t bytes = (size_t)(module->const_high - module->const_low);
	module->const_low = module->const_high = NULL;
	if (bytes) {
		module->const_low = module->const_high = module->memory.alloc(module->memory.context, bytes, 256);
		if (!module->const_low)
			goto no_memory;
	}
	if (each_static(module, place))
		goto no_memory;
	return each_static(module, fill);
no_memory:
	snprintf(error->text, sizeof error->text, "no memory for the module's variables");
	return -ENOMEM;
}

static void place_shared(struct emu_kernel *k, const struct ptx_decl *d)
{
	uint32_t i = 0;
	if (!d->elements) {
		if (exec_decl_align(d) > k->dynamic_at)
			k->dynamic_at = exec_decl_align(d); /* the alignment, until the static size is known */
		return;
	}
	while (i < k->shareds && k->shared[i].decl != d)
		i++;
	if (i < k->shareds)
		return;
	const uint64_t at = align_up(k->shared_bytes, exec_decl_align(d));
	k->shared[k->shareds++] = (struct exec_shared){ d, at };
	k->shared_bytes = (uint32_t)(at + exec_decl_bytes(d));
}

/* Shared variables of the functions in reach, in order of appearance; extern ones begin behind them. */
int exec_layout_kernel(struct emu_kernel *k)
{
	const struct ptx_module *m = k->module->ptx;
	const struct ptx_function *f = &m->function[k->function];
	struct pool *pool = &k->module->pool;
	size_t named = 0;

	k->params = f->param_count;
	for (uint32_t r = 0; r < m->functions; r++)
		named += k->reach[r] ? k->module->function[r].shareds : 0;
	k->shared = pool_alloc(pool, (named + 1) * sizeof *k->shared);
	k->param_offset = pool_alloc(pool, (k->params + 1) * sizeof(uint32_t));
	k->param_size = pool_alloc(pool, (k->params + 1) * sizeof(uint32_t));
	if (!k->shared || !k->param_offset || !k->param_size)
		return -ENOMEM;
	for (uint32_t i = 0; i < k->params; i++) {
		k->param_offset[i] = (uint32_t)align_up(k->param_bytes, exec_decl_align(f->param[i]));
		k->param_size[i] = (uint32_t)exec_decl_bytes(f->param[i]);
		k->param_bytes = k->param_offset[i] + k->param_size[i];
	}
	k->dynamic_at = 16;
	for (uint32_t r = 0; r < m->functions; r++)
		for (uint32_t i = 0; k->reach[r] && i < k->module->function[r].shareds; i++)
			place_shared(k, k->module->function[r].shared[i]);
	k->dynamic_at = (uint32_t)align_up(k->shared_bytes, k->dynamic_at);
	k->max_threads = f->reqntid[0] ? f->reqntid[0] * (f->reqntid[1] ? f->reqntid[1] : 1) * (f->reqntid[2] ? f->reqntid[2] : 1) :
			 f->maxntid[0] ? f->maxntid[0] * (f->maxntid[1] ? f->maxntid[1] : 1) * (f->maxntid[2] ? f->maxntid[2] : 1) : 1024;
	return 0;
}

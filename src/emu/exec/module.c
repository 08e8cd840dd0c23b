/* A module: parsed text, variables in place, kernels with what each can reach. Code is decoded at a kernel's first
 * launch, so a module may hold kernels with instructions this device lacks. */
#include "emu/exec/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t definition(const struct ptx_module *m, uint32_t f)
{
	const struct ptx_span name = m->function[f].name;
	for (uint32_t k = 0; !m->function[f].body.len && k < m->functions; k++)
		if (m->function[k].body.len && m->function[k].name.len == name.len &&
		    !memcmp(m->text + m->function[k].name.off, m->text + name.off, name.len))
			return k;
	return f;
}

static int make_kernels(struct emu_module *module)
{
	const struct ptx_module *m = module->ptx;
	for (uint32_t f = 0; f < m->functions; f++)
		module->kernels += m->function[f].is_entry && m->function[f].body.len;
	module->kernel = pool_alloc(&module->pool, (module->kernels + 1) * sizeof *module->kernel);
	if (!module->kernel)
		return -ENOMEM;
	struct emu_kernel *k = module->kernel;
	for (uint32_t f = 0; f < m->functions; f++) {
		if (!m->function[f].is_entry || !m->function[f].body.len)
			continue;
		k->module = module;
		k->function = f;
		k->name = pool_copy(&module->pool, m->text + m->function[f].name.off, m->function[f].name.len);
		k->reach = pool_alloc(&module->pool, m->functions + 1);
		if (!k->name || !k->reach)
			return -ENOMEM;
		k->reach[f] = 1;
		exec_graph_reach(module, f, k->reach);
		if (exec_layout_kernel(k))
			return -ENOMEM;
		k++;
	}
	return 0;
}

int emu_module_load(const char *ptx, size_t size, const struct emu_memory *memory, struct emu_module **out, struct emu_error *error)
{
	struct ptx_error parse_error = { 0 };
	struct emu_module *module = calloc(1, sizeof *module);
	int rc = -ENOMEM;
	snprintf(error->text, sizeof error->text, "out of memory");
	if (!module)
		return rc;
	module->memory = *memory;
	module->text = malloc(size + 1);
	if (!module->text)
		goto failed;
	memcpy(module->text, ptx, size);
	module->text[size] = 0;
	rc = ptx_parse(module->text, size, &module->ptx, &parse_error);
	if (rc) {
		snprintf(error->text, sizeof error->text, "PTX line %u: %s", parse_error.line, parse_error.text);
		goto failed;
	}
	rc = -ENOMEM;
	module->symbol = pool_alloc(&module->pool, (module->ptx->decl_ids + 1) * sizeof *module->symbol);
	module->handle = pool_alloc(&module->pool, (module->ptx->functions + 1) * sizeof *module->handle);
	if (!module->symbol || !module->handle)
		goto failed;
	for (uint32_t f = 0; f < module->ptx->functions; f++)
		module->handle[f].function = definition(module->ptx, f);
	rc = exec_layout_globals(module, error);
	if (rc)
		goto failed;
	rc = exec_graph_make(module);
	if (rc)
		goto failed;
	rc = make_kernels(module);
	if (rc)
		goto failed;
	*out = module;
	return 0;
failed:
	emu_module_unload(module);
	return rc;
}

void emu_module_unload(struct emu_module *module)
{
	const struct emu_memory *memory = &module->memory;
	exec_program_free(module->program);
	for (uint32_t d = 0; module->symbol && module->ptx && d < module->ptx->decl_ids; d++) {
		const struct exec_symbol *s = &module->symbol[d];
		if (s->known && (s->at < (uint64_t)(uintptr_t)module->const_low || s->at >= (uint64_t)(uintptr_t)module->const_high))
			memory->release(memory->context, (void *)(uintptr_t)s->at, s->size);
	}
	if (module->const_low)
		memory->release(memory->context, module->const_low, (size_t)(module->const_high - module->const_low));
	if (module->ptx)
		ptx_free(module->ptx);
	pool_free(&module->pool);
	free(module->text);
	free(module);
}

size_t emu_module_kernels(const struct emu_module *module) { return module->kernels; }
struct emu_kernel *emu_module_kernel(const struct emu_module *module, size_t index) { return &module->kernel[index]; }

struct emu_kernel *emu_module_find(const struct emu_module *module, const char *name)
{
	for (size_t k = 0; k < module->kernels; k++)
		if (!strcmp(module->kernel[k].name, name))
			return &module->kernel[k];
	return NULL;
}

int emu_module_global(const struct emu_module *module, const char *name, void **at, size_t *size)
{
	const struct ptx_module *m = module->ptx;
	for (uint32_t k = 0; k < m->globals; k++) {
		const struct exec_symbol *s = &module->symbol[m->global[k]->id];
		if (s->known && ptx_is(m, m->global[k]->name, name)) {
			*at = (void *)(uintptr_t)s->at;
			*size = s->size;
			return 0;
		}
	}
	return -ENOENT;
}

const char *emu_kernel_name(const struct emu_kernel *kernel) { return kernel->name; }
uint64_t emu_kernel_digest(const struct emu_kernel *kernel) { return kernel->digest; }

void emu_kernel_info(const struct emu_kernel *k, struct emu_kernel_info *info)
{
	*info = (struct emu_kernel_info){ .params = k->params, .param_bytes = k->param_bytes, .shared_bytes = k->shared_bytes,
					  .max_threads = k->max_threads, .local_bytes = k->module->function[k->function].local_chain };
}

int emu_kernel_param(const struct emu_kernel *k, uint32_t index, uint32_t *offset, uint32_t *size)
{
	if (index >= k->params)
		return -EINVAL;
	*offset = k->param_offset[index];
	*size = k->param_size[index];
	return 0;
}

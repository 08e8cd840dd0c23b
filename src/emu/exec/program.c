/* The program of a module: registers and frames are laid out for all its functions at once, a kernel's own behind them, all
 * kernels' at the same place. A function is decoded when the first kernel that reaches it is launched. */
#include "emu/exec/count.h"
#include "emu/exec/decode.h"
#include "emu/exec/ops.h"
#include "emu/exec/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILES_KEPT 256u    /* free register files of a module */

/* ---- registers and frames */

static uint32_t new_registers(struct decoder *d, uint32_t bytes, uint32_t align)
{
	const uint32_t at = (d->registers + align - 1) / align * align;
	d->registers = at + bytes;
	return at;
}

static void lay_out(struct decoder *d, struct exec_function *f, const struct ptx_decl *decl)
{
	uint64_t *where = &d->p->where[decl->id], v;
	if (*where || decl->is_label || decl->is_function)
		return;
	if (decl->space == PTX_REG) {
		const uint32_t n = decl->count ? decl->count : 1;
		*where = new_registers(d, n * decode_register_stride(decl), decl->type == PTX_PRED ? 4 : 64) + 1u;
	} else if (decl->space == PTX_LOCAL || (decl->space == PTX_PARAM && !(f->source->is_entry && decode_entry_param(d, decl, &v)))) {
		const uint32_t align = exec_decl_align(decl);
		const uint64_t at = (f->frame_bytes + align - 1) / align * align;
		*where = at + 1;
		f->frame_bytes = (uint32_t)(at + exec_decl_bytes(decl));
	}
}

static void formals(struct decoder *d, const struct ptx_decl **list, uint32_t count, struct exec_pass **out)
{
	*out = decode_take(d, count * sizeof **out);
	for (uint32_t k = 0; *out && k < count; k++)
		(*out)[k] = (struct exec_pass){ (uint32_t)(d->p->where[list[k]->id] - 1),
						list[k]->space == PTX_REG ? decode_register_bytes(list[k]) : (uint32_t)exec_decl_bytes(list[k]),
						list[k]->space == PTX_REG };
}

static uint32_t registers_of(const struct ptx_decl *decl)
{
	return decl->space != PTX_REG || decl->is_label ? 0 : decl->count ? decl->count : 1;
}

static void list_saved(struct decoder *d, struct exec_function *f)
{
	const struct ptx_function *s = f->source;
	uint32_t saves = 0;
	for (uint32_t k = 0; k < s->decls; k++)
		saves += registers_of(s->decl[k]);
	f->saved = decode_take(d, saves * sizeof *f->saved);
	for (uint32_t k = 0; f->saved && k < s->decls; k++)
		for (uint32_t r = 0; r < registers_of(s->decl[k]); r++)
			f->saved[f->saves++] = (struct exec_pass){ (uint32_t)(d->p->where[s->decl[k]->id] - 1 + r * decode_register_stride(s->decl[k])),
								   decode_register_bytes(s->decl[k]), 1 };
}

static void lay_out_function(struct decoder *d, struct exec_function *f)
{
	const struct ptx_function *s = f->source;
	for (uint32_t k = 0; k < s->param_count; k++)
		lay_out(d, f, s->param[k]);
	for (uint32_t k = 0; k < s->result_count; k++)
		lay_out(d, f, s->result[k]);
	for (uint32_t k = 0; k < s->decls; k++)
		lay_out(d, f, s->decl[k]);
	if (f->recursive)
		list_saved(d, f);
	f->frame_bytes = (f->frame_bytes + 15) & ~15u;
	if (s->is_entry)
		return;
	f->args = s->param_count;
	f->results = s->result_count;
	formals(d, s->param, s->param_count, &f->arg);
	formals(d, s->result, s->result_count, &f->result);
}

static int open_program(struct decoder *d)
{
	struct emu_module *module = d->kernel->module;
	const struct exec_insn nothing = { .run = op_nothing };
	d->p = module->program;
	if (d->p)
		return 0;
	d->p = calloc(1, sizeof *d->p);
	if (d->p)
		d->p->where = calloc(d->m->decl_ids + 1u, sizeof *d->p->where);
	if (!d->p || !d->p->where) {
		exec_program_free(d->p);
		decode_no_memory(d);
		return d->rc;
	}
	d->registers = DECODE_FIRST;
	decode_emit(d, &nothing); /* no function begins at 0 */
	for (uint32_t f = 0; f < d->m->functions && !d->rc; f++)
		if (!d->m->function[f].is_entry)
			lay_out_function(d, &module->function[f]);
	d->p->register_bytes = (d->registers + 63) & ~63u;
	if (d->rc)
		exec_program_free(d->p);
	else
		module->program = d->p;
	return d->rc;
}

/* ---- stacks */

/* Nothing in reach recurses. */
static void measure_chain(const struct emu_module *module, struct exec_function *f)
{
	uint32_t calls = 0, bytes = 0;
	for (uint32_t k = 0; k < f->callees; k++) {
		struct exec_function *to = &module->function[f->callee[k]];
		if (!to->chain)
			measure_chain(module, to);
		calls = to->chain > calls ? to->chain : calls;
		bytes = to->chain_bytes > bytes ? to->chain_bytes : bytes;
	}
	f->chain = calls + 1;
	f->chain_bytes = bytes + f->frame_bytes;
}

static void measure_stack(struct emu_kernel *k)
{
	const struct emu_module *module = k->module;
	uint32_t reached = 0, bytes = 0, recursive = 0;
	for (uint32_t f = 0; f < module->ptx->functions; f++) {
		if (!k->reach[f])
			continue;
		reached++;
		bytes += module->function[f].frame_bytes;
		recursive |= module->function[f].recursive;
	}
	if (recursive) {
		k->depth = reached + EXEC_RECURSION;
		k->local_bytes = bytes + EXEC_RECURSION_BYTES;
		return;
	}
	measure_chain(module, &module->function[k->function]);
	k->depth = module->function[k->function].chain + 1;
	k->local_bytes = module->function[k->function].chain_bytes;
}

/* ---- code */

static uint32_t version(struct decoder *d, uint32_t f)
{
	struct emu_kernel *k = d->kernel;
	struct exec_function *e = &k->module->function[f];
	const struct emu_kernel *only = e->shareds ? k : NULL;
	const struct ptx_function *original = d->trace ? exec_trace_original(k, f, d->trace->suffix) : NULL;
	if (d->trace && !original && f == k->function) {
		snprintf(d->error->text, sizeof d->error->text,
			 "kernel %s cannot be traced: its original, the name without %s, is not in its module", k->name, d->trace->suffix);
		d->rc = -ENOTSUP;
		return 0;
	}
	d->part = d->stats ? exec_count_part(k, f, d->stats) : 0;
	for (struct exec_version *v = e->version; v; v = v->next)
		if (v->original == original && v->kernel == only && v->part == d->part)
			return v->entry;
	struct exec_version *v = decode_take(d, sizeof *v);
	const uint32_t entry = v ? decode_function(d, e->source, original) : 0;
	if (d->rc)
		return 0;
	*v = (struct exec_version){ e->version, original, only, entry, d->part };
	e->version = v;
	return entry;
}

int exec_kernel_make(struct emu_kernel *kernel, const struct emu_launch *launch, struct emu_error *error)
{
	struct decoder d = { .kernel = kernel, .m = kernel->module->ptx, .error = error, .trace = launch->trace, .stats = launch->stats };
	d.function = &d.m->function[kernel->function];
	uint32_t *entry = pool_alloc(&kernel->module->pool, (d.m->functions + 1u) * sizeof *entry);
	if (!entry)
		decode_no_memory(&d);
	if (d.rc || open_program(&d))
		return d.rc;
	d.registers = d.p->register_bytes;
	if (!kernel->register_bytes)
		lay_out_function(&d, &kernel->module->function[kernel->function]);
	kernel->register_bytes = d.registers;
	for (uint32_t f = 0; f < d.m->functions && !d.rc; f++)
		if (kernel->reach[f] && d.m->function[f].body.len)
			entry[f] = version(&d, f);
	if (d.rc)
		return d.rc;
	measure_stack(kernel);
	kernel->entry = entry;
	return 0;
}

void exec_program_free(struct exec_program *p)
{
	if (!p)
		return;
	for (struct exec_file *f; (f = p->file) != NULL; free(f->memory))
		p->file = f->next;
	free(p->insn);
	free(p->constant);
	free(p->known);
	free(p->where);
	pool_free(&p->pool);
	free(p);
}

/* ---- register files */

#define HEAD 64u           /* of a file, whose registers are aligned */
#define OWN 65536u         /* registers of kernels differ in number; a file serves most of them */

static struct exec_file *new_file(size_t bytes)
{
	void *memory = calloc(1, HEAD + bytes + 63); /* fresh pages: untouched ones cost nothing */
	if (!memory)
		return NULL;
	struct exec_file *f = (struct exec_file *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
	*f = (struct exec_file){ NULL, memory, bytes };
	return f;
}

unsigned char *exec_registers_take(struct emu_kernel *k)
{
	struct exec_program *p = k->module->program;
	struct exec_file *f = p->file;
	if (f) {
		p->file = f->next;
		p->files--;
	}
	if (f && f->bytes < k->register_bytes) {
		free(f->memory);
		f = NULL;
	}
	if (!f)
		f = new_file((k->register_bytes + OWN) / OWN * OWN);
	return f ? (unsigned char *)f + HEAD : NULL;
}

void exec_registers_give(struct emu_kernel *k, unsigned char *registers)
{
	struct exec_program *p = k->module->program;
	struct exec_file *f = registers ? (struct exec_file *)(void *)(registers - HEAD) : NULL;
	if (!f)
		return;
	if (p->files >= FILES_KEPT) {
		free(f->memory);
		return;
	}
	f->next = p->file;
	p->file = f;
	p->files++;
}

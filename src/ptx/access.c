#include "ptx/access.h"

#include <stdio.h>
#include <string.h>

struct word { const char *name; int value; };

static const struct word scopes[] = {
	{"cta", GSAN_CTA}, {"cluster", GSAN_CLUSTER}, {"gpu", GSAN_GPU}, {"gl", GSAN_GPU}, {"sys", GSAN_SYS}, {0}};
static const struct word semantics[] = {
	{"relaxed", GSAN_SEM_NONE}, {"acquire", GSAN_SEM_ACQUIRE}, {"release", GSAN_SEM_RELEASE},
	{"acq_rel", GSAN_SEM_ACQ_REL}, {"sc", GSAN_SEM_SC}, {"volatile", GSAN_SEM_NONE}, {"mmio", GSAN_SEM_NONE},
	{0}};

const char *ptx_scope_name(enum gsan_scope scope)
{
	static const char *const name[] = {"cta", "cluster", "gpu", "sys"};
	return name[scope];
}

/* The first modifier that is in the table, or NULL. */
static const struct word *find(const struct ptx_module *m, const struct ptx_instr *i, const struct word *table)
{
	for (uint32_t k = 0; k < i->mods; k++)
		for (const struct word *w = table; w->name; w++)
			if (ptx_is(m, i->mod[k], w->name))
				return w;
	return NULL;
}

static int starts(const struct ptx_module *m, struct ptx_span s, const char *word)
{
	size_t n = strlen(word);

	return s.len >= n && !memcmp(m->text + s.off, word, n);
}

/* A state space other than global is written out; "shared::cta" and its like count as theirs. */
static int elsewhere(const struct ptx_module *m, const struct ptx_instr *i)
{
	static const char *const spaces[] = {"shared", "local", "const", "param"};

	if (ptx_has(m, i, "global"))
		return 0;
	for (uint32_t k = 0; k < i->mods; k++)
		for (size_t s = 0; s < sizeof(spaces) / sizeof(*spaces); s++)
			if (starts(m, i->mod[k], spaces[s]))
				return 1;
	return 0;
}

static void leave(struct ptx_access *a, const char *reason)
{
	a->kind = PTX_ACCESS_LEFT;
	a->reason = reason;
}

/* A variable of another space under a generic opcode is no global access. */
static int set_address(const struct ptx_operand *o, struct ptx_access *a)
{
	const struct ptx_operand *base;

	if (o->kind != PTX_OPND_ADDRESS || o->items != 1) {
		leave(a, "address not understood");
		return 0;
	}
	base = &o->item[0];
	if (base->kind == PTX_OPND_SYMBOL && base->decl && base->decl->space != PTX_GLOBAL) {
		a->kind = PTX_ACCESS_NONE;
		return 0;
	}
	if ((base->kind != PTX_OPND_REG && base->kind != PTX_OPND_INT && base->kind != PTX_OPND_SYMBOL) ||
	    (base->kind == PTX_OPND_SYMBOL && !base->decl)) {
		leave(a, "address not understood");
		return 0;
	}
	a->address = o;
	return 1;
}

static void set_bytes(const struct ptx_module *m, const struct ptx_instr *i, struct ptx_access *a)
{
	a->elements = 1;
	for (uint32_t k = 0; k < i->mods; k++)
		if (i->mod[k].len == 2 && m->text[i->mod[k].off] == 'v')
			a->elements = (uint32_t)(m->text[i->mod[k].off + 1] - '0');
	a->bytes = ptx_type_bits(ptx_instr_type(m, i)) / 8 * a->elements;
}

/* Semantics and scope as written; the default of a strong operation's scope is `scope`. */
static void set_order(const struct ptx_module *m, const struct ptx_instr *i, struct ptx_access *a, enum gsan_scope scope)
{
	const struct word *sem = find(m, i, semantics), *written = find(m, i, scopes);

	a->semantics = sem ? sem->name : "relaxed";
	a->sem = sem ? (enum gsan_sem)sem->value : GSAN_SEM_NONE;
	if (written)
		scope = (enum gsan_scope)written->value;
	else if (ptx_has(m, i, "volatile") || ptx_has(m, i, "mmio"))
		scope = GSAN_SYS;
	a->scope = ptx_scope_name((enum gsan_scope)scope);
	a->op = (enum gsan_op)(a->op + scope);
}

static void of_load_store(const struct ptx_module *m, const struct ptx_instr *i, struct ptx_access *a)
{
	int store = ptx_is(m, i->op, "st"), address = !store;
	const struct word *sem = find(m, i, semantics);

	if (i->operands < 2 || ptx_has(m, i, "async") || ptx_has(m, i, "bulk") || ptx_has(m, i, "unified")) {
		leave(a, ptx_has(m, i, "unified") ? "unified addressing not modelled" : "asynchronous store not modelled");
		return;
	}
	set_bytes(m, i, a);
	a->value = &i->operand[store];
	if (!a->bytes || a->bytes > 32) {
		leave(a, "type not understood");
		return;
	}
	a->kind = !sem || ptx_has(m, i, "weak") ? PTX_ACCESS_WEAK : store ? PTX_ACCESS_STORE : PTX_ACCESS_LOAD;
	if (a->kind == PTX_ACCESS_WEAK) {
		int nc = ptx_has(m, i, "nc") || ptx_is(m, i->op, "ldu");

		a->op = store ? GSAN_OP_ST : nc ? GSAN_OP_LD_NC : GSAN_OP_LD;
		if (nc)
			strcpy(a->name, "ld.nc");
	} else {
		a->op = store ? GSAN_OP_STRONG_ST : GSAN_OP_STRONG_LD;
		set_order(m, i, a, GSAN_SYS);
	}
	set_address(&i->operand[address], a);
}

static void of_atomic(const struct ptx_module *m, const struct ptx_instr *i, struct ptx_access *a)
{
	static const struct word operations[] = {
		{"add", PTX_RMW_EITHER}, {"inc", PTX_RMW_EITHER}, {"dec", PTX_RMW_EITHER}, {"min", PTX_RMW_EITHER}, {"max", PTX_RMW_EITHER},
		{"and", PTX_RMW_EITHER}, {"or", PTX_RMW_EITHER}, {"xor", PTX_RMW_EITHER}, {"exch", PTX_RMW_EXCH}, {"cas", PTX_RMW_CAS}, {0}};
	const struct word *operation = find(m, i, operations);
	int atom = ptx_is(m, i->op, "atom");

	if (ptx_has(m, i, "async")) {
		leave(a, "asynchronous reduction not modelled");
		return;
	}
	if (!operation || i->operands < (atom ? 3u : 2u)) {
		leave(a, "atomic operation not understood");
		return;
	}
	snprintf(a->name, sizeof(a->name), "%s.%s", atom ? "atom" : "red", operation->name);
	set_bytes(m, i, a);
	if (!a->bytes || a->bytes > 32) {
		leave(a, "type not understood");
		return;
	}
	a->kind = PTX_ACCESS_RMW;
	a->rmw = (enum ptx_rmw)operation->value;
	a->op = GSAN_OP_RMW;
	set_order(m, i, a, GSAN_GPU);
	if (atom && i->operand[0].kind != PTX_OPND_SINK)
		a->value = &i->operand[0];
	set_address(&i->operand[atom], a);
}

/* cp.async.{ca,cg}.shared.global [dst], [src], bytes {, bytes really read | predicate: read nothing}: a weak load, checked
 * where it is issued. The bulk and tensor forms come with the asynchronous copies. */
static void of_cp(const struct ptx_module *m, const struct ptx_instr *i, struct ptx_access *a)
{
	int tensor = ptx_has(m, i, "tensor");

	if (ptx_has(m, i, "prefetch") || ptx_has(m, i, "mbarrier") || ptx_has(m, i, "commit_group") ||
	    ptx_has(m, i, "wait_group") || ptx_has(m, i, "wait_all"))
		return;
	if (!ptx_has(m, i, "global") && !tensor)
		return;
	if (ptx_has(m, i, "bulk") || tensor) {
		leave(a, tensor ? "tensor copy not modelled" : "bulk copy not modelled");
		return;
	}
	if (i->operands < 3 || i->operand[2].kind != PTX_OPND_INT || i->operand[2].ivalue < 1 || i->operand[2].ivalue > 16) {
		leave(a, "copy size not understood");
		return;
	}
	a->kind = PTX_ACCESS_WEAK;
	a->op = GSAN_OP_LD;
	strcpy(a->name, "cp.async");
	a->bytes = (uint32_t)i->operand[2].ivalue;
	if (i->operands > 3 && i->operand[3].kind == PTX_OPND_REG) {
		enum ptx_type type = i->operand[3].decl->type;

		if (type == PTX_PRED || ptx_type_bits(type) == 32)
			a->size = &i->operand[3];
	} else if (i->operands > 3 && i->operand[3].kind == PTX_OPND_INT) {
		a->bytes = (uint32_t)i->operand[3].ivalue & 31;
		if (!a->bytes)
			a->kind = PTX_ACCESS_NONE;
	}
	if (a->kind != PTX_ACCESS_NONE)
		set_address(&i->operand[1], a);
}

/* fence.proxy and fence.mbarrier_init order other proxies; a restricted fence orders shared memory only. */
static void of_fence(const struct ptx_module *m, const struct ptx_instr *i, struct ptx_access *a)
{
	const struct word *sem = find(m, i, semantics), *scope = find(m, i, scopes);

	for (uint32_t k = 0; k < i->mods; k++) {
		if (starts(m, i->mod[k], "proxy")) {
			if (i->operands || ptx_has(m, i, "global"))
				leave(a, "proxy fence not modelled");
			return;
		}
		if (starts(m, i->mod[k], "mbarrier_init") || starts(m, i->mod[k], "sync_restrict"))
			return;
	}
	a->kind = PTX_ACCESS_FENCE;
	a->sem = sem ? (enum gsan_sem)sem->value : ptx_is(m, i->op, "membar") ? GSAN_SEM_SC : GSAN_SEM_ACQ_REL;
	a->op = (enum gsan_op)(GSAN_OP_STRONG_LD + (scope ? scope->value : GSAN_SYS));
	a->semantics = sem ? sem->name : ptx_is(m, i->op, "membar") ? "sc" : "acq_rel";
	a->scope = ptx_scope_name(scope ? (enum gsan_scope)scope->value : GSAN_SYS);
}

/* Opcodes that touch global memory, or may, and are not modelled. `always`: whatever spaces they name. */
static const struct { const char *op; int always; const char *reason; } unmodelled[] = {
	{"multimem", 1, "multimem not modelled"},
	{"discard", 0, "discard not modelled"},
	{"tensormap", 0, "tensor map update not modelled"},
	{"wmma", 0, "matrix load or store not modelled"},
	{"tex", 1, "texture not modelled"}, {"tld4", 1, "texture not modelled"},
	{"suld", 1, "surface not modelled"}, {"sust", 1, "surface not modelled"}, {"sured", 1, "surface not modelled"},
};

static void of_other(const struct ptx_module *m, const struct ptx_instr *i, struct ptx_access *a)
{
	for (size_t k = 0; k < sizeof(unmodelled) / sizeof(*unmodelled); k++) {
		if (!ptx_is(m, i->op, unmodelled[k].op))
			continue;
		if (!unmodelled[k].always && elsewhere(m, i))
			return;
		if (ptx_is(m, i->op, "wmma") && !ptx_has(m, i, "load") && !ptx_has(m, i, "store"))
			return;
		leave(a, unmodelled[k].reason);
		return;
	}
	/* an opcode of a PTX version to come */
	if (ptx_has(m, i, "global") && !starts(m, i->op, "prefetch") && !starts(m, i->op, "cvta") &&
	    !starts(m, i->op, "isspacep") && !starts(m, i->op, "applypriority") && !starts(m, i->op, "mapa"))
		leave(a, "instruction not modelled");
}

void ptx_access_of(const struct ptx_module *m, const struct ptx_instr *i, struct ptx_access *a)
{
	static const struct { const char *op; void (*of)(const struct ptx_module *, const struct ptx_instr *,
							 struct ptx_access *); } table[] = {
		{"ld", of_load_store}, {"ldu", of_load_store}, {"st", of_load_store}, {"atom", of_atomic},
		{"red", of_atomic},    {"cp", of_cp},          {"fence", of_fence},   {"membar", of_fence}};

	*a = (struct ptx_access){.semantics = "weak", .scope = "-"};
	for (size_t k = 0; k < sizeof(table) / sizeof(*table); k++) {
		if (!ptx_is(m, i->op, table[k].op))
			continue;
		snprintf(a->name, sizeof(a->name), "%s", table[k].op);
		if (table[k].of == of_cp || table[k].of == of_fence || !elsewhere(m, i))
			table[k].of(m, i, a);
		return;
	}
	of_other(m, i, a);
}

/* What an instruction is known by: its opcode and, if more is needed, how one of its modifiers begins. */
struct form { const char *op, *mod; };

static int is_one_of(const struct ptx_module *m, const struct ptx_instr *i, const struct form *form)
{
	for (; form->op; form++) {
		if (!ptx_is(m, i->op, form->op))
			continue;
		if (!form->mod)
			return 1;
		for (uint32_t k = 0; k < i->mods; k++)
			if (starts(m, i->mod[k], form->mod))
				return 1;
	}
	return 0;
}

/* An arrival that comes later by itself (cp.async.mbarrier, tcgen05.commit) tells another thread what was done before it, too. */
int ptx_access_meets(const struct ptx_module *m, const struct ptx_instr *i)
{
	static const struct form forms[] = {
		{"bar", 0}, {"barrier", 0}, {"fence", 0}, {"membar", 0}, {"mbarrier", 0}, {"griddepcontrol", 0}, {"atom", 0}, {"red", 0},
		{"multimem", 0}, {"clusterlaunchcontrol", 0}, {"call", 0}, {"cp", "wait_group"}, {"cp", "wait_all"}, {"cp", "bulk"},
		{"cp", "mbarrier"}, {"tcgen05", "wait"}, {"tcgen05", "commit"}, {"wgmma", "wait_group"}, {"st", "async"}, {0}};

	return is_one_of(m, i, forms) || ((ptx_is(m, i->op, "ld") || ptx_is(m, i->op, "st")) && find(m, i, semantics));
}

int ptx_access_strong(const struct ptx_module *m, const struct ptx_instr *i)
{
	return find(m, i, semantics) && !ptx_has(m, i, "weak");
}

int ptx_access_ends_run(const struct ptx_module *m, const struct ptx_instr *i)
{
	static const struct form forms[] = {{"bra", 0}, {"brx", 0}, {"ret", 0}, {"exit", 0}, {"trap", 0}, {"brkpt", 0}, {"setmaxnreg", 0},
					    {"nanosleep", 0}, {"tensormap", 0}, {"discard", 0}, {0}};

	return is_one_of(m, i, forms) || ptx_access_meets(m, i);
}

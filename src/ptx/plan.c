#include "ptx/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/abi.h"
#include "ptx/uses.h"

#define PARAM_ROOM_OLD 4352u  /* bytes of kernel parameters before PTX 8.1 */
#define CHAIN_MAX 16u         /* inlined-at places that are printed */

static uint32_t entry_param_bytes(const struct ptx_function *f)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < f->param_count; i++) {
		const struct ptx_decl *d = f->param[i];
		uint64_t one = ptx_type_bits(d->type) / 8 * d->vector, align = d->align ? d->align : one;

		if (!d->elements || d->elements > PTX_PARAM_ROOM || align > PTX_PARAM_ROOM)
			return PTX_PARAM_ROOM;
		if (align)
			bytes = (bytes + align - 1) / align * align;
		bytes += one * d->elements;
		if (bytes > PTX_PARAM_ROOM)
			return PTX_PARAM_ROOM;
	}
	return (uint32_t)bytes;
}

uint32_t ptx_plan_record_bytes(const struct ptx_function_plan *fp)
{
	return (uint32_t)sizeof(struct gsan_launch) << (fp->reaches_depends & PTX_DEPENDS_WAITS);
}

static int has_room(const struct ptx_module *m, const struct ptx_function *f, const struct ptx_function_plan *fp)
{
	int old = m->version_major < 8 || (m->version_major == 8 && m->version_minor < 1);

	return (entry_param_bytes(f) + 7) / 8 * 8 + ptx_plan_record_bytes(fp) <= (old ? PARAM_ROOM_OLD : PTX_PARAM_ROOM);
}

const struct ptx_decl *ptx_plan_target(const struct ptx_instr *i)
{
	for (uint32_t k = 0; k < i->operands; k++)
		if (i->operand[k].kind != PTX_OPND_LIST)
			return i->operand[k].kind == PTX_OPND_SYMBOL ? i->operand[k].decl : NULL;
	return NULL;
}

const struct ptx_function *ptx_plan_callee(const struct ptx_module *m, const struct ptx_instr *call)
{
	const struct ptx_decl *d = ptx_plan_target(call);

	return d && d->is_function ? &m->function[d->function] : NULL;
}

static void of_call(const struct ptx_module *m, struct ptx_place *p)
{
	const struct ptx_decl *d = ptx_plan_target(p->instr);
	const char *reason = "indirect call, behind which its CTA counts as ordered after everything";

	if (d && d->is_function && m->function[d->function].body.len && !m->function[d->function].is_entry) {
		p->callee = &m->function[d->function];
		return;
	}
	p->unseen = !d || !ptx_is_provided(m->text, d->name);
	if (d)
		reason = p->unseen ? "function without a body here, behind whose call its CTA counts as ordered after everything" :
				     "function without a body here";
	p->access.kind = PTX_ACCESS_LEFT;
	p->access.reason = reason;
	strcpy(p->access.name, "call");
}

/* Every instruction that the rewriter or the report must know of. A predicate that is no register cannot be repeated. */
static int is_place(const struct ptx_module *m, struct ptx_place *p)
{
	if (ptx_is(m, p->instr->op, "call")) {
		p->access = (struct ptx_access){.semantics = "weak", .scope = "-"};
		of_call(m, p);
		return 1;
	}
	ptx_access_of(m, p->instr, &p->access);
	if (p->access.kind == PTX_ACCESS_NONE)
		return 0;
	if (p->instr->pred && p->instr->pred->kind != PTX_OPND_REG) {
		p->access.kind = PTX_ACCESS_LEFT;
		p->access.reason = "predicate not understood";
	}
	return 1;
}

static int is_strong(const struct ptx_access *a)
{
	return a->kind >= PTX_ACCESS_LOAD && a->kind <= PTX_ACCESS_RMW;
}

/* Relaxed operations that order nothing take a short way: in a kernel that synchronises RMWs that tell the program nothing, and not of .sys,
 * for what those observe of other GPUs counts for what their kernel does next; in another, all that lie within a granule. */
static int find_reds(const struct ptx_plan *plan, const struct ptx_function *f, const struct ptx_function_plan *fp)
{
	struct ptx_uses uses;
	int any = 0, status;

	for (uint32_t i = fp->place; i < fp->place + fp->places; i++)
		any |= is_strong(&plan->place[i].access);
	status = any ? ptx_uses_make(plan->module, f, &uses) : 0;
	if (status || !any)
		return status;
	for (uint32_t i = fp->place; i < fp->place + fp->places; i++) {
		struct ptx_access *a = &plan->place[i].access;
		int relaxed = is_strong(a) && a->sem == GSAN_SEM_NONE && a->elements == 1 && a->bytes <= GSAN_GRANULE;
		int untold = a->kind == PTX_ACCESS_RMW && a->rmw != PTX_RMW_CAS && a->op != GSAN_OP_RMW + GSAN_SYS &&
			     !(a->value && ptx_uses_read(&uses, a->value));

		if (relaxed && (untold || !fp->reaches_sync))
			a->kind = PTX_ACCESS_RED;
	}
	ptx_uses_free(&uses);
	return 0;
}

/* "%envreg1" or "%envreg2": the address of the workspace by which a cooperative grid synchronises, its upper and its lower half. */
int ptx_plan_is_workspace(const struct ptx_module *m, const struct ptx_operand *o)
{
	return o->kind == PTX_OPND_SPECIAL && (ptx_is(m, o->text, "%envreg1") || ptx_is(m, o->text, "%envreg2"));
}

static int reads_workspace(const struct ptx_module *m, const struct ptx_function *f)
{
	for (uint32_t i = 0; i < f->instrs; i++)
		for (uint32_t k = 0; k < f->instr[i].operands; k++)
			if (ptx_plan_is_workspace(m, &f->instr[i].operand[k]))
				return 1;
	return 0;
}

int ptx_plan_waits(const struct ptx_module *m, const struct ptx_instr *i) { return ptx_is(m, i->op, "griddepcontrol") && ptx_has(m, i, "wait"); }

static uint8_t depends_of(const struct ptx_module *m, const struct ptx_function *f)
{
	uint8_t depends = 0;

	for (uint32_t i = 0; i < f->instrs; i++) {
		if (!ptx_is(m, f->instr[i].op, "griddepcontrol"))
			continue;
		if (ptx_plan_waits(m, &f->instr[i]))
			depends |= PTX_DEPENDS_WAITS;
		else
			depends |= PTX_DEPENDS_TRIGGERS | (depends & PTX_DEPENDS_WAITS ? 0 : PTX_DEPENDS_AT_ONCE);
	}
	return depends;
}

static enum gsan_scope scope_of(const struct ptx_access *a)
{
	return (enum gsan_scope)((uint32_t)a->op & 3);
}

/* GSAN_REDS_* of a relaxed operation. */
static uint8_t reds_of(const struct ptx_access *a)
{
	int loads = a->kind == PTX_ACCESS_LOAD;

	if (scope_of(a) < GSAN_GPU)
		return 0;
	return (uint8_t)(1u << scope_of(a) | (loads ? GSAN_REDS_LOAD : 0) | (loads || a->value ? GSAN_REDS_LEARN : 0));
}

/* Does its kernel keep a clock? What orders anything but within its CTA does that; and, for they are seldom, strong vectors, those of 16 bytes
 * and of .cluster. */
static int is_order(const struct ptx_access *a)
{
	return (a->kind == PTX_ACCESS_FENCE && scope_of(a) != GSAN_CTA) ||
	       (is_strong(a) && (a->sem != GSAN_SEM_NONE || scope_of(a) == GSAN_CLUSTER || a->elements > 1 ||
				 a->bytes > GSAN_GRANULE));
}

static void gather_function(struct ptx_plan *plan, uint32_t f, int reds)
{
	struct ptx_function_plan *fp = &plan->function[f];

	fp->places = plan->places - fp->place;
	fp->grids = (uint8_t)reads_workspace(plan->module, &plan->module->function[f]);
	fp->depends = depends_of(plan->module, &plan->module->function[f]);
	for (uint32_t i = fp->place; i < plan->places; i++) {
		const struct ptx_place *p = &plan->place[i];
		const struct ptx_access *a = &p->access;

		fp->leaves |= p->unseen;
		fp->sync |= (uint8_t)((is_order(a) || p->unseen ? PTX_SYNC_ORDERS : 0) | (is_strong(a) && !reds ? PTX_SYNC_TOLD : 0));
		fp->reds |= is_strong(a) && reds ? reds_of(a) : 0;
	}
}

static int gather(struct ptx_plan *plan, int reds)
{
	const struct ptx_module *m = plan->module;
	size_t room = 0;

	for (uint32_t f = 0; f < m->functions; f++) {
		plan->function[f].place = plan->places;
		for (uint32_t i = 0; i < m->function[f].instrs; i++) {
			struct ptx_place p = {.instr = &m->function[f].instr[i], .function = f};

			if (!is_place(m, &p))
				continue;
			if (plan->places == room) {
				struct ptx_place *more;

				room = room ? room * 2 : 64;
				more = realloc(plan->place, room * sizeof(*more));
				if (!more)
					return -ENOMEM;
				plan->place = more;
			}
			plan->place[plan->places++] = p;
		}
		gather_function(plan, f, reds);
	}
	return 0;
}

void ptx_plan_reach(const struct ptx_plan *plan, uint32_t from, uint8_t *reached, uint32_t *stack)
{
	uint32_t depth = 0;

	if (reached[from])
		return;
	reached[from] = 1;
	stack[depth++] = from;
	while (depth) {
		const struct ptx_function_plan *f = &plan->function[stack[--depth]];

		for (uint32_t i = f->place; i < f->place + f->places; i++) {
			const struct ptx_function *callee = plan->place[i].callee;
			uint32_t to;

			if (!callee)
				continue;
			to = (uint32_t)(callee - plan->module->function);
			if (!reached[to]) {
				reached[to] = 1;
				stack[depth++] = to;
			}
		}
	}
}

static uint8_t depends_reached(const struct ptx_plan *plan, uint32_t from, const uint8_t *reached)
{
	uint8_t own = plan->function[from].depends, others = 0;

	for (uint32_t g = 0; g < plan->module->functions; g++)
		others |= reached[g] && g != from ? plan->function[g].depends : 0;
	return others & PTX_DEPENDS_WAITS || (own & PTX_DEPENDS_WAITS && others) ? (own | others) & (uint8_t)~PTX_DEPENDS_AT_ONCE : own | others;
}

/* What every entry reaches is cloned; what it reaches decides whether its clone synchronises. */
static void choose(struct ptx_plan *plan, uint8_t *reached, uint32_t *stack)
{
	const struct ptx_module *m = plan->module;

	for (uint32_t f = 0; f < m->functions; f++) {
		if (!m->function[f].is_entry || !m->function[f].body.len)
			continue;
		memset(reached, 0, m->functions);
		ptx_plan_reach(plan, f, reached, stack);
		plan->function[f].reaches_depends = depends_reached(plan, f, reached);
		if (!has_room(m, &m->function[f], &plan->function[f])) {
			plan->skipped++;
			continue;
		}
		plan->clones++;
		for (uint32_t g = 0; g < m->functions; g++) {
			plan->function[g].cloned |= reached[g];
			plan->function[f].reaches_grids |= reached[g] && plan->function[g].grids;
			plan->function[f].leaves |= reached[g] && plan->function[g].leaves;
			plan->function[f].reaches_sync |= reached[g] ? plan->function[g].sync : 0;
			plan->function[f].reaches_reds |= reached[g] ? plan->function[g].reds : 0;
		}
		for (uint32_t g = 0; g < m->functions; g++) { /* an exit in any of them ends such a kernel */
			plan->function[g].reaches_sync |= reached[g] ? plan->function[f].reaches_sync : 0;
			plan->function[g].says_behind_red |=
				reached[g] && plan->function[f].reaches_reds && !plan->function[f].reaches_sync;
		}
	}
}

static int find_all_reds(const struct ptx_plan *plan)
{
	for (uint32_t f = 0; f < plan->module->functions; f++)
		if (plan->function[f].cloned && find_reds(plan, &plan->module->function[f], &plan->function[f]))
			return -ENOMEM;
	return 0;
}

static int is_same_place(const struct ptx_module *m, const struct ptx_loc *a, const struct ptx_loc *b)
{
	const int named = a->name.len == b->name.len && !memcmp(m->text + a->name.off, m->text + b->name.off, a->name.len);
	return named && a->file == b->file && a->line == b->line && a->column == b->column;
}

/* The same line, inlined at the same one, and the same kind of access: an instruction that was unrolled, or that a lane makes of each of its
 * elements. */
static int is_same_loc(const struct ptx_module *m, uint32_t a, uint32_t b)
{
	for (; a && b && a != b; a = m->loc[a - 1].inlined_at, b = m->loc[b - 1].inlined_at)
		if (!is_same_place(m, &m->loc[a - 1], &m->loc[b - 1]))
			return 0;
	return a == b;
}
static int is_same_site(const struct ptx_module *m, const struct ptx_place *a, const struct ptx_place *b)
{
	return a->function == b->function && a->access.kind == PTX_ACCESS_WEAK && b->access.kind == PTX_ACCESS_WEAK && a->access.op == b->access.op &&
	       a->access.bytes == b->access.bytes && a->instr->loc && b->instr->loc && is_same_loc(m, a->instr->loc, b->instr->loc);
}

/* The number of such a one a little before it; 0: there is none. */
#define SAME_SITE_BACK 16u
static uint32_t same_site(const struct ptx_plan *plan, uint32_t place)
{
	for (uint32_t i = place; i && place - i < SAME_SITE_BACK; i--)
		if (plan->place[i - 1].site && is_same_site(plan->module, &plan->place[i - 1], &plan->place[place]))
			return plan->place[i - 1].site;
	return 0;
}

/* With the numbers used up, strong operations are still instrumented (their edges keep others from looking like races),
 * under the number that means unknown. */
static void number_place(struct ptx_plan *plan, uint32_t place)
{
	struct ptx_place *p = &plan->place[place];
	struct ptx_access *a = &p->access;
	uint32_t same = same_site(plan, place);

	if (!plan->function[p->function].cloned)
		a->reason = plan->module->function[p->function].is_entry ?
				    PTX_NO_ROOM :
				    "no checked kernel calls this function directly";
	else if (same || plan->sites < PTX_SITE_MAX)
		p->site = same ? same : ++plan->sites;
	else if (a->kind == PTX_ACCESS_WEAK)
		a->reason = "no site number left";
	else
		p->site = PTX_SITE_UNKNOWN;
	if (!p->site)
		a->kind = PTX_ACCESS_LEFT;
}

static void number_sites(struct ptx_plan *plan)
{
	for (uint32_t i = 0; i < plan->places; i++) {
		enum ptx_access_kind kind = plan->place[i].access.kind;

		if (kind != PTX_ACCESS_NONE && kind != PTX_ACCESS_FENCE && kind != PTX_ACCESS_LEFT)
			number_place(plan, i);
		plan->checked += plan->place[i].site != 0;
		plan->left += plan->place[i].access.kind == PTX_ACCESS_LEFT;
	}
}

/* Do two places of one function lie in one run, as far as what is between them tells? */
static int in_one_run(const struct ptx_module *m, const struct ptx_place *p, const struct ptx_place *next)
{
	for (const struct ptx_instr *i = p->instr + 1; i < next->instr; i++)
		if (ptx_access_ends_run(m, i))
			return 0;
	return next->access.kind == PTX_ACCESS_WEAK;
}

static void find_late(struct ptx_plan *plan)
{
	for (uint32_t i = plan->places; i > 1; i--) {
		struct ptx_place *p = &plan->place[i - 2], *next = p + 1;

		p->late = p->access.kind == PTX_ACCESS_WEAK && p->function == next->function && in_one_run(plan->module, p, next) &&
			  (next->late || next->access.op == GSAN_OP_ST);
	}
}

int ptx_plan_make(const struct ptx_module *m, int reds, struct ptx_plan *plan)
{
	uint8_t *reached = calloc(m->functions + 1, 1);
	uint32_t *stack = calloc(m->functions + 1, sizeof(*stack));
	int status = -ENOMEM;

	*plan = (struct ptx_plan){.module = m};
	plan->function = calloc(m->functions + 1, sizeof(*plan->function));
	if (reached && stack && plan->function)
		status = gather(plan, reds);
	if (!status) {
		choose(plan, reached, stack);
		status = reds ? find_all_reds(plan) : 0;
	}
	if (!status) {
		number_sites(plan);
		find_late(plan);
		plan->mbarriers = ptx_mbarriers_known(m);
	} else {
		ptx_plan_free(plan);
	}
	free(reached);
	free(stack);
	return status;
}

void ptx_plan_free(struct ptx_plan *plan)
{
	free(plan->function);
	free(plan->place);
	*plan = (struct ptx_plan){0};
}

/* ---- reports ---- */

struct ptx_where ptx_plan_where(const struct ptx_module *m, const struct ptx_instr *i)
{
	const struct ptx_loc *loc = i->loc ? &m->loc[i->loc - 1] : NULL;
	const struct ptx_file *file = loc ? ptx_file_of(m, loc->file) : NULL;

	if (!file || !loc->line)
		return (struct ptx_where){NULL, i->line, 0, NULL};
	return (struct ptx_where){file->path, loc->line, loc->column, loc};
}

static int is_file_name(const char *path, const char *name, size_t n)
{
	const size_t length = path ? strlen(path) : 0;
	return n && length >= n && !memcmp(path + length - n, name, n) && (length == n || path[length - n - 1] == '/');
}

/* The file of a place that a comment names: the one it was inlined from, if that is called so, else the first of the module's that is. NULL: none. */
static const struct ptx_file *file_of_comment(const struct ptx_module *m, const struct ptx_loc *loc, const struct ptx_file *inner)
{
	const char *name = m->text + loc->name.off;
	if (inner && is_file_name(inner->path, name, loc->name.len))
		return inner;
	for (uint32_t i = 0; i < m->files; i++)
		if (is_file_name(m->file[i].path, name, loc->name.len))
			return &m->file[i];
	return NULL;
}

/* Goes on to what `*loc` was inlined at, in *file. 0: to nothing. */
static int next_place(const struct ptx_module *m, const struct ptx_loc **loc, const struct ptx_file **file)
{
	if (!*loc || !(*loc)->inlined_at)
		return 0;
	*loc = &m->loc[(*loc)->inlined_at - 1];
	*file = (*loc)->name.len ? file_of_comment(m, *loc, *file) : ptx_file_of(m, (*loc)->file);
	return 1;
}

struct ptx_where ptx_plan_own(const struct ptx_module *m, const struct ptx_instr *i)
{
	const struct ptx_where at = ptx_plan_where(m, i);
	const struct ptx_loc *loc = at.loc;
	const struct ptx_file *file = loc ? ptx_file_of(m, loc->file) : NULL, *own;

	for (uint32_t n = 0; n < CHAIN_MAX && next_place(m, &loc, &file); n++)
		;
	own = file;
	if (!own || !strcmp(own->path, at.file))
		return at;
	loc = at.loc;
	file = ptx_file_of(m, loc->file);
	for (uint32_t n = 0; n < CHAIN_MAX && next_place(m, &loc, &file); n++)
		if (file && !strcmp(file->path, own->path))
			break;
	return (struct ptx_where){own->path, loc->line, loc->column, loc};
}

void ptx_plan_inlined(const struct ptx_module *m, const struct ptx_loc *loc, struct text *out)
{
	const struct ptx_file *file = loc ? ptx_file_of(m, loc->file) : NULL;
	uint32_t printed = 0;

	while (printed < CHAIN_MAX && next_place(m, &loc, &file)) {
		text_puts(out, printed++ ? "," : "");
		if (file || !loc->name.len)
			text_printf(out, "%s:%u", file ? file->path : "?", loc->line);
		else
			text_printf(out, "%.*s:%u", (int)loc->name.len, m->text + loc->name.off, loc->line);
	}
	if (!printed)
		text_puts(out, "-");
}

void ptx_plan_print(const struct ptx_plan *plan, const char *source, struct text *out)
{
	const struct ptx_module *m = plan->module;

	for (uint32_t i = 0; i < plan->places; i++) {
		const struct ptx_place *p = &plan->place[i];
		struct ptx_where at = ptx_plan_where(m, p->instr);
		struct ptx_span name = m->function[p->function].name, opcode = p->instr->opcode;

		if (!p->site && p->access.kind != PTX_ACCESS_LEFT)
			continue;
		text_printf(out, "%s:%u:%u %.*s ", at.file ? at.file : source, at.line, at.column, (int)name.len,
			    m->text + name.off);
		if (p->site)
			text_printf(out, "%s.%s.%s %u\n", p->access.name, p->access.semantics, p->access.scope,
				    p->access.bytes);
		else
			text_printf(out, "left %.*s: %s\n", (int)opcode.len, m->text + opcode.off, p->access.reason);
	}
}

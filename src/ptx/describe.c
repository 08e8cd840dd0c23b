#include "ptx/describe.h"

#include <stdlib.h>
#include <string.h>

#include "device/abi.h"
#include "ptx/apart.h"
#include "ptx/awaits.h"
#include "ptx/fences.h"
#include "ptx/info.h"
#include "ptx/meeting.h"

#define NUMBERS_PER_LINE 32u
#define FENCES_WORK (1u << 24) /* instructions that are looked at for the fences of a function, for its barriers, for who waits */
#define AGAIN_PLACES 1024u /* of a function, of which is told which stand there again */
#define EARLY_FLAGS 64u       /* of a function, if it has no more */
#define DESCRIBE_CALLS 8u /* one above the other */

static void word(struct text *out, const char *s)
{
	ptx_info_field(out, s, strlen(s));
}

static void span(struct text *out, const struct ptx_module *m, struct ptx_span s)
{
	ptx_info_field(out, m->text + s.off, s.len);
}

/* Of each function the only call of it that the kernel makes, as far as it is known; NULL: there are several, or it is the kernel itself. One more
 * than there are functions; NULL: no memory. */
static const struct ptx_place **describe_calls(const struct ptx_plan *plan, const uint8_t *reached)
{
	const struct ptx_module *m = plan->module;
	const struct ptx_place **call = calloc(m->functions + 1, sizeof(*call)), *several = plan->place + plan->places;

	for (const struct ptx_place *p = plan->place; call && p < several; p++)
		if (reached[p->function] && p->callee)
			call[p->callee - m->function] = call[p->callee - m->function] ? several : p;
	for (uint32_t f = 0; call && f < m->functions; f++)
		call[f] = call[f] == several ? NULL : call[f];
	return call;
}

/* Of a function that has no lines (what nvcc -G makes of an atomic) the place is the call's, and those of the calls that lead there are as if they had
 * been inlined, as far as each is the only one. */
static struct ptx_where describe_where(const struct ptx_module *m, const struct ptx_place **call, const struct ptx_place *p, struct text *chain)
{
	struct ptx_where at = ptx_plan_where(m, p->instr), by;
	const int own = at.file || !m->locs;

	for (uint32_t n = 0; !own && !at.file && n < DESCRIBE_CALLS && (p = call[p->function]); n++)
		if ((by = ptx_plan_where(m, p->instr)).file)
			at = by;
	ptx_plan_inlined(m, at.loc, chain);
	for (uint32_t n = 0; !own && at.file && n < DESCRIBE_CALLS && (p = call[p->function]); n++) {
		struct text further = {0};

		if (!(by = ptx_plan_where(m, p->instr)).file)
			continue;
		ptx_plan_inlined(m, by.loc, &further);
		if (chain->size == 1 && chain->data[0] == '-')
			chain->size = 0;
		text_printf(chain, "%s%s:%u", chain->size ? "," : "", by.file, by.line);
		if (further.size && further.data[0] != '-')
			text_printf(chain, ",%s", further.data);
		text_free(&further);
	}
	return at;
}

static void describe_place(const struct ptx_module *m, const struct ptx_place **call, const struct ptx_place *p, const char *what, uint32_t site,
			   struct text *out)
{
	struct text chain = {0};
	struct ptx_where at = describe_where(m, call, p, &chain);

	text_printf(out, "%s\t%u", what, site);
	word(out, at.file ? at.file : "-");
	text_printf(out, "\t%u\t%u", at.line, at.column);
	span(out, m, m->function[p->function].name);
	word(out, p->access.name);
	word(out, p->access.semantics);
	word(out, p->access.scope);
	text_printf(out, "\t%u", p->access.bytes);
	ptx_info_field(out, chain.data ? chain.data : "-", chain.data ? chain.size : 1);
	out->failed |= chain.failed;
	text_free(&chain);
}

/* Before an instruction of a function: the number that its next site has, and how many flags may be raised. */
struct reckoned { uint32_t site, flags; };
static struct reckoned reckon(const struct ptx_plan *plan, uint32_t f, uint32_t instr)
{
	const struct ptx_place *p = plan->place + plan->function[f].place, *end = p + plan->function[f].places;
	struct reckoned r = {0};

	for (; p < end && p->instr < plan->module->function[f].instr + instr; p++) {
		r.site = p->site != PTX_SITE_UNKNOWN && p->site > r.site ? p->site : r.site;
		r.flags += p->access.kind == PTX_ACCESS_RED || p->access.kind == PTX_ACCESS_STORE || p->access.kind == PTX_ACCESS_RMW;
	}
	r.site++;
	return r;
}

/* Which of a function's sites the text does not order, as far as the words of a finding may ask: of two that raise a flag, and what comes behind; or
 * all, of one that waits. */
static void describe_apart(const struct ptx_plan *plan, uint32_t f, int waits, struct text *out)
{
	const struct ptx_function *function = &plan->module->function[f];
	uint32_t count = 0;
	struct ptx_apart *apart = waits || reckon(plan, f, function->instrs).flags ? ptx_apart(plan->module, function, &count) : NULL;

	for (uint32_t i = 0; i < count; i++) {
		struct reckoned from = reckon(plan, f, apart[i].from), to = reckon(plan, f, apart[i].to), end = reckon(plan, f, apart[i].end);
		uint32_t flags = apart[i].from == apart[i].to ? end.flags : to.flags;

		if ((waits || flags > from.flags) && end.site > to.site)
			text_printf(out, "apart\t%u\t%u\t%u\n", from.site, to.site, end.site);
	}
	free(apart);
}

/* The sites, as one field, to each of whose instructions no way leads but over the fence. */
static void describe_behind(const struct ptx_plan *plan, uint32_t f, const uint8_t *behind, struct text *out)
{
	const struct ptx_place *p = plan->place + plan->function[f].place, *end = p + plan->function[f].places, *q;
	const struct ptx_instr *first = plan->module->function[f].instr;
	uint32_t from = 0, last = 0;

	text_puts(out, "\t");
	for (; p < end; p++) {
		if (!p->site || p->site == PTX_SITE_UNKNOWN || p->site <= last)
			continue;
		for (q = p; q < end && (q->site != p->site || behind[q->instr - first]); q++)
			;
		if (from && q < end)
			text_printf(out, "%u-%u,", from, last);
		last = p->site;
		from = q < end ? 0 : from ? from : last;
	}
	if (from)
		text_printf(out, "%u-%u,", from, last);
}

static int describe_is_flag(const struct ptx_access *a)
{
	return (a->kind == PTX_ACCESS_RED || a->kind == PTX_ACCESS_STORE || a->kind == PTX_ACCESS_RMW) && strcmp(a->semantics, "weak");
}
/* By itself, or for what comes behind it; as far as the CTAs of one GPU. */
static int describe_releases(const struct ptx_access *a)
{
	return (a->sem == GSAN_SEM_RELEASE || a->sem == GSAN_SEM_ACQ_REL || a->sem == GSAN_SEM_SC) && strcmp(a->scope, "cta");
}

/* Where a flag is raised, as its site says it. */
static void describe_key(const struct ptx_module *m, const struct ptx_instr *i, struct text *key)
{
	const struct ptx_where at = ptx_plan_where(m, i);

	key->size = 0;
	text_printf(key, "%s:%u:%u ", at.file ? at.file : "-", at.line, at.column);
	ptx_plan_inlined(m, at.loc, key);
}

/* The places that raise one flag, `mark`ed by their instructions: those of one place, which may have been unrolled. Their number. */
static uint32_t describe_one_flag(const struct ptx_plan *plan, uint32_t f, const struct ptx_place *p, uint8_t *mark)
{
	const struct ptx_place *end = plan->place + plan->function[f].place + plan->function[f].places;
	const struct ptx_function *function = &plan->module->function[f];
	struct text key = {0}, other = {0};
	uint32_t n = 0;

	memset(mark, 0, function->instrs);
	describe_key(plan->module, p->instr, &key);
	for (; p < end; p++) {
		if (!describe_is_flag(&p->access))
			continue;
		describe_key(plan->module, p->instr, &other);
		if (!key.failed && !other.failed && !strcmp(key.data, other.data))
			n += mark[p->instr - function->instr] = 1;
	}
	text_free(&key);
	text_free(&other);
	return n;
}

/* Can a thread come to it once more? */
static int describe_is_round(const struct ptx_function *f, uint32_t at)
{
	for (uint32_t i = at; i < f->instrs; i++)
		for (uint32_t k = 0; k < f->instr[i].operands; k++) {
			const struct ptx_operand *o = &f->instr[i].operand[k];
			if (o->kind == PTX_OPND_SYMBOL && o->decl && o->decl->is_label && o->decl->label_at <= at)
				return 1;
		}
	return 0;
}

/* What there is for a function: fences of at least its GPU, of each instruction; and two more arrays as long, and `work`. */
static void describe_early_of(const struct ptx_plan *plan, uint32_t f, const struct ptx_place *flag, uint8_t *fenced, uint32_t *work, struct text *out)
{
	const struct ptx_function *function = &plan->module->function[f];
	const uint32_t at = (uint32_t)(flag->instr - function->instr);
	uint8_t *early = fenced + function->instrs, *mark = early + function->instrs;
	struct text sites = {0};

	if (describe_one_flag(plan, f, flag, mark) == 1 && !describe_is_round(function, at))
		return;
	if (ptx_fences_early(plan->module, function, mark, fenced, describe_releases(&flag->access), early, work))
		describe_behind(plan, f, early, &sites);
	if (sites.size > 1)
		text_printf(out, "early\t%u%s\n", flag->site, sites.data);
	out->failed |= sites.failed;
	text_free(&sites);
}

/* Which flags are raised too early for what comes behind them in their round of a loop. Not those that are awaited there, as a lock that is taken. */
static void describe_early(const struct ptx_plan *plan, uint32_t f, const uint8_t *awaits, struct text *out)
{
	const struct ptx_function *function = &plan->module->function[f];
	const struct ptx_place *place = plan->place + plan->function[f].place, *end = place + plan->function[f].places;
	uint32_t flags = 0, *work = malloc(function->instrs * (sizeof(*work) + 3));
	uint8_t *fenced = (uint8_t *)(work + function->instrs);

	out->failed |= !work;
	if (work)
		memset(fenced, 0, function->instrs);
	for (const struct ptx_place *p = place; work && p < end; p++) {
		flags += (uint32_t)describe_is_flag(&p->access);
		fenced[p->instr - function->instr] = p->access.kind == PTX_ACCESS_FENCE && !p->instr->pred && describe_releases(&p->access);
	}
	for (const struct ptx_place *p = place; work && p < end && flags <= EARLY_FLAGS; p++)
		if (describe_is_flag(&p->access) && !awaits[p->instr - function->instr] && p->site && p->site != PTX_SITE_UNKNOWN)
			describe_early_of(plan, f, p, fenced, work, out);
	free(work);
}

/* Does it wait by taking what it waits for, as a lock? A compare-and-swap that puts what it compares with is a read. */
static int describe_is_taking(const struct ptx_module *m, const struct ptx_instr *i)
{
	const struct ptx_span *compare = i->operands > 3 ? &i->operand[2].text : NULL, *swap = compare ? &i->operand[3].text : NULL;

	if (!ptx_is(m, i->op, "atom") || ptx_has(m, i, "exch"))
		return ptx_is(m, i->op, "atom");
	return ptx_has(m, i, "cas") && compare && (compare->len != swap->len || memcmp(m->text + compare->off, m->text + swap->off, swap->len));
}

/* One that awaits, and what comes behind all instructions of its site. */
static void describe_await(const struct ptx_plan *plan, uint32_t f, const struct ptx_place *p, int looks, uint8_t *mark, uint32_t *work, struct text *out)
{
	const struct ptx_function *function = &plan->module->function[f];
	const struct ptx_place *end = plan->place + plan->function[f].place + plan->function[f].places;
	uint8_t *behind = mark + function->instrs;

	memset(mark, 0, function->instrs);
	for (const struct ptx_place *q = p; q < end; q++)
		mark[q->instr - function->instr] |= q->site == p->site && !q->instr->pred;
	text_printf(out, "awaits\t%u", p->site);
	if (looks && ptx_fences_behind(plan->module, function, mark, behind, work))
		describe_behind(plan, f, behind, out);
	else
		text_puts(out, "\t");
	text_puts(out, "\n");
	if (describe_is_taking(plan->module, p->instr))
		text_printf(out, "takes\t%u\n", p->site);
}

/* What is behind each barrier of all threads, if they are not too many. */
static void describe_barriers(const struct ptx_plan *plan, uint32_t f, uint8_t *mark, uint32_t *work, struct text *out)
{
	const struct ptx_function *function = &plan->module->function[f];
	uint8_t *behind = mark + function->instrs;
	uint32_t barriers = 0;

	memset(mark, 0, function->instrs);
	for (uint32_t i = 0; i < function->instrs; i++) {
		const struct ptx_instr *at = &function->instr[i];
		if (at->pred || ptx_meeting_of(plan->module, at, 0) != PTX_MEETS_ALL || ++barriers > FENCES_WORK / function->instrs)
			continue;
		mark[i] = 1;
		const int known = ptx_fences_behind(plan->module, function, mark, behind, work);
		mark[i] = 0;
		if (!known)
			return;
		text_printf(out, "barrier\t%u", reckon(plan, f, i).site);
		describe_behind(plan, f, behind, out);
		text_puts(out, "\n");
	}
}

static int describe_has_flags(const struct ptx_plan *plan, uint32_t f)
{
	const struct ptx_place *p = plan->place + plan->function[f].place, *end = p + plan->function[f].places;

	while (p < end && !describe_is_flag(&p->access))
		p++;
	return p < end;
}

/* Sites of weak accesses to which a thread comes again: in a loop; or several instructions share one, of which one has strong ones before it that another
 * one has not. */
static void describe_again(const struct ptx_plan *plan, uint32_t f, struct text *out)
{
	const struct ptx_place *place = plan->place + plan->function[f].place;
	const struct ptx_function *function = &plan->module->function[f];
	uint32_t strong[AGAIN_PLACES], so_far = 0; /* before each place, so many; none: it was told */
	const uint32_t none = UINT32_MAX;

	for (uint32_t i = 0; i < plan->function[f].places && i < AGAIN_PLACES; i++) {
		const uint32_t site = place[i].site;
		const int counts = site && site != PTX_SITE_UNKNOWN, weak = counts && !strcmp(place[i].access.semantics, "weak");
		uint32_t first = 0;

		so_far += counts && !weak;
		strong[i] = so_far;
		while (first < i && place[first].site != site)
			first++;
		if (!weak || strong[first] == none || (strong[first] == so_far && !describe_is_round(function, (uint32_t)(place[i].instr - function->instr))))
			continue;
		strong[first] = none;
		text_printf(out, "again\t%u\n", site);
	}
}

/* Who waits, of a function's sites, `mark`ed; the last of them, 0: none. */
static uint32_t describe_waiting(const struct ptx_plan *plan, uint32_t f, const uint8_t *awaits, uint8_t *mark, uint32_t *work, struct text *out)
{
	const struct ptx_instr *first = plan->module->function[f].instr;
	const struct ptx_place *p = plan->place + plan->function[f].place, *end = p + plan->function[f].places;
	uint32_t last = 0, waits = 0;

	for (; p < end; p++)
		if (awaits[p->instr - first] && p->site && p->site != PTX_SITE_UNKNOWN && p->site != last) {
			last = p->site;
			describe_await(plan, f, p, ++waits <= FENCES_WORK / plan->module->function[f].instrs, mark, work, out);
		}
	return last;
}

/* That, where the threads of a CTA wait for one another, and which flags are early. */
static void describe_awaits(const struct ptx_plan *plan, uint32_t f, struct text *out)
{
	const struct ptx_function *function = &plan->module->function[f];
	uint32_t *work = plan->function[f].places ? malloc(function->instrs * (sizeof(*work) + 3)) : NULL;
	uint8_t *awaits = work ? (uint8_t *)(work + function->instrs) : NULL, *mark = work ? awaits + function->instrs : NULL;

	if (!work || ptx_awaits(plan->module, function, awaits)) {
		out->failed |= plan->function[f].places != 0;
		free(work);
		return;
	}
	const uint32_t waits = describe_waiting(plan, f, awaits, mark, work, out);
	describe_apart(plan, f, waits != 0, out);
	describe_early(plan, f, awaits, out);
	if (waits || describe_has_flags(plan, f)) {
		describe_barriers(plan, f, mark, work, out);
		describe_again(plan, f, out);
	}
	free(work);
}

/* A fence stands before the site that it is told with. Not of a function that has too many, nor those that not all who come there execute. */
static void describe_fences(const struct ptx_plan *plan, const struct ptx_place **call, uint32_t f, struct text *out)
{
	const struct ptx_function *function = &plan->module->function[f];
	const struct ptx_place *place = plan->place + plan->function[f].place;
	uint32_t fences = 0, *work;
	uint8_t *behind, *mark;

	for (uint32_t i = 0; i < plan->function[f].places; i++)
		fences += place[i].access.kind == PTX_ACCESS_FENCE;
	if (!fences || fences > FENCES_WORK / function->instrs)
		return;
	work = malloc(function->instrs * (sizeof(*work) + 2));
	behind = (uint8_t *)(work + function->instrs);
	mark = behind + function->instrs;
	if (work)
		memset(mark, 0, function->instrs);
	for (uint32_t i = 0; work && i < plan->function[f].places; i++) {
		uint32_t at = (uint32_t)(place[i].instr - function->instr);

		if (place[i].access.kind != PTX_ACCESS_FENCE || place[i].instr->pred)
			continue;
		mark[at] = 1;
		const int known = ptx_fences_behind(plan->module, function, mark, behind, work);
		mark[at] = 0;
		if (!known)
			continue;
		describe_place(plan->module, call, &place[i], "fence", reckon(plan, f, at).site, out);
		describe_behind(plan, f, behind, out);
		text_puts(out, "\n");
	}
	out->failed |= !work;
	free(work);
}

static void describe_left(const struct ptx_module *m, const struct ptx_place *p, struct text *out)
{
	struct ptx_where at = ptx_plan_where(m, p->instr);

	text_puts(out, "left");
	word(out, at.file ? at.file : "-");
	text_printf(out, "\t%u", at.line);
	span(out, m, p->instr->opcode);
	word(out, p->site == PTX_SITE_UNKNOWN ? "no site number left" : p->access.reason);
	text_puts(out, "\n");
}

/* The module's variables, once a module: in the text of its first checked kernel. */
static void describe_variables(const struct ptx_plan *plan, uint32_t entry, struct text *out)
{
	static const char info[] = GSAN_INFO_SUFFIX;
	const size_t n = sizeof(info) - 1;
	const struct ptx_module *m = plan->module;
	uint32_t first = 0;

	while (!m->function[first].is_entry || !plan->function[first].cloned)
		first++;
	for (uint32_t i = 0; i < m->globals; i++) {
		const struct ptx_decl *d = m->global[i];
		const char *name = m->text + d->name.off;

		if (d->space != PTX_GLOBAL || d->is_extern || d->is_function ||
		    (d->name.len > n && !memcmp(name + d->name.len - n, info, n)))
			continue;
		text_puts(out, first != entry ? "variables" : d->is_managed ? "managed" : "variable");
		span(out, m, first == entry ? d->name : m->function[first].name);
		text_puts(out, "\n");
		if (first != entry)
			break;
	}
}

/* May the next launch begin before it has ended? Not as long as it may learn something that no clock keeps (device/learnt.h): that is for all behind its end. */
static int is_overtaken(const struct ptx_function_plan *fp)
{
	return fp->reaches_depends & PTX_DEPENDS_TRIGGERS && (fp->reaches_sync || !(fp->reaches_reds & GSAN_REDS_LEARN));
}

/* Sites are numbered as they come; of those that several instructions share once. */
static void describe_sites(const struct ptx_plan *plan, const uint8_t *reached, const struct ptx_place **call, struct text *out)
{
	const struct ptx_module *m = plan->module;
	uint32_t last = 0, late = 0;

	for (uint32_t i = 0; i < plan->places; i++) {
		const struct ptx_place *p = &plan->place[i];

		if (!reached[p->function])
			continue;
		if (p->site && p->site != PTX_SITE_UNKNOWN) {
			if (p->site > last) {
				describe_place(m, call, p, "site", last = p->site, out);
				text_puts(out, "\n");
			}
			if (p->late && p->site != late)
				text_printf(out, "late\t%u\n", late = p->site);
		} else if (p->site || p->access.kind == PTX_ACCESS_LEFT) {
			describe_left(m, p, out);
		}
	}
}

static void describe_accesses(const struct ptx_plan *plan, const uint8_t *reached, struct text *out)
{
	const struct ptx_place **call = describe_calls(plan, reached);

	out->failed |= !call;
	if (!call)
		return;
	describe_sites(plan, reached, call, out);
	for (uint32_t f = 0; f < plan->module->functions; f++)
		if (reached[f]) {
			describe_awaits(plan, f, out);
			describe_fences(plan, call, f, out);
		}
	free(call);
}

void ptx_describe(const struct ptx_plan *plan, uint32_t entry, const char *source, uint8_t *reached, uint32_t *stack,
		  struct text *out)
{
	const struct ptx_module *m = plan->module;

	ptx_plan_reach(plan, entry, reached, stack);
	text_printf(out, PTX_INFO_MAGIC "%u", GSAN_ABI);
	span(out, m, m->function[entry].name);
	text_puts(out, plan->function[entry].reaches_sync ? "\tsync\nsource" : "\t-\nsource");
	word(out, source ? source : "-");
	text_puts(out, plan->function[entry].reaches_grids && !plan->function[entry].leaves ? "\ngrid\n" : "\n");
	if (plan->function[entry].reaches_sync && !plan->function[entry].leaves)
		text_puts(out, "warps\n");
	if (is_overtaken(&plan->function[entry]))
		text_puts(out, plan->function[entry].reaches_depends & PTX_DEPENDS_AT_ONCE ? "triggers\tat once\n" : "triggers\t-\n");
	describe_accesses(plan, reached, out);
	describe_variables(plan, entry, out);
}

void ptx_describe_variable(const struct ptx_module *m, struct ptx_span kernel, const struct text *info, struct text *out)
{
	text_printf(out, "\n.visible .global .align 8 .b8 %.*s" GSAN_INFO_SUFFIX "[%zu] = {", (int)kernel.len,
		    m->text + kernel.off, info->size + 1);
	for (size_t i = 0; i < info->size; i++)
		text_printf(out, "%s%u,", i % NUMBERS_PER_LINE ? "" : "\n", (unsigned char)info->data[i]);
	text_puts(out, "0};\n");
}

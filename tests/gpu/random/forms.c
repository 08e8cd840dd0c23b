#include "forms.h"

#include <stdlib.h>
#include <string.h>

#define BIT(x) (1u << (x))
#define WORDS (4 | 8)
#define NEAR (BIT(LIT_CTA) | BIT(LIT_GPU) | BIT(LIT_SYS))
#define FAR (BIT(LIT_GPU) | BIT(LIT_SYS))
#define BARE BIT(LIT_NO_SCOPE)
#define ORDERS (BIT(LIT_RELAXED) | BIT(LIT_ACQUIRE) | BIT(LIT_RELEASE) | BIT(LIT_ACQ_REL))

/* Each row stands for all that its sets (bits, sizes in bytes as they are) allow. */
struct row { enum lit_op op; uint32_t sems, scopes, rmws, bytes, vectors; uint8_t generic, used, membar; };
static const struct row rows[] = {
	{LIT_LD, BIT(LIT_WEAK), BARE, 1, 1 | 2 | 4 | 8, 1 | 2 | 4, 0, 1, 0},
	{LIT_LD, BIT(LIT_WEAK), BARE, 1, 4, 1 | 4, 1, 1, 0},
	{LIT_LD, BIT(LIT_NC), BARE, 1, 4, 1 | 4, 0, 1, 0},
	{LIT_LD, BIT(LIT_RELAXED) | BIT(LIT_ACQUIRE), NEAR, 1, WORDS, 1, 0, 1, 0},
	{LIT_LD, BIT(LIT_RELAXED), BIT(LIT_SYS), 1, 1 | 2, 1, 0, 1, 0},
	{LIT_LD, BIT(LIT_RELAXED), BIT(LIT_GPU), 1, 4, 2 | 4, 0, 1, 0},
	{LIT_LD, BIT(LIT_VOLATILE), BARE, 1, WORDS, 1, 0, 1, 0},
	{LIT_LD, BIT(LIT_MMIO), BARE, 1, 4, 1, 0, 1, 0},
	{LIT_ST, BIT(LIT_WEAK), BARE, 1, 1 | 2 | 4 | 8, 1 | 2 | 4, 0, 0, 0},
	{LIT_ST, BIT(LIT_WEAK), BARE, 1, 4, 1 | 4, 1, 0, 0},
	{LIT_ST, BIT(LIT_RELAXED) | BIT(LIT_RELEASE), NEAR, 1, WORDS, 1, 0, 0, 0},
	{LIT_ST, BIT(LIT_RELAXED), BIT(LIT_SYS), 1, 1 | 2, 1, 0, 0, 0},
	{LIT_ST, BIT(LIT_RELAXED), BIT(LIT_GPU), 1, 4, 2 | 4, 0, 0, 0},
	{LIT_ST, BIT(LIT_VOLATILE), BARE, 1, WORDS, 1, 0, 0, 0},
	{LIT_ST, BIT(LIT_MMIO), BARE, 1, 4, 1, 0, 0, 0},
	{LIT_ATOM, ORDERS, NEAR, BIT(LIT_ADD) | BIT(LIT_EXCH) | BIT(LIT_CAS), 4, 1, 0, 1, 0},
	{LIT_ATOM, ORDERS, FAR, BIT(LIT_ADD) | BIT(LIT_CAS), 8, 1, 0, 1, 0},
	{LIT_ATOM, BIT(LIT_RELAXED) | BIT(LIT_ACQ_REL), BIT(LIT_GPU),
	 BIT(LIT_AND) | BIT(LIT_OR) | BIT(LIT_XOR) | BIT(LIT_MIN) | BIT(LIT_MAX) | BIT(LIT_INC), 4, 1, 0, 1, 0},
	{LIT_ATOM, ORDERS, FAR, BIT(LIT_ADD), 4, 1, 0, 0, 0},
	{LIT_RED, BIT(LIT_RELAXED) | BIT(LIT_RELEASE), NEAR, BIT(LIT_ADD), 4, 1, 0, 0, 0},
	{LIT_RED, BIT(LIT_RELAXED) | BIT(LIT_RELEASE), FAR, BIT(LIT_ADD), 8, 1, 0, 0, 0},
	{LIT_RED, BIT(LIT_RELAXED), FAR, BIT(LIT_AND) | BIT(LIT_OR) | BIT(LIT_XOR) | BIT(LIT_MIN) | BIT(LIT_MAX), 4, 1, 0, 0, 0},
	{LIT_FENCE, BIT(LIT_ACQUIRE) | BIT(LIT_RELEASE) | BIT(LIT_ACQ_REL) | BIT(LIT_SC), NEAR, 1, 4, 1, 0, 0, 0},
	{LIT_FENCE, BIT(LIT_SC), NEAR, 1, 4, 1, 0, 0, 1},
};
static const struct form_batch batches[] = {
	{4, 0, 4, 4}, {8, 0, 4, 1}, {0, 4, 4, 4}, {0, 8, 4, 1}, {2, 2, 4, 4}, {3, 3, 1, 1}, {4, 0, 8, 2}, {0, 4, 2, 1}, {2, 2, 8, 1},
};

static struct form form[FORMS_MAX];
static size_t forms;

static void form_add(const struct row *r, enum lit_sem sem, enum lit_scope scope, enum lit_rmw rmw, uint8_t bytes, uint8_t vector)
{
	struct lit_instr i = {.op = r->op, .sem = sem, .scope = scope, .rmw = rmw, .bytes = bytes, .vector = vector,
			      .generic = r->generic, .membar = r->membar, .location = 0, .reg = r->used ? 0 : -1, .value_reg = -1};

	if (bytes * vector > 16)
		return;
	if (forms == FORMS_MAX)
		abort();
	form[forms++].like = i;
}

static void forms_of_row(const struct row *r)
{
	for (unsigned sem = 0; sem <= LIT_NC; sem++)
		for (unsigned scope = 0; scope <= LIT_SYS; scope++)
			for (unsigned rmw = 0; rmw <= LIT_INC; rmw++)
				for (uint8_t bytes = 1; bytes <= 8; bytes = (uint8_t)(2 * bytes))
					for (uint8_t vector = 1; vector <= 4; vector = (uint8_t)(2 * vector))
						if (r->sems >> sem & r->scopes >> scope & r->rmws >> rmw & 1 && r->bytes & bytes &&
						    r->vectors & vector)
							form_add(r, sem, scope, rmw, bytes, vector);
}

static void forms_make(void)
{
	if (forms)
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		forms_of_row(&rows[i]);
	for (size_t i = 0; i < sizeof(batches) / sizeof(*batches); i++)
		form[forms++].batch = batches[i];
}

size_t forms_count(void)
{
	forms_make();
	return forms;
}

const struct form *forms_get(size_t code)
{
	return code < forms_count() ? &form[code] : NULL;
}

static int same(const struct lit_instr *a, const struct lit_instr *b)
{
	int rmw = a->op == LIT_ATOM || a->op == LIT_RED;

	if (a->op != b->op || a->sem != b->sem || a->scope != b->scope)
		return 0;
	if (a->op == LIT_FENCE)
		return a->membar == b->membar;
	return a->bytes == b->bytes && a->vector == b->vector && a->generic == b->generic && (!rmw || a->rmw == b->rmw) &&
	       (a->op != LIT_ATOM || (a->reg < 0) == (b->reg < 0));
}

int forms_find(const struct lit_instr *i)
{
	size_t n = forms_count();

	for (size_t k = 0; k < n; k++)
		if (!forms_is_batch(k) && same(&form[k].like, i))
			return (int)k;
	return -1;
}

int forms_batch(struct form_batch batch)
{
	size_t n = forms_count();

	for (size_t k = 0; k < n; k++)
		if (!memcmp(&form[k].batch, &batch, sizeof(batch)))
			return (int)k;
	return -1;
}

int forms_is_batch(size_t code)
{
	const struct form *f = forms_get(code);

	return f && f->batch.loads + f->batch.stores;
}

void forms_name(size_t code, char to[LIT_OPCODE])
{
	const struct form *f = forms_get(code);

	if (forms_is_batch(code))
		snprintf(to, LIT_OPCODE, "batch of %u ld, %u st .v%u.b%u", f->batch.loads, f->batch.stores, f->batch.vector,
			 8u * f->batch.bytes);
	else
		lit_opcode_write(&f->like, to);
}

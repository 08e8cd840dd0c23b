/* Opcodes: one table of words serves reading and writing. A word belongs to a place in PTX's order (PTX ISA 9.7.9, 9.7.13);
 * reading takes words of rising places only. */
#include "litmus.h"

#include <string.h>

enum place { OP, MMIO, SEM, SCOPE, SPACE, NC, VECTOR, RMW, TYPE, PLACES };
#define ACCESSES (1u << LIT_LD | 1u << LIT_ST)
#define RMWS (1u << LIT_ATOM | 1u << LIT_RED)
#define FENCES (1u << LIT_FENCE)

static const struct word {
	const char *text;
	enum place place;
	unsigned ops; /* 1 << lit_op of those that may have it */
	int value;
} words[] = {
	{"ld", OP, 0, LIT_LD}, {"st", OP, 0, LIT_ST}, {"atom", OP, 0, LIT_ATOM}, {"red", OP, 0, LIT_RED}, {"fence", OP, 0, LIT_FENCE},
	{"mmio", MMIO, ACCESSES, LIT_MMIO},
	{"weak", SEM, ACCESSES, LIT_WEAK}, {"volatile", SEM, ACCESSES, LIT_VOLATILE},
	{"relaxed", SEM, ACCESSES | RMWS, LIT_RELAXED},
	{"acquire", SEM, 1u << LIT_LD | 1u << LIT_ATOM | FENCES, LIT_ACQUIRE},
	{"release", SEM, 1u << LIT_ST | RMWS | FENCES, LIT_RELEASE},
	{"acq_rel", SEM, 1u << LIT_ATOM | FENCES, LIT_ACQ_REL}, {"sc", SEM, FENCES, LIT_SC},
	{"cta", SCOPE, ~0u, LIT_CTA}, {"cluster", SCOPE, ~0u, LIT_CLUSTER}, {"gpu", SCOPE, ~0u, LIT_GPU}, {"sys", SCOPE, ~0u, LIT_SYS},
	{"global", SPACE, ACCESSES | RMWS, 0}, {"nc", NC, 1u << LIT_LD, LIT_NC},
	{"v2", VECTOR, ACCESSES, 2}, {"v4", VECTOR, ACCESSES, 4},
	{"add", RMW, RMWS, LIT_ADD}, {"exch", RMW, 1u << LIT_ATOM, LIT_EXCH}, {"cas", RMW, 1u << LIT_ATOM, LIT_CAS},
	{"and", RMW, RMWS, LIT_AND}, {"or", RMW, RMWS, LIT_OR}, {"xor", RMW, RMWS, LIT_XOR}, {"min", RMW, RMWS, LIT_MIN},
	{"max", RMW, RMWS, LIT_MAX}, {"inc", RMW, RMWS, LIT_INC},
	{"b8", TYPE, ACCESSES, 1}, {"b16", TYPE, ~0u, 2}, {"b32", TYPE, ~0u, 4}, {"b64", TYPE, ~0u, 8},
	{"u8", TYPE, ACCESSES, 1}, {"u16", TYPE, ACCESSES, 2}, {"u32", TYPE, ~0u, 4}, {"u64", TYPE, ~0u, 8},
};
static const char *const membars[] = {[LIT_CTA] = "membar.cta", [LIT_GPU] = "membar.gl", [LIT_SYS] = "membar.sys"};
enum { MEMBARS = sizeof(membars) / sizeof(membars[0]), WORDS = sizeof(words) / sizeof(words[0]) };

/* add, min, max and inc are of numbers, the rest of bits. */
static char rmw_type(enum lit_rmw rmw)
{
	return rmw == LIT_ADD || rmw == LIT_MIN || rmw == LIT_MAX || rmw == LIT_INC ? 'u' : 'b';
}

static const char *text_of(enum place place, int value)
{
	for (size_t i = 0; i < WORDS; i++)
		if (words[i].place == place && words[i].value == value)
			return words[i].text;
	return "?";
}

static void add(char *to, const char *text)
{
	size_t used = strlen(to);

	snprintf(to + used, LIT_OPCODE - used, "%s%s", used ? "." : "", text);
}

void lit_opcode_write(const struct lit_instr *i, char to[LIT_OPCODE])
{
	enum lit_op op = i->op == LIT_POLL ? LIT_LD : i->op;
	char type[8];

	to[0] = 0;
	if (op == LIT_FENCE && i->membar) {
		add(to, membars[i->scope]);
		return;
	}
	add(to, text_of(OP, (int)op));
	if (i->sem == LIT_MMIO)
		add(to, "mmio.relaxed.sys");
	else if (i->sem != LIT_NC)
		add(to, text_of(SEM, (int)i->sem));
	if (i->scope != LIT_NO_SCOPE)
		add(to, text_of(SCOPE, (int)i->scope));
	if (op == LIT_FENCE)
		return;
	if (!i->generic)
		add(to, "global");
	if (i->sem == LIT_NC)
		add(to, "nc");
	if (op == LIT_ATOM || op == LIT_RED)
		add(to, text_of(RMW, (int)i->rmw));
	else if (i->vector > 1)
		add(to, text_of(VECTOR, i->vector));
	snprintf(type, sizeof(type), "%c%d", op == LIT_ATOM || op == LIT_RED ? rmw_type(i->rmw) : 'b', i->bytes * 8);
	add(to, type);
}

static const struct word *word_find(const char *text, size_t length, enum place after)
{
	for (size_t i = 0; i < WORDS; i++)
		if (words[i].place >= after && strlen(words[i].text) == length && !memcmp(words[i].text, text, length))
			return &words[i];
	return NULL;
}

static const char *rmw_wrong(const struct lit_instr *i, char type)
{
	if (i->sem != LIT_RELAXED && i->op == LIT_RED && i->sem != LIT_RELEASE)
		return "red is relaxed or release";
	if (i->bytes < 4 && (i->rmw != LIT_CAS || i->bytes != 2))
		return "only cas has 16 bits; write .b32, .u32, .b64 or .u64";
	if (i->rmw == LIT_INC && i->bytes != 4)
		return "inc has 32 bits; write .u32";
	return type == rmw_type(i->rmw) ? NULL : "add, min, max and inc are .u32 or .u64, the others .b32 or .b64";
}

static const char *access_wrong(const struct lit_instr *i)
{
	int scoped = i->sem == LIT_RELAXED || i->sem == LIT_ACQUIRE || i->sem == LIT_RELEASE;

	if (scoped != (i->scope != LIT_NO_SCOPE))
		return scoped ? "no scope; write .cta, .cluster, .gpu or .sys behind the semantics"
			      : "a scope without .relaxed, .acquire or .release before it";
	if (i->vector * i->bytes > 16)
		return "more than 16 bytes";
	if (i->vector > 1 && i->sem == LIT_MMIO)
		return "mmio has no vectors";
	return i->sem == LIT_NC && i->generic ? ".nc needs .global" : NULL;
}

/* The words that were there, seen together. */
static const char *settle(struct lit_instr *i, const int *value, const char *type)
{
	i->generic = i->op != LIT_FENCE && value[SPACE] < 0;
	i->vector = value[VECTOR] < 0 ? 1 : (uint8_t)value[VECTOR];
	i->bytes = value[TYPE] < 0 ? 0 : (uint8_t)value[TYPE];
	i->scope = value[SCOPE] < 0 ? LIT_NO_SCOPE : (enum lit_scope)value[SCOPE];
	i->rmw = value[RMW] < 0 ? LIT_ADD : (enum lit_rmw)value[RMW];
	if (i->op == LIT_FENCE) {
		i->sem = value[SEM] < 0 ? LIT_ACQ_REL : (enum lit_sem)value[SEM];
		return i->scope == LIT_NO_SCOPE ? "a fence needs a scope" : NULL;
	}
	if (value[TYPE] < 0)
		return "no type; write .b32 or alike at the end";
	if (i->op == LIT_ATOM || i->op == LIT_RED) {
		if (value[RMW] < 0)
			return "no operation; write .add, .exch, .cas, .and, .or, .xor, .min, .max or .inc before the type";
		i->sem = value[SEM] < 0 ? LIT_RELAXED : (enum lit_sem)value[SEM];
		i->scope = i->scope == LIT_NO_SCOPE ? LIT_GPU : i->scope;
		return rmw_wrong(i, type[0]);
	}
	i->sem = value[SEM] < 0 ? LIT_WEAK : (enum lit_sem)value[SEM];
	if (value[MMIO] >= 0) {
		if (i->sem != LIT_RELAXED || i->scope != LIT_SYS)
			return "mmio is written .mmio.relaxed.sys";
		i->sem = LIT_MMIO;
		i->scope = LIT_NO_SCOPE;
	}
	if (value[NC] >= 0) {
		if (value[SEM] >= 0 || value[MMIO] >= 0)
			return ".nc has no other semantics";
		i->sem = LIT_NC;
	}
	return access_wrong(i);
}

static int membar_read(const char *word, struct lit_instr *i)
{
	for (int scope = 0; scope < MEMBARS; scope++)
		if (membars[scope] && !strcmp(word, membars[scope])) {
			i->op = LIT_FENCE;
			i->sem = LIT_SC;
			i->scope = (enum lit_scope)scope;
			i->membar = 1;
			return 1;
		}
	return 0;
}

const char *lit_opcode_read(const char *text, struct lit_instr *i)
{
	int value[PLACES];
	enum place after = OP;
	const char *type = "";

	i->membar = 0;
	if (membar_read(text, i))
		return NULL;
	memset(value, -1, sizeof(value));
	for (const char *at = text;; at++) {
		size_t length = strcspn(at, ".");
		const struct word *w = word_find(at, length, after);

		if (!w || (after == OP) != (w->place == OP))
			return after == OP ? "no such instruction; write ld, st, atom, red, fence, membar, bar, poll, if, repeat or end"
					   : "a qualifier that is unknown, or not where PTX has it";
		if (w->place != OP && !(w->ops & 1u << i->op))
			return "a qualifier that this instruction does not have";
		if (w->place == OP)
			i->op = (enum lit_op)w->value;
		value[w->place] = w->value;
		type = at;
		after = (enum place)(w->place + 1);
		at += length;
		if (!*at)
			return settle(i, value, type);
	}
}

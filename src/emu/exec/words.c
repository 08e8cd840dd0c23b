#include "emu/exec/words.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "emu/exec/half.h"

static const struct exec_row rows[] = {
#define OP(word, mods, shape, build, name) { word, mods, shape, BUILD_##build, op_##name },
#include "emu/exec/opcodes.def"
#undef OP
};
#define ROWS (sizeof rows / sizeof *rows)

/* One token of a row's qualifiers: the text of its alternatives, and whether it may be missing. */
struct token { const char *text; size_t length; int optional; };
#define TOKENS_MAX 32

static unsigned split(const char *mods, struct token *t)
{
	unsigned n = 0;
	while (*mods && n < TOKENS_MAX) {
		const int list = *mods == '[';
		const char *end;
		if (list)
			end = strchr(++mods, ']');
		else
			end = mods + strcspn(mods, ".?");
		t[n] = (struct token){ mods, (size_t)(end - mods), 0 };
		mods = end + list;
		if (*mods == '?') {
			t[n].optional = 1;
			mods++;
		}
		if (*mods == '.')
			mods++;
		n++;
	}
	return n;
}

static int fits(const struct token *t, const char *word, size_t length)
{
	const char *at = t->text, *end = t->text + t->length;
	while (at <= end) {
		size_t n = strcspn(at, "|]*?.");
		if (at + n > end)
			n = (size_t)(end - at);
		const int prefix = n && at[n] == '*';
		if (prefix ? length >= n && !memcmp(at, word, n) : length == n && !memcmp(at, word, n))
			return 1;
		at += n + (at[n] == '*');
		if (*at != '|')
			break;
		at++;
	}
	return 0;
}

static int row_fits(const struct ptx_module *m, const struct ptx_instr *i, const struct exec_row *r)
{
	struct token t[TOKENS_MAX];
	const unsigned n = split(r->mods, t);
	uint32_t used = 0;
	for (uint32_t k = 0; k < i->mods; k++) {
		unsigned at = 0;
		while (at < n && ((used >> at & 1) || !fits(&t[at], m->text + i->mod[k].off, i->mod[k].len)))
			at++;
		if (at == n)
			return 0;
		used |= 1u << at;
	}
	for (unsigned at = 0; at < n; at++)
		if (!t[at].optional && !(used >> at & 1))
			return 0;
	return 1;
}

static const struct exec_row *row_find(const struct ptx_module *m, const struct ptx_instr *i)
{
	for (unsigned k = 0; k < ROWS; k++)
		if (ptx_is(m, i->op, rows[k].word) && row_fits(m, i, &rows[k]))
			return rows[k].build == BUILD_LACKING ? NULL : &rows[k];
	return NULL;
}

const struct exec_row *exec_system_find(const struct ptx_module *m, struct ptx_span name)
{
	for (unsigned k = 0; k < ROWS; k++)
		if (rows[k].build == BUILD_SYSTEM && ptx_is(m, name, rows[k].mods))
			return &rows[k];
	return NULL;
}

/* What a word means: flags; as a type; and a number for `sub`, by use: comparison, atomic operation, or its own. */
#define NO 255
static const struct word { const char *text; u32 flags; u8 type, compare, atomic, own, boolean, vector; } words[] = {
#define TYPE(name, t) { name, 0, t, NO, NO, NO, 0, 0 },
	TYPE("pred", PTX_PRED) TYPE("b8", PTX_B8) TYPE("b16", PTX_B16) TYPE("b32", PTX_B32) TYPE("b64", PTX_B64)
	TYPE("b128", PTX_B128) TYPE("u8", PTX_U8) TYPE("u16", PTX_U16) TYPE("u32", PTX_U32) TYPE("u64", PTX_U64)
	TYPE("s8", PTX_S8) TYPE("s16", PTX_S16) TYPE("s32", PTX_S32) TYPE("s64", PTX_S64) TYPE("f16", PTX_F16)
	TYPE("f16x2", PTX_F16X2) TYPE("bf16", PTX_BF16) TYPE("bf16x2", PTX_BF16X2) TYPE("f32", PTX_F32)
	TYPE("f64", PTX_F64) TYPE("tf32", PTX_OTHER)
	{ "e4m3", 0, PTX_B8, NO, NO, HALF_E4M3, 0, 0 }, { "e5m2", 0, PTX_B8, NO, NO, HALF_E5M2, 0, 0 },
	{ "e4m3x2", 0, PTX_OTHER, NO, NO, 0, 0, 0 }, { "e5m2x2", 0, PTX_OTHER, NO, NO, 1, 0, 0 },
#undef TYPE
#define FLAG(name, f) { name, f, 0, NO, NO, NO, 0, 0 },
	FLAG("rn", F_ROUNDS) FLAG("rz", F_RZ | F_ROUNDS) FLAG("rm", F_RM | F_ROUNDS) FLAG("rp", F_RP | F_ROUNDS)
	FLAG("rni", F_INTEGER) FLAG("rzi", F_INTEGER | F_RZ) FLAG("rmi", F_INTEGER | F_RM) FLAG("rpi", F_INTEGER | F_RP)
	FLAG("rna", F_RNA) FLAG("ftz", F_FTZ) FLAG("sat", F_SAT) FLAG("satfinite", F_SATFINITE) FLAG("relu", F_RELU)
	FLAG("NaN", F_NAN) FLAG("xorsign", F_XORSIGN) FLAG("abs", F_ABS) FLAG("acquire", F_ACQUIRE)
	FLAG("release", F_RELEASE) FLAG("acq_rel", F_ACQUIRE | F_RELEASE) FLAG("cc", F_CC) FLAG("clamp", F_CLAMP)
	FLAG("shiftamt", F_SHIFTAMT) FLAG("approx", F_APPROX) FLAG("full", F_FULL) FLAG("parity", F_PARITY)
	FLAG("aligned", F_ALIGNED)
#undef FLAG
#define SPACE(name, f, s) { name, f, 0, NO, NO, s, 0, 0 },
	SPACE("shared", F_SHARED, PTX_SHARED) SPACE("shared::cta", F_SHARED, PTX_SHARED)
	SPACE("shared::cluster", F_SHARED, PTX_SHARED) SPACE("global", 0, PTX_GLOBAL) SPACE("local", 0, PTX_LOCAL)
	SPACE("const", 0, PTX_CONST) SPACE("param", 0, PTX_PARAM) SPACE("param::entry", 0, PTX_PARAM)
#undef SPACE
#define COMPARE(name, c) { name, 0, 0, c, NO, NO, 0, 0 },
	COMPARE("eq", CMP_EQ) COMPARE("ne", CMP_NE) COMPARE("lt", CMP_LT) COMPARE("le", CMP_LE) COMPARE("gt", CMP_GT)
	COMPARE("ge", CMP_GE) COMPARE("ls", CMP_LE) COMPARE("hs", CMP_GE) COMPARE("equ", CMP_EQU) COMPARE("neu", CMP_NEU)
	COMPARE("ltu", CMP_LTU) COMPARE("leu", CMP_LEU) COMPARE("gtu", CMP_GTU) COMPARE("geu", CMP_GEU)
	COMPARE("num", CMP_NUM) COMPARE("nan", CMP_NAN)
#undef COMPARE
	{ "lo", 0, 0, CMP_LT, NO, 0, 0, 0 }, { "hi", 0, 0, CMP_GT, NO, 1, 0, 0 },
#define ATOMIC(name, a) { name, 0, 0, NO, a, NO, 0, 0 },
	ATOMIC("add", ATOM_ADD) ATOMIC("min", ATOM_MIN) ATOMIC("max", ATOM_MAX) ATOMIC("inc", ATOM_INC) ATOMIC("dec", ATOM_DEC)
	ATOMIC("exch", ATOM_EXCH) ATOMIC("cas", ATOM_CAS)
#undef ATOMIC
	{ "and", 0, 0, NO, ATOM_AND, NO, BOOL_AND, 0 }, { "or", 0, 0, NO, ATOM_OR, NO, BOOL_OR, 0 },
	{ "xor", 0, 0, NO, ATOM_XOR, NO, BOOL_XOR, 0 },
#define OWN(name, n) { name, 0, 0, NO, NO, n, 0, 0 },
	OWN("up", 0) OWN("down", 1) OWN("bfly", 2) OWN("idx", 3) OWN("all", 0) OWN("any", 1) OWN("uni", 2)
	OWN("finite", 0) OWN("infinite", 1) OWN("number", 2) OWN("notanumber", 3) OWN("normal", 4) OWN("subnormal", 5)
	OWN("f4e", 0) OWN("b4e", 1) OWN("rc8", 2) OWN("ecl", 3) OWN("ecr", 4) OWN("rc16", 5)
	OWN("noinc", 1) OWN("complete_tx", 1) OWN("arrive_drop", 1)
#undef OWN
	{ "v2", 0, 0, NO, NO, NO, 0, 2 }, { "v4", 0, 0, NO, NO, NO, 0, 4 }, { "v8", 0, 0, NO, NO, NO, 0, 8 },
};

static const struct word *find(const struct ptx_module *m, struct ptx_span s)
{
	for (unsigned k = 0; k < sizeof words / sizeof *words; k++)
		if (ptx_is(m, s, words[k].text))
			return &words[k];
	return NULL;
}

static void take_type(struct exec_insn *n, unsigned types, u8 type)
{
	if (types < 2)
		n->type[types] = type;
	n->type[2] = type;
}

static void words_read(const struct ptx_module *m, const struct ptx_instr *i, struct exec_insn *n)
{
	const int compares = ptx_is(m, i->op, "setp") || ptx_is(m, i->op, "set");
	const int atomic = ptx_is(m, i->op, "atom") || ptx_is(m, i->op, "red") || ptx_is(m, i->op, "redux");
	const int memory = ptx_is(m, i->op, "ld") || ptx_is(m, i->op, "st") || atomic || ptx_is(m, i->op, "mbarrier") || ptx_is(m, i->op, "cp");
	unsigned types = 0;

	n->count = 1;
	for (uint32_t k = 0; k < i->mods; k++) {
		const struct word *v = find(m, i->mod[k]);
		if (!v)
			continue;
		n->flags |= v->flags;
		if (v->type)
			take_type(n, types++, v->type);
		if (v->vector)
			n->count = v->vector;
		const u8 sub = compares ? v->compare : atomic ? v->atomic : v->own;
		if (sub != NO && (!memory || atomic || v->flags != F_SHARED))
			n->sub = sub;
		if (v->boolean)
			n->bool_op = v->boolean;
	}
}

/* ---- opcodes that were read before */

struct opcode { char *text; uint32_t length; struct exec_opcode read; };
static struct { struct opcode **slot; uint32_t slots, count; } opcodes;
static pthread_mutex_t opcodes_lock = PTHREAD_MUTEX_INITIALIZER;

/* The slot that holds the opcode, or the free one where it belongs. */
static struct opcode **slot_of(struct opcode **slot, uint32_t slots, const char *text, uint32_t length)
{
	uint32_t at = (uint32_t)hash_bytes(HASH_START, text, length) & (slots - 1);
	while (slot[at] && (slot[at]->length != length || memcmp(slot[at]->text, text, length)))
		at = (at + 1) & (slots - 1);
	return &slot[at];
}

static int make_room(void)
{
	const uint32_t slots = opcodes.slots ? 2 * opcodes.slots : 1024;
	if (2 * opcodes.count < opcodes.slots)
		return 1;
	struct opcode **bigger = calloc(slots, sizeof *bigger);
	if (!bigger)
		return 0;
	for (uint32_t k = 0; k < opcodes.slots; k++)
		if (opcodes.slot[k])
			*slot_of(bigger, slots, opcodes.slot[k]->text, opcodes.slot[k]->length) = opcodes.slot[k];
	free(opcodes.slot);
	opcodes.slot = bigger;
	opcodes.slots = slots;
	return 1;
}

static struct opcode *read_opcode(const struct ptx_module *m, const struct ptx_instr *i)
{
	struct opcode *o = calloc(1, sizeof *o + i->opcode.len);
	if (!o)
		return NULL;
	o->text = (char *)(o + 1);
	o->length = i->opcode.len;
	memcpy(o->text, m->text + i->opcode.off, i->opcode.len);
	o->read.row = row_find(m, i);
	if (o->read.row)
		o->read.insn.run = o->read.row->run;
	words_read(m, i, &o->read.insn);
	opcodes.count++;
	return o;
}

const struct exec_opcode *exec_opcode_find(const struct ptx_module *m, const struct ptx_instr *i)
{
	struct opcode *found = NULL;
	pthread_mutex_lock(&opcodes_lock);
	if (make_room()) {
		struct opcode **slot = slot_of(opcodes.slot, opcodes.slots, m->text + i->opcode.off, i->opcode.len);
		if (!*slot)
			*slot = read_opcode(m, i);
		found = *slot;
	}
	pthread_mutex_unlock(&opcodes_lock);
	return found ? &found->read : NULL;
}

unsigned exec_type_bytes(unsigned type)
{
	const unsigned bits = type == PTX_OTHER ? 32 : ptx_type_bits(type);
	return bits < 16 ? 1 : bits / 8;
}

/* A loop over the operations of a struct native_list, which is a parameter, with a place for each form. Values are 64 bits wide,
 * as in tests/litmus/emit.c. Offsets of fields are those of struct native_op. */
#include "player.h"

#include "forms.h"
#include "native.h"

#include <string.h>

#define OUT(...) fprintf(to, __VA_ARGS__)

const char *const player_name[PLAYER_KERNELS] = {"play_weak", "play_reds", "play_sync"};

static const char *const controls[NATIVE_CONTROLS] = {
	[NATIVE_END] = "\tbra END;\n",
	[NATIVE_EXIT] = "\tbra END;\n",
	[NATIVE_JUMP] = "\tbra JUMP;\n",
	/* r[reg] in %v0 */
	[NATIVE_IF] = "\tcall_reg\n\tsetp.eq.u64 %p, %v0, %operand;\n\tand.b32 %t, %flags, 16;\n\tsetp.ne.u32 %q, %t, 0;\n"
		      "\txor.pred %p, %p, %q;\n\t@%p bra NEXT;\n\tbra JUMP;\n",
	[NATIVE_SET] = "\tst.local.u32 [%counter], %value;\n\tbra NEXT;\n",
	[NATIVE_LOOP] = "\tbra COUNT;\n",
	[NATIVE_AGAIN] = "\tcall_reg\n\tsetp.eq.u64 %p, %v0, %operand;\n\t@%p bra NEXT;\n\tbra COUNT;\n",
	[NATIVE_AWAITED] = "\tcall_reg\n\tsetp.eq.u64 %p, %v0, %operand;\n\t@%p bra NEXT;\n\tbra FAILED;\n",
	[NATIVE_BARRIER] = "\tbar.sync 0;\n\tbra NEXT;\n",
	[NATIVE_SLEEP] = "\tnanosleep.u32 %value;\n\tbra NEXT;\n",
};

int player_has(enum player_kernel kernel, size_t code)
{
	const struct form *f = forms_get(code);

	if (!f || kernel == PLAYER_SYNC || forms_is_batch(code))
		return 1;
	if (f->like.op == LIT_RED)
		return kernel == PLAYER_REDS && f->like.sem == LIT_RELAXED && f->like.rmw == LIT_ADD;
	return (f->like.op == LIT_LD || f->like.op == LIT_ST) && (f->like.sem == LIT_WEAK || f->like.sem == LIT_NC);
}

/* ---- one instruction -------------------------------------------------------------------------------------------- */
static void put_list(FILE *to, const char *name, int n, int one)
{
	OUT(n > 1 ? "{" : "");
	for (int i = 0; i < n; i++)
		OUT("%s%%%s%d", i ? ", " : "", name, one ? 0 : i);
	OUT(n > 1 ? "}" : "");
}

static void emit_rmw(const struct lit_instr *i, const char *opcode, FILE *to)
{
	char t = i->bytes == 8 ? 'q' : 'w';

	OUT("\tcvt.u%d.u64 %%%c2, %%operand;\n", 8 * i->bytes, t);
	if (i->rmw == LIT_CAS)
		OUT("\tcvt.u%d.u32 %%%c1, %%compare;\n", 8 * i->bytes, t);
	OUT("\t%s ", opcode);
	if (i->op == LIT_ATOM && i->reg >= 0)
		OUT("%%%c0, ", t);
	else if (i->op == LIT_ATOM)
		OUT("_, ");
	OUT(i->rmw == LIT_CAS ? "[%%at], %%%c1, %%%c2;\n" : "[%%at], %%%c2;\n", t, t);
	if (i->op == LIT_ATOM && i->reg >= 0)
		OUT("\tcvt.u64.u%d %%v0, %%%c0;\n\tbra READ;\n", 8 * i->bytes, t);
	else
		OUT("\tbra NEXT;\n");
}

static void emit_one(const struct lit_instr *i, FILE *to)
{
	char opcode[LIT_OPCODE];

	lit_opcode_write(i, opcode);
	if (i->op == LIT_ATOM || i->op == LIT_RED) {
		emit_rmw(i, opcode, to);
	} else if (i->op == LIT_FENCE) {
		OUT("\t%s;\n\tbra NEXT;\n", opcode);
	} else if (i->op == LIT_LD) {
		OUT("\t%s ", opcode);
		put_list(to, "v", i->vector, 0);
		OUT(", [%%at];\n\tbra READ;\n");
	} else {
		OUT("\tmov.b64 %%v0, %%operand;\n\t%s [%%at], ", opcode);
		put_list(to, "v", i->vector, 1);
		OUT(";\n\tbra NEXT;\n");
	}
}

/* Each access has a predicate of its own, and what is loaded is added up behind the last. */
static void emit_batch(const struct form_batch *b, FILE *to)
{
	struct lit_instr i = {.bytes = b->bytes, .vector = b->vector};
	char ld[LIT_OPCODE], st[LIT_OPCODE];
	int n = b->loads > b->stores ? b->loads : b->stores;

	i.op = LIT_LD;
	lit_opcode_write(&i, ld);
	i.op = LIT_ST;
	lit_opcode_write(&i, st);
	OUT("\tcvt.s64.s32 %%delta, %%compare;\n\tadd.s64 %%delta, %%at, %%delta;\n\tmov.b64 %%x0, %%operand;\n");
	for (int k = 0; k < n; k++) {
		OUT("\tadd.u32 %%t, %%lane, %d;\n\tand.b32 %%t, %%t, 31;\n\tshr.b32 %%t, %%lanes, %%t;\n\tand.b32 %%t, %%t, 1;\n", k);
		OUT("\tsetp.ne.u32 %%k%d, %%t, 0;\n\tmul.wide.u32 %%a%d, %%step, %d;\n\tadd.s64 %%b%d, %%delta, %%a%d;\n", k, k, k, k, k);
		OUT("\tadd.s64 %%a%d, %%at, %%a%d;\n", k, k);
		for (int v = 0; v < b->vector && k < b->loads; v++)
			OUT("\tmov.b64 %%y%d, 0;\n", k * 4 + v);
	}
	for (int k = 0; k < b->loads; k++) {
		OUT("\t@%%k%d %s %s", k, ld, b->vector > 1 ? "{" : "");
		for (int v = 0; v < b->vector; v++)
			OUT("%s%%y%d", v ? ", " : "", k * 4 + v);
		OUT("%s, [%%a%d];\n", b->vector > 1 ? "}" : "", k);
	}
	for (int k = 0; k < b->stores; k++) {
		OUT("\t@%%k%d %s [%%%c%d], ", k, st, b->loads ? 'b' : 'a', k);
		put_list(to, "x", b->vector, 1);
		OUT(";\n");
	}
	for (int k = 0; k < b->loads; k++)
		for (int v = 0; v < b->vector; v++)
			OUT("\tmad.lo.u64 %%v0, %%v0, 3, %%y%d;\n", k * 4 + v);
	OUT(b->loads ? "\tbra READ;\n" : "\tbra NEXT;\n");
}

static void emit_place(enum player_kernel kernel, size_t code, FILE *to)
{
	const struct form *f = forms_get(code);

	if (!f) {
		const char *text = controls[code - forms_count()];

		OUT("C%zu:\n", code);
		if (strstr(text, "call_reg")) { /* r[reg] */
			OUT("\tld.local.u64 %%v0, [%%slot];\n");
			text = strstr(text, "call_reg\n") + sizeof("call_reg");
		}
		fputs(text, to);
		return;
	}
	OUT("C%zu:\n\t.loc 1 %zu 0\n", code, code + 1);
	if (!player_has(kernel, code))
		OUT("\ttrap;\n\tbra NEXT;\n");
	else if (forms_is_batch(code))
		emit_batch(&f->batch, to);
	else
		emit_one(&f->like, to);
}

/* ---- the loop --------------------------------------------------------------------------------------------------- */
static const char head[] =
	"\t.local .align 8 .b8 regs[544];\n\t.local .align 4 .b8 counters[64];\n"
	"\t.reg .pred %p, %q, %in, %k<8>;\n\t.reg .b32 %w<3>, %t, %u, %cta, %ctas, %me, %lane, %code, %reg, %flags, %tids, %lanes;\n"
	"\t.reg .b32 %f<16>, %value, %compare, %step, %hash, %acc, %loop;\n"
	"\t.reg .b64 %q<3>, %v<4>, %x<1>, %y<32>, %a<8>, %b<8>, %list, %now, %at, %operand, %slot, %counter, %delta, %regs, %failed;\n"
	"\tmov.u32 %cta, %ctaid.x;\n\tmov.u32 %ctas, %nctaid.x;\n\tmov.u32 %me, %tid.x;\n\tand.b32 %lane, %me, 31;\n"
	"\tmov.b64 %regs, regs;\n\tmad.lo.u32 %hash, %cta, 1000003, %me;\n\tmov.u32 %acc, 1;\n"
	"\tadd.s64 %now, %list, 16;\n";

/* Reads the operation, and goes on with the next where its condition does not hold; then address and operand. */
static const char fetch[] =
	"AGAIN:\n"
	"\tld.param.v4.u32 {%f0, %f1, %f2, %f3}, [%now];\n\tld.param.v4.u32 {%f4, %f5, %f6, %f7}, [%now+16];\n"
	"\tld.param.v4.u32 {%f8, %f9, %f10, %f11}, [%now+32];\n\tld.param.v4.u32 {%f12, %f13, %f14, %f15}, [%now+48];\n"
	"\tand.b32 %code, %f0, 65535;\n\tshr.u32 %reg, %f0, 16;\n\tand.b32 %reg, %reg, 255;\n\tshr.u32 %flags, %f0, 24;\n"
	"\tmov.b32 %lanes, %f5;\n\tmov.b32 %value, %f10;\n\tmov.b32 %compare, %f11;\n\tmov.b32 %step, %f15;\n"
	"\tand.b32 %t, %f6, 65535;\n\tsetp.ge.u32 %in, %cta, %t;\n\tshr.u32 %t, %f6, 16;\n\tsetp.lt.and.u32 %in, %cta, %t, %in;\n"
	"\tand.b32 %t, %f7, 65535;\n\tsetp.ge.and.u32 %in, %me, %t, %in;\n\tshr.u32 %t, %f7, 16;\n\tsetp.lt.and.u32 %in, %me, %t, %in;\n"
	"\tshr.u32 %t, %lanes, %lane;\n\tand.b32 %t, %t, 1;\n\tsetp.ne.u32 %p, %t, 0;\n\t\n"
	"\tsub.u32 %t, %code, BATCHES;\n\tsetp.lt.or.u32 %p, %t, NUMBER, %p;\n"
	"\tand.pred %in, %in, %p;\n\tand.b32 %t, %flags, 128;\n\tsetp.ne.u32 %p, %t, 0;\n\txor.pred %in, %in, %p;\n"
	"\t@!%in bra NEXT;\n"
	/* cta' and tid' */
	"\tadd.u32 %t, %cta, %f12;\n\trem.u32 %t, %t, %ctas;\n\tsetp.ne.u32 %p, %f14, 0;\n"
	"\t@!%p bra WHOLE;\n\trem.u32 %t, %t, %f14;\nWHOLE:\n"
	"\tand.b32 %u, %f8, 65535;\n\tmul.lo.u32 %u, %u, %me;\n"
	"\tshr.u32 %tids, %f8, 16;\n\tadd.u32 %u, %u, %tids;\n\tand.b32 %u, %u, %f9;\n"
	"\tmov.b64 %at, {%f2, %f3};\n\tmul.wide.u32 %q0, %t, %f4;\n\tadd.s64 %at, %at, %q0;\n"
	"\tmul.wide.u32 %q0, %u, %f1;\n\tadd.s64 %at, %at, %q0;\n"
	"\tmad.wide.u32 %slot, %reg, 8, %regs;\n"
	"\tand.b32 %loop, %f13, 15;\n\tmov.b64 %counter, counters;\n\tmad.wide.u32 %counter, %loop, 4, %counter;\n"
	/* operand */
	"\tcvt.u64.u32 %operand, %value;\n\tand.b32 %t, %flags, 3;\n\tsetp.eq.u32 %p, %t, 0;\n\t@%p bra READY;\n"
	"\tsetp.eq.u32 %p, %t, 2;\n\t@%p bra FROM;\n"
	"\tadd.u32 %t, %value, %hash;\n\tmad.lo.u32 %t, %acc, 31, %t;\n\tcvt.u64.u32 %operand, %t;\n\tbra READY;\n"
	"FROM:\n\tand.b32 %t, %f15, 63;\n\tmad.wide.u32 %q0, %t, 8, %regs;\n"
	"\tld.local.u64 %q1, [%q0];\n\tadd.u64 %operand, %q1, %operand;\n"
	"READY:\n\tmov.b64 %v0, 0;\n\tmov.b64 %v1, 0;\n\tmov.b64 %v2, 0;\n\tmov.b64 %v3, 0;\n";

static const char tail[] =
	"COUNT:\n\tld.local.u32 %t, [%counter];\n\tsub.u32 %t, %t, 1;\n\tst.local.u32 [%counter], %t;\n"
	"\tsetp.eq.u32 %p, %t, 0;\n\t@%p bra NEXT;\n"
	"JUMP:\n\tmul.wide.u32 %q0, %compare, 64;\n\tadd.s64 %now, %list, %q0;\n\tadd.s64 %now, %now, 16;\n\tbra AGAIN;\n"
	"READ:\n\tand.b32 %t, %flags, 8;\n\tsetp.eq.u32 %p, %t, 0;\n\t@%p bra KEEP;\n"
	"\tst.local.u64 [%slot], %v0;\n\tsetp.ge.u32 %p, %code, BATCHES;\n\t@%p bra KEEP;\n"
	"\tshr.u32 %t, %flags, 5;\n\tand.b32 %t, %t, 3;\n\tsetp.eq.u32 %p, %t, 0;\n\t@%p bra KEEP;\n"
	"\tst.local.u64 [%slot+8], %v1;\n\tsetp.eq.u32 %p, %t, 1;\n\t@%p bra KEEP;\n"
	"\tst.local.u64 [%slot+16], %v2;\n\tst.local.u64 [%slot+24], %v3;\n"
	"KEEP:\n\tand.b32 %t, %flags, 4;\n\tsetp.eq.u32 %p, %t, 0;\n\t@%p bra NEXT;\n"
	"\tmad.lo.u64 %v0, %v1, 3, %v0;\n\tmad.lo.u64 %v0, %v2, 5, %v0;\n\tmad.lo.u64 %v0, %v3, 7, %v0;\n"
	"\tshr.u64 %v1, %v0, 32;\n\txor.b64 %v0, %v0, %v1;\n\tcvt.u32.u64 %t, %v0;\n\tmad.lo.u32 %acc, %acc, 33, %t;\n"
	"NEXT:\n\tadd.s64 %now, %now, 64;\n\tbra AGAIN;\n"
	"FAILED:\n\tld.param.u64 %failed, [%list];\n\t.loc 1 999 0\n\tst.global.u32 [%failed], 1;\nEND:\n\tret;\n}\n";

/* BATCHES in a text becomes the code of the first batch, NUMBER how many there are. */
static void put_numbered(const char *text, FILE *to)
{
	size_t first = forms_count(), all = first;

	while (first && forms_is_batch(first - 1))
		first--;
	for (const char *line = text, *end; *line; line = end) {
		const char *b = strstr(line, "BATCHES"), *n = strstr(line, "NUMBER");

		end = strchr(line, '\n') + 1;
		if (b && b < end)
			OUT("%.*s%zu%.*s", (int)(b - line), line, first, (int)(end - b - 7), b + 7);
		else if (n && n < end)
			OUT("%.*s%zu%.*s", (int)(n - line), line, all - first, (int)(end - n - 6), n + 6);
		else
			OUT("%.*s", (int)(end - line), line);
	}
}

void player_emit(enum player_kernel kernel, FILE *to)
{
	size_t codes = forms_count() + NATIVE_CONTROLS;

	OUT(".version 8.6\n.target sm_90\n.address_size 64\n\n.file 1 \"forms\"\n");
	OUT("\n.visible .entry %s(.param .align 16 .b8 list_of_%s[%zu])\n%s{\n", player_name[kernel], player_name[kernel],
	    sizeof(struct native_list), kernel == PLAYER_SYNC ? ".maxntid 1024, 1, 1\n" : "");
	OUT("%.*s", (int)(strstr(head, "\tmov.u32 %cta") - head), head);
	OUT("\tmov.b64 %%list, list_of_%s;\n%s", player_name[kernel], strstr(head, "\tmov.u32 %cta"));
	put_numbered(fetch, to);
	OUT("PLACES:\n\t.branchtargets");
	for (size_t c = 0; c < codes; c++)
		OUT("%s C%zu", c ? "," : "", c);
	OUT(";\n\tbrx.idx %%code, PLACES;\n");
	for (size_t c = 0; c < codes; c++)
		emit_place(kernel, c, to);
	put_numbered(tail, to);
}

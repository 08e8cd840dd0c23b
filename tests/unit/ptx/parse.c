/* The parser: what each construct of real PTX becomes, and which texts it refuses, with line and column. */
#include "check.h"

#include <errno.h>

#include "base/text.h"
#include "ptx/plan.h"

static void refused(const char *text, uint32_t line, const char *says)
{
	struct ptx_module *m;
	struct ptx_error e;

	CHECK(ptx_parse(text, strlen(text), &m, &e) == -EINVAL);
	if (e.line != line || !strstr(e.text, says)) {
		fprintf(stderr, "line %u: %s; expected line %u: %s\n", e.line, e.text, line, says);
		exit(1);
	}
}

static void header(void)
{
	struct ptx_module *m = parse_ok("// a comment\n.version 7.8 /* another\n */ .target sm_90a, debug\n.address_size 64\n"
					".file 2 \"/a\\\"b/\\303\\244.py\", 12, 34\n.global .align 8 .u64 table[2][3] = {1, 2};\n"
					".extern .shared .align 16 .b8 smem[];\n.visible .global .texref t;\n"
					".weak .func w;\n.alias a, w;\n.section .debug_str\n{\n$L__s0:\n.b8 1,2\n{}\n}\n");

	CHECK(m->version_major == 7 && m->version_minor == 8 && m->sm == 90);
	CHECK(ptx_is(m, m->version, "7.8") && ptx_is(m, m->target, "sm_90a"));
	CHECK(m->files == 1 && !strcmp(ptx_file_of(m, 2)->path, "/a\"b/\xc3\xa4.py") && !ptx_file_of(m, 1));
	CHECK(m->globals == 3 && m->global[0]->elements == 6 && m->global[0]->align == 8 && m->global[0]->init.len == 6);
	CHECK(m->global[1]->is_extern && !m->global[1]->elements && m->global[1]->space == PTX_SHARED);
	CHECK(m->functions == 1 && m->function[0].is_weak && m->function[0].address_taken);
	ptx_free(m);
}

static void kernel_head(void)
{
	struct ptx_module *m = parse_ok(HEAD ".visible .entry k(.param .b64 .ptr .global .align 16 a, .param .align 4 .b8 s[12])\n"
					     ".reqntid 128, 2\n.minnctapersm 3 .pragma \"nounroll\"; .explicitcluster\n{ ret; }\n"
					     ".func (.param .b32 r) f(.reg .b32 x, .param .b64 y) .noreturn;\n");
	const struct ptx_function *f = m->function;

	CHECK(m->functions == 2 && f[0].is_entry && f[0].is_visible && f[0].param_count == 2 && f[0].has_cluster);
	CHECK(f[0].param[0]->is_ptr && !f[0].param[0]->align && f[0].param[0]->type == PTX_B64);
	CHECK(f[0].param[1]->elements == 12 && f[0].param[1]->align == 4 && f[0].param[1]->space == PTX_PARAM);
	CHECK(f[0].reqntid[0] == 128 && f[0].reqntid[1] == 2 && f[0].reqntid[2] == 1 && f[0].minnctapersm == 3);
	CHECK(m->text[f[0].body.off] == '{' && f[0].call_offset == f[0].body.off + 1);
	CHECK(!f[1].body.len && f[1].result_count == 1 && f[1].param_count == 2 && f[1].param[0]->space == PTX_REG);
	ptx_free(m);
}

static void operands(void)
{
	struct ptx_module *m = parse_ok(KERNEL(
		".reg .pred %p<3>; .reg .b32 %r<20>; .reg .b64 %rd<4>; .reg .v4 .f32 %v; .global .u32 g;\n"
		"@!%p1 ld.global.sys.acquire.b32 { %r7 }, [ %rd2 + -8 + 4 ];\n"
		"setp.lt.s32 %p1|%p2, %r1, -5;\n"
		"mov.b64 {%r1, _}, 0x7fffffffffffffff;\n"
		"add.f32 %v.y, 0f3F800000, -1.5e0;\n"
		"mov.u32 %r3, %ctaid.x;\n"
		"st.u32 [g+4], 0d3FF0000000000000;\n"
		"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4];\n"
		"mad.lo.s32 %r1, (1+2)*3, %r19, %r20;\n"
		"frob.16x64b.x1 %r1, [0x10];\n"
		"ret;"));
	const struct ptx_instr *i = instr_named(m, "ld.global.sys.acquire.b32");

	CHECK(i->pred && i->pred->negated && i->pred->index == 1 && i->mods == 4 && ptx_instr_type(m, i) == PTX_B32);
	CHECK(i->operand[0].kind == PTX_OPND_VECTOR && i->operand[0].items == 1 && i->operand[0].item[0].index == 7);
	CHECK(i->operand[1].kind == PTX_OPND_ADDRESS && i->operand[1].ivalue == -4 && i->operand[1].item[0].index == 2);
	CHECK(m->text[i->whole.off] == '@' && m->text[i->whole.off + i->whole.len - 1] == ';' && i->line == 7);
	i = instr_named(m, "setp.lt.s32");
	CHECK(i->operand[0].pair && i->operand[0].pair->index == 2 && i->operand[2].ivalue == -5);
	i = instr_named(m, "mov.b64");
	CHECK(i->operand[0].item[1].kind == PTX_OPND_SINK && i->operand[1].ivalue == INT64_MAX);
	i = instr_named(m, "add.f32");
	CHECK(i->operand[0].component == 'y' && i->operand[0].decl->vector == 4);
	CHECK(i->operand[1].ivalue == 0x3f800000 && i->operand[1].fbits == 32);
	CHECK(i->operand[2].fbits == 64 && (uint64_t)i->operand[2].ivalue == 0xbff8000000000000);
	i = instr_named(m, "mov.u32");
	CHECK(i->operand[1].kind == PTX_OPND_SPECIAL && ptx_is(m, i->operand[1].text, "%ctaid.x"));
	i = instr_named(m, "st.u32");
	CHECK(i->operand[0].item[0].decl->space == PTX_GLOBAL && i->operand[0].ivalue == 4);
	i = instr_named(m, "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes");
	CHECK(ptx_has(m, i, "shared::cluster") && i->operand[1].items == 2 && i->operand[1].item[1].items == 2);
	i = instr_named(m, "mad.lo.s32");
	CHECK(i->operand[1].kind == PTX_OPND_SYMBOL && !i->operand[1].decl && ptx_is(m, i->operand[1].text, "(1+2)*3"));
	CHECK(i->operand[3].kind == PTX_OPND_SPECIAL); /* %r20 is not among %r<20> */
	i = instr_named(m, "frob.16x64b.x1");
	CHECK(i->operand[1].item[0].kind == PTX_OPND_INT && i->operand[1].item[0].ivalue == 16);
	ptx_free(m);
}

/* Inline assembly: the same labels and registers again within { }, hiding the outer ones. */
static void scopes(void)
{
	struct ptx_module *m = parse_ok(KERNEL(".reg .pred %p<2>; .reg .b32 %r1<12>; .reg .b32 %r<9>;\n"
					       "again:\n@%p0 bra done;\n"
					       "{ .reg .pred %p<1>; done: @%p0 bra done; .loc 1 7 3\n { nop; } @%p1 bra again; }\n"
					       "done: mov.b32 %r11, %r8; ret;"));
	const struct ptx_instr *i = m->function[0].instr;

	CHECK(m->function[0].instrs == 6 && i[0].block == 0 && i[1].block == 1 && i[2].block == 2 && i[3].block == 1);
	CHECK(i[0].pred->decl != i[1].pred->decl && i[0].pred->decl == i[3].pred->decl);
	CHECK(i[0].operand[0].decl->label_at == 4 && i[1].operand[0].decl->label_at == 1 && i[3].operand[0].decl->label_at == 0);
	CHECK(!i[0].loc && i[2].loc == i[3].loc && m->loc[i[2].loc - 1].line == 7);
	CHECK(i[4].operand[0].decl != i[4].operand[1].decl && i[4].operand[0].index == 1 && i[4].operand[1].index == 8);
	ptx_free(m);
}

static void inlining(void)
{
	struct ptx_module *m = parse_ok(KERNEL(".loc 1 10 2\n.loc 1 20 4, function_name $L__info_string0+3, inlined_at 1 10 2\n"
					       "nop;\n.loc 2 5 1, function_name $L__s, inlined_at 1 20 4\nret;") ".file 1 \"a.py\"\n");
	const struct ptx_instr *i = m->function[0].instr;
	const struct ptx_loc *l = &m->loc[i[1].loc - 1];

	CHECK(l->line == 5 && ptx_is(m, l->function, "$L__s"));
	l = &m->loc[l->inlined_at - 1];
	CHECK(l->line == 20 && m->loc[l->inlined_at - 1].line == 10 && !m->loc[l->inlined_at - 1].inlined_at);
	ptx_free(m);
}

/* Chains that stand in LLVM's comments alone, and what is none. */
static void commented(void)
{
	static const struct { const char *comment, *want; } row[] = { /* the .loc: b.py:7 */
		{"// b.py:7:16 @[ b.py:13:20 ]", "/x/b.py:13"}, {"// b.py:7:16 @[ a.py:13:20 @[ b.py:30:4 ] ]", "lib/a.py:13,/x/b.py:30"},
		{"// b.py:7:16 @[ a b.py:1:2 @[ [].py:3:4 ] ]", "a b.py:1,[].py:3"}, {"// b.py:7:16", "-"}, {"// @[ b.py:13 ]", "-"},
		{"// b.py:7:16 @[ :13:20 ]", "-"}, {"// @[ b.py:13:20", "-"}, {"// x @[ b.py:13:x ]", "-"}, {"// x @[ b.py:1:2 @[ ] ]", "/x/b.py:1"},
		{"// @[ b.py::2 ]", "-"}, {"// @[ 1:2 ]", "-"}, {"// @[ ]", "-"}, {"", "-"}, {"// @[ y.py:123456789:1 ]", "y.py:123456789"}, {"// @[ y.py:1234567890:1 ]", "-"},
		{", function_name $L__s, inlined_at 2 9 1 // b.py:7:16 @[ b.py:13:20 ]", "lib/a.py:9"},
	};
	for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
		struct text code = {0}, chain = {0};
		text_printf(&code, HEAD ".visible .entry k()\n{\n.loc 1 7 16 %s\nnop;\nret;}\n.file 1 \"/x/b.py\"\n.file 2 \"lib/a.py\"\n", row[k].comment);
		struct ptx_module *m = parse_ok(code.data);
		ptx_plan_inlined(m, &m->loc[m->function[0].instr[0].loc - 1], &chain);
		if (strcmp(chain.data, row[k].want))
			fprintf(stderr, "%s: %s\n", row[k].comment, chain.data);
		CHECK(!strcmp(chain.data, row[k].want));
		ptx_free(m);
		text_free(&code), text_free(&chain);
	}
}

/* What is the user's own place: b.py:7 was inlined in a kernel of a.py, or in one of b.py. */
static void own_places(void)
{
	static const struct { const char *comment, *file; uint32_t line; } row[] = {
		{"", "/x/b.py", 7}, {"// b.py:7:16 @[ b.py:13:20 ]", "/x/b.py", 7}, {"// b.py:7:16 @[ a.py:13:20 ]", "lib/a.py", 13},
		{"// b.py:7:16 @[ b.py:8:1 @[ a.py:13:20 @[ a.py:30:4 ] ] ]", "lib/a.py", 13}, {"// b.py:7:16 @[ a.py:13:20 @[ b.py:30:4 ] ]", "/x/b.py", 7},
		{"// b.py:7:16 @[ unknown.py:13:20 ]", "/x/b.py", 7}};
	for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
		struct text code = {0};
		text_printf(&code, HEAD ".visible .entry k()\n{\n.loc 1 7 16 %s\nnop;\nret;}\n.file 1 \"/x/b.py\"\n.file 2 \"lib/a.py\"\n", row[k].comment);
		struct ptx_module *m = parse_ok(code.data);
		const struct ptx_where at = ptx_plan_own(m, &m->function[0].instr[0]);
		CHECK(!strcmp(at.file, row[k].file) && at.line == row[k].line);
		ptx_free(m);
		text_free(&code);
	}
}

/* What has no line is near the line before it, out of what was inlined there; inlined itself, at that call; and nowhere in a kernel without any. */
static void lineless(void)
{
	static const struct { const char *code, *want; } row[] = {
		{".loc 1 10 2\n.loc 1 0 0\n", "10 0 -"},
		{".loc 1 10 2\n.loc 1 0 42\nnop;\n.loc 1 0 0\n", "10 0 -"},
		{".loc 1 10 2\n.loc 1 20 4, function_name $L, inlined_at 1 10 2\n.loc 1 0 0\n", "10 0 -"},
		{".loc 1 10 2\n.loc 1 30 1\n.loc 1 0 0, function_name $L, inlined_at 1 10 2\n", "10 0 -"},
		{".loc 1 9 1\n.loc 1 10 2, function_name $L, inlined_at 1 9 1\n.loc 1 0 0, function_name $L, inlined_at 1 10 2\n", "10 0 a.py:9"},
		{".loc 1 7 16 // a.py:7:16 @[ a.py:13:20 ]\n.loc 1 0 5 // a.py:0:5\n", "7 0 a.py:13"},
		{".loc 1 6 1\n.loc 1 0 5 // a.py:0:5 @[ a.py:13:20 ]\n", "6 0 -"},
		{".loc 1 10 2\n.loc 1 0 0\n.loc 1 11 3\n", "11 3 -"},
		{".loc 1 0 0\n", "0 0 -"}, {".loc 1 0 0\n.loc 1 0 3\n", "0 3 -"},
	};
	for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
		struct text code = {0}, got = {0};
		text_printf(&code, HEAD ".visible .entry a()\n{\n.loc 1 3 3\nret;}\n.visible .entry k()\n{\n%snop;\nret;}\n.file 1 \"a.py\"\n", row[k].code);
		struct ptx_module *m = parse_ok(code.data);
		const struct ptx_function *f = &m->function[1];
		const struct ptx_loc *l = &m->loc[f->instr[f->instrs - 1].loc - 1];
		text_printf(&got, "%u %u ", l->line, l->column);
		ptx_plan_inlined(m, l, &got);
		if (strcmp(got.data, row[k].want))
			fprintf(stderr, "%s: %s\n", row[k].code, got.data);
		CHECK(!strcmp(got.data, row[k].want));
		ptx_free(m);
		text_free(&code), text_free(&got);
	}
}

static void calls(void)
{
	struct ptx_module *m = parse_ok(HEAD ".func f(.param .b64 a);\n.func g;\n.func h;\n.global .u64 t = h;\n"
					     ".entry k() { .reg .b64 %rd<2>; { .param .b64 q; call.uni f, (q); } mov.u64 %rd1, g;\n"
					     "call (q), %rd1, (q), proto; proto: .callprototype (.param .b32 _) _ (.param .b64 _);\n"
					     "t: .branchtargets L1, L2; brx.idx %rd0, t; L1: L2: ret; }\n"
					     ".visible .func f(.param .b64 a) { ret; }");
	const struct ptx_instr *i = instr_named(m, "call.uni");

	CHECK(i->operand[0].decl->is_function && i->operand[0].decl->function == 4 && m->function[4].body.len);
	CHECK(!m->function[0].address_taken && !m->function[4].address_taken && i->operand[1].kind == PTX_OPND_LIST);
	CHECK(m->function[1].address_taken && m->function[2].address_taken);
	i = instr_named(m, "brx.idx");
	CHECK(i->operand[1].decl->is_label);
	i = &m->function[3].instr[i->operand[1].decl->label_at];
	CHECK(ptx_is(m, i->op, ".branchtargets") && i->operands == 2 && i->operand[1].decl->is_label);
	ptx_free(m);
}

static void hostile(void)
{
	char *deep = malloc(200000);

	refused("", 1, "not PTX");
	refused("hello\n", 1, "not PTX");
	refused(HEAD "/* open", 4, "comment without an end");
	refused(HEAD ".file 1 \"open", 4, "string without an end");
	refused(HEAD ".entry k { ret", 4, "expected an operand");
	refused(HEAD ".entry k { ret; ", 4, "body without an end");
	refused(HEAD ".entry k { add r, ; }", 4, "expected an operand");
	refused(HEAD ".entry k { .reg .b32 ; }", 4, "expected a name");
	refused(HEAD "\n\n.frob x;", 6, "expected a directive");
	refused(KERNEL(".loc 1 2\nret;"), 7, "expected a number");
	strcpy(deep, HEAD ".entry k {");
	memset(deep + strlen(deep) , '{', 100000);
	deep[100050] = '\0';
	refused(deep, 4, "nested too deeply");
	strcpy(deep, HEAD ".entry k { mov a, ");
	memset(deep + strlen(deep), '[', 100000);
	deep[100050] = '\0';
	refused(deep, 4, "nested too deeply");
	free(deep);
}

int main(void)
{
	header();
	kernel_head();
	operands();
	scopes();
	inlining();
	commented();
	own_places();
	lineless();
	calls();
	hostile();
	return 0;
}

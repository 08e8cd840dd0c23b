/* src/ptx/lanes: how a register grows from lane to lane, and whether the lanes stay together. */
#include "ptx/lanes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define REGS ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;\nmov.u32 %r1, %tid.x;\n"

#define PROTOTYPES ".func some_end;\n.func none_ends;\n.extern .func far;\n"
#define FUNCTIONS ".func deeper { .reg .pred %p1; @%p1 exit; ret; }\n.func some_end { call deeper; ret; }\n.func none_ends { ret; }\n"

/* `run` lanes in a row grow by `bytes` in %rd1; 0: the lanes do not stay together. */
static const struct { const char *body; uint32_t bytes, run; const char *block; } rows[] = {
	{"mul.wide.u32 %rd1, %r1, 4;", 4, 32, "128"},
	{"mul.wide.u32 %rd1, %r1, 4;", 8, 1, "128"},
	{"mul.wide.u32 %rd1, %r1, 4;", 4, 0, "48"},  /* a warp that is not full */
	{"mul.wide.u32 %rd1, %r1, 4;", 4, 0, NULL},  /* a block of unknown size */
	{"mul.wide.u32 %rd1, %r1, 4;", 4, 32, "32, 4"},
	{"mul.wide.u32 %rd1, %r1, 4;", 4, 0, "16, 2"}, /* a warp over two rows */
	/* as Triton writes it: masks and disjoint bits */
	{"shl.b32 %r2, %r1, 2; and.b32 %r3, %r2, 508; mov.u32 %r4, %ctaid.x; shl.b32 %r5, %r4, 10; or.b32 %r6, %r3, %r5;"
	 "mul.wide.s32 %rd2, %r6, 4; ld.param.b64 %rd3, [p]; add.s64 %rd1, %rd3, %rd2;", 16, 32, "128"},
	/* lanes in a row of four: a half line of 16-byte elements, rows far apart */
	{"and.b32 %r2, %r1, 3; bfe.u32 %r3, %r1, 2, 6; ld.param.b32 %r4, [n]; mul.lo.s32 %r5, %r4, %r3; shl.b32 %r6, %r2, 3;"
	 "mul.wide.u32 %rd2, %r6, 2; mad.wide.s32 %rd1, %r5, 2, %rd2;", 16, 4, "256"},
	{"shr.u32 %r2, %r1, 3; and.b32 %r3, %r1, 7; mul.lo.s32 %r4, %r2, 1000; add.s32 %r5, %r4, %r3; cvt.u64.u32 %rd2, %r3;"
	 "shl.b64 %rd1, %rd2, 4;", 16, 8, "64"},
	/* a sum that may carry says nothing once it is widened */
	{"mov.u32 %r2, %ctaid.x; add.s32 %r3, %r1, %r2; mul.wide.s32 %rd1, %r3, 4;", 4, 1, "128"},
	{"mov.u32 %r2, %ctaid.x; cvt.u64.u32 %rd2, %r2; cvt.u64.u32 %rd3, %r1; add.s64 %rd4, %rd2, %rd3; shl.b64 %rd1, %rd4, 2;", 4, 32, "128"},
	/* a loop that all lanes run alike */
	{"mul.wide.u32 %rd1, %r1, 16; mov.b32 %r2, 0;\nL: add.s64 %rd1, %rd1, 4096; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, 9; @%p1 bra L;", 16, 32, "128"},
	{"mul.wide.u32 %rd1, %r1, 16; mov.b32 %r2, 0;\nL: add.s64 %rd1, %rd1, %rd1; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, 9; @%p1 bra L;", 16, 1, "128"},
	/* a branch that depends on the lane, on loaded data; a definition under a predicate that does */
	{"mul.wide.u32 %rd1, %r1, 4; setp.lt.s32 %p1, %r1, 9; @%p1 bra L;\nL:", 4, 0, "128"},
	{"mul.wide.u32 %rd1, %r1, 4; ld.global.b32 %r2, [%rd1]; setp.lt.s32 %p1, %r2, 9; @%p1 ret;", 4, 0, "128"},
	{"mul.wide.u32 %rd1, %r1, 4; setp.lt.s32 %p1, %r1, 9; @%p1 add.s64 %rd1, %rd1, 4;", 4, 1, "128"},
	{"mul.wide.u32 %rd1, %r1, 4; mov.u32 %r2, %ctaid.x; setp.lt.s32 %p1, %r2, 9; @%p1 add.s64 %rd1, %rd1, 4;", 4, 32, "128"},
	{"mul.wide.u32 %rd1, %r1, 4; shfl.sync.idx.b32 %r2, %r1, 0, 31, -1; setp.lt.s32 %p1, %r2, 9; @%p1 bra L;\nL:", 4, 32, "128"},
	{"mul.wide.u32 %rd1, %r1, 4; shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1; setp.lt.s32 %p1, %r2, 9; @%p1 bra L;\nL:", 4, 0, "128"},
	/* a call of what may end a lane, of what cannot, and of what is not seen */
	{"mul.wide.u32 %rd1, %r1, 4; call some_end;", 4, 0, "128"},
	{"mul.wide.u32 %rd1, %r1, 4; call none_ends;", 4, 32, "128"},
	{"mul.wide.u32 %rd1, %r1, 4; call far;", 4, 0, "128"},
	{"mul.wide.u32 %rd1, %r1, 4; call %rd2, proto; proto: .callprototype _ ();", 4, 0, "128"},
	/* an instruction nobody knows; a vector's parts */
	{"mul.wide.u32 %rd2, %r1, 4; frobnicate.b64 %rd1, %rd2;", 4, 1, "128"},
	{"mov.b64 %rd1, {%r1, %r1};", 4, 1, "128"},
};

int main(void)
{
	for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
		char text[2048];
		struct ptx_module *m;
		struct ptx_error error;
		struct ptx_lanes lanes;
		struct ptx_operand reg = {.kind = PTX_OPND_REG, .index = 1};
		uint32_t run, entry = 0;

		snprintf(text, sizeof(text), ".version 8.0\n.target sm_90\n.address_size 64\n" PROTOTYPES ".entry k(.param .b64 p, .param .b32 n)\n"
			 "%s%s\n{\n%s%s\nret;\n}\n%s", rows[k].block ? ".reqntid " : "", rows[k].block ? rows[k].block : "", REGS, rows[k].body, FUNCTIONS);
		CHECK(!ptx_parse(text, strlen(text), &m, &error));
		while (!m->function[entry].is_entry)
			entry++;
		for (uint32_t i = 0; i < m->function[entry].decls; i++)
			if (m->function[entry].decl[i]->name.len == 3 && !strncmp(text + m->function[entry].decl[i]->name.off, "%rd", 3))
				reg.decl = m->function[entry].decl[i];
		CHECK(!ptx_lanes_make(m, &m->function[entry], &lanes));
		run = lanes.together ? ptx_lanes_run(&lanes, &reg, rows[k].bytes) : 0;
		if (run != rows[k].run)
			fprintf(stderr, "row %zu: %u lanes, expected %u: %s\n", k, run, rows[k].run, rows[k].body);
		CHECK(run == rows[k].run);
		ptx_lanes_free(&lanes);
		ptx_free(m);
	}
	return 0;
}

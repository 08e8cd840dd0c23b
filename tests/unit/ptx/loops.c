/* src/ptx/loops: which loop an instruction stands in, and what that says of the order of two sites. */
#include "ptx/loops.h"

#include "check.h"
#include "ptx/describe.h"
#include "ptx/info.h"

#define REGS ".reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .pred %p<3>;\n"
#define STORE "st.global.b32 [%rd1], 1;\n"

/* Of each store, in a kernel and where it says so in a function, the loop that it stands in. */
static const struct { const char *text, *loops; } rows[] = {
	{KERNEL(REGS STORE STORE "ret;"), "00"},
	{KERNEL(REGS STORE "L:" STORE "@%p1 bra L;" STORE "ret;"), "010"},
	{KERNEL(REGS "L:" STORE "@%p1 bra L;\nM:" STORE "@%p1 bra M;\nret;"), "12"},
	{KERNEL(REGS "L:" STORE "M:" STORE "@%p1 bra M;" STORE "@%p2 bra L;\nret;"), "111"}, /* the outermost */
	{KERNEL(REGS "L:" STORE "M:" STORE "@%p1 bra L;" STORE "@%p2 bra M;" STORE "ret;"), "1110"}, /* that overlap */
	{KERNEL(REGS STORE "@%p1 bra L;" STORE "L:" STORE "ret;"), "000"}, /* only onwards */
	{KERNEL(REGS "L: @%p1 bra L;" STORE "ret;"), "0"},
	{KERNEL(REGS STORE "bar.sync 0;" STORE "barrier.sync.aligned 0;" STORE "ret;"), "000"},
	{KERNEL(REGS STORE "bar.sync 1, 64;" STORE "ret;"), "11"}, /* of some threads */
	{KERNEL(REGS STORE "mbarrier.try_wait.shared.b64 %p1, [%r1], %rd2;" STORE "ret;"), "11"},
	{KERNEL(REGS STORE "brx.idx %r1, list;\nL:" STORE "M: ret;\nlist: .branchtargets L, M;"), "11"},
	{HEAD ".func f() { " REGS STORE STORE "ret; }\n.entry k() { " REGS STORE "call f;\n" STORE "ret; }\n", "1100"}, /* it may be called again */
};

static void loops(void)
{
	for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
		struct ptx_module *m = parse_ok(rows[k].text);
		char found[16] = "";

		for (uint32_t f = 0; f < m->functions; f++) {
			uint32_t *loop = ptx_loops(m, &m->function[f]);

			for (uint32_t i = 0; i < m->function[f].instrs; i++)
				if (ptx_is(m, m->function[f].instr[i].op, "st"))
					found[strlen(found)] = (char)('0' + loop[i]);
			free(loop);
		}
		if (strcmp(found, rows[k].loops))
			fprintf(stderr, "row %zu: %s, expected %s:\n%s\n", k, found, rows[k].loops, rows[k].text);
		CHECK(!strcmp(found, rows[k].loops));
		ptx_free(m);
	}
}

/* Lines 1 and 2 in the order of the text; what is unrolled, or in a loop, comes before nothing. */
#define AT(line) ".loc 1 " #line " 1\n"
#define STRONG "st.relaxed.gpu.global.b32 [%rd1], 1;\n"
static const struct { const char *body; int before; } lines[] = {
	{AT(1) STRONG AT(2) STORE, 1}, {AT(2) STORE AT(1) STRONG, 0}, {"L:" AT(1) STRONG AT(2) STORE "@%p1 bra L;", 0},
	{"L:" AT(1) STRONG "@%p1 bra L;" AT(2) STORE, 1}, {AT(1) STRONG "L:" AT(2) STORE "@%p1 bra L;", 1},
	{"L:" AT(1) STRONG "@%p1 bra L;\nM:" AT(2) STORE "@%p1 bra M;", 1},
	{AT(1) STRONG AT(2) STORE AT(1) STRONG AT(2) STORE, 0}, {AT(2) STORE AT(1) STRONG AT(2) STORE, 0},
	{AT(1) STRONG AT(1) STRONG AT(2) STORE AT(2) STORE, 1},
	{AT(1) STRONG "L: @%p1 bra L;" AT(2) STORE, 1},
};

static void order(void)
{
	for (size_t k = 0; k < sizeof(lines) / sizeof(*lines); k++) {
		char source[2048];
		struct text described = {0};
		struct ptx_plan plan;
		struct ptx_info info;
		const struct ptx_site *at[3] = {NULL};
		uint8_t reached[1] = {0};
		uint32_t stack[1];

		snprintf(source, sizeof(source), "%s%sret;\n}\n.file 1 \"a.cu\"\n", HEAD ".visible .entry k(.param .u64 p)\n{\n" REGS, lines[k].body);
		struct ptx_module *m = parse_ok(source);
		CHECK(!ptx_plan_make(m, 1, &plan));
		ptx_describe(&plan, 0, NULL, reached, stack, &described);
		CHECK(!ptx_info_parse(described.data, described.size, &info));
		for (uint32_t i = info.sites; i > 0; i--)
			at[info.site[i - 1].line] = &info.site[i - 1]; /* the first of a line */
		if (ptx_info_before(&info, at[1], at[2]) != lines[k].before)
			fprintf(stderr, "row %zu: expected %d:\n%s\n", k, lines[k].before, lines[k].body);
		CHECK(ptx_info_before(&info, at[1], at[2]) == lines[k].before && !ptx_info_before(&info, at[1], at[1]));
		ptx_info_free(&info);
		text_free(&described);
		ptx_plan_free(&plan);
		ptx_free(m);
	}
}

int main(void)
{
	loops();
	order();
	return 0;
}

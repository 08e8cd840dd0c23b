/* Rewriting: where calls stand, what they carry, which functions are cloned, and what stays byte for byte. Expected
 * and forbidden pieces of text are looked for in order, after the clone's name. */
#include "ptx/rewrite.h"

#include "check.h"
#include "device/abi.h"
#include "ptx/occupancy.h"

#define REGS ".reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n"

static struct ptx_rewrite_stats stats;

static char *rewrite_for(const char *text, uint32_t regs, int linked)
{
	struct ptx_regs reg = {"k", regs};
	struct ptx_rewrite_options options = {.source = "test.ptx", .kernels = 1, .reg = &reg, .linked = linked};
	struct ptx_error e;
	char *out;
	size_t size;

	if (ptx_rewrite(text, strlen(text), &options, &out, &size, &stats, &e)) {
		fprintf(stderr, "%u:%u: %s in:\n%s\n", e.line, e.column, e.text, text);
		exit(1);
	}
	CHECK(strlen(out) == size);
	ptx_free(parse_ok(out)); /* what we write, we read */
	return out;
}

static char *rewrite(const char *text, uint32_t regs) { return rewrite_for(text, regs, 0); }

/* The pieces (NULL ends them) occur in this order in the clone of entry k. */
static void in_order(const char *text, const char *const *pieces)
{
	char *out = rewrite(text, 0), *at = strstr(out, ".entry k" GSAN_CLONE_SUFFIX);

	CHECK(at);
	for (; *pieces; pieces++) {
		char *found = strstr(at, *pieces);

		if (!found) {
			fprintf(stderr, "not in order: %s in:\n%s\n", *pieces, at);
			exit(1);
		}
		at = found + strlen(*pieces);
	}
	free(out);
}
#define IN_ORDER(text, ...) in_order(text, (const char *const[]){__VA_ARGS__, NULL})

static uint32_t count(const char *text, const char *piece)
{
	uint32_t n = 0;

	for (; (text = strstr(text, piece)); text += strlen(piece))
		n++;
	return n;
}

static void identity(void)
{
	static const char *const texts[] = {HEAD, HEAD ".func f { ret; }\n", HEAD ".entry k() ;\n",
					    HEAD ".entry k(.param .b8 big[32700]) { ret; }\n",
					    HEAD ".entry k" GSAN_CLONE_SUFFIX " { ld.global.b32 %r, [0]; }"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		char *out = rewrite(texts[i], 0);

		CHECK(!strcmp(out, texts[i]) && !stats.clones);
		CHECK(stats.skipped_kernels == (i == 3));
		free(out);
	}
}

static void batches(void)
{
	IN_ORDER(KERNEL(REGS "ld.global.b32 %r1, [%rd1+4];\n@%p1 st.global.v2.b32 [%rd2], {%r1, %r2};\nbar.sync 0;\nret;"),
		 "call (gsan_r), gsan_enter", "ld.global.b32", "st.global.v2", "add.s64 %gsan_a0, %gsan_a0, 4;",
		 "mov.b64 %gsan_a1, %rd2", "selp.b32 %gsan_t, 2, 0, %p1", "or.b32 %gsan_v, %gsan_v, 1;", "call gsan_access2",
		 "bar.sync");
	/* the address is overwritten: the call stands before that */
	IN_ORDER(KERNEL(REGS "ld.global.b32 %r1, [%rd1];\nadd.s64 %rd1, %rd1, 8;\nst.global.b32 [%rd1], %r1;\nret;"),
		 "ld.global.b32", "call gsan_access1", "add.s64 %rd1", "st.global", "[gsan_p2], 513;", "call gsan_access1"); /* 1 of batch 1 */
	/* so is it by the load itself, and a predicate by setp */
	IN_ORDER(KERNEL(REGS "ld.b64 %rd1, [%rd1];\nret;"), "mov.b64 %gsan_a0, %rd1", "call gsan_access1", "ld.b64 %rd1");
	IN_ORDER(KERNEL(REGS "@!%p1 ld.b64 %rd1, [%rd2];\nsetp.eq.s32 %p2|%p1, %r1, 0;\nret;"),
		 "selp.b32 %gsan_t, 0, 1, %p1", "or.b32 %gsan_v, %gsan_v, 0;", "call gsan_access1", "setp");
	/* labels that are jumped to, and scopes, end a run; labels that nobody names do not, and are left out */
	IN_ORDER(KERNEL(REGS "ld.b32 %r1, [%rd1];\nL1: ld.b32 %r2, [%rd2];\nbra L1;"), "ld.b32 %r1", "gsan_access1", "L1:",
		 "ld.b32 %r2", "gsan_access1", "bra");
	IN_ORDER(KERNEL(REGS "ld.b32 %r1, [%rd1];\n$tmp: ld.b32 %r2, [%rd2];\nret;"), "gsan_access2");
	IN_ORDER(KERNEL(REGS "{ .reg .b64 %rd<2>; ld.b32 %r1, [%rd1]; }\nld.b32 %r2, [%rd2];\nret;"), "gsan_access1", "}",
		 "ld.b32 %r2", "gsan_access1");
	/* nine accesses: a call of eight, then one of one; a symbol's address goes through cvta */
	IN_ORDER(HEAD ".global .b32 g[99];\n.entry k() {" REGS "ld.b32 %r1,[g];ld.b32 %r1,[g+4];ld.b32 %r1,[g+8];"
		 "ld.b32 %r1,[g];ld.b32 %r1,[g];ld.b32 %r1,[g];ld.b32 %r1,[g];ld.b32 %r1,[g];\nst.b32 [g], 1;ret;}",
		 "mov.u64 %gsan_a1, g;", "cvta.global.u64 %gsan_a1", "add.s64 %gsan_a1, %gsan_a1, 4;",
		 "[gsan_p2], 255;", "gsan_access8", "st.b32 [g]", "gsan_access1", "ret;");
	/* two of one site are perhaps one, if they are small enough; of others, or of two lines, none are */
	IN_ORDER(KERNEL(REGS ".loc 1 7 3\nld.b64 %rd2, [%rd1];\nld.b64 %rd3, [%rd1+8];\nret;"), "[gsan_p2], 259;", "gsan_access2");
	IN_ORDER(KERNEL(REGS ".loc 1 7 3\nld.v2.b64 {%rd2, %rd3}, [%rd1];\nld.v2.b64 {%rd4, %rd5}, [%rd1+16];\nret;"), "[gsan_p2], 3;", "gsan_access2");
	IN_ORDER(KERNEL(REGS ".loc 1 7 3\nld.b64 %rd2, [%rd1];\n.loc 1 8 3\nld.b64 %rd3, [%rd1+8];\nret;"), "[gsan_p2], 3;", "gsan_access2");
	/* of 2 bytes a warp fills half a line, never a whole one */
	IN_ORDER(KERNEL(REGS "ld.b16 %h1, [%rd1];\nld.b32 %r1, [%rd2];\nret;"), "shfl.sync.idx.b32 %gsan_y, %gsan_x0, 0, 31, -1;",
		 "shfl.sync.idx.b32 %gsan_y, %gsan_x1, 0, 31, -1;", "shfl.sync.idx.b32 %gsan_y, %gsan_x0, 0, 4127, -1;", "vote.sync.all.pred %gsan_q, %gsan_q, -1;",
		 "mov.pred %gsan_w, 0;", "call gsan_lines", "gsan_slow:");
	char *out = rewrite(KERNEL(REGS "ld.b16 %h1, [%rd1];\nret;"), 0);
	CHECK(strstr(out, "gsan_slow:") && !strstr(out, "gsan_halves"));
	free(out);
	/* cp.async reads nothing where its size is 0 */
	IN_ORDER(KERNEL(REGS "cp.async.cg.shared.global [%r1], [%rd1], 0x10, %r5;\nret;"), "setp.eq.u32 %gsan_q, %r5, 16;",
		 "selp.b32 %gsan_t, %gsan_t, 0, %gsan_q", "gsan_access1");
}

/* A barrier for the lanes one by one is one for all in a clone, where they come together. */
static void joined(void)
{
	static const char *const forms[][2] = {{"barrier.sync \t0;", "barrier.sync.aligned \t0;"}, {"barrier.cta.sync 0;", "barrier.cta.sync.aligned 0;"},
					       {"@%p1 barrier.sync 0;", "@%p1 barrier.sync 0;"}, {"barrier.sync 0, 64;", "barrier.sync 0, 64;"},
					       {"bar.sync 0;", "bar.sync 0;"}, {"@%p1 bra L; barrier.sync 0;\nL: st.b32 [%rd2], %r1;", "barrier.sync 0;"}};
	char text[1024];

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		snprintf(text, sizeof text, "%sld.b32 %%r1, [%%rd1]; setp.eq.u32 %%p1, %%r1, 0; st.b32 [%%rd2], %%r1;\n%s\nret; }", HEAD ".entry k() {" REGS, forms[i][0]);
		IN_ORDER(text, "st.b32 [%rd2]", forms[i][1], "ret;");
	}
}

/* In a function, too, where all that calls it is there: nothing is linked to a linked clone but the runtime. */
static void joined_in_function(void)
{
	static const char text[] = HEAD ".visible .func g(.param .b64 a) {" REGS "ld.param.b64 %rd1, [a]; barrier.sync 7; st.b32 [%rd1], %r1; ret; }\n"
				   ".entry k(.param .b64 p) {" REGS "ld.param.b64 %rd1, [p];\n{ .param .b64 x; st.param.b64 [x], %rd1; call.uni g, (x); } ret; }";
	for (int linked = 0; linked < 2; linked++) {
		char *out = rewrite_for(text, 0, linked);
		CHECK(count(out, "barrier.sync.aligned 7;") == (uint32_t)linked && count(out, "barrier.sync 7;") == 2u - (uint32_t)linked);
		free(out);
	}
}

/* Checks stay on their side of whatever orders; what does not, they move over. */
static void runs(void)
{
	static const char before[] = HEAD ".entry k() {" REGS "ld.b32 %r1, [%rd1];\n", after[] = "\nst.b32 [%rd2], %r1;\nret; }";
	static const struct { const char *instr; int ends; } rows[] = {
		{"bar.sync 0;", 1}, {"barrier.sync.aligned 0;", 1}, {"barrier.sync 0, 64;", 1}, {"fence.acq_rel.gpu;", 1}, {"membar.gl;", 1}, {"nanosleep.u32 9;", 1},
		{"st.release.gpu.b32 [%rd3], 1;", 1}, {"ld.acquire.gpu.b32 %r3, [%rd3];", 1}, {"st.volatile.b32 [%rd3], 1;", 1},
		{"atom.exch.b32 %r3, [%rd3], 1;", 1}, {"red.relaxed.gpu.add.u32 [%rd3], 1;", 1}, {"griddepcontrol.wait;", 1},
		{"mbarrier.arrive.shared.b64 %rd4, [%r4];", 1}, {"cp.async.wait_all;", 1},
		{"cp.async.mbarrier.arrive.noinc.shared.b64 [%r4];", 1}, {"cp.async.mbarrier.arrive.shared::cta.b64 [%r4];", 1},
		{"cp.async.bulk.commit_group;", 1}, {"tcgen05.wait::ld.sync.aligned;", 1}, {"wgmma.wait_group.sync.aligned 0;", 1},
		{"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%rd4];", 1},
		{"st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r4], %r3, [%r5];", 1},
		{"add.s32 %r3, %r4, 1;", 0}, {"st.shared.b32 [%r4], 1;", 0}, {"cp.async.commit_group;", 0}};
	char text[1024];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(text, sizeof(text), "%s%s%s", before, rows[i].instr, after);
		if (rows[i].ends)
			IN_ORDER(text, "ld.b32 %r1", "call gsan_access1", rows[i].instr, "st.b32 [%rd2]", "call gsan_access1");
		else
			IN_ORDER(text, "ld.b32 %r1", rows[i].instr, "st.b32 [%rd2]", "call gsan_access2");
	}
}

static void strong(void)
{
	/* what stands around it goes with it, lane by lane unless the whole warp is there: only those that make it come, and it has its turn too */
	IN_ORDER(KERNEL(REGS "@%p1 st.release.sys.global.b32 [%rd1], {%r1};\nret;"), "@!%p1 bra gsan_over;", "activemask.b32 %gsan_m;",
		 "setp.eq.u32 %gsan_q, %gsan_m, -1;", "selp.b32 %gsan_o, 1, 0, %gsan_q;", "mov.b64 %gsan_a, %rd1", "gsan_turn:", "@!%gsan_k bra gsan_next;",
		 "mov.b32 %gsan_w, %r1", "[gsan_p2], %gsan_o;", "st.param.b64 [gsan_p5], %gsan_x", "\tcall gsan_before",
		 "@%p1 st.release", "[gsan_p2], %gsan_o;", "\tcall gsan_after", "gsan_next:", "@%gsan_k bra gsan_turn;", "gsan_over:",
		 "call gsan_leave", "ret;");
	IN_ORDER(KERNEL(REGS "@!%p1 st.release.sys.global.b32 [%rd1], %r1;\nret;"), "@%p1 bra gsan_over;", "gsan_turn:", "@!%p1 st.release");
	IN_ORDER(KERNEL(REGS "ld.acquire.gpu.b64 %rd1, [%rd1];\nret;"), "mov.b64 %gsan_a, %rd1", "ld.acquire",
		 "mov.b64 %gsan_y, %rd1", "call gsan_after");
	IN_ORDER(KERNEL(REGS "st.relaxed.gpu.v2.b16 [%rd1], {%h1, -1};\nret;"), "mov.b16 %gsan_h, %h1",
		 "mov.b64 %gsan_y, 65535;", "shl.b64 %gsan_y, %gsan_y, 16;", "or.b64", "gsan_before");
	IN_ORDER(KERNEL(REGS "atom.add.u32 %r1, [%rd1], 1;\n@%p2 membar.gl;\nfence.proxy.async;\n@%p3 ret;\nexit;"),
		 "gsan_u, [gsan_launch_record+", "call (gsan_r), gsan_red", "setp.ne.u32 %gsan_n, %gsan_g, 0;", "@%gsan_n call (gsan_r), gsan_hold", "gsan_turn:",
		 "@%gsan_n call gsan_take", "red.add.u32 [%rd1], 1;", "@%gsan_n call gsan_reduced", "gsan_next:", "@%p2 call gsan_fence", "@%p2 membar.gl", "@%p3 call gsan_leave",
		 "@%p3 ret", "call gsan_leave", "exit;");
	/* an RMW that acquires takes the long way, one whose result is read where its kernel synchronises; relaxed ones alone make no state */
	IN_ORDER(KERNEL(REGS "membar.gl;\natom.add.u32 %r1, [%rd1], 1;\nst.b32 [%rd2], %r1;\nret;"), "gsan_before", "atom.add", "gsan_after");
	IN_ORDER(KERNEL(REGS "membar.cta;\natom.add.u32 %r1, [%rd1], 1;\nst.b32 [%rd2], %r1;\nret;"), "[gsan_p1], 10;", "gsan_enter", "gsan_relaxed", "atom.add",
		 "gsan_reduced");
	IN_ORDER(KERNEL(REGS "@%p1 ld.volatile.b32 %r1, [%rd1];\nret;"), "[gsan_p1], 22;", "gsan_enter", "@!%p1 bra gsan_over;", "gsan_relaxed", "ld.volatile",
		 "gsan_reduced");
	IN_ORDER(KERNEL(REGS "ld.relaxed.cluster.b32 %r1, [%rd1];\nret;"), "[gsan_p1], 1;", "gsan_look", "ld.relaxed", "gsan_after");
	/* of a CAS it is said whether it wrote */
	IN_ORDER(KERNEL(REGS "@%p1 atom.relaxed.gpu.cas.b32 %r1, [%rd1], %r2, 1;\nst.b32 [%rd2], %r1;\nret;"), "[gsan_p1], 10;", "mov.b64 %gsan_e, %gsan_x;",
		 "gsan_relaxed", "@%gsan_n call (gsan_r), gsan_hold", "@%p1 atom.relaxed", "setp.eq.u64 %gsan_c, %gsan_x, %gsan_e;", "selp.b32 %gsan_w", "[gsan_p2], %gsan_g;",
		 "@%gsan_v call gsan_tried", "[gsan_p4], %gsan_w;", "@%gsan_n call gsan_reduced", "@%gsan_v call gsan_learned", "gsan_over:");
	IN_ORDER(KERNEL(REGS "atom.relaxed.gpu.cas.b64 _, [%rd1], %rd2, 1;\nret;"), "[gsan_p1], 8;", "gsan_relaxed", "cas.b64 %gsan_d, [%rd1]",
		 "mov.b64 %gsan_x, %gsan_d;", "@%gsan_v call gsan_tried", "gsan_reduced");
	IN_ORDER(KERNEL(REGS "membar.gl;\natom.relaxed.gpu.cas.b32 %r1, [%rd1], %r2, 1;\nst.b32 [%rd2], %r1;\nret;"), "[gsan_p1], 11;", "gsan_spin", "gsan_before",
		 "atom.relaxed", "gsan_after");
	IN_ORDER(KERNEL(REGS "@%p1 red.acq_rel.gpu.add.u32 [%rd1], 1;\nret;"), "gsan_before", "red", "gsan_after", "gsan_leave");
	IN_ORDER(KERNEL(REGS "@%p1 red.relaxed.gpu.add.u32 [%rd1], 1;\nret;"), "[gsan_p1], 8;", "gsan_enter", "@!%p1 bra gsan_over;", "\tcall (gsan_r), gsan_red",
		 "@%p1 red.relaxed", "@%gsan_n call gsan_reduced", "gsan_over:");
	IN_ORDER(KERNEL(REGS "@%p1 ld.acquire.gpu.b32 %r1, [%rd1];\nret;"), "gsan_turn:", "\tcall (gsan_r), gsan_look", "%gsan_g, [gsan_r]", "ld.acquire",
		 "[gsan_p6], %gsan_g;", "\tcall gsan_after", "gsan_next:");
	/* single lanes read what a CAS would, in each turn */
	IN_ORDER(KERNEL(REGS "@%p1 atom.acquire.gpu.cas.b32 %r1, [%rd1], %r2, 1;\nst.b32 [%rd2], %r1;\nret;"), "@!%p1 bra gsan_over;", "gsan_turn:",
		 "\tcall (gsan_r), gsan_spin", "cvt.u32.u64 %gsan_w, %gsan_x;", "@%gsan_c mov.b32 %r1, %gsan_w;",
		 "@%gsan_c mov.b32 %gsan_m, 0;", "@%gsan_c bra gsan_next;", "@!%gsan_k bra gsan_next;", "\tcall gsan_before", "atom.acquire",
		 "\tcall gsan_after", "gsan_next:", "gsan_over:");
	/* a wide value is not passed: no GSAN_DESC_VALUE */
	IN_ORDER(KERNEL(REGS "st.relaxed.gpu.v2.b64 [%rd1], {%rd2, %rd3};\nret;"), "st.param.b64 [gsan_p5], 0;", "gsan_before");
}

/* The info of k's clone stands there as the numbers of its bytes: are those of `line` among them, with a newline before and behind? */
static int told(const char *text, const char *line)
{
	char *out = rewrite(text, 0), *to = out, numbers[256] = "10,";
	size_t n = 3;

	for (const char *from = out; *from; from++) /* its lines */
		if (*from != '\n')
			*to++ = *from;
	*to = '\0';
	for (; *line; line++)
		n += (size_t)snprintf(numbers + n, sizeof(numbers) - n, "%u,", (unsigned char)*line);
	snprintf(numbers + n, sizeof(numbers) - n, "10,");
	int is = strstr(out, numbers) != NULL;

	free(out);
	return is;
}

/* Behind griddepcontrol.wait another record holds, for which the parameter has room, and which is asked from there on. */
static void depends(void)
{
#define ENTRY(directive, body) HEAD directive ".visible .entry k(.param .u64 p)\n{\n" REGS body "ret;\n}\n"
#define WAIT "griddepcontrol.wait;\n"
#define TRIGGER "griddepcontrol.launch_dependents;\n"
#define LEARNS "ld.relaxed.gpu.b32 %r1, [%rd1];\nst.b32 [%rd2], %r1;\n"
#define WAITS ".func waits() {\n" WAIT "ret; }\n"
	static const struct { const char *text; uint32_t twice, calls, triggers /* 2: at once */; } rows[] = {
		{ENTRY("", ""), 0, 0, 0}, {ENTRY("", TRIGGER), 0, 0, 2}, {ENTRY("", WAIT), 1, 1, 0}, {ENTRY("", WAIT TRIGGER WAIT), 1, 2, 1},
		{ENTRY("", TRIGGER WAIT), 1, 1, 2}, {ENTRY(WAITS, "call waits;\n" TRIGGER), 1, 1, 1}, {ENTRY(WAITS, TRIGGER), 0, 0, 2},
		{ENTRY("", TRIGGER LEARNS), 0, 0, 0}, {ENTRY("", TRIGGER LEARNS "fence.acq_rel.gpu;\n"), 0, 0, 2},
		{ENTRY("", TRIGGER "red.relaxed.gpu.add.u32 [%rd1], 1;\n"), 0, 0, 2}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *out = rewrite(rows[i].text, 0);

		CHECK(strstr(out, rows[i].twice ? GSAN_RECORD_PARAM "[960]" : GSAN_RECORD_PARAM "[480]"));
		CHECK(count(out, "call (gsan_r), gsan_depended") == rows[i].calls);
		CHECK(told(rows[i].text, "triggers\tat once") == (rows[i].triggers == 2) && told(rows[i].text, "triggers\t-") == (rows[i].triggers == 1));
		free(out);
	}
	IN_ORDER(ENTRY("", "ld.b32 %r1, [%rd1];\n@!%p1 " WAIT "st.b32 [%rd2], %r1;\n"), "call gsan_access1", "@!%p1 griddepcontrol.wait;", "@%p1 bra gsan_over;",
		 "\tcall (gsan_r), gsan_depended", "ld.param.b64 %gsan_launch, [gsan_r];", "gsan_over:", "st.b32 [%rd2]", "call gsan_access1");
	IN_ORDER(ENTRY("", WAIT "red.relaxed.gpu.add.u32 [%rd1], 1;\n"), "gsan_depended", "ld.b32 %gsan_u, [%gsan_launch+");
#undef ENTRY
}

/* Who comes to the end of the text has left, too; where nobody does, no call stands there. */
static void ends(void)
{
#define RELEASE "st.release.gpu.b32 [%rd1], 1;\n"
	static const struct { const char *end; uint32_t calls; } rows[] = {
		{"ret;", 1}, {"exit;", 1}, {"@%p1 ret;", 2}, {"@!%p1 exit;", 2}, {"", 1}, {"@%p1 trap;", 1}, {"@%p1 bra L;\nret;\nL:", 2},
		{"{ @%p1 bra L;\nret;\nL: }", 2}, {"L: ret;", 1}, {"L: @%p1 bra L;", 1}};
	char text[512];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(text, sizeof(text), "%s%s\n}\n", HEAD ".visible .entry k(.param .u64 p)\n{\n" REGS RELEASE, rows[i].end);
		char *out = rewrite(text, 0);
		uint32_t calls = count(strstr(out, ".entry k" GSAN_CLONE_SUFFIX), "call gsan_leave");

		if (calls != rows[i].calls)
			fprintf(stderr, "%s: %u calls, expected %u\n", rows[i].end, calls, rows[i].calls);
		CHECK(calls == rows[i].calls);
		free(out);
	}
	IN_ORDER(KERNEL(REGS RELEASE "@%p1 bra L;\nret;\nL:"), "ret;", "L:", "\tcall gsan_leave");
#undef RELEASE
}

/* A kernel of such RMWs alone says of each thread whether it comes behind one of them, by itself, or through others of its CTA. */
static void behind_reds(void)
{
#define BEHIND "or.b64 %gsan_self, %gsan_self, 137438953472;"
#define RED "red.relaxed.gpu.add.u32 [%rd1], 1;\n"
#define CALLED ".func quiet { bar.sync 0;\n ret; }\n.entry k() { " REGS "call quiet;\n"
	static const struct { const char *text; uint32_t says; } rows[] = {
		{KERNEL(REGS RED "ret;"), 1}, {KERNEL(REGS RED RED "ret;"), 2}, {KERNEL(REGS "bar.sync 0;\n" RED "ret;"), 2},
		{KERNEL(REGS "atom.add.u32 %r1, [%rd1], 1;\nret;"), 1},
		{KERNEL(REGS RED "@%p1 bar.warp.sync -1;\nret;"), 2}, {KERNEL(REGS RED "ld.volatile.shared.b32 %r1, [%r2];\nret;"), 2},
		{KERNEL(REGS RED "mbarrier.try_wait.shared.b64 %p1, [%r2], %rd3;\nret;"), 2},
		{KERNEL(REGS RED "ld.shared.b32 %r1, [%r2];\nshfl.sync.idx.b32 %r1, %r1, 0, 31, -1;\nret;"), 1},
		{KERNEL(REGS "bar.sync 0;\nret;"), 0}, {KERNEL(REGS RED "bar.sync 0;\nfence.acq_rel.gpu;\nret;"), 0},
		{HEAD CALLED RED "ret; }\n", 3}, {HEAD CALLED "ret; }\n", 0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *out = rewrite(rows[i].text, 0);

		CHECK(count(out, BEHIND) == rows[i].says);
		free(out);
	}
	IN_ORDER(KERNEL(REGS "@%p1 " RED "st.b32 [%rd1], 1;\n@!%p2 bar.red.and.pred %p2, 0, %p3;\nret;"), "\tcall (gsan_r), gsan_red", "@%p1 " BEHIND,
		 "@%p1 red.relaxed", "@%gsan_n call gsan_reduced", "st.b32", "gsan_access1", "@!%p2 " BEHIND, "@!%p2 bar.red");
}

/* The descriptor of the first call of `name`, which is what it puts into `param`. */
static uint32_t desc_of(const char *text, const char *name, const char *param)
{
	char *out = rewrite(text, 0), *call = strstr(strstr(out, ".entry k" GSAN_CLONE_SUFFIX), name), *at;
	uint32_t desc;

	CHECK(call);
	for (at = call; strncmp(at, param, 11); at--)
		CHECK(at > out);
	desc = (uint32_t)strtoul(at + 11, NULL, 10);
	free(out);
	return desc;
}

static void descriptors(void)
{
	char *out;
	uint32_t d = desc_of(KERNEL(REGS "atom.acquire.sys.exch.b64 %rd2, [%rd1], %rd3;\nst.b64 [%rd4], %rd2; ret;"), "gsan_after", "[gsan_p4], ");

	CHECK((d >> GSAN_DESC_SITE_SHIFT & 0xffff) == 1 && (d >> GSAN_DESC_BYTES_SHIFT & 63) == 8);
	CHECK((d >> GSAN_DESC_OP_SHIFT & 31) == GSAN_OP_RMW + GSAN_SYS && (d >> GSAN_DESC_SEM_SHIFT & 7) == GSAN_SEM_ACQUIRE);
	CHECK((d & GSAN_DESC_VALUE) && (d & GSAN_DESC_USED));
	d = desc_of(KERNEL(REGS "atom.acquire.add.u32 %r1, [%rd1], 1; ret;"), "gsan_after", "[gsan_p4], ");
	CHECK((d & GSAN_DESC_VALUE) && !(d & GSAN_DESC_USED)); /* nobody reads %r1 */
	d = desc_of(KERNEL(REGS "atom.acquire.exch.b64 %rd2, [%rd1], %rd3; call %rd2, proto; proto: .callprototype _ (); ret;"), "gsan_after", "[gsan_p4], ");
	CHECK((d & GSAN_DESC_VALUE) && (d & GSAN_DESC_USED)); /* it says what is called */
	d = desc_of(KERNEL(REGS "red.acquire.gpu.add.u32 [%rd1], %r1; ret;"), "gsan_after", "[gsan_p4], ");
	CHECK(!(d & GSAN_DESC_VALUE) && !(d & GSAN_DESC_USED));
	/* a CAS of 16 bytes: it may have failed, so it counts as the read that it was, which acquires */
	d = desc_of(KERNEL(REGS "atom.acq_rel.gpu.cas.b128 %rd1, [%rd1], %rd1, %rd2; ret;"), "gsan_after", "[gsan_p4], ");
	CHECK((d >> GSAN_DESC_OP_SHIFT & 31) == GSAN_OP_STRONG_LD + GSAN_GPU && (d >> GSAN_DESC_SEM_SHIFT & 7) == GSAN_SEM_ACQUIRE &&
	      !(d & GSAN_DESC_USED));
	/* a CAS into nothing gets a register, which tells whether it wrote */
	out = rewrite(KERNEL(REGS "atom.acq_rel.gpu.cas.b32 _, [%rd1], %r1, %r2; ret;"), 0);
	CHECK(out && strstr(out, ".reg .b32 %gsan_d;") && strstr(out, "cas.b32 %gsan_d, [%rd1], %r1, %r2;"));
	CHECK(out && strstr(out, "cvt.u64.u32 %gsan_x, %gsan_d;"));
	free(out);
	d = desc_of(KERNEL(REGS "ld.global.v8.b32 {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, [%rd1]; ret;"), "gsan_access1", "[gsan_p4], ");
	CHECK((d >> GSAN_DESC_BYTES_SHIFT & 63) == 32);
}

static void functions(void)
{
	static const char text[] = HEAD
		".visible .func (.param .b32 r) f(.param .b64 a);\n.func quiet;\n.extern .func far(.param .b64 a);\n"
		".global .u64 table = taken;\n.func taken(.param .b64 a) { .reg .b64 %q; st.b32 [%q], 1; ret; }\n"
		".entry k() { " REGS "{ .param .b64 a; .param .b32 v; @%p1 call.uni (v), f, (a); } call quiet; "
		"{ .param .b64 a; call far, (a); call %rd1, (a), proto; } proto: .callprototype _ (.param .b64 _);\nret; }\n"
		".visible .func (.param .b32 r) f(.param .b64 a) { .reg .b64 %x; fence.sc.gpu; st.b32 [%x], 1; exit; }\n"
		".func quiet { ret; }\n";
	char *out = rewrite(text, 0);

	IN_ORDER(text, "[gsan_p1], 1;", "@%p1 call.uni (v), f__gsan, (a, gsan_l, gsan_s);", "call quiet__gsan, (gsan_l, gsan_s);",
		 "call far, (a);", "call gsan_leave", "ret;", "k__gsan_info[", ".func (.param .b32 r) f__gsan(",
		 ".param .b64 gsan_launch_param", "call gsan_fence", "st.b32", "call gsan_access1", "call gsan_leave", "exit;",
		 ".func quiet__gsan(");
	CHECK(stats.clones == 1 && stats.sites == 1 && stats.left == 3); /* taken's store, far, the indirect call */
	CHECK(count(out, "taken__gsan") == 0 && count(out, ".visible .func") == 2);
	CHECK(strstr(out, ".func quiet__gsan(") < strstr(out, ".entry k()")); /* a prototype comes first */
	CHECK(count(out, ".func gsan_fence(") == 1 && count(out, "gsan_access2") == 0 && count(out, ".version") == 1);
	free(out);
}

/* What cuOccupancyMaxActiveBlocksPerMultiprocessor says on an H200 (driver 580.159.04) of CTAs of 1 to 32 warps. */
static const struct { uint32_t regs, ctas[32]; } measured[] = {
	{10, {32, 32, 21, 16, 12, 10, 9, 8, 7, 6, 5, 5, 4, 4, 4, 4, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}},
	{20, {32, 32, 21, 16, 12, 10, 9, 8, 7, 6, 5, 5, 4, 4, 4, 4, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}},
	{30, {32, 32, 21, 16, 12, 10, 9, 8, 7, 6, 5, 5, 4, 4, 4, 4, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}},
	{40, {32, 24, 16, 12, 9, 8, 6, 6, 5, 4, 4, 4, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1}},
	{48, {32, 20, 13, 10, 8, 6, 5, 5, 4, 4, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
	{56, {32, 18, 12, 9, 7, 6, 5, 4, 4, 3, 3, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
	{64, {32, 16, 10, 8, 6, 5, 4, 4, 3, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
	{72, {28, 14, 9, 7, 5, 4, 4, 3, 3, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
	{80, {24, 12, 8, 6, 4, 4, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
	{96, {20, 10, 6, 5, 4, 3, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
	{128, {16, 8, 5, 4, 3, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1}},
	{168, {12, 6, 4, 3, 2, 2, 1, 1, 1, 1, 1, 1}},
	{254, {8, 4, 2, 2, 1, 1, 1, 1}},
};

static void limits(void)
{
	char *out = rewrite(HEAD ".entry k() .reqntid 128 { setmaxnreg.inc.sync.aligned.u32 240; ret; }", 110);

	CHECK(strstr(out, ".reqntid 128 .minnctapersm 4\n{") && count(out, "setmaxnreg") == 1);
	free(out);
	out = rewrite(HEAD ".entry k() .reqntid 128,1,1 .minnctapersm 2 { ret; }", 110);
	CHECK(strstr(out, ".reqntid 128,1,1 .minnctapersm 4 {") && count(out, ".minnctapersm 2") == 1);
	free(out);
	out = rewrite(HEAD ".entry k() .reqntid 128 .minnctapersm 9 { ret; }", 110);
	CHECK(count(out, ".minnctapersm 9") == 2 && count(out, ".minnctapersm 4") == 0);
	free(out);
	out = rewrite(HEAD ".entry k() { ret; }", 41);
	CHECK(strstr(out, ".maxnreg 48\n{"));
	free(out);
	/* A launch may have fewer threads: 1,024 with 64 registers are one CTA as well, 256 are four, and five with 48. */
	out = rewrite(HEAD ".entry k() .maxntid 1024 .minnctapersm 1 { ret; }", 42);
	CHECK(strstr(out, ".minnctapersm 1 .maxnreg 48\n{"));
	free(out);
	out = rewrite(HEAD ".entry k() .maxntid 1024 .maxnreg 64 { ret; }", 42);
	CHECK(strstr(out, ".maxntid 1024 .maxnreg 48 {") && count(out, ".maxnreg 64") == 1);
	free(out);
	out = rewrite(HEAD ".entry k() .reqntid 256 .maxnreg 40 { ret; }", 38);
	CHECK(count(out, ".maxnreg 40") == 2 && count(out, "minnctapersm") == 0);
	free(out);
	out = rewrite(".version 7.0\n.target sm_80\n.address_size 64\n.entry k { ret; }", 0);
	CHECK(!strncmp(out, ".version 7.8\n", 13) && strstr(out, ".entry k__gsan("));
	free(out);
}

static void occupancy(void)
{
	for (size_t i = 0; i < sizeof(measured) / sizeof(*measured); i++)
		for (uint32_t warps = 1; warps <= 32; warps++)
			CHECK(ptx_occupancy_ctas(90, 32 * warps - 31, measured[i].regs) == measured[i].ctas[warps - 1]);
	CHECK(ptx_occupancy_ctas(89, 512, 32) == 3 && ptx_occupancy_ctas(75, 1024, 32) == 1);
	for (uint32_t regs = 1; regs <= 255; regs++)
		for (uint32_t warps = 1; warps <= 32; warps++) {
			uint32_t most = ptx_occupancy_regs(90, 32 * warps, regs);

			CHECK(most >= regs && most <= 255);
			for (uint32_t size = 1; size <= 32 * warps; size++)
				CHECK(ptx_occupancy_ctas(90, size, most) == ptx_occupancy_ctas(90, size, regs));
			CHECK(most == 255 || ptx_occupancy_regs(90, 32 * warps, most + 1) > most);
		}
	CHECK(ptx_occupancy_regs(90, 1024, 20) == 32 && ptx_occupancy_regs(90, 1024, 42) == 48);
	CHECK(ptx_occupancy_regs(90, 32, 42) == 64 && ptx_occupancy_regs(90, 1024, 250) == 255);
}

/* The words of a cooperative grid are those of the launch record, if it names any: each half where it was asked for. */
static void workspaces(void)
{
	static const char half[] = ".entry k() {" REGS "@%p1 mov.u32 %r1, %envreg2;cvt.u64.u32 %rd1, %envreg1;";
	static const char function[] = HEAD ".func f { " REGS "mov.u32 %r1, %envreg1; ret; }\n.entry k() {" REGS;
	char text[600];

	snprintf(text, sizeof(text), HEAD "%sret; }", half);
	IN_ORDER(text, "ld.b64 %gsan_a, [%gsan_launch+", "%envreg2;", "selp.b32 %gsan_e, %gsan_w, %gsan_e, %gsan_c;",
		 "@%p1 mov.u32 %r1, %gsan_e;\n\t}", "%envreg1;", "selp.b32 %gsan_e, %gsan_o,", "cvt.u64.u32 %rd1, %gsan_e;\n\t}");
	CHECK(told(text, "grid"));
	snprintf(text, sizeof(text), "%scall f; ret; }", function);
	CHECK(told(text, "grid"));
	snprintf(text, sizeof(text), "%scall f; call %%rd1, (), p; ret; }", function); /* whoever it calls asks the driver, perhaps */
	CHECK(!told(text, "grid"));
	CHECK(!told(HEAD ".entry k() {" REGS "mov.u32 %r1, %envreg3; ret; }", "grid"));
}

/* A call of what has no clone is told before its parameters are stored; one that synchronises with nobody is not. */
static void unseen_calls(void)
{
	static const char head[] = HEAD ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n.extern .func far (.param .b32 a);\n"
				   ".entry k() {" REGS;
	char text[700];

	snprintf(text, sizeof(text), "%s{ .param .b32 x; add.s32 %%r2, %%r1, 1; st.param.b32 [x], %%r1; @%%p1 call far, (x); } ret; }", head);
	IN_ORDER(text, "add.s32 %r2, %r1, 1;", "@%p1 call gsan_unseen", "st.param.b32 [x], %r1;", "call far, (x);", "gsan_leave");
	snprintf(text, sizeof(text), "%s{ .param .b32 x; .param .b64 y; .param .b64 z; call (x), vprintf, (y, z); } ret; }", head);
	char *out = rewrite(text, 0);

	CHECK(!strstr(out, "gsan_unseen") && !strstr(out, "gsan_leave"));
	free(out);
}

/* What is on one line, inlined at one, and does the same, is one site. */
static void shared_sites(void)
{
#define LD "ld.b32 %r1, [%rd1];\n"
#define INLINED ".loc 1 7 3, function_name $L__s, inlined_at "
	static const struct { const char *text; uint32_t sites, checked; } rows[] = {
		{KERNEL(REGS ".loc 1 7 3\n" LD LD ".loc 1 8 3\n" LD ".loc 1 7 3\n" LD "ret;"), 2, 4},
		{KERNEL(REGS ".loc 1 7 3\n" LD "ld.b16 %h1, [%rd1];\nst.b32 [%rd1], %r1;\nld.relaxed.gpu.b32 %r1, [%rd1];\n" LD "ret;"), 4, 5},
		{KERNEL(REGS ".loc 1 7 3\n" LD ".loc 1 7 4\n" LD ".loc 2 7 3\n" LD "ret;"), 3, 3},
		{KERNEL(REGS ".loc 1 20 1\n.loc 1 30 1\n" INLINED "1 20 1\n" LD INLINED "1 30 1\n" LD INLINED "1 20 1\n" LD "ret;"), 2, 3},
		{KERNEL(REGS LD LD "ret;"), 2, 2}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *out = rewrite(rows[i].text, 0);

		if (stats.sites != rows[i].sites || stats.checked != rows[i].checked)
			fprintf(stderr, "row %zu: %u sites of %u\n", i, stats.sites, stats.checked);
		CHECK(stats.sites == rows[i].sites && stats.checked == rows[i].checked);
		free(out);
	}
#undef LD
#undef INLINED
}

static void too_many_sites(void)
{
	const uint32_t n = 65540;
	char *text = malloc(n * 32 + 1000), *at = text;

	at = stpcpy(at, HEAD ".entry k() {" REGS);
	for (uint32_t i = 0; i < n; i++)
		at += sprintf(at, "ld.b32 %%r1, [%%rd1];\n");
	sprintf(at, "st.release.gpu.b32 [%%rd1], 1; ret; }");
	free(rewrite(text, 0));
	CHECK(stats.sites == 0xfffe && stats.left == n - 0xfffe);
	free(text);
}

int main(void)
{
	identity();
	batches();
	joined();
	joined_in_function();
	runs();
	strong();
	depends();
	ends();
	behind_reds();
	descriptors();
	functions();
	limits();
	occupancy();
	workspaces();
	unseen_calls();
	shared_sites();
	too_many_sites();
	return 0;
}

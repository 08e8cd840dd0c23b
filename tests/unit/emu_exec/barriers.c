/* Who waits at a barrier for whom: named ones by id and count, arrivals, reductions, warps that are partial or have ended, and
 * the phases of mbarriers. A row is a kernel's body. Some of its warps do first what takes long (LATE), so that a barrier that
 * completes early leaves a sum too small; each runs under many seeds. */
#include "emu/exec/exec.h"

#include "heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 24
#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n" \
	".reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .b64 %d<8>;\n.shared .align 8 .b8 word[1024];\n.shared .align 8 .b64 phases[4];\n" \
	"ld.param.u64 %d0, [out];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %d1, %r0, 4;\nadd.s64 %d1, %d0, %d1;\n" \
	"shr.u32 %r1, %r0, 5;\nsetp.eq.u32 %p0, %r1, 0;\nshl.b32 %r2, %r0, 2;\nmov.u32 %r3, word;\nadd.u32 %r3, %r3, %r2;\nmov.u32 %r9, 0;\n"
#define TAIL "END:\nst.global.u32 [%d1], %r9;\nret;\n}\n"
/* A loop that is the longer the higher the warp. */
#define LATE(label) "mad.lo.u32 %r20, %r1, 70, 1;\n" label ":\nsub.u32 %r20, %r20, 1;\nsetp.ne.u32 %p7, %r20, 0;\n@%p7 bra " label ";\n"
#define STORE(value) "st.shared.u32 [%r3], " value ";\n"
/* Stores 1 as a copy of what lies in global memory. */
#define COPY "st.global.u32 [%d1+1024], 1;\nadd.u64 %d4, %d1, 1024;\ncp.async.ca.shared.global [%r3], [%d4], 4;\n"
/* Adds to the result what the threads 32, 64 and 96 further on have stored. */
#define SUM "ld.shared.u32 %r21, [%r3+128];\nadd.u32 %r9, %r9, %r21;\nld.shared.u32 %r21, [%r3+256];\nadd.u32 %r9, %r9, %r21;\n" \
	"ld.shared.u32 %r21, [%r3+384];\nadd.u32 %r9, %r9, %r21;\n"
/* Thread 0 makes mbarrier 0 before the others go on. */
#define INIT(count) "setp.eq.u32 %p1, %r0, 0;\n@%p1 mbarrier.init.shared.b64 [phases], " count ";\nbar.sync 0;\n"
#define WAIT(label, how) label ":\nmbarrier." how ";\n@!%p2 bra " label ";\n"

static const struct row {
	const char *name, *body;
	uint32_t threads, from, to, value; /* what these threads store */
	enum emu_state state;
} rows[] = {
	{ "arrivals are waited for", "@%p0 bra WAIT;\n" LATE("L") STORE("1") "bar.arrive 1, 128;\nbra END;\nWAIT:\nbar.sync 1, 128;\n" SUM,
	  128, 0, 32, 3, EMU_DONE },
	{ "who arrives goes on", "@!%p0 bra FEW;\n" LATE("L") "G: ld.volatile.global.u32 %r9, [%d0+512];\nsetp.ne.u32 %p1, %r9, 3;\n@%p1 bra G;\n"
	  "bar.sync 1, 128;\nbra END;\nFEW:\nbar.arrive 1, 128;\nelect.sync %r10|%p2, -1;\n@%p2 red.global.add.u32 [%d0+512], 1;\n",
	  128, 0, 32, 3, EMU_DONE },
	{ "arrivals by lanes that parted", "@%p0 bra WAIT;\nand.b32 %r10, %r0, 1;\nsetp.eq.u32 %p1, %r10, 0;\n@%p1 bra EVEN;\n" LATE("L")
	  STORE("1") "barrier.arrive 1, 128;\nbra END;\nEVEN:\n" STORE("1") "barrier.arrive 1, 128;\nbra END;\nWAIT:\nbarrier.sync 1, 128;\n" SUM,
	  128, 0, 32, 3, EMU_DONE },
	{ "an arrival is not one for another id", "@%p0 bra WAIT;\n" LATE("L") "setp.eq.u32 %p1, %r1, 1;\n@%p1 bar.arrive 2, 128;\n" STORE("1")
	  "bar.arrive 1, 128;\nbra END;\nWAIT:\nbar.sync 1, 128;\n" SUM, 128, 0, 32, 3, EMU_DONE },
	{ "rounds of arrivals", "mov.u32 %r8, 0;\nROUND:\n@%p0 bra WAIT;\n" LATE("L") STORE("1") "bar.arrive 1, 128;\nbar.sync 2, 128;\nbra NEXT;\n"
	  "WAIT:\nbar.sync 1, 128;\n" SUM "st.shared.u32 [%r3+128], 0;\nst.shared.u32 [%r3+256], 0;\nst.shared.u32 [%r3+384], 0;\nbar.sync 2, 128;\n"
	  "NEXT:\nadd.u32 %r8, %r8, 1;\nsetp.lt.u32 %p1, %r8, 4;\n@%p1 bra ROUND;\n", 128, 0, 32, 12, EMU_DONE },
	{ "two of four warps meet", "setp.eq.u32 %p1, %r1, 3;\nor.pred %p2, %p0, %p1;\n@!%p2 bra SPIN;\n" LATE("L") "mov.u32 %r10, 5;\n" STORE("%r10")
	  "bar.sync 3, 64;\nelect.sync %r11|%p3, -1;\n@%p3 red.global.add.u32 [%d0+512], 1;\nld.shared.u32 %r9, [%r3+384];\n@%p1 mov.u32 %r9, 0;\nbra END;\n"
	  "SPIN: ld.volatile.global.u32 %r10, [%d0+512];\nsetp.ne.u32 %p1, %r10, 2;\n@%p1 bra SPIN;\n", 128, 0, 32, 5, EMU_DONE },
	{ "pairs of warps by id", "shr.u32 %r10, %r1, 1;\nadd.u32 %r10, %r10, 1;\n" LATE("L") STORE("%r10") "bar.sync %r10, 64;\n"
	  "xor.b32 %r11, %r2, 128;\nmov.u32 %r12, word;\nadd.u32 %r11, %r11, %r12;\nld.shared.u32 %r9, [%r11];\n", 128, 64, 128, 2, EMU_DONE },
	{ "popc of two warps", "setp.lt.u32 %p1, %r1, 2;\n@!%p1 bra END;\nand.b32 %r10, %r0, 3;\nsetp.eq.u32 %p2, %r10, 0;\n" LATE("L")
	  "bar.red.popc.u32 %r9, 4, 64, %p2;\n", 128, 0, 64, 16, EMU_DONE },
	{ "and, or", LATE("L") "setp.eq.u32 %p2, %r0, 77;\nbar.red.or.pred %p3, 1, %p2;\nbar.red.and.pred %p4, 1, !%p2;\nbar.red.and.pred %p5, 1, %p3;\n"
	  "selp.u32 %r9, 1, 0, %p3;\n@%p4 add.u32 %r9, %r9, 2;\n@%p5 add.u32 %r9, %r9, 4;\n", 128, 0, 128, 5, EMU_DONE },
	{ "a partial warp is a warp", LATE("L") "@!%p0 st.shared.u32 [%r3], 1;\nbar.sync 1, 64;\nld.shared.u32 %r9, [word+128];\n", 48, 0, 48, 1, EMU_DONE },
	{ "ended threads are not waited for", "and.b32 %r10, %r0, 7;\nsetp.eq.u32 %p1, %r10, 7;\n@%p1 exit;\n" LATE("L") STORE("1") "bar.sync 5;\nbar.sync 1, 128;\n" SUM,
	  128, 0, 7, 3, EMU_DONE },
	{ "ended warps are not waited for by all", "setp.eq.u32 %p1, %r1, 2;\n@%p1 exit;\n" LATE("L") STORE("1") "bar.sync 0;\n" SUM, 128, 0, 32, 2, EMU_DONE },
	{ "but by a count", "setp.eq.u32 %p1, %r1, 2;\n@%p1 exit;\nbar.sync 1, 128;\n", 128, 0, 0, 0, EMU_FAULT },
	{ "too few warps", "bar.sync 1, 192;\n", 128, 0, 0, 0, EMU_FAULT },
	{ "another id", "@%p0 bar.sync 1, 128;\n@!%p0 bar.arrive 2, 128;\n", 128, 0, 0, 0, EMU_FAULT },
	{ "some with a count, some without", "@%p0 bar.sync 3;\n@!%p0 bar.sync 3, 128;\n", 128, 0, 0, 0, EMU_FAULT },
	{ "arrivals with a count, who waits without", "@%p0 bar.sync 3;\n@!%p0 bar.arrive 3, 128;\n", 128, 0, 0, 0, EMU_FAULT },
	{ "all with a count and all without, by turns", LATE("L") "bar.sync 3;\nbar.sync 3, 128;\n" STORE("1") "bar.sync 3;\n" SUM, 128, 0, 32, 3, EMU_DONE },
	{ "lanes at two copies", "and.b32 %r10, %r0, 1;\nsetp.eq.u32 %p1, %r10, 0;\n" LATE("L") STORE("1") "@%p1 barrier.sync 1;\n@!%p1 barrier.sync 1;\n" SUM,
	  128, 0, 32, 3, EMU_DONE },

	{ "mbarrier: arrivals of three warps", INIT("96") "@%p0 bra GO;\n" LATE("L") STORE("1") "mbarrier.arrive.shared.b64 %d2, [phases];\nbra END;\nGO:\n"
	  WAIT("W", "try_wait.parity.shared::cta.b64 %p2, [phases], 0") SUM, 128, 0, 32, 3, EMU_DONE },
	{ "mbarrier: by token", INIT("128") LATE("L") STORE("1") "mbarrier.arrive.release.cta.shared::cta.b64 %d2, [phases];\n"
	  WAIT("W", "test_wait.acquire.cta.shared::cta.b64 %p2, [phases], %d2") SUM, 128, 0, 32, 3, EMU_DONE },
	{ "mbarrier: phases by parity", INIT("96") "mov.u32 %r8, 0;\nROUND:\n@%p0 bra GO;\n" LATE("L") STORE("1") "mbarrier.arrive.shared.b64 _, [phases];\n"
	  "bar.sync 2;\nbra NEXT;\nGO:\nand.b32 %r10, %r8, 1;\n" WAIT("W", "try_wait.parity.shared.b64 %p2, [phases], %r10, 64") SUM
	  "st.shared.u32 [%r3+128], 0;\nst.shared.u32 [%r3+256], 0;\nst.shared.u32 [%r3+384], 0;\nbar.sync 2;\n"
	  "NEXT:\nadd.u32 %r8, %r8, 1;\nsetp.lt.u32 %p1, %r8, 5;\n@%p1 bra ROUND;\n", 128, 0, 32, 15, EMU_DONE },
	{ "mbarrier: the phase before the first is complete", INIT("1") "mbarrier.test_wait.parity.shared.b64 %p2, [phases], 1;\n@%p2 add.u32 %r9, %r9, 1;\n"
	  "mbarrier.test_wait.parity.shared.b64 %p2, [phases], 0;\n@%p2 add.u32 %r9, %r9, 2;\n", 64, 0, 64, 1, EMU_DONE },
	{ "mbarrier: counts, and who drops out", INIT("4") "setp.ne.u32 %p3, %r0, 0;\n@%p3 bra END;\nmbarrier.arrive.shared.b64 %d2, [phases], 2;\n"
	  "mbarrier.pending_count.b64 %r10, %d2;\nmbarrier.arrive_drop.shared.b64 %d3, [phases], 2;\nmbarrier.pending_count.b64 %r11, %d3;\n"
	  "mbarrier.arrive.shared.b64 %d4, [phases];\nmbarrier.pending_count.b64 %r12, %d4;\nmad.lo.u32 %r9, %r10, 100, %r12;\nmad.lo.u32 %r9, %r11, 10, %r9;\n"
	  "mbarrier.test_wait.shared.b64 %p2, [phases], %d3;\n@!%p2 mov.u32 %r9, 0;\nmbarrier.test_wait.shared.b64 %p2, [phases], %d4;\n@%p2 mov.u32 %r9, 0;\n",
	  32, 0, 1, 422, EMU_DONE },
	{ "mbarrier: bytes that are expected", INIT("1") "setp.ne.u32 %p3, %r0, 0;\n@%p3 bra END;\nmbarrier.arrive.expect_tx.shared.b64 %d2, [phases], 24;\n"
	  "mbarrier.test_wait.shared.b64 %p2, [phases], %d2;\n@%p2 mov.u32 %r9, 9;\nmbarrier.complete_tx.relaxed.cta.shared::cta.b64 [phases], 16;\n"
	  "mbarrier.test_wait.shared.b64 %p2, [phases], %d2;\n@%p2 mov.u32 %r9, 8;\nmbarrier.complete_tx.shared.b64 [phases], 8;\n"
	  "mbarrier.test_wait.shared.b64 %p2, [phases], %d2;\n@%p2 add.u32 %r9, %r9, 1;\n", 32, 0, 1, 1, EMU_DONE },
	{ "mbarrier: made anew", INIT("2") "setp.ne.u32 %p3, %r0, 0;\n@%p3 bra END;\nmbarrier.arrive.shared.b64 %d2, [phases];\nmbarrier.inval.shared.b64 [phases];\n"
	  "mbarrier.init.shared.b64 [phases], 1;\nmbarrier.arrive.relaxed.cta.shared::cta.b64 %d2, [phases];\nmbarrier.test_wait.shared.b64 %p2, [phases], %d2;\n"
	  "@%p2 mov.u32 %r9, 1;\n", 32, 0, 1, 1, EMU_DONE },
	{ "mbarrier: by generic address", INIT("64") "mov.u64 %d3, phases;\ncvta.shared.u64 %d3, %d3;\n" LATE("L") STORE("1")
	  "mbarrier.arrive.noComplete.b64 %d2, [%d3], 1;\nmbarrier.arrive.b64 %d2, [%d3];\n" WAIT("W", "try_wait.b64 %p2, [%d3], %d2")
	  "ld.shared.u32 %r9, [word+124];\n", 32, 0, 32, 1, EMU_DONE },
	{ "mbarrier: copies that arrive", INIT("96") "@%p0 bra GO;\n" LATE("L") COPY "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [phases];\nbra END;\nGO:\n"
	  WAIT("W", "try_wait.parity.shared::cta.b64 %p2, [phases], 0") SUM, 128, 0, 32, 3, EMU_DONE },
	{ "mbarrier: copies that are expected when they arrive", INIT("96") "@%p0 bra GO;\n" LATE("L") COPY
	  "cp.async.mbarrier.arrive.shared::cta.b64 [phases];\nmbarrier.arrive.shared.b64 _, [phases];\nbra END;\nGO:\n"
	  WAIT("W", "try_wait.parity.shared::cta.b64 %p2, [phases], 0") SUM, 128, 0, 32, 3, EMU_DONE },
	{ "mbarrier: they alone complete nothing", INIT("1") COPY "cp.async.mbarrier.arrive.shared.b64 [phases];\n"
	  "mbarrier.test_wait.parity.shared.b64 %p2, [phases], 0;\n@%p2 mov.u32 %r9, 1;\n", 64, 0, 64, 0, EMU_DONE },
	{ "mbarrier: more arrivals than it expects", INIT("1") "mbarrier.arrive.shared.b64 %d2, [phases], 2;\n", 32, 0, 0, 0, EMU_FAULT },
};

static int run(const struct row *row, uint64_t seed, uint32_t *out)
{
	char text[8192];
	struct emu_error error;
	struct emu_module *m;
	struct emu_grid *g;
	enum emu_state state = EMU_RUNNING;
	const struct emu_launch launch = { .grid = { 1, 1, 1 }, .block = { row->threads, 1, 1 }, .params = &out, .sms = 1, .resident = 1 };
	snprintf(text, sizeof text, "%s%s%s", HEAD, row->body, TAIL);
	if (emu_module_load(text, strlen(text), &heap, &m, &error) || emu_grid_new(emu_module_find(m, "k"), &launch, &g, &error)) {
		printf("%s: %s\n", row->name, error.text);
		exit(1);
	}
	for (unsigned n = 0; state == EMU_RUNNING && n < 200; n++)
		state = emu_grid_run(g, 1000, &seed, &error);
	emu_grid_free(g);
	emu_module_unload(m);
	return (int)state;
}

static int wrong(const struct row *row, uint64_t seed)
{
	uint32_t out[1024] = { 0 };
	const int state = run(row, seed, out);
	if (state != (int)row->state)
		return printf("%s, seed %u: ends in state %d, not %d\n", row->name, (unsigned)seed, state, (int)row->state);
	for (uint32_t t = row->from; t < row->to; t++)
		if (out[t] != row->value)
			return printf("%s, seed %u: thread %u stores %u, not %u\n", row->name, (unsigned)seed, t, out[t], row->value);
	return 0;
}

int main(void)
{
	int failed = 0;
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
		for (uint64_t seed = 1, bad = 0; seed <= SEEDS && !bad; seed++)
			failed |= (bad = wrong(&rows[k], seed) != 0) != 0;
	return failed;
}

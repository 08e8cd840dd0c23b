#include "pairs.h"

#include <string.h>

/* Registers of the texts: %r0 thread, %r1 warp, %r2 round, %r3 its parity, %r4 what the flag has in this round; %p0 thread 0,
 * %p1 warp 0. %rd1 is the block of memory, %p2, %p3, %r5 and %rd3 are free. A label's name ends in @, which becomes unique. */
#define BY(predicate, text) "@" predicate " " text "\n"
#define BAR(text) "bar." text ";\n"
#define SPIN(label, look, until) label "@: " look "\n" until "\n@%p2 bra D" label "@;\nnanosleep.u32 200;\nbra " label "@;\nD" label "@:\n"
#define PHASE(parity) "mbarrier.try_wait.parity.shared.b64 %p2, [phase], " parity ";"
#define ARRIVE "mbarrier.arrive.shared.b64 _, [phase];\n"
/* Waits for the phase before, which is complete as long as who waits has not arrived itself. */
#define OTHER_PHASE "xor.b32 %r5, %r3, 1;\n" SPIN("W", PHASE("%r5"), "")
#define WARPS(low, high) "setp.ge.u32 %p2, %r1, " #low ";\nsetp.le.and.u32 %p2, %r1, " #high ", %p2;\n"
#define WARPS_0_2 "setp.eq.u32 %p2, %r1, 2;\nor.pred %p2, %p2, %p1;\n"
#define FLAG "[%rd1+4]"
#define RAISE_RELAXED "@%p0 st.relaxed.gpu.global.u32 " FLAG ", %r4;\n"
#define FENCE "fence.acq_rel.gpu;\n"
#define STORED "@%p1 st.relaxed.gpu.global.u32 [%rd1+8], %r4;\n"
#define OTHER_ARRIVES "setp.eq.u32 %p3, %r1, 2;\n@%p3 " ARRIVE
#define LATER STORED STORED STORED /* each ends an epoch of warp 0 */

enum { ALL = 15, OWN = 1, OTHER = 4 }; /* warps that store */

/* What a twin is: it computes something wrong in some order of execution; it cannot, and races by the letter of PTX alone; it cannot,
 * for the machine is sequentially consistent, and races in earnest: no fence, barrier or atomic stands for what it lacks. */
enum twin { WRONG, FORMAL, UNSEEN };

struct form { /* what stands before the accesses of those who publish, behind them, and the release */
	unsigned who;
	const char *before, *behind, *release;
};
static const struct publish {
	const char *name;
	struct form correct, racy;
	unsigned arrivals; /* of an mbarrier in a phase; 0: there is none */
	enum twin twin;
} publishes[] = {
	{ "barrier", { ALL, "", BAR("sync 0"), NULL }, { ALL, "", "", NULL }, 0, WRONG },
	{ "barrier-before", { OTHER, "", BAR("sync 0"), NULL }, { OTHER, BAR("sync 0"), "", NULL }, 0, WRONG },
	{ "own-warp", { OWN, "", "", NULL }, { OTHER, "", "", NULL }, 0, WRONG },
	{ "named-of-two", { OTHER, "", WARPS_0_2 BY("%p2", BAR("sync 1, 64")), NULL },
	  { OTHER, "", WARPS(0, 1) BY("%p2", BAR("sync 1, 64")), NULL }, 0, WRONG },
	{ "another-id", { ALL, "", BAR("sync 2, 128"), NULL },
	  { ALL, "", WARPS(0, 1) BY("%p2", BAR("sync 1, 64")) BY("!%p2", BAR("sync 2, 64")), NULL }, 0, WRONG },
	{ "arrive", { ALL, "", BY("%p1", BAR("sync 1, 128")) BY("!%p1", BAR("arrive 1, 128")), NULL },
	  { ALL, "", BY("%p1", BAR("arrive 1, 128")) BY("!%p1", BAR("sync 1, 128")), NULL }, 0, WRONG },
	{ "arrive-before", { OTHER, "", BY("%p1", BAR("sync 1, 128")) BY("!%p1", BAR("arrive 1, 128")), NULL },
	  { OTHER, BY("!%p1", BAR("arrive 1, 128")), BY("%p1", BAR("sync 1, 128")), NULL }, 0, WRONG },
	{ "reduction", { OTHER, "", "bar.red.popc.u32 %r5, 0, %p0;\n", NULL }, { OTHER, "bar.red.popc.u32 %r5, 0, %p0;\n", "", NULL }, 0, WRONG },
	{ "unaligned", { ALL, "", "barrier.sync 0;\n", NULL }, { ALL, "", "bar.warp.sync -1;\n", NULL }, 0, WRONG },
	{ "mbarrier-phase", { ALL, "", ARRIVE SPIN("W", PHASE("%r3"), ""), NULL },
	  { ALL, "", "@%p1 bra V@;\n" ARRIVE "bra N@;\nV@:\n" OTHER_PHASE ARRIVE "N@:\n", NULL }, 128, WRONG },
	{ "mbarrier-token", { ALL, "", "mbarrier.arrive.shared.b64 %rd3, [phase];\n"
				       SPIN("W", "mbarrier.test_wait.shared.b64 %p2, [phase], %rd3;", ""), NULL },
	  { ALL, "mbarrier.arrive.shared.b64 %rd3, [phase];\n", SPIN("W", "mbarrier.test_wait.shared.b64 %p2, [phase], %rd3;", ""), NULL }, 128, WRONG },
	{ "mbarrier-own-guard", { ALL, "", ARRIVE "setp.ne.u32 %p2, %r0, %r0;\nW@: @!%p2 " PHASE("%r3") "\n@!%p2 bra W@;\n", NULL },
	  { ALL, "", "@%p1 bra V@;\n" ARRIVE "bra N@;\nV@:\n" OTHER_PHASE ARRIVE "N@:\n", NULL }, 128, WRONG },
	{ "mbarrier-not-waited-for", { OTHER, "", OTHER_ARRIVES SPIN("W", PHASE("%r3"), ""), NULL },
	  { OTHER, "", OTHER_ARRIVES, NULL }, 32, WRONG },
	{ "each-for-itself", { ALL, "", "", "red.release.gpu.global.add.u32 " FLAG ", 1;\n" },
	  { ALL, "", "", "@%p0 red.release.gpu.global.add.u32 " FLAG ", 128;\n" }, 0, WRONG },
	{ "fence-of-all", { ALL, "", BAR("sync 0") FENCE, RAISE_RELAXED }, { ALL, "", FENCE, RAISE_RELAXED }, 0, WRONG },
	{ "fence-before-barrier", { ALL, "", FENCE BAR("sync 0") FENCE, RAISE_RELAXED }, { ALL, "", FENCE BAR("sync 0"), RAISE_RELAXED }, 0, FORMAL },
	{ "fence-behind-some", { OTHER, LATER BY("%p1", "fence.acq_rel.sys;"), OTHER_ARRIVES SPIN("W", PHASE("%r3"), "") FENCE, RAISE_RELAXED },
	  { OTHER, LATER BY("%p1", "fence.acq_rel.sys;"), OTHER_ARRIVES SPIN("W", PHASE("%r3"), ""), RAISE_RELAXED }, 32, UNSEEN },
	{ "by-hand-in-shared", { ALL, "", "atom.shared.add.u32 %r5, [count], 1;\n"
					  SPIN("W", "ld.volatile.shared.u32 %r5, [count];", "setp.ge.u32 %p2, %r5, %r4;"), NULL },
	  { ALL, "", "", NULL }, 0, WRONG },
	{ "flag-within-the-cta", { OTHER, "", "setp.eq.u32 %p2, %r0, 64;\nbar.warp.sync -1;\n@%p2 st.release.cta.global.u32 [%rd1+8], %r4;\n@!%p1 bra N@;\n"
			  SPIN("W", "ld.acquire.cta.global.u32 %r5, [%rd1+8];", "setp.ge.u32 %p2, %r5, %r4;") "N@:\n", NULL },
	  { OTHER, "", "setp.eq.u32 %p2, %r0, 64;\nbar.warp.sync -1;\n@%p2 st.relaxed.cta.global.u32 [%rd1+8], %r4;\n@!%p1 bra N@;\n"
			  SPIN("W", "ld.acquire.cta.global.u32 %r5, [%rd1+8];", "setp.ge.u32 %p2, %r5, %r4;") "N@:\n", NULL }, 0, UNSEEN },
};

/* By thread 0, whose flag then has %r4. */
static const char *const releases[] = {
	"@%p0 st.release.gpu.global.u32 " FLAG ", %r4;\n",
	"@%p0 atom.release.gpu.global.exch.b32 %r5, " FLAG ", %r4;\n",
	"@%p0 red.release.gpu.global.add.u32 " FLAG ", 128;\n",
	"@%p0 fence.acq_rel.gpu;\n@%p0 st.relaxed.gpu.global.u32 " FLAG ", %r4;\n",
	"@%p0 membar.gl;\n@%p0 atom.global.add.u32 %r5, " FLAG ", 128;\n",
	"@%p0 atom.acq_rel.sys.global.add.u32 %r5, " FLAG ", 128;\n",
};

/* Until the flag has %r4. POLL in a text below stands for one of these. */
#define POLL "$"
#define UNTIL "setp.ge.u32 %p2, %r5, %r4;"
#define ACQUIRE(label) SPIN(label, "ld.acquire.gpu.global.u32 %r5, " FLAG ";", UNTIL)
#define RELAXED(label) SPIN(label, "ld.relaxed.gpu.global.u32 %r5, " FLAG ";", UNTIL)
#define RELAXED_ATOMIC(label) SPIN(label, "atom.relaxed.gpu.global.or.b32 %r5, " FLAG ", 0;", UNTIL)
static const char *const polls[] = {
	ACQUIRE("F"),
	RELAXED("F") FENCE,
	SPIN("F", "atom.acquire.gpu.global.or.b32 %r5, " FLAG ", 0;", UNTIL),
	SPIN("F", "ld.volatile.global.u32 %r5, " FLAG ";", UNTIL) "membar.gl;\n",
};

/* One lane acts for its warp. */
#define WARP_0(text) "@!%p0 bra E@;\n" text "E@:\nbar.warp.sync -1;\n"
static const struct receive {
	const char *name, *correct, *racy;
	unsigned arrivals;
	enum twin twin;
} receives[] = {
	{ "thread-0", WARP_0(POLL) BAR("sync 0"), WARP_0(POLL), 0, WRONG },
	{ "every-thread", POLL, WARP_0(POLL), 0, WRONG },
	{ "barrier-first", WARP_0(POLL) BAR("sync 0"), BAR("sync 0") WARP_0(POLL), 0, WRONG },
	{ "arrive", WARP_0(POLL) BY("%p1", BAR("arrive 1, 128")) BY("!%p1", BAR("sync 1, 128")),
	  WARP_0(POLL) BY("%p1", BAR("sync 1, 128")) BY("!%p1", BAR("arrive 1, 128")), 0, WRONG },
	{ "named-of-two", WARP_0(POLL) BAR("sync 1, 128"), WARP_0(POLL) WARPS(0, 1) BY("%p2", BAR("sync 1, 64")), 0, WRONG },
	{ "mbarrier-phase", WARP_0(POLL) ARRIVE SPIN("W", PHASE("%r3"), ""),
	  "@%p1 bra V@;\n" OTHER_PHASE ARRIVE "bra N@;\nV@:\n" WARP_0(POLL) ARRIVE "N@:\n", 128, WRONG },
	{ "reduction", "mov.u32 %r5, 0;\n" WARP_0(POLL) "setp.ne.u32 %p2, %r5, 0;\nbar.red.or.pred %p3, 0, %p2;\n",
	  "bar.red.or.pred %p3, 0, %p0;\n" WARP_0(POLL), 0, WRONG },
	{ "fence-behind-barrier", WARP_0(RELAXED("F") FENCE) BAR("sync 0"), WARP_0(RELAXED("F")) BAR("sync 0") FENCE, 0, FORMAL },
	{ "atomic-before-barrier", WARP_0(RELAXED_ATOMIC("F") FENCE) BAR("sync 0"), WARP_0(RELAXED_ATOMIC("F")) BAR("sync 0"), 0, FORMAL },
};

#define COUNT(table) (sizeof table / sizeof *table)

static void add(struct pair *p, size_t n, const struct publish *publish, const struct receive *receive, int in_receive)
{
	const enum twin twin = in_receive ? receive->twin : publish->twin;
	*p = (struct pair){ .publish = publish, .receive = receive, .in_receive = in_receive, .overwrites = n & 1, .rounds = 1 + (n >> 1 & 1),
			    .release = releases[(n + n / PAIR_SHAPES) % COUNT(releases)], .poll = polls[(n + n / PAIR_SHAPES) % COUNT(polls)],
			    .formal = twin == FORMAL, .unseen = twin == FORMAL || twin == UNSEEN };
	snprintf(p->name, sizeof p->name, "%s_%s%s%s", in_receive ? "receive" : "publish", in_receive ? receive->name : publish->name,
		 p->overwrites ? "_overwrites" : "", p->rounds > 1 ? "_again" : "");
	for (char *c = p->name; (c = strchr(c, '-'));)
		*c = '_';
}

/* Each way to publish, and each to receive, in every shape; how it is released, and who receives or publishes then, in turn. */
const struct pair *pairs_all(size_t *count)
{
	static struct pair all[PAIR_SHAPES * (COUNT(publishes) + COUNT(receives))];
	size_t n = 0;
	for (size_t k = 0; k < COUNT(publishes); k++)
		for (size_t shape = 0; shape < PAIR_SHAPES; shape++, n++) {
			const struct receive *receive = &receives[n % COUNT(receives)];
			while (receive->arrivals && publishes[k].arrivals) /* one mbarrier is enough */
				receive = &receives[(size_t)(receive - receives + 1) % COUNT(receives)];
			add(&all[n], n, &publishes[k], receive, 0);
		}
	for (size_t k = 0; k < COUNT(receives); k++)
		for (size_t shape = 0; shape < PAIR_SHAPES; shape++, n++)
			add(&all[n], n, &publishes[0], &receives[k], 1);
	*count = n;
	return all;
}

/* ---- the text */

/* With labels of their own, and how to look at the flag. */
static void put(FILE *to, const struct pair *p, const char *text, const char *label)
{
	for (; *text; text++)
		if (*text == '@' && text[1] != '%' && text[1] != '!')
			fputs(label, to);
		else if (*text == *POLL)
			put(to, p, p->poll, label);
		else
			fputc(*text, to);
}

/* In the last round the twin's, before that, and in the correct kernel, the other. */
static void choose(FILE *to, const struct pair *p, const char *correct, const char *racy, const char *label)
{
	char other[32];
	snprintf(other, sizeof other, "%st", label);
	if (!racy || !strcmp(correct, racy)) {
		put(to, p, correct, label);
		return;
	}
	fprintf(to, "@%%p6 bra R%s;\n", label);
	put(to, p, correct, label);
	fprintf(to, "bra J%s;\nR%s:\n", label, label);
	put(to, p, racy, other);
	fprintf(to, "J%s:\n", label);
}

/* A word of this round under the predicate: %r6 is its number, %r7 the warp that publishes it. */
static void word(FILE *to, int line, int loads, int overwrites)
{
	fprintf(to, "mad.lo.u32 %%r8, %%r2, 128, %%r6;\nmul.wide.u32 %%rd2, %%r8, 4;\nadd.s64 %%rd2, %%rd1, %%rd2;\n");
	if (!loads) {
		fprintf(to, ".loc 1 %d 1\n@%%p4 st.global.u32 [%%rd2+512], 7;\n", line);
		return;
	}
	fprintf(to, "mov.u32 %%r9, %d;\n.loc 1 %d 1\n@%%p4 ld.global.u32 %%r9, [%%rd2+512];\n", overwrites ? 0 : 7, line);
	fprintf(to, ".loc 1 1 1\nsetp.ne.u32 %%p5, %%r9, %d;\n@%%p5 red.global.add.u32 [%%rd1], 1;\n", overwrites ? 0 : 7);
}

/* %p4: the word's warp is one of those that publish, in this round. */
static void storers(FILE *to, unsigned correct, unsigned racy)
{
	fprintf(to, "mov.u32 %%r10, %u;\n@%%p6 mov.u32 %%r10, %u;\nshr.u32 %%r10, %%r10, %%r7;\nand.b32 %%r10, %%r10, 1;\n"
		"setp.ne.u32 %%p4, %%r10, 0;\n", correct, racy);
}

void pairs_name(char to[PAIR_NAME], const struct pair *p, int racy)
{
	snprintf(to, PAIR_NAME, "%s_%s", p->name, racy ? "racy" : "correct");
}

void pairs_head(FILE *to)
{
	fputs(".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"pairs.cu\"\n", to);
}

void pairs_kernel(FILE *to, const struct pair *p, const char *name, int racy)
{
	const struct form *correct = &p->publish->correct, *other = racy && !p->in_receive ? &p->publish->racy : correct;
	const char *receive = p->receive->correct, *other_receive = racy && p->in_receive ? p->receive->racy : receive;
	const unsigned arrivals = p->publish->arrivals + p->receive->arrivals;
	const char *release = correct->release ? correct->release : p->release, *other_release = other->release ? other->release : p->release;
	fprintf(to, ".visible .entry %s(.param .u64 at)\n{\n.reg .b64 %%rd<4>;\n.reg .b32 %%r<12>;\n.reg .pred %%p<8>;\n"
		".shared .align 8 .b64 phase;\n.shared .align 4 .b32 count;\nld.param.u64 %%rd1, [at];\nmov.u32 %%r0, %%tid.x;\nshr.u32 %%r1, %%r0, 5;\n"
		"setp.eq.u32 %%p0, %%r0, 0;\nsetp.eq.u32 %%p1, %%r1, 0;\n.loc 1 1 1\n", name);
	if (arrivals)
		fprintf(to, "@%%p0 mbarrier.init.shared.b64 [phase], %u;\n", arrivals);
	fprintf(to, "bar.sync 0;\nmov.u32 %%r2, 0;\nROUND:\nand.b32 %%r3, %%r2, 1;\nmad.lo.u32 %%r4, %%r2, 128, 128;\n"
		"setp.eq.u32 %%p6, %%r2, %d;\nmov.u32 %%r10, %%ctaid.x;\nsetp.ne.u32 %%p7, %%r10, 0;\n@%%p7 bra RECEIVE;\n", p->rounds - 1);
	put(to, p, "sub.u32 %r11, %r4, 128;\n@!%p0 bra E@;\n"
		   SPIN("B", "ld.relaxed.gpu.global.u32 %r5, [%rd1+12];", "setp.ge.u32 %p2, %r5, %r11;") "E@:\n" BAR("sync 14"), "back");
	fputs("mov.u32 %r6, %r0;\nmov.u32 %r7, %r1;\n", to);
	choose(to, p, correct->before, other->before, "a");
	storers(to, correct->who, other->who);
	word(to, PAIR_FIRST, p->overwrites, p->overwrites);
	choose(to, p, correct->behind, other->behind, "b");
	choose(to, p, release, other_release, "c");
	fputs("bra NEXT;\nRECEIVE:\nxor.b32 %r6, %r0, 32;\nxor.b32 %r7, %r1, 1;\n", to);
	choose(to, p, receive, other_receive, "d");
	storers(to, correct->who, other->who);
	word(to, PAIR_SECOND, !p->overwrites, p->overwrites);
	fprintf(to, "bar.sync 15;\n@%%p0 st.relaxed.gpu.global.u32 [%%rd1+12], %%r4;\nNEXT:\nbar.sync 15;\nadd.u32 %%r2, %%r2, 1;\nsetp.lt.u32 %%p2, %%r2, %d;\n@%%p2 bra ROUND;\nret;\n}\n", p->rounds);
}

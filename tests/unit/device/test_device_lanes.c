/* Calls by a warp of 32 lanes, in the runtime's PTX, by the executor of the emulated device: what native code, where
 * a lane is a warp of its own, cannot show. Each lane must get the record of its own line, whoever has none. */
#include "device/gpu.h"
#include "device/record.h"
#include "emu/exec/exec.h"

#include "heap.h"
#include "play.h"

#define LANES 32u
static struct { u64 launch; u32 quick, n; u64 self[LANES], line[LANES]; u32 desc[LANES]; } call;
#define ENTRY(name) \
	".visible .entry " name "(.param .u64 at)\n{\n\t.reg .b32 %lane, %quick, %n, %desc;\n\t.reg .b64 %at, %launch, %self, %line, %d;\n" \
	"\tld.param.u64 %at, [at];\n\tmov.u32 %lane, %tid.x;\n\tld.global.u64 %launch, [%at];\n" \
	"\tld.global.u32 %quick, [%at+8];\n\tld.global.u32 %n, [%at+12];\n" \
	"\tmad.wide.u32 %d, %lane, 8, %at;\n\tld.global.u64 %self, [%d+16];\n\tld.global.u64 %line, [%d+272];\n" \
	"\tmad.wide.u32 %d, %lane, 4, %at;\n\tld.global.u32 %desc, [%d+528];\n" \
	"\t{\n\t.param .b64 p0;\n\tst.param.b64 [p0], %launch;\n\t.param .b64 p1;\n\tst.param.b64 [p1], %self;\n"
static const char kernels[] =
	ENTRY("lines")
	"\t.param .b32 p2;\n\tst.param.b32 [p2], %quick;\n\t.param .b32 p3;\n\tst.param.b32 [p3], %n;\n"
	"\t.param .b64 p4;\n\tst.param.b64 [p4], %line;\n\t.param .b32 p5;\n\tst.param.b32 [p5], %desc;\n"
	"\tcall gsan_lines, (p0, p1, p2, p3, p4, p5);\n\t}\n\tret;\n}\n"
	ENTRY("access") /* n: are the addresses there? Lanes without a descriptor do not call. An instruction for each site. */
	"\t.param .b32 p2;\n\tshl.b32 %lane, %desc, 16;\n\tshr.b32 %lane, %lane, 7;\n\tor.b32 %n, %n, %lane;\n"
	"\tst.param.b32 [p2], %n;\n\t.param .b64 p3;\n\tst.param.b64 [p3], %line;\n"
	"\t.param .b32 p4;\n\tst.param.b32 [p4], %desc;\n\t.reg .pred %p;\n\tsetp.ne.u32 %p, %desc, 0;\n"
	"\t@%p call gsan_access1, (p0, p1, p2, p3, p4);\n\t}\n\tbar.warp.sync -1;\n\tret;\n}\n"
	ENTRY("batches") /* n: lanes that have two, of one site, in a batch of its own; the others have one, of that site, too */
	"\t.param .b32 p2;\n\t.param .b64 p3;\n\tst.param.b64 [p3], %line;\n\t.param .b32 p4;\n\tst.param.b32 [p4], %desc;\n"
	"\t.param .b64 p5;\n\tadd.u64 %line, %line, 4096;\n\tst.param.b64 [p5], %line;\n\t.param .b32 p6;\n\tst.param.b32 [p6], %desc;\n"
	"\t.reg .pred %p;\n\tshr.u32 %n, %n, %lane;\n\tand.b32 %n, %n, 1;\n\tsetp.ne.u32 %p, %n, 0;\n"
	"\t@%p bra two;\n\tst.param.b32 [p2], 0x201;\n\tcall gsan_access1, (p0, p1, p2, p3, p4);\n\tbra over;\n"
	"two:\n\tst.param.b32 [p2], 0x403;\n\tcall gsan_access2, (p0, p1, p2, p3, p4, p5, p6);\n"
	"over:\n\t}\n\tret;\n}\n"
#define ACCESS(address, desc) \
	"\t.param .b64 " #address ";\n\tst.param.b64 [" #address "], %line;\n\tadd.u64 %line, %line, %d;\n\t.param .b32 " #desc ";\n\tst.param.b32 [" #desc "], %n;\n"
	ENTRY("beside") /* four accesses, n: what each is, quick: how far one is behind the other, desc: `valid` */
	"\t.param .b32 p2;\n\tst.param.b32 [p2], %desc;\n\tcvt.u64.u32 %d, %quick;\n" ACCESS(p3, p4) ACCESS(p5, p6) ACCESS(p7, p8) ACCESS(p9, p10)
	"\tcall gsan_access4, (p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10);\n\t}\n\tret;\n}\n"
	ENTRY("reds") /* what each is told to do stands in place of its address then */
	"\t.param .b32 p2;\n\tst.param.b32 [p2], %quick;\n\t.param .b64 p3;\n\tst.param.b64 [p3], %line;\n"
	"\t.param .b32 p4;\n\tst.param.b32 [p4], %desc;\n\t.param .b32 todo;\n\tcall (todo), gsan_red, (p0, p1, p2, p3, p4);\n"
	"\tld.param.b32 %desc, [todo];\n\t}\n\tcvt.u64.u32 %line, %desc;\n\tmad.wide.u32 %d, %lane, 8, %at;\n"
	"\tst.global.u64 [%d+272], %line;\n\tret;\n}\n";
_Static_assert(__builtin_offsetof(__typeof__(call), self) == 16 && __builtin_offsetof(__typeof__(call), line) == 272 &&
	       __builtin_offsetof(__typeof__(call), desc) == 528, "");

static struct emu_error error;
static struct emu_module *module;

static u64 place(u32 lane) { return DATA(0) + lane * 7 % LANES * 3 * GSAN_LINE; }
static const struct gsan_line *shadow(u32 lane) { return (const struct gsan_line *)(uintptr_t)gsan_shadow(place(lane)); }

/* All lanes call with what `call` has of them; those of `behind` come after a red. */
static void run_with(const char *entry, const struct cta *c, u32 quick, u32 n, u32 behind, u64 seed)
{
	const void *at = &call;
	const struct emu_launch launch = {.grid = {1, 1, 1}, .block = {LANES, 1, 1}, .params = &at, .sms = 4, .resident = 1};
	struct emu_grid *g;
	enum emu_state state = EMU_RUNNING;
	call.launch = c->launch;
	for (u32 i = 0; i < LANES; i++)
		call.self[i] = c->self | (behind >> i & 1 ? GSAN_SELF_BEHIND_RED : 0);
	call.quick = quick;
	call.n = n;
	if (emu_grid_new(emu_module_find(module, entry), &launch, &g, &error)) {
		printf("FAIL %s\n", error.text);
		exit(1);
	}
	for (u32 slices = 0; state == EMU_RUNNING && slices < 1000; slices++)
		state = emu_grid_run(g, 1000, &seed, &error);
	if (state != EMU_DONE)
		printf("FAIL it does not end: %s\n", error.text), failures++;
	emu_grid_free(g);
}

static void run(const char *entry, const struct cta *c, u32 n, u32 behind, u64 seed)
{
	run_with(entry, c, quick(c), n, behind, seed);
}

/* The lanes of `who` touch a line each, from sites `site` on. */
static void touch(const struct cta *c, u32 op, u32 who, u32 site, u64 seed)
{
	for (u32 i = 0; i < LANES; i++) {
		call.line[i] = who >> i & 1 ? place(i) | GSAN_LINES_WHOLE : 0;
		call.desc[i] = who >> i & 1 ? desc(op, 4, 0, site + i) : 0;
	}
	run("lines", c, 8, 0, seed);
}

static void lane_need(u32 who, u32 lane, const char *what, int holds)
{
	if (!holds)
		printf("FAIL lanes %08x: %s of lane %u\n", who, what, lane), failures++;
}

/* Two CTAs read; a third one writes: it races with both. One of a later launch writes: nothing is wrong. */
static void meet(u32 who, int later)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 0), b = enter(l, 1, 0), c = enter(later ? launch(0, 0, 6, 6, 1) : l, 2, 0);
	touch(&a, GSAN_OP_LD, who, 100, 1);
	touch(&b, GSAN_OP_LD, who, 200, 2);
	for (u32 i = 0; i < LANES; i++) {
		int mine = who >> i & 1;
		lane_need(who, i, "the first read", rec_site(shadow(i)->read[0]) == (mine ? 100 + i : 0));
		lane_need(who, i, "the second read", rec_site(shadow(i)->read[1]) == (mine ? 200 + i : 0));
		lane_need(who, i, "no write", !shadow(i)->write);
	}
	touch(&c, GSAN_OP_ST, who, 300, 3);
	for (u32 i = 0; i < LANES; i++)
		lane_need(who, i, "the write", rec_site(shadow(i)->write) == (who >> i & 1 ? 300 + i : 0));
	lane_need(who, LANES, "findings", found() == (later ? 0 : 2 * gpu_popc(who)));
	for (u64 k = 0; k < found(); k++) {
		const struct gsan_finding *f = &ring[0].slot[k];
		u32 lane = f->second.site - 300u;
		lane_need(who, lane, "the finding", lane < LANES && f->address == place(lane) &&
			     (f->first.site == 100 + lane || f->first.site == 200 + lane));
	}
	reset();
}

/* A CTA reads all lines; another writes some of them, and a few bytes of others; the first reads them again. It stands there
 * already, so what it loads at once is all that it sees: of each line written, both races. */
static void again(u32 wrote, u32 parts)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 0), b = enter(l, 1, 0);
	u32 war = 0, raw = 0;
	touch(&b, GSAN_OP_LD, ~0u, 200, 1);
	touch(&a, GSAN_OP_ST, wrote, 100, 2);
	for (u32 i = 0; i < LANES; i++)
		if (parts >> i & 1)
			weak(&a, GSAN_OP_ST, place(i) + 8, 4, 100 + i);
	touch(&b, GSAN_OP_LD, ~0u, 200, 3);
	for (u64 k = 0; k < found(); k++) {
		const struct gsan_finding *f = &ring[0].slot[k];
		u32 lane = f->second.site % 100, *kind = f->kind == GSAN_WAR ? &war : &raw;
		lane_need(wrote, lane, "the finding", lane < LANES && f->address / GSAN_LINE == place(lane) / GSAN_LINE &&
			     f->first.site == (f->kind == GSAN_WAR ? 200 : 100) + lane);
		*kind |= 1u << (lane & 31);
	}
	lane_need(wrote, LANES, "findings", war == (wrote | parts) && raw == (wrote | parts));
	reset();
}

/* Of ten readers two stay: not the last one everywhere, as if there had been room. */
static void many(void)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	u32 last = 0;
	for (u32 k = 0; k < 10; k++) {
		struct cta c = enter(l, k, 0);
		touch(&c, GSAN_OP_LD, ~0u, 100 * k, k + 1);
	}
	for (u32 i = 0; i < LANES; i++)
		last += rec_site(shadow(i)->read[0]) == 900 + i || rec_site(shadow(i)->read[1]) == 900 + i;
	lane_need(~0u, LANES, "the last reader", last > 0 && last < LANES / 3); /* 2/10 of them */
	reset();
}

/* Lanes that came from two instructions run together: one reads half a granule, the other half of the next. */
static void of_two_instructions(void)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 0), b = enter(l, 1, 0);
	for (u32 i = 0; i < LANES; i++) {
		call.line[i] = DATA(0) + (i & 1) * 12;
		call.desc[i] = desc(GSAN_OP_LD, 4, 0, 100 + (i & 1));
	}
	run("access", &a, 1, 0, 1);
	weak(&b, GSAN_OP_ST, DATA(0), 4, 200);
	weak(&b, GSAN_OP_ST, DATA(0) + 12, 4, 201);
	lane_need(~0u, 0, "findings", found() == 2);
	for (u64 k = 0; k < found(); k++)
		lane_need(~0u, (u32)k, "the finding", ring[0].slot[k].first.site + 100u == ring[0].slot[k].second.site);
	reset();
}

/* Copies of one instruction, in batches of different lengths: lanes that run together there do not wait for what the others lack. */
static void of_two_batches(u32 two, u64 seed)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 0), b = enter(l, 1, 0);
	for (u32 i = 0; i < LANES; i++) {
		call.line[i] = DATA(0) + 4 * i;
		call.desc[i] = desc(GSAN_OP_LD, 4, 0, 100);
	}
	run("batches", &a, two, 0, seed);
	for (u32 i = 0; i < 2 * LANES; i++) {
		u64 had = found();
		weak(&b, GSAN_OP_ST, DATA(0) + 4 * (i % LANES) + i / LANES * 4096, 4, 200 + i);
		lane_need(two, i, "the finding", (found() > had) == (i < LANES || two >> i % LANES & 1));
	}
	reset();
}

/* Reductions that are to be checked at length: together if they are of one kind, else each lane by itself. */
static void reds_of_two(int same)
{
	const u64 flag = DATA(0) + 4;
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 1), b = enter(launch(0, 1, 6, 5, 1), 1, 1 | REDS(GSAN_GPU));
	flag_store(&a, flag, GSAN_SEM_NONE, GSAN_GPU, 1, 1);
	for (u32 i = 0; i < LANES; i++) {
		call.line[i] = flag;
		call.desc[i] = desc(GSAN_OP_RMW + (i & 1 && !same ? GSAN_SYS : GSAN_GPU), 4, GSAN_SEM_NONE, 3);
	}
	run("reds", &b, 0, 0, 1);
	for (u32 i = 0; i < LANES; i++)
		lane_need((u32)same, i, "what is to do", call.line[i] == (same ? GSAN_RED_GENERAL | GSAN_RED_WHOLE : GSAN_RED_GENERAL));
	reset();
}

/* The lanes of `who` touch `bytes` each, side by side, `from` bytes behind where a line begins, and the others wait for them; then another CTA comes to
 * each place. */
static void apart(u32 op, u32 who, u32 bytes, u32 from)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 0), b = enter(l, 1, 0);
	u32 raced = 0;
	for (u32 i = 0; i < LANES; i++) {
		call.line[i] = DATA(0) + from + bytes * i;
		call.desc[i] = who >> i & 1 ? desc(op, bytes, 0, 100) : 0;
	}
	run("access", &a, 1, 0, 1);
	lane_need(who, bytes, "the blocks of detail", who != ~0u || dev_tables(0)->detail_next <= 1 + (from + LANES * bytes - 1) / GSAN_LINE);
	for (u32 i = 0; i < LANES; i++) {
		u64 before = found();
		weak(&b, GSAN_OP_LD + GSAN_OP_ST - op, DATA(0) + from + bytes * i, bytes, 200 + i);
		raced |= (found() > before ? 1u : 0) << i;
	}
	lane_need(who, LANES, op == GSAN_OP_ST ? "the lanes that wrote" : "the lanes that read", raced == who);
	reset();
}

/* A whole warp touches `bytes` each, anywhere in some lines, some lanes the same ones; then another CTA comes to each byte: it races where any
 * lane was, and nowhere else. `past`: an earlier launch was there before. */
static void anywhere(u32 op, u32 bytes, u32 within, u64 seed, int past)
{
	enum { REGION = 16 * GSAN_LINE };
	struct gsan_launch *before = launch(0, 0, 5, 5, 1), *l = launch(0, 0, 6, 6, 1);
	struct cta a = enter(l, 0, 0), b = enter(l, 1, 0), c = enter(before, 0, 0);
	unsigned char touched[REGION] = {0};
	u32 wrong = 0;
	for (u32 i = 0; i < LANES; i++) {
		u32 at = (u32)(mix64(seed * LANES + i) % within) / bytes * bytes;
		call.line[i] = DATA(0) + at;
		call.desc[i] = desc(op, bytes, 0, 1);
		memset(touched + at, 1, bytes);
	}
	if (past)
		run("access", &c, 1, 0, seed);
	run("access", &a, 1, 0, seed);
	u32 blocks = dev_tables(0)->detail_next;
	for (u32 at = 0; at < REGION; at++) {
		u64 had = found();
		weak(&b, GSAN_OP_LD + GSAN_OP_ST - op, DATA(0) + at, 1, 2 + at);
		wrong += (found() > had) != touched[at];
	}
	lane_need(bytes, within, "a byte", !wrong);
	lane_need(bytes, within, "the blocks of detail", blocks <= REGION / GSAN_LINE);
	reset();
}

static u64 counted(void)
{
	u64 n = 0;
	for (u32 i = 0; i < DEV_SPREAD; i++)
		n += dev_tables(0)->spread[i].checked;
	return n;
}

/* Each lane touches up to four places, `step` bytes from each other, from somewhere on that is its own, or from there on that is behind the last lane's:
 * side by side they are one access, and that is all there is to it. `who`: which lanes; `odd`: of these the ones that touch some of the places. */
static void beside(u32 op, u32 bytes, u32 step, u64 seed, u32 who, u32 odd, int in_order)
{
	enum { REGION = 16 * GSAN_LINE };
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 0), b = enter(l, 1, 0);
	unsigned char touched[REGION + 64] = {0};
	u32 made = 0, wrong = 0, first = (u32)(mix64(seed) % 16) * bytes;
	for (u32 i = 0; i < LANES; i++) {
		u32 at = in_order ? first + 4 * step * i : (u32)(mix64(seed * LANES + i) % (REGION - 64)) / bytes * bytes;
		u32 valid = who >> i & 1 ? odd >> i & 1 ? (u32)mix64(seed + i) & 15 : 15 : 0;
		call.line[i] = DATA(0) + at;
		call.desc[i] = valid | GSAN_BATCH_BESIDE | 7 << GSAN_BATCH_NUMBER_SHIFT;
		for (u32 k = 0; k < 4; k++)
			if (valid >> k & 1)
				memset(touched + at + k * step, 1, bytes);
		made += gpu_popc(valid);
	}
	run_with("beside", &a, step, desc(op, bytes, 0, 1), 0, seed);
	lane_need(who, bytes, "the count", counted() == made);
	lane_need(who, bytes, "the blocks of detail", dev_tables(0)->detail_next <= REGION / GSAN_LINE);
	for (u32 at = 0; at < REGION; at++) {
		u64 had = found();
		weak(&b, GSAN_OP_LD + GSAN_OP_ST - op, DATA(0) + at, 1, 2 + at);
		wrong += (found() > had) != touched[at];
	}
	lane_need(who, bytes, "a byte", !wrong);
	reset();
}

/* All lanes touch the last 8 bytes of a page of a view, and the first 8 of the next, which lies elsewhere in the arena. */
static void over_a_page(void)
{
	static u32 table[2] = {1 + 2, 1 + 7};
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 0), b = enter(l, 1, 0);
	const struct { u64 at; int raced; } rows[] = {{3 * GSAN_PAGE - 16, 0}, {3 * GSAN_PAGE - 8, 1}, {3 * GSAN_PAGE, 0}, {7 * GSAN_PAGE, 1}, {7 * GSAN_PAGE + 8, 0}};
	l->view_table = (u64)(uintptr_t)table;
	for (u32 i = 0; i < LANES; i++) {
		call.line[i] = GSAN_VIEW_BASE + GSAN_PAGE - 8;
		call.desc[i] = 15 | GSAN_BATCH_BESIDE | 7 << GSAN_BATCH_NUMBER_SHIFT;
	}
	run_with("beside", &a, 4, desc(GSAN_OP_ST, 4, 0, 1), 0, 1);
	for (u32 i = 0; i < sizeof rows / sizeof *rows; i++) {
		u64 had = found();
		weak(&b, GSAN_OP_LD, DATA(0) + rows[i].at, 8, 2 + i);
		lane_need(i, LANES, "the page", (found() > had) == rows[i].raced);
	}
	reset();
}

/* One instruction comes to a granule byte by byte: each is recorded. */
static void byte_by_byte(u32 op)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 0), b = enter(l, 1, 0);
	for (u32 i = 0; i < GSAN_GRANULE; i++)
		weak(&a, op, DATA(0) + i, 1, 1);
	for (u32 i = 0; i < GSAN_GRANULE; i++)
		weak(&b, GSAN_OP_LD + GSAN_OP_ST - op, DATA(0) + i, 1, 2 + i);
	lane_need(op, LANES, "a byte", found() == GSAN_GRANULE);
	reset();
}

/* A lane with a strong vector has several granules. */
static void strong_vector(void)
{
	struct gsan_launch *l = launch(0, 0, 5, 5, 1);
	struct cta a = enter(l, 0, 1), b = enter(l, 1, 1);
	be(&a);
	gsan_after(a.launch, a.self, 1, DATA(0), desc(GSAN_OP_STRONG_LD + GSAN_GPU, 16 + 1, GSAN_SEM_NONE, 1), 0, 0);
	weak(&b, GSAN_OP_ST, DATA(0), 8, 2);
	weak(&b, GSAN_OP_ST, DATA(0) + 8, 8, 3);
	lane_need(1, LANES, "an element", found() == 2);
	reset();
}

/* One lane goes for all whose bytes make a line: it counts if any of them, or all, come after a red that observed the store. */
static void behind_red(u32 behind, int race)
{
	const u64 flag = DATA(0) + 4;
	struct cta a = enter(launch(0, 0, 5, 5, 1), 0, 1), b = enter(launch(0, 1, 6, 5, 1), 1, REDS(GSAN_GPU)), other = b;
	flag_store(&a, flag, GSAN_SEM_NONE, GSAN_GPU, 1, 1);
	red_at(&other, GSAN_GPU, flag, 2); /* another thread of that CTA */
	for (u32 i = 0; i < LANES; i++) {
		call.line[i] = DATA(0) + 4 * i;
		call.desc[i] = desc(GSAN_OP_ST, 4, 0, 3);
	}
	run("access", &b, 1, behind, 1);
	lane_need(behind, LANES, "findings", found() == (u64)race);
	reset();
}

int main(void)
{
	static const u32 who[] = {~0u, 0x55555555, 0xaaaaaaaa, 0x3f3f3f3f, 0x80000000, 1, 0x60000006, 0};
	char *text = malloc(device_runtime_ptx_size + sizeof kernels);
	if (!text)
		return 1;
	memcpy(text, device_runtime_ptx, device_runtime_ptx_size);
	memcpy(text + device_runtime_ptx_size, kernels, sizeof kernels);
	map_arena();
	if (emu_module_load(text, device_runtime_ptx_size + sizeof kernels - 1, &heap, &module, &error)) {
		printf("FAIL %s\n", error.text);
		return 1;
	}
	for (u32 i = 0; i < sizeof who / sizeof *who; i++) {
		meet(who[i], 0);
		meet(who[i], 1);
		again(who[i], 0);
		again(0, who[i]);
		again(who[i], ~who[i]);
		for (u32 bytes = 1; bytes <= 16; bytes *= 2) {
			for (u32 from = 0; from < 8 * bytes; from += 3 * bytes) {
				apart(GSAN_OP_ST, who[i], bytes, from);
				apart(GSAN_OP_LD, who[i], bytes, from);
			}
		}
	}
	for (u64 seed = 1; seed <= 16; seed++)
		for (u32 bytes = 1; bytes <= 16; bytes *= 2)
			for (u32 within = GSAN_LINE; within <= 16 * GSAN_LINE; within *= 4)
				for (int past = 0; past < 2; past++) {
					anywhere(GSAN_OP_ST, bytes, within, seed, past);
					anywhere(GSAN_OP_LD, bytes, within, seed, past);
				}
	for (u64 seed = 1; seed <= 8; seed++)
		for (u32 bytes = 1; bytes <= 16; bytes *= 2)
			for (u32 step = bytes == 16 ? 4 : bytes; step <= 16; step *= 2)
				for (u32 i = 0; i < sizeof who / sizeof *who; i++)
					for (int in_order = step <= 8; in_order >= 0; in_order--) {
						beside(GSAN_OP_ST, bytes, step, seed, who[i], 0, in_order);
						beside(GSAN_OP_LD, bytes, step, seed, who[i], seed & 1 ? 0x80000000 : 0xf00f, in_order);
					}
	over_a_page();
	strong_vector();
	byte_by_byte(GSAN_OP_LD);
	byte_by_byte(GSAN_OP_ST);
	many();
	of_two_instructions();
	for (u64 seed = 1; seed <= 100; seed++)
		for (u32 i = 0; i < sizeof who / sizeof *who; i++)
			of_two_batches(who[i], seed);
	reds_of_two(0);
	reds_of_two(1);
	behind_red(0, 1);
	behind_red(1u << 1, 0);
	emu_module_unload(module);
	free(text);
	printf("%s\n", failures ? "failed" : "passed");
	return failures != 0;
}

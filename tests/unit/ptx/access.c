/* What each instruction does to global memory: one row per form, qualifiers in whatever order compilers write them. */
#include "ptx/access.h"

#include "check.h"

#define GPU GSAN_GPU
#define SYS GSAN_SYS

static const struct row {
	const char *text;
	enum ptx_access_kind kind;
	unsigned op, sem, bytes;
	const char *name, *order;
} rows[] = {
	{"ld.global.v4.b32 {%r1,%r2,%r3,%r4}, [%rd1]", PTX_ACCESS_WEAK, GSAN_OP_LD, 0, 16, "ld", "weak.-"},
	{"ld.global.L1::evict_first.L2::cache_hint.b16 {%h1}, [%rd1], %rd2", PTX_ACCESS_WEAK, GSAN_OP_LD, 0, 2, "ld", "weak.-"},
	{"ld.weak.f64 %rd2, [%rd1+8]", PTX_ACCESS_WEAK, GSAN_OP_LD, 0, 8, "ld", "weak.-"},
	{"ld.global.nc.u8 %r1, [%rd1]", PTX_ACCESS_WEAK, GSAN_OP_LD_NC, 0, 1, "ld.nc", "weak.-"},
	{"ld.sys.acquire.global.b32 %r1, [%rd1]", PTX_ACCESS_LOAD, GSAN_OP_STRONG_LD + SYS, GSAN_SEM_ACQUIRE, 4, "ld", "acquire.sys"},
	{"ld.volatile.u32 %r1, [%rd1]", PTX_ACCESS_LOAD, GSAN_OP_STRONG_LD + SYS, 0, 4, "ld", "volatile.sys"},
	{"st.mmio.relaxed.sys.global.u32 [%rd1], %r1", PTX_ACCESS_STORE, GSAN_OP_STRONG_ST + SYS, 0, 4, "st", "mmio.sys"},
	{"st.relaxed.cluster.b64 [g], %rd1", PTX_ACCESS_STORE, GSAN_OP_STRONG_ST + GSAN_CLUSTER, 0, 8, "st", "relaxed.cluster"},
	{"st.global.wt.b8 [%rd1], {%h1}", PTX_ACCESS_WEAK, GSAN_OP_ST, 0, 1, "st", "weak.-"},
	{"atom.add.u32 %r1, [%rd1], 1", PTX_ACCESS_RMW, GSAN_OP_RMW + GPU, 0, 4, "atom.add", "relaxed.gpu"},
	{"atom.global.cta.acq_rel.cas.b128 %rd1, [%rd1], %rd1, %rd2", PTX_ACCESS_RMW, GSAN_OP_RMW + GSAN_CTA, GSAN_SEM_ACQ_REL, 16, "atom.cas", "acq_rel.cta"},
	{"atom.global.release.gpu.add.noftz.v2.f16x2 {%r1,%r2}, [%rd1], {%r3,%r4}", PTX_ACCESS_RMW, GSAN_OP_RMW + GPU, GSAN_SEM_RELEASE, 8, "atom.add", "release.gpu"},
	{"red.release.sys.global.add.u32 [%rd1], 1", PTX_ACCESS_RMW, GSAN_OP_RMW + SYS, GSAN_SEM_RELEASE, 4, "red.add", "release.sys"},
	{"cp.async.cg.shared.global [%r1], [%rd1], 0x10, %r5", PTX_ACCESS_WEAK, GSAN_OP_LD, 0, 16, "cp.async", "weak.-"},
	{"cp.async.ca.shared.global [%r1], [%rd1], 4", PTX_ACCESS_WEAK, GSAN_OP_LD, 0, 4, "cp.async", "weak.-"},
	{"fence.acq_rel.sys", PTX_ACCESS_FENCE, GSAN_OP_STRONG_LD + SYS, GSAN_SEM_ACQ_REL, 0, "fence", 0},
	{"fence.gpu", PTX_ACCESS_FENCE, GSAN_OP_STRONG_LD + GPU, GSAN_SEM_ACQ_REL, 0, "fence", 0},
	{"fence.release.cluster", PTX_ACCESS_FENCE, GSAN_OP_STRONG_LD + GSAN_CLUSTER, GSAN_SEM_RELEASE, 0, "fence", 0},
	{"membar.gl", PTX_ACCESS_FENCE, GSAN_OP_STRONG_LD + GPU, GSAN_SEM_SC, 0, "membar", 0},
	{"fence.proxy.async", PTX_ACCESS_NONE, 0, 0, 0, 0, 0},
	{"fence.mbarrier_init.release.cluster", PTX_ACCESS_NONE, 0, 0, 0, 0, 0},
	{"ld.shared::cta.b32 %r1, [%r2]", PTX_ACCESS_NONE, 0, 0, 0, 0, 0},
	{"ld.param.b64 %rd1, [p]", PTX_ACCESS_NONE, 0, 0, 0, 0, 0},
	{"ld.b64 %rd1, [p]", PTX_ACCESS_NONE, 0, 0, 0, 0, 0}, /* a parameter by its name, generic opcode */
	{"atom.shared.add.u32 %r1, [%r2], 1", PTX_ACCESS_NONE, 0, 0, 0, 0, 0},
	{"prefetch.global.L2 [%rd1]", PTX_ACCESS_NONE, 0, 0, 0, 0, 0},
	{"cvta.to.global.u64 %rd1, %rd2", PTX_ACCESS_NONE, 0, 0, 0, 0, 0},
	{"cp.async.bulk.wait_group.read 0", PTX_ACCESS_NONE, 0, 0, 0, 0, 0},
	{"cp.async.ca.shared.global [%r1], [%rd1], 4, 0", PTX_ACCESS_NONE, 0, 0, 0, 0, 0},
	{"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3]", PTX_ACCESS_NONE, 0, 0, 0, 0, 0},
	{"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 64, [%r2]", PTX_ACCESS_LEFT, 0, 0, 0, "cp", 0},
	{"cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd1, {%r1}], [%r2]", PTX_ACCESS_LEFT, 0, 0, 0, "cp", 0},
	{"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r2], 64", PTX_ACCESS_LEFT, 0, 0, 0, "cp", 0},
	{"multimem.ld_reduce.relaxed.sys.global.add.f32 %r1, [%rd1]", PTX_ACCESS_LEFT, 0, 0, 0, 0, 0},
	{"discard.global.L2 [%rd1], 128", PTX_ACCESS_LEFT, 0, 0, 0, 0, 0},
	{"ld.global.unified.b32 %r1, [%rd1]", PTX_ACCESS_LEFT, 0, 0, 0, "ld", 0},
	{"wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r1}, [%rd1], 16", PTX_ACCESS_LEFT, 0, 0, 0, 0, 0},
	{"fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128", PTX_ACCESS_LEFT, 0, 0, 0, "fence", 0},
	{"tex.1d.v4.s32.s32 {%r1,%r2,%r3,%r4}, [t, {%r5}]", PTX_ACCESS_LEFT, 0, 0, 0, 0, 0},
	{"newfangled.global.b32 %r1, [%rd1]", PTX_ACCESS_LEFT, 0, 0, 0, 0, 0},
	{"ld.global.b32 %r1, [mystery+4]", PTX_ACCESS_LEFT, 0, 0, 0, "ld", 0},
};

static void check(const struct row *r)
{
	char text[600], order[64];
	struct ptx_module *m;
	struct ptx_access a;

	snprintf(text, sizeof(text), HEAD ".global .u64 g;\n.entry k(.param .u64 p) { .reg .b16 %%h<4>; .reg .b32 %%r<9>; "
				     ".reg .b64 %%rd<4>; %s; }", r->text);
	m = parse_ok(text);
	ptx_access_of(m, &m->function[0].instr[0], &a);
	snprintf(order, sizeof(order), "%s.%s", a.semantics, a.scope);
	if (a.kind != r->kind || (r->name && strcmp(a.name, r->name)) || (r->order && strcmp(order, r->order)) ||
	    (a.kind != PTX_ACCESS_LEFT && a.kind != PTX_ACCESS_NONE && (a.op != r->op || a.sem != r->sem || a.bytes != r->bytes))) {
		fprintf(stderr, "%s: kind %d op %d sem %d bytes %u %s %s\n", r->text, (int)a.kind, (int)a.op, (int)a.sem,
			a.bytes, a.name, order);
		exit(1);
	}
	CHECK(a.kind != PTX_ACCESS_LEFT || a.reason);
	ptx_free(m);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check(&rows[i]);
	return 0;
}

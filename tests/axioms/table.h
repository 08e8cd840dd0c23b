/* The literature's shapes and their verdicts, one row each. Threads are separated by "||", instructions by ";". A thread is a
 * CTA of one launch; "+" before it: another warp of the CTA before; "@1": of a launch on rank 1, which is another GPU;
 * "%1": of a launch on rank 1 of the same GPU. In `exists`, N:r0 is a register of thread N, from 0.
 * `verdict` is what `axioms` prints without the number; `options` are letters: p pure (no kernel fences, no CTA as thread,
 * cluster by the book), w a warp is a thread, o observation excuses nothing, a fence.sc is acq_rel. */
#ifndef AXIOMS_TABLE_H
#define AXIOMS_TABLE_H

struct row { const char *name, *threads, *exists, *verdict, *options; };

#define MP(flag_store, flag_load) "st.b32 x 1; " flag_store " || " flag_load "; ld.b32 r1 x"
#define STALE "1:r0=1 & 1:r1=0"
#define FRESH "1:r0=1 & 1:r1=1"

static const struct row rows[] = {
	/* message passing */
	{"MP.weak", MP("st.b32 f 1", "ld.b32 r0 f"), STALE, "allowed race", ""},
	{"MP.relaxed", MP("st.relaxed.gpu.b32 f 1", "ld.relaxed.gpu.b32 r0 f"), STALE, "allowed race", ""},
	{"MP.relaxed.strong", "st.relaxed.gpu.b32 x 1; st.relaxed.gpu.b32 f 1 || ld.relaxed.gpu.b32 r0 f; ld.relaxed.gpu.b32 r1 x", STALE,
	 "allowed free", ""},
	{"MP.rel.acq.stale", MP("st.release.gpu.b32 f 1", "ld.acquire.gpu.b32 r0 f"), STALE, "forbidden -", ""},
	{"MP.rel.acq.fresh", MP("st.release.gpu.b32 f 1", "ld.acquire.gpu.b32 r0 f"), FRESH, "allowed free", ""},
	{"MP.rel.acq.any", MP("st.release.gpu.b32 f 1", "ld.acquire.gpu.b32 r0 f"), NULL, "allowed some", ""},
	{"MP.rel.acq.unseen", MP("st.release.gpu.b32 f 1", "ld.acquire.gpu.b32 r0 f"), "1:r0=0", "allowed race", ""},
	{"MP.rel.relaxed", MP("st.release.gpu.b32 f 1", "ld.relaxed.gpu.b32 r0 f"), STALE, "allowed race", ""},
	{"MP.relaxed.acq", MP("st.relaxed.gpu.b32 f 1", "ld.acquire.gpu.b32 r0 f"), FRESH, "allowed race", ""},
	{"MP.relaxed.acq.pure", MP("st.relaxed.gpu.b32 f 1", "ld.acquire.gpu.b32 r0 f"), STALE, "allowed race", "p"},
	{"MP.weak.acq", MP("st.b32 f 1", "ld.acquire.gpu.b32 r0 f"), FRESH, "allowed race", ""},
	{"MP.fence.stale", MP("fence.acq_rel.gpu; st.relaxed.gpu.b32 f 1", "ld.relaxed.gpu.b32 r0 f; fence.acq_rel.gpu"), STALE, "forbidden -", ""},
	{"MP.fence.fresh", MP("fence.acq_rel.gpu; st.relaxed.gpu.b32 f 1", "ld.relaxed.gpu.b32 r0 f; fence.acq_rel.gpu"), FRESH, "allowed free", ""},
	{"MP.fence.sides", MP("fence.release.gpu; st.relaxed.gpu.b32 f 1", "ld.relaxed.gpu.b32 r0 f; fence.acquire.gpu"), STALE, "forbidden -", ""},
	{"MP.fence.wrong-sides", MP("fence.acquire.gpu; st.relaxed.gpu.b32 f 1", "ld.relaxed.gpu.b32 r0 f; fence.release.gpu"), STALE,
	 "allowed race", ""},
	{"MP.fence.weak-flag", MP("fence.acq_rel.gpu; st.b32 f 1", "ld.b32 r0 f; fence.acq_rel.gpu"), STALE, "allowed race", ""},
	{"MP.fence.acq", MP("fence.sc.gpu; st.relaxed.gpu.b32 f 1", "ld.acquire.gpu.b32 r0 f"), STALE, "forbidden -", ""},
	{"MP.fence.late", MP("st.relaxed.gpu.b32 f 1; fence.acq_rel.gpu", "ld.relaxed.gpu.b32 r0 f; fence.acq_rel.gpu"), FRESH, "allowed race", ""},
	{"MP.fence.early", MP("fence.acq_rel.gpu; st.relaxed.gpu.b32 f 1", "fence.acq_rel.gpu; ld.relaxed.gpu.b32 r0 f"), FRESH, "allowed race", ""},
	{"MP.fence.before-data", "fence.acq_rel.gpu; st.b32 x 1; st.relaxed.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; ld.b32 r1 x", FRESH,
	 "allowed race", ""},
	{"MP.fence.cta", MP("fence.acq_rel.cta; st.relaxed.gpu.b32 f 1", "ld.acquire.gpu.b32 r0 f"), FRESH, "allowed race", ""},
	{"MP.membar", MP("membar.gl; st.volatile.b32 f 1", "ld.volatile.b32 r0 f; membar.gl"), STALE, "forbidden -", ""},
	{"MP.volatile", MP("st.volatile.b32 f 1", "ld.volatile.b32 r0 f"), FRESH, "allowed race", ""},
	{"MP.mmio", MP("membar.sys; st.mmio.relaxed.sys.b32 f 1", "ld.mmio.relaxed.sys.b32 r0 f; membar.sys"), FRESH, "allowed free", ""},
	{"MP.cta-scope", MP("st.release.cta.b32 f 1", "ld.acquire.gpu.b32 r0 f"), STALE, "allowed race", ""},
	{"MP.cta-scope.acq", MP("st.release.gpu.b32 f 1", "ld.acquire.cta.b32 r0 f"), STALE, "allowed race", ""},
	{"MP.cluster", MP("st.release.cluster.b32 f 1", "ld.acquire.cluster.b32 r0 f"), FRESH, "allowed free", ""},
	{"MP.cluster.pure", MP("st.release.cluster.b32 f 1", "ld.acquire.cluster.b32 r0 f"), FRESH, "allowed race", "p"},
	{"MP.two-gpus.gpu", "st.b32 x 1; st.release.gpu.b32 f 1 || @1 ld.acquire.gpu.b32 r0 f; ld.b32 r1 x", STALE, "allowed race", ""},
	{"MP.two-gpus.sys", "st.b32 x 1; st.release.sys.b32 f 1 || @1 ld.acquire.sys.b32 r0 f; ld.b32 r1 x", STALE, "forbidden -", ""},
	{"MP.two-gpus.half", "st.b32 x 1; st.release.sys.b32 f 1 || @1 ld.acquire.gpu.b32 r0 f; ld.b32 r1 x", FRESH, "allowed race", ""},
	{"MP.two-ranks.gpu", "st.b32 x 1; st.release.gpu.b32 f 1 || %1 ld.acquire.gpu.b32 r0 f; ld.b32 r1 x", STALE, "forbidden -", ""},
	{"MP.same-cta", "st.b32 x 1; st.release.cta.b32 f 1 || + ld.acquire.cta.b32 r0 f; ld.b32 r1 x", STALE, "forbidden -", "p"},
	{"MP.same-cta.relaxed", "st.b32 x 1; st.relaxed.cta.b32 f 1 || + ld.relaxed.cta.b32 r0 f; ld.b32 r1 x", STALE, "allowed race", "p"},
	{"MP.same-cta.one", "st.b32 x 1; st.relaxed.cta.b32 f 1 || + ld.relaxed.cta.b32 r0 f; ld.b32 r1 x", STALE, "forbidden -", ""},
	{"MP.same-cta.one.fresh", "st.b32 x 1; st.relaxed.cta.b32 f 1 || + ld.relaxed.cta.b32 r0 f; ld.b32 r1 x", FRESH, "allowed free", ""},
	{"MP.poll", "st.b32 x 1; st.release.gpu.b32 f 1 || poll ld.acquire.gpu.b32 r0 f 1 50; ld.b32 r1 x", NULL, "allowed free", ""},
	{"MP.if", "st.b32 x 1; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; if r0 == 1; ld.b32 r1 x; end", NULL, "allowed free", ""},
	{"MP.if-not", "st.b32 x 1; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; if r0 != 1; ld.b32 r1 x; end", NULL, "allowed some", ""},
	/* patterns of two operations on one location */
	{"MP.rel-relaxed.acq", MP("st.release.gpu.b32 f 2; st.relaxed.gpu.b32 f 1", "ld.acquire.gpu.b32 r0 f"), STALE, "forbidden -", ""},
	{"MP.rel-data-relaxed", "st.release.gpu.b32 f 2; st.b32 x 1; st.relaxed.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; ld.b32 r1 x", FRESH,
	 "allowed race", ""},
	{"MP.rel-weak.acq", MP("st.release.gpu.b32 f 2; st.b32 f 1", "ld.acquire.gpu.b32 r0 f"), FRESH, "allowed race", ""},
	{"MP.rel.relaxed-acq", MP("st.release.gpu.b32 f 1", "ld.relaxed.gpu.b32 r0 f; ld.acquire.gpu.b32 r2 f"), STALE, "forbidden -", ""},
	{"MP.rel.relaxed-acq-elsewhere", MP("st.release.gpu.b32 f 1", "ld.relaxed.gpu.b32 r0 f; ld.acquire.gpu.b32 r2 y"), FRESH, "allowed race", ""},
	{"MP.rel-elsewhere-relaxed", "st.b32 x 1; st.release.gpu.b32 y 1; st.relaxed.gpu.b32 f 1 || ld.relaxed.gpu.b32 r0 f; fence.acq_rel.gpu; ld.b32 r1 x",
	 FRESH, "allowed race", ""},
	{"MP.fence.relaxed-acq-elsewhere", MP("fence.acq_rel.gpu; st.relaxed.gpu.b32 f 1", "ld.relaxed.gpu.b32 r0 f; ld.acquire.gpu.b32 r2 y"), FRESH,
	 "allowed race", ""},
	/* release sequences and atomics */
	{"RMW.chain", MP("st.release.gpu.b32 f 1", "ld.acquire.gpu.b32 r0 f") " || atom.relaxed.gpu.add.u32 r0 f 1", "1:r0=2 & 1:r1=0 & 2:r0=1",
	 "forbidden -", ""},
	{"RMW.chain.red", MP("red.release.gpu.add.u32 f 1", "ld.acquire.gpu.b32 r0 f") " || red.relaxed.gpu.add.u32 f 4 || red.gpu.add.u32 f 8",
	 "1:r0=13 & 1:r1=1", "allowed free", ""},
	{"RMW.chain.first", MP("st.release.gpu.b32 f 1", "ld.acquire.gpu.b32 r0 f") " || red.relaxed.gpu.add.u32 f 4 || red.gpu.add.u32 f 8",
	 "1:r0=13 & 1:r1=0", "forbidden -", ""},
	{"RMW.chain.all", "st.b32 x 1; red.release.gpu.add.u32 f 1 || st.b32 y 1; red.release.gpu.add.u32 f 1 || ld.acquire.gpu.b32 r0 f; ld.b32 r1 x; ld.b32 r2 y",
	 "2:r0=2", "allowed free", ""},
	{"RMW.chain.stored-over", MP("st.release.gpu.b32 f 1", "ld.acquire.gpu.b32 r0 f") " || st.relaxed.gpu.b32 f 2", "1:r0=2 & 1:r1=1",
	 "allowed race", ""},
	{"RMW.chain.cta", MP("st.release.gpu.b32 f 1", "ld.acquire.gpu.b32 r0 f") " || atom.relaxed.cta.add.u32 r0 f 1", "1:r0=2 & 2:r0=1",
	 "allowed race", ""},
	{"RMW.red-acquires-not", MP("st.release.gpu.b32 f 1", "red.relaxed.gpu.add.u32 f 1; fence.acq_rel.gpu"), "f=2 & 1:r1=1", "allowed race", ""},
	{"RMW.atom-fence", MP("st.release.gpu.b32 f 1", "atom.relaxed.gpu.add.u32 r0 f 1; fence.acq_rel.gpu"), "1:r0=1", "allowed free", ""},
	{"RMW.atom-sink", MP("st.release.gpu.b32 f 1", "atom.acq_rel.gpu.add.u32 _ f 1"), "f=2 & 1:r1=1", "allowed race", ""},
	{"RMW.read-atom-sink", MP("st.release.gpu.b32 f 1", "ld.relaxed.gpu.b32 r0 f; atom.acq_rel.gpu.add.u32 _ f 1"), "1:r0=1 & 1:r1=1", "allowed free", ""},
	{"RMW.acq_rel", MP("atom.acq_rel.gpu.exch.b32 r9 f 1", "atom.acq_rel.gpu.or.b32 r0 f 0"), FRESH, "allowed free", ""},
	{"CAS.failed.acquires", MP("st.release.gpu.b32 f 1", "atom.acquire.gpu.cas.b32 r0 f 5 7"), "1:r0=1 & 1:r1=1", "allowed free", ""},
	{"CAS.failed.releases-not", "st.b32 x 1; atom.release.gpu.cas.b32 r0 f 5 1 || atom.acquire.gpu.cas.b32 r0 f 0 1; ld.b32 r1 x", "0:r0=1",
	 "allowed race", ""},
	{"CAS.lock", "atom.acquire.gpu.cas.b32 r0 f 0 1; if r0 == 0; st.b32 x 1; st.release.gpu.b32 f 0; end || "
		     "atom.acquire.gpu.cas.b32 r0 f 0 1; if r0 == 0; ld.b32 r1 x; st.release.gpu.b32 f 0; end", NULL, "allowed free", ""},
	{"CAS.lock.relaxed-unlock", "atom.acquire.gpu.cas.b32 r0 f 0 1; if r0 == 0; st.b32 x 1; st.relaxed.gpu.b32 f 0; end || "
				    "atom.acquire.gpu.cas.b32 r0 f 0 1; if r0 == 0; ld.b32 r1 x; st.relaxed.gpu.b32 f 0; end", "0:r0=0 & 1:r0=0", "allowed race", ""},
	{"CAS.lock.weak-unlock", "atom.acquire.gpu.cas.b32 r0 f 0 1; if r0 == 0; st.b32 f 0; end || atom.acquire.gpu.cas.b32 r0 f 0 1", "0:r0=0",
	 "allowed race", ""},
	{"ATOM.two", "atom.relaxed.gpu.add.u32 r0 x 1 || atom.relaxed.gpu.add.u32 r0 x 1", "x=1", "forbidden -", ""},
	{"ATOM.two.cta", "atom.relaxed.cta.add.u32 r0 x 1 || atom.relaxed.gpu.add.u32 r0 x 1", "x=1", "allowed race", ""},
	{"ATOM.two.done", "atom.relaxed.gpu.add.u32 r0 x 1 || atom.relaxed.gpu.add.u32 r0 x 1", "x=2", "allowed free", ""},
	{"ATOM.store-between", "atom.relaxed.gpu.add.u32 r0 x 1 || st.relaxed.gpu.b32 x 5", "0:r0=0 & x=1", "forbidden -", ""},
	{"ATOM.weak-store", "atom.relaxed.gpu.add.u32 r0 x 1 || st.b32 x 5", "0:r0=0 & x=1", "allowed race", ""},
	{"ATOM.inc", "atom.relaxed.gpu.inc.u32 r0 x 1; atom.relaxed.gpu.inc.u32 r1 x 1", "0:r0=0 & 0:r1=1 & x=0", "allowed free", ""},
	{"ATOM.max", "red.relaxed.gpu.max.u32 x 7; red.relaxed.gpu.xor.b32 x 2; red.relaxed.gpu.and.b32 x 4; red.relaxed.gpu.min.u32 x 9", "x=4",
	 "allowed free", ""},
	/* store buffering */
	{"SB.weak", "st.b32 x 1; ld.b32 r0 y || st.b32 y 1; ld.b32 r0 x", "0:r0=0 & 1:r0=0", "allowed race", ""},
	{"SB.relaxed", "st.relaxed.gpu.b32 x 1; ld.relaxed.gpu.b32 r0 y || st.relaxed.gpu.b32 y 1; ld.relaxed.gpu.b32 r0 x", "0:r0=0 & 1:r0=0", "allowed free", ""},
	{"SB.rel.acq", "st.release.gpu.b32 x 1; ld.acquire.gpu.b32 r0 y || st.release.gpu.b32 y 1; ld.acquire.gpu.b32 r0 x", "0:r0=0 & 1:r0=0",
	 "allowed free", ""},
	{"SB.acq_rel", "st.relaxed.gpu.b32 x 1; fence.acq_rel.gpu; ld.relaxed.gpu.b32 r0 y || st.relaxed.gpu.b32 y 1; fence.acq_rel.gpu; ld.relaxed.gpu.b32 r0 x",
	 "0:r0=0 & 1:r0=0", "allowed free", ""},
#define SB_SC(scope) "st.relaxed.gpu.b32 x 1; fence.sc." scope "; ld.relaxed.gpu.b32 r0 y || st.relaxed.gpu.b32 y 1; fence.sc." scope "; ld.relaxed.gpu.b32 r0 x"
	{"SB.sc", SB_SC("gpu"), "0:r0=0 & 1:r0=0", "forbidden -", ""},
	{"SB.sc.cta", SB_SC("cta"), "0:r0=0 & 1:r0=0", "allowed free", ""},
	{"SB.sc.as-acq_rel", SB_SC("gpu"), "0:r0=0 & 1:r0=0", "allowed free", "a"},
	{"SB.sc.weak", "st.b32 x 1; fence.sc.gpu; ld.b32 r0 y || st.b32 y 1; fence.sc.gpu; ld.b32 r0 x", "0:r0=0 & 1:r0=0", "forbidden -", ""},
	{"SB.sc.weak.one", "st.b32 x 1; fence.sc.gpu; ld.b32 r0 y || st.b32 y 1; fence.sc.gpu; ld.b32 r0 x", "0:r0=1 & 1:r0=0", "allowed race", ""},
	{"SB.sc.two-gpus", "st.relaxed.sys.b32 x 1; fence.sc.gpu; ld.relaxed.sys.b32 r0 y || @1 st.relaxed.sys.b32 y 1; fence.sc.gpu; ld.relaxed.sys.b32 r0 x",
	 "0:r0=0 & 1:r0=0", "allowed free", ""},
	{"SB.atom", "atom.acq_rel.gpu.exch.b32 r1 x 1; ld.acquire.gpu.b32 r0 y || atom.acq_rel.gpu.exch.b32 r1 y 1; ld.acquire.gpu.b32 r0 x",
	 "0:r0=0 & 1:r0=0", "allowed free", ""},
	/* load buffering */
	{"LB.relaxed", "ld.relaxed.gpu.b32 r0 x; st.relaxed.gpu.b32 y 1 || ld.relaxed.gpu.b32 r0 y; st.relaxed.gpu.b32 x 1", "0:r0=1 & 1:r0=1", "allowed free", ""},
	{"LB.data", "ld.relaxed.gpu.b32 r0 x; st.relaxed.gpu.b32 y r0 || ld.relaxed.gpu.b32 r0 y; st.relaxed.gpu.b32 x r0", "0:r0=1 & 1:r0=1", "forbidden -", ""},
	{"LB.data.one", "ld.relaxed.gpu.b32 r0 x; st.relaxed.gpu.b32 y r0 || ld.relaxed.gpu.b32 r0 y; st.relaxed.gpu.b32 x 1", "0:r0=1 & 1:r0=1", "allowed free", ""},
	{"LB.ctrl", "ld.relaxed.gpu.b32 r0 x; if r0 == 1; st.relaxed.gpu.b32 y 1; end || ld.relaxed.gpu.b32 r0 y; if r0 == 1; st.relaxed.gpu.b32 x 1; end",
	 "0:r0=1 & 1:r0=1", "forbidden -", ""},
	{"LB.acq.rel", "ld.acquire.gpu.b32 r0 x; st.release.gpu.b32 y 1 || ld.acquire.gpu.b32 r0 y; st.release.gpu.b32 x 1", "0:r0=1 & 1:r0=1", "forbidden -", ""},
	{"LB.rel", "ld.relaxed.gpu.b32 r0 x; st.release.gpu.b32 y 1 || ld.relaxed.gpu.b32 r0 y; st.release.gpu.b32 x 1", "0:r0=1 & 1:r0=1", "allowed free", ""},
	{"LB.causal", "ld.b32 r0 x; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r1 f; st.b32 x 1", "0:r0=1 & 1:r1=1", "forbidden -", ""},
	{"LB.causal.free", "ld.b32 r0 x; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r1 f; st.b32 x 1", "0:r0=0 & 1:r1=1", "allowed free", ""},
	/* independent reads of independent writes: PTX is not multi-copy atomic */
#define IRIW(store, load, between) store " x 1 || " store " y 1 || " load " r0 x; " between load " r1 y || " load " r0 y; " between load " r1 x"
#define SPLIT "2:r0=1 & 2:r1=0 & 3:r0=1 & 3:r1=0"
	{"IRIW.relaxed", IRIW("st.relaxed.gpu.b32", "ld.relaxed.gpu.b32", ""), SPLIT, "allowed free", ""},
	{"IRIW.rel.acq", IRIW("st.release.gpu.b32", "ld.acquire.gpu.b32", ""), SPLIT, "allowed free", ""},
	{"IRIW.fence", IRIW("st.relaxed.gpu.b32", "ld.relaxed.gpu.b32", "fence.acq_rel.gpu; "), SPLIT, "allowed free", ""},
	{"IRIW.sc", IRIW("st.relaxed.gpu.b32", "ld.relaxed.gpu.b32", "fence.sc.gpu; "), SPLIT, "forbidden -", ""},
	{"IRIW.sc.cta", IRIW("st.relaxed.gpu.b32", "ld.relaxed.gpu.b32", "fence.sc.cta; "), SPLIT, "allowed free", ""},
	{"IRIW.weak", IRIW("st.b32", "ld.b32", "fence.sc.gpu; "), SPLIT, "allowed race", ""},
	/* cumulativity */
	{"WRC.rel.acq", "st.relaxed.gpu.b32 x 1 || ld.relaxed.gpu.b32 r0 x; st.release.gpu.b32 y 1 || ld.acquire.gpu.b32 r0 y; ld.relaxed.gpu.b32 r1 x",
	 "1:r0=1 & 2:r0=1 & 2:r1=0", "forbidden -", ""},
	{"WRC.relaxed", "st.relaxed.gpu.b32 x 1 || ld.relaxed.gpu.b32 r0 x; st.relaxed.gpu.b32 y 1 || ld.acquire.gpu.b32 r0 y; ld.relaxed.gpu.b32 r1 x",
	 "1:r0=1 & 2:r0=1 & 2:r1=0", "allowed free", ""},
	{"WRC.weak", "st.b32 x 1 || ld.b32 r0 x; st.release.gpu.b32 y 1 || ld.acquire.gpu.b32 r0 y; ld.b32 r1 x", "1:r0=1 & 2:r0=1 & 2:r1=0", "allowed race", ""},
	{"WRC.last-weak", "st.relaxed.gpu.b32 x 1 || ld.relaxed.gpu.b32 r0 x; st.release.gpu.b32 y 1 || ld.acquire.gpu.b32 r0 y; ld.b32 r1 x",
	 "1:r0=1 & 2:r0=1", "allowed free", ""},
	{"WRC.last-weak.no-observation", "st.relaxed.gpu.b32 x 1 || ld.relaxed.gpu.b32 r0 x; st.release.gpu.b32 y 1 || ld.acquire.gpu.b32 r0 y; ld.b32 r1 x",
	 "1:r0=1 & 2:r0=1", "allowed race", "o"},
#define ISA2(first, second) "st.b32 x 1; st." first ".b32 f 1 || ld.acquire.gpu.b32 r0 f; st." second ".b32 y 1 || ld.acquire.gpu.b32 r0 y; ld.b32 r1 x"
	{"ISA2.rel.acq", ISA2("release.gpu", "release.gpu"), "1:r0=1 & 2:r0=1 & 2:r1=0", "forbidden -", ""},
	{"ISA2.rel.acq.fresh", ISA2("release.gpu", "release.gpu"), "1:r0=1 & 2:r0=1", "allowed free", ""},
	{"ISA2.relaxed", ISA2("release.gpu", "relaxed.gpu"), "1:r0=1 & 2:r0=1", "allowed race", ""},
	{"ISA2.narrow", ISA2("release.cta", "release.gpu"), "1:r0=1 & 2:r0=1", "allowed race", ""},
	{"ISA2.scopes", "st.b32 x 1; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; st.release.sys.b32 y 1 || @1 ld.acquire.sys.b32 r0 y; ld.b32 r1 x",
	 "1:r0=1 & 2:r0=1 & 2:r1=0", "forbidden -", ""},
	{"ISA2.scopes.narrow", "st.b32 x 1; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; st.release.gpu.b32 y 1 || @1 ld.acquire.sys.b32 r0 y; ld.b32 r1 x",
	 "1:r0=1 & 2:r0=1", "allowed race", ""},
	{"ISA2.bar", "st.b32 x 1; bar || + bar; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; ld.b32 r1 x", "2:r0=1 & 2:r1=0", "forbidden -", "p"},
	/* write to write */
	{"W2+2.relaxed", "st.relaxed.gpu.b32 x 1; st.relaxed.gpu.b32 y 2 || st.relaxed.gpu.b32 y 1; st.relaxed.gpu.b32 x 2", "x=1 & y=1", "allowed free", ""},
	{"W2+2.rel", "st.relaxed.gpu.b32 x 1; st.release.gpu.b32 y 2 || st.relaxed.gpu.b32 y 1; st.release.gpu.b32 x 2", "x=1 & y=1", "allowed free", ""},
	{"W2+2.sc", "st.relaxed.gpu.b32 x 1; fence.sc.gpu; st.relaxed.gpu.b32 y 2 || st.relaxed.gpu.b32 y 1; fence.sc.gpu; st.relaxed.gpu.b32 x 2", "x=1 & y=1",
	 "forbidden -", ""},
	{"W2+2.weak", "st.b32 x 1; st.b32 y 2 || st.b32 y 1; st.b32 x 2", "x=1 & y=1", "allowed race", ""},
	{"R.relaxed", "st.relaxed.gpu.b32 x 1; st.relaxed.gpu.b32 y 1 || st.relaxed.gpu.b32 y 2; ld.relaxed.gpu.b32 r0 x", "y=2 & 1:r0=0", "allowed free", ""},
	{"R.acq_rel", "st.relaxed.gpu.b32 x 1; fence.acq_rel.gpu; st.relaxed.gpu.b32 y 1 || st.relaxed.gpu.b32 y 2; fence.acq_rel.gpu; ld.relaxed.gpu.b32 r0 x",
	 "y=2 & 1:r0=0", "allowed free", ""},
	{"R.sc", "st.relaxed.gpu.b32 x 1; fence.sc.gpu; st.relaxed.gpu.b32 y 1 || st.relaxed.gpu.b32 y 2; fence.sc.gpu; ld.relaxed.gpu.b32 r0 x", "y=2 & 1:r0=0",
	 "forbidden -", ""},
	{"S.relaxed", "st.relaxed.gpu.b32 x 2; st.relaxed.gpu.b32 y 1 || ld.relaxed.gpu.b32 r0 y; st.relaxed.gpu.b32 x 1", "1:r0=1 & x=2", "allowed free", ""},
	{"S.rel.acq", "st.b32 x 2; st.release.gpu.b32 y 1 || ld.acquire.gpu.b32 r0 y; st.b32 x 1", "1:r0=1 & x=2", "forbidden -", ""},
	{"S.rel.acq.last", "st.b32 x 2; st.release.gpu.b32 y 1 || ld.acquire.gpu.b32 r0 y; st.b32 x 1", "1:r0=1 & x=1", "allowed free", ""},
	{"S.rel.relaxed", "st.b32 x 2; st.release.gpu.b32 y 1 || ld.relaxed.gpu.b32 r0 y; st.b32 x 1", "1:r0=1 & x=2", "allowed race", ""},
	/* coherence */
	{"CoRR.relaxed", "st.relaxed.gpu.b32 x 1 || ld.relaxed.gpu.b32 r0 x; ld.relaxed.gpu.b32 r1 x", STALE, "forbidden -", ""},
	{"CoRR.weak", "st.b32 x 1 || ld.b32 r0 x; ld.b32 r1 x", STALE, "allowed race", ""},
	{"CoRR.cta", "st.relaxed.gpu.b32 x 1 || ld.relaxed.cta.b32 r0 x; ld.relaxed.cta.b32 r1 x", STALE, "allowed race", ""},
	{"CoRR.relaxed-weak", "st.relaxed.gpu.b32 x 1 || ld.relaxed.gpu.b32 r0 x; ld.b32 r1 x", STALE, "forbidden -", ""},
	{"CoRR.relaxed-weak.fresh", "st.relaxed.gpu.b32 x 1 || ld.relaxed.gpu.b32 r0 x; ld.b32 r1 x", FRESH, "allowed free", ""},
	{"CoRR.relaxed-weak.no-observation", "st.relaxed.gpu.b32 x 1 || ld.relaxed.gpu.b32 r0 x; ld.b32 r1 x", FRESH, "allowed race", "o"},
	{"CoRR2.relaxed", "st.relaxed.gpu.b32 x 1 || st.relaxed.gpu.b32 x 2 || ld.relaxed.gpu.b32 r0 x; ld.relaxed.gpu.b32 r1 x || ld.relaxed.gpu.b32 r0 x; ld.relaxed.gpu.b32 r1 x",
	 "2:r0=1 & 2:r1=2 & 3:r0=2 & 3:r1=1", "forbidden -", ""},
	{"CoRR2.weak", "st.b32 x 1 || st.b32 x 2 || ld.b32 r0 x; ld.b32 r1 x || ld.b32 r0 x; ld.b32 r1 x", "2:r0=1 & 2:r1=2 & 3:r0=2 & 3:r1=1",
	 "allowed race", ""},
	{"CoRR.causal", "st.relaxed.gpu.b32 x 1 || st.relaxed.gpu.b32 x 2; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; ld.b32 r1 x",
	 "2:r0=1 & 2:r1=1 & x=2", "forbidden -", ""},
	{"CoRR.volatile.two-gpus", "st.volatile.b32 x 1 || @1 ld.volatile.b32 r0 x", NULL, "allowed free", ""},
	{"CoRR.gpu.two-gpus", "st.volatile.b32 x 1 || @1 ld.relaxed.gpu.b32 r0 x", NULL, "allowed race", ""},
	{"CoWW", "st.b32 x 1; st.b32 x 2", "x=1", "forbidden -", ""},
	{"CoWR", "st.b32 x 1; ld.b32 r0 x", "0:r0=0", "forbidden -", ""},
	{"CoRW1", "ld.b32 r0 x; st.b32 x 1", "0:r0=1", "forbidden -", ""},
	{"CoRW2", "ld.relaxed.gpu.b32 r0 x; st.relaxed.gpu.b32 x 2 || st.relaxed.gpu.b32 x 1", "0:r0=1 & x=1", "forbidden -", ""},
	{"CoRW2.weak", "ld.b32 r0 x; st.b32 x 2 || st.b32 x 1", "0:r0=1 & x=1", "allowed race", ""},
	/* inside a CTA */
	{"BAR", "st.b32 x 1; bar || + bar; ld.b32 r0 x", "1:r0=0", "forbidden -", "p"},
	{"BAR.fresh", "st.b32 x 1; bar || + bar; ld.b32 r0 x", NULL, "allowed free", "p"},
	{"BAR.phases", "bar; ld.b32 r0 y || + st.b32 x 1; bar", NULL, "allowed free", ""},
	/* between CTAs, by warps: who stores, what stands between, who raises the flag */
#define WARPS(stores, between, waits) "st.b32 x 1; " stores " || + " between "st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; " waits "ld.b32 r1 x"
#define SEEN "2:r0=1"
	{"WARP.none", WARPS("", "", ""), SEEN, "allowed race", "w"},
	{"WARP.none.one-program", WARPS("", "", ""), "2:r0=1 & 2:r1=1", "allowed some", ""},
	{"WARP.bar", WARPS("bar", "bar; ", ""), SEEN, "allowed free", "w"},
	{"WARP.bar.stale", WARPS("bar", "bar; ", ""), SEEN " & 2:r1=0", "forbidden -", "w"},
	{"WARP.bar.early", "bar; st.b32 x 1 || + bar; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; ld.b32 r1 x", SEEN, "allowed race", "w"},
	{"WARP.named", WARPS("bar.sync 1 64", "bar.sync 1 64; ", ""), SEEN, "allowed free", "w"},
	{"WARP.named.pure", WARPS("bar.sync 1 64", "bar.sync 1 64; ", ""), SEEN, "allowed free", "p"},
	{"WARP.named.other", WARPS("bar.sync 1 32", "bar.sync 2 32; ", ""), SEEN, "allowed race", "w"},
	{"WARP.named.other.pure", WARPS("bar.sync 1 32", "bar.sync 2 32; ", ""), SEEN, "allowed race", "p"},
	{"WARP.red", WARPS("bar.red 1 64", "bar.red 1 64; ", ""), SEEN, "allowed free", "w"},
	{"WARP.arrive", WARPS("bar.arrive 1 64", "bar.sync 1 64; ", ""), SEEN, "allowed free", "w"},
	{"WARP.arrive.pure", WARPS("bar.arrive 1 64", "bar.sync 1 64; ", ""), SEEN, "allowed free", "p"},
	{"WARP.arrive.other-way", WARPS("bar.sync 1 64", "bar.arrive 1 64; ", ""), SEEN, "allowed race", "w"},
	{"WARP.arrive.other-way.pure", WARPS("bar.sync 1 64", "bar.arrive 1 64; ", ""), SEEN, "allowed race", "p"},
	{"WARP.arrive.early", "bar.arrive 1 64; st.b32 x 1 || + bar.sync 1 64; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; ld.b32 r1 x", SEEN,
	 "allowed race", "w"},
	{"WARP.mbarrier", WARPS("mbarrier.arrive 0 1", "mbarrier.wait 0 0; ", ""), SEEN, "allowed free", "w"},
	{"WARP.mbarrier.pure", WARPS("mbarrier.arrive 0 1", "mbarrier.wait 0 0; ", ""), SEEN, "allowed free", "p"},
	{"WARP.mbarrier.phase-before", WARPS("mbarrier.arrive 0 2", "mbarrier.wait 0 1; mbarrier.arrive 0 2; ", ""), SEEN, "allowed race", "w"},
	{"WARP.mbarrier.not-waited-for", WARPS("mbarrier.arrive 0 2", "mbarrier.arrive 0 2; ", ""), SEEN, "allowed race", "w"},
	{"WARP.mbarrier.token", WARPS("mbarrier.arrive 0 2", "mbarrier.arrive 0 2; mbarrier.wait 0 token; ", ""), SEEN, "allowed free", "w"},
	{"WARP.mbarrier.token.early", "mbarrier.arrive 0 2; st.b32 x 1 || + mbarrier.arrive 0 2; mbarrier.wait 0 token; st.release.gpu.b32 f 1 || "
	 "ld.acquire.gpu.b32 r0 f; ld.b32 r1 x", SEEN, "allowed race", "w"},
	{"WARP.mbarrier.other", WARPS("mbarrier.arrive 0 1", "mbarrier.arrive 1 1; mbarrier.wait 1 0; ", ""), SEEN, "allowed race", "w"},
	{"WARP.mbarrier.later-phase", "st.b32 x 1; mbarrier.arrive 0 2; mbarrier.wait 0 0; mbarrier.arrive 0 2 || + mbarrier.arrive 0 2; mbarrier.wait 0 0; "
	 "mbarrier.arrive 0 2; mbarrier.wait 0 1; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; ld.b32 r1 x", SEEN, "allowed free", "w"},
	{"WARP.receives", "st.b32 x 1; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; bar || + bar; ld.b32 r1 x", "1:r0=1", "allowed free", "w"},
	{"WARP.receives.none", "st.b32 x 1; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f || + ld.b32 r1 x", "1:r0=1", "allowed race", "w"},
	{"WARP.receives.early", "st.b32 x 1; st.release.gpu.b32 f 1 || bar; ld.acquire.gpu.b32 r0 f || + bar; ld.b32 r1 x", "1:r0=1", "allowed race", "w"},
	{"WARP.receives.arrive", "st.b32 x 1; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; bar.arrive 3 64 || + bar.sync 3 64; ld.b32 r1 x", "1:r0=1",
	 "allowed free", "w"},
	{"WARP.receives.arrive.other-way", "st.b32 x 1; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; bar.sync 3 64 || + bar.arrive 3 64; ld.b32 r1 x",
	 "1:r0=1", "allowed race", "w"},
	{"WARP.fence-of-all", "st.b32 x 1; fence.acq_rel.gpu; bar || + fence.acq_rel.gpu; bar; st.relaxed.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; ld.b32 r1 x",
	 SEEN, "allowed race", "w"},
	{"WARP.fence-behind", "st.b32 x 1; bar || + bar; fence.acq_rel.gpu; st.relaxed.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; ld.b32 r1 x", SEEN,
	 "allowed free", "w"},
	{"WARP.cta-flag", "st.b32 x 1; st.release.cta.b32 y 1 || + ld.acquire.cta.b32 r2 y; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; ld.b32 r1 x",
	 "1:r2=1 & 2:r0=1", "allowed free", "w"},
	{"WARP.cta-flag.relaxed", "st.b32 x 1; st.relaxed.cta.b32 y 1 || + ld.acquire.cta.b32 r2 y; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; ld.b32 r1 x",
	 "1:r2=1 & 2:r0=1", "allowed race", "w"},
	{"WARP.overwrites", "ld.b32 r1 x; bar || + bar; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; st.b32 x 1", SEEN, "allowed free", "w"},
	{"WARP.overwrites.none", "ld.b32 r1 x || + st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; st.b32 x 1", SEEN, "allowed race", "w"},
	{"WARP.inside", "st.b32 x 1 || + st.b32 x 2", NULL, "allowed free", "w"}, /* races within a CTA are none */
	{"WARP.inside.pure", "st.b32 x 1 || + st.b32 x 2", NULL, "allowed race", "p"},
	{"BAR.none", "st.b32 x 1 || + ld.b32 r0 x", NULL, "allowed race", "p"},
	{"BAR.none.one", "st.b32 x 1 || + ld.b32 r0 x", NULL, "allowed free", ""},
	{"BAR.between-ctas", "st.b32 x 1; bar || bar; ld.b32 r0 x", NULL, "allowed race", ""},
	{"CTA.one.publishes", "st.b32 x 1 || + st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; ld.b32 r1 x", "2:r0=1", "allowed some", ""},
	{"CTA.bar.publishes", "st.b32 x 1; bar || + bar; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; ld.b32 r1 x", "2:r0=1", "allowed free", ""},
	/* sizes */
	{"SIZE.partial", "st.relaxed.gpu.b32 x 0x10001 || ld.relaxed.gpu.b16 r0 x", NULL, "allowed race", ""},
	{"SIZE.neighbours", "st.b8 x 1 || st.b8 x+1 1", "x=257", "allowed free", ""},
	{"SIZE.overlap", "st.b16 x 1 || st.b8 x+1 1", NULL, "allowed race", ""},
	{"SIZE.halves", "st.b16 x 1; st.b16 x+2 2; ld.b32 r0 x", "0:r0=0x20001", "allowed free", ""},
	{"SIZE.halves.torn", "st.b16 x 1; st.b16 x+2 2; ld.b32 r0 x", "0:r0=1", "forbidden -", ""},
	{"SIZE.halves.ordered", "st.b16 x 1; st.b16 x+2 2; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; ld.b32 r1 x", "1:r0=1 & 1:r1=0x20001",
	 "allowed free", ""},
	{"SIZE.atoms", "atom.relaxed.gpu.add.u32 r0 w 1 || atom.relaxed.gpu.add.u64 r0 w 1", NULL, "allowed race", ""},
	{"SIZE.vector", "st.v2.b32 w 7; st.release.gpu.b32 f 1 || ld.acquire.gpu.b32 r0 f; ld.b32 r1 w+4", "1:r0=1 & 1:r1=0", "forbidden -", ""},
	{"SIZE.vector.strong", "st.relaxed.gpu.v2.b32 w 7 || ld.relaxed.gpu.b32 r0 w+4", NULL, "allowed free", ""},
	{"SIZE.alias", "st.b32 x 1 || ld.b16 r0 high", NULL, "allowed race", ""},
	{"LOOP", "repeat 3; red.relaxed.gpu.add.u32 x 1; end", "x=3", "allowed free", ""},
};

/* Several launches: whole programs. */
struct program { const char *name, *text, *verdict, *options; };

#define WRITER "location x\nlocation f\nlaunch P stream 0\ncta 0\n st.b32 x 1\n"
#define READER "launch Q stream 1\ncta 0\n ld.b32 r0 x\n"
#define RAISE "launch Q stream 0\ncta 0\n st.relaxed.gpu.b32 f 1\n"

static const struct program programs[] = {
	{"STREAM.same", WRITER "launch Q stream 0\ncta 0\n ld.b32 r0 x\n", "allowed free", "p"},
	{"STREAM.same.stale", WRITER "launch Q stream 0\ncta 0\n ld.b32 r0 x\nexists Q.0:r0 = 0\n", "forbidden -", ""},
	{"STREAM.two", WRITER READER, "allowed race", ""},
	{"STREAM.event", WRITER "record 0 rank 0 stream 0\nwait 0 rank 0 stream 1\n" READER, "allowed free", "p"},
	{"STREAM.event.early", "location x\nrecord 0 rank 0 stream 0\nlaunch P stream 0\ncta 0\n st.b32 x 1\nwait 0 rank 0 stream 1\n" READER, "allowed race", ""},
	{"STREAM.event.late", WRITER "record 0 rank 0 stream 0\n" READER "wait 0 rank 0 stream 1\n", "allowed race", ""},
	{"STREAM.event.chain", WRITER "record 0 rank 0 stream 0\nwait 0 rank 0 stream 2\nrecord 1 rank 0 stream 2\nwait 1 rank 0 stream 1\n" READER, "allowed free", ""},
	{"HOST.sync", WRITER "sync stream 0 rank 0\n" READER, "allowed free", ""},
	{"HOST.sync.other", WRITER "sync stream 1 rank 0\n" READER, "allowed race", ""},
	{"HOST.sync.event", WRITER "record 0 rank 0 stream 0\nsync event 0 rank 0\n" READER, "allowed free", ""},
	{"HOST.sync.ranks", "ranks 2\ndevices 0 1\n" WRITER "sync all rank 0\nlaunch Q rank 1\ncta 0\n ld.b32 r0 x\n", "allowed free", ""},
	{"HOST.sync.ranks.not", "ranks 2\ndevices 0 1\n" WRITER "sync all rank 1\nlaunch Q rank 1\ncta 0\n ld.b32 r0 x\n", "allowed race", ""},
	{"KERNEL.start", WRITER RAISE "launch R stream 1\ncta 0\n ld.acquire.gpu.b32 r0 f\n ld.b32 r1 x\nexists R.0:r0 = 1\n", "allowed free", ""},
	{"KERNEL.start.pure", WRITER RAISE "launch R stream 1\ncta 0\n ld.acquire.gpu.b32 r0 f\n ld.b32 r1 x\nexists R.0:r0 = 1\n", "allowed race", "p"},
	{"KERNEL.start.own", "location x\nlocation f\nlaunch Q stream 0\ncta 0\n st.b32 x 1\n st.relaxed.gpu.b32 f 1\nlaunch R stream 1\ncta 0\n ld.acquire.gpu.b32 r0 f\n"
	 " ld.b32 r1 x\nexists R.0:r0 = 1\n", "allowed race", ""},
	{"KERNEL.end", "location x\nlocation f\nlaunch P stream 0\ncta 0\n st.b32 x 1\n st.release.gpu.b32 f 1\nlaunch Q stream 1\ncta 0\n ld.relaxed.gpu.b32 r0 f\n"
	 "launch R stream 1\ncta 0\n ld.b32 r1 x\nexists Q.0:r0 = 1\n", "allowed free", ""},
	{"KERNEL.end.pure", "location x\nlocation f\nlaunch P stream 0\ncta 0\n st.b32 x 1\n st.release.gpu.b32 f 1\nlaunch Q stream 1\ncta 0\n ld.relaxed.gpu.b32 r0 f\n"
	 "launch R stream 1\ncta 0\n ld.b32 r1 x\nexists Q.0:r0 = 1\n", "allowed race", "p"},
	{"NC.before", WRITER "launch Q stream 0\ncta 0\n ld.global.nc.b32 r0 x\n", "allowed free", ""},
	{"NC.concurrent", WRITER "launch Q stream 1\ncta 0\n ld.global.nc.b32 r0 x\n", "allowed race stale-nc", ""},
	{"NC.own", "location x\nlaunch P\ncta 0\n st.b32 x 1\n ld.global.nc.b32 r0 x\n", "allowed race stale-nc", ""},
	{"NC.own.after", "location x\nlaunch P\ncta 0\n ld.global.nc.b32 r0 x\n st.b32 x 1\n", "allowed free", ""},
	{"NC.flag", "location x\nlocation f\nlaunch P grid 2\ncta 0\n st.b32 x 1\n st.release.gpu.b32 f 1\ncta 1\n ld.acquire.gpu.b32 r0 f\n ld.global.nc.b32 r1 x\n"
	 "exists P.1:r0 = 1 & P.1:r1 = 0\n", "allowed race stale-nc", ""},
	{"WARP.line", "location x bytes 128\nlocation f\nlaunch P grid 2 block 64\ncta 0 threads 0..31\n st.b32 x tid*4 1\ncta 0 thread 32\n st.release.gpu.b32 f 1\n"
	 "cta 1 threads 0..31\n ld.acquire.gpu.b32 r0 f\n ld.b32 r1 x tid*4\nexists P.1:r0 = 0\n", "allowed some", ""},
	{"WARP.line.bar", "location x bytes 128\nlocation f\nlaunch P grid 2 block 64\ncta 0 threads 0..31\n st.b32 x tid*4 1\n bar\ncta 0 thread 32\n bar\n st.release.gpu.b32 f 1\n"
	 "cta 1 thread 0\n poll ld.acquire.gpu.b32 r0 f 1 9\n bar\ncta 1 threads 32..63\n bar\n ld.b32 r1 x-128 tid*4\n", "allowed free", ""},
	/* lanes of one warp */
#define LANES(one, other) "location x\nlocation f\nlaunch P grid 2 block 64\ncta 0 thread 1\n st.b32 x 1\n" one "cta 0 thread 0\n" other \
	" st.release.gpu.b32 f 1\ncta 1\n ld.acquire.gpu.b32 r0 f\n ld.b32 r1 x\nexists P.1:r0 = 1\n"
	{"WARP.lanes", LANES(" bar.warp.sync\n", " bar.warp.sync\n"), "allowed free", "w"},
	{"WARP.lanes.pure", LANES(" bar.warp.sync\n", " bar.warp.sync\n"), "allowed free", "p"},
	{"WARP.lanes.cta", LANES(" bar.warp.sync\n", " bar.warp.sync\n"), "allowed free", ""},
	{"WARP.lanes.none", LANES("", ""), "allowed some", "w"}, /* they count as one, in any order */
	{"WARP.lanes.none.pure", LANES("", ""), "allowed race", "p"},
	{"WARP.lanes.section", "location x bytes 128\nlocation f\nlaunch P grid 2 block 64\ncta 0 threads 0..31\n st.b32 x tid*4 1\n"
	 " st.release.gpu.b32 f 1\ncta 1\n ld.acquire.gpu.b32 r0 f\n ld.b32 r1 x+16\nexists P.1:r0 = 1\n", "allowed free", "w"},
	{"WARP.two-of-a-section.all", "location x bytes 12\nlocation f\nlaunch P grid 2 block 64\ncta 0 threads 31..32\n st.b32 x-124 tid*4 1\n"
	 " red.release.gpu.add.u32 f 1\ncta 1\n ld.acquire.gpu.b32 r0 f\n ld.b32 r1 x\nexists P.1:r0 = 2\n", "allowed free", "w"},
	{"WARP.two-of-a-section.one", "location x bytes 12\nlocation f\nlaunch P grid 2 block 64\ncta 0 threads 31..32\n st.b32 x-124 tid*4 1\n"
	 " red.release.gpu.add.u32 f 1\ncta 1\n ld.acquire.gpu.b32 r0 f\n ld.b32 r1 x\nexists P.1:r0 = 1\n", "allowed some", "w"},
	{"WARP.lanes.arrival", "location x\nlocation f\nlaunch P grid 2 block 64\ncta 0 thread 0\n mbarrier.arrive 0 1\ncta 0 thread 1\n st.b32 x 1\n"
	 "cta 0 thread 32\n mbarrier.wait 0 0\n st.release.gpu.b32 f 1\ncta 1\n ld.acquire.gpu.b32 r0 f\n ld.b32 r1 x\nexists P.1:r0 = 1\n",
	 "allowed some", "w"},
	/* by way of another warp, and back: no other order of the lanes is possible */
	{"WARP.there-and-back", "location x\nlocation f\nlaunch P grid 2 block 64\ncta 0 threads 0..15\n st.relaxed.cta.b32 x 1\n mbarrier.arrive 0 16\n"
	 "cta 0 threads 16..31\n mbarrier.wait 1 0\n st.release.gpu.b32 f 1\ncta 0 thread 32\n mbarrier.wait 0 0\n mbarrier.arrive 1 1\n"
	 "cta 1\n ld.acquire.gpu.b32 r0 f\n ld.b32 r1 x\nexists P.1:r0 = 1\n", "allowed free", "w"},
};

#endif

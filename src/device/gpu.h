/* The machine beneath the runtime: lanes, votes, shuffles, atomics and memory that other GPUs see. Inline PTX on the
 * device (FACTS D: clang's builtins become undefined calls); on the host one lane is a warp of its own. Everything that
 * touches shared tables is relaxed at .sys unless its name says more: weak accesses might stay in an L1. Pointers are to
 * global memory (a generic atomic costs a dozen instructions more); gpu_peek alone reads any, launch records too. */
#ifndef GSAN_DEVICE_GPU_H
#define GSAN_DEVICE_GPU_H

#include <stdint.h>

typedef uint32_t u32;
typedef uint64_t u64;

#define ALWAYS static inline __attribute__((always_inline))
#define NEVER static __attribute__((noinline))

#ifdef __NVPTX__

#define SREG(name, reg) \
	ALWAYS u32 gpu_##name(void) { u32 r; __asm__ volatile("mov.u32 %0, %%" reg ";" : "=r"(r)); return r; }
SREG(lane, "laneid") SREG(nsmid, "nsmid")
SREG(tid_x, "tid.x") SREG(tid_y, "tid.y") SREG(tid_z, "tid.z")
SREG(ntid_x, "ntid.x") SREG(ntid_y, "ntid.y") SREG(ntid_z, "ntid.z")
SREG(ctaid_x, "ctaid.x") SREG(ctaid_y, "ctaid.y") SREG(ctaid_z, "ctaid.z")
SREG(nctaid_x, "nctaid.x") SREG(nctaid_y, "nctaid.y") SREG(nctaid_z, "nctaid.z")
#undef SREG

ALWAYS u32 gpu_active(void) { u32 r; __asm__ volatile("activemask.b32 %0;" : "=r"(r) :: "memory"); return r; }
#define GPU_WARP (~0u) /* all lanes of a warp: the only mask, see gpu_whole() */
ALWAYS u32 gpu_ballot(int p)
{
	u32 r;
	__asm__ volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, -1; }" : "=r"(r) : "r"(p) : "memory");
	return r;
}
ALWAYS u32 gpu_shfl(u32 v, u32 lane)
{
	u32 r;
	__asm__ volatile("shfl.sync.idx.b32 %0, %1, %2, 31, -1;" : "=r"(r) : "r"(v), "r"(lane) : "memory");
	return r;
}
ALWAYS u32 gpu_match64(u64 v)
{
	u32 r;
	__asm__ volatile("match.any.sync.b64 %0, %1, -1;" : "=r"(r) : "l"(v) : "memory");
	return r;
}
/* Does a generic address name shared memory of this CTA, or local memory? */
ALWAYS int gpu_is_own(u64 address)
{
	u32 r;
	__asm__("{ .reg .pred p, q; isspacep.shared p, %1; isspacep.local q, %1; or.pred p, p, q; selp.u32 %0, 1, 0, p; }"
			 : "=r"(r) : "l"(address));
	return (int)r;
}

/* All lanes meet, see what the others stored, and go on as one. bar.warp.sync alone lets lanes that have parted wait for each other and
 * then go on apart (ptxas 13.0, sm_90); what is `aligned` joins them (WARPSYNC.ALL), and ptxas drops it itself, for nobody reads the result. */
ALWAYS void gpu_warp_sync(void)
{
	u32 r;
	__asm__ volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(0) : "memory");
	__asm__ volatile("bar.warp.sync -1;" ::: "memory");
}
ALWAYS void gpu_pause(void) { __asm__ volatile("nanosleep.u32 100;" ::: "memory"); }
ALWAYS int gpu_crowded(void) { return 0; }
ALWAYS void gpu_sleep(u32 ns) { __asm__ volatile("nanosleep.u32 %0;" :: "r"(ns) : "memory"); }
ALWAYS void gpu_fence_sys(void) { __asm__ volatile("fence.acq_rel.sys;" ::: "memory"); }
ALWAYS void gpu_fence_cta(void) { __asm__ volatile("fence.acq_rel.cta;" ::: "memory"); }

ALWAYS u32 gpu_load32(const void *p)
{
	u32 r;
	__asm__ volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(r) : "l"(p) : "memory");
	return r;
}
ALWAYS u64 gpu_load64(const void *p)
{
	u64 r;
	__asm__ volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(r) : "l"(p) : "memory");
	return r;
}
ALWAYS u32 gpu_peek32(const void *p)
{
	u32 r;
	__asm__ volatile("ld.relaxed.sys.u32 %0, [%1];" : "=r"(r) : "l"(p) : "memory");
	return r;
}
ALWAYS u64 gpu_peek64(const void *p)
{
	u64 r;
	__asm__ volatile("ld.relaxed.sys.u64 %0, [%1];" : "=l"(r) : "l"(p) : "memory");
	return r;
}
ALWAYS void gpu_load128(const void *p, u64 *a, u64 *b)
{
	__asm__ volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];" : "=l"(*a), "=l"(*b) : "l"(p) : "memory");
}
/* Of what only the holder of a lock changes, by that holder: from the L1, which taking the lock has emptied, or which all who ever
 * take it share. */
ALWAYS u32 gpu_own32(const void *p)
{
	u32 r;
	__asm__ volatile("ld.global.u32 %0, [%1];" : "=r"(r) : "l"(p) : "memory");
	return r;
}
ALWAYS u64 gpu_own64(const void *p)
{
	u64 r;
	__asm__ volatile("ld.global.u64 %0, [%1];" : "=l"(r) : "l"(p) : "memory");
	return r;
}
ALWAYS void gpu_own128(const void *p, u64 *a, u64 *b)
{
	__asm__ volatile("ld.global.v2.u64 {%0, %1}, [%2];" : "=l"(*a), "=l"(*b) : "l"(p) : "memory");
}
ALWAYS u64 gpu_cached64(const void *p) /* as the SM's L1 has it: perhaps an older value, of this launch */
{
	u64 r;
	__asm__ volatile("ld.global.ca.u64 %0, [%1];" : "=l"(r) : "l"(p) : "memory");
	return r;
}
ALWAYS void gpu_store32(void *p, u32 v) { __asm__ volatile("st.relaxed.sys.global.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
ALWAYS void gpu_store64(void *p, u64 v) { __asm__ volatile("st.relaxed.sys.global.u64 [%0], %1;" :: "l"(p), "l"(v) : "memory"); }
ALWAYS void gpu_release32(void *p, u32 v) { __asm__ volatile("st.release.sys.global.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
ALWAYS u64 gpu_exch64(void *p, u64 v)
{
	u64 r;
	__asm__ volatile("atom.relaxed.sys.global.exch.b64 %0, [%1], %2;" : "=l"(r) : "l"(p), "l"(v) : "memory");
	return r;
}
ALWAYS u64 gpu_cas64(void *p, u64 old, u64 v)
{
	u64 r;
	__asm__ volatile("atom.relaxed.sys.global.cas.b64 %0, [%1], %2, %3;" : "=l"(r) : "l"(p), "l"(old), "l"(v) : "memory");
	return r;
}
ALWAYS u32 gpu_acquire32(const void *p)
{
	u32 r;
	__asm__ volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(r) : "l"(p) : "memory");
	return r;
}
ALWAYS u32 gpu_add32_acquire(void *p, u32 v)
{
	u32 r;
	__asm__ volatile("atom.acquire.sys.global.add.u32 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(v) : "memory");
	return r;
}
ALWAYS void gpu_add32_release(void *p, u32 v)
{
	__asm__ volatile("red.release.sys.global.add.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory");
}
ALWAYS u32 gpu_acquire32_cta(const void *p) /* these among the threads of a CTA */
{
	u32 r;
	__asm__ volatile("ld.acquire.cta.global.u32 %0, [%1];" : "=r"(r) : "l"(p) : "memory");
	return r;
}
ALWAYS u32 gpu_add32_acquire_cta(void *p, u32 v)
{
	u32 r;
	__asm__ volatile("atom.acquire.cta.global.add.u32 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(v) : "memory");
	return r;
}
ALWAYS void gpu_add32_release_cta(void *p, u32 v)
{
	__asm__ volatile("red.release.cta.global.add.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory");
}
ALWAYS u32 gpu_cas32(void *p, u32 old, u32 v)
{
	u32 r;
	__asm__ volatile("atom.relaxed.sys.global.cas.b32 %0, [%1], %2, %3;" : "=r"(r) : "l"(p), "r"(old), "r"(v) : "memory");
	return r;
}
ALWAYS u32 gpu_add32(void *p, u32 v)
{
	u32 r;
	__asm__ volatile("atom.relaxed.sys.global.add.u32 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(v) : "memory");
	return r;
}
ALWAYS u64 gpu_add64(void *p, u64 v)
{
	u64 r;
	__asm__ volatile("atom.relaxed.sys.global.add.u64 %0, [%1], %2;" : "=l"(r) : "l"(p), "l"(v) : "memory");
	return r;
}
ALWAYS void gpu_or64(void *p, u64 v) { __asm__ volatile("red.relaxed.sys.global.or.b64 [%0], %1;" :: "l"(p), "l"(v) : "memory"); }
ALWAYS void gpu_max64(void *p, u64 v) { __asm__ volatile("red.relaxed.sys.global.max.u64 [%0], %1;" :: "l"(p), "l"(v) : "memory"); }
ALWAYS void gpu_max32(void *p, u32 v) { __asm__ volatile("red.relaxed.sys.global.max.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
ALWAYS u32 gpu_or32(void *p, u32 v)
{
	u32 r;
	__asm__ volatile("atom.relaxed.sys.global.or.b32 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(v) : "memory");
	return r;
}
ALWAYS u32 gpu_and32(void *p, u32 v)
{
	u32 r;
	__asm__ volatile("atom.relaxed.sys.global.and.b32 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(v) : "memory");
	return r;
}
ALWAYS void gpu_count(u64 *p, u64 v) { __asm__ volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" :: "l"(p), "l"(v) : "memory"); }

#else /* host: one lane, and the position that the test sets */

ALWAYS int gpu_is_own(u64 address) { (void)address; return 0; }

struct gpu_host { u32 tid[3], ntid[3], ctaid[3], nctaid[3], nsmid; };
extern _Thread_local struct gpu_host gpu_host;

#define SREG(name, field) ALWAYS u32 gpu_##name(void) { return gpu_host.field; }
SREG(nsmid, nsmid)
SREG(tid_x, tid[0]) SREG(tid_y, tid[1]) SREG(tid_z, tid[2])
SREG(ntid_x, ntid[0]) SREG(ntid_y, ntid[1]) SREG(ntid_z, ntid[2])
SREG(ctaid_x, ctaid[0]) SREG(ctaid_y, ctaid[1]) SREG(ctaid_z, ctaid[2])
SREG(nctaid_x, nctaid[0]) SREG(nctaid_y, nctaid[1]) SREG(nctaid_z, nctaid[2])
#undef SREG
ALWAYS u32 gpu_lane(void) { return 0; }
ALWAYS int gpu_crowded(void) { return 1; } /* what is done where others wait for a lock is done always: few threads wait in tests */
#define GPU_WARP 1u
ALWAYS u32 gpu_active(void) { return GPU_WARP; }
ALWAYS u32 gpu_ballot(int p) { return p != 0; }
ALWAYS u32 gpu_shfl(u32 v, u32 lane) { (void)lane; return v; }
ALWAYS u32 gpu_match64(u64 v) { (void)v; return GPU_WARP; }
ALWAYS void gpu_warp_sync(void) {}

/* What stands around an access to shared tables: nothing, but where OS threads play warps under ThreadSanitizer (gpu_host.c). */
#ifdef GPU_HOST_THREADS
void gpu_host_begin(u32 seed);       /* this thread plays warps, until the end */
void gpu_host_end(void);
void gpu_host_flush(void);           /* all that it stored is in memory */
void gpu_host_reads(const void *p);  /* before and behind a relaxed read of it */
void gpu_host_read(const void *p);
void gpu_host_write(void *p);        /* before a relaxed RMW of it */
void gpu_host_store(void *p, u64 v, u32 bytes);
void gpu_host_both(const void *p, u64 *a, u64 *b);
void gpu_host_fence(void);
void gpu_pause(void);
#else
ALWAYS void gpu_host_flush(void) {}
ALWAYS void gpu_host_reads(const void *p) { (void)p; }
ALWAYS void gpu_host_read(const void *p) { (void)p; }
ALWAYS void gpu_host_write(void *p) { (void)p; }
ALWAYS void gpu_host_store(void *p, u64 v, u32 bytes)
{
	if (bytes == 4)
		__atomic_store_n((u32 *)p, (u32)v, __ATOMIC_RELAXED);
	else
		__atomic_store_n((u64 *)p, v, __ATOMIC_RELAXED);
}
ALWAYS void gpu_host_both(const void *p, u64 *a, u64 *b) { (void)p, (void)a, (void)b; }
ALWAYS void gpu_host_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
ALWAYS void gpu_pause(void) {}
#endif
ALWAYS void gpu_sleep(u32 ns)
{
	(void)ns;
	gpu_pause();
}

#define HOST_LOAD(name, type) \
	ALWAYS type gpu_##name(const void *p) \
	{ \
		gpu_host_reads(p); \
		type v = __atomic_load_n((const type *)p, __ATOMIC_RELAXED); \
		gpu_host_read(p); \
		return v; \
	}
HOST_LOAD(load32, u32) HOST_LOAD(load64, u64) HOST_LOAD(peek32, u32) HOST_LOAD(peek64, u64) HOST_LOAD(cached64, u64)
#undef HOST_LOAD
#define HOST_RMW(name, type, now) \
	ALWAYS type gpu_##name(void *p, type v) \
	{ \
		gpu_host_write(p); \
		type old = __atomic_load_n((const type *)p, __ATOMIC_RELAXED); \
		while (!__atomic_compare_exchange_n((type *)p, &old, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) \
			; \
		gpu_host_read(p); \
		return old; \
	}
HOST_RMW(exch64, u64, v) HOST_RMW(add32, u32, old + v) HOST_RMW(add64, u64, old + v) HOST_RMW(or32, u32, old | v) HOST_RMW(or64, u64, old | v) HOST_RMW(and32, u32, old & v)
HOST_RMW(larger64, u64, old > v ? old : v) HOST_RMW(larger32, u32, old > v ? old : v)
#undef HOST_RMW
#define HOST_CAS(name, type, order) \
	ALWAYS type gpu_##name(void *p, type old, type v) \
	{ \
		gpu_host_write(p); \
		__atomic_compare_exchange_n((type *)p, &old, v, 0, order, __ATOMIC_RELAXED); \
		gpu_host_read(p); \
		return old; \
	}
HOST_CAS(cas64, u64, __ATOMIC_RELAXED) HOST_CAS(cas32, u32, __ATOMIC_RELAXED)
#undef HOST_CAS
ALWAYS u32 gpu_add32_acquire(void *p, u32 v)
{
	gpu_host_write(p);
	u32 old = __atomic_fetch_add((u32 *)p, v, __ATOMIC_ACQUIRE);
	gpu_host_read(p);
	return old;
}
ALWAYS void gpu_add32_release(void *p, u32 v)
{
	gpu_host_flush();
	gpu_host_write(p);
	__atomic_fetch_add((u32 *)p, v, __ATOMIC_RELEASE);
}
ALWAYS u32 gpu_add32_acquire_cta(void *p, u32 v) { return gpu_add32_acquire(p, v); }
ALWAYS void gpu_add32_release_cta(void *p, u32 v) { gpu_add32_release(p, v); }
ALWAYS void gpu_fence_sys(void) { gpu_host_fence(); }
ALWAYS void gpu_fence_cta(void) { gpu_host_fence(); }
ALWAYS u32 gpu_acquire32(const void *p) { gpu_host_reads(p); return __atomic_load_n((const u32 *)p, __ATOMIC_ACQUIRE); }
ALWAYS u32 gpu_acquire32_cta(const void *p) { return gpu_acquire32(p); }
ALWAYS void gpu_load128(const void *p, u64 *a, u64 *b)
{
	*a = gpu_load64(p);
	*b = gpu_load64((const u64 *)p + 1);
	gpu_host_both(p, a, b);
}
ALWAYS u32 gpu_own32(const void *p)
{
	gpu_host_reads(p);
	return *(const u32 *)p;
}
ALWAYS u64 gpu_own64(const void *p)
{
	gpu_host_reads(p);
	return *(const u64 *)p;
}
ALWAYS void gpu_own128(const void *p, u64 *a, u64 *b)
{
	*a = gpu_own64(p);
	*b = gpu_own64((const u64 *)p + 1);
}
ALWAYS void gpu_store32(void *p, u32 v) { gpu_host_store(p, v, 4); }
ALWAYS void gpu_store64(void *p, u64 v) { gpu_host_store(p, v, 8); }
ALWAYS void gpu_release32(void *p, u32 v) { gpu_host_flush(); __atomic_store_n((u32 *)p, v, __ATOMIC_RELEASE); }
ALWAYS void gpu_max64(void *p, u64 v) { gpu_larger64(p, v); }
ALWAYS void gpu_max32(void *p, u32 v) { gpu_larger32(p, v); }
ALWAYS void gpu_count(u64 *p, u64 v) { gpu_add64(p, v); }

#endif

ALWAYS u32 gpu_popc(u32 v) { return (u32)__builtin_popcount(v); }
ALWAYS u32 gpu_first(u32 mask) { return (u32)__builtin_ctz(mask); }

/* Linear indices, of the CTA in its grid and of the thread in its CTA. */
ALWAYS u64 gpu_cta(void) { return gpu_ctaid_x() + (u64)gpu_nctaid_x() * (gpu_ctaid_y() + (u64)gpu_nctaid_y() * gpu_ctaid_z()); }
ALWAYS u32 gpu_ctas(void) { return gpu_nctaid_x() * gpu_nctaid_y() * gpu_nctaid_z(); } /* of the grid */
ALWAYS u32 gpu_threads(void) { return gpu_ntid_x() * gpu_ntid_y() * gpu_ntid_z(); } /* of a CTA */
ALWAYS u32 gpu_thread(void) { return gpu_tid_x() + gpu_ntid_x() * (gpu_tid_y() + gpu_ntid_y() * gpu_tid_z()); }

/* ---- lanes --------------------------------------------------------------------------------------------------------------- */
/* All 32 lanes of a warp go together, `whole`, or each of them goes alone: then it votes with nobody and waits for nobody. Which of it
 * is so is asked once, where an operation of the program begins, and holds to its end, however the lanes part meanwhile. There is
 * nothing between: groups of lanes, each with a mask of its own, that run side by side let each other wait for ever (H100, H200). */
ALWAYS int gpu_whole(void) { return gpu_active() == GPU_WARP; }
ALWAYS u32 gpu_which(int whole, int p) { return whole ? gpu_ballot(p) : p ? 1u << gpu_lane() : 0; } /* lanes where it holds */
ALWAYS int gpu_all(int whole, int p) { return whole ? gpu_ballot(p) == GPU_WARP : p; } /* does it hold in all of them? */
ALWAYS u32 gpu_same(int whole, u64 v) { return whole ? gpu_match64(v) : 1u << gpu_lane(); } /* lanes that have the same */
ALWAYS u32 gpu_from(int whole, u32 v, u32 lane) { return whole ? gpu_shfl(v, lane) : v; }
ALWAYS u64 gpu_from64(int whole, u64 v, u32 lane)
{
	return (u64)gpu_from(whole, (u32)(v >> 32), lane) << 32 | gpu_from(whole, (u32)v, lane);
}
ALWAYS void gpu_meet(int whole)
{
	if (whole)
		gpu_warp_sync();
}
ALWAYS int gpu_leads(u32 group) { return gpu_lane() == gpu_first(group); }
ALWAYS int gpu_speaks(int whole) { return !whole || gpu_lane() == 0; } /* for all that go together */

/* Runs what follows once for each lane that wants it, one after the other. Everything that takes a lock stands in such a loop, or is
 * for one lane of a whole warp: of two lanes that run together the one that has the lock would wait for the one that waits for it,
 * wherever ptxas lets them meet again (behind a loop, behind a call). */
#define EACH_OF(whole, wanted) \
	for (u32 rest_ = gpu_which(whole, wanted); rest_; gpu_meet(whole), rest_ &= rest_ - 1) \
		if (gpu_leads(rest_))

/* Once for a whole warp, else once for each of the lanes that are `active`, in turn. A turn gives back the locks that it took: who comes
 * next may come before it is over. */
#define EACH_LANE(whole, active) \
	for (u32 rest_ = (whole) ? 1u : (active); rest_; rest_ &= rest_ - 1) \
		if (gpu_leads(rest_))
#define EACH_TURN(active) EACH_LANE((active) == GPU_WARP, active)

/* A lock for one thread at a time, in the order in which they come: whose turn it is, below, and the next that will be given out, in the
 * upper half. First come, first served, because of those who ask for it again and again (a spin on a lock of the program's) some
 * always won otherwise, and the one that would have ended the spin never did, for seconds (H200, 16 CTAs). */
#define TURN_NEXT 0x10000u
ALWAYS u32 turn_ahead(u32 taken, u32 lock) { return ((taken >> 16) - lock) & 0xffff; } /* of so many it is the turn first */
ALWAYS u32 turn_over(const u32 *lock) /* what gives it to the next; nobody else changes the lower half */
{
	return (gpu_load32(lock) & 0xffff) == 0xffff ? 1u - TURN_NEXT : 1u;
}

#endif

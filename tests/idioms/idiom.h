/* What the idioms are written with: CUDA C without the toolkit, compiled to PTX by clang alone. Strong operations are inline
 * PTX, in the forms that nvcc gives cuda::atomic_ref, atomicAdd, volatile and __threadfence, on generic addresses. They are
 * macros, because clang 14 does not say where an inlined function was called, and a finding must name the user's line.
 *
 * M1(right, wrong) and M2(right, wrong) stand where a mutant differs from the correct form, on one line; -DMUTANT=1 or 2 takes
 * what is wrong. The sentence of a finding must name that line, or where nothing is left to name (a fence or a barrier that is
 * gone) the line that says `edge 1` or `edge 2` in its comment: of a barrier before a flag is raised that of the flag, of one behind
 * the wait that of the access behind it. `late 1` or `late 2` says an access that may come behind what it should be before, as warps
 * lag: no flag explains such a race, and its sentence names what it likes. */
#ifndef IDIOM_H
#define IDIOM_H

#if MUTANT == 1
#define M1(right, wrong) wrong
#else
#define M1(right, wrong) right
#endif
#if MUTANT == 2
#define M2(right, wrong) wrong
#else
#define M2(right, wrong) right
#endif

typedef unsigned u32;
typedef unsigned long long u64;

#define RANKS 4 /* at most */

/* What each kernel gets; tests/idioms/run.c has the same. */
struct idiom {
	u32 *data[RANKS]; /* payload in the memory of each rank */
	u32 *flag[RANKS]; /* what synchronises, likewise */
	u32 *own;         /* of this rank alone: results, inputs, notes */
	u32 *wrong;       /* `check` adds what is not as it must be */
	u32 rank, ranks;
	u32 round;        /* from 1: how often the kernel was launched on these buffers */
	u32 rounds;       /* how often it will have been */
	u32 ctas, threads; /* of `run`, for `check` */
};

#define KERNEL(name) extern "C" __attribute__((global)) void name(const struct idiom a)
#define DEVICE static __attribute__((device, always_inline, unused)) inline
#define SHARED __attribute__((shared)) static volatile /* or clang takes it that a barrier changes nothing in it */
/* Weak, for what threads hand each other behind a barrier; at file scope, and not static, or clang takes the same. By SHARED, whose
 * accesses are strong, warps might as well synchronise. */
#define SHARED_WEAK __attribute__((shared))
#define MAX_THREADS 1024

#define THREAD ((u32)__nvvm_read_ptx_sreg_tid_x())
#define THREADS ((u32)__nvvm_read_ptx_sreg_ntid_x())
#define CTA ((u32)__nvvm_read_ptx_sreg_ctaid_x())
#define CTAS ((u32)__nvvm_read_ptx_sreg_nctaid_x())

/* how: "acquire.gpu", "relaxed.sys", "volatile", "cg" … */
#define LD(how, p) ({ u32 r_; asm volatile("ld." how ".u32 %0, [%1];" : "=r"(r_) : "l"(p) : "memory"); r_; })
#define LD64(how, p) ({ u64 r_; asm volatile("ld." how ".u64 %0, [%1];" : "=l"(r_) : "l"(p) : "memory"); r_; })
#define ST(how, p, v) ({ asm volatile("st." how ".u32 [%0], %1;" : : "l"(p), "r"((u32)(v)) : "memory"); })
#define ST64(how, p, v) ({ asm volatile("st." how ".u64 [%0], %1;" : : "l"(p), "l"((u64)(v)) : "memory"); })
#define LD_V4(how, p, v) \
	asm volatile("ld." how "v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "l"(p) : "memory")
#define ST_V4(how, p, v) \
	asm volatile("st." how "v4.u32 [%0], {%1,%2,%3,%4};" : : "l"(p), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory")
#define LD_V2(how, p, v) asm volatile("ld." how "v2.u64 {%0,%1}, [%2];" : "=l"(v[0]), "=l"(v[1]) : "l"(p) : "memory")
#define ST_V2(how, p, v) asm volatile("st." how "v2.u64 [%0], {%1,%2};" : : "l"(p), "l"(v[0]), "l"(v[1]) : "memory")
/* how: "add", "add.release.gpu", "inc" … */
#define ATOM(how, p, v) \
	({ u32 r_; asm volatile("atom." how ".u32 %0, [%1], %2;" : "=r"(r_) : "l"(p), "r"((u32)(v)) : "memory"); r_; })
#define RED(how, p, v) ({ asm volatile("red." how ".u32 [%0], %1;" : : "l"(p), "r"((u32)(v)) : "memory"); })
#define EXCH(how, p, v) \
	({ u32 r_; asm volatile("atom.exch." how ".b32 %0, [%1], %2;" : "=r"(r_) : "l"(p), "r"((u32)(v)) : "memory"); r_; })
#define CAS(how, p, was, v) \
	({ u32 r_; asm volatile("atom.cas." how ".b32 %0, [%1], %2, %3;" \
				: "=r"(r_) : "l"(p), "r"((u32)(was)), "r"((u32)(v)) : "memory"); r_; })
#define CAS64(how, p, was, v) \
	({ u64 r_; asm volatile("atom.cas." how ".b64 %0, [%1], %2, %3;" \
				: "=l"(r_) : "l"(p), "l"((u64)(was)), "l"((u64)(v)) : "memory"); r_; })
#define FENCE(how) asm volatile("fence." how ";" : : : "memory")
#define SYNC_WARP() asm volatile("bar.warp.sync 0xffffffff;" : : : "memory")
/* Barriers by name, of so many threads; `arrives`: who does not wait. */
#define SYNC(name, threads) asm volatile("bar.sync %0, %1;" : : "r"((u32)(name)), "r"((u32)(threads)) : "memory")
#define ARRIVE_OR_SYNC(name, arrives, threads) \
	({ if (arrives) asm volatile("bar.arrive %0, %1;" : : "r"((u32)(name)), "r"((u32)(threads)) : "memory"); \
	   else SYNC(name, threads); })
#define PAUSE(nanoseconds) asm volatile("nanosleep.u32 %0;" : : "r"((u32)(nanoseconds)) : "memory")
#define THREADFENCE() asm volatile("membar.gl;" : : : "memory")

/* Where the grid of a cooperative launch synchronises: the second word of what the driver gives it. */
#define GRID_WORD \
	({ u32 high_, low_; asm("mov.u32 %0, %%envreg1;" : "=r"(high_)); asm("mov.u32 %0, %%envreg2;" : "=r"(low_)); \
	   (u32 *)((u64)high_ << 32 | low_) + 1; })

/* Of several ranks: the flag of this CTA that `from` raises, the place of a thread's message from there in one of two buffers. */
#define FLAG_OF(from) (CTA * RANKS + (from))
#define MESSAGE_OF(round, from, i) (((round) % 2 * a.ranks + (from)) * CTAS * THREADS + (i))
#define MESSAGE(from, i) MESSAGE_OF(a.round, from, i)

/* What the ranks' numbers round * (rank + 1) + thread add up to. */
DEVICE u32 sum_of_ranks(const struct idiom &a, u32 round, u32 thread)
{
	return a.ranks * (a.ranks + 1) / 2 * round + a.ranks * thread;
}

/* The sum over the threads of a CTA up to this one. `room`: SHARED or SHARED_WEAK, of MAX_THREADS. */
template <typename word> DEVICE u32 block_scan(word *room, u32 mine)
{
	const u32 t = THREAD;

	room[t] = mine;
	__syncthreads();
	for (u32 step = 1; step < THREADS; step *= 2) {
		const u32 left = t >= step ? room[t - step] : 0;

		__syncthreads();
		room[t] += left;
		__syncthreads();
	}
	return room[t];
}

DEVICE void expect_equal(const struct idiom &a, u32 got, u32 expected)
{
	if (got != expected)
		RED("add", a.wrong, 1);
}

#endif

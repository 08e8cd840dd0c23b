/* The position of the one lane that the native runtime has; and, where OS threads play warps under ThreadSanitizer
 * (GPU_HOST_THREADS), what a fence is and where other warps go on.
 *
 * ThreadSanitizer knows no fences, and the tables are relaxed accesses between fences. What C11 and PTX say of these is modelled
 * exactly but for what is named below: each thread has two fibers, logical threads to the sanitizer, that never touch memory
 * but carry a vector clock each. A fence copies the thread's clock to `writer`; a relaxed write releases the writer's clock
 * at its address, not the thread's own: what came between the fence and the write stays unordered. A relaxed read acquires
 * what was released at its address into `reader`; the next fence copies that to the thread: what comes before the fence stays
 * unordered. Were relaxed accesses themselves acquire and release, a plain access behind a relaxed load would seem ordered.
 *
 * Hides: a write adds to what was released at its address before, as if it never broke a release sequence; and of
 * somebody's release in the moment between a read and its acquire here, too much is learnt. Release and acquire operations
 * (locks) are the sanitizer's own. */
#include "device/gpu.h"

_Thread_local struct gpu_host gpu_host;

#ifdef GPU_HOST_THREADS
#include <sanitizer/tsan_interface.h>
#include <sched.h>
#include <unistd.h>

_Thread_local struct gpu_host_thread gpu_host_thread;

void gpu_host_begin(u32 seed)
{
	gpu_host_thread = (struct gpu_host_thread){.self = __tsan_get_current_fiber(), .reader = __tsan_create_fiber(0),
						   .writer = __tsan_create_fiber(0), .random = seed * 2654435761u | 1};
}

void gpu_host_end(void)
{
	__tsan_destroy_fiber(gpu_host_thread.reader);
	__tsan_destroy_fiber(gpu_host_thread.writer);
	gpu_host_thread = (struct gpu_host_thread){0};
}

/* Of a fiber's own nothing may be read or written, this file's variables neither. */
#define UNSEEN __attribute__((no_sanitize_thread))

UNSEEN static void be(void *fiber) { __tsan_switch_to_fiber(fiber, __tsan_switch_to_fiber_no_sync); }

/* Another thread may go on here: one in 32 times, and one in 4,096 this one stays away for long. */
UNSEEN static void perhaps_wait(struct gpu_host_thread *t)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 17;
	t->random ^= t->random << 5;
	if (!(t->random & 31))
		sched_yield();
	if (!(t->random >> 5 & 4095))
		usleep(t->random >> 24);
}

UNSEEN void gpu_host_read(const void *p)
{
	struct gpu_host_thread *t = &gpu_host_thread;
	if (!t->self)
		return;
	be(t->reader);
	__tsan_acquire((void *)(uintptr_t)p);
	be(t->self);
	perhaps_wait(t);
}

UNSEEN void gpu_host_write(void *p)
{
	struct gpu_host_thread *t = &gpu_host_thread;
	if (!t->self)
		return;
	perhaps_wait(t);
	be(t->writer);
	__tsan_release(p);
	be(t->self);
}

/* 16 bytes at once, as GPUs and x86 with AVX have them; both halves were read as atomics before, for the sanitizer. */
UNSEEN void gpu_host_both(const void *p, u64 *a, u64 *b)
{
	typedef u64 pair __attribute__((vector_size(16)));
	pair v;
	__asm__ volatile("movdqa %1, %0" : "=x"(v) : "m"(*(const pair *)p) : "memory");
	*a = v[0];
	*b = v[1];
}

UNSEEN void gpu_host_fence(void)
{
	struct gpu_host_thread *t = &gpu_host_thread;
	static _Thread_local char acquired, released; /* names of two clocks */
	__asm__ volatile("mfence" ::: "memory");
	if (!t->self)
		return;
	be(t->reader);
	__tsan_release(&acquired);
	be(t->self);
	__tsan_acquire(&acquired);
	__tsan_release(&released);
	be(t->writer);
	__tsan_acquire(&released);
	be(t->self);
}

void gpu_pause(void) { sched_yield(); }
#endif

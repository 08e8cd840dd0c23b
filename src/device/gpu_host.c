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
 * Stores wait, too: up to eight of a thread reach memory in any order, but those of one address in theirs, and all before what
 * a fence or a release lets others see. So a fence that is missing between two of them shows, in the tests' own checks. (Loads
 * are not early.)
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

#define WAITING 8u
static _Thread_local struct thread {
	void *self, *reader, *writer; /* fibers; self NULL: it plays no warp */
	u32 random, count;
	struct store { void *p; u64 v; u32 bytes; } store[WAITING];
} thread;

void gpu_host_begin(u32 seed)
{
	thread = (struct thread){.self = __tsan_get_current_fiber(), .reader = __tsan_create_fiber(0), .writer = __tsan_create_fiber(0),
				 .random = seed * 2654435761u | 1};
}

void gpu_host_end(void)
{
	gpu_host_flush();
	__tsan_destroy_fiber(thread.reader);
	__tsan_destroy_fiber(thread.writer);
	thread = (struct thread){0};
}

/* Of a fiber's own nothing may be read or written, this file's variables neither. */
#define UNSEEN __attribute__((no_sanitize_thread))

UNSEEN static void be(void *fiber) { __tsan_switch_to_fiber(fiber, __tsan_switch_to_fiber_no_sync); }

UNSEEN static u32 draw(struct thread *t)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 17;
	return t->random ^= t->random << 5;
}

static void store_now(void *p, u64 v, u32 bytes) /* which the sanitizer sees */
{
	if (bytes == 4)
		__atomic_store_n((u32 *)p, (u32)v, __ATOMIC_RELAXED);
	else
		__atomic_store_n((u64 *)p, v, __ATOMIC_RELAXED);
}

UNSEEN static void released(struct thread *t, void *p)
{
	be(t->writer);
	__tsan_release(p);
	be(t->self);
}

UNSEEN static void reach_memory(struct thread *t, u32 i)
{
	struct store s = t->store[i];
	t->count--;
	for (; i < t->count; i++)
		t->store[i] = t->store[i + 1];
	released(t, s.p);
	store_now(s.p, s.v, s.bytes);
}

/* Stores to the 16 bytes at `p`, in their order. */
UNSEEN static void reach_memory_at(struct thread *t, const void *p)
{
	for (u32 i = 0; i < t->count;)
		if (((uintptr_t)t->store[i].p ^ (uintptr_t)p) < 16)
			reach_memory(t, i);
		else
			i++;
}

/* Another thread may go on here, one in 32 times; one in 4,096 this one stays away for long; one in 8 a store reaches memory. */
UNSEEN static void perhaps_wait(struct thread *t)
{
	u32 random = draw(t);
	if (t->count && !(random >> 17 & 7))
		reach_memory_at(t, t->store[draw(t) % t->count].p);
	if (!(random & 31))
		sched_yield();
	if (!(random >> 5 & 4095))
		usleep(random >> 24);
}

UNSEEN void gpu_host_flush(void)
{
	while (thread.count)
		reach_memory(&thread, 0);
}

UNSEEN void gpu_host_reads(const void *p) { reach_memory_at(&thread, p); }

UNSEEN void gpu_host_read(const void *p)
{
	struct thread *t = &thread;
	if (!t->self)
		return;
	be(t->reader);
	__tsan_acquire((void *)(uintptr_t)p);
	be(t->self);
	perhaps_wait(t);
}

UNSEEN void gpu_host_write(void *p)
{
	struct thread *t = &thread;
	if (!t->self)
		return;
	perhaps_wait(t);
	reach_memory_at(t, p);
	released(t, p);
}

UNSEEN void gpu_host_store(void *p, u64 v, u32 bytes)
{
	struct thread *t = &thread;
	if (!t->self) {
		store_now(p, v, bytes);
		return;
	}
	perhaps_wait(t);
	if (t->count == WAITING)
		reach_memory_at(t, t->store[draw(t) % WAITING].p);
	t->store[t->count++] = (struct store){p, v, bytes};
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
	struct thread *t = &thread;
	static _Thread_local char acquired, let_go; /* names of two clocks */
	gpu_host_flush();
	__asm__ volatile("mfence" ::: "memory");
	if (!t->self)
		return;
	be(t->reader);
	__tsan_release(&acquired);
	be(t->self);
	__tsan_acquire(&acquired);
	__tsan_release(&let_go);
	be(t->writer);
	__tsan_acquire(&let_go);
	be(t->self);
}

void gpu_pause(void)
{
	perhaps_wait(&thread);
	sched_yield();
}
#endif

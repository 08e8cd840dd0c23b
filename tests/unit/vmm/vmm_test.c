/* src/vmm over a driver that only keeps books and a supervisor in a thread. Each test is a process of its own. */
#include "vmm/vmm.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"
#include "ipc/ipc.h"
#include "super.h"
#include "vmm/inside.h"

#define PAGE GSAN_PAGE
#define FD CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
#define FABRIC CU_MEM_HANDLE_TYPE_FABRIC
#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: not true: %s (failed call: %s)\n", __FILE__, __LINE__, #condition, failed_call); \
			_exit(1); \
		} \
	} while (0)
#define OK(call) CHECK((call) == CUDA_SUCCESS)
#define INVALID(call) CHECK((call) == CUDA_ERROR_INVALID_VALUE)

static const char *failed_call = "none";

static const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
static const uint64_t slice_end = GSAN_DATA_BASE + GSAN_SLICE;

static uint32_t entry_of(uint64_t canonical) { return (uint32_t)((canonical - GSAN_DATA_BASE) / PAGE + 1); }

static CUmemGenericAllocationHandle create(uint64_t size)
{
	CUmemGenericAllocationHandle h;
	OK(vmm_cuMemCreate(&h, size, &prop, 0));
	return h;
}

static CUdeviceptr reserve(uint64_t size)
{
	CUdeviceptr at;
	OK(vmm_cuMemAddressReserve(&at, size, 0, 0, 0));
	CHECK(at >= GSAN_VIEW_BASE && at < GSAN_VIEW_BASE + GSAN_VIEW_SIZE && at % PAGE == 0);
	return at;
}

/* ---- blocks */

static void blocks(void)
{
	CUdeviceptr a, b, base;
	size_t size;
	uint64_t types = 1;
	OK(vmm_cuMemAlloc_v2(&a, 5 * MIB));
	CHECK(a == GSAN_DATA_BASE && super.alloc_base == a && super.allocs == 1);
	CHECK(fake_mapped(a, a + 8 * MIB) == 6 * MIB);
	CHECK(fake_mapped(gsan_shadow(a), gsan_shadow(a + 6 * MIB)) > 0);
	OK(vmm_cuMemGetAddressRange_v2(&base, &size, a + 4 * MIB));
	CHECK(base == a && size == 5 * MIB);
	OK(vmm_cuPointerGetAttribute(&types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, a));
	CHECK(types == 0);
	OK(vmm_cuPointerGetAttribute(&types, CU_POINTER_ATTRIBUTE_BUFFER_ID, a));
	CHECK(types == 77);
	CHECK(vmm_cuMemGetAddressRange_v2(&base, &size, a + 5 * MIB) == CUDA_ERROR_NOT_FOUND);
	fake_mark(gsan_shadow(a + 4 * MIB));
	OK(vmm_cuMemFree_v2(a));
	CHECK(!fake_marked() && !fake_mapped(a, slice_end) && fake.waits && !fake.locked && !fake.plain);
	INVALID(vmm_cuMemFree_v2(a));
	OK(vmm_cuMemFree_v2(0));
	OK(vmm_cuMemAlloc_v2(&b, 2 * MIB)); /* its history is gone, so the addresses are used again */
	CHECK(b == a);
	OK(vmm_cuMemFree_v2(b));
}

/* Once a launch was told of copies, the records that are kept aside of a block go with it, those of others when all go. */
static void kept_aside(void)
{
	struct participant *p;
	CUdeviceptr a;
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
	OK(vmm_cuMemFree_v2(a));
	p = participant_started();
	fake_mark(vmm_tables_base(0) + gsan_aside(GSAN_DATA_BASE + MIB, 1).at);
	fake_mark(vmm_tables_base(0) + gsan_aside(GSAN_DATA_BASE + 4 * MIB, 1).at);
	for (unsigned held = 0; held < 2; held++) {
		p->job->held = held;
		OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
		CHECK(a == GSAN_DATA_BASE);
		OK(vmm_cuMemFree_v2(a));
		CHECK(fake_marked() == 2 - (int)held);
	}
	CHECK(!vmm_renew(p) && !fake_marked());
	CHECK(gsan_aside(a, 8 * MIB).bytes == gsan_aside(a + 4 * MIB, 8 * MIB).bytes && gsan_aside(a, 8 * MIB).at == gsan_aside(a + 4 * MIB, 8 * MIB).at);
	p->job->held = 0;
}

static void small_blocks(void)
{
	static CUdeviceptr at[1000];
	size_t pitch;
	for (int i = 0; i < 1000; i++) {
		OK(vmm_cuMemAlloc_v2(&at[i], 700));
		CHECK(at[i] % 512 == 0 && (!i || at[i] >= at[i - 1] + 700 || at[i] + 700 <= at[i - 1]));
	}
	CHECK(fake_mapped(GSAN_DATA_BASE, slice_end) == 32 * MIB);
	for (int i = 0; i < 1000; i++) {
		fake_mark(gsan_shadow(at[i]));
		OK(vmm_cuMemFree_v2(at[i]));
		CHECK(!fake_marked());
	}
	OK(vmm_cuMemAllocPitch_v2(&at[0], &pitch, 700, 3, 4));
	CHECK(pitch == 1024 && at[0] < slice_end);
	OK(vmm_cuMemFree_v2(at[0]));
	CHECK(fake_mapped(GSAN_DATA_BASE, slice_end) == 32 * MIB); /* the chunk stays */
}

/* Once a context is lost the driver is asked for each allocation, for it refuses them. */
static void lost_context(void)
{
	CUdeviceptr ours, theirs;
	int plain = fake.plain;
	vmm_result(CUDA_ERROR_OUT_OF_MEMORY);
	vmm_result(CUDA_ERROR_NOT_READY);
	OK(vmm_cuMemAlloc_v2(&ours, 700));
	CHECK(fake.plain == plain);
	vmm_result(CUDA_ERROR_ILLEGAL_ADDRESS);
	OK(vmm_cuMemAlloc_v2(&theirs, 700));
	CHECK(fake.plain == plain + 1);
	OK(vmm_cuMemFree_v2(theirs));
	OK(vmm_cuMemFree_v2(ours));
}

/* A location that a stream writes a value to is marked where its line record is, once for each of its addresses; memory
 * without shadow is not. */
static void values(void)
{
	CUdeviceptr a, at = reserve(2 * PAGE);
	CUmemGenericAllocationHandle h;
	struct participant *p = participant_current();
	OK(vmm_cuMemAlloc_v2(&a, 5 * MIB));
	fake_mark(gsan_shadow(a + 4 * MIB + 64) + offsetof(struct gsan_line, flags) + 3);
	CHECK(vmm_value(p, a + 4 * MIB, 1) == a + 4 * MIB && !fake_marked());
	h = create(2 * PAGE);
	uint64_t canonical = super.alloc_base;
	CHECK(vmm_value(p, at + PAGE, 1) == 0);
	OK(vmm_cuMemMap(at, 2 * PAGE, 0, h, 0));
	fake_mark(gsan_shadow(canonical + PAGE + 128) + offsetof(struct gsan_line, flags) + 3);
	CHECK(vmm_value(p, at + PAGE, 0) == canonical + PAGE && fake_marked() == 1);
	CHECK(vmm_value(p, at + PAGE, 1) == canonical + PAGE && fake_marked() == 1);
	CHECK(vmm_value(p, at + PAGE + 128, 1) == canonical + PAGE + 128 && !fake_marked());
	CHECK(vmm_value(p, 0x7f0000000000, 1) == 0 && vmm_value(p, a + 64 * MIB, 1) == 0 && !fake.wild);
}

/* What cannot have shadow is the driver's, and said; what the driver has not either is not said. */
static void exhaustion(void)
{
	CUdeviceptr a;
	size_t pitch;
	CHECK(participant_current());
	fake.refuse_create = 1;
	OK(vmm_cuMemAlloc_v2(&a, 4 * MIB));
	CHECK(a >= 0x7f0000000000 && super.notes == 1 && !strncmp(super.note, "foreign\tcuMemAlloc\t", 19));
	OK(vmm_cuMemFree_v2(a));
	CHECK(vmm_cuMemAlloc_v2(&a, SIZE_MAX) == CUDA_ERROR_OUT_OF_MEMORY && super.notes == 1);
	CHECK(vmm_cuMemAlloc_v2(&a, SIZE_MAX - PAGE) == CUDA_ERROR_OUT_OF_MEMORY);
	fake.refuse_create = 0;
	CHECK(vmm_cuMemAllocPitch_v2(&a, &pitch, SIZE_MAX - 100, 2, 4) == CUDA_ERROR_OUT_OF_MEMORY);
	CHECK(vmm_cuMemAllocPitch_v2(&a, &pitch, 1ull << 33, 1ull << 33, 4) == CUDA_ERROR_OUT_OF_MEMORY);
	OK(vmm_cuMemAlloc_v2(&a, 4 * MIB)); /* nothing was lost */
	CHECK(a == GSAN_DATA_BASE);
	OK(vmm_cuMemFree_v2(a));
}

static void stream_order(void)
{
	CUdeviceptr a, b;
	CUstream s = (CUstream)&fake;
	OK(vmm_cuMemAllocAsync(&a, 2 * MIB, s));
	fake.event = CUDA_ERROR_NOT_READY;
	OK(vmm_cuMemFreeAsync(a, s));
	INVALID(vmm_cuMemFreeAsync(a, s));
	OK(vmm_cuMemAllocAsync(&b, 2 * MIB, s));
	CHECK(a != b && fake.events == 1 && fake_mapped(a, a + PAGE) == PAGE);
	fake.event = CUDA_SUCCESS;
	OK(vmm_cuMemFreeAsync(b, s));
	OK(vmm_cuMemAllocFromPoolAsync(&b, 2 * MIB, fake_pool[0], s));
	CHECK(a == b && !fake.events && !fake.locked);
	fake.event = CUDA_ERROR_NOT_READY;
	OK(vmm_cuMemFreeAsync(b, s));
	fake.refuse_create = 1; /* until what is freed is free */
	fake.event_after = 3;
	OK(vmm_cuMemAllocAsync(&b, 4 * MIB, s));
	CHECK(b < slice_end && !fake.event_after && !fake.events && !fake.locked && !super.notes);
	OK(vmm_cuMemFree_v2(b));
}

/* Of a stream whose oldest free is not over no other is asked about; and they end in their order. */
static void stream_order_of_many(void)
{
	CUdeviceptr a[8], b;
	fake.event = CUDA_ERROR_NOT_READY;
	for (int i = 0; i < 8; i++)
		OK(vmm_cuMemAllocAsync(&a[i], 2 * MIB, NULL));
	for (int i = 8; i-- > 0;)
		OK(vmm_cuMemFreeAsync(a[i], i < 6 ? NULL : (CUstream)&fake));
	fake.asked = 0;
	OK(vmm_cuMemAllocAsync(&b, 2 * MIB, NULL));
	CHECK(b > a[7] && fake.asked == 2 && fake.events == 8);
	fake.event = CUDA_SUCCESS;
	OK(vmm_cuMemFree_v2(b));
	OK(vmm_cuMemAllocAsync(&b, 2 * MIB, NULL));
	CHECK(b == a[5] && fake.asked == 10 && !fake.events && !fake.locked);
	OK(vmm_cuMemFreeAsync(b, NULL));
	OK(vmm_cuMemAllocAsync(&b, 2 * MIB, NULL));
	CHECK(b == a[4] && !fake.events);
	OK(vmm_cuMemFree_v2(b));
}

static uint64_t settled(void) /* bytes of blocks that have pages, when what is over has been looked at */
{
	CUdeviceptr a;
	OK(vmm_cuMemAlloc_v2(&a, 100));
	OK(vmm_cuMemFree_v2(a));
	return fake_mapped(GSAN_DATA_BASE, slice_end) - 32 * MIB;
}

/* What a stream gave back keeps its pages: it is used again in that stream's order, and once the host has waited; else it stays. */
static void lingering(void)
{
	CUdeviceptr a, b, c, at[9];
	CUmemGenericAllocationHandle h;
	CUstream s = (CUstream)&fake;
	OK(vmm_cuMemAllocAsync(&a, 4 * MIB, s));
	CHECK(!vmm_lingers() && settled() == 4 * MIB);
	OK(vmm_cuMemFreeAsync(a, s));
	CHECK(settled() == 4 * MIB && vmm_lingers());
	OK(vmm_cuMemAllocAsync(&b, 4 * MIB, NULL));
	OK(vmm_cuMemAllocAsync(&c, 6 * MIB, s));
	CHECK(b != a && c != a && settled() == 14 * MIB);
	OK(vmm_cuMemFree_v2(c));
	OK(vmm_cuMemAlloc_v2(&c, 4 * MIB));
	CHECK(c != a && settled() == 12 * MIB);
	fake_mark(gsan_shadow(a));
	OK(vmm_cuMemAllocAsync(&a, 4 * MIB - 1, s));
	CHECK(a < b && !fake_marked() && settled() == 12 * MIB);
	OK(vmm_cuMemFreeAsync(a, s));
	uint64_t newest = vmm_lingers();
	OK(vmm_cuMemFreeAsync(b, NULL));
	CHECK(settled() == 12 * MIB && vmm_lingers() > newest);
	vmm_waited(newest);
	CHECK(vmm_lingers() && settled() == 8 * MIB && !fake_mapped(a, a + 4 * MIB));
	vmm_waited(vmm_lingers());
	OK(vmm_cuMemAllocAsync(&a, 4 * MIB, s));
	CHECK(!vmm_lingers() && a == b && settled() == 8 * MIB && !fake.locked);
	for (int i = 0; i < 9; i++)
		OK(vmm_cuMemAllocAsync(&at[i], 128 * MIB, s));
	for (int i = 0; i < 9; i++)
		OK(vmm_cuMemFreeAsync(at[i], s));
	CHECK(settled() == 1032 * MIB && !fake_mapped(at[0], at[0] + PAGE) && fake_mapped(at[1], at[1] + PAGE)); /* no more than so many bytes */
	fake.refuse_create = 2;
	OK(vmm_cuMemAllocAsync(&b, 2 * MIB, s));
	CHECK(b < slice_end && settled() == 10 * MIB && !super.notes);
	OK(vmm_cuMemFreeAsync(b, s));
	CHECK(settled() == 10 * MIB);
	fake.refuse_create = 2;
	h = create(PAGE);
	CHECK(settled() == 8 * MIB && !fake.locked);
	OK(vmm_cuMemRelease(h));
}

static struct vmm_checks checks = {1, 1};
static int checks_after, looks; /* all are over at the so many-th look */
static CUdeviceptr meanwhile;   /* is freed while the first one looks */
static void look(struct vmm_checks *now, int wait)
{
	const CUdeviceptr gone = meanwhile;
	(void)wait;
	meanwhile = 0;
	if (gone) {
		checks.begun = 0;
		OK(vmm_cuMemFree_v2(gone));
		checks = (struct vmm_checks){.begun = 9, .over = 9};
	}
	CHECK(!pthread_mutex_trylock(&vmm_lock));
	pthread_mutex_unlock(&vmm_lock);
	looks++;
	if (checks_after && !--checks_after)
		checks.over = checks.begun = 100;
	*now = checks;
}

/* What is freed keeps its addresses and records while checks may be of it. */
static void checked_blocks(void)
{
	CUdeviceptr a, b, c;
	vmm_look = look;
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
	fake_mark(gsan_shadow(a));
	checks = (struct vmm_checks){.begun = 0, .over = 1}; /* how many are begun is not known, */
	OK(vmm_cuMemFree_v2(a));
	checks = (struct vmm_checks){.begun = 5, .over = 4}; /* then it is */
	OK(vmm_cuMemAlloc_v2(&b, 2 * MIB));
	CHECK(b != a && fake_marked() == 1 && !fake_mapped(a, a + PAGE));
	checks = (struct vmm_checks){.begun = 7, .over = 4};
	OK(vmm_cuMemFreeAsync(b, NULL));
	OK(vmm_cuMemAllocAsync(&c, 2 * MIB, NULL));
	CHECK(c != b && c != a && fake_marked() == 1);
	checks.over = 5; /* the first one's are over */
	OK(vmm_cuMemFree_v2(c));
	OK(vmm_cuMemAllocAsync(&c, 2 * MIB, NULL));
	CHECK(c == a && !fake_marked());
	checks.over = 7;
	OK(vmm_cuMemAllocAsync(&a, 2 * MIB, NULL));
	CHECK(a == b && !fake.locked);
	fake_mark(gsan_shadow(c));
	checks = (struct vmm_checks){.begun = 9, .over = 8};
	OK(vmm_cuMemFree_v2(a));
	meanwhile = c;
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
	CHECK(a == b && fake_marked() == 1); /* what that look tells is not of c */
	OK(vmm_cuMemAlloc_v2(&b, 2 * MIB));
	CHECK(b == c && !fake_marked());
}

/* It is waited for before there is no memory. */
static void checked_and_short(void)
{
	static CUdeviceptr at[64];
	CUdeviceptr a;
	CUmemGenericAllocationHandle h;
	vmm_look = look;
	for (int i = 0; i < 64; i++)
		OK(vmm_cuMemAlloc_v2(&at[i], MIB / 2));
	CHECK(fake_mapped(GSAN_DATA_BASE, slice_end) == 32 * MIB);
	checks = (struct vmm_checks){.begun = 2, .over = 1};
	for (int i = 0; i < 64; i++)
		OK(i % 2 ? vmm_cuMemFreeAsync(at[i], NULL) : vmm_cuMemFree_v2(at[i]));
	fake.refuse_create = 1;
	checks_after = 5;
	OK(vmm_cuMemAlloc_v2(&a, MIB / 2));
	CHECK(a < slice_end && !checks_after && !super.notes && !fake.locked);
	fake.refuse_create = 0;
	checks = (struct vmm_checks){.begun = 200, .over = 100};
	h = create(PAGE);
	uint64_t canonical = super.alloc_base;
	OK(vmm_cuMemRelease(h));
	h = create(PAGE);
	CHECK(super.alloc_base != canonical);
	checks.over = 200;
	h = create(PAGE);
	CHECK(super.alloc_base == canonical);
	checks.over = 199; /* for good: then there is none, and soon */
	OK(vmm_cuMemFree_v2(a));
	fake.refuse_create = 1;
	looks = 0;
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB)); /* the driver's own */
	CHECK(a >= slice_end && looks > 100 && looks < 2000);
}

/* Ranges have no memory that could run short: who drops them waits, once if in vain. */
static void checked_ranges(void)
{
	CUdeviceptr a;
	int owner;
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
	struct participant *p = participant_started();
	vmm_look = look;
	checks = (struct vmm_checks){.begun = 2, .over = 1};
	vmm_variable(p, 0x7f1200000000, 4096, "one", &owner);
	uint64_t first = super.alloc_base;
	looks = 0;
	checks_after = 9;
	vmm_variables_drop(p, &owner);
	CHECK(!checks_after && looks == 9);
	vmm_variable(p, 0x7f1200000000, 4096, "one", &owner);
	CHECK(super.alloc_base == first);
	checks = (struct vmm_checks){.begun = 200, .over = 100};
	vmm_variables_drop(p, &owner);
	CHECK(looks > 100);
	looks = 0;
	vmm_variable(p, 0x7f1200000000, 4096, "one", &owner);
	CHECK(super.alloc_base != first); /* it may have records */
	vmm_variables_drop(p, &owner);
	CHECK(looks == 1);
}

static uint64_t pool_asked(CUmemoryPool pool, CUmemPool_attribute attribute)
{
	cuuint64_t value;
	OK(vmm_cuMemPoolGetAttribute(pool, attribute, &value));
	return value;
}

static CUmemoryPool pool_of(CUdeviceptr at)
{
	CUmemoryPool pool;
	OK(vmm_cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at));
	return pool;
}

/* Pools of memory like ours have blocks, and count them; others their own memory, which is said once. */
static void pools(void)
{
	static const CUmemPoolProps plain = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	static const CUmemPoolProps other[] = {
		{.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}},
		{.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_HOST}},
		{.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}, .handleTypes = FD}};
	CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemoryPool pool, q;
	CUdeviceptr a, b;
	cuuint64_t none = 0;
	OK(vmm_cuMemPoolCreate(&pool, &plain));
	OK(vmm_cuMemAllocFromPoolAsync(&a, 2 * MIB, pool, NULL));
	OK(vmm_cuMemAllocFromPoolAsync(&b, 100, pool, NULL));
	CHECK(a < slice_end && b < slice_end && pool_of(a) == pool && pool_of(b) == pool && !super.notes);
	CHECK(pool_asked(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 2 * MIB + 100);
	OK(vmm_cuMemFreeAsync(a, NULL));
	CHECK(pool_asked(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 100 && pool_asked(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 2 * MIB + 100);
	OK(vmm_cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &none));
	CHECK(pool_asked(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 100);
	CHECK(!(fake.access & 2));
	OK(vmm_cuMemPoolSetAccess(pool, &access, 1));
	CHECK(fake.access & 2);
	OK(vmm_cuMemPoolDestroy(pool));
	CHECK(!pool_of(b));
	OK(vmm_cuMemFree_v2(b));
	OK(vmm_cuMemAllocAsync(&a, 2 * MIB, NULL));
	CHECK(a < slice_end && pool_of(a) == fake_pool[0]);
	for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
		OK(vmm_cuMemPoolCreate(&q, &other[i]));
		OK(vmm_cuMemAllocFromPoolAsync(&b, 2 * MIB, q, NULL));
		CHECK(b >= 0x7f0000000000 && super.notes == 1 && !strncmp(super.note, "foreign\tcuMemAllocFromPoolAsync\t", 32));
	}
	INVALID(vmm_cuMemAllocFromPoolAsync(&b, 2 * MIB, NULL, NULL));
}

static void captures(void)
{
	CUdeviceptr a, b;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
	OK(vmm_cuMemAlloc_v2(&b, 100));
	fake.captured = (CUstream)&fake;
	real.cuThreadExchangeStreamCaptureMode(&mode); /* as PyTorch does around its frees */
	OK(vmm_cuMemFree_v2(a));
	CHECK(!fake.broken && !fake.plain);
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
	CHECK(a == GSAN_DATA_BASE + 32 * MIB || a == GSAN_DATA_BASE);
	INVALID(vmm_cuMemFreeAsync(a, fake.captured)); /* as the driver: it is not the graph's */
	CHECK(!fake.broken && !fake.events && !fake.unclonable);
	OK(vmm_cuMemFree_v2(a));
	real.cuThreadExchangeStreamCaptureMode(&mode);
	CHECK(vmm_cuMemFree_v2(b) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && fake.broken && !fake.plain);
	fake.captured = NULL;
	OK(vmm_cuMemFree_v2(b));
	OK(vmm_cuMemAllocAsync(&a, 100, (CUstream)&fake));
	OK(vmm_cuMemFree_v2(a));
}

/* Freed with another device's context current, or none: as in a plain run. */
static void other_contexts(void)
{
	CUdeviceptr a, b, c = reserve(PAGE);
	CUcontext before;
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
	CUmemGenericAllocationHandle h = create(PAGE);
	OK(vmm_cuMemMap(c, PAGE, 0, h, 0));
	real.cuCtxPushCurrent_v2(fake_context[1]);
	CHECK(!participant_current() && participant_elsewhere() && fake.access & 2); /* it may copy what lies here */
	OK(vmm_cuMemAlloc_v2(&b, 2 * MIB));
	CHECK(b >= 0x7f0000000000);
	OK(vmm_cuMemFree_v2(b));
	OK(vmm_cuMemFree_v2(a));
	real.cuCtxPushCurrent_v2(NULL);
	OK(vmm_cuMemUnmap(c, PAGE));
	OK(vmm_cuMemRelease(h));
	OK(vmm_cuMemAddressFree(c, PAGE));
	CHECK(!fake_view(c) && fake_mapped(GSAN_DATA_BASE, GSAN_VIEW_BASE + GSAN_VIEW_SIZE) == 0);
	real.cuCtxPopCurrent_v2(&before);
	real.cuCtxPopCurrent_v2(&before);
	CHECK(participant_current() && !participant_elsewhere());
}

/* Each GPU of the process is checked: memory of its own, with access for all to what is ours. */
static void two_gpus(void)
{
	CUdeviceptr a, b, small[2];
	CUcontext before;
	CUmemGenericAllocationHandle h;
	const CUmemAllocationProp there = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}};
	super.places = 2;
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
	OK(vmm_cuMemAlloc_v2(&small[0], 700));
	struct participant *first = participant_current();
	CHECK(!first->exported && !(fake.access >> 1 & 1));
	real.cuCtxPushCurrent_v2(fake_context[1]);
	OK(vmm_cuMemAlloc_v2(&b, 2 * MIB));
	OK(vmm_cuMemAlloc_v2(&small[1], 700));
	struct participant *second = participant_current();
	CHECK(second != first && second->index == 2 && second->device == 1 && second->place == 1 && !participant_elsewhere());
	CHECK(first->exported && second->exported && first->view_table == second->view_table && fake.access >> 1 & 1);
	CHECK(participant_of(a) == first && participant_of(b) == second && participant_of(small[1]) == second);
	CHECK(fake_mapped(gsan_shadow(b), gsan_shadow(b) + PAGE));
	CHECK(vmm_mapped(second) == (1u << 0 | 1u << 2) && vmm_mapped(first) == vmm_mapped(second));

	fake_mark(gsan_shadow(a)); /* each is freed by its owner, whatever is current */
	OK(vmm_cuMemFree_v2(a));
	OK(vmm_cuMemFree_v2(small[0]));
	real.cuCtxPopCurrent_v2(&before);
	CHECK(!fake_marked());
	OK(vmm_cuMemFree_v2(b));
	OK(vmm_cuMemFree_v2(small[1]));
	real.cuCtxPushCurrent_v2(fake_context[1]);
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
	OK(vmm_cuMemAlloc_v2(&small[0], 700));
	CHECK(a == b && small[0] == small[1]);
	real.cuCtxPopCurrent_v2(&before);
	OK(vmm_cuMemCreate(&h, PAGE, &there, 0));
	CHECK(participant_of(super.alloc_base) == second);
	OK(vmm_cuMemRelease(h));
	CHECK(!super.notes && !fake.locked && fake.registered == 4);
	close(second->socket);
}

/* What is ours in a context of the program's goes to the primary one before the program has work in another: then the first may end. */
static void contexts(void)
{
	CUdeviceptr a, b;
	real.cuCtxPushCurrent_v2(fake_context[2]);
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
	struct participant *p = participant_current();
	uint64_t ring = p->ring;
	CHECK(p->context == fake_context[2] && !fake.retained && fake.streams == 1 && fake.registered == 2);
	real.cuCtxPushCurrent_v2(fake_context[3]);
	OK(vmm_cuMemAlloc_v2(&b, 2 * MIB));
	CHECK(p->context == fake_context[0] && fake.retained == 1 && fake.streams == 2 && fake.registered == 4 && fake.pinned == 2);
	CHECK(p->ring && p->ring != ring);
	fake.gone = fake_context[2];
	OK(vmm_cuMemFree_v2(a));
	OK(vmm_cuMemFree_v2(b));
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
	CHECK(a < slice_end && !super.notes && !fake.locked);
}

/* The first call that is seen of the other context comes behind the end of the first. */
static void context_late(void)
{
	CUdeviceptr a;
	real.cuCtxPushCurrent_v2(fake_context[2]);
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
	real.cuCtxPushCurrent_v2(fake_context[3]);
	fake.gone = fake_context[2];
	OK(vmm_cuMemFree_v2(a));
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
	CHECK(a < slice_end && fake.retained == 1);
}

static void questions(void)
{
	size_t available, total;
	CUdeviceptr a;
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
	OK(vmm_cuMemGetInfo_v2(&available, &total));
	CHECK(available + available / 4 <= 1000 * MIB && available > 700 * MIB && total == 2000 * MIB);
	OK(vmm_cuMemFree_v2(a));
}

/* ---- handles and views */

static void views(void)
{
	CUmemGenericAllocationHandle h, bad;
	INVALID(vmm_cuMemCreate(&bad, PAGE + 4096, &prop, 0)); /* as the driver says */
	h = create(4 * PAGE);
	CUdeviceptr at = reserve(8 * PAGE), again = reserve(4 * PAGE);
	uint64_t canonical = super.alloc_base;
	INVALID(vmm_cuMemMap(at + 6 * PAGE, 4 * PAGE, 0, h, 0)); /* leaves the reservation */
	INVALID(vmm_cuMemMap(GSAN_SHADOW_BASE, PAGE, 0, h, 0));
	INVALID(vmm_cuMemMap(at, 8 * PAGE, 0, h, 0));
	CHECK(!super.notes);
	OK(vmm_cuMemMap(0x500000000000, PAGE, 0, h, 0)); /* addresses that the program got elsewhere */
	OK(vmm_cuMemUnmap(0x500000000000, PAGE));
	CHECK(super.notes == 1);
	OK(vmm_cuMemMap(at, 4 * PAGE, 0, h, 0));
	OK(vmm_cuMemMap(again, 2 * PAGE, 2 * PAGE, h, 0));
	for (uint64_t i = 0; i < 4; i++)
		CHECK(fake_view(at + i * PAGE) == entry_of(canonical) + i);
	CHECK(!fake_view(at + 4 * PAGE));
	CHECK(fake_view(again) == entry_of(canonical) + 2 && fake_view(again + PAGE) == entry_of(canonical) + 3);
	INVALID(vmm_cuMemUnmap(at, PAGE)); /* part of a mapping */
	INVALID(vmm_cuMemAddressFree(at, 8 * PAGE)); /* still mapped */
	INVALID(vmm_cuMemAddressFree(at, 4 * PAGE));
	OK(vmm_cuMemRelease(h));
	CHECK(fake_view(at)); /* the views hold it */
	fake_mark(gsan_shadow(canonical + PAGE));
	OK(vmm_cuMemUnmap(at, 4 * PAGE));
	CHECK(!fake_view(at) && fake_view(again) && fake_marked() == 1);
	OK(vmm_cuMemUnmap(again, 2 * PAGE));
	CHECK(!fake_view(again));
	OK(vmm_cuMemAddressFree(at, 8 * PAGE));
	INVALID(vmm_cuMemAddressFree(at, 8 * PAGE));
	OK(vmm_cuMemAddressFree(again, 4 * PAGE));
	h = create(4 * PAGE);
	CHECK(super.alloc_base == canonical && !fake_marked());
	OK(vmm_cuMemRelease(h));
	CHECK(!fake.locked);
}

/* Two mappings side by side, unmapped by one call. */
static void wide_unmap(void)
{
	CUmemGenericAllocationHandle h = create(PAGE), g = create(PAGE);
	CUdeviceptr at = reserve(2 * PAGE);
	OK(vmm_cuMemMap(at, PAGE, 0, h, 0));
	OK(vmm_cuMemMap(at + PAGE, PAGE, 0, g, 0));
	CHECK(fake_view(at) && fake_view(at + PAGE) && fake_view(at) != fake_view(at + PAGE));
	OK(vmm_cuMemUnmap(at, 2 * PAGE));
	CHECK(!fake_view(at) && !fake_view(at + PAGE));
	OK(vmm_cuMemRelease(h));
	OK(vmm_cuMemRelease(g));
	OK(vmm_cuMemAddressFree(at, 2 * PAGE));
}

static void retain_as(int rename)
{
	CUmemGenericAllocationHandle h = create(PAGE), g;
	CUdeviceptr at = reserve(2 * PAGE);
	fake.rename = rename;
	OK(vmm_cuMemMap(at, PAGE, 0, h, 0));
	OK(vmm_cuMemRetainAllocationHandle(&g, (void *)(uintptr_t)(at + 5)));
	CHECK((g != h) == rename);
	OK(vmm_cuMemRelease(h));
	OK(vmm_cuMemUnmap(at, PAGE));
	OK(vmm_cuMemMap(at + PAGE, PAGE, 0, g, 0)); /* the retained name still leads to the same bytes */
	CHECK(fake_view(at + PAGE) == entry_of(super.alloc_base));
	OK(vmm_cuMemRelease(g));
	OK(vmm_cuMemRetainAllocationHandle(&g, (void *)(uintptr_t)(at + PAGE)));
	OK(vmm_cuMemUnmap(at + PAGE, PAGE));
	uint64_t canonical = super.alloc_base;
	OK(vmm_cuMemRelease(g));
	OK(vmm_cuMemAddressFree(at, 2 * PAGE));
	OK(vmm_cuMemRelease(create(PAGE)));
	CHECK(super.alloc_base == canonical);
}

static void retain(void)
{
	CUdeviceptr a;
	CUmemGenericAllocationHandle h;
	retain_as(0);
	retain_as(1);
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
	INVALID(vmm_cuMemRetainAllocationHandle(&h, (void *)(uintptr_t)a)); /* NCCL's question */
	INVALID(vmm_cuMemUnmap(a, 2 * MIB));
	OK(vmm_cuMemFree_v2(a));
}

/* ---- peers */

static void exports(void)
{
	CUmemGenericAllocationHandle h = create(PAGE), g;
	uint64_t canonical = super.alloc_base;
	CUdeviceptr at = reserve(PAGE);
	int token;
	OK(vmm_cuMemExportToShareableHandle(&token, h, FD, 0));
	CHECK(broker_tokens(super.broker) == 1);
	OK(vmm_cuMemImportFromShareableHandle(&g, (void *)(intptr_t)token, FD)); /* our own */
	OK(vmm_cuMemMap(at, PAGE, 0, g, 0));
	CHECK(fake_view(at) == entry_of(canonical) && !super.notes);
	fake_mark(gsan_shadow(canonical));
	OK(vmm_cuMemRelease(h));
	OK(vmm_cuMemUnmap(at, PAGE));
	OK(vmm_cuMemRelease(g));
	OK(vmm_cuMemAddressFree(at, PAGE));
	OK(vmm_cuMemRelease(create(PAGE)));
	CHECK(super.alloc_base != canonical && fake_marked() == 1); /* a peer may get the memory: its records stay, and nobody else has them */
	close(token);
	OK(vmm_cuMemRelease(create(PAGE)));
	CHECK(super.alloc_base == canonical && !fake_marked());
}

/* What participant 1 would have told the supervisor. */
static void peer_puts(uint32_t space, uint64_t base)
{
	struct broker_range range = {.space = space, .participant = 1, .base = base, .size = PAGE};
	CHECK(!broker_put(super.broker, &range, fake_memory(PAGE)));
}

static int peer_exports(uint64_t canonical, uint64_t size, int with_shadow)
{
	struct broker_range range = {.participant = 1, .alloc = 3, .base = canonical, .size = size};
	int token;
	peer_puts(IPC_TABLES, GSAN_TABLE_BASE + GSAN_TABLE_SLICE);
	if (with_shadow)
		peer_puts(IPC_SHADOW, gsan_shadow(canonical) & ~(uint64_t)(PAGE - 1));
	CHECK(!broker_export(super.broker, &range, fake_memory(size), &token));
	return token;
}

static void imports(void)
{
	CUmemGenericAllocationHandle h, g, k;
	uint64_t canonical = GSAN_DATA_BASE + GSAN_SLICE + 6 * PAGE, bare = canonical + 64 * PAGE;
	CUdeviceptr at = reserve(4 * PAGE);
	OK(vmm_cuMemRelease(create(PAGE)));
	int token = peer_exports(canonical, 2 * PAGE, 1), other = peer_exports(bare, PAGE, 0), raw = fake_memory(PAGE);
	OK(vmm_cuMemImportFromShareableHandle(&h, (void *)(intptr_t)token, FD));
	OK(vmm_cuMemImportFromShareableHandle(&k, (void *)(intptr_t)token, FD)); /* maps the shadow once */
	CHECK(fake_mapped(gsan_shadow(canonical), gsan_shadow(canonical + PAGE)) && !super.notes);
	OK(vmm_cuMemMap(at, 2 * PAGE, 0, h, 0));
	CHECK(fake_view(at) == entry_of(canonical) && fake_view(at + PAGE) == entry_of(canonical) + 1);
	OK(vmm_cuMemImportFromShareableHandle(&g, (void *)(intptr_t)other, FD)); /* the owner's shadow cannot be had */
	OK(vmm_cuMemMap(at + 2 * PAGE, PAGE, 0, g, 0));
	CHECK(!fake_view(at + 2 * PAGE) && super.notes == 2);
	INVALID(vmm_cuMemAddressFree(at, 4 * PAGE));
	fake_mark(gsan_shadow(canonical));
	OK(vmm_cuMemUnmap(at, 2 * PAGE));
	OK(vmm_cuMemUnmap(at + 2 * PAGE, PAGE));
	OK(vmm_cuMemRelease(h));
	OK(vmm_cuMemRelease(k));
	OK(vmm_cuMemRelease(g));
	CHECK(fake_marked() == 1); /* the records are the owner's */
	OK(vmm_cuMemImportFromShareableHandle(&h, (void *)(intptr_t)raw, FD));
	CHECK(super.notes == 3);
	OK(vmm_cuMemRelease(h));
	OK(vmm_cuMemAddressFree(at, 4 * PAGE));
	close(token);
	close(other);
	close(raw);
}

/* A driver may give the value that the memory has here, of a peer's and of our own: as often as it was given it is released. */
static void imports_alike(void)
{
	const uint64_t canonical = GSAN_DATA_BASE + GSAN_SLICE + 6 * PAGE;
	CUmemGenericAllocationHandle h, g, own = create(PAGE);
	const uint64_t ours = super.alloc_base;
	CUdeviceptr at = reserve(PAGE);
	CUmemFabricHandle name;
	int token = peer_exports(canonical, PAGE, 1);
	fake.alike = 1;
	OK(vmm_cuMemImportFromShareableHandle(&h, (void *)(intptr_t)token, FD));
	OK(vmm_cuMemImportFromShareableHandle(&g, (void *)(intptr_t)token, FD));
	close(token);
	OK(vmm_cuMemRelease(h));
	OK(vmm_cuMemMap(at, PAGE, 0, g, 0));
	CHECK(h == g && fake_view(at) == entry_of(canonical) && broker_vacant(super.broker, canonical, PAGE) == -EBUSY);
	OK(vmm_cuMemUnmap(at, PAGE));
	OK(vmm_cuMemRelease(g));
	CHECK(!broker_vacant(super.broker, canonical, PAGE));

	OK(vmm_cuMemExportToShareableHandle(&name, own, FABRIC, 0));
	OK(vmm_cuMemImportFromShareableHandle(&h, &name, FABRIC));
	OK(vmm_cuMemRelease(h));
	OK(vmm_cuMemMap(at, PAGE, 0, own, 0));
	CHECK(h == own && fake_view(at) == entry_of(ours));
	OK(vmm_cuMemUnmap(at, PAGE));
	OK(vmm_cuMemRelease(own));
	OK(vmm_cuMemRelease(create(PAGE)));
	CHECK(super.alloc_base == ours && !super.notes);
}

/* What was imported while one GPU was current is given back for good while another is. */
static void returned_elsewhere(void)
{
	const uint64_t canonical = GSAN_DATA_BASE + GSAN_SLICE + 6 * PAGE;
	CUmemGenericAllocationHandle h, g;
	CUdeviceptr a;
	CUcontext before;
	super.places = 2;
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
	int token = peer_exports(canonical, PAGE, 1);
	real.cuCtxPushCurrent_v2(fake_context[1]);
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
	struct participant *second = participant_current();
	OK(vmm_cuMemImportFromShareableHandle(&h, (void *)(intptr_t)token, FD));
	real.cuCtxPopCurrent_v2(&before);
	OK(vmm_cuMemImportFromShareableHandle(&g, (void *)(intptr_t)token, FD));
	close(token);
	CHECK(second->place == 1 && broker_vacant(super.broker, canonical, PAGE) == -EBUSY);
	OK(vmm_cuMemRelease(h));
	OK(vmm_cuMemRelease(g));
	CHECK(!broker_vacant(super.broker, canonical, PAGE) && !super.notes);
	close(second->socket);
}

/* The driver's own bytes, which name our memory until it is gone for all: then its addresses are free. */
static void fabric_exports(void)
{
	CUmemGenericAllocationHandle h = create(PAGE), g;
	uint64_t canonical = super.alloc_base;
	CUdeviceptr at = reserve(PAGE);
	CUmemFabricHandle name, again, wrong = {{0}};
	OK(vmm_cuMemExportToShareableHandle(&name, h, FABRIC, 0));
	OK(vmm_cuMemExportToShareableHandle(&again, h, FABRIC, 0));
	OK(real.cuMemExportToShareableHandle(&wrong, h, FABRIC, 0));
	CHECK(!memcmp(&name, &again, sizeof name) && !memcmp(&name, &wrong, sizeof name) && participant_current()->exported);
	OK(vmm_cuMemImportFromShareableHandle(&g, &name, FABRIC)); /* our own */
	OK(vmm_cuMemMap(at, PAGE, 0, g, 0));
	CHECK(fake_view(at) == entry_of(canonical));
	fake_mark(gsan_shadow(canonical));
	OK(vmm_cuMemRelease(h));
	OK(vmm_cuMemRelease(create(PAGE)));
	CHECK(super.alloc_base != canonical && fake_marked() == 1);
	OK(vmm_cuMemUnmap(at, PAGE));
	OK(vmm_cuMemRelease(g));
	INVALID(vmm_cuMemImportFromShareableHandle(&g, &name, FABRIC)); /* the driver's answer, by which nobody has it */
	OK(vmm_cuMemRelease(create(PAGE)));
	CHECK(super.alloc_base == canonical && !fake_marked());
	INVALID(vmm_cuMemImportFromShareableHandle(&g, &name, FABRIC));
	INVALID(vmm_cuMemImportFromShareableHandle(&g, NULL, FABRIC));
	OK(vmm_cuMemAddressFree(at, PAGE));
	CHECK(!super.notes);
	h = create(PAGE);
	super.refuse_names = 1;
	OK(vmm_cuMemExportToShareableHandle(&name, h, FABRIC, 0)); /* peers' accesses are not seen, and that is said */
	CHECK(super.notes == 1);
	OK(vmm_cuMemRelease(h));
}

/* A peer's, and what nobody of the job made, which is said. */
static void fabric_imports(void)
{
	CUmemGenericAllocationHandle h, g;
	const uint64_t canonical = GSAN_DATA_BASE + GSAN_SLICE + 6 * PAGE;
	const struct broker_range range = {.participant = 1, .alloc = 3, .base = canonical, .size = 2 * PAGE};
	const int theirs = fake_memory(2 * PAGE), raw = fake_memory(PAGE);
	CUmemFabricHandle name = fake_fabric(theirs), strange = fake_fabric(raw);
	CUdeviceptr at = reserve(3 * PAGE);
	OK(vmm_cuMemRelease(create(PAGE)));
	peer_puts(IPC_TABLES, GSAN_TABLE_BASE + GSAN_TABLE_SLICE);
	peer_puts(IPC_SHADOW, gsan_shadow(canonical) & ~(uint64_t)(PAGE - 1));
	CHECK(!broker_name(super.broker, &range, &name));
	OK(vmm_cuMemImportFromShareableHandle(&h, &name, FABRIC));
	OK(vmm_cuMemMap(at, 2 * PAGE, 0, h, 0));
	CHECK(fake_view(at + PAGE) == entry_of(canonical) + 1 && !super.notes && broker_vacant(super.broker, canonical, PAGE) == -EBUSY);
	OK(vmm_cuMemRelease(h));
	OK(vmm_cuMemUnmap(at, 2 * PAGE));
	CHECK(!broker_vacant(super.broker, canonical, PAGE));
	OK(vmm_cuMemImportFromShareableHandle(&h, &name, FABRIC)); /* now it names nothing */
	OK(vmm_cuMemImportFromShareableHandle(&g, &strange, FABRIC));
	CHECK(super.notes == 2 && !strncmp(super.note, "foreign\tcuMemImportFromShareableHandle\t", 39));
	OK(vmm_cuMemMap(at + 2 * PAGE, PAGE, 0, g, 0));
	CHECK(!fake_view(at + 2 * PAGE) && super.notes == 3);
	OK(vmm_cuMemUnmap(at + 2 * PAGE, PAGE));
	OK(vmm_cuMemRelease(g));
	OK(vmm_cuMemRelease(h));
	close(raw);
	INVALID(vmm_cuMemImportFromShareableHandle(&g, &strange, FABRIC)); /* of nothing nothing is said */
	CHECK(super.notes == 3 && !fake.locked);
	close(theirs);
	OK(vmm_cuMemAddressFree(at, 3 * PAGE));
}

/* ---- CUDA IPC */

struct name { char magic[8]; uint64_t job; uint32_t owner, number; uint64_t offset, size; uint8_t rest[24]; };

static struct name name_of(CUdeviceptr at)
{
	CUipcMemHandle handle;
	struct name name;
	OK(vmm_cuIpcGetMemHandle(&handle, at));
	memcpy(&name, &handle, sizeof name);
	CHECK(!memcmp(name.magic, "gsan-ipc", 8) && name.job == super.job->nonce && name.owner == 0);
	return name;
}

static CUresult open_name(const struct name *name, CUdeviceptr *at)
{
	CUipcMemHandle handle;
	memcpy(&handle, name, sizeof handle);
	return vmm_cuIpcOpenMemHandle_v2(at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

/* Participant 1 opens what is lent, or closes it. */
static int peer_opens(uint32_t number, struct broker_range *found)
{
	uint32_t piece;
	int fd;
	return broker_open(super.broker, number, 1, found, &piece, &fd);
}

static void lends(void)
{
	CUdeviceptr a, b, c, small[3];
	CUipcMemHandle handle;
	CUstream stream;
	struct broker_range found;
	OK(vmm_cuMemAlloc_v2(&a, 3 * MIB));
	for (int i = 0; i < 3; i++)
		OK(vmm_cuMemAlloc_v2(&small[i], 700));
	struct name large = name_of(a + 5), again = name_of(a), little = name_of(small[1]);
	CHECK(!memcmp(&large, &again, sizeof large) && large.offset == 0 && large.size == 3 * MIB && large.number != little.number);
	CHECK(!peer_opens(large.number, &found) && found.base == a && found.size == 4 * MIB);
	CHECK(!peer_opens(little.number, &found) && found.base + little.offset == small[1] && little.size == 700 && found.size == 32 * MIB);
	CHECK(participant_current()->exported);

	fake_mark(gsan_shadow(a)); /* its records are in use */
	OK(vmm_cuMemFree_v2(a));
	OK(vmm_cuMemFree_v2(small[1]));
	CHECK(fake_marked() == 1 && !fake_mapped(a, a + 4 * MIB) && peer_opens(large.number, &found) == -ENOENT);
	OK(vmm_cuMemAlloc_v2(&b, 3 * MIB));
	OK(vmm_cuMemAlloc_v2(&c, 700));
	CHECK(b != a && c != small[1] && fake_marked() == 1);
	broker_close(super.broker, large.number, 1);
	broker_close(super.broker, little.number, 1);
	OK(vmm_cuMemAlloc_v2(&b, 3 * MIB));
	OK(vmm_cuMemAlloc_v2(&c, 700));
	CHECK(b == a && c == small[1] && !fake_marked());
	again = name_of(b);
	CHECK(again.number != large.number);
	INVALID(open_name(&large, &c));
	CHECK(open_name(&again, &c) == CUDA_ERROR_INVALID_CONTEXT);
	OK(vmm_cuMemFree_v2(b));
	INVALID(vmm_cuIpcGetMemHandle(&handle, b));

	OK(vmm_cuMemAllocAsync(&b, 2 * MIB, NULL)); /* of a pool */
	INVALID(vmm_cuIpcGetMemHandle(&handle, b));
	OK(vmm_cuMemFree_v2(b));
	OK(real.cuStreamCreate(&stream, 0));
	OK(vmm_cuMemAlloc_v2(&b, 2 * MIB));
	fake.event = CUDA_ERROR_NOT_READY;
	OK(vmm_cuMemFreeAsync(b, stream));
	INVALID(vmm_cuIpcGetMemHandle(&handle, b));
	fake.event = CUDA_SUCCESS;
}

#define PEERS (GSAN_DATA_BASE + GSAN_SLICE + 6 * PAGE)

/* A name for a part of what participant 1 lends. */
static struct name peer_lends(uint64_t canonical, uint64_t offset, uint64_t size)
{
	const struct broker_range range = {.participant = 1, .base = canonical, .size = 2 * PAGE};
	struct name name = {"", super.job->nonce, 1, 0, offset, size, {0}};
	memcpy(name.magic, "gsan-ipc", 8);
	CHECK(!broker_lend(super.broker, &range, fake_memory(2 * PAGE), &name.number));
	return name;
}

static int peer_closed(const struct name *name) { return !broker_reclaim(super.broker, name->number, 1); }

static void opens(void)
{
	CUdeviceptr at, again, second, base;
	size_t size;
	int noted, waited;
	CHECK(participant_current());
	peer_puts(IPC_TABLES, GSAN_TABLE_BASE + GSAN_TABLE_SLICE);
	peer_puts(IPC_SHADOW, gsan_shadow(PEERS) & ~(uint64_t)(PAGE - 1));
	struct name name = peer_lends(PEERS, PAGE + 512, 700), other = peer_lends(PEERS, 0, 512), stranger = name, wrong[] = {name, name, name, name};
	OK(open_name(&name, &at));
	OK(open_name(&name, &again));
	CHECK(at == again && at / GSAN_VIEW_SIZE == GSAN_VIEW_BASE / GSAN_VIEW_SIZE && at % PAGE == 512 && fake_view(at) == entry_of(PEERS) + 1 && !super.notes);
	CHECK(fake_mapped(GSAN_TABLE_BASE + GSAN_TABLE_SLICE, GSAN_TABLE_BASE + 2 * GSAN_TABLE_SLICE) == PAGE);
	OK(open_name(&other, &second));
	CHECK(second == at - PAGE - 512 && fake_mapped(GSAN_VIEW_BASE, GSAN_SHADOW_BASE) == 2 * PAGE); /* once */
	OK(vmm_cuMemGetAddressRange_v2(&base, &size, at + 699));
	CHECK(base == at && size == 700);
	CHECK(vmm_cuMemGetAddressRange_v2(&base, &size, at + 700) == CUDA_ERROR_NOT_FOUND);
	INVALID(vmm_cuMemUnmap(second, 2 * PAGE));
	INVALID(vmm_cuMemAddressFree(second, 2 * PAGE));

	wrong[0].size = 2 * PAGE;
	wrong[1].offset = -(uint64_t)PAGE;
	wrong[2].size = 0;
	wrong[3].number += 100;
	for (int i = 0; i < 4; i++)
		INVALID(open_name(&wrong[i], &base));
	struct name meets = peer_lends(PEERS, PAGE, 513), beyond = peer_lends(PEERS, 2 * PAGE - 1, 2);
	INVALID(open_name(&meets, &base));
	INVALID(open_name(&beyond, &base));
	CHECK(peer_closed(&meets) && peer_closed(&beyond));
	stranger.job++;
	INVALID(open_name(&stranger, &base));
	CHECK(fake.opens == 1);
	INVALID(vmm_cuIpcOpenMemHandle_v2(&base, (CUipcMemHandle){{0}}, 0));
	CHECK(fake.opens == 2);

	noted = fake.waits;
	OK(vmm_cuIpcCloseMemHandle(at, &waited));
	CHECK(!waited && fake.waits == noted && !peer_closed(&name));
	OK(vmm_cuIpcCloseMemHandle(at, &waited));
	CHECK(waited && fake.waits > noted && !fake.locked && peer_closed(&name) && fake_view(at));
	INVALID(vmm_cuIpcCloseMemHandle(at, &waited));
	CHECK(!waited);
	OK(vmm_cuIpcCloseMemHandle(second, &waited));
	CHECK(peer_closed(&other) && !fake_mapped(GSAN_VIEW_BASE, GSAN_SHADOW_BASE) && !fake_view(at) && !fake.plain && !fake.locked);
}

/* Where the owner's records cannot be had, and where this process runs unchecked. */
static void opens_bare(void)
{
	CUdeviceptr at;
	int waited;
	CHECK(participant_current());
	struct name name = peer_lends(PEERS, 0, 700);
	OK(open_name(&name, &at));
	CHECK(!fake_view(at) && super.notes && fake_mapped(GSAN_VIEW_BASE, GSAN_SHADOW_BASE) == 2 * PAGE);
	OK(vmm_cuIpcCloseMemHandle(at, &waited));
	CHECK(peer_closed(&name) && !fake_mapped(GSAN_VIEW_BASE, GSAN_SHADOW_BASE));
}

static void opens_unchecked(void)
{
	CUdeviceptr at;
	int waited;
	fake.refuse_create = 1;
	CHECK(!participant_current() && participant_joined());
	struct name name = peer_lends(PEERS, 512, 700);
	OK(open_name(&name, &at));
	CHECK(at == 0x500000000000 + 512 && fake.mappings == 1 && fake.reservations == 1);
	OK(vmm_cuIpcCloseMemHandle(at, &waited));
	CHECK(peer_closed(&name) && !fake.mappings && !fake.reservations && !fake.physicals);
}

/* On another device of the process, which can use it. */
static void opens_elsewhere(void)
{
	CUdeviceptr at;
	CUcontext before;
	CHECK(participant_current());
	peer_puts(IPC_TABLES, GSAN_TABLE_BASE + GSAN_TABLE_SLICE);
	peer_puts(IPC_SHADOW, gsan_shadow(PEERS) & ~(uint64_t)(PAGE - 1));
	struct name name = peer_lends(PEERS, 0, 700);
	CHECK(!(fake.access & 2));
	OK(real.cuCtxPushCurrent_v2(fake_context[1]));
	OK(open_name(&name, &at));
	CHECK(fake_view(at) == entry_of(PEERS) && fake.access & 2);
	OK(real.cuCtxPopCurrent_v2(&before));
}

static void use_opened(void)
{
	CUdeviceptr at, again;
	int waited;
	const struct name name = peer_lends(PEERS, 512, 700);
	if (open_name(&name, &at))
		return;
	if (!open_name(&name, &again))
		vmm_cuIpcCloseMemHandle(again, &waited);
	vmm_cuIpcCloseMemHandle(at, &waited);
}

/* More detail: opened once the others have mapped it, a byte for each of the program's at most; and what others have is mapped. */
static void details(void)
{
	CUdeviceptr a;
	const uint64_t more = 128 * MIB, behind = GSAN_TABLE_BASE + gsan_tables_bytes(), theirs = behind + GSAN_TABLE_SLICE;
	struct job_rank *own = &super.job->rank[0], *peer = &super.job->rank[1];
	struct broker_range tables_of_peer = {.space = IPC_TABLES, .participant = 1, .base = GSAN_TABLE_BASE + GSAN_TABLE_SLICE, .size = PAGE};
	struct broker_range behind_them = {.space = IPC_TABLES, .participant = 1, .base = theirs, .size = more};
	OK(vmm_cuMemAlloc_v2(&a, 30 * MIB));
	struct participant *p = participant_current();
	CHECK(!broker_put(super.broker, &tables_of_peer, fake_memory(PAGE)));
	peer->state = JOB_RUNNING;
	job_changed(super.job);
	CHECK(vmm_mapped(p) == 3 && own->detail_of[1] == 0);

	fake_mark(GSAN_TABLE_BASE + gsan_detail_more_at()); /* which is written last */
	vmm_detail_grow(p);
	CHECK(own->detail_bytes == more && !p->detail_open && fake_mapped(behind, behind + 2 * more) == more && fake_marked() == 1);
	vmm_detail_grow(p);
	CHECK(own->detail_bytes == more && !p->detail_open);
	peer->detail_of[0] = more;
	vmm_detail_grow(p);
	CHECK(p->detail_open == more && !fake_marked());
	vmm_detail_grow(p);
	CHECK(own->detail_bytes == more); /* the program has 30 MiB */
	OK(vmm_cuMemAlloc_v2(&a, 10 * MIB));
	vmm_detail_grow(p);
	CHECK(own->detail_bytes == 2 * more && p->detail_open == more);
	peer->detail_of[0] = UINT64_MAX; /* its tables are not used there */
	vmm_detail_grow(p);
	vmm_detail_grow(p);
	CHECK(own->detail_bytes == 2 * more && p->detail_open == 2 * more);

	CHECK(!broker_put(super.broker, &behind_them, fake_memory(more)));
	peer->detail_bytes = more;
	job_changed(super.job);
	CHECK(vmm_mapped(p) == 3 && own->detail_of[1] == more && fake_mapped(theirs, theirs + more) == more);
	int calls = fake.calls;
	CHECK(vmm_mapped(p) == 3 && fake.calls == calls && !super.notes && !fake.locked);
}

static void tables(void)
{
	struct participant *p = participant_current();
	struct broker_range range = {.space = IPC_TABLES, .participant = 1, .base = GSAN_TABLE_BASE + GSAN_TABLE_SLICE, .size = PAGE};
	CHECK(p && vmm_mapped(p) == 1);
	CHECK(!broker_put(super.broker, &range, fake_memory(PAGE)));
	super.job->rank[1].state = JOB_RUNNING;
	job_changed(super.job);
	CHECK(vmm_mapped(p) == 3 && fake_mapped(range.base, range.base + PAGE) == PAGE && !vmm_renew(p));
	int calls = fake.calls;
	CHECK(vmm_mapped(p) == 3 && fake.calls == calls);
}

/* ---- ends */

static void orphaned(void)
{
	CUdeviceptr a, at = reserve(PAGE);
	int fd;
	super.die_at = 4; /* after join, tables, one message */
	CUmemGenericAllocationHandle h = create(PAGE);
	OK(vmm_cuMemAlloc_v2(&a, 3 * MIB));
	OK(vmm_cuMemMap(at, PAGE, 0, h, 0));
	CHECK(fake_view(at));
	OK(vmm_cuMemExportToShareableHandle(&fd, h, FD, 0)); /* the real one */
	close(fd);
	super.job->rank[1].state = JOB_RUNNING;
	job_changed(super.job);
	CHECK(vmm_mapped(participant_current()) == 1);
	OK(vmm_cuMemFree_v2(a));
	OK(vmm_cuMemUnmap(at, PAGE));
	OK(vmm_cuMemRelease(h));
	OK(vmm_cuMemAddressFree(at, PAGE));
}

static void driver_gone(void)
{
	CUdeviceptr a, at = reserve(PAGE);
	CUmemGenericAllocationHandle h = create(PAGE);
	OK(vmm_cuMemAlloc_v2(&a, 3 * MIB));
	fake.shut = 1;
	CHECK(vmm_cuMemFree_v2(a) == CUDA_ERROR_DEINITIALIZED && vmm_cuMemAlloc_v2(&at, 5) == CUDA_ERROR_DEINITIALIZED);
	CHECK(vmm_cuMemRelease(h) == CUDA_ERROR_DEINITIALIZED && vmm_cuMemUnmap(at, PAGE) == CUDA_ERROR_DEINITIALIZED);
	CHECK(vmm_cuMemFreeAsync(a, NULL) == CUDA_ERROR_DEINITIALIZED && vmm_renew(participant_started()));
	fake.shut = 0;
	OK(vmm_cuMemFree_v2(a));
}

static void forked(void)
{
	CUdeviceptr a;
	int status;
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
	int socket = participant_current()->socket;
	pthread_mutex_lock(&vmm_lock); /* as another thread might */
	pid_t child = fork();
	if (!child) {
		alarm(5);
		CHECK(!participant_current() && !participant_started() && !participant_joined());
		CHECK(write(socket, "", 1) < 0);
		INVALID(vmm_cuMemFree_v2(a));
		vmm_cuMemRelease(16);
		_exit(0);
	}
	pthread_mutex_unlock(&vmm_lock);
	CHECK(waitpid(child, &status, 0) == child && !status);
	OK(vmm_cuMemFree_v2(a));
}

static void no_launcher(void)
{
	CUdeviceptr a;
	unsetenv("GSAN_SOCKET");
	OK(vmm_cuMemAlloc_v2(&a, 2 * MIB));
	CHECK(a >= 0x7f0000000000 && !fake.reservations);
	OK(vmm_cuMemFree_v2(a));
}

/* ---- all of it with the n-th driver call failing: no crash, the books balance, and what failed was said */

static void use_views(void)
{
	CUmemGenericAllocationHandle h, g, k = 0;
	CUmemFabricHandle name;
	CUdeviceptr at;
	int token = -1;
	if (vmm_cuMemCreate(&h, 2 * PAGE, &prop, 0))
		return;
	if (!vmm_cuMemAddressReserve(&at, 2 * PAGE, 0, 0, 0)) {
		if (!vmm_cuMemMap(at, 2 * PAGE, 0, h, 0)) {
			if (!vmm_cuMemExportToShareableHandle(&token, h, FD, 0)) {
				if (vmm_cuMemImportFromShareableHandle(&k, (void *)(intptr_t)token, FD))
					k = 0;
				close(token);
			}
			if (!vmm_cuMemExportToShareableHandle(&name, h, FABRIC, 0) && !vmm_cuMemImportFromShareableHandle(&g, &name, FABRIC))
				vmm_cuMemRelease(g);
			if (!vmm_cuMemRetainAllocationHandle(&g, (void *)(uintptr_t)at))
				vmm_cuMemRelease(g);
			vmm_cuMemUnmap(at, 2 * PAGE);
		}
		vmm_cuMemAddressFree(at, 2 * PAGE);
	}
	if (k)
		vmm_cuMemRelease(k);
	vmm_cuMemRelease(h);
}

static void use_lingering(void)
{
	CUdeviceptr a;
	for (int i = 0; i < 3; i++)
		if (!vmm_cuMemAllocAsync(&a, 3 * MIB, NULL) && vmm_cuMemFreeAsync(a, NULL))
			vmm_cuMemFree_v2(a);
	vmm_waited(vmm_lingers());
}

static void use_all(void)
{
	CUdeviceptr a, b, c;
	CUcontext before;
	CUipcMemHandle handle;
	int big = !vmm_cuMemAlloc_v2(&a, 9 * MIB), small = !vmm_cuMemAlloc_v2(&b, 900);
	if (!vmm_cuMemAllocAsync(&c, 5000, NULL) && vmm_cuMemFreeAsync(c, NULL))
		vmm_cuMemFree_v2(c);
	if (big)
		vmm_cuIpcGetMemHandle(&handle, a);
	if (small)
		vmm_cuIpcGetMemHandle(&handle, b);
	use_views();
	if (!real.cuCtxPushCurrent_v2(fake_context[1])) {
		vmm_cuCtxEnablePeerAccess(fake_context[0], 0);
		real.cuCtxPopCurrent_v2(&before);
	}
	if (big)
		vmm_cuMemFree_v2(a);
	if (small)
		vmm_cuMemFree_v2(b);
	use_lingering();
	if (!vmm_cuMemAlloc_v2(&c, 900)) /* takes in what was in limbo */
		vmm_cuMemFree_v2(c);
}

/* Nothing may be out but tables, shadow and chunks, each mapped; nothing at all if the participant did not start. */
static void balanced(void)
{
	int on = participant_started() != NULL;
	CHECK(!fake_mapped(GSAN_VIEW_BASE, GSAN_SHADOW_BASE) && fake_mapped(GSAN_DATA_BASE, GSAN_VIEW_BASE) <= 64 * MIB);
	CHECK(fake_mapped(GSAN_DATA_BASE, GSAN_VIEW_BASE) % (32 * MIB) == 0);
	CHECK(fake.physicals == fake.mappings && fake.streams == on && fake.pinned == on && !fake.registered == !on);
	CHECK(fake.reservations == on && (on || !fake.mappings) && !fake.plain && !fake.events);
}

/* After a call that gives back has failed, something stays out. */
static int gives_back(const char *call)
{
	static const char *const names[] = {"cuMemUnmap", "cuMemRelease", "cuMemAddressFree", "cuEventDestroy_v2", "cuMemFree_v2",
					    "cuMemFreeHost", "cuStreamDestroy_v2", "cuCtxPushCurrent_v2", "cuEventQuery"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(call, names[i]))
			return 1;
	return 0;
}

static void failing(void)
{
	use_all();
	use_all();
	fake.fail_at = 0;
	use_all(); /* works again, and takes in what was left in limbo */
	CHECK(!fake.wild);
	failed_call = fake.failed ? fake.failed : "none";
	if (!fake.failed || !gives_back(fake.failed))
		balanced();
}

static void failing_opens(void)
{
	peer_puts(IPC_TABLES, GSAN_TABLE_BASE + GSAN_TABLE_SLICE);
	peer_puts(IPC_SHADOW, gsan_shadow(PEERS) & ~(uint64_t)(PAGE - 1));
	use_opened();
	use_opened();
	fake.fail_at = 0;
	use_opened();
	CHECK(!fake.wild);
	failed_call = fake.failed ? fake.failed : "none";
	if (!fake.failed || !gives_back(fake.failed))
		balanced();
}

static void *use_often(void *unused)
{
	(void)unused;
	for (int i = 0; i < 60; i++)
		use_all();
	return NULL;
}

static void threads(void)
{
	pthread_t thread[4];
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&thread[i], NULL, use_often, NULL));
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	use_all(); /* takes in what was left in limbo */
	balanced();
}

/* The same with the supervisor going away at its n-th message: the program notices nothing. */
static void leaving(void)
{
	use_all();
	use_all();
	CHECK(!fake.wild);
	balanced();
}

static int descriptors(void)
{
	int n = 0;
	for (int fd = 0; fd < 1000; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Exit status of a test in a process of its own; 77: no call failed, no supervisor left, though it should have. */
static int run(const char *name, void (*test)(void), int fail_at, int die_at)
{
	int status;
	pid_t child = fork();
	if (!child) {
		alarm(20);
		int open = descriptors();
		fake_install();
		super_start();
		fake.fail_at = fail_at;
		super.die_at = die_at;
		test();
		CHECK(fail_at || !fake.wild);
		if (participant_joined())
			close(participant_joined()->socket);
		super_stop();
		CHECK(descriptors() == open + fake.physicals);
		_exit((fail_at && !fake.failed) || (super.messages < die_at) ? 77 : 0);
	}
	waitpid(child, &status, 0);
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	if (status && status != 77)
		fprintf(stderr, "FAIL %s (failing call %d, supervisor's last message %d)\n", name, fail_at, die_at);
	return status;
}

int main(void)
{
#define TEST(name) {#name, name}
	static const struct { const char *name; void (*test)(void); } tests[] = {
		TEST(blocks), TEST(values), TEST(kept_aside), TEST(small_blocks), TEST(lost_context), TEST(exhaustion), TEST(stream_order), TEST(stream_order_of_many), TEST(lingering), TEST(checked_blocks), TEST(checked_and_short), TEST(checked_ranges), TEST(pools), TEST(captures), TEST(other_contexts), TEST(two_gpus), TEST(returned_elsewhere), TEST(contexts), TEST(context_late),
		TEST(questions), TEST(views), TEST(wide_unmap), TEST(retain), TEST(exports), TEST(imports), TEST(imports_alike), TEST(fabric_exports), TEST(fabric_imports), TEST(tables), TEST(details),
		TEST(lends), TEST(opens), TEST(opens_bare), TEST(opens_unchecked), TEST(opens_elsewhere), TEST(failing_opens),
		TEST(orphaned), TEST(driver_gone), TEST(forked), TEST(no_launcher), TEST(failing), TEST(threads),
	};
	int failures = 0, rc, calls = 0, messages = 0;
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		failures += run(tests[i].name, tests[i].test, 0, 0) != 0;
	while ((rc = run("failing", failing, ++calls, 0)) != 77)
		failures += rc != 0;
	while ((rc = run("leaving", leaving, 0, ++messages)) != 77)
		failures += rc != 0;
	for (int n = 1; (rc = run("failing_opens", failing_opens, n, 0)) != 77; n++, calls++)
		failures += rc != 0;
	for (int n = 1; (rc = run("failing_opens", failing_opens, 0, n)) != 77; n++, messages++)
		failures += rc != 0;
	printf("%s: %d driver calls and %d messages failed in turn\n", failures ? "failed" : "passed", calls - 1, messages - 1);
	return failures != 0;
}

/* A program for gsan-launch -n 2: `ipc FORM NAME`, NAME being the ranks' own. Rank 0 lends memory by a CUDA IPC handle, rank 1 opens it.
 * A kernel of each stores to it, and the two race if
 *   racy, small, offset   nothing orders them: a large block; a small one; at an offset, by a handle of another one
 *   peer                  each on its own GPU
 *   event_before          rank 1's stream has waited for an event of rank 0's, and its host for that, as with a queue of PyTorch's
 *   narrow                a flag orders them, on two GPUs by .gpu scope
 *   closed_one            both are rank 1's, on two streams, and between them it closes what it has opened twice
 *   late                  rank 0 frees the memory, but rank 1 has opened it, and two of its streams store there
 * They do not if
 *   apart                 they store to neighbouring bytes
 *   waited                rank 1 launches once rank 0 has told it that its own has ended
 *   flags                 a flag orders them by .sys scope, on two GPUs
 *   event, event_host     rank 1's stream, or host, waits for an event of rank 0's
 *   closed                as closed_one, but opened once, for then the close waits
 * The other forms are questions and ends, each checked here: questions, twice, own, garbage, exits, frees, frees_small, often. */
#include "ranks.h"

enum { BYTES = 3 << 20, SMALL = 700, OFTEN = 1000 };
#define LAZY CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS

static void lend(CUdeviceptr at)
{
	CUipcMemHandle handle;
	TRY(cuIpcGetMemHandle(&handle, at));
	say(&handle, sizeof handle);
}

static CUipcMemHandle borrowed(void)
{
	CUipcMemHandle handle;
	hear(&handle, sizeof handle);
	return handle;
}

static CUdeviceptr opened(CUipcMemHandle handle)
{
	CUdeviceptr at;
	TRY(cuIpcOpenMemHandle(&at, handle, LAZY));
	return at;
}

/* Rank 0's memory, in both by then. */
static CUdeviceptr shared(size_t size)
{
	CUdeviceptr at;
	if (rank) {
		at = opened(borrowed());
		tell();
	} else {
		at = memory(size);
		lend(at);
		wait();
	}
	return at;
}

static void racy(void) { together("store", shared(BYTES)); }
static void apart(void) { together("store", shared(BYTES) + 4 * (unsigned)rank); }
static void flags(void) { together(rank ? "get_sys" : "put_sys", shared(BYTES)); }
static void narrow(void) { together(rank ? "get_gpu" : "put_gpu", shared(BYTES)); }

static void small(void)
{
	if (!rank)
		memory(SMALL); /* the first of the chunk is another */
	together("store", shared(SMALL));
}

static void offset(void)
{
	CUdeviceptr at;
	if (rank) {
		at = opened(borrowed());
		tell();
	} else {
		at = memory(BYTES);
		lend(at + BYTES / 2 + 3);
		wait();
	}
	together("store", at + BYTES - 4);
}

static void waited(void) { ordered(shared(BYTES)); }

static CUevent shared_event(void)
{
	CUipcEventHandle handle;
	CUevent event;
	if (rank) {
		hear(&handle, sizeof handle);
		TRY(cuIpcOpenEventHandle(&event, handle));
		tell();
		return event;
	}
	TRY(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
	TRY(cuIpcGetEventHandle(&handle, event));
	say(&handle, sizeof handle);
	wait();
	return event;
}

static void by_event(int host)
{
	CUdeviceptr at = shared(BYTES);
	CUevent event = shared_event();
	CUstream s = stream();
	if (rank) {
		wait();
		TRY(host ? cuEventSynchronize(event) : cuStreamWaitEvent(s, event, 0));
	}
	launch("store", at, s);
	if (!rank) {
		TRY(cuEventRecord(event, s));
		tell();
	}
	TRY(cuCtxSynchronize());
	if (rank)
		CHECK(word(at) == 8);
}

static void event(void) { by_event(0); }
static void event_host(void) { by_event(1); }

static void event_before(void)
{
	CUdeviceptr at = shared(BYTES);
	CUevent event = shared_event();
	CUstream s = stream();
	if (!rank) {
		launch("store", at, s);
		TRY(cuEventRecord(event, s));
		tell();
		wait();
	} else {
		wait();
		TRY(cuStreamWaitEvent(s, event, 0));
		launch("store", at, s);
		TRY(cuCtxSynchronize());
		tell();
	}
	together("store", at);
}

static void closes(int times)
{
	CUdeviceptr own = memory(SMALL), at = 0;
	if (!rank) {
		lend(own);
		wait();
		return;
	}
	CUipcMemHandle handle = borrowed();
	for (int i = 0; i < times; i++)
		at = opened(handle);
	store(own);
	TRY(cuIpcCloseMemHandle(at));
	store(own);
	TRY(cuCtxSynchronize());
	tell();
}

static void closed(void) { closes(1); }
static void closed_one(void) { closes(2); }

static void late(void)
{
	CUdeviceptr at = shared(BYTES);
	if (rank) {
		tell();
		wait();
		store(at);
		store(at);
		TRY(cuCtxSynchronize());
		return;
	}
	wait();
	TRY(cuMemFree(at));
	tell();
}

/* ---- questions and ends; rank 1's part, while rank 0 waits, unless it is said ---- */

static void asks(CUdeviceptr at, size_t size, int capable)
{
	CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
				       CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
	CUdeviceptr base, start = 0;
	size_t bytes, range = 0;
	int can = -1;
	unsigned type = 0;
	TRY(cuMemGetAddressRange(&base, &bytes, at + size - 1));
	CHECK(base == at && bytes == size);
	TRY(cuPointerGetAttributes(4, which, (void *[]){&start, &range, &can, &type}, at + 5));
	CHECK(start == at && range == size && can == capable && type == CU_MEMORYTYPE_DEVICE);
	TRY(cuPointerGetAttribute(&can, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at));
	CHECK(can == capable);
}

static void questions(void)
{
	CUmemGenericAllocationHandle handle;
	CUipcMemHandle name;
	CUdeviceptr first = rank ? opened(borrowed()) : memory(SMALL), second = rank ? opened(borrowed()) : memory(SMALL), pooled;
	asks(first, SMALL, !rank);
	asks(second, SMALL, !rank);
	STALE(cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)first));
	if (rank) {
		STALE(cuIpcGetMemHandle(&name, first));
		STALE(cuMemUnmap(first, 2 << 20));
		STALE(cuMemFree(first));
		tell();
		return;
	}
	TRY(cuMemAllocAsync(&pooled, SMALL, NULL));
	STALE(cuIpcGetMemHandle(&name, pooled));
	TRY(cuPointerGetAttribute(&rank, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, pooled));
	CHECK(rank == 0);
	lend(first);
	lend(second);
	wait();
}

static void own(void)
{
	CUipcMemHandle handle, again;
	CUdeviceptr at = rank ? 0 : memory(BYTES), other;
	if (rank)
		return;
	TRY(cuIpcGetMemHandle(&handle, at));
	TRY(cuIpcGetMemHandle(&again, at + 1));
	CHECK(!memcmp(&handle, &again, sizeof handle));
	REFUSED(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenMemHandle(&other, handle, LAZY));
	STALE(cuIpcCloseMemHandle(at));
	TRY(cuMemFree(at));
	STALE(cuIpcGetMemHandle(&again, at));
	at = memory(BYTES);
	TRY(cuIpcGetMemHandle(&again, at));
	CHECK(memcmp(&handle, &again, sizeof handle));
}

static void twice(void)
{
	CUdeviceptr at = shared(BYTES), other;
	if (!rank) {
		lend(at);
		wait();
		CHECK(word(at) == 8);
		return;
	}
	CUipcMemHandle handle = borrowed();
	TRY(cuIpcOpenMemHandle(&other, handle, LAZY));
	CHECK(other == at);
	STALE(cuIpcCloseMemHandle(at + 4));
	TRY(cuIpcCloseMemHandle(at));
	store(at);
	TRY(cuCtxSynchronize());
	CHECK(word(at) == 8);
	TRY(cuIpcCloseMemHandle(at));
	STALE(cuIpcCloseMemHandle(at));
	CHECK(cuMemGetAddressRange(&other, NULL, at) != CUDA_SUCCESS);
	other = opened(handle);
	CHECK(word(other) == 8);
	TRY(cuIpcCloseMemHandle(other));
	tell();
}

static void garbage(void)
{
	CUdeviceptr at;
	CUipcMemHandle handle;
	if (!rank) {
		lend(memory(SMALL));
		wait();
		return;
	}
	CUipcMemHandle good = borrowed();
	memset(&handle, 0, sizeof handle);
	STALE(cuIpcOpenMemHandle(&at, handle, LAZY));
	memset(&handle, 0xa5, sizeof handle);
	STALE(cuIpcOpenMemHandle(&at, handle, LAZY));
	STALE(cuIpcOpenMemHandle(&at, good, 6));
	for (size_t i = 0; i < sizeof handle; i++) { /* refused or open, as it may be */
		handle = good;
		handle.reserved[i] ^= 0x55;
		if (cuIpcOpenMemHandle(&at, handle, LAZY) == CUDA_SUCCESS)
			TRY(cuIpcCloseMemHandle(at));
	}
	at = opened(good);
	CHECK(word(at) == 0);
	store(at);
	TRY(cuIpcCloseMemHandle(at));
	tell();
}

static void exits(void)
{
	CUdeviceptr at = shared(BYTES);
	char letter;
	if (!rank) {
		lend(at);
		store(at);
		TRY(cuCtxSynchronize());
		wait();
		exit(0);
	}
	CUipcMemHandle handle = borrowed();
	tell();
	CHECK(read(line, &letter, 1) == 0); /* it is gone */
	usleep(300000);
	CHECK(word(at) == 7);
	store(at);
	TRY(cuCtxSynchronize());
	CHECK(word(at) == 8);
	TRY(cuIpcCloseMemHandle(at));
	STALE(cuIpcOpenMemHandle(&at, handle, LAZY));
}

static void frees_of(size_t size)
{
	CUdeviceptr at = shared(size), other;
	if (!rank) {
		lend(at);
		wait();
		TRY(cuMemFree(at));
		other = memory(size);
		CHECK(other != at); /* it would have the records of what the other rank has */
		TRY(cuMemFree(other));
		tell();
		wait();
		other = memory(size);
		CHECK(other == at || !getenv("GSAN_SOCKET"));
		return;
	}
	CUipcMemHandle handle = borrowed();
	tell();
	wait();
	store(at);
	TRY(cuCtxSynchronize());
	CHECK(word(at) == 8);
	TRY(cuIpcCloseMemHandle(at));
	STALE(cuIpcOpenMemHandle(&at, handle, LAZY));
	tell();
}

static void frees(void) { frees_of(BYTES); }
static void frees_small(void) { frees_of(SMALL); }

static void often(void)
{
	CUdeviceptr at = shared(SMALL), other;
	if (!rank) {
		lend(at);
		wait();
		return;
	}
	CUipcMemHandle handle = borrowed();
	for (int i = 0; i < OFTEN; i++)
		CHECK(opened(handle) == at);
	for (int i = 0; i < OFTEN; i++)
		TRY(cuIpcCloseMemHandle(at));
	TRY(cuIpcCloseMemHandle(at));
	STALE(cuIpcCloseMemHandle(at));
	for (int i = 0; i < OFTEN; i++) {
		other = opened(handle);
		TRY(cuIpcCloseMemHandle(other));
	}
	tell();
}

static const struct form forms[] = {
	{"racy", racy, 1}, {"peer", racy, 2}, {"small", small, 1}, {"offset", offset, 1}, {"apart", apart, 1}, {"flags", flags, 2},
	{"narrow", narrow, 2}, {"waited", waited, 1}, {"event", event, 1}, {"event_host", event_host, 1}, {"event_before", event_before, 1}, {"closed", closed, 1},
	{"closed_one", closed_one, 1}, {"late", late, 2}, {"questions", questions, 2}, {"own", own, 1}, {"twice", twice, 1}, {"garbage", garbage, 1},
	{"exits", exits, 1}, {"frees", frees, 1}, {"frees_small", frees_small, 1}, {"often", often, 1}, {NULL, NULL, 0},
};

int main(int argc, char **argv) { return run_form(forms, argc, argv); }

/* A program for gsan-launch -n 2: `fabric FORM NAME`, NAME being the ranks' own. Rank 0 makes memory that has a fabric handle, rank 1 imports that.
 * A kernel of each stores to it, and the two race if
 *   racy                  nothing orders them
 *   peer                  each on its own GPU
 *   narrow                a flag orders them, on two GPUs by .gpu scope
 *   twice                 rank 1 has imported it twice, and given the first back
 *   again                 the addresses had other memory before, which both gave back
 *   own                   both are rank 0's, on two streams, at what it has imported itself, as a descriptor and by a fabric handle
 *   handed                likewise, one at what it imports by a handle of rank 1's
 *   late                  both are rank 1's, and rank 0 has freed the memory
 * They do not if
 *   apart                 they store to neighbouring bytes
 *   waited                rank 1 launches once rank 0 has told it that its own has ended
 *   flags                 a flag orders them by .sys scope, on two GPUs
 *   frees                 rank 0 has freed the memory, and stores to what it makes then
 *   foreign               the memory is another's: of a process outside of the job, which rank 0 imports twice
 * The other forms are questions and ends, each checked here: questions, garbage, exits, outside (a process outside of the job imports), fills, and
 * absent (EMU_FABRIC=0). A process outside of the job is `fabric makes FD` and `fabric takes FD`, which rank 0 starts. */
#include "ranks.h"

enum { BYTES = 4 << 20, LARGE = 64 << 20, FILLS = 40, ROUNDS = 5 };
#define FD CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
#define FABRIC CU_MEM_HANDLE_TYPE_FABRIC

struct piece { CUmemGenericAllocationHandle handle; CUdeviceptr at; size_t size; };

static CUmemAllocationProp how(unsigned types)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .requestedHandleTypes = (CUmemAllocationHandleType)types,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	CUdevice device;
	TRY(cuCtxGetDevice(&device));
	prop.location.id = device;
	return prop;
}

static struct piece mapped(CUmemGenericAllocationHandle handle, size_t size)
{
	struct piece p = {handle, 0, size};
	const CUmemAllocationProp here = how(FABRIC);
	const CUmemAccessDesc access = {here.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	TRY(cuMemAddressReserve(&p.at, size, 0, 0, 0));
	TRY(cuMemMap(p.at, size, 0, handle, 0));
	TRY(cuMemSetAccess(p.at, size, &access, 1));
	return p;
}

/* Zeros. */
static struct piece made(unsigned types, size_t size)
{
	CUmemGenericAllocationHandle handle;
	const CUmemAllocationProp prop = how(types);
	TRY(cuMemCreate(&handle, size, &prop, 0));
	struct piece p = mapped(handle, size);
	TRY(cuMemsetD8(p.at, 0, 4096));
	TRY(cuCtxSynchronize());
	return p;
}

static void give_back(const struct piece *p)
{
	TRY(cuMemUnmap(p->at, p->size));
	TRY(cuMemAddressFree(p->at, p->size));
	TRY(cuMemRelease(p->handle));
}

static CUmemFabricHandle name_of(const struct piece *p)
{
	CUmemFabricHandle name;
	TRY(cuMemExportToShareableHandle(&name, p->handle, FABRIC, 0));
	return name;
}

static CUresult import(CUmemFabricHandle name, CUmemGenericAllocationHandle *handle) { return cuMemImportFromShareableHandle(handle, &name, FABRIC); }

static struct piece imported(CUmemFabricHandle name, size_t size)
{
	CUmemGenericAllocationHandle handle;
	TRY(import(name, &handle));
	return mapped(handle, size);
}

static int is_stale(CUmemFabricHandle name)
{
	CUmemGenericAllocationHandle handle;
	return import(name, &handle) == CUDA_ERROR_INVALID_VALUE;
}

/* Rank 0's memory, in both by then, and its handle. */
static struct piece shared(CUmemFabricHandle *name, size_t size)
{
	struct piece p;
	if (rank) {
		hear(name, sizeof *name);
		p = imported(*name, size);
		tell();
		return p;
	}
	p = made(FABRIC, size);
	*name = name_of(&p);
	say(name, sizeof *name);
	wait();
	return p;
}

static CUdeviceptr shared_at(void)
{
	CUmemFabricHandle name;
	return shared(&name, BYTES).at;
}

static void racy(void) { together("store", shared_at() + BYTES - 4); }
static void apart(void) { together("store", shared_at() + 4 * (unsigned)rank); }
static void flags(void) { together(rank ? "get_sys" : "put_sys", shared_at()); }
static void narrow(void) { together(rank ? "get_gpu" : "put_gpu", shared_at()); }

static void waited(void) { ordered(shared_at()); }

static void twice(void)
{
	CUmemFabricHandle name;
	struct piece p = shared(&name, BYTES), second = p;
	if (rank) {
		second = imported(name, BYTES);
		give_back(&p);
	}
	together("store", second.at);
}

static void again(void)
{
	CUmemFabricHandle name, before = {{0}};
	for (int i = 0; i < ROUNDS; i++) {
		struct piece p = shared(&name, BYTES);
		ordered(p.at);
		if (rank && i)
			CHECK(is_stale(before));
		before = name;
		give_back(&p);
		if (rank)
			tell();
		else
			wait();
	}
	together("store", shared_at());
}

static void own(void)
{
	CUmemGenericAllocationHandle handle;
	int fd;
	if (rank)
		return;
	struct piece p = made(FD | FABRIC, BYTES), second = imported(name_of(&p), BYTES);
	TRY(cuMemExportToShareableHandle(&fd, p.handle, FD, 0));
	TRY(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, FD));
	TRY(close(fd));
	struct piece third = mapped(handle, BYTES);
	store(second.at);
	store(third.at);
	TRY(cuCtxSynchronize());
	CHECK(word(p.at) == 7);
}

static void handed(void)
{
	CUmemFabricHandle name;
	struct piece p = shared(&name, BYTES);
	if (rank) {
		name = name_of(&p);
		say(&name, sizeof name);
		wait();
		return;
	}
	hear(&name, sizeof name);
	struct piece second = imported(name, BYTES);
	store(p.at);
	store(second.at);
	TRY(cuCtxSynchronize());
	tell();
}

static void late(void)
{
	CUmemFabricHandle name;
	struct piece p = shared(&name, BYTES);
	if (!rank) {
		give_back(&p);
		tell();
		return;
	}
	wait();
	CHECK(is_stale(name));
	store(p.at);
	store(p.at);
	TRY(cuCtxSynchronize());
}

static void frees(void)
{
	CUmemFabricHandle name;
	struct piece p = shared(&name, BYTES);
	if (!rank) {
		give_back(&p);
		p = made(FABRIC, BYTES); /* not with the records of what the other rank has */
	}
	together("store", p.at);
	give_back(&p);
}

/* ---- questions and ends ---- */

static void questions(void)
{
	CUmemFabricHandle name;
	CUmemAllocationProp prop;
	CUmemGenericAllocationHandle handle;
	unsigned long long types = 0;
	int has = 0, fd;
	struct piece p = shared(&name, BYTES);
	TRY(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0));
	CHECK(has);
	TRY(cuMemGetAllocationPropertiesFromHandle(&prop, p.handle));
	CHECK(prop.requestedHandleTypes == FABRIC && prop.location.id == 0);
	TRY(cuPointerGetAttribute(&types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, p.at + 5));
	CHECK(types == FABRIC);
	STALE(cuMemExportToShareableHandle(&fd, p.handle, FD, 0));
	STALE(cuMemExportToShareableHandle(&name, p.handle, CU_MEM_HANDLE_TYPE_WIN32, 0));
	TRY(cuMemRetainAllocationHandle(&handle, (void *)(uintptr_t)p.at));
	TRY(cuMemExportToShareableHandle(&name, handle, FABRIC, 0));
	TRY(cuMemRelease(handle));
	CUmemFabricHandle same = name_of(&p);
	CHECK(!memcmp(&same, &name, sizeof name));
	give_back(&p);
	if (rank)
		return;
	p = made(FD, BYTES);
	STALE(cuMemExportToShareableHandle(&name, p.handle, FABRIC, 0));
	give_back(&p);
	p = made(FD | FABRIC, BYTES);
	TRY(cuMemGetAllocationPropertiesFromHandle(&prop, p.handle));
	CHECK((unsigned)prop.requestedHandleTypes == (FD | FABRIC));
	give_back(&p);
}

static void garbage(void)
{
	CUmemFabricHandle name, wrong = {{0}};
	CUmemGenericAllocationHandle handle;
	struct piece p = shared(&name, BYTES);
	CHECK(is_stale(wrong));
	memset(&wrong, 0xa5, sizeof wrong);
	CHECK(is_stale(wrong));
	for (size_t i = 0; i < sizeof wrong; i++) {
		wrong = name;
		wrong.data[i] ^= 0x55;
		CHECK(is_stale(wrong));
	}
	STALE(cuMemImportFromShareableHandle(&handle, NULL, FABRIC));
	STALE(cuMemImportFromShareableHandle(&handle, &name, CU_MEM_HANDLE_TYPE_WIN32));
	ordered(p.at);
}

static void exits(void)
{
	CUmemFabricHandle name;
	struct piece p = shared(&name, BYTES);
	char letter;
	if (!rank) {
		store(p.at);
		TRY(cuCtxSynchronize());
		exit(0);
	}
	CHECK(read(line, &letter, 1) == 0); /* it is gone */
	usleep(300000);
	CHECK(word(p.at) == 7 && is_stale(name));
	store(p.at);
	TRY(cuCtxSynchronize());
	CHECK(word(p.at) == 8);
	give_back(&p);
}

/* The device takes as much the last time as the first, and so does what is kept beside it. */
static void fills(void)
{
	CUmemFabricHandle name;
	size_t first = 0, now = 0, total;
	for (int i = 0; i < FILLS; i++) {
		struct piece p = shared(&name, LARGE);
		ordered(p.at);
		give_back(&p);
		if (rank)
			tell();
		else
			wait();
		TRY(cuMemGetInfo(&now, &total));
		first = i < 3 ? now : first;
	}
	CHECK(first - now < LARGE || now > first);
}

static void absent(void)
{
	const CUmemAllocationProp prop = how(FD | FABRIC);
	CUmemGenericAllocationHandle handle;
	CUmemFabricHandle name = {{0}};
	REFUSED(CUDA_ERROR_NOT_PERMITTED, cuMemCreate(&handle, BYTES, &prop, 0));
	REFUSED(CUDA_ERROR_NOT_PERMITTED, cuMemImportFromShareableHandle(&handle, &name, FABRIC));
	if (rank)
		wait();
	struct piece p = made(FD, BYTES);
	store(p.at);
	TRY(cuCtxSynchronize());
	give_back(&p);
	if (!rank)
		tell();
}

/* ---- a process outside of the job, which is the line's other end ---- */

static int with_outside(const char *what)
{
	char path[4096], number[16];
	int pair[2];
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair));
	snprintf(path, sizeof path, "LD_LIBRARY_PATH=%s", getenv("LD_LIBRARY_PATH"));
	snprintf(number, sizeof number, "%d", pair[1]);
	if (!fork()) {
		execve("/proc/self/exe", (char *[]){program_invocation_name, (char *)(uintptr_t)what, number, NULL}, (char *[]){path, NULL});
		_exit(127);
	}
	close(pair[1]);
	return pair[0];
}

static int is_outside(const char *what, int to)
{
	CUmemFabricHandle name;
	CUcontext context;
	struct piece p;
	line = to;
	TRY(cuInit(0));
	TRY(cuDevicePrimaryCtxRetain(&context, 0));
	TRY(cuCtxSetCurrent(context));
	if (*what == 'm') {
		p = made(FABRIC, BYTES);
		name = name_of(&p);
		say(&name, sizeof name);
		wait();
		CHECK(word(p.at) == 7);
	} else {
		hear(&name, sizeof name);
		p = imported(name, BYTES);
		TRY(cuMemsetD32(p.at, 42, 1));
		TRY(cuCtxSynchronize());
	}
	give_back(&p);
	tell();
	return 0;
}

static void foreign(void)
{
	CUmemFabricHandle name;
	store(memory(4)); /* a rank of which nothing is checked would be told of, too */
	TRY(cuCtxSynchronize());
	if (rank)
		return;
	line = with_outside("makes");
	hear(&name, sizeof name);
	struct piece p = imported(name, BYTES), second = imported(name, BYTES);
	store(p.at);
	store(second.at);
	TRY(cuCtxSynchronize());
	tell();
	wait();
}

static void outside(void)
{
	if (rank)
		return;
	struct piece p = made(FABRIC, BYTES);
	CUmemFabricHandle name = name_of(&p);
	store(p.at);
	TRY(cuCtxSynchronize());
	line = with_outside("takes");
	say(&name, sizeof name);
	wait();
	CHECK(word(p.at) == 42);
	give_back(&p);
}

static const struct form forms[] = {
	{"racy", racy, 1}, {"peer", racy, 2}, {"narrow", narrow, 2}, {"twice", twice, 1}, {"again", again, 1}, {"own", own, 1}, {"handed", handed, 1},
	{"late", late, 1}, {"apart", apart, 1}, {"waited", waited, 1}, {"flags", flags, 2}, {"frees", frees, 1}, {"foreign", foreign, 1},
	{"questions", questions, 1}, {"garbage", garbage, 1}, {"exits", exits, 1}, {"outside", outside, 1}, {"fills", fills, 1}, {"absent", absent, 1},
	{NULL, NULL, 0},
};

int main(int argc, char **argv)
{
	int outside_of_job = argc > 2 && (!strcmp(argv[1], "makes") || !strcmp(argv[1], "takes"));
	return outside_of_job ? is_outside(argv[1], atoi(argv[2])) : run_form(forms, argc, argv);
}

/* How the C examples meet, share memory and launch; see world.h. */
#include "world.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MEET_SECONDS 60

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

void world_check(CUresult result, const char *call)
{
	const char *text = NULL;

	if (result == CUDA_SUCCESS)
		return;
	cuGetErrorName(result, &text);
	fprintf(stderr, "%s: %s (%d)\n", call, text ? text : "unknown error", (int)result);
	exit(1);
}

/* ---- ranks ---------------------------------------------------------------------------------------------------- */
static int environment(const char *const *names, int missing)
{
	for (; *names; names++)
		if (getenv(*names))
			return atoi(getenv(*names));
	return missing;
}

static const char *const rank_names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", NULL};
static const char *const size_names[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", NULL};
static const char *const local_names[] = {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", NULL};

/* An abstract name goes with its last socket: nothing is left behind. */
static socklen_t meeting_place(struct sockaddr_un *address)
{
	const char *port = getenv("MASTER_PORT");
	int length;

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "example-%d-%s", (int)getuid(),
			  port ? port : "29500");
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static void meet_as_first(struct world *w, const struct sockaddr_un *address, socklen_t length)
{
	struct timeval limit = {.tv_sec = MEET_SECONDS};
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (listener < 0 || bind(listener, (const struct sockaddr *)address, length) || listen(listener, w->size))
		fail("rank 0: cannot listen for its peers");
	setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	for (int i = 1; i < w->size; i++) {
		int32_t rank;
		int link;

		do
			link = accept(listener, NULL, NULL);
		while (link < 0 && errno == EINTR); /* stopped, and gone on (Ctrl-Z, fg) */
		if (link < 0 || recv(link, &rank, sizeof(rank), 0) != (ssize_t)sizeof(rank) || rank <= 0 || rank >= w->size)
			fail("rank 0: a peer did not come");
		w->link[rank] = link;
	}
	close(listener);
}

static void meet_first(struct world *w, const struct sockaddr_un *address, socklen_t length)
{
	time_t limit = time(NULL) + MEET_SECONDS;
	int32_t rank = w->rank;

	w->link[0] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	while (w->link[0] >= 0 && connect(w->link[0], (const struct sockaddr *)address, length)) {
		if (time(NULL) > limit)
			fail("rank 0 did not come");
		usleep(20000);
	}
	if (send(w->link[0], &rank, sizeof(rank), MSG_NOSIGNAL) != (ssize_t)sizeof(rank))
		fail("cannot greet rank 0");
}

/* One byte, and with it the descriptors. */
static void send_fds(int link, const int *fds, int count)
{
	char byte = 'x';
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int) * WORLD_RANKS)] = {0};
	struct iovec io = {&byte, 1};
	struct msghdr msg = {.msg_iov = &io, .msg_iovlen = 1};

	if (count) {
		struct cmsghdr *c;

		msg.msg_control = room;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)count);
	}
	if (sendmsg(link, &msg, MSG_NOSIGNAL) != 1)
		fail("cannot reach a peer");
}

static void receive_fds(int link, int *fds, int count)
{
	char byte;
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int) * WORLD_RANKS)];
	struct iovec io = {&byte, 1};
	struct msghdr msg = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
	struct cmsghdr *c;

	if (recvmsg(link, &msg, MSG_CMSG_CLOEXEC) != 1) {
		fprintf(stderr, "a peer is gone\n");
		exit(1);
	}
	c = CMSG_FIRSTHDR(&msg);
	if (count && (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(sizeof(int) * (size_t)count)))
		fail("a peer sent no handle");
	if (count)
		memcpy(fds, CMSG_DATA(c), sizeof(int) * (size_t)count);
}

/* Every rank gives `each` descriptors (0 or 1) and gets those of all ranks, in order of rank. */
static void exchange(struct world *w, int *fds, int each)
{
	if (w->rank == 0) {
		for (int r = 1; r < w->size; r++)
			receive_fds(w->link[r], fds + r * each, each);
		for (int r = 1; r < w->size; r++)
			send_fds(w->link[r], fds, w->size * each);
	} else {
		send_fds(w->link[0], fds, each);
		if (each)
			close(fds[0]);
		receive_fds(w->link[0], fds, w->size * each);
	}
}

void world_barrier(struct world *w)
{
	exchange(w, NULL, 0);
}

/* ---- memory --------------------------------------------------------------------------------------------------- */
static CUmemAllocationProp shareable(const struct world *w)
{
	return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				     .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = w->device}};
}

CUdeviceptr world_zeros(size_t bytes)
{
	CUdeviceptr at;

	WORLD_TRY(cuMemAlloc(&at, bytes));
	WORLD_TRY(cuMemsetD8(at, 0, bytes));
	return at;
}

static CUdeviceptr map(const struct world *w, CUmemGenericAllocationHandle handle, size_t bytes)
{
	CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = w->device},
				  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr at;

	WORLD_TRY(cuMemAddressReserve(&at, bytes, 0, 0, 0));
	WORLD_TRY(cuMemMap(at, bytes, 0, handle, 0));
	WORLD_TRY(cuMemSetAccess(at, bytes, &access, 1));
	WORLD_TRY(cuMemRelease(handle));
	return at;
}

void world_shared_new(struct world *w, size_t bytes, struct world_shared *shared)
{
	CUmemAllocationProp prop = shareable(w);
	CUmemGenericAllocationHandle handle, peer;
	int fds[WORLD_RANKS] = {-1};

	shared->bytes = (bytes + w->granularity - 1) / w->granularity * w->granularity;
	WORLD_TRY(cuMemCreate(&handle, shared->bytes, &prop, 0));
	if (w->size > 1)
		WORLD_TRY(cuMemExportToShareableHandle(&fds[0], handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	exchange(w, fds, 1);
	for (int r = 0; r < w->size; r++) {
		if (r != w->rank)
			WORLD_TRY(cuMemImportFromShareableHandle(&peer, (void *)(intptr_t)fds[r],
								 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
		shared->of[r] = map(w, r == w->rank ? handle : peer, shared->bytes);
		if (fds[r] >= 0)
			close(fds[r]);
	}
	WORLD_TRY(cuMemsetD8(shared->of[w->rank], 0, bytes));
}

void world_shared_free(const struct world *w, const struct world_shared *shared)
{
	for (int r = 0; r < w->size; r++) {
		WORLD_TRY(cuMemUnmap(shared->of[r], shared->bytes));
		WORLD_TRY(cuMemAddressFree(shared->of[r], shared->bytes));
	}
}

void world_open(struct world *w)
{
	world_open_on(w, NULL, 0);
}

void world_open_on(struct world *w, const int *device, int size)
{
	CUmemAllocationProp prop;
	CUcontext context;
	struct sockaddr_un address;
	socklen_t length = meeting_place(&address);
	int devices, wanted;

	memset(w, 0, sizeof(*w));
	w->rank = environment(rank_names, 0);
	w->size = environment(size_names, 1);
	if (w->size < 1 || w->size > WORLD_RANKS || w->rank < 0 || w->rank >= w->size) {
		fprintf(stderr, "rank %d of %d: not a world for at most %d ranks\n", w->rank, w->size, WORLD_RANKS);
		exit(1);
	}
	if (w->rank == 0)
		meet_as_first(w, &address, length);
	else
		meet_first(w, &address, length);
	WORLD_TRY(cuInit(0));
	WORLD_TRY(cuDeviceGetCount(&devices));
	wanted = w->rank < size ? device[w->rank] : environment(local_names, w->rank) % devices;
	WORLD_TRY(cuDeviceGet(&w->device, wanted));
	WORLD_TRY(cuDevicePrimaryCtxRetain(&context, w->device));
	WORLD_TRY(cuCtxSetCurrent(context));
	prop = shareable(w);
	WORLD_TRY(cuMemGetAllocationGranularity(&w->granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
}

void world_close(struct world *w)
{
	for (int r = 0; r < w->size; r++)
		if (w->link[r] > 0)
			close(w->link[r]);
	WORLD_TRY(cuDevicePrimaryCtxRelease(w->device));
}

/* ---- kernels -------------------------------------------------------------------------------------------------- */
static char *read_beside(const char *form, const char *kernel, const char *ending)
{
	char program[2048], path[4096];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	char *text = NULL;
	size_t room = 0;
	FILE *file;

	if (length < 0)
		fail("/proc/self/exe");
	program[length] = 0;
	*strrchr(program, '/') = 0;
	snprintf(path, sizeof(path), "%s/ptx/%s-%s.%s", program, form, kernel, ending);
	file = fopen(path, "r");
	if (!file || getdelim(&text, &room, 0, file) < 0)
		fail(path);
	fclose(file);
	return text;
}

void world_kernel_load(struct world_kernel *kernel, const char *form, const char *name)
{
	char *ptx = read_beside(form, name, "ptx"), *shape = read_beside(form, name, "launch");
	char entry[128];

	if (sscanf(shape, "%127s %u %u", entry, &kernel->warps, &kernel->shared_bytes) != 3)
		fail(shape);
	WORLD_TRY(cuModuleLoadData(&kernel->module, ptx));
	WORLD_TRY(cuModuleGetFunction(&kernel->function, kernel->module, entry));
	free(ptx);
	free(shape);
}

void world_kernel_launch(const struct world_kernel *kernel, unsigned programs, void **args, unsigned count)
{
	CUdeviceptr none = 0;
	void *all[16];

	memcpy(all, args, count * sizeof(*args));
	all[count] = all[count + 1] = &none;
	WORLD_TRY(cuLaunchKernel(kernel->function, programs, 1, 1, 32 * kernel->warps, 1, 1, kernel->shared_bytes, NULL, all,
				 NULL));
}

/* ---- arguments ------------------------------------------------------------------------------------------------ */
void world_arguments(int argc, char **argv, const char *usage)
{
	for (int i = 1; i < argc; i += 2) {
		int help = !strcmp(argv[i], "--help");
		const char *at = strncmp(argv[i], "--", 2) ? NULL : strstr(usage, argv[i]);

		if (at && at[strlen(argv[i])] == ' ' && i + 1 < argc)
			continue;
		fprintf(help ? stdout : stderr, "usage: %s %s\n", argv[0], usage);
		exit(help ? 0 : 2);
	}
}

const char *world_option(int argc, char **argv, const char *name, const char *const *choices)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], name))
			continue;
		for (const char *const *choice = choices; *choice && i + 1 < argc; choice++)
			if (!strcmp(argv[i + 1], *choice))
				return *choice;
		fprintf(stderr, "%s: %s is not one of:", argv[0], name);
		for (const char *const *choice = choices; *choice; choice++)
			fprintf(stderr, " %s", *choice);
		fprintf(stderr, "\n");
		exit(2);
	}
	return choices[0];
}

int world_iterations(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], "--iterations"))
			return atoi(argv[i + 1]);
	return 1;
}

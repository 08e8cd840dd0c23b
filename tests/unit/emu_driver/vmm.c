/* Virtual memory management, and sharing of physical memory with a process that was started by exec, by a descriptor over SCM_RIGHTS and by a
 * fabric handle. */
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define ARENA 0x200000000000ull
#define SIZE (4ull << 20)
#define FD CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
#define FABRIC CU_MEM_HANDLE_TYPE_FABRIC

static const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					 .requestedHandleTypes = (CUmemAllocationHandleType)(FD | FABRIC),
					 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}};

static void send_fd(int socket, int fd)
{
	char byte = 'x', control[CMSG_SPACE(sizeof fd)] = {0};
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	*c = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd)};
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	CHECK(sendmsg(socket, &m, 0) == 1);
}

static int recv_fd(int socket)
{
	int fd;
	char byte, control[CMSG_SPACE(sizeof fd)] = {0};
	struct iovec io = {&byte, 1};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
	CHECK(recvmsg(socket, &m, 0) == 1 && CMSG_FIRSTHDR(&m));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
	return fd;
}

static CUmemGenericAllocationHandle take(int socket, CUmemAllocationHandleType type)
{
	CUmemGenericAllocationHandle handle;
	CUmemFabricHandle fabric;
	if (type == FABRIC) {
		CHECK(read(socket, &fabric, sizeof fabric) == sizeof fabric);
		OK(cuMemImportFromShareableHandle(&handle, &fabric, FABRIC));
		return handle;
	}
	int fd = recv_fd(socket);
	OK(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, FD));
	close(fd);
	return handle;
}

static void give(int socket, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type)
{
	CUmemFabricHandle fabric;
	int fd;
	if (type == FABRIC) {
		OK(cuMemExportToShareableHandle(&fabric, handle, FABRIC, 0));
		CHECK(write(socket, &fabric, sizeof fabric) == sizeof fabric);
		return;
	}
	OK(cuMemExportToShareableHandle(&fd, handle, FD, 0));
	send_fd(socket, fd);
	close(fd);
}

static void give_access(CUdeviceptr at, CUmemAccess_flags flags)
{
	CUmemAccessDesc access = {{.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}, flags};
	OK(cuMemSetAccess(at, SIZE, &access, 1));
}

/* The other process: maps what it is sent elsewhere, reads 41, writes 42. */
static int peer(int socket, CUmemAllocationHandleType type)
{
	CUmemAllocationProp its;
	CUdeviceptr at;
	unsigned value;
	start();
	CUmemGenericAllocationHandle handle = take(socket, type);
	OK(cuMemGetAllocationPropertiesFromHandle(&its, handle));
	CHECK(its.location.id == 1 && its.requestedHandleTypes == type);
	OK(cuMemAddressReserve(&at, SIZE, 0, 0, 0));
	OK(cuMemMap(at, SIZE, 0, handle, 0));
	OK(cuMemRelease(handle));
	give_access(at, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	OK(cuMemcpyDtoH(&value, at + SIZE - 4, 4));
	CHECK(value == 41);
	OK(cuMemsetD32(at, 42, 1));
	OK(cuCtxSynchronize());
	OK(cuMemUnmap(at, SIZE));
	OK(cuMemAddressFree(at, SIZE));
	return 0;
}

static void share(const char *program, CUmemGenericAllocationHandle handle, CUdeviceptr at, CUmemAllocationHandleType type)
{
	int pair[2], status;
	unsigned value = 41;
	char number[16];
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	OK(cuMemsetD32(at, 0, 1));
	OK(cuMemcpyHtoD(at + SIZE - 4, &value, 4));
	pid_t child = fork();
	if (!child) {
		snprintf(number, sizeof number, "%d", pair[1]);
		execl(program, program, number, type == FABRIC ? "fabric" : "fd", (char *)NULL);
		_exit(127);
	}
	give(pair[0], handle, type);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	OK(cuMemcpyDtoH(&value, at, 4));
	CHECK(value == 42);
	close(pair[0]);
	close(pair[1]);
}

static void refusals(CUdeviceptr arena, CUmemGenericAllocationHandle handle)
{
	CUmemGenericAllocationHandle other;
	CUmemAllocationProp win32 = prop;
	win32.requestedHandleTypes = CU_MEM_HANDLE_TYPE_WIN32;
	EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuMemCreate(&other, SIZE, &win32, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&other, 4096, &prop, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemMap(arena, SIZE, 4096, handle, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemMap(0x10000, SIZE, 0, handle, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(arena, SIZE));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemRelease(1234));
	int fd = dup(0);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemImportFromShareableHandle(&other, (void *)(intptr_t)fd, FD));
	close(fd);
}

static CUmemGenericAllocationHandle created(CUmemAllocationHandleType type)
{
	CUmemGenericAllocationHandle handle;
	CUmemAllocationProp how = prop;
	how.requestedHandleTypes = type;
	OK(cuMemCreate(&handle, SIZE, &how, 0));
	return handle;
}

/* A handle is good in the process that made it, too, while the memory is there, and unchanged. */
static void fabric(void)
{
	CUmemGenericAllocationHandle handle = created(FABRIC), other;
	CUmemFabricHandle name, again;
	int fd, has;
	OK(cuMemExportToShareableHandle(&name, handle, FABRIC, 0));
	OK(cuMemExportToShareableHandle(&again, handle, FABRIC, 0));
	CHECK(!memcmp(&name, &again, sizeof name));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemExportToShareableHandle(&fd, handle, FD, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemExportToShareableHandle(&again, handle, CU_MEM_HANDLE_TYPE_WIN32, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemImportFromShareableHandle(&other, NULL, FABRIC));
	for (size_t i = 0; i < sizeof name; i++) {
		again = name;
		again.data[i] ^= 0x55;
		EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemImportFromShareableHandle(&other, &again, FABRIC));
	}
	OK(cuMemImportFromShareableHandle(&other, &name, FABRIC));
	OK(cuMemRelease(other));
	OK(cuMemRelease(handle));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemImportFromShareableHandle(&other, &name, FABRIC));
	handle = created(FABRIC);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemImportFromShareableHandle(&other, &name, FABRIC));
	OK(cuMemRelease(handle));
	handle = created(FD);
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemExportToShareableHandle(&name, handle, FABRIC, 0));
	OK(cuMemRelease(handle));

	setenv("EMU_FABRIC", "0", 1);
	OK(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, 0));
	CHECK(has == 1);
	EXPECT(CUDA_ERROR_NOT_PERMITTED, cuMemCreate(&other, SIZE, &prop, 0));
	EXPECT(CUDA_ERROR_NOT_PERMITTED, cuMemImportFromShareableHandle(&other, &name, FABRIC));
	OK(cuMemRelease(created(FD)));
	unsetenv("EMU_FABRIC");
}

int main(int argc, char **argv)
{
	if (argc > 2)
		return peer(atoi(argv[1]), strcmp(argv[2], "fabric") ? FD : FABRIC);
	CUmemGenericAllocationHandle handle, retained;
	CUdeviceptr arena, second;
	size_t granularity;
	unsigned long long flags;
	unsigned value = 5;
	start();
	OK(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	CHECK(granularity == 2 << 20);
	OK(cuMemAddressReserve(&arena, 1ull << 45, 0, ARENA, 0));
	CHECK(arena == ARENA);
	OK(cuMemCreate(&handle, SIZE, &prop, 0));
	refusals(arena, handle);
	OK(cuMemMap(arena, SIZE, 0, handle, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemMap(arena + granularity, SIZE, 0, handle, 0));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(arena, &value, 4)); /* no access yet */
	give_access(arena, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	OK(cuMemGetAccess(&flags, &(CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}, arena));
	CHECK(flags == 0);
	OK(cuMemRetainAllocationHandle(&retained, (void *)(uintptr_t)(arena + 100)));
	CHECK(retained == handle);
	OK(cuMemRelease(retained));
	OK(cuMemAddressReserve(&second, SIZE, 0, 0, 0));
	OK(cuMemMap(second, SIZE, 0, handle, 0)); /* two views of the same bytes */
	give_access(second, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	OK(cuMemcpyHtoD(arena + 64, &value, 4));
	value = 0;
	OK(cuMemcpyDtoH(&value, second + 64, 4));
	CHECK(value == 5);
	share(argv[0], handle, arena, FD);
	share(argv[0], handle, arena, FABRIC);
	fabric();
	OK(cuMemRelease(handle));
	OK(cuMemUnmap(second, SIZE));
	OK(cuMemUnmap(arena, SIZE));
	EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemRelease(handle));
	OK(cuMemAddressFree(second, SIZE));
	OK(cuMemAddressFree(arena, 1ull << 45));
	return 0;
}

/* For programs of several processes that lend each other memory: a piece of their own, which goes to others as a descriptor, and a letter by
 * which one tells another that it may go on. */
#ifndef GSAN_TESTS_LENT_H
#define GSAN_TESTS_LENT_H

#include <cuda.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BYTES = 2 << 20 };

static void must(int failed, const char *what)
{
	if (!failed)
		return;
	fprintf(stderr, "%s: process %d: %s: error %d\n", program_invocation_short_name, (int)getpid(), what, failed);
	exit(1);
}
#define TRY(call) must((int)(call), #call)

static CUmemGenericAllocationHandle own_new(void)
{
	const CUmemAllocationProp how = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}},
					 .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
	CUmemGenericAllocationHandle handle;

	TRY(cuMemCreate(&handle, BYTES, &how, 0));
	return handle;
}

static CUdeviceptr mapped(CUmemGenericAllocationHandle handle)
{
	const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr at;

	TRY(cuMemAddressReserve(&at, BYTES, 0, 0, 0));
	TRY(cuMemMap(at, BYTES, 0, handle, 0));
	TRY(cuMemSetAccess(at, BYTES, &access, 1));
	return at;
}

static void send_memory(int to, CUmemGenericAllocationHandle handle)
{
	union { struct cmsghdr align; char bytes[CMSG_SPACE(sizeof(int))]; } control = {0};
	char letter = 0;
	struct iovec part = {&letter, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	int fd;

	TRY(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	TRY(sendmsg(to, &message, 0) != 1);
	close(fd);
}

static CUmemGenericAllocationHandle take_memory(int from)
{
	union { struct cmsghdr align; char bytes[CMSG_SPACE(sizeof(int))]; } control;
	char letter;
	struct iovec part = {&letter, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
	CUmemGenericAllocationHandle handle;
	int fd;

	TRY(recvmsg(from, &message, 0) != 1 || !CMSG_FIRSTHDR(&message));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
	TRY(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	close(fd);
	return handle;
}

static void tell(int to) { TRY(write(to, "x", 1) != 1); }
static void hear(int from)
{
	char letter;
	TRY(read(from, &letter, 1) != 1);
}

#endif

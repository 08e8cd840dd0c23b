#include "super.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ipc/ipc.h"

#define CONNECTIONS 4

struct super super = {.places = 1};
static pthread_t thread;
static int listener = -1, job_fd;

static int join(struct ipc_msg *msg, int *reply_fd)
{
	if (super.joined == super.places)
		return -ENOSPC;
	msg->participant = super.joined + (super.joined > 0);
	super.joined++;
	if (super.job->participants <= (uint32_t)msg->participant)
		super.job->participants = (uint32_t)msg->participant + 1;
	*reply_fd = job_fd;
	return 0;
}

/* Puts the reply into msg. *owned: reply_fd is ours to close. Takes fd. */
static int answer(struct ipc_msg *msg, int fd, int *reply_fd, int *owned)
{
	struct broker_range range = {.space = msg->space, .participant = (uint32_t)msg->participant, .alloc = msg->alloc,
				     .base = msg->base, .size = msg->size}, found = range;
	int rc = 0;
	switch (msg->type) {
	case IPC_JOIN: return join(msg, reply_fd);
	case IPC_PUT: return broker_put(super.broker, &range, fd);
	case IPC_EXPORT: *owned = 1; return broker_export(super.broker, &range, fd, reply_fd);
	case IPC_GET: rc = broker_get(super.broker, &range, &msg->cursor, &found, reply_fd); break;
	case IPC_IMPORT: rc = broker_import(super.broker, fd, range.participant, &found, reply_fd); break;
	case IPC_NAME: rc = super.refuse_names ? -ENOMEM : broker_name(super.broker, &range, msg->text); break;
	case IPC_NAMED: rc = broker_named(super.broker, msg->text, range.participant, &found); break;
	case IPC_RETURN: broker_return(super.broker, msg->base, range.participant); break;
	case IPC_VACATE: rc = broker_vacant(super.broker, msg->base, msg->size); break;
	case IPC_LEND: return broker_lend(super.broker, &range, fd, &msg->alloc);
	case IPC_OPEN: rc = broker_open(super.broker, msg->alloc, 0, &found, &msg->cursor, reply_fd); break;
	case IPC_CLOSE: broker_close(super.broker, msg->alloc, 0); break;
	case IPC_RECLAIM: rc = broker_reclaim(super.broker, msg->alloc, 0); break;
	case IPC_ALLOC: super.allocs++; super.alloc_base = msg->base; break;
	case IPC_NOTE: super.notes++; snprintf(super.note, sizeof super.note, "%.*s", (int)msg->length, msg->text); break;
	default: break;
	}
	if (fd >= 0)
		close(fd);
	msg->base = found.base;
	msg->size = found.size;
	msg->alloc = found.alloc;
	return rc;
}

/* 0: the connection has ended. */
static int serve_one(int connection)
{
	struct ipc_msg msg;
	int fd, reply_fd = -1, owned = 0;
	if (ipc_recv(connection, &msg, &fd))
		return 0;
	if (++super.messages == super.die_at) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	msg.error = answer(&msg, fd, &reply_fd, &owned);
	msg.type = msg.error ? IPC_ERROR : IPC_OK;
	ipc_send(connection, &msg, msg.error ? -1 : reply_fd);
	if (owned && reply_fd >= 0)
		close(reply_fd);
	return 1;
}

/* Until the first connection has ended, which takes the others along. */
static void *serve(void *unused)
{
	struct pollfd at[1 + CONNECTIONS] = {{.fd = listener, .events = POLLIN}};
	int open = 0;
	(void)unused;
	for (;;) {
		poll(at, 1 + (nfds_t)open, -1);
		if (at[0].revents && open < CONNECTIONS) {
			int connection = ipc_accept(listener);
			if (connection < 0)
				break;
			at[++open] = (struct pollfd){.fd = connection, .events = POLLIN};
		}
		int i = 1;
		while (i <= open && (!at[i].revents || serve_one(at[i].fd)))
			i++;
		if (i == 1 && i <= open)
			break;
		if (i <= open) {
			close(at[i].fd);
			at[i] = at[open--];
		}
	}
	while (open)
		close(at[open--].fd);
	return NULL;
}

void super_start(void)
{
	char name[64];
	snprintf(name, sizeof name, "gsan-test-vmm-%d", (int)getpid());
	setenv("GSAN_SOCKET", name, 1);
	job_fd = memfd_create("job", MFD_CLOEXEC);
	if (ftruncate(job_fd, sizeof(struct job)) || broker_new(&super.broker))
		abort();
	super.job = mmap(NULL, sizeof(struct job), PROT_READ | PROT_WRITE, MAP_SHARED, job_fd, 0);
	super.job->abi = GSAN_ABI;
	super.job->proto = GSAN_PROTO;
	super.job->participants = 2;
	super.job->rank_bits = 14;
	super.job->nonce = 0x123456789;
	listener = ipc_listen(name);
	if (listener < 0 || pthread_create(&thread, NULL, serve, NULL))
		abort();
}

void super_stop(void)
{
	shutdown(listener, SHUT_RDWR); /* if nobody came */
	pthread_join(thread, NULL); /* ends with the connection */
	close(listener);
	close(job_fd);
	broker_free(super.broker);
}

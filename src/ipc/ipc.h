/* ipc: how rank processes, launchers and the supervisor talk. This file: the transport. Messages are proto.h's; the
 * job's shared memory is job.h. */
#ifndef GSAN_IPC_IPC_H
#define GSAN_IPC_IPC_H

#include "ipc/proto.h"

/* name: abstract UNIX socket name without the leading NUL. All return a descriptor (close-on-exec) or -errno;
 * ipc_listen returns -EADDRINUSE if another supervisor of this job already listens. */
int ipc_listen(const char *name);
int ipc_accept(int listener); /* -EPERM: a process of another uid, already closed */
int ipc_connect(const char *name, int timeout_ms); /* retries until the supervisor listens */

/* fd < 0: none. The descriptor stays the caller's. Return 0 or -errno. */
int ipc_send(int socket, const struct ipc_msg *msg, int fd);
/* *fd = the received descriptor (close-on-exec) or -1. -ECONNRESET when the other side is gone. */
int ipc_recv(int socket, struct ipc_msg *msg, int *fd);
/* Request and reply; msg is both. fd_in < 0: none; fd_out may be NULL. Returns 0, -errno of the transport, or
 * msg->error of the reply. Safe from several threads (one lock per process). */
int ipc_call(int socket, struct ipc_msg *msg, int fd_in, int *fd_out);
void ipc_text(struct ipc_msg *msg, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

/* The messages between a rank process (libgsan), the launchers and the supervisor: fixed structs over one SOCK_SEQPACKET
 * UNIX socket with an abstract name, file descriptors beside them by SCM_RIGHTS. One request, one reply, in order, per
 * connection; the supervisor answers only processes of its own uid (SO_PEERCRED). The supervisor never calls CUDA: it
 * passes on descriptors. */
#ifndef GSAN_IPC_PROTO_H
#define GSAN_IPC_PROTO_H

#include <stdint.h>

#define GSAN_PROTO 13u
#define GSAN_ENV_SOCKET "GSAN_SOCKET" /* abstract socket name, without the leading NUL; set by gsan-launch */
#define GSAN_ENV_RANK "GSAN_RANK"     /* rank as gsan-launch knows it, or unset */
#define GSAN_ENV_DEVICE "GSAN_DEVICE" /* "cuda" or "emu", set by gsan-launch */
#define GSAN_ENV_CALLER "GSAN_CALLER"  /* for gsan-ptxas: the process for which it is called, if that is not its parent */
#define GSAN_ENV_EMU "GSAN_EMU_JOB"   /* path of the emulated device's shared memory (/proc/<supervisor>/fd/<n>) */

enum ipc_type {
	IPC_ERROR,      /* reply: error, text */
	IPC_OK,         /* reply */
	IPC_LAUNCHER,   /* launcher → supervisor: rank, size, pid, text = its options for the whole job, lines NAME, a tab, VALUE; they
	                 * must be those of the launcher that started the supervisor, or the job does not start: IPC_ERROR with the reason,
	                 * to all. Else the reply comes when every launcher of the job is there: IPC_OK with text = emu path, a tab, cache
	                 * directory; cursor = the port for MASTER_PORT */
	IPC_WAIT,       /* launcher: my rank's process ended (status = wait status); the reply comes when the job is merged:
	                 * status = exit status for every launcher, fd[0] = memfd with the report's text (one launcher only) */
	IPC_JOIN,       /* libgsan: pid, rank (-1 unknown), gpu (PCI bus id text); reply: participant, fd[0] = job memory. Participant -1:
	                 * there is no room, text = why; it may still import, open and close */
	IPC_RANK,       /* libgsan: its rank became known late */
	IPC_PUT,        /* libgsan: fd[0] = memory handle of (space, base, size); kept until the participant leaves */
	IPC_GET,        /* libgsan: the next handle whose range meets (space, base, size); reply: fd, its base and size; or
	                 * IPC_ERROR -ENOENT. cursor in/out: 0 first, as replied for the next */
	IPC_EXPORT,     /* libgsan: fd[0] = real handle of its allocation (base = canonical, size, alloc); reply fd[0] = token
	                 * for the program (a pipe's read end) */
	IPC_IMPORT,     /* libgsan: fd[0] = a token; reply: participant, base, size, alloc, fd[0] = real handle; -ENOENT: not a token */
	IPC_FREED,      /* libgsan: allocation (alloc) released by its owner; the token stays good until its last copy closes */
	IPC_KERNEL,     /* libgsan: kernel id, fd[0] = memfd with the info text (info.h) */
	IPC_ALLOC,      /* libgsan: an allocation (alloc): base, size, text = label. alloc 0: what the program calls a part of one;
	                 * -ENOSPC: the job has too many of these */
	IPC_NOTE,       /* libgsan: coverage: text = "key\tname\treason", or where it has no room, fd[0] = memfd with that. Key "unchecked": a kernel that ran unchecked, listed
	                 * first in the report; "left-out": likewise, because the user wants that; "foreign": memory that is not checked; "fatal": the job fails with it, though
	                 * the program goes on; others are listed as they are */
	IPC_COMPILE,    /* libgsan: fd[0] = memfd with PTX, text = GPU ("sm_90a"), a tab, what reports call it, pid; the reply comes when
	                 * gsan-ptxas has ended: fd[0] = memfd with the cubin. On a connection of its own, which waits that long */
	IPC_STARTED,    /* launcher: its rank's process is pid; base = 1: which leads a process group of its own */
	IPC_LEND,       /* libgsan: fd[0] = real handle of its memory (base = canonical, size) for a CUDA IPC handle; reply: alloc = number */
	IPC_OPEN,       /* libgsan: opens number alloc; reply: participant, base, size, fd[0] = real handle, cursor = the same for all numbers
	                 * of one piece of memory; -ENOENT: its owner freed it or left, or there never was one; -ELOOP: its own */
	IPC_CLOSE,      /* libgsan: has closed number alloc, as often as it opened it */
	IPC_RECLAIM,    /* libgsan: has freed its number alloc, which nobody opens any more; -EBUSY: somebody still has it: ask again */
	IPC_RETURN,     /* libgsan: has one import less of the memory at base, by a token or a fabric handle */
	IPC_VACATE,     /* libgsan: may it use its exported addresses (base, size) again? Then no fabric handle names them any more. -EBUSY: somebody has a token, or the memory: ask again */
	IPC_PROGRESS,   /* launcher: how far is the job? Reply, of the same type, for a verdict may come first: text = a sentence without its stop; "": there is nothing to say */
	IPC_FORGET,     /* libgsan: has nothing more of the places in base, a bit each, whose processes have left: neither memory nor a record */
	IPC_NAME,       /* libgsan: text = the driver's fabric handle (64 bytes) for memory of which it has a handle (base = canonical, size, alloc) */
	IPC_NAMED,      /* libgsan: imports what a fabric handle names: text = that; reply: participant, base, size, alloc; -ENOENT: it names nothing of the job's */
	IPC_TYPES
};
enum ipc_space { IPC_SHADOW, IPC_TABLES };

struct ipc_msg {
	uint32_t proto, type;
	int32_t error;          /* 0 or -errno */
	int32_t rank, size_ranks, participant, pid, status;
	uint32_t space, kernel, alloc, cursor;
	uint64_t base, size;
	uint32_t fds;           /* descriptors that travel with it, at most 1 */
	uint32_t length;        /* bytes of text, without a NUL */
	char text[3000];
};
_Static_assert(sizeof(struct ipc_msg) == 3072, "");

#endif

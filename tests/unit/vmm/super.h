/* A supervisor in a thread of the test: the real transport and the real broker, a connection for each participant. */
#ifndef TEST_VMM_SUPER_H
#define TEST_VMM_SUPER_H

#include "ipc/broker.h"
#include "ipc/job.h"

struct super {
	struct job *job;
	struct broker *broker; /* the thread's while a call is under way, else the test's */
	int messages, allocs, notes;
	int places, joined;    /* as many participants may join; 0, 2, 3 … are their numbers, for 1 is a peer of another process */
	int die_at;            /* goes away at that message, unanswered; 0: never */
	int refuse_names;      /* IPC_NAME says: no memory */
	char note[256];        /* the last */
	uint64_t alloc_base;
};
extern struct super super;

void super_start(void); /* sets GSAN_SOCKET */
void super_stop(void);  /* joins the thread: close the participant's socket first */

#endif

/* What is left of a rank whose launcher is gone, or gives it up. */
#ifndef GSAN_SUPERVISOR_KILL_H
#define GSAN_SUPERVISOR_KILL_H

#include <sys/types.h>

/* Kills the rank's processes in a process group that others share: those that were started with the job's GSAN_SOCKET and the rank's
 * GSAN_RANK. */
void kill_rank(const char *socket, int rank, pid_t group);

#endif

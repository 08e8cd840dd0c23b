/* The decision whether this process is checked, and the per-thread guard. */
#include "driver/state.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/log.h"
#include "cuda/real.h"
#include "ipc/proto.h"

enum state { UNDECIDED, UNCHECKED, CHECKED };

static int state; /* enum state; relaxed: every thread would decide the same */
static __thread int inside __attribute__((tls_model("initial-exec")));

static int state_decide(void)
{
	int decided = getenv(GSAN_ENV_SOCKET) ? CHECKED : UNCHECKED;

	if (decided == UNCHECKED)
		log_once(LOG_WARNING, "no gsan-launch: the program runs unchecked");
	__atomic_store_n(&state, decided, __ATOMIC_RELAXED);
	return decided;
}

int driver_enter(void)
{
	int now = __atomic_load_n(&state, __ATOMIC_RELAXED);

	if (inside)
		return 0;
	inside = 1;
	if (now == UNDECIDED)
		now = state_decide();
	if (now == CHECKED)
		return 1;
	inside = 0;
	return 0;
}

void driver_leave(void)
{
	inside = 0;
}

CUresult driver_missing(const char *name)
{
	log_once(LOG_WARNING, "%s: the CUDA driver has no such function", name);
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* CUDA does not work in the child of a process that used it, and neither would locks that another thread of the parent
 * held: such a child is left alone. A parent that has only annotated something has used none. */
static void state_child(void)
{
	inside = 0;
	if (state == CHECKED && real.cuInit)
		state = UNCHECKED;
}

__attribute__((constructor)) static void state_start(void)
{
	pthread_atfork(NULL, NULL, state_child);
}

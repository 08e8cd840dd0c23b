/* A process that ends does not wait for ever for its worker, which is about to wait for work: it takes the locks late here. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define LATE_US 20000
#define ENDS 8

static pthread_t host;
static atomic_int late;
static int (*real_lock)(pthread_mutex_t *);

__attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t *mutex) /* the device's, too */
{
	if (atomic_load(&late) && !pthread_equal(pthread_self(), host))
		usleep(LATE_US);
	return real_lock(mutex);
}

__attribute__((constructor)) static void find_lock(void)
{
	void *found = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	memcpy(&real_lock, &found, sizeof found);
	host = pthread_self();
}

static void end_after(useconds_t us)
{
	CUdeviceptr at;
	alarm(10);
	start();
	OK(cuMemAlloc(&at, 4096));
	OK(cuMemsetD8(at, 1, 4096));
	atomic_store(&late, 1);
	OK(cuMemsetD8Async(at, 2, 4096, 0));
	OK(cuCtxSynchronize());
	usleep(us);
	exit(0);
}

int main(void)
{
	pid_t child[ENDS];
	for (int i = 0; i < ENDS; i++)
		if (!(child[i] = fork()))
			end_after((useconds_t)i * LATE_US / 4);
	for (int i = 0; i < ENDS; i++) {
		int status = -1;
		CHECK(waitpid(child[i], &status, 0) == child[i]);
		CHECK(status == 0);
	}
	return 0;
}

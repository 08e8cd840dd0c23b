#include "emu/driver/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "emu/driver/queue.h"
#include "emu/driver/sched.h"
#include "emu/driver/stats.h"
#include "emu/driver/trace.h"

struct emu_process emu = {.lock = PTHREAD_MUTEX_INITIALIZER, .work_done = PTHREAD_COND_INITIALIZER};

static pthread_key_t thread_key;
static uint64_t threads;
static _Thread_local uint64_t thread_number;
static _Thread_local int thread_worker, thread_per_thread_default;

/* ---- threads */

static void thread_ended(void *number)
{
	(void)number;
	if (!emu.forked && !emu.leaving)
		emu_sched_user(-1);
}

/* A host thread counts from its first call on: turns wait until it blocks, or is seen to sleep. */
static void thread_started(void)
{
	thread_number = ++threads;
	if (thread_worker)
		return;
	pthread_setspecific(thread_key, &thread_number);
	emu_sched_user(+1);
}

uint64_t emu_thread_number(void) { return thread_number; }
int emu_thread_is_worker(void) { return thread_worker; }
void emu_thread_set_worker(void) { thread_worker = 1; }

int emu_default_stream(int per_thread)
{
	int before = thread_per_thread_default;
	thread_per_thread_default = per_thread;
	return before;
}

/* ---- calls */

CUresult emu_enter(void)
{
	if (emu.forked || !emu.initialised)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (emu.leaving)
		return CUDA_ERROR_DEINITIALIZED;
	pthread_mutex_lock(&emu.lock);
	if (!thread_number)
		thread_started();
	emu_sched_stir();
	return CUDA_SUCCESS;
}

CUresult emu_enter_context(CUcontext *context)
{
	CUresult result = emu_enter();
	if (result)
		return result;
	CUcontext current = emu_context_current();
	if (!current)
		return emu_leave(CUDA_ERROR_INVALID_CONTEXT);
	if (current->error)
		return emu_leave(current->error);
	*context = current;
	return CUDA_SUCCESS;
}

CUresult emu_leave(CUresult result)
{
	pthread_mutex_unlock(&emu.lock);
	return result;
}

/* ---- start and end */

/* A child of fork has neither the worker nor the parent's place in the job: CUDA is not usable there, as in NVIDIA's. */
static void after_fork_in_child(void)
{
	pthread_mutex_init(&emu.lock, NULL);
	pthread_cond_init(&emu.work_done, NULL);
	emu.forked = emu.initialised;
}

/* Work that nobody waited for ends with the process. */
__attribute__((destructor)) static void process_ends(void)
{
	if (!emu.initialised || emu.forked)
		return;
	emu.leaving = 1;
	emu_queue_stop();
	emu_sched_leave();
}

static long env_long(const char *name, long fallback, long least, long most)
{
	const char *s = getenv(name);
	long value = s && *s ? strtol(s, NULL, 0) : fallback;
	return value < least ? least : value > most ? most : value;
}

static CUresult initialise(void)
{
	log_set_program("gsan-emu");
	emu.devices = (int)env_long("EMU_DEVICES", 2, 1, EMU_DEVICES_MAX);
	emu.sms = (int)env_long("EMU_SMS", 4, 1, 1024);
	emu.step_limit = (uint64_t)env_long("EMU_STEP_LIMIT", 0, 0, __LONG_MAX__);
	if (pthread_key_create(&thread_key, thread_ended))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (emu_sched_join() || emu_trace_open())
		return CUDA_ERROR_SYSTEM_NOT_READY;
	emu_stats_open();
	pthread_atfork(NULL, NULL, after_fork_in_child);
	emu.initialised = 1;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuInit(unsigned flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (emu.forked)
		return CUDA_ERROR_NOT_INITIALIZED;
	pthread_mutex_lock(&emu.lock);
	CUresult result = emu.initialised ? CUDA_SUCCESS : initialise();
	if (!result && !thread_number)
		thread_started();
	return emu_leave(result);
}

CUresult CUDAAPI cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = 13000;
	return CUDA_SUCCESS;
}

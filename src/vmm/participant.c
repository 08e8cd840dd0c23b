/* Becoming a participant: join the supervisor, reserve the arena at its one address, map the own tables and offer them
 * to peers, register the finding ring. It happens at the first memory or launch call that has a current context; if any
 * step fails, the reason is said once and the process runs unchecked from then on. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "device/runtime.h"
#include "ipc/ipc.h"
#include "vmm/inside.h"

#define CONNECT_MS 10000
#define VIEW_TABLE_BYTES (GSAN_RANGES_OFFSET + GSAN_PAGE) /* and the ranges of module variables behind it */
#define VIEW_TABLE_OFFSET (GSAN_TABLE_SLICE / 2) /* behind the tables, in the own slice; private to the process */

pthread_mutex_t vmm_lock = PTHREAD_MUTEX_INITIALIZER;
struct arena vmm_slice, vmm_views;

static struct participant self = {.socket = -1, .index = -1};
static _Atomic int started; /* 0 not yet, 1 yes, -1 runs unchecked */

/* ---- telling the supervisor -------------------------------------------------------------------------------------- */

void vmm_note(struct participant *p, const char *key, const char *name, const char *format, ...)
{
	struct ipc_msg msg = {.type = IPC_NOTE, .participant = p->index};
	char reason[1000];
	va_list args;
	va_start(args, format);
	vsnprintf(reason, sizeof reason, format, args);
	va_end(args);
	log_info("%s: %s: %s", key, name, reason);
	ipc_text(&msg, "%s\t%s\t%s", key, name, reason);
	ipc_call(p->socket, &msg, -1, NULL);
}

uint32_t vmm_announce(struct participant *p, uint64_t base, uint64_t size, const char *label)
{
	struct ipc_msg msg = {.type = IPC_ALLOC, .participant = p->index, .base = base, .size = size,
			      .alloc = ++p->allocations};
	ipc_text(&msg, "%s", label);
	ipc_call(p->socket, &msg, -1, NULL);
	atomic_fetch_add_explicit(&p->job->rank[p->index].memory_bytes, size, memory_order_relaxed);
	return p->allocations;
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

static int start_rank(void)
{
	static const char *const names[] = {GSAN_ENV_RANK, "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID",
					    "RANK"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *value = getenv(names[i]);
		if (value && *value)
			return atoi(value);
	}
	return -1;
}

static int start_join(struct participant *p)
{
	char bus[32] = "";
	int fd = -1;
	struct ipc_msg msg = {.type = IPC_JOIN, .pid = getpid(), .rank = start_rank()};
	p->socket = ipc_connect(getenv(GSAN_ENV_SOCKET), CONNECT_MS);
	if (p->socket < 0) {
		log_error("cannot reach gsan-launch's supervisor: %s; the program runs unchecked", strerror(-p->socket));
		return -1;
	}
	real.cuDeviceGetPCIBusId(bus, sizeof bus, p->device);
	ipc_text(&msg, "%s", bus);
	int rc = ipc_call(p->socket, &msg, -1, &fd);
	if (rc || fd < 0) {
		log_error("the supervisor refused this process (%s); the program runs unchecked",
			  msg.type == IPC_ERROR && *msg.text ? msg.text : strerror(-rc));
		close(p->socket);
		p->socket = -1;
		return -1;
	}
	log_set_rank(msg.rank >= 0 ? msg.rank : start_rank());
	p->index = msg.participant;
	void *job = mmap(NULL, sizeof(struct job), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (job == MAP_FAILED) {
		log_error("cannot map the job's memory: %s; the program runs unchecked", strerror(errno));
		return -1;
	}
	p->job = job;
	if (p->job->abi != GSAN_ABI || p->job->proto != GSAN_PROTO) {
		log_error("libgsan.so and gsan-launch are of different versions; install them together");
		munmap(job, sizeof(struct job));
		p->job = NULL;
		return -1;
	}
	return 0;
}

static int start_arena(struct participant *p)
{
	CUdeviceptr at = 0;
	CUresult rc = real.cuMemAddressReserve(&at, GSAN_ARENA_SIZE, 0, GSAN_ARENA_BASE, 0);
	if (rc == CUDA_SUCCESS && at == GSAN_ARENA_BASE)
		return 0;
	if (rc == CUDA_SUCCESS)
		real.cuMemAddressFree(at, GSAN_ARENA_SIZE);
	log_error("cannot reserve the address range 0x%llx, 2^45 bytes: %s; free it (see /proc/%d/maps) or lift ulimit -v",
		  (unsigned long long)GSAN_ARENA_BASE,
		  rc ? "the driver refused" : "something of this process lies in it", (int)getpid());
	vmm_note(p, "fatal", "address range", "pid %d could not reserve 0x%llx, 2^45 bytes", (int)getpid(),
		 (unsigned long long)GSAN_ARENA_BASE);
	return -1;
}

/* What of ours the driver holds, so that a start that fails gives all of it back: the program may need it. */
static int start_copies(struct participant *p)
{
	CUstream stream;
	void *zeros;
	if (real.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))
		return -1;
	if (!real.cuMemAllocHost_v2(&zeros, VMM_ZEROS)) {
		p->zeros = memset(zeros, 0, VMM_ZEROS);
		p->stream = stream;
		return 0;
	}
	real.cuStreamDestroy_v2(stream);
	return -1;
}

static void stop_copies(struct participant *p)
{
	real.cuMemFreeHost(p->zeros);
	real.cuStreamDestroy_v2(p->stream);
}

/* Lets kernels see a part of the job's memory, whole pages. 0: the driver refuses. */
static uint64_t start_shared(void *part, uint64_t size)
{
	CUdeviceptr at;
	if (real.cuMemHostRegister_v2(part, vmm_round(size, 4096), CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP))
		return 0;
	if (!real.cuMemHostGetDevicePointer_v2(&at, part, 0))
		return at;
	real.cuMemHostUnregister(part);
	return 0;
}

static int start_ring(struct participant *p)
{
	p->ring = start_shared(&p->job->rank[p->index].ring, sizeof(struct gsan_ring));
	if (!p->ring)
		return -1;
	p->writers = start_shared(&p->job->writers, sizeof p->job->writers); /* what is unknown is silent */
	return 0;
}

static void stop_ring(struct participant *p)
{
	real.cuMemHostUnregister(&p->job->rank[p->index].ring);
	if (p->writers)
		real.cuMemHostUnregister(&p->job->writers);
}

/* Zeroed memory, given to the peers if it is the tables. */
static int start_fill(struct participant *p, uint64_t at, uint64_t size, CUmemGenericAllocationHandle tables)
{
	struct ipc_msg msg = {.type = IPC_PUT, .space = IPC_TABLES, .participant = p->index, .base = at, .size = size};
	int fd;
	if (vmm_zero(p, at, size) || vmm_zero(p, p->view_table, VIEW_TABLE_BYTES) || vmm_export(tables, &fd))
		return -1;
	int rc = ipc_call(p->socket, &msg, fd, NULL);
	close(fd);
	return rc;
}

/* The ring is last but for the peers' copy of the tables' handle, which cannot be taken back. */
static int start_tables(struct participant *p)
{
	CUmemGenericAllocationHandle handle, views;
	uint64_t at = GSAN_TABLE_BASE + (uint64_t)p->index * GSAN_TABLE_SLICE, size = gsan_tables_bytes();
	p->view_table = at + VIEW_TABLE_OFFSET;
	if (start_copies(p))
		return -1;
	if (vmm_back(p, at, size, &handle))
		goto stop_copies;
	if (vmm_back(p, p->view_table, VIEW_TABLE_BYTES, &views))
		goto unback_tables;
	if (start_ring(p))
		goto unback_views;
	if (!start_fill(p, at, size, handle)) {
		p->mapped = 1u << p->index;
		atomic_store_explicit(&p->job->rank[p->index].tables_bytes, size + VIEW_TABLE_BYTES, memory_order_relaxed);
		return 0;
	}
	stop_ring(p);
unback_views:
	vmm_unback(p->view_table, VIEW_TABLE_BYTES, views);
unback_tables:
	vmm_unback(at, size, handle);
stop_copies:
	stop_copies(p);
	return -1;
}

static int start(struct participant *p)
{
	if (start_join(p) || start_arena(p))
		return -1;
	if (arena_give(&vmm_slice, GSAN_DATA_BASE + (uint64_t)p->index * GSAN_SLICE, GSAN_SLICE) ||
	    arena_give(&vmm_views, GSAN_VIEW_BASE, GSAN_VIEW_SIZE) || start_tables(p)) {
		log_error("cannot set up the clock tables (they need %llu MiB of device memory); the program runs unchecked",
			  (unsigned long long)(gsan_tables_bytes() + VIEW_TABLE_BYTES) >> 20);
		vmm_note(p, "unchecked", "rank", "the clock tables could not be set up (device memory?)");
		job_writes(p->job, p->index, 0, UINT32_MAX); /* it runs, unseen */
		arena_drop(&vmm_slice);
		arena_drop(&vmm_views);
		real.cuMemAddressFree(GSAN_ARENA_BASE, GSAN_ARENA_SIZE);
		return -1;
	}
	struct job_rank *rank = &p->job->rank[p->index];
	real.cuDeviceGetName(rank->gpu_name, sizeof rank->gpu_name, p->device);
	atomic_store_explicit(&rank->state, JOB_RUNNING, memory_order_release); /* partner: vmm_mapped() of the peers */
	job_changed(p->job);
	log_info("participant %d on %s", p->index, rank->gpu_name);
	return 0;
}

/* CUDA does not work in a child of a process that started it, and locks may be held there by threads that it does not
 * have: it never comes here again. Its copy of the socket would keep the supervisor from seeing its parent's end. */
static void start_child(void)
{
	atomic_store_explicit(&started, -1, memory_order_relaxed);
	if (self.socket >= 0)
		close(self.socket);
	self.socket = -1;
}

static int start_once(CUdevice device)
{
	struct vmm_section s;
	int devices;
	pthread_mutex_lock(&vmm_lock);
	int state = atomic_load_explicit(&started, memory_order_relaxed);
	if (!state) {
		pthread_atfork(NULL, NULL, start_child);
		self.device = device;
		CUcontext now = NULL;
		real.cuCtxGetCurrent(&now);
		self.context = now;
		self.alone = real.cuDeviceGetCount && !real.cuDeviceGetCount(&devices) && devices == 1;
		vmm_relaxed(&s);
		state = start(&self) ? -1 : 1;
		vmm_end(&s);
		atomic_store_explicit(&started, state, memory_order_release);
	}
	pthread_mutex_unlock(&vmm_lock);
	return state;
}

/* Sets up in the primary context what lies in one, beside that: kernels that run may use the old ring. A mapping of the job's memory can
 * be registered once, so it is mapped again. */
static int contexts_set_up(struct participant *to)
{
	void *job = mremap(self.job, 0, sizeof(struct job), MREMAP_MAYMOVE);
	if (job == MAP_FAILED)
		return -1;
	to->job = job;
	if (!start_copies(to)) {
		if (!start_ring(to))
			return 0;
		stop_copies(to);
	}
	munmap(job, sizeof(struct job));
	return -1;
}

/* What is ours would go with the context that it lies in, while the program works on in another: it goes to the primary one, which
 * is kept. Where that cannot be had it stays. */
static void contexts_move(void)
{
	struct participant to = {.index = self.index};
	struct vmm_section s;
	CUcontext primary, gone;
	if (!real.cuDevicePrimaryCtxRetain || real.cuDevicePrimaryCtxRetain(&primary, self.device) || primary == self.context)
		return;
	if (real.cuCtxPushCurrent_v2(primary))
		goto release;
	vmm_relaxed(&s);
	int rc = contexts_set_up(&to);
	vmm_end(&s);
	real.cuCtxPopCurrent_v2(&gone);
	if (rc)
		goto release;
	self.zeros = to.zeros;
	self.ring = to.ring;
	self.writers = to.writers;
	self.stream = to.stream;
	self.context = primary;
	return;
release:
	real.cuDevicePrimaryCtxRelease_v2(self.device);
}

/* A wait for all of a context says nothing of another one. Launches need not look: who launches has loaded a module. */
static void contexts_note(void)
{
	CUcontext now;
	if (atomic_load_explicit(&self.several, memory_order_relaxed) || real.cuCtxGetCurrent(&now) || now == self.context)
		return;
	pthread_mutex_lock(&vmm_lock);
	if (!atomic_exchange_explicit(&self.several, 1, memory_order_relaxed))
		contexts_move();
	pthread_mutex_unlock(&vmm_lock);
}

int vmm_several_contexts(struct participant *p)
{
	return atomic_load_explicit(&p->several, memory_order_relaxed);
}

/* A load and one cheap question to the driver. */
static struct participant *participant_here(void)
{
	CUdevice device;
	int state = atomic_load_explicit(&started, memory_order_acquire);
	if (state < 0 || real.cuCtxGetDevice(&device))
		return NULL;
	if (!state)
		state = getenv(GSAN_ENV_SOCKET) ? start_once(device) : -1;
	if (state < 0)
		return NULL;
	if (device == self.device)
		return &self;
	log_once(LOG_WARNING, "this process uses device %d beside device %d: only the first is checked", device, self.device);
	return NULL;
}

struct participant *participant_current(void)
{
	struct participant *p = participant_here();
	if (p)
		contexts_note();
	return p;
}

struct participant *participant_launching(void)
{
	struct participant *p = participant_started();
	return p && p->alone ? p : participant_here();
}

struct participant *participant_elsewhere(void)
{
	CUdevice device;
	struct participant *p = participant_started();
	return p && !real.cuCtxGetDevice(&device) && device != p->device ? p : NULL;
}

struct participant *participant_started(void)
{
	return atomic_load_explicit(&started, memory_order_acquire) > 0 ? &self : NULL;
}

struct participant *participant_joined(void)
{
	return atomic_load_explicit(&started, memory_order_acquire) && self.socket >= 0 ? &self : NULL;
}

/* ---- peers ---------------------------------------------------------------------------------------------------------- */

static void mapped_add(struct participant *p, uint32_t q)
{
	struct ipc_msg msg = {.type = IPC_GET, .space = IPC_TABLES, .participant = p->index,
			      .base = GSAN_TABLE_BASE + q * GSAN_TABLE_SLICE, .size = gsan_tables_bytes()};
	int fd = -1, rc = ipc_call(p->socket, &msg, -1, &fd);
	if (rc || vmm_adopt(p, msg.base, msg.size, fd)) {
		atomic_fetch_or_explicit(&p->refused, 1u << q, memory_order_relaxed);
		if (rc != -ECONNRESET) /* then there is no supervisor, and nobody to find races for */
			log_warning("the tables of participant %u cannot be mapped (no peer access?): races with it are not found", q);
		vmm_note(p, "peer", "tables", "participant %u's tables could not be mapped here", q);
	} else {
		atomic_fetch_or_explicit(&p->mapped, 1u << q, memory_order_release);
	}
	if (fd >= 0)
		close(fd);
}

int vmm_tables(struct participant *p, uint32_t peer)
{
	uint32_t known = atomic_load_explicit(&p->mapped, memory_order_relaxed) | atomic_load_explicit(&p->refused, memory_order_relaxed);
	if (!(known >> peer & 1))
		mapped_add(p, peer);
	return atomic_load_explicit(&p->mapped, memory_order_relaxed) >> peer & 1 ? 0 : -EIO;
}

uint32_t vmm_mapped(struct participant *p)
{
	uint32_t now = atomic_load_explicit(&p->job->changes, memory_order_acquire) + 1; /* before the states, which may change again */
	int looked = atomic_load_explicit(&p->looked, memory_order_acquire) == now;
	uint32_t have = atomic_load_explicit(&p->mapped, memory_order_acquire), missing = 0;
	if (looked)
		return have;
	uint32_t known = have | atomic_load_explicit(&p->refused, memory_order_relaxed);
	struct vmm_section s;
	for (uint32_t q = 0; q < p->job->participants && q < GSAN_PARTICIPANTS; q++)
		if (!(known >> q & 1) && atomic_load_explicit(&p->job->rank[q].state, memory_order_acquire) == JOB_RUNNING)
			missing |= 1u << q;
	if (!missing)
		atomic_store_explicit(&p->looked, now, memory_order_release);
	if (!missing || vmm_enter(p, &s))
		return have;
	for (; missing; missing &= missing - 1) {
		vmm_tables(p, (uint32_t)__builtin_ctz(missing));
	}
	vmm_leave(&s);
	return atomic_load_explicit(&p->mapped, memory_order_acquire);
}

uint64_t vmm_view_table(struct participant *p) { return p->view_table; }
uint64_t vmm_ring(struct participant *p) { return p->ring; }
uint64_t vmm_writers(struct participant *p) { return p->writers; }

/* What counts it last: of what could not be emptied nothing is given out again. */
static int used_end(struct participant *p, const struct gsan_used *used)
{
	uint64_t block = GSAN_TABLE_BASE + (uint64_t)p->index * GSAN_TABLE_SLICE;
	return used->bytes && !vmm_clear(p, block + used->at, used->bytes) && !vmm_clear(p, block + used->count, used->count_bytes);
}

int vmm_history_end(struct participant *p, const struct gsan_history *used)
{
	struct vmm_section s;
	int ended = 0;
	if (vmm_enter(p, &s))
		return 0;
	if (!p->exported) {
		ended |= used_end(p, &used->entries);
		if (used->detail.bytes && !p->values && !shadow_end(p))
			ended |= used_end(p, &used->detail);
	}
	vmm_leave(&s);
	return ended;
}

static int renew(struct participant *p, int idle)
{
	struct vmm_section s;
	if (vmm_enter(p, &s))
		return -EIO;
	int rc = shadow_renew(p, idle);
	vmm_leave(&s);
	return rc;
}

int vmm_renew(struct participant *p) { return renew(p, 0); }

int vmm_renew_idle(struct participant *p)
{
	const struct job_rank *rank = p->job->rank;
	for (int q = 0; q < (int)GSAN_PARTICIPANTS; q++)
		if (q != p->index && atomic_load_explicit(&rank[q].state, memory_order_acquire) == JOB_RUNNING &&
		    rank[q].gpu == rank[p->index].gpu)
			return -EBUSY;
	return real.cuMemsetD8Async ? renew(p, 1) : -EBUSY;
}

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
#define VIEW_TABLE_BYTES (GSAN_VIEW_PAGES * sizeof(uint32_t))
#define VIEW_TABLE_OFFSET (GSAN_TABLE_SLICE / 2) /* behind the tables, in the own slice; private to the process */

pthread_mutex_t vmm_lock = PTHREAD_MUTEX_INITIALIZER;
struct arena vmm_slice, vmm_views;

static struct participant self;
static _Atomic int started; /* 0 not yet, 1 yes, -1 runs unchecked */
static pid_t started_by;

/* ---- driver calls of our own ----------------------------------------------------------------------------------- */

CUstreamCaptureMode vmm_relaxed(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	if (real.cuThreadExchangeStreamCaptureMode)
		real.cuThreadExchangeStreamCaptureMode(&mode);
	return mode;
}

void vmm_relaxed_end(CUstreamCaptureMode before)
{
	if (real.cuThreadExchangeStreamCaptureMode)
		real.cuThreadExchangeStreamCaptureMode(&before);
}

uint64_t vmm_round(uint64_t size, uint64_t unit) { return (size + unit - 1) / unit * unit; }

int vmm_upload(struct participant *p, uint64_t at, const void *from, uint64_t size)
{
	return real.cuMemcpyHtoDAsync_v2(at, from, size, p->stream) || real.cuStreamSynchronize(p->stream) ? -EIO : 0;
}

int vmm_zero(struct participant *p, uint64_t at, uint64_t size)
{
	for (uint64_t done = 0; done < size; done += VMM_ZEROS) {
		uint64_t n = size - done < VMM_ZEROS ? size - done : VMM_ZEROS;
		if (real.cuMemcpyHtoDAsync_v2(at + done, p->zeros, n, p->stream))
			return -EIO;
	}
	return real.cuStreamSynchronize(p->stream) ? -EIO : 0;
}

static int vmm_access(struct participant *p, uint64_t at, uint64_t size)
{
	CUmemAccessDesc access[33];
	size_t n = 0;
	for (int device = 0; device < 32; device++)
		if (device == p->device || p->peers >> device & 1)
			access[n++] = (CUmemAccessDesc){.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
							.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	return real.cuMemSetAccess(at, size, access, n) ? -EIO : 0;
}

static int vmm_map(struct participant *p, uint64_t at, uint64_t size, CUmemGenericAllocationHandle handle)
{
	if (real.cuMemMap(at, size, 0, handle, 0))
		return -EIO;
	if (!vmm_access(p, at, size))
		return 0;
	real.cuMemUnmap(at, size);
	return -EIO;
}

int vmm_back(struct participant *p, uint64_t at, uint64_t size, CUmemGenericAllocationHandle *handle)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = p->device}};
	if (real.cuMemCreate(handle, size, &prop, 0))
		return -ENOMEM;
	if (!vmm_map(p, at, size, *handle))
		return 0;
	real.cuMemRelease(*handle);
	return -ENOMEM;
}

void vmm_unback(uint64_t at, uint64_t size, CUmemGenericAllocationHandle handle)
{
	real.cuMemUnmap(at, size);
	real.cuMemRelease(handle);
}

int vmm_adopt(struct participant *p, uint64_t at, uint64_t size, int fd)
{
	CUmemGenericAllocationHandle handle;
	if (real.cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
		return -EIO;
	int rc = vmm_map(p, at, size, handle);
	real.cuMemRelease(handle); /* the mapping keeps it */
	return rc;
}

int vmm_export(CUmemGenericAllocationHandle handle, int *fd)
{
	return real.cuMemExportToShareableHandle(fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) ? -EIO : 0;
}

/* ---- telling the supervisor -------------------------------------------------------------------------------------- */

void vmm_note(struct participant *p, const char *key, const char *name, const char *format, ...)
{
	struct ipc_msg msg = {.type = IPC_NOTE, .participant = p->index};
	char reason[1000];
	va_list args;
	va_start(args, format);
	vsnprintf(reason, sizeof reason, format, args);
	va_end(args);
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
		log_error("the supervisor refused this process (%.*s); the program runs unchecked", (int)msg.length, msg.text);
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

static int start_tables(struct participant *p)
{
	CUmemGenericAllocationHandle handle, views;
	uint64_t at = GSAN_TABLE_BASE + (uint64_t)p->index * GSAN_TABLE_SLICE, size = gsan_tables_bytes();
	struct ipc_msg msg = {.type = IPC_PUT, .space = IPC_TABLES, .participant = p->index, .base = at, .size = size};
	int fd;
	if (real.cuStreamCreate(&p->stream, CU_STREAM_NON_BLOCKING) || real.cuMemAllocHost_v2(&p->zeros, VMM_ZEROS))
		return -1;
	memset(p->zeros, 0, VMM_ZEROS);
	p->view_table = at + VIEW_TABLE_OFFSET;
	if (vmm_back(p, at, size, &handle) || vmm_back(p, p->view_table, VIEW_TABLE_BYTES, &views))
		return -1;
	if (vmm_zero(p, at, size) || vmm_zero(p, p->view_table, VIEW_TABLE_BYTES) || vmm_export(handle, &fd))
		return -1;
	int rc = ipc_call(p->socket, &msg, fd, NULL);
	close(fd);
	p->mapped = 1u << p->index;
	return rc;
}

static int start_ring(struct participant *p)
{
	CUdeviceptr at;
	struct gsan_ring *ring = &p->job->rank[p->index].ring;
	uint64_t size = vmm_round(sizeof *ring, 4096);
	if (real.cuMemHostRegister_v2(ring, size, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP) ||
	    real.cuMemHostGetDevicePointer_v2(&at, ring, 0))
		return -1;
	p->ring = at;
	return 0;
}

static int start(struct participant *p)
{
	if (start_join(p) || start_arena(p))
		return -1;
	if (arena_give(&vmm_slice, GSAN_DATA_BASE + (uint64_t)p->index * GSAN_SLICE, GSAN_SLICE) ||
	    arena_give(&vmm_views, GSAN_VIEW_BASE, GSAN_VIEW_SIZE) || start_tables(p) || start_ring(p)) {
		log_error("no memory for the tables (%llu MiB of device memory are needed); the program runs unchecked",
			  (unsigned long long)(gsan_tables_bytes() + VIEW_TABLE_BYTES) >> 20);
		vmm_note(p, "unchecked", "rank", "no device memory for the clock tables");
		return -1;
	}
	struct job_rank *rank = &p->job->rank[p->index];
	real.cuDeviceGetName(rank->gpu_name, sizeof rank->gpu_name, p->device);
	atomic_store_explicit(&rank->state, JOB_RUNNING, memory_order_release); /* partner: vmm_mapped() of the peers */
	log_info("participant %d on %s", p->index, rank->gpu_name);
	return 0;
}

static void start_once(CUdevice device)
{
	self = (struct participant){.device = device, .index = -1};
	real.cuCtxGetCurrent(&self.context);
	CUstreamCaptureMode mode = vmm_relaxed();
	int ok = start(&self) == 0;
	vmm_relaxed_end(mode);
	started_by = getpid();
	atomic_store_explicit(&started, ok ? 1 : -1, memory_order_release);
}

struct participant *participant_current(void)
{
	CUdevice device;
	int state = atomic_load_explicit(&started, memory_order_acquire);
	if (state < 0 || !getenv(GSAN_ENV_SOCKET) || real.cuCtxGetDevice(&device))
		return NULL;
	if (!state) {
		pthread_mutex_lock(&vmm_lock);
		if (!atomic_load_explicit(&started, memory_order_relaxed))
			start_once(device);
		pthread_mutex_unlock(&vmm_lock);
		state = atomic_load_explicit(&started, memory_order_acquire);
	}
	if (state < 0 || started_by != getpid())
		return NULL; /* CUDA does not work in a child of a process that started it */
	if (device == self.device)
		return &self;
	log_once(LOG_WARNING, "this process uses device %d beside device %d: only the first is checked", device, self.device);
	return NULL;
}

struct participant *participant_elsewhere(void)
{
	CUdevice device;
	int here = atomic_load_explicit(&started, memory_order_acquire) > 0 && started_by == getpid();
	return here && !real.cuCtxGetDevice(&device) && device != self.device ? &self : NULL;
}

/* ---- peers ---------------------------------------------------------------------------------------------------------- */

static void mapped_add(struct participant *p, uint32_t q)
{
	struct ipc_msg msg = {.type = IPC_GET, .space = IPC_TABLES, .participant = p->index,
			      .base = GSAN_TABLE_BASE + q * GSAN_TABLE_SLICE, .size = gsan_tables_bytes()};
	int fd = -1;
	if (ipc_call(p->socket, &msg, -1, &fd) || vmm_adopt(p, msg.base, msg.size, fd)) {
		p->refused |= 1u << q;
		log_warning("the tables of participant %u cannot be mapped (no peer access?): races with it are not found", q);
		vmm_note(p, "peer", "tables", "participant %u's tables could not be mapped here", q);
	} else {
		atomic_fetch_or_explicit(&p->mapped, 1u << q, memory_order_release);
	}
	if (fd >= 0)
		close(fd);
}

uint32_t vmm_mapped(struct participant *p)
{
	uint32_t have = atomic_load_explicit(&p->mapped, memory_order_acquire), missing = 0;
	for (uint32_t q = 0; q < p->job->participants && q < GSAN_PARTICIPANTS; q++)
		if (!((have | p->refused) >> q & 1) &&
		    atomic_load_explicit(&p->job->rank[q].state, memory_order_acquire) == JOB_RUNNING)
			missing |= 1u << q;
	if (!missing)
		return have;
	CUstreamCaptureMode mode = vmm_relaxed();
	pthread_mutex_lock(&vmm_lock);
	for (; missing; missing &= missing - 1) {
		uint32_t q = (uint32_t)__builtin_ctz(missing);
		if (!((p->mapped | p->refused) >> q & 1))
			mapped_add(p, q);
	}
	pthread_mutex_unlock(&vmm_lock);
	vmm_relaxed_end(mode);
	return atomic_load_explicit(&p->mapped, memory_order_acquire);
}

uint64_t vmm_view_table(struct participant *p) { return p->view_table; }
uint64_t vmm_ring(struct participant *p) { return p->ring; }

int vmm_renew(struct participant *p)
{
	CUstreamCaptureMode mode = vmm_relaxed();
	pthread_mutex_lock(&vmm_lock);
	int rc = shadow_renew(p);
	pthread_mutex_unlock(&vmm_lock);
	vmm_relaxed_end(mode);
	return rc;
}

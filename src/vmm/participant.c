/* Becoming a participant: join the supervisor, reserve the arena at its one address, map the own tables and offer them
 * to peers, register the finding ring. It happens at the first memory or launch call that has a current context, once for
 * each GPU that one is on; the arena and the table of views are the process's. If any step fails, the reason is said once, and
 * what the process does on that GPU runs unchecked; if it is the first, all of it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "cuda/own.h"
#include "device/runtime.h"
#include "ipc/ipc.h"
#include "vmm/block.h"
#include "vmm/inside.h"
#include "vmm/lent.h"
#include "vmm/span.h"

#define CONNECT_MS 10000
#define VIEW_TABLE_BYTES (GSAN_RANGES_OFFSET + GSAN_PAGE) /* and the tables of ranges behind it */
#define VIEW_TABLE_OFFSET (GSAN_TABLE_SLICE / 2) /* behind the tables, in the own slice; private to the process */

pthread_mutex_t vmm_lock = PTHREAD_MUTEX_INITIALIZER;
struct arena vmm_views;
_Atomic uint32_t vmm_devices;

#define DEVICES 32
static struct participant selves[VMM_GPUS];
static _Atomic int places;          /* those below have started */
static _Atomic int started;         /* the process: 0 not yet, 1 yes, -1 runs unchecked */
static _Atomic int place_on[DEVICES]; /* 0 not yet, 1 + its place, -1 runs unchecked */
static int alone;                   /* the process sees one GPU */
static struct spans tables_here = SPANS(struct span); /* of other processes' participants, mapped at their place. Under the section */

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
	const char *value = getenv(GSAN_ENV_RANK);
	return value && *value ? atoi(value) : -1;
}

static void start_leave(struct participant *p)
{
	close(p->socket);
	p->socket = -1;
	if (p->job)
		munmap(p->job, sizeof(struct job));
	p->job = NULL;
}

/* Of a process that the job has no room for, the first place stays: it may use what others export. */
static int start_join(struct participant *p)
{
	char bus[32] = "";
	const char *what = p->place ? "this GPU" : "the program";
	int fd = -1;
	struct ipc_msg msg = {.type = IPC_JOIN, .pid = getpid(), .rank = start_rank()};
	p->socket = ipc_connect(getenv(GSAN_ENV_SOCKET), CONNECT_MS);
	if (p->socket < 0) {
		log_error("cannot reach gsan-launch's supervisor: %s; %s runs unchecked", strerror(-p->socket), what);
		return -1;
	}
	real.cuDeviceGetPCIBusId(bus, sizeof bus, p->device);
	ipc_text(&msg, "%s", bus);
	int rc = ipc_call(p->socket, &msg, -1, &fd);
	if (rc || fd < 0) {
		log_error("the supervisor does not answer (%s); %s runs unchecked", strerror(-rc), what);
		start_leave(p);
		return -1;
	}
	log_set_rank(msg.rank >= 0 ? msg.rank : start_rank());
	p->index = msg.participant;
	void *job = mmap(NULL, sizeof(struct job), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (job == MAP_FAILED) {
		log_error("cannot map the job's memory: %s; %s runs unchecked", strerror(errno), what);
		return -1;
	}
	p->job = job;
	if (p->job->abi != GSAN_ABI || p->job->proto != GSAN_PROTO) {
		log_error("libgsan.so and gsan-launch are of different versions; install them together");
		munmap(job, sizeof(struct job));
		p->job = NULL;
		return -1;
	}
	if (p->job->rank_bits < GSAN_GUEST_BITS || p->job->rank_bits > 15) {
		log_error("the job's memory was written over by a program of it; %s runs unchecked", what);
		start_leave(p);
		return -1;
	}
	if (p->index < 0) {
		log_error("the supervisor refused %sthis process (%.*s); %s runs unchecked", p->place ? "another GPU of " : "",
			  (int)msg.length, msg.text, what);
		if (p->place)
			start_leave(p);
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
	if (own_stream(&stream, 0))
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

/* The table of views is the first one's, and in the space of its tables. */
static int start_views(struct participant *p, CUmemGenericAllocationHandle *views)
{
	if (p->place) {
		p->view_table = selves[0].view_table;
		return vmm_access(p->device, p->view_table, VIEW_TABLE_BYTES);
	}
	p->view_table = vmm_tables_base((uint32_t)p->index) + VIEW_TABLE_OFFSET;
	if (vmm_back(p, p->view_table, VIEW_TABLE_BYTES, views))
		return -1;
	if (!vmm_zero(p, p->view_table, VIEW_TABLE_BYTES))
		return 0;
	vmm_unback(p->view_table, VIEW_TABLE_BYTES, *views);
	return -1;
}

static void stop_views(const struct participant *p, CUmemGenericAllocationHandle views)
{
	if (!p->place)
		vmm_unback(p->view_table, VIEW_TABLE_BYTES, views);
}

/* The ring is last but for the peers' copy of the tables' handle, which cannot be taken back. */
static int start_tables(struct participant *p)
{
	CUmemGenericAllocationHandle handle, views = 0;
	uint64_t at = vmm_tables_base((uint32_t)p->index), size = gsan_tables_bytes();
	if (start_copies(p))
		return -1;
	if (vmm_back(p, at, size, &handle))
		goto stop_copies;
	if (start_views(p, &views))
		goto unback_tables;
	if (start_ring(p))
		goto stop_views;
	if (!vmm_zero(p, at, size) && !vmm_offer(p, IPC_TABLES, at, size, handle)) {
		p->mapped = 1u << p->index;
		size += p->place ? 0 : VIEW_TABLE_BYTES;
		atomic_store_explicit(&p->job->rank[p->index].tables_bytes, size, memory_order_relaxed);
		return 0;
	}
	stop_ring(p);
stop_views:
	stop_views(p, views);
unback_tables:
	vmm_unback(at, size, handle);
stop_copies:
	stop_copies(p);
	return -1;
}

/* What the process has once. */
static int start_process(struct participant *p)
{
	if (p->place)
		return 0;
	if (start_arena(p))
		return -1;
	if (!arena_give(&vmm_views, GSAN_VIEW_BASE, GSAN_VIEW_SIZE))
		return 0;
	real.cuMemAddressFree(GSAN_ARENA_BASE, GSAN_ARENA_SIZE);
	return -1;
}

static void stop_process(struct participant *p)
{
	if (p->place)
		return;
	arena_drop(&vmm_views);
	real.cuMemAddressFree(GSAN_ARENA_BASE, GSAN_ARENA_SIZE);
}

/* Kernels of one may use the tables and the memory of the other from now on. */
static void start_meet(struct participant *p)
{
	for (int place = 0; p->place && place <= p->place; place++)
		selves[place].exported = 1;
}

static int start(struct participant *p)
{
	if (start_join(p) || start_process(p))
		return -1;
	const uint64_t slice = GSAN_DATA_BASE + (uint64_t)p->index * GSAN_SLICE;
	if (arena_give(&p->slice, slice, GSAN_HOSTS_OFFSET) || arena_give(&p->hosts, slice + GSAN_HOSTS_OFFSET, GSAN_SLICE - GSAN_HOSTS_OFFSET) ||
	    start_tables(p)) {
		log_error("cannot set up the clock tables (they need %llu MiB of device memory%s); %s runs unchecked",
			  (unsigned long long)(gsan_tables_bytes() + VIEW_TABLE_BYTES) >> 20,
			  p->place ? ", and peer access to this process's first GPU" : "", p->place ? "this GPU" : "the program");
		vmm_note(p, "unchecked", "rank", "the clock tables could not be set up (device memory%s?)", p->place ? ", peer access" : "");
		job_writes(p->job, p->index, 0, UINT32_MAX); /* it runs, unseen */
		arena_drop(&p->slice);
		arena_drop(&p->hosts);
		stop_process(p);
		return -1;
	}
	start_meet(p);
	struct job_rank *rank = &p->job->rank[p->index];
	real.cuDeviceGetName(rank->gpu_name, sizeof rank->gpu_name, p->device);
	atomic_store_explicit(&rank->state, JOB_RUNNING, memory_order_release); /* partner: vmm_mapped() of the peers */
	job_changed(p->job);
	log_info("participant %d on %s", p->index, rank->gpu_name);
	return 0;
}

/* CUDA does not work in a child of a process that started it, and locks may be held there by threads that it does not
 * have: it never comes here again. Its copies of the sockets would keep the supervisor from seeing its parent's end. */
static void start_child(void)
{
	atomic_store_explicit(&started, -1, memory_order_relaxed);
	atomic_store_explicit(&places, 0, memory_order_relaxed);
	for (int place = 0; place < VMM_GPUS; place++) {
		if (selves[place].job)
			close(selves[place].socket);
		selves[place].socket = -1;
	}
}

/* The process's first use of CUDA. */
static void start_first(void)
{
	int devices;
	if (atomic_load_explicit(&started, memory_order_relaxed))
		return;
	pthread_atfork(NULL, NULL, start_child);
	alone = real.cuDeviceGetCount && !real.cuDeviceGetCount(&devices) && devices == 1;
}

/* The place that it got, from 1, or -1. One that could not start keeps its place only if it is the first, who may import what peers export. */
static int start_place(CUdevice device)
{
	struct vmm_section s;
	CUcontext now = NULL;
	int place = atomic_load_explicit(&places, memory_order_relaxed);
	if (!place && atomic_load_explicit(&started, memory_order_relaxed))
		return -1;
	if (place == VMM_GPUS) {
		log_warning("device %d runs unchecked: %d GPUs of this process are checked", device, VMM_GPUS);
		vmm_note(&selves[0], "unchecked", "GPU", "a process is checked on %d GPUs at most", VMM_GPUS);
		return -1;
	}
	struct participant *p = &selves[place];
	*p = (struct participant){.index = -1, .place = place, .socket = -1, .device = device};
	real.cuCtxGetCurrent(&now);
	p->context = now;
	vmm_relaxed(&s);
	int rc = start(p);
	vmm_end(&s);
	if (!rc)
		atomic_store_explicit(&places, place + 1, memory_order_release); /* partner: participant_at_place() */
	if (!place)
		atomic_store_explicit(&started, rc ? -1 : 1, memory_order_release);
	return rc ? -1 : place + 1;
}

/* With vmm_lock held. */
static void share(CUdevice device)
{
	struct vmm_section s;
	if (device >= DEVICES || atomic_fetch_or_explicit(&vmm_devices, 1u << device, memory_order_relaxed) >> device & 1)
		return;
	vmm_relaxed(&s);
	block_share(device);
	lent_share(device);
	shadow_share(device);
	vmm_end(&s);
}

void vmm_share(CUdevice device)
{
	pthread_mutex_lock(&vmm_lock);
	share(device);
	pthread_mutex_unlock(&vmm_lock);
}

static int start_once(CUdevice device)
{
	pthread_mutex_lock(&vmm_lock);
	int place = atomic_load_explicit(&place_on[device], memory_order_relaxed);
	if (!place) {
		start_first();
		share(device);
		place = start_place(device);
		atomic_store_explicit(&place_on[device], place, memory_order_release);
	}
	pthread_mutex_unlock(&vmm_lock);
	return place;
}

/* In the current context, what of ours lies in one. */
static int contexts_fill(struct participant *to)
{
	if (start_copies(to))
		return -1;
	if (!start_ring(to))
		return 0;
	stop_copies(to);
	return -1;
}

/* Sets up in the primary context what lies in one, beside that: kernels that run may use the old ring. A mapping of the job's memory can
 * be registered once, so it is mapped again. */
static int contexts_set_up(const struct participant *p, struct participant *to)
{
	void *job = mremap(p->job, 0, sizeof(struct job), MREMAP_MAYMOVE);
	if (job == MAP_FAILED)
		return -1;
	to->job = job;
	int rc = contexts_fill(to);
	if (rc)
		munmap(job, sizeof(struct job));
	return rc;
}

static void contexts_take(struct participant *p, const struct participant *from, CUcontext context)
{
	p->zeros = from->zeros;
	p->ring = from->ring;
	p->writers = from->writers;
	p->stream = from->stream;
	p->context = context;
}

/* What is ours would go with the context that it lies in, while the program works on in another: it goes to the primary one, which
 * is kept. Where that cannot be had it stays. */
static void contexts_move(struct participant *p)
{
	struct participant to = {.index = p->index};
	struct vmm_section s;
	CUcontext primary, gone;
	if (!real.cuDevicePrimaryCtxRetain || real.cuDevicePrimaryCtxRetain(&primary, p->device) || primary == p->context)
		return;
	if (real.cuCtxPushCurrent_v2(primary))
		goto release;
	vmm_relaxed(&s);
	int rc = contexts_set_up(p, &to);
	vmm_end(&s);
	real.cuCtxPopCurrent_v2(&gone);
	if (rc)
		goto release;
	contexts_take(p, &to, primary);
	return;
release:
	real.cuDevicePrimaryCtxRelease_v2(p->device);
}

/* A wait for all of a context says nothing of another one. Launches need not look: who launches has loaded a module. */
static void contexts_note(struct participant *p)
{
	CUcontext now;
	if (atomic_load_explicit(&p->several, memory_order_relaxed) || real.cuCtxGetCurrent(&now) || now == p->context)
		return;
	pthread_mutex_lock(&vmm_lock);
	if (!atomic_exchange_explicit(&p->several, 1, memory_order_relaxed))
		contexts_move(p);
	pthread_mutex_unlock(&vmm_lock);
}

/* ---- a context ends, and with it what is ours there; device memory of ours and the tables stay --------------------- */

void vmm_context_ended(CUcontext context)
{
	pthread_mutex_lock(&vmm_lock);
	block_context_ended(context);
	ranges_context_ended(context);
	for (int place = 0; place < atomic_load_explicit(&places, memory_order_relaxed); place++)
		if (selves[place].context == context)
			atomic_store_explicit(&selves[place].homeless, 1, memory_order_release);
	pthread_mutex_unlock(&vmm_lock);
}

/* Sets it up in the current context, if that is good. */
static int settle(struct participant *p)
{
	struct participant to = {.index = p->index, .job = p->job};
	CUcontext now = NULL;
	struct vmm_section s;
	pthread_mutex_lock(&vmm_lock);
	if (atomic_load_explicit(&p->homeless, memory_order_relaxed) && !real.cuCtxGetCurrent(&now) && now) {
		vmm_relaxed(&s);
		int rc = contexts_fill(&to);
		vmm_end(&s);
		if (!rc) {
			contexts_take(p, &to, now);
			ranges_renew(p);
			atomic_store_explicit(&p->homeless, 0, memory_order_release);
		}
	}
	pthread_mutex_unlock(&vmm_lock);
	return !atomic_load_explicit(&p->homeless, memory_order_acquire);
}

/* As long as it has no context nothing is checked. */
static struct participant *settled(struct participant *p)
{
	return !p || !atomic_load_explicit(&p->homeless, memory_order_acquire) || settle(p) ? p : NULL;
}

int participant_push(struct participant *p)
{
	return atomic_load_explicit(&p->homeless, memory_order_acquire) || real.cuCtxPushCurrent_v2(p->context) ? -EIO : 0;
}

void vmm_context_began(CUcontext context, CUdevice device)
{
	CUcontext gone;
	struct participant *p = participant_on(device);
	if (p && atomic_load_explicit(&p->homeless, memory_order_acquire) && !real.cuCtxPushCurrent_v2(context)) {
		settle(p);
		real.cuCtxPopCurrent_v2(&gone);
	}
}

int vmm_several_contexts(struct participant *p)
{
	return atomic_load_explicit(&p->several, memory_order_relaxed);
}

/* Two loads and one cheap question to the driver. */
static struct participant *participant_here(void)
{
	CUdevice device;
	int state = atomic_load_explicit(&started, memory_order_acquire);
	if (state < 0 || real.cuCtxGetDevice(&device) || device >= DEVICES)
		return NULL;
	int place = atomic_load_explicit(&place_on[device], memory_order_acquire);
	if (!place && (state || getenv(GSAN_ENV_SOCKET)))
		place = start_once(device);
	return place > 0 ? settled(&selves[place - 1]) : NULL;
}

struct participant *participant_current(void)
{
	struct participant *p = participant_here();
	if (p)
		contexts_note(p);
	return p;
}

struct participant *participant_launching(void)
{
	struct participant *p = participant_started();
	return p && alone ? settled(p) : participant_here();
}

struct participant *participant_elsewhere(void)
{
	CUdevice device;
	struct participant *p = participant_started();
	return p && !real.cuCtxGetDevice(&device) && !participant_on(device) ? p : NULL;
}

int participant_several(void) { return participant_started() && !alone; }

int participant_uses_several(void)
{
	int used = 0;
	for (CUdevice device = 0; device < DEVICES && !alone; device++)
		used += atomic_load_explicit(&place_on[device], memory_order_acquire) != 0;
	return used > 1;
}

struct participant *participant_any(void)
{
	CUdevice device;
	struct participant *first = participant_started();
	struct participant *p = first && !real.cuCtxGetDevice(&device) ? participant_on(device) : NULL; /* before a first, `real` may be empty */
	return p ? p : first;
}

struct participant *participant_at_place(int place)
{
	return place < atomic_load_explicit(&places, memory_order_acquire) ? &selves[place] : NULL;
}

struct participant *participant_on(CUdevice device)
{
	int place = device >= 0 && device < DEVICES ? atomic_load_explicit(&place_on[device], memory_order_acquire) : 0;
	return place > 0 ? participant_at_place(place - 1) : NULL;
}

struct participant *participant_number(uint32_t index)
{
	struct participant *p;
	for (int place = 0; (p = participant_at_place(place)); place++)
		if ((uint32_t)p->index == index)
			return p;
	return NULL;
}

struct participant *participant_of(uint64_t canonical) { return participant_number(gsan_owner(canonical)); }

struct participant *participant_started(void) { return participant_at_place(0); }

struct participant *participant_joined(void)
{
	return atomic_load_explicit(&started, memory_order_acquire) && selves[0].socket >= 0 ? &selves[0] : NULL;
}

/* ---- peers ---------------------------------------------------------------------------------------------------------- */

int tables_map(struct participant *p, uint32_t q, uint64_t base, uint64_t size)
{
	struct ipc_msg msg = {.type = IPC_GET, .space = IPC_TABLES, .participant = p->index, .base = base, .size = size};
	struct span piece = {base, size};
	int fd = -1;
	if (participant_number(q) || spans_find(&tables_here, base))
		return vmm_access(p->device, base, size);
	int rc = ipc_call(p->socket, &msg, -1, &fd);
	if (!rc)
		rc = vmm_adopt(p, msg.base, msg.size, fd);
	if (!rc)
		spans_insert(&tables_here, &piece);
	if (fd >= 0)
		close(fd);
	return rc;
}

uint32_t tables_forget(uint32_t gone)
{
	return spans_forget(&tables_here, gone, GSAN_TABLE_BASE, GSAN_TABLE_SLICE);
}

static void mapped_add(struct participant *p, uint32_t q)
{
	int rc = tables_map(p, q, vmm_tables_base(q), gsan_tables_bytes());
	if (!rc)
		rc = detail_adopt(p, q);
	if (rc == -ENOENT) { /* its process has just left: the next one's can be, perhaps */
		return;
	} else if (rc) {
		atomic_fetch_or_explicit(&p->refused, 1u << q, memory_order_relaxed);
		atomic_store_explicit(&p->job->rank[p->index].detail_of[q], UINT64_MAX, memory_order_release); /* it uses none */
		if (rc != -ECONNRESET) /* then there is no supervisor, and nobody to find races for */
			log_warning("the tables of participant %u cannot be mapped (no peer access?): races with it are not found", q);
		vmm_note(p, "peer", "tables", "participant %u's tables could not be mapped here", q);
	} else {
		atomic_fetch_or_explicit(&p->mapped, 1u << q, memory_order_release);
	}
}

int vmm_tables(struct participant *p, uint32_t peer)
{
	uint32_t known = atomic_load_explicit(&p->mapped, memory_order_relaxed) | atomic_load_explicit(&p->refused, memory_order_relaxed);
	if (!(known >> peer & 1))
		mapped_add(p, peer);
	return atomic_load_explicit(&p->mapped, memory_order_relaxed) >> peer & 1 ? 0 : -EIO;
}

/* More lies behind tables that it uses than it has mapped. */
static int detail_misses(const struct participant *p, uint32_t q)
{
	return q != (uint32_t)p->index && atomic_load_explicit(&p->mapped, memory_order_relaxed) >> q & 1 &&
	       atomic_load_explicit(&p->job->rank[q].detail_bytes, memory_order_acquire) >
		       atomic_load_explicit(&p->job->rank[p->index].detail_of[q], memory_order_relaxed);
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
		if (atomic_load_explicit(&p->job->rank[q].state, memory_order_acquire) == JOB_RUNNING && (!(known >> q & 1) || detail_misses(p, q)))
			missing |= 1u << q;
	if (!missing)
		atomic_store_explicit(&p->looked, now, memory_order_release);
	if (!missing || vmm_enter(p, &s))
		return have;
	for (; missing; missing &= missing - 1)
		if (!vmm_tables(p, (uint32_t)__builtin_ctz(missing)))
			detail_adopt(p, (uint32_t)__builtin_ctz(missing));
	vmm_leave(&s);
	atomic_store_explicit(&p->looked, now, memory_order_release); /* what failed, fails again */
	return atomic_load_explicit(&p->mapped, memory_order_acquire);
}

uint64_t vmm_view_table(struct participant *p) { return p->view_table; }
uint64_t vmm_ring(struct participant *p) { return p->ring; }
uint64_t vmm_writers(struct participant *p) { return p->writers; }

/* What counts it last: of what could not be emptied nothing is given out again. */
static int used_end(struct participant *p, const struct gsan_used *used)
{
	uint64_t block = vmm_tables_base((uint32_t)p->index);
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

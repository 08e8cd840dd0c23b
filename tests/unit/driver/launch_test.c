/* Launches through the hooks, with a participant and a supervisor of the test's own, on the fake driver: the clone gets
 * the plain kernel's parameters and a record that says what is before it; whatever does not fit runs plain and is said. */
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock/clock.h"
#include "driver/chosen.h"
#include "driver/models.h"
#include "fakecuda.h"
#include "ipc/ipc.h"
#include "vmm/vmm.h"

static int failed;
#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			failed = 1; \
		} \
	} while (0)

/* ---- what the hooks call ------------------------------------------------------------------------------------- */

static struct participant self = {.index = 1};
static char last_note[3000];
static unsigned notes, registered;

static int elsewhere; /* 1: the current context is on another GPU; 2: there is none */
struct participant *participant_current(void) { return elsewhere ? NULL : &self; }
struct participant *participant_launching(void) { return elsewhere == 1 ? NULL : &self; }
int participant_several(void) { return elsewhere; }
int participant_uses_several(void) { return 0; }
struct participant *participant_at_place(int place) { return place ? NULL : &self; }
int participant_push(struct participant *p) { (void)p; return -1; }
struct participant *participant_on(CUdevice device) { return (void)device, elsewhere ? NULL : &self; }
struct participant *participant_of(uint64_t canonical) { return (void)canonical, NULL; }
struct participant *participant_elsewhere(void) { return elsewhere == 1 ? &self : NULL; }
uint32_t vmm_mapped(struct participant *p) { return 1u << p->index; }
uint64_t vmm_view_table(struct participant *p) { return p->view_table; }
uint64_t vmm_ring(struct participant *p) { return p->ring; }
uint64_t vmm_writers(struct participant *p) { return p->writers; }
void vmm_result(CUresult rc) { (void)rc; }
void (*vmm_look)(struct vmm_checks *checks, int wait);
uint64_t vmm_block_size(CUdeviceptr at) { (void)at; return 0; }
enum vmm_checked vmm_checked(uint64_t at) { return at - GSAN_ARENA_BASE < GSAN_ARENA_SIZE ? VMM_OURS : VMM_UNCHECKED; }
int vmm_label(uint64_t at, uint64_t size, const char *name) { return !at || !size || !*name; }
uint64_t vmm_workspace(struct participant *p, uint32_t slot) { return p == &self ? 0x1000 + slot : 0; }
void vmm_variable(struct participant *p, uint64_t at, uint64_t size, const char *name, const void *owner)
{
	(void)p, (void)at, (void)size, (void)name, (void)owner;
}
void vmm_variables_drop(struct participant *p, const void *owner) { (void)p, (void)owner; }
int vmm_hosts(uint64_t at, uint64_t size, const char *name, const void *owner, int managed) { return at && size && *name && owner && managed ? -1 : 0; }
uint64_t vmm_hosts_number(uint64_t start) { return start; }
void vmm_hosts_drop(uint64_t start, uint64_t number) { (void)start, (void)number; }
static uint64_t shadowed; /* memory where vmm_value() finds shadow */
uint64_t vmm_value(struct participant *p, uint64_t at, int written) { return written && p == &self && at == shadowed ? at : 0; }
int vmm_history_end(struct participant *p, const struct gsan_history *used) { return p == &self && !used; }
uint64_t vmm_lingers(void) { return 0; }
void vmm_waited(uint64_t newest) { (void)newest; }
int vmm_may_forget(const struct participant *p) { return p != &self; }
int vmm_forget(struct participant *p) { return p != &self; }
void vmm_detail_grow(struct participant *p) { (void)p; }
int vmm_several_contexts(struct participant *p) { return p != &self; }
void vmm_context_ended(CUcontext context) { (void)context; }
void vmm_context_began(CUcontext context, CUdevice device) { (void)context; (void)device; }
static int renewed, renewed_idle, busy; /* how often; another participant is on the GPU */
int vmm_renew(struct participant *p)
{
	renewed++;
	return p == &self ? 0 : -1;
}
int vmm_renew_idle(struct participant *p)
{
	CHECK(p == &self);
	renewed_idle += !busy;
	return busy ? -1 : 0;
}

int ipc_call(int socket, struct ipc_msg *msg, int fd_in, int *fd_out)
{
	(void)socket, (void)fd_out;
	if (msg->type == IPC_NOTE) {
		snprintf(last_note, sizeof(last_note), "%.*s", (int)msg->length, msg->text);
		notes++;
	}
	if (msg->type == IPC_KERNEL && fd_in >= 0)
		registered = msg->kernel;
	return 0;
}

void ipc_text(struct ipc_msg *msg, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	msg->length = (uint32_t)vsnprintf(msg->text, sizeof(msg->text), format, args);
	va_end(args);
}

int ipc_connect(const char *name, int timeout_ms) { return (void)name, (void)timeout_ms, -1; }
int ipc_send(int socket, const struct ipc_msg *msg, int fd) { return (void)socket, (void)msg, (void)fd, -1; }
int ipc_recv(int socket, struct ipc_msg *msg, int *fd) { return (void)socket, (void)msg, (void)fd, -1; }

/* Hooks of memory: the fake driver has none of these functions, so none is entered. */
CUresult absent(void);
CUresult absent(void)
{
	abort();
}
#define ABSENT(name) __asm__(".globl vmm_" #name "\n.set vmm_" #name ", absent");
ABSENT(cuMemAlloc_v2)
ABSENT(cuMemAllocPitch_v2)
ABSENT(cuMemFree_v2)
ABSENT(cuMemAllocAsync)
ABSENT(cuMemAllocFromPoolAsync)
ABSENT(cuMemFreeAsync)
ABSENT(cuMemPoolCreate)
ABSENT(cuMemPoolDestroy)
ABSENT(cuMemPoolSetAccess)
ABSENT(cuMemPoolGetAttribute)
ABSENT(cuMemPoolSetAttribute)
ABSENT(cuMemGetInfo_v2)
ABSENT(cuMemGetAddressRange_v2)
ABSENT(cuPointerGetAttribute)
ABSENT(cuPointerGetAttributes)
ABSENT(cuIpcGetMemHandle)
ABSENT(cuIpcOpenMemHandle_v2)
ABSENT(cuIpcCloseMemHandle)
ABSENT(cuCtxEnablePeerAccess)
ABSENT(cuMemAddressReserve)
ABSENT(cuMemAddressFree)
ABSENT(cuMemCreate)
ABSENT(cuMemRelease)
ABSENT(cuMemMap)
ABSENT(cuMemUnmap)
ABSENT(cuMemRetainAllocationHandle)
ABSENT(cuMemExportToShareableHandle)
ABSENT(cuMemImportFromShareableHandle)

/* ---- the program --------------------------------------------------------------------------------------------- */

static struct fake *fake;
static CUfunction twin, plain, local, wide;

static void CUDA_CB nothing(void *data) { (void)data; }

static CUresult launch(CUfunction f, CUstream stream)
{
	uint64_t argument = 42;
	void *params[] = {&argument};

	return cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL);
}

static struct gsan_launch record(void)
{
	struct gsan_launch r;

	memcpy(&r, fake->record, sizeof(r));
	return r;
}

static void test_checked(void)
{
	CHECK(launch(twin, NULL) == CUDA_SUCCESS && !strcmp(fake->kernel, "twin__gsan"));
	struct gsan_launch a = record();
	CHECK(a.abi == GSAN_ABI && a.participant == 1 && a.kernel == 1 && registered == 1 && a.stream == 0);
	CHECK(a.tag_bits == 14 && a.tag == (1u << 14 | a.seq) && a.ring == self.ring && a.mapped == 2);
	CHECK(launch(twin, NULL) == CUDA_SUCCESS);
	struct gsan_launch b = record();
	CHECK(b.seq == a.seq + 1 && b.order.floor[1] == b.seq); /* stream order */
	CHECK(atomic_load(&self.job->rank[1].launches_checked) == 2);
}

/* Only a cooperative grid synchronises on words of ours, on those of its stream. */
static void test_cooperative(void)
{
	uint64_t argument = 42;
	void *params[] = {&argument};
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
	CUlaunchConfig config = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1,
				 .attrs = &attribute, .numAttrs = 1};
	CUstream s;

	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	CHECK(launch(twin, s) == CUDA_SUCCESS && record().workspace == 0);
	CHECK(cuLaunchCooperativeKernel(twin, 1, 1, 1, 32, 1, 1, 0, s, params) == CUDA_SUCCESS);
	CHECK(record().stream != 0 && record().workspace == 0x1000u + record().stream);
	CHECK(cuLaunchKernelEx(&config, twin, params, NULL) == CUDA_SUCCESS && record().workspace == 0x1000);
	attribute.value.cooperative = 0;
	CHECK(cuLaunchKernelEx(&config, twin, params, NULL) == CUDA_SUCCESS && record().workspace == 0);
	cuStreamDestroy_v2(s);
}

/* A launch that may begin early has what is before it even so, and does not know what unchecked instructions of the one before write. The next one has
 * nothing of that. */
static void test_programmatic(void)
{
	CUlaunchAttribute allowed = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, .value.programmaticStreamSerializationAllowed = 1};
	uint64_t argument = 42;
	uint32_t seq = 0;
	CUstream s;

	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	for (unsigned i = 0; i < 4; i++) { /* asked for it from the first on, but for the third */
		CUlaunchConfig config = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1, .hStream = s,
					 .attrs = &allowed, .numAttrs = 1};
		allowed.value.programmaticStreamSerializationAllowed = i != 2;
		CHECK(cuLaunchKernelEx(&config, twin, (void *[]){&argument}, NULL) == CUDA_SUCCESS);
		struct gsan_launch r = record();
		int early = i == 1 || i == 3;
		CHECK(r.order.flags == (early ? GSAN_ORDER_EARLY : 0) && r.quick == gsan_quick(&r) && r.writers == (early ? 0 : self.writers));
		int known = seq < r.order.floor[r.participant];
		for (uint32_t k = 0; k < r.order.pairs; k++)
			known |= r.order.pair[k].participant == r.participant && r.order.pair[k].stream == r.stream && r.order.pair[k].seq >= seq;
		CHECK(!seq || known == !early);
		seq = r.seq;
	}
	cuStreamSynchronize(s);
	cuStreamDestroy_v2(s);
}

static void test_extra(void)
{
	uint64_t argument = 42;
	size_t size = sizeof(argument);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &argument, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};

	memset(fake->record, 0, sizeof(fake->record));
	CHECK(cuLaunchKernel(twin, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra) == CUDA_SUCCESS);
	CHECK(!strcmp(fake->kernel, "twin__gsan") && record().abi == GSAN_ABI && record().kernel == 1);
}

/* Two streams, with and without an event between them. */
static void test_order(int edge)
{
	CUstream s, t;
	CUevent event;

	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	cuStreamCreate(&t, CU_STREAM_NON_BLOCKING);
	cuEventCreate(&event, 0);
	launch(twin, s);
	uint32_t a = record().seq;
	cuEventRecord(event, s);
	if (edge)
		cuStreamWaitEvent(t, event, 0);
	launch(twin, t);
	struct gsan_launch b = record();
	CHECK((a < b.order.floor[1] || (b.order.pairs == 1 && b.order.pair[0].seq == a)) == edge);
	cuStreamSynchronize(s);
	cuStreamSynchronize(t);
	launch(twin, t);
	CHECK(record().order.floor[1] == record().seq); /* the host saw all of it */
	cuCtxSynchronize();
}

/* What a thread of its own does, until it is done. */
static void *meanwhile_run(void *what)
{
	(*(void (**)(void))what)();
	return NULL;
}

static void meanwhile(void (*what)(void))
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, meanwhile_run, &what) && !pthread_join(thread, NULL));
}

static CUstream first_seen;
static uint8_t first_slot;
static void first_launch(void)
{
	launch(twin, first_seen);
	first_slot = record().stream;
}
static void first_asked(void) { meanwhile(first_launch); }

/* Two threads use a stream first at once: it is one stream, in whose order both launches are. */
static void test_first_at_once(void)
{
	cuStreamCreate(&first_seen, CU_STREAM_NON_BLOCKING);
	fake->asked_flags = first_asked;
	launch(twin, first_seen);
	CHECK(!fake->asked_flags && first_slot > 0 && record().stream == first_slot);
	CUstream other;
	cuStreamCreate(&other, CU_STREAM_NON_BLOCKING);
	launch(twin, other);
	CHECK(record().stream != first_slot);
	cuCtxSynchronize();
}

/* A kernel's handle goes with its context, and may be another one's next; with any other context it stays. */
static void test_functions_end(void)
{
	char first, second;
	CUmodule module;
	CUfunction f;
	unsigned before = registered;

	CHECK(cuModuleLoadData(&module, "\177ELF") == CUDA_SUCCESS);
	cuModuleUnload(module); /* the fake's handles are the same in every module: all are forgotten */
	fake->context = &first;
	CHECK(cuModuleGetFunction(&f, module, "twin") == CUDA_SUCCESS && registered == before + 1);
	fake->context = &second;
	cuCtxDestroy_v2((CUcontext)&second);
	CHECK(launch(f, NULL) == CUDA_SUCCESS && !strcmp(fake->kernel, "twin__gsan") && registered == before + 1);
	fake->context = &first;
	cuCtxDestroy_v2((CUcontext)&first);
	CHECK(launch(f, NULL) == CUDA_SUCCESS && !strcmp(fake->kernel, "twin__gsan") && registered == before + 2);
	fake->context = NULL;
	cuModuleUnload(module);
	cuCtxSynchronize();
}

/* What is set on a kernel holds for its clone, whichever GPU is current. */
static void test_attributes(void)
{
	for (elsewhere = 0; elsewhere < 2; elsewhere++) {
		fake->last_call[0] = 0;
		CHECK(cuFuncSetAttribute(twin, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024) == CUDA_SUCCESS);
		CHECK(!strcmp(fake->last_call, "twin__gsan"));
	}
	elsewhere = 0;
}

static CUstream event_stream[2], event_waiter;
static CUevent event_shared;
static void event_query(void) { cuEventQuery(event_shared); }
static void event_wait(void) { cuStreamWaitEvent(event_waiter, event_shared, 0); }
static void event_record(void) { cuEventRecord(event_shared, event_stream[1]); }
static void while_event_query(void) { meanwhile(event_query); }
static void while_event_wait(void) { meanwhile(event_wait); }
static void while_event_record(void) { meanwhile(event_record); }

/* Is launch `seq` of one of those streams before the next launch that waits? */
static int event_orders(uint32_t seq)
{
	launch(twin, event_waiter);
	struct gsan_launch r = record();
	return (r.order.flags & GSAN_ORDER_UNKNOWN) || seq < r.order.floor[1] || (r.order.pairs == 1 && r.order.pair[0].seq == seq);
}

/* One that was recorded before, behind another launch; and what happens in the driver's record or query of it. */
static uint32_t event_again(void (*in_record)(void), void (*in_query)(void))
{
	CUstream *const streams[] = {&event_stream[0], &event_stream[1], &event_waiter};

	cuCtxSynchronize();
	for (unsigned i = 0; i < 3; i++) {
		cuStreamDestroy_v2(*streams[i]);
		cuStreamCreate(streams[i], CU_STREAM_NON_BLOCKING);
	}
	cuEventCreate(&event_shared, 0);
	launch(twin, event_stream[0]);
	cuEventRecord(event_shared, event_stream[0]);
	launch(twin, event_stream[0]);
	fake->recorded = in_record;
	fake->queried = in_query;
	return record().seq;
}

/* An event is recorded again while another thread waits for it, or records it, too: it may be for the new one that it waited. */
static void test_event_meanwhile(void)
{
	uint32_t seq = event_again(NULL, NULL);

	cuEventQuery(event_shared);
	CHECK(!event_orders(seq)); /* for the old one */
	seq = event_again(while_event_query, NULL);
	cuEventRecord(event_shared, event_stream[0]);
	CHECK(!fake->recorded && event_orders(seq));
	seq = event_again(while_event_wait, NULL);
	cuEventRecord(event_shared, event_stream[0]);
	CHECK(!fake->recorded && event_orders(seq));
	seq = event_again(while_event_record, NULL); /* perhaps before */
	cuEventRecord(event_shared, event_stream[0]);
	event_wait();
	CHECK(!fake->recorded && event_orders(seq));
	seq = event_again(while_event_record, NULL);
	launch(twin, event_stream[1]);
	seq = record().seq; /* perhaps behind */
	cuEventRecord(event_shared, event_stream[0]);
	event_wait();
	CHECK(!fake->recorded && event_orders(seq));
	cuEventRecord(event_shared, event_stream[0]); /* by one thread alone again */
	launch(twin, event_stream[1]);
	seq = record().seq;
	cuStreamCreate(&event_waiter, CU_STREAM_NON_BLOCKING);
	event_wait();
	CHECK(!event_orders(seq));

	event_again(NULL, while_event_record);
	launch(twin, event_stream[1]);
	seq = record().seq;
	cuEventQuery(event_shared); /* of the new one, which another thread recorded when the old was looked at */
	CHECK(!fake->queried && event_orders(seq));
	cuCtxSynchronize();
}

static void by_context(void) { cuCtxRecordEvent(NULL, event_shared); }
static void by_node(void) { cuGraphAddEventRecordNode(NULL, NULL, NULL, 0, event_shared); }
static void by_changed_node(void) { cuGraphExecEventRecordNodeSetEvent(NULL, NULL, event_shared); }

static void by_any_node(void)
{
	CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .eventRecord.event = event_shared};

	cuGraphNodeSetParams(NULL, &params);
}

static void by_capture(void)
{
	fake->capturing = 1;
	cuEventRecordWithFlags(event_shared, event_stream[0], CU_EVENT_RECORD_EXTERNAL);
	fake->capturing = 0;
}

static void by_process(void)
{
	CUipcEventHandle handle;

	cuIpcGetEventHandle(&handle, event_shared);
}

/* Of the value of an event that went with its context. */
static void by_opening(void)
{
	CUipcEventHandle handle = {{0}};

	memcpy(handle.reserved, &event_shared, sizeof event_shared);
	CHECK(cuIpcOpenEventHandle(&event_shared, handle) == CUDA_SUCCESS);
}

static void by_launch(CUlaunchAttribute attribute)
{
	uint64_t argument = 42;
	CUlaunchConfig config = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1,
				 .hStream = event_stream[0], .attrs = &attribute, .numAttrs = 1};

	cuLaunchKernelEx(&config, twin, (void *[]){&argument}, NULL);
}

static void by_begun_launch(void)
{
	by_launch((CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT, .value.launchCompletionEvent.event = event_shared});
}

static void by_kernel(void)
{
	by_launch((CUlaunchAttribute){.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT, .value.programmaticEvent.event = event_shared});
}

/* An event that is recorded where nobody looks is unknown, until it is recorded again; or for good, if that may happen at any time. */
static void test_event_elsewhere(void)
{
	static const struct { void (*record)(void); int for_good; } ways[] = {
		{by_context, 0}, {by_begun_launch, 0}, {by_kernel, 0}, {by_node, 1}, {by_changed_node, 1}, {by_any_node, 1}, {by_capture, 1},
		{by_process, 1}, {by_opening, 1},
	};
	CUstream s;
	CUgraph graph;

	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED); /* one must have been */
	cuStreamEndCapture(s, &graph);
	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		uint32_t seq = event_again(NULL, NULL);
		ways[i].record();
		event_wait();
		CHECK(event_orders(seq));
		seq = event_again(NULL, NULL);
		ways[i].record();
		event_record();
		event_wait();
		CHECK(event_orders(seq) == ways[i].for_good);
	}
	cuCtxSynchronize();
}

/* What waits for more than is known here: a context's streams, those to come, too; one for a semaphore; a graph, if it may wait. */
static void test_waits_elsewhere(void)
{
	uint32_t seq = event_again(NULL, NULL);

	CHECK(!event_orders(seq));
	cuEventRecord(event_shared, event_stream[0]);
	cuCtxWaitEvent(NULL, event_shared);
	CHECK(event_orders(seq));
	cuStreamCreate(&event_waiter, CU_STREAM_NON_BLOCKING);
	CHECK(event_orders(seq));
	seq = event_again(NULL, NULL);
	CHECK(!event_orders(seq));
	cuWaitExternalSemaphoresAsync(NULL, NULL, 0, event_waiter);
	CHECK(event_orders(seq));
	seq = event_again(NULL, NULL);
	cuGraphLaunch(NULL, event_waiter);
	CHECK(!event_orders(seq));
	cuGraphAddEventWaitNode(NULL, NULL, NULL, 0, event_shared);
	cuGraphLaunch(NULL, event_waiter);
	CHECK(event_orders(seq));
	cuCtxSynchronize();
}

/* A launch by a call of CUDA 3 has its place in the stream, and runs plain. */
static void test_old_launch(void)
{
	CUstream s;

	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	launch(twin, s);
	uint32_t seq = record().seq;
	CHECK(cuLaunchGridAsync(twin, 1, 1, s) == CUDA_SUCCESS && !strcmp(fake->kernel, "twin") && strstr(last_note, "CUDA 3"));
	CHECK(self.job->writers.newest[1][record().stream] == seq + 1);
	cuCtxSynchronize();
}

static uint8_t slot_of(CUstream stream)
{
	launch(twin, stream);
	return record().stream;
}

/* A stream goes, by itself or with its context, whichever GPU is current; or nobody sees how: its handle may be another one's next. */
static void test_streams_end(void)
{
	char first, second;
	CUstream s, t, same;

	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	uint8_t slot = slot_of(s);
	elsewhere = 1;
	cuStreamDestroy_v2(s);
	elsewhere = 0;
	CHECK(slot_of(s) != slot);
	slot = slot_of(s);
	fake->stream = s;
	cuStreamCreate(&same, CU_STREAM_DEFAULT);
	fake->stream = NULL;
	CHECK(same == s && slot_of(same) != slot);

	fake->context = &first;
	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	slot = slot_of(s);
	fake->context = &second;
	cuStreamCreate(&t, CU_STREAM_NON_BLOCKING);
	uint8_t other = slot_of(t);
	fake->context = &first;
	cuCtxDestroy_v2((CUcontext)&second);
	CHECK(slot_of(s) == slot && slot_of(t) == other);
	cuCtxDestroy_v2((CUcontext)&first);
	CHECK(slot_of(s) != slot && slot_of(t) == other);
	fake->context = NULL;
	cuStreamDestroy_v2(s);
	cuStreamDestroy_v2(t);
	cuCtxSynchronize();
}

/* A kernel that cannot be checked: launched as it is, noted once, and known as an event unless its model is local. */
static void test_plain(void)
{
	struct job_rank *rank = &self.job->rank[1];
	uint64_t events = atomic_load(&rank->events);
	uint64_t unchecked = atomic_load(&rank->launches_unchecked);
	unsigned before = notes;

	CHECK(launch(plain, NULL) == CUDA_SUCCESS && !strcmp(fake->kernel, "plain"));
	CHECK(notes == before);
	CHECK(atomic_load(&rank->events) == events + 1 && rank->event[0][events].kind == JOB_EVENT_OPAQUE);
	launch(plain, NULL);
	CHECK(notes == before);
	CHECK(atomic_load(&rank->launches_unchecked) == unchecked + 2);

	fake->clone_blocks = 1;
	CHECK(cuLaunchKernel(twin, 1, 1, 1, 64, 1, 1, 0, NULL, (void *[]){&before}, NULL) == CUDA_SUCCESS);
	CHECK(!strcmp(fake->kernel, "twin") && strstr(last_note, "fewer CTAs"));
	fake->clone_blocks = 2;
	fake->refuse_clone = 1;
	CHECK(launch(twin, NULL) == CUDA_SUCCESS && !strcmp(fake->kernel, "twin") && strstr(last_note, "refused"));
	fake->refuse_clone = 0;
	CHECK(launch(twin, NULL) == CUDA_SUCCESS && !strcmp(fake->kernel, "twin__gsan"));
}

/* Is there an event of a kernel that may have run, among those from place `from` on? */
static int events_count(uint64_t from)
{
	struct job_rank *rank = &self.job->rank[1];
	int any = 0;

	for (uint64_t i = from; i < atomic_load(&rank->events); i++)
		any |= rank->event[0][i].count != 0;
	return any;
}

/* What the driver itself refuses did not run: it is not said, not counted, and orders nothing; unless the answer may be the kernel's. */
static void refused(void (*what)(void), int graph)
{
	static const struct { CUresult rc; int event, said; } row[] = {
		{CUDA_ERROR_INVALID_VALUE, 0, 0}, {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 0, 0}, {CUDA_ERROR_ILLEGAL_ADDRESS, 1, 0},
		{CUDA_SUCCESS, 1, 1},
	};
	struct job_rank *rank = &self.job->rank[1];

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		uint64_t events = atomic_load(&rank->events);
		uint64_t unchecked = atomic_load(&rank->launches_unchecked);
		unsigned before = notes;
		fake->refuse = (int)row[i].rc;
		what();
		fake->refuse = 0;
		CHECK(events_count(events) == row[i].event && notes == before + (unsigned)row[i].said);
		CHECK(atomic_load(&rank->launches_unchecked) == unchecked + (unsigned)row[i].said);
		CHECK(graph || !row[i].said || !strncmp(last_note, "unchecked\tplain\t", 16));
	}
}

static void launch_plain(void) { launch(plain, NULL); }
static void launch_graph(void) { cuGraphLaunch(NULL, NULL); }

static void test_refused(void)
{
	struct job_rank *rank = &self.job->rank[1];
	CUstream s;
	CUgraph graph;

	refused(launch_plain, 0);
	refused(launch_graph, 1);

	uint64_t unchecked = atomic_load(&rank->launches_unchecked);
	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	fake->refuse = CUDA_ERROR_INVALID_VALUE;
	launch(twin, s);
	CHECK(atomic_load(&rank->launches_unchecked) == unchecked);
	fake->refuse = 0;
	cuStreamEndCapture(s, &graph);

	uint64_t events = atomic_load(&rank->events);
	fake->refuse = CUDA_ERROR_INVALID_VALUE;
	launch(twin, NULL); /* the clone, and then the kernel itself */
	CHECK(atomic_load(&rank->events) > events && !events_count(events) && atomic_load(&rank->launches_unchecked) == unchecked);
	fake->refuse = 0;
}

/* What is told before a call. */
struct said { uint32_t wrote, brought, values, last; };
static struct said said_now(void)
{
	const struct job_rank *rank = &self.job->rank[1];
	struct said said = {self.job->writers.newest[1][0], atomic_load(&rank->outgoing[0]), 0, 0};

	for (uint32_t i = 0; i < atomic_load(&rank->signals); i++)
		said.values += rank->signal[i].seq != 0;
	said.last = atomic_load(&rank->next) - 1;
	return said;
}

static void write_value(void) { cuStreamWriteValue32_v2(NULL, 0x500, 1, 0); }
static void set_memory(void) { cuMemsetD32Async(0x500, 1, 1, NULL); }

/* It is gone if the driver refuses that; the same call later says it. An error that may be the kernel's leaves it. */
static void test_refused_said(void)
{
	static const struct { void (*call)(void); int writes, copies, values; } row[] = {
		{launch_plain, 1, 0, 0}, {launch_graph, 1, 1, 0}, {set_memory, 1, 0, 0}, {write_value, 1, 0, 1},
	};
	static const CUresult answer[] = {CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_SUCCESS};

	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++)
		for (unsigned k = 0; k < 3; k++) {
			launch(twin, NULL);
			struct said was = said_now();
			fake->refuse = (int)answer[k];
			row[i].call();
			fake->refuse = 0;
			struct said now = said_now();
			CHECK(now.wrote == (k && row[i].writes ? now.last : was.wrote));
			CHECK(now.brought == (k && row[i].copies ? now.last : was.brought));
			CHECK(now.values == was.values + (k && row[i].values));
			CHECK(now.last > was.last); /* numbers are not given twice */
		}
	cuCtxSynchronize();
}

static uint32_t *shared_newest(void) { return &self.job->writers.newest[1][CLOCK_SHARED]; }
static uint32_t shared_then;
static void shared_seen(void) { shared_then = *shared_newest(); }
static void shared_other(void) { *shared_newest() = UINT32_MAX; } /* as the supervisor does */

/* Another GPU's kernel may write while it is being launched; it did not if that was refused: what stood there does again. */
static void test_refused_beside(void)
{
	uint32_t was = *shared_newest();
	uint64_t events = atomic_load(&self.job->rank[1].events);

	elsewhere = 1;
	fake->refuse = CUDA_ERROR_INVALID_VALUE;
	*shared_newest() = 77;
	fake->launched = shared_seen;
	launch(twin, NULL);
	CHECK(shared_then == UINT32_MAX - 1 && *shared_newest() == 77);
	set_memory();
	write_value();
	cuGraphLaunch(NULL, NULL);
	CHECK(*shared_newest() == 77 && !events_count(events));
	fake->launched = shared_other;
	launch(twin, NULL);
	CHECK(*shared_newest() == UINT32_MAX); /* which is not ours to take back */
	fake->refuse = 0;
	elsewhere = 0;
	*shared_newest() = was;
}

static CUstream shared_stream;
static CUresult shared_answer;
static void shared_set(void)
{
	int launches = fake->refuse;

	elsewhere = 0;
	fake->refuse = (int)shared_answer;
	cuMemsetD32Async(0x500, 1, 1, shared_stream);
	fake->refuse = launches;
	elsewhere = 1;
}
static void while_shared_set(void) { meanwhile(shared_set); }

/* A stream without a slot of its own sets memory while a launch on another GPU is under way; either may be refused. Once the other GPU's
 * kernel runs, it may write for good. (In a process of its own: streams share a slot for good, too.) */
static int test_shared(void)
{
	static const CUresult no = CUDA_ERROR_INVALID_VALUE;
	static const struct { CUresult launch, set; } row[] = {{no, CUDA_SUCCESS}, {no, no}, {CUDA_SUCCESS, CUDA_SUCCESS}, {no, no}};
	uint32_t newest = 0;

	do {
		cuStreamCreate(&shared_stream, CU_STREAM_NON_BLOCKING);
		launch(twin, shared_stream);
	} while (record().stream != CLOCK_SHARED);
	elsewhere = 1;
	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		fake->launched = while_shared_set;
		fake->refuse = (int)row[i].launch;
		shared_answer = row[i].set;
		launch(twin, NULL);
		newest = i >= 2 ? UINT32_MAX - 1 : row[i].set == CUDA_SUCCESS ? said_now().last : newest;
		CHECK(!fake->launched && *shared_newest() == newest && newest > 0);
	}
	return failed;
}

/* A kernel whose parameters leave no room for the record is called by that. */
static void test_wide(void)
{
	CHECK(launch(wide, NULL) == CUDA_SUCCESS && !strcmp(fake->kernel, "wide"));
	CHECK(!strncmp(last_note, "unchecked\twide\t", 15) && strstr(last_note, "no room"));
}

static void test_capture(void)
{
	CUstream s;
	CUgraph graph;

	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
	CHECK(launch(twin, s) == CUDA_SUCCESS && !strcmp(fake->kernel, "twin"));
	CHECK(cuStreamEndCapture(s, &graph) == CUDA_SUCCESS && !fake->disturbed);
	CHECK(launch(twin, s) == CUDA_SUCCESS && !strcmp(fake->kernel, "twin__gsan"));
}

/* While a stream is captured, a kernel that was not seen before is not looked up, in whatever stream it is launched: it runs
 * plain and is listed. Nothing is asked of the driver that might end the capture but what the program asks itself. */
static void test_first_in_capture(int in_capture)
{
	CUstream s, t;
	CUmodule module;
	CUfunction f;
	CUgraph graph;
	unsigned before = registered;

	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	cuStreamCreate(&t, CU_STREAM_NON_BLOCKING);
	CHECK(cuModuleLoadData(&module, "\177ELF") == CUDA_SUCCESS);
	cuModuleUnload(module); /* the fake's handles are the same in every module: all are forgotten */
	CHECK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
	fake->disturbed = 0;
	CHECK(launch(twin, s) == CUDA_SUCCESS && !strcmp(fake->kernel, "twin") && !fake->disturbed);
	CHECK(cuModuleGetFunction(&f, module, "twin") == CUDA_SUCCESS && fake->disturbed == 1);
	CHECK(cuModuleLoadData(&module, ".version 8.0") == CUDA_SUCCESS && fake->disturbed == 2);
	fake->capturing = in_capture; /* t is not */
	CHECK(launch(twin, t) == CUDA_SUCCESS && !strcmp(fake->kernel, "twin") && registered == before);
	CHECK(strstr(last_note, "capture"));
	CHECK(cuStreamEndCapture(s, &graph) == CUDA_SUCCESS && fake->disturbed == 2);
	CHECK(launch(f, t) == CUDA_SUCCESS && !strcmp(fake->kernel, "twin__gsan") && registered == before + 1);
}

/* A stream that is destroyed while it is captured: the capture is over. */
static void test_capture_destroyed(void)
{
	CUstream s;

	CUmodule module;

	CHECK(cuModuleLoadData(&module, "\177ELF") == CUDA_SUCCESS);
	cuModuleUnload(module);
	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	CHECK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
	cuStreamDestroy_v2(s);
	fake->capturing = 0;
	CHECK(launch(twin, NULL) == CUDA_SUCCESS && !strcmp(fake->kernel, "twin__gsan"));
}

/* A value that a stream writes has a number behind what came before it. A host may have read it where hosts can, or by
 * a copy: one that comes later, or is under way. */
static void test_signal(void)
{
	struct job_rank *rank = &self.job->rank[1];
	uint32_t signals = atomic_load(&rank->signals), word = 0;
	const struct job_signal *s = &rank->signal[signals];
	CUstream stream;

	cuCtxSynchronize();
	atomic_store(&self.job->rank[0].next, 40);
	launch(twin, NULL);
	uint32_t before = record().seq;
	CHECK(cuStreamWriteValue32_v2(NULL, 0x500, 1, 0) == CUDA_SUCCESS && !strcmp(fake->last_call, "cuStreamWriteValue32_v2"));
	CHECK(atomic_load(&rank->signals) == signals + 1 && s[0].seq == before + 1);
	CHECK(s[0].seen[0] == 40 && s[0].seen[1] == before + 2); /* no shadow: hosts can read it */
	shadowed = 0x500;
	CHECK(cuStreamWriteValue32_v2(NULL, 0x500, 1, 0) == CUDA_SUCCESS && s[1].seen[0] == JOB_NOT_SEEN);
	CHECK(s[1].seq == before + 2 && s[1].seen[1] == JOB_NOT_SEEN);
	CHECK(cuMemcpyDtoH_v2(&word, (CUdeviceptr)&before, 4) == CUDA_SUCCESS && word == before);
	CHECK(s[1].seen[0] == 40 && s[1].seen[1] == before + 4 && s[0].seen[1] == before + 2);
	CHECK(cuStreamWriteValue32_v2(NULL, 0x500, 1, 0) == CUDA_SUCCESS && s[2].seen[1] == JOB_NOT_SEEN);
	cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	CHECK(cuMemcpyDtoHAsync_v2(&word, (CUdeviceptr)&before, 4, stream) == CUDA_SUCCESS);
	CHECK(cuStreamWriteValue32_v2(NULL, 0x500, 1, 0) == CUDA_SUCCESS && s[3].seen[1] == before + 7);
	cuStreamSynchronize(stream);
	CHECK(cuStreamWriteValue32_v2(NULL, 0x500, 1, 0) == CUDA_SUCCESS && s[4].seen[1] == JOB_NOT_SEEN);
}

static struct job_bringing brought;
static void brought_seen(void)
{
	brought = self.job->rank[1].bringing;
}

/* A graph may have a copy by which a host reads a value, at once: so it is told while the call is under way, and stays if it was not refused. */
static void test_brought(void)
{
	struct job_rank *rank = &self.job->rank[1];
	const struct job_signal *s = &rank->signal[atomic_load(&rank->signals)];

	cuCtxSynchronize();
	shadowed = 0x500;
	write_value();
	CHECK(s->seen[1] == JOB_NOT_SEEN);
	for (int refused = 1; refused >= 0; refused--) {
		uint32_t next = atomic_load(&rank->next) + 1;
		fake->refuse = refused ? CUDA_ERROR_INVALID_VALUE : 0;
		fake->launched = brought_seen;
		launch_graph();
		fake->refuse = 0;
		CHECK(brought.calls == 1 && brought.seen[1] == next && atomic_load(&rank->bringing.calls) == 0);
		CHECK(s->seen[1] == (refused ? JOB_NOT_SEEN : next));
	}
	cuCtxSynchronize();
}

/* The number of the newest operation of a stream that writes device memory unseen stands there before it is enqueued; what
 * is checked, what is known as local, and what only reads device memory has none. */
static void test_writers(void)
{
	CUstream s;
	uint32_t word = 0;

	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	launch(twin, s);
	struct gsan_launch r = record();
	const uint32_t *newest = self.job->writers.newest[1], *mine = &newest[r.stream];
	CHECK(r.stream > 0 && *mine == 0 && r.writers == self.writers);
	cuMemcpyDtoHAsync_v2(&word, (CUdeviceptr)&r, 4, s);
	CHECK(*mine == 0);
	cuMemsetD32Async(0x500, 1, 1, s);
	CHECK(*mine == r.seq + 2);
	launch(local, s);
	CHECK(*mine == r.seq + 2 && !strcmp(fake->kernel, "elementwise_kernel"));
	launch(plain, s);
	CHECK(*mine == r.seq + 4);
	cuStreamWriteValue32_v2(s, 0x500, 1, 0);
	CHECK(*mine == r.seq + 5);
	cuLaunchHostFunc(s, nothing, NULL);
	CHECK(*mine == r.seq + 6);
	launch(twin, s);
	CHECK(*mine == r.seq + 6 && record().seq == r.seq + 8); /* the stream's wait for it has a number, too */
	CHECK(record().order.flags & GSAN_ORDER_UNKNOWN);
	cuStreamSynchronize(s);
	launch(twin, s);
	CHECK(!(record().order.flags & GSAN_ORDER_UNKNOWN));
	CHECK(newest[CLOCK_SHARED] < UINT32_MAX - 1);
	elsewhere = 1;
	cuMemcpyDtoHAsync_v2(&word, (CUdeviceptr)&r, 4, NULL);
	cuMemsetD32Async(0x500, 1, 1, s); /* still this GPU's */
	CHECK(newest[CLOCK_SHARED] < UINT32_MAX - 1 && *mine == r.seq + 10);
	cuMemsetD32Async(0x500, 1, 1, NULL);
	elsewhere = 0;
	CHECK(newest[CLOCK_SHARED] == UINT32_MAX - 1 && self.job->writers.newest[0][0] == 0);
	CHECK(self.job->writers.participants == 1u << 1);
}

/* A kernel with instructions that are left unchecked may itself write a value: its launch is a writer, and does not ask. */
static void test_writes_itself(void)
{
	CUmodule module;
	CUfunction f;

	fake->left = 1;
	CHECK(cuModuleLoadData(&module, "\177ELF") == CUDA_SUCCESS);
	cuModuleUnload(module);
	CHECK(cuModuleGetFunction(&f, module, "twin") == CUDA_SUCCESS);
	fake->left = 0;
	CHECK(launch(f, NULL) == CUDA_SUCCESS && !strcmp(fake->kernel, "twin__gsan"));
	CHECK(record().writers == 0 && self.job->writers.newest[1][0] == record().seq);
	cuModuleUnload(module);
	CHECK(cuModuleGetFunction(&f, module, "twin") == CUDA_SUCCESS && launch(f, NULL) == CUDA_SUCCESS);
	CHECK(record().writers == self.writers && self.job->writers.newest[1][0] < record().seq);
}

/* Modules that ended with their context: the handles come again, for another one's kernels, and what was known of them is not used. */
static void test_module_again(int other)
{
	CUmodule module;
	CUfunction f;

	fake->left = 1;
	CHECK(cuModuleLoadData(&module, "\177ELF") == CUDA_SUCCESS);
	cuModuleUnload(module); /* the fake's handles are the same in every module */
	CHECK(cuModuleGetFunction(&f, module, "twin") == CUDA_SUCCESS);
	fake->left = 0;
	if (!other)
		CHECK(cuModuleLoadData(&module, "\177ELF") == CUDA_SUCCESS);
	CHECK(cuModuleGetFunction(&f, other ? (CUmodule)&module : module, "twin") == CUDA_SUCCESS && launch(f, NULL) == CUDA_SUCCESS);
	CHECK(record().writers == self.writers);
}

/* More values than places: the last place stands for all, the newest of them, and whatever was seen of one was of all. */
static void test_many_signals(void)
{
	struct job_rank *rank = &self.job->rank[1];
	uint32_t word = 0;

	for (uint32_t i = atomic_load(&rank->signals); i < JOB_SIGNALS + 3; i++)
		cuStreamWriteValue32_v2(NULL, 0x500, 1, 0);
	const struct job_signal *s = &rank->signal[JOB_SIGNALS - 1];
	uint32_t next = atomic_load(&rank->next);
	CHECK(atomic_load(&rank->signals) == JOB_SIGNALS && s->seq == next - 1 && s->seen[1] == JOB_NOT_SEEN);
	cuMemcpyDtoH_v2(&word, (CUdeviceptr)&next, 4);
	CHECK(s->seen[1] == next + 1);
	cuStreamWriteValue32_v2(NULL, 0x500, 1, 0);
	CHECK(s->seen[1] == next + 1 && s->seq == next + 1);
}

/* ---- more launches that may order anything than there are records -------------------------------------------- */

#define MANY 70000u
static struct { uint32_t seq; int over; uint64_t begun; } many[2 * MANY]; /* those that are to be found, from the first on */
static uint32_t manys, gap[MANY], gaps;                                  /* numbers of launches between them */
static CUstream many_stream[3];                                          /* the last is the legacy one */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t last_number(void) { return atomic_load(&self.job->rank[1].next) - 1; }

/* The last stream's launches nobody waits for. Each 500th is refused. */
static void launch_many(uint32_t number, int apart)
{
	for (uint32_t i = 0; i < number; i++) {
		int stream = i / 8 % 3;
		uint64_t now = now_ns();
		fake->refuse = i % 500 == 499 ? CUDA_ERROR_INVALID_VALUE : 0;
		launch(plain, many_stream[stream]);
		if (!fake->refuse)
			many[manys++] = (__typeof__(*many)){last_number(), stream < 2, now};
		fake->refuse = 0;
		if (apart || i % 1000 == 0) { /* which orders nothing, and only has its number */
			launch(local, many_stream[0]);
			gap[gaps++] = last_number();
		}
		if (i % 100 == 99) {
			cuStreamSynchronize(many_stream[0]);
			cuStreamSynchronize(many_stream[1]);
		}
	}
	cuStreamSynchronize(many_stream[0]);
	cuStreamSynchronize(many_stream[1]);
}

/* The launches in the record, and whether some record may mean that one: with its number between the record's, no later begun, not
 * over before it is. */
static uint64_t many_counted(void)
{
	struct job_rank *rank = &self.job->rank[1];
	uint64_t events = atomic_load(&rank->events), sum = 0;

	for (uint32_t i = 0; i < JOB_EVENTS_NUMBER(events); i++)
		sum += rank->event[JOB_EVENTS_TURN(events) & 1][i].count;
	return sum;
}

static int many_found(uint32_t i)
{
	struct job_rank *rank = &self.job->rank[1];
	uint64_t events = atomic_load(&rank->events);

	for (uint32_t k = 0; k < JOB_EVENTS_NUMBER(events); k++) {
		const struct job_event *e = &rank->event[JOB_EVENTS_TURN(events) & 1][k];
		if (e->count && e->first <= many[i].seq && many[i].seq <= e->last && e->kind == JOB_EVENT_OPAQUE &&
		    e->begun <= (i + 1 < manys ? many[i + 1].begun : UINT64_MAX) && (e->ended ? many[i].over && e->ended > many[i].begun : !many[i].over))
			return 1;
	}
	return 0;
}

/* How many of the last numbers between them, in steps, lie between those of one record: there the record says too much. */
static unsigned many_blurred(uint32_t from)
{
	struct job_rank *rank = &self.job->rank[1];
	uint64_t events = atomic_load(&rank->events);
	unsigned blurred = 0;

	for (uint32_t g = from; g < gaps; g += 1 + (gaps - from) / 500)
		for (uint32_t k = 0; k < JOB_EVENTS_NUMBER(events); k++) {
			const struct job_event *e = &rank->event[JOB_EVENTS_TURN(events) & 1][k];
			blurred += e->count && e->first < gap[g] && gap[g] < e->last && e->first > 0 && e->last < UINT32_MAX;
		}
	return blurred;
}

/* Those of another GPU (test_elsewhere) are in no other record. */
static unsigned many_elsewhere(void)
{
	struct job_rank *rank = &self.job->rank[1];
	uint64_t events = atomic_load(&rank->events);
	unsigned alone = 0;

	for (uint32_t k = 0; k < JOB_EVENTS_NUMBER(events); k++) {
		const struct job_event *e = &rank->event[JOB_EVENTS_TURN(events) & 1][k];
		CHECK(e->first == e->last || (e->first > 0 && e->last < UINT32_MAX));
		alone += e->count == 1 && e->first == e->last && (e->first == 0 || e->last == UINT32_MAX);
	}
	return alone;
}

/* Nothing is dropped, whatever it takes; nothing at all is lost while no other launch lies between; else only of what is old. */
static void test_many_events(void)
{
	uint64_t before;

	cuCtxSynchronize();
	for (int i = 0; i < 2; i++)
		cuStreamCreate(&many_stream[i], CU_STREAM_NON_BLOCKING);
	before = many_counted();
	launch_many(MANY, 0);
	CHECK(JOB_EVENTS_TURN(atomic_load(&self.job->rank[1].events)) > 0);
	CHECK(many_counted() == before + manys && many_blurred(0) == 0);
	for (int i = 0; i < 6; i++) {
		launch_many((MANY - 1000) / 6, 1);
		CHECK(many_counted() == before + manys && (i < 4 || many_blurred(0) > 0));
		CHECK(i < 2 || many_blurred(gaps - JOB_EVENTS / 2 + 100) == 0); /* some were refused */
	}
	CHECK(many_elsewhere() == 2);
	for (uint32_t i = 0; i < manys; i += 97)
		if (!many_found(i)) {
			fprintf(stderr, "launch %u of %u, number %u, is in no record\n", i, manys, many[i].seq);
			failed = 1;
			break;
		}
	for (int i = 0; i < 2; i++)
		cuStreamDestroy_v2(many_stream[i]);
	cuCtxSynchronize();
}

/* What the CTAs of a cluster do to each other is not modelled: such launches run plain, whoever asks for clusters. */
static void test_clusters(void)
{
	uint64_t argument = 42;
	void *params[] = {&argument};
	CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {1, 1, 1}};
	CUlaunchConfig config = {.gridDimX = 2, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1,
			.attrs = &attribute, .numAttrs = 1};

	CHECK(cuLaunchKernelEx(&config, twin, params, NULL) == CUDA_SUCCESS && !strcmp(fake->kernel, "twin__gsan"));
	attribute.value.clusterDim.y = 2;
	CHECK(cuLaunchKernelEx(&config, twin, params, NULL) == CUDA_SUCCESS && !strcmp(fake->kernel, "twin"));
	CHECK(strstr(last_note, "clusters"));

	CUmodule module;
	CUfunction other;
	fake->required_cluster = 2;
	CHECK(cuModuleLoadData(&module, "\177ELF") == CUDA_SUCCESS);
	cuModuleUnload(module); /* the fake's handles are the same in every module */
	CHECK(cuModuleLoadData(&module, "\177ELF") == CUDA_SUCCESS);
	CHECK(cuModuleGetFunction(&other, module, "twin") == CUDA_SUCCESS);
	CHECK(launch(other, NULL) == CUDA_SUCCESS && !strcmp(fake->kernel, "twin"));
	fake->required_cluster = 0;
}

/* Kernels on another GPU of the process: as they are, named once, and they may order anything; not if the driver refuses them. */
static void test_elsewhere(void)
{
	struct job_rank *rank = &self.job->rank[1];
	uint64_t unchecked = atomic_load(&rank->launches_unchecked);
	uint64_t events = atomic_load(&rank->events);
	unsigned before = notes;

	elsewhere = 1;
	fake->refuse = CUDA_ERROR_INVALID_VALUE;
	launch(twin, NULL);
	cuGraphLaunch(NULL, NULL);
	fake->refuse = 0;
	CHECK(notes == before && atomic_load(&rank->launches_unchecked) == unchecked);
	CHECK(atomic_load(&rank->events) == events + 4 && !events_count(events));
	events += 4;
	CHECK(launch(twin, NULL) == CUDA_SUCCESS && !strcmp(fake->kernel, "twin") && launch(twin, NULL) == CUDA_SUCCESS);
	elsewhere = 0;
	CHECK(notes == before + 1 && strstr(last_note, "another GPU") && !strncmp(last_note, "unchecked\t", 10));
	CHECK(atomic_load(&rank->launches_unchecked) == unchecked + 2 && atomic_load(&rank->events) == events + 2);
	CHECK(rank->event[0][events].first == 0 && rank->event[0][events + 1].last == UINT32_MAX);
	CHECK(launch(twin, NULL) == CUDA_SUCCESS && !strcmp(fake->kernel, "twin__gsan"));
}

/* A thread without a context, where the process sees one GPU: the driver says so, and nothing is told of it. */
static void test_no_context(void)
{
	uint64_t unchecked = atomic_load(&self.job->rank[1].launches_unchecked);
	unsigned before = notes;
	int launched = fake->launches;

	elsewhere = 2;
	fake->refuse_clone = 1;
	CHECK(launch(twin, NULL) == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	elsewhere = 0;
	fake->refuse_clone = 0;
	CHECK(notes == before && fake->launches == launched && atomic_load(&self.job->rank[1].launches_unchecked) == unchecked);
	CHECK(launch(twin, NULL) == CUDA_SUCCESS && !strcmp(fake->kernel, "twin__gsan"));
}

/* Launches until that number was given, and waits each `often` of them, if that is not 0. */
static void launch_up_to(CUstream s, uint32_t seq, uint32_t often)
{
	for (uint32_t i = 1; i <= 1u << 17 && record().seq < seq; i++) {
		launch(twin, s);
		if (often && i % often == 0)
			cuCtxSynchronize();
	}
}

/* The host waits for all in the second half of a half of the tags: what their records were is cleared there and then, once. */
static void test_renewed_early(void)
{
	CUstream s, t;
	const _Atomic uint64_t *renewals = &self.job->rank[1].counter[GSAN_N_RENEWED];
	uint64_t before = *renewals;
	uint32_t half = 1u << 13;
	int late = renewed;

	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	cuStreamCreate(&t, CU_STREAM_NON_BLOCKING);
	launch_up_to(s, half + half / 2 - 2, 256);
	cuCtxSynchronize();
	CHECK(renewed_idle == 0 && *renewals == before);
	launch(twin, s);
	launch(twin, t);
	cuStreamSynchronize(s);
	CHECK(renewed_idle == 0); /* t may run */
	cuCtxSynchronize();
	launch(twin, s);
	cuCtxSynchronize();
	CHECK(renewed_idle == 1 && *renewals == before + 1 && record().swept <= record().seq && record().swept > half + half / 2);
	launch_up_to(s, 2 * half + 10, 0);
	CHECK(*renewals == before + 1 && renewed == late); /* not again, when the numbers reach the next half */
	cuCtxSynchronize();
	busy = 1;
	launch_up_to(s, 3 * half + 10, 256);
	busy = 0;
	CHECK(renewed_idle == 1 && *renewals == before + 2 && renewed == late + 1); /* but then, if it could not be done before */
	cuCtxSynchronize();
}

/* The host never waits: what has passed is known by events of ours, so that tags come back; and orders nothing. */
static int test_unwaited(void)
{
	const struct job_rank *rank = &self.job->rank[1];
	CUstream s, t;
	uint64_t unchecked = atomic_load(&rank->launches_unchecked);

	cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
	cuStreamCreate(&t, CU_STREAM_NON_BLOCKING);
	launch(twin, s);
	launch_up_to(s, (5u << 14) + 100, 0); /* the last tags came back just now */
	CHECK(atomic_load(&rank->launches_unchecked) == unchecked);
	uint32_t last = record().seq;
	launch(twin, t);
	CHECK(record().order.floor[1] + 4096 < last);
	fake->unready = 1;
	launch_up_to(s, record().seq + (1u << 14), 0);
	for (int i = 0; i < 1 << 15; i++)
		launch(twin, s);
	CHECK(atomic_load(&rank->launches_unchecked) > unchecked);
	return failed;
}

/* By the driver's name, or by the source's. */
static void test_chosen(void)
{
	CHECK(chosen_match("send", "send") && chosen_match("x,se*", "send") && chosen_match("se*,x", "send") && chosen_match("*", "send"));
	CHECK(!chosen_match("sen", "send") && !chosen_match("x,y", "send") && !chosen_match(",", "send") && !chosen_match("", "send"));
	CHECK(chosen_match("_Z4sendPi", "_Z4sendPi") && chosen_match("send(int\\*)", "_Z4sendPi") && chosen_match("x,a::c<?>*", "_ZN1a1bILi3EEEvv") == 0);
	CHECK(chosen_match("void a::b<3>*", "_ZN1a1bILi3EEEvv") && !chosen_match("receive*", "_Z4sendPi") && !chosen_match("*x*", "_Z"));
	CHECK(chosen_match("send", "_Z4sendPi") && chosen_match("a::b<3>", "_ZN1a1bILi3EEEvv") && !chosen_match("b", "_ZN1a1bILi3EEEvv")); /* as reports say */
	unsetenv("GSAN_INCLUDE");
	unsetenv("GSAN_EXCLUDE");
	CHECK(!chosen_out("send"));
	setenv("GSAN_INCLUDE", "se*", 1);
	CHECK(!chosen_out("send") && chosen_out("receive"));
	setenv("GSAN_EXCLUDE", "send", 1);
	CHECK(chosen_out("send") && chosen_out("receive") && !chosen_out("seek"));
	setenv("GSAN_INCLUDE", "", 1);
	CHECK(chosen_out("send") && !chosen_out("receive"));
	unsetenv("GSAN_INCLUDE");
	unsetenv("GSAN_EXCLUDE");
}

static void test_models(void)
{
	CHECK(models_find("_ZN2at6native29vectorized_elementwise_kernelILi4E") == MODEL_LOCAL);
	CHECK(models_find("_ZN4c10d16symmetric_memory14barrier_kernelEPPjmiim") == MODEL_BARRIER);
	CHECK(models_find("my_kernel") == MODEL_NONE);

	char good[] = "# none\nlocal my_*\nbarrier *\n", bad[] = "lokal my_*\nlocal\nlocal a b\nbarrier my_*\n";
	struct models m = {0}, rest = {0};
	CHECK(!models_read(&m, "good", good, sizeof good - 1) && m.rows == 2);
	CHECK(models_match(&m, "my_kernel") == MODEL_LOCAL && models_match(&m, "other") == MODEL_BARRIER);
	CHECK(models_read(&rest, "bad", bad, sizeof bad - 1) == -EINVAL && rest.rows == 1);
	CHECK(models_match(&rest, "my_kernel") == MODEL_BARRIER && models_match(&rest, "other") == MODEL_NONE);
	free(m.row);
	free(rest.row);
}

int main(int argc, char **argv)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	CUmodule module;

	fake = driver ? dlsym(driver, "fake") : NULL;
	self.job = calloc(1, sizeof(*self.job));
	self.ring = 0x1234;
	self.writers = 0x5678;
	if (!fake || !self.job)
		return 1;
	self.job->participants = 2;
	self.job->rank_bits = 14;
	cuInit(0);
	CHECK(cuModuleLoadData(&module, "\177ELF") == CUDA_SUCCESS);
	CHECK(cuModuleGetFunction(&twin, module, "twin") == CUDA_SUCCESS);
	CHECK(cuModuleGetFunction(&plain, module, "plain") == CUDA_SUCCESS);
	CHECK(cuModuleGetFunction(&local, module, "elementwise_kernel") == CUDA_SUCCESS);
	CHECK(cuModuleGetFunction(&wide, module, "wide") == CUDA_SUCCESS);
	if (argc > 1)
		return !strcmp(argv[1], "shared") ? test_shared() : !strcmp(argv[1], "unwaited") ? test_unwaited() : 2;
	CHECK(registered == 1); /* when the handle was asked for, not at its launch */
	test_checked();
	test_extra();
	test_programmatic();
	test_cooperative();
	cuCtxSynchronize();
	test_order(0);
	test_order(1);
	test_first_at_once();
	test_streams_end();
	test_event_meanwhile();
	test_event_elsewhere();
	test_refused();
	test_refused_said();
	test_refused_beside();
	test_plain();
	test_wide();
	test_capture();
	test_first_in_capture(1);
	test_first_in_capture(0);
	test_capture_destroyed();
	test_waits_elsewhere();
	test_old_launch();
	test_functions_end();
	test_attributes();
	test_signal();
	test_brought();
	test_many_signals();
	test_writers();
	test_writes_itself();
	test_module_again(0);
	test_module_again(1);
	test_elsewhere();
	test_no_context();
	test_renewed_early();
	test_chosen();
	test_models();
	test_clusters();
	test_many_events();
	/* The counters were copied when the host had seen everything (the fake's table holds sevens). */
	CHECK(atomic_load(&self.job->rank[1].counter[GSAN_N_UNMAPPED]) == 0x0707070707070707ull);
	return failed;
}

#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vmm/inside.h"

#define MANY 4096

struct physical { uint64_t size; int fd, values, mappings, live; ino_t inode; };
struct value { int physical, refs; }; /* handle = 16 × (index + 1) */
struct mapping { uint64_t at, size; int physical, access, live; };

struct fake fake;
static char contexts[4];
CUcontext fake_context[4] = {(CUcontext)&contexts[0], (CUcontext)&contexts[1], (CUcontext)&contexts[2], (CUcontext)&contexts[3]};
static _Thread_local CUcontext current[4] = {(CUcontext)&contexts[0]};
static _Thread_local int depth;
static _Thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static struct physical physical[MANY];
static struct value value[MANY];
static struct mapping mapping[MANY];
static int values;
static uint32_t view_table[GSAN_VIEW_PAGES];
static uint64_t mark[16];

static int fails(const char *name)
{
	int now = ++fake.calls == fake.fail_at;
	if (now)
		fake.failed = name;
	return now;
}

/* The driver is safe from several threads. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t *enter(void) { pthread_mutex_lock(&lock); return &lock; }
static void leave(pthread_mutex_t **held) { pthread_mutex_unlock(*held); }

/* Every function starts so. */
#define CALL(name) \
	pthread_mutex_t *held __attribute__((cleanup(leave))) = enter(); \
	if (fake.shut) \
		return CUDA_ERROR_DEINITIALIZED; \
	if (fails(#name)) \
		return CUDA_ERROR_UNKNOWN

static void may_wait(void)
{
	fake.waits++;
	if (pthread_mutex_trylock(&vmm_lock))
		fake.locked++;
	else
		pthread_mutex_unlock(&vmm_lock);
}

/* ---- contexts and captures */

static CUresult CtxGetCurrent(CUcontext *c)
{
	if (fake.shut)
		return CUDA_ERROR_DEINITIALIZED;
	*c = current[depth];
	return CUDA_SUCCESS;
}

static CUresult CtxPushCurrent(CUcontext c)
{
	CALL(cuCtxPushCurrent_v2);
	if (c && c == fake.gone)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	current[++depth] = c;
	return CUDA_SUCCESS;
}

static CUresult CtxPopCurrent(CUcontext *c)
{
	*c = current[depth--];
	return CUDA_SUCCESS;
}

static CUresult CtxGetDevice(CUdevice *device)
{
	CALL(cuCtxGetDevice);
	if (!current[depth])
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = current[depth] == fake_context[1];
	return CUDA_SUCCESS;
}

static CUresult PrimaryCtxRetain(CUcontext *c, CUdevice device)
{
	CALL(cuDevicePrimaryCtxRetain);
	*c = fake_context[device];
	fake.retained++;
	return CUDA_SUCCESS;
}

static CUresult PrimaryCtxRelease(CUdevice device)
{
	(void)device;
	CALL(cuDevicePrimaryCtxRelease_v2);
	fake.retained--;
	return CUDA_SUCCESS;
}

static CUresult CtxSynchronize(void)
{
	CALL(cuCtxSynchronize);
	may_wait();
	fake.broken |= fake.captured != NULL;
	return fake.captured ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

static CUresult CtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
	(void)peer, (void)flags;
	CALL(cuCtxEnablePeerAccess);
	return CUDA_SUCCESS;
}

static CUresult ThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode before = capture_mode;
	CALL(cuThreadExchangeStreamCaptureMode);
	capture_mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}

static CUresult StreamIsCapturing(CUstream s, CUstreamCaptureStatus *status)
{
	CALL(cuStreamIsCapturing);
	*status = s == fake.captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

static CUresult DeviceGetName(char *name, int size, CUdevice device)
{
	(void)device;
	CALL(cuDeviceGetName);
	strncpy(name, "fake", (size_t)size);
	return CUDA_SUCCESS;
}

static CUresult DeviceGetPCIBusId(char *name, int size, CUdevice device) { return DeviceGetName(name, size, device); }

/* ---- streams, events, copies */

static CUresult StreamCreate(CUstream *s, unsigned flags)
{
	(void)flags;
	CALL(cuStreamCreate);
	*s = (CUstream)&contexts[0];
	fake.streams++;
	return CUDA_SUCCESS;
}

static CUresult StreamDestroy(CUstream s) { (void)s; CALL(cuStreamDestroy_v2); fake.streams--; return CUDA_SUCCESS; }
static CUresult StreamSynchronize(CUstream s) { (void)s; CALL(cuStreamSynchronize); return CUDA_SUCCESS; }

static CUresult EventCreate(CUevent *e, unsigned flags)
{
	(void)flags;
	CALL(cuEventCreate);
	*e = (CUevent)&contexts[1];
	fake.events++;
	return CUDA_SUCCESS;
}

static CUresult EventDestroy(CUevent e) { (void)e; CALL(cuEventDestroy_v2); fake.events--; return CUDA_SUCCESS; }
static CUresult EventQuery(CUevent e)
{
	(void)e;
	CALL(cuEventQuery);
	may_wait();
	fake.asked++;
	if (fake.event_after && !--fake.event_after) {
		fake.event = CUDA_SUCCESS;
		fake.refuse_create = 0;
	}
	return fake.event;
}

static CUresult EventRecord(CUevent e, CUstream s)
{
	(void)e;
	CALL(cuEventRecord);
	fake.broken |= s && s == fake.captured;
	return CUDA_SUCCESS;
}

static int reachable(uint64_t at, uint64_t end)
{
	for (int i = 0; i < MANY && at < end; i++)
		if (mapping[i].live && mapping[i].access && mapping[i].at <= at && at < mapping[i].at + mapping[i].size) {
			at = mapping[i].at + mapping[i].size;
			i = -1;
		}
	return at >= end;
}

static CUresult MemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t n, CUstream s)
{
	static int written;
	uint64_t table = GSAN_TABLE_BASE + GSAN_TABLE_SLICE / 2; /* participant 0's */
	(void)s;
	CALL(cuMemcpyHtoDAsync_v2);
	fake.wild += !reachable(to, to + n);
	int inside = to >= table && to + n <= table + sizeof view_table;
	if (inside && (written || *(const uint32_t *)from)) {
		memcpy((char *)view_table + (to - table), from, n);
		written = 1;
	}
	for (int i = 0; i < 16; i++)
		if (mark[i] >= to && mark[i] < to + n)
			mark[i] = 0;
	return CUDA_SUCCESS;
}

uint32_t fake_view(uint64_t at) { return view_table[(at - GSAN_VIEW_BASE) / GSAN_PAGE]; }

void fake_mark(uint64_t at)
{
	for (int i = 0; i < 16; i++)
		if (!mark[i]) {
			mark[i] = at;
			return;
		}
}

int fake_marked(void)
{
	int n = 0;
	for (int i = 0; i < 16; i++)
		n += mark[i] != 0;
	return n;
}

/* ---- plain memory */

static CUresult MemAlloc(CUdeviceptr *at, size_t size)
{
	static CUdeviceptr next = 0x7f0000000000;
	CALL(cuMemAlloc_v2);
	if (size > 1ull << 38)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*at = next;
	next += size;
	fake.plain++;
	return CUDA_SUCCESS;
}

static CUresult MemFree(CUdeviceptr at)
{
	CALL(cuMemFree_v2);
	if (at < 0x7f0000000000)
		return at ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	if (fake.captured && capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED) {
		fake.broken = 1;
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	may_wait();
	fake.plain--;
	return CUDA_SUCCESS;
}

static CUresult MemAllocPitch(CUdeviceptr *at, size_t *pitch, size_t width, size_t height, unsigned element)
{
	(void)element;
	*pitch = width;
	return MemAlloc(at, width > (1ull << 38) / height ? 1ull << 40 : width * height);
}

static CUresult MemAllocAsync(CUdeviceptr *at, size_t size, CUstream s) { (void)s; return MemAlloc(at, size); }
static CUresult MemFreeAsync(CUdeviceptr at, CUstream s)
{
	fake.unclonable |= fake.captured && s == fake.captured;
	return at < 0x7f0000000000 ? CUDA_ERROR_INVALID_VALUE : MemFree(at);
}

/* ---- pools: of the driver's own memory they have nothing */

static char pools[8]; /* the first two are the default ones */
CUmemoryPool fake_pool[2] = {(CUmemoryPool)&pools[0], (CUmemoryPool)&pools[1]};

static CUresult DeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
	CALL(cuDeviceGetMemPool);
	*pool = fake_pool[device];
	return CUDA_SUCCESS;
}

static CUresult MemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	static int next = 2;
	(void)props;
	CALL(cuMemPoolCreate);
	*pool = (CUmemoryPool)&pools[next++];
	return CUDA_SUCCESS;
}

static CUresult MemPoolDestroy(CUmemoryPool pool) { (void)pool; CALL(cuMemPoolDestroy); return CUDA_SUCCESS; }

static CUresult MemAllocFromPool(CUdeviceptr *at, size_t size, CUmemoryPool pool, CUstream s)
{
	(void)s;
	return pool ? MemAlloc(at, size) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult MemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
	(void)pool, (void)access, (void)count;
	CALL(cuMemPoolSetAccess);
	return CUDA_SUCCESS;
}

static CUresult MemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *to)
{
	(void)pool, (void)attribute;
	CALL(cuMemPoolGetAttribute);
	*(cuuint64_t *)to = 0;
	return CUDA_SUCCESS;
}

static CUresult MemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *to)
{
	(void)pool, (void)attribute, (void)to;
	CALL(cuMemPoolSetAttribute);
	return CUDA_SUCCESS;
}

static CUresult MemGetInfo(size_t *available, size_t *total)
{
	CALL(cuMemGetInfo_v2);
	*available = 1000 * MIB;
	*total = 2000 * MIB;
	return CUDA_SUCCESS;
}

static CUresult MemAllocHost(void **at, size_t size)
{
	CALL(cuMemAllocHost_v2);
	*at = malloc(size);
	fake.pinned++;
	return CUDA_SUCCESS;
}

static CUresult MemFreeHost(void *at) { CALL(cuMemFreeHost); free(at); fake.pinned--; return CUDA_SUCCESS; }

static CUresult MemHostRegister(void *at, size_t size, unsigned flags)
{
	(void)at, (void)size, (void)flags;
	CALL(cuMemHostRegister_v2);
	fake.registered++;
	return CUDA_SUCCESS;
}

static CUresult MemHostUnregister(void *at) { (void)at; CALL(cuMemHostUnregister); fake.registered--; return CUDA_SUCCESS; }

static CUresult MemHostGetDevicePointer(CUdeviceptr *d, void *at, unsigned flags)
{
	(void)flags;
	CALL(cuMemHostGetDevicePointer_v2);
	*d = (uintptr_t)at;
	return CUDA_SUCCESS;
}

static CUresult PointerGetAttribute(void *data, CUpointer_attribute a, CUdeviceptr at)
{
	(void)a, (void)at;
	CALL(cuPointerGetAttribute);
	*(uint64_t *)data = 77;
	return CUDA_SUCCESS;
}

static CUresult MemGetAddressRange(CUdeviceptr *base, size_t *size, CUdeviceptr at)
{
	(void)base, (void)size, (void)at;
	CALL(cuMemGetAddressRange_v2);
	return CUDA_ERROR_NOT_FOUND;
}

/* ---- virtual memory management */

static CUresult MemAddressReserve(CUdeviceptr *at, size_t size, size_t align, CUdeviceptr hint, unsigned long long flags)
{
	(void)size, (void)align, (void)flags;
	CALL(cuMemAddressReserve);
	*at = hint ? hint : 0x500000000000;
	fake.reservations++;
	return CUDA_SUCCESS;
}

static CUresult MemAddressFree(CUdeviceptr at, size_t size)
{
	(void)at, (void)size;
	CALL(cuMemAddressFree);
	fake.reservations--;
	return CUDA_SUCCESS;
}

static void physical_drop(struct physical *p)
{
	if (!p->live || p->values || p->mappings)
		return;
	close(p->fd);
	p->live = 0;
	fake.physicals--;
}

static CUmemGenericAllocationHandle value_new(int p)
{
	value[values] = (struct value){p, 1};
	physical[p].values++;
	return 16 * (CUmemGenericAllocationHandle)++values;
}

static struct value *value_find(CUmemGenericAllocationHandle h)
{
	int i = (int)(h / 16) - 1;
	return h % 16 == 0 && i >= 0 && i < values && value[i].refs ? &value[i] : NULL;
}

/* One more reference of a value of that memory; 0: it has none. */
static CUmemGenericAllocationHandle value_again(int p)
{
	for (int v = 0; v < values; v++)
		if (value[v].physical == p && value[v].refs) {
			value[v].refs++;
			return 16 * (CUmemGenericAllocationHandle)(v + 1);
		}
	return 0;
}

static int physical_new(uint64_t size, int fd)
{
	struct stat st;
	int i = 0;
	while (physical[i].live)
		i++;
	fstat(fd, &st);
	physical[i] = (struct physical){.size = size, .fd = fd, .live = 1, .inode = st.st_ino};
	fake.physicals++;
	return i;
}

int fake_memory(uint64_t size)
{
	int fd = memfd_create("fake", MFD_CLOEXEC);
	return ftruncate(fd, (off_t)size) ? -1 : fd;
}

static CUresult MemCreate(CUmemGenericAllocationHandle *h, size_t size, const CUmemAllocationProp *prop, unsigned long long flags)
{
	(void)prop;
	CALL(cuMemCreate);
	if (!size || size % GSAN_PAGE || flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (fake.refuse_create)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*h = value_new(physical_new(size, fake_memory(size)));
	return CUDA_SUCCESS;
}

static CUresult MemRelease(CUmemGenericAllocationHandle h)
{
	CALL(cuMemRelease);
	struct value *v = value_find(h);
	if (!v)
		return CUDA_ERROR_INVALID_VALUE;
	struct physical *p = &physical[v->physical];
	if (!--v->refs)
		p->values--;
	if (!p->values && !p->mappings)
		may_wait();
	physical_drop(p);
	return CUDA_SUCCESS;
}

static int overlaps(uint64_t at, uint64_t size)
{
	return fake_mapped(at, at + size) != 0;
}

uint64_t fake_mapped(uint64_t at, uint64_t end)
{
	uint64_t sum = 0;
	for (int i = 0; i < MANY; i++) {
		uint64_t from = mapping[i].at > at ? mapping[i].at : at;
		uint64_t to = mapping[i].at + mapping[i].size < end ? mapping[i].at + mapping[i].size : end;
		sum += mapping[i].live && to > from ? to - from : 0;
	}
	return sum;
}

static CUresult MemMap(CUdeviceptr at, size_t size, size_t offset, CUmemGenericAllocationHandle h, unsigned long long flags)
{
	CALL(cuMemMap);
	struct value *v = value_find(h);
	if (!v || at % GSAN_PAGE || size % GSAN_PAGE || !size || flags || offset % GSAN_PAGE ||
	    offset + size > physical[v->physical].size || overlaps(at, size))
		return CUDA_ERROR_INVALID_VALUE;
	int i = 0;
	while (mapping[i].live)
		i++;
	mapping[i] = (struct mapping){at, size, v->physical, 0, 1};
	physical[v->physical].mappings++;
	fake.mappings++;
	return CUDA_SUCCESS;
}

static CUresult MemUnmap(CUdeviceptr at, size_t size)
{
	CALL(cuMemUnmap);
	uint64_t whole = 0;
	for (int i = 0; i < MANY; i++)
		if (mapping[i].live && mapping[i].at >= at && mapping[i].at + mapping[i].size <= at + size)
			whole += mapping[i].size;
	if (whole != size)
		return CUDA_ERROR_INVALID_VALUE;
	fake.refuse_create = fake.refuse_create == 1;
	may_wait();
	for (int i = 0; i < MANY; i++)
		if (mapping[i].live && mapping[i].at >= at && mapping[i].at < at + size) {
			mapping[i].live = 0;
			fake.mappings--;
			physical[mapping[i].physical].mappings--;
			physical_drop(&physical[mapping[i].physical]);
		}
	return CUDA_SUCCESS;
}

static CUresult MemSetAccess(CUdeviceptr at, size_t size, const CUmemAccessDesc *desc, size_t n)
{
	CALL(cuMemSetAccess);
	for (size_t i = 0; i < n; i++)
		fake.access |= 1u << desc[i].location.id;
	for (int i = 0; i < MANY; i++)
		if (mapping[i].live && mapping[i].at >= at && mapping[i].at < at + size)
			mapping[i].access = 1;
	return CUDA_SUCCESS;
}

static CUresult MemRetainAllocationHandle(CUmemGenericAllocationHandle *h, void *at)
{
	CALL(cuMemRetainAllocationHandle);
	for (int i = 0; i < MANY; i++) {
		if (!mapping[i].live || (uintptr_t)at < mapping[i].at || (uintptr_t)at >= mapping[i].at + mapping[i].size)
			continue;
		*h = fake.rename ? 0 : value_again(mapping[i].physical);
		if (!*h)
			*h = value_new(mapping[i].physical);
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

static CUresult MemExport(void *out, CUmemGenericAllocationHandle h, CUmemAllocationHandleType type, unsigned long long flags)
{
	(void)flags;
	CALL(cuMemExportToShareableHandle);
	struct value *v = value_find(h);
	if (!v)
		return CUDA_ERROR_INVALID_VALUE;
	if (type == CU_MEM_HANDLE_TYPE_FABRIC)
		*(CUmemFabricHandle *)out = fake_fabric(physical[v->physical].fd);
	else
		*(int *)out = dup(physical[v->physical].fd);
	return CUDA_SUCCESS;
}

struct fabric { int fd; ino_t inode; };

CUmemFabricHandle fake_fabric(int memory)
{
	CUmemFabricHandle name = {{0}};
	struct stat st;
	fstat(memory, &st);
	memcpy(&name, &(struct fabric){memory, st.st_ino}, sizeof(struct fabric));
	return name;
}

/* The memory that it names; -1: it is gone. */
static int fabric_find(const void *name)
{
	struct fabric f;
	struct stat st;
	if (!name)
		return -1;
	memcpy(&f, name, sizeof f);
	return !fstat(f.fd, &st) && st.st_ino == f.inode ? f.fd : -1;
}

static CUresult MemImport(CUmemGenericAllocationHandle *h, void *os, CUmemAllocationHandleType type)
{
	struct stat st;
	CALL(cuMemImportFromShareableHandle);
	int fd = type == CU_MEM_HANDLE_TYPE_FABRIC ? fabric_find(os) : (int)(intptr_t)os;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return CUDA_ERROR_INVALID_VALUE; /* a token is a pipe */
	for (int i = 0; i < MANY; i++)
		if (physical[i].live && physical[i].inode == st.st_ino) {
			*h = fake.alike ? value_again(i) : 0;
			if (!*h)
				*h = value_new(i);
			return CUDA_SUCCESS;
		}
	*h = value_new(physical_new((uint64_t)st.st_size, dup(fd)));
	return CUDA_SUCCESS;
}

static CUresult IpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr at)
{
	(void)handle, (void)at;
	CALL(cuIpcGetMemHandle);
	return CUDA_ERROR_INVALID_VALUE;
}

static CUresult IpcOpenMemHandle(CUdeviceptr *at, CUipcMemHandle handle, unsigned flags)
{
	(void)at, (void)handle, (void)flags;
	CALL(cuIpcOpenMemHandle_v2);
	fake.opens++;
	return CUDA_ERROR_INVALID_VALUE;
}

static CUresult IpcCloseMemHandle(CUdeviceptr at)
{
	(void)at;
	CALL(cuIpcCloseMemHandle);
	return CUDA_ERROR_INVALID_VALUE;
}

void fake_install(void)
{
	real = (struct real){
		.cuCtxGetCurrent = CtxGetCurrent, .cuCtxPushCurrent_v2 = CtxPushCurrent, .cuCtxPopCurrent_v2 = CtxPopCurrent,
		.cuCtxGetDevice = CtxGetDevice,
		.cuDevicePrimaryCtxRetain = PrimaryCtxRetain, .cuDevicePrimaryCtxRelease_v2 = PrimaryCtxRelease,
		.cuCtxSynchronize = CtxSynchronize,
		.cuCtxEnablePeerAccess = CtxEnablePeerAccess,
		.cuThreadExchangeStreamCaptureMode = ThreadExchangeStreamCaptureMode,
		.cuStreamIsCapturing = StreamIsCapturing, .cuDeviceGetName = DeviceGetName,
		.cuDeviceGetPCIBusId = DeviceGetPCIBusId, .cuStreamCreate = StreamCreate, .cuStreamDestroy_v2 = StreamDestroy,
		.cuStreamSynchronize = StreamSynchronize, .cuEventCreate = EventCreate, .cuEventDestroy_v2 = EventDestroy,
		.cuEventQuery = EventQuery, .cuEventRecord = EventRecord, .cuMemcpyHtoDAsync_v2 = MemcpyHtoDAsync,
		.cuMemAlloc_v2 = MemAlloc, .cuMemFree_v2 = MemFree, .cuMemAllocPitch_v2 = MemAllocPitch,
		.cuMemAllocAsync = MemAllocAsync, .cuMemFreeAsync = MemFreeAsync, .cuMemGetInfo_v2 = MemGetInfo,
		.cuMemAllocHost_v2 = MemAllocHost, .cuMemFreeHost = MemFreeHost, .cuMemHostRegister_v2 = MemHostRegister,
		.cuMemHostUnregister = MemHostUnregister, .cuMemHostGetDevicePointer_v2 = MemHostGetDevicePointer,
		.cuPointerGetAttribute = PointerGetAttribute, .cuMemGetAddressRange_v2 = MemGetAddressRange,
		.cuMemAddressReserve = MemAddressReserve, .cuMemAddressFree = MemAddressFree, .cuMemCreate = MemCreate,
		.cuMemRelease = MemRelease, .cuMemMap = MemMap, .cuMemUnmap = MemUnmap, .cuMemSetAccess = MemSetAccess,
		.cuDeviceGetMemPool = DeviceGetMemPool, .cuDeviceGetDefaultMemPool = DeviceGetMemPool,
		.cuMemPoolCreate = MemPoolCreate, .cuMemPoolDestroy = MemPoolDestroy, .cuMemAllocFromPoolAsync = MemAllocFromPool,
		.cuMemPoolSetAccess = MemPoolSetAccess, .cuMemPoolGetAttribute = MemPoolGetAttribute,
		.cuMemPoolSetAttribute = MemPoolSetAttribute,
		.cuMemRetainAllocationHandle = MemRetainAllocationHandle, .cuMemExportToShareableHandle = MemExport,
		.cuMemImportFromShareableHandle = MemImport, .cuIpcGetMemHandle = IpcGetMemHandle,
		.cuIpcOpenMemHandle_v2 = IpcOpenMemHandle, .cuIpcCloseMemHandle = IpcCloseMemHandle,
	};
}

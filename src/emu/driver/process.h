/* The driver's state in this process: devices, contexts, and the one lock that every call takes. A call opens with
 * emu_enter (or emu_enter_context) and closes with emu_leave; between them it holds the lock, which emu_wait alone gives
 * up while device work runs. Errors are CUresult throughout this folder: it is the driver. */
#ifndef GSAN_EMU_DRIVER_PROCESS_H
#define GSAN_EMU_DRIVER_PROCESS_H

#include <pthread.h>
#include <stdint.h>

#include "emu/driver/cuda_abi.h"

#define EMU_DEVICES_MAX 16
#define EMU_DEVICE_BYTES (80ull << 30)
#define EMU_SHARED_SM 233472u      /* bytes per SM, sm_90 */
#define EMU_SHARED_BLOCK 232448u   /* opt-in maximum per block */
#define EMU_SHARED_DEFAULT 49152u
#define EMU_LIMITS 16

struct emu_op;

/* For the trace: how much of which streams' work is before something, as the last launch of each. */
struct emu_point {
	struct emu_passed { uint64_t stream, launch; } *passed;
	size_t count, room;
	uint64_t recording;           /* of an event; 0 = never recorded */
};

struct CUstream_st {
	struct CUstream_st *next;     /* of its context */
	CUcontext context;
	uint64_t id;
	unsigned flags;
	int priority;
	uint64_t owner;               /* per-thread default stream: the thread's number, else 0 */
	int busy;                     /* its head runs without the lock (a host function) */
	struct emu_op *head, **tail;
	uint32_t queued;              /* operations that count, the head included */
	struct emu_point work;        /* what is before its next launch */
	struct emu_captured *captured; /* it is captured: src/emu/driver/graph/capture.h; or NULL */
};
struct CUctx_st {
	struct CUctx_st *next;
	CUdevice device;
	int primary, destroyed;
	unsigned retained, flags;
	uint64_t id;
	CUresult error;               /* sticky: a kernel's fault */
	size_t limit[EMU_LIMITS];
	uint32_t local_bytes;         /* local memory that each thread may have without more being made */
	struct CUstream_st legacy, *streams;
};
struct emu_device {
	struct CUctx_st *primary;     /* made at the first retain, kept for good */
	unsigned primary_flags;
	uint64_t used;                /* bytes of device memory */
	CUmemoryPool pool, default_pool;
	uint32_t peers;               /* devices whose memory this one's contexts enabled */
};
struct emu_process {
	pthread_mutex_t lock;
	pthread_cond_t work_done;     /* with `lock`: a host thread's wait may be over */
	int initialised, forked, leaving;
	int devices, sms;
	uint64_t step_limit, clock_ns, ids;
	struct emu_device device[EMU_DEVICES_MAX];
	struct CUctx_st *contexts;
};
extern struct emu_process emu;

CUresult emu_enter(void);                        /* driver initialised; takes the lock unless it fails */
CUresult emu_enter_context(CUcontext *context);  /* and the thread has a current context without a sticky error */
CUresult emu_leave(CUresult result);             /* releases the lock, returns result */
CUresult emu_not_supported(const char *what);    /* that error, whose text says for this thread what was refused */

int emu_context_known(CUcontext context);
CUcontext emu_context_current(void);             /* NULL: none */
CUresult emu_context_primary(CUdevice device, CUcontext *context); /* makes it if need be */
uint64_t emu_thread_number(void);
int emu_thread_is_worker(void);
void emu_thread_set_worker(void);

/* Handle 0 means the legacy or the thread's own default stream, as the entry point's form says. */
int emu_default_stream(int per_thread);          /* returns what was set before */
CUresult emu_stream_find(CUcontext context, CUstream handle, CUstream *stream);
CUstream emu_stream_new(CUcontext context, unsigned flags); /* one that no handle names; NULL: out of memory */
void emu_stream_free(CUstream s);                           /* nothing of it runs */

/* Defines an entry point in its two forms, name and name##suffix (_ptsz or _ptds), around one body. */
#define EMU_STREAM_API(name, suffix, params, args) \
	static CUresult name##_body params; \
	CUresult CUDAAPI name params \
	{ \
		int before = emu_default_stream(0); \
		CUresult result = name##_body args; \
		emu_default_stream(before); \
		return result; \
	} \
	CUresult CUDAAPI name##suffix params \
	{ \
		int before = emu_default_stream(1); \
		CUresult result = name##_body args; \
		emu_default_stream(before); \
		return result; \
	} \
	static CUresult name##_body params

#endif

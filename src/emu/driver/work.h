/* Work by its parameters, in the driver's own structures for the nodes of graphs: what a call gives a stream, and what a graph keeps
 * until it is launched. `check` says whether it can be done in a context; `push` puts what can be done into a stream, now. All of it
 * is under the driver's lock. */
#ifndef GSAN_EMU_DRIVER_WORK_H
#define GSAN_EMU_DRIVER_WORK_H

#include "emu/driver/process.h"

struct emu_kernel_work { CUfunction function; const CUlaunchConfig *config; void **params, **extra; }; /* the config's stream is not looked at */
CUresult emu_kernel_check(CUcontext c, const struct emu_kernel_work *w);
CUresult emu_kernel_push(CUstream s, const struct emu_kernel_work *w);

CUresult emu_copy_check(CUcontext c, const CUDA_MEMCPY3D *p);
CUresult emu_copy_push(CUstream s, const CUDA_MEMCPY3D *p);
CUresult emu_set_check(CUcontext c, const CUDA_MEMSET_NODE_PARAMS_v2 *p);
CUresult emu_set_push(CUstream s, const CUDA_MEMSET_NODE_PARAMS_v2 *p);

CUresult emu_host_push(CUstream s, CUhostFn function, void *data);
CUresult emu_values_check(unsigned count, const CUstreamBatchMemOpParams *op);
CUresult emu_values_push(CUstream s, unsigned count, const CUstreamBatchMemOpParams *op);

int emu_event_known(CUevent event);
CUresult emu_event_record_push(CUstream s, CUevent event);
CUresult emu_event_wait_push(CUstream s, CUevent event); /* for its latest recording */

/* A recording without an event; who got it drops it. */
struct emu_recording;
CUresult emu_record_push(CUstream s, struct emu_recording **recording);
CUresult emu_wait_push(CUstream s, struct emu_recording *recording);
void emu_recording_drop(struct emu_recording *recording); /* or NULL */

#endif

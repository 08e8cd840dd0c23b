/* Memory operations of streams. Who waits for a value comes behind everything: who wrote it is not known. Who writes one
 * orders whoever reads that location, of which the device (vmm_value) and the supervisor (flow_value) are told. */
#include "driver/flow.h"
#include "driver/hooks.h"
#include "vmm/vmm.h"

static CUresult value_awaited(CUstream stream, CUresult rc)
{
	return flow_awaits(stream, "cuStreamWaitValue", "a stream's wait for a value orders everything", rc);
}

static int value_is_wait(const CUstreamBatchMemOpParams *p)
{
	return p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 || p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
}

/* What an operation writes to; 0: nothing. Those that are newer than this may write: all begin alike. */
static CUdeviceptr value_target(const CUstreamBatchMemOpParams *p)
{
	if (value_is_wait(p) || p->operation == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES || p->operation == CU_STREAM_MEM_OP_BARRIER)
		return 0;
	return p->writeValue.address;
}

/* Before the call: a kernel that waits for the value may run at once. In a capture, what the graph will write. */
static void value_writes(CUstream stream, const CUdeviceptr *at, unsigned count)
{
	int capturing = flow_capturing(stream), host_reads = 0;
	uint32_t slot, seq;
	struct flow *f = capturing ? flow_current() : flow_of_stream(stream, &slot);

	if (!f) {
		f = flow_elsewhere();
		if (f)
			flow_elsewhere_runs(f);
		return;
	}
	for (unsigned i = 0; i < count; i++)
		host_reads |= !vmm_value(f->participant, at[i]);
	if (capturing)
		return;
	flow_number(f, slot, CLOCK_PLAIN, &seq);
	flow_value(f, seq, host_reads);
	flow_writes(f, slot, seq);
	flow_enqueued(f, slot);
	flow_note(f, "order", "cuStreamWriteValue", "a value that a stream writes may order what is before it for who reads it");
}

CUresult hook_cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
	value_writes(stream, &address, 1);
	return real.cuStreamWriteValue32_v2(stream, address, value, flags);
}

CUresult hook_cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
	value_writes(stream, &address, 1);
	return real.cuStreamWriteValue64_v2(stream, address, value, flags);
}

CUresult hook_cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
	return value_awaited(stream, real.cuStreamWaitValue32_v2(stream, address, value, flags));
}

CUresult hook_cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
	return value_awaited(stream, real.cuStreamWaitValue64_v2(stream, address, value, flags));
}

#define BATCH 64u /* that many at a time */

CUresult hook_cuStreamBatchMemOp_v2(CUstream stream, unsigned count, CUstreamBatchMemOpParams *param, unsigned flags)
{
	CUdeviceptr at[BATCH];
	unsigned n = 0, waits = 0;

	for (unsigned i = 0; param && i < count; i++) {
		at[n] = value_target(&param[i]);
		n += at[n] != 0;
		waits |= (unsigned)value_is_wait(&param[i]);
		if (n == BATCH || (n && i + 1 == count)) {
			value_writes(stream, at, n);
			n = 0;
		}
	}
	CUresult rc = real.cuStreamBatchMemOp_v2(stream, count, param, flags);
	return waits ? value_awaited(stream, rc) : rc;
}

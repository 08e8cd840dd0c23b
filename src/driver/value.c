/* Memory operations of streams. Who waits for a value comes behind everything: who wrote it is not known. Who writes one
 * orders whoever reads that location, of which the device (vmm_value) and the supervisor (flow_value) are told. */
#include "cuda/hooks.h"
#include "driver/flow.h"
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

/* What a stream is to write: told before the call, for a kernel that waits for the value may run at once. In a capture, what the graph
 * will write. */
struct value {
	struct flow *flow, *elsewhere; /* one at most: where the stream is */
	uint32_t slot, seq;
	int capturing, host_reads;
	unsigned writes; /* how many values */
};

static struct value value_of(CUstream stream)
{
	struct value v = {.capturing = flow_capturing(stream)};

	v.flow = v.capturing ? flow_current() : flow_of_stream(stream, &v.slot);
	if (!v.flow)
		v.elsewhere = flow_elsewhere();
	return v;
}

/* The location's mark stays if the driver refuses: another value's may stand there, perhaps a peer's, and nobody counts them. */
static void value_at(struct value *v, CUdeviceptr at)
{
	v->writes++;
	if (v->flow)
		v->host_reads |= !vmm_value(v->flow->participant, at);
}

static void value_begin(struct value *v)
{
	if (!v->writes)
		return;
	if (v->elsewhere)
		flow_elsewhere_runs(v->elsewhere);
	if (!v->flow || v->capturing)
		return;
	flow_number(v->flow, v->slot, CLOCK_PLAIN, &v->seq);
	flow_value(v->flow, v->seq, v->host_reads);
	flow_writes(v->flow, v->slot, v->seq);
}

static CUresult value_end(const struct value *v, CUresult rc)
{
	int refused = flow_refusal(rc) && v->writes == 1; /* of several the first ones may have been taken */

	if (!v->writes)
		return rc;
	if (v->elsewhere)
		flow_elsewhere_ran(v->elsewhere, refused);
	if (!v->flow || v->capturing)
		return rc;
	if (refused) {
		flow_value_take_back(v->flow, v->seq);
		flow_refused(v->flow, v->slot, v->seq);
	}
	flow_enqueued(v->flow, v->slot);
	if (!refused)
		flow_note(v->flow, "order", "cuStreamWriteValue", "a value that a stream writes may order what is before it for who reads it");
	return rc;
}

CUresult hook_cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
	struct value v = value_of(stream);

	value_at(&v, address);
	value_begin(&v);
	return value_end(&v, real.cuStreamWriteValue32_v2(stream, address, value, flags));
}

CUresult hook_cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
	struct value v = value_of(stream);

	value_at(&v, address);
	value_begin(&v);
	return value_end(&v, real.cuStreamWriteValue64_v2(stream, address, value, flags));
}

CUresult hook_cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
	return value_awaited(stream, real.cuStreamWaitValue32_v2(stream, address, value, flags));
}

CUresult hook_cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
	return value_awaited(stream, real.cuStreamWaitValue64_v2(stream, address, value, flags));
}

CUresult hook_cuStreamBatchMemOp_v2(CUstream stream, unsigned count, CUstreamBatchMemOpParams *param, unsigned flags)
{
	struct value v = value_of(stream);
	unsigned waits = 0;

	for (unsigned i = 0; param && i < count; i++) {
		CUdeviceptr at = value_target(&param[i]);
		if (at)
			value_at(&v, at);
		waits |= (unsigned)value_is_wait(&param[i]);
	}
	value_begin(&v);
	CUresult rc = value_end(&v, real.cuStreamBatchMemOp_v2(stream, count, param, flags));
	return waits ? value_awaited(stream, rc) : rc;
}

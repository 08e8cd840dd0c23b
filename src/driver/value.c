/* Memory operations of streams. Each is an operation of its stream on one word, as a copy of one is (late.h): who reads a value strongly that a stream
 * writes comes behind what that was given before, and a stream that waits for one behind what was released there; of both GPUs know before they are
 * enqueued (values.h). Where that cannot be, in captures and memory without a shadow, who waits comes behind everything, and so does who
 * reads. The supervisor hears of values for those whose reads are not seen: hosts, and kernels without a clone (flow_value). */
#include <stdlib.h>

#include "cuda/hooks.h"
#include "driver/annotate.h"
#include "driver/caller.h"
#include "driver/late.h"
#include "driver/values.h"
#include "vmm/vmm.h"

/* One operation of a call. */
struct value {
	struct copy copy;   /* its word, as what is read or written; `late` if it is checked */
	int waits, writes;  /* neither: a barrier */
	int known;          /* the value and the size of what it writes, or waits for, are */
	int told;           /* to GPUs */
};

/* A call: where its stream is, and what it does. */
struct values {
	struct flow *flow, *elsewhere; /* one at most */
	CUstream stream;
	uint32_t slot;
	int capturing;
	unsigned count, writes, waits;
	struct value *value; /* NULL: no memory, or nothing is checked there */
};

/* What an operation does. Those that are newer than this may write: all begin alike. */
static struct value value_of(const CUstreamBatchMemOpParams *p, const char *name)
{
	int wait32 = p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_32, wait64 = p->operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
	int write32 = p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32, write64 = p->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
	int barrier = p->operation == CU_STREAM_MEM_OP_BARRIER || p->operation == CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
	struct value v = {.waits = wait32 || wait64, .known = wait32 || wait64 || write32 || write64};
	struct gsan_box box = {.at = p->writeValue.address, .width = wait64 || write64 ? 8 : 4, .rows = 1};

	v.writes = !v.waits && !barrier;
	copy_open(&v.copy, name);
	*(v.waits ? &v.copy.boxes.read : &v.copy.boxes.written) = box;
	v.copy.value = box.width == 8 ? p->writeValue.value64 : p->writeValue.value;
	v.copy.condition = v.waits ? p->waitValue.flags & 3 : GSAN_WAIT_NOTHING;
	v.copy.untold = 1;
	v.copy.valued = v.writes;
	return v;
}

/* Numbers it; with a tag, if its word is to be checked. The slot's queue is locked on return. */
static void value_number(struct values *c, struct value *v, int checks)
{
	struct copy *w = &v->copy;
	uint32_t kernel = checks ? caller_kernel(c->flow, w->name) : 0;

	w->slot = c->slot;
	if (checks && !flow_number(c->flow, c->slot, CLOCK_CHECKED, &w->seq))
		w->late = late_new(c->flow, w, kernel);
	else
		flow_number(c->flow, c->slot, CLOCK_PLAIN, &w->seq);
}

/* Told before the call, for a kernel that waits for the value may run at once. In a capture, what the graph will write. */
static void value_begin(struct values *c, struct value *v)
{
	struct gsan_box *box = v->waits ? &v->copy.boxes.read : &v->copy.boxes.written;
	uint64_t canonical = vmm_value(c->flow->participant, box->at, v->writes);
	int checks = canonical && v->known && !c->capturing && !(box->at & (box->width - 1)) && !late_refuses(c->flow) && !annotate_ignores();

	if (!c->capturing)
		value_number(c, v, checks);
	v->told = v->copy.late && (v->writes || late_looks(v->copy.late));
	if (v->writes && v->told)
		values_tell(c->flow, canonical, v->copy.value, (uint32_t)box->width, late_record(v->copy.late));
	else if (v->writes && canonical)
		values_lose(c->flow, canonical);
	if (c->capturing)
		return;
	if (v->writes) {
		flow_value(c->flow, v->copy.seq, !canonical);
		flow_writes(c->flow, c->slot, v->copy.seq);
	}
	flow_enqueued(c->flow, c->slot);
}

static void values_begin(struct values *c, CUstream stream, unsigned count, const CUstreamBatchMemOpParams *op, const char *name)
{
	*c = (struct values){.stream = stream, .capturing = flow_capturing(stream)};
	c->flow = c->capturing ? flow_current() : flow_of_stream(stream, &c->slot);
	c->elsewhere = c->flow ? NULL : flow_elsewhere();
	c->value = c->flow && op && count ? malloc(count * sizeof(*c->value)) : NULL;
	for (unsigned i = 0; op && i < count; i++) {
		struct value v = value_of(&op[i], name);
		c->writes += (unsigned)v.writes;
		c->waits += (unsigned)v.waits;
		if (c->value && (v.writes || v.waits)) {
			value_begin(c, &v);
			c->value[c->count++] = v;
		}
	}
	if (c->elsewhere && c->writes)
		flow_elsewhere_runs(c->elsewhere);
}

/* The location's mark, and what GPUs were told of it, stay if the driver refuses: that only orders more. */
static int value_end(struct values *c, struct value *v, CUresult rc)
{
	int refused = flow_refusal(rc) && c->count == 1; /* of several the first ones may have been taken */
	int lost = v->copy.late && late_enqueued(v->copy.late, c->stream, !refused, 0);

	if (refused && v->writes)
		flow_value_take_back(c->flow, v->copy.seq);
	if (refused)
		flow_refused_late(c->flow, c->slot, v->copy.seq);
	else if (v->writes && !v->told)
		flow_note(c->flow, "order", "cuStreamWriteValue", "a value that a stream writes may order what is before it for who reads it");
	return v->waits && (!v->told || lost);
}

static CUresult values_end(struct values *c, CUresult rc)
{
	int unknown = c->waits && !c->value;

	if (c->elsewhere && c->writes)
		flow_elsewhere_ran(c->elsewhere, flow_refusal(rc) && c->writes == 1);
	for (unsigned i = 0; i < c->count; i++)
		unknown |= c->capturing ? c->value[i].waits : value_end(c, &c->value[i], rc);
	free(c->value);
	if (c->flow && !c->capturing)
		late_go_on(c->flow);
	return unknown ? flow_awaits(c->stream, "cuStreamWaitValue", "a stream's wait for a value orders everything", rc) : rc;
}

/* ---- hooks ----------------------------------------------------------------------------------------------------- */

/* A call of one operation, as a batch has it. */
#define VALUE_ONE(stream, name, what, field, ...) \
	do { \
		CUstreamBatchMemOpParams op = {.field = {.operation = what, .address = address, __VA_ARGS__, .flags = flags}}; \
		struct values c; \
		values_begin(&c, stream, 1, &op, #name); \
		return values_end(&c, real.name(stream, address, value, flags)); \
	} while (0)

CUresult hook_cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
	VALUE_ONE(stream, cuStreamWriteValue32_v2, CU_STREAM_MEM_OP_WRITE_VALUE_32, writeValue, .value = value);
}

CUresult hook_cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
	VALUE_ONE(stream, cuStreamWriteValue64_v2, CU_STREAM_MEM_OP_WRITE_VALUE_64, writeValue, .value64 = value);
}

CUresult hook_cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
	VALUE_ONE(stream, cuStreamWaitValue32_v2, CU_STREAM_MEM_OP_WAIT_VALUE_32, waitValue, .value = value);
}

CUresult hook_cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
	VALUE_ONE(stream, cuStreamWaitValue64_v2, CU_STREAM_MEM_OP_WAIT_VALUE_64, waitValue, .value64 = value);
}

CUresult hook_cuStreamBatchMemOp_v2(CUstream stream, unsigned count, CUstreamBatchMemOpParams *param, unsigned flags)
{
	struct values c;

	values_begin(&c, stream, count, param, "cuStreamBatchMemOp_v2");
	return values_end(&c, real.cuStreamBatchMemOp_v2(stream, count, param, flags));
}

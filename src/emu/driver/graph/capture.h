/* Stream capture: while a stream is captured, what is put into it becomes nodes of a graph. Each captured stream has the nodes behind
 * which its next one stands; events carry them to other streams, which join the capture by waiting for them.
 *
 * What cannot be done while something is captured invalidates it: all its streams are refused until it is ended. Which error each
 * call gets, and what it invalidates, was recorded on an H200 (driver 580.159, 2026-11-27). */
#ifndef GSAN_EMU_DRIVER_GRAPH_CAPTURE_H
#define GSAN_EMU_DRIVER_GRAPH_CAPTURE_H

#include "emu/driver/graph/graph.h"

struct emu_captured {                 /* a stream in a capture */
	struct emu_captured *next;    /* of its capture */
	struct emu_capture *capture;
	CUstream stream;              /* NULL: it was destroyed; its work still has to be joined */
	struct emu_edges after;
	CUgraphNode *shown;           /* the same as cuStreamGetCaptureInfo shows it, until the next call */
	CUgraphEdgeData *shown_data;
};
struct emu_captured_event {           /* what an event's latest record stands for, if that was captured */
	uint64_t capture;             /* 0: it was not */
	struct emu_edges after;
};

CUresult emu_stream_use(CUcontext c, CUstream handle, CUstream *s); /* as emu_stream_find, for work, and for waiting for it */
CUresult emu_capture_add(CUstream s, const CUgraphNodeParams *p); /* a node instead of work */
CUresult emu_capture_kernel(CUstream s, const CUgraphNodeParams *p, const CUlaunchAttribute *attribute, unsigned attributes);
CUresult emu_capture_refuse(CUstream s); /* what cannot be captured */
CUresult emu_capture_refuse_graph(CUgraph g); /* what cannot be done with a graph that is captured into */

CUresult emu_capture_record(CUstream s, struct emu_captured_event *e);
CUresult emu_capture_wait(CUstream s, struct emu_captured_event *e, int recorded); /* recorded: the event was, if e is no capture's */
CUresult emu_capture_ask(const struct emu_captured_event *e); /* whether the host may ask about the event, or wait for it */
CUresult emu_capture_time(const struct emu_captured_event *e);
void emu_captured_event_clear(struct emu_captured_event *e);

/* For calls that are potentially unsafe while something is captured (cuThreadExchangeStreamCaptureMode), and for those that wait for a
 * stream or a context. */
CUresult emu_capture_unsafe(void);
CUresult emu_capture_waits(CUstream s);
CUresult emu_capture_waits_context(CUcontext c);
void emu_capture_destroyed(CUstream s);

#endif

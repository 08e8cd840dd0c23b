/* The trace (EMU_TRACE): what the program's device work did, as text, one line per event, from all processes of the job
 * in the order in which it happened; docs/emulated-device.md has the form. Lines wait in a buffer of this process and
 * reach the file before its turn ends and before a host's call returns. Every call is under the driver's lock, and does
 * nothing while nothing is traced.
 *
 * Launches, streams, recordings and memory have numbers that are unique in the job: rank × 10^9 + a serial number. */
#ifndef GSAN_EMU_DRIVER_TRACE_H
#define GSAN_EMU_DRIVER_TRACE_H

#include "emu/driver/process.h"
#include "emu/exec/exec.h"

void emu_point_free(struct emu_point *p);

void emu_trace_create(int weak); /* the job's first process: an empty trace, of weak memory or not */
int emu_trace_open(void);     /* 0 or -errno (logged) */
const struct emu_trace *emu_trace_device(void); /* what the executor must know and tell; NULL: nothing */
uint64_t emu_trace_number(uint64_t serial);

/* Work enters a stream; all give the numbers of the launches: the first, or 0 while nothing is traced. */
struct emu_trace_range { uint64_t to, from, bytes; }; /* 0: no device memory on that side */
size_t emu_copied(const char *name); /* how long the name is of the kernel whose checked copy this is; 0: it is none */
uint64_t emu_trace_kernel(CUstream s, const char *name, const struct emu_launch *l);
uint64_t emu_trace_range(CUstream s, const struct emu_trace_range *r);
void emu_trace_begin(uint64_t launch);
void emu_trace_done(uint64_t launch);
void emu_trace_record(CUstream s, struct emu_point *event);
void emu_trace_wait(CUstream s, const struct emu_point *event);

/* The host has been told that this work is complete. */
void emu_trace_told_stream(CUstream s);
void emu_trace_told_event(const struct emu_point *event);
void emu_trace_told_context(CUcontext c);
void emu_trace_flush(void);

#endif

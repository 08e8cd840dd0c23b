/* driver: libgsan.so, which stands between a program and the CUDA driver. A program reaches the driver by ELF symbols
 * (entry.c), by dlsym (dlsym.S, ways.c) or by cuGetProcAddress (ways.c); all three lead to the same entries, one per row
 * of hooks.def. An entry calls its hook's body, or the real function unchanged while the process is not checked.
 *
 * This file: whether it is. The library does nothing before a CUDA call arrives: no thread, no allocation, no line on
 * stderr; the first call decides, by GSAN_SOCKET. A forked child starts undecided if its parent had not decided. */
#ifndef GSAN_DRIVER_STATE_H
#define GSAN_DRIVER_STATE_H

#include <cuda.h>

/* 1: the calling thread enters a hook's body, and calls driver_leave() after it. 0: pass the call through, because the
 * process runs unchecked or because the thread is inside a hook already (the driver called itself). */
int driver_enter(void);
void driver_leave(void);

/* The driver lacks a function that the program linked to: says so once. */
CUresult driver_missing(const char *name);


#endif

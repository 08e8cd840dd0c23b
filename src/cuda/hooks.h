/* The bodies of the hooks, by the rows of hooks.def: hook_… and ways_… are in src/driver, vmm_… in src/vmm. All run with the
 * thread's guard taken (driver/state.h), so they call the driver through `real` only, and every one ends in the real call
 * that the program made. In src/driver:
 *   ways.c     asking for functions                stream.c    streams, contexts, callbacks, what waits for the device
 *   module.c   modules, libraries                  event.c     events, external semaphores, nodes of graphs
 *   link.c     linking                             value.c     values that streams write and wait for
 *   listing.c  names and lists of what is loaded   function.c  functions, kernels, their attributes
 *   launch.c   launches                            foreign.c   memory without shadow
 *   exec.c     executable graphs */
#ifndef GSAN_CUDA_HOOKS_H
#define GSAN_CUDA_HOOKS_H

#include "cuda/real.h"

#define HOOK(name, parameters, arguments, body) CUresult body parameters;
#define HOOK_PTSZ HOOK
#define COPY(...)
#define COPY_ASYNC COPY
#define COPY_TO COPY
#include "cuda/hooks.def"

#endif

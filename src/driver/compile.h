/* PTX in memory, compiled by gsan-ptxas. */
#ifndef GSAN_DRIVER_COMPILE_H
#define GSAN_DRIVER_COMPILE_H

/* A cubin for the current GPU, with the plain kernels of `text` and their checked clones; malloc'ed. NULL: the driver has to compile it.
 * source: what reports call it. */
char *compile_ptx(const char *source, const char *text);

#endif

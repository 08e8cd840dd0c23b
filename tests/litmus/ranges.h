/* Copies and sets of programs. Findings know such by the line that calls the driver: of each program that is in a function of its own,
 * range_N, on a line of its own. */
#ifndef GSAN_LITMUS_RANGES_H
#define GSAN_LITMUS_RANGES_H

#include <cuda.h>

#define RANGES 1024 /* programs that are told apart: CMakeLists.txt writes ranges.def */

struct range { CUdeviceptr to, from /* 0: a set */; unsigned bytes; unsigned char value; CUstream stream; };
CUresult ranges_call(unsigned program, const struct range *r);

#endif

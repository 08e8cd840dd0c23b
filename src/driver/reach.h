/* What a copy or a set reads and writes of checked memory, hosts' too, told by the rows of hooks.def, and the way it takes: one function for each form
 * of arguments. Of what cannot be told in bytes (arrays in batches, whose elements have sizes of their own) it is noted that there is something. */
#ifndef GSAN_DRIVER_REACH_H
#define GSAN_DRIVER_REACH_H

#include "driver/copy.h"

enum copy_way reach_in(struct copy *c, CUdeviceptr to, size_t n);
enum copy_way reach_freed(struct copy *c, CUdeviceptr at);           /* the whole block */
enum copy_way reach_up(struct copy *c, CUdeviceptr to, const void *from, size_t n); /* from a host's memory */
enum copy_way reach_down(struct copy *c, const void *to, CUdeviceptr from, size_t n);
enum copy_way reach_from(struct copy *c, CUdeviceptr from, size_t n); /* to an array */
enum copy_way reach_within(struct copy *c, CUdeviceptr to, CUdeviceptr from, size_t n);
enum copy_way reach_between(struct copy *c, CUdeviceptr to, CUdeviceptr from, size_t n);
enum copy_way reach_of_peers(struct copy *c, CUdeviceptr to, CUdeviceptr from, size_t n); /* which the call names */
enum copy_way reach_rows(struct copy *c, CUdeviceptr to, size_t pitch, size_t width, size_t height); /* a set */
enum copy_way reach_rectangle(struct copy *c, const CUDA_MEMCPY2D *copy);
enum copy_way reach_box(struct copy *c, const CUDA_MEMCPY3D *copy);
enum copy_way reach_box_of_peers(struct copy *c, const CUDA_MEMCPY3D_PEER *copy);
enum copy_way reach_batch(struct copy *c, const CUdeviceptr *to, const CUdeviceptr *from, const size_t *sizes, size_t count);
#if CUDA_VERSION >= 12080
enum copy_way reach_boxes(struct copy *c, const CUDA_MEMCPY3D_BATCH_OP *copy, size_t count);
enum copy_way reach_one_box(struct copy *c, const CUDA_MEMCPY3D_BATCH_OP *copy);
#endif

#endif

/* The C counterpart of examples/driver_world.py: ranks that meet at a socket, memory that peers can address, and
 * kernels that Triton compiled to PTX. Whatever fails ends the program with a message and status 1. */
#ifndef EXAMPLE_WORLD_H
#define EXAMPLE_WORLD_H

#include <cuda.h>
#include <stddef.h>

#define WORLD_RANKS 16

struct world {
	int rank, size;
	int link[WORLD_RANKS]; /* rank 0: to each other rank; else link[0] to rank 0 */
	CUdevice device;
	size_t granularity;
};
struct world_kernel {
	CUmodule module;
	CUfunction function;
	unsigned warps, shared_bytes;
};
struct world_shared { /* one buffer per rank, all addressable here */
	CUdeviceptr of[WORLD_RANKS];
	size_t bytes; /* mapped for each */
};

void world_check(CUresult result, const char *call);
#define WORLD_TRY(call) world_check(call, #call)

void world_open(struct world *w);
/* The same, with rank r on device[r] of size devices; NULL: where LOCAL_RANK says. */
void world_open_on(struct world *w, const int *device, int size);
void world_close(struct world *w);
void world_barrier(struct world *w); /* of the hosts */

CUdeviceptr world_zeros(size_t bytes);
void world_shared_new(struct world *w, size_t bytes, struct world_shared *shared); /* zeroed */
void world_shared_free(const struct world *w, const struct world_shared *shared);

/* Loads ptx/FORM-KERNEL.ptx from beside the program. */
void world_kernel_load(struct world_kernel *kernel, const char *form, const char *name);
/* args: addresses of the kernel's own arguments; Triton's two trailing scratch pointers are added. */
void world_kernel_launch(const struct world_kernel *kernel, unsigned programs, void **args, unsigned count);

/* Ends the program with `usage` if an argument is not one of the options in it, or is --help. */
void world_arguments(int argc, char **argv, const char *usage);
/* The value of `--name` among the arguments, or the first of `choices` (a NULL-terminated list). Exits on anything
 * else that follows --name. */
const char *world_option(int argc, char **argv, const char *name, const char *const *choices);
int world_iterations(int argc, char **argv);

#endif

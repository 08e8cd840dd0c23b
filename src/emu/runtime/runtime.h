/* runtime: libcudart of our own, over the public driver API, for nvcc programs on the emulated device. NVIDIA's asks the driver for private
 * tables, which only NVIDIA's driver has. calls.def lists every call that is there, absent.def every one that is not, errors.def the
 * errors' names; what is more than one driver call stands in
 *
 *   context.c   whose context a call is for, and the last error      register.c   what nvcc's host code registers
 *   device.c    devices and their properties                         function.c   launches, attributes, occupancy
 *   memory.c    allocations and what is asked of pointers            copy.c       copies, sets, and those of variables
 *   graph.c     parameters of graphs' nodes                          versions.c   what CUDA 12 and 13 call by the same name
 *
 * It calls the driver by dynamic linking, as any program: what stands before the driver sees all calls. The numbers of CUresult and
 * cudaError_t are equal, as are those of attributes, limits and flags (driver_types.h); structures that the headers declare twice
 * have one layout. The function of an `int` result here returns either of the two. */
#ifndef GSAN_EMU_RUNTIME_RUNTIME_H
#define GSAN_EMU_RUNTIME_RUNTIME_H

#define __CUDA_API_VERSION_INTERNAL /* the final names, and both forms of those that know default streams */
#include <cuda.h>
#include <cuda_runtime_api.h>

#define RUNTIME_EXPORT __attribute__((visibility("default")))

/* Whether a call's default stream is the thread's own: the forms _ptds and _ptsz. */
enum runtime_form { RUNTIME_LEGACY, RUNTIME_PER_THREAD, RUNTIME_FORMS };

/* context.c */
int runtime_driver(void);                       /* the driver is initialised */
int runtime_context(void);                      /* and the thread has a context: its own, or its device's primary one */
cudaError_t runtime_leave(int result);          /* closes a call: an error is the thread's last one from then on */
int runtime_primary(int device, CUcontext *context);
int runtime_device_get(int *device);
int runtime_device_set(int device);
int runtime_device_init(int device, unsigned flags);
int runtime_device_reset(void);
int runtime_device_flags(unsigned *flags);
int runtime_device_set_flags(unsigned flags);

/* device.c */
int runtime_device_choose(int *device, const struct cudaDeviceProp *wanted);
int runtime_properties(struct cudaDeviceProp *properties, int device);
int runtime_properties_12(void *properties, int device); /* as programs of CUDA 12 know them */
int runtime_entry(const char *symbol, void **function, unsigned version, unsigned long long flags,
		  enum cudaDriverEntryPointQueryResult *status);
int runtime_peer_enable(int device, unsigned flags);
int runtime_peer_disable(int device);

/* register.c: in the current context */
int runtime_function(const void *function, CUfunction *found); /* what __global__ functions are called by, or a handle of the driver's */
int runtime_variable(const void *variable, CUdeviceptr *at, size_t *size);
void *runtime_symbol(CUfunction function);      /* what runtime_function found it by, or the handle itself */
void runtime_forget(CUcontext context);         /* it is reset: its modules are unloaded, variables begin anew */

/* function.c */
int runtime_launch(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream, int cooperative);
int runtime_launch_config(const cudaLaunchConfig_t *config, const void *function, void **arguments, cudaStream_t stream);
int runtime_function_attributes(struct cudaFuncAttributes *attributes, const void *function);
int runtime_function_set(const void *function, int attribute, int value);
int runtime_function_handle(cudaFunction_t *handle, const void *function);
int runtime_function_hint(const void *function, enum cudaFuncCache config);
int runtime_function_name(const char **name, const void *function);
int runtime_function_parameter(const void *function, size_t index, size_t *offset, size_t *size);
int runtime_occupancy(int *blocks, const void *function, int block, size_t shared, unsigned flags);
int runtime_occupancy_shared(size_t *bytes, const void *function, int blocks, int block);
int runtime_clusters(int *count, const void *function, const cudaLaunchConfig_t *config);
int runtime_cluster_size(int *size, const void *function, const cudaLaunchConfig_t *config);

/* memory.c */
int runtime_alloc(void **at, size_t size);
int runtime_alloc_managed(void **at, size_t size, unsigned flags);
int runtime_alloc_pitch(void **at, size_t *pitch, size_t width, size_t height);
int runtime_alloc_box(struct cudaPitchedPtr *at, struct cudaExtent extent);
int runtime_free(void *at);
int runtime_free_host(void *at);
int runtime_pointer(struct cudaPointerAttributes *attributes, const void *at);
int runtime_ipc_open(void **at, cudaIpcMemHandle_t handle, unsigned flags);
int runtime_ipc_open_event(cudaEvent_t *event, cudaIpcEventHandle_t handle);

/* copy.c */
int runtime_copy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, enum runtime_form form);
int runtime_copy_async(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream);
int runtime_copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, enum cudaMemcpyKind kind,
		    enum runtime_form form);
int runtime_copy_2d_async(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
			  enum cudaMemcpyKind kind, cudaStream_t stream);
int runtime_copy_3d(const struct cudaMemcpy3DParms *p, enum runtime_form form);
int runtime_copy_3d_async(const struct cudaMemcpy3DParms *p, cudaStream_t stream);
int runtime_copy_peer(void *to, int to_device, const void *from, int from_device, size_t size);
int runtime_copy_peer_async(void *to, int to_device, const void *from, int from_device, size_t size, cudaStream_t stream);
int runtime_copy_to(const void *variable, const void *from, size_t size, size_t offset, enum cudaMemcpyKind kind, enum runtime_form form);
int runtime_copy_to_async(const void *variable, const void *from, size_t size, size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream);
int runtime_copy_from(void *to, const void *variable, size_t size, size_t offset, enum cudaMemcpyKind kind, enum runtime_form form);
int runtime_copy_from_async(void *to, const void *variable, size_t size, size_t offset, enum cudaMemcpyKind kind, cudaStream_t stream);
int runtime_set_3d(struct cudaPitchedPtr to, int value, struct cudaExtent extent, enum runtime_form form);
int runtime_set_3d_async(struct cudaPitchedPtr to, int value, struct cudaExtent extent, cudaStream_t stream);
int runtime_describe(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *c);
int runtime_part(const void *variable, size_t size, size_t offset, char **at); /* of its memory */

/* graph.c: the driver's parameters of nodes, which point to what the runtime's point to */
int runtime_node(const struct cudaGraphNodeParams *p, CUgraphNodeParams *out);
int runtime_node_kernel(const struct cudaKernelNodeParams *p, CUgraphNodeParams *out);
int runtime_node_copy(const struct cudaMemcpy3DParms *p, CUgraphNodeParams *out);
int runtime_node_copy_flat(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, CUgraphNodeParams *out);
int runtime_node_copy_to(const void *variable, const void *from, size_t size, size_t offset, enum cudaMemcpyKind kind, CUgraphNodeParams *out);
int runtime_node_copy_from(void *to, const void *variable, size_t size, size_t offset, enum cudaMemcpyKind kind, CUgraphNodeParams *out);
int runtime_node_set(const struct cudaMemsetParams *p, CUgraphNodeParams *out);
int runtime_node_kernel_get(cudaGraphNode_t node, struct cudaKernelNodeParams *p);
int runtime_node_copy_get(cudaGraphNode_t node, struct cudaMemcpy3DParms *p);
/* described: what one of the former returned */
int runtime_node_add(int described, cudaGraphNode_t *node, cudaGraph_t g, const cudaGraphNode_t *before, const cudaGraphEdgeData *data,
		     size_t count, CUgraphNodeParams *p);
int runtime_node_change(int described, cudaGraphNode_t node, CUgraphNodeParams *p);
int runtime_node_update(int described, cudaGraphExec_t x, cudaGraphNode_t node, CUgraphNodeParams *p);

#endif

/* The bodies of the hooks in hooks.def, by the file they are in. All run with the thread's guard taken (state.h), so
 * they call the driver through `real` only, and every one ends in the real call that the program made. */
#ifndef GSAN_DRIVER_HOOKS_H
#define GSAN_DRIVER_HOOKS_H

#include "cuda/real.h"

#define BODY(name) __typeof__(name) hook_##name

/* module.c */
BODY(cuModuleLoad);
BODY(cuModuleLoadData);
BODY(cuModuleLoadDataEx);
BODY(cuModuleLoadFatBinary);
BODY(cuModuleUnload);
BODY(cuLibraryLoadData);
BODY(cuLibraryLoadFromFile);
BODY(cuLibraryGetModule);
BODY(cuLibraryUnload);
/* link.c */
BODY(cuLinkAddData_v2);
BODY(cuLinkAddFile_v2);
BODY(cuLinkComplete);
BODY(cuLinkDestroy);
/* listing.c */
BODY(cuModuleGetGlobal_v2);
BODY(cuLibraryGetKernel);
BODY(cuLibraryGetGlobal);
BODY(cuModuleGetFunctionCount);
BODY(cuModuleEnumerateFunctions);
BODY(cuLibraryGetKernelCount);
BODY(cuLibraryEnumerateKernels);
/* function.c */
BODY(cuModuleGetFunction);
BODY(cuKernelGetFunction);
BODY(cuKernelSetAttribute);
BODY(cuKernelSetCacheConfig);
BODY(cuFuncSetAttribute);
BODY(cuFuncSetCacheConfig);
/* launch.c */
BODY(cuLaunchKernel);
BODY(cuLaunchCooperativeKernel);
BODY(cuLaunchKernelEx);
__typeof__(cuLaunchKernelEx) hook_cuLaunchKernelEx_ptsz;
BODY(cuGraphLaunch);
BODY(cuLaunch);
BODY(cuLaunchGrid);
BODY(cuLaunchGridAsync);
/* stream.c */
BODY(cuInit);
BODY(cuStreamCreate);
BODY(cuStreamCreateWithPriority);
BODY(cuGreenCtxStreamCreate);
BODY(cuStreamDestroy_v2);
BODY(cuStreamBeginCapture_v2);
BODY(cuStreamBeginCaptureToGraph);
BODY(cuStreamEndCapture);
BODY(cuStreamSynchronize);
BODY(cuStreamQuery);
BODY(cuLaunchHostFunc);
BODY(cuStreamAddCallback);
BODY(cuCtxSynchronize);
BODY(cuCtxDestroy_v2);
BODY(cuDevicePrimaryCtxRetain);
BODY(cuDevicePrimaryCtxRelease_v2);
BODY(cuDevicePrimaryCtxReset_v2);
BODY(cuMemFree_v2);
BODY(cuIpcCloseMemHandle);
real_ctx_synchronize_13000 hook_cuCtxSynchronize_v2;
/* value.c */
BODY(cuStreamWriteValue32_v2);
BODY(cuStreamWriteValue64_v2);
BODY(cuStreamWaitValue32_v2);
BODY(cuStreamWaitValue64_v2);
BODY(cuStreamBatchMemOp_v2);
/* foreign.c */
BODY(cuMemAllocManaged);
BODY(cuMemHostAlloc);
BODY(cuMemAllocHost_v2);
BODY(cuMemHostRegister_v2);
/* event.c */
BODY(cuStreamWaitEvent);
BODY(cuEventCreate);
BODY(cuEventDestroy_v2);
BODY(cuEventQuery);
BODY(cuEventSynchronize);
real_event_elapsed_time hook_cuEventElapsedTime, hook_cuEventElapsedTime_v2;
BODY(cuEventRecord);
BODY(cuEventRecordWithFlags);
BODY(cuCtxRecordEvent);
BODY(cuGreenCtxRecordEvent);
BODY(cuCtxWaitEvent);
BODY(cuGreenCtxWaitEvent);
BODY(cuWaitExternalSemaphoresAsync);
BODY(cuIpcGetEventHandle);
BODY(cuIpcOpenEventHandle);
BODY(cuGraphAddEventRecordNode);
BODY(cuGraphEventRecordNodeSetEvent);
BODY(cuGraphExecEventRecordNodeSetEvent);
BODY(cuGraphAddEventWaitNode);
BODY(cuGraphAddExternalSemaphoresWaitNode);
BODY(cuGraphAddBatchMemOpNode);
BODY(cuGraphAddHostNode);
real_graph_add_node_12020 hook_cuGraphAddNode;
real_graph_add_node_12030 hook_cuGraphAddNode_v2;
BODY(cuGraphNodeSetParams);
BODY(cuGraphExecNodeSetParams);

#undef BODY
#endif

/* A program of two files, as nvcc compiles it: block 0 of the kernel in user.cu writes and raises a flag by a function of lock.h, which a
 * function of user.cu calls, all inlined; block 1 waits and reads. With --release the flag is raised as it should be. */
#include <stdio.h>
#include <string.h>

#include <cuda.h>

#define PTX(release) \
	".version 8.0\n.target sm_90\n.address_size 64\n" \
	".visible .entry kernel(.param .u64 at)\n{\n.reg .b64 %rd<3>;\n.reg .b32 %r<6>;\n.reg .pred %p<3>;\n" \
	"ld.param.u64 %rd1, [at];\nmov.u32 %r1, %ctaid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra WAIT;\n" \
	".loc 1 20 3\n" \
	".loc 1 11 2, function_name $L__info_string0, inlined_at 1 20 3\n" \
	".loc 2 4 2, function_name $L__info_string1, inlined_at 1 11 2\n" \
	"st.global.u32 [%rd1], 7;\n" \
	".loc 2 5 2, function_name $L__info_string1, inlined_at 1 11 2\n" \
	"st." release ".gpu.global.u32 [%rd1+128], 1;\nret;\n" \
	".loc 1 22 3\n" \
	".loc 2 9 2, function_name $L__info_string2, inlined_at 1 22 3\n" \
	"WAIT: ld.acquire.gpu.global.u32 %r2, [%rd1+128];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra WAIT;\n" \
	".loc 1 23 3\nld.global.u32 %r3, [%rd1];\nst.global.u32 [%rd1+256], %r3;\nret;\n}\n" \
	".file 1 \"user.cu\"\n.file 2 \"lock.h\"\n" \
	".section .debug_str\n{\n$L__info_string0:\n.b8 112,0\n$L__info_string1:\n.b8 113,0\n$L__info_string2:\n.b8 114,0\n}\n"

#define TRY(call) \
	do { \
		CUresult rc_ = (call); \
		if (rc_) { \
			fprintf(stderr, "%s: %d\n", #call, (int)rc_); \
			return 1; \
		} \
	} while (0)

int main(int argc, char **argv)
{
	CUcontext context;
	CUmodule module;
	CUfunction kernel;
	CUdeviceptr at;
	TRY(cuInit(0));
	TRY(cuDevicePrimaryCtxRetain(&context, 0));
	TRY(cuCtxSetCurrent(context));
	TRY(cuModuleLoadData(&module, argc > 1 && !strcmp(argv[1], "--release") ? PTX("release") : PTX("relaxed")));
	TRY(cuModuleGetFunction(&kernel, module, "kernel"));
	TRY(cuMemAlloc(&at, 512));
	TRY(cuMemsetD8(at, 0, 512));
	TRY(cuLaunchKernel(kernel, 2, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&at}, NULL));
	TRY(cuCtxSynchronize());
	return 0;
}

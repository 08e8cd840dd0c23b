/* A program whose race only some schedules show: block 1 looks at a flag once, after about as
 * many instructions as block 0 needs to raise it, and reads what block 0 wrote only where it
 * finds it raised. The flag is relaxed and no fence stands beside it, so that the read races whenever it is made. With
 * --crash it ends by status 3 whenever the flag was seen. */
#include <stdio.h>
#include <string.h>

#include <cuda.h>

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"sometimes.cu\"\n"
	".visible .entry sometimes(.param .u64 at)\n{\n.reg .b64 %rd<2>;\n.reg .b32 %r<6>;\n.reg .pred %p<3>;\n"
	"ld.param.u64 %rd1, [at];\nmov.u32 %r1, %ctaid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra READ;\n"
	".loc 1 10 1\nst.global.u32 [%rd1], 7;\n"
	".loc 1 11 1\nst.relaxed.gpu.global.u32 [%rd1+128], 1;\nret;\n"
	"READ: mov.u32 %r4, 0;\nWAIT: add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, 120;\n@%p2 bra WAIT;\n"
	".loc 1 20 1\nld.relaxed.gpu.global.u32 %r2, [%rd1+128];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra END;\n"
	".loc 1 21 1\nld.global.u32 %r3, [%rd1];\nst.global.u32 [%rd1+256], %r3;\nEND: ret;\n}\n";

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
	unsigned seen;
	TRY(cuInit(0));
	TRY(cuDevicePrimaryCtxRetain(&context, 0));
	TRY(cuCtxSetCurrent(context));
	TRY(cuModuleLoadData(&module, ptx));
	TRY(cuModuleGetFunction(&kernel, module, "sometimes"));
	TRY(cuMemAlloc(&at, 512));
	TRY(cuMemsetD8(at, 0, 512));
	TRY(cuLaunchKernel(kernel, 2, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&at}, NULL));
	TRY(cuCtxSynchronize());
	TRY(cuMemcpyDtoH(&seen, at + 256, sizeof seen));
	return argc > 1 && !strcmp(argv[1], "--crash") && seen ? 3 : 0;
}

/* A program for gsan-launch: `elements FORM racy|correct`. Two CTAs of a warp store small elements, the second one where the first one's end; in the
 * racy program its first element is the first one's last. What a warp stores together is recorded as lines, or parts of them, not byte by byte:
 *   halves   2 bytes a lane: half a line, the other CTA has the other half       looked   likewise, by addresses of which the text says nothing
 *   shifted  likewise, 2 bytes behind where a line begins
 *   bytes    a lane has four of 1 byte, side by side       beside   of 2 bytes     triples   three of 4 bytes
 *   odd      beside, but the first CTA's last element is not stored, and the correct program's second CTA stores it */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL(name, body) \
	".visible .entry " name "(.param .u64 table, .param .u64 data, .param .u32 apart)\n{\n" \
	"\t.reg .b64 %rd<4>;\n\t.reg .b32 %r<5>;\n\t.reg .b16 %h<2>;\n\t.reg .pred %p<2>;\n" \
	"\tld.param.u64 %rd1, [table];\n\tld.param.u64 %rd2, [data];\n\tld.param.u32 %r3, [apart];\n" \
	"\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, %ctaid.x;\n\tmov.b16 %h1, 7;\n\tmul.wide.u32 %rd3, %r2, %r3;\n\tadd.u64 %rd2, %rd2, %rd3;\n" body \
	"\tret;\n}\n"
#define AT(bytes) "\tmul.wide.u32 %rd3, %r1, " #bytes ";\n\tadd.u64 %rd2, %rd2, %rd3;\n\t.loc 1 1 1\n" /* one line: one site */
#define LOOK "\tmul.wide.u32 %rd3, %r1, 4;\n\tadd.u64 %rd3, %rd1, %rd3;\n\tld.global.u32 %r1, [%rd3];\n"
#define HALF(offset) "\tst.global.b16 [%rd2+" #offset "], %h1;\n"
#define BYTE(offset) "\tst.global.b8 [%rd2+" #offset "], %h1;\n"
#define WORD(offset) "\tst.global.b32 [%rd2+" #offset "], %r1;\n"
#define UNLESS_LAST "\txor.b32 %r4, %r1, 31;\n\tor.b32 %r4, %r4, %r2;\n\tsetp.ne.u32 %p1, %r4, 0;\n\t@%p1"

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"elements.cu\"\n"
	KERNEL("halves", AT(2) HALF(0))
	KERNEL("looked", LOOK AT(2) HALF(0))
	KERNEL("shifted", AT(2) HALF(2))
	KERNEL("bytes", AT(4) BYTE(0) BYTE(1) BYTE(2) BYTE(3))
	KERNEL("beside", AT(8) HALF(0) HALF(2) HALF(4) HALF(6))
	KERNEL("odd", AT(8) HALF(0) HALF(2) HALF(4) UNLESS_LAST HALF(6))
	KERNEL("triples", AT(12) WORD(0) WORD(4) WORD(8));

static const struct form { const char *name; unsigned correct, racy; } forms[] = {
	{"halves", 64, 62}, {"looked", 64, 62}, {"shifted", 64, 62}, {"bytes", 128, 127}, {"beside", 256, 254}, {"odd", 254, 252}, {"triples", 384, 380},
};

static void must(CUresult rc, const char *what)
{
	if (rc == CUDA_SUCCESS)
		return;
	fprintf(stderr, "elements: %s: error %d\n", what, (int)rc);
	exit(1);
}
#define TRY(call) must(call, #call)

int main(int argc, char **argv)
{
	const struct form *form = forms, *end = forms + sizeof(forms) / sizeof(*forms);
	unsigned lanes[32], apart;
	CUcontext context;
	CUmodule module;
	CUfunction kernel;
	CUdeviceptr table, data;

	while (argc == 3 && form < end && strcmp(form->name, argv[1]))
		form++;
	if (argc != 3 || form == end) {
		fprintf(stderr, "usage: elements FORM racy|correct\n");
		return 2;
	}
	for (unsigned i = 0; i < 32; i++)
		lanes[i] = i;
	TRY(cuInit(0));
	TRY(cuDevicePrimaryCtxRetain(&context, 0));
	TRY(cuCtxSetCurrent(context));
	TRY(cuModuleLoadData(&module, ptx));
	TRY(cuModuleGetFunction(&kernel, module, form->name));
	TRY(cuMemAlloc(&table, sizeof(lanes)));
	TRY(cuMemAlloc(&data, 4096));
	TRY(cuMemcpyHtoD(table, lanes, sizeof(lanes)));
	apart = strcmp(argv[2], "racy") ? form->correct : form->racy;
	for (int i = 0; i < 2; i++) /* over what a launch before left, too */
		TRY(cuLaunchKernel(kernel, 2, 1, 1, 32, 1, 1, 0, NULL, (void *[]){&table, &data, &apart}, NULL));
	TRY(cuCtxSynchronize());
	return 0;
}

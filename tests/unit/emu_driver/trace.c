/* The trace (EMU_TRACE): its lines for a kernel under its own name and for a checked copy, the host's events, memory that
 * several addresses name, and what cannot be traced. Each case is a process of its own with a trace of its own. */
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"k.cu\"\n"
#define BODY(extra_1, extra_2, store) \
	"{\n.reg .b64 %rd<8>;\n.reg .b16 %h<5>;\n.reg .b32 %r<8>;\n.reg .pred %p<4>;\n.shared .align 8 .b8 s[64];\n.reg .b64 %gsan_a;\n" \
	"ld.param.u64 %rd1, [at];\n" extra_1 \
	".loc 1 10 1\nld.global.v2.u32 {%r1, %r2}, [%rd1+8];\n" \
	".loc 1 11 1\n" store " [%rd1], %r1;\n" \
	"atom.global.add.u32 %r3, [%rd1+16], 5;\n" /* read below: atom */ \
	"atom.acq_rel.sys.global.exch.b32 %r4, [%rd1+20], 7;\n" /* never read */ \
	"atom.acquire.gpu.global.cas.b32 %r5, [%rd1+24], 1, 2;\n" /* fails */ \
	"atom.release.gpu.global.cas.b32 %r5, [%rd1+24], 0, 2;\n" /* succeeds */ \
	"add.u32 %r6, %r3, %r5;\n" extra_2 \
	"red.relaxed.gpu.global.add.u32 [%rd1+28], %r6;\n" \
	"st.shared.u32 [s], %r6;\nmov.u64 %rd2, s;\ncvta.shared.u64 %rd3, %rd2;\nst.u32 [%rd3], 1;\n" \
	".loc 1 12 1\nfence.acq_rel.gpu;\nmembar.sys;\nfence.proxy.async;\n" \
	"st.volatile.u8 [%rd1+32], 300;\nld.relaxed.gpu.global.v4.u16 {%h1, %h2, %h3, %h4}, [%rd1+56];\nld.global.nc.u64 %rd4, [%rd1+40];\nst.mmio.relaxed.sys.u32 [%rd1+48], 1;\n" \
	"setp.eq.u32 %p1, %r1, 12345;\n@%p1 st.global.u32 [%rd1], 0;\nbar.sync 0;\nret;\n}\n"
#define CALL "{\n.param .b64 gsan_p0;\nst.param.b64 [gsan_p0], %gsan_a;\ncall gsan_note, (gsan_p0);\n}\n"
#define NOTE ".func gsan_note(.param .b64 gsan_q)\n{\n.reg .b64 %rd<2>;\nld.param.b64 %rd1, [gsan_q];\nst.global.u32 [%rd1+512], 9;\nfence.sc.sys;\nret;\n}\n"

static const char plain[] = HEAD ".visible .entry k(.param .u64 at)\n" BODY("", "", "st.relaxed.gpu.global.u32");
static const char copied[] = HEAD NOTE ".visible .entry k(.param .u64 at)\n" BODY("", "", "st.relaxed.gpu.global.u32")
	".visible .entry k__gsan(.param .u64 at)\n"
	BODY("mov.b64 %gsan_a, %rd1;\n" CALL, CALL, "st.release.sys.global.u32");
static const char broken[] = HEAD NOTE ".visible .entry k(.param .u64 at)\n" BODY("", "", "st.relaxed.gpu.global.u32")
	".visible .entry k__gsan(.param .u64 at)\n" BODY("", "mov.b32 %r7, 1;\n", "st.release.sys.global.u32");
static const char lost[] = HEAD ".visible .entry k__gsan(.param .u64 at)\n" BODY("", "", "st.relaxed.gpu.global.u32");

/* L: the launch, M: its memory; the values follow from the bytes 1, 2, 3 … that the test puts there. */
static const char kernel_lines[] =
	"mem L 0 0 10 ld weak - M 8 2x4 0x100f0e0d0c0b0a09 -\n"
	"mem L 0 0 11 st relaxed gpu M 0 4 - 0xc0b0a09\n"
	"mem L 0 0 11 atom relaxed gpu M 16 4 0x14131211 0x14131216\n"
	"mem L 0 0 11 atom- acq_rel sys M 20 4 0x18171615 0x7\n"
	"mem L 0 0 11 cas acquire gpu M 24 4 0x0 -\n"
	"mem L 0 0 11 cas release gpu M 24 4 0x0 0x2\n"
	"mem L 0 0 11 red relaxed gpu M 28 4 0x201f1e1d 0x3432302e\n"
	"fence L 0 0 12 acq_rel gpu\n"
	"fence L 0 0 12 sc sys\n"
	"mem L 0 0 12 st volatile sys M 32 1 - 0x2c\n"
	"mem L 0 0 12 ld relaxed gpu M 56 4x2 0x403f3e3d3c3b3a39 -\n"
	"mem L 0 0 12 ld nc - M 40 8 0x302f2e2d2c2b2a29 -\n"
	"mem L 0 0 12 st mmio sys M 48 4 - 0x1\n"
	"arrive L 0 0 0x1 12 bar 0 sync 0\nphase L 0 bar 0\npass L 0 0 0x1 12 bar 0 sync\nexit L 0\n";

/* Barriers, and what may order warps through shared memory; the mbarrier lies behind four words. */
#define MEET(extra) \
	"{\n.reg .b64 %rd<8>;\n.reg .b32 %r<8>;\n.reg .pred %p<4>;\n.shared .align 8 .b8 s[32];\n.reg .b64 %gsan_a;\n" \
	"mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 3;\nmov.u64 %rd2, s;\ncvta.shared.u64 %rd3, %rd2;\n" \
	".loc 1 20 1\nbar.arrive 1, 64;\n" extra ".loc 1 21 1\nbar.sync 1, 64;\n.loc 1 22 1\nbarrier.red.popc.u32 %r2, 0, %p1;\nbar.warp.sync -1;\n" \
	".loc 1 23 1\n@!%p1 exit;\nmbarrier.init.shared.b64 [s+16], 2;\n.loc 1 24 1\nmbarrier.arrive.shared.b64 %rd4, [s+16];\n" extra \
	"mbarrier.test_wait.shared.b64 %p2, [s+16], %rd4;\n.loc 1 25 1\nmbarrier.arrive.relaxed.cta.shared.b64 _, [s+16];\n" \
	".loc 1 26 1\nmbarrier.try_wait.parity.shared.b64 %p2, [s+16], 0;\nmbarrier.inval.shared.b64 [s+16];\n" \
	".loc 1 27 1\nst.shared.u32 [s], 1;\nst.u32 [%rd3], 1;\nst.relaxed.cta.u32 [%rd3], 1;\nld.volatile.shared.u32 %r3, [s];\n" extra \
	"atom.shared.add.u32 %r4, [s], %r3;\nret;\n}\n"
static const char meets[] = HEAD NOTE ".visible .entry k(.param .u64 at)\n" MEET("") ".visible .entry k__gsan(.param .u64 at)\n"
	MEET("mov.b64 %gsan_a, 0;\n");
static const char meets_lines[] =
	"arrive L 0 0 0xffffffff 20 bar 1 arrive 64\narrive L 0 0 0xffffffff 21 bar 1 sync 64\nphase L 0 bar 1\n"
	"pass L 0 0 0xffffffff 21 bar 1 sync\n"
	"arrive L 0 0 0xffffffff 22 bar 0 red 0\nphase L 0 bar 0\npass L 0 0 0xffffffff 22 bar 0 red\n"
	"init L 0 mbar 16 2\narrive L 0 0 0x8 24 mbar 16 release 2\narrive L 0 0 0x8 25 mbar 16 relaxed 2\nphase L 0 mbar 16\n"
	"pass L 0 0 0x8 26 mbar 16 acquire\ninit L 0 mbar 16 0\n"
	"shared L 0 3 27 st relaxed cta\nshared L 0 3 27 ld volatile sys\nshared L 0 3 27 atom- relaxed gpu\nexit L 0\n";

static char path[64];

static char *read_trace(void)
{
	char *text = calloc(1, 1 << 16);
	FILE *f = fopen(path, "r");
	CHECK(f && text && fread(text, 1, (1 << 16) - 1, f) > 0);
	fclose(f);
	return text;
}

static void expect_trace(const char *expected)
{
	char *text = read_trace();
	if (strcmp(text, expected)) {
		fprintf(stderr, "the trace is\n%s---- not\n%s", text, expected);
		exit(1);
	}
	free(text);
}

static CUdeviceptr bytes_1_to_64(void)
{
	unsigned char b[64];
	CUdeviceptr at;
	OK(cuMemAlloc(&at, 4096));
	for (unsigned i = 0; i < 64; i++)
		b[i] = (unsigned char)(i >= 24 && i < 28 ? 0 : i + 1);
	OK(cuMemcpyHtoD(at, b, sizeof b));
	return at;
}

/* The lines of one kernel between begin and done, with its number and its memory's written as L and M. */
static void expect_kernel(const char *name, unsigned threads, const char *expected)
{
	char *text = read_trace(), launch[32], mem[32] = "", *at, lines[4096] = "", line[256];
	char head[64];
	snprintf(head, sizeof head, " kernel %s grid 1 1 1 block %u\n", name, threads);
	CHECK((at = strstr(text, head)));
	while (at > text && at[-1] != '\n')
		at--;
	CHECK(sscanf(at, "launch %31s", launch) == 1);
	snprintf(head, sizeof head, "begin %s\n", launch);
	CHECK((at = strstr(text, head)));
	for (at += strlen(head); strncmp(at, "done", 4); at = strchr(at, '\n') + 1) {
		char number[32], cta[32], rest[200], m[32], tail[100];
		CHECK(sscanf(at, "%31s %31s %31[^\n]%199[^\n]", line, number, cta, rest) >= 3);
		CHECK(!strcmp(number, launch));
		int n = (int)(strchr(at, '\n') - at);
		snprintf(line, sizeof line, "%.*s", n, at);
		if (!strncmp(line, "mem", 3)) {
			char words[5][16];
			CHECK(sscanf(line, "mem %*s %*s %15s %15s %15s %15s %15s %31s %99[^\n]", words[0], words[1], words[2], words[3],
				     words[4], m, tail) == 7);
			CHECK(!mem[0] || !strcmp(mem, m));
			memcpy(mem, m, sizeof mem);
			n = snprintf(rest, sizeof rest, "mem L 0 %s %s %s %s %s M %s\n", words[0], words[1], words[2], words[3], words[4], tail);
		} else {
			char *second = strchr(line, ' ');
			char *third = strchr(second + 1, ' ');
			n = snprintf(rest, sizeof rest, "%.*s L%s\n", (int)(second - line), line, third);
		}
		CHECK(n > 0 && strlen(lines) + (size_t)n < sizeof lines);
		strcat(lines, rest);
	}
	if (strcmp(lines, expected)) {
		fprintf(stderr, "the kernel's lines are\n%s---- not\n%s", lines, expected);
		exit(1);
	}
	free(text);
}

static void launch_one(const char *ptx, const char *name, unsigned threads, CUresult expected)
{
	start();
	CUdeviceptr at = bytes_1_to_64();
	EXPECT(expected, cuLaunchKernel(load(ptx, name), 1, 1, 1, threads, 1, 1, 0, NULL, (void *[]){&at}, NULL));
	EXPECT(expected, cuCtxSynchronize());
}

static void of_plain(void)
{
	launch_one(plain, "k", 1, CUDA_SUCCESS);
	expect_kernel("k", 1, kernel_lines);
}

/* The copy's inserted store and fence are not the program's; its strengthened store is shown as the program wrote it. */
static void of_copy(void)
{
	setenv("EMU_TRACE_SUFFIX", "__gsan", 1);
	launch_one(copied, "k__gsan", 1, CUDA_SUCCESS);
	expect_kernel("k", 1, kernel_lines);
}

static void of_original_beside_copy(void)
{
	setenv("EMU_TRACE_SUFFIX", "__gsan", 1);
	launch_one(copied, "k", 1, CUDA_SUCCESS);
	expect_kernel("k", 1, kernel_lines);
}

static void of_broken_copy(void)
{
	setenv("EMU_TRACE_SUFFIX", "__gsan", 1);
	launch_one(broken, "k__gsan", 1, CUDA_ERROR_INVALID_PTX);
}

static void of_lost_original(void)
{
	setenv("EMU_TRACE_SUFFIX", "__gsan", 1);
	launch_one(lost, "k__gsan", 1, CUDA_ERROR_INVALID_PTX);
}

static void of_barriers(void)
{
	launch_one(meets, "k", 32, CUDA_SUCCESS);
	expect_kernel("k", 32, meets_lines);
}

static void of_barriers_of_copy(void)
{
	setenv("EMU_TRACE_SUFFIX", "__gsan", 1);
	launch_one(meets, "k__gsan", 32, CUDA_SUCCESS);
	expect_kernel("k", 32, meets_lines);
}

static void of_unwritable(void)
{
	setenv("EMU_TRACE", "/no/such/directory/trace", 1);
	EXPECT(CUDA_ERROR_SYSTEM_NOT_READY, cuInit(0));
}

/* Serial numbers count what the process makes: context and its legacy stream 1, 2; the allocations 3, 4; streams 5, 6. */
static void of_hosts(void)
{
	CUstream a, b;
	CUevent e;
	CUdeviceptr p, q;
	char host[8] = {0};
	start();
	OK(cuMemAlloc(&p, 64));
	OK(cuMemAlloc(&q, 64));
	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&e, 0));
	OK(cuMemsetD8Async(p, 1, 64, a));
	OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(b, e, 0));
	OK(cuMemcpyDtoDAsync(q + 8, p, 8, b));
	OK(cuStreamSynchronize(b)); /* tells of both, by the event */
	OK(cuStreamSynchronize(a));
	OK(cuEventSynchronize(e));
	OK(cuMemcpyDtoH(host, p, 8));
	expect_trace("gsan-trace 1\n"
		     "range 3000000001 rank 3 device 0 stream 3000000005 st 3000000003 0 64\n"
		     "record 3000000001 3000000005\n"
		     "wait 3000000001 3000000006\n"
		     "range 3000000002 rank 3 device 0 stream 3000000006 st 3000000004 8 8 ld 3000000003 0 8\n"
		     "begin 3000000001\ndone 3000000001\n"
		     "begin 3000000002\ndone 3000000002\n"
		     "complete 3 3000000001 3000000002\n"
		     "range 3000000003 rank 3 device 0 stream 3000000002 ld 3000000003 0 8\n"
		     "begin 3000000003\ndone 3000000003\n"
		     "complete 3 3000000003\n");
}

/* A blocking stream and the legacy one order each other: the trace says it by events. */
static void of_legacy(void)
{
	CUstream a;
	CUdeviceptr p;
	start();
	OK(cuMemAlloc(&p, 64));
	OK(cuStreamCreate(&a, 0));
	OK(cuMemsetD8Async(p, 1, 64, a));
	OK(cuMemsetD8Async(p, 2, 64, NULL));
	OK(cuStreamSynchronize(NULL));
	expect_trace("gsan-trace 1\n"
		     "range 3000000001 rank 3 device 0 stream 3000000004 st 3000000003 0 64\n"
		     "record 3000000001 3000000004\n"
		     "wait 3000000001 3000000002\n"
		     "range 3000000002 rank 3 device 0 stream 3000000002 st 3000000003 0 64\n"
		     "begin 3000000001\ndone 3000000001\n"
		     "begin 3000000002\ndone 3000000002\n"
		     "complete 3 3000000001 3000000002\n");
}

/* Two mappings of one physical allocation are one memory. */
static void of_mappings(void)
{
	const size_t size = 2u << 20;
	CUmemGenericAllocationHandle handle, again;
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
	CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr at;
	int fd;
	start();
	OK(cuMemCreate(&handle, size, &prop, 0));
	OK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	OK(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	OK(cuMemAddressReserve(&at, 2 * size, 0, 0, 0));
	OK(cuMemMap(at, size, 0, handle, 0));
	OK(cuMemMap(at + size, size, 0, again, 0));
	OK(cuMemSetAccess(at, 2 * size, &access, 1));
	OK(cuMemcpyDtoDAsync(at + 16, at + size + 32, 8, NULL));
	OK(cuCtxSynchronize());
	expect_trace("gsan-trace 1\n"
		     "range 3000000001 rank 3 device 0 stream 3000000002 st 3000000003 16 8 ld 3000000003 32 8\n"
		     "begin 3000000001\ndone 3000000001\ncomplete 3 3000000001\n");
}

/* Each row of a box begins when the one before it is done, for they are of one stream. */
static void of_rows(void)
{
	CUdeviceptr p;
	start();
	OK(cuMemAlloc(&p, 4096));
	OK(cuMemsetD2D8Async(p, 32, 1, 8, 2, NULL));
	OK(cuCtxSynchronize());
	expect_trace("gsan-trace 1\n"
		     "range 3000000001 rank 3 device 0 stream 3000000002 st 3000000003 0 8\n"
		     "range 3000000002 rank 3 device 0 stream 3000000002 st 3000000003 32 8\n"
		     "begin 3000000001\ndone 3000000001\nbegin 3000000002\ndone 3000000002\ncomplete 3 3000000001 3000000002\n");
}

/* What lies in EMU_TRACE_SKIP is somebody else's. */
static void of_skipped(void)
{
	char skip[64];
	CUdeviceptr p, q;
	start();
	OK(cuMemAlloc(&p, 4096));
	OK(cuMemAlloc(&q, 4096));
	snprintf(skip, sizeof skip, "0x1-0x2,%#llx-%#llx", q, q + 4096);
	setenv("EMU_TRACE_SKIP", skip, 1);
	OK(cuMemsetD8Async(p, 1, 64, NULL));
	OK(cuMemsetD8Async(q, 1, 64, NULL));
	OK(cuCtxSynchronize());
	expect_trace("gsan-trace 1\n"
		     "range 3000000001 rank 3 device 0 stream 3000000002 st 3000000003 0 64\n"
		     "begin 3000000001\ndone 3000000001\ncomplete 3 3000000001\n");
}

int main(void)
{
	static void (*const cases[])(void) = {of_plain, of_copy, of_original_beside_copy, of_broken_copy, of_lost_original,
					      of_unwritable, of_hosts, of_legacy, of_mappings, of_rows, of_skipped, of_barriers, of_barriers_of_copy};
	int failed = 0;
	for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++) {
		snprintf(path, sizeof path, "emu-trace-%d-%u", (int)getpid(), k);
		setenv("EMU_TRACE", path, 1);
		setenv("GSAN_RANK", "3", 1);
		pid_t child = fork();
		if (child == 0) {
			cases[k]();
			exit(0);
		}
		int status = 1;
		CHECK(child > 0 && waitpid(child, &status, 0) == child);
		if (status)
			fprintf(stderr, "case %u failed\n", k);
		failed |= status;
		unlink(path);
	}
	return failed ? 1 : 0;
}

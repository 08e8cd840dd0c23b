/* Counts (EMU_STATS): the line of a kernel under its own name and of a rewritten copy, the numbers by hand; the same whatever else the
 * emulated device is asked for; a launch that fails; a file that cannot be written. Each case is a process of its own. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* Of two warps the first alone makes the red, of which eight lanes make it. */
#define BODY(extra) \
	"{\n.reg .b64 %rd<4>;\n.reg .b32 %r<4>;\n.reg .pred %p<3>;\n.shared .align 4 .b32 s;\n.reg .b64 %gsan_a;\n" \
	"ld.param.u64 %rd1, [at];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 16;\nadd.u64 %rd3, %rd1, %rd2;\n" \
	"ld.global.u32 %r2, [%rd3];\nsetp.gt.u32 %p1, %r1, 7;\nsetp.ge.u32 %p2, %r1, 32;\n@%p2 bra END;\n" \
	"@!%p1 red.global.add.u32 [%rd1], 1;\n" extra "END:\nst.shared.u32 [s], %r1;\nret;\n}\n"
#define CALL "mov.b64 %gsan_a, %rd1;\n{\n.param .b64 gsan_p;\nst.param.b64 [gsan_p], %gsan_a;\ncall gsan_note, (gsan_p);\n}\n"
static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".func gsan__rest()\n{\n.reg .b32 %r<2>;\nmov.u32 %r1, 0;\nret;\n}\n"
	".func gsan_note(.param .b64 gsan_q)\n{\n.reg .b64 %rd<2>;\n.reg .b32 %r<5>;\nld.param.b64 %rd1, [gsan_q];\n"
	"st.global.u32 [%rd1+4096], 9;\nld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+32];\ncall gsan__rest;\nret;\n}\n"
	".visible .entry k(.param .u64 at)\n" BODY("") ".visible .entry k__gsan(.param .u64 at)\n" BODY(CALL);

#define NONE "{\"accesses\": 0, \"bytes\": 0, \"sectors\": 0}"
#define HEAD(name) "{\"rank\": 3, \"launch\": 1, \"device\": 0, \"kernel\": \"" name "\", \"grid\": [1, 1, 1], \"block\": 64, \"completed\": true, "
#define OWN "\"program\": {\"accesses\": 72, \"bytes\": 288, \"sectors\": 33}, \"ours\": " NONE /* of a load 32 sectors, of the red one */
static const char plain_line[] = HEAD("k") "\"instructions\": 21, " OWN ", \"parts\": {\"kernel\": {\"instructions\": 21, " OWN "}}}\n";
static const char copy_line[] =
	HEAD("k__gsan") "\"instructions\": 31, \"program\": {\"accesses\": 104, \"bytes\": 800, \"sectors\": 34}, "
	"\"ours\": {\"accesses\": 32, \"bytes\": 128, \"sectors\": 1}, \"parts\": {\"kernel\": {\"instructions\": 24, " OWN "}, "
	"\"note\": {\"instructions\": 5, \"program\": {\"accesses\": 32, \"bytes\": 512, \"sectors\": 1}, "
	"\"ours\": {\"accesses\": 32, \"bytes\": 128, \"sectors\": 1}}, "
	"\"other\": {\"instructions\": 2, \"program\": " NONE ", \"ours\": " NONE "}}}\n";

static char path[64];

static void read_file(const char *from, char *to, size_t room)
{
	FILE *f = fopen(from, "r");
	CHECK(f);
	to[fread(to, 1, room - 1, f)] = 0;
	fclose(f);
}

static void expect_lines(const char *expected)
{
	char text[4096];
	read_file(path, text, sizeof text);
	if (strcmp(text, expected)) {
		fprintf(stderr, "the lines are\n%s---- not\n%s", text, expected);
		exit(1);
	}
}

/* One launch of the kernel; what it gets lies in memory of which the second half is ours. */
static void run(const char *kernel, CUdeviceptr wild, CUresult result)
{
	char skip[64];
	CUdeviceptr at;
	start();
	OK(cuMemAlloc(&at, 8192));
	snprintf(skip, sizeof skip, "%#llx-%#llx", at + 4096, at + 8192);
	setenv("EMU_TRACE_SKIP", skip, 1);
	setenv("EMU_TRACE_SUFFIX", "__gsan", 1);
	setenv("EMU_STATS_PARTS", "gsan_n=short,gsan_note=note,gsan_note_more=more", 1);
	at = wild ? wild : at;
	OK(cuLaunchKernel(load(ptx, kernel), 1, 1, 1, 64, 1, 1, 0, NULL, (void *[]){&at}, NULL));
	EXPECT(result, cuCtxSynchronize());
}

static void of_plain(void)
{
	run("k", 0, CUDA_SUCCESS);
	expect_lines(plain_line);
}

static void of_copy(void)
{
	run("k__gsan", 0, CUDA_SUCCESS);
	expect_lines(copy_line);
}

static void of_copy_traced(void)
{
	char trace[80];
	snprintf(trace, sizeof trace, "%s.trace", path);
	setenv("EMU_TRACE", trace, 1);
	run("k__gsan", 0, CUDA_SUCCESS);
	unlink(trace);
	expect_lines(copy_line);
}

static void of_copy_weak(void)
{
	setenv("EMU_MEMORY", "weak", 1);
	of_copy();
}

static void of_copy_in_steps(void)
{
	setenv("EMU_SCHEDULE", "program", 1);
	of_copy();
}

static void of_fault(void)
{
	char text[4096];
	run("k", 64, CUDA_ERROR_ILLEGAL_ADDRESS);
	read_file(path, text, sizeof text);
	CHECK(strstr(text, "\"completed\": false, \"instructions\": "));
}

/* It is said, and the program goes on. */
static void of_unwritable(void)
{
	char text[4096];
	setenv("EMU_STATS", "/no/such/directory/stats", 1);
	CHECK(freopen(path, "w", stderr));
	run("k", 0, CUDA_SUCCESS);
	fflush(stderr);
	read_file(path, text, sizeof text);
	CHECK(strstr(text, "EMU_STATS: cannot write /no/such/directory/stats: No such file or directory"));
}

static void of_nothing(void)
{
	unsetenv("EMU_STATS");
	run("k", 0, CUDA_SUCCESS);
	CHECK(access(path, F_OK));
}

int main(void)
{
	static void (*const cases[])(void) = {of_plain, of_copy, of_copy_traced, of_copy_weak, of_copy_in_steps, of_fault, of_unwritable,
					      of_nothing};
	int failed = 0;
	for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++) {
		snprintf(path, sizeof path, "emu-stats-%d-%u", (int)getpid(), k);
		setenv("EMU_STATS", path, 1);
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

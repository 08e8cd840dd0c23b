/* Every way to reach the driver leads into libgsan, which this runs under, and from there to the real function: by ELF
 * symbol, dlsym with a handle, RTLD_DEFAULT and RTLD_NEXT, cuGetProcAddress in both forms. (No supervisor listens, so every
 * context stays unchecked.) Without a launcher each call passes through, and one line says so. Built at -O0 and -O2. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fakecuda.h"

#undef cuGetProcAddress
typedef CUresult get_11030(const char *, void **, int, cuuint64_t);
typedef CUresult get_12000(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
typedef CUresult synchronize(void);

static int failed;
#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			failed = 1; \
		} \
	} while (0)

static int in_gsan(const void *function)
{
	Dl_info info;

	return function && dladdr(function, &info) && strstr(info.dli_fname, "libgsan");
}

/* The function is a hook, and its call arrives at the driver. */
static void reaches(struct fake *fake, void *function)
{
	int before = fake->syncs;

	CHECK(in_gsan(function));
	if (function)
		((synchronize *)function)();
	CHECK(fake->syncs == before + 1);
}

static void test_get_proc_address(struct fake *fake, void *driver)
{
	get_11030 *old = dlsym(driver, "cuGetProcAddress");
	get_12000 *new = dlsym(driver, "cuGetProcAddress_v2");
	void *p;

	CHECK(in_gsan(old) && in_gsan(new));
	CHECK(old("cuCtxSynchronize", &p, 11030, 0) == CUDA_SUCCESS);
	reaches(fake, p);
	CHECK(new("cuCtxSynchronize", &p, 12000, 0, NULL) == CUDA_SUCCESS);
	reaches(fake, p);
	/* It returns itself, in the form that the version has. */
	CHECK(new("cuGetProcAddress", &p, 11030, 0, NULL) == CUDA_SUCCESS && p == (void *)old);
	CHECK(new("cuGetProcAddress", &p, 12000, 0, NULL) == CUDA_SUCCESS && p == (void *)new);
	CHECK(new("", &p, 0, 0, NULL) == CUDA_ERROR_NOT_FOUND && !p);
	CHECK(new("cuNoSuchThing", &p, 12000, 0, NULL) == CUDA_ERROR_NOT_FOUND);
	/* A versioned name, and a function that has no hook. */
	CHECK(new("cuMemcpyDtoH", &p, 12000, 0, NULL) == CUDA_SUCCESS && p == dlsym(driver, "cuMemcpyDtoH_v2"));
	CHECK(new("cuFake", &p, 12000, 0, NULL) == CUDA_SUCCESS && !in_gsan(p));
	/* The per-thread default stream is another function. */
	cuuint64_t flag = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	CHECK(new("cuStreamSynchronize", &p, 12000, flag, NULL) == CUDA_SUCCESS && in_gsan(p));
	CHECK(((CUresult(*)(CUstream))p)(NULL) == CUDA_SUCCESS && !strcmp(fake->last_call, "cuStreamSynchronize_ptsz"));
}

int probe(void);
int next_probe(void); /* libnext_b.so's */

/* Three libraries define probe(); the middle one asks for the next. A dlsym hook that calls instead of jumping finds the
 * first or its own. */
static void test_next(void)
{
	CHECK(probe() == 1);
	CHECK(next_probe() == 3);
	CHECK(dlsym(RTLD_NEXT, "no_such_symbol") == NULL && dlerror());
}

static int lines_in_child(int (*child)(void), char *text, size_t room)
{
	int to[2];

	if (pipe(to))
		return -1;
	if (!fork()) {
		dup2(to[1], 2);
		unsetenv("GSAN_SOCKET");
		_exit(child());
	}
	close(to[1]);
	size_t n = 0;
	ssize_t got;
	while (n < room - 1 && (got = read(to[0], text + n, room - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = 0;
	close(to[0]);
	int status;
	wait(&status);
	return status;
}

static int child_calls(void)
{
	return cuInit(0) || cuInit(0) || cuCtxSynchronize();
}

static int child_silent(void)
{
	return dlsym(RTLD_DEFAULT, "cuInit") == NULL;
}

static void test_one_line(void)
{
	char text[4096];

	CHECK(lines_in_child(child_silent, text, sizeof(text)) == 0);
	CHECK(!text[0]); /* asking is not calling */
	CHECK(lines_in_child(child_calls, text, sizeof(text)) == 0);
	CHECK(strstr(text, "no gsan-launch: the program runs unchecked"));
	CHECK(strchr(text, '\n') && !strchr(text, '\n')[1]); /* once */
}

int main(void)
{
	/* dlsym for data passes, too. */
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	struct fake *fake = driver ? dlsym(driver, "fake") : NULL;

	if (!fake) {
		fprintf(stderr, "the fake driver is not found: %s\n", dlerror());
		return 1;
	}
	test_one_line();
	reaches(fake, (void *)cuCtxSynchronize);
	reaches(fake, dlsym(driver, "cuCtxSynchronize"));
	reaches(fake, dlsym(RTLD_DEFAULT, "cuCtxSynchronize"));
	reaches(fake, dlsym(RTLD_NEXT, "cuCtxSynchronize"));
	test_get_proc_address(fake, driver);
	/* What the driver lacks stays absent, and cuGetExportTable is left alone. */
	CHECK(dlsym(driver, "cuEventElapsedTime") == NULL);
	CHECK(dlsym(RTLD_DEFAULT, "cuEventElapsedTime") == NULL);
	CHECK(!in_gsan(dlsym(RTLD_DEFAULT, "cuGetExportTable")));
	test_next();
	return failed;
}

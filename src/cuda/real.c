/* Finds the driver's functions with the C library's dlsym, obtained by dlvsym: libgsan exports a dlsym of its own, and
 * a plain reference to that name here would bind to it. */
#include "cuda/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

struct real real;

typedef void *dlsym_function(void *, const char *);

struct real_row { const char *name; size_t offset; };

static const struct real_row real_rows[] = {
#define REAL(name, prototype) {#name, offsetof(struct real, name)},
#include "cuda/real.def"
};

void *real_dlsym_function(void)
{
	static void *found; /* idempotent: every thread finds the same function */
	void *function = __atomic_load_n(&found, __ATOMIC_RELAXED);

	if (!function) {
		/* glibc 2.34 moved dlsym from libdl into libc, under a new version. */
		function = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
		if (!function)
			function = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
		__atomic_store_n(&found, function, __ATOMIC_RELAXED);
	}
	return function;
}

void *real_dlsym(void *handle, const char *name)
{
	dlsym_function *function = (dlsym_function *)real_dlsym_function();

	return function ? function(handle, name) : NULL;
}

static void real_fill(void *driver)
{
	for (size_t i = 0; i < sizeof(real_rows) / sizeof(real_rows[0]); i++)
		*(void **)((char *)&real + real_rows[i].offset) = real_dlsym(driver, real_rows[i].name);
}

int real_load(int load)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static int loaded; /* stored with release after `real` is full; partner of the acquire below */

	if (__atomic_load_n(&loaded, __ATOMIC_ACQUIRE))
		return 0;
	/* dlopen runs the driver's constructors, which look symbols up and so come back here: never under the lock. */
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | (load ? 0 : RTLD_NOLOAD));
	if (!driver)
		return -ENOENT;
	/* The handle is kept: `real` points into it. */
	pthread_mutex_lock(&lock);
	if (!loaded) {
		real_fill(driver);
		__atomic_store_n(&loaded, 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

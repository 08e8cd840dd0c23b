/* One of three libraries that define probe() (ways_test.c). */
#include <dlfcn.h>

__attribute__((visibility("default"))) int probe(void);
__attribute__((visibility("default"))) int probe(void)
{
	return NEXT_NUMBER;
}

#if NEXT_NUMBER == 2
__attribute__((visibility("default"))) int next_probe(void);
__attribute__((visibility("default"))) int next_probe(void)
{
	int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "probe");

	return next ? next() : -1;
}
#endif

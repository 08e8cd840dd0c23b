#include "driver/chosen.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cuda/real.h"

typedef char *chosen_demangler(const char *name, char *buffer, size_t *size, int *status); /* Itanium C++ ABI, 3.4 */
static chosen_demangler *demangle; /* NULL: there is none */
static pthread_once_t demangle_once = PTHREAD_ONCE_INIT;

static void chosen_find_demangler(void)
{
	void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
	void *function = library ? real_dlsym(library, "__cxa_demangle") : NULL;

	memcpy(&demangle, &function, sizeof(function));
	if (!demangle)
		log_warning("libstdc++.so.6 is not here: patterns of kernels are held against mangled names alone");
}

static int chosen_match_one(const char *patterns, const char *name)
{
	int matches = 0;

	for (size_t n; *patterns && !matches; patterns += n + (patterns[n] == ',')) {
		n = strcspn(patterns, ",");
		char *pattern = strndup(patterns, n);
		matches = pattern && n && !fnmatch(pattern, name, 0);
		free(pattern);
	}
	return matches;
}

int chosen_match(const char *patterns, const char *kernel)
{
	char *name = NULL;
	int status;

	if (chosen_match_one(patterns, kernel))
		return 1;
	if (strncmp(kernel, "_Z", 2))
		return 0;
	pthread_once(&demangle_once, chosen_find_demangler);
	if (demangle)
		name = demangle(kernel, NULL, NULL, &status);
	int matches = name && chosen_match_one(patterns, name);
	free(name);
	return matches;
}

const char *chosen_out(const char *kernel)
{
	const char *include = getenv("GSAN_INCLUDE"), *exclude = getenv("GSAN_EXCLUDE");

	if (include && *include && !chosen_match(include, kernel))
		return "it is none of --include";
	return exclude && *exclude && chosen_match(exclude, kernel) ? "left out by --exclude" : NULL;
}

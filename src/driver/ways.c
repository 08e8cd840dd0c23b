/* How an answer is recognised: dlsym's by name and address, cuGetProcAddress's by its address, since the driver picks
 * among the versions of a function by rules of its own. */
#include "driver/ways.h"

#include <dlfcn.h>
#include <string.h>

#include "base/log.h"
#include "cuda/hooks.h"
#include "driver/rtc.h"

void *ways_real_dlsym;

static const struct ways_row *ways_find(const char *name)
{
	for (const struct ways_row *row = ways_rows; row->name; row++)
		if (!strcmp(row->name, name))
			return row;
	return NULL;
}

/* RTLD_DEFAULT and RTLD_NEXT find our own exports, in processes without CUDA too; and RTLD_NEXT from a library that was
 * loaded later passes us by. What the driver has is answered with our entry; what it lacks, or no driver at all, as if
 * we were not there. */
static int ways_dlsym_search(void *handle, const struct ways_row *row, const char *name, void **answer)
{
	if (real_load(0) == 0 && *row->real)
		*answer = row->entry;
	else if (handle == RTLD_NEXT)
		return 0;
	else
		*answer = real_dlsym(RTLD_NEXT, name); /* next after this library; sets dlerror() */
	return 1;
}

/* Of NVRTC or nvJitLink. What a caller finds in its own scope alone has no entry of ours: RTLD_NEXT, and RTLD_DEFAULT if it is in nobody else's. */
static int ways_dlsym_compiler(void *handle, const char *name, void **answer)
{
	void *found = handle == RTLD_NEXT ? NULL : real_dlsym(handle, name);

	if (!found && (handle == RTLD_DEFAULT || handle == RTLD_NEXT))
		return 0;
	*answer = rtc_entry(handle, name, found);
	return 1;
}

int ways_dlsym(void *handle, const char *name, void **answer)
{
	if (!ways_real_dlsym)
		ways_real_dlsym = real_dlsym_function();
	if (name && name[0] == 'n' && name[1] == 'v')
		return ways_dlsym_compiler(handle, name, answer);
	/* Names that only the driver looks up never match: cuGetExportTable has no row. */
	if (!name || name[0] != 'c' || name[1] != 'u')
		return 0;
	const struct ways_row *row = ways_find(name);
	if (!row)
		return 0;
	if (handle == RTLD_DEFAULT || handle == RTLD_NEXT)
		return ways_dlsym_search(handle, row, name, answer);
	void *found = real_dlsym(handle, name);
	if (found && (found == row->entry || (real_load(0) == 0 && found == *row->real)))
		found = row->entry;
	*answer = found;
	return 1;
}

/* 1 if a final ABI name is the name a program asks for, plus a version or a default-stream suffix. */
static int ways_is_form_of(const char *final, const char *base)
{
	size_t n = strlen(base);

	if (strncmp(final, base, n))
		return 0;
	return !final[n] || (final[n] == '_' && (final[n + 1] == 'v' || !strncmp(final + n, "_pt", 3)));
}

/* The driver chose a version by its own rules; its answer is recognised by its address. */
static void ways_substitute(const char *symbol, void **function)
{
	if (!symbol || !function || !*function)
		return;
	for (const struct ways_row *row = ways_rows; row->name; row++) {
		if (*row->real == *function && ways_is_form_of(row->name, symbol)) {
			*function = row->entry;
			return;
		}
	}
	if (ways_find(symbol))
		log_debug("cuGetProcAddress: a form of %s that has no hook", symbol);
}

CUresult ways_cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags)
{
	CUresult rc = real.cuGetProcAddress(symbol, function, version, flags);

	if (rc == CUDA_SUCCESS)
		ways_substitute(symbol, function);
	return rc;
}

CUresult ways_cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
		CUdriverProcAddressQueryResult *status)
{
	CUresult rc = real.cuGetProcAddress_v2(symbol, function, version, flags, status);

	if (rc == CUDA_SUCCESS)
		ways_substitute(symbol, function);
	return rc;
}

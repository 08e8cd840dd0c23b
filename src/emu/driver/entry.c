/* The driver's front door: api.def as a table, looked up by cuGetProcAddress, and the names of errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "emu/driver/process.h"

struct api {
	const char *base;    /* the name that is asked for */
	void (*entry)(void);
	int since;           /* CUDA version, 1000 × major + 10 × minor */
	int per_thread;      /* its default stream is the thread's own */
};
static const struct api table[] = {
#define API(base, symbol, since) {#base, (void (*)(void))symbol, since, 0},
#define API_STREAM(base, symbol, since, suffix, suffix_since) \
	{#base, (void (*)(void))symbol, since, 0}, {#base, (void (*)(void))symbol##suffix, suffix_since, 1},
#include "emu/driver/api.def"
#undef API
#undef API_STREAM
};

/* The newest form that the asked version knows. A name that has a per-thread form is found in that form alone if it is
 * asked for; others serve both. */
static const struct api *find(const char *base, int version, int per_thread)
{
	const struct api *best = NULL;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		const struct api *a = &table[i];
		if (a->since > version || (a->per_thread && !per_thread) || strcmp(a->base, base))
			continue;
		if (!best || a->per_thread > best->per_thread || (a->per_thread == best->per_thread && a->since > best->since))
			best = a;
	}
	return best;
}

static CUdriverProcAddressQueryResult look_up(const char *base, void **entry, int version, cuuint64_t flags)
{
	int per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
	const struct api *a = find(base, version, per_thread);
	*entry = NULL;
	if (a) {
		memcpy(entry, &a->entry, sizeof *entry); /* a function's address as an object's, as the interface has it */
		return CU_GET_PROC_ADDRESS_SUCCESS;
	}
	return find(base, __INT_MAX__, per_thread) ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
						   : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
}

CUresult CUDAAPI cuGetProcAddress_v2(const char *name, void **entry, int version, cuuint64_t flags,
				     CUdriverProcAddressQueryResult *status)
{
	if (!name || !entry)
		return CUDA_ERROR_INVALID_VALUE;
	CUdriverProcAddressQueryResult found = look_up(name, entry, version, flags);
	if (status)
		*status = found;
	return found == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI cuGetProcAddress(const char *name, void **entry, int version, cuuint64_t flags)
{
	return cuGetProcAddress_v2(name, entry, version, flags, NULL);
}

/* NVIDIA's libraries, of which cudart is first, ask for private tables by number; there are none here. NVRTC (13.0.88) does without its own. */
CUresult CUDAAPI cuGetExportTable(const void **export_table, const CUuuid *id)
{
	static const unsigned char nvrtc[16] = {0xda, 0x91, 0x51, 0xd3, 0x3a, 0xe6, 0xcc, 0x41, 0xa5, 0xc0, 0x4f, 0x26, 0xd5, 0x33, 0xe3, 0x28};
	if (!id || memcmp(id, nvrtc, sizeof nvrtc))
		log_once(LOG_ERROR, "emulated device: NVIDIA's own CUDA runtime does not run here: it asks for tables that only NVIDIA's driver "
				    "has; link with `nvcc -cudart shared`, so that the emulated device's runtime, libcudart.so beside this libcuda.so.1, is taken");
	if (export_table)
		*export_table = NULL;
	return CUDA_ERROR_NOT_SUPPORTED;
}

static const struct { CUresult code; const char *name, *text; } errors[] = {
#define ERROR(name, text) {name, #name, text},
#include "emu/driver/errors.def"
#undef ERROR
};

CUresult CUDAAPI cuGetErrorName(CUresult code, const char **name)
{
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	*name = NULL;
	for (size_t i = 0; i < sizeof errors / sizeof *errors && !*name; i++)
		if (errors[i].code == code)
			*name = errors[i].name;
	return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The launch that this thread was last refused: it is in the error's text from then on, and so in what programs say. */
static _Thread_local char refused[700];

CUresult emu_not_supported(const char *what)
{
	snprintf(refused, sizeof refused, "operation not supported; last refused: %s", what);
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult CUDAAPI cuGetErrorString(CUresult code, const char **text)
{
	if (!text)
		return CUDA_ERROR_INVALID_VALUE;
	*text = code == CUDA_ERROR_NOT_SUPPORTED && refused[0] ? refused : NULL;
	for (size_t i = 0; i < sizeof errors / sizeof *errors && !*text; i++)
		if (errors[i].code == code)
			*text = errors[i].text;
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

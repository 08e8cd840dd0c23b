/* cuLink*: of PTX texts, which become one, as cubins are PTX text here. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "emu/driver/cuda_abi.h"
#include "emu/driver/queue.h"
#include "ptx/merge.h"

struct CUlinkState_st { char **input, *made; uint32_t inputs; };

CUresult CUDAAPI cuLinkCreate_v2(unsigned count, CUjit_option *option, void **value, CUlinkState *state)
{
	CUcontext c;
	CUresult result = state ? emu_enter_context(&c) : CUDA_ERROR_INVALID_VALUE;
	(void)count, (void)option, (void)value;
	if (result)
		return result;
	CUlinkState s = calloc(1, sizeof *s);
	if (s)
		*state = s;
	return emu_leave(s ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult CUDAAPI cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name, unsigned count,
				  CUjit_option *option, void **value)
{
	(void)name, (void)count, (void)option, (void)value;
	if (!state || !data)
		return CUDA_ERROR_INVALID_VALUE;
	if (type != CU_JIT_INPUT_PTX) {
		log_error("emulated device: only PTX is linked");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	char **more = realloc(state->input, (state->inputs + 1) * sizeof *more), *text = strndup(data, size);
	state->input = more ? more : state->input;
	if (!more || !text) {
		free(text);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	state->input[state->inputs++] = text;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path, unsigned count, CUjit_option *option,
				  void **value)
{
	char *data;
	size_t size;
	if (!path || text_read_file(path, &data, &size))
		return CUDA_ERROR_FILE_NOT_FOUND;
	CUresult result = cuLinkAddData_v2(state, type, data, size, path, count, option, value);
	free(data);
	return result;
}

CUresult CUDAAPI cuLinkComplete(CUlinkState state, void **made, size_t *size)
{
	struct ptx_error error = {0};
	if (!state || !made || !state->inputs || state->made)
		return CUDA_ERROR_INVALID_VALUE;
	if (ptx_merge((const char *const *)state->input, state->inputs, &state->made, &error)) {
		log_error("emulated device: linking PTX: line %u: %s", error.line, error.text);
		return CUDA_ERROR_INVALID_PTX;
	}
	*made = state->made;
	if (size)
		*size = strlen(state->made) + 1;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLinkDestroy(CUlinkState state)
{
	if (!state)
		return CUDA_ERROR_INVALID_VALUE;
	while (state->inputs)
		free(state->input[--state->inputs]);
	free(state->input);
	free(state->made);
	free(state);
	return CUDA_SUCCESS;
}

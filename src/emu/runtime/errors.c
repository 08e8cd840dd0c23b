/* The errors' names and texts. What the driver knows of an error it says, too, among it what it refused last; texts of errors that
 * neither it nor this library makes are their names. */
#include "emu/runtime/runtime.h"

static const struct { cudaError_t code; const char *name, *text; } errors[] = {
#define ERROR(name) {name, #name, NULL},
#define ERROR_TEXT(name, text) {name, #name, text},
#include "emu/runtime/errors.def"
};

RUNTIME_EXPORT const char *CUDARTAPI cudaGetErrorName(cudaError_t error)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].code == error)
			return errors[i].name;
	return "unrecognized error code";
}

RUNTIME_EXPORT const char *CUDARTAPI cudaGetErrorString(cudaError_t error)
{
	const char *text;
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
		if (errors[i].code == error && errors[i].text)
			return errors[i].text;
	return cuGetErrorString((CUresult)error, &text) ? cudaGetErrorName(error) : text;
}

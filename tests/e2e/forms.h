/* What programs of forms have in common (copies.c, graphs.c): `PROGRAM FORM [racy]` for gsan-launch runs one, ordered, or with an edge left out. */
#ifndef GSAN_E2E_FORMS_H
#define GSAN_E2E_FORMS_H

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(const char *what, CUresult rc)
{
	const char *text = NULL;

	if (rc == CUDA_SUCCESS)
		return;
	cuGetErrorString(rc, &text);
	fprintf(stderr, "%s: %s\n", what, text ? text : "?");
	exit(1);
}
#define MUST(call) must(#call, call)

struct form { const char *name; void (*run)(void); };
#define FORM(name) {#name, name}

/* The kernels of the program's PTX that it names, loaded at once: what is not loaded yet may wait for kernels that run. */
enum { KERNELS_MOST = 32 };
static CUmodule module;
static struct { const char *name; CUfunction function; } kernels[KERNELS_MOST];

static void kernels_load(const char *ptx, const char *const *names, int count)
{
	if (count > KERNELS_MOST)
		exit(3);
	MUST(cuModuleLoadData(&module, ptx));
	for (int i = 0; i < count; i++) {
		kernels[i].name = names[i];
		MUST(cuModuleGetFunction(&kernels[i].function, module, names[i]));
		MUST(cuFuncLoad(kernels[i].function));
	}
}
#define KERNELS_LOAD(ptx, names) kernels_load(ptx, names, sizeof(names) / sizeof(*(names)))

static CUfunction kernel(const char *name)
{
	for (int i = 0; i < KERNELS_MOST && kernels[i].name; i++)
		if (!strcmp(name, kernels[i].name))
			return kernels[i].function;
	fprintf(stderr, "no kernel is called %s\n", name);
	exit(3);
}

static int racy;
static CUcontext context;
static CUstream a, b; /* that wait for nobody */

/* The primary context of the rank's device, with the kernels and the streams. */
static void form_context(void (*load)(void))
{
	const char *rank = getenv("LOCAL_RANK");
	CUdevice device;

	MUST(cuDeviceGet(&device, rank ? atoi(rank) : 0));
	MUST(cuDevicePrimaryCtxRetain(&context, device));
	MUST(cuCtxSetCurrent(context));
	load();
	MUST(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	MUST(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
}

/* The form that the arguments name, in a context, or an end that lists all; the last of them has no name. */
static const struct form *form_begin(int argc, char **argv, const struct form *form, void (*load)(void))
{
	const struct form *first = form;

	while (form->name && (argc < 2 || strcmp(argv[1], form->name)))
		form++;
	racy = argc > 2 && !strcmp(argv[2], "racy");
	if (!form->name) {
		for (; first->name; first++)
			puts(first->name);
		exit(2);
	}
	MUST(cuInit(0));
	form_context(load);
	return form;
}

#endif

/* NVRTC and nvJitLink without a compiler: they answer what rtc_test.c set, and count. Built twice, as two versions. */
#include <string.h>

#include "unit/driver/fakertc.h"

#define API __attribute__((visibility("default")))

API struct fakertc fakertc;

API int nvrtcCompileProgram(void *program, int count, const char *const *option)
{
	int lines = 0;

	(void)program;
	fakertc.compiles++;
	fakertc.options = count;
	for (int i = 0; i < count; i++)
		lines |= !strcmp(option[i], "-lineinfo");
	fakertc.lines = lines;
	return lines && fakertc.refuses_lines ? 5 : 0;
}

API int nvrtcGetCUBINSize(void *program, size_t *size) { return (void)program, *size = fakertc.cubin ? strlen(fakertc.cubin) + 1 : 0, 0; }
API int nvrtcGetCUBIN(void *program, char *cubin) { return (void)program, strcpy(cubin, fakertc.cubin), 0; }
API int nvrtcGetPTXSize(void *program, size_t *size) { return (void)program, *size = fakertc.ptx ? strlen(fakertc.ptx) + 1 : 1, 0; }
API int nvrtcGetPTX(void *program, char *ptx) { return (void)program, strcpy(ptx, fakertc.ptx ? fakertc.ptx : ""), 0; }
API int nvrtcVersion(int *major, int *minor) { return *major = 13, *minor = 0, 0; }

API int nvJitLinkVersion(int *major, int *minor) { return nvrtcVersion(major, minor); }

API int nvJitLinkCreate(void **link, uint32_t count, const char **option)
{
	fakertc.links++;
	fakertc.alive++;
	fakertc.asked_ptx = 0;
	for (uint32_t i = 0; i < count; i++)
		fakertc.asked_ptx |= !strcmp(option[i], "-ptx");
	*link = (char *)&fakertc + fakertc.links;
	return 0;
}

API int nvJitLinkDestroy(void **link) { return fakertc.alive--, *link = NULL, 0; }
API int nvJitLinkComplete(void *link) { return (void)link, fakertc.completes++, 0; }

API int nvJitLinkAddData(void *link, int type, const void *data, size_t size, const char *name)
{
	(void)data, (void)size, (void)name;
	fakertc.type = type;
	fakertc.adds++;
	return link == fakertc.refuses_inputs;
}

API int nvJitLinkAddFile(void *link, int type, const char *path) { return (void)path, nvJitLinkAddData(link, type, NULL, 0, NULL); }
API int nvJitLinkGetLinkedCubinSize(void *link, size_t *size) { return nvrtcGetCUBINSize(link, size); }
API int nvJitLinkGetLinkedCubin(void *link, void *cubin) { return nvrtcGetCUBIN(link, cubin); }
API int nvJitLinkGetLinkedPtxSize(void *link, size_t *size) { return nvrtcGetPTXSize(link, size); }
API int nvJitLinkGetLinkedPtx(void *link, char *ptx) { return nvrtcGetPTX(link, ptx); }

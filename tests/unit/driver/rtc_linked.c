/* A program that is linked to NVRTC (fakertc.c), with libgsan.so before it. */
#include <string.h>

#include "unit/check.h"
#include "unit/driver/fakertc.h"

extern struct fakertc fakertc;

int main(void)
{
	static const char *const option[] = {"-arch=sm_90"};
	char made[64];
	size_t size;
	int major, minor;

	CHECK(nvrtcVersion(&major, &minor) == 0);
	CHECK(nvrtcCompileProgram(NULL, 1, option) == 0);
	CHECK(fakertc.options == 2 && fakertc.lines);
	fakertc.cubin = "a cubin";
	fakertc.ptx = ".version 8.0 of it";
	CHECK(nvrtcGetCUBINSize(NULL, &size) == 0 && size == strlen(fakertc.ptx) + 1);
	CHECK(nvrtcGetCUBIN(NULL, made) == 0 && !strcmp(made, fakertc.ptx));
	return 0;
}

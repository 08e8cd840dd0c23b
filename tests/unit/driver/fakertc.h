/* What fakertc.c counts and answers. */
#ifndef GSAN_TEST_FAKERTC_H
#define GSAN_TEST_FAKERTC_H

#include <stddef.h>
#include <stdint.h>

#define RTC(library, name, parameters, ...) int name parameters;
#define RTC_REAL RTC
#include "driver/rtc.def"
int nvrtcVersion(int *major, int *minor);
int nvJitLinkVersion(int *major, int *minor);

struct fakertc {
	const char *cubin, *ptx;                        /* what is made; NULL: nothing of the kind */
	int refuses_lines;                              /* -lineinfo is no option of this one */
	void *refuses_inputs;                           /* the link that takes none */
	int compiles, options, lines;                   /* the last one's: how many, whether -lineinfo was there */
	int links, alive, completes, adds, type, asked_ptx; /* type: the last input's; asked_ptx: of the last link */
};

#endif

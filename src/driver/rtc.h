/* rtc: compilers within the process, NVRTC and nvJitLink. What they make is machine code: the driver compiles nothing, and sees no PTX. NVRTC
 * has it, and nvJitLink is given it; so what is made is known again when it is loaded (link.h). NVRTC is also told to keep the lines of the
 * source. On the emulated device the machine code is the PTX.
 *
 * Their functions are found by dlsym, as Python's packages do, or NVRTC's by the ELF symbols of programs that are linked to it; of CUDA 12 and 13.
 * Those of another version, and of a library that is loaded twice, pass unchanged. */
#ifndef GSAN_DRIVER_RTC_H
#define GSAN_DRIVER_RTC_H

/* What dlsym(handle, name) answers for `found`, which it has found: that, or our entry for it. */
void *rtc_entry(void *handle, const char *name, void *found);

#endif

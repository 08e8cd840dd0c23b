/* Clones that stand beside what the driver has loaded, in a module or a library of their own: of fat binaries, for the driver runs the
 * machine code in them, and of libraries that are loaded before there is a context. They are made when a kernel is asked for first. */
#ifndef GSAN_DRIVER_FAT_H
#define GSAN_DRIVER_FAT_H

#include "driver/image.h"
#include "fatbin/fatbin.h"

struct flow;
struct holder { CUmodule module; CUlibrary library; }; /* one of them: where a kernel is looked for by its name */

/* The driver has loaded a text, or a fat binary, by *handle, which may become another one. */
void fat_text(const struct image *i, const char *text, void **handle);
void fat_linked(const struct image *i, const char *text, void **handle); /* text: of which the driver linked it; NULL: of others, too */
void fat_binary(const struct image *i, const struct fatbin *b, void **handle);

/* Puts what is loaded as `better` in the place of *handle. What was there ends, at once, or with `better` if that came while a stream was
 * being captured: an end may wait for the device. */
void fat_exchange(const struct image *i, void *better, void **handle);

/* Why there is no PTX in it of which clones could be made for this GPU: a string literal. NULL: there is some. */
const char *fat_lacks(const struct fatbin *b);

/* Where the clones of a module's or library's kernels are. NULL, or why there are none: a string literal. Not while a stream is being
 * captured, and by one thread at a time. */
const char *fat_clones(void *handle, struct holder *clones);

/* The module is what the driver has made of that library in the current context. */
void fat_library_module(CUlibrary library, CUmodule module);
void *fat_loaded(void *handle); /* with what a module ends: its library, if it is known to be one's; or itself */

/* It is about to be unloaded, and what stands beside it is; or (unload 0) it has ended with its context, and so has that. */
void fat_forget(void *handle, int unload);
void fat_forget_context(CUcontext context);

#endif

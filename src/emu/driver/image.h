/* What programs hand to module loading: PTX text, bare or inside a fat binary. Machine code is refused by name. */
#ifndef GSAN_EMU_DRIVER_IMAGE_H
#define GSAN_EMU_DRIVER_IMAGE_H

#include <stddef.h>

#include "emu/driver/cuda_abi.h"

/* Finds the PTX within an image whose size the caller does not know: 0. *unpacked: what has to be freed, or NULL. */
CUresult emu_image_ptx(const void *image, size_t image_size, const char **ptx, size_t *size, char **unpacked);

#endif

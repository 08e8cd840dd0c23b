/* What the program links by cuLink*. The driver answers machine code, which is known again by its bytes when it is loaded. */
#ifndef GSAN_DRIVER_LINK_H
#define GSAN_DRIVER_LINK_H

#include <stddef.h>

/* Whether an image is what the driver has linked. size 0: not known. *text: the PTX, if that was the only input, or NULL. Both stay. */
int link_made(const void *image, size_t size, const char **text, const char **source);

#endif

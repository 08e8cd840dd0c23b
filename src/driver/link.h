/* Machine code that is made in the process: the driver links it (cuLink*, here), or a library compiles it (rtc.h). It is known again by its
 * bytes when it is loaded. */
#ifndef GSAN_DRIVER_LINK_H
#define GSAN_DRIVER_LINK_H

#include <stddef.h>

/* Whether an image is what was made so. size 0: not known. *text: the PTX, one text of all inputs, if all are PTX, or NULL. Both stay. */
int link_made(const void *image, size_t size, const char **text, const char **source);
/* Of that PTX, or of something else (NULL), this was made. */
void link_told(const void *made, size_t size, const char *text, const char *source);

/* Step by step: an input of a link that is not complete; text NULL: it is no PTX. The whole of it is that PTX. What is known of it, as link_made(). It
 * has ended. */
void link_input(void *state, const char *text, size_t size, const char *source);
void link_whole(void *state, const char *text);
int link_of(void *state, const char **text, const char **source);
void link_ended(void *state);

#endif

/* room: the local memory that clones need, made while nothing runs. The driver makes it when a kernel that needs more than there is is launched for the
 * first time, and waits for all that the GPU was given: behind a kernel, or a stream, that waits for what is launched later that would be for ever. */
#ifndef GSAN_DRIVER_ROOM_H
#define GSAN_DRIVER_ROOM_H

/* In the current context, of which the program has used nothing yet. If it cannot be, it is as without this. */
void room_make(void);

#endif

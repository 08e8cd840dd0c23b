#ifndef GSAN_DRIVER_LISTING_H
#define GSAN_DRIVER_LISTING_H

/* The name by which the driver is asked: for that of a clone, or of what it says of itself, one that nothing has. */
const char *listing_asked(const char *name);

#endif

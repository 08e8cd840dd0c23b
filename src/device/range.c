/* The kernel that goes over copies and sets: a module of its own, with what it needs of the runtime. */
#define RANGES 1
#include "device/range.h"

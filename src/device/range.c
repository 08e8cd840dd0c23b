/* The kernel that goes over copies and sets, and the one that makes records of graphs: a module of their own, with what it needs of the runtime. */
#define RANGES 1
#include "device/nodes.h"
#include "device/range.h"

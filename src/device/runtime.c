/* The functions that checked clones call (abi.h), one translation unit, so that clang sees all of it and nothing has external
 * linkage but these. Each header below is one kind of call. */
#include "device/enter.h"
#include "device/batch.h"
#include "device/lines.h"
#include "device/red.h"
#include "device/strong.h"

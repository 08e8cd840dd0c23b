/* The position of the one lane that the native runtime has. */
#include "device/gpu.h"

_Thread_local struct gpu_host gpu_host;

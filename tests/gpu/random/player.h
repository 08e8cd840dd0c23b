/* The kernels that execute programs of native.h: the same whatever the programs. Three, because the rewriter and
 * the runtime treat a kernel by what it contains. */
#ifndef GSAN_PLAYER_H
#define GSAN_PLAYER_H

#include <stdio.h>

enum player_kernel {
	PLAYER_WEAK, /* weak accesses alone */
	PLAYER_REDS, /* and relaxed reds */
	PLAYER_SYNC, /* everything; at most 1,024 threads, and registers for as many */
	PLAYER_KERNELS
};
extern const char *const player_name[PLAYER_KERNELS];

int player_has(enum player_kernel kernel, size_t code);
void player_emit(enum player_kernel kernel, FILE *to); /* a module with this kernel */

#endif

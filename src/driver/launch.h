/* How a kernel is launched in any of the forms that there are, a graph's node among them: its clone goes in its place with one parameter more,
 * the launch record. */
#ifndef GSAN_DRIVER_LAUNCH_H
#define GSAN_DRIVER_LAUNCH_H

#include "driver/function.h"

struct launch {
	CUfunction f;
	uint32_t grid[3], block[3], shared;
	CUstream stream;
	void **params, **extra;
	const CUlaunchConfig *config; /* of cuLaunchKernelEx, else NULL */
	int cooperative;
	int set; /* its parameters were set on the function */
	/* Makes the driver call of this form with another kernel and other parameters. */
	CUresult (*call)(const struct launch *l, CUfunction f, void **params, void **extra);
};

/* Why the clone cannot be launched in the kernel's place: a string literal; NULL: it can. */
const char *launch_refuse(struct function *fn, const struct launch *l);
CUresult launch_clone(const struct launch *l, const struct function *fn, struct gsan_launch *record);

/* What of its record depends on how it is launched, and not on when. */
struct launch_shape { uint32_t kernel; uint8_t warp_bits; int unseen, cooperative; };
struct launch_shape launch_shape(const struct flow *f, const struct function *fn, const struct launch *l);
/* The slot's record for launch `seq` of it. */
struct gsan_launch *launch_record(struct flow *f, const struct launch_shape *shape, uint32_t slot, uint32_t seq);

/* A kernel that runs plain, numbered `seq`: told before the call, unless its model says that it is local; and taken back if the driver refused it. */
void launch_opens(struct flow *f, enum model model, uint32_t slot, uint32_t seq);
void launch_opens_not(struct flow *f, enum model model, uint32_t seq);
/* That it runs unchecked is said, for this reason, a string literal; and counted, once the driver took it. */
void launch_say(struct flow *f, struct function *fn, const char *reason);
void launch_count(struct flow *f, int left_out);

/* A launch on a GPU that is not checked: before the call, and behind it. NULL: nothing is. */
struct flow *launch_elsewhere_begin(void);
CUresult launch_elsewhere_end(struct flow *f, CUresult rc);

#endif

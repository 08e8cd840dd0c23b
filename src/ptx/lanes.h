/* What a register's value has to do with the lane: the clone need not find out at run time that the lanes of a warp fill
 * a line when their addresses say so. Over the lanes of a warp, a value is  shared + sum of step[j] × bit j of the lane,
 * where a bit may also be `bad`: the value depends on it in some other way. One flow-insensitive fixpoint per function,
 * sound where no branch depends on the lane (then all lanes of a warp execute the same definition of a register). */
#ifndef GSAN_PTX_LANES_H
#define GSAN_PTX_LANES_H

#include "ptx/ptx.h"

#define PTX_LANE_BITS 5u

struct ptx_lane_value {
	uint8_t known;               /* 0: no definition seen (yet) */
	uint8_t bad;                 /* bits of the lane it depends on in an unknown way */
	uint64_t ones;               /* bits that the shared part may have set */
	int64_t step[PTX_LANE_BITS];
};

struct ptx_lanes {
	int together;                /* whole warps, and no branch depends on the lane */
	uint32_t *base;              /* by declaration id: first register's place in `value` */
	struct ptx_lane_value *value;
	uint32_t values;
};

int ptx_lanes_make(const struct ptx_module *m, const struct ptx_function *f, struct ptx_lanes *lanes); /* 0, -ENOMEM */
/* Sound where lanes part, too: parted[i] says of each instruction whether they may be apart there. */
int ptx_lanes_make_parted(const struct ptx_module *m, const struct ptx_function *f, const uint8_t *parted, struct ptx_lanes *lanes);
int ptx_lanes_differ(const struct ptx_lanes *lanes, const struct ptx_operand *reg); /* may it, from lane to lane? */
void ptx_lanes_free(struct ptx_lanes *lanes);
/* The largest n ≤ 32 such that in each aligned group of n lanes the register grows by `bytes` from lane to lane; 1: none.
 * Only meaningful if `together`. */
uint32_t ptx_lanes_run(const struct ptx_lanes *lanes, const struct ptx_operand *reg, uint32_t bytes);

#endif

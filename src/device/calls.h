/* C prototypes of the functions that abi.h names, for the runtime itself and for tests that call it natively. */
#ifndef GSAN_DEVICE_CALLS_H
#define GSAN_DEVICE_CALLS_H

#include "device/gpu.h"

u64 gsan_enter(u64 launch, u32 flags);
void gsan_leave(u64 launch, u64 self);
void gsan_access1(u64 launch, u64 self, u32 valid, u64 a0, u32 d0);
void gsan_access2(u64 launch, u64 self, u32 valid, u64 a0, u32 d0, u64 a1, u32 d1);
void gsan_access4(u64 launch, u64 self, u32 valid, u64 a0, u32 d0, u64 a1, u32 d1, u64 a2, u32 d2, u64 a3, u32 d3);
void gsan_access8(u64 launch, u64 self, u32 valid, u64 a0, u32 d0, u64 a1, u32 d1, u64 a2, u32 d2, u64 a3, u32 d3, u64 a4,
		  u32 d4, u64 a5, u32 d5, u64 a6, u32 d6, u64 a7, u32 d7);
void gsan_lines(u64 launch, u64 self, u32 quick, u32 n, u64 line, u32 desc);
u32 gsan_red(u64 launch, u64 self, u32 quick, u64 address, u32 desc);
u32 gsan_relaxed(u64 launch, u64 self, u32 quick, u64 address, u32 desc);
u32 gsan_hold(u64 launch, u64 self, u32 todo, u64 address, u32 desc);
void gsan_take(u64 launch, u64 self, u32 todo, u64 address, u32 desc);
void gsan_learned(u64 launch, u64 self, u64 address, u32 desc);
void gsan_tried(u64 launch, u64 self, u32 todo, u64 address, u32 desc);
void gsan_reduced(u64 launch, u64 self, u32 todo, u64 address, u32 desc);
void gsan_before(u64 launch, u64 self, u32 whole, u64 address, u32 desc, u64 value);
u64 gsan_spin(u64 launch, u64 self, u32 turn, u64 address, u32 desc, u64 expected);
u32 gsan_look(u64 launch, u64 self, u64 address, u32 desc);
void gsan_after(u64 launch, u64 self, u32 whole, u64 address, u32 desc, u64 value, u32 looked);
void gsan_fence(u64 launch, u64 self, u32 desc);
void gsan_unseen(u64 launch, u64 self);
void gsan_barrier(u64 launch, u64 self);
void gsan_meet(u64 launch, u64 self, u32 id, u32 all, u32 waits);
void gsan_met(u64 launch, u64 self, u32 id);
void gsan_arrive(u64 launch, u64 self, u32 where);
void gsan_waited(u64 launch, u64 self, u32 where);
void gsan_behind(u64 launch, u64 self);
u64 gsan_depended(u64 launch, u64 self);

#endif

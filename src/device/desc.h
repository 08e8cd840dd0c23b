/* The descriptor of an operation, as the clone passes it (abi.h), taken apart. */
#ifndef GSAN_DEVICE_DESC_H
#define GSAN_DEVICE_DESC_H

#include "device/abi.h"
#include "device/record.h"

ALWAYS u32 desc_op(u32 desc) { return desc >> GSAN_DESC_OP_SHIFT & 31; }
ALWAYS u32 desc_bytes(u32 desc) { return desc >> GSAN_DESC_BYTES_SHIFT & 63; } /* of what is no strong vector */
/* A strong vector is one operation per element (PTX ISA, 8.2.4): its bytes, how many, the bytes of one, one as a scalar. */
ALWAYS u32 desc_vector(u32 desc) { return 1u << (31 - __builtin_clz(desc_bytes(desc))); }
ALWAYS u32 desc_elements(u32 desc) { return 1u << (desc_bytes(desc) - desc_vector(desc)); }
ALWAYS int desc_is_scalar(u32 desc) { return !(desc_bytes(desc) & (desc_bytes(desc) - 1)); }
ALWAYS u32 desc_element(u32 desc) { return desc_vector(desc) / desc_elements(desc); }
ALWAYS u32 desc_scalar(u32 desc) { return (desc & ~(63u << GSAN_DESC_BYTES_SHIFT)) | desc_element(desc) << GSAN_DESC_BYTES_SHIFT; }
/* Of what is no strong vector, its bytes in the granule where it begins. */
ALWAYS u32 desc_mask(u32 desc, u64 canonical)
{
	return granule_mask(canonical, desc_bytes(desc) < GSAN_GRANULE ? desc_bytes(desc) : GSAN_GRANULE);
}
ALWAYS u32 desc_scope(u32 desc) { return op_scope(desc_op(desc)); }
ALWAYS u32 desc_sem(u32 desc) { return desc >> GSAN_DESC_SEM_SHIFT & 3; } /* not of a fence */
ALWAYS int desc_is_rmw(u32 desc) { return op_is_rmw(desc_op(desc)); }
ALWAYS int desc_is_cas(u32 desc) { return (int)(desc >> GSAN_DESC_SEM_SHIFT & GSAN_SEM_CAS); }
ALWAYS int desc_cas_failed(u32 desc) { return desc_is_cas(desc) && !desc_is_rmw(desc); } /* it comes as the load that it was */
ALWAYS int desc_acquires(u32 desc) { return desc_sem(desc) & GSAN_SEM_ACQUIRE; }
ALWAYS int desc_releases(u32 desc) { return desc_sem(desc) & GSAN_SEM_RELEASE; }

#endif

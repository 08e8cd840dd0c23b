#include "litmus/ranges.h"

static volatile unsigned last; /* no two functions are alike, and none ends with its call */

#define RANGE(n) \
	static __attribute__((noinline)) CUresult range_##n(const struct range *r) \
	{ \
		CUresult rc = r->from ? cuMemcpyDtoDAsync(r->to, r->from, r->bytes, r->stream) : \
					cuMemsetD8Async(r->to, r->value, r->bytes, r->stream); \
		last = n; \
		return rc; \
	}
#include "ranges.def"
#undef RANGE

#define RANGE(n) range_##n,
static CUresult (*const function[RANGES])(const struct range *) = {
#include "ranges.def"
};

CUresult ranges_call(unsigned program, const struct range *r) { return function[program % RANGES](r); }

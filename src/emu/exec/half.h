/* Small floating formats: each value is widened to double, worked on there, and rounded once into its format. Every
 * format of at most 24 bits fits: sums and products of two such values round in double at most once more than exact
 * arithmetic would, which round-to-odd (half_fma) makes harmless. */
#ifndef GSAN_EMU_EXEC_HALF_H
#define GSAN_EMU_EXEC_HALF_H

#include <math.h>
#include <stdint.h>

enum half_format { HALF_F16, HALF_BF16, HALF_TF32, HALF_F32, HALF_E4M3, HALF_E5M2 };

enum half_format half_format_of(unsigned ptx_type);
int half_is_pair(unsigned ptx_type);
int half_lowest(enum half_format f);             /* the exponent of the smallest normal number */
/* Bits to value; F_FTZ in flags flushes subnormals to zero of their sign. */
double half_load(enum half_format f, uint32_t bits, uint32_t flags);
/* Value to bits with the instruction's flags: rounding, F_FTZ, F_SAT, F_SATFINITE, F_RELU. */
uint32_t half_store(enum half_format f, double v, uint32_t flags);
double half_fma(double a, double b, double c);   /* a * b exact; the sum rounded to odd */
double half_add(double a, double b);             /* the sum rounded to odd */

static inline float half_flush32(float v, int ftz)
{
	return ftz && fpclassify(v) == FP_SUBNORMAL ? copysignf(0, v) : v;
}

#endif

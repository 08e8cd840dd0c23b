/* Dot products as the tensor cores of an H100 form them: PTX leaves the order, precision and rounding of the sum open (PTX ISA
 * 9.7.14, mma). After Fasi and others, "Numerical behavior of NVIDIA tensor cores" (2021), and Khattak and Mikaitis, "Accurate
 * Models of NVIDIA Tensor Cores" (2025): products are exact; those of a block and the accumulator are cut off, towards zero, at
 * a fixed number of bits below the largest of them, and added exactly; the sum is cut off to f32 (to as many bits, if those are
 * fewer), or rounded to f16. */
#ifndef GSAN_EMU_EXEC_DOT_H
#define GSAN_EMU_EXEC_DOT_H

#include "emu/exec/half.h"

#define DOT_BYTES 32u /* of a row, at most */

/* Of what a row of A or a column of B consists; how it is added up. */
struct dot_kind {
	uint8_t bytes;           /* of an element */
	uint8_t integer;         /* 1 signed, 2 unsigned; the sum has 32 bits and wraps around, or saturates */
	uint8_t saturates;
	uint8_t unpacked;        /* numbers of 8 bits made halves: of each four the first two, in a block of their own, then the others;
				  * the accumulator is added at last, rounded to nearest */
	enum half_format format, sum;
	unsigned block;          /* products that are added at once */
	int fraction;            /* bits below the largest exponent that count */
};

struct dot_line { double v[DOT_BYTES]; int exponent[DOT_BYTES]; unsigned n; };

/* The elements that lie in `bytes`. */
void dot_read(const struct dot_kind *k, const uint8_t *from, unsigned bytes, struct dot_line *line);
/* The sum of the products and an accumulator, which is f16, f32 or an integer as the kind says. */
uint32_t dot_product(const struct dot_kind *k, const struct dot_line *a, const struct dot_line *b, uint32_t accumulator);

#endif

#include "emu/exec/dot.h"

#include "emu/exec/machine.h"

#include <limits.h>
#include <string.h>

static double element(const struct dot_kind *k, const uint8_t *from)
{
	uint32_t bits = 0;
	memcpy(&bits, from, k->bytes); /* little endian, as the GPU */
	if (k->integer)
		return k->integer == 1 ? (int8_t)bits : (uint8_t)bits;
	return half_load(k->format, bits, 0);
}

/* As the hardware aligns by it: subnormal numbers have that of the smallest normal one. */
static int exponent_of(double v, enum half_format f)
{
	const int exponent = v != 0 && isfinite(v) ? ilogb(v) : INT_MIN, lowest = half_lowest(f);
	return exponent < lowest ? lowest : exponent;
}

void dot_read(const struct dot_kind *k, const uint8_t *from, unsigned bytes, struct dot_line *line)
{
	line->n = bytes / k->bytes;
	for (unsigned i = 0; i < line->n; i++) {
		const unsigned at = k->unpacked ? i / 4 * 2 + i % 2 + i / 2 % 2 * (line->n / 2) : i;
		line->v[at] = element(k, from + i * k->bytes);
		line->exponent[at] = exponent_of(line->v[at], k->unpacked ? HALF_F16 : k->format);
	}
}

/* Integers of 8 bits: no sum of 32 products and an accumulator leaves the 53 bits of a double. */
static uint32_t integer_product(const struct dot_kind *k, const struct dot_line *a, const struct dot_line *b, uint32_t accumulator)
{
	double sum = (int32_t)accumulator;
	for (unsigned i = 0; i < a->n; i++)
		sum += a->v[i] * b->v[i];
	if (k->saturates)
		sum = sum > INT_MAX ? INT_MAX : sum < INT_MIN ? INT_MIN : sum;
	return (uint32_t)(int64_t)sum;
}

/* One block: from element `at` on. A factor's exponent is its own, so a product may be up to four times its power of two. */
static double block_sum(const struct dot_kind *k, const struct dot_line *a, const struct dot_line *b, unsigned at, double accumulator)
{
	const unsigned end = at + k->block < a->n ? at + k->block : a->n;
	int top = accumulator != 0 ? exponent_of(accumulator, k->sum) : INT_MIN;
	double plain = accumulator, product[DOT_BYTES];
	for (unsigned i = at; i < end; i++) {
		product[i] = a->v[i] * b->v[i];
		plain += product[i];
		const int exponent = a->exponent[i] + b->exponent[i];
		if (product[i] != 0 && exponent > top)
			top = exponent;
	}
	if (!isfinite(plain))
		return plain;
	if (top == INT_MIN) /* no sum is -0 */
		return 0;
	const double unit = ldexp(1, k->fraction - top);
	int64_t sum = (int64_t)(accumulator * unit);
	for (unsigned i = at; i < end; i++)
		sum += (int64_t)(product[i] * unit);
	return ldexp((double)sum, top - k->fraction);
}

uint32_t dot_product(const struct dot_kind *k, const struct dot_line *a, const struct dot_line *b, uint32_t accumulator)
{
	const uint32_t rounding = k->sum == HALF_F32 ? F_RZ : 0, kept = k->sum == HALF_F32 && k->fraction < 23 ? ~0u << (23 - k->fraction) : ~0u;
	uint32_t sum = k->unpacked ? 0 : accumulator;
	if (k->integer)
		return integer_product(k, a, b, accumulator);
	for (unsigned at = 0; at < a->n; at += k->block)
		sum = half_store(k->sum, block_sum(k, a, b, at, half_load(k->sum, sum, 0)), rounding) & kept;
	return k->unpacked ? half_store(k->sum, half_add(half_load(k->sum, sum, 0), half_load(k->sum, accumulator, 0)), 0) : sum;
}

/* Products of matrices: mma.sync by a warp (PTX ISA 9.7.14.5), wgmma.mma_async by four (9.7.15.5), each warp of which makes 16
 * rows of its own. Both are one thing here: 16 rows of A and 8 columns of B at a time, 32 bytes of each at most, into registers
 * of one layout; but for numbers of 64 bits. What runs asynchronously on a GPU runs at its issue, which every correct program
 * must allow. */
#include "emu/exec/dot.h"
#include "emu/exec/ops.h"

#include <math.h>
#include <string.h>

#define ROWS 16u
#define COLUMNS 8u
#define LINE (16 * sizeof(double)) /* bytes of a row of A, or a column of B; but for f64, DOT_BYTES */

/* Register r of an operand with `rows` rows, of `size` bytes: lane l has those of row l / 4 (+ 8) from the (l % 4)th (+ 4) on. */
static void gather(const struct exec_warp *w, const u32 *place, unsigned registers, unsigned rows, size_t size, u8 (*line)[LINE])
{
	for (unsigned r = 0; r < registers; r++) {
		const u8 *from = exec_at(w, place[r]);
		const unsigned down = rows == ROWS ? r & 1 : 0, right = rows == ROWS ? r >> 1 : r;
		for (unsigned l = 0; l < EXEC_LANES; l++)
			memcpy(&line[l / 4 + 8 * down][(l % 4 + 4 * right) * size], &from[l * size], size);
	}
}

static void read_lines(const struct dot_kind *k, u8 (*bytes)[LINE], unsigned count, unsigned each, struct dot_line *line)
{
	for (unsigned i = 0; i < count; i++)
		dot_read(k, bytes[i], each, &line[i]);
}

/* D = A B + C for 8 columns. Lane l has columns 2 (l % 4) and the next of rows l / 4 and l / 4 + 8: a register for each value,
 * or for the two of a row if they are halves. c NULL: C is zero. */
static void multiply(const struct exec_warp *w, const struct dot_kind *k, const struct dot_line *a, const struct dot_line *b,
		     const u32 *d, const u32 *c)
{
	const int halves = !k->integer && k->sum == HALF_F16;
	for (unsigned l = 0; l < EXEC_LANES; l++) {
		u32 sum[4]; /* all, before a register that C may share is written */
		for (unsigned v = 0; v < 4; v++) {
			const u32 from = c ? ((const u32 *)exec_at(w, c[halves ? v / 2 : v]))[l] : 0;
			sum[v] = dot_product(k, &a[l / 4 + v / 2 * 8], &b[l % 4 * 2 + v % 2], halves ? (u16)(from >> v % 2 * 16) : from);
		}
		for (unsigned v = 0; v < 4; v += halves ? 2 : 1)
			((u32 *)exec_at(w, d[halves ? v / 2 : v]))[l] = halves ? sum[v] | sum[v + 1] << 16 : sum[v];
	}
}

/* The types of the result and of A say what is multiplied, and how it is added up. For sm_90, ptxas makes halves of what mma.sync
 * takes as numbers of 8 bits; wgmma adds up 32 of them, with 13 bits. */
static struct dot_kind kind_of(const struct exec_insn *n, int of_group)
{
	struct dot_kind k = { .bytes = 2, .block = 16, .fraction = 25, .saturates = (n->flags & F_SATFINITE) != 0,
			      .sum = half_format_of(n->type[0]), .format = half_format_of(n->type[1]) };
	switch (n->type[1]) {
	case PTX_S8: k.bytes = 1, k.integer = 1; break;
	case PTX_U8: k.bytes = 1, k.integer = 2; break;
	case PTX_B8:
		k.bytes = 1, k.format = (enum half_format)n->sub;
		if (of_group)
			k.block = 32, k.fraction = 13;
		else
			k.unpacked = 1;
		break;
	case PTX_OTHER: k.bytes = 4, k.format = HALF_TF32; break;
	default: break;
	}
	return k;
}

/* x: d, a, b, c. A has twice as many registers as B. */
void op_mma(OP_ARGS)
{
	const struct dot_kind k = kind_of(n, 0);
	const unsigned wide = n->x[3] - n->x[2];
	u8 rows[ROWS][LINE], columns[COLUMNS][LINE];
	struct dot_line a[ROWS], b[COLUMNS];
	(void)m;
	gather(w, n->item + n->x[1], 2 * wide, ROWS, 4, rows);
	gather(w, n->item + n->x[2], wide, COLUMNS, 4, columns);
	read_lines(&k, rows, ROWS, 16 * wide, a);
	read_lines(&k, columns, COLUMNS, 16 * wide, b);
	multiply(w, &k, a, b, n->item + n->x[0], n->item + n->x[3]);
}

/* Sums of f64 are chains of fma. */
void op_mma_f64(OP_ARGS)
{
	const unsigned many = n->x[2] - n->x[1], few = n->x[3] - n->x[2], results = n->x[1] - n->x[0];
	double a[ROWS][16], b[COLUMNS][16];
	(void)m;
	gather(w, n->item + n->x[1], many, many > few ? ROWS : COLUMNS, 8, (u8 (*)[LINE])a);
	gather(w, n->item + n->x[2], few, COLUMNS, 8, (u8 (*)[LINE])b);
	for (unsigned l = 0; l < EXEC_LANES; l++) {
		double sum[4];
		for (unsigned v = 0; v < results; v++) {
			sum[v] = ((const double *)exec_at(w, n->item[n->x[3] + v]))[l];
			for (unsigned k = 0; k < 4 * few; k++)
				sum[v] = fma(a[l / 4 + v / 2 * 8][k], b[l % 4 * 2 + v % 2][k], sum[v]);
		}
		for (unsigned v = 0; v < results; v++)
			((double *)exec_at(w, n->item[n->x[0] + v]))[l] = sum[v];
	}
}

/* ---- matrices in shared memory (PTX ISA 9.7.15.5.1) */

/* Where element k of line `line` lies: an offset in shared memory. Groups of 8 lines (or of 8 elements, where the lines lie side
 * by side: `across`) repeat after `stride` bytes, what lies beside them after `leading` bytes; `span` bytes of a line lie together.
 * A swizzle exchanges pieces of 16 bytes by the bits above them. */
static u32 element_at(u64 descriptor, int across, u32 line, u32 k, u32 size)
{
	const u32 start = (u32)(descriptor & 0x3fff) << 4, leading = (u32)(descriptor >> 16 & 0x3fff) << 4;
	const u32 stride = (u32)(descriptor >> 32 & 0x3fff) << 4, mode = (u32)(descriptor >> 62);
	const u32 span = mode ? 256u >> mode : 16;
	u32 at = start;
	if (!across)
		at += line / 8 * stride + line % 8 * span + k * size / span * leading + k * size % span;
	else if (mode)
		at += line * size / span * leading + k / 8 * stride + k % 8 * span + line * size % span;
	else
		at += line / 8 * stride + k / 8 * leading + k % 8 * span + line % 8 * size;
	return at ^ (at >> 7 & (span / 16 - 1)) << 4;
}

/* Lines `from` and on; 0 after a fault. A base offset tells of swizzles that do not begin at multiples of their pattern: nobody
 * has them. */
static int fetch(struct exec_warp *w, const struct dot_kind *k, u64 descriptor, int across, u32 from, unsigned lines, u8 (*to)[LINE])
{
	for (unsigned i = 0; i < lines; i++)
		for (unsigned e = 0; e < DOT_BYTES / k->bytes; e++) {
			const u32 at = element_at(descriptor, across, from + i, e, k->bytes);
			if (descriptor >> 49 & 7 || at + k->bytes > w->cta->grid->shared_bytes) {
				exec_warp_fault(w, 0, EMU_ILLEGAL_ADDRESS, "a matrix that is not within shared memory, or has a base offset");
				return 0;
			}
			memcpy(&to[i][e * k->bytes], w->cta->shared + at, k->bytes);
		}
	return 1;
}

static void negate(struct dot_line *line, unsigned lines)
{
	for (unsigned i = 0; i < lines; i++)
		for (unsigned e = 0; e < line[i].n; e++)
			line[i].v[e] = -line[i].v[e];
}

/* x: d, a, b, whether D is added to, then what there is of: sign of A, sign of B, is A across, is B across; last the lanes. A in
 * registers lies as it is. */
void op_wgmma(OP_ARGS)
{
	const struct dot_kind k = kind_of(n, 1);
	const int in_registers = (n->flags & F_FRAGMENT) != 0, flags = n->count - 5;
	const int across_a = flags == 4 && *X(u32, 6), across_b = flags > 2 && *X(u32, 3 + flags);
	const unsigned each = !k.integer && k.sum == HALF_F16 ? 2 : 4, blocks = (n->items - (in_registers ? 4u : 0)) / each;
	const int adds = (*X(u32, 3) & 1) != ((n->flags & F_NOT_C) != 0);
	u8 bytes[ROWS][LINE];
	struct dot_line a[ROWS], b[COLUMNS];
	(void)m;
	if (in_registers)
		gather(w, n->item + n->x[1], 4, ROWS, 4, bytes);
	else if (!fetch(w, &k, *X(u64, 1), across_a, w->number % 4 * ROWS, ROWS, bytes))
		return;
	read_lines(&k, bytes, ROWS, DOT_BYTES, a);
	if (flags > 1 && *X(u32, 4) != *X(u32, 5))
		negate(a, ROWS);
	for (unsigned j = 0; j < blocks; j++) {
		const u32 *d = n->item + n->x[0] + j * each;
		if (!fetch(w, &k, *X(u64, 2), across_b, j * COLUMNS, COLUMNS, bytes))
			return;
		read_lines(&k, bytes, COLUMNS, DOT_BYTES, b);
		multiply(w, &k, a, b, d, adds ? d : NULL);
	}
}

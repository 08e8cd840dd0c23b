/* Executes the opcode module in the emulated device's executor and compares each result with vectors.txt, recorded on a
 * GPU: bit for bit, except that any NaN equals any NaN and that the approximate functions differ from hardware by the ulp
 * stated in `tolerances`. A kernel without a recorded line is judged by reference.txt (matrices.py), where sums may differ by
 * `cut`; one that is in neither is a failure.
 *
 *   compare opcodes.ptx vectors.txt reference.txt      compare print opcodes.ptx      prints what the executor computes */
#include "emu/exec/exec.h"

#include "heap.h"
#include "vectors.h"

#include <math.h>

/* Kernels whose name begins so may differ by that many units in the last place (PTX ISA 9.7.3, table of maximum errors;
 * ours is correctly rounded, so hardware's own error is the whole difference), or by `absolute` where the ISA says so. */
static const struct { const char *prefix; uint64_t ulp; double absolute; } tolerances[] = {
	{ "rcp_approx_ftz_f64", 1u << 31, 0 }, { "rsqrt_approx_ftz_f64", 1ull << 32, 0 }, { "rcp_approx", 1, 0 }, { "sqrt_approx", 2, 0 }, { "rsqrt_approx_ftz", 2, 0 }, { "rsqrt_approx_f32", 2, 0 },
	{ "rsqrt_approx_any", 2, 0 }, { "rsqrt_approx_f64", 1u << 30, 0 }, { "ex2_approx_f32", 2, 0 }, { "ex2_approx_ftz_f32", 2, 0 },
	{ "lg2_approx", 2, 0x1p-21 }, { "sin_approx", 0, 0x1p-20 }, { "cos_approx", 0, 0x1p-20 }, { "tanh_approx_f32", 1u << 12, 0x1p-10 },
	{ "div_approx", 2, 0 }, { "div_full", 2, 0 }, { "ex2_approx_f16", 1, 0 }, { "ex2_approx_ftz_bf16", 1, 0 },
	{ "tanh_approx_f16", 1, 0x1p-10 }, { "tanh_approx_bf16", 1, 0x1p-8 },
};

static char *read_all(const char *path)
{
	FILE *f = fopen(path, "rb");
	long size;
	char *text;
	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || !(text = malloc((size_t)size + 1)))
		return NULL;
	rewind(f);
	text[fread(text, 1, (size_t)size, f)] = 0;
	fclose(f);
	return text;
}

static int execute(struct emu_module *module, const char *name, uint64_t *out)
{
	const struct emu_launch launch = { .grid = { 1, 1, 1 }, .block = { vectors_threads(name), 1, 1 }, .params = &out, .sms = 1, .resident = 1 };
	struct emu_error error;
	struct emu_grid *grid;
	uint64_t seed = 1;
	enum emu_state state;
	memset(out, 0, VECTORS_BYTES);
	if (emu_grid_new(emu_module_find(module, name), &launch, &grid, &error)) {
		printf("%s\n", error.text);
		return 0;
	}
	while ((state = emu_grid_run(grid, 10000, &seed, &error)) == EMU_RUNNING)
		;
	emu_grid_free(grid);
	if (state == EMU_FAULT)
		printf("%s\n", error.text);
	return state == EMU_DONE;
}

/* Where the reference judges: it rounds the exact sum, of terms below 2^9, once. Tensor cores cut off what lies far below the
 * largest product, by 25 bits, or 13 in wgmma of numbers of 8 bits; mma of these into halves rounds three times. */
static const struct { const char *prefix; double absolute; } cuts[] = {
	{ "mma", 0x1p-12 }, { "wgmma", 0x1p-12 }, { "mma_m16n8k32_f16", 0.25 }, { "wgmma_f32_e", 0.25 }, { "wgmma_f16_e", 0.25 },
};

/* A format: total bits, mantissa bits. Values become ordered integers, so ulp are their difference. */
struct format { const char *kind; unsigned bits, mantissa; };
static const struct format formats[] = { { "f16", 16, 10 }, { "bf16", 16, 7 }, { "f32", 32, 23 }, { "f64", 64, 52 } };

static int is_nan(const struct format *f, uint64_t v)
{
	const uint64_t infinity = (((uint64_t)1 << (f->bits - 1 - f->mantissa)) - 1) << f->mantissa;
	return (v & (((uint64_t)1 << (f->bits - 1)) - 1)) > infinity;
}
static int64_t ordered(const struct format *f, uint64_t v)
{
	const int64_t magnitude = (int64_t)(v & (((uint64_t)1 << (f->bits - 1)) - 1));
	return v >> (f->bits - 1) & 1 ? -magnitude : magnitude;
}
static double number(const struct format *f, uint64_t v)
{
	const double sign = v >> (f->bits - 1) & 1 ? -1 : 1;
	const unsigned width = f->bits - 1 - f->mantissa;
	const int e = (int)(v >> f->mantissa & ((1u << width) - 1));
	const double fraction = (double)(v & (((uint64_t)1 << f->mantissa) - 1));
	const int bias = (1 << (width - 1)) - 1 + (int)f->mantissa;
	if (e == (1 << width) - 1)
		return sign * (double)INFINITY;
	return sign * (e ? ldexp(fraction + ldexp(1, (int)f->mantissa), e - bias) : ldexp(fraction, 1 - bias));
}

static int close_enough(const char *name, const struct format *f, uint64_t got, uint64_t want, int recorded)
{
	if (got == want || (is_nan(f, got) && is_nan(f, want)))
		return 1;
	if (is_nan(f, got) || is_nan(f, want))
		return 0;
	const double difference = fabs(number(f, got) - number(f, want));
	for (unsigned k = 0; !recorded && k < sizeof cuts / sizeof *cuts; k++)
		if (!strncmp(name, cuts[k].prefix, strlen(cuts[k].prefix)) && difference <= cuts[k].absolute)
			return 1;
	for (unsigned k = 0; k < sizeof tolerances / sizeof *tolerances; k++) {
		if (strncmp(name, tolerances[k].prefix, strlen(tolerances[k].prefix)) != 0)
			continue;
		const int64_t distance = ordered(f, got) - ordered(f, want);
		return llabs(distance) <= (int64_t)tolerances[k].ulp || difference <= tolerances[k].absolute;
	}
	return 0;
}

/* Kinds are formats' names, followed by x2 or x4 where a result has so many values. */
static int same(const char *name, uint64_t got, uint64_t want, int recorded)
{
	const char *kind = strstr(name, "__") + 2;
	const size_t n = strcspn(kind, "x");
	const unsigned values = kind[n] ? (unsigned)(kind[n + 1] - '0') : 1;
	if (got == want)
		return 1;
	for (unsigned k = 0; k < sizeof formats / sizeof *formats; k++) {
		const struct format *f = &formats[k];
		const uint64_t mask = f->bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << f->bits) - 1;
		unsigned good = 0;
		if (strlen(f->kind) != n || strncmp(f->kind, kind, n))
			continue;
		for (unsigned v = 0; v < values; v++)
			good += (unsigned)close_enough(name, f, got >> v * f->bits & mask, want >> v * f->bits & mask, recorded);
		return good == values;
	}
	return 0;
}

/* The line of a kernel, its name skipped. */
static char *line_of(char *vectors, const char *name)
{
	const size_t n = strlen(name);
	for (char *at = vectors; at; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
		if (!strncmp(at, name, n) && at[n] == ' ')
			return at + n;
	return NULL;
}

static int compare(const char *name, const uint64_t *got, char *vectors, char *reference)
{
	static uint64_t want[VECTORS_BYTES / 8];
	char *found = line_of(vectors, name), *line = found ? found : line_of(reference, name);
	unsigned wrong = 0;
	if (!line) {
		printf("%s: not recorded\n", name);
		return 0;
	}
	char *end = line + strcspn(line, "\n"), was = *end;
	*end = 0;
	memset(want, 0, sizeof want);
	const unsigned threads = vectors_read(line, want);
	*end = was;
	if (threads != VECTORS_THREADS) {
		printf("%s: %u results recorded\n", name, threads);
		return 0;
	}
	for (unsigned k = 0; k < 2 * VECTORS_THREADS; k++)
		if (!same(name, got[k], want[k], found != NULL) && wrong++ < 3)
			printf("%s: thread %u result %u: %llx, %s %llx\n", name, k / 2, k % 2, (unsigned long long)got[k],
			       found ? "recorded" : "by reference", (unsigned long long)want[k]);
	return wrong == 0;
}

int main(int argc, char **argv)
{
	static uint64_t out[VECTORS_BYTES / 8];
	const int print = argc == 3 && !strcmp(argv[1], "print");
	char *text[3] = { NULL, NULL, NULL }, name[VECTORS_NAME];
	struct emu_module *module;
	struct emu_error error;
	unsigned bad = 0, all = 0;
	for (int k = 0; k < (print ? 1 : 3); k++)
		if (argc < (print ? 3 : 4) || !(text[k] = read_all(argv[k + 1 + print]))) {
			printf("compare: cannot read the module, the vectors or the reference; record.c says how vectors are recorded\n");
			return 1;
		}
	if (emu_module_load(text[0], strlen(text[0]), &heap, &module, &error)) {
		printf("%s\n", error.text);
		return 1;
	}
	for (const char *at = text[0]; (at = vectors_next(at, name)); all++) {
		const int ran = execute(module, name, out);
		if (print && ran)
			vectors_print(stdout, name, out);
		bad += !ran || (!print && !compare(name, out, text[1], text[2]));
	}
	emu_module_unload(module);
	for (int k = 0; k < 3; k++)
		free(text[k]);
	if (!print)
		printf("%u kernels, %u differ\n", all, bad);
	return bad != 0;
}

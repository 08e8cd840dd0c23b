/* The executor, kernel by kernel: control flow, calls, locks, barriers, spaces, constants, atomics, shuffles, vectors; the same seed
 * gives the same order, another seed another; faults and lacking instructions say what and where. */
#include "emu/exec/exec.h"
#include "emu/exec/machine.h"

#include "heap.h"
#include "kernels.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;
#define CHECK(e) do { if (!(e)) { printf("%s:%d: %s\n", __func__, __LINE__, #e); failures++; } } while (0)

static struct emu_error error;
static uint32_t out[4096];

static struct emu_module *load(const char *ptx)
{
	struct emu_module *m = NULL;
	if (emu_module_load(ptx, strlen(ptx), &heap, &m, &error)) {
		printf("load: %s\n", error.text);
		exit(1);
	}
	return m;
}

/* Returns the final state, EMU_RUNNING if 50 million steps did not end it, -1 if it could not start. */
static int run(struct emu_module *m, const char *name, uint32_t blocks, uint32_t threads, uint64_t seed)
{
	struct emu_kernel *k = emu_module_find(m, name);
	uint32_t *at = out;
	const struct emu_launch launch = { .grid = { blocks, 1, 1 }, .block = { threads, 1, 1 }, .params = &at, .sms = 4, .resident = 8 };
	struct emu_grid *g;
	enum emu_state state = EMU_RUNNING;
	memset(out, 0, sizeof out);
	if (!k || emu_grid_new(k, &launch, &g, &error))
		return -1;
	for (unsigned n = 0; state == EMU_RUNNING && n < 5000; n++)
		state = emu_grid_run(g, 10000, &seed, &error);
	emu_grid_free(g);
	return (int)state;
}

static uint32_t *global_at(const struct emu_module *m, const char *name)
{
	void *at;
	size_t size;
	CHECK(emu_module_global(m, name, &at, &size) == 0 && size == 4);
	return at;
}
static uint32_t global(const struct emu_module *m, const char *name) { return *global_at(m, name); }

static void diverges(void)
{
	struct emu_module *m = load(HEAD DIVERGE);
	CHECK(run(m, "diverge", 1, 32, 1) == EMU_DONE);
	for (uint32_t t = 0; t < 32; t++) {
		CHECK(out[t] == 1000 + (t & 1 ? t * (t + 1) / 2 : 0));
	}
	emu_module_unload(m);
}

static void calls(void)
{
	static const uint32_t fib[] = { 0, 1, 1, 2, 3, 5, 8, 13 };
	struct emu_module *m = load(HEAD CALLS);
	CHECK(run(m, "calls", 1, 32, 2) == EMU_DONE);
	for (uint32_t t = 0; t < 32; t++)
		CHECK(out[t] == 2 * fib[t & 7]);
	emu_module_unload(m);
}

static void locks(void)
{
	struct emu_module *m = load(HEAD LOCK);
	CHECK(run(m, "lock_add", 6, 64, 3) == EMU_DONE);
	CHECK(global(m, "counter") == 384);
	CHECK(global(m, "lock") == 0);
	emu_module_unload(m);
}

static void barriers(void)
{
	struct emu_module *m = load(HEAD BARRIER);
	CHECK(run(m, "barrier", 1, 48, 4) == EMU_DONE);
	for (uint32_t t = 0; t < 40; t++) {
		CHECK(out[t] == 780);
		CHECK(out[t + 48] == 10);
	}
	emu_module_unload(m);
}

/* Who arrived and ended is not counted once more as one that will not come. */
static void arrives(void)
{
	struct emu_module *m = load(HEAD ARRIVES);
	for (uint64_t seed = 1; seed < 9; seed++) {
		CHECK(run(m, "arrives", 1, 128, seed) == EMU_DONE);
		for (uint32_t t = 0; t < 32; t++)
			CHECK(out[t] == 3 * t + 192);
	}
	emu_module_unload(m);
}

static void spaces(void)
{
	struct emu_module *m = load(HEAD SPACES);
	CHECK(run(m, "spaces", 2, 32, 5) == EMU_DONE);
	for (uint32_t t = 0; t < 32; t++) {
		CHECK(out[t] == t + 107);
		CHECK(out[t + 32] == 3);
	}
	emu_module_unload(m);
}

/* WARP_SZ, which is neither a register nor a variable. */
static void constants(void)
{
	struct emu_module *m = load(HEAD CONSTANT);
	CHECK(run(m, "constant", 1, 32, 5) == EMU_DONE);
	CHECK(out[0] == 64 && out[31] == 95);
	emu_module_unload(m);
}

static void narrow(void)
{
	struct emu_module *m = load(HEAD NARROW);
	CHECK(run(m, "narrow", 1, 32, 5) == EMU_DONE);
	CHECK(out[0] == 32 && out[1] == 33 && out[31] == 63);
	emu_module_unload(m);
}

static void atomics(void)
{
	struct emu_module *m = load(HEAD ATOMICS);
	float sum;
	CHECK(run(m, "atomics", 2, 64, 6) == EMU_DONE);
	CHECK(global(m, "most") == 63);
	CHECK(global(m, "ring") == 128 % 5);
	CHECK(out[64] == 3 * 128);
	const uint32_t bits = global(m, "sum");
	memcpy(&sum, &bits, 4);
	CHECK(sum == 128);
	emu_module_unload(m);
}

static void shuffles(void)
{
	struct emu_module *m = load(HEAD SHUFFLES);
	CHECK(run(m, "shuffles", 1, 32, 7) == EMU_DONE);
	for (uint32_t t = 0; t < 32; t++) {
		CHECK(out[t] == (t ^ 1));
		CHECK(out[t + 32] == (t ? t - 1 : 0));
		CHECK(out[t + 64] == 0x55555555);
		CHECK(out[t + 96] == (t != 0));
		CHECK(out[t + 128] == 496);
		CHECK(out[t + 160] == (t & 1 ? 0xaaaaaaaa : 0x55555555));
		CHECK(out[t + 192] == (t == 0));
	}
	emu_module_unload(m);
}

static void vectors(void)
{
	struct emu_module *m = load(HEAD VECTORS);
	CHECK(run(m, "vectors", 1, 1, 8) == EMU_DONE);
	CHECK(out[4] == 0xffffff81 && out[5] == 0x0281 && out[6] == 0xffffff81 && out[7] == 0x02810403);
	emu_module_unload(m);
}

static void orders(void)
{
	struct emu_module *m[3];
	static uint32_t seen[3][512];
	static const uint64_t seeds[3] = { 9, 9, 10 };
	for (unsigned k = 0; k < 3; k++) {
		m[k] = load(HEAD ORDER);
		CHECK(run(m[k], "order", 4, 128, seeds[k]) == EMU_DONE);
		memcpy(seen[k], out, sizeof seen[k]);
		emu_module_unload(m[k]);
	}
	CHECK(!memcmp(seen[0], seen[1], sizeof seen[0]));
	CHECK(memcmp(seen[0], seen[2], sizeof seen[0]));
}

static void faults(void)
{
	struct emu_module *m = load(HEAD WILD SKEWED STUCK LACKING LACKING_BELOW TRAP);
	CHECK(run(m, "wild", 1, 32, 1) == EMU_FAULT);
	CHECK(strstr(error.text, "kernel wild: illegal address, address 0x18") && strstr(error.text, "thread (5,0,0)") && strstr(error.text, "st.global.u32"));
	CHECK(run(m, "skewed", 1, 32, 1) == EMU_FAULT && strstr(error.text, "misaligned address"));
	CHECK(run(m, "stuck", 1, 64, 1) == EMU_FAULT && strstr(error.text, "deadlock"));
	CHECK(run(m, "traps", 1, 1, 1) == EMU_FAULT && strstr(error.text, "kernel traps: trap"));
	CHECK(run(m, "lacking", 1, 1, 1) == -1);
	CHECK(strstr(error.text, "kernel lacking: tcgen05.fence::before_thread_sync (PTX line ") && strstr(error.text, ", dir/lacks.py:31): "));
	CHECK(run(m, "_Z5belowPj__copy", 1, 1, 1) == -1); /* the line that is the user's own */
	CHECK(strstr(error.text, "kernel below: tcgen05") && strstr(error.text, ", dir/lacks.py:8): "));
	CHECK(run(m, "lacking", 1, 2000, 1) == -1);
	CHECK(strstr(error.text, "kernel lacking (PTX line ") && strstr(error.text, "): grid or block size"));
	emu_module_unload(m);
}

/* A variable that holds the text; returns its length. */
static int declare(char *to, const char *name, const char *text)
{
	int n = sprintf(to, ".global .align 1 .b8 %s[%zu] = {", name, strlen(text) + 1);
	for (; *text; text++)
		n += sprintf(to + n, "%d, ", *text);
	return n + sprintf(to + n, "0};\n");
}

/* Runs a kernel, and reads what it wrote to stdout. */
static int run_aside(struct emu_module *m, const char *name, char *text, size_t room)
{
	FILE *aside = tmpfile();
	fflush(stdout);
	const int kept = dup(1);
	dup2(fileno(aside), 1);
	const int state = run(m, name, 1, 2, 1);
	fflush(stdout);
	dup2(kept, 1);
	close(kept);
	rewind(aside);
	text[fread(text, 1, room - 1, aside)] = 0;
	fclose(aside);
	return state;
}

static void system_functions(void)
{
	static char ptx[8192], printed[256];
	char *at = stpcpy(ptx, HEAD SYSTEM_FUNCTIONS);
	at += declare(at, "format", "%d|%5.2f|%lld|%s|%c|%%|%x|%*u|%hhd|%k\n");
	at += declare(at, "text", "text");
	strcpy(at, SYSTEM);
	struct emu_module *m = load(ptx);
	CHECK(run_aside(m, "prints", printed, sizeof printed) == EMU_DONE);
	CHECK(!strcmp(printed, "-3| 1.50|123456789012|text|c|%|ffffff00|   99|0|%k\n-2| 1.50|123456789012|text|c|%|ffffff00|   99|0|%k\n"));
	CHECK(out[0] == 9 && out[1] == 9);
	CHECK(run(m, "asserts", 1, 1, 1) == EMU_FAULT && strstr(error.text, "text:12: text: assertion 'text' failed"));
	CHECK(error.fault == EMU_ASSERTED);
	emu_module_unload(m);
}

static void masks(void)
{
	struct emu_module *m = load(HEAD MASKS);
	for (uint64_t seed = 1; seed < 9; seed++) {
		CHECK(run(m, "masks", 1, 32, seed) == EMU_DONE);
		for (uint32_t t = 0; t < 24; t++) {
			CHECK(out[t] == 0x49249249u << t % 3);
			CHECK(out[t + 32] == t % 3);
			CHECK(t >= 16 || out[t + 64] == (t ^ 12)); /* of lanes that have exited nothing is said */
			CHECK(out[t + 96] == 23);
		}
	}
	emu_module_unload(m);
}

/* Each is an illegal instruction, whatever the seed, that says its masks. */
static void wrong_masks(void)
{
	static const struct { const char *kernel, *says, *also; uint32_t threads; } table[] = {
		{ "not_self", "lane 0 is not in its own member mask 0xfffe", "masks.cu:7", 32 },
		{ "other_instruction", "lanes of member mask 0xffffffff that do not come", "with mask 0xffffffff", 32 },
		{ "other_mask", "that do not come", "match.any.sync.b32", 32 },
		{ "at_barrier", "lanes of member mask 0xffffffff that do not come: 0x55555555; lane 0 waits at 'bar.sync'", "bar.warp.sync -1", 32 },
		{ "redux_masks", "lane 0 has 0x55555555, lane 1 0xaaaaaaaa", "redux.sync.or.b32", 32 },
		{ "spinner", "that do not come", "kernel spinner", 64 },
	};
	struct emu_module *m = load(HEAD FILE_LINE NOT_SELF OTHER_INSTRUCTION OTHER_MASK AT_BARRIER REDUX_MASKS SPINNER);
	for (size_t k = 0; k < sizeof table / sizeof *table; k++)
		for (uint64_t seed = 1; seed < 9; seed++) {
			error = (struct emu_error){ .text = "" };
			CHECK(run(m, table[k].kernel, 1, table[k].threads, seed) == EMU_FAULT);
			CHECK(error.fault == EMU_ILLEGAL_INSTRUCTION && strstr(error.text, table[k].says) && strstr(error.text, table[k].also));
		}
	emu_module_unload(m);
}

/* Lanes that part meet again: the warp takes little more than what one lane takes. */
static void meets_again(void)
{
	struct emu_module *m = load(HEAD STRIDES);
	for (uint64_t seed = 1; seed < 9; seed++) {
		uint64_t began = exec_time, alone;
		CHECK(run(m, "strides", 1, 1, seed) == EMU_DONE);
		alone = exec_time - began;
		began = exec_time;
		CHECK(run(m, "strides", 1, 32, seed) == EMU_DONE);
		CHECK(100 * (exec_time - began) <= 128 * alone); /* 115 is the least; turns taken in every fourth slice were 135 */
		for (uint32_t t = 0; t < 32; t++)
			CHECK(out[t] == t);
	}
	emu_module_unload(m);
}

/* A lane that spins does not keep another of its warp from what it waits for. */
static void goes_on(void)
{
	struct emu_module *m = load(HEAD LANES_WAIT);
	const uint64_t began = exec_time;
	for (uint64_t seed = 1; seed < 9; seed++) {
		*global_at(m, "told") = 0;
		CHECK(run(m, "lanes_wait", 1, 32, seed) == EMU_DONE);
		CHECK(out[5] == 1 && out[9] == 1);
	}
	CHECK(exec_time - began < 8 * 100000);
	emu_module_unload(m);
}

static void parts(void)
{
	uint32_t seen = 0;
	struct emu_module *m = load(HEAD APART);
	for (uint64_t seed = 1; seed < 3000; seed++) {
		*global_at(m, "a") = *global_at(m, "b") = 0;
		CHECK(run(m, "apart", 1, 2, seed) == EMU_DONE);
		seen |= 1u << (out[0] + 2 * out[1]);
	}
	emu_module_unload(m);
	CHECK(seen == (1u << 1 | 1u << 2 | 1u << 3)); /* both 0: none is sequentially consistent */
}

int main(void)
{
	static void (*const tests[])(void) = { diverges, calls, locks, barriers, arrives, spaces, constants, narrow, atomics, shuffles, vectors, orders, faults,
					       system_functions, masks, wrong_masks, meets_again, goes_on, parts };
	for (unsigned k = 0; k < sizeof tests / sizeof *tests; k++)
		tests[k]();
	if (failures)
		printf("%d failures; last error: %s\n", failures, error.text);
	return failures != 0;
}

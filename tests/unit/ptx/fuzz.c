/* Mutated PTX: bytes flipped, pieces cut, doubled and swapped, from a fixed seed. Nothing may crash (the asan preset
 * sees more), and what parses must print byte for byte and come out of the rewriter as text that parses again. */
#include "check.h"
#include "ptx/edit.h"
#include "ptx/rewrite.h"

#define ROUNDS 3000

static const char *const seeds[] = {
	KERNEL(".reg .pred %p<3>; .reg .b32 %r<20>; .reg .b64 %rd<4>; .loc 1 2 3\n@!%p1 ld.global.sys.acquire.b32 { %r7 }, "
	       "[ %rd2 + -8 ];\nL: st.v2.b32 [%rd1], {%r1, %r2};\n{ .reg .b32 %r<3>; atom.add.u32 %r1, [%rd3], 1; @%p2 bra L; }\n"
	       ".loc 1 3 4, function_name $L__s+1, inlined_at 1 2 3\ncp.async.cg.shared.global [%r1], [%rd1], 16, %r2;\n"
	       "setp.lt.s32 %p1|%p2, %r1, 0f3F800000; fence.acq_rel.gpu; ret;") ".file 1 \"a.py\"\n",
	HEAD ".func (.param .b32 r) f(.param .b64 a);\n.global .align 8 .u64 t[2] = {f, 0};\n.entry k(.param .b64 x)\n"
	     ".reqntid 128\n{ .reg .b64 %rd<9>; { .param .b64 a; .param .b32 v; call.uni (v), f, (a); } ret; }\n"
	     ".func (.param .b32 r) f(.param .b64 a) { .reg .b64 %x; st.b32 [%x], 1; ret; }\n.section .debug_str { .b8 1 }\n"};

static uint64_t state = 0x9e3779b97f4a7c15ull;

static uint32_t random_below(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32) % n;
}

static void mutate(char *text, size_t *size)
{
	static const char bytes[] = "{}[]()<>,;:.@!%|+-=\"/*\n 0x9ab_$\x80";
	uint32_t at = random_below((uint32_t)*size), n = 1 + random_below(20);

	if (n > *size - at)
		n = (uint32_t)(*size - at);
	switch (random_below(4)) {
	case 0:
		text[at] = bytes[random_below(sizeof(bytes))];
		break;
	case 1: /* cut */
		memmove(text + at, text + at + n, *size - at - n);
		*size -= n;
		break;
	case 2: /* double */
		memmove(text + at + n, text + at, *size - at);
		*size += n;
		break;
	default: /* overwrite by another piece */
		memmove(text + at, text + random_below((uint32_t)*size - n + 1), n);
		break;
	}
}

/* Returns 1 if the text parsed. */
static int try_one(const char *text, size_t size)
{
	struct ptx_module *m, *again;
	struct ptx_error e = {0};
	struct ptx_edits none = {0};
	struct text printed = {0};
	struct ptx_rewrite_options options = {.source = "fuzz"};
	struct ptx_rewrite_stats stats;
	char *out;
	size_t out_size;

	if (ptx_parse(text, size, &m, &e)) {
		CHECK(e.line && e.text[0]);
		return 0;
	}
	CHECK(!ptx_edit_print(&none, m->text, 0, (uint32_t)m->size, &printed));
	CHECK(printed.size == m->size && !memcmp(printed.data, text, m->size));
	text_free(&printed);
	ptx_free(m);
	if (!ptx_rewrite(text, size, &options, &out, &out_size, &stats, &e)) {
		CHECK(!ptx_parse(out, out_size, &again, &e));
		ptx_free(again);
		free(out);
	}
	return 1;
}

int main(void)
{
	char *text = malloc(65536);
	uint32_t parsed = 0;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		const char *seed = seeds[round % 2];
		size_t size = strlen(seed);
		uint32_t times = 1 + random_below(4);
		char *exact;

		memcpy(text, seed, size);
		while (times-- && size > 40)
			mutate(text, &size);
		exact = malloc(size + 1); /* no slack behind the text: an overrun shows */
		memcpy(exact, text, size);
		parsed += (uint32_t)try_one(exact, size);
		free(exact);
	}
	free(text);
	CHECK(parsed > ROUNDS / 10 && parsed < ROUNDS); /* both ways were taken */
	return 0;
}

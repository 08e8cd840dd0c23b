/* The generator: every program is allowed, the same seed gives the same text, every row of DESIGN §6 occurs. The shrinker:
 * what is left cannot be made smaller, is still of interest, and is the same each time. */
#include "check.h"
#include "generate.h"
#include "rows.h"
#include "shrink.h"
#include "warps.h"

#include <stdlib.h>
#include <string.h>

static char *text_of(struct lit_program *p)
{
	char *text;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	CHECK(to);
	lit_print(p, to);
	CHECK(!fclose(to));
	return text;
}

/* Of programs with copies and sets, those rows; of the others, the others. */
static int rare(const char *row, uint64_t times, int copies)
{
	if (!strcmp(row, "copy") || !strcmp(row, "set") ? !copies : copies)
		return 0;
	if (times < 500)
		fprintf(stderr, "%s: %d times\n", row, (int)times);
	return times < 500;
}

static void test_programs(struct lit_program *(*generate)(uint64_t), int copies)
{
	uint64_t all[ROWS] = {0};
	uint32_t has[ROWS];
	char error[300];
	for (uint64_t seed = 0; seed < 20000; seed++) {
		struct lit_program *p = generate(seed);
		if (lit_check(p, error, sizeof error))
			fprintf(stderr, "seed %d: %s\n", (int)seed, error);
		CHECK(!lit_check(p, error, sizeof error));
		rows_count(p, has);
		for (size_t r = 0; r < ROWS; r++)
			all[r] += has[r];
		lit_free(p);
	}
	for (size_t r = 0; rows_name(r); r++)
		CHECK(!rare(rows_name(r), all[r], copies));
}

/* What the text says is what the generator meant: soak.py runs the text. */
static void test_text(struct lit_program *(*generate)(uint64_t))
{
	char error[300];
	for (uint64_t seed = 0; seed < 500; seed++) {
		struct lit_program *p = generate(seed), *again = generate(seed), *read;
		char *text = text_of(p), *same = text_of(again), *back;
		CHECK(!strcmp(text, same));
		CHECK(!lit_parse(text, "random", &read, error, sizeof error));
		back = text_of(read);
		CHECK(!strcmp(text, back));
		lit_free(p), lit_free(again), lit_free(read);
		free(text), free(same), free(back);
	}
}

/* Programs of warps: allowed, so that who meets whom is settled, and with every form of barrier. */
static void test_warps(void)
{
	uint64_t forms[LIT_MTOKEN + 1] = {0};
	char error[300];
	for (uint64_t seed = 0; seed < 3000; seed++) {
		struct lit_program *p = random_warps(seed), *read;
		char *text = text_of(p), *back;
		if (lit_parse(text, "random", &read, error, sizeof error))
			fprintf(stderr, "seed %d: %s\n", (int)seed, error);
		CHECK(!lit_parse(text, "random", &read, error, sizeof error));
		back = text_of(read);
		CHECK(!strcmp(text, back));
		for (size_t t = 0; t < p->threads; t++)
			for (size_t i = 0; i < p->thread[t].instrs; i++)
				if (p->thread[t].instr[i].op == LIT_BAR)
					forms[p->thread[t].instr[i].meet]++;
		lit_free(p), lit_free(read);
		free(text), free(back);
	}
	for (int f = 0; f <= LIT_MTOKEN; f++)
		CHECK(forms[f] > 200);
}

/* Of interest: an acquiring and a releasing operation on one location, by different launches. */
static int has_pair(struct lit_program *p, void *context)
{
	(void)context;
	for (size_t a = 0; a < p->threads; a++)
		for (size_t i = 0; i < p->thread[a].instrs; i++)
			for (size_t b = 0; b < p->threads; b++)
				for (size_t k = 0; k < p->thread[b].instrs; k++)
					if (p->thread[a].launch != p->thread[b].launch && p->thread[a].instr[i].sem == LIT_ACQUIRE &&
					    p->thread[b].instr[k].sem == LIT_RELEASE && p->thread[a].instr[i].location >= 0 &&
					    p->thread[a].instr[i].location == p->thread[b].instr[k].location)
						return 1;
	return 0;
}

static void test_shrink(void)
{
	size_t shrunk = 0, tries;
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct lit_program *p = random_generate(seed), *again = shrink_copy(p);
		if (has_pair(p, NULL)) {
			p = shrink(p, has_pair, NULL, &tries);
			again = shrink(again, has_pair, NULL, &tries);
			char *text = text_of(p), *same = text_of(again);
			CHECK(!strcmp(text, same));
			CHECK(has_pair(p, NULL));
			CHECK(p->launches == 2 && p->threads == 2 && p->steps == 2);
			CHECK(p->locations == 1 + (size_t)(p->location[p->locations - 1].base >= 0));
			CHECK(p->thread[0].instrs == 1 && p->thread[1].instrs == 1);
			free(text), free(same);
			shrunk++;
		}
		lit_free(p), lit_free(again);
	}
	CHECK(shrunk > 20);
}

int main(void)
{
	test_programs(random_generate, 0);
	test_programs(random_copies, 1);
	test_text(random_generate);
	test_text(random_copies);
	test_warps();
	test_shrink();
	return 0;
}

/* Files of lines: words, quotes and comments, what each mistake is called, and that what is written is read back. */
#include "base/lines.h"

#include <errno.h>
#include <string.h>

#include "../check.h"
#include "base/random.h"

static struct lines l;
static char text[4096];

static void begin(const char *what, size_t size)
{
	memcpy(text, what, size);
	text[size] = 0;
	lines_begin(&l, "a.conf", text, size);
}

static void wrong(const char *what, size_t size, const char *says)
{
	int rc;
	begin(what, size);
	while ((rc = lines_next(&l)) > 0)
		;
	CHECK(rc == -EINVAL && !strcmp(l.error, says));
}
#define WRONG(what, says) wrong(what, sizeof what - 1, says)

static void test_words(void)
{
	static const char file[] = "# none\n\n  local\t*gemm* # of cuBLAS\r\na \"b c\" \"#12\" d#e \"\\\"\\\\\\x\"\n\"\"\nlast";
	begin(file, sizeof file - 1);
	CHECK(lines_next(&l) == 1 && l.number == 3 && l.words == 2 && !strcmp(l.word[0], "local") && !strcmp(l.word[1], "*gemm*"));
	CHECK(lines_next(&l) == 1 && l.number == 4 && l.words == 5 && !strcmp(l.word[1], "b c") && !strcmp(l.word[2], "#12"));
	CHECK(!strcmp(l.word[3], "d#e") && !strcmp(l.word[4], "\"\\\\x"));
	CHECK(lines_next(&l) == 1 && l.number == 5 && l.words == 1 && !*l.word[0]);
	CHECK(lines_next(&l) == 1 && l.number == 6 && !strcmp(l.word[0], "last"));
	CHECK(!lines_next(&l) && !lines_next(&l));
	begin("", 0);
	CHECK(!lines_next(&l));
	begin("\xef\xbb\xbfmarked\n\xef\xbb\xbfno", 15); /* by an editor, at the start alone */
	CHECK(lines_next(&l) == 1 && !strcmp(l.word[0], "marked") && lines_next(&l) == 1 && strlen(l.word[0]) == 5);
	begin("\xef\xbb\xbf", 3);
	CHECK(!lines_next(&l));
}

static void test_wrong(void)
{
	WRONG("a\nb \"c\n", "a.conf:2: a quote is not closed");
	WRONG("\"a\"b", "a.conf:1: no blank behind a closing quote");
	WRONG("a b\0c\n", "a.conf:1: a byte of value 0: is this text?");
	WRONG("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33", "a.conf:1: more than 32 words");
	begin("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32", 86);
	CHECK(lines_next(&l) == 1 && l.words == LINES_WORDS);
}

static void test_written(void)
{
	static const char *const word[] = {"plain", "two words", "#12", "", "\"", "a\\b", "back\\ slash\"", "tab\there", "x#y", "\\"};
	struct text out = {0};
	for (size_t i = 0; i < sizeof word / sizeof *word; i++) {
		lines_add_word(&out, word[i]);
		text_puts(&out, " ");
	}
	begin(out.data, out.size);
	CHECK(lines_next(&l) == 1 && l.words == sizeof word / sizeof *word);
	for (unsigned i = 0; i < l.words; i++)
		CHECK(!strcmp(l.word[i], word[i]));
	CHECK(!strncmp(out.data, "plain \"two words\"", 17));
	text_free(&out);
}

static void test_nearest(void)
{
	static const char *const name[] = {"kernel", "kind", "file", NULL, "require-checked"};
	CHECK(!strcmp(lines_nearest("kernal", name, 5), "kernel") && !strcmp(lines_nearest("kernels", name, 5), "kernel"));
	CHECK(!strcmp(lines_nearest("knd", name, 5), "kind") && !strcmp(lines_nearest("require_checked", name, 5), "require-checked"));
	CHECK(!strcmp(lines_nearest("knid", name, 5), "kind"));
	CHECK(!strcmp(lines_nearest("kern", name, 5), "kernel") && !strcmp(lines_nearest("requ", name, 5), "require-checked") && !lines_nearest("ke", name, 5));
	CHECK(!lines_nearest("colour", name, 5) && !lines_nearest("", name, 5) && !lines_nearest("a-name-that-is-longer-than-any", name, 5));
}

/* Whatever bytes there are: words that are there, or a mistake. */
static void test_any(void)
{
	static const char bytes[] = " \t\r\n#\"\\ab\0\377";
	uint64_t state = 1;
	for (int turn = 0; turn < 20000; turn++) {
		char what[64];
		const size_t size = random_next(&state) % sizeof what;
		for (size_t i = 0; i < size; i++)
			what[i] = bytes[random_next(&state) % (sizeof bytes - 1)];
		begin(what, size);
		int rc;
		while ((rc = lines_next(&l)) > 0)
			for (unsigned i = 0; i < l.words; i++)
				CHECK(l.words <= LINES_WORDS && l.word[i] >= text && l.word[i] + strlen(l.word[i]) <= text + size);
		CHECK(!rc || (rc == -EINVAL && !strncmp(l.error, "a.conf:", 7)));
	}
}

int main(void)
{
	test_any();
	test_words();
	test_wrong();
	test_written();
	test_nearest();
	return 0;
}

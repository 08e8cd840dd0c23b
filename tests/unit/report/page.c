/* How lines are set: the caret under the column, what is shown of long lines, where sentences break, and how names of files are shown. */
#include <string.h>

#include "../check.h"
#include "report/page.h"

#define HAN8 "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2"

static void test_excerpt(void)
{
	static const char numbers[] = "0123456789abcdefghijABCDEFGHIJ0123456789abcdefghijABCDEFGHIJ";
	static const struct { const char *file, *source; uint32_t column; unsigned width; int named; const char *want; } row[] = {
		{"a.cu", "x = *p;", 5, 0, 0, "    7 | x = *p;\n      |     ^\n"},
		{"a.cu", "x = *p;", 1, 0, 0, "    7 | x = *p;\n      | ^\n"},
		{"a.cu", "x = *p;", 7, 0, 0, "    7 | x = *p;\n      |       ^\n"},
		{"a.cu", "x = *p;", 0, 0, 0, "    7 | x = *p;\n"},
		{"a.cu", "x = *p;", 8, 0, 0, "    7 | x = *p;\n"}, /* the file has changed, or is another one */
		{"a.py", "x = load(p)", 4, 0, 0, "    7 | x = load(p)\n      |     ^\n"}, /* Triton's columns begin with 0 */
		{"a.py", "x = load(p)", 0, 0, 0, "    7 | x = load(p)\n"},
		{"a.cu", "\t  x = *p;", 8, 0, 0, "    7 | x = *p;\n      |     ^\n"},
		{"a.cu", "\t  x = *p;", 2, 0, 0, "    7 | x = *p;\n"},
		{"a.cu", "x\t=\ty;", 5, 0, 0, "    7 | x = y;\n      |     ^\n"},
		{"a.cu", "\"\xc3\xa9\xf0\x9f\x90\x9b\" + y", 12, 0, 0, "    7 | \"\xc3\xa9\xf0\x9f\x90\x9b\" + y\n      |         ^\n"},
		{"a.cu", "/* \xe6\xbc\xa2\xe5\xad\x97 */ *p", 14, 0, 0, "    7 | /* \xe6\xbc\xa2\xe5\xad\x97 */ *p\n      |            ^\n"}, /* two cells each */
		{"a.cu", "a\xcc\x88 = y", 7, 0, 0, "    7 | a\xcc\x88 = y\n      |     ^\n"}, /* and none */
		{"a.cu", "[=] __device__ { q[0] = 1; }", 18, 0, 0, "    7 | [=] __device__ { q[0] = 1; }\n"}, /* nvcc counts what that becomes */
		{"a.cu", "q[0] = 1; /* __device__ */", 1, 0, 0, "    7 | q[0] = 1; /* __device__ */\n      | ^\n"},
		{"a.cu", "__global__ void k()", 1, 0, 0, "    7 | __global__ void k()\n      | ^\n"},
		{"a.cu", "__ldg(a__) + ____", 12, 0, 0, "    7 | __ldg(a__) + ____\n      |            ^\n"}, /* no such words */
		{"a.cu", "if (__CUDA_ARCH__ > 900) *p = 1;", 28, 0, 0, "    7 | if (__CUDA_ARCH__ > 900) *p = 1;\n"},
		{"a.py", "x.__len__ = load(p)", 12, 0, 0, "    7 | x.__len__ = load(p)\n      |             ^\n"},
		{"a.cu", "  \t ", 1, 0, 0, ""},
		{"a.cu", "", 1, 0, 0, ""},
		{"a.cu", NULL, 1, 0, 0, ""},
		{"/home/a/lock.h", "*at = 1;", 1, 0, 1, "lock.h:7 | *at = 1;\n         | ^\n"},
		{"/home/b/lock.h", "*at = 1;", 1, 0, 1, "/home/b/lock.h:7 | *at = 1;\n                 | ^\n"},
		{"a.cu", numbers, 1, 48, 0, "    7 | 0123456789abcdefghijABCDEFGHIJ012345678\xe2\x80\xa6\n      | ^\n"},
		{"a.cu", numbers, 31, 48, 0, "    7 | \xe2\x80\xa6" "bcdefghijABCDEFGHIJ0123456789abcdefghi\xe2\x80\xa6\n      |                     ^\n"},
		{"a.cu", numbers, 60, 48, 0, "    7 | \xe2\x80\xa6" "BCDEFGHIJ0123456789abcdefghijABCDEFGHIJ\n      |                                        ^\n"},
		{"a.cu", numbers, 60, 10, 0, "    7 | \xe2\x80\xa6" "bcdefghijABCDEFGHIJ\n      |                    ^\n"}, /* never less than 20 */
		{"a.cu", HAN8 HAN8, 1, 28, 0, "    7 | " HAN8 "\xe6\xbc\xa2\xe2\x80\xa6\n      | ^\n"}, /* two cells each */
		{"a.cu", HAN8 HAN8, 25, 28, 0, "    7 | \xe2\x80\xa6 " HAN8 "\xe2\x80\xa6\n      |           ^\n"},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const struct report_style style = {.width = row[i].width, .directory = "/home/a"};
		struct text out = {0};
		const struct report_side side = {.at = {row[i].file, 7, row[i].column}, .source = row[i].source};
		page_excerpt(&(struct page){&out, &style}, 0, &side, row[i].named);
		const char *got = out.data ? out.data : "";
		if (strcmp(got, row[i].want))
			fprintf(stderr, "excerpt %zu:\n%s", i, got);
		CHECK(!strcmp(got, row[i].want));
		text_free(&out);
	}
}

static void test_sentence(void)
{
	static const struct report_finding f = {.first.at.file = "/home/a/my ring.cu", .second.at.file = "/home/ab/x.cu"};
	static const struct { const char *sentence; unsigned width; const char *want; } row[] = {
		{"one two three", 0, "one two three\n"},
		{"one two three", 9, "one two\n  three\n"},
		{"one two three", 7, "one two\n  three\n"},
		{"one two three", 1, "one\n  two\n  three\n"}, /* a word is not broken */
		{"", 10, "\n"},
		{"a /very/long/name.cu:31 b", 12, "a\n  /very/long/name.cu:31\n  b\n"},
		{"at /home/a/my ring.cu:31 it", 12, "at\n  my ring.cu:31\n  it\n"}, /* nor is a name */
		{"at (/home/a/my ring.cu:31,/home/a/y.cu:2) it", 0, "at (my ring.cu:31,y.cu:2) it\n"},
		{"at /home/ab/x.cu:1 b/home/a/c /home/a", 0, "at /home/ab/x.cu:1 b/home/a/c /home/a\n"}, /* not below it */
		{"\xc3\xa9\xc3\xa9\xc3\xa9 \xc3\xa9\xc3\xa9\xc3\xa9", 7, "\xc3\xa9\xc3\xa9\xc3\xa9 \xc3\xa9\xc3\xa9\xc3\xa9\n"},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const struct report_style style = {.width = row[i].width, .directory = "/home/a"};
		struct text out = {0};
		page_sentence(&(struct page){&out, &style}, 0, 2, row[i].sentence, &f);
		if (strcmp(out.data, row[i].want))
			fprintf(stderr, "sentence %zu:\n%s", i, out.data);
		CHECK(!strcmp(out.data, row[i].want));
		text_free(&out);
	}
}

/* No terminal: neither colour nor its width, unless one insists. */
static void test_style(void)
{
	struct report_style style = {0};
	page_style(&style, -1, PAGE_AUTO);
	CHECK(!style.colour && style.width == PAGE_WIDTH);
	page_style(&style, -1, PAGE_ALWAYS);
	CHECK(style.colour);
	page_style(&style, -1, PAGE_NEVER);
	CHECK(!style.colour);
}

int main(void)
{
	test_excerpt();
	test_sentence();
	test_style();
	return 0;
}

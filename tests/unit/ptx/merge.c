/* Merge: objects that a program links, as one text. What the compiler makes of it, tests/nvcc runs. */
#include "ptx/merge.h"

#include <errno.h>

#include "check.h"

#define FUNC(linkage, name) linkage " .func (.param .b32 r) " name "(.param .b32 a)"
#define ENTRY(linkage, name, body) linkage " .entry " name "() { " body " ret; }\n"

/* The merged text; it parses again. */
static char *merged(const char *const *texts, uint32_t count)
{
	struct ptx_error error = {0};
	struct ptx_module *m = NULL;
	char *out = NULL;

	CHECK(!ptx_merge(texts, count, &out, &error));
	CHECK(out && !ptx_parse(out, strlen(out), &m, &error));
	ptx_free(m);
	return out;
}

static uint32_t times(const char *text, const char *piece)
{
	uint32_t n = 0;

	for (const char *at = text; (at = strstr(at, piece)); at += strlen(piece))
		n++;
	return n;
}

/* How often each piece stands in what is made of two texts, and which of two comes first. */
static void functions(void)
{
	const char *texts[] = {HEAD FUNC(".extern", "there") ";\n" FUNC(".extern", "vprintf") ";\n" ENTRY(".visible", "a", "call (_), there, (0);") ENTRY(".weak", "both", ""),
			       ".version 9.0\n.target sm_100a\n.address_size 64\n" FUNC(".extern", "vprintf") ";\n" FUNC(".weak", "once") ";\n"
			       FUNC(".visible", "there") " { ret; }\n" FUNC(".weak", "once") " { ret; }\n" ENTRY(".weak", "both", "trap;"),
			       HEAD FUNC(".weak", "once") " { trap; }\n"};
	char *out = merged(texts, 3);

	CHECK(times(out, ".version") == 1 && strstr(out, ".version 9.0") && times(out, ".target") == 1 && strstr(out, ".target sm_100a"));
	CHECK(times(out, "vprintf(") == 1 && strstr(out, ".extern .func (.param .b32 r) vprintf"));
	CHECK(times(out, "there(") == 2 && times(out, ".visible .func (.param .b32 r) there") == 2 && !strstr(out, ".extern .func (.param .b32 r) there"));
	CHECK(strstr(out, "there(") < strstr(out, "call (_), there"));
	CHECK(times(out, "both(") == 1 && times(out, "once(") == 2 && !strstr(out, "trap"));
	free(out);
}

static void variables(void)
{
	const char *texts[] = {HEAD ".extern .global .align 4 .u32 x;\n.extern .shared .align 4 .b8 s[];\n" ENTRY("", "a", "st.global.u32 [x], 1;"),
			       HEAD ".visible .global .align 4 .u32 x = 3;\n.extern .shared .align 16 .b8 s[];\n.weak .const .align 4 .u32 w = 1;\n",
			       HEAD ".extern .global .align 4 .u32 x;\n.weak .const .align 4 .u32 w = 1;\n.extern .shared .align 8 .b8 s[];\n"};
	char *out = merged(texts, 3);

	CHECK(times(out, ".u32 x") == 1 && strstr(out, ".visible .global .align 4 .u32 x = 3;") < strstr(out, "[x]"));
	CHECK(times(out, ".b8 s[]") == 1 && strstr(out, ".extern .shared .align 16 .b8 s[];"));
	CHECK(times(out, ".u32 w") == 1);
	free(out);
}

/* Names of an object's own, where another has them, too; files; labels for the debugger. */
static void own(void)
{
	static const char form[] = HEAD ".global .align 1 .b8 $str[2] = {49};\n.global .align 4 .u32 only%c;\n" FUNC("", "helper") " { ret; }\n"
			".visible .entry %c() {\n.reg .b64 %%rd1;\n.loc 1 3 0, function_name $L__info_string0, inlined_at 2 4 5\nmov.u64 %%rd1, $str;\n$L__BB0_1:\n"
			"call (_), helper, (0); bra $L__BB0_1; ret; }\n.file 1 \"%c.cu\"\n.file 2 \"%c.h\"\n.section .debug_str\n{\n$L__info_string0:\n.b8 1,0\n}\n";
	char text[2][1024];
	const char *texts[] = {text[0], text[1]};

	for (int i = 0; i < 2; i++)
		snprintf(text[i], sizeof text[i], form, 'a' + i, 'a' + i, 'a' + i, 'a' + i);
	char *out = merged(texts, 2);
	CHECK(strstr(out, ".b8 $str__part0[2]") && strstr(out, ".b8 $str__part1[2]") && strstr(out, "mov.u64 %rd1, $str__part1;"));
	CHECK(times(out, "helper__part0") == 2 && times(out, "helper__part1") == 2 && strstr(out, ".u32 onlya;") && strstr(out, ".u32 onlyb;"));
	CHECK(strstr(out, ".file 1 \"a.cu\"") && strstr(out, ".file 3 \"b.cu\"") && strstr(out, ".file 4 \"b.h\""));
	CHECK(strstr(out, ".loc 3 3 0, function_name $L__info_string0__part1, inlined_at 4 4 5") && strstr(out, "\n$L__info_string0__part1:"));
	CHECK(strstr(out, ".loc 1 3 0, function_name $L__info_string0, inlined_at 2 4 5"));
	free(out);
}

/* A text of its own is what it was, but for its head. */
static void alone(void)
{
	static const char *const text = HEAD ".global .align 4 .u32 x;\n" ENTRY(".visible", "a", "st.global.u32 [x], 1;");
	char *out = merged(&text, 1);

	CHECK(!strncmp(out, HEAD, strlen(HEAD)) && strstr(out, text + strlen(HEAD)));
	free(out);
}

static void refused(void)
{
	static const struct { const char *a, *b, *what; } rows[] = {
		{HEAD ENTRY(".visible", "a", ""), HEAD ENTRY(".visible", "a", ""), "a is defined by two of them"},
		{HEAD ".visible .global .u32 x;\n", HEAD ".visible .global .u32 x;\n", "x is defined by two of them"},
		{HEAD ".extern .global .u64 x;\n", HEAD ".global .u32 y;\n.visible .global .u64 x = y;\n", "x has an initialiser that names others"},
		{HEAD ENTRY(".visible", "a", ""), HEAD ".visible .entry b() {", "body without an end"},
		{HEAD FUNC(".extern", "gone") ";\n", HEAD, "gone is defined by none of them"},
		{HEAD, "ELF", "not PTX"}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *texts[] = {rows[i].a, rows[i].b};
		struct ptx_error error = {0};
		char *out;
		int rc = ptx_merge(texts, 2, &out, &error);
		if (rc != -EINVAL || out || !strstr(error.text, rows[i].what))
			fprintf(stderr, "row %zu: %d, %s\n", i, rc, error.text);
		CHECK(rc == -EINVAL && !out && strstr(error.text, rows[i].what));
	}
}

int main(void)
{
	functions();
	variables();
	own();
	alone();
	refused();
	return 0;
}

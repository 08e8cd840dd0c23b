/* Text from elsewhere, made fit to be shown; and that a message stays one line, whatever it names. */
#include "base/utf8.h"

#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "base/log.h"

static void test_clean(void)
{
	static const struct { const char *from, *to; } row[] = {
		{"", ""}, {"plain\ttab", "plain\ttab"}, {"\xc3\xa9\xf0\x9f\x90\x9b", "\xc3\xa9\xf0\x9f\x90\x9b"}, {"a\nb\r\033[31m\x7f", "a\\x0ab\\x0d\\x1b[31m\\x7f"},
		{"\xff\xfe\xc3", "\\xff\\xfe\\xc3"}, {"\xc2\x9b" "31m", "\\x9b31m"}, {"\xe2\x80\xae", "\\u202e"}, {"\xf0\x9f\xbf\xbe", "\\u1fffe"},
		{"\xc0\x80", "\\xc0\\x80"}, {"\xed\xa0\x80", "\\xed\\xa0\\x80"}, {"back\\slash", "back\\slash"},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		char out[100];
		const size_t n = strlen(row[i].to);
		CHECK(UTF8_CLEAN_ROOM(strlen(row[i].from)) > n && utf8_is_clean(row[i].from) == !strcmp(row[i].from, row[i].to));
		CHECK(utf8_clean(out, sizeof out, row[i].from) == n && !strcmp(out, row[i].to) && utf8_is_clean(out));
		for (size_t room = 1; room <= n + 1; room++) { /* cut between characters and escapes */
			memset(out, 'x', sizeof out);
			CHECK(utf8_clean(out, room, row[i].from) < room && !strncmp(out, row[i].to, strlen(out)) && out[room] == 'x' && utf8_is_clean(out));
		}
	}
}

static void test_cells(void)
{
	static const struct { uint32_t point; unsigned cells; } row[] = {
		{'a', 1}, {'\t', 1}, {0xe9, 1}, {0x301, 0}, {0x3b1, 1}, {0x1100, 2}, {0x2014, 1}, {0x200d, 0}, {0x303f, 1}, {0x3042, 2}, {0x4e00, 2}, {0x9fff, 2},
		{0xac00, 2}, {0xd7a3, 2}, {0xfe0f, 0}, {0xff21, 2}, {0xff61, 1}, {0x1d400, 1}, {0x1f41b, 2}, {0x1f600, 2}, {0x20000, 2}, {0x10ffff, 1},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++)
		CHECK(utf8_cells(row[i].point) == row[i].cells);
}

static void test_log(void)
{
	static char got[2000], name[2000];
	int ends[2];
	CHECK(!pipe(ends) && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
	log_error("%s: not found", "a\nb\033[31m\xff");
	log_error("%s", (char *)memset(name, '\n', sizeof name - 1)); /* more than a line takes */
	ssize_t n = read(ends[0], got, sizeof got - 1);
	char *second = memchr(got, '\n', sizeof got);
	CHECK(n > 0 && second && strstr(got, ": a\\x0ab\\x1b[31m\\xff: not found\n") && strstr(got, ": a") < second);
	CHECK(strchr(second + 1, '\n') == got + n - 1 && strstr(second, ": \\x0a\\x0a") && n - (second - got) > 1000);
}

int main(void)
{
	test_clean();
	test_cells();
	test_log();
	return 0;
}

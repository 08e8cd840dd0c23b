#include "ptx/lex.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lexer {
	const char *text;
	uint32_t at, size, line;
	struct ptx_error *error;
	int failed;
	uint8_t inline_asm; /* of the next token */
};

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

int ptx_lex_is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

void ptx_error_at(struct ptx_error *error, const char *text, uint32_t off, uint32_t line, const char *what)
{
	uint32_t start = off;

	while (start > 0 && text[start - 1] != '\n')
		start--;
	error->line = line;
	error->column = off - start + 1;
	snprintf(error->text, sizeof(error->text), "%s", what);
}

/* The byte n places on, or NUL past the end: the text need not end with one. */
static char ahead(const struct lexer *l, uint32_t n)
{
	return l->size - l->at > n ? l->text[l->at + n] : '\0';
}

static void fail(struct lexer *l, uint32_t off, const char *what)
{
	ptx_error_at(l->error, l->text, off, l->line, what);
	l->failed = 1;
	l->at = l->size;
}

static int says(const struct lexer *l, const char *words)
{
	size_t n = strlen(words);

	return l->size - l->at >= n && !memcmp(l->text + l->at, words, n);
}

static void skip_line(struct lexer *l)
{
	if (says(l, "// begin inline asm"))
		l->inline_asm = 1;
	else if (says(l, "// end inline asm"))
		l->inline_asm = 0;
	while (l->at < l->size && l->text[l->at] != '\n')
		l->at++;
}

static void skip_comment(struct lexer *l)
{
	uint32_t start = l->at;

	for (l->at += 2; l->at < l->size; l->at++) {
		if (l->text[l->at] == '\n')
			l->line++;
		if (l->text[l->at] == '*' && ahead(l, 1) == '/') {
			l->at += 2;
			return;
		}
	}
	fail(l, start, "comment without an end");
}

static void skip_space(struct lexer *l)
{
	int fresh = l->at == 0; /* at the start of a line */

	while (l->at < l->size) {
		char c = l->text[l->at];

		if (c == '\n') {
			l->line++;
			l->at++;
			fresh = 1;
		} else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
			l->at++;
		} else if (c == '/' && ahead(l, 1) == '/') {
			skip_line(l);
		} else if (c == '/' && ahead(l, 1) == '*') {
			skip_comment(l);
		} else if (c == '#' && fresh) {
			skip_line(l);
		} else {
			return;
		}
	}
}

static void lex_words(struct lexer *l)
{
	while (l->at < l->size && ptx_lex_is_word(l->text[l->at]))
		l->at++;
}

static void lex_dot(struct lexer *l)
{
	l->at++;
	lex_words(l);
	while (ahead(l, 0) == ':' && ahead(l, 1) == ':' && ptx_lex_is_word(ahead(l, 2))) {
		l->at += 2;
		lex_words(l);
	}
}

static enum ptx_token_kind lex_number(struct lexer *l)
{
	char second = ahead(l, 0) == '0' ? (char)(ahead(l, 1) | 0x20) : '\0';
	enum ptx_token_kind kind = PTX_T_INT;

	if (second == 'x' || second == 'f' || second == 'd' || second == 'b') {
		l->at += 2;
		while (is_hex(ahead(l, 0)))
			l->at++;
		kind = second == 'f' || second == 'd' ? PTX_T_FLOAT : PTX_T_INT;
	} else {
		while (is_digit(ahead(l, 0)))
			l->at++;
		if (ahead(l, 0) == '.' && is_digit(ahead(l, 1))) {
			kind = PTX_T_FLOAT;
			for (l->at++; is_digit(ahead(l, 0));)
				l->at++;
		}
		if ((ahead(l, 0) | 0x20) == 'e') {
			uint32_t sign = ahead(l, 1) == '+' || ahead(l, 1) == '-';

			if (is_digit(ahead(l, 1 + sign))) {
				kind = PTX_T_FLOAT;
				for (l->at += 1 + sign; is_digit(ahead(l, 0));)
					l->at++;
			}
		}
	}
	if (ahead(l, 0) == 'U')
		l->at++;
	return kind;
}

static void lex_string(struct lexer *l)
{
	uint32_t start = l->at++;

	while (l->at < l->size && l->text[l->at] != '"') {
		if (l->text[l->at] == '\n')
			l->line++;
		l->at += l->text[l->at] == '\\' && l->size - l->at > 1 ? 2 : 1;
	}
	if (l->at >= l->size)
		fail(l, start, "string without an end");
	else
		l->at++;
}

static struct ptx_token lex_next(struct lexer *l)
{
	struct ptx_token t = {0, 0, 0, PTX_T_END, 0};
	char c;

	skip_space(l);
	t.off = l->at;
	t.line = l->line;
	if (l->at >= l->size)
		return t;
	c = l->text[l->at];
	if (is_digit(c)) {
		t.kind = lex_number(l);
	} else if (ptx_lex_is_word(c) || (c == '%' && ptx_lex_is_word(ahead(l, 1)))) {
		t.kind = PTX_T_WORD;
		l->at++;
		lex_words(l);
	} else if (c == '.' && ptx_lex_is_word(ahead(l, 1))) {
		t.kind = PTX_T_DOT;
		lex_dot(l);
	} else if (c == '"') {
		t.kind = PTX_T_STRING;
		lex_string(l);
	} else {
		t.kind = PTX_T_PUNCT;
		l->at++;
	}
	t.len = l->at - t.off;
	t.inline_asm = l->inline_asm;
	l->inline_asm = l->inline_asm ? 2 : 0;
	return t;
}

int ptx_lex(const char *text, size_t size, struct ptx_token **tokens, struct ptx_error *error)
{
	struct lexer l = {text, 0, (uint32_t)size, 1, error, 0, 0};
	size_t room = size / 4 + 16, n = 0;
	struct ptx_token *list = malloc(room * sizeof(*list));

	while (list) {
		if (n == room) {
			struct ptx_token *more = realloc(list, 2 * room * sizeof(*list));

			if (!more)
				break;
			list = more;
			room *= 2;
		}
		list[n] = lex_next(&l);
		if (l.failed) {
			free(list);
			return -EINVAL;
		}
		if (list[n++].kind == PTX_T_END) {
			*tokens = list;
			return 0;
		}
	}
	free(list);
	return -ENOMEM;
}

static uint64_t digits_value(const char *s, uint32_t n, unsigned base)
{
	uint64_t v = 0;

	for (uint32_t i = 0; i < n && is_hex(s[i]); i++)
		v = v * base + (unsigned)(is_digit(s[i]) ? s[i] - '0' : (s[i] | 0x20) - 'a' + 10);
	return v;
}

int64_t ptx_lex_int(const char *text, const struct ptx_token *t)
{
	const char *s = text + t->off;

	if (t->len > 2 && s[0] == '0' && (s[1] | 0x20) == 'x')
		return (int64_t)digits_value(s + 2, t->len - 2, 16);
	if (t->len > 2 && s[0] == '0' && (s[1] | 0x20) == 'b')
		return (int64_t)digits_value(s + 2, t->len - 2, 2);
	return (int64_t)digits_value(s, t->len, s[0] == '0' ? 8 : 10);
}

int64_t ptx_lex_float(const char *text, const struct ptx_token *t, uint8_t *fbits)
{
	const char *s = text + t->off;
	char copy[64];
	int64_t bits;
	double value;

	*fbits = 64;
	if (t->len > 2 && s[0] == '0' && ((s[1] | 0x20) == 'f' || (s[1] | 0x20) == 'd')) {
		if ((s[1] | 0x20) == 'f')
			*fbits = 32;
		return (int64_t)digits_value(s + 2, t->len - 2, 16);
	}
	snprintf(copy, sizeof(copy), "%.*s", (int)(t->len < 63 ? t->len : 63), s);
	value = strtod(copy, NULL);
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

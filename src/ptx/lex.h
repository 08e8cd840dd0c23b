/* Lexer: PTX text to an array of tokens. A token is a kind and a span; comments and white space vanish, and so do
 * preprocessor lines; the two comments by which LLVM marks inline assembly leave a flag. The only decision it takes is that a dot belongs to the word behind it (".global", ".16x64b",
 * ".shared::cluster"), because nothing else in PTX starts with a dot. Source: PTX ISA 9.x, chapter 4. */
#ifndef GSAN_PTX_LEX_H
#define GSAN_PTX_LEX_H

#include "ptx/ptx.h"

enum ptx_token_kind {
	PTX_T_END,
	PTX_T_WORD,   /* name, %name, $name */
	PTX_T_DOT,    /* .word, dot included */
	PTX_T_INT,
	PTX_T_FLOAT,  /* decimal, 0f…, 0d… */
	PTX_T_STRING, /* quotes included */
	PTX_T_PUNCT   /* one byte */
};
struct ptx_token {
	uint32_t off, len, line;
	enum ptx_token_kind kind;
	uint8_t inline_asm; /* of a block between LLVM's "begin inline asm" and "end": 1 its first token, 2 a later one */
};

/* *tokens = malloc'ed array that ends with PTX_T_END. Returns 0, -EINVAL with *error filled, -ENOMEM. */
int ptx_lex(const char *text, size_t size, struct ptx_token **tokens, struct ptx_error *error);

/* Values of PTX_T_INT and PTX_T_FLOAT; a float's value is its bits, *fbits = 32 or 64. */
int64_t ptx_lex_int(const char *text, const struct ptx_token *t);
int64_t ptx_lex_float(const char *text, const struct ptx_token *t, uint8_t *fbits);

int ptx_lex_is_word(char c); /* may continue a name */
void ptx_error_at(struct ptx_error *error, const char *text, uint32_t off, uint32_t line, const char *what);

#endif

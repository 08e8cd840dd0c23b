/* The parser's inside, shared by its files: parse.c (module, functions, statements), directive.c (.file, .loc, …),
 * decl.c (variables, registers, parameters) and instr.c (instructions, operands). A failure moves the cursor to the
 * end, so that every loop ends by itself and callers need not check each step. No recursion is deeper than
 * PTX_DEPTH. */
#ifndef GSAN_PTX_PARSE_H
#define GSAN_PTX_PARSE_H

#include "base/pool.h"
#include "ptx/lex.h"
#include "ptx/names.h"

#define PTX_DEPTH 200u        /* { } scopes within each other */
#define PTX_OPERAND_DEPTH 8u

struct ptx_list { void *data; size_t count, room; }; /* a growing array */

struct ptx_pending { struct ptx_operand *operand; uint32_t scope; uint8_t called; };

struct ptx_parser {
	struct ptx_module *m;
	const char *text;
	struct ptx_token *token;
	uint32_t at;                 /* cursor in token[] */
	struct pool *pool;
	struct ptx_error *error;
	int failed;                  /* 0 or -errno */
	struct ptx_names module_names, names;
	uint32_t scope;              /* innermost { } of the function, 0 = parameters and body */
	uint32_t loc;                /* .loc in force, index + 1 */
	struct ptx_list functions, globals, files, locs, loc_slots;
	struct ptx_list instrs, decls;        /* of the function at hand */
	struct ptx_list operands;             /* stack of the lists being read */
	struct ptx_list pendings;             /* symbols to resolve at the function's end */
};

const struct ptx_token *ptx_peek(const struct ptx_parser *p);
const struct ptx_token *ptx_next(struct ptx_parser *p);
int ptx_at(const struct ptx_parser *p, char punct);
int ptx_accept(struct ptx_parser *p, char punct);
void ptx_expect(struct ptx_parser *p, char punct);
int ptx_at_dot(const struct ptx_parser *p, const char *word); /* word without the dot */
int ptx_at_end(const struct ptx_parser *p);
void ptx_fail(struct ptx_parser *p, const char *what); /* at the cursor */
void ptx_no_memory(struct ptx_parser *p);
void *ptx_new(struct ptx_parser *p, size_t size);
void *ptx_push(struct ptx_parser *p, struct ptx_list *list, size_t size); /* zeroed; NULL after a failure */
void *ptx_keep(struct ptx_parser *p, struct ptx_list *list, size_t size); /* moves the list into the pool */
struct ptx_span ptx_span_of(const struct ptx_token *t);
struct ptx_span ptx_span_from(const struct ptx_parser *p, uint32_t off); /* up to the last token taken */
uint32_t ptx_skip_balanced(struct ptx_parser *p); /* from an opening bracket past its partner */
void ptx_skip_statement(struct ptx_parser *p);    /* past the next ';' */
uint64_t ptx_take_int(struct ptx_parser *p);

/* directive.c */
int ptx_parse_directive(struct ptx_parser *p); /* .file .loc .section .pragma …: 1 = was one */

/* decl.c: a statement of declarations (';' included), or one parameter. The module's when function is 0. */
int ptx_at_decl(const struct ptx_parser *p);
void ptx_parse_decls(struct ptx_parser *p, int in_function);
struct ptx_decl *ptx_parse_param(struct ptx_parser *p);
struct ptx_decl *ptx_declare(struct ptx_parser *p, struct ptx_span name, int in_function);
struct ptx_decl *ptx_lookup(const struct ptx_parser *p, struct ptx_span name, uint32_t scope, uint32_t *index);
void ptx_name_decl(struct ptx_parser *p, struct ptx_decl *d, uint32_t scope, int in_function);

/* instr.c */
void ptx_parse_instr(struct ptx_parser *p);
void ptx_resolve_pending(struct ptx_parser *p);

#endif

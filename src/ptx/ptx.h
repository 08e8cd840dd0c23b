/* PTX as text with structure: tokens, instructions, operands, declarations and functions, each knowing the bytes of the
 * source it stands for. The tree borrows the source; it never re-prints it. Edits are bytes inserted or replaced
 * between source offsets (edit.h), so a module without edits prints byte for byte. Users: the rewriter (plan.h) and
 * the emulated device. Source: PTX ISA 9.x, chapters 4 (syntax), 5 (state spaces), 11 (directives). */
#ifndef GSAN_PTX_PTX_H
#define GSAN_PTX_PTX_H

#include <stddef.h>
#include <stdint.h>

struct ptx_span { uint32_t off, len; }; /* bytes of ptx_module.text */

enum ptx_space { PTX_GENERIC, PTX_REG, PTX_SREG, PTX_CONST, PTX_GLOBAL, PTX_LOCAL, PTX_PARAM, PTX_SHARED };

enum ptx_type { /* fundamental types; width by ptx_type_bits() */
	PTX_NOTYPE, PTX_PRED, PTX_B8, PTX_B16, PTX_B32, PTX_B64, PTX_B128, PTX_U8, PTX_U16, PTX_U32, PTX_U64,
	PTX_S8, PTX_S16, PTX_S32, PTX_S64, PTX_F16, PTX_F16X2, PTX_BF16, PTX_BF16X2, PTX_F32, PTX_F64, PTX_OTHER
};

/* A declared name: register, variable, parameter, label or function. Registers declared as %r<100> have count 100 and
 * are resolved as (decl, index). */
struct ptx_decl {
	struct ptx_span name;      /* without <n> */
	struct ptx_span whole;     /* the declaration statement, or the label */
	enum ptx_space space;
	enum ptx_type type;
	uint32_t vector;           /* .v2 .v4, else 1 */
	uint32_t align;            /* bytes, 0 = natural */
	uint32_t count;            /* of %r<count>; 0 = a plain name */
	uint64_t elements;         /* of an array; 1 = scalar; 0 = extern [] */
	struct ptx_span init;      /* source of the initialiser, len 0 = none */
	uint8_t is_label, is_function, is_extern, is_visible, is_ptr, is_managed; /* is_ptr: .param .ptr */
	uint32_t label_at;         /* label: index of the next instruction in its function */
	uint32_t function;         /* function: index in ptx_module.function */
	uint32_t id;               /* dense per module, for side tables */
};

enum ptx_operand_kind {
	PTX_OPND_REG,     /* decl, index */
	PTX_OPND_SPECIAL, /* %tid.x …: text = whole name */
	PTX_OPND_INT,     /* ivalue */
	PTX_OPND_FLOAT,   /* ivalue = the bits, fbits 32 or 64 */
	PTX_OPND_SYMBOL,  /* decl (NULL: unknown) + ivalue offset: variable, label or function */
	PTX_OPND_ADDRESS, /* [base + ivalue]: item[0] = base (REG, SYMBOL, INT); further items of [a, {c}] forms follow */
	PTX_OPND_VECTOR,  /* {a, b}: items */
	PTX_OPND_LIST,    /* (a, b) of call: items */
	PTX_OPND_SINK     /* _ */
};
struct ptx_operand {
	enum ptx_operand_kind kind;
	struct ptx_span text;
	uint8_t negated;               /* !%p or -%r */
	uint8_t fbits;
	char component;                /* %r.x of a vector register or %tid.x: 'x' 'y' 'z' 'w', else 0 */
	const struct ptx_decl *decl;
	uint32_t index;                /* register number of %r<n> */
	int64_t ivalue;
	uint32_t items;
	struct ptx_operand *item;
	struct ptx_operand *pair;      /* a|b: the second destination, else NULL */
};

/* One instruction. `op` is the first word ("ld"), `mod` the words behind it in source order without their dots ("global",
 * "acquire", "b32", "L1::evict_last"). Known or not, it is parsed in this one way. */
#define PTX_MODS_MAX 24
struct ptx_instr {
	struct ptx_span whole;         /* from predicate to ';' inclusive */
	struct ptx_span opcode;        /* "ld.global.b32" */
	struct ptx_span op;
	struct ptx_span mod[PTX_MODS_MAX];
	uint32_t mods;
	struct ptx_operand *pred;      /* NULL: none; negated for @!p */
	uint32_t operands;
	struct ptx_operand *operand;
	uint32_t line;                 /* of the PTX text, from 1 */
	uint32_t block;                /* index of its { } scope within the function, 0 = body */
	uint32_t loc;                  /* index + 1 into ptx_module.loc of the .loc in force, 0 = none */
};

struct ptx_loc { /* .loc file line column [, function_name label+off, inlined_at file line column] */
	uint32_t file, line, column;
	uint32_t inlined_at;           /* index + 1 into ptx_module.loc, 0 = none */
	struct ptx_span function;      /* name if the directive says it */
	struct ptx_span name;          /* of the file, without its folder, in a comment: then `file` says nothing */
};
struct ptx_file { uint32_t index; char *path; }; /* .file, unescaped */

struct ptx_function {
	struct ptx_span name;
	struct ptx_span whole;         /* from the first linkage word to the closing brace (or ';') */
	struct ptx_span head;          /* up to the opening brace (exclusive) */
	struct ptx_span params;        /* the parameter list, parentheses included; len 0 = none written */
	struct ptx_span directives;    /* between parameters and brace: .reqntid … */
	struct ptx_span body;          /* braces included; len 0 = a declaration */
	uint8_t is_entry, is_visible, is_extern, is_weak, address_taken;
	uint32_t reqntid[3], maxntid[3]; /* 0 = not given */
	uint32_t minnctapersm, maxnreg;
	uint8_t has_cluster;           /* .reqnctapercluster, .explicitcluster, .maxclusterrank */
	uint32_t param_count;  const struct ptx_decl **param;
	uint32_t result_count; const struct ptx_decl **result; /* return parameters of .func */
	uint32_t instrs;       struct ptx_instr *instr;
	uint32_t decls;        const struct ptx_decl **decl;   /* every local declaration, registers and labels included */
	uint32_t call_offset;          /* where declarations may be inserted: just behind the opening brace */
};

struct ptx_module {
	const char *text;
	size_t size;
	uint32_t version_major, version_minor;
	struct ptx_span version;       /* the "8.7" of .version */
	struct ptx_span target;        /* "sm_90a" */
	uint32_t sm;                   /* 90 */
	uint32_t functions; struct ptx_function *function;
	uint32_t globals;   const struct ptx_decl **global;    /* module-scope variables */
	uint32_t files;     struct ptx_file *file;
	uint32_t locs;      struct ptx_loc *loc;
	uint32_t decl_ids;             /* number of declarations, all scopes */
	void *memory;                  /* owns everything above */
};

struct ptx_error { uint32_t line, column; char text[200]; };

/* Parses size bytes of text, which must outlive the module (a trailing NUL is tolerated and not part of it).
 * Returns 0, -EINVAL with *error filled, or -ENOMEM. */
int ptx_parse(const char *text, size_t size, struct ptx_module **module, struct ptx_error *error);
void ptx_free(struct ptx_module *module);

unsigned ptx_type_bits(enum ptx_type type); /* 1 for pred, 0 if none */
enum ptx_type ptx_type_of(const struct ptx_module *m, struct ptx_span word); /* PTX_NOTYPE: names no type */
int ptx_is(const struct ptx_module *m, struct ptx_span s, const char *word);
int ptx_is_provided(const char *text, struct ptx_span name); /* a function that modules only declare, for the driver has it; it synchronises with nobody */
int ptx_has(const struct ptx_module *m, const struct ptx_instr *i, const char *word); /* one of its modifiers */
enum ptx_type ptx_instr_type(const struct ptx_module *m, const struct ptx_instr *i); /* last type modifier */
const struct ptx_file *ptx_file_of(const struct ptx_module *m, uint32_t index);

#endif

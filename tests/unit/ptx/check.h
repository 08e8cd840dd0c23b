/* What the tests of src/ptx share: one CHECK, a module header, and names of things in a parsed text. */
#ifndef GSAN_TESTS_PTX_CHECK_H
#define GSAN_TESTS_PTX_CHECK_H

#include "../check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ptx.h"

#define HEAD ".version 8.7\n.target sm_90a\n.address_size 64\n"
#define KERNEL(body) HEAD ".visible .entry k(.param .u64 p)\n{\n" body "\n}\n"

static inline struct ptx_module *parse_ok(const char *text)
{
	struct ptx_module *m = NULL;
	struct ptx_error e;

	if (ptx_parse(text, strlen(text), &m, &e)) {
		fprintf(stderr, "%u:%u: %s in:\n%s\n", e.line, e.column, e.text, text);
		exit(1);
	}
	return m;
}

static inline const struct ptx_instr *instr_named(const struct ptx_module *m, const char *opcode)
{
	for (uint32_t f = 0; f < m->functions; f++)
		for (uint32_t i = 0; i < m->function[f].instrs; i++)
			if (ptx_is(m, m->function[f].instr[i].opcode, opcode))
				return &m->function[f].instr[i];
	fprintf(stderr, "no instruction %s\n", opcode);
	exit(1);
}

#endif

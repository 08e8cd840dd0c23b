/* Names: which declaration a name means at a place. One hash table per function (and one for the module) maps (scope,
 * name) to its declaration; a look-up walks from the innermost { } outwards. A register family %r<100> is one entry
 * that answers for %r0 … %r99. */
#ifndef GSAN_PTX_NAMES_H
#define GSAN_PTX_NAMES_H

#include "ptx/ptx.h"

struct ptx_name { uint64_t hash; struct ptx_decl *decl; uint32_t scope; };
struct ptx_names {
	struct ptx_name *slot;
	uint32_t room, used;    /* room: a power of two, or 0 */
	uint32_t *parent;       /* of each scope; scope 0 has none */
	uint32_t scopes, parents;
};

int ptx_names_put(struct ptx_names *n, const char *text, uint32_t scope, struct ptx_decl *decl); /* 0 or -ENOMEM */
/* *index = the number behind a family's name. */
struct ptx_decl *ptx_names_get(const struct ptx_names *n, const char *text, uint32_t scope, struct ptx_span name,
			       uint32_t *index);
int ptx_names_scope(struct ptx_names *n, uint32_t parent, uint32_t *scope); /* a new scope; 0 or -ENOMEM */
void ptx_names_clear(struct ptx_names *n);

#endif

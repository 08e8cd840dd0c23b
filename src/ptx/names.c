#include "ptx/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

#define FAMILY_DIGITS 9u /* a register number longer than this belongs to no family */

static uint64_t hash_end(uint64_t h, uint32_t scope, int family)
{
	return random_mix(h ^ hash_spread((uint64_t)scope * 2 + (family != 0)));
}

/* The slot of this key: its own, or the free one where it belongs. */
static struct ptx_name *find(const struct ptx_names *n, const char *text, uint64_t hash, uint32_t scope,
			     struct ptx_span name, int family)
{
	for (uint32_t i = (uint32_t)(hash >> 32);; i++) {
		struct ptx_name *s = &n->slot[i & (n->room - 1)];

		if (!s->decl)
			return s;
		if (s->hash == hash && s->scope == scope && (s->decl->count != 0) == family &&
		    s->decl->name.len == name.len && !memcmp(text + s->decl->name.off, text + name.off, name.len))
			return s;
	}
}

static int grow(struct ptx_names *n)
{
	uint32_t room = n->room ? n->room * 2 : 64;
	struct ptx_name *slot = calloc(room, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->room; i++) {
		uint32_t at = (uint32_t)(n->slot[i].hash >> 32);

		if (!n->slot[i].decl)
			continue;
		while (slot[at & (room - 1)].decl)
			at++;
		slot[at & (room - 1)] = n->slot[i];
	}
	free(n->slot);
	n->slot = slot;
	n->room = room;
	return 0;
}

int ptx_names_put(struct ptx_names *n, const char *text, uint32_t scope, struct ptx_decl *decl)
{
	int family = decl->count != 0;
	uint64_t hash = hash_end(hash_bytes(HASH_START, text + decl->name.off, decl->name.len), scope, family);
	struct ptx_name *s;

	if (n->used * 2 >= n->room && grow(n))
		return -ENOMEM;
	s = find(n, text, hash, scope, decl->name, family);
	n->used += !s->decl;
	*s = (struct ptx_name){hash, decl, scope};
	return 0;
}

static struct ptx_decl *get_in(const struct ptx_names *n, const char *text, uint32_t scope, struct ptx_span name,
			       uint64_t hash, int family)
{
	return find(n, text, hash_end(hash, scope, family), scope, name, family)->decl;
}

/* A family whose name is a prefix of this one and whose count admits the digits behind it. Names may end in digits
 * themselves (%r1<10> is %r10 … %r19), so every split of the trailing digits is tried. */
static struct ptx_decl *get_family(const struct ptx_names *n, const char *text, uint32_t scope, struct ptx_span name,
				   uint32_t digits, uint32_t *index)
{
	const char *s = text + name.off;
	struct ptx_span prefix = {name.off, name.len - digits};
	uint64_t hash = hash_bytes(HASH_START, s, prefix.len);

	for (; prefix.len < name.len; hash = hash_step(hash, (unsigned char)s[prefix.len++])) {
		struct ptx_decl *d = get_in(n, text, scope, prefix, hash, 1);
		uint32_t number = 0;

		if (!d || (s[prefix.len] == '0' && prefix.len + 1 < name.len))
			continue;
		for (uint32_t i = prefix.len; i < name.len; i++)
			number = number * 10 + (uint32_t)(s[i] - '0');
		if (number < d->count) {
			*index = number;
			return d;
		}
	}
	return NULL;
}

struct ptx_decl *ptx_names_get(const struct ptx_names *n, const char *text, uint32_t scope, struct ptx_span name,
			       uint32_t *index)
{
	uint64_t hash = hash_bytes(HASH_START, text + name.off, name.len);
	uint32_t digits = 0;

	*index = 0;
	if (!n->room)
		return NULL;
	while (digits < FAMILY_DIGITS && digits + 1 < name.len && text[name.off + name.len - 1 - digits] >= '0' &&
	       text[name.off + name.len - 1 - digits] <= '9')
		digits++;
	for (;; scope = n->parent[scope]) {
		struct ptx_decl *d = get_in(n, text, scope, name, hash, 0);

		if (!d && digits)
			d = get_family(n, text, scope, name, digits, index);
		if (d || !scope)
			return d;
	}
}

int ptx_names_scope(struct ptx_names *n, uint32_t parent, uint32_t *scope)
{
	if (n->scopes == n->parents) {
		uint32_t room = n->parents ? n->parents * 2 : 16;
		uint32_t *more = realloc(n->parent, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		n->parent = more;
		n->parents = room;
	}
	n->parent[n->scopes] = parent;
	*scope = n->scopes++;
	return 0;
}

void ptx_names_clear(struct ptx_names *n)
{
	free(n->slot);
	free(n->parent);
	*n = (struct ptx_names){0};
}

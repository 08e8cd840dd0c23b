/* What kernels and functions are called in reports. */
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/hash.h"
#include "supervisor/state.h"

#define NAME_BUCKETS 1024u

struct name { struct name *next; char *shown, raw[]; };
static struct name *bucket[NAME_BUCKETS]; /* they are few, and kept: findings name them again and again */

const char *supervisor_name(const char *raw)
{
	if (!raw || strncmp(raw, "_Z", 2))
		return NULL;
	struct name **at = &bucket[hash_bytes(HASH_START, raw, strlen(raw)) % NAME_BUCKETS], *n = *at;
	while (n && strcmp(n->raw, raw))
		n = n->next;
	if (!n && (n = malloc(sizeof *n + strlen(raw) + 1))) {
		strcpy(n->raw, raw);
		n->shown = demangle_shortly(raw);
		n->next = *at;
		*at = n;
	}
	return n ? n->shown : NULL;
}

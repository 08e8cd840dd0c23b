#include "driver/chosen.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"

static int chosen_match_one(const char *patterns, const char *name)
{
	int matches = 0;

	for (size_t n; *patterns && !matches; patterns += n + (patterns[n] == ',')) {
		n = strcspn(patterns, ",");
		char *pattern = strndup(patterns, n);
		matches = pattern && n && !fnmatch(pattern, name, 0);
		free(pattern);
	}
	return matches;
}

int chosen_match(const char *patterns, const char *kernel)
{
	if (chosen_match_one(patterns, kernel))
		return 1;
	char *full = demangle(kernel), *shown = demangle_shortly(kernel); /* as reports have it */
	int matches = (full && chosen_match_one(patterns, full)) || (shown && chosen_match_one(patterns, shown));
	free(full);
	free(shown);
	return matches;
}

const char *chosen_out(const char *kernel)
{
	const char *include = getenv("GSAN_INCLUDE"), *exclude = getenv("GSAN_EXCLUDE");

	if (include && *include && !chosen_match(include, kernel))
		return "it is none of --include";
	return exclude && *exclude && chosen_match(exclude, kernel) ? "left out by --exclude" : NULL;
}

/* parts.def against the PTX that clang made: which functions of the runtime are in no row. Another clang inlines other ones, so a
 * few may be; they would count as "other" (EMU_STATS). */
#include <stdio.h>
#include <string.h>

#include "device/runtime.h"

#define MOST_OTHER 3

static const struct { const char *part, *function; } rows[] = {
#define PART(part, function) {#part, #function},
#include "device/parts.def"
#undef PART
};
#define ROWS (sizeof rows / sizeof *rows)

/* As clones name it: what the runtime does not offer to them begins with gsan__ there (src/ptx/link.c). */
static int in_a_row(const char *name, size_t length)
{
	char full[128];
	snprintf(full, sizeof full, "%s%.*s", strncmp(name, "gsan_", 5) ? "gsan__" : "", (int)length, name);
	for (size_t k = 0; k < ROWS; k++)
		if (!strcmp(rows[k].function, full))
			return 1;
	return 0;
}

/* The name of the function that begins at `at`: before its parameters, behind those of its result. */
static const char *name_of(const char *at, size_t *length)
{
	at += strcspn(at, " \t");
	at += strspn(at, " \t");
	if (*at == '(')
		at = strchr(at, ')') + 1;
	at += strspn(at, " \t\n");
	*length = strcspn(at, "( \t\n");
	return at;
}

int main(void)
{
	int functions = 0, other = 0, twice = 0;
	for (const char *at = strstr(device_runtime_ptx, ".func"); at; at = strstr(at + 1, ".func")) {
		size_t length;
		if (at[strcspn(at, "{;")] != '{')
			continue; /* a declaration */
		const char *name = name_of(at, &length);
		functions++;
		if (!in_a_row(name, length)) {
			other++;
			printf("in no row of src/device/parts.def: %.*s\n", (int)length, name);
		}
	}
	for (size_t k = 1; k < ROWS; k++)
		for (size_t j = 0; j < k; j++)
			if (!strcmp(rows[k].function, rows[j].function)) {
				twice++;
				printf("in two rows: %s\n", rows[k].function);
			}
	printf("%d functions, %d in no row, of which %d may be\n", functions, other, MOST_OTHER);
	return other > MOST_OTHER || twice || functions < 50;
}

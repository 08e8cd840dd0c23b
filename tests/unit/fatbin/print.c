/* `test_fatbin_print FILE GPU`: what is in a fat binary, one line an entry, and the PTX that belongs to that GPU, or why there is none. */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "fatbin/fatbin.h"

static int print_entries(const struct fatbin *f)
{
	struct fatbin_entry e;
	size_t at = 0;
	int more;

	while ((more = fatbin_next(f, &at, &e)) > 0)
		printf("kind %u sm_%u%.1s %.*s %s %llu bytes\n", e.kind, e.arch, (const char[]){e.feature, 0}, (int)e.name_size, e.name,
		       e.flags & 0x2000 ? "lz4" : e.flags & 0x8000 ? "zstd" : "plain", (unsigned long long)e.size);
	return more;
}

int main(int argc, char **argv)
{
	struct fatbin f;
	struct fatbin_entry e;
	char *file, *text;
	size_t size;

	if (argc != 3 || text_read_file(argv[1], &file, &size) || fatbin_open(file, size, &f) || print_entries(&f))
		return 1;
	const char *reason = fatbin_ptx(&f, (unsigned)atoi(argv[2]), &e);
	if (!reason)
		reason = fatbin_unpack(&e, &text, &size);
	puts(reason ? reason : text);
	return 0;
}

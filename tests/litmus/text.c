/* litmus-text: what the others make of a litmus file. It prints the program as print.c writes it, or as PTX. */
#include "litmus/litmus.h"

#include <stdlib.h>
#include <string.h>

static int show(const char *path, int ptx, unsigned number)
{
	struct lit_program *p;
	char error[512], prefix[24];

	if (lit_load(path, &p, error, sizeof(error))) {
		fprintf(stderr, "litmus-text: %s\n", error);
		return 1;
	}
	snprintf(prefix, sizeof(prefix), "p%u", number);
	if (ptx)
		lit_emit_kernels(p, prefix, number, stdout);
	else
		lit_print(p, stdout);
	lit_free(p);
	return 0;
}

int main(int argc, char **argv)
{
	int ptx = argc > 1 && !strcmp(argv[1], "--ptx"), failed = 0;

	if (argc < 2 + ptx || !strcmp(argv[1], "--help")) {
		fprintf(argc > 1 && !ptx ? stdout : stderr, "usage: litmus-text [--ptx] FILE.litmus…\n"
				"Checks litmus programs and prints them, or with --ptx one module of all their kernels.\n");
		return argc > 1 && !ptx ? 0 : 2;
	}
	if (ptx)
		lit_emit_head(stdout);
	for (int i = 1 + ptx; i < argc; i++)
		failed |= show(argv[i], ptx, (unsigned)i);
	return failed;
}

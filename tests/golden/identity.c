/* Every file named parses, and prints byte for byte when nothing is edited. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/edit.h"
#include "ptx/ptx.h"

static int check(const char *path)
{
	struct ptx_edits none = {0};
	struct text printed = {0};
	struct ptx_module *m;
	struct ptx_error e;
	char *text;
	size_t size;
	int bad;

	if (text_read_file(path, &text, &size)) {
		fprintf(stderr, "%s: cannot read\n", path);
		return 1;
	}
	if (ptx_parse(text, size, &m, &e)) {
		fprintf(stderr, "%s:%u:%u: %s\n", path, e.line, e.column, e.text);
		free(text);
		return 1;
	}
	bad = !m->functions || ptx_edit_print(&none, m->text, 0, (uint32_t)m->size, &printed) || printed.size != size ||
	      memcmp(printed.data, text, size);
	if (bad)
		fprintf(stderr, "%s: does not come back as it was\n", path);
	text_free(&printed);
	ptx_free(m);
	free(text);
	return bad;
}

int main(int argc, char **argv)
{
	int bad = argc < 2;

	for (int i = 1; i < argc; i++)
		bad |= check(argv[i]);
	return bad;
}

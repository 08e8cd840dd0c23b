/* Edits: order at one offset, ranges, deletions, overlaps refused, identity without any. */
#include "ptx/edit.h"

#include <errno.h>

#include "check.h"

static void prints(struct ptx_edits *e, uint32_t from, uint32_t to, const char *expected)
{
	struct text out = {0};

	CHECK(!ptx_edit_print(e, "0123456789", from, to, &out));
	if (strcmp(out.data, expected)) {
		fprintf(stderr, "got %s, expected %s\n", out.data, expected);
		exit(1);
	}
	text_free(&out);
}

int main(void)
{
	struct ptx_edits e = {0};
	struct text out = {0};

	prints(&e, 0, 10, "0123456789");
	ptx_edit_insert(&e, 5, "b");
	ptx_edit_insert(&e, 2, "a");
	ptx_edit_add(&e, 5, 2, "c", 1);
	ptx_edit_insert(&e, 10, "z");
	prints(&e, 0, 10, "01a234bc789z");
	prints(&e, 3, 9, "34bc78");
	CHECK(ptx_edit_print(&e, "0123456789", 0, 6, &out) == -EINVAL);
	ptx_edit_insert(&e, 6, "inside a deletion");
	CHECK(ptx_edit_print(&e, "0123456789", 0, 10, &out) == -EINVAL);
	ptx_edit_clear(&e);
	prints(&e, 0, 10, "0123456789");
	text_free(&out);
	return 0;
}

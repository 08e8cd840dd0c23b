/* For tests of what a kernel's text is told as (ptx/describe.h): read back, with the sites by their lines. */
#ifndef GSAN_TESTS_PTX_DESCRIBED_H
#define GSAN_TESTS_PTX_DESCRIBED_H

#include "check.h"
#include "ptx/describe.h"
#include "ptx/info.h"

#define DESCRIBED_FUNCTIONS 4
#define DESCRIBED_LINES 8

/* What is told of the last function, of so many at most. */
static inline void describe(const char *source, uint32_t most, struct ptx_info *info)
{
	struct ptx_module *m = parse_ok(source);
	struct text described = {0};
	struct ptx_plan plan;
	uint8_t reached[DESCRIBED_FUNCTIONS] = {0};
	uint32_t stack[DESCRIBED_FUNCTIONS];

	CHECK(most <= DESCRIBED_FUNCTIONS && m->functions && m->functions <= most && !ptx_plan_make(m, 1, &plan));
	ptx_describe(&plan, m->functions - 1, NULL, reached, stack, &described);
	CHECK(!ptx_info_parse(described.data, described.size, info));
	text_free(&described);
	ptx_plan_free(&plan);
	ptx_free(m);
}

/* The first site of each line below DESCRIBED_LINES; NULL: it has none. */
static inline void described_lines(const struct ptx_info *info, const struct ptx_site *at[DESCRIBED_LINES])
{
	memset(at, 0, DESCRIBED_LINES * sizeof(*at));
	for (uint32_t i = info->sites; i > 0; i--)
		if (info->site[i - 1].line < DESCRIBED_LINES)
			at[info->site[i - 1].line] = &info->site[i - 1];
}

#endif

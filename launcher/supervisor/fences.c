/* Fences of too narrow a scope, which the device says nothing of: what the text of a kernel tells of those between an access and the flag behind it,
 * and between a flag that was read and the access behind that. */
#include <string.h>

#include "supervisor/state.h"

/* The last one between two places of a kernel, which were executed in that order, if none is wide enough. A fence that only `other` half is none. */
static struct report_flag fences_narrow(const struct report_finding *f, const struct kernel *kernel, uint32_t from, uint32_t to, const char *other)
{
	const struct ptx_info *info = kernel ? &kernel->info : NULL;
	const struct ptx_site *a = info ? ptx_info_site(info, from) : NULL, *b = info ? ptx_info_site(info, to) : NULL;
	struct report_flag narrow = {0};
	for (const struct ptx_fence *fence = NULL; a && b && (fence = ptx_info_fence(info, a, b, fence));) {
		const struct ptx_site *at = &fence->at;
		if (!strcmp(at->semantics, other))
			continue;
		if (report_includes(f, at->scope))
			return (struct report_flag){0};
		narrow = supervisor_flag(at, info->kernel);
	}
	return narrow;
}

void supervisor_fences(const struct candidate *c, struct report_finding *f)
{
	if (c->own_flag && c->flag[0] == c->kernel[0])
		f->fence_write = fences_narrow(f, c->kernel[0], c->finding.first.site, c->finding.flag_write_site, "acquire");
	if (c->flag[1] == c->kernel[1])
		f->fence_read = fences_narrow(f, c->kernel[1], c->finding.flag_read_site, c->finding.second.site, "release");
}

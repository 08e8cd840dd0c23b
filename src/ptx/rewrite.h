/* The rewriter: PTX text in, PTX text with checked clones out. Used by gsan-ptxas on files and by libgsan on PTX that
 * reaches the driver. */
#ifndef GSAN_PTX_REWRITE_H
#define GSAN_PTX_REWRITE_H

#include "ptx/ptx.h"

/* CTAs per SM of the plain cubin: what a clone must keep. regs 0 = unknown. */
struct ptx_regs { const char *kernel; uint32_t regs; };

struct ptx_rewrite_options {
	const char *source;                           /* for reports: path of the PTX or module name */
	uint32_t kernels; const struct ptx_regs *reg; /* registers of the plain kernels, from ptxas -v or the driver */
	uint32_t run;                                 /* weak accesses that are checked together, at most; 0: GSAN_BATCH_MAX */
	uint32_t clocks;                              /* every kernel with an RMW keeps clocks: none of its RMWs is PTX_ACCESS_RED */
	int linked;                                   /* the text lacks what ptx_link_object() has, and is to be linked with it */
};
struct ptx_rewrite_stats {
	uint32_t clones, sites, checked, left, skipped_kernels; /* checked: instructions, several of which may be one site */
	int already; /* the text went through here before, or is the runtime's own: it comes back as it is */
};

/* Writes a malloc'ed, NUL-terminated text to *out, without the NUL in *out_size. A module without any kernel, or with
 * none that can be cloned, comes back byte for byte. Returns 0, -EINVAL with *error, -ENOMEM. */
int ptx_rewrite(const char *text, size_t size, const struct ptx_rewrite_options *options, char **out, size_t *out_size,
		struct ptx_rewrite_stats *stats, struct ptx_error *error);

#endif

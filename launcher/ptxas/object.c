/* The runtime's object: what linked modules lack of it, compiled once for an architecture and a bound of registers, and kept with the
 * results (cache.c). `ptxas -c`, for a whole program without kernels would be empty. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "device/runtime.h"
#include "linker.h"
#include "ptx/link.h"

static int compile(const char *real, const char *arch, unsigned registers, const struct text *source, struct ptxas_bytes *to)
{
	char gpu[80], most[64], c[] = "-c", o[] = "-o", *program = strdup(real);
	struct ptxas_call call;
	int rc = ptxas_call_open(&call, "runtime.ptx");

	snprintf(gpu, sizeof(gpu), "--gpu-name=%s", arch);
	snprintf(most, sizeof(most), "--device-function-maxrregcount=%u", registers);
	char *argv[] = {program, c, gpu, most, call.in_path, o, call.out_path, NULL};
	if (!rc)
		rc = program ? ptxas_call_run(&call, argv, source, to) : -ENOMEM;
	ptxas_call_close(&call);
	free(program);
	return rc > 0 ? -EIO : rc;
}

int runtime_object(const char *real, const char *arch, unsigned registers, struct ptxas_bytes *to)
{
	struct ptxas_cache cache;
	struct ptxas_result kept = {0};
	struct text source = {0};
	int rc = 0;

	ptxas_cache_open_runtime(&cache, real, arch, registers);
	if (ptxas_cache_take(&cache, &kept)) {
		*to = (struct ptxas_bytes){kept.cubin, kept.cubin_size};
		kept.cubin = NULL;
		ptxas_result_free(&kept);
	} else {
		rc = ptx_link_object(device_runtime_ptx, device_runtime_ptx_size, &source);
		if (!rc)
			rc = compile(real, arch, registers, &source, to);
		if (!rc) {
			char none[] = "";

			kept = (struct ptxas_result){to->data, {none, none}, to->size};
			ptxas_cache_keep(&cache, &kept);
		}
		text_free(&source);
	}
	ptxas_cache_close(&cache);
	if (rc)
		log_info("the runtime does not compile by itself for %s: %s", arch, strerror(-rc));
	return rc;
}

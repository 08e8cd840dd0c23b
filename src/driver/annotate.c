#include "driver/annotate.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "driver/flow.h"
#include "driver/state.h"
#include "vmm/vmm.h"

#define EXPORT __attribute__((visibility("default")))

static __thread unsigned ignoring __attribute__((tls_model("initial-exec")));

int annotate_ignores(void)
{
	return ignoring > 0;
}

EXPORT void gsan_annotate_ignore_begin(void)
{
	ignoring++;
}

EXPORT void gsan_annotate_ignore_end(void)
{
	if (ignoring)
		ignoring--;
}

EXPORT int gsan_annotate_label(const void *memory, size_t size, const char *name)
{
	if (!size || !name || !*name || strlen(name) > VMM_LABEL_MAX)
		return -EINVAL;
	if (!driver_enter())
		return -ENOSYS;
	int rc = vmm_label((uintptr_t)memory, size, name);
	driver_leave();
	return rc;
}

static int annotate_word(const char *word, void (*call)(uint64_t word))
{
	if (!word || !*word || strlen(word) > VMM_LABEL_MAX)
		return -EINVAL;
	if (!driver_enter())
		return -ENOSYS;
	call(hash_bytes(HASH_START, word, strlen(word)) | 1); /* 0 is none */
	driver_leave();
	return 0;
}

EXPORT int gsan_annotate_release(const char *word) { return annotate_word(word, flow_release); }
EXPORT int gsan_annotate_acquire(const char *word) { return annotate_word(word, flow_acquire); }

/* Names that the program gives to its memory. Findings look for the memory that was told last, so a name is told as one more allocation. */
#include <errno.h>

#include "ipc/ipc.h"
#include "vmm/block.h"

/* The canonical address of memory of one piece; 0: it is not. */
static uint64_t label_place(uint64_t at, uint64_t size)
{
	uint64_t first = vmm_canonical(at), last = vmm_canonical(at + size - 1);
	return first <= last && last - first == size - 1 && block_find(first) == block_find(last) ? first : 0;
}

int vmm_label(uint64_t at, uint64_t size, const char *name)
{
	struct participant *p = participant_any();
	struct vmm_section s;
	if (!p || vmm_enter(p, &s))
		return -ENOENT;
	uint64_t canonical = label_place(at, size);
	struct participant *owner = canonical ? participant_of(canonical) : NULL;
	int rc = -ENOENT;
	if (owner) {
		struct ipc_msg msg = {.type = IPC_ALLOC, .participant = owner->index, .base = canonical, .size = size};
		ipc_text(&msg, "%s", name);
		rc = ipc_call(owner->socket, &msg, -1, NULL);
	}
	vmm_leave(&s);
	return rc;
}

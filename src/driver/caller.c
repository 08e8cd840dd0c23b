#include "driver/caller.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#include "base/hash.h"
#include "base/text.h"
#include "device/layout.h"
#include "ipc/ipc.h"
#include "ptx/info.h"
#include "vmm/vmm.h"

#define CALLER_FRAMES 8u /* that tell places apart, from the first outside of CUDA's libraries on; */
#define CALLER_DEPTH 48u /* so many are looked at */

struct caller { uintptr_t frame[CALLER_FRAMES]; unsigned frames, depth; };

/* Of CUDA, or ours? */
static int caller_is_inside(const char *object)
{
	static const char *const inside[] = {"libcuda.", "libcudart", "libgsan."};
	const char *slash = object ? strrchr(object, '/') : NULL, *base = slash ? slash + 1 : object;

	for (unsigned i = 0; base && i < sizeof(inside) / sizeof(*inside); i++)
		if (!strncmp(base, inside[i], strlen(inside[i])))
			return 1;
	return 0;
}

/* The same of an address, which is asked of the loader once. */
static int caller_skips(uintptr_t at)
{
	static struct map known = {.lock = PTHREAD_MUTEX_INITIALIZER, .peeked = 1};
	static char inside, outside;
	const char *answer = map_peek(&known, at);
	Dl_info info;

	if (!answer)
		answer = map_get(&known, at);
	if (!answer) {
		answer = dladdr((void *)at, &info) && caller_is_inside(info.dli_fname) ? &inside : &outside;
		map_put(&known, at, (void *)(uintptr_t)answer);
	}
	return answer == &inside;
}

static _Unwind_Reason_Code caller_frame(struct _Unwind_Context *context, void *caller)
{
	struct caller *c = caller;
	uintptr_t at = _Unwind_GetIP(context);

	if (!at || ++c->depth > CALLER_DEPTH)
		return _URC_END_OF_STACK;
	if (c->frames || !caller_skips(at))
		c->frame[c->frames++] = at;
	return c->frames == CALLER_FRAMES ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* ---- its text, as a kernel's (ptx/info.h) ----------------------------------------------------------------------- */

/* The first frame's, if it is exported. A further one's is who called it: of a program that exports nothing, __libc_start_main. */
static const char *caller_function(const struct caller *c)
{
	Dl_info info;

	return c->frames && dladdr((void *)(c->frame[0] - 1), &info) && info.dli_sname ? info.dli_sname : "-";
}

/* Without the version and the kind of default stream: how programs call it. */
static size_t caller_plain(const char *name)
{
	const char *end = strchr(name, '_');

	return end ? (size_t)(end - name) : strlen(name);
}

/* What the driver function does, by a word of its name. */
static const char *caller_op(const char *name)
{
	static const struct { const char *word, *op; } known[] = {
		{"Memset", "memset"}, {"FreeAsync", "free"}, {"WriteValue", "write-value"}, {"WaitValue", "wait-value"}, {"BatchMemOp", "write-value"}, {"", "memcpy"},
	};
	unsigned i = 0;

	while (!strstr(name, known[i].word))
		i++;
	return known[i].op;
}

static void caller_text(const struct caller *c, const char *name, struct text *out)
{
	const char *op = caller_op(name), *function = caller_function(c);
	char path[PATH_MAX];
	Dl_info info;
	void *map;

	text_printf(out, "gsan-info\t%u\t%.*s\t-\nsource\t-\nhost\n", GSAN_ABI, (int)caller_plain(name), name);
	for (unsigned side = 0; side < 2; side++) {
		text_printf(out, "site\t%u\t-\t0\t0", side);
		ptx_info_field(out, function, strlen(function));
		text_printf(out, "\t%s\t-\t-\t0\t-\n", op);
	}
	for (unsigned i = 0; i < c->frames; i++)
		if (dladdr1((void *)(c->frame[i] - 1), &info, &map, RTLD_DL_LINKMAP) && info.dli_fname) {
			uintptr_t moved = ((const struct link_map *)map)->l_addr;
			const char *object = realpath(info.dli_fname, path) ? path : info.dli_fname;
			text_puts(out, "frame");
			ptx_info_field(out, object, strlen(object));
			text_printf(out, "\t0x%zx\n", (size_t)(c->frame[i] - 1 - moved));
		}
}

static uint32_t caller_register(struct flow *f, const struct caller *c, const char *name)
{
	struct ipc_msg msg = {.type = IPC_KERNEL, .participant = f->participant->index};
	struct text text = {0};
	int fd = memfd_create("gsan-caller", MFD_CLOEXEC);

	caller_text(c, name, &text);
	int rc = fd < 0 || text.failed || text_write_fd(fd, text.data, text.size);
	if (!rc) {
		msg.kernel = 1 + atomic_fetch_add_explicit(&f->kernels, 1, memory_order_relaxed);
		ipc_text(&msg, "%s", name);
		rc = ipc_call(f->participant->socket, &msg, fd, NULL);
	}
	if (fd >= 0)
		close(fd);
	text_free(&text);
	return rc ? 0 : msg.kernel;
}

uint32_t caller_kernel(struct flow *f, const char *name)
{
	struct caller c = {.frames = 0};
	uint64_t hash = hash_bytes(HASH_START, name, strlen(name));

	_Unwind_Backtrace(caller_frame, &c);
	for (unsigned i = 0; i < c.frames; i++)
		hash = hash_then(hash, c.frame[i]);
	uintptr_t kernel = (uintptr_t)map_get(&f->callers, hash);
	if (kernel)
		return (uint32_t)kernel;
	kernel = caller_register(f, &c, name);
	if (kernel)
		map_put(&f->callers, hash, (void *)kernel);
	return (uint32_t)kernel;
}

/* What a rank finds in its environment. Rows and small rules; nothing here remembers anything. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "device/abi.h"
#include "device/layout.h"
#include "gsan-launch/launch.h"
#include "ipc/proto.h"

static void environment_number(const char *name, long value, int overwrite)
{
	char text[24];
	snprintf(text, sizeof text, "%ld", value);
	setenv(name, text, overwrite);
}

/* NAME=first:what was there */
static void environment_prepend(const char *name, const char *first)
{
	const char *rest = getenv(name);
	struct text joined = {0};
	text_printf(&joined, rest && *rest ? "%s:%s" : "%s", first, rest);
	if (joined.data)
		setenv(name, joined.data, 1);
	text_free(&joined);
}

static void environment_folder(const char *name, const char *folder, const char *leaf)
{
	struct text path = {0};
	text_printf(&path, "%s/%s", folder, leaf);
	if (path.data)
		setenv(name, path.data, 1);
	text_free(&path);
}

/* Triton finds compiled code by what a function's text is, and not by the file, which is in its line information: scripts of one name and text in
 * two checkouts must not share a cache, or reports would name the other's. */
static void environment_triton_cache(const struct launch *l)
{
	char leaf[32] = "triton", path[PATH_MAX];
	for (char *const *arg = l->program; *arg; arg++) {
		if (!text_before(*arg, strlen(*arg), ".py") || !realpath(*arg, path))
			continue;
		const size_t folder = (size_t)(strrchr(path, '/') - path);
		snprintf(leaf, sizeof leaf, "triton/%016" PRIx64, hash_bytes(HASH_START, path, folder));
		break;
	}
	environment_folder("TRITON_CACHE_DIR", l->rank_cache, leaf);
}

/* Triton calls our ptxas; the one that the user had chosen is the real one then. */
static void environment_ptxas(const char *triton, const char *real, const char *ours)
{
	const char *chosen = getenv(triton);
	if (!*ours)
		return;
	if (chosen && *chosen && strcmp(chosen, ours))
		setenv(real, chosen, 0);
	setenv(triton, ours, 1);
}

/* What PyTorch's init_process_group reads. Ranks that we start ourselves must differ, whatever was set before. */
static void environment_ranks(const struct launch *l, int rank)
{
	int local = l->local_rank + rank - l->first_rank;
	environment_number("RANK", rank, l->own);
	environment_number("WORLD_SIZE", l->size, l->own);
	environment_number("LOCAL_RANK", local, l->own);
	environment_number("LOCAL_WORLD_SIZE", l->size, l->own);
	setenv("MASTER_ADDR", "127.0.0.1", 0);
	environment_number("MASTER_PORT", l->master_port, 0);
}

/* What a trace (EMU_TRACE) and counts (EMU_STATS) take for copies of kernels, where our own memory lies, and which part of the
 * runtime a function is of. */
static void environment_trace(void)
{
	static const char parts[] =
#define PART(part, function) #function "=" #part ","
#include "device/parts.def"
#undef PART
		"";
	char skip[64];
	snprintf(skip, sizeof skip, "%#llx-%#llx", GSAN_SHADOW_BASE, GSAN_ARENA_BASE + GSAN_ARENA_SIZE);
	setenv("EMU_TRACE_SUFFIX", GSAN_CLONE_SUFFIX, 0);
	setenv("EMU_TRACE_SKIP", skip, 0);
	setenv("EMU_TRACE_OWN", GSAN_RANGE_KERNEL "," GSAN_NODES_KERNEL "," GSAN_ROOM_KERNEL, 0);
	environment_number("EMU_TRACE_OWN_FLAGS", GSAN_EMU_OWN_FLAGS, 0);
	if (getenv("EMU_STATS"))
		setenv("EMU_STATS_PARTS", parts, 0);
}

static void environment_emulator(const struct launch *l)
{
	const char *devices = getenv("EMU_DEVICES");
	environment_prepend("LD_LIBRARY_PATH", l->files.emulator);
	setenv("TRITON_LIBCUDA_PATH", l->files.emulator, 1);
	setenv(GSAN_ENV_EMU, l->emu_job, 1);
	environment_trace();
	environment_number("EMU_RANKS", l->size, 1);
	environment_number("EMU_SEED", l->option[SETTING_SEED].number, 1);
	if (l->option[SETTING_SCHEDULE].given)
		setenv("EMU_SCHEDULE", l->option[SETTING_SCHEDULE].text, 1);
	if (!devices || strtol(devices, NULL, 10) < l->size)
		environment_number("EMU_DEVICES", l->size, 1);
}

void launch_environment(const struct launch *l, int rank)
{
	environment_prepend("LD_PRELOAD", l->files.preload);
	environment_prepend("ASAN_OPTIONS", "verify_asan_link_order=0"); /* GCC's refuses to start behind a library that is preloaded */
	setenv(GSAN_ENV_SOCKET, l->socket, 1);
	setenv(GSAN_ENV_DEVICE, l->emulated ? "emu" : "cuda", 1);
	environment_number(GSAN_ENV_RANK, rank, 1);
	environment_ranks(l, rank);
	environment_ptxas("TRITON_PTXAS_PATH", "GSAN_REAL_PTXAS", l->files.ptxas);
	environment_ptxas("TRITON_PTXAS_BLACKWELL_PATH", "GSAN_REAL_PTXAS_BLACKWELL", l->files.ptxas_blackwell);
	/* Always ours, even where the user has set them: plain and instrumented code must never share a cache. */
	environment_triton_cache(l);
	environment_folder("TORCHINDUCTOR_CACHE_DIR", l->rank_cache, "inductor");
	setenv("CUPY_CACHE_IN_MEMORY", "1", 1); /* of machine code that NVRTC made in an earlier job no PTX is known */
	setenv("USE_PYTORCH_KERNEL_CACHE", "0", 1);
	setenv("GSAN_CACHE_DIR", l->rank_cache, 1); /* gsan-ptxas's own is there */
	setenv("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1", 0); /* memory that many GPUs see at once cannot be checked */
	if (l->emulated)
		environment_emulator(l);
}

/* Where things are. Everything is found from the executable's own place, so that an install can be moved and a build
 * tree works as it is. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "config/folder.h"
#include "device/layout.h"
#include "gsan-launch/launch.h"
#include "supervisor/supervisor.h"

static int files_join(char *out, const char *folder, const char *name)
{
	int n = snprintf(out, PATH_MAX, "%s/%s", folder, name);
	if (n < PATH_MAX && !access(out, F_OK))
		return 0;
	out[0] = 0;
	return -ENOENT;
}

/* The first of the places that exists, relative to the executable's folder. */
static void files_first(char *out, const char *bin, const char *const *places, const char *name)
{
	char path[PATH_MAX];
	for (out[0] = 0; !out[0] && *places; places++) {
		int n = snprintf(path, sizeof path, "%s/%s/%s", bin, *places, name);
		if (n < 0 || n >= (int)sizeof path || !realpath(path, out))
			out[0] = 0;
	}
}

int launch_find_files(struct launch *l)
{
	static const char *const libraries[] = {"../" GSAN_LIBDIR, "../lib", "../lib64", NULL};
	static const char *const emulators[] = {"../" GSAN_LIBDIR "/gsan/emu", "../" GSAN_LIBDIR "/emu", "../lib/emu", NULL};
	struct launch_files *f = &l->files;
	ssize_t n = readlink("/proc/self/exe", f->bin, sizeof f->bin - 1);
	if (n < 0) {
		log_error("cannot read /proc/self/exe: %s", strerror(errno));
		return LAUNCH_EXIT_USAGE;
	}
	f->bin[n] = 0;
	*strrchr(f->bin, '/') = 0;
	files_first(f->preload, f->bin, libraries, "libgsan.so");
	files_first(f->emulator, f->bin, emulators, "libcuda.so.1");
	if (f->emulator[0])
		*strrchr(f->emulator, '/') = 0;
	files_join(f->ptxas, f->bin, "gsan-ptxas");
	if (files_join(f->ptxas_blackwell, f->bin, "gsan-ptxas-blackwell"))
		memcpy(f->ptxas_blackwell, f->ptxas, sizeof f->ptxas);
	if (!f->preload[0]) {
		log_error("libgsan.so is not where it belongs: %s/../" GSAN_LIBDIR, f->bin);
		return LAUNCH_EXIT_USAGE;
	}
	if (!f->ptxas[0])
		log_warning("gsan-ptxas is not beside gsan-launch in %s: Triton's kernels will run unchecked", f->bin);
	return 0;
}

int launch_find_program(const char *name)
{
	char path[PATH_MAX];
	const char *at = getenv("PATH");
	if (strchr(name, '/')) {
		if (!access(name, F_OK))
			return 0;
		at = NULL;
	}
	while (at && *at) {
		size_t n = strcspn(at, ":");
		int size = snprintf(path, sizeof path, "%.*s/%s", n ? (int)n : 1, n ? at : ".", name);
		if (size < (int)sizeof path && !access(path, X_OK))
			return 0;
		at += n + (at[n] == ':');
	}
	log_error("program '%s' not found", name);
	return LAUNCH_EXIT_NOT_FOUND;
}

#define FILES_REPORT_NAME 64 /* room for what the supervisor calls the files there */

/* Each start of torchrun's workers has a report of its own: that of the first is where --report says. */
static int files_report_folder(const char *report, char *folder)
{
	const char *restarts = getenv("TORCHELASTIC_RESTART_COUNT");
	long n = restarts ? strtol(restarts, NULL, 10) : 0;
	int size = n > 0 ? snprintf(folder, PATH_MAX, "%s/attempt-%ld", report, n) : snprintf(folder, PATH_MAX, "%s", report);
	return size < PATH_MAX ? 0 : -ENAMETOOLONG;
}

void launch_forget_report(const struct launch *l)
{
	char folder[PATH_MAX];
	if (!files_report_folder(l->option[SETTING_REPORT].text, folder))
		supervisor_forget_report(folder);
}

int launch_make_report(struct launch *l)
{
	const char *report = l->option[SETTING_REPORT].text;
	char folder[PATH_MAX];
	if (!*report) {
		log_error("--report: an empty name; name the directory that the report shall go to");
		return LAUNCH_EXIT_USAGE;
	}
	int rc = files_report_folder(report, folder);
	if (!rc)
		rc = folder_make(folder, 0777);
	if (!rc && !realpath(folder, l->report))
		rc = -errno;
	if (!rc && strlen(l->report) + FILES_REPORT_NAME >= PATH_MAX)
		rc = -ENAMETOOLONG;
	if (!rc && access(l->report, R_OK | W_OK | X_OK))
		rc = -errno;
	if (!rc)
		return 0;
	log_error("--report %.300s%s: cannot be used as a directory: %s", report, strlen(report) > 300 ? "..." : "", strerror(-rc));
	return LAUNCH_EXIT_USAGE;
}

/* In a child, because a driver that is loaded stays, with all it has started. */
static int files_have_driver(void)
{
	pid_t child = fork();
	if (child == 0)
		_exit(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) ? 0 : 1);
	int status = 1;
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0;
}

int launch_find_device(struct launch *l)
{
	enum { AUTO, CUDA, EMU };
	long want = l->option[SETTING_DEVICE].number;
	l->emulated = want == EMU;
	if (want == EMU && !l->files.emulator[0]) {
		log_error("--device emu: the emulated driver emu/libcuda.so.1 is not where it belongs: %s/../" GSAN_LIBDIR,
			  l->files.bin);
		return LAUNCH_EXIT_USAGE;
	}
	if (want == EMU || files_have_driver())
		return 0;
	log_error("the CUDA driver (libcuda.so.1) is missing here; to run on the emulated device use --device emu");
	return LAUNCH_EXIT_USAGE;
}

/* The supervisor makes the temporary one; that it cannot is known here already. */
int launch_find_cache(struct launch *l)
{
	char temporary[PATH_MAX];
	int cache = folder_cache(l->cache, GSAN_ABI);
	int rc = cache ? folder_make_temporary(temporary) : 0;
	if (!cache)
		return 0;
	if (!rc) {
		rmdir(temporary);
		l->cache[0] = 0;
		return 0;
	}
	log_error("no place for compiled kernels: %s: %s; nor in %s: %s; name a folder that can be written to by --cache-dir, or by TMPDIR",
		  l->cache[0] ? l->cache : "neither GSAN_CACHE_DIR nor XDG_CACHE_HOME nor HOME", l->cache[0] ? strerror(-cache) : "not set",
		  folder_temporary(), strerror(-rc));
	return LAUNCH_EXIT_USAGE;
}

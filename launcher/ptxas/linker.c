#include "linker.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"

#define LINK_SECONDS 60 /* a link takes some milliseconds; one that hangs is given up */
#define INPUT_CUBIN 1   /* nvJitLinkInputType */

struct job { const char *arch; const struct ptxas_bytes *object[2]; int out; };

/* ---- libnvJitLink (nvJitLink.h) --------------------------------------------------------------------------------- */

struct nvjitlink {
	int (*create)(void **handle, uint32_t options, const char **option);
	int (*add)(void *handle, int type, const void *data, size_t size, const char *name);
	int (*complete)(void *handle);
	int (*size)(void *handle, size_t *size);
	int (*cubin)(void *handle, void *cubin);
	int (*said_size)(void *handle, size_t *size);
	int (*said)(void *handle, char *text);
};

static int nvjitlink_load(const char *path, struct nvjitlink *to)
{
	const struct { const char *name; void *to; } symbols[] = {
		{"nvJitLinkCreate", &to->create}, {"nvJitLinkAddData", &to->add}, {"nvJitLinkComplete", &to->complete},
		{"nvJitLinkGetLinkedCubinSize", &to->size}, {"nvJitLinkGetLinkedCubin", &to->cubin},
		{"nvJitLinkGetErrorLogSize", &to->said_size}, {"nvJitLinkGetErrorLog", &to->said}};
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; library && i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *found = dlsym(library, symbols[i].name);

		if (!found)
			return -ENOSYS;
		memcpy(symbols[i].to, &found, sizeof(found));
	}
	return library ? 0 : -ELIBACC;
}

static void nvjitlink_say(const struct nvjitlink *n, void *handle, const char *path)
{
	size_t size = 0;
	char *text = !n->said_size(handle, &size) && size ? calloc(1, size + 1) : NULL;

	if (text && !n->said(handle, text))
		log_info("%s: %.*s", path, (int)strcspn(text, "\n"), text);
	free(text);
}

static int link_by_library(const char *path, const struct job *job)
{
	static const char *const names[] = {"module", "runtime"};
	struct nvjitlink n;
	char arch[80];
	const char *options[] = {arch, "-lineinfo"};
	void *handle = NULL;
	size_t size = 0;
	char *cubin;
	int bad = nvjitlink_load(path, &n);

	if (bad)
		return bad;
	snprintf(arch, sizeof(arch), "-arch=%s", job->arch);
	if (n.create(&handle, 2, options))
		return -EIO;
	for (int i = 0; !bad && i < 2; i++)
		bad = n.add(handle, INPUT_CUBIN, job->object[i]->data, job->object[i]->size, names[i]);
	bad = bad || n.complete(handle) || n.size(handle, &size);
	cubin = bad ? NULL : malloc(size);
	if (!cubin || n.cubin(handle, cubin)) {
		nvjitlink_say(&n, handle, path);
		return -EIO;
	}
	return text_write_fd(job->out, cubin, size);
}

/* ---- nvlink ------------------------------------------------------------------------------------------------------ */

/* It reads files whose names end in .o, and of these only what calls itself relocatable. */
static int write_object(const struct ptxas_bytes *from, const char *path)
{
	struct ptxas_bytes copy = {malloc(from->size), from->size};
	int rc = copy.data ? 0 : -ENOMEM;

	if (!rc) {
		memcpy(copy.data, from->data, copy.size);
		elf_set_relocatable(&copy);
		rc = text_write_file(path, copy.data, copy.size);
	}
	free(copy.data);
	return rc;
}

static int link_by_program(const char *path, const struct job *job)
{
	const char *folder = getenv("TMPDIR");
	char place[256], in[2][288], arch[80], out[64];
	int rc = 0;

	snprintf(place, sizeof(place), "%s/gsan-ptxas-XXXXXX", folder && *folder && strlen(folder) < 200 ? folder : "/tmp");
	if (!mkdtemp(place))
		return -errno;
	for (int i = 0; i < 2; i++) {
		snprintf(in[i], sizeof(in[i]), "%s/%d.o", place, i);
		rc = rc ? rc : write_object(job->object[i], in[i]);
	}
	snprintf(arch, sizeof(arch), "-arch=%s", job->arch);
	snprintf(out, sizeof(out), "/proc/self/fd/%d", job->out);
	if (!rc) {
		char *program = strdup(path), o[] = "-o", *argv[] = {program, arch, in[0], in[1], o, out, NULL};
		int said = ptxas_memory("nvlink");

		rc = said < 0 ? said : ptxas_run(argv, said, said);
		rc = rc > 0 ? -EIO : rc;
		free(program);
		close(said);
	}
	unlink(in[0]);
	unlink(in[1]);
	rmdir(place);
	return rc;
}

/* ---- one link ---------------------------------------------------------------------------------------------------- */

/* A cubin of a newer ABI than the ptxas makes is read by drivers of that CUDA version on. */
static int driver_takes(int abi)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int (*get)(int *version) = NULL, version = 0;
	void *found = library ? dlsym(library, "cuDriverGetVersion") : NULL;

	memcpy(&get, &found, sizeof(get));
	return get && !get(&version) && version >= (abi + 5) * 1000;
}

/* In a process of its own: what the library does there, a crash too, is none of the compiler's. */
static int link_apart(const struct linker *l, const struct job *job)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		alarm(LINK_SECONDS);
		_exit(-(l->is_program ? link_by_program(l->path, job) : link_by_library(l->path, job)));
	}
	int status = ptxas_wait(pid);
	return status < 0 ? status : status >= 128 ? -EIO : -status;
}

/* Is it what was asked for? Broken linkers have said nothing and exited with 0. */
static int accept(const struct ptxas_bytes *cubin, int abi, const char *const *functions)
{
	if (!elf_is_linked(cubin))
		return -EIO;
	while (*functions)
		if (!elf_has(cubin, *functions++))
			return -EIO;
	return elf_abi(cubin) <= abi || driver_takes(elf_abi(cubin)) ? 0 : -ENOEXEC;
}

static int link_once(const struct linker *l, const struct job *base, const char *const *functions, struct ptxas_bytes *cubin)
{
	struct job job = *base;
	int rc;

	job.out = ptxas_memory("linked");
	if (job.out < 0)
		return job.out;
	rc = link_apart(l, &job);
	if (!rc)
		rc = ptxas_memory_read(job.out, &cubin->data, &cubin->size);
	close(job.out);
	if (!rc) {
		rc = accept(cubin, elf_abi(job.object[0]), functions);
		if (rc)
			free(cubin->data);
	}
	if (rc)
		log_info("%s: does not link it: %s", l->path, strerror(-rc));
	return rc;
}

int linkers_run(const struct linkers *l, const char *arch, const struct ptxas_bytes *object, const struct ptxas_bytes *runtime,
		const char *const *functions, struct ptxas_bytes *cubin)
{
	struct job job = {arch, {object, runtime}, -1};
	int major = elf_abi(object) + 5, rc = -ENOENT;

	for (int other = 0; other < 2; other++)
		for (size_t i = 0; rc && i < l->count; i++) {
			const struct linker *this = &l->linker[i];

			if ((this->major != major) != other || (this->major && this->major < major))
				continue; /* an older one may not know all that is in a newer object, and say nothing of it */
			int one = link_once(this, &job, functions, cubin);

			rc = !one || one == -EIO ? one : rc;
		}
	return rc;
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/proto.h"
#include "ptxas.h"

static char *join(const char *folder, size_t n, const char *rest)
{
	char *path = NULL;

	return asprintf(&path, "%.*s%s", (int)n, folder, rest) < 0 ? NULL : path;
}

/* Takes the path over; gives it back if it is a program other than this one. */
static char *accept_path(char *path)
{
	char *real = path ? realpath(path, NULL) : NULL, *self = realpath("/proc/self/exe", NULL);
	int good = real && self && strcmp(real, self) != 0 && !access(real, X_OK);

	free(real);
	free(self);
	if (good)
		return path;
	free(path);
	return NULL;
}

int ptxas_caller(void)
{
	const char *named = getenv(GSAN_ENV_CALLER);

	return named ? atoi(named) : (int)getppid();
}

/* Triton's bundled one, found by the library that the calling process has mapped. */
static char *find_triton(const char *name)
{
	static const char library[] = "/_C/libtriton.so";
	char line[4352], path[64], *found = NULL;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", ptxas_caller());
	maps = fopen(path, "re");
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		char *start = strchr(line, '/'), *end = strstr(line, library);

		if (start && end && end > start) {
			char *folder = join(start, (size_t)(end - start), "/backends/nvidia/bin/");

			found = accept_path(folder ? join(folder, strlen(folder), name) : NULL);
			free(folder);
			break;
		}
	}
	if (maps)
		fclose(maps);
	return found;
}

/* In a directory of links to a toolkit, the nvcc beside us leads to the real one. */
static char *find_beside_nvcc(const char *folder, size_t n)
{
	char *nvcc = join(folder, n, "/nvcc"), *real = nvcc ? realpath(nvcc, NULL) : NULL, *found = NULL;

	if (real)
		found = accept_path(join(real, (size_t)(strrchr(real, '/') - real), "/ptxas"));
	free(nvcc);
	free(real);
	return found;
}

static char *find_in_path(char *(*look)(const char *folder, size_t n))
{
	const char *path = getenv("PATH");
	char *found = NULL;

	while (path && *path && !found) {
		size_t n = strcspn(path, ":");

		found = look(path, n);
		path += n + (path[n] == ':');
	}
	return found;
}

static char *look_ptxas(const char *folder, size_t n)
{
	return accept_path(join(folder, n, "/ptxas"));
}

static char *find_toolkit(const char *argv0)
{
	static const char *const homes[] = {"CUDA_HOME", "CUDA_PATH"};
	const char *slash = strrchr(argv0, '/');
	char *found = slash ? find_beside_nvcc(argv0, (size_t)(slash - argv0)) : NULL;

	for (size_t i = 0; !found && i < sizeof(homes) / sizeof(*homes); i++) {
		const char *home = getenv(homes[i]);

		if (home)
			found = accept_path(join(home, strlen(home), "/bin/ptxas"));
		if (!found && home) /* CUDA_HOME may be that directory of links itself */
			found = find_beside_nvcc(home, strlen(home));
	}
	if (!found)
		found = find_in_path(find_beside_nvcc);
	if (!found)
		found = find_in_path(look_ptxas);
	return found ? found : accept_path(strdup("/usr/local/cuda/bin/ptxas"));
}

char *ptxas_find(const struct ptxas_args *args)
{
	const char *named = args->real;
	char *found;

	if (!named && args->blackwell)
		named = getenv("GSAN_REAL_PTXAS_BLACKWELL");
	if (!named && !args->blackwell)
		named = getenv("GSAN_REAL_PTXAS");
	if (named && *named)
		return accept_path(strdup(named)); /* named and wrong is an error, not a reason to guess */
	found = find_triton(args->blackwell ? "ptxas-blackwell" : "ptxas");
	if (!found && args->blackwell)
		found = find_triton("ptxas");
	return found ? found : find_toolkit(args->argv[0]);
}

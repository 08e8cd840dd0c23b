#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linker.h"

#define LIBRARY "libnvJitLink.so."
static const char *const libraries[] = {LIBRARY "13", LIBRARY "12"};
#define LIBRARIES (sizeof(libraries) / sizeof(*libraries))

static void add(struct linkers *to, const char *path, int is_program)
{
	struct linker *grown;

	for (size_t i = 0; i < to->count; i++)
		if (!strcmp(to->linker[i].path, path))
			return;
	grown = realloc(to->linker, (to->count + 1) * sizeof(*grown));
	if (!grown)
		return;
	const char *major = strstr(path, LIBRARY);
	to->linker = grown;
	grown[to->count] = (struct linker){strdup(path), is_program, major ? atoi(major + sizeof(LIBRARY) - 1) : 0};
	to->count += grown[to->count].path != NULL;
}

/* FOLDER/NAME, if it is there; FOLDER is the first `n` characters. */
static void add_in(struct linkers *to, const char *folder, size_t n, const char *name, int is_program)
{
	char *path, *real = NULL;

	if (asprintf(&path, "%.*s/%s", (int)n, folder, name) < 0)
		return;
	if (!access(path, is_program ? X_OK : R_OK))
		real = realpath(path, NULL); /* one that is found twice is tried once */
	if (real)
		add(to, real, is_program);
	free(real);
	free(path);
}

/* The libraries in FOLDER/WHERE. */
static void add_libraries(struct linkers *to, const char *folder, size_t n, const char *where)
{
	char name[64];

	for (size_t i = 0; i < LIBRARIES; i++) {
		snprintf(name, sizeof(name), "%s/%s", where, libraries[i]);
		add_in(to, folder, n, name, 0);
	}
}

/* Wheels of one installation lie side by side. */
static void add_wheels(struct linkers *to, const char *path)
{
	static const char mark[] = "-packages";
	const char *end = strstr(path, mark);
	size_t n = end ? (size_t)(end - path) + sizeof(mark) - 1 : 0;

	if (!end)
		return;
	add_libraries(to, path, n, "nvidia/cu13/lib");
	add_libraries(to, path, n, "nvidia/nvjitlink/lib");
}

/* The calling process is a compiler, often with torch's libraries in it, or with Triton's. */
static void add_caller(struct linkers *to)
{
	char line[4352], path[64];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", ptxas_caller());
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		char *start = strchr(line, '/');

		if (!start)
			continue;
		start[strcspn(start, "\n")] = '\0';
		if (strstr(start, "/" LIBRARY))
			add_in(to, "", 0, start + 1, 0);
		if (strstr(start, "/libtriton.so") || strstr(start, "/libtorch_cpu.so"))
			add_wheels(to, start);
	}
	if (maps)
		fclose(maps);
}

static void add_toolkit(struct linkers *to)
{
	static const char *const homes[] = {"CUDA_HOME", "CUDA_PATH"};
	const char *path = getenv("PATH");

	for (size_t i = 0; i < sizeof(homes) / sizeof(*homes); i++) {
		const char *home = getenv(homes[i]);

		if (home && *home)
			add_in(to, home, strlen(home), "bin/nvlink", 1);
	}
	while (path && *path) {
		size_t n = strcspn(path, ":");

		add_in(to, path, n, "nvlink", 1);
		path += n + (path[n] == ':');
	}
	add_in(to, "/usr/local/cuda", 15, "bin/nvlink", 1);
}

void linkers_find(const char *real, struct linkers *to)
{
	const char *named = getenv("GSAN_LINKER");
	char *ptxas = realpath(real, NULL);

	*to = (struct linkers){0};
	if (!named || !*named)
		named = "auto";
	if (!strcmp(named, "none")) {
		free(ptxas);
		return;
	}
	if (strcmp(named, "auto")) {
		const char *base = strrchr(named, '/') ? strrchr(named, '/') + 1 : named;

		add(to, named, strncmp(base, "lib", 3) != 0);
	} else if (ptxas) {
		size_t folder = (size_t)(strrchr(ptxas, '/') - ptxas); /* bin, beside lib or lib64 */

		add_libraries(to, ptxas, folder, "../lib");
		add_libraries(to, ptxas, folder, "../lib64");
		add_wheels(to, ptxas);
		add_caller(to);
		add_in(to, ptxas, folder, "nvlink", 1);
		for (size_t i = 0; i < LIBRARIES; i++)
			add(to, libraries[i], 0); /* as the loader finds it */
		add_toolkit(to);
	}
	free(ptxas);
}

void linkers_free(struct linkers *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->linker[i].path);
	free(l->linker);
	*l = (struct linkers){0};
}

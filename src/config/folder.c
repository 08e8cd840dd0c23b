#include "config/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int folder_make(const char *path, mode_t mode)
{
	char part[PATH_MAX];
	size_t n = strlen(path);
	struct stat st;

	if (n == 0 || n >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, n + 1);
	for (size_t i = 1; i <= n; i++) {
		if (part[i] != '/' && part[i] != 0)
			continue;
		part[i] = 0;
		if (mkdir(part, mode) && errno != EEXIST)
			return -errno;
		part[i] = path[i];
	}
	if (stat(path, &st))
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int folder_cache(char path[PATH_MAX], unsigned abi)
{
	static const struct { const char *variable, *below; } places[] = {
		{"GSAN_CACHE_DIR", NULL}, {"XDG_CACHE_HOME", "/gsan"}, {"HOME", "/.cache/gsan"}};

	path[0] = 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		const char *at = getenv(places[i].variable), *below = places[i].below;
		int n = 0, rc = 0;

		if (!at || !*at)
			continue;
		n = below ? snprintf(path, PATH_MAX, "%s%s/" GSAN_VERSION "-%u", at, below, abi) : snprintf(path, PATH_MAX, "%s", at);
		if (n >= PATH_MAX)
			return -ENAMETOOLONG;
		rc = folder_make(path, 0700);
		return rc ? rc : access(path, W_OK | X_OK) ? -errno : 0;
	}
	return -ENOENT;
}

const char *folder_temporary(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder ? folder : "/tmp";
}

int folder_make_temporary(char path[PATH_MAX])
{
	if (snprintf(path, PATH_MAX, "%s/gsan-XXXXXX", folder_temporary()) >= PATH_MAX)
		return -ENAMETOOLONG;
	return mkdtemp(path) ? 0 : -errno;
}

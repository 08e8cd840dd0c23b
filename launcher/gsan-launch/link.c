/* An install whose path the dynamic loader cannot take: LD_PRELOAD ends a name at a space or a colon, LD_LIBRARY_PATH at a colon or a
 * semicolon, and both replace what follows a dollar sign. Ranks get a link to the folder then, from this user's cache folder. It is the
 * same for every job of an install, and stays. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "config/folder.h"
#include "gsan-launch/launch.h"

#define LINK_PRELOAD " :$"
#define LINK_LIBRARY ":;$"

/* Nobody else may put something else there. */
static int link_private(const char *folder)
{
	struct stat st;
	return !lstat(folder, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022);
}

/* The folder for the links: "" if there is none that will do. */
static void link_place(const struct launch *l, char *place)
{
	char cache[PATH_MAX];
	if (!l->cache[0] || !realpath(l->cache, cache) || strpbrk(cache, " :;$") || !link_private(cache) ||
	    snprintf(place, PATH_MAX, "%s/links", cache) >= PATH_MAX - 40 || folder_make(place, 0700) || !link_private(place))
		place[0] = 0;
}

/* A link of this name that leads there, whatever was there before. */
static int link_make(const char *target, const char *name)
{
	char now[PATH_MAX], fresh[PATH_MAX];
	ssize_t n = readlink(name, now, sizeof now);
	if (n == (ssize_t)strlen(target) && !memcmp(now, target, (size_t)n))
		return 0;
	if (snprintf(fresh, sizeof fresh, "%s.%d", name, (int)getpid()) >= (int)sizeof fresh)
		return -ENAMETOOLONG;
	unlink(fresh); /* of a process that was killed */
	return symlink(target, fresh) || rename(fresh, name) ? -errno : 0;
}

/* path: of the folder; the link's takes its place. */
static int link_folder(const struct launch *l, char *path, const char *what)
{
	char place[PATH_MAX], name[PATH_MAX];
	link_place(l, place);
	int fits = place[0] && snprintf(name, sizeof name, "%s/%016llx", place,
					(unsigned long long)hash_bytes(HASH_START, path, strlen(path))) < (int)sizeof name;
	if (fits && !link_make(path, name)) {
		memcpy(path, name, strlen(name) + 1);
		return 0;
	}
	log_error("%s is in '%.300s%s', and the dynamic loader takes no path with a space, a colon, a semicolon or a dollar sign; a link to it "
		  "goes into the cache folder: set GSAN_CACHE_DIR to a folder of yours whose path has none of these and where nobody else may "
		  "write, or install to another path", what, path, strlen(path) > 300 ? "..." : "");
	return LAUNCH_EXIT_USAGE;
}

int launch_link_files(struct launch *l)
{
	struct launch_files *f = &l->files;
	char folder[PATH_MAX];
	int rc = 0;
	if (strpbrk(f->preload, LINK_PRELOAD)) {
		char *file = strrchr(f->preload, '/');
		*file = 0;
		memcpy(folder, f->preload, sizeof folder);
		rc = link_folder(l, folder, file + 1);
		if (!rc && snprintf(f->preload, sizeof f->preload, "%s/libgsan.so", folder) >= (int)sizeof f->preload)
			rc = LAUNCH_EXIT_USAGE;
	}
	if (!rc && l->emulated && strpbrk(f->emulator, LINK_LIBRARY))
		rc = link_folder(l, f->emulator, "the emulated driver");
	return rc;
}

/* Folders: made with those above them; and the one in which this user's GSan keeps what it has compiled. */
#ifndef GSAN_CONFIG_FOLDER_H
#define GSAN_CONFIG_FOLDER_H

#include <limits.h>
#include <sys/types.h>

int folder_make(const char *path, mode_t mode); /* mkdir -p: 0 or -errno */
/* GSAN_CACHE_DIR, or else a folder of this version and ABI in XDG_CACHE_HOME or ~/.cache. Made if need be. 0, or -errno: there is none
 * that can be written to; `path` is the one that there would be, or "". */
int folder_cache(char path[PATH_MAX], unsigned abi);
const char *folder_temporary(void); /* TMPDIR or /tmp */
int folder_make_temporary(char path[PATH_MAX]); /* a new one in there: 0 or -errno */

#endif

/* An entry is a file named by the hash of its key: a header, the key, what the plain run said, the cubin. The key is there whole, so
 * that nothing depends on the hash but the name. Their time is that of the last use. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "config/folder.h"
#include "config/settings.h"
#include "device/layout.h"
#include "linker.h"
#include "ptxas.h"

#define MAGIC "gsan-ptxas entry 1\n"
#define ENDING ".entry"
#define ASIDE ".tmp"           /* of one that is being written (text_write_file) */
#define ASIDE_SECONDS 3600     /* its writer died */
#define MOST_MB 1024u          /* GSAN_CACHE_MB */

enum { KEY, STDOUT, STDERR, CUBIN, PARTS };
struct header { char magic[24]; uint64_t size[PARTS], sum; }; /* sum: of all behind the header */

/* ---- the key ---------------------------------------------------------------------------------------------------- */

/* Which program or library it is, without reading all of it: its place, size and time. */
static int add_program(struct text *key, const char *path)
{
	struct stat st;
	char *real = realpath(path, NULL);
	int rc = real && !stat(real, &st) ? 0 : -errno;

	if (!rc)
		text_printf(key, "%s %llu %lld.%09ld\n", real, (unsigned long long)st.st_size, (long long)st.st_mtim.tv_sec,
			    st.st_mtim.tv_nsec);
	free(real);
	return rc;
}

/* Compilers put the PTX into a file that is gone soon, right among the temporary ones: its name says nothing. Any other stands in
 * reports. */
static int is_temporary(const char *path)
{
	const char *folder = getenv("TMPDIR"), *slash = strrchr(path, '/');
	size_t n;

	if (!folder || !*folder)
		folder = "/tmp";
	n = strlen(folder);
	n -= n > 1 && folder[n - 1] == '/';
	return slash && (size_t)(slash - path) == n && !strncmp(path, folder, n);
}

static void add_options(struct text *key, const struct ptxas_args *a)
{
	for (int i = 1; i < a->argc; i++) {
		const char *arg = a->argv[i];

		if (i == a->output)
			arg = "OUTPUT";
		else if (i == a->input && (a->source || is_temporary(arg)))
			arg = a->source ? a->source : "INPUT";
		text_add(key, arg, strlen(arg) + 1); /* with its end: two are not one */
	}
}

/* Of the working folder nothing depends on but the input, of which a relative name is in the key. */
static int add_module(struct text *key, const struct ptxas_args *a, const struct linkers *linkers)
{
	size_t size;
	char *ptx;
	int rc = text_read_file(a->argv[a->input], &ptx, &size);

	if (rc)
		return rc;
	for (size_t i = 0; i < linkers->count; i++)
		if (add_program(key, linkers->linker[i].path)) /* found by the loader: its name has to do */
			text_printf(key, "%s\n", linkers->linker[i].path);
	add_options(key, a);
	text_add(key, ptx, size);
	free(ptx);
	return 0;
}

/* ---- the folder -------------------------------------------------------------------------------------------------- */

/* Nobody else may have written there: what an entry holds is run. */
static int open_folder(char folder[PATH_MAX])
{
	struct stat st;
	size_t n;

	if (folder_cache(folder, GSAN_ABI))
		return -ENOENT;
	n = strlen(folder);
	if (n + sizeof("/ptxas") > PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(folder + n, "/ptxas");
	if (folder_make(folder, 0700) || stat(folder, &st))
		return -errno;
	if (st.st_uid == geteuid() && !(st.st_mode & 022))
		return 0;
	log_info("%s is not used: others may write there", folder);
	return -EPERM;
}

/* What each key begins with. 0: nothing can be kept. */
static int begin(struct ptxas_cache *c, const char *real)
{
	*c = (struct ptxas_cache){.folder = ""};
	if (!real || ptxas_emulated() || open_folder(c->folder))
		return 0;
	text_printf(&c->key, "gsan-ptxas " GSAN_VERSION " %016llx\n", ptxas_build());
	return !add_program(&c->key, real);
}

static void name_entry(struct ptxas_cache *c)
{
	if (c->key.failed)
		return;
	unsigned long long name = hash_bytes(HASH_START, c->key.data, c->key.size);
	if (snprintf(c->path, sizeof(c->path), "%s/%016llx" ENDING, c->folder, name) >= (int)sizeof(c->path))
		c->path[0] = 0;
}

void ptxas_cache_open(struct ptxas_cache *c, const struct ptxas_args *args, const char *real, const struct linkers *linkers)
{
	if (begin(c, args->input > 0 ? real : NULL) && !add_module(&c->key, args, linkers))
		name_entry(c);
}

void ptxas_cache_open_runtime(struct ptxas_cache *c, const char *real, const char *arch, unsigned registers)
{
	if (!begin(c, real))
		return;
	text_printf(&c->key, "runtime of %s, %u registers\n", arch, registers);
	name_entry(c);
}

void ptxas_cache_close(struct ptxas_cache *c) { text_free(&c->key); }

/* ---- an entry ---------------------------------------------------------------------------------------------------- */

static struct header header_of(const char *const part[PARTS], const size_t size[PARTS])
{
	struct header h = {.magic = MAGIC, .sum = HASH_START};

	for (int i = 0; i < PARTS; i++) {
		h.size[i] = size[i];
		h.sum = hash_bytes(h.sum, part[i], size[i]);
	}
	return h;
}

static char *copy_of(const char *bytes, size_t size)
{
	char *copy = malloc(size + 1);

	if (copy) {
		memcpy(copy, bytes, size);
		copy[size] = 0;
	}
	return copy;
}

/* Points `part` into the file's bytes. 0: they are not an entry, or not all of one. */
static int take_apart(const char *data, size_t size, const char *part[PARTS], size_t length[PARTS])
{
	struct header h, made;
	size_t left = size - sizeof(h);

	if (size < sizeof(h))
		return 0;
	memcpy(&h, data, sizeof(h));
	data += sizeof(h);
	for (int i = 0; i < PARTS; i++) {
		if (h.size[i] > left)
			return 0;
		part[i] = data;
		length[i] = h.size[i];
		data += length[i];
		left -= length[i];
	}
	made = header_of(part, length);
	return !left && !memcmp(&h, &made, sizeof(h));
}

int ptxas_cache_take(const struct ptxas_cache *c, struct ptxas_result *to)
{
	const char *part[PARTS];
	size_t size[PARTS], file_size;
	char *data;
	int whole, found;

	if (!c->path[0] || text_read_file(c->path, &data, &file_size))
		return 0;
	whole = take_apart(data, file_size, part, size);
	found = whole && size[KEY] == c->key.size && !memcmp(part[KEY], c->key.data, size[KEY]);
	if (!whole) {
		log_info("%s is damaged, and made anew", c->path);
		unlink(c->path);
	}
	if (found) {
		*to = (struct ptxas_result){copy_of(part[CUBIN], size[CUBIN]),
					    {copy_of(part[STDOUT], size[STDOUT]), copy_of(part[STDERR], size[STDERR])}, size[CUBIN]};
		found = to->cubin && to->said[0] && to->said[1];
		utimensat(AT_FDCWD, c->path, NULL, 0); /* used now */
		if (!found)
			ptxas_result_free(to);
	}
	free(data);
	return found;
}

/* ---- the bound --------------------------------------------------------------------------------------------------- */

struct item { char name[64]; off_t size; struct timespec used; };
struct items { struct item *item; size_t count, room; unsigned long long bytes; };

static int older(const void *a, const void *b)
{
	const struct timespec *x = &((const struct item *)a)->used, *y = &((const struct item *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static int add_item(struct items *items, const char *name, const struct stat *st)
{
	if (items->count == items->room) {
		size_t room = items->room ? 2 * items->room : 256;
		struct item *grown = realloc(items->item, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		items->item = grown;
		items->room = room;
	}
	struct item *to = &items->item[items->count++];
	snprintf(to->name, sizeof(to->name), "%s", name);
	to->size = st->st_size;
	to->used = st->st_mtim;
	items->bytes += (unsigned long long)st->st_size;
	return 0;
}

/* What is ours in the folder; what a dead writer has left goes, `all`: any that is being written. */
static void list_items(DIR *folder, struct items *items, int all)
{
	for (struct dirent *e; (e = readdir(folder));) {
		struct stat st;
		size_t n = strlen(e->d_name);
		int aside = text_before(e->d_name, n, ASIDE) != 0;

		if ((!aside && !text_before(e->d_name, n, ENDING)) || n >= sizeof(items->item->name) ||
		    fstatat(dirfd(folder), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		if (aside && (all || time(NULL) - st.st_mtime > ASIDE_SECONDS))
			unlinkat(dirfd(folder), e->d_name, 0);
		else if (!aside && add_item(items, e->d_name, &st))
			return;
	}
}

/* Where there are more than `most` bytes, removes those used longest ago until `rest` are left. Returns how many, -1: one cannot be
 * removed. */
static long shrink(const char *path, unsigned long long most, unsigned long long rest)
{
	DIR *folder = opendir(path);
	struct items items = {0};
	long gone = 0;

	if (!folder)
		return errno == ENOENT ? 0 : -1;
	list_items(folder, &items, !most);
	if (items.bytes > most)
		qsort(items.item, items.count, sizeof(*items.item), older);
	else
		items.count = 0;
	for (size_t i = 0; i < items.count && items.bytes > rest && gone >= 0; i++) {
		int bad = unlinkat(dirfd(folder), items.item[i].name, 0) && errno != ENOENT;

		gone = bad ? -1 : gone + 1;
		items.bytes -= (unsigned long long)items.item[i].size;
	}
	free(items.item);
	closedir(folder);
	return gone;
}

/* A disk that is full, or a folder that is gone, keeps nothing, and that is all. */
void ptxas_cache_keep(const struct ptxas_cache *c, const struct ptxas_result *result)
{
	const char *const part[PARTS] = {c->key.data, result->said[0], result->said[1], result->cubin};
	const size_t size[PARTS] = {c->key.size, strlen(result->said[0]), strlen(result->said[1]), result->cubin_size};
	unsigned long long most = (unsigned long long)setting_number(SETTING_CACHE_MB, MOST_MB) << 20;
	struct header h = header_of(part, size);
	struct text entry = {0};

	if (!c->path[0])
		return;
	text_add(&entry, (const char *)&h, sizeof(h));
	for (int i = 0; i < PARTS; i++)
		text_add(&entry, part[i], size[i]);
	if (!entry.failed && !text_write_file(c->path, entry.data, entry.size))
		shrink(c->folder, most, most / 4 * 3);
	text_free(&entry);
}

int ptxas_cache_clear(void)
{
	char folder[PATH_MAX];
	int rc = open_folder(folder);
	long gone = rc ? 0 : shrink(folder, 0, 0);

	if (rc || gone < 0) {
		log_error("%s: cannot remove what is there: %s", rc == -ENOENT ? "no cache folder" : folder, strerror(rc ? -rc : errno));
		return 1;
	}
	printf("gsan-ptxas: %ld compiled module%s removed\n", gone, gone == 1 ? "" : "s");
	return 0;
}

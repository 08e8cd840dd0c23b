#include "ipc/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

struct broker_entry {
	struct broker_entry *next;
	struct broker_range range;
	uint32_t id; /* rises, so that a cursor survives removals */
	int fd;      /* the real handle; -1: taken back */
	int writer;  /* of the token's pipe, or -1: put */
	dev_t device;
	ino_t inode;
	uint32_t piece, opens[GSAN_PARTICIPANTS + 1]; /* of what was lent: broker_open() */
};

/* Memory that was imported by a token, while anybody has it. */
struct broker_imported {
	struct broker_imported *next;
	uint64_t base;
	uint32_t times[GSAN_PARTICIPANTS + 1];
};

struct broker_named {
	struct broker_named *next;
	struct broker_range range;
	uint8_t name[BROKER_NAME];
};

struct broker {
	struct broker_imported *imported;
	struct broker_named *named;
	struct broker_entry *put, *put_last, *exported, *lent;
	uint32_t ids;
	size_t tokens;
	int epoll; /* watches the writers; EPOLLERR comes unasked */
};

int broker_new(struct broker **broker)
{
	struct broker *b = calloc(1, sizeof *b);
	if (!b)
		return -ENOMEM;
	b->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (b->epoll < 0) {
		int rc = -errno;
		free(b);
		return rc;
	}
	*broker = b;
	return 0;
}

static void broker_entry_free(struct broker_entry *e)
{
	if (e->writer >= 0)
		close(e->writer);
	if (e->fd >= 0)
		close(e->fd);
	free(e);
}

static void broker_list_free(struct broker_entry *e)
{
	while (e) {
		struct broker_entry *next = e->next;
		broker_entry_free(e);
		e = next;
	}
}

/* Drops names of memory that begins in that range, of one participant, or GSAN_PARTICIPANTS: of all. */
static void broker_names_end(struct broker *b, uint32_t participant, uint64_t base, uint64_t size)
{
	struct broker_named **at = &b->named;
	while (*at) {
		struct broker_named *n = *at;
		if (n->range.base - base >= size || (participant != GSAN_PARTICIPANTS && n->range.participant != participant)) {
			at = &n->next;
			continue;
		}
		*at = n->next;
		free(n);
	}
}

void broker_free(struct broker *b)
{
	if (!b)
		return;
	broker_list_free(b->put);
	broker_list_free(b->exported);
	broker_list_free(b->lent);
	while (b->imported) {
		struct broker_imported *next = b->imported->next;
		free(b->imported);
		b->imported = next;
	}
	broker_names_end(b, GSAN_PARTICIPANTS, 0, UINT64_MAX);
	close(b->epoll);
	free(b);
}

static int broker_entry_new(struct broker *b, const struct broker_range *range, int fd, struct broker_entry **entry)
{
	struct broker_entry *e = fd < 0 ? NULL : calloc(1, sizeof *e);
	if (!e) {
		if (fd >= 0)
			close(fd);
		return fd < 0 ? -EBADF : -ENOMEM;
	}
	*e = (struct broker_entry){.range = *range, .id = ++b->ids, .fd = fd, .writer = -1};
	*entry = e;
	return 0;
}

int broker_put(struct broker *b, const struct broker_range *range, int fd)
{
	struct broker_entry *e;
	int rc = broker_entry_new(b, range, fd, &e);
	if (rc)
		return rc;
	if (b->put_last)
		b->put_last->next = e;
	else
		b->put = e;
	b->put_last = e;
	return 0;
}

static int broker_meets(const struct broker_range *a, const struct broker_range *b)
{
	return a->space == b->space && a->base < b->base + b->size && b->base < a->base + a->size;
}

int broker_get(struct broker *b, const struct broker_range *want, uint32_t *cursor, struct broker_range *found, int *fd)
{
	for (struct broker_entry *e = b->put; e; e = e->next) {
		if (e->id <= *cursor || !broker_meets(&e->range, want))
			continue;
		*cursor = e->id;
		*found = e->range;
		*fd = e->fd;
		return 0;
	}
	return -ENOENT;
}

/* Makes the entry's pipe and watches its write end. */
static int broker_token_open(struct broker *b, struct broker_entry *e, int *token)
{
	int ends[2], rc;
	struct stat st;
	struct epoll_event event = {.events = 0, .data.ptr = e};
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	e->writer = ends[1]; /* closed with the entry */
	if (fstat(ends[0], &st) || epoll_ctl(b->epoll, EPOLL_CTL_ADD, ends[1], &event)) {
		rc = -errno;
		close(ends[0]);
		return rc;
	}
	e->device = st.st_dev;
	e->inode = st.st_ino;
	*token = ends[0];
	return 0;
}

int broker_export(struct broker *b, const struct broker_range *range, int fd, int *token)
{
	struct broker_entry *e;
	int rc = broker_entry_new(b, range, fd, &e);
	if (rc)
		return rc;
	rc = broker_token_open(b, e, token);
	if (rc) {
		broker_entry_free(e);
		return rc;
	}
	e->next = b->exported;
	b->exported = e;
	b->tokens++;
	return 0;
}

static struct broker_imported **broker_imported(struct broker *b, uint64_t base)
{
	struct broker_imported **at = &b->imported;
	while (*at && (*at)->base != base)
		at = &(*at)->next;
	return at;
}

static int broker_import_count(struct broker *b, uint64_t base, uint32_t participant)
{
	struct broker_imported **at = broker_imported(b, base);
	if (!*at)
		*at = calloc(1, sizeof **at);
	if (!*at)
		return -ENOMEM;
	(*at)->base = base;
	(*at)->times[participant]++;
	return 0;
}

int broker_import(struct broker *b, int token, uint32_t participant, struct broker_range *found, int *fd)
{
	struct stat st;
	if (fstat(token, &st))
		return -errno;
	for (struct broker_entry *e = S_ISFIFO(st.st_mode) ? b->exported : NULL; e; e = e->next) {
		if (e->inode != st.st_ino || e->device != st.st_dev)
			continue;
		*found = e->range;
		*fd = e->fd;
		return broker_import_count(b, e->range.base, participant);
	}
	return -ENOENT;
}

/* So many of its imports are over. */
static void broker_import_end(struct broker_imported **at, uint32_t participant, uint32_t times)
{
	struct broker_imported *i = *at;
	i->times[participant] -= times;
	for (uint32_t p = 0; p <= GSAN_PARTICIPANTS; p++)
		if (i->times[p])
			return;
	*at = i->next;
	free(i);
}

void broker_return(struct broker *b, uint64_t base, uint32_t participant)
{
	struct broker_imported **at = broker_imported(b, base);
	if (*at && (*at)->times[participant])
		broker_import_end(at, participant, 1);
}

int broker_vacant(struct broker *b, uint64_t base, uint64_t size)
{
	broker_sweep(b);
	for (const struct broker_entry *e = b->exported; e; e = e->next)
		if (e->range.base < base + size && base < e->range.base + e->range.size)
			return -EBUSY;
	for (const struct broker_imported *i = b->imported; i; i = i->next)
		if (i->base - base < size)
			return -EBUSY;
	broker_names_end(b, GSAN_PARTICIPANTS, base, size);
	return 0;
}

int broker_has_tokens(const struct broker *b, uint32_t participant)
{
	for (const struct broker_entry *e = b->exported; e; e = e->next)
		if (e->range.participant == participant)
			return 1;
	return 0;
}

/* ---- named */

static struct broker_named *broker_name_find(struct broker *b, const void *name)
{
	struct broker_named *n = b->named;
	while (n && memcmp(n->name, name, sizeof n->name))
		n = n->next;
	return n;
}

int broker_name(struct broker *b, const struct broker_range *range, const void *name)
{
	struct broker_named *n = broker_name_find(b, name);
	if (!n) {
		n = calloc(1, sizeof *n);
		if (!n)
			return -ENOMEM;
		memcpy(n->name, name, sizeof n->name);
		n->next = b->named;
		b->named = n;
	}
	n->range = *range;
	return 0;
}

int broker_named(struct broker *b, const void *name, uint32_t participant, struct broker_range *found)
{
	const struct broker_named *n = broker_name_find(b, name);
	if (!n)
		return -ENOENT;
	*found = n->range;
	return broker_import_count(b, n->range.base, participant);
}

/* ---- lent */

int broker_lend(struct broker *b, const struct broker_range *range, int fd, uint32_t *number)
{
	struct broker_entry *e;
	int rc = broker_entry_new(b, range, fd, &e);
	if (rc)
		return rc;
	e->piece = e->id;
	for (const struct broker_entry *o = b->lent; o; o = o->next)
		if (o->fd >= 0 && o->range.participant == range->participant && o->range.base == range->base)
			e->piece = o->piece;
	e->next = b->lent;
	b->lent = e;
	*number = e->id;
	return 0;
}

static struct broker_entry **broker_lent(struct broker *b, uint32_t number)
{
	struct broker_entry **at = &b->lent;
	while (*at && (*at)->id != number)
		at = &(*at)->next;
	return at;
}

int broker_open(struct broker *b, uint32_t number, uint32_t participant, struct broker_range *found, uint32_t *piece, int *fd)
{
	struct broker_entry *e = *broker_lent(b, number);
	if (!e || e->fd < 0 || participant > GSAN_PARTICIPANTS)
		return -ENOENT;
	if (e->range.participant == participant)
		return -ELOOP;
	e->opens[participant]++;
	*found = e->range;
	*piece = e->piece;
	*fd = e->fd;
	return 0;
}

void broker_close(struct broker *b, uint32_t number, uint32_t participant)
{
	struct broker_entry *e = *broker_lent(b, number);
	if (e && participant <= GSAN_PARTICIPANTS && e->opens[participant])
		e->opens[participant]--;
}

static void broker_remove(struct broker_entry **at)
{
	struct broker_entry *gone = *at;
	*at = gone->next;
	broker_entry_free(gone);
}

int broker_reclaim(struct broker *b, uint32_t number, uint32_t participant)
{
	struct broker_entry **at = broker_lent(b, number), *e = *at;
	if (!e || e->range.participant != participant)
		return -ENOENT;
	if (e->fd >= 0)
		close(e->fd); /* what is open keeps the memory */
	e->fd = -1;
	for (uint32_t p = 0; p <= GSAN_PARTICIPANTS; p++)
		if (e->opens[p])
			return -EBUSY;
	broker_remove(at);
	return 0;
}

static void broker_leave_lent(struct broker *b, uint32_t participant)
{
	struct broker_entry **at = &b->lent;
	while (*at) {
		(*at)->opens[participant] = 0;
		if ((*at)->range.participant == participant)
			broker_remove(at);
		else
			at = &(*at)->next;
	}
}

/* ---- */

void broker_leave(struct broker *b, uint32_t participant)
{
	broker_leave_lent(b, participant);
	broker_names_end(b, participant, 0, UINT64_MAX);
	for (struct broker_imported **i = &b->imported, *was; (was = *i);) {
		broker_import_end(i, participant, was->times[participant]);
		if (*i == was)
			i = &was->next;
	}
	struct broker_entry **at = &b->put;
	b->put_last = NULL;
	while (*at) {
		struct broker_entry *e = *at;
		if (e->range.participant != participant) {
			b->put_last = e;
			at = &e->next;
			continue;
		}
		broker_remove(at);
	}
}

int broker_fd(const struct broker *b) { return b->epoll; }
size_t broker_tokens(const struct broker *b) { return b->tokens; }

static void broker_drop(struct broker *b, struct broker_entry *gone)
{
	for (struct broker_entry **at = &b->exported; *at; at = &(*at)->next)
		if (*at == gone) {
			*at = gone->next;
			broker_entry_free(gone); /* closing the writer also ends the watch */
			b->tokens--;
			return;
		}
}

void broker_sweep(struct broker *b)
{
	struct epoll_event event[32];
	int n = epoll_wait(b->epoll, event, 32, 0);
	for (int i = 0; i < n; i++)
		broker_drop(b, event[i].data.ptr);
}

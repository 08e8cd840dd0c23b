/* One function per message type; the table at the end is the protocol. Each gets the message and the descriptor that
 * came with it (which it takes when it sets *fd to -1), turns *msg into the reply and may put a descriptor into
 * reply_fd. Returns 0, or the -errno that the reply carries. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/state.h"

struct request {
	struct ipc_msg msg;
	int connection;
	int fd;              /* came with it; closed afterwards unless taken */
	int reply_fd;        /* goes with the reply */
	int reply_fd_owned;  /* and is closed then */
	int later;           /* no reply now */
};

/* The participant that a message speaks of: its own number if the connection joined as that, else the only one. */
static int request_participant(const struct supervisor *s, struct request *q, uint32_t *participant)
{
	uint32_t mine = s->connection[q->connection].participants;
	int32_t named = q->msg.participant;
	if (named >= 0 && named < (int32_t)GSAN_PARTICIPANTS && (mine >> named & 1)) {
		*participant = (uint32_t)named;
		return 0;
	}
	if (!mine || (mine & (mine - 1)))
		return -EINVAL;
	*participant = (uint32_t)__builtin_ctz(mine);
	return 0;
}

static void request_text(const struct request *q, char *text, size_t size)
{
	size_t n = q->msg.length < size - 1 ? q->msg.length : size - 1;
	memcpy(text, q->msg.text, n);
	text[n] = 0;
}

/* ---- launchers ---- */

/* The line's value, and where the next one begins. */
static const char *request_term(const char *line, const char **next, int *length)
{
	const char *end = strchrnul(line, '\n'), *value = memchr(line, '\t', (size_t)(end - line));
	value = value ? value + 1 : end;
	*length = (int)(end - value);
	*next = *end ? end + 1 : end;
	return value;
}

/* Was this launcher told the same as the one that started the job? Else the options that differ are named. */
static void request_terms(const struct supervisor *s, const struct request *q, struct text *out)
{
	char theirs[sizeof q->msg.text + 1];
	const char *a = s->config.terms, *b = theirs, *next_a, *next_b;
	request_text(q, theirs, sizeof theirs);
	for (; *a || *b; a = next_a, b = next_b) {
		int m, n;
		const char *known = request_term(a, &next_a, &m), *said = request_term(b, &next_b, &n);
		if (next_a - a == next_b - b && !memcmp(a, b, (size_t)(next_a - a)))
			continue;
		const char *line = *a ? a : b, *began = out->size ? "" : ", which started the job";
		text_printf(out, "%s--%.*s: '%.*s' for rank %d, '%.*s' for rank %d%s", out->size ? "; " : "", (int)strcspn(line, "\t\n"), line,
			    n < 1000 ? n : 1000, said, q->msg.rank, m < 1000 ? m : 1000, known, s->config.rank, began);
	}
	if (out->size)
		text_puts(out, ": the ranks of a job are given the same");
}

/* Why this launcher cannot be one of the job; empty: it can. */
static void request_unfit(const struct supervisor *s, const struct request *q, struct text *out)
{
	int rank = q->msg.rank;
	if (rank < 0 || rank >= (int)s->config.size || q->msg.size_ranks != (int32_t)s->config.size)
		text_printf(out, "rank %d of %d does not fit into a job of %u ranks, which rank %d started", rank, q->msg.size_ranks,
			    s->config.size, s->config.rank);
	else
		request_terms(s, q, out);
	if (!out->size && s->member[rank].state != MEMBER_ABSENT)
		text_printf(out, "rank %d came twice", rank);
	if (out->size && *s->config.apart)
		text_printf(out, "; if these are two jobs, %s", s->config.apart);
}

/* While the launchers meet, one that does not fit fails the job: its rank would not come, or ranks of two jobs would meet. */
static int request_launcher(struct supervisor *s, struct request *q)
{
	struct text why = {0};
	s->came++;
	if (s->failure.size && !s->met)
		text_add(&why, s->failure.data, s->failure.size); /* it comes late */
	else
		request_unfit(s, q, &why);
	if (why.size && !s->failure.size && !s->met)
		text_add(&s->failure, why.data, why.size);
	int unfit = why.size || why.failed;
	ipc_text(&q->msg, "%s", why.data ? why.data : "");
	text_free(&why);
	if (unfit)
		return -EINVAL;
	struct member *m = &s->member[q->msg.rank];
	m->state = MEMBER_HERE;
	m->connection = q->connection;
	s->connection[q->connection].rank = q->msg.rank;
	q->later = 1; /* when all are here, or time is up */
	return 0;
}

static int request_member(struct supervisor *s, struct request *q, struct member **member)
{
	int rank = s->connection[q->connection].rank;
	if (rank < 0)
		return -EINVAL;
	*member = &s->member[rank];
	return 0;
}

static int request_started(struct supervisor *s, struct request *q)
{
	struct member *m;
	if (request_member(s, q, &m))
		return -EINVAL;
	m->pid = q->msg.pid;
	m->own_group = q->msg.base == 1;
	m->group = m->own_group ? m->pid : getpgid(m->pid);
	return 0;
}

static int request_wait(struct supervisor *s, struct request *q)
{
	struct member *m;
	if (request_member(s, q, &m))
		return -EINVAL;
	m->state = MEMBER_DONE;
	m->status = q->msg.status;
	m->waits = 1;
	q->later = 1; /* the verdict is the reply */
	return 0;
}

/* ---- rank processes ---- */

#define REQUEST_REFUSED 64u /* so many are named */

/* It runs on, unseen, until the job ends, for all that is known; what others have exported it may use. */
static int request_refuse(struct supervisor *s, struct request *q, const char *bus)
{
	int rank = q->msg.rank >= 0 && q->msg.rank < (int)s->config.size ? q->msg.rank : 0;
	char name[64] = "further processes";
	if (s->refused < REQUEST_REFUSED)
		snprintf(name, sizeof name, "process %d%s%.31s", q->msg.pid, *bus ? " on GPU " : "", bus);
	struct report_note note = {.key = REPORT_PROCESS, .name = name, .ranks = 1u << rank,
				   .reason = "the job had no room for it: its kernels ran unchecked"};
	ipc_text(&q->msg, "the job has room for no more processes x GPUs at once");
	report_add_note(&s->notes, &note);
	s->refused++;
	job_writes(s->job, 0, GSAN_STREAMS - 1, UINT32_MAX); /* no launch passes over this slot as its own */
	q->msg.participant = -1;
	q->reply_fd = s->job_fd;
	return 0;
}

static int request_join(struct supervisor *s, struct request *q)
{
	uint32_t p;
	struct job_rank *rank;
	char bus[sizeof rank->gpu_bus];
	request_text(q, bus, sizeof bus);
	int rc = supervisor_place_take(s, q->msg.rank, &p);
	if (rc == -ENOSPC)
		return request_refuse(s, q, bus);
	q->msg.length = 0;
	rank = &s->job->rank[p];
	if (supervisor_owner_join(s, p, q->msg.rank, q->msg.pid, bus))
		return -ENOMEM;
	memcpy(rank->gpu_bus, bus, sizeof bus);
	rank->gpu = s->owner[p]->gpu;
	atomic_store_explicit(&rank->rank, q->msg.rank, memory_order_relaxed);
	atomic_store_explicit(&rank->pid, q->msg.pid, memory_order_relaxed);
	supervisor_place_joined(s, p);
	s->connection[q->connection].participants |= 1u << p;
	q->msg.participant = (int32_t)p;
	q->reply_fd = s->job_fd;
	return 0;
}

static int request_rank(struct supervisor *s, struct request *q)
{
	uint32_t p;
	if (request_participant(s, q, &p))
		return -EINVAL;
	s->owner[p]->rank = q->msg.rank;
	atomic_store_explicit(&s->job->rank[p].rank, q->msg.rank, memory_order_relaxed);
	return 0;
}

static int request_range(const struct supervisor *s, struct request *q, struct broker_range *range)
{
	*range = (struct broker_range){q->msg.space, 0, q->msg.alloc, q->msg.base, q->msg.size};
	return request_participant(s, q, &range->participant);
}

/* Memory whose handle came along, and is the caller's from here on; or -EINVAL. */
static int request_memory(const struct supervisor *s, struct request *q, struct broker_range *range)
{
	int fd = q->fd;
	if (request_range(s, q, range) || fd < 0)
		return -EINVAL;
	q->fd = -1;
	return fd;
}

static int request_put(struct supervisor *s, struct request *q)
{
	struct broker_range range;
	int fd = request_memory(s, q, &range);
	return fd < 0 ? fd : broker_put(s->broker, &range, fd);
}

static void request_found(struct request *q, const struct broker_range *found)
{
	q->msg.space = found->space;
	q->msg.participant = (int32_t)found->participant;
	q->msg.alloc = found->alloc;
	q->msg.base = found->base;
	q->msg.size = found->size;
}

static int request_get(struct supervisor *s, struct request *q)
{
	struct broker_range want = {.space = q->msg.space, .base = q->msg.base, .size = q->msg.size}, found;
	uint32_t p;
	if (request_participant(s, q, &p))
		return -EINVAL;
	int rc = broker_get(s->broker, &want, &q->msg.cursor, &found, &q->reply_fd);
	if (rc)
		return rc;
	supervisor_place_maps(s, p, found.participant);
	request_found(q, &found);
	return 0;
}

static int request_export(struct supervisor *s, struct request *q)
{
	struct broker_range range;
	int fd = request_memory(s, q, &range);
	if (fd < 0)
		return fd;
	q->reply_fd_owned = 1;
	return broker_export(s->broker, &range, fd, &q->reply_fd);
}

static int request_lend(struct supervisor *s, struct request *q)
{
	struct broker_range range;
	int fd = request_memory(s, q, &range);
	return fd < 0 ? fd : broker_lend(s->broker, &range, fd, &q->msg.alloc);
}

/* Who opens: a participant, or a process that the job had no room for. */
static int request_opener(const struct supervisor *s, struct request *q, uint32_t *opener)
{
	*opener = GSAN_PARTICIPANTS;
	return s->connection[q->connection].participants ? request_participant(s, q, opener) : 0;
}

static int request_import(struct supervisor *s, struct request *q)
{
	struct broker_range found;
	uint32_t p;
	int rc = q->fd < 0 ? -EINVAL : request_opener(s, q, &p);
	if (!rc)
		rc = broker_import(s->broker, q->fd, p, &found, &q->reply_fd);
	if (rc)
		return rc;
	supervisor_place_touches(s, p, found.participant);
	request_found(q, &found);
	return 0;
}

/* The memory's owner stands for it, whoever exports it, as long as it is there. */
static int request_name(struct supervisor *s, struct request *q)
{
	struct broker_range range;
	if (request_range(s, q, &range) || q->msg.length != BROKER_NAME || range.base - GSAN_DATA_BASE >= GSAN_PARTICIPANTS * GSAN_SLICE)
		return -EINVAL;
	range.participant = gsan_owner(range.base);
	return s->place[range.participant].state == JOB_JOINED ? broker_name(s->broker, &range, q->msg.text) : -ENOENT;
}

static int request_named(struct supervisor *s, struct request *q)
{
	struct broker_range found;
	uint32_t p;
	int rc = q->msg.length != BROKER_NAME ? -EINVAL : request_opener(s, q, &p);
	if (!rc)
		rc = broker_named(s->broker, q->msg.text, p, &found);
	if (rc)
		return rc;
	supervisor_place_touches(s, p, found.participant);
	request_found(q, &found);
	return 0;
}

static int request_return(struct supervisor *s, struct request *q)
{
	uint32_t p;
	int rc = request_opener(s, q, &p);
	if (!rc)
		broker_return(s->broker, q->msg.base, p);
	return rc;
}

static int request_vacate(struct supervisor *s, struct request *q)
{
	uint32_t p;
	int rc = request_participant(s, q, &p);
	return rc ? rc : broker_vacant(s->broker, q->msg.base, q->msg.size);
}

static int request_open(struct supervisor *s, struct request *q)
{
	struct broker_range found;
	uint32_t p, number = q->msg.alloc;
	int rc = request_opener(s, q, &p);
	if (!rc)
		rc = broker_open(s->broker, number, p, &found, &q->msg.cursor, &q->reply_fd);
	if (rc)
		return rc;
	supervisor_place_touches(s, p, found.participant);
	request_found(q, &found);
	return 0;
}

static int request_forget(struct supervisor *s, struct request *q)
{
	uint32_t p;
	if (request_participant(s, q, &p))
		return -EINVAL;
	supervisor_place_forgets(s, p, (uint32_t)q->msg.base);
	return 0;
}

static int request_close(struct supervisor *s, struct request *q)
{
	uint32_t p;
	int rc = request_opener(s, q, &p);
	if (!rc)
		broker_close(s->broker, q->msg.alloc, p);
	return rc;
}

static int request_reclaim(struct supervisor *s, struct request *q)
{
	uint32_t p;
	int rc = request_participant(s, q, &p);
	return rc ? rc : broker_reclaim(s->broker, q->msg.alloc, p);
}

/* Nothing to do for the token: it lives by its copies. The entry in the list of allocations stays too, because a
 * finding may come in after its memory was freed. */
static int request_freed(struct supervisor *s, struct request *q)
{
	uint32_t p;
	return request_participant(s, q, &p);
}

static int request_kernel(struct supervisor *s, struct request *q)
{
	uint32_t p;
	struct stat st;
	if (request_participant(s, q, &p) || q->fd < 0 || fstat(q->fd, &st) || st.st_size <= 0)
		return -EINVAL;
	struct kernel *k = calloc(1, sizeof *k);
	void *text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, q->fd, 0);
	int rc = !k || text == MAP_FAILED ? -ENOMEM : ptx_info_parse(text, (uint64_t)st.st_size, &k->info);
	if (text != MAP_FAILED)
		munmap(text, (size_t)st.st_size);
	if (rc) {
		free(k);
		return rc;
	}
	k->owner = s->owner[p];
	k->id = q->msg.kernel;
	supervisor_add_kernel(s, k);
	return 0;
}

#define REQUEST_LABELS 65536u /* in a job */

static int request_is_known(const struct request *q, const struct allocation *a, const struct owner *owner)
{
	return a && a->owner == owner && a->base == q->msg.base && a->size == q->msg.size && a->label &&
	       strlen(a->label) == q->msg.length && !memcmp(a->label, q->msg.text, q->msg.length);
}

/* A program may name its memory again and again. 0: this name is new; 1: it is not; -ENOSPC. */
static int request_label(struct supervisor *s, const struct request *q, const struct owner *owner)
{
	struct report_note note = {.key = "label", .name = "gsan_label", .reason = "there are too many: what was labelled last is not called so",
				   .ranks = 1u << supervisor_owner_rank(s, owner)};
	if (request_is_known(q, supervisor_allocation(s, q->msg.base), owner))
		return 1;
	if (s->labels++ < REQUEST_LABELS)
		return 0;
	s->labels = REQUEST_LABELS;
	report_add_note(&s->notes, &note);
	return -ENOSPC;
}

static int request_alloc(struct supervisor *s, struct request *q)
{
	uint32_t p;
	if (request_participant(s, q, &p))
		return -EINVAL;
	int rc = q->msg.alloc ? 0 : request_label(s, q, s->owner[p]);
	if (rc)
		return rc < 0 ? rc : 0;
	supervisor_drain(s, 0); /* what was found by now lay in what was there before */
	struct allocation *a = calloc(1, sizeof *a);
	if (!a)
		return -ENOMEM;
	*a = (struct allocation){s->owner[p], q->msg.alloc, q->msg.base, q->msg.size, NULL, s->allocations};
	if (q->msg.length)
		a->label = strndup(q->msg.text, q->msg.length);
	s->allocations = a;
	return 0;
}

#define REQUEST_NOTE_MAX 65536 /* bytes */

/* The text, if it came by itself: malloc'ed, or NULL. */
static char *request_long_text(const struct request *q)
{
	char *text = calloc(1, REQUEST_NOTE_MAX + 1);
	if (text && pread(q->fd, text, REQUEST_NOTE_MAX, 0) > 0)
		return text;
	free(text);
	return NULL;
}

static int request_note(struct supervisor *s, struct request *q)
{
	uint32_t p;
	char text[sizeof q->msg.text + 1], *field[3];
	request_text(q, text, sizeof text);
	if (request_participant(s, q, &p))
		return -EINVAL;
	char *longer = q->fd >= 0 ? request_long_text(q) : NULL, *save = longer ? longer : text;
	for (int i = 0; i < 3; i++)
		field[i] = i < 2 ? strsep(&save, "\t") : save;
	struct report_note note = {.key = field[0], .name = field[1], .kernel_name = supervisor_name(field[1]), .reason = field[2] ? field[2] : "",
				   .ranks = 1u << supervisor_owner_rank(s, s->owner[p])};
	int rc = field[1] ? report_add_note(&s->notes, &note) : -EINVAL;
	free(longer);
	return rc;
}

static int request_compile(struct supervisor *s, struct request *q)
{
	int rc = compile_ask(s, q->connection, &q->msg, q->fd);
	if (!rc)
		q->fd = -1;
	q->later = !rc;
	return rc;
}

/* It says itself what it is, for it is not waited for. */
static int request_progress(struct supervisor *s, struct request *q)
{
	struct ipc_msg msg = {.type = IPC_PROGRESS};
	struct text text = {0};
	supervisor_progress(s, &text);
	ipc_text(&msg, "%s", text.data ? text.data : "");
	text_free(&text);
	q->later = 1;
	return ipc_send(s->connection[q->connection].fd, &msg, -1);
}

static int (*const request_table[IPC_TYPES])(struct supervisor *s, struct request *q) = {
	[IPC_LAUNCHER] = request_launcher, [IPC_STARTED] = request_started, [IPC_WAIT] = request_wait,
	[IPC_JOIN] = request_join, [IPC_RANK] = request_rank, [IPC_PUT] = request_put, [IPC_GET] = request_get,
	[IPC_EXPORT] = request_export, [IPC_IMPORT] = request_import, [IPC_FREED] = request_freed,
	[IPC_LEND] = request_lend, [IPC_OPEN] = request_open, [IPC_CLOSE] = request_close, [IPC_RECLAIM] = request_reclaim, [IPC_RETURN] = request_return,
	[IPC_NAME] = request_name, [IPC_NAMED] = request_named,
	[IPC_VACATE] = request_vacate, [IPC_FORGET] = request_forget,
	[IPC_KERNEL] = request_kernel, [IPC_ALLOC] = request_alloc, [IPC_NOTE] = request_note, [IPC_COMPILE] = request_compile,
	[IPC_PROGRESS] = request_progress,
};

void supervisor_reply_error(const struct supervisor *s, int connection, int error, const char *text)
{
	struct ipc_msg msg = {.type = IPC_ERROR, .error = error};
	ipc_text(&msg, "%s", text);
	ipc_send(s->connection[connection].fd, &msg, -1); /* whoever does not listen is about to be closed */
}

int supervisor_answer(struct supervisor *s, int connection)
{
	struct request q = {.connection = connection, .fd = -1, .reply_fd = -1};
	int socket = s->connection[connection].fd;
	int rc = ipc_recv(socket, &q.msg, &q.fd);
	if (rc)
		return rc;
	uint32_t type = q.msg.type;
	int error = type < IPC_TYPES && request_table[type] ? request_table[type](s, &q) : -ENOSYS;
	if (!q.later) {
		if (type != IPC_JOIN && !(error && type == IPC_LAUNCHER))
			q.msg.length = 0;
		q.msg.type = error ? IPC_ERROR : IPC_OK;
		q.msg.error = error;
		rc = ipc_send(socket, &q.msg, error ? -1 : q.reply_fd);
	}
	if (q.reply_fd_owned && q.reply_fd >= 0)
		close(q.reply_fd);
	if (q.fd >= 0)
		close(q.fd);
	return rc;
}

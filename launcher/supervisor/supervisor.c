#include "supervisor/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "config/folder.h"
#include "config/settings.h"
#include "supervisor/kill.h"
#include "supervisor/state.h"

#define DRAIN_MS 100
#define LATE_MS 2000   /* for launchers of a job that could not start, so that they hear why */
#define SETTLE_MS 2000 /* for rank processes to die with their launcher */

/* ---- set up and tear down ---- */

/* A port for the program's own rendezvous. Nobody else is given it while the job runs: a socket has it that does not listen, beside
 * which the program's may, for rendezvous servers say SO_REUSEADDR. */
static void supervisor_keep_port(struct supervisor *s)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
	socklen_t size = sizeof at;
	int shared = 1;
	s->port = 29500;
	s->port_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->port_fd >= 0 && !setsockopt(s->port_fd, SOL_SOCKET, SO_REUSEADDR, &shared, sizeof shared) &&
	    !bind(s->port_fd, (struct sockaddr *)&at, size) && !getsockname(s->port_fd, (struct sockaddr *)&at, &size))
		s->port = ntohs(at.sin_port);
}

/* Compile caches of this job alone, when there is no place to keep them. */
static int supervisor_cache(struct supervisor *s)
{
	if (s->config.cache) {
		snprintf(s->cache, sizeof s->cache, "%s", s->config.cache);
		return 0;
	}
	int rc = folder_make_temporary(s->cache);
	s->cache_owned = !rc;
	return rc;
}

static int supervisor_unlink(const char *path, const struct stat *st, int type, struct FTW *place)
{
	(void)st, (void)type, (void)place;
	return remove(path) && errno != ENOENT ? -1 : 0;
}

static void supervisor_fill_job(struct supervisor *s)
{
	uint32_t places = 1, bits = 15;
	for (; places < s->config.size && bits > GSAN_GUEST_BITS; bits--)
		places *= 2;
	s->places = setting_number(SETTING_TEST_PLACES, GSAN_PARTICIPANTS);
	s->job->proto = GSAN_PROTO;
	s->job->abi = GSAN_ABI;
	s->job->rank_bits = s->rank_bits = bits;
	s->participants = places;
	atomic_init(&s->job->participants, places);
	s->job->seed = s->config.seed;
	if (getrandom(&s->job->nonce, sizeof s->job->nonce, 0) != sizeof s->job->nonce)
		s->job->nonce = (uint64_t)time(NULL) << 32 | (uint32_t)getpid();
	s->job->host_order_modelled = (uint32_t)s->config.host_order_modelled;
}

static int supervisor_open(struct supervisor *s, int listener, const struct supervisor_config *config)
{
	*s = (struct supervisor){.config = *config, .listener = listener, .job_fd = -1, .emu_fd = -1, .port_fd = -1,
				 .compile_epoll = -1, .report_fd = -1};
	for (int i = 0; i < REPORT_RANKS_MAX; i++)
		s->member[i].connection = -1;
	struct rlimit files; /* two descriptors per handle that the ranks share */
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	int rc = broker_new(&s->broker);
	if (!rc)
		rc = compile_new(s);
	if (rc)
		return rc;
	s->job_fd = memfd_create("gsan-job", MFD_CLOEXEC);
	s->emu_fd = memfd_create("gsan-emu", MFD_CLOEXEC);
	if (s->job_fd < 0 || s->emu_fd < 0 || ftruncate(s->job_fd, sizeof *s->job))
		return -errno;
	void *at = mmap(NULL, sizeof *s->job, PROT_READ | PROT_WRITE, MAP_SHARED, s->job_fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	s->job = at;
	supervisor_keep_port(s);
	supervisor_fill_job(s);
	return supervisor_cache(s);
}

static void supervisor_close(struct supervisor *s)
{
	for (size_t i = 0; i < s->connections; i++)
		if (s->connection[i].fd >= 0)
			close(s->connection[i].fd);
	free(s->connection);
	for (uint32_t i = 0; i < KERNEL_BUCKETS; i++)
		for (struct kernel *k = s->kernel[i], *next; k; k = next) {
			next = k->next;
			ptx_info_free(&k->info);
			symbols_free(&k->caller);
			free(k);
		}
	for (struct allocation *a = s->allocations, *next; a; a = next) {
		next = a->next;
		free(a->label);
		free(a);
	}
	for (uint32_t i = 0; i < CANDIDATE_BUCKETS; i++)
		for (struct candidate *c = s->bucket[i], *next; c; c = next) {
			next = c->next;
			free(c);
		}
	for (uint32_t p = 0; p < GSAN_PARTICIPANTS; p++)
		supervisor_told_free(s, p);
	free(s->told_past.span);
	supervisor_owners_free(s);
	if (s->cache_owned)
		nftw(s->cache, supervisor_unlink, 16, FTW_DEPTH | FTW_PHYS);
	report_free(&s->notes);
	text_free(&s->failure);
	broker_free(s->broker);
	compile_close(s);
	if (s->job)
		munmap(s->job, sizeof *s->job);
	if (s->job_fd >= 0)
		close(s->job_fd);
	if (s->emu_fd >= 0)
		close(s->emu_fd);
	if (s->port_fd >= 0)
		close(s->port_fd);
	if (s->report_fd >= 0)
		close(s->report_fd);
	if (s->listener >= 0)
		close(s->listener);
}

/* ---- connections ---- */

static void supervisor_accept(struct supervisor *s)
{
	int fd = ipc_accept(s->listener);
	if (fd < 0)
		return; /* not ours, or gone again */
	fcntl(fd, F_SETFL, O_NONBLOCK); /* a peer that does not read must not stop the job */
	size_t i = 0;
	while (i < s->connections && s->connection[i].fd >= 0)
		i++;
	if (i == s->connections) {
		struct connection *grown = realloc(s->connection, (i + 1) * sizeof *grown);
		if (!grown) {
			close(fd);
			return;
		}
		s->connection = grown;
		s->connections++;
	}
	s->connection[i] = (struct connection){.fd = fd, .rank = -1};
}

/* The rank's processes that have joined, whatever group they are in: their GPU is given back. */
static void supervisor_kill_joined(const struct supervisor *s, uint32_t rank)
{
	for (size_t i = 0; i < s->connections; i++)
		for (uint32_t p = 0; p < GSAN_PARTICIPANTS; p++) {
			struct ucred peer;
			socklen_t size = sizeof peer;
			int its = s->connection[i].participants >> p & 1 && supervisor_owner_rank(s, s->owner[p]) == (int)rank;
			if (its && !getsockopt(s->connection[i].fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) && peer.pid > 1)
				kill(peer.pid, SIGKILL);
		}
}

/* A launcher that goes without having waited was killed. Its rank dies with it; what the rank had started would not. */
static void supervisor_lose(const struct supervisor *s, struct member *m)
{
	uint32_t rank = (uint32_t)(m - s->member);
	m->connection = -1;
	m->waits = 0;
	if (m->state == MEMBER_DONE)
		return;
	m->state = MEMBER_LOST;
	if (m->pid > 1 && m->own_group)
		kill(-m->pid, SIGKILL);
	else if (m->pid > 1)
		kill_rank(s->config.socket, (int)rank, m->group);
	supervisor_kill_joined(s, rank);
}

static void supervisor_hang_up(struct supervisor *s, int i)
{
	struct connection *c = &s->connection[i];
	compile_forget(s, i);
	for (uint32_t p = 0; p < GSAN_PARTICIPANTS; p++)
		if (c->participants >> p & 1)
			supervisor_participant_leave(s, p);
	if (c->rank >= 0)
		supervisor_lose(s, &s->member[c->rank]);
	close(c->fd);
	*c = (struct connection){.fd = -1, .rank = -1};
}

/* Waits at most `ms` and handles what came. Returns how many descriptors had something, or -errno. */
static int supervisor_turn(struct supervisor *s, int ms)
{
	size_t n = s->connections, count = n + 3;
	struct pollfd *poll_fd = calloc(count, sizeof *poll_fd);
	if (!poll_fd)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		poll_fd[i] = (struct pollfd){.fd = s->connection[i].fd, .events = POLLIN};
	poll_fd[n] = (struct pollfd){.fd = s->listener, .events = POLLIN};
	poll_fd[n + 1] = (struct pollfd){.fd = broker_fd(s->broker), .events = POLLIN};
	poll_fd[n + 2] = (struct pollfd){.fd = s->compile_epoll, .events = POLLIN};
	int ready = poll(poll_fd, count, ms);
	if (ready < 0)
		ready = errno == EINTR ? 0 : -errno;
	for (size_t i = 0; ready > 0 && i < n; i++)
		if (poll_fd[i].revents && supervisor_answer(s, (int)i))
			supervisor_hang_up(s, (int)i);
	if (ready > 0 && poll_fd[n + 1].revents)
		broker_sweep(s->broker);
	if (ready > 0 && poll_fd[n + 2].revents)
		compile_sweep(s);
	if (ready > 0 && poll_fd[n].revents)
		supervisor_accept(s);
	free(poll_fd);
	return ready;
}

/* ---- the start: all launchers, or none ---- */

static unsigned supervisor_count(const struct supervisor *s, enum member_state state)
{
	unsigned n = 0;
	for (uint32_t i = 0; i < s->config.size; i++)
		n += s->member[i].state == state;
	return n;
}

static void supervisor_list(const struct supervisor *s, struct text *out, enum member_state state)
{
	const char *comma = "";
	for (uint32_t i = 0; i < s->config.size; i++)
		if (s->member[i].state == state) {
			text_printf(out, "%s%u", comma, i);
			comma = ", ";
		}
}

static void supervisor_start(struct supervisor *s)
{
	struct ipc_msg msg = {.type = IPC_OK, .cursor = (uint32_t)s->port};
	ipc_text(&msg, "/proc/%d/fd/%d\t%s", (int)getpid(), s->emu_fd, s->cache);
	for (uint32_t i = 0; i < s->config.size; i++) {
		s->member[i].state = MEMBER_RUNNING;
		if (ipc_send(s->connection[s->member[i].connection].fd, &msg, -1))
			supervisor_hang_up(s, s->member[i].connection);
	}
}

static void supervisor_say_missing(struct supervisor *s)
{
	unsigned lost = supervisor_count(s, MEMBER_LOST);
	if (lost) {
		text_printf(&s->failure, "rank%s ", lost == 1 ? "" : "s");
		supervisor_list(s, &s->failure, MEMBER_LOST);
		text_puts(&s->failure, " ended before the job started");
	} else {
		text_printf(&s->failure, "rank%s ", supervisor_count(s, MEMBER_ABSENT) == 1 ? "" : "s");
		supervisor_list(s, &s->failure, MEMBER_ABSENT);
		text_printf(&s->failure, " of %u did not start gsan-launch within %d seconds", s->config.size,
			    s->config.timeout_ms / 1000);
	}
}

static void supervisor_fail_start(struct supervisor *s)
{
	if (!s->failure.size) /* else a launcher did not fit */
		supervisor_say_missing(s);
	for (uint32_t i = 0; i < s->config.size; i++)
		if (s->member[i].state == MEMBER_HERE)
			supervisor_reply_error(s, s->member[i].connection, -ETIMEDOUT,
					       s->failure.data ? s->failure.data : "the job could not start");
}

/* Launchers that come later would begin a job of their own and wait in vain: they are told, too, while the name is still taken. */
static void supervisor_tell_late(struct supervisor *s)
{
	int64_t end = now_ms() + LATE_MS;
	while (s->came < s->config.size && now_ms() < end)
		if (supervisor_turn(s, DRAIN_MS) < 0)
			return;
}

static int supervisor_meet(struct supervisor *s)
{
	int64_t end = now_ms() + s->config.timeout_ms;
	for (;;) {
		int64_t left = end - now_ms();
		int unfit = s->failure.size > 0;
		if (supervisor_count(s, MEMBER_HERE) == s->config.size) {
			supervisor_start(s);
			s->met = 1;
			return 0;
		}
		if (left <= 0 || unfit || supervisor_count(s, MEMBER_LOST)) {
			supervisor_fail_start(s);
			if (unfit)
				supervisor_tell_late(s);
			s->met = 1;
			return -ETIMEDOUT;
		}
		int rc = supervisor_turn(s, left < 1000 ? (int)left : 1000);
		if (rc < 0)
			return rc;
	}
}

/* ---- the end: reports and the verdict ---- */

static int supervisor_memfd(const struct text *text)
{
	int fd = memfd_create("gsan-report", MFD_CLOEXEC);
	if (fd >= 0 && (write(fd, text->data, text->size) != (ssize_t)text->size || lseek(fd, 0, SEEK_SET))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Answers every launcher that waits; the first of them, the lowest rank, prints the text. `left`: ranks still run, so
 * the others' own status is all there is to say. */
static void supervisor_verdict(struct supervisor *s, const struct text *text, int status, int left)
{
	int fd = text->data ? supervisor_memfd(text) : -1;
	for (uint32_t i = 0; i < s->config.size; i++) {
		struct member *m = &s->member[i];
		if (!m->waits)
			continue;
		struct ipc_msg msg = {.type = IPC_OK, .status = left && !s->failure.size ? supervisor_own_status(m) : status};
		ipc_send(s->connection[m->connection].fd, &msg, fd);
		m->waits = 0;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	if (fd >= 0)
		close(fd);
}

static int supervisor_conclude(struct supervisor *s, int left)
{
	struct report r;
	struct text text = {0}, why = {0};
	supervisor_drain(s, !left);
	int rc = supervisor_report(s, &r);
	r.exit_status = supervisor_status(s, &r, &why);
	if (!rc)
		rc = supervisor_write(s, &r, !left);
	if (rc)
		text_printf(&text, "gsan: the report in %s is incomplete: %s\n", s->config.report, strerror(-rc));
	if (rc && !r.exit_status)
		r.exit_status = 1;
	if (s->failure.size)
		text_printf(&text, "gsan: %s\n", s->failure.data);
	report_text(&text, &r, rc ? NULL : s->config.report, s->config.style);
	if (why.size)
		text_printf(&text, "gsan: exit status %d: %s\n", r.exit_status, why.data);
	int status = r.exit_status;
	supervisor_verdict(s, &text, status, left);
	text_free(&why);
	text_free(&text);
	report_free(&r);
	return status;
}

/* A rank that could not be checked at all fails the job, with its own words. */
static void supervisor_fatal(const struct supervisor *s, struct text *out)
{
	for (uint32_t i = 0; i < s->notes.notes; i++) {
		const struct report_note *note = &s->notes.note[i];
		if (strcmp(note->key, "fatal"))
			continue;
		text_puts(out, out->size ? "; rank " : "rank ");
		const char *comma = "";
		for (int rank = 0; rank < REPORT_RANKS_MAX; rank++)
			if (note->ranks >> rank & 1) {
				text_printf(out, "%s%d", comma, rank);
				comma = ", ";
			}
		text_printf(out, ": %s: %s", note->name, note->reason);
	}
}

/* When the launchers that wait have waited long enough: the others may hang because one failed, or just take longer. */
static int64_t supervisor_deadline(const struct supervisor *s, int64_t *first_end)
{
	int failed = 0, waiting = 0;
	for (uint32_t i = 0; i < s->config.size; i++) {
		waiting |= s->member[i].waits;
		failed |= supervisor_own_status(&s->member[i]) != 0;
	}
	int64_t now = now_ms();
	if (!waiting)
		*first_end = 0;
	else if (!*first_end)
		*first_end = now;
	if (!waiting)
		return INT64_MAX;
	return *first_end + (failed ? s->config.timeout_ms : s->config.wait_ms);
}

static void supervisor_overdue(struct supervisor *s)
{
	int failed = 0;
	for (uint32_t i = 0; i < s->config.size; i++)
		failed |= supervisor_own_status(&s->member[i]) != 0;
	if (failed && !s->failure.size) {
		text_puts(&s->failure, "after a rank failed, waited in vain for rank ");
		supervisor_list(s, &s->failure, MEMBER_RUNNING);
	}
	int status = supervisor_conclude(s, 1);
	if (failed)
		s->failed = status;
}

static int supervisor_serve(struct supervisor *s)
{
	int64_t first_end = 0;
	for (;;) {
		/* What a process said has come in before its launcher says that it has ended: nothing to wait for then. */
		int ready = supervisor_turn(s, supervisor_count(s, MEMBER_RUNNING) ? DRAIN_MS : 0);
		if (ready < 0)
			return ready;
		supervisor_drain(s, 0);
		if (ready == 0 && !supervisor_count(s, MEMBER_RUNNING))
			return 0;
		if (now_ms() >= supervisor_deadline(s, &first_end)) {
			supervisor_overdue(s);
			first_end = 0;
		}
	}
}

/* Rank processes of a killed launcher are dying: their last findings are worth a moment. */
static void supervisor_settle(struct supervisor *s)
{
	int64_t end = now_ms() + SETTLE_MS;
	while (supervisor_count(s, MEMBER_LOST) && now_ms() < end) {
		int open = 0;
		for (size_t i = 0; i < s->connections; i++)
			open |= s->connection[i].participants != 0;
		if (!open || supervisor_turn(s, DRAIN_MS) < 0)
			return;
	}
}

void supervisor_signals(void (*what)(int))
{
	static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU};
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		signal(signals[i], what);
}

int supervisor_run(int listener, const struct supervisor_config *config)
{
	struct supervisor *s = malloc(sizeof *s);
	if (!s)
		return -ENOMEM;
	supervisor_signals(SIG_IGN);
	int rc = supervisor_open(s, listener, config);
	if (!rc) {
		supervisor_take_folder(s);
		rc = supervisor_meet(s);
		if (!rc)
			rc = supervisor_serve(s);
		supervisor_settle(s);
		supervisor_fatal(s, &s->failure);
		/* Before the verdict: whoever hears it may start the next job under the same name. */
		close(s->listener);
		s->listener = -1;
		supervisor_conclude(s, 0);
		rc = 0;
	}
	supervisor_close(s);
	free(s);
	return rc;
}

/* The ranks' processes: meet the other launchers, start, forward signals, tell the supervisor how each ended, and leave
 * with the verdict. One poll() loop over a signalfd and one socket per rank. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/now.h"
#include "gsan-launch/launch.h"
#include "ipc/ipc.h"
#include "report/report.h"
#include "supervisor/kill.h"

#define RANKS_CONNECT_MS 10000
#define RANKS_KILL_MS 5000 /* between SIGTERM and SIGKILL for ranks that a failed job leaves behind */
#define RANKS_KILLED (INT64_MAX / 2)
#define RANKS_SAY_MS 2000  /* behind SIGKILL */
#define RANKS_KEYS_MS 5000 /* within which Ctrl-C a second time means it; a prompt may see one now and then */
#define RANKS_HINT_MS 2000
#define RANKS_LEAVE_MS 5000 /* for the verdict, once the ranks have ended and a signal came: whoever sent it ends all of the job */

struct rank_process { int socket, running, judged, status, verdict; pid_t pid; };
struct ranks {
	struct launch *launch;
	struct rank_process rank[REPORT_RANKS_MAX];
	int own_group;    /* each rank leads a process group */
	int signals;      /* signalfd */
	int64_t kill_at;  /* 0: nobody is being ended */
	int64_t keys_at;  /* when Ctrl-C was pressed last */
	int64_t hint_at;  /* when it is said, once, that this did not end them; 0: not yet known, or it has been said */
	int told, killed; /* a signal that came when no rank was left to take it; what this launcher ends with because of it */
	int64_t leave_at; /* for `told`, if there is no verdict by then */
	int held;         /* a report's text, while ranks are being ended: what comes when they are replaces it; -1: none */
	int64_t say_at;   /* it is printed: they cannot be ended; 0: not known yet */
	struct launch_progress progress;
	sigset_t before;  /* signal mask for the ranks */
};

/* ---- before the start ---- */

static int ranks_join(struct ranks *r)
{
	struct launch *l = r->launch;
	for (int i = 0; i < l->here; i++) {
		struct ipc_msg msg = {.type = IPC_LAUNCHER, .rank = l->first_rank + i, .size_ranks = l->size, .pid = getpid()};
		ipc_text(&msg, "%s", l->terms);
		int rc = r->rank[i].socket = ipc_connect(l->socket, RANKS_CONNECT_MS);
		if (rc >= 0)
			rc = ipc_send(r->rank[i].socket, &msg, -1);
		if (rc) {
			log_error("cannot reach the job's supervisor: %s", strerror(-rc));
			return LAUNCH_EXIT_START;
		}
	}
	return 0;
}

static int ranks_meet(struct ranks *r)
{
	struct launch *l = r->launch;
	for (int i = 0; i < l->here; i++) {
		struct ipc_msg msg;
		int fd = -1, rc = ipc_recv(r->rank[i].socket, &msg, &fd);
		if (rc || msg.type != IPC_OK) {
			if (rc)
				log_error("the job's supervisor is gone: %s", strerror(-rc));
			else
				log_error("%.*s", (int)msg.length, msg.text);
			return LAUNCH_EXIT_START;
		}
		msg.text[msg.length < sizeof msg.text ? msg.length : sizeof msg.text - 1] = 0;
		char *cache = msg.text, *emu = strsep(&cache, "\t");
		snprintf(l->emu_job, sizeof l->emu_job, "%s", emu);
		snprintf(l->rank_cache, sizeof l->rank_cache, "%s", cache ? cache : "");
		l->master_port = (int)msg.cursor;
	}
	return 0;
}

/* On a terminal the ranks stay in our process group, so that Ctrl-C and job control reach them as they would reach the
 * plain program. Elsewhere each gets its own: what a signal to our group means is then forwarded exactly once, and what
 * a killed rank leaves behind can be found. */
static int ranks_on_terminal(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (tcgetpgrp(fd) >= 0)
			return 1;
	return 0;
}

static int ranks_take_signals(struct ranks *r)
{
	static const int taken[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
		sigaddset(&set, taken[i]);
	sigprocmask(SIG_BLOCK, &set, &r->before);
	r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->signals < 0 ? -errno : 0;
}

/* ---- start ---- */

static void ranks_child(const struct ranks *r, int i, pid_t parent) __attribute__((noreturn));
static void ranks_child(const struct ranks *r, int i, pid_t parent)
{
	const struct launch *l = r->launch;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* no rank outlives its launcher */
	if (getppid() != parent)
		_exit(128 + SIGKILL);
	if (r->own_group)
		setpgid(0, 0);
	if (i > 0) { /* standard input is rank 0's */
		close(STDIN_FILENO);
		if (!fopen("/dev/null", "r"))
			_exit(126);
	}
	launch_environment(l, l->first_rank + i);
	launch_place(l, l->first_rank + i);
	sigprocmask(SIG_SETMASK, &r->before, NULL);
	execvp(l->program[0], l->program);
	int error = errno;
	log_error("cannot start '%s': %s", l->program[0], strerror(error));
	_exit(error == ENOENT ? LAUNCH_EXIT_NOT_FOUND : 126);
}

static void ranks_end(struct ranks *r, int i, int status)
{
	struct ipc_msg msg = {.type = IPC_WAIT, .status = status};
	struct rank_process *p = &r->rank[i];
	p->running = 0;
	p->status = status;
	if (r->own_group && WIFSIGNALED(status)) /* a signal to a whole group would have reached its children, too */
		kill(-p->pid, SIGTERM);
	if (!p->judged && ipc_send(p->socket, &msg, -1))
		log_error("the job's supervisor is gone: there will be no report"), p->judged = 1;
	if (p->judged && !p->verdict)
		p->verdict = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void ranks_start(struct ranks *r, int i)
{
	struct rank_process *p = &r->rank[i];
	pid_t parent = getpid();
	p->pid = fork();
	if (p->pid == 0)
		ranks_child(r, i, parent);
	if (p->pid < 0) {
		log_error("cannot start rank %d: %s", r->launch->first_rank + i, strerror(errno));
		ranks_end(r, i, 126 << 8);
		return;
	}
	p->running = 1;
	if (r->own_group)
		setpgid(p->pid, p->pid);
	struct ipc_msg msg = {.type = IPC_STARTED, .pid = p->pid, .base = r->own_group ? 1 : 0};
	ipc_call(p->socket, &msg, -1, NULL);
}

/* ---- meanwhile ---- */

static void ranks_signal(struct ranks *r, int signal)
{
	for (int i = 0; i < r->launch->here; i++)
		if (r->rank[i].running)
			kill(r->rank[i].pid, signal);
}

static int ranks_running(const struct ranks *r)
{
	int n = 0;
	for (int i = 0; i < r->launch->here; i++)
		n += r->rank[i].running;
	return n;
}

static void ranks_reap(struct ranks *r)
{
	for (int i = 0; i < r->launch->here; i++) {
		int status;
		if (r->rank[i].running && waitpid(r->rank[i].pid, &status, WNOHANG) == r->rank[i].pid)
			ranks_end(r, i, status);
	}
}

/* No rank is left to take it. The report is about to be there, unless other launchers' ranks run on. */
static void ranks_told(struct ranks *r, int signal)
{
	if (r->told)
		r->killed = signal;
	else
		r->leave_at = now_ms() + RANKS_LEAVE_MS;
	r->told = signal;
}

/* Ctrl-C again: whoever does not listen, or waits for a GPU that does not answer, is killed. */
static void ranks_keys(struct ranks *r)
{
	int64_t now = now_ms();
	if (r->keys_at && now - r->keys_at < RANKS_KEYS_MS && r->kill_at != RANKS_KILLED && ranks_running(r)) {
		log_warning("interrupted twice: the ranks are killed");
		r->kill_at = now;
	}
	r->hint_at = r->keys_at ? 0 : now + RANKS_HINT_MS;
	r->keys_at = now;
}

/* Who waits for a GPU, or for a lock, does not hear it. */
static void ranks_hint(struct ranks *r)
{
	if (!r->hint_at || now_ms() < r->hint_at)
		return;
	r->hint_at = 0;
	if (!ranks_running(r) || r->kill_at)
		return;
	launch_progress_clear(&r->progress);
	log_warning("interrupted; the program has not ended yet. Ctrl-C twice within %d s kills it", RANKS_KEYS_MS / 1000);
}

static void ranks_take_signal(struct ranks *r)
{
	struct signalfd_siginfo info;
	launch_progress_clear(&r->progress); /* something may be said about it, by the terminal, too */
	while (read(r->signals, &info, sizeof info) == (ssize_t)sizeof info) {
		int signal = (int)info.ssi_signo;
		/* The terminal sends to the whole group; the ranks in it have got theirs. But when it is gone, who leads its session is
		 * told alone. */
		int had = info.ssi_code == SI_KERNEL && !r->own_group && signal != SIGHUP;
		if (signal == SIGCHLD)
			ranks_reap(r);
		else if (!ranks_running(r) && signal != SIGUSR1 && signal != SIGUSR2)
			ranks_told(r, signal);
		else if (!had)
			ranks_signal(r, signal);
		if (signal == SIGINT && info.ssi_code == SI_KERNEL)
			ranks_keys(r);
		if (signal == SIGTERM && r->launch->explored && !r->kill_at) /* whoever explores is gone */
			r->kill_at = now_ms() + RANKS_KILL_MS;
	}
}

static void ranks_print(int fd)
{
	char block[4096];
	ssize_t n;
	while ((n = read(fd, block, sizeof block)) > 0)
		for (ssize_t done = 0, w; done < n; done += w)
			if ((w = write(STDERR_FILENO, block + done, (size_t)(n - done))) < 0)
				return;
}

static void ranks_say(struct ranks *r)
{
	r->say_at = 0;
	if (r->held < 0)
		return;
	launch_progress_clear(&r->progress);
	ranks_print(r->held);
	close(r->held);
	r->held = -1;
}

/* The verdict came, or the supervisor went, or it says how far the job is. A failed job does not leave its other ranks behind. */
static void ranks_judge(struct ranks *r, int i)
{
	struct rank_process *p = &r->rank[i];
	struct ipc_msg msg;
	int fd = -1, rc = ipc_recv(p->socket, &msg, &fd);
	if (!rc && msg.type == IPC_PROGRESS) {
		launch_progress_show(&r->progress, msg.text, msg.length);
		return;
	}
	launch_progress_clear(&r->progress);
	p->judged = 1;
	if (rc) {
		log_error("the job's supervisor is gone: there will be no report");
		p->verdict = LAUNCH_EXIT_START;
		if (!p->running && p->status)
			p->verdict = WIFSIGNALED(p->status) ? 128 + WTERMSIG(p->status) : WEXITSTATUS(p->status);
	} else {
		p->verdict = msg.status;
	}
	const int ends = !rc && p->verdict && ranks_running(r);
	if (fd >= 0) {
		if (r->held >= 0)
			close(r->held);
		r->held = fd;
		if (!ends)
			ranks_say(r);
	}
	if (ends && !r->kill_at) {
		ranks_signal(r, SIGTERM);
		r->kill_at = now_ms() + RANKS_KILL_MS;
	}
}

static int ranks_left(const struct ranks *r)
{
	int n = 0;
	for (int i = 0; i < r->launch->here; i++)
		n += r->rank[i].running || !r->rank[i].judged;
	return n;
}

static int ranks_left_ms(int64_t at)
{
	int64_t ms = at - now_ms();
	return ms < 0 ? 0 : ms > INT_MAX ? INT_MAX : (int)ms;
}

static void ranks_kill(const struct ranks *r, int i)
{
	kill(r->own_group ? -r->rank[i].pid : r->rank[i].pid, SIGKILL);
	if (!r->own_group) /* what it has started is in our group, too */
		kill_rank(r->launch->socket, r->launch->first_rank + i, getpgrp());
}

/* How far the job is, when it is time. Returns after how many ms it is; -1: never. */
static int ranks_ask(struct ranks *r)
{
	struct ipc_msg msg = {.type = IPC_PROGRESS};
	int i = 0;
	while (i < r->launch->here && (!r->rank[i].running || r->rank[i].judged))
		i++;
	if (i == r->launch->here)
		return -1;
	if (!launch_progress_ms(&r->progress)) {
		r->progress.asked = 1;
		r->progress.wanted = !ipc_send(r->rank[i].socket, &msg, -1);
	}
	return launch_progress_ms(&r->progress);
}

/* How long to wait, if for that, too; 0: it is not to come. */
static int ranks_sooner(int ms, int64_t at) { return at && (ms < 0 || ranks_left_ms(at) < ms) ? ranks_left_ms(at) : ms; }

static void ranks_turn(struct ranks *r)
{
	struct pollfd poll_fd[REPORT_RANKS_MAX + 1];
	int here = r->launch->here, ms = ranks_ask(r);
	for (int i = 0; i < here; i++)
		poll_fd[i] = (struct pollfd){.fd = r->rank[i].judged ? -1 : r->rank[i].socket, .events = POLLIN};
	poll_fd[here] = (struct pollfd){.fd = r->signals, .events = POLLIN};
	ms = ranks_sooner(ranks_sooner(ranks_sooner(ranks_sooner(ms, r->kill_at), r->leave_at), r->hint_at), r->say_at);
	int n = poll(poll_fd, (nfds_t)here + 1, ms);
	ranks_hint(r);
	if (r->kill_at && now_ms() >= r->kill_at) {
		for (int i = 0; i < here; i++)
			if (r->rank[i].running)
				ranks_kill(r, i);
		r->kill_at = RANKS_KILLED;
		r->say_at = now_ms() + RANKS_SAY_MS;
	}
	if (r->say_at && now_ms() >= r->say_at)
		ranks_say(r);
	if (r->leave_at && now_ms() >= r->leave_at)
		r->killed = r->told;
	if (n <= 0)
		return;
	if (poll_fd[here].revents)
		ranks_take_signal(r);
	for (int i = 0; i < here; i++)
		if (poll_fd[i].revents)
			ranks_judge(r, i);
}

int launch_ranks(struct launch *l)
{
	struct ranks r = {.launch = l, .own_group = !ranks_on_terminal(), .held = -1};
	int rc = ranks_join(&r);
	if (!rc)
		rc = ranks_meet(&r);
	if (!rc && ranks_take_signals(&r))
		rc = LAUNCH_EXIT_START;
	if (rc)
		return rc;
	for (int i = 0; i < l->here; i++)
		ranks_start(&r, i);
	launch_progress_begin(&r.progress, l);
	while (ranks_left(&r) && !r.killed)
		ranks_turn(&r);
	ranks_say(&r);
	for (int i = 0; i < l->here && !r.killed; i++)
		if (r.rank[i].verdict)
			return r.rank[i].verdict;
	return r.killed ? 128 + r.killed : 0;
}

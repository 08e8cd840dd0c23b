/* What a job ends with: the ranks' own statuses first, then what stopped the job, then what was found, then that too little was checked for
 * its silence to mean anything. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "supervisor/state.h"

int supervisor_own_status(const struct member *m)
{
	if (m->state == MEMBER_DONE)
		return WIFSIGNALED(m->status) ? 128 + WTERMSIG(m->status) : WEXITSTATUS(m->status);
	return m->state == MEMBER_LOST ? 128 + SIGKILL : m->state == MEMBER_ABSENT ? 1 : 0;
}

/* The ranks of which a process joined, whatever became of it. */
static uint32_t status_joined(const struct supervisor *s)
{
	uint32_t joined = 0;
	for (const struct owner *o = s->owners; o; o = o->next)
		joined |= 1u << supervisor_owner_rank(s, o);
	return joined;
}

/* The ranks that have run and ended, and of which no process joined. That a rank failed says enough, if none did. */
static uint32_t status_unseen(const struct supervisor *s)
{
	uint32_t joined = status_joined(s), unseen = 0;
	for (uint32_t i = 0; i < s->config.size; i++) {
		const struct member *m = &s->member[i];
		int ended = m->pid > 0 && (m->state == MEMBER_DONE || m->state == MEMBER_LOST);
		if (ended && !(joined >> i & 1) && (joined || !supervisor_own_status(m)))
			unseen |= 1u << i;
	}
	return unseen;
}

int supervisor_note_unseen(const struct supervisor *s, struct report *r)
{
#define STATUS_UNSEEN(or) "none started CUDA under libgsan: the rank uses no GPU" or ", or what it started was not given LD_PRELOAD and GSAN_SOCKET " \
			  "(sudo, env -i, ssh and containers take them away), or is a program without shared libraries"
	static const char cuda[] = STATUS_UNSEEN(""), emulated[] = STATUS_UNSEEN(", or is linked to NVIDIA's CUDA runtime, which says so (nvcc -cudart shared)");
	struct report_note note = {.key = REPORT_PROCESS, .name = "every process", .ranks = status_unseen(s), .reason = s->config.emulated ? emulated : cuda};
	return note.ranks ? report_add_note(r, &note) : 0;
}

static int status_has(const struct report *r, const char *key)
{
	for (uint32_t i = 0; i < r->notes; i++)
		if (!strcmp(r->note[i].key, key))
			return 1;
	return 0;
}

/* Kernels ran, but none as its clone; or none of their accesses was to memory that has shadow. What was not counted may have been checked. */
static int status_nothing_checked(const struct report_rank *sum)
{
	if (!sum->launches_checked)
		return sum->launches_unchecked + sum->launches_left_out > 0;
	return !sum->launches_uncounted && !sum->counter[GSAN_N_CHECKED] && sum->counter[GSAN_N_FOREIGN] > 0;
}

static void status_of(struct text *why, uint64_t some, uint64_t all, const char *one, const char *many)
{
	text_printf(why, "--require-checked: %" PRIu64 " of ", some);
	text_counted(why, all, one, many);
	text_puts(why, " ran unchecked");
}

/* Why too little was checked, as a sentence's end; returns 0 if enough was. */
static int status_unchecked(const struct supervisor *s, const struct report *r, struct text *why)
{
	struct report_rank sum = report_total(r);
	static const char accept[] = "; with --allow-unchecked that is no failure";
	if (s->config.unchecked == UNCHECKED_ALLOWED)
		return 0;
	if (status_unseen(s))
		text_printf(why, "of a rank no process was checked%s", accept);
	else if (status_nothing_checked(&sum))
		text_printf(why, "kernels were launched, and none was checked%s", accept);
	else if (!sum.launches_checked && status_has(r, REPORT_MODULE)) /* what its kernels would have done nobody knows */
		text_printf(why, "a module was refused, and no kernel was checked%s", accept);
	else if (s->config.unchecked == UNCHECKED_REFUSED && sum.launches_unchecked)
		status_of(why, sum.launches_unchecked, sum.launches_unchecked + sum.launches_checked, "launch", "launches");
	else if (s->config.unchecked == UNCHECKED_REFUSED && sum.copies_unchecked)
		status_of(why, sum.copies_unchecked, sum.copies_unchecked + sum.copies_checked, "copy", "copies");
	else if (s->config.unchecked == UNCHECKED_REFUSED &&
		 (status_has(r, REPORT_PROCESS) || status_has(r, REPORT_UNCHECKED) || status_has(r, REPORT_MODULE)))
		text_puts(why, "--require-checked: not all was checked");
	return why->size > 0;
}

static int status_found(const struct supervisor *s, const struct report *r)
{
	const struct report_tally t = report_tally(r);
	return t.findings + (s->config.formal == FORMAL_FAIL ? t.formal : 0) > 0;
}

/* What the job failed with is told once: ranks that end because of it do not change it. */
int supervisor_status(const struct supervisor *s, const struct report *r, struct text *why)
{
	if (s->failed)
		return s->failed;
	for (uint32_t i = 0; i < s->config.size; i++)
		if (supervisor_own_status(&s->member[i]))
			return supervisor_own_status(&s->member[i]);
	if (s->failure.size)
		return 1;
	if (status_found(s, r) && s->config.exit_code)
		return s->config.exit_code;
	return status_unchecked(s, r, why) ? SUPERVISOR_EXIT_UNCHECKED : 0;
}

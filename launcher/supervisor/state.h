/* supervisor: what its parts share. members: the launchers, one per rank. connections: launchers and rank processes.
 * A participant (job.h) is a place, and belongs to the connection that joined it: once its process has left, another one may have it.
 * What the process said, and what was found of it, stays its own. */
#ifndef GSAN_SUPERVISOR_STATE_H
#define GSAN_SUPERVISOR_STATE_H

#include <limits.h>
#include <sys/types.h>

#include "ipc/broker.h"
#include "ipc/ipc.h"
#include "ipc/job.h"
#include "ptx/info.h"
#include "report/report.h"
#include "supervisor/supervisor.h"
#include "supervisor/symbols.h"

enum member_state { MEMBER_ABSENT, MEMBER_HERE, MEMBER_RUNNING, MEMBER_DONE, MEMBER_LOST };
struct member {
	enum member_state state;
	int connection;     /* index, or -1 */
	int waits;          /* it asked for the verdict and has none yet */
	int status;         /* wait status, when DONE */
	pid_t pid, group;   /* of the rank's process */
	int own_group;      /* nobody else's processes are in it */
};
struct connection { int fd, rank; uint32_t participants; }; /* rank: a launcher's, else -1; fd -1: free */

/* A process that has, or had, a place. */
struct owner {
	uint32_t participant, gpu; /* gpu: which of supervisor.gpu */
	int rank, pid;             /* as it said: rank -1 if it does not know */
	uint32_t first;            /* its launches have the numbers behind this one (struct place): reports count from 1 */
	uint64_t branches;         /* of its stream slots, a bit each, those that are no stream (job.h) */
	char gpu_name[64], gpu_bus[32];
	struct owner *next;        /* who joined before */
};
struct gpu { char bus[32]; uint32_t place; uint64_t since; }; /* bus "": none; the lowest place on it, and which join had that first */

struct kernel {
	const struct owner *owner;
	uint32_t id;
	struct ptx_info info;
	struct symbol caller; /* of what is no kernel, once a report needs it (`asked`) */
	int asked;
	struct kernel *next;
};
#define KERNEL_BUCKETS 4096u /* by number */
struct allocation { const struct owner *owner; uint32_t id; uint64_t base, size; char *label; struct allocation *next; };

/* MERGED: withheld, too, but for records of launches that were merged: what they were before might not say so. */
enum belief { BELIEF_OPEN, BELIEF_RACE, BELIEF_ORDERED, BELIEF_WITHHELD, BELIEF_MERGED };
/* One way in which two places met: findings that differ in CTA and address only are counted. */
struct candidate {
	struct gsan_finding finding;
	uint64_t count, weight; /* weight: the sum of the confidences */
	int certain;            /* one of them is GSAN_CERTAIN */
	int rivals;             /* one of them says that its flag is not the only one (layout.h) */
	int own_flag;           /* one of them says so (layout.h) */
	uint32_t launched;      /* the newest launch of second's participant when the first of them came */
	struct kernel *kernel[2]; /* as they were when it was found: NULL = never told */
	const struct kernel *flag[2];
	const struct owner *owner[2];             /* likewise, of the places then */
	const struct allocation *allocation;
	enum belief belief; /* BELIEF_OPEN until the report, or until a process is forgotten that has to do with it */
	struct candidate *next;
};
/* Launches of one stream that may have told a host something (GSAN_TOLD), as ranges in order. Before any of a range did, numbers below `given`
 * were given out; 0: no more is known than that its own was. Their number is bounded by memory; without it any launch may have (`all`). */
#define TOLD_APART 65536u /* so many ranges; from there on of more than one launch `given` is not kept */
struct told { struct told_range { uint32_t first, last, given; } *range; size_t ranges, room; int all; };
/* Of processes that have left their place: from the launch of the first such kernel until the place went to another process. */
struct told_past { struct told_span { uint64_t from, until; } *span; size_t spans, room; int all; }; /* nanoseconds, monotonic */

/* A place where a launch has read the same again and again, by what the device told last. */
struct wait {
	const struct owner *owner;
	struct kernel *kernel;                /* or NULL: never told */
	const struct allocation *allocation;  /* or NULL: none is known there */
	struct gsan_side by;
	uint64_t address, value, since, last; /* since, last: of the first and the last word of it, now_ms() */
	uint32_t times;
	int known;                            /* is `value`? */
	int left;                             /* its process has left, and it waited then */
};
#define WAITS_KEPT 1024u

/* What the supervisor itself knows of a place: what stands in the job's memory programs may scribble on. */
struct place {
	enum job_state state;   /* FREE, JOINED or LEFT */
	uint32_t first;         /* as job_rank's */
	uint32_t maps, records; /* places, a bit each: whose tables or line records it has mapped; whose records its memory may have */
};

#define CANDIDATE_BUCKETS 65536u
#define CANDIDATES_MAX (1u << 18)

struct supervisor {
	struct supervisor_config config;
	int listener, job_fd, emu_fd;
	int report_fd;              /* whose lock makes the folder of the reports this job's; -errno: it is not, or nobody can say */
	int port, port_fd;          /* for the program's own rendezvous; what keeps it for this job */
	char cache[PATH_MAX];
	int cache_owned;            /* made for this job, removed with it */
	struct job *job;
	struct broker *broker;
	struct compile *compiles;   /* in the order in which they were asked for */
	int compile_epoll;
	struct member member[REPORT_RANKS_MAX];
	struct connection *connection;
	size_t connections;
	struct kernel *kernel[KERNEL_BUCKETS];
	struct allocation *allocations;
	uint32_t labels;            /* of these, names that programs gave */
	struct candidate *bucket[CANDIDATE_BUCKETS];
	uint32_t candidates;
	uint64_t candidates_lost;
	struct wait wait[WAITS_KEPT]; /* the last to be told of first */
	uint32_t waits, waits_lost;
	struct told told[GSAN_PARTICIPANTS][GSAN_STREAMS];
	struct told_past told_past;
	struct owner *owner[GSAN_PARTICIPANTS], *owners; /* of each place, NULL: nobody yet; and of all times, the newest first */
	uint64_t owners_count;
	struct gpu gpu[GSAN_PARTICIPANTS];
	struct report_rank past[REPORT_RANKS_MAX];  /* by rank: numbers of processes that left their place to another one */
	uint64_t past_foreign[REPORT_RANKS_MAX][JOB_FOREIGNS];
	struct place place[GSAN_PARTICIPANTS];
	uint32_t participants, rank_bits;           /* as the job's */
	uint32_t places;                            /* participants at once; fewer than GSAN_PARTICIPANTS in tests alone */
	uint32_t refused;                           /* processes that found no place in the job */
	struct report notes;                        /* coverage notes as they come in */
	int met;                                    /* the job has started, or time was up */
	uint32_t came;                              /* launchers, fit or not */
	struct text failure;                        /* why the job failed, for every launcher */
	int failed;                                 /* the status that was told then, or 0 */
};

/* supervisor.c: what is done about signals that are meant for the ranks: whoever ends a job sends them to all of its processes, and the
 * report is to be written all the same. */
void supervisor_signals(void (*what)(int));

/* requests.c: answers one message; the connection is closed by the caller if it returns an error. */
int supervisor_answer(struct supervisor *s, int connection);
void supervisor_reply_error(const struct supervisor *s, int connection, int error, const char *text);
void supervisor_participant_leave(struct supervisor *s, uint32_t participant);

/* compile.c */
int compile_new(struct supervisor *s);
int compile_ask(struct supervisor *s, int connection, const struct ipc_msg *msg, int in); /* takes `in` over, if it returns 0 */
void compile_forget(struct supervisor *s, int connection);
void compile_sweep(struct supervisor *s); /* when s->compile_epoll is readable */
void compile_close(struct supervisor *s);

/* evidence.c */
const struct allocation *supervisor_allocation(const struct supervisor *s, uint64_t address); /* told last; or NULL */
struct kernel *supervisor_kernel(const struct supervisor *s, uint32_t participant, uint32_t id); /* or NULL */
/* unnamed: for the name of a kernel that was never told, as long as *side is used. */
#define SUPERVISOR_UNNAMED 16
const char *supervisor_name(const char *raw); /* of C++: for people, kept for good; NULL: as it is (names.c) */
uint32_t supervisor_launch(const struct owner *owner, uint32_t seq); /* which of its launches that is, from 1 on */
void supervisor_side(const struct supervisor *s, struct report_side *side, const struct gsan_side *from, struct kernel *kernel,
		     const struct owner *owner, char unnamed[SUPERVISOR_UNNAMED]);
struct report_allocation supervisor_part(const struct supervisor *s, const struct allocation *a, uint64_t address); /* of it, at the address */
void supervisor_add_kernel(struct supervisor *s, struct kernel *k); /* takes it over */
void supervisor_drain(struct supervisor *s, int last); /* rings → candidates; last: skip what was never finished */
void supervisor_believe_of(struct supervisor *s, uint32_t participant); /* believes what it has to do with, before it is forgotten */
int supervisor_report(struct supervisor *s, struct report *r); /* candidates that are believed, ranks, coverage */

struct report_flag supervisor_flag(const struct ptx_site *site, const char *kernel); /* what a site of that kernel is, "-" left out */

/* fences.c */
void supervisor_fences(const struct candidate *c, struct report_finding *f); /* once its sides are known */

/* rounds.c */
void supervisor_rounds(const struct candidate *c, struct report_finding *f); /* likewise, and what the device says of them */

/* waits.c */
void supervisor_waits(struct supervisor *s, const struct gsan_finding *f);
void supervisor_waits_leave(struct supervisor *s, uint32_t participant); /* its process has gone: what it waits for now, it does for good */
void supervisor_waits_report(const struct supervisor *s, struct report *r); /* once it says how the ranks ended */

/* files.c */
void supervisor_take_folder(struct supervisor *s); /* or else the job fails */
int supervisor_write(struct supervisor *s, const struct report *r, int last); /* last: another job may have the folder then; 0 or -errno */

/* status.c */
int supervisor_own_status(const struct member *m); /* of a rank: its program's, as shells say it */
int supervisor_note_unseen(const struct supervisor *s, struct report *r); /* names the ranks of which no process joined */
int supervisor_status(const struct supervisor *s, const struct report *r, struct text *why); /* why: of SUPERVISOR_EXIT_UNCHECKED */

/* timeline.c */
int supervisor_timeline(const struct supervisor *s, struct report *r); /* 0 or -ENOMEM */

/* progress.c */
void supervisor_progress(const struct supervisor *s, struct text *out); /* a sentence without its stop; nothing yet: "" */

/* places.c. take: -ENOSPC: there is none. p maps what q put, and touches what q exported. */
int supervisor_place_take(struct supervisor *s, int rank, uint32_t *place);
void supervisor_place_joined(struct supervisor *s, uint32_t p);
void supervisor_place_left(struct supervisor *s, uint32_t p);
void supervisor_place_maps(struct supervisor *s, uint32_t p, uint32_t q);
void supervisor_place_touches(struct supervisor *s, uint32_t p, uint32_t q);
void supervisor_place_forgets(struct supervisor *s, uint32_t p, uint32_t gone); /* bits */

/* owner.c */
int supervisor_owner_join(struct supervisor *s, uint32_t participant, int rank, int pid, const char *bus); /* 0 or -ENOMEM */
void supervisor_owner_look(struct supervisor *s, uint32_t participant); /* at what it has written of itself, before it is forgotten */
void supervisor_owners_free(struct supervisor *s);
uint32_t supervisor_place(const struct supervisor *s, uint32_t participant);
uint32_t supervisor_participant(const struct supervisor *s, uint32_t place); /* the other way */
int supervisor_owner_rank(const struct supervisor *s, const struct owner *o); /* always one of the job's */
int supervisor_owner_gpu(const struct supervisor *s, const struct owner *o);  /* its GPU's number in reports */

/* belief.c. late: the second access is a copy, and may have come before the first. */
enum belief supervisor_believe(const struct supervisor *s, const struct gsan_finding *finding, int late);
uint32_t supervisor_given(const struct supervisor *s, uint32_t participant);
int supervisor_told_before(const struct supervisor *s, const struct gsan_finding *finding, uint32_t launched);
void supervisor_told(struct supervisor *s, const struct gsan_side *by, uint32_t given);
void supervisor_told_leave(struct supervisor *s, uint32_t participant); /* to another process */
void supervisor_told_free(struct supervisor *s, uint32_t participant);

#endif

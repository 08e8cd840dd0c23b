/* report: what a job found, as structs first and as JSON and text second. It knows nothing of CUDA, sockets or rings:
 * the supervisor fills a struct report, the writers print it, gsan-report reads it back from summary.json.
 *
 * Everything here is ordered by content, never by arrival, so that equal input gives equal bytes. All strings belong to
 * the report's pool. A `ranks` word has bit r set for rank r. */
#ifndef GSAN_REPORT_REPORT_H
#define GSAN_REPORT_REPORT_H

#include <stdint.h>

#include "base/pool.h"
#include "base/text.h"
#include "device/layout.h"
#include "report/index.h"

/* Of what the keys mean. Keys that are added under one version are optional in the schema and to the reader. */
#define REPORT_SCHEMA_VERSION 1
#define REPORT_RANKS_MAX 32
#define REPORT_UNCHECKED "unchecked"
#define REPORT_LEFT_OUT "left-out"   /* kernels that the user does not want checked */
#define REPORT_COPY "copy"           /* copies and sets, by the driver's function */
#define REPORT_FOREIGN "foreign"     /* memory that hosts can read */
#define REPORT_PROCESS "process"     /* a process that the job did not take in */
#define REPORT_MODULE "module"       /* what the driver refused to load */
#define REPORT_SOURCE "source"       /* files whose lines may not be those that ran */
#define REPORT_UNCOUNTED "uncounted" /* launches whose counters are not known: a program that did not wait */

struct report_place { const char *file; uint32_t line, column; }; /* file NULL: unknown */

struct report_side {
	int rank, gpu;           /* -1 unknown */
	int participant;         /* whose launches `launch` counts (ipc/job.h); -1 unknown */
	int pid;                 /* of its process; 0 unknown */
	const char *kernel, *kernel_name; /* as the driver has it, and as people call it; NULL: so they do */
	uint32_t grid[3];
	int cta_known;
	uint32_t cta[3];
	uint32_t launch;         /* the participant's launches, numbered from 1 */
	uint32_t stream;         /* the number of its stream among the participant's, and 1: 0: not known */
	struct report_place at;
	int in_ptx;              /* `at` is in the PTX, which has no line information */
	const char *function, *function_name, *inlined_at; /* or NULL; names as those of the kernel */
	const char *object;      /* a copy's caller, of which no line is known: the binary's file, "+0x" and where in it; NULL: none */
	const char *op;
	uint32_t bytes;
	const char *semantics, *scope;     /* scope NULL: none */
	const char *source;                /* the line at `at`; NULL: it could not be read (source.c) */
	const char *inlined_source;        /* those of `inlined_at`, with a newline between; NULL: none could */
};
const char *report_kernel_name(const struct report_side *side); /* for people; "?": it has none */
const char *report_function_name(const struct report_side *side); /* NULL: it is not known */
/* "in 2 pairs of launches"; once: none of them is counted twice, as another kind. one_launch: "in 2 launches", of which each met itself. */
void report_add_count(struct text *out, uint64_t count, int once, int one_launch);
int report_is_free(const struct report_side *side); /* 1: a stream gives the memory back */
int report_is_copy(const struct report_side *side); /* 1: a copy, a set or a free; `kernel` is the driver function, and it has no grid */
struct report_flag { struct report_place at; const char *scope, *semantics, *inlined_at, *kernel, *op; };
/* The operations that would have to be mended (edge.c); none: nobody knows any. */
#define REPORT_EDGE_OPS 2
struct report_op {
	const char *kernel;
	struct report_place at;
	const char *inlined_at;      /* from the line that report_add_op names outwards; NULL: it is in the kernel itself */
	const char *scope, *semantics;
	const char *source;          /* that line; NULL: it could not be read */
	const char *inlined_source;  /* as a side's */
};
struct report_edge { uint32_t ops; struct report_op op[REPORT_EDGE_OPS]; };
#define REPORT_MEMORIES 4
struct report_allocation { int rank; uint64_t base, size, offset; const char *label; }; /* size 0: not known */

/* What a missing edge lacks, in one word (words.c). */
enum report_class {
	REPORT_NO_CLASS, /* not known: read from a report that has none */
	REPORT_MISSING_RELEASE, REPORT_MISSING_ACQUIRE, REPORT_MISSING_BOTH, REPORT_NARROW_SCOPE, REPORT_EARLY_RELEASE, REPORT_WEAK_FLAG,
	REPORT_OTHER_FLAG, /* the flag is of a CTA that does not come behind the first access */
	REPORT_MISSING_BARRIER,
	REPORT_STALE_FLAG,   /* who waited went on by an older value */
	REPORT_EARLY_REUSE,  /* who writes again does not wait for who reads */
	REPORT_LATE_ACQUIRE, /* the load stands before the wait */
	REPORT_MISSING_LOCK,
	REPORT_MISSING_DEPENDENCY, /* a launch began before one before it in its stream had ended, and did not wait for it */
	REPORT_FREED,              /* the memory was given back in a stream's order, and the other launch need not come before */
	REPORT_MISSING_STREAM_EDGE, REPORT_NON_COHERENT, REPORT_NO_SYNCHRONISATION,
	REPORT_CLASSES
};

#define REPORT_LAUNCHES_APART 4u /* of report_finding.within */
enum report_age { REPORT_NO_AGE, REPORT_NEW, REPORT_OLD }; /* is it in the baseline? There may be none */

/* A pair of lines that race. A finding is a missing edge with all pairs that it explains: report_regroup makes findings of pairs. Then it has what
 * its root says, the pair that names the edge most directly; but `count` and `also`, and the like, are of all its pairs. */
struct report_finding {
	enum gsan_kind kind;
	uint32_t also;           /* bit k: seen as that kind, too (report_finish) */
	enum gsan_reason reason;
	uint64_t fingerprint;    /* of the pair of lines; set by report_identify, and read back */
	uint64_t cause;          /* of the missing edge, by which a finding is known again; likewise */
	uint32_t group;          /* before report_regroup: which pairs are one finding */
	uint32_t pair, pairs;    /* its pairs are report.pair[pair] and so on, the root first; pairs 0: it is the only one itself */
	uint32_t pairs_unlisted; /* further ones (report_limit), as which kinds they were seen, and in how many pairs of launches: `also` and */
	uint32_t kinds_unlisted; /* `count` have them, too */
	uint64_t count_unlisted;
	uint64_t count;
	uint64_t launches;       /* by what the launches are known in which it was seen, which count once; 0: not told; in no file */
	struct report_side first, second;
	struct report_flag flag_write, flag_read;  /* what `reason` speaks of */
	struct report_flag fence_write, fence_read; /* fences of too narrow a scope before the flag's write, behind its read; in no file */
	struct report_flag awaited;                /* of a store of a later round: by what its load waits; in no file */
	int both;                                  /* of a relaxed write: the read does not acquire, either */
	int early;                                 /* the flag's write is before the first access, wherever a loop goes; in no file */
	uint64_t weight;                           /* of the instances that give this reason, how well it explains them; in no file */
	int certain;                               /* one of them saw that very flag (GSAN_CERTAIN); the others guess. Once it is worded: no guess names the edge */
	int only;                                  /* it guesses, but no flag was seen that was another one, and would explain it, too */
	uint32_t within;                           /* bit 0: seen within one launch, or between ranks or processes; bit 1: of two launches of one; bit 2: not within one launch */
	uint64_t support;                          /* what findings of these kernels weigh that give this reason; in no file */
	struct report_allocation allocation;       /* of the instance that stands for all */
	uint32_t memories;                         /* several in which it was seen, in their order; 0: that one alone */
	int memory_unlisted;                       /* and in further ones */
	struct report_allocation memory[REPORT_MEMORIES];
	const char *missing_edge;                  /* set by report_finish, with its class */
	enum report_class missing_edge_class;
	struct report_edge edge;                   /* likewise */
	int overlap;                               /* one launch began before another of its stream had ended (programmatic dependent launch); in no file */
	int unawaited;                             /* neither side, nor who read the flag, reads again until it finds something; in no file */
	int formal;                                /* a race by the letter of PTX alone, in all instances */
	uint32_t schedules;                        /* of an exploration: how many showed it; 0: there was one run */
	uint64_t first_seed;                       /* of the first of them */
	enum report_age age;                       /* report_compare */
	uint32_t suppressed;                       /* by which of the report's suppressions, from 1 on; 0: by none */
};
/* What a pair of another report has if it is of the same lines (merge.c): the ranks are those of the two sides, in an order that all have. */
struct report_identity { uint64_t fingerprint; int rank[2]; };

enum report_end { REPORT_RUNNING, REPORT_EXITED, REPORT_SIGNALLED, REPORT_LOST, REPORT_MISSING };
struct report_rank {
	enum report_end end;
	int status;              /* exit code or signal */
	int gpu;                 /* its first; -1: it never started CUDA */
	uint32_t gpus;           /* all that its processes used, by number, a bit each */
	const char *gpu_name, *gpu_bus;
	uint64_t launches_uncounted; /* of those checked: ended without a wait, so that their counters are not known; in no file */
	uint64_t copies_checked, copies_unchecked; /* copies and sets of checked memory: are they checked as accesses of it? */
	uint64_t launches_left_out; /* unchecked because the user wants that; in no other number */
	uint64_t launches_checked, launches_unchecked, memory_bytes, shadow_bytes, tables_bytes;
	uint64_t withheld, withheld_merged, ordered_late;
	uint64_t counter[GSAN_N_COUNTERS];
};
/* A GPU of the job, and where it is. */
#define REPORT_GPUS_MAX 32
struct report_gpu {
	int number, numa;        /* numa: of its node; -1: not known */
	const char *bus;
	int linked;              /* are its links known? */
	uint32_t links[REPORT_GPUS_MAX]; /* NVLinks to each GPU of the report, in their order */
};
/* When a participant's streams had been given how many operations, as far as it noted that: the first and the last time, and others. */
#define REPORT_LANES_MAX 32
#define REPORT_POINTS 64u
struct report_point { uint64_t ms; uint32_t number; };   /* since the job began; operations with a number below it had been enqueued then */
struct report_lane {
	int participant, rank, gpu;
	uint32_t points;
	const struct report_point *point;
};
/* What ran, where and when. */
struct report_job {
	const char *const *argv; /* the program's, of the launcher that started the job */
	uint32_t arguments;
	const char *host, *directory;
	int64_t start;           /* seconds since 1970, UTC; 0: nothing of this is known */
	uint64_t began_ms;       /* now_ms(): how long it took follows; 0: that is known; in no file */
	uint64_t duration_ms, seed;
	const char *device;      /* emu, cuda */
	const char *driver;      /* NVIDIA's version, or NULL */
	const char *commit;      /* of the tool, or NULL */
	uint32_t lanes;          /* of a merged report, none */
	const struct report_lane *lane;
};
#define REPORT_TIME "%Y-%m-%dT%H:%M:%SZ" /* for strftime and strptime */
#define REPORT_TIME_SIZE 32

struct report_unlisted {
	uint64_t findings, count; /* how many, and in how many pairs of launches they were seen */
	uint64_t old;             /* of the findings, how many may be in the baseline; in no file */
};
/* A line of a file of suppressions (suppress.h), and what it matched. */
struct report_suppression { const char *file; uint32_t line; const char *rule; uint64_t findings, count; };
/* Where a launch that did not end had read the same again and again: who waits in a job that hangs. */
#define REPORT_WAITS_MAX 64
struct report_wait {
	struct report_side side;
	struct report_allocation allocation;
	uint64_t address;        /* in the arena, or as the kernel has it if the allocation is not known */
	int value_known;
	uint64_t value, times;   /* what it read, zero-extended; at least so often */
};
struct report_note { const char *key, *name, *reason; uint32_t ranks; const char *kernel_name; }; /* of an unchecked kernel, as above */
const char *report_note_name(const struct report_note *note); /* for people */
struct report_left { struct report_place at; const char *opcode, *reason; uint32_t ranks; };

/* How a text for people is set (page.h); all 0: as many columns as a line has, no colour, full names of files. */
struct report_style {
	int colour;            /* by escape sequences */
	unsigned width;        /* columns that a sentence may take */
	int verbose;           /* what was not checked, each by name */
	const char *directory; /* files below it are named from there */
};

struct report {
	struct pool pool;
	const char **text;            /* what report_copy has made: equal texts are one */
	uint32_t texts, texts_room;
	struct index text_index;
	struct report_job job;
	uint32_t ranks;
	struct report_rank rank[REPORT_RANKS_MAX];
	uint32_t gpus;
	struct report_gpu gpu[REPORT_GPUS_MAX]; /* by number */
	uint32_t findings, findings_room;
	struct report_finding *finding;
	uint32_t pairs;
	struct report_finding *pair;  /* of findings that have several (report_pairs) */
	struct index index;           /* of findings by what they are, for report_add_finding */
	struct index met;             /* of findings by the launches that they were seen in, likewise */
	uint32_t formal_unlisted;     /* formal findings that are not among these */
	struct report_unlisted unlisted[GSAN_TOLD]; /* others, by kind (report_limit) */
	uint32_t waits, waits_unlisted;
	struct report_wait wait[REPORT_WAITS_MAX];
	uint32_t suppressions, suppressions_room;
	struct report_suppression *suppression;
	struct index suppression_index;
	uint32_t notes, notes_room;   /* keys are ipc/proto.h's: "unchecked" names a kernel that ran so */
	struct report_note *note;
	struct index note_index;
	uint32_t lefts, lefts_room;
	struct report_left *left;
	struct index left_index;
	uint64_t withheld, ordered_late; /* candidates that an order unseen by the device may explain, or does explain */
	uint64_t withheld_merged;        /* of those withheld: perhaps only because records of launches were merged */
	int exit_status;
	uint32_t merged;                 /* reports of which this is made (report_merge); 0: it is none of those */
	uint32_t unchecked;              /* report_runs_unchecked */
	uint32_t deselected;             /* findings that report_select left out */
	uint32_t schedules;              /* of an exploration: runs; 0: there was one */
	uint32_t unexplored;             /* further ones that were asked for, and not finished */
	const char *schedule;            /* and how they chose */
	uint64_t first_seed;
};

/* Each copies what it is given, and merges equals. Returns 0 or -ENOMEM. */
int report_add_finding(struct report *r, const struct report_finding *finding);
int report_append_finding(struct report *r, const struct report_finding *finding); /* merges nothing */
int report_take_edge(struct report *r, struct report_finding *to, const struct report_finding *from); /* what is missing, as another report's says it */
int report_add_note(struct report *r, const struct report_note *note);
int report_add_left(struct report *r, const struct report_left *left);
void report_append_wait(struct report *r, const struct report_wait *wait); /* merges nothing; what there is no room for is counted */
int report_add_suppression(struct report *r, const struct report_suppression *suppression, uint32_t *number); /* number: from 1 on */
int report_set_job(struct report *r, const struct report_job *job); /* which has taken until now */
int report_set_lanes(struct report *r, const struct report_lane *lane, uint32_t lanes);
const char *report_time(char text[REPORT_TIME_SIZE], int64_t seconds); /* since 1970, as REPORT_TIME says it: `text` */
/* NULL stays NULL, and is what comes back when out of memory. What is not UTF-8, and what commands (base/utf8.h) but for tabs, becomes
 * \xNN or \uNNNN. */
const char *report_copy(struct report *r, const char *string);
/* Gives each finding the reason that explains it best, merges what has one cause, sorts, words each missing edge that has no words yet.
 * Returns 0 or -ENOMEM. */
int report_finish(struct report *r);
void report_sort(struct report *r); /* only that */
void report_sort_findings(struct report *r);
void report_sort_notes(struct report *r);
/* group.c. Each 0 or -ENOMEM, and sorts the findings. */
int report_group(struct report *r);   /* says of finished pairs which of them lack one edge: by `group` */
int report_regroup(struct report *r); /* pairs of one `group` become a finding, once it is known which are suppressed */
int report_ungroup(struct report *r); /* and pairs again */
const struct report_finding *report_pairs(const struct report *r, const struct report_finding *f, uint32_t *count); /* the root first */
struct report_finding report_whole(const struct report_finding *pair, uint32_t pairs); /* what a finding of these pairs is, but for where they lie */
int report_is_single(const struct report_finding *f); /* is it one pair of lines, of one kind? */
int report_counts(const struct report_finding *f, const struct report_finding *pair); /* is it among what f's `count` has? A suppressed one is not, unless all are */

/* How many there are, listed or not: findings that decide about an exit status, those that are formal; and pairs that are suppressed. */
struct report_tally { uint64_t findings, formal, suppressed; };
struct report_tally report_tally(const struct report *r);
int report_decides(const struct report_finding *f); /* about an exit status: it is neither formal nor suppressed */
uint32_t report_formal(const struct report *r); /* how many of the findings are formal: they stand behind the others */
void report_unlist_formal(struct report *r);    /* once it is finished: they are counted alone */
void report_free(struct report *r);

int report_checked(const struct report *r); /* did any access get checked? */
uint32_t report_runs_unchecked(const struct report *r); /* of several runs: in how many nothing was checked */
/* "nothing was checked", or in how many of the runs that this is made of; returns 0 where something was in each, and adds nothing. */
int report_add_unchecked(struct text *out, const struct report *r);
struct report_rank report_total(const struct report *r); /* the ranks' numbers added up */

/* words.c */
const char *report_kind_name(enum gsan_kind kind);
int report_kind_find(const char *name, enum gsan_kind *kind);
const char *report_class_name(enum report_class class); /* NULL: it has none */
int report_class_find(const char *name, enum report_class *class);
int report_of_launches(enum report_class class); /* is the edge one between two launches as such, whatever of them races? */
const char *report_end_name(enum report_end end);
void report_missing_edge(struct text *out, const struct report_finding *finding);
enum report_class report_class(const struct report_finding *finding);
int report_includes(const struct report_finding *f, const char *scope); /* does it include the other side? */
int report_same_place(const struct report_place *a, const struct report_place *b);
int report_is_strong(const struct report_side *side); /* by its semantics; 0: weak, or not known */
const struct report_flag *report_narrow_fence(const struct report_finding *f, int reads); /* whose scope it lacks, on that side; NULL: none is known */
int report_is_weak_flag(enum gsan_reason reason);   /* is it of a flag that is weak on one side? */
int report_is_strong_flag(enum gsan_reason reason); /* is it of a strong flag of the first side's CTA, and what it lacks? */
int report_flag_races(const struct report_finding *f); /* is it the flag's own, of which one side is weak? */
/* launches.c */
int report_two_participants(const struct report_finding *f); /* are its sides of one rank, and not of one process on one GPU? */
int report_two_processes(const struct report_finding *f); /* are its sides of two processes of one rank? */
int report_two_launches(const struct report_finding *f); /* are they two launches of one process? */
int report_is_one_launch(const struct report_finding *f); /* are they one? */
uint32_t report_launches(const struct report_finding *f);  /* what they are, as `within` has it */
int report_in_one_launch(const struct report_finding *f); /* were they each time, of all its pairs? */
int report_is_ordered(const struct report_finding *f);   /* is it known which of the two launches the host gave first, if they are two? */
/* Lets the side stand first whose launch was given first, if that is known, and it is the launches as such that nothing orders: which of them was
 * checked first says nothing then. named: nothing has another name any more by that (cause.c). */
void report_launched_first(struct report_finding *f, int named);
void report_add_launch(struct text *out, const struct report_side *side, int streams); /* "launch 3", "launch 3 in stream 2" */
/* words.c, again */
unsigned report_column(const struct report_place *at, const char *source); /* in that line (NULL: not known), from 1 on; 0: not known */
const char *report_below(const char *directory, const char *file); /* what of `file` is below it, if it is; directory may be NULL */
const struct report_side *report_reader(const struct report_finding *f); /* of a read-after-write, or write-after-read */
const struct report_side *report_writer(const struct report_finding *f);
const char *report_noun(const struct report_side *side); /* "load", "store", "atomic": what a reader calls an operation, from its PTX name */
void report_add_operation(struct text *out, const struct report_side *side); /* "atom.add.relaxed.gpu" */
/* FILE:LINE of the user's frame: the innermost in the file of the kernel, by the chain of `inlined_at`. 1: that is not `at` itself. */
int report_add_frame(struct text *out, const struct report_place *at, const char *inlined_at);
/* Its frame, or where in its binary it is, between two pieces of text; nothing, if neither is known. */
void report_add_where(struct text *out, const char *before, const struct report_side *side, const char *behind);
void report_add_chain(struct text *out, const char *inlined_at); /* FILE:LINE, FILE:LINE…: lines may break behind each; of many, some */

/* wait.c */
/* memory.c */
const char *report_label(const struct report_finding *f); /* what the program calls the memory; NULL: nothing */
const struct report_allocation *report_memories(const struct report_finding *f, uint32_t *count); /* all in which it was seen, as far as they are listed */
void report_join_memory(struct report_finding *to, const struct report_finding *a, const struct report_finding *b); /* `to` may be one of them */
void report_add_memory(struct text *out, const struct report_allocation *a); /* "byte 4 of 64 at 0x200000000000, allocated by rank 0" */
void report_add_wait_memory(struct text *out, const struct report_wait *w);
void report_add_wait_seen(struct text *out, const struct report_wait *w);
void report_add_wait(struct text *out, const struct report_wait *w); /* all of it, as a sentence's end */

/* edge.c */
int report_set_edge(struct report *r, struct report_finding *f); /* once it has its class; 0 or -ENOMEM */
uint32_t report_parts(const struct report_finding *f); /* of how many operations an edge is made each of which others may lack alone; 0: of none */
enum report_class report_part_class(const struct report_finding *f, uint32_t i); /* what is said of who lacks its operation i alone */
int report_is_likely(const struct report_finding *f); /* is what it says of why a guess that has, or may have, an alternative? */
void report_add_why(struct text *out, const struct report_finding *f); /* what it says of why, and that it is likely */
int report_knows_edge(const struct report_finding *f); /* does it name what would have to be mended, and is that no guess? */
void report_add_op(struct text *out, const struct report_op *op); /* the user's FILE:LINE */

/* source.c: gives each side and each operation its lines, from files that are meant relative to `directory` (NULL: where this process is). 0 or -ENOMEM. */
int report_add_sources(struct report *r, const char *directory);
/* fingerprint.c. Each 0 or -ENOMEM. */
int report_identify(struct report *r);       /* gives each finding and each of its pairs their fingerprints, once the sources are there */
int report_identify_pairs(struct report *r); /* the pairs alone */
uint64_t report_edge_fingerprint(const struct report_finding *f); /* of the edge that this pair lacks, whatever others of its finding do */
uint64_t report_part_cause(const struct report_finding *f, uint32_t i); /* what a finding would be known by that lacks that part of its edge alone */
struct report_identity report_identity(const struct report_finding *finding);
int report_identity_order(const struct report_identity *a, const struct report_identity *b);
/* merge.c: adds `one`, which is finished, to what was merged before, beginning with a report of zeros. 0 or -ENOMEM. */
int report_merge(struct report *all, const struct report *one);
int report_merge_coverage(struct report *all, const struct report *one); /* all but the findings */
/* select.c: keeps the findings of which all patterns (fnmatch; NULL: any) match one pair, by one of its sides or kinds. */
enum report_pattern { REPORT_BY_KIND, REPORT_BY_KERNEL, REPORT_BY_FILE, REPORT_BY_RANK, REPORT_BY_LABEL, REPORT_PATTERNS };
void report_select(struct report *r, const char *const pattern[REPORT_PATTERNS]);
/* limit.c: keeps at most `details` > 0 findings of a kind, those first that decide an exit status, and as many pairs beside their roots; the
 * others are counted. */
void report_limit(struct report *r, uint32_t details);
uint64_t report_unlisted(const struct report *r); /* how many findings that is, all kinds together */
/* Says which findings are new; 0 or -ENOMEM. Old is a pair of which the baseline has the missing edge; one that it has with no other edge, as far as
 * both know; and a finding whose pairs all are, but for suppressed ones. */
int report_compare(struct report *r, const struct report *baseline);

/* json.c: malloc'ed text ending in a newline, or NULL. rank -1: the summary. */
char *report_json(const struct report *r, int rank);
/* read.c: 0, -EINVAL with a sentence in `error`, or -ENOMEM. *r is valid for report_free whatever comes back. */
int report_read(struct report *r, const char *json, char *error, size_t error_size);
/* text.c. folder: where the report lies, or NULL. */
void report_text(struct text *out, const struct report *r, const char *folder, const struct report_style *style);
void report_text_finding(struct text *out, const struct report *r, const struct report_finding *f, const struct report_style *style);

#endif

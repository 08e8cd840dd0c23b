/* What the reference detector keeps. The parts are trace.c (text to events), order.c (launches, streams, hosts), barrier.c
 * (barriers inside a CTA), sync.c (what strong accesses and fences order), formal.c (what orders besides where formal races are
 * none), memory.c (who touched which byte) and races.c (what comes out). */
#ifndef REFERENCE_MODEL_H
#define REFERENCE_MODEL_H

#include "reference/clock.h"
#include "reference/reference.h"
#include "reference/table.h"

enum scope { SCOPE_NONE, SCOPE_CTA, SCOPE_GPU, SCOPE_SYS }; /* a cluster counts as its GPU */
enum { NO_INDEX = UINT32_MAX, FENCES = SCOPE_SYS - SCOPE_CTA + 1 };

struct unit { /* what a logical thread is */
	unsigned flag;   /* that asks for it */
	uint64_t threads;
	int inside;      /* races are looked for within a CTA */
};
enum { UNIT_CTA, UNIT_WARP, UNIT_THREAD, UNITS };
extern const struct unit reference_units[UNITS];

struct seat { /* where a logical thread runs */
	uint32_t device;
	uint32_t block; /* CTA; NO_INDEX where that is the logical thread */
};

/* ---- what synchronises (sync.c) */

enum form { /* how a release pattern begins; the index of its name in edges */
	FORM_STORE, FORM_RMW, FORM_FENCE, FORM_AGAIN, FORM_START, FORM_SC, FORMS
};

struct part { /* something released: those that are equal in all but the clock are one */
	enum scope scope; /* of the pattern's first operation */
	enum form form;
	struct seat seat;
	uint32_t rank;
	int chained, is_volatile;
	struct clock *clock;
};

struct parts {
	struct part *part;
	size_t count, room;
};

struct place { /* a location, as one logical thread has used it for synchronisation */
	uint64_t memory, offset, bytes;
	struct parts released; /* by release operations on it: `st.release M … st.relaxed M` */
	struct parts pending;  /* observed by strong reads of it and not acquired yet */
	uint32_t next;         /* place of the thread */
};

struct chain { /* a write and the RMWs that continue it by morally strong links */
	uint32_t cta;      /* of the head */
	uint64_t head;     /* its event */
	int touched;       /* somebody observed or continued it */
	uint32_t into;     /* with REF_OVER, of an own weak write that an RMW continued: + 1, the chain of that RMW; or 0 */
	uint32_t *launch;  /* of all writers */
	size_t launches, room;
};

/* ---- who (order.c) */

struct cta { /* a logical thread */
	uint32_t launch;
	uint64_t index;
	struct clock *clock;
	struct clock *fence[FENCES]; /* at the last releasing fence of scope .cta, .gpu, .sys; at first the start of the kernel */
	enum form fence_form[FENCES];
	uint64_t fence_at[FENCES];
	uint64_t released;      /* event of the last release of any form */
	uint64_t accessed;      /* event of the last access */
	uint32_t places;        /* list; NO_INDEX ends it */
	struct clock *relaxed;  /* formal.c: what its relaxed RMWs observed */
	struct parts heard;     /* formal.c: what others of its CTA observed before they met it */
	uint32_t next;          /* CTA of the launch */
	uint32_t block;         /* its CTA: itself, where that is the logical thread */
	uint32_t sibling;       /* of a CTA whose warps or threads are the logical threads: list of those that did something */
	uint32_t tidy;          /* size at which the clock is next looked through for what its other elements imply */
	int ended;
	struct late *late;      /* of accesses since its last strong access, fence or barrier */
	size_t lates, late_room;
};

struct met { /* what those bring who arrive at a barrier, and those get who go on */
	struct clock *clock;         /* what is before */
	struct clock *fence[FENCES]; /* formal.c: what their fences covered, by scope */
	struct parts heard;          /* formal.c: what they observed and have not acquired */
};

struct barrier { /* of a CTA */
	struct met arriving; /* for the phase that is not complete */
	struct met complete;
};

enum launch_state { LAUNCH_QUEUED, LAUNCH_RUNNING, LAUNCH_DONE };

struct range {
	int writes;
	uint64_t memory, offset, bytes;
};

struct launch {
	uint64_t id, number; /* number in its stream, from 1 */
	uint32_t stream, rank, device;
	const char *kernel;
	uint64_t grid, block;
	enum launch_state state;
	int told;            /* a host knows that it is complete */
	uint32_t *after;     /* launches that the stream waits for */
	size_t afters, ranges;
	struct range range[2];
	struct clock *host;  /* what hosts knew when it was enqueued */
	struct clock *base;  /* what is before all of it */
	struct clock *end;   /* what is before the work after it, itself included */
	uint32_t ctas, previous_live, next_live;
};

struct tail { /* what work enqueued next in a stream must wait for; what a recording holds */
	uint32_t *launch;
	size_t count, room;
};

struct stream {
	uint64_t id;
	struct tail tail;
	uint64_t launches;
};

/* ---- accesses (memory.c) */

struct access {
	uint32_t holders;
	uint32_t cta, chain, site;
	uint64_t event, times, memory, offset, bytes;
	int writes, rmw, strong, nc, is_volatile, used;
	int acquires, releases;
	enum scope scope;
	uint64_t seen; /* by the access that is being looked at */
	uint32_t behind; /* granules, as bits, in which one that stands for it is before all that is to come */
	uint64_t warp; /* number of the instruction that lanes of one warp executed together */
};

struct sites { /* different ones, sorted */
	struct ref_site *site;
	size_t count, room;
};

struct stood { /* what stood for the first access of a pair when the second came, in the bytes up to `end` */
	uint64_t end;
	const char *kernel; /* NULL: nothing */
	uint32_t line;
};

struct late { /* a racing pair, until its second access is looked at: at once unless that is weak, or one of the two a range */
	struct access first, second; /* as they were then: repeats that they will stand for come later */
	size_t race;
	struct clock *clock; /* what is before the second; NULL: its CTA's */
	struct stood *stood;
	size_t stoods, stood_room;
};

struct message { /* a write, as its readers see it */
	uint32_t holders;
	struct access *access;
	struct parts parts;
};

struct cell;
struct memory {
	uint64_t id;
	struct cell *root;
};

struct explain {
	uint64_t event[2];
	struct access *first;
	char *text;
};

struct ref {
	char *name;
	unsigned flags;
	int formal;       /* here F1 to F3 hold (formal.c) */
	struct ref *held; /* the same trace again, where they do; NULL: warps are not told apart, or this is it */
	const struct unit *unit;
	uint64_t line;
	char *error;
	size_t room;
	struct names names;

	struct table launch_by_id, stream_by_id, recording_by_id, cta_by_index, place_by_key, memory_by_id, strong_by_bytes,
		barrier_by_id;
	struct launch *launch;
	struct stream *stream;
	struct tail *recording;
	struct cta *cta;
	struct barrier *barrier;
	struct place *place;
	struct chain *chain;
	struct memory *memory;
	struct message **strong; /* with REF_OVER, the last strong write of exactly these bytes */
	size_t launches, streams, recordings, ctas, barriers, places, chains, memories, strongs;
	size_t launch_room, stream_room, recording_room, cta_room, barrier_room, place_room, chain_room, memory_room, strong_room;

	struct clock *host;    /* what hosts were told */
	struct clock *floor;   /* what is before everything that can still come */
	uint64_t floors, floor_at;
	uint32_t live, lives;  /* list of launches that are not done, and how many */
	struct parts sc;       /* released by all fence.sc, with REF_SC */
	uint64_t looks;        /* accesses looked at, for `seen` */
	uint64_t warp;         /* of the last access */
	struct { uint32_t cta, site; uint64_t thread; } lane;

	struct ref_race *race;
	struct ref_edge *edge;
	size_t races, race_room, edges, edge_room;
	struct table race_by_sites, race_by_kernels, edge_by_name;
	struct explain explain;
};

/* trace.c: an event's fields, in the order of its form. */
#define EVENT_FIELDS 16
struct event {
	uint64_t number[EVENT_FIELDS];
	char *word[EVENT_FIELDS];
	size_t numbers, words;
	uint64_t *rest; /* of `complete` */
	size_t rests, rest_room;
};
int trace_line(struct ref *r, char *text);
/* Writes the message "NAME:LINE: …" and returns -EINVAL. */
int ref_fail(struct ref *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* order.c */
int order_launch(struct ref *r, const struct event *e);
int order_range(struct ref *r, const struct event *e);
int order_name(struct ref *r, const struct event *e);
int order_begin(struct ref *r, const struct event *e);
int order_done(struct ref *r, const struct event *e);
int order_record(struct ref *r, const struct event *e);
int order_wait(struct ref *r, const struct event *e);
int order_complete(struct ref *r, const struct event *e);
int order_exit(struct ref *r, const struct event *e);
int order_cta(struct ref *r, uint64_t launch, uint64_t index, uint32_t *cta); /* of a running launch */
int order_thread(struct ref *r, const struct event *e, uint32_t *cta); /* the logical thread */
int order_thread_of(struct ref *r, uint32_t block, uint64_t thread, uint32_t *cta);
struct seat order_seat(const struct ref *r, uint32_t cta);
int order_strangers(const struct ref *r, const struct access *a, const struct access *b); /* may they race? */
int order_before(const struct ref *r, const struct clock *c, const struct access *a);
struct clock *order_prune(const struct ref *r, struct clock *c); /* takes the caller's hold, returns one */
void order_free(struct ref *r);

/* barrier.c */
int barrier_arrive(struct ref *r, const struct event *e);
int barrier_phase(struct ref *r, const struct event *e);
int barrier_pass(struct ref *r, const struct event *e);
int barrier_init(struct ref *r, const struct event *e);
int barrier_shared(struct ref *r, const struct event *e);
void barrier_inherit(struct ref *r, uint32_t thread, uint32_t block); /* a thread that is new */
void barrier_free(struct ref *r);

/* formal.c: nothing, unless r->formal */
void formal_observe(struct ref *r, const struct access *a, const struct part *p); /* a part that the scope of `a` reaches */
void formal_arrive(struct ref *r, struct met *m, uint32_t thread);
void formal_pass(struct ref *r, const struct met *m, uint32_t thread);
void formal_tell(struct ref *r); /* which races of r there are not where the rules hold */

/* sync.c */
int sync_reaches(enum scope a, struct seat x, enum scope b, struct seat y); /* each other; of different logical threads */
int sync_linked(const struct ref *r, const struct access *w, const struct access *a); /* morally strong */
int sync_fence(struct ref *r, const struct event *e);
void sync_observe(struct ref *r, const struct access *a, struct message *m);
void sync_look(struct ref *r, const struct access *a); /* once, before it observes anything */
void sync_follow(struct ref *r, const struct access *a, const struct access *observed);
struct message *sync_publish(struct ref *r, struct access *a, const struct message *continued);
struct clock *sync_snapshot(struct ref *r, uint32_t cta); /* what it did so far, the event of now included; to hand on */
void sync_end(struct ref *r, uint32_t cta);
void parts_join(struct parts *to, const struct parts *from);
void sync_drop(struct message *m);
void parts_free(struct parts *p);

/* memory.c */
#define MEMORY_END (UINT64_C(1) << 60) /* offsets and sizes beyond are nonsense */
int memory_access(struct ref *r, const struct event *e);
void memory_range(struct ref *r, uint32_t launch);
void memory_settle(struct ref *r, uint32_t cta); /* before its strong accesses, fences and barriers, and at its end */
void memory_free(struct ref *r);

/* races.c */
int races_by_sites(const void *one, const void *other); /* for qsort: names, lines, ranks and kind */
struct ref_race *races_add(struct ref *r, const struct access *first, const struct access *second);
extern const char races_behind[]; /* "-", in place of a kernel */
void races_site(struct sites *s, const struct ref_site *site);
void races_dominated(struct ref_race *race, struct sites *any);
void races_edge(struct ref *r, const char *name, uint32_t cta, uint64_t count);
void races_explain(struct ref *r, struct access *a);

#endif

/* late: the bytes of copies and sets, checked when these are over, by a kernel of ours (device/range.h) in a stream of our own. A copy is
 * followed by an event of ours, that nobody waits for; who calls the driver later asks it, and starts the kernel once it has passed. So nothing
 * of ours stands between the program's work, and what has been started waits for nothing but room on the GPU. Those under way
 * are kept in a list. If it grows long, who brings more waits for checks, as long as any ends; not for copies that do not end.
 *
 * Until it is over a check may leave records: tags and memory that it names are not used again before (late_lowers, vmm_look). */
#ifndef GSAN_DRIVER_LATE_H
#define GSAN_DRIVER_LATE_H

#include "driver/copy.h"

struct late;

/* While nothing of the program runs: local memory is made ready, and the kernel loaded, and run once for nothing, for the driver does the rest then. */
void late_start(struct flow *f);
const char *late_refuses(struct flow *f); /* why copies are not checked; NULL: they are */
/* Of a copy, known to the supervisor as that kernel, that was given a number as a checked launch, whose order stands in the slot's record; the slot's queue is locked. NULL: no memory. */
struct late *late_new(struct flow *f, const struct copy *c, uint32_t kernel);
const struct gsan_launch *late_record(const struct late *l);
int late_looks(const struct late *l); /* 1: what it reads is a word, of which GPUs know that they may ask what was released there (values.h) */
/* The driver has answered: `done` if it took it; `over`: it is known to be complete. The entry is late's from here on. 0, or -EIO: its end will
 * not be known. */
int late_enqueued(struct late *l, CUstream stream, int done, int over);
/* Starts what may be started, behind each call that may have made that so. Cheap if there is nothing. If much is under way it waits for some. */
void late_go_on(struct flow *f);
/* Before anything is given a number, no queue being locked: a host may have polled what copies and sets of one word write, and be behind those that are
 * over. Our event says so some microseconds later than the word, so those are waited for, once for each copy. */
void late_hear(void);
int late_tells(void); /* there are such that are not known to be over; asks nobody */
int late_under_way(struct flow *f); /* 1: some are, as far as was seen last */
/* 1: none is under way, perhaps after looks, LATE_LOOK_NS apart, until as many have ended as there were, or in so many of them none was started or
 * ended: as often on a machine that is busy as on another one, for the emulated device counts them. */
#define LATE_LOOK_NS 20000
#define LATE_LOOKS 1000u /* so many where tags or memory run short */
int late_over(struct flow *f, unsigned looks);
/* Of what is under way launches of its slot, from its own on, may leave records. */
void late_lowers(struct flow *f, struct clock_sweep *sweep);
void late_forget_context(CUcontext context); /* it has ended */
/* If the kernel's own has, it is loaded again: now that the program begins anew, or loads code itself. f: or NULL. */
void late_resume(struct flow *f);

#endif

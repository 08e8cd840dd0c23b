/* Random programs are put together here: a seeded source of choices, and what adds a location, a launch, a thread or an
 * instruction to a struct lit_program under construction. */
#ifndef GSAN_RANDOM_BUILD_H
#define GSAN_RANDOM_BUILD_H

#include "litmus/litmus.h"

#define BUILD_ACTORS 12
#define BUILD_LAUNCHES 5

/* A CTA that takes part: its first section, how many threads execute it, and perhaps a second warp that meets the first
 * at barriers. */
struct build_actor {
	int launch, thread, helper; /* indices into the program; helper -1: none */
	uint32_t cta, threads;
	int regs;           /* used so far */
};

struct build {
	struct lit_program *p;
	uint64_t state;         /* of the random numbers */
	uint32_t broken;        /* per cent: how often an element of an idiom is left out or weakened */
	uint32_t dirty;         /* per cent: how often noise touches what others use */
	size_t actors;
	struct build_actor actor[BUILD_ACTORS];
	uint8_t before[BUILD_LAUNCHES][BUILD_LAUNCHES]; /* [a][b]: the hosts order launch a before launch b */
};

uint64_t build_random(struct build *b);
uint32_t build_below(struct build *b, uint32_t n);       /* 0 … n - 1 */
int build_chance(struct build *b, uint32_t percent);
int build_breaks(struct build *b);                       /* with the program's own probability */
struct build_actor *build_any_actor(struct build *b);

void *build_append(void *list, size_t *count, size_t size); /* a new zeroed element; the list may move */
int build_location(struct build *b, const char *role, int rank, uint32_t bytes);
int build_location_over(struct build *b, const char *role, int base, int32_t offset, uint32_t bytes);
int build_launch(struct build *b, int rank, int stream, uint32_t grid, uint32_t block);
int build_thread(struct build *b, int launch, uint32_t cta, uint32_t first, uint32_t threads);
void build_step(struct build *b, struct lit_step step);

/* An instruction without operands: -1 where -1 means none. The rest adds to the end of an actor's (or its helper's). */
extern const struct lit_instr build_plain;
void build_instr(struct build *b, const struct build_actor *a, struct lit_instr instr);
void build_helper_instr(struct build *b, const struct build_actor *a, struct lit_instr instr);
void build_bar(struct build *b, const struct build_actor *a); /* nothing without a helper */
void build_if(struct build *b, const struct build_actor *a, int reg, uint64_t value);
void build_end(struct build *b, const struct build_actor *a);
int build_reg(struct build_actor *a, int count); /* the first of `count` fresh ones, from r0 again when they run out */
int build_device(const struct build *b, const struct build_actor *a);
int build_rank(const struct build *b, const struct build_actor *a);

#endif

/* Pairs of kernels, a correct one and a twin with a race, in which one CTA hands words on to another: all of its warps, or one,
 * store them and thread 0 raises a flag (or they load them, and the other CTA may overwrite). What makes them race is that warps
 * of one CTA do not meet where they should: tables in pairs.c. Each kernel K takes a zeroed block of memory:
 *   +0 how many words were not what they should be, +4 the flag, +8 a flag within the first CTA, +12 one back,
 *   +512 the words, by round. */
#ifndef TESTS_WARPS_PAIRS_H
#define TESTS_WARPS_PAIRS_H

#include <stddef.h>
#include <stdio.h>

enum { PAIR_SHAPES = 4 }; /* of each way to publish or to receive: overwrites or not, one round or two */
enum { PAIR_BYTES = 2048, PAIR_THREADS = 128, PAIR_FIRST = 10, PAIR_SECOND = 20 }; /* lines of the accesses that race */

struct pair {
	char name[96];
	const struct publish *publish;
	const struct receive *receive;
	const char *release, *poll; /* of thread 0, unless publish or receive says how */
	int overwrites, rounds;     /* loads, then stores of the other CTA; in the last of so many rounds the twin races */
	int in_receive;             /* the twin differs where it receives, not where it publishes */
	int formal;                 /* the twin is a race by the letter of PTX alone (tests/reference/formal.c) */
	int unseen;                 /* no order of execution makes the twin compute anything wrong; so if it is formal */
};

/* All pairs. */
const struct pair *pairs_all(size_t *count);
/* The name of a pair's kernel. */
enum { PAIR_NAME = 128 };
void pairs_name(char to[PAIR_NAME], const struct pair *p, int racy);
/* Writes the kernel `NAME` of the module, whose head pairs_head writes. */
void pairs_head(FILE *to);
void pairs_kernel(FILE *to, const struct pair *p, const char *name, int racy);

#endif

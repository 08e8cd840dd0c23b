/* One line of vectors.txt: a kernel's name, its 64 first results in hexadecimal, and the 64 second ones behind a bar where
 * any is not 0. Shared by the runner that records on a GPU and the test that compares. */
#ifndef TESTS_GPU_OPCODES_VECTORS_H
#define TESTS_GPU_OPCODES_VECTORS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VECTORS_THREADS 64
#define VECTORS_NAME 128
#define VECTORS_BYTES (VECTORS_THREADS * 32) /* results, and as much scratch */

/* How many threads a kernel has: the second half of a group of four warps has no results. */
static inline unsigned vectors_threads(const char *name)
{
	return strncmp(name, "wgmma", 5) ? VECTORS_THREADS : 2 * VECTORS_THREADS;
}

/* The next kernel of a module's text: copies its name, returns where to go on, NULL at the end. */
static inline const char *vectors_next(const char *ptx, char *name)
{
	static const char word[] = ".visible .entry ";
	const char *at = strstr(ptx, word);
	if (!at)
		return NULL;
	at += sizeof word - 1;
	size_t n = strcspn(at, "(");
	if (n >= VECTORS_NAME)
		n = VECTORS_NAME - 1;
	memcpy(name, at, n);
	name[n] = 0;
	return at + n;
}

static inline void vectors_print(FILE *f, const char *name, const uint64_t *out)
{
	int second = 0;
	fputs(name, f);
	for (unsigned t = 0; t < VECTORS_THREADS; t++) {
		fprintf(f, " %llx", (unsigned long long)out[2 * t]);
		second |= out[2 * t + 1] != 0;
	}
	if (second)
		fputs(" |", f);
	for (unsigned t = 0; second && t < VECTORS_THREADS; t++)
		fprintf(f, " %llx", (unsigned long long)out[2 * t + 1]);
	fputc('\n', f);
}

/* Reads the numbers behind the name; returns how many threads had a first result. */
static inline unsigned vectors_read(char *line, uint64_t *out)
{
	unsigned n = 0;
	char *at = line, *end;
	for (unsigned part = 0; part < 2; part++) {
		for (unsigned t = 0; t < VECTORS_THREADS; t++) {
			out[2 * t + part] = strtoull(at, &end, 16);
			n += part == 0 && end != at;
			at = end;
		}
		at += strspn(at, " |");
	}
	return n;
}

#endif

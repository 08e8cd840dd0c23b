/* random-programs: prints, writes and shrinks the programs that tests/random/soak.py runs.
 *   random-programs print [copies] SEED
 *   random-programs make FROM TO DIR       DIR/<seed>.litmus of each seed in [FROM, TO); a line per row: count, name
 *   random-programs copies FROM TO DIR     the same, with copies and sets
 *   random-programs warps FROM TO DIR      DIR/warps<seed>.litmus: the programs of tests/random/warps.py
 *   random-programs judge [copies] TRACE   what the reference detector finds in it (judge.h)
 *   random-programs shrink FILE COMMAND…   COMMAND… CANDIDATE exits 0 if the candidate is still of interest */
#include "generate.h"
#include "judge.h"
#include "rows.h"
#include "shrink.h"
#include "warps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char usage[] = "usage: random-programs print [copies] SEED | make FROM TO DIR | copies FROM TO DIR | warps FROM TO DIR | judge [copies] TRACE | shrink FILE COMMAND...\n";

static int number(const char *text, uint64_t *value)
{
	char *end;
	errno = 0;
	*value = strtoull(text, &end, 0);
	if (!errno && end != text && !*end && *text != '-')
		return 0;
	fprintf(stderr, "random-programs: '%s' is not a seed; write a number\n", text);
	return 2;
}

/* A program of ours that breaks the rules of programs is a mistake of the generator. */
static int generate(struct lit_program *(*random)(uint64_t), uint64_t seed, struct lit_program **p)
{
	char error[300];
	*p = random(seed);
	if (!lit_check(*p, error, sizeof error))
		return 0;
	fprintf(stderr, "random-programs: seed %" PRIu64 " makes a program that cannot be: %s\n", seed, error);
	lit_print(*p, stderr);
	lit_free(*p);
	return 1;
}

static int print(char **args, struct lit_program *(*random)(uint64_t))
{
	struct lit_program *p;
	uint64_t seed;
	if (number(args[0], &seed))
		return 2;
	if (generate(random, seed, &p))
		return 1;
	lit_print(p, stdout);
	lit_free(p);
	return 0;
}

static int write_program(struct lit_program *p, const char *path)
{
	FILE *to = fopen(path, "w");
	if (to) {
		lit_print(p, to);
		if (!fclose(to))
			return 0;
	}
	fprintf(stderr, "random-programs: %s: %s\n", path, strerror(errno));
	return 1;
}

static int make(char **args, struct lit_program *(*random)(uint64_t))
{
	uint64_t from, to, all[ROWS] = {0};
	uint32_t has[ROWS];
	char path[4096];
	if (number(args[0], &from) || number(args[1], &to))
		return 2;
	for (uint64_t seed = from; seed < to; seed++) {
		struct lit_program *p;
		if (generate(random, seed, &p))
			return 1;
		rows_count(p, has);
		for (size_t r = 0; r < ROWS; r++)
			all[r] += has[r];
		snprintf(path, sizeof path, "%s/%" PRIu64 ".litmus", args[2], seed);
		int failed = write_program(p, path);
		lit_free(p);
		if (failed)
			return 1;
	}
	for (size_t r = 0; rows_name(r); r++)
		printf("%" PRIu64 " %s\n", all[r], rows_name(r));
	return 0;
}

static int make_warps(char **args)
{
	uint64_t from, to;
	char path[4096];
	if (number(args[0], &from) || number(args[1], &to))
		return 2;
	for (uint64_t seed = from; seed < to; seed++) {
		struct lit_program *p;
		if (generate(random_warps, seed, &p))
			return 1;
		snprintf(path, sizeof path, "%s/warps%" PRIu64 ".litmus", args[2], seed);
		int failed = write_program(p, path);
		lit_free(p);
		if (failed)
			return 1;
	}
	return 0;
}

/* ---- shrinking by a command ------------------------------------------------------------------------------------ */

struct command { char **words; size_t count; char candidate[64]; };

static int run(struct command *c)
{
	int status;
	pid_t child = fork();
	if (child < 0) {
		perror("random-programs: fork");
		exit(1);
	}
	if (!child) {
		execvp(c->words[0], c->words);
		perror(c->words[0]);
		_exit(127);
	}
	if (waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) == 127) {
		fprintf(stderr, "random-programs: the command %s does not run\n", c->words[0]);
		exit(1);
	}
	return WEXITSTATUS(status) == 0;
}

static int judge(struct lit_program *candidate, void *context)
{
	struct command *c = context;
	return !write_program(candidate, c->candidate) && run(c);
}

static int shrink_file(int argc, char **argv)
{
	struct command c = {.candidate = "/tmp/gsan-shrink-XXXXXX", .count = (size_t)argc - 1};
	struct lit_program *p;
	char error[300];
	size_t tries;
	if (lit_load(argv[0], &p, error, sizeof error)) {
		fprintf(stderr, "random-programs: %s\n", error);
		return 2;
	}
	int file = mkstemp(c.candidate);
	if (file < 0 || !(c.words = calloc(c.count + 2, sizeof *c.words)))
		return perror("random-programs"), 1;
	close(file);
	memcpy(c.words, argv + 1, c.count * sizeof *c.words);
	c.words[c.count] = c.candidate;
	int interesting = judge(p, &c);
	if (interesting) {
		p = shrink(p, judge, &c, &tries);
		fprintf(stderr, "random-programs: %zu candidates tried\n", tries);
		lit_print(p, stdout);
	} else {
		fprintf(stderr, "random-programs: %s is of no interest to the command as it is\n", argv[0]);
	}
	unlink(c.candidate);
	lit_free(p);
	free(c.words);
	return !interesting;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "print"))
		return print(argv + 2, random_generate);
	if (argc == 4 && !strcmp(argv[1], "print") && !strcmp(argv[2], "copies"))
		return print(argv + 3, random_copies);
	if (argc == 3 && !strcmp(argv[1], "judge"))
		return judge_trace(argv[2], 0);
	if (argc == 4 && !strcmp(argv[1], "judge") && !strcmp(argv[2], "copies"))
		return judge_trace(argv[3], 1);
	if (argc == 5 && !strcmp(argv[1], "make"))
		return make(argv + 2, random_generate);
	if (argc == 5 && !strcmp(argv[1], "copies"))
		return make(argv + 2, random_copies);
	if (argc == 5 && !strcmp(argv[1], "warps"))
		return make_warps(argv + 2);
	if (argc >= 4 && !strcmp(argv[1], "shrink"))
		return shrink_file(argc - 2, argv + 2);
	fputs(usage, stderr);
	return 2;
}

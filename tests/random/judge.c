#include "judge.h"

#include "reference/reference.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_races(const char *what, struct ref *r)
{
	const struct ref_race *race;
	const size_t n = ref_races(r, &race);
	for (size_t i = 0; i < n; i++) {
		printf("%s %s %s %u %s %u", what, ref_kind_name(race[i].kind), race[i].kernel[0], race[i].site[0], race[i].kernel[1],
		       race[i].site[1]);
		for (size_t k = 0; race[i].dominated == race[i].count && k < race[i].bys; k++)
			printf("%s %s %u", race[i].by[k].or ? " or" : "", race[i].by[k].kernel, race[i].by[k].line);
		putchar('\n');
	}
}

static void print_edges(struct ref *r)
{
	const struct ref_edge *edge;
	const size_t n = ref_edges(r, &edge);
	for (size_t i = 0; i < n; i++)
		printf("edge %" PRIu64 " %s %s\n", edge[i].count, edge[i].kernel ? edge[i].kernel : "-", edge[i].name);
}

int judge_trace(const char *path)
{
	char *line = NULL, error[512];
	size_t room = 0;
	FILE *from = fopen(path, "r");
	if (!from) {
		fprintf(stderr, "random-programs: %s: %s\n", path, strerror(errno));
		return 2;
	}
	struct ref *r = ref_open(path, 0), *over = ref_open(path, REF_OVER);
	int rc = 0;
	while (!rc && getline(&line, &room, from) > 0) {
		rc = ref_line(r, line, error, sizeof error);
		rc = rc ? rc : ref_line(over, line, error, sizeof error);
	}
	rc = rc ? rc : ref_end(r, error, sizeof error);
	rc = rc ? rc : ref_end(over, error, sizeof error);
	if (rc) {
		fprintf(stderr, "%s\n", error);
	} else {
		print_races("race", r);
		print_races("over", over);
		print_edges(r);
	}
	ref_close(r);
	ref_close(over);
	free(line);
	fclose(from);
	return rc ? 2 : 0;
}

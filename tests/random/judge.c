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
			printf("%s%s %s %u", race[i].by[k].or ? " or" : "", race[i].by[k].second ? " second" : "", race[i].by[k].kernel, race[i].by[k].line);
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

enum { REFERENCES = 3 };
static const struct { const char *name; unsigned flags; } reference[REFERENCES] = {{"race", 0}, {"over", REF_OVER}, {"late", REF_LATE}};

static int read_trace(FILE *from, struct ref *r[], int references, char *error, size_t size)
{
	char *line = NULL;
	size_t room = 0;
	int rc = 0;
	while (!rc && getline(&line, &room, from) > 0)
		for (int k = 0; !rc && k < references; k++)
			rc = ref_line(r[k], line, error, size);
	for (int k = 0; !rc && k < references; k++)
		rc = ref_end(r[k], error, size);
	free(line);
	return rc;
}

int judge_trace(const char *path, int copies)
{
	const int references = copies ? REFERENCES : REFERENCES - 1;
	struct ref *r[REFERENCES];
	char error[512];
	FILE *from = fopen(path, "r");
	if (!from) {
		fprintf(stderr, "random-programs: %s: %s\n", path, strerror(errno));
		return 2;
	}
	for (int k = 0; k < references; k++)
		r[k] = ref_open(path, reference[k].flags);
	int rc = read_trace(from, r, references, error, sizeof error);
	if (rc)
		fprintf(stderr, "%s\n", error);
	for (int k = 0; !rc && k < references; k++)
		print_races(reference[k].name, r[k]);
	if (!rc)
		print_edges(r[0]);
	for (int k = 0; k < references; k++)
		ref_close(r[k]);
	fclose(from);
	return rc ? 2 : 0;
}

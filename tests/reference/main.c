/* The reference detector as a program: `gsan-reference [SWITCH …] [--explain EVENT1 EVENT2] [TRACE]`. */
#include "reference/reference.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	int edges;
	unsigned flags;
	uint64_t explain[2];
	const char *path; /* NULL: stdin */
};

static const struct switch_row {
	const char *name;
	unsigned flag; /* 0: --edges */
	const char *help;
} switches[] = {
	{ "--edges", 0, "also says how often what ordered accesses:  edge NAME N" },
	{ "--sc", REF_SC, "fence.sc of scopes that include each other are ordered as they came" },
	{ "--over", REF_OVER, "a location's chain goes on over weak writes and such of other sizes, as it does in the detector" },
	{ "--ctas", REF_CTAS, "what one thread of a CTA did or knows, all of it have (the default)" },
	{ "--warps", REF_WARPS, "a warp knows what it did itself, and of others of its CTA what barriers tell it" },
	{ "--threads", REF_THREADS, "so does a thread; and those of a CTA may race" },
};
enum { SWITCHES = sizeof switches / sizeof *switches };

static void usage_print(FILE *to)
{
	fputs("usage: gsan-reference", to);
	for (int i = 0; i < SWITCHES; i++)
		fprintf(to, " [%s]", switches[i].name);
	fputs(" [--explain EVENT1 EVENT2] [TRACE]\n"
	      "  reads a trace of the emulated device (standard input without TRACE) and lists its races:\n"
	      "    race KIND KERNEL1 LINE1 RANK1 KERNEL2 LINE2 RANK2 count N first MEM OFFSET BYTES event EVENT1 EVENT2\n"
	      "      and, if a later access stands for each first one and races as well:  dominated by KERNEL LINE ...;\n"
	      "      of those joined by 'or', one of them;\n"
	      "      formal, at its end, if it is a race by the letter of PTX alone (with --warps and --threads)\n", to);
	for (int i = 0; i < SWITCHES; i++)
		fprintf(to, "  %-9s  %s\n", switches[i].name, switches[i].help);
	fputs("  --explain  says why two accesses, named by their lines in the trace, are ordered or not\n"
	      "  exit status: 0 no race, 1 races, 2 the trace cannot be read\n", to);
}

static int number(const char *text, uint64_t *out)
{
	char *end;
	if (!text)
		return -EINVAL;
	*out = strtoull(text, &end, 10);
	return *end || !*out ? -EINVAL : 0;
}

static int switch_read(struct options *o, const char *word)
{
	for (int i = 0; i < SWITCHES; i++)
		if (!strcmp(word, switches[i].name)) {
			o->edges |= !switches[i].flag;
			o->flags |= switches[i].flag;
			return 1;
		}
	return 0;
}

static int options_read(struct options *o, char **argv)
{
	for (argv++; *argv; argv++) {
		if (switch_read(o, *argv))
			continue;
		if (!strcmp(*argv, "--help")) {
			usage_print(stdout);
			exit(0);
		}
		if (!strcmp(*argv, "--explain")) {
			if (number(argv[1], &o->explain[0]) || number(argv[2], &o->explain[1]))
				return fputs("gsan-reference: --explain takes two line numbers of the trace\n", stderr), -EINVAL;
			argv += 2;
		} else if (**argv == '-' || o->path) {
			fprintf(stderr, "gsan-reference: '%s' is not understood\n", *argv);
			return usage_print(stderr), -EINVAL;
		} else {
			o->path = *argv;
		}
	}
	return 0;
}

static int feed(struct ref *r, FILE *from)
{
	char *line = NULL, error[512];
	size_t room = 0;
	int rc = 0;
	while (!rc && getline(&line, &room, from) > 0)
		rc = ref_line(r, line, error, sizeof error);
	if (!rc)
		rc = ref_end(r, error, sizeof error);
	if (rc)
		fprintf(stderr, "gsan-reference: %s\n", error);
	free(line);
	return rc;
}

static size_t races_print(struct ref *r)
{
	const struct ref_race *race;
	const size_t n = ref_races(r, &race);
	for (size_t i = 0; i < n; i++, race++) {
		printf("race %s %s %u %u %s %u %u count %llu first %llu %llu %llu event %llu %llu", ref_kind_name(race->kind),
		       race->kernel[0], race->site[0], race->rank[0], race->kernel[1], race->site[1], race->rank[1],
		       (unsigned long long)race->count, (unsigned long long)race->memory, (unsigned long long)race->offset,
		       (unsigned long long)race->bytes, (unsigned long long)race->event[0], (unsigned long long)race->event[1]);
		for (size_t k = 0; race->dominated == race->count && k < race->bys; k++)
			printf("%s%s%s %s %u", k ? "" : " dominated by", race->by[k].or ? " or" : "", race->by[k].second ? " second" : "", race->by[k].kernel,
			       race->by[k].line);
		puts(race->formal ? " formal" : "");
	}
	return n;
}

/* One line per name, over all kernels, in the order of their first appearance. */
static void edges_print(struct ref *r)
{
	const struct ref_edge *edge;
	const size_t n = ref_edges(r, &edge);
	for (size_t i = 0; i < n; i++) {
		uint64_t sum = 0;
		size_t first = 0;
		while (strcmp(edge[first].name, edge[i].name))
			first++;
		for (size_t k = i; first == i && k < n; k++)
			sum += strcmp(edge[k].name, edge[i].name) ? 0 : edge[k].count;
		if (first == i)
			printf("edge %s %llu\n", edge[i].name, (unsigned long long)sum);
	}
}

static int explain(struct ref *r, const struct options *o)
{
	if (!o->explain[0])
		return 0;
	if (!ref_explanation(r)) {
		fprintf(stderr, "gsan-reference: lines %llu and %llu are not both accesses; name two 'mem' or 'begin' (of a copy) lines\n",
			(unsigned long long)o->explain[0], (unsigned long long)o->explain[1]);
		return -EINVAL;
	}
	fputs(ref_explanation(r), stdout);
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = { .path = NULL };
	(void)argc;
	if (options_read(&o, argv))
		return 2;
	FILE *from = o.path ? fopen(o.path, "r") : stdin;
	if (!from) {
		fprintf(stderr, "gsan-reference: %s: %s; name a file that can be read\n", o.path, strerror(errno));
		return 2;
	}
	struct ref *r = ref_open(o.path ? o.path : "stdin", o.flags);
	if (o.explain[0])
		ref_explain(r, o.explain[0], o.explain[1]);
	int status = feed(r, from) ? 2 : 0;
	if (!status) {
		status = races_print(r) ? 1 : 0;
		if (o.edges)
			edges_print(r);
		if (explain(r, &o))
			status = 2;
	}
	ref_close(r);
	if (from != stdin)
		fclose(from);
	return status;
}

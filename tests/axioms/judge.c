#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int open_graph(struct graph **graph, const struct lit_program *p)
{
	struct graph *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->p = p;
	g->final = calloc(p->threads * LIT_REGS + 1, sizeof(*g->final));
	g->phases = calloc(p->threads + 1, sizeof(*g->phases));
	*graph = g;
	return g->final && g->phases ? 0 : -ENOMEM;
}

static bool search(struct graph *g)
{
	if (g->p->launches > AX_LAUNCHES) {
		g->stopped = "more than 128 launches";
		return false;
	}
	if (build_launches(g))
		return false;
	do {
		int built = build_path(g);

		if (built < 0 || (built == 0 && !weave_all(g, solve)))
			return false;
	} while (build_next_guess(g));
	return true;
}

static enum ax_answer answer_of(const struct ax_verdict *v)
{
	if (!v->executions)
		return AX_FORBIDDEN;
	return !v->racy ? AX_FREE : v->racy == v->executions ? AX_RACE : AX_SOME;
}

int ax_judge(const struct lit_program *program, const struct ax_options *options, FILE *witness, struct ax_verdict *verdict)
{
	struct graph *g = NULL;
	int failed = open_graph(&g, program);

	memset(verdict, 0, sizeof(*verdict));
	if (!failed) {
		g->o = options;
		g->verdict = verdict;
		g->witness = witness;
		search(g);
		failed = g->failed;
		verdict->answer = g->stopped ? AX_UNKNOWN : answer_of(verdict);
		snprintf(verdict->unknown, sizeof(verdict->unknown), "%s", g->stopped ? g->stopped : "");
	}
	if (g) {
		build_close(g);
		free(g);
	}
	return failed;
}

void ax_forget(struct ax_verdict *verdict)
{
	free(verdict->pair);
	verdict->pair = NULL;
	verdict->pairs = 0;
}

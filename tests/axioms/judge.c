#include "model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int open_graph(struct graph **graph, const struct lit_program *p)
{
	struct graph *g = calloc(1, sizeof(*g));
	uint32_t line;

	if (!g)
		return -ENOMEM;
	g->p = p;
	g->final = calloc(p->threads * LIT_REGS + 1, sizeof(*g->final));
	g->use = calloc(p->threads + 1, sizeof(*g->use));
	g->uses = calloc(p->threads + 1, sizeof(*g->uses));
	*graph = g;
	if (!g->final || !g->use || !g->uses)
		return -ENOMEM;
	g->stopped = lit_barriers(p, g->use, g->uses, &line);
	return 0;
}

/* ---- sections by warp -------------------------------------------------------------------------------------------------- */
static uint32_t pieces(const struct lit_thread *t)
{
	return (t->first + t->threads - 1) / 32 - t->first / 32 + 1;
}

/* The same program, whose sections lie within a warp each. Its instructions, and all else, are those of `p`. False: no memory. */
static bool split(const struct lit_program *p, struct lit_program *to)
{
	size_t room = 1, *piece = calloc(p->threads + 1, sizeof(*piece));

	*to = *p;
	for (size_t t = 0; t < p->threads; t++)
		room += pieces(&p->thread[t]);
	to->thread = calloc(room, sizeof(*to->thread));
	to->term = calloc(p->terms + 1, sizeof(*to->term));
	to->threads = 0;
	for (size_t t = 0; piece && to->thread && t < p->threads; t++) {
		const struct lit_thread *all = &p->thread[t];

		piece[t] = to->threads;
		for (uint32_t first = all->first, end; first < all->first + all->threads; first = end) {
			end = first / 32 * 32 + 32 < all->first + all->threads ? first / 32 * 32 + 32 : all->first + all->threads;
			to->thread[to->threads] = *all;
			to->thread[to->threads].first = first;
			to->thread[to->threads++].threads = end - first;
		}
	}
	for (size_t i = 0; piece && to->term && i < p->terms; i++) {
		to->term[i] = p->term[i];
		if (to->term[i].location < 0)
			to->term[i].thread = (int)piece[p->term[i].thread];
	}
	free(piece);
	return piece && to->thread && to->term;
}

static bool search(struct graph *g)
{
	if (g->stopped)
		return false;
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

static int judge(const struct lit_program *program, const struct ax_options *options, FILE *witness, struct ax_verdict *verdict)
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

int ax_judge(const struct lit_program *program, const struct ax_options *options, FILE *witness, struct ax_verdict *verdict)
{
	struct lit_program by_warp;
	int failed;

	if (options->unit != AX_WARP)
		return judge(program, options, witness, verdict);
	failed = split(program, &by_warp) ? judge(&by_warp, options, witness, verdict) : -ENOMEM;
	free(by_warp.thread);
	free(by_warp.term);
	return failed;
}

void ax_forget(struct ax_verdict *verdict)
{
	free(verdict->pair);
	verdict->pair = NULL;
	verdict->pairs = 0;
}

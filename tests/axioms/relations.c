/* The relations of PTX ISA 8.2 to 8.9 between two events. */
#include "model.h"

bool program_ordered(const struct event *a, const struct event *b)
{
	return a->thread != AX_NOBODY && a->thread == b->thread && a->seq < b->seq;
}

bool overlapping(const struct event *a, const struct event *b)
{
	return a->memory && b->memory && a->root == b->root && a->at < b->at + b->bytes && b->at < a->at + a->bytes;
}

bool covers(const struct event *w, uint32_t cell)
{
	return w->writes && cell - w->cell < w->cells;
}

bool same_location(const struct event *a, const struct event *b)
{
	return a->memory && b->memory && a->root == b->root && a->at == b->at && a->bytes == b->bytes;
}

/* 8.5 */
bool includes(const struct graph *g, const struct event *a, const struct event *b)
{
	const struct lit_launch *launch = g->p->launch;

	switch (a->scope) {
	case LIT_SYS: return true;
	case LIT_CLUSTER:
		if (!g->o->cluster_gpu)
			break;
		/* fall through */
	case LIT_GPU: return g->p->device[launch[a->launch].rank] == g->p->device[launch[b->launch].rank];
	case LIT_CTA:
	case LIT_NO_SCOPE: break;
	}
	return a->launch == b->launch && a->cta == b->cta;
}

/* 8.7. Loads through .nc are of another proxy. */
bool morally_strong(const struct graph *g, const struct event *a, const struct event *b)
{
	if (a->nc || b->nc || (a->memory && b->memory && !same_location(a, b)))
		return false;
	if (a->thread != AX_NOBODY && a->thread == b->thread)
		return true;
	return a->strong && b->strong && includes(g, a, b) && includes(g, b, a);
}

/* 8.8. A cas that failed does not write and so releases nothing. */
bool release_begins(const struct event *head, const struct event *write)
{
	if (!write->writes || !write->strong || !head->releases)
		return false;
	if (head == write)
		return true;
	return program_ordered(head, write) && (head->fence || (head->writes && same_location(head, write)));
}

bool acquire_ends(const struct event *read, const struct event *tail)
{
	if (!read->reads || !read->strong || read->reduces || !tail->acquires)
		return false;
	if (tail == read)
		return true;
	return program_ordered(read, tail) && (tail->fence || (tail->reads && same_location(read, tail)));
}

/* 8.9.5 */
bool causes(const struct graph *g, uint32_t a, uint32_t b)
{
	if (order_has(&g->cause, a, b))
		return true;
	for (uint32_t i = g->observed_first[a]; i != AX_NOBODY; i = g->observed[i].next)
		if (order_has(&g->cause, g->observed[i].read, b))
			return true;
	return false;
}

bool causes_read(const struct graph *g, uint32_t write, uint32_t read)
{
	const struct event *r = &g->event[read];

	return r->nc ? order_has(&g->cause, write, g->start[r->launch]) : causes(g, write, read);
}

uint32_t source_of(const struct graph *g, const struct event *read)
{
	uint32_t source = g->source[read->slot];

	for (uint32_t c = 1; c < read->cells; c++)
		if (g->source[read->slot + c] != source)
			return SOURCE_OPEN;
	return source;
}

/* Who goes on. Slices: time goes in rounds, each of which runs every runnable warp once, in an order and for slices (1 to 64
 * instructions) drawn from the caller's random state, so one seed is one interleaving; now and then a warp stays behind, for
 * less than HELD rounds, so nobody starves. Steps of the program: at random, so that some lag far behind, or by priorities. */
#include "emu/exec/weak.h"

#include "base/hash.h"

#define SLICE 64u
#define HELD_LOG 8u        /* of rounds */
#define HELD (1u << HELD_LOG)
#define SLEEP 8u           /* nanoseconds of a round, for who sleeps: what he looks at then takes a GPU as long as many instructions */
#define STEP_INSNS 20000000u /* instructions after which a step ends although nobody came to a point */
#define PATIENCE 20u       /* steps in a row after which priorities give way */
#define LAG_LEAST 1u       /* steps of others for which a warp lags, or twice, four times as many … */
#define LAG_DOUBLINGS 13u
#define LAG_IDLE 64u       /* of these pass in a turn in which nobody else can go on: other kernels' turns come between */

static struct exec_warp *runnable(const struct emu_grid *g, uint32_t k)
{
	const struct exec_cta *c = &g->cta[k / g->warps_each];
	struct exec_warp *w = &c->warp[k % g->warps_each];
	return c->running && (w->live & ~w->waiting) ? w : NULL;
}

void exec_drift(struct emu_grid *g)
{
	for (uint32_t k = 0; g->launch.weak && k < g->orders; k++) {
		struct exec_cta *c = &g->cta[k / g->warps_each];
		if (c->running)
			weak_drift(&c->warp[k % g->warps_each]);
	}
}

/* ---- slices of any instructions */

static void new_round(struct emu_grid *g, uint64_t *random)
{
	exec_drift(g);
	for (uint32_t k = g->orders - 1; k > 0; k--) {
		const uint32_t other = (uint32_t)(random_next(random) % (k + 1)), was = g->order[k];
		g->order[k] = g->order[other];
		g->order[other] = was;
	}
	g->turn = g->ran = 0;
}

/* Before half of the warps begin, and before each 64th of their slices, others may get far ahead: 1 to HELD - 1 rounds, few as
 * often as many. On a GPU no two CTAs begin together, and a miss or a full pipe takes as long as many instructions. */
static int stays_behind(struct exec_warp *w, uint64_t *random)
{
	if (w->held)
		return --w->held != 0;
	const uint64_t r = random_next(random);
	if (r % (w->slices ? 64 : 2) == 0)
		w->held = (uint32_t)(r >> 32) % (HELD >> (r >> 8) % (HELD_LOG + 1));
	return w->held != 0;
}

/* Up to twice as long as it says (PTX ISA, nanosleep). */
static void sleeps(struct exec_warp *w, uint64_t *random)
{
	const uint32_t rounds = w->sleeps / (SLEEP / 2) + 1;
	w->held = (uint32_t)random_next(random) % (rounds < HELD ? rounds : HELD);
	w->sleeps = 0;
}

void exec_schedule_slices(struct emu_grid *g, uint32_t steps, uint64_t *random, struct exec_warp *volatile *running)
{
	uint32_t used = 0;
	while (used < steps && g->state == EMU_RUNNING) {
		if (g->turn == g->orders) {
			if (!g->ran) {
				exec_deadlocked(g);
				return;
			}
			new_round(g, random);
		}
		struct exec_warp *w = runnable(g, g->order[g->turn++]);
		if (!w)
			continue;
		g->ran++;
		if (stays_behind(w, random)) {
			used++;
			continue;
		}
		*running = w;
		used += exec_warp_run(w, 1 + (uint32_t)(random_next(random) % SLICE), random);
		if (w->sleeps)
			sleeps(w, random);
		exec_ran(g, w);
	}
}

/* ---- steps of the program */

uint64_t emu_priority(uint64_t seed, uint64_t what)
{
	uint64_t state = seed ^ hash_spread(what);
	return random_next(&state) >> 1 | (uint64_t)1 << 63;
}

/* Above all others until it is demoted; then below all that were demoted before. */
static uint64_t warp_priority(const struct emu_grid *g, const struct exec_warp *w, uint64_t seed)
{
	if (w->demoted)
		return ((uint64_t)1 << 62) - w->demoted;
	return emu_priority(seed, w->cta->linear * g->warps_each + w->number + 1);
}

uint64_t emu_grid_priority(const struct emu_grid *g, uint64_t seed)
{
	uint64_t best = 0;
	for (uint32_t k = 0; k < g->orders; k++) {
		const struct exec_warp *w = g->began ? runnable(g, k) : NULL;
		const uint64_t p = w ? warp_priority(g, w, seed) : g->began ? 0 : emu_priority(seed, k + 1); /* as of the warps to be */
		best = p > best ? p : best;
	}
	return best;
}

static struct exec_warp *highest(const struct emu_grid *g, const struct emu_steps *s)
{
	struct exec_warp *best = NULL;
	uint64_t most = 0;
	for (uint32_t k = 0; k < g->orders; k++) {
		struct exec_warp *w = runnable(g, k);
		const uint64_t p = w ? warp_priority(g, w, s->seed) : 0;
		if (p > most) {
			most = p;
			best = w;
		}
	}
	return best;
}

/* Demotes the one that is about to go on, where that is due: its job has come so far, or it seems to wait for others. A CTA
 * whose warps meet at barriers while one of them waits is demoted as a whole. Nonzero if so. */
static int demote(const struct emu_grid *g, struct exec_warp *w, const struct emu_steps *s)
{
	const uint64_t now = s->start + s->made + 1;
	const int same_cta = g->last && w->cta == g->last->cta;
	int due = w == g->last && g->in_a_row >= PATIENCE;
	for (unsigned k = 0; k < EMU_CHANGES; k++)
		due |= s->change[k] == now;
	if (w->demoted == now)
		return 0;
	if (same_cta && g->cta_in_a_row >= PATIENCE * g->warps_each)
		for (uint32_t k = 0; k < g->warps_each; k++)
			w->cta->warp[k].demoted = now;
	else if (due)
		w->demoted = now;
	return w->demoted == now;
}

static void note_step(struct emu_grid *g, struct exec_warp *w)
{
	g->in_a_row = w == g->last ? g->in_a_row + 1 : 0;
	g->cta_in_a_row = g->last && w->cta == g->last->cta ? g->cta_in_a_row + 1 : 0;
	g->last = w;
	g->stepped++;
}

static struct exec_warp *ready(const struct emu_grid *g, uint32_t k)
{
	struct exec_warp *w = runnable(g, k);
	return g->stepped < g->lags_until && k == g->laggard ? NULL : w;
}

static struct exec_warp *any(const struct emu_grid *g, struct emu_steps *s)
{
	uint32_t n = 0, chosen;
	const uint64_t r = random_next(&s->random);
	for (uint32_t k = 0; k < g->orders; k++) {
		struct exec_warp *w = ready(g, k);
		if (w && w == g->last && r % 8 < s->stay)
			return w;
		n += w != NULL;
	}
	chosen = n ? (uint32_t)((r >> 3) % n) : 0;
	for (uint32_t k = 0; n && k < g->orders; k++)
		if (ready(g, k) && !chosen--)
			return ready(g, k);
	return NULL;
}

/* Any but the one that lags. Only one does: of several, who matters would seldom be the last. */
static struct exec_warp *ahead(struct emu_grid *g, struct emu_steps *s)
{
	if (g->stepped >= g->lags_until) {
		const uint64_t r = random_next(&s->random);
		g->laggard = (uint32_t)(r >> 32) % g->orders;
		g->lags_until = g->stepped + (LAG_LEAST << r % LAG_DOUBLINGS);
	}
	return any(g, s);
}

static struct exec_warp *choose(struct emu_grid *g, struct emu_steps *s)
{
	return s->seed ? highest(g, s) : s->lag ? ahead(g, s) : any(g, s);
}

static int all_wait(const struct emu_grid *g)
{
	for (uint32_t k = 0; k < g->orders; k++)
		if (runnable(g, k))
			return 0;
	return 1;
}

/* One of the warp's parked lanes; -1: others must come to a point first. */
static int pick_lane(const struct exec_warp *w, struct emu_steps *s)
{
	uint32_t parked = w->parked & w->live;
	const uint64_t r = random_next(&s->random);
	if (!parked || (w->live & ~w->waiting & ~w->parked))
		return -1;
	for (uint64_t skip = r % (uint32_t)__builtin_popcount(parked); skip; skip--)
		parked &= parked - 1;
	return __builtin_ctz(parked);
}

void exec_schedule_steps(struct emu_grid *g, struct emu_steps *s, struct exec_warp *volatile *running)
{
	while (s->made < s->steps && g->state == EMU_RUNNING) {
		struct exec_warp *w = choose(g, s);
		if (!w) {
			g->stepped += LAG_IDLE;
			if (all_wait(g))
				exec_deadlocked(g);
			return;
		}
		if (s->seed && demote(g, w, s)) {
			g->in_a_row = g->cta_in_a_row = 0;
			w = highest(g, s);
		}
		if (s->seed && s->made && warp_priority(g, w, s->seed) < s->floor)
			return;
		note_step(g, w);
		*running = w;
		exec_drift(g);
		exec_warp_step(w, pick_lane(w, s), STEP_INSNS);
		s->made++;
		exec_ran(g, w);
	}
}

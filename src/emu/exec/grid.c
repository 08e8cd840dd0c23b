/* A launch: its CTAs, as many as may be resident at once; schedule.c chooses among their warps. A memory fault of the program
 * arrives as SIGSEGV or SIGBUS while a grid runs on this thread; the handler, installed only then, jumps back and the launch
 * ends with its text. */
#include "emu/exec/weak.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "ptx/plan.h"

struct guard { sigjmp_buf jump; void *address; };
static _Thread_local struct guard *volatile guarding;
static pthread_mutex_t handlers = PTHREAD_MUTEX_INITIALIZER;
static unsigned installed;
static struct sigaction before[2];
static const int signals[2] = { SIGSEGV, SIGBUS };

static void on_fault(int number, siginfo_t *info, void *context)
{
	if (guarding) {
		guarding->address = info->si_addr;
		siglongjmp(guarding->jump, 1);
	}
	const struct sigaction *old = &before[number == SIGBUS];
	if (old->sa_flags & SA_SIGINFO)
		old->sa_sigaction(number, info, context);
	else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN)
		old->sa_handler(number);
	else
		signal(number, SIG_DFL); /* returns to the access, which kills as it would have */
}

static void install_handlers(int install)
{
	struct sigaction ours = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };
	pthread_mutex_lock(&handlers);
	for (unsigned k = 0; install && installed == 0 && k < 2; k++)
		sigaction(signals[k], &ours, &before[k]);
	installed += install ? 1u : ~0u;
	for (unsigned k = 0; !install && installed == 0 && k < 2; k++)
		sigaction(signals[k], &before[k], NULL);
	pthread_mutex_unlock(&handlers);
}

static void start_warp(struct emu_grid *g, struct exec_cta *c, struct exec_warp *w)
{
	const uint32_t entry = g->kernel->entry[g->kernel->function], shared = g->program->register_bytes;
	unsigned char *registers = w->base[0];
	struct exec_link *link = w->link;
	struct exec_saved saved[EXEC_LANES];
	struct exec_weak *weak = w->weak;
	const uint32_t number = w->number;

	memcpy(saved, w->saved, sizeof saved);
	memset(w, 0, sizeof *w);
	memcpy(w->saved, saved, sizeof saved);
	memset(registers + shared, 0, g->kernel->register_bytes - shared);
	w->base[0] = registers;
	w->cta = c;
	w->link = link;
	w->number = number;
	w->leader = -1;
	w->weak = weak;
	if (weak)
		weak_start(w, g->launch.weak ^ emu_priority(g->launch.weak, c->linear * g->warps_each + number + 1));
	for (uint32_t l = 0; l < EXEC_LANES; l++) {
		const uint32_t t = number * EXEC_LANES + l, *block = g->launch.block;
		w->saved[l].size = 0;
		if (t >= g->threads)
			break;
		w->live |= 1u << l;
		w->pc[l] = entry;
		w->frame[l] = w->local[l] = (uint64_t)(uintptr_t)c->local + t * g->local_stride;
		w->bytes[l] = g->kernel->module->function[g->kernel->function].frame_bytes;
		w->tid[0][l] = t % block[0];
		w->tid[1][l] = t / block[0] % block[1];
		w->tid[2][l] = t / block[0] / block[1];
	}
}

static void start_cta(struct emu_grid *g, struct exec_cta *c)
{
	const uint64_t n = g->next_cta++;
	const uint32_t *grid = g->launch.grid;
	c->index[0] = (uint32_t)(n % grid[0]);
	c->index[1] = (uint32_t)(n / grid[0] % grid[1]);
	c->index[2] = (uint32_t)(n / grid[0] / grid[1]);
	c->linear = n;
	c->threads = c->live = g->threads;
	c->running = 1;
	memset(c->shared, 0, g->shared_bytes);
	for (unsigned k = 0; k < EXEC_BARRIERS; k++)
		c->barrier[k] = (struct exec_barrier){ .all = 1 };
	for (uint32_t k = 0; k < c->warps; k++)
		start_warp(g, c, &c->warp[k]);
}

static int make_cta(struct emu_grid *g, struct exec_cta *c, uint32_t place)
{
	c->grid = g;
	c->place = place;
	c->warps = g->warps_each;
	c->warp = calloc(c->warps, sizeof *c->warp);
	c->shared = aligned_alloc(1024, ((size_t)g->shared_bytes + 2047) & ~(size_t)1023);
	c->local = calloc(1, g->local_stride * g->threads + 1); /* fresh pages: untouched ones cost nothing */
	if (!c->warp || !c->shared || !c->local)
		return -ENOMEM;
	for (uint32_t k = 0; k < c->warps; k++) {
		struct exec_warp *w = &c->warp[k];
		w->number = k;
		w->base[0] = exec_registers_take(g->kernel);
		w->link = calloc((size_t)g->kernel->depth * EXEC_LANES, sizeof *w->link);
		if (g->launch.weak)
			w->weak = calloc(1, sizeof *w->weak);
		if (!w->base[0] || !w->link || (g->launch.weak && !w->weak))
			return -ENOMEM;
	}
	start_cta(g, c);
	return 0;
}

static int check(const struct emu_kernel *k, const struct emu_launch *l, struct emu_error *error)
{
	const struct ptx_function *f = &k->module->ptx->function[k->function];
	const uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
	const uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	const uint64_t cluster = (uint64_t)(l->cluster[0] ? l->cluster[0] : 1) * (l->cluster[1] ? l->cluster[1] : 1) * (l->cluster[2] ? l->cluster[2] : 1);
	char name[EXEC_NAME], line[EXEC_LINE] = "";
	const char *what = NULL;
	if (!threads || threads > 1024 || threads > k->max_threads || !blocks)
		what = "grid or block size out of range";
	else if (f->reqntid[0] && threads != k->max_threads)
		what = "the block's size is not the one of .reqntid";
	else if (cluster > 1)
		what = "clusters of more than one block are not executed by the emulated device";
	else if ((uint64_t)k->shared_bytes + l->dynamic_shared > 227 * 1024)
		what = "more shared memory than a block can have";
	if (what) {
		exec_show_name(name, sizeof name, k->name);
		if (f->instrs)
			exec_describe_line(line, sizeof line, k->module->ptx, &f->instr[0]);
		snprintf(error->text, sizeof error->text, "kernel %s (%s): %s", name, line, what);
	}
	return !what ? 0 : cluster > 1 ? -ENOTSUP : -EINVAL;
}

int emu_grid_new(struct emu_kernel *kernel, const struct emu_launch *launch, struct emu_grid **grid, struct emu_error *error)
{
	static uint64_t ids;
	int rc = check(kernel, launch, error);
	if (!rc && !kernel->entry)
		rc = exec_kernel_make(kernel, launch, error);
	if (rc)
		return rc;
	struct emu_grid *g = calloc(1, sizeof *g);
	if (!g)
		goto no_memory;
	g->kernel = kernel;
	g->program = kernel->module->program;
	g->launch = *launch;
	g->launch.sms = launch->sms ? launch->sms : 1;
	g->id = ++ids;
	g->threads = launch->block[0] * launch->block[1] * launch->block[2];
	g->warps_each = (g->threads + EXEC_LANES - 1) / EXEC_LANES;
	g->ctas = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
	g->local_stride = (kernel->local_bytes + 15u) & ~15u;
	g->shared_bytes = launch->dynamic_shared ? kernel->dynamic_at + launch->dynamic_shared : kernel->shared_bytes;
	g->slots = launch->resident && launch->resident < g->ctas ? launch->resident : launch->resident ? (uint32_t)g->ctas : 1;
	g->params = aligned_alloc(256, (kernel->param_bytes + 511) & ~255u);
	g->cta = calloc(g->slots, sizeof *g->cta);
	g->orders = g->slots * g->warps_each;
	g->order = calloc(g->orders, sizeof *g->order);
	g->turn = g->orders;
	g->ran = 1;
	g->counts = launch->stats ? calloc(EMU_PARTS, sizeof *g->counts) : NULL;
	if (!g->params || !g->cta || !g->order || (launch->stats && !g->counts))
		goto no_memory;
	g->workspace = g->params + ((kernel->param_bytes + 255) & ~255u);
	memset(g->workspace, 0, 256);
	if (kernel->param_bytes)
		memcpy(g->params, launch->params, kernel->param_bytes);
	for (uint32_t k = 0; k < g->orders; k++)
		g->order[k] = k;
	*grid = g;
	return 0;
no_memory:
	snprintf(error->text, sizeof error->text, "kernel %s: out of memory for its blocks", kernel->name);
	if (g)
		emu_grid_free(g);
	return -ENOMEM;
}

void emu_grid_number(struct emu_grid *g, uint64_t number) { g->number = number; }
const struct emu_count *emu_grid_counts(const struct emu_grid *g) { return g->counts; }

void emu_grid_free(struct emu_grid *g)
{
	for (uint32_t c = 0; g->cta && c < g->slots; c++) {
		for (uint32_t k = 0; g->cta[c].warp && k < g->warps_each; k++) {
			exec_registers_give(g->kernel, g->cta[c].warp[k].base[0]);
			free(g->cta[c].warp[k].link);
			free(g->cta[c].warp[k].weak);
			for (uint32_t l = 0; l < EXEC_LANES; l++)
				free(g->cta[c].warp[k].saved[l].data);
		}
		free(g->cta[c].warp);
		free(g->cta[c].shared);
		free(g->cta[c].local);
	}
	free(g->cta);
	free(g->order);
	free(g->params);
	free(g->counts);
	free(g);
}

void exec_describe_line(char *to, size_t room, const struct ptx_module *m, const struct ptx_instr *i)
{
	const struct ptx_where at = i ? ptx_plan_own(m, i) : (struct ptx_where){ 0 };
	snprintf(to, room, at.file ? "PTX line %u, %s:%u" : "PTX line %u", i ? i->line : 0, at.file ? at.file : "", at.line);
}

/* Of a copy, whose name has a word more behind two underscores, the kernel's. */
void exec_show_name(char *to, size_t room, const char *name)
{
	const char *word = NULL;
	char *shown = demangle_shortly(name), *kernel;
	for (const char *at = name; (at = strstr(at, "__")) != NULL; at++)
		word = at;
	if (!shown && word && (kernel = strndup(name, (size_t)(word - name))) != NULL) {
		shown = demangle_shortly(kernel);
		free(kernel);
	}
	snprintf(to, room, "%s", shown ? shown : name);
	free(shown);
}

static void describe(struct emu_grid *g, const struct exec_warp *w, uint32_t lane, enum emu_fault kind, const char *what)
{
	const struct ptx_instr *i = g->program->insn[w->at].source;
	const struct ptx_span text = i ? i->whole : (struct ptx_span){ 0, 0 };
	char address[32] = "", line[EXEC_LINE], name[EXEC_NAME];
	if (kind == EMU_ILLEGAL_ADDRESS)
		snprintf(address, sizeof address, ", address 0x%llx", (unsigned long long)w->address[lane]);
	exec_describe_line(line, sizeof line, g->kernel->module->ptx, i);
	exec_show_name(name, sizeof name, g->kernel->name);
	snprintf(g->fault.text, sizeof g->fault.text, "kernel %s: %s%s, at '%.*s' (%s), block (%u,%u,%u), thread (%u,%u,%u)",
		 name, what, address, (int)(text.len > 160 ? 160 : text.len), g->kernel->module->ptx->text + text.off, line,
		 w->cta->index[0], w->cta->index[1], w->cta->index[2], w->tid[0][lane], w->tid[1][lane], w->tid[2][lane]);
	g->fault.fault = kind;
	g->state = EMU_FAULT;
}

/* The lane whose access faulted: si_addr lies within 64 bytes of its address, or is not known (0: not canonical). */
static uint32_t culprit(const struct exec_warp *w, uint64_t address)
{
	for (uint32_t l = 0; l < EXEC_LANES; l++)
		if ((w->live >> l & 1) && address && address - w->address[l] < 64)
			return l;
	for (uint32_t l = 0; l < EXEC_LANES; l++)
		if ((w->live >> l & 1) && (uint64_t)((int64_t)w->address[l] + 0x800000000000) >> 48)
			return l;
	return (uint32_t)__builtin_ctz(w->live);
}

static void end_cta(struct emu_grid *g, struct exec_cta *c)
{
	g->done++;
	c->running = 0;
	if (g->launch.trace && g->launch.trace->tells)
		g->launch.trace->exit(g->number, c->linear);
	if (g->next_cta < g->ctas)
		start_cta(g, c);
	else if (g->done == g->ctas)
		g->state = EMU_DONE;
}

void exec_deadlocked(struct emu_grid *g)
{
	const struct exec_cta *c = g->cta;
	while (!c->running)
		c++;
	const struct exec_warp *w = c->warp;
	while (!w->live)
		w++;
	describe(g, w, (uint32_t)__builtin_ctz(w->live), EMU_FAILED, "deadlock, every thread waits at a barrier");
}

void exec_ran(struct emu_grid *g, struct exec_warp *w)
{
	if (w->fault)
		describe(g, w, w->fault_lane, w->fault_kind, w->fault);
	else if (!w->cta->live)
		end_cta(g, w->cta);
}

/* Others may now run for long, and spin on what waits here: within steps of the program nothing ends that. */
static void end_turn(struct emu_grid *g, int steps)
{
	for (uint32_t k = 0; g->launch.weak && g->state == EMU_RUNNING && k < g->orders; k++) {
		struct exec_warp *w = &g->cta[k / g->warps_each].warp[k % g->warps_each];
		const uint64_t r = w->weak->pending ? random_next(&w->weak->random) : 0;
		weak_release(w, steps ? EXEC_ALL : (uint32_t)(r | r >> 32));
	}
}

/* Its first CTAs are made as late as this: many grids may be queued. */
static int begin(struct emu_grid *g)
{
	g->began = 1;
	for (uint32_t k = 0; k < g->slots; k++)
		if (make_cta(g, &g->cta[k], k)) {
			snprintf(g->fault.text, sizeof g->fault.text, "kernel %s: out of memory for its blocks", g->kernel->name);
			g->fault.fault = EMU_FAILED;
			g->state = EMU_FAULT;
			return -ENOMEM;
		}
	for (uint32_t k = 0; g->launch.weak && k < g->orders; k++)
		weak_acquire(&g->cta[k / g->warps_each].warp[k % g->warps_each], EXEC_ALL);
	return 0;
}

struct run { uint32_t steps; uint64_t *random; struct emu_steps *program; };
static enum emu_state run_guarded(struct emu_grid *g, const struct run *r, struct emu_error *error)
{
	struct guard guard = { .address = NULL };
	struct exec_warp *volatile running = NULL;
	fenv_t floats;

	if (g->state != EMU_RUNNING)
		goto done;
	if (!g->began && begin(g))
		goto done;
	fegetenv(&floats);
	install_handlers(1);
	if (sigsetjmp(guard.jump, 0) == 0) { /* the handler blocks no signal: the mask stays */
		guarding = &guard;
		fesetenv(FE_DFL_ENV); /* the program may flush subnormals */
		if (r->program)
			exec_schedule_steps(g, r->program, &running);
		else
			exec_schedule_slices(g, r->steps, r->random, &running);
		end_turn(g, r->program != NULL);
	} else {
		const uint64_t at = (uint64_t)(uintptr_t)guard.address;
		describe(g, running, culprit(running, at), EMU_ILLEGAL_ADDRESS, "illegal address");
	}
	guarding = NULL;
	install_handlers(0);
	fesetenv(&floats);
done:
	if (g->state == EMU_FAULT)
		*error = g->fault;
	return g->state;
}

enum emu_state emu_grid_run(struct emu_grid *g, uint32_t steps, uint64_t *random, struct emu_error *error)
{
	struct run r = { .steps = steps, .random = random };
	return run_guarded(g, &r, error);
}

enum emu_state emu_grid_step(struct emu_grid *g, struct emu_steps *steps, struct emu_error *error)
{
	struct run r = { .program = steps };
	steps->made = 0;
	return run_guarded(g, &r, error);
}

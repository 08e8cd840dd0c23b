/* litmus-run: runs litmus programs, many of them in one job, and says what they read. A file may hold several programs, one
 * behind another; all need as many ranks as the job has, on the same devices. They are compiled in modules of 64 and run in
 * batches of 32: the hosts enqueue a batch, meet, wait for the device, and look. A program in which a host waits midway runs
 * alone, step by step, with a meeting of the hosts after each. Every run of a program has zeroed memory of its own, and every
 * program kernels of its own: lN_NAME_LAUNCH, N being its place in the order of the files. */
#include "litmus/litmus.h"
#include "litmus/ranges.h"

#include "base/text.h"
#include "host/world.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS = 64, EVENTS = 64 };

struct item {
	struct lit_program *p;
	CUfunction *kernel;            /* of each launch; NULL: another rank's */
	size_t at[LIT_RANKS];          /* its memory within each rank's, in a repeat */
	size_t *location;              /* offset of each location from there */
	size_t kept;                   /* bytes in, of the outcomes of its batch */
	int alone;
};

struct runner {
	struct world w;
	struct item *item;
	size_t items, repeats, per_module, per_batch;
	uint32_t polls;
	size_t places;                 /* 1: they are printed */
	size_t total[LIT_RANKS];       /* bytes of one repeat */
	struct world_shared memory;
	CUdeviceptr kept;
	size_t kept_room;
	CUstream stream[STREAMS];
	CUevent event[EVENTS];
	unsigned char *seen;           /* host copies of a batch's memory and outcomes */
	uint64_t *outcome;
};

static void __attribute__((noreturn)) stop(const char *who, const char *what)
{
	fprintf(stderr, "litmus-run: %s%s\n", who, what);
	exit(2);
}

static void *need(void *memory)
{
	if (!memory)
		stop("no memory", "");
	return memory;
}

static size_t aligned(size_t n)
{
	return (n + 255) / 256 * 256;
}

/* ---- programs ------------------------------------------------------------------------------------------------- */
static void add_program(struct runner *r, const char *text, const char *file)
{
	char error[512];
	struct item *it;

	r->item = need(realloc(r->item, (r->items + 1) * sizeof(*r->item)));
	it = &r->item[r->items++];
	memset(it, 0, sizeof(*it));
	if (lit_parse(text, file, &it->p, error, sizeof(error)))
		stop(error, "");
	for (size_t t = 0; t < it->p->threads; t++)
		for (size_t n = 0; n < it->p->thread[t].instrs; n++)
			it->p->thread[t].instr[n].count *= it->p->thread[t].instr[n].op == LIT_POLL ? r->polls : 1;
	for (size_t s = 0; s < it->p->steps; s++)
		it->alone |= it->p->step[s].op >= LIT_DO_SYNC_STREAM;
}

/* A file's programs: each begins at a line that says its name. Lines count from there. */
static void add_file(struct runner *r, const char *path)
{
	char *text, *from, *to;
	size_t size;

	if (text_read_file(path, &text, &size))
		stop(path, ": cannot be read");
	for (from = text; from; from = to) {
		to = strncmp(from, "litmus ", 7) ? strstr(from, "\nlitmus ") : from;
		to = to ? strstr(to + 1, "\nlitmus ") : NULL;
		if (to)
			*to++ = 0;
		add_program(r, from, path);
	}
	free(text);
}

static void check_alike(const struct runner *r)
{
	const struct lit_program *first = r->item[0].p;

	for (size_t i = 0; i < r->items; i++) {
		const struct lit_program *p = r->item[i].p;

		if (p->ranks != first->ranks || memcmp(p->device, first->device, sizeof(int) * (size_t)p->ranks))
			stop(p->name, " has other ranks or devices than the first program; run it in a job of its own");
	}
}

/* ---- memory --------------------------------------------------------------------------------------------------- */
static void place(struct runner *r, struct item *it)
{
	const struct lit_program *p = it->p;
	size_t size[LIT_RANKS] = {0};

	it->location = need(calloc(p->locations + 1, sizeof(size_t)));
	for (size_t l = 0; l < p->locations; l++) {
		const struct lit_location *at = &p->location[l];
		size_t end;

		it->location[l] = at->base >= 0 ? it->location[at->base] + (size_t)at->offset : size[at->rank];
		end = aligned(it->location[l] + at->bytes);
		if (end > size[at->rank])
			size[at->rank] = end;
	}
	for (int k = 0; k < p->ranks; k++) {
		it->at[k] = r->total[k];
		r->total[k] += size[k];
	}
}

/* Whose a copy is: of each rank the first memory that the job makes is what programs use. */
static void say_places(const struct runner *r)
{
	for (size_t i = 0; i < r->items; i++)
		for (int k = 0; k < r->w.size && !r->w.rank; k++)
			printf("place %zu %s rank %d from %zu of %zu\n", i, r->item[i].p->name, k, r->item[i].at[k], r->total[k]);
}

static void memory_open(struct runner *r)
{
	size_t most = 256;

	for (size_t i = 0; i < r->items; i++)
		place(r, &r->item[i]);
	if (r->places)
		say_places(r);
	for (int k = 0; k < r->w.size; k++)
		most = r->total[k] > most ? r->total[k] : most;
	world_shared_new(&r->w, most * r->repeats, &r->memory);
	r->seen = need(malloc(most));
	for (size_t i = 0; i < r->items; i += r->per_batch) {
		size_t sum = 0;

		for (size_t k = i; k < i + r->per_batch && k < r->items; k++) {
			r->item[k].kept = sum;
			sum += r->item[k].p->threads * LIT_REGS * sizeof(uint64_t);
		}
		r->kept_room = sum > r->kept_room ? sum : r->kept_room;
	}
	r->kept = world_zeros(r->kept_room + 8);
	r->outcome = need(calloc(1, r->kept_room + 8));
	WORLD_TRY(cuCtxSynchronize());
	world_barrier(&r->w);
}

/* ---- modules -------------------------------------------------------------------------------------------------- */
static void prefix_of(const struct runner *r, size_t item, char *to, size_t room)
{
	snprintf(to, room, "l%zu_%s", item, r->item[item].p->name);
	for (; *to; to++)
		if (!isalnum((unsigned char)*to))
			*to = '_';
}

static void module_load(struct runner *r, size_t from, size_t to)
{
	char *text = NULL, prefix[2 * LIT_NAME], name[4 * LIT_NAME];
	size_t size = 0;
	FILE *out = need(open_memstream(&text, &size));
	CUmodule module;

	lit_emit_head(out);
	for (size_t i = from; i < to; i++) {
		prefix_of(r, i, prefix, sizeof(prefix));
		lit_emit_kernels(r->item[i].p, prefix, (unsigned)(i - from + 1), out);
	}
	fclose(out);
	WORLD_TRY(cuModuleLoadData(&module, text));
	for (size_t i = from; i < to; i++) {
		const struct lit_program *p = r->item[i].p;

		r->item[i].kernel = need(calloc(p->launches + 1, sizeof(CUfunction)));
		prefix_of(r, i, prefix, sizeof(prefix));
		for (size_t l = 0; l < p->launches; l++) {
			snprintf(name, sizeof(name), "%s_%s", prefix, p->launch[l].name);
			if (p->launch[l].rank == r->w.rank)
				WORLD_TRY(cuModuleGetFunction(&r->item[i].kernel[l], module, name));
		}
	}
	free(text);
}

/* ---- steps ---------------------------------------------------------------------------------------------------- */
static CUstream stream_of(struct runner *r, int n)
{
	if (!r->stream[n])
		WORLD_TRY(cuStreamCreate(&r->stream[n], CU_STREAM_NON_BLOCKING));
	return r->stream[n];
}

/* In order of their numbers, whichever program uses which first: schedules count over streams. */
static void streams_open(struct runner *r)
{
	for (int n = 0; n < STREAMS; n++)
		for (size_t i = 0; i < r->items; i++)
			for (size_t l = 0; l < r->item[i].p->launches; l++)
				if (r->item[i].p->launch[l].stream == n)
					stream_of(r, n);
}

static CUdeviceptr address(const struct runner *r, const struct item *it, size_t repeat, size_t location)
{
	int rank = it->p->location[location].rank;

	return r->memory.of[rank] + repeat * r->total[rank] + it->at[rank] + it->location[location];
}

static void launch(struct runner *r, const struct item *it, size_t repeat, const struct lit_step *s)
{
	const struct lit_launch *l = &it->p->launch[s->launch];
	CUdeviceptr value[600], kept = r->kept + it->kept;
	void *args[600];
	size_t n = 0;

	if (it->p->locations >= sizeof(args) / sizeof(args[0]))
		stop(it->p->name, " has too many locations");
	for (; n < it->p->locations; n++) {
		value[n] = address(r, it, repeat, n);
		args[n] = &value[n];
	}
	args[n] = &kept;
	WORLD_TRY(cuLaunchKernel(it->kernel[s->launch], l->grid, 1, 1, l->block, 1, 1, 0, stream_of(r, l->stream), args, NULL));
}

static void copy(struct runner *r, const struct item *it, size_t repeat, const struct lit_step *s)
{
	struct range range = {.to = address(r, it, repeat, (size_t)s->to.location) + (CUdeviceptr)s->to.offset, .bytes = s->bytes, .value = s->value,
			.stream = stream_of(r, s->stream)};

	if (s->op == LIT_DO_COPY)
		range.from = address(r, it, repeat, (size_t)s->from.location) + (CUdeviceptr)s->from.offset;
	WORLD_TRY(ranges_call((unsigned)(it - r->item), &range));
}

static void step(struct runner *r, const struct item *it, size_t repeat, const struct lit_step *s)
{
	switch (s->op) {
	case LIT_DO_COPY:
	case LIT_DO_SET: copy(r, it, repeat, s); break;
	case LIT_DO_LAUNCH: launch(r, it, repeat, s); break;
	case LIT_DO_RECORD:
		if (!r->event[s->event])
			WORLD_TRY(cuEventCreate(&r->event[s->event], CU_EVENT_DISABLE_TIMING));
		WORLD_TRY(cuEventRecord(r->event[s->event], stream_of(r, s->stream)));
		break;
	case LIT_DO_WAIT: WORLD_TRY(cuStreamWaitEvent(stream_of(r, s->stream), r->event[s->event], 0)); break;
	case LIT_DO_SYNC_STREAM: WORLD_TRY(cuStreamSynchronize(stream_of(r, s->stream))); break;
	case LIT_DO_SYNC_EVENT: WORLD_TRY(cuEventSynchronize(r->event[s->event])); break;
	case LIT_DO_SYNC_ALL: WORLD_TRY(cuCtxSynchronize()); break;
	}
}

/* Without waits midway, the order among the hosts orders nothing, so each rank goes through its own steps. */
static void enqueue(struct runner *r, const struct item *it, size_t repeat)
{
	for (size_t s = 0; s < it->p->steps; s++) {
		if (it->p->step[s].rank == r->w.rank)
			step(r, it, repeat, &it->p->step[s]);
		if (it->alone)
			world_barrier(&r->w);
	}
}

/* ---- outcomes ------------------------------------------------------------------------------------------------- */
static void show_registers(const struct runner *r, const struct item *it, size_t thread)
{
	const struct lit_thread *t = &it->p->thread[thread];
	const struct lit_launch *l = &it->p->launch[t->launch];
	uint64_t done = 0;

	for (size_t n = 0; n < t->instrs && l->rank == r->w.rank; n++)
		for (int reg = t->instr[n].reg; reg >= 0 && reg < t->instr[n].reg + t->instr[n].vector; reg++) {
			if (!(done >> reg & 1))
				printf(" %s.%u.%u:r%d=%" PRIu64, l->name, t->cta, t->first, reg,
				       r->outcome[it->kept / sizeof(uint64_t) + thread * LIT_REGS + (size_t)reg]);
			done |= 1ull << reg;
		}
}

static void show(const struct runner *r, const struct item *it, size_t repeat, size_t from)
{
	printf("outcome %s %zu", it->p->name, repeat);
	for (size_t t = 0; t < it->p->threads; t++)
		show_registers(r, it, t);
	for (size_t l = 0; l < it->p->locations; l++) {
		const struct lit_location *at = &it->p->location[l];
		uint64_t value = 0;

		if (at->rank != r->w.rank)
			continue;
		memcpy(&value, r->seen + it->at[at->rank] - from + it->location[l], at->bytes < 8 ? at->bytes : 8);
		printf(" %s=%" PRIu64, at->name, value);
	}
	printf("\n");
}

/* Programs [from, to): all hosts have enqueued, then all wait, then all look, before anybody goes on. */
static void batch(struct runner *r, size_t from, size_t to, size_t repeat)
{
	int me = r->w.rank;
	size_t first = r->item[from].at[me], end = to < r->items ? r->item[to].at[me] : r->total[me];

	for (size_t i = from; i < to; i++)
		enqueue(r, &r->item[i], repeat);
	world_barrier(&r->w);
	WORLD_TRY(cuCtxSynchronize());
	world_barrier(&r->w);
	if (end > first)
		WORLD_TRY(cuMemcpyDtoH(r->seen, r->memory.of[me] + repeat * r->total[me] + first, end - first));
	WORLD_TRY(cuMemcpyDtoH(r->outcome, r->kept, r->kept_room));
	for (size_t i = from; i < to; i++)
		show(r, &r->item[i], repeat, first);
}

static size_t batch_end(const struct runner *r, size_t from)
{
	size_t to = from + 1, most = (from / r->per_batch + 1) * r->per_batch;

	if (!r->item[from].alone)
		while (to < r->items && to < most && !r->item[to].alone)
			to++;
	return to;
}

static void run_all(struct runner *r)
{
	for (size_t from = 0; from < r->items; from += r->per_module)
		module_load(r, from, from + r->per_module < r->items ? from + r->per_module : r->items);
	for (size_t repeat = 0; repeat < r->repeats; repeat++)
		for (size_t from = 0; from < r->items; from = batch_end(r, from))
			batch(r, from, batch_end(r, from), repeat);
}

/* ---- arguments ------------------------------------------------------------------------------------------------ */
static const char usage[] =
	"usage: litmus-run [--repeat N] [--module N] [--batch N] [--polls N] [--places 1] FILE.litmus…\n"
	"Runs litmus programs, N times each, and prints a line `outcome NAME REPEAT LAUNCH.CTA.THREAD:rN=VALUE… LOCATION=VALUE…`\n"
	"for each run and rank. --module: programs compiled together (64); --batch: enqueued together (32); --polls: poll that\n"
	"many times longer than the programs say (1); --places: where in memory they lie. Start it with gsan-launch -n RANKS if the programs have several.\n";

static void option(struct runner *r, const char *name, const char *value)
{
	static const char *const names[] = {"--repeat", "--module", "--batch", "--places", "--polls"};
	enum { NAMES = sizeof(names) / sizeof(*names), POLLS = NAMES - 1 };
	long n = value ? atol(value) : 0;
	size_t which = 0;

	while (which < NAMES && strcmp(name, names[which]))
		which++;
	if (which == NAMES || n < 1) {
		fprintf(strcmp(name, "--help") ? stderr : stdout, "%s", usage);
		exit(strcmp(name, "--help") ? 2 : 0);
	}
	if (which == POLLS)
		r->polls = (uint32_t)n;
	else
		*(size_t *[]){&r->repeats, &r->per_module, &r->per_batch, &r->places}[which] = (size_t)n;
}

int main(int argc, char **argv)
{
	struct runner r = {.repeats = 1, .per_module = 64, .per_batch = 32, .polls = 1};
	int i = 1;

	for (; i < argc && !strncmp(argv[i], "--", 2); i += 2)
		option(&r, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
	for (; i < argc; i++)
		add_file(&r, argv[i]);
	if (!r.items)
		option(&r, "", NULL);
	check_alike(&r);
	setvbuf(stdout, NULL, _IOLBF, 1 << 16); /* a line is one write: ranks share the pipe */
	world_open_on(&r.w, r.item[0].p->device, r.item[0].p->ranks);
	if (r.w.size != r.item[0].p->ranks)
		stop(r.item[0].p->name, " needs another number of ranks: start it with gsan-launch -n RANKS");
	memory_open(&r);
	streams_open(&r);
	run_all(&r);
	world_close(&r.w);
	return 0;
}

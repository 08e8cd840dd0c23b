/* gsan-random: programs of native.h, many in one process, each REPEAT times on memory of its own. The same whether it runs
 * plain or under gsan-launch, with one rank or two. What it prints is for tests/gpu/random_programs.py. */
#include "compile.h"
#include "construct.h"
#include "forms.h"
#include "player.h"

#include "base/hash.h"
#include "base/text.h"
#include "host/world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GROUPS = 20, GROUP_STREAMS = 3 };        /* so many repeats at once */
enum { CROWDED_CTAS = 6, CROWDED_GROUPS = 10 }; /* fewer where launches of more CTAs wait: all that wait must have a place */

struct item {
	struct native *p;
	uint64_t at[NATIVE_RANKS]; /* of its first repeat */
	CUfunction own[NATIVE_LAUNCHES]; /* --compiled: its kernels */
	int groups;
};

struct runner {
	struct world w;
	const char *image, *drop;
	struct construct_options how;
	uint64_t *seed;
	size_t items, repeats, compiled;
	uint64_t crash; /* the seed that aborts, for a test of who looks on; 0: none */
	struct item *item;
	struct world_shared memory;
	uint64_t total[NATIVE_RANKS];
	CUfunction kernel[PLAYER_KERNELS];
	CUstream stream[GROUPS][GROUP_STREAMS];
	CUevent event[GROUPS];
};

static void __attribute__((noreturn)) stop(const char *what)
{
	fprintf(stderr, "gsan-random: %s\n", what);
	exit(2);
}

static void *need(void *memory)
{
	if (!memory)
		stop("no memory");
	return memory;
}

/* ---- before ---------------------------------------------------------------------------------------------------- */
static void kernels_load(struct runner *r)
{
	char path[4096], *text;
	size_t size;
	CUmodule module;

	for (int k = 0; k < PLAYER_KERNELS; k++) {
		snprintf(path, sizeof(path), "%s/%s", r->image, player_name[k]);
		if (text_read_file(path, &text, &size))
			stop(path);
		WORLD_TRY(cuModuleLoadData(&module, text));
		WORLD_TRY(cuModuleGetFunction(&r->kernel[k], module, player_name[k]));
		free(text);
	}
}

static void compiled_load(struct item *it)
{
	char *text = NULL, name[32];
	size_t size = 0;
	FILE *out = need(open_memstream(&text, &size));
	CUmodule module;

	compile_emit(it->p, out);
	fclose(out);
	WORLD_TRY(cuModuleLoadData(&module, text));
	for (int l = 0; l < it->p->launches; l++) {
		snprintf(name, sizeof(name), "launch%d", l);
		WORLD_TRY(cuModuleGetFunction(&it->own[l], module, name));
	}
	free(text);
}

static int groups_for(const struct native *p)
{
	for (int l = 0; l < p->launches; l++)
		for (uint32_t n = 0; n < p->launch[l].list.ops && p->launch[l].grid > CROWDED_CTAS; n++)
			if (p->launch[l].list.op[n].code == NATIVE_AGAIN)
				return CROWDED_GROUPS;
	return GROUPS;
}

static void programs_make(struct runner *r)
{
	r->item = need(calloc(r->items, sizeof(*r->item)));
	for (size_t i = 0; i < r->items; i++) {
		struct item *it = &r->item[i];

		it->p = need(malloc(sizeof(*it->p)));
		construct(r->seed[i], &r->how, it->p);
		if (r->drop && native_drop(it->p, r->drop))
			stop("--drop names an operation that is not there");
		it->groups = groups_for(it->p);
		for (int k = 0; k < r->w.size; k++) {
			it->at[k] = r->total[k];
			r->total[k] += it->p->bytes[k] * r->repeats;
		}
	}
}

static void memory_open(struct runner *r)
{
	uint64_t most = 256;

	for (int k = 0; k < r->w.size; k++)
		most = r->total[k] > most ? r->total[k] : most;
	world_shared_new(&r->w, most, &r->memory);
	WORLD_TRY(cuCtxSynchronize());
	world_barrier(&r->w);
	if (r->w.rank)
		return;
	for (size_t i = 0; i < r->items; i++)
		for (int k = 0; k < r->w.size; k++)
			printf("place %" PRIu64 " %d %" PRIu64 " %" PRIu64 "\n", r->seed[i], k, r->item[i].at[k],
			       r->item[i].p->bytes[k] * r->repeats);
}

static void streams_open(struct runner *r)
{
	for (int g = 0; g < GROUPS; g++) {
		for (int s = 0; s < GROUP_STREAMS; s++)
			WORLD_TRY(cuStreamCreate(&r->stream[g][s], CU_STREAM_NON_BLOCKING));
		WORLD_TRY(cuEventCreate(&r->event[g], CU_EVENT_DISABLE_TIMING));
	}
}

/* ---- a program ------------------------------------------------------------------------------------------------- */
static CUdeviceptr address(const struct runner *r, const struct item *it, size_t repeat, int rank, uint64_t offset)
{
	return r->memory.of[rank] + it->at[rank] + repeat * it->p->bytes[rank] + offset;
}

static void launch(struct runner *r, const struct item *it, size_t repeat, const struct native_launch *l, int group)
{
	struct native_list list = l->list;
	CUfunction own = it->own[l - it->p->launch];
	CUdeviceptr memory[NATIVE_RANKS] = {0};
	void *args[] = {&list}, *own_args[NATIVE_RANKS + 1];

	for (int k = 0; k < NATIVE_RANKS; k++) {
		memory[k] = k < r->w.size ? address(r, it, repeat, k, 0) : 0;
		own_args[k] = &memory[k];
	}
	own_args[NATIVE_RANKS] = &memory[l->rank];
	list.failed = address(r, it, repeat, l->rank, 0);
	for (uint32_t n = 0; n < list.ops; n++)
		list.op[n].address = address(r, it, repeat, list.op[n].rank, list.op[n].address);
	WORLD_TRY(cuLaunchKernel(own ? own : r->kernel[l->kernel], l->grid, 1, 1, l->block, 1, 1, 0, r->stream[group][l->stream],
				 own ? own_args : args, NULL));
}

static void wait_all(struct runner *r)
{
	WORLD_TRY(cuCtxSynchronize());
	world_barrier(&r->w);
}

static void step(struct runner *r, const struct item *it, size_t repeat, const struct native_step *s, int group)
{
	if (s->rank != r->w.rank)
		return;
	if (s->op == NATIVE_DO_LAUNCH) {
		launch(r, it, repeat, &it->p->launch[s->what], group);
	} else {
		WORLD_TRY(cuEventRecord(r->event[group], r->stream[group][s->what]));
		WORLD_TRY(cuStreamWaitEvent(r->stream[group][s->stream], r->event[group], 0));
	}
}

static double milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The next step where the host waits, which it does for all repeats at once; or the end, where it waits, too. */
static int until_wait(const struct native *p, int s)
{
	while (s < p->steps && p->step[s].op != NATIVE_DO_WAIT)
		s++;
	return s;
}

static void play(struct runner *r)
{
	double began = milliseconds();

	for (size_t i = 0; i < r->items; i++) {
		const struct item *it = &r->item[i];

		if (r->crash && r->crash == it->p->seed)
			abort();
		for (int first = 0, end; first < it->p->steps; first = end + 1) {
			end = until_wait(it->p, first);
			for (size_t repeat = 0; repeat < r->repeats; repeat++)
				for (int s = first; s < end; s++)
					step(r, it, repeat, &it->p->step[s], (int)(repeat % (size_t)it->groups));
			wait_all(r);
		}
		if (!r->w.rank)
			printf("took %" PRIu64 " %.1f\n", it->p->seed, milliseconds() - began);
		began = milliseconds();
	}
}

/* ---- after ----------------------------------------------------------------------------------------------------- */
static uint64_t digest(const unsigned char *at, uint64_t bytes)
{
	uint64_t h = HASH_START, word;

	for (uint64_t i = 0; i < bytes; i += sizeof(word)) {
		memcpy(&word, at + i, sizeof(word));
		h = hash_step(h, word);
		h ^= h >> 29;
	}
	return h;
}

static void look(struct runner *r, size_t i, unsigned char *seen)
{
	const struct item *it = &r->item[i];
	uint64_t bytes = it->p->bytes[r->w.rank];
	size_t differ = 0, failed = 0;

	if (!bytes)
		return;
	WORLD_TRY(cuMemcpyDtoH(seen, r->memory.of[r->w.rank] + it->at[r->w.rank], bytes * r->repeats));
	for (size_t repeat = 0; repeat < r->repeats; repeat++) {
		differ += memcmp(seen, seen + repeat * bytes, bytes) != 0;
		failed += *(uint32_t *)(void *)(seen + repeat * bytes) != 0;
	}
	printf("result %" PRIu64 " %d %016" PRIx64 " differ %zu failed %zu\n", it->p->seed, r->w.rank, digest(seen, bytes),
	       differ, failed);
}

static void look_at_all(struct runner *r)
{
	uint64_t most = 0;
	unsigned char *seen;

	for (size_t i = 0; i < r->items; i++)
		most = r->item[i].p->bytes[r->w.rank] > most ? r->item[i].p->bytes[r->w.rank] : most;
	seen = need(malloc(most * r->repeats + 8));
	for (size_t i = 0; i < r->items; i++)
		look(r, i, seen);
	free(seen);
}

/* ---- arguments ------------------------------------------------------------------------------------------------- */
static const char usage[] =
	"usage: gsan-random --image DIR [--repeat N] [--ranks N] [--small 1] [--broken 1] [--compiled 1]\n"
	"                   [--drop LAUNCH.PLACE,…] [--from A --to B] [SEED…]\n"
	"Runs the programs of the seeds, N times each (20), with the kernels in DIR (PTX or cubins named like the kernels), and prints\n"
	"`result SEED RANK DIGEST differ N failed N`: how many repeats left other memory than the first, how many waits did not end;\n"
	"and `took SEED MS`.\n"
	"--small: some hundred threads at most. --broken 1: programs with one edge left out, 2: changed by chance.\n"
	"--compiled: by PTX of their own instead. --drop: without these operations.\n"
	"With --ranks 2 to 4, start it with gsan-launch -n 2 to 4.\n";

static void seeds(struct runner *r, uint64_t from, uint64_t to, char **words)
{
	for (; from < to || *words; r->items++) {
		r->seed = need(realloc(r->seed, (r->items + 1) * sizeof(*r->seed)));
		r->seed[r->items] = from < to ? from++ : strtoull(*words++, NULL, 10);
	}
}

int main(int argc, char **argv)
{
	struct runner r = {.repeats = 20, .how = {.ranks = 1}};
	uint64_t from = 0, to = 0;
	int i = 1;

	for (; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
		uint64_t n = strtoull(argv[i + 1], NULL, 10);

		if (!strcmp(argv[i], "--image")) r.image = argv[i + 1];
		else if (!strcmp(argv[i], "--repeat")) r.repeats = n;
		else if (!strcmp(argv[i], "--from")) from = n;
		else if (!strcmp(argv[i], "--to")) to = n;
		else if (!strcmp(argv[i], "--ranks")) r.how.ranks = (int)n;
		else if (!strcmp(argv[i], "--small")) r.how.small = (int)n;
		else if (!strcmp(argv[i], "--broken")) r.how.broken = (int)n;
		else if (!strcmp(argv[i], "--compiled")) r.compiled = n;
		else if (!strcmp(argv[i], "--drop")) r.drop = argv[i + 1];
		else if (!strcmp(argv[i], "--crash")) r.crash = n;
		else stop(usage);
	}
	seeds(&r, from, to, argv + i);
	if (!r.items || !r.image || !r.repeats || r.how.ranks < 1 || r.how.ranks > NATIVE_RANKS)
		stop(usage);
	setvbuf(stdout, NULL, _IOLBF, 1 << 16); /* a line is one write: ranks share the pipe */
	world_open(&r.w);
	if (r.w.size != r.how.ranks)
		stop("another number of ranks than --ranks says");
	programs_make(&r);
	memory_open(&r);
	kernels_load(&r);
	for (size_t k = 0; k < r.items && r.compiled; k++)
		compiled_load(&r.item[k]);
	streams_open(&r);
	play(&r);
	look_at_all(&r);
	world_barrier(&r.w);
	world_close(&r.w);
	return 0;
}

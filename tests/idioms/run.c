/* idioms-run: launches one idiom on fresh memory, round after round without a wait of the host, and has its results checked.
 * The kernels are those of NAME.cu, correct or with one of its mutants, compiled to PTX that lies beside the program. */
#include "host/world.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 8 << 20, FLAG_BYTES = 1 << 16, RANKS = 4, STREAMS = 3, SET_WORDS = 1 << 12, SET_VALUE = 2 };

/* Steps are kernels by name, cooperative with a + and in stream 0 or the one behind an @; `value`: the stream writes the round's number to the first flag;
 * `set`: it sets the first SET_WORDS flags to SET_VALUE. */
static const struct idiom {
	const char *name;
	int ranks; /* 1, or 2 to RANKS */
	const char *first, *round;
} idioms[] = {
	{"lookback_flags", 1, "init", "run"}, {"lookback_word", 1, "init", "run"},
	{"splitk", 1, "", "run"}, {"streamk", 1, "", "run"}, {"last_block", 1, "", "run"},
	{"lock_cas", 1, "", "run"}, {"lock_ticket", 1, "", "run"}, {"lock_clh", 1, "init", "run"}, {"lock_rw", 1, "", "run"},
	{"seqlock", 1, "", "run"}, {"treiber", 1, "", "run"}, {"queue", 1, "init", "run"}, {"credit_ring", 1, "set", "run"},
	{"relay", 1, "", "run"},
	{"allreduce_oneshot", 2, "", "fill run"}, {"allreduce_twoshot", 2, "", "fill run"},
	{"ll", 2, "", "run"}, {"ll128", 2, "", "run"}, {"lamport", 2, "init", "run"},
	{"grid_sync", 1, "", "run+"}, {"dekker", 1, "", "run"}, {"stream_value", 1, "", "produce@1 value@1 consume@2"},
	{"histogram", 1, "", "run"}, {"last_block_red", 1, "", "run"}, {"fifo", 1, "", "run"}, {"streamk_lock", 1, "", "run"},
	{"grid_barrier", 1, "", "run"}, {"prefix", 1, "", "run"}, {"barrier_again", 1, "", "run"}, {"ll_again", 1, "", "run"},
};

struct arguments { /* as in idiom.h */
	CUdeviceptr data[RANKS], flag[RANKS], own, wrong;
	uint32_t rank, ranks, round, rounds, ctas, threads;
};

struct runner {
	struct world w;
	const struct idiom *idiom;
	CUmodule module;
	CUstream stream[STREAMS];
	uint32_t ctas, threads, rounds, repeats, mutant;
};

/* ---- memory --------------------------------------------------------------------------------------------------- */
struct memory {
	struct world_shared data, flag;
	struct arguments a;
};

static void memory_open(struct runner *r, struct memory *m)
{
	memset(m, 0, sizeof(*m));
	world_shared_new(&r->w, BYTES, &m->data);
	world_shared_new(&r->w, FLAG_BYTES, &m->flag);
	for (int k = 0; k < r->w.size; k++) {
		m->a.data[k] = m->data.of[k];
		m->a.flag[k] = m->flag.of[k];
	}
	m->a.own = world_zeros(BYTES);
	m->a.wrong = world_zeros(sizeof(uint32_t));
	m->a.rank = (uint32_t)r->w.rank;
	m->a.ranks = (uint32_t)r->w.size;
	m->a.rounds = r->rounds;
	m->a.ctas = r->ctas;
	m->a.threads = r->threads;
	WORLD_TRY(cuCtxSynchronize());
	world_barrier(&r->w);
}

static void memory_close(const struct runner *r, const struct memory *m)
{
	world_shared_free(&r->w, &m->data);
	world_shared_free(&r->w, &m->flag);
	WORLD_TRY(cuMemFree(m->a.own));
	WORLD_TRY(cuMemFree(m->a.wrong));
}

/* ---- steps ---------------------------------------------------------------------------------------------------- */
static void launch(const struct runner *r, struct memory *m, const char *kernel, uint32_t ctas, CUstream stream, int cooperative)
{
	CUfunction function;

	WORLD_TRY(cuModuleGetFunction(&function, r->module, kernel));
	if (cooperative)
		WORLD_TRY(cuLaunchCooperativeKernel(function, ctas, 1, 1, r->threads, 1, 1, 0, stream, (void *[]){&m->a}));
	else
		WORLD_TRY(cuLaunchKernel(function, ctas, 1, 1, r->threads, 1, 1, 0, stream, (void *[]){&m->a}, NULL));
}

static void step(const struct runner *r, struct memory *m, char *word)
{
	char *at = strchr(word, '@');
	CUstream stream = r->stream[at ? atoi(at + 1) : 0];

	if (at)
		*at = 0;
	char *plus = strchr(word, '+');
	if (plus)
		*plus = 0;
	if (!strcmp(word, "value"))
		WORLD_TRY(cuStreamWriteValue32(stream, m->a.flag[0], m->a.round, 0));
	else if (!strcmp(word, "set"))
		WORLD_TRY(cuMemsetD32Async(m->a.flag[0], SET_VALUE, SET_WORDS, stream));
	else
		launch(r, m, word, r->ctas, stream, plus != NULL);
}

static void steps(const struct runner *r, struct memory *m, const char *what)
{
	char text[128], *rest = text;

	snprintf(text, sizeof(text), "%s", what);
	for (char *word; (word = strtok_r(rest, " ", &rest));)
		step(r, m, word);
}

static void meet(struct runner *r)
{
	WORLD_TRY(cuCtxSynchronize());
	world_barrier(&r->w);
}

/* The number of results that are wrong. */
static uint32_t run_once(struct runner *r)
{
	struct memory m;
	uint32_t wrong;

	memory_open(r, &m);
	steps(r, &m, r->idiom->first);
	meet(r);
	for (m.a.round = 1; m.a.round <= r->rounds; m.a.round++)
		steps(r, &m, r->idiom->round);
	world_barrier(&r->w); /* all is enqueued before any host waits */
	meet(r);
	launch(r, &m, "check", 1, r->stream[0], 0);
	WORLD_TRY(cuCtxSynchronize());
	WORLD_TRY(cuMemcpyDtoH(&wrong, m.a.wrong, sizeof(wrong)));
	meet(r);
	memory_close(r, &m);
	return wrong;
}

/* ---- start ---------------------------------------------------------------------------------------------------- */
static char *read_module(const struct runner *r)
{
	char program[2048], path[4096], *text = NULL;
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	size_t room = 0;
	FILE *file;

	if (length < 0)
		exit(2);
	program[length] = 0;
	*strrchr(program, '/') = 0;
	snprintf(path, sizeof(path), "%s/idioms/%s.%u.ptx", program, r->idiom->name, r->mutant);
	file = fopen(path, "r");
	if (!file || getdelim(&text, &room, 0, file) < 0) {
		fprintf(stderr, "idioms-run: %s cannot be read\n", path);
		exit(2);
	}
	fclose(file);
	return text;
}

static const char usage[] =
	"usage: idioms-run [--mutant 0|1|2] [--ctas N] [--threads N] [--rounds N] [--repeats N] NAME | --list\n"
	"Runs an idiom, correct or mutated, on N CTAs (4) of N threads (64), N rounds (3) without a wait of the host, N times (1) on\n"
	"fresh memory. Status 1: a result is wrong.\n";

static void arguments(struct runner *r, int argc, char **argv)
{
	static const char *const names[] = {"--mutant", "--ctas", "--threads", "--rounds", "--repeats"};
	uint32_t *const to[] = {&r->mutant, &r->ctas, &r->threads, &r->rounds, &r->repeats};
	int i = 1;

	for (size_t n; i + 1 < argc && !strncmp(argv[i], "--", 2); i += 2) {
		for (n = 0; n < 5 && strcmp(argv[i], names[n]); n++)
			;
		if (n == 5)
			break;
		*to[n] = (uint32_t)atol(argv[i + 1]);
	}
	for (size_t n = 0; i + 1 == argc && n < sizeof(idioms) / sizeof(*idioms); n++) {
		if (!strcmp(argv[i], "--list"))
			printf("%s %d\n", idioms[n].name, idioms[n].ranks);
		else if (!strcmp(argv[i], idioms[n].name))
			r->idiom = &idioms[n];
	}
	if (r->idiom)
		return;
	if (i + 1 == argc && !strcmp(argv[i], "--list"))
		exit(0);
	fprintf(stderr, "%s", usage);
	exit(2);
}

int main(int argc, char **argv)
{
	struct runner r = {.ctas = 4, .threads = 64, .rounds = 3, .repeats = 1};
	uint32_t wrong = 0;
	char *ptx;

	arguments(&r, argc, argv);
	world_open(&r.w);
	if (r.w.size < r.idiom->ranks || r.w.size > (r.idiom->ranks > 1 ? RANKS : 1)) {
		fprintf(stderr, "idioms-run: %s needs %s and has %d\n", r.idiom->name, r.idiom->ranks > 1 ? "2 to 4 ranks" : "1 rank", r.w.size);
		return 2;
	}
	ptx = read_module(&r);
	WORLD_TRY(cuModuleLoadData(&r.module, ptx));
	free(ptx);
	for (int n = 0; n < STREAMS; n++)
		WORLD_TRY(cuStreamCreate(&r.stream[n], CU_STREAM_NON_BLOCKING));
	for (uint32_t n = 0; n < r.repeats; n++)
		wrong += run_once(&r);
	printf("%s %u: %u runs, %u wrong results\n", r.idiom->name, r.mutant, r.repeats, wrong);
	world_close(&r.w);
	return wrong && !r.mutant;
}

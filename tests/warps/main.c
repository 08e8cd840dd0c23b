/* Runs all pairs of kernels on the emulated device, under many seeds of each schedule, and has the reference judge the traces,
 * warp by warp: the correct ones are clean and compute what they should, the twins race each time, between their two accesses
 * alone, and by the letter of PTX alone if they are formal, else in earnest. Under the schedule that lets warps lag each way to miss a barrier computes something wrong, in some seed, if need be in a run of
 * its own: a witness that rests on no detector. usage: test_warps SEEDS [PAIR], one run of all pairs, or of one, per schedule and seed */
#include "pairs.h"

#include "reference/reference.h"

#include "../unit/emu_driver/check.h"

#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KERNELS_MOST = 512 };
static const char *const schedules[] = { "random", "program", "pct", "lag" };
enum { SCHEDULES = 4, LAG = 3, LAG_MORE = 4, LAG_ALONE = 200 }; /* so many more seeds of it, and of what needs a warp to lag at one place */

static const struct pair *pair;
static size_t pairs;
static char *module;
static unsigned witnessed[KERNELS_MOST], failures;

static void make_module(void)
{
	size_t length;
	char name[PAIR_NAME];
	FILE *to = open_memstream(&module, &length);
	CHECK(to);
	pairs_head(to);
	for (size_t k = 0; k < 2 * pairs; k++) {
		pairs_name(name, &pair[k / 2], (int)(k % 2));
		pairs_kernel(to, &pair[k / 2], name, (int)(k % 2));
	}
	fclose(to);
}

/* ---- a run, in a process of its own */

static void run(int to)
{
	uint32_t wrong[KERNELS_MOST];
	char name[PAIR_NAME];
	CUmodule m;
	CUfunction f;
	CUdeviceptr at;
	start();
	OK(cuModuleLoadData(&m, module));
	OK(cuMemAlloc(&at, 2 * pairs * PAIR_BYTES));
	OK(cuMemsetD8(at, 0, 2 * pairs * PAIR_BYTES));
	for (size_t k = 0; k < 2 * pairs; k++) {
		CUdeviceptr mine = at + k * PAIR_BYTES;
		pairs_name(name, &pair[k / 2], (int)(k % 2));
		OK(cuModuleGetFunction(&f, m, name));
		OK(cuLaunchKernel(f, 2, 1, 1, PAIR_THREADS, 1, 1, 0, NULL, (void *[]){ &mine }, NULL));
	}
	OK(cuCtxSynchronize());
	for (size_t k = 0; k < 2 * pairs; k++)
		OK(cuMemcpyDtoH(&wrong[k], at + k * PAIR_BYTES, sizeof *wrong));
	CHECK(write(to, wrong, 2 * pairs * sizeof *wrong) == (ssize_t)(2 * pairs * sizeof *wrong));
	exit(0);
}

static void in_child(const char *schedule, unsigned seed, const char *trace, uint32_t *wrong)
{
	char number[16];
	int fd[2], status;
	CHECK(!pipe(fd));
	snprintf(number, sizeof number, "%u", seed);
	const pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		setenv("EMU_TRACE", trace, 1);
		setenv("EMU_SCHEDULE", schedule, 1);
		setenv("EMU_SEED", number, 1);
		run(fd[1]);
	}
	close(fd[1]);
	const ssize_t got = read(fd[0], wrong, 2 * pairs * sizeof *wrong);
	CHECK(waitpid(child, &status, 0) == child && !status && got == (ssize_t)(2 * pairs * sizeof *wrong));
	close(fd[0]);
}

/* ---- the judgement */

static struct ref *judge(const char *trace)
{
	char *line = NULL, error[512];
	size_t room = 0;
	struct ref *r = ref_open(trace, REF_WARPS);
	FILE *from = fopen(trace, "r");
	CHECK(from);
	while (getline(&line, &room, from) > 0)
		if (ref_line(r, line, error, sizeof error)) {
			fprintf(stderr, "%s\n", error);
			exit(1);
		}
	free(line);
	fclose(from);
	return r;
}

static int wanted(const struct ref_race *race)
{
	return (race->site[0] == PAIR_FIRST && race->site[1] == PAIR_SECOND) || (race->site[0] == PAIR_SECOND && race->site[1] == PAIR_FIRST);
}

static void say(const char *schedule, unsigned seed, const char *name, const char *what)
{
	fprintf(stderr, "%s under %s, seed %u: %s\n", name, schedule, seed, what);
	failures++;
}

static void look(const char *schedule, unsigned seed, const struct ref_race *race, size_t races, size_t k)
{
	unsigned found = 0, others = 0, told = 0;
	char name[PAIR_NAME];
	pairs_name(name, &pair[k / 2], (int)(k % 2));
	for (size_t i = 0; i < races; i++)
		if (!strcmp(race[i].kernel[0], name)) {
			*(wanted(&race[i]) ? &found : &others) += 1;
			told += race[i].formal == pair[k / 2].formal;
		}
	if (k % 2 && !found)
		say(schedule, seed, name, "no race");
	if (told != found + others)
		say(schedule, seed, name, pair[k / 2].formal ? "a race in earnest" : "a formal race");
	if (others || (k % 2 == 0 && found))
		say(schedule, seed, name, others ? "races of other accesses" : "a race");
}

static void one(int schedule, unsigned seed)
{
	uint32_t wrong[KERNELS_MOST];
	char trace[64];
	const struct ref_race *race;
	snprintf(trace, sizeof trace, "warps-%d.trace", (int)getpid());
	in_child(schedules[schedule], seed, trace, wrong);
	struct ref *r = judge(trace);
	const size_t races = ref_races(r, &race);
	for (size_t k = 0; k < 2 * pairs; k++) {
		look(schedules[schedule], seed, race, races, k);
		if (k % 2 == 0 && wrong[k])
			say(schedules[schedule], seed, pair[k / 2].name, "a wrong result of the correct kernel");
		witnessed[k / 2] += k % 2 && schedule == LAG && wrong[k];
	}
	ref_close(r);
	unlink(trace);
}

static unsigned wrong_of(size_t first)
{
	unsigned wrong = 0;
	for (size_t shape = first; shape < pairs && shape < first + PAIR_SHAPES; shape++)
		wrong += witnessed[shape];
	return wrong;
}

/* The shapes of one way by themselves, under more seeds, until one of them is wrong. */
static void look_alone(const struct pair *first, size_t shapes)
{
	unsigned seed = 0;
	pair = first;
	pairs = shapes;
	memset(witnessed, 0, sizeof witnessed);
	free(module);
	make_module();
	while (!wrong_of(0) && seed < LAG_ALONE)
		one(LAG, ++seed);
	if (!wrong_of(0)) {
		fprintf(stderr, "%s: never wrong under lag, though it races\n", first->name);
		failures++;
	}
}

/* In some shape of each way to publish or to receive; those that are not to be seen never. */
static void witnesses(void)
{
	const struct pair *all = pair, *left[KERNELS_MOST];
	size_t n = 0, number = pairs;
	for (size_t k = 0; k < pairs; k += PAIR_SHAPES) {
		if (pair[k].unseen && wrong_of(k)) {
			fprintf(stderr, "%s: wrong under lag, though nothing can show it\n", pair[k].name);
			failures++;
		} else if (!pair[k].unseen && !wrong_of(k)) {
			left[n++] = &pair[k];
		}
	}
	for (size_t i = 0; i < n; i++) {
		size_t shapes = number - (size_t)(left[i] - all);
		look_alone(left[i], shapes < PAIR_SHAPES ? shapes : PAIR_SHAPES);
	}
	pair = all;
	pairs = number;
}

static void choose_pair(const char *name)
{
	while (pairs && strcmp(pair->name, name))
		pair++, pairs--;
	CHECK(pairs);
	pairs = 1;
}

int main(int argc, char **argv)
{
	const unsigned seeds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	CHECK(seeds && argc < 4);
	pair = pairs_all(&pairs);
	if (argc > 2)
		choose_pair(argv[2]);
	CHECK(2 * pairs <= KERNELS_MOST);
	make_module();
	for (int k = 0; k < SCHEDULES; k++)
		for (unsigned seed = 1; seed <= (k == LAG ? LAG_MORE * seeds : seeds) && failures < 20; seed++)
			one(k, seed);
	witnesses();
	printf("%zu pairs, %u seeds of %d schedules, %u of the last, %u failures\n", pairs, seeds, SCHEDULES, LAG_MORE * seeds, failures);
	return failures != 0;
}

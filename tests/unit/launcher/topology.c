/* topology_find: of a machine that hwloc reads from a file (HWLOC_XMLFILE), and of an NVML that is not NVIDIA's. argv: that NVML. */
#include "supervisor/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(fact) \
	do { \
		if (!(fact)) { \
			fprintf(stderr, "topology.c:%d: %s\n", __LINE__, #fact); \
			exit(1); \
		} \
	} while (0)

static const char *const buses[] = {"0000:01:00.0", "0000:02:00.0", "0000:81:00.0", "0000:41:00.0"};
enum { GPUS = sizeof buses / sizeof *buses };

static const struct report *look(const char *nvml, int machine)
{
	static struct report r;
	r = (struct report){.gpus = GPUS};
	for (int i = 0; i < GPUS; i++)
		r.gpu[i] = (struct report_gpu){.number = i, .numa = -1, .bus = buses[i]};
	topology_find(&r, nvml, machine);
	return &r;
}

static int linked(const struct report *r)
{
	int n = 0;
	for (int i = 0; i < GPUS; i++)
		for (int j = 0; j < GPUS; j++)
			n += r->gpu[i].linked || r->gpu[i].links[j];
	return n;
}

static void nodes(const char *nvml)
{
	static const int node[GPUS] = {0, 0, 1, -1}; /* the last is on the machine's bus */
	const struct report *r = look(nvml, 1);
	for (int i = 0; i < GPUS; i++)
		CHECK(r->gpu[i].numa == node[i]);
	r = look(nvml, 0);
	for (int i = 0; i < GPUS; i++)
		CHECK(r->gpu[i].numa == -1);
}

static void links(const char *nvml)
{
	static const uint32_t links[GPUS][GPUS] = {{0, 2, 1, 0}, {2, 0, 0, 0}, {1, 0, 0, 0}, {0, 0, 0, 0}};
	const struct report *r = look(nvml, 1);
	for (int i = 0; i < GPUS; i++)
		for (int j = 0; j < GPUS; j++)
			CHECK(r->gpu[i].links[j] == links[i][j]);
	CHECK(r->gpu[0].linked && r->gpu[1].linked && r->gpu[2].linked && !r->gpu[3].linked);
}

static void without(const char *nvml)
{
	static const char *const does[] = {"refuses", "dies", "hangs"};
	CHECK(!linked(look("libno-nvml.so", 1)) && look("libno-nvml.so", 1)->gpu[2].numa == 1);
	CHECK(!linked(look("libm.so.6", 1))); /* it lacks the functions */
	for (int i = 0; i < 3; i++) {
		struct timespec from, to;
		setenv("NVML_TEST", does[i], 1);
		clock_gettime(CLOCK_MONOTONIC, &from);
		CHECK(!linked(look(nvml, 1)) && look(nvml, 1)->gpu[2].numa == 1);
		clock_gettime(CLOCK_MONOTONIC, &to);
		CHECK(to.tv_sec - from.tv_sec < 10);
	}
	unsetenv("NVML_TEST");
}

int main(int argc, char **argv)
{
	struct report none = {0};
	CHECK(argc == 2);
	topology_find(&none, argv[1], 1);
	nodes(argv[1]);
	links(argv[1]);
	without(argv[1]);
	return 0;
}

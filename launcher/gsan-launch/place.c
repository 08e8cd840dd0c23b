/* Puts a rank on the cores nearest its GPU, unless somebody has bound it already. Only a hint for speed: whatever is not
 * known leaves the rank where it is. GPUs are found by the driver's own folder in /proc, so no CUDA is started. */
#include <dirent.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "gsan-launch/launch.h"

#define PLACE_GPUS_MAX 64
struct place_gpus { unsigned count; char bus[PLACE_GPUS_MAX][20]; };

static int place_order(const void *a, const void *b) { return strcmp(a, b); }

/* Bus ids in the order in which equal GPUs are numbered. */
static void place_list(struct place_gpus *gpus)
{
	DIR *folder = opendir("/proc/driver/nvidia/gpus");
	struct dirent *entry;
	gpus->count = 0;
	while (folder && gpus->count < PLACE_GPUS_MAX && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && strlen(entry->d_name) < sizeof gpus->bus[0])
			strcpy(gpus->bus[gpus->count++], entry->d_name);
	if (folder)
		closedir(folder);
	qsort(gpus->bus, gpus->count, sizeof *gpus->bus, place_order);
}

/* The GPU that a program with this local rank will take, through CUDA_VISIBLE_DEVICES if that holds plain numbers. */
static const char *place_gpu(const struct place_gpus *gpus, int local)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	unsigned long number = (unsigned long)local, count = gpus->count;
	if (visible && *visible) {
		char *end;
		unsigned long list[PLACE_GPUS_MAX];
		count = 0;
		for (const char *at = visible; count < PLACE_GPUS_MAX; at = end + 1) {
			list[count] = strtoul(at, &end, 10);
			if (end == at)
				return NULL;
			count++;
			if (*end != ',')
				break;
		}
		number = list[number % count];
	} else if (count) {
		number %= count;
	}
	return number < gpus->count ? gpus->bus[number] : NULL;
}

static void place_bind(hwloc_topology_t topology, const char *bus)
{
	hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology, bus);
	hwloc_obj_t near = device ? hwloc_get_non_io_ancestor_obj(topology, device) : NULL;
	hwloc_cpuset_t now = hwloc_bitmap_alloc();
	hwloc_const_cpuset_t all = hwloc_topology_get_complete_cpuset(topology);
	int bound = !now || hwloc_get_cpubind(topology, now, HWLOC_CPUBIND_PROCESS) || !hwloc_bitmap_isequal(now, all);
	if (near && near->cpuset && !hwloc_bitmap_iszero(near->cpuset) && !bound)
		hwloc_set_cpubind(topology, near->cpuset, HWLOC_CPUBIND_PROCESS);
	log_debug("GPU %s: %s", bus, bound ? "the rank is bound already" : near ? "the rank is put near it" : "place unknown");
	hwloc_bitmap_free(now);
}

void launch_place(const struct launch *l, int rank)
{
	struct place_gpus gpus;
	hwloc_topology_t topology;
	if (l->emulated)
		return;
	place_list(&gpus);
	const char *bus = place_gpu(&gpus, l->local_rank + rank - l->first_rank);
	if (!bus || hwloc_topology_init(&topology))
		return;
	if (!hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) && !hwloc_topology_load(topology))
		place_bind(topology, bus);
	hwloc_topology_destroy(topology);
}

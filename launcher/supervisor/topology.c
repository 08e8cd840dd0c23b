#include "supervisor/topology.h"

#include <dlfcn.h>
#include <hwloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TOPOLOGY_WAIT_MS 2000
#define TOPOLOGY_LOOK_MS 2

/* ---- NUMA nodes --------------------------------------------------------------------------------------------------- */

/* Of one node alone: what hangs on all of them is near none. */
static int topology_node(hwloc_topology_t topology, const char *bus)
{
	hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology, bus);
	hwloc_obj_t near = device ? hwloc_get_non_io_ancestor_obj(topology, device) : NULL;
	return near && near->nodeset && hwloc_bitmap_weight(near->nodeset) == 1 ? hwloc_bitmap_first(near->nodeset) : -1;
}

static void topology_nodes(struct report_gpu *gpu, uint32_t gpus)
{
	hwloc_topology_t topology;
	if (hwloc_topology_init(&topology))
		return;
	if (!hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) && !hwloc_topology_load(topology))
		for (uint32_t i = 0; i < gpus; i++)
			gpu[i].numa = topology_node(topology, gpu[i].bus);
	hwloc_topology_destroy(topology);
}

/* ---- NVLinks ------------------------------------------------------------------------------------------------------ */

#define NVML_LINKS 36 /* more than any GPU has */
struct nvml_pci { char legacy[16]; unsigned domain, bus, device, ids, subsystem; char text[32]; }; /* nvmlPciInfo_t */
struct nvml {
	int (*start)(void), (*end)(void);
	int (*find)(const char *bus, void **device);
	int (*state)(void *device, unsigned link, int *active);
	int (*remote)(void *device, unsigned link, struct nvml_pci *pci);
};

static int nvml_load(struct nvml *n, const char *name)
{
	const struct { const char *name; void *to; } row[] = {
		{"nvmlInit_v2", &n->start}, {"nvmlShutdown", &n->end}, {"nvmlDeviceGetHandleByPciBusId_v2", &n->find},
		{"nvmlDeviceGetNvLinkState", &n->state}, {"nvmlDeviceGetNvLinkRemotePciInfo_v2", &n->remote}};
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL), *found = library;
	for (size_t i = 0; found && i < sizeof row / sizeof *row; i++) {
		found = dlsym(library, row[i].name);
		memcpy(row[i].to, &found, sizeof found);
	}
	return found && !n->start();
}

static int topology_is(const struct report_gpu *gpu, const struct nvml_pci *pci)
{
	unsigned domain, bus, device;
	return sscanf(gpu->bus, "%x:%x:%x", &domain, &bus, &device) == 3 && domain == pci->domain && bus == pci->bus && device == pci->device;
}

/* Links from GPU i to others of the job; how many lead elsewhere, which is to a switch. -1: it is not known. */
static int topology_links_of(const struct nvml *n, struct report_gpu *gpu, uint32_t gpus, uint32_t i)
{
	struct nvml_pci pci;
	void *device;
	int active, elsewhere = 0;
	if (n->find(gpu[i].bus, &device))
		return -1;
	for (unsigned link = 0; link < NVML_LINKS; link++) {
		if (n->state(device, link, &active) || !active || n->remote(device, link, &pci))
			continue;
		uint32_t to = 0;
		while (to < gpus && !topology_is(&gpu[to], &pci))
			to++;
		if (to < gpus)
			gpu[i].links[to]++;
		else
			elsewhere++;
	}
	return elsewhere;
}

static void topology_links(struct report_gpu *gpu, uint32_t gpus, const char *name)
{
	struct nvml n;
	int elsewhere[REPORT_GPUS_MAX];
	if (!nvml_load(&n, name))
		return;
	for (uint32_t i = 0; i < gpus; i++) {
		elsewhere[i] = topology_links_of(&n, gpu, gpus, i);
		gpu[i].linked = elsewhere[i] >= 0;
	}
	for (uint32_t i = 0; i < gpus; i++)
		for (uint32_t j = 0; j < gpus; j++) /* through switches, as many as both have */
			if (i != j && gpu[i].linked && gpu[j].linked && !gpu[i].links[j])
				gpu[i].links[j] = (uint32_t)(elsewhere[i] < elsewhere[j] ? elsewhere[i] : elsewhere[j]);
	n.end();
}

/* ---- in time ------------------------------------------------------------------------------------------------------ */

/* What the process that asks has found by now. Flags are stored with release, behind what they are about. */
struct topology { struct report_gpu gpu[REPORT_GPUS_MAX]; _Atomic int nodes, links; };

static void topology_await(pid_t child)
{
	for (int ms = 0; ms < TOPOLOGY_WAIT_MS; ms += TOPOLOGY_LOOK_MS) {
		if (waitpid(child, NULL, WNOHANG))
			return;
		nanosleep(&(struct timespec){0, TOPOLOGY_LOOK_MS * 1000000}, NULL);
	}
	kill(child, SIGKILL); /* and who does not end even so is nobody to wait for */
}

static void topology_ask(struct topology *t, uint32_t gpus, const char *nvml, int machine)
{
	close_range(3, ~0u, 0); /* what it held would outlive the supervisor, if it does not end */
	if (machine)
		topology_nodes(t->gpu, gpus);
	atomic_store_explicit(&t->nodes, 1, memory_order_release);
	topology_links(t->gpu, gpus, nvml);
	atomic_store_explicit(&t->links, 1, memory_order_release);
}

void topology_find(struct report *r, const char *nvml, int machine)
{
	struct topology *t = r->gpus ? mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
	if (t == MAP_FAILED)
		return;
	memcpy(t->gpu, r->gpu, sizeof r->gpu);
	pid_t child = fork();
	if (child == 0) {
		topology_ask(t, r->gpus, nvml, machine);
		_exit(0);
	}
	if (child > 0)
		topology_await(child);
	int nodes = atomic_load_explicit(&t->nodes, memory_order_acquire), links = atomic_load_explicit(&t->links, memory_order_acquire);
	for (uint32_t i = 0; i < r->gpus; i++) {
		if (nodes)
			r->gpu[i].numa = t->gpu[i].numa;
		if (links) {
			r->gpu[i].linked = t->gpu[i].linked;
			memcpy(r->gpu[i].links, t->gpu[i].links, sizeof r->gpu[i].links);
		}
	}
	munmap(t, sizeof *t);
}

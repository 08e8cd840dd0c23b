/* topology: where the job's GPUs are in the machine, and how they are linked: hwloc knows their NUMA nodes, NVML their NVLinks. */
#ifndef GSAN_SUPERVISOR_TOPOLOGY_H
#define GSAN_SUPERVISOR_TOPOLOGY_H

#include "report/report.h"

/* For r->gpu, by their buses. nvml: what to load as NVML. machine: hwloc may be asked, for they are GPUs of this machine. All that is not
 * known within two seconds stays unknown: it is asked by a process of its own, for the driver may not answer any more. */
void topology_find(struct report *r, const char *nvml, int machine);

#endif

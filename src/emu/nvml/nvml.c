/* As much of NVML as says how devices are linked: the emulated ones have four NVLinks each, to one switch. Not under NVML's own name,
 * by which programs would look for all of it. */
#include <stdio.h>
#include <stdint.h>
#include <string.h>

#define API __attribute__((visibility("default")))
#define LINKS 4
#define SUCCESS 0
#define INVALID_ARGUMENT 2 /* NVML's number */

struct pci { char legacy[16]; unsigned domain, bus, device, ids, subsystem; char text[32]; }; /* nvmlPciInfo_t */

API int nvmlInit_v2(void);
API int nvmlShutdown(void);
API int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device);
API int nvmlDeviceGetNvLinkState(void *device, unsigned link, int *active);
API int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, struct pci *pci);

int nvmlInit_v2(void) { return SUCCESS; }
int nvmlShutdown(void) { return SUCCESS; }

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device)
{
	unsigned domain, number, slot;
	if (sscanf(bus, "%x:%x:%x", &domain, &number, &slot) != 3 || !number)
		return INVALID_ARGUMENT;
	*device = (void *)(uintptr_t)number; /* as cuDeviceGetPCIBusId() has it */
	return SUCCESS;
}

int nvmlDeviceGetNvLinkState(void *device, unsigned link, int *active)
{
	*active = device && link < LINKS;
	return link < LINKS ? SUCCESS : INVALID_ARGUMENT;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, struct pci *pci)
{
	if (!device || link >= LINKS)
		return INVALID_ARGUMENT;
	*pci = (struct pci){.bus = 0xf0};
	snprintf(pci->text, sizeof pci->text, "%08X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
	return SUCCESS;
}

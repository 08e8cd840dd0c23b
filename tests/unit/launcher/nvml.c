/* An NVML of three GPUs, or as NVML_TEST says: 01 and 02 have two direct links; 81 has three to a switch, as 01 has one; 41 is unknown.
 * "hangs", "dies" and "refuses" are what it may do instead. */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
struct pci { char legacy[16]; unsigned domain, bus, device, ids, subsystem; char text[32]; };
struct link { unsigned from, to; };
static const struct link links[] = {{0x01, 0x02}, {0x01, 0x02}, {0x02, 0x01}, {0x02, 0x01}, {0x01, 0xf0}, {0x81, 0xf0}, {0x81, 0xf0}, {0x81, 0xf0}};
#define LINKS (sizeof links / sizeof *links)

API int nvmlInit_v2(void);
API int nvmlShutdown(void);
API int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device);
API int nvmlDeviceGetNvLinkState(void *device, unsigned link, int *active);
API int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, struct pci *pci);

int nvmlInit_v2(void)
{
	const char *what = getenv("NVML_TEST");
	if (what && !strcmp(what, "hangs"))
		pause();
	if (what && !strcmp(what, "dies"))
		raise(SIGSEGV);
	return what && !strcmp(what, "refuses");
}

int nvmlShutdown(void) { return 0; }

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device)
{
	*device = (void *)(uintptr_t)strtoul(bus + 5, NULL, 16);
	return (uintptr_t)*device == 0x41;
}

/* Links are numbered from 0 on for each GPU. Its ninth is there, and down. */
static const struct link *nth(void *device, unsigned link)
{
	for (size_t i = 0; i < LINKS; i++)
		if (links[i].from == (uintptr_t)device && !link--)
			return &links[i];
	return NULL;
}

int nvmlDeviceGetNvLinkState(void *device, unsigned link, int *active)
{
	*active = nth(device, link) != NULL;
	return !*active && link != 8;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, struct pci *pci)
{
	*pci = (struct pci){.bus = nth(device, link)->to};
	return 0;
}

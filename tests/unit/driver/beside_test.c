/* What stands beside a module, and what takes its place (fat.c), without a driver: the kind of image is the test's own. */
#include <string.h>

#include "../check.h"
#include "cuda/real.h"
#include "driver/fat.h"
#include "driver/flow.h"
#include "ptx/ptx.h"

struct real real;

static int gpu = 90, context = 1, captures, loads, unloads, forgets;
static uint32_t plain_registers = 40, better_registers = 40;
static const char *refusal;
static int plain, better, module; /* their addresses are handles */

static CUresult get_device(CUdevice *device) { return *device = 0, context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT; }
static CUresult get_first(CUdevice *device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; }
static CUresult get_current(CUcontext *at) { return *at = (CUcontext)(intptr_t)context, CUDA_SUCCESS; }
static CUresult get_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	(void)device;
	*value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? gpu / 10 : gpu % 10;
	return CUDA_SUCCESS;
}

static void own_unload(void *handle) { unloads += handle == &better ? 1 : 100; }
static void own_forget(void *handle) { forgets += handle == &better; }
static uint32_t own_registers(void *handle, const char *kernel)
{
	return strcmp(kernel, "k") ? 0 : handle == &plain ? plain_registers : better_registers;
}
static const struct image_kind own = {.unload = own_unload, .forget = own_forget, .registers = own_registers};
const struct image_kind image_module = {.unload = own_unload, .forget = own_forget, .registers = own_registers};

/* ---- of the rest of libgsan ---- */

char *image_kernel(const struct ptx_module *m, uint32_t function)
{
	return m->function[function].is_entry ? strndup(m->text + m->function[function].name.off, m->function[function].name.len) : NULL;
}

const char *image_load_checked(const struct image *i, void *from, const char *text, void **handle)
{
	CHECK(from == &plain && strstr(text, ".entry k") && !strcmp(i->source, IMAGE_MEMORY));
	loads++;
	if (!refusal)
		*handle = &better;
	return refusal;
}

const char *image_replace(const struct image *i, const char *text, void **handle) { return image_load_checked(i, *handle, text, handle); }
int flow_captures(void) { return captures; }
struct flow *flow_current(void) { return context ? (struct flow *)&plain : NULL; }
void flow_note(struct flow *f, const char *key, const char *name, const char *reason) { (void)f, (void)key, (void)name, (void)reason; }

/* ---- */

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define BODY(name) ".visible .entry k(.param .u64 p)\n{\n\t.reg .b64 %rd<2>;\n\tmov.u64 %rd1, " name ";\n\tret;\n}\n"
static const char weak[] = HEAD BODY("0");
static const char names[] = HEAD ".visible .global .u32 v;\n" BODY("v");
static const char names_constant[] = HEAD ".const .u32 v;\n" BODY("v");
static const char string[] = HEAD ".global .align 1 .b8 $str[2] = {120};\n" BODY("$str");
static const char unused[] = HEAD ".visible .global .u32 v;\n" BODY("0");

/* Loads a fat binary with this text; its handle from then on. */
static void *load(const struct image_kind *kind, const char *text)
{
	struct { uint32_t magic; uint16_t version, header; uint64_t size; } head = {0xba55ed50, 1, 16, 0};
	struct {
		uint16_t kind, version;
		uint32_t header;
		uint64_t size;
		uint32_t no[2], number, arch, name[2];
		uint64_t flags[2], whole;
	} entry = {.kind = 1, .version = 0x101, .header = 64, .size = strlen(text) + 1, .arch = 90};
	struct image i = {.kind = kind, .source = IMAGE_MEMORY};
	static unsigned char bytes[4096];
	struct fatbin b;
	void *handle = &plain;

	loads = unloads = forgets = 0;
	head.size = sizeof(entry) + entry.size;
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), &entry, sizeof(entry));
	memcpy(bytes + sizeof(head) + sizeof(entry), text, strlen(text) + 1);
	CHECK(sizeof(entry) == 64 && !fatbin_open(bytes, 0, &b));
	fat_binary(&i, &b, &handle);
	return handle;
}

static int said(const char *reason, const char *part) { return reason && strstr(reason, part); }

static void beside(void)
{
	struct holder clones = {0};

	CHECK(load(&image_module, weak) == &plain && !loads);
	CHECK(!fat_clones(&plain, &clones) && clones.module == (CUmodule)(void *)&better && !clones.library && loads == 1);
	CHECK(!fat_clones(&plain, &clones) && loads == 1); /* once */
	fat_forget(&plain, 1);
	CHECK(unloads == 1 && said(fat_clones(&plain, &clones), "no PTX of it passed"));
	CHECK(load(&own, weak) == &plain && !fat_clones(&plain, &clones) && clones.library == (CUlibrary)(void *)&better);
	fat_forget_context((CUcontext)1); /* libraries outlive contexts, */
	CHECK(!fat_clones(&plain, &clones));
	fat_library_module((CUlibrary)(void *)&plain, (CUmodule)(void *)&module);
	CHECK(!fat_clones(&module, &clones) && clones.library == (CUlibrary)(void *)&better && loads == 1);
	fat_forget(&module, 0); /* another one has this handle now */
	CHECK(fat_clones(&module, &clones));
	fat_library_module((CUlibrary)(void *)&plain, (CUmodule)(void *)&module);
	fat_forget(&plain, 1);
	CHECK(fat_clones(&module, &clones));
	CHECK(load(&image_module, weak) == &plain && !fat_clones(&plain, &clones));
	fat_forget_context((CUcontext)2);
	CHECK(!fat_clones(&plain, &clones));
	fat_forget_context((CUcontext)1); /* modules do not */
	CHECK(!unloads && fat_clones(&plain, &clones));
}

static void elsewhere(void)
{
	struct holder clones;

	load(&image_module, weak);
	context = 2;
	CHECK(said(fat_clones(&plain, &clones), "another context"));
	context = 1;
	gpu = 100;
	CHECK(said(fat_clones(&plain, &clones), "another GPU"));
	gpu = 90;
	CHECK(!loads && !fat_clones(&plain, &clones));
	context = 2; /* they are made */
	CHECK(!fat_clones(&plain, &clones) && loads == 1);
	context = 1;
	fat_forget(&plain, 1);
	refusal = "refused";
	load(&image_module, weak);
	CHECK(said(fat_clones(&plain, &clones), "refused") && said(fat_clones(&plain, &clones), "refused") && loads == 1);
	CHECK(!unloads);
	fat_forget(&plain, 1);
	CHECK(!unloads);
	refusal = NULL;
}

/* Of a module whose kernels name its variables there are not two. */
static void replaced(void)
{
	static const char *const naming[] = {names, names_constant}, *const others[] = {string, unused};
	struct holder clones;

	for (int i = 0; i < 2; i++) {
		CHECK(load(&own, naming[i]) == &better && loads == 1 && unloads == 100 && forgets == 1);
		CHECK(load(&own, others[i]) == &plain && !loads);
		fat_forget(&plain, 1);
	}
	better_registers = 39; /* they are allocated by eights */
	plain_registers = 33;
	CHECK(load(&own, names) == &better);
	better_registers = 41;
	CHECK(load(&own, names) == &plain && unloads == 1 && said(fat_clones(&plain, &clones), "more registers"));
	fat_forget(&plain, 1);
	context = 0;
	CHECK(load(&own, names) == &plain && !loads && said(fat_clones(&plain, &clones), "before there was a context"));
	context = 1;
	fat_forget(&plain, 1);
}

/* While a stream is being captured nothing ends but with what the program has. */
static void replaced_while_captured(void)
{
	struct holder clones;

	captures = 1;
	better_registers = plain_registers;
	CHECK(load(&own, names) == &better && loads == 1 && !unloads && said(fat_clones(&better, &clones), "no PTX of it passed"));
	fat_forget(&better, 1);
	CHECK(unloads == 100);
	better_registers = 41;
	CHECK(load(&own, names) == &plain && !unloads && said(fat_clones(&plain, &clones), "more registers"));
	fat_forget(&plain, 1);
	CHECK(unloads == 1);
	CHECK(load(&image_module, names) == &plain && !unloads);
	fat_forget(&plain, 0); /* with its context, and so has the other */
	CHECK(!unloads);
	captures = 0;
}

int main(void)
{
	real.cuCtxGetDevice = get_device;
	real.cuDeviceGet = get_first;
	real.cuCtxGetCurrent = get_current;
	real.cuDeviceGetAttribute = get_attribute;
	beside();
	elsewhere();
	replaced();
	replaced_while_captured();
	return 0;
}

/* NVRTC and nvJitLink (fakertc.c) with libgsan.so before the program, found by dlsym: what passes through, and how often. `rtc_test emu` as on
 * the emulated device. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/check.h"
#include "unit/driver/fakertc.h"

static void *library, *second;
static struct fakertc *fake;

static void *find(void *handle, const char *name)
{
	void *found = dlsym(handle, name);

	CHECK(found != NULL);
	return found;
}
#define CALL(name, ...) ((__typeof__(name) *)find(library, #name))(__VA_ARGS__)

static int compile(int count, const char *const *option) { return CALL(nvrtcCompileProgram, NULL, count, option); }

static void lines(void)
{
	static const char *const plain[] = {"-arch=sm_90"}, *const has[] = {"-arch=sm_90", "--generate-line-info"}, *const debug[] = {"-G"};

	CHECK(compile(1, plain) == 0);
	CHECK(fake->options == 2);
	CHECK(fake->lines == 1);
	CHECK(compile(0, NULL) == 0);
	CHECK(fake->options == 1);
	CHECK(compile(2, has) == 0);
	CHECK(fake->options == 2);
	CHECK(fake->lines == 0);
	CHECK(compile(1, debug) == 0);
	CHECK(fake->lines == 0);
	fake->refuses_lines = 1;
	fake->compiles = 0;
	CHECK(compile(1, plain) == 0);
	CHECK(fake->compiles == 2);
	CHECK(fake->lines == 0);
}

static void machine_code(const char *expected)
{
	size_t size = 0;
	char made[64] = "";

	fake->cubin = "a cubin";
	fake->ptx = ".version 8.0 of it";
	CHECK(CALL(nvrtcGetCUBINSize, NULL, &size) == 0);
	CHECK(size == strlen(expected) + 1);
	CHECK(CALL(nvrtcGetCUBIN, NULL, made) == 0);
	CHECK(!strcmp(made, expected));
	fake->ptx = NULL; /* it was compiled for a linker that optimises */
	CHECK(CALL(nvrtcGetCUBINSize, NULL, &size) == 0);
	CHECK(CALL(nvrtcGetCUBIN, NULL, made) == 0);
	CHECK(!strcmp(made, "a cubin"));
	fake->cubin = NULL; /* a virtual architecture */
	fake->ptx = ".version 8.0 of it";
	CHECK(CALL(nvrtcGetCUBINSize, NULL, &size) == 0);
	CHECK(size == 0);
}

static void *link_of(const char *option)
{
	void *link = NULL;

	fake->links = fake->adds = fake->completes = 0;
	CHECK(CALL(nvJitLinkCreate, &link, 1, &option) == 0);
	return link;
}

static void linked(void *link, const char *expected)
{
	char made[64] = "";
	size_t size = 0;

	CHECK(CALL(nvJitLinkComplete, link) == 0);
	CHECK(CALL(nvJitLinkGetLinkedCubinSize, link, &size) == 0);
	CHECK(size == strlen(expected) + 1);
	CHECK(CALL(nvJitLinkGetLinkedCubin, link, made) == 0);
	CHECK(!strcmp(made, expected));
	CHECK(CALL(nvJitLinkDestroy, &link) == 0);
	CHECK(fake->alive == 0);
}

static void links(int emulated)
{
	static const char text[] = "// of it\n.version 8.0";

	fake->cubin = "a linked cubin";
	fake->ptx = ".version 8.0, all";
	void *link = link_of("-arch=sm_90"); /* of PTX: its cubin is that */
	CHECK(fake->links == 1);
	CHECK(CALL(nvJitLinkAddData, link, 2, text, sizeof(text) - 1, "it") == 0);
	linked(link, emulated ? text : "a linked cubin");

	link = link_of("-lto"); /* of what has none: another link makes it */
	CHECK(fake->links == 2);
	CHECK(fake->asked_ptx == 1);
	CHECK(CALL(nvJitLinkAddData, link, 3, "ltoir", 5, "it") == 0);
	CHECK(CALL(nvJitLinkAddFile, link, 3, "/nowhere") == 0);
	CHECK(fake->adds == 4);
	linked(link, emulated ? ".version 8.0, all" : "a linked cubin");
	CHECK(fake->completes == 2);

	link = link_of("-lto"); /* which may not take an input, and then is no more */
	fake->refuses_inputs = (char *)fake + 2;
	CHECK(CALL(nvJitLinkAddData, link, 3, "ltoir", 5, "it") == 0);
	CHECK(fake->alive == 1);
	fake->refuses_inputs = NULL;
	linked(link, "a linked cubin");
	CHECK(fake->completes == 1);

	link = link_of("-lto"); /* given up before it is complete */
	CHECK(fake->alive == 2);
	CHECK(CALL(nvJitLinkDestroy, &link) == 0);
	CHECK(fake->alive == 0);

	const char *both[] = {"-lto", "-ptx"}; /* the program wants PTX itself */
	fake->links = 0;
	CHECK(CALL(nvJitLinkCreate, &link, 2, both) == 0);
	CHECK(fake->links == 1);
	CHECK(CALL(nvJitLinkDestroy, &link) == 0);
}

/* Those of a second version, and what has no hook, are as they are. */
static void unchanged(void)
{
	static const char *const names[] = {"nvrtcCompileProgram", "nvrtcGetCUBIN", "nvJitLinkCreate"};
	int major = 0, minor;
	Dl_info of;

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		CHECK(dladdr(find(library, names[i]), &of) && strstr(of.dli_fname, "libgsan"));
		CHECK(dladdr(find(second, names[i]), &of) && strstr(of.dli_fname, "second"));
	}
	CHECK(dladdr(find(library, "nvrtcVersion"), &of) && !strstr(of.dli_fname, "libgsan"));
	CHECK(CALL(nvrtcVersion, &major, &minor) == 0);
	CHECK(major == 13);
	CHECK(dlsym(library, "nvrtcNothing") == NULL);
	CHECK(dlerror() != NULL);
	CHECK(dlsym(RTLD_DEFAULT, "nvrtcGetCUBIN") == NULL);
}

/* Closed and opened again it is the same, and stays hooked: it was not unloaded. */
static void again(void)
{
	Dl_info of;
	void *entry = find(library, "nvrtcCompileProgram");

	CHECK(dlclose(library) == 0);
	library = dlopen("libfakertc.so", RTLD_NOW | RTLD_LOCAL);
	CHECK(library && find(library, "nvrtcCompileProgram") == entry && dladdr(entry, &of) && strstr(of.dli_fname, "libgsan"));
	CHECK(compile(0, NULL) == 0);
}

int main(int argc, char **argv)
{
	int emulated = argc > 1 && !strcmp(argv[1], "emu");

	library = dlopen("libfakertc.so", RTLD_NOW | RTLD_LOCAL);
	second = dlopen("libfakertc_second.so", RTLD_NOW | RTLD_LOCAL);
	if (!library || !second) {
		fprintf(stderr, "rtc_test: %s\n", dlerror());
		return 1;
	}
	fake = find(library, "fakertc");
	unchanged();
	lines();
	machine_code(emulated ? ".version 8.0 of it" : "a cubin");
	links(emulated);
	again();
	return 0;
}

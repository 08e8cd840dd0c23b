#include "driver/rtc.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "cuda/real.h"
#include "driver/image.h"
#include "driver/link.h"
#include "driver/map.h"
#include "ipc/proto.h"

#define SUCCESS 0
#define NVRTC_INVALID_OPTION 5
#define INTERNAL_ERROR 11 /* of NVRTC */
enum { NVJITLINK_CUBIN = 1, NVJITLINK_PTX = 2, NVJITLINK_ANY = 10 };

/* The libraries of one major version of CUDA, as dlsym found them, or as programs are linked to them: a process may have two of one version.
 * NULL: not found yet, or it has none. */
struct rtc {
#define RTC(library, name, parameters, ...) int (*name) parameters;
#define RTC_REAL RTC
#include "driver/rtc.def"
};
enum { RTC_12, RTC_13, RTC_VERSIONS, LINKED_12 = RTC_VERSIONS, LINKED_13, RTC_TABLES };
static struct rtc tables[RTC_TABLES];

/* Is this process checked? The driver need not have been called, and state.h's answer would make it so: a forked child may use CUDA yet. */
static int rtc_checked(void) { return getenv(GSAN_ENV_SOCKET) != NULL; }

/* The emulated device runs PTX: there it stands for machine code. */
static int rtc_emulated(void)
{
	const char *device = getenv(GSAN_ENV_DEVICE);

	return device && !strcmp(device, "emu");
}

/* malloc'ed, or NULL: it was made to be something else. */
static char *rtc_text(void *handle, int (*tell_size)(void *, size_t *), int (*tell)(void *, char *))
{
	char *text = NULL;
	size_t size;

	if (!tell_size || !tell || tell_size(handle, &size) != SUCCESS || size <= 1)
		return NULL;
	text = malloc(size + 1);
	if (text && tell(handle, text) == SUCCESS) {
		text[size] = 0;
		return text;
	}
	free(text);
	return NULL;
}

/* ---- NVRTC ----------------------------------------------------------------------------------------------------- */

static int rtc_has_lines(int count, const char *const *option)
{
	static const char *const those[] = {"-lineinfo", "--generate-line-info", "-G", "--device-debug"};

	for (int i = 0; i < count; i++)
		for (unsigned k = 0; k < sizeof(those) / sizeof(*those); k++)
			if (!option || !option[i] || !strcmp(option[i], those[k]))
				return 1;
	return 0;
}

static int body_nvrtcCompileProgram(const struct rtc *r, void *program, int count, const char *const *option)
{
	int rc;
	const char **more = count < 0 || rtc_has_lines(count, option) ? NULL : calloc((size_t)count + 1, sizeof(*more));

	if (!more)
		return r->nvrtcCompileProgram(program, count, option);
	more[0] = "-lineinfo"; /* behind the others it might be the value of one that has none */
	for (int i = 0; i < count; i++)
		more[i + 1] = option[i];
	rc = r->nvrtcCompileProgram(program, count + 1, more);
	free(more);
	return rc == NVRTC_INVALID_OPTION ? r->nvrtcCompileProgram(program, count, option) : rc;
}

static int body_nvrtcGetCUBINSize(const struct rtc *r, void *program, size_t *size)
{
	int rc = r->nvrtcGetCUBINSize(program, size);
	size_t emulated;

	if (rc == SUCCESS && *size && rtc_emulated() && r->nvrtcGetPTXSize && r->nvrtcGetPTXSize(program, &emulated) == SUCCESS)
		*size = emulated;
	return rc;
}

static int body_nvrtcGetCUBIN(const struct rtc *r, void *program, char *cubin)
{
	size_t made;
	char *text = r->nvrtcGetCUBINSize(program, &made) == SUCCESS && made ? rtc_text(program, r->nvrtcGetPTXSize, r->nvrtcGetPTX) : NULL;
	int emulated = text && cubin && rtc_emulated(), rc = SUCCESS;

	if (emulated)
		strcpy(cubin, text);
	else
		rc = r->nvrtcGetCUBIN(program, cubin);
	if (rc == SUCCESS && text && !emulated)
		link_told(cubin, made, text, "PTX of NVRTC");
	free(text);
	return rc;
}

/* ---- nvJitLink ------------------------------------------------------------------------------------------------- */

/* What optimises while it links (-lto) is given no PTX, but makes it, if it is told to, in the place of machine code: so beside such a link
 * there is another one, of the same inputs, for that. */
static struct map twins = MAP_INIT; /* by the program's handle */

static int rtc_optimises(uint32_t count, const char *const *option)
{
	int lto = 0, ptx = 0;

	for (uint32_t i = 0; i < count; i++) {
		lto |= !strcmp(option[i], "-lto");
		ptx |= !strcmp(option[i], "-ptx");
	}
	return lto && !ptx;
}

static void rtc_twin_start(const struct rtc *r, void *link, uint32_t count, const char *const *option)
{
	const char **more = calloc((size_t)count + 2, sizeof(*more));
	void *twin = NULL;

	for (uint32_t i = 0; more && i < count; i++)
		more[i] = option[i];
	if (more) {
		more[count] = "-ptx";
		more[count + 1] = "-lineinfo";
	}
	if (more && r->nvJitLinkCreate(&twin, count + 2, more) == SUCCESS && map_put(&twins, (uintptr_t)link, twin))
		r->nvJitLinkDestroy(&twin);
	free(more);
}

static void rtc_twin_end(const struct rtc *r, void *link)
{
	void *twin = map_remove(&twins, (uintptr_t)link);

	if (twin)
		r->nvJitLinkDestroy(&twin);
}

static int body_nvJitLinkCreate(const struct rtc *r, void **link, uint32_t count, const char **option)
{
	int rc = r->nvJitLinkCreate(link, count, option);

	if (rc == SUCCESS && rtc_optimises(count, option) && r->nvJitLinkGetLinkedPtx)
		rtc_twin_start(r, *link, count, option);
	return rc;
}

static int body_nvJitLinkComplete(const struct rtc *r, void *link)
{
	int rc = r->nvJitLinkComplete(link);
	void *twin = rc == SUCCESS ? map_get(&twins, (uintptr_t)link) : NULL;
	char *text = twin && r->nvJitLinkComplete(twin) == SUCCESS ?
		rtc_text(twin, r->nvJitLinkGetLinkedPtxSize, r->nvJitLinkGetLinkedPtx) : NULL;

	if (text)
		link_whole(link, text);
	free(text);
	rtc_twin_end(r, link);
	return rc;
}

/* The PTX of an input; NULL: there is none. Of machine code, what it was made of. malloc'ed */
static char *rtc_input(int type, const void *data, size_t size)
{
	const char *made = NULL, *source;
	char *text;

	if (!data)
		return NULL;
	if (type != NVJITLINK_PTX && link_made(data, size, &made, &source))
		return made ? strdup(made) : NULL;
	if (type != NVJITLINK_PTX && type != NVJITLINK_ANY && !(type == NVJITLINK_CUBIN && rtc_emulated()))
		return NULL;
	text = strndup(data, size);
	if (text && image_is_ptx(text))
		return text;
	free(text);
	return NULL;
}

static int body_nvJitLinkAddData(const struct rtc *r, void *link, int type, const void *data, size_t size, const char *name)
{
	char *text = rtc_input(type, data, size);
	void *twin = map_get(&twins, (uintptr_t)link);
	int rc = r->nvJitLinkAddData(link, text && rtc_emulated() ? NVJITLINK_PTX : type, data, size, name);

	if (rc == SUCCESS)
		link_input(link, text, text ? strlen(text) : 0, name);
	if (twin && (rc != SUCCESS || r->nvJitLinkAddData(twin, type, data, size, name) != SUCCESS))
		rtc_twin_end(r, link);
	free(text);
	return rc;
}

static int body_nvJitLinkAddFile(const struct rtc *r, void *link, int type, const char *path)
{
	int rc = r->nvJitLinkAddFile(link, type, path);
	char *data = NULL, *text = NULL;
	void *twin = map_get(&twins, (uintptr_t)link);
	size_t size;

	if (twin && (rc != SUCCESS || r->nvJitLinkAddFile(twin, type, path) != SUCCESS))
		rtc_twin_end(r, link);
	if (rc != SUCCESS)
		return rc;
	if (!text_read_file(path, &data, &size))
		text = rtc_input(type, data, size);
	link_input(link, text, text ? strlen(text) : 0, path);
	free(text);
	free(data);
	return rc;
}

static int body_nvJitLinkGetLinkedCubinSize(const struct rtc *r, void *link, size_t *size)
{
	const char *text, *source;
	int rc = r->nvJitLinkGetLinkedCubinSize(link, size);

	if (rc == SUCCESS && rtc_emulated() && link_of(link, &text, &source) && text)
		*size = strlen(text) + 1;
	return rc;
}

static int body_nvJitLinkGetLinkedCubin(const struct rtc *r, void *link, void *cubin)
{
	const char *text = NULL, *source;
	size_t size;
	int made = r->nvJitLinkGetLinkedCubinSize && r->nvJitLinkGetLinkedCubinSize(link, &size) == SUCCESS;
	int known = made && link_of(link, &text, &source), rc;

	if (known && text && cubin && rtc_emulated()) {
		strcpy(cubin, text);
		return SUCCESS;
	}
	rc = r->nvJitLinkGetLinkedCubin(link, cubin);
	if (rc == SUCCESS && known)
		link_told(cubin, size, text, source);
	return rc;
}

static int body_nvJitLinkDestroy(const struct rtc *r, void **link)
{
	if (link) {
		link_ended(*link);
		rtc_twin_end(r, *link);
	}
	return r->nvJitLinkDestroy(link);
}

/* ---- the entries ------------------------------------------------------------------------------------------------ */

static void rtc_linked(unsigned table);

/* Of NVRTC they are exported, too, for programs that are linked to it. */
#define ARGUMENTS(...) __VA_ARGS__
#define ENTRY(table, name, parameters, arguments) \
	__attribute__((visibility("default"))) int entry_##table##_##name parameters; \
	int entry_##table##_##name parameters \
	{ \
		const struct rtc *r = &tables[table]; \
		if (!r->name && (rtc_linked(table), !r->name)) \
			return INTERNAL_ERROR; /* it is linked to none that is known by its name: that was not seen yet */ \
		return rtc_checked() ? body_##name(r, ARGUMENTS arguments) : r->name arguments; \
	}
#define LINKED_nvJitLink(name, parameters, arguments)
#define LINKED_nvrtc(name, parameters, arguments) \
	ENTRY(LINKED_12, name, parameters, arguments) ENTRY(LINKED_13, name, parameters, arguments) \
	__asm__(".symver entry_LINKED_12_" #name ", " #name "@libnvrtc.so.12\n.symver entry_LINKED_13_" #name ", " #name "@libnvrtc.so.13");

#define RTC(library, name, parameters, arguments) \
	ENTRY(RTC_12, name, parameters, arguments) ENTRY(RTC_13, name, parameters, arguments) \
	LINKED_##library(name, parameters, arguments)
#include "driver/rtc.def"

static const struct rtc_row { const char *library, *name; void *entry[RTC_VERSIONS]; size_t real; } rows[] = {
#define RTC(library, name, ...) {#library, #name, {(void *)entry_RTC_12_##name, (void *)entry_RTC_13_##name}, offsetof(struct rtc, name)},
#define RTC_REAL(library, name, parameters) {#library, #name, {NULL, NULL}, offsetof(struct rtc, name)},
#include "driver/rtc.def"
};
#define ROWS (sizeof(rows) / sizeof(*rows))

static void **rtc_real(struct rtc *r, const struct rtc_row *row) { return (void **)((char *)r + row->real); }

static const struct rtc_row *rtc_row(const char *name)
{
	for (unsigned i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

static void rtc_library(struct rtc *r, const char *library, void *handle)
{
	for (unsigned i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].library, library))
			*rtc_real(r, &rows[i]) = real_dlsym(handle, rows[i].name);
}

/* Who is linked to NVRTC has it loaded. */
static void rtc_linked(unsigned table)
{
	void *handle = dlopen(table == LINKED_12 ? "libnvrtc.so.12" : "libnvrtc.so.13", RTLD_LAZY | RTLD_NOLOAD); /* stays */

	if (handle)
		rtc_library(&tables[table], "nvrtc", handle);
}

/* NULL: it is none of those that are known. */
static struct rtc *rtc_version(const char *library, void *handle)
{
	char name[32];
	int (*tell)(int *major, int *minor), major = 0, minor;
	void *found;

	snprintf(name, sizeof(name), "%sVersion", library);
	found = real_dlsym(handle, name);
	memcpy(&tell, &found, sizeof(found));
	if (!found || tell(&major, &minor) != SUCCESS)
		return NULL;
	return major == 12 ? &tables[RTC_12] : major == 13 ? &tables[RTC_13] : NULL;
}

/* It is not unloaded any more, whoever closes it. */
static int rtc_stays(const void *function)
{
	Dl_info of;

	return dladdr(function, &of) && dlopen(of.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

void *rtc_entry(void *handle, const char *name, void *found)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const struct rtc_row *row = rtc_row(name);

	if (!found || !row || !row->entry[0])
		return found;
	struct rtc *r = rtc_version(row->library, handle);
	pthread_mutex_lock(&lock);
	if (r && !*rtc_real(r, row) && rtc_stays(found))
		rtc_library(r, row->library, handle);
	int same = r && *rtc_real(r, row) == found;
	pthread_mutex_unlock(&lock);
	if (!same)
		log_once(LOG_WARNING, "a version of %s that is not known, or is loaded twice: what that makes is not checked", row->library);
	return same ? row->entry[r - tables] : found;
}

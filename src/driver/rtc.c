#include "driver/rtc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "cuda/real.h"
#include "driver/image.h"
#include "driver/link.h"
#include "driver/map.h"
#include "driver/state.h"
#include "ipc/proto.h"

#define SUCCESS 0
#define NVRTC_INVALID_OPTION 5
enum { NVJITLINK_CUBIN = 1, NVJITLINK_PTX = 2, NVJITLINK_ANY = 10 };

static struct {
#define RTC(library, name, parameters, ...) int (*name) parameters;
#define RTC_REAL RTC
#include "driver/rtc.def"
} rtc;

/* The emulated device runs PTX: there it stands for machine code. */
static int rtc_emulated(void)
{
	const char *device = getenv(GSAN_ENV_DEVICE);

	return device && !strcmp(device, "emu");
}

/* malloc'ed, or NULL: it was made to be something else. */
static char *rtc_text(void *handle, size_t *size, int (*tell_size)(void *, size_t *), int (*tell)(void *, char *))
{
	char *text = NULL;

	if (!tell_size || !tell || tell_size(handle, size) != SUCCESS || *size <= 1)
		return NULL;
	text = malloc(*size + 1);
	if (text && tell(handle, text) == SUCCESS) {
		text[*size] = 0;
		return text;
	}
	free(text);
	return NULL;
}

/* ---- NVRTC ----------------------------------------------------------------------------------------------------- */

static char *rtc_nvrtc_ptx(void *program, size_t *size) { return rtc_text(program, size, rtc.nvrtcGetPTXSize, rtc.nvrtcGetPTX); }

static int rtc_has_lines(int count, const char *const *option)
{
	static const char *const those[] = {"-lineinfo", "--generate-line-info", "-G", "--device-debug"};

	for (int i = 0; i < count; i++)
		for (unsigned k = 0; k < sizeof(those) / sizeof(*those); k++)
			if (!option || !option[i] || !strcmp(option[i], those[k]))
				return 1;
	return 0;
}

static int body_nvrtcCompileProgram(void *program, int count, const char *const *option)
{
	int rc;
	const char **more = count < 0 || rtc_has_lines(count, option) ? NULL : calloc((size_t)count + 1, sizeof(*more));

	if (!more)
		return rtc.nvrtcCompileProgram(program, count, option);
	for (int i = 0; i < count; i++)
		more[i] = option[i];
	more[count] = "-lineinfo";
	rc = rtc.nvrtcCompileProgram(program, count + 1, more);
	free(more);
	return rc == NVRTC_INVALID_OPTION ? rtc.nvrtcCompileProgram(program, count, option) : rc;
}

static int body_nvrtcGetCUBINSize(void *program, size_t *size)
{
	int rc = rtc.nvrtcGetCUBINSize(program, size);
	size_t emulated;

	if (rc == SUCCESS && *size && rtc_emulated() && rtc.nvrtcGetPTXSize && rtc.nvrtcGetPTXSize(program, &emulated) == SUCCESS)
		*size = emulated;
	return rc;
}

static int body_nvrtcGetCUBIN(void *program, char *cubin)
{
	size_t size, made;
	char *text = rtc_nvrtc_ptx(program, &size);
	int rc = SUCCESS;

	if (text && rtc_emulated())
		memcpy(cubin, text, size);
	else
		rc = rtc.nvrtcGetCUBIN(program, cubin);
	if (rc == SUCCESS && text && rtc.nvrtcGetCUBINSize(program, &made) == SUCCESS && !rtc_emulated())
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

static void rtc_twin_start(void *link, uint32_t count, const char *const *option)
{
	const char **more = calloc((size_t)count + 2, sizeof(*more));
	void *twin = NULL;

	for (uint32_t i = 0; more && i < count; i++)
		more[i] = option[i];
	if (more) {
		more[count] = "-ptx";
		more[count + 1] = "-lineinfo";
	}
	if (more && rtc.nvJitLinkCreate(&twin, count + 2, more) == SUCCESS && map_put(&twins, (uintptr_t)link, twin))
		rtc.nvJitLinkDestroy(&twin);
	free(more);
}

static void rtc_twin_end(void *link)
{
	void *twin = map_remove(&twins, (uintptr_t)link);

	if (twin)
		rtc.nvJitLinkDestroy(&twin);
}

static int body_nvJitLinkCreate(void **link, uint32_t count, const char **option)
{
	int rc = rtc.nvJitLinkCreate(link, count, option);

	if (rc == SUCCESS && rtc_optimises(count, option) && rtc.nvJitLinkGetLinkedPtx)
		rtc_twin_start(*link, count, option);
	return rc;
}

static int body_nvJitLinkComplete(void *link)
{
	int rc = rtc.nvJitLinkComplete(link);
	void *twin = rc == SUCCESS ? map_get(&twins, (uintptr_t)link) : NULL;
	size_t size;
	char *text = twin && rtc.nvJitLinkComplete(twin) == SUCCESS ?
		rtc_text(twin, &size, rtc.nvJitLinkGetLinkedPtxSize, rtc.nvJitLinkGetLinkedPtx) : NULL;

	if (text)
		link_whole(link, text);
	free(text);
	rtc_twin_end(link);
	return rc;
}

/* The PTX of an input; NULL: there is none. Of machine code, what it was made of. malloc'ed */
static char *rtc_input(int type, const void *data, size_t size)
{
	const char *made = NULL, *source;
	char *text;

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

static int body_nvJitLinkAddData(void *link, int type, const void *data, size_t size, const char *name)
{
	char *text = rtc_input(type, data, size);
	void *twin = map_get(&twins, (uintptr_t)link);
	int rc = rtc.nvJitLinkAddData(link, text && rtc_emulated() ? NVJITLINK_PTX : type, data, size, name);

	if (rc == SUCCESS)
		link_input(link, text, text ? strlen(text) : 0, name);
	if (twin && (rc != SUCCESS || rtc.nvJitLinkAddData(twin, type, data, size, name) != SUCCESS))
		rtc_twin_end(link);
	free(text);
	return rc;
}

static int body_nvJitLinkAddFile(void *link, int type, const char *path)
{
	int rc = rtc.nvJitLinkAddFile(link, type, path);
	char *data = NULL, *text = NULL;
	void *twin = map_get(&twins, (uintptr_t)link);
	size_t size;

	if (twin && (rc != SUCCESS || rtc.nvJitLinkAddFile(twin, type, path) != SUCCESS))
		rtc_twin_end(link);
	if (rc != SUCCESS)
		return rc;
	if (!text_read_file(path, &data, &size))
		text = rtc_input(type, data, size);
	link_input(link, text, text ? strlen(text) : 0, path);
	free(text);
	free(data);
	return rc;
}

static int body_nvJitLinkGetLinkedCubinSize(void *link, size_t *size)
{
	const char *text, *source;
	int rc = rtc.nvJitLinkGetLinkedCubinSize(link, size);

	if (rc == SUCCESS && rtc_emulated() && link_of(link, &text, &source) && text)
		*size = strlen(text) + 1;
	return rc;
}

static int body_nvJitLinkGetLinkedCubin(void *link, void *cubin)
{
	const char *text = NULL, *source;
	int known = link_of(link, &text, &source), rc;
	size_t size;

	if (known && text && rtc_emulated()) {
		strcpy(cubin, text);
		return SUCCESS;
	}
	rc = rtc.nvJitLinkGetLinkedCubin(link, cubin);
	if (rc == SUCCESS && known && rtc.nvJitLinkGetLinkedCubinSize && rtc.nvJitLinkGetLinkedCubinSize(link, &size) == SUCCESS)
		link_told(cubin, size, text, source);
	return rc;
}

static int body_nvJitLinkDestroy(void **link)
{
	if (link) {
		link_ended(*link);
		rtc_twin_end(*link);
	}
	return rtc.nvJitLinkDestroy(link);
}

/* ---- the entries ------------------------------------------------------------------------------------------------ */

#define RTC(library, name, parameters, arguments) \
	static int entry_##name parameters \
	{ \
		if (!driver_enter()) \
			return rtc.name arguments; \
		int rc = body_##name arguments; \
		driver_leave(); \
		return rc; \
	}
#include "driver/rtc.def"

static const struct rtc_row { const char *library, *name; void *entry, **real; } rows[] = {
#define RTC(library, name, ...) {#library, #name, (void *)entry_##name, (void **)&rtc.name},
#define RTC_REAL(library, name, parameters) {#library, #name, NULL, (void **)&rtc.name},
#include "driver/rtc.def"
};
#define ROWS (sizeof(rows) / sizeof(*rows))

static const struct rtc_row *rtc_row(const char *name)
{
	for (unsigned i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

static void rtc_library(const char *library, void *handle)
{
	for (unsigned i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].library, library))
			*rows[i].real = real_dlsym(handle, rows[i].name);
}

void *rtc_entry(void *handle, const char *name, void *found)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const struct rtc_row *row = rtc_row(name);

	if (!found || !row || !row->entry)
		return found;
	pthread_mutex_lock(&lock);
	if (!*row->real)
		rtc_library(row->library, handle);
	int same = *row->real == found;
	pthread_mutex_unlock(&lock);
	if (!same)
		log_once(LOG_WARNING, "a second version of %s is loaded: what that makes is not checked", row->library);
	return same ? row->entry : found;
}

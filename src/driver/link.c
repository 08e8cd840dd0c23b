#include "driver/link.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "cuda/hooks.h"
#include "driver/image.h"
#include "driver/map.h"
#include "ptx/merge.h"

struct link {
	struct link *next;
	char **input, *text; /* the inputs, if all of them are PTX, and what they are as one */
	uint32_t inputs;
	int other;           /* one is something else */
	char *source;        /* of the first */
	unsigned char *made;
	size_t size;
};

static struct map states = MAP_INIT; /* by CUlinkState, or nvJitLink's handle: what is not complete */
static struct link *complete;        /* these are kept: the program may load what it got at any time, and more than once */
static pthread_mutex_t complete_lock = PTHREAD_MUTEX_INITIALIZER;

static void link_free(struct link *l)
{
	if (l) {
		while (l->inputs)
			free(l->input[--l->inputs]);
		free(l->input);
		free(l->text);
		free(l->source);
		free(l->made);
	}
	free(l);
}

void link_input(void *state, const char *text, size_t size, const char *source)
{
	struct link *l = map_get(&states, (uintptr_t)state);

	if (!l) {
		l = calloc(1, sizeof(*l));
		if (!l || map_put(&states, (uintptr_t)state, l)) {
			free(l);
			return;
		}
	}
	char **more = text && !l->other ? realloc(l->input, (l->inputs + 1) * sizeof(*more)) : NULL, *copy = more ? strndup(text, size) : NULL;
	l->input = more ? more : l->input;
	l->other |= !copy;
	if (copy)
		l->input[l->inputs++] = copy;
	if (!l->source)
		l->source = strdup(source ? source : IMAGE_MEMORY);
}

/* One text, if all inputs are PTX. */
static void link_merge(struct link *l)
{
	struct ptx_error error = {0};

	if (!l->text && !l->other && l->inputs == 1)
		l->text = strdup(l->input[0]);
	else if (!l->text && !l->other && l->inputs && ptx_merge((const char *const *)l->input, l->inputs, &l->text, &error))
		log_info("%s: linked PTX: line %u: %s", l->source ? l->source : "?", error.line, error.text);
}

/* Byte by byte: another image may be shorter. */
static int link_same(const struct link *l, const unsigned char *image, size_t size)
{
	if (size && size < l->size)
		return 0;
	for (size_t i = 0; i < l->size; i++)
		if (image[i] != l->made[i])
			return 0;
	return 1;
}

static const struct link *link_find(const void *image, size_t size)
{
	const struct link *l;

	pthread_mutex_lock(&complete_lock);
	l = complete;
	pthread_mutex_unlock(&complete_lock);
	while (l && !link_same(l, image, size))
		l = l->next;
	return l;
}

static void link_complete(struct link *l, const void *made, size_t size)
{
	link_merge(l);
	l->made = malloc(size);
	if (!l->made || link_find(made, size)) {
		link_free(l);
		return;
	}
	memcpy(l->made, made, size);
	l->size = size;
	pthread_mutex_lock(&complete_lock);
	l->next = complete;
	complete = l;
	pthread_mutex_unlock(&complete_lock);
}

static int link_tell(const struct link *l, const char **text, const char **source)
{
	if (l) {
		*text = l->text;
		*source = l->source;
	}
	return l != NULL;
}

void link_told(const void *made, size_t size, const char *text, const char *source)
{
	struct link *l = calloc(1, sizeof(*l));

	if (l) {
		l->text = text ? strdup(text) : NULL;
		l->source = strdup(source ? source : IMAGE_MEMORY);
		link_complete(l, made, size);
	}
}

void link_whole(void *state, const char *text)
{
	struct link *l = map_get(&states, (uintptr_t)state);
	char *copy = l ? strdup(text) : NULL;

	if (copy) {
		free(l->text);
		l->text = copy;
	}
}

int link_of(void *state, const char **text, const char **source)
{
	struct link *l = map_get(&states, (uintptr_t)state);

	if (l)
		link_merge(l);
	return link_tell(l, text, source);
}

void link_ended(void *state) { link_free(map_remove(&states, (uintptr_t)state)); }

int link_made(const void *image, size_t size, const char **text, const char **source)
{
	return link_tell(link_find(image, size), text, source);
}

CUresult hook_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name, unsigned count,
		CUjit_option *option, void **value)
{
	CUresult rc = real.cuLinkAddData_v2(state, type, data, size, name, count, option, value);

	if (rc == CUDA_SUCCESS)
		link_input(state, type == CU_JIT_INPUT_PTX ? data : NULL, size, name);
	return rc;
}

CUresult hook_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path, unsigned count, CUjit_option *option,
		void **value)
{
	CUresult rc = real.cuLinkAddFile_v2(state, type, path, count, option, value);
	char *text = NULL;
	size_t size = 0;

	if (rc != CUDA_SUCCESS)
		return rc;
	if (type == CU_JIT_INPUT_PTX && text_read_file(path, &text, &size))
		text = NULL;
	link_input(state, text, size, path);
	free(text);
	return rc;
}

CUresult hook_cuLinkComplete(CUlinkState state, void **made, size_t *size)
{
	size_t own;
	CUresult rc = real.cuLinkComplete(state, made, size ? size : &own);
	struct link *l = rc == CUDA_SUCCESS ? map_remove(&states, (uintptr_t)state) : NULL;

	if (l)
		link_complete(l, *made, size ? *size : own);
	return rc;
}

CUresult hook_cuLinkDestroy(CUlinkState state)
{
	link_ended(state);
	return real.cuLinkDestroy(state);
}

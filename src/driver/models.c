/* Lines are matched in order with fnmatch(3); kernels.inc is configs/kernels.conf as a C string, made by CMake. */
#include "driver/models.h"

#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"

static const char models_builtin[] =
#include "driver/kernels.inc"
	;
static char *models_user = NULL;
static pthread_once_t models_once = PTHREAD_ONCE_INIT;

static void models_read(void)
{
	const char *path = getenv("GSAN_KERNELS");
	size_t size;

	if (!path)
		return;
	int rc = text_read_file(path, &models_user, &size);
	if (rc)
		log_warning("GSAN_KERNELS: %s: %s; the built-in models serve alone", path, strerror(-rc));
}

static enum model models_line(const char *line, const char *kernel)
{
	char word[16], glob[256];
	int fields = sscanf(line, "%15s %255s", word, glob);

	if (fields < 1 || word[0] == '#')
		return MODEL_NONE;
	enum model model = !strcmp(word, "local") ? MODEL_LOCAL : !strcmp(word, "barrier") ? MODEL_BARRIER : MODEL_NONE;
	if (model == MODEL_NONE || fields < 2) {
		log_warning("kernel models: `%s' is neither `local GLOB' nor `barrier GLOB'", line);
		return MODEL_NONE;
	}
	return fnmatch(glob, kernel, 0) ? MODEL_NONE : model;
}

enum model models_match(const char *lines, const char *kernel)
{
	char line[300];

	while (*lines) {
		size_t n = strcspn(lines, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)n, lines);
		enum model model = models_line(line, kernel);
		if (model != MODEL_NONE)
			return model;
		lines += n + (lines[n] == '\n');
	}
	return MODEL_NONE;
}

enum model models_find(const char *kernel)
{
	enum model model = MODEL_NONE;

	pthread_once(&models_once, models_read);
	if (models_user)
		model = models_match(models_user, kernel);
	return model == MODEL_NONE ? models_match(models_builtin, kernel) : model;
}

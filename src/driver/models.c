/* Lines are matched in order with fnmatch(3); kernels.inc is configs/kernels.conf as a C string, made by CMake. */
#include "driver/models.h"

#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "base/log.h"
#include "base/text.h"

static const char models_builtin[] =
#include "driver/kernels.inc"
	;
static struct models models_known; /* the user's, then those built in; as long as the process lives */
static pthread_once_t models_once = PTHREAD_ONCE_INIT;

static int models_add(struct models *m, struct lines *l)
{
	enum model model = !strcmp(l->word[0], "local") ? MODEL_LOCAL : !strcmp(l->word[0], "barrier") ? MODEL_BARRIER : MODEL_NONE;

	if (model == MODEL_NONE || l->words != 2)
		return lines_wrong(l, "'%.60s' ... is neither `local GLOB' nor `barrier GLOB'", l->word[0]);
	struct models_row *row = realloc(m->row, (m->rows + 1) * sizeof(*row));
	if (!row)
		return -ENOMEM;
	m->row = row;
	row[m->rows++] = (struct models_row){model, l->word[1]};
	return 0;
}

int models_read(struct models *m, const char *name, char *text, size_t size)
{
	struct lines l;
	int rc, bad = 0;

	lines_begin(&l, name, text, size);
	while ((rc = lines_next(&l))) {
		if (rc > 0)
			rc = models_add(m, &l);
		if (rc == -EINVAL)
			log_warning("%s; the line is ignored", l.error);
		bad |= rc < 0;
	}
	return bad ? -EINVAL : 0;
}

static void models_start(void)
{
	const char *path = getenv("GSAN_KERNELS");
	char *text = NULL, *builtin = strdup(models_builtin);
	size_t size;
	int rc = path && *path ? text_read_file(path, &text, &size) : 0;

	if (rc)
		log_warning("GSAN_KERNELS: %s: %s; the built-in models serve alone", path, strerror(-rc));
	if (text)
		models_read(&models_known, path, text, size);
	if (builtin)
		models_read(&models_known, "kernels.conf", builtin, sizeof(models_builtin) - 1);
}

enum model models_match(const struct models *m, const char *kernel)
{
	for (size_t i = 0; i < m->rows; i++)
		if (!fnmatch(m->row[i].glob, kernel, 0))
			return m->row[i].model;
	return MODEL_NONE;
}

enum model models_find(const char *kernel)
{
	pthread_once(&models_once, models_start);
	return models_match(&models_known, kernel);
}

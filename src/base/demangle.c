#include "base/demangle.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"

#define LONG 100 /* characters */

typedef char *demangler(const char *name, char *buffer, size_t *size, int *status); /* Itanium C++ ABI, 3.4 */
static demangler *known; /* NULL: there is none */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find(void)
{
	void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
	void *function = library ? dlsym(library, "__cxa_demangle") : NULL;

	memcpy(&known, &function, sizeof(function));
	if (!known)
		log_warning("libstdc++.so.6 is not here: names of C++ stay mangled");
}

char *demangle(const char *name)
{
	int status;

	if (strncmp(name, "_Z", 2))
		return NULL;
	pthread_once(&once, find);
	return known ? known(name, NULL, NULL, &status) : NULL;
}

static int opens(char c) { return c && strchr("(<{[", c); }
static int closes(char c) { return c && strchr(")>}]", c); }

/* Where what the closing bracket before `end` closes is opened; NULL: nowhere. */
static char *opened(char *text, char *end)
{
	int depth = 0;

	while (end > text) {
		end--;
		depth += closes(*end) - opens(*end);
		if (!depth)
			return end;
	}
	return NULL;
}

/* Behind the last blank that is in no brackets: the result's type stands before it. NULL: an operator's name may have any brackets. */
static const char *named(const char *text)
{
	const char *name = text;
	int depth = 0;

	for (const char *c = text; *c; c++) {
		depth += opens(*c) - closes(*c);
		if (!depth && !strncmp(c, "operator", 8) && (c == text || c[-1] == ' ' || c[-1] == ':') && !isalnum((unsigned char)c[8]) && c[8] != '_')
			return NULL;
		if (*c == ' ' && !depth)
			name = c + 1;
	}
	return name;
}

static void without_tags(char *text)
{
	for (char *tag; (tag = strstr(text, "[abi:"));) {
		char *end = strchr(tag, ']');
		if (!end)
			return;
		memmove(tag, end + 1, strlen(end));
	}
}

/* a<b<c>, d>::e<f> -> a<...>::e<...>; malloc'ed, or NULL */
static char *without_arguments(const char *text)
{
	struct text short_ = {0};
	int depth = 0;

	for (const char *c = text; *c; c++) {
		if (*c == '<' && !depth++)
			text_puts(&short_, "<...>");
		else if (*c == '>' && depth)
			depth--;
		else if (!depth)
			text_add(&short_, c, 1);
	}
	return text_take(&short_);
}

char *demangle_shortly(const char *name)
{
	char *all = demangle(name), *end, *parameters, *shown;

	if (!all || !named(all))
		return all;
	end = strrchr(all, ')');
	parameters = end ? opened(all, end + 1) : NULL;
	if (parameters && parameters > all)
		*parameters = 0;
	without_tags(all);
	shown = strlen(named(all)) > LONG ? without_arguments(named(all)) : strdup(named(all));
	free(all);
	return shown;
}

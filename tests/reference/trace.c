#include "reference/model.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ref_fail(struct ref *r, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	const int n = snprintf(r->error, r->room, "%s:%llu: ", r->name, (unsigned long long)r->line);
	if (n >= 0 && (size_t)n < r->room)
		vsnprintf(r->error + n, r->room - (size_t)n, format, args);
	va_end(args);
	return -EINVAL;
}

/* The forms of lines: # is a number, $ a word, * any number of numbers, ~ allows the line to end here. */
static const struct form_of_line {
	const char *verb, *fields, *shown;
	int (*handle)(struct ref *r, const struct event *e);
} forms[] = {
	{ "mem", "# # # # $ $ $ # # $ $ $", "mem L CTA THREAD LINE OP SEM SCOPE MEM OFFSET BYTES READ WROTE", memory_access },
	{ "fence", "# # # # $ $", "fence L CTA THREAD LINE SEM SCOPE", sync_fence },
	{ "launch", "# rank # device # stream # kernel $ grid # # # block #",
	  "launch L rank R device D stream S kernel NAME grid GX GY GZ block N", order_launch },
	{ "range", "# rank # device # stream # ~ $ # # # ~ $ # # #",
	  "range L rank R device D stream S [st MEM OFFSET BYTES] [ld MEM OFFSET BYTES]", order_range },
	{ "name", "# $", "name L NAME", order_name }, /* of a range, by who knows whose it is: the device writes none */
	{ "begin", "#", "begin L", order_begin },
	{ "done", "#", "done L", order_done },
	{ "record", "# #", "record E S", order_record },
	{ "wait", "# #", "wait E S", order_wait },
	{ "complete", "# *", "complete R L...", order_complete },
	{ "shared", "# # # # $ $ $", "shared L CTA THREAD LINE OP SEM SCOPE", barrier_shared },
	{ "arrive", "# # # # # $ # $ #", "arrive L CTA WARP LANES LINE KIND ID HOW COUNT", barrier_arrive },
	{ "phase", "# # $ #", "phase L CTA KIND ID", barrier_phase },
	{ "pass", "# # # # # $ # $", "pass L CTA WARP LANES LINE KIND ID HOW", barrier_pass },
	{ "init", "# # $ # #", "init L CTA KIND ID COUNT", barrier_init },
	{ "exit", "# #", "exit L CTA", order_exit },
};

static int number(const char *word, uint64_t *out)
{
	char *end;
	if (!isdigit((unsigned char)*word))
		return -EINVAL;
	errno = 0;
	*out = strtoull(word, &end, strncmp(word, "0x", 2) ? 10 : 16);
	return *end || errno ? -EINVAL : 0;
}

/* The next field of the form against the next word of the line. */
static int field(struct ref *r, const struct form_of_line *f, char kind, const char *literal, char *word, struct event *e)
{
	if (!word)
		return ref_fail(r, "the line ends too early; its form is: %s", f->shown);
	if (kind == '$') {
		e->word[e->words++] = word;
		return 0;
	}
	if (kind == '#') {
		if (number(word, &e->number[e->numbers]))
			return ref_fail(r, "'%s' is not a number; the line's form is: %s", word, f->shown);
		e->numbers++;
		return 0;
	}
	return strcmp(word, literal) ? ref_fail(r, "'%s' instead of '%s'; the line's form is: %s", word, literal, f->shown) : 0;
}

static int rest(struct ref *r, const struct form_of_line *f, char **at, struct event *e)
{
	for (char *word; (word = strtok_r(NULL, " ", at));) {
		e->rest = table_grow(e->rest, e->rests, &e->rest_room, sizeof *e->rest);
		if (number(word, &e->rest[e->rests++]))
			return ref_fail(r, "'%s' is not a number; the line's form is: %s", word, f->shown);
	}
	return 0;
}

static int fields(struct ref *r, const struct form_of_line *f, char **at, struct event *e)
{
	char form[160], *form_at;
	snprintf(form, sizeof form, "%s", f->fields);
	char *word = NULL;
	int have = 0;
	for (char *want = strtok_r(form, " ", &form_at); want; want = strtok_r(NULL, " ", &form_at)) {
		if (*want == '*')
			return rest(r, f, at, e);
		word = have ? word : strtok_r(NULL, " ", at);
		have = *want == '~';
		if (have && !word)
			return 0;
		const int rc = have ? 0 : field(r, f, *want, want, word, e);
		if (rc)
			return rc;
	}
	word = strtok_r(NULL, " ", at);
	return word ? ref_fail(r, "'%s' is too much; the line's form is: %s", word, f->shown) : 0;
}

int trace_line(struct ref *r, char *text)
{
	char *at, *verb = strtok_r(text, " ", &at);
	if (!verb || *verb == '#')
		return 0;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		if (strcmp(verb, forms[i].verb))
			continue;
		struct event e = { .numbers = 0 };
		int rc = fields(r, &forms[i], &at, &e);
		if (!rc)
			rc = forms[i].handle(r, &e);
		free(e.rest);
		return rc;
	}
	return ref_fail(r, "unknown event '%s'; is this a trace of the emulated device, version 1?", verb);
}

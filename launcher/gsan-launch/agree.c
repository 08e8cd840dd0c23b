/* What all launchers of a job must say alike: the settings that the supervisor, or the emulated device, follows for the whole job. The
 * supervisor has them of the launcher that started it, and fails the job if another one says otherwise: two jobs under one name, or ranks
 * that were not given the same. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "gsan-launch/launch.h"

#define AGREE_HEAD 150 /* bytes of a long text that are said as they are, at its beginning and at its end: two fit into a line of log.c */
#define AGREE_TAIL 200

static void agree_escape(struct text *out, const char *text)
{
	for (; *text; text++)
		if (iscntrl((unsigned char)*text) || *text == '\\')
			text_printf(out, "\\%03o", (unsigned char)*text);
		else
			text_add(out, text, 1);
}

/* A text of the user's may hold what ends lines and names, and may be longer than a message has room for: then a hash stands for what is
 * left out. */
static void agree_add_text(struct text *terms, const char *name, const char *text)
{
	struct text whole = {0};
	agree_escape(&whole, text);
	if (whole.size <= AGREE_HEAD + AGREE_TAIL)
		text_printf(terms, "%s\t%s\n", name, whole.data ? whole.data : "");
	else
		text_printf(terms, "%s\t%.*s...%s (%zu bytes, hash %016llx)\n", name, AGREE_HEAD, whole.data,
			    whole.data + whole.size - AGREE_TAIL, whole.size,
			    (unsigned long long)hash_bytes(HASH_START, whole.data, whole.size));
	terms->failed |= whole.failed;
	text_free(&whole);
}

static void agree_add(struct text *terms, const struct option_row *row, const struct option_value *value)
{
	if (row->kind == OPTION_NUMBER)
		text_printf(terms, "%s\t%ld\n", row->name, value->number);
	else
		text_printf(terms, "%s\t%s\n", row->name, row->kind == OPTION_FLAG ? value->number ? "yes" : "no" : value->text);
}

/* What may be long comes last. */
void launch_agree(struct launch *l)
{
	struct text terms = {0};
	text_printf(&terms, "device\t%s\n", l->emulated ? "emu" : "cuda");
	for (int s = 0; s < SETTINGS; s++)
		if ((settings_rows[s].of & OF_JOB) == OF_JOB && settings_rows[s].kind != OPTION_TEXT)
			agree_add(&terms, &settings_rows[s], &l->option[s]);
	text_printf(&terms, "%s\t%d\n", settings_rows[SETTING_EXIT_CODE].name, l->exit_code);
	for (int s = 0; s < SETTINGS; s++) {
		const char *text = s == SETTING_REPORT ? l->report : l->option[s].text; /* however it was spelt */
		if ((settings_rows[s].of & OF_JOB) == OF_JOB && settings_rows[s].kind == OPTION_TEXT)
			agree_add_text(&terms, settings_rows[s].name, text ? text : "");
	}
	snprintf(l->terms, sizeof l->terms, "%s", terms.data ? terms.data : "");
	text_free(&terms);
}

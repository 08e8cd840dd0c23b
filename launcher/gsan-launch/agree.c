/* What all launchers of a job must say alike: the options that the supervisor, or the emulated device, follows for the whole job. The
 * supervisor has them of the launcher that started it, and refuses another one that says otherwise: two jobs under one name, or ranks
 * that were not given the same. */
#include <stdio.h>

#include "base/text.h"
#include "gsan-launch/launch.h"

static const enum launch_option agree_options[] = {LAUNCH_SEED, LAUNCH_SCHEDULE, LAUNCH_TIMEOUT, LAUNCH_WAIT, LAUNCH_HOST_ORDER};

/* The directory comes last: it is the one that may not fit, and is compared as far as it goes. */
void launch_agree(struct launch *l)
{
	struct text terms = {0};
	text_printf(&terms, "device\t%s\n", l->emulated ? "emu" : "cuda");
	for (size_t i = 0; i < sizeof agree_options / sizeof *agree_options; i++) {
		const struct option_row *row = &launch_option_rows[agree_options[i]];
		const struct option_value *value = &l->option[agree_options[i]];
		if (row->kind == OPTION_NUMBER)
			text_printf(&terms, "%s\t%ld\n", row->name, value->number);
		else
			text_printf(&terms, "%s\t%s\n", row->name, value->text);
	}
	text_printf(&terms, "%s\t%d\n", launch_option_rows[LAUNCH_EXIT_CODE].name, l->exit_code);
	text_printf(&terms, "%s\t%s\n", launch_option_rows[LAUNCH_REPORT].name, l->report);
	snprintf(l->terms, sizeof l->terms, "%s", terms.data ? terms.data : "");
	text_free(&terms);
}

/* Words for who waits in a job that hangs. */
#include "report/report.h"

#include <inttypes.h>

void report_add_wait_memory(struct text *out, const struct report_wait *w)
{
	if (w->allocation.size)
		report_add_memory(out, &w->allocation);
	else
		text_printf(out, "0x%" PRIx64 ", in memory that is not checked", w->address);
}

void report_add_wait_seen(struct text *out, const struct report_wait *w)
{
	if (w->value_known)
		text_printf(out, "0x%" PRIx64 " (%" PRIu64 "), ", w->value, w->value);
	text_printf(out, "%sread %" PRIu64 " times or more", w->value_known ? "" : "what is not known, ", w->times);
}

void report_add_wait(struct text *out, const struct report_wait *w)
{
	const struct report_side *side = &w->side;
	text_printf(out, "kernel %s, launch %u, waits", report_kernel_name(side), side->launch);
	if (side->at.file) {
		text_puts(out, " at ");
		report_add_frame(out, &side->at, side->inlined_at);
	}
	text_puts(out, ": ");
	report_add_operation(out, side);
	text_puts(out, ", ");
	report_add_wait_memory(out, w);
	text_puts(out, ": ");
	report_add_wait_seen(out, w);
}

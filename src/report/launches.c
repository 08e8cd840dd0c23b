/* The launches of a finding's two sides: are they of one process, which of them was given first, and in which streams. */
#include "report/report.h"

#include <string.h>

#include "report/cause.h"

int report_two_participants(const struct report_finding *f)
{
	const struct report_side *a = &f->first, *b = &f->second;
	int participants = a->participant >= 0 && b->participant >= 0 && a->participant != b->participant;
	return a->rank == b->rank && (participants || (a->pid > 0 && b->pid > 0 && a->pid != b->pid));
}

/* A participant is one process at a time, on one GPU; process ids tell those apart that had one place, but may be equal in two PID
 * namespaces: on two GPUs it is taken for one process. */
int report_two_processes(const struct report_finding *f)
{
	const struct report_side *a = &f->first, *b = &f->second;
	int one = a->pid > 0 && a->pid == b->pid && f->first.gpu != f->second.gpu;
	return report_two_participants(f) && !one;
}

/* Of one process: what orders its launches is a stream, an event or its host. */
int report_two_launches(const struct report_finding *f)
{
	const struct report_side *a = &f->first, *b = &f->second;
	return a->rank == b->rank && !report_two_processes(f) && (a->launch != b->launch || a->participant != b->participant);
}

/* A participant counts what its streams are given, in the order of its host's calls. */
static int launches_counted(const struct report_finding *f)
{
	return f->first.participant >= 0 && f->first.participant == f->second.participant && report_two_launches(f);
}

int report_is_one_launch(const struct report_finding *f)
{
	return f->first.rank == f->second.rank && !report_two_processes(f) && !report_two_launches(f);
}

uint32_t report_launches(const struct report_finding *f) { return report_within(f) | (report_is_one_launch(f) ? 0 : REPORT_LAUNCHES_APART); }
int report_in_one_launch(const struct report_finding *f) { return !(f->within & REPORT_LAUNCHES_APART) && !f->pairs_unlisted; }

/* Of what is named by which access was checked first (ld.global.nc, cause.c) the order stays until it has its name. */
static int launches_unnamed(const struct report_finding *f)
{
	return f->kind == GSAN_WAR && f->first.op && !strcmp(f->first.op, "ld.nc");
}

/* What gives memory back stands second: that is the order that is missing. */
static int launches_in_turn(const struct report_finding *f)
{
	const int freed = report_is_free(&f->second);
	return report_is_free(&f->first) == freed ? f->first.launch < f->second.launch : freed;
}

void report_launched_first(struct report_finding *f, int named)
{
	const struct report_side later = f->first;
	const enum report_class class = report_class(f);
	const int swaps = report_of_launches(class) || class == REPORT_NON_COHERENT;
	if (f->missing_edge || !swaps || !launches_counted(f) || launches_in_turn(f) || (!named && launches_unnamed(f)))
		return;
	f->first = f->second;
	f->second = later;
	f->kind = f->kind == GSAN_WAR ? GSAN_RAW : f->kind == GSAN_RAW ? GSAN_WAR : f->kind;
}

int report_is_ordered(const struct report_finding *f) { return report_is_one_launch(f) || launches_counted(f); }

void report_add_launch(struct text *out, const struct report_side *side, int streams)
{
	text_printf(out, "launch %u", side->launch);
	if (!side->stream || !streams)
		return;
	text_puts(out, side->stream == 1 ? " in the default stream" : " in stream ");
	if (side->stream > 1)
		text_printf(out, "%u", side->stream - 1);
}

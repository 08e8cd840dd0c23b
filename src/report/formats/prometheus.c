/* The numbers of a report in Prometheus' text format, for a collector of text files or a push gateway. All are gauges: they are of one run,
 * or of those that were merged. */
#include <inttypes.h>
#include <string.h>

#include "report/formats/escape.h"
#include "report/formats/format.h"

static void prometheus_head(struct text *out, const char *name, const char *help)
{
	text_printf(out, "# HELP gsan_%s %s\n# TYPE gsan_%s gauge\n", name, help, name);
}

static void prometheus_label(struct text *out, const char *before, const char *name, const char *value)
{
	text_printf(out, "%s%s=\"", before, name);
	escape_label(out, value ? value : "");
	text_puts(out, "\"");
}

static void prometheus_info(struct text *out, const struct report *r)
{
	const struct { const char *name, *value; } label[] = {
		{"commit", r->job.commit}, {"host", r->job.host}, {"device", r->job.device}, {"driver", r->job.driver},
	};
	prometheus_head(out, "info", "Always 1: which tool, and where it ran.");
	prometheus_label(out, "gsan_info{", "version", GSAN_VERSION);
	for (size_t i = 0; i < sizeof label / sizeof *label; i++)
		prometheus_label(out, ",", label[i].name, label[i].value);
	text_puts(out, "} 1\n");
}

/* Each kind, whether it occurs or not: a series that comes and goes is no use to an alert. */
static void prometheus_findings(struct text *out, const struct report *r)
{
	uint64_t count[GSAN_TOLD][2] = {{0}};
	for (int kind = 0; kind < GSAN_TOLD; kind++) {
		count[kind][0] = r->unlisted[kind].findings - r->unlisted[kind].old;
		count[kind][1] = r->unlisted[kind].old;
	}
	for (uint32_t i = 0; i < r->findings; i++)
		if (report_decides(&r->finding[i]) && r->finding[i].kind < GSAN_TOLD)
			count[r->finding[i].kind][r->finding[i].age == REPORT_OLD]++;
	prometheus_head(out, "findings", "Races that are neither formal nor suppressed, by kind, whether they are listed or not; old: the baseline has them, too.");
	for (int kind = GSAN_RAW; kind < GSAN_TOLD; kind++)
		for (int old = 0; old < 2; old++)
			text_printf(out, "gsan_findings{kind=\"%s\",old=\"%s\"} %" PRIu64 "\n", report_kind_name((enum gsan_kind)kind),
				    old ? "true" : "false", count[kind][old]);
}

/* As configs/report.schema.json describes them. */
static void prometheus_counters(struct text *out, const struct report_rank *sum)
{
	static const char *const name[] = GSAN_COUNTER_NAMES;
	static const char *const help[] = {
		[GSAN_N_ACCESSES] = "Instrumented accesses executed, one per thread.",
		[GSAN_N_CHECKED] = "Accesses that were compared with what is known of earlier ones.",
		[GSAN_N_FOREIGN] = "Accesses to memory that is not checked.",
		[GSAN_N_UNRECORDED] = "Accesses that were checked, and not recorded for want of room: later races with them are missed.",
		[GSAN_N_LOST] = "Records of accesses that found no place: later races with them are missed; those of readers are estimated, by one in 256.",
		[GSAN_N_SYNC_FULL] = "Synchronisations that are known only coarsely: their table was full.",
		[GSAN_N_STATE_FULL] = "CTAs whose order is known only coarsely: no state was left.",
		[GSAN_N_CLOCK_FULL] = "Times that entries of a vector clock became one, or a chain of them was too long to follow: too much counts as ordered.",
		[GSAN_N_EPOCH_FULL] = "Synchronisations of CTAs whose epochs ran out: too much counts as released.",
		[GSAN_N_AMBIGUOUS] = "Reads of a flag of which several writes may be what they saw: all of them count as observed.",
		[GSAN_N_UNMAPPED] = "Accesses whose counterpart's tables were not mapped, counted as ordered.",
		[GSAN_N_FOUND] = "Racy pairs of accesses, duplicates included.",
		[GSAN_N_DROPPED] = "Findings that were lost to a full ring.",
		[GSAN_N_RENEWED] = "Times that what was known was forgotten, to start afresh.",
		[GSAN_N_LOCKS] = "Locks whose holder did not come again, and racy pairs that were not reported because of that.",
		[GSAN_N_ORDER_FULL] = "Launches whose order was widened, for there were too many before them.",
	};
	_Static_assert(sizeof help / sizeof *help == GSAN_N_COUNTERS, "each counter is explained");
	for (int i = 0; i < GSAN_N_COUNTERS; i++) {
		prometheus_head(out, name[i], help[i]);
		text_printf(out, "gsan_%s %" PRIu64 "\n", name[i], sum->counter[i]);
	}
}

static uint64_t prometheus_pairs(const struct report *r, const struct report_finding *f)
{
	uint32_t n;
	const struct report_finding *pair = report_pairs(r, f, &n);
	uint64_t count = f->pairs_unlisted;
	for (uint32_t i = 0; i < n; i++)
		count += report_counts(f, &pair[i]);
	return report_decides(f) ? count : 0;
}

static void prometheus_numbers(struct text *out, const struct report *r, const struct report_rank *sum)
{
	uint32_t kernels = 0, unused = 0;
	uint64_t pairs = 0;
	for (uint32_t i = 0; i < r->findings; i++)
		pairs += prometheus_pairs(r, &r->finding[i]);
	for (uint32_t i = 0; i < r->suppressions; i++)
		unused += !r->suppression[i].findings;
	for (uint32_t i = 0; i < r->notes; i++)
		kernels += !strcmp(r->note[i].key, REPORT_UNCHECKED);
	const struct { const char *name, *help; uint64_t value; } row[] = {
		{"pairs", "Pairs of lines of all findings that are listed, each once per pair of ranks; neither formal nor suppressed.", pairs},
		{"formal_findings", "Races by the letter of PTX alone.", report_formal(r) + r->formal_unlisted},
		{"suppressed_findings", "Pairs of lines that suppressions match.", report_tally(r).suppressed},
		{"suppressions_unused", "Suppressions that match none.", unused},
		{"ranks", "Ranks of the job.", r->ranks},
		{"waits", "Places where launches waited that did not end.", r->waits + r->waits_unlisted},
		{"launches_checked", "Kernel launches that were checked.", sum->launches_checked},
		{"launches_unchecked", "Kernel launches that ran unchecked.", sum->launches_unchecked},
		{"copies_checked", "Copies and sets of checked memory that were checked as accesses of it.", sum->copies_checked},
		{"copies_unchecked", "Copies and sets of checked memory that were not.", sum->copies_unchecked},
		{"launches_left_out", "Kernel launches that ran unchecked because --include or --exclude says so.", sum->launches_left_out},
		{"kernels_unchecked", "Kernels that ran unchecked, each once per reason.", kernels},
		{"instructions_unchecked", "Instructions in checked kernels that are not checked.", r->lefts},
		{"withheld", "Racy pairs that something not modelled may order.", sum->withheld},
		{"ordered_late", "Racy pairs that a modelled kernel turned out to order.", sum->ordered_late},
		{"memory_bytes", "Device memory that was checked.", sum->memory_bytes},
		{"shadow_bytes", "Device memory for what is known of it.", sum->shadow_bytes},
		{"tables_bytes", "Device memory for the tables beside that.", sum->tables_bytes},
		{"exit_status", "Exit status of the job.", (uint64_t)r->exit_status},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		prometheus_head(out, row[i].name, row[i].help);
		text_printf(out, "gsan_%s %" PRIu64 "\n", row[i].name, row[i].value);
	}
}

static void prometheus_time(struct text *out, const struct report_job *job)
{
	prometheus_head(out, "start_time_seconds", "When the job started, in seconds since 1970.");
	text_printf(out, "gsan_start_time_seconds %" PRId64 "\n", job->start);
	prometheus_head(out, "duration_seconds", "How long it took until the report was made.");
	text_printf(out, "gsan_duration_seconds %" PRIu64 ".%03u\n", job->duration_ms / 1000, (unsigned)(job->duration_ms % 1000));
}

void format_prometheus(struct text *out, const struct format_view *view)
{
	const struct report *r = view->report;
	const struct report_rank sum = report_total(r);
	prometheus_info(out, r);
	prometheus_findings(out, r);
	prometheus_numbers(out, r, &sum);
	prometheus_counters(out, &sum);
	if (r->job.start)
		prometheus_time(out, &r->job);
}

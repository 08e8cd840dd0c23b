#include "emu/driver/stats.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "emu/driver/sched.h"
#include "emu/driver/skip.h"

static int file = -1;
static uint64_t launches;

/* EMU_STATS_PARTS, "function=part,…": a part's number is 1 + its place among the parts in the order in which they first appear.
 * Part 0 is the kernel's own, the last is of functions that are not listed. */
static struct { const char *name; size_t length; } part[EMU_PARTS];
static unsigned parts = 1;
#define OTHER (EMU_PARTS - 1)

/* ---- the file */

static const char *path_of(void)
{
	const char *path = getenv("EMU_STATS");
	return path && *path ? path : NULL;
}

void emu_stats_create(void)
{
	const char *path = path_of();
	const int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
	if (fd >= 0)
		close(fd); /* else emu_stats_open says why */
}

void emu_stats_open(void)
{
	const char *path = path_of();
	if (!path)
		return;
	file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (file < 0)
		log_error("EMU_STATS: cannot write %s: %s; nothing is counted", path, strerror(errno));
}

/* ---- parts */

static unsigned part_number(const char *name, size_t length)
{
	for (unsigned k = 1; k < parts; k++)
		if (part[k].length == length && !memcmp(part[k].name, name, length))
			return k;
	if (parts == OTHER) {
		log_once(LOG_WARNING, "EMU_STATS_PARTS: more than %u parts; \"%.*s\" counts as other", OTHER - 1, (int)length, name);
		return OTHER;
	}
	part[parts].name = name;
	part[parts].length = length;
	return parts++;
}

static unsigned part_of(const char *name, size_t length)
{
	const char *row = getenv("EMU_STATS_PARTS");
	unsigned found = OTHER;
	for (size_t n; row && *row; row += n + (row[n] == ',')) {
		n = strcspn(row, ",");
		const char *equals = memchr(row, '=', n);
		if (!equals)
			continue;
		const unsigned number = part_number(equals + 1, (size_t)(row + n - equals - 1));
		if ((size_t)(equals - row) == length && !memcmp(row, name, length))
			found = number;
	}
	return found;
}

const struct emu_stats *emu_stats_device(void)
{
	static struct emu_stats device;
	const char *suffix = getenv("EMU_TRACE_SUFFIX");
	if (file < 0)
		return NULL;
	if (!device.part) {
		device = (struct emu_stats){.suffix = suffix && *suffix ? suffix : NULL, .part = part_of};
		device.ours = emu_skip(&device.spans);
	}
	return &device;
}

/* ---- lines */

static void add_traffic(struct text *t, const char *name, const struct emu_traffic *a)
{
	text_printf(t, ", \"%s\": {\"accesses\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"sectors\": %" PRIu64 "}", name, a->accesses,
		    a->bytes, a->sectors);
}

static void add_count(struct text *t, const struct emu_count *c)
{
	text_printf(t, "\"instructions\": %" PRIu64, c->instructions);
	add_traffic(t, "program", &c->program);
	add_traffic(t, "ours", &c->ours);
}

static void add_traffics(struct emu_traffic *to, const struct emu_traffic *from)
{
	to->accesses += from->accesses;
	to->bytes += from->bytes;
	to->sectors += from->sectors;
}

static struct emu_count sum_of(const struct emu_count *counts)
{
	struct emu_count sum = {.instructions = 0};
	for (unsigned k = 0; k < EMU_PARTS; k++) {
		sum.instructions += counts[k].instructions;
		add_traffics(&sum.program, &counts[k].program);
		add_traffics(&sum.ours, &counts[k].ours);
	}
	return sum;
}

/* Those that the kernel can reach nothing of are not in it: they have no instruction. */
static void add_parts(struct text *t, const struct emu_count *counts)
{
	text_puts(t, ", \"parts\": {\"kernel\": {");
	add_count(t, &counts[0]);
	for (unsigned k = 1; k < EMU_PARTS; k++) {
		if (!counts[k].instructions)
			continue;
		text_printf(t, "}, \"%.*s\": {", k == OTHER ? 5 : (int)part[k].length, k == OTHER ? "other" : part[k].name);
		add_count(t, &counts[k]);
	}
	text_puts(t, "}}");
}

uint64_t emu_stats_number(void) { return ++launches; }

void emu_stats_ended(CUstream s, const struct emu_stats_launch *l, const struct emu_count *counts)
{
	struct text t = {0};
	if (file < 0 || !counts)
		return;
	const struct emu_count sum = sum_of(counts);
	text_printf(&t, "{\"rank\": %" PRIu64 ", \"launch\": %" PRIu64 ", \"device\": %d, \"kernel\": \"%s\", \"grid\": [%u, %u, %u], \"block\": %u, "
		    "\"completed\": %s, ", emu_sched_rank(), l->number, (int)s->context->device, l->kernel, l->grid[0], l->grid[1],
		    l->grid[2], l->threads, l->completed ? "true" : "false");
	add_count(&t, &sum);
	add_parts(&t, counts);
	text_puts(&t, "}\n");
	if (t.failed || text_write_fd(file, t.data, t.size)) {
		log_error("EMU_STATS: %s; nothing more is counted", t.failed ? "out of memory" : strerror(errno));
		close(file);
		file = -1;
	}
	text_free(&t);
}

#include "emu/driver/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"
#include "emu/driver/range.h"
#include "emu/driver/sched.h"
#include "emu/driver/skip.h"
#include "emu/driver/vmm.h"

#define RANK_NUMBERS 1000000000ull
#define BUFFER_BYTES (1u << 16) /* flushed when so full, in the middle of a turn: the turn is ours alone */

/* A launch that no host has been told is complete. */
struct untold { uint64_t launch, stream; CUcontext context; int done; };

static int file = -1;
static struct text buffer;
static struct { struct untold *at; size_t count, room; } untold;
static uint64_t launches, recordings;

/* ---- the file */

static const char *path_of(void)
{
	const char *path = getenv("EMU_TRACE");
	return path && *path ? path : NULL;
}

void emu_trace_create(int weak)
{
	const char *head = weak ? "gsan-trace 1 weak\n" : "gsan-trace 1\n";
	const char *path = path_of();
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
	if (fd < 0)
		return; /* emu_trace_open says why */
	if (text_write_fd(fd, head, strlen(head)))
		log_error("EMU_TRACE: cannot write %s: %s", path, strerror(errno));
	close(fd);
}

int emu_trace_open(void)
{
	const char *path = path_of();
	if (!path)
		return 0;
	file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (file >= 0)
		return 0;
	const int rc = -errno;
	log_error("EMU_TRACE: cannot write %s: %s; name a file in a directory that can be written", path, strerror(errno));
	return rc;
}

void emu_trace_flush(void)
{
	if (file < 0 || !buffer.size)
		return;
	if (buffer.failed || text_write_fd(file, buffer.data, buffer.size)) {
		log_error("EMU_TRACE: %s; the trace ends here", buffer.failed ? "out of memory" : strerror(errno));
		close(file);
		file = -1;
	}
	buffer.size = 0;
}

static void line_ends(void)
{
	text_add(&buffer, "\n", 1);
	if (buffer.size >= BUFFER_BYTES)
		emu_trace_flush();
}

static void host_line_ends(void)
{
	text_add(&buffer, "\n", 1);
	emu_trace_flush();
}

uint64_t emu_trace_number(uint64_t serial) { return emu_sched_rank() * RANK_NUMBERS + serial; }

/* ---- the executor's lines */

static void add_hex(uint64_t v, int known)
{
	if (known)
		text_printf(&buffer, " 0x%" PRIx64, v);
	else
		text_add(&buffer, " -", 2);
}

/* Memory that the driver does not know: number 0, and its address. A vector is told from a scalar of as many bytes: its
 * elements are operations of their own (PTX ISA 8.2.4). */
static void add_place(uint64_t address, uint64_t bytes, uint32_t elements)
{
	uint64_t mem = 0, offset = address;
	const struct emu_range *r = emu_range_find(&emu_known, address);
	if (r) {
		mem = r->physical ? emu_physical_number(r->physical) : r->number ? r->number : emu_trace_number(r->id);
		offset = address - r->base;
	}
	text_printf(&buffer, " %" PRIu64 " %" PRIu64 " ", mem, offset);
	if (elements > 1)
		text_printf(&buffer, "%ux", elements);
	text_printf(&buffer, "%" PRIu64, bytes / elements);
}

static void trace_access(uint64_t launch, const struct emu_access *a)
{
	if (file < 0)
		return;
	text_printf(&buffer, "mem %" PRIu64 " %" PRIu64 " %u %u %s %s %s", launch, a->cta, a->thread, a->line, a->op, a->sem, a->scope);
	add_place(a->address, a->bytes, a->elements);
	add_hex(a->read, a->reads);
	add_hex(a->wrote, a->writes);
	line_ends();
}

static void trace_fence(uint64_t launch, const struct emu_access *a)
{
	if (file < 0)
		return;
	text_printf(&buffer, "fence %" PRIu64 " %" PRIu64 " %u %u %s %s", launch, a->cta, a->thread, a->line, a->sem, a->scope);
	line_ends();
}

static void trace_shared(uint64_t launch, const struct emu_access *a)
{
	if (file < 0)
		return;
	text_printf(&buffer, "shared %" PRIu64 " %" PRIu64 " %u %u %s %s %s", launch, a->cta, a->thread, a->line, a->op, a->sem, a->scope);
	line_ends();
}

static void trace_barrier(uint64_t launch, enum emu_barrier_event event, const struct emu_barrier *b)
{
	static const struct { const char *name; int who, counts; } forms[] = {
		[EMU_ARRIVE] = {"arrive", 1, 1}, [EMU_PHASE] = {"phase", 0, 0}, [EMU_PASS] = {"pass", 1, 0}, [EMU_INIT] = {"init", 0, 1}};
	if (file < 0)
		return;
	text_printf(&buffer, "%s %" PRIu64 " %" PRIu64, forms[event].name, launch, b->cta);
	if (forms[event].who)
		text_printf(&buffer, " %u 0x%x %u", b->warp, b->lanes, b->line);
	text_printf(&buffer, " %s %" PRIu64, b->kind, b->id);
	if (forms[event].who)
		text_printf(&buffer, " %s", b->how);
	if (forms[event].counts)
		text_printf(&buffer, " %u", b->count);
	line_ends();
}

static void trace_exit(uint64_t launch, uint64_t cta)
{
	if (file < 0)
		return;
	text_printf(&buffer, "exit %" PRIu64 " %" PRIu64, launch, cta);
	line_ends();
}

const struct emu_trace *emu_trace_device(void)
{
	static struct emu_trace device = {NULL, 0, trace_access, trace_fence, trace_shared, trace_barrier, trace_exit};
	const char *suffix = getenv("EMU_TRACE_SUFFIX");
	device.tells = file >= 0;
	if (!device.tells && emu_sched_schedule() == EMU_RANDOM)
		return NULL;
	if (!device.suffix && suffix && *suffix)
		device.suffix = suffix;
	return &device;
}

/* ---- points */

void emu_point_free(struct emu_point *p)
{
	free(p->passed);
	*p = (struct emu_point){NULL, 0, 0, 0};
}

/* Returns 1 if the point moved. */
static int point_add(struct emu_point *p, uint64_t stream, uint64_t launch)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->passed[i].stream == stream) {
			if (p->passed[i].launch >= launch)
				return 0;
			p->passed[i].launch = launch;
			return 1;
		}
	if (p->count == p->room) {
		size_t room = p->room ? 2 * p->room : 4;
		struct emu_passed *grown = realloc(p->passed, room * sizeof *grown);
		if (!grown) {
			buffer.failed = 1;
			return 0;
		}
		p->passed = grown;
		p->room = room;
	}
	p->passed[p->count++] = (struct emu_passed){stream, launch};
	return 1;
}

static int still_untold(const struct emu_passed *p)
{
	for (size_t i = 0; i < untold.count; i++)
		if (untold.at[i].stream == p->stream && untold.at[i].launch <= p->launch)
			return 1;
	return 0;
}

/* What hosts know to be complete needs no place: points stay as short as the work is that nobody waited for. */
static int point_join(struct emu_point *to, const struct emu_point *from)
{
	int moved = 0;
	for (size_t i = 0; i < from->count; i++)
		if (still_untold(&from->passed[i]))
			moved |= point_add(to, from->passed[i].stream, from->passed[i].launch);
	return moved;
}

static void point_prune(struct emu_point *p)
{
	size_t kept = 0;
	for (size_t i = 0; i < p->count; i++)
		if (still_untold(&p->passed[i]))
			p->passed[kept++] = p->passed[i];
	p->count = kept;
}

/* ---- streams */

static void add_record(CUstream s, uint64_t recording)
{
	text_printf(&buffer, "record %" PRIu64 " %" PRIu64 "\n", recording, emu_trace_number(s->id));
}

static void add_wait(CUstream s, uint64_t recording)
{
	text_printf(&buffer, "wait %" PRIu64 " %" PRIu64 "\n", recording, emu_trace_number(s->id));
}

static void implied(CUstream before, CUstream after)
{
	if (!point_join(&after->work, &before->work))
		return;
	const uint64_t recording = emu_trace_number(++recordings);
	add_record(before, recording);
	add_wait(after, recording);
}

/* The legacy default stream's order with blocking streams, said as events: readers need no rule for it. */
static void order(CUstream s)
{
	CUcontext c = s->context;
	if (s != &c->legacy && !(s->flags & CU_STREAM_NON_BLOCKING))
		implied(&c->legacy, s);
	for (CUstream other = c->streams; other && s == &c->legacy; other = other->next)
		if (!(other->flags & CU_STREAM_NON_BLOCKING))
			implied(other, s);
}

static uint64_t enter(CUstream s)
{
	if (untold.count == untold.room) {
		size_t room = untold.room ? 2 * untold.room : 64;
		struct untold *grown = realloc(untold.at, room * sizeof *grown);
		if (!grown) {
			buffer.failed = 1;
			return 0;
		}
		untold.at = grown;
		untold.room = room;
	}
	order(s);
	const uint64_t launch = emu_trace_number(++launches);
	point_prune(&s->work);
	untold.at[untold.count++] = (struct untold){launch, s->id, s->context, 0};
	point_add(&s->work, s->id, launch);
	return launch;
}

static void add_head(const char *what, uint64_t launch, CUstream s)
{
	text_printf(&buffer, "%s %" PRIu64 " rank %" PRIu64 " device %d stream %" PRIu64, what, launch, emu_sched_rank(),
		    (int)s->context->device, emu_trace_number(s->id));
}

size_t emu_copied(const char *name)
{
	const char *suffix = getenv("EMU_TRACE_SUFFIX");
	const size_t length = strlen(name), rest = suffix ? strlen(suffix) : 0;
	return rest && length > rest && !strcmp(name + length - rest, suffix) ? length - rest : 0;
}

uint64_t emu_trace_kernel(CUstream s, const char *name, const struct emu_launch *l)
{
	if (file < 0)
		return 0;
	const size_t original = emu_copied(name), length = original ? original : strlen(name);
	const uint64_t launch = enter(s);
	add_head("launch", launch, s);
	text_printf(&buffer, " kernel %.*s grid %u %u %u block %u", (int)length, name, l->grid[0], l->grid[1], l->grid[2],
		    l->block[0] * l->block[1] * l->block[2]);
	host_line_ends();
	return launch;
}

uint64_t emu_trace_range(CUstream s, const struct emu_trace_range *r)
{
	if (file < 0 || emu_skipped_range(s->flags, r->to, r->from))
		return 0;
	const uint64_t launch = enter(s);
	add_head("range", launch, s);
	if (r->to) {
		text_puts(&buffer, " st");
		add_place(r->to, r->bytes, 1);
	}
	if (r->from) {
		text_puts(&buffer, " ld");
		add_place(r->from, r->bytes, 1);
	}
	host_line_ends();
	return launch;
}

void emu_trace_begin(uint64_t launch)
{
	if (file < 0 || !launch)
		return;
	text_printf(&buffer, "begin %" PRIu64, launch);
	line_ends();
}

void emu_trace_done(uint64_t launch)
{
	if (file < 0 || !launch)
		return;
	for (size_t i = 0; i < untold.count; i++)
		if (untold.at[i].launch == launch)
			untold.at[i].done = 1;
	text_printf(&buffer, "done %" PRIu64, launch);
	line_ends();
}

void emu_trace_record(CUstream s, struct emu_point *event)
{
	if (file < 0)
		return;
	order(s);
	event->count = 0;
	point_join(event, &s->work);
	event->recording = emu_trace_number(++recordings);
	add_record(s, event->recording);
	emu_trace_flush();
}

void emu_trace_wait(CUstream s, const struct emu_point *event)
{
	if (file < 0 || !event->recording)
		return;
	order(s);
	point_join(&s->work, event);
	add_wait(s, event->recording);
	emu_trace_flush();
}

/* ---- what hosts learn */

static int covered(const struct emu_point *p, const struct untold *u)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->passed[i].stream == u->stream && p->passed[i].launch >= u->launch)
			return 1;
	return 0;
}

/* Those that the point covers, or all of the context; what was dropped after a fault never completes. */
static void told(const struct emu_point *p, CUcontext c)
{
	size_t kept = 0, n = 0;
	for (size_t i = 0; i < untold.count; i++) {
		const struct untold u = untold.at[i];
		if (!u.done || (p ? !covered(p, &u) : u.context != c)) {
			untold.at[kept++] = u;
			continue;
		}
		if (!n++)
			text_printf(&buffer, "complete %" PRIu64, emu_sched_rank());
		text_printf(&buffer, " %" PRIu64, u.launch);
	}
	untold.count = kept;
	if (n)
		host_line_ends();
}

void emu_trace_told_stream(CUstream s)
{
	if (file < 0)
		return;
	order(s);
	emu_trace_flush();
	told(&s->work, NULL);
}

void emu_trace_told_event(const struct emu_point *event)
{
	if (file >= 0 && event->recording)
		told(event, NULL);
}

void emu_trace_told_context(CUcontext c)
{
	if (file >= 0)
		told(NULL, c);
}

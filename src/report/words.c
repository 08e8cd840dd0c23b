/* The words of a report: names of kinds, classes and ends, and the one sentence that says which edge is missing. */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "report/frame.h"

#define REPORT_CHAIN 6u /* places of one that a text shows */

static const char *const report_kinds[] = {
	[GSAN_KIND_NONE] = "none",
	[GSAN_RAW] = "read-after-write",
	[GSAN_WAR] = "write-after-read",
	[GSAN_WAW] = "write-after-write",
	[GSAN_ATOMIC_PLAIN] = "atomic-vs-plain",
	[GSAN_SCOPE] = "insufficient-scope",
	[GSAN_STALE_NC] = "stale-nc-read",
};
#define REPORT_KINDS (sizeof report_kinds / sizeof *report_kinds)

const char *report_kind_name(enum gsan_kind kind)
{
	return (size_t)kind < REPORT_KINDS ? report_kinds[kind] : "unknown";
}

int report_kind_find(const char *name, enum gsan_kind *kind)
{
	for (size_t i = 1; i < REPORT_KINDS; i++)
		if (!strcmp(report_kinds[i], name)) {
			*kind = (enum gsan_kind)i;
			return 0;
		}
	return -ENOENT;
}

static const char *const report_classes[] = {
	[REPORT_NO_CLASS] = NULL,
	[REPORT_MISSING_RELEASE] = "missing-release",
	[REPORT_MISSING_ACQUIRE] = "missing-acquire",
	[REPORT_MISSING_BOTH] = "missing-release-and-acquire",
	[REPORT_NARROW_SCOPE] = "narrow-scope",
	[REPORT_EARLY_RELEASE] = "early-release",
	[REPORT_WEAK_FLAG] = "weak-flag",
	[REPORT_OTHER_FLAG] = "flag-of-another-cta",
	[REPORT_MISSING_BARRIER] = "missing-barrier",
	[REPORT_STALE_FLAG] = "stale-flag",
	[REPORT_EARLY_REUSE] = "early-reuse",
	[REPORT_LATE_ACQUIRE] = "late-acquire",
	[REPORT_MISSING_LOCK] = "missing-lock",
	[REPORT_MISSING_DEPENDENCY] = "missing-grid-dependency",
	[REPORT_FREED] = "use-after-free-async",
	[REPORT_MISSING_STREAM_EDGE] = "missing-stream-edge",
	[REPORT_NON_COHERENT] = "non-coherent-load",
	[REPORT_NO_SYNCHRONISATION] = "no-synchronisation",
};
_Static_assert(sizeof report_classes / sizeof *report_classes == REPORT_CLASSES, "each class has a name");

const char *report_class_name(enum report_class class)
{
	return class < REPORT_CLASSES ? report_classes[class] : NULL;
}

int report_class_find(const char *name, enum report_class *class)
{
	for (size_t i = REPORT_NO_CLASS + 1; i < REPORT_CLASSES; i++)
		if (!strcmp(report_classes[i], name)) {
			*class = (enum report_class)i;
			return 0;
		}
	return -ENOENT;
}

int report_of_launches(enum report_class class)
{
	return class == REPORT_MISSING_DEPENDENCY || class == REPORT_FREED || class == REPORT_MISSING_STREAM_EDGE;
}

const char *report_end_name(enum report_end end)
{
	static const char *const name[] = {"running", "exited", "signal", "lost", "missing"};
	return name[end];
}

int report_add_frame(struct text *out, const struct report_place *at, const char *inlined_at)
{
	struct frame own = frame_first(inlined_at, NULL);
	const int elsewhere = frame_own(&own, at);
	if (elsewhere)
		text_add(out, own.at, own.size);
	else
		text_printf(out, "%s:%u", at->file, at->line);
	return elsewhere;
}

/* Of many places those that are nearest to the instruction, and to the kernel. */
void report_add_chain(struct text *out, const char *inlined_at)
{
	const char *blank = "";
	unsigned frames = 0, at = 0;
	for (struct frame f = frame_first(inlined_at, NULL); frame_next(&f);)
		frames++;
	const unsigned left_out = frames > REPORT_CHAIN + 1 ? frames - REPORT_CHAIN : 0, from = REPORT_CHAIN / 2;
	for (struct frame f = frame_first(inlined_at, NULL); frame_next(&f); at++) {
		if (left_out && at == from)
			text_printf(out, "%s%u more", blank, left_out);
		if (at >= from && at < from + left_out)
			continue;
		text_puts(out, blank);
		text_add(out, f.at, f.size);
		blank = ", ";
	}
}

/* Does a word of CUDA's end before that column, as __device__? All of them are macros, and nvcc counts the columns of what they become. */
static int report_expands(const char *source, unsigned column)
{
	for (const char *at = source; (at = strstr(at, "__")) && (size_t)(at - source) + 1 < column;) {
		const size_t n = strspn(at, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
		if (n > 4 && !strncmp(at + n - 2, "__", 2))
			return 1;
		at += n;
	}
	return 0;
}

/* Triton's compiler takes columns from Python's ast, which counts them from 0; all others count from 1, as DWARF does. */
unsigned report_column(const struct report_place *at, const char *source)
{
	const size_t n = at->file ? strlen(at->file) : 0;
	if (text_before(at->file, n, ".py"))
		return at->column ? at->column + 1 : 0;
	return source && report_expands(source, at->column) ? 0 : at->column;
}

const char *report_below(const char *directory, const char *file)
{
	const size_t n = directory ? strlen(directory) : 0;
	return n > 1 && !strncmp(file, directory, n) && file[n] == '/' ? file + n + 1 : file;
}

void report_add_operation(struct text *out, const struct report_side *side)
{
	text_puts(out, side->op ? side->op : "access");
	if (side->semantics)
		text_printf(out, ".%s", side->semantics);
	if (side->scope)
		text_printf(out, ".%s", side->scope);
}

const char *report_noun(const struct report_side *side)
{
	static const struct { const char *op, *noun; } word[] = {
		{"ld", "load"}, {"st", "store"}, {"atom", "atomic"}, {"red", "reduction"}, {"cp", "copy"},
		{"memcpy", "copy"}, {"memset", "memset"}, {"free", "free"}, {"write-value", "value written by a stream"}, {"wait-value", "stream's wait for a value"},
	};
	for (size_t i = 0; side->op && i < sizeof word / sizeof *word; i++) {
		size_t n = strlen(word[i].op);
		if (!strncmp(side->op, word[i].op, n) && (side->op[n] == 0 || side->op[n] == '.'))
			return word[i].noun;
	}
	return "access";
}

const char *report_kernel_name(const struct report_side *side) { return side->kernel_name ? side->kernel_name : side->kernel ? side->kernel : "?"; }
const char *report_note_name(const struct report_note *note) { return note->kernel_name ? note->kernel_name : note->name ? note->name : "?"; }
const char *report_function_name(const struct report_side *side) { return side->function_name ? side->function_name : side->function; }

/* Which access came first counts: within one launch, or between two, that makes two. */
void report_add_count(struct text *out, uint64_t count, int once, int one_launch)
{
	text_puts(out, count == 1 || once ? "in " : "in up to ");
	text_counted(out, count, one_launch ? "launch" : "pair of launches", one_launch ? "launches" : "pairs of launches");
}

int report_is_free(const struct report_side *side) { return side->op && !strcmp(side->op, "free"); }

int report_is_copy(const struct report_side *side)
{
	return report_is_free(side) || (side->op && (!strcmp(side->op, "memcpy") || !strcmp(side->op, "memset") || strstr(side->op, "-value")));
}

static void report_add_who(struct text *out, const struct report_side *side, int with_launch)
{
	if (side->rank < 0)
		text_printf(out, "a rank that is not known");
	else
		text_printf(out, "rank %d", side->rank);
	if (with_launch && side->kernel)
		text_printf(out, report_is_copy(side) ? "'s %s" : "'s kernel %s", report_kernel_name(side));
}

void report_add_where(struct text *out, const char *before, const struct report_side *side, const char *behind)
{
	if (!side->at.file && !side->object)
		return;
	text_puts(out, before);
	if (side->at.file)
		report_add_frame(out, &side->at, side->inlined_at);
	else
		text_puts(out, side->object);
	text_puts(out, behind);
}

/* "store in rank 0 (file:31)" */
static void report_add_side(struct text *out, const struct report_side *side, int with_kernel)
{
	text_printf(out, "%s in ", report_noun(side));
	report_add_who(out, side, with_kernel);
	report_add_where(out, " (", side, ")");
}

/* " at kernel.cu:42", " at kernel.cu:42 (there from lock.h:7)" */
static void report_add_place(struct text *out, const struct report_place *at, const char *inlined_at)
{
	if (!at->file)
		return;
	text_puts(out, " at ");
	if (report_add_frame(out, at, inlined_at))
		text_printf(out, " (there from %s:%u)", at->file, at->line);
}

/* " at kernel.cu:42 (inlined at kernel.cu:60)", " at kernel.cu:42 (there from lock.h:7, inlined at kernel.cu:60)": of a flag nothing else says which
 * call of a helper it is that raises it. */
static void report_add_flag_place(struct text *out, const struct report_flag *flag)
{
	if (!flag->at.file)
		return;
	const struct frame own = frame_line(&flag->at, flag->inlined_at, NULL);
	text_puts(out, " at ");
	const int elsewhere = report_add_frame(out, &flag->at, flag->inlined_at);
	if (elsewhere)
		text_printf(out, " (there from %s:%u", flag->at.file, flag->at.line);
	if (own.rest) {
		text_puts(out, elsewhere ? ", inlined at " : " (inlined at ");
		report_add_chain(out, own.rest);
	}
	text_puts(out, elsewhere || own.rest ? ")" : "");
}

/* What raises a flag need not be a store. */
static int report_flag_is_atomic(const struct report_flag *flag) { return flag->op && (!strncmp(flag->op, "atom", 4) || !strncmp(flag->op, "red", 3)); }

static void report_add_flag(struct text *out, const char *what, const struct report_flag *flag)
{
	text_printf(out, "the flag %s", report_flag_is_atomic(flag) && !strcmp(what, "store") ? "atomic" : what);
	report_add_flag_place(out, flag);
}

static int report_other_gpu(const struct report_finding *f) { return f->first.gpu != f->second.gpu; }

#define REPORT_NO_STREAM_EDGE "no event, stream wait, graph dependency or synchronisation between the two launches"
/* The sentence has no process ids, so that it is the same in each run: they stand with the sides. */
static void report_say_none(struct text *out, const struct report_finding *f)
{
	const struct report_side *a = &f->first, *b = &f->second;
	if (a->rank != b->rank)
		text_printf(out, "no synchronisation between rank %d and rank %d was seen", a->rank, b->rank);
	else if (report_two_processes(f))
		text_printf(out, "no synchronisation between two processes of rank %d was seen", a->rank);
	else if (report_two_launches(f) && report_other_gpu(f))
		text_printf(out, REPORT_NO_STREAM_EDGE ", on GPU %d and GPU %d, was seen", a->gpu, b->gpu);
	else if (report_two_launches(f))
		text_puts(out, REPORT_NO_STREAM_EDGE " was seen");
	else
		text_puts(out, "no synchronisation between the two CTAs of one launch was seen");
}

static int report_frees(const struct report_finding *f) { return report_is_free(&f->first) || report_is_free(&f->second); }

static void report_say_freed(struct text *out, const struct report_finding *f)
{
	report_say_none(out, f);
	text_puts(out, ", and what is given back may be somebody else's by then");
}

static int report_is(const char *semantics, const char *one)
{
	return semantics && (!strcmp(semantics, one) || !strcmp(semantics, "acq_rel"));
}

/* Does a scope include CTAs of another GPU, or of the same? */
enum { REACHES_NONE, REACHES_GPU, REACHES_ALL };
static int report_reach(const char *scope)
{
	return !scope || !strcmp(scope, "cta") ? REACHES_NONE : !strcmp(scope, "sys") ? REACHES_ALL : REACHES_GPU;
}

int report_includes(const struct report_finding *f, const char *scope)
{
	return report_reach(scope) >= (report_other_gpu(f) ? REACHES_ALL : REACHES_GPU);
}

/* Does the flag's own scope, as it is written? */
static int report_reaches(const struct report_finding *f, const struct report_flag *flag) { return report_includes(f, flag->scope); }

static void report_add_noun(struct text *out, const struct report_side *side)
{
	text_printf(out, "the %s", report_noun(side));
	report_add_place(out, &side->at, side->inlined_at);
}

static int report_lacks_both(const struct report_finding *f) { return f->both && !report_is(f->flag_read.semantics, "acquire"); }

/* Either the store itself releases, or a fence does that its CTA executes between the first access and it: neither is so.
 * A fence may be there all the same, too early, or one that only acquires; of a formal race, one before the barrier, or of another thread. */
static void report_say_no_release(struct text *out, const struct report_finding *f)
{
	const char *semantics = f->flag_write.semantics;
	report_add_flag(out, "store", &f->flag_write);
	/* an RMW that only acquires writes, too: it is how the other side waits */
	text_printf(out, " is %s, and no fence %s ", report_is(semantics, "acquire") ? "an acquire" : "relaxed",
		    f->formal ? "of the thread that raises it, behind the barrier between" : "between");
	report_add_noun(out, &f->first);
	text_printf(out, " and it%s makes it a release at scope .%s; release is missing", f->formal ? "," : "", report_other_gpu(f) ? "sys" : "gpu");
	if (!report_lacks_both(f))
		return;
	text_puts(out, ", and so is an acquire at ");
	report_add_flag(out, "read", &f->flag_read);
}

static void report_say_no_acquire(struct text *out, const struct report_finding *f)
{
	report_add_flag(out, "read", &f->flag_read);
	text_printf(out, " is %s, and no fence between it and ", report_is(f->flag_read.semantics, "release") ? "a release" : "relaxed");
	report_add_noun(out, &f->second);
	text_printf(out, " acquires at scope .%s what ", report_other_gpu(f) ? "sys" : "gpu");
	if (f->flag_write.at.file) {
		report_add_flag(out, "store", &f->flag_write);
		text_puts(out, " released; acquire is missing");
	} else {
		text_puts(out, "comes with that value, which no kernel wrote; acquire is missing");
	}
}

int report_same_place(const struct report_place *a, const struct report_place *b)
{
	return a->file && b->file && a->line == b->line && a->column == b->column && !strcmp(a->file, b->file);
}

/* Whichever of them came first. */
int report_flag_races(const struct report_finding *f)
{
	const struct report_place *write = &f->flag_write.at, *read = &f->flag_read.at, *first = &f->first.at, *second = &f->second.at;
	return report_is_weak_flag(f->reason) &&
	       ((report_same_place(first, write) && report_same_place(second, read)) || (report_same_place(first, read) && report_same_place(second, write)));
}

/* A flag that one side accesses weakly races itself; nothing that it is to order is ordered. */
static void report_say_weak(struct text *out, const struct report_finding *f)
{
	int writes = f->reason == GSAN_WHY_WEAK_WRITE, first = report_same_place(&f->first.at, writes ? &f->flag_write.at : &f->flag_read.at);
	const struct report_side *weak = first ? &f->first : &f->second, *strong = first ? &f->second : &f->first;
	if (report_flag_races(f)) {
		report_say_none(out, f);
		text_printf(out, ", and the %s is weak: as a strong one%s it would not race with ", report_noun(weak),
			    writes ? " (release, or relaxed)" : " (acquire, or relaxed)");
		report_add_noun(out, strong);
		return;
	}
	report_add_flag(out, writes ? "store" : "read", writes ? &f->flag_write : &f->flag_read);
	text_printf(out, " is weak, and a weak %s ", writes ? "store releases nothing to" : "load acquires nothing from");
	report_add_flag(out, writes ? "read" : "store", writes ? &f->flag_read : &f->flag_write);
	text_puts(out, writes ? "; release is missing" : "; acquire is missing");
}

static void report_say_other_cta(struct text *out, const struct report_finding *f)
{
	report_add_flag(out, "store", &f->flag_write);
	text_puts(out, " is of another CTA, and nothing orders ");
	report_add_noun(out, &f->first);
	text_puts(out, " before it");
}

/* One warp of a CTA raises the flag for what another one did, or waits for what another one does. */
static void report_say_published_alone(struct text *out, const struct report_finding *f)
{
	report_add_flag(out, "store", &f->flag_write);
	text_puts(out, " is by another warp than ");
	report_add_noun(out, &f->first);
	text_puts(out, ", and no barrier of their CTA stands between; barrier is missing");
}

static void report_say_acquired_alone(struct text *out, const struct report_finding *f)
{
	report_add_noun(out, &f->second);
	text_puts(out, " is by another thread than the one of its CTA that acquires ");
	report_add_flag(out, "store", &f->flag_write);
	if (f->flag_read.at.file) {
		text_puts(out, " by ");
		report_add_flag(out, "read", &f->flag_read);
	}
	text_puts(out, ", and no barrier of that CTA stands between the acquire and it; barrier is missing");
}

const struct report_side *report_reader(const struct report_finding *f) { return f->kind == GSAN_WAR ? &f->first : &f->second; }
const struct report_side *report_writer(const struct report_finding *f) { return f->kind == GSAN_WAR ? &f->second : &f->first; }

static void report_say_older(struct text *out, const struct report_finding *f)
{
	report_add_flag(out, "read", &f->flag_read);
	text_puts(out, ", before ");
	report_add_noun(out, report_reader(f));
	text_puts(out, ", went on by an older value than ");
	report_add_flag(out, "store", &f->flag_write);
	text_puts(out, " puts behind ");
	report_add_noun(out, report_writer(f));
	text_puts(out, ": of an earlier round, or as a launch left it");
}

/* Of a store that is executed again, which waits too little, or not at all. */
static void report_say_reused(struct text *out, const struct report_finding *f)
{
	const int waits = f->flag_read.at.file != NULL;
	if (waits) {
		report_add_flag(out, "read", &f->flag_read);
		text_puts(out, ", before ");
	}
	report_add_noun(out, report_writer(f));
	text_puts(out, waits ? ", went on by too old a value: not by that which " : " is executed again without a wait for ");
	if (f->flag_write.at.file)
		report_add_flag(out, "store", &f->flag_write);
	else
		text_puts(out, "a flag");
	text_puts(out, waits ? " puts behind " : ", behind ");
	report_add_noun(out, report_reader(f));
	if (waits && f->awaited.at.file) {
		text_puts(out, "; or ");
		report_add_flag(out, "read", &f->awaited);
		text_puts(out, ", before that, did");
	} else if (!waits) {
		text_puts(out, " of the round before; wait is missing");
	}
}

static void report_say_late_acquire(struct text *out, const struct report_finding *f)
{
	report_add_noun(out, report_reader(f));
	text_puts(out, " stands before ");
	report_add_flag(out, "read", &f->flag_read);
	text_puts(out, ", by which its CTA waits; move it behind that");
}

static void report_say_unawaited(struct text *out, const struct report_finding *f)
{
	report_add_noun(out, report_reader(f));
	text_puts(out, " is by another thread than the one of its CTA that waits by ");
	report_add_flag(out, "read", &f->flag_read);
	text_puts(out, ", and no barrier of that CTA stands between the wait and it; barrier is missing");
}

/* Which side holds the lock is said by where that stands. */
static void report_say_unlocked(struct text *out, const struct report_finding *f)
{
	const int first = f->flag_write.at.file != NULL;
	const struct report_flag *lock = first ? &f->flag_write : &f->flag_read;
	report_add_noun(out, first ? &f->first : &f->second);
	text_puts(out, " is behind the lock that is taken");
	report_add_flag_place(out, lock);
	text_puts(out, ", and ");
	report_add_noun(out, first ? &f->second : &f->first);
	text_puts(out, " is not; lock is missing");
}

/* `outside`: a side of the finding, which the scope leaves out. */
static void report_add_other(struct text *out, const struct report_finding *f, const struct report_side *outside)
{
	if (outside->gpu >= 0 && report_other_gpu(f))
		text_printf(out, "GPU %d of ", outside->gpu);
	else if (report_two_processes(f))
		text_puts(out, "the other process of ");
	else if (f->first.rank == f->second.rank) {
		text_puts(out, "the other CTA");
		return;
	}
	report_add_who(out, outside, 0);
}
static void report_add_outside(struct text *out, const struct report_finding *f, const struct report_side *outside)
{
	text_puts(out, " does not include ");
	report_add_other(out, f, outside);
}

static void report_add_scope(struct text *out, const char *what, const struct report_flag *flag)
{
	text_puts(out, "the scope");
	if (flag->scope)
		text_printf(out, " .%s", flag->scope);
	text_printf(out, " of the %s", what);
	report_add_flag_place(out, flag);
}

static const char *report_release_name(const struct report_flag *write)
{
	return report_is(write->semantics, "release") ? "release" : report_flag_is_atomic(write) ? "flag atomic" : "flag store";
}
static const char *report_acquire_name(const struct report_flag *read) { return report_is(read->semantics, "acquire") ? "acquire" : "flag read"; }

/* Of the flag's store; its read, too, if that is none wider. */
static void report_say_narrow_release(struct text *out, const struct report_finding *f)
{
	report_add_scope(out, report_release_name(&f->flag_write), &f->flag_write);
	report_add_outside(out, f, &f->second);
	if (!f->flag_read.at.file || !f->flag_read.scope || report_reaches(f, &f->flag_read))
		return;
	text_puts(out, ", nor does ");
	report_add_scope(out, report_acquire_name(&f->flag_read), &f->flag_read);
	text_puts(out, " include ");
	report_add_other(out, f, &f->first);
}

/* If the scope of the store itself is wide enough, that of what releases before it is not, or of who hands on what it read. */
static void report_say_release_scope(struct text *out, const struct report_finding *f)
{
	int releases = report_is(f->flag_write.semantics, "release");
	if (!f->flag_write.scope) {
		text_puts(out, "a release, or what hands it on, has a scope that");
		report_add_outside(out, f, &f->second);
		return;
	}
	if (!report_reaches(f, &f->flag_write)) {
		report_say_narrow_release(out, f);
		return;
	}
	text_puts(out, releases ? "what hands on " : "the fence before ");
	report_add_flag(out, "store", &f->flag_write);
	text_puts(out, releases ? " has a scope that" : ", or what hands it on, has a scope that");
	report_add_outside(out, f, &f->second);
}

/* Likewise of the read: then it is a fence, or an acquire of the same flag, behind it; or somebody on a third GPU handed the
 * flag on. */
static void report_say_acquire_scope(struct text *out, const struct report_finding *f)
{
	int sys = report_reach(f->flag_read.scope) == REACHES_ALL;
	if (!report_reaches(f, &f->flag_read)) {
		report_add_scope(out, report_acquire_name(&f->flag_read), &f->flag_read);
		report_add_outside(out, f, &f->first);
		return;
	}
	text_puts(out, sys ? "the fence or the acquire behind " : "");
	report_add_flag(out, "read", &f->flag_read);
	text_puts(out, sys ? " has a scope that" : ", or what acquires behind it, has a scope that");
	if (report_other_gpu(f))
		report_add_outside(out, f, &f->first);
	else
		text_puts(out, " does not include who wrote the flag");
}

/* What mends it, where the text tells that. */
static void report_say_behind(struct text *out, const struct report_finding *f)
{
	if (!f->early || !f->first.at.file)
		return;
	text_puts(out, "; move it behind ");
	report_add_frame(out, &f->first.at, f->first.inlined_at);
}

static void report_say_before_payload(struct text *out, const struct report_finding *f)
{
	report_add_flag(out, "store", &f->flag_write);
	if (f->early && !report_is(f->flag_write.semantics, "release")) {
		text_puts(out, " comes before ");
		report_add_noun(out, &f->first);
		text_puts(out, "; no release there would order that");
	} else if (f->flag_write.semantics)
		text_printf(out, " releases only what came before it, and the %s comes after it%s", report_noun(&f->first),
			    f->early || f->certain ? "" : "; or who waits for it went on by what an earlier round released");
	else
		text_printf(out, " released something, but not the %s", report_noun(&f->first));
	report_say_behind(out, f);
}

static int report_is_overlap(const struct report_finding *f) { return f->overlap; }
static void report_say_overlap(struct text *out, const struct report_finding *f)
{
	const struct report_side *a = &f->first, *b = &f->second, *later = a->launch > b->launch ? a : b, *earlier = later == a ? b : a;
	text_printf(out, "%s may begin before %s has ended (programmatic dependent launch), and no griddepcontrol.wait (cudaGridDependencySynchronize) comes before its %s",
		    report_kernel_name(later), report_kernel_name(earlier), report_noun(later));
}

static int report_is_nc(const struct report_finding *f) { return f->kind == GSAN_STALE_NC; }
static void report_say_nc(struct text *out, const struct report_finding *f)
{
	(void)f;
	text_puts(out, "ld.global.nc may return old data: what it reads must be complete before its kernel starts");
}

static int report_is_scopes(const struct report_finding *f) { return f->kind == GSAN_SCOPE; }
static void report_say_scopes(struct text *out, const struct report_finding *f)
{
	const struct report_side *a = &f->first, *b = &f->second;
	if (a->scope && b->scope && a->gpu != b->gpu)
		text_printf(out, "scopes .%s and .%s do not include both GPU %d and GPU %d", a->scope, b->scope, a->gpu, b->gpu);
	else
		text_printf(out, "scopes .%s and .%s do not include both %s", a->scope ? a->scope : "none", b->scope ? b->scope : "none",
			    a->gpu != b->gpu ? "sides" : a->rank != b->rank || report_two_processes(f) ? "processes" : "CTAs");
}

int report_is_strong(const struct report_side *side) { return side->semantics && strcmp(side->semantics, "weak") != 0; }

int report_is_weak_flag(enum gsan_reason reason) { return reason == GSAN_WHY_WEAK_WRITE || reason == GSAN_WHY_WEAK_READ; }

int report_is_strong_flag(enum gsan_reason reason)
{
	return reason == GSAN_WHY_RELAXED_WRITE || reason == GSAN_WHY_NO_ACQUIRE || reason == GSAN_WHY_RELEASE_SCOPE ||
	       reason == GSAN_WHY_ACQUIRE_SCOPE || reason == GSAN_WHY_BEFORE_PAYLOAD;
}

/* What two launches share, and neither waits for, is no flag: atomics may have counted there what the other one reads, or resets. */
static int report_is_unawaited(const struct report_finding *f) { return f->unawaited && report_two_launches(f); }

/* The reason, where it explains the finding. No flag helps ld.global.nc, and release and acquire are not what two strong
 * accesses lack whose scopes are too narrow. A place that contradicts the reason is another's. */
static enum gsan_reason report_reason(const struct report_finding *f)
{
	int scope = f->reason == GSAN_WHY_RELEASE_SCOPE || f->reason == GSAN_WHY_ACQUIRE_SCOPE;
	int releases = report_is(f->flag_write.semantics, "release");
	if ((f->overlap || report_is_unawaited(f)) && report_is_weak_flag(f->reason)) /* with the wait, or the edge, it need not be strong */
		return GSAN_WHY_NONE;
	if (f->reason == GSAN_WHY_OTHER_CTA && !f->certain && report_is_unawaited(f)) /* a counter that two launches share */
		return GSAN_WHY_NONE;
	if (f->kind == GSAN_STALE_NC || (f->kind == GSAN_SCOPE && !scope))
		return GSAN_WHY_NONE;
	if ((f->reason == GSAN_WHY_RELAXED_WRITE && releases) /* in one epoch with it */ || (f->early && report_is_strong_flag(f->reason)))
		return GSAN_WHY_BEFORE_PAYLOAD;
	if (f->reason == GSAN_WHY_BEFORE_PAYLOAD && f->flag_write.semantics && !releases)
		return GSAN_WHY_RELAXED_WRITE; /* what it released came before an earlier fence */
	if (f->reason == GSAN_WHY_NO_ACQUIRE && report_is(f->flag_read.semantics, "acquire"))
		return GSAN_WHY_NONE;
	return f->reason;
}

/* A fence explains what one of the operation's own scope does not. */
static int report_lacks_fence(const struct report_finding *f, const struct report_flag *fence, const struct report_flag *flag, const char *half)
{
	const int narrow = fence->at.file && !report_includes(f, fence->scope);
	return narrow && (f->reason == GSAN_WHY_RELAXED_WRITE || f->reason == GSAN_WHY_NO_ACQUIRE || (report_reaches(f, flag) && !report_is(flag->semantics, half)));
}

const struct report_flag *report_narrow_fence(const struct report_finding *f, int reads)
{
	const enum gsan_reason reason = report_reason(f);
	const int write = (reason == GSAN_WHY_RELAXED_WRITE || reason == GSAN_WHY_RELEASE_SCOPE) && report_lacks_fence(f, &f->fence_write, &f->flag_write, "release");
	if (!reads)
		return write ? &f->fence_write : NULL;
	const int read = reason == GSAN_WHY_NO_ACQUIRE || reason == GSAN_WHY_ACQUIRE_SCOPE || (write && report_lacks_both(f));
	return read && report_lacks_fence(f, &f->fence_read, &f->flag_read, "acquire") ? &f->fence_read : NULL;
}

static int report_narrows_release(const struct report_finding *f) { return report_narrow_fence(f, 0) != NULL; }
static int report_narrows_acquire(const struct report_finding *f) { return report_narrow_fence(f, 1) != NULL; }

/* "the scope .cta of the fence at F, before the flag store at W" */
static void report_add_fence(struct text *out, const struct report_finding *f, int reads)
{
	const struct report_flag *fence = report_narrow_fence(f, reads);
	text_printf(out, "the scope .%s of the fence", fence->scope);
	report_add_flag_place(out, fence);
	text_puts(out, reads ? ", behind " : ", before ");
	report_add_flag(out, reads ? "read" : "store", reads ? &f->flag_read : &f->flag_write);
}

static void report_say_fence_release(struct text *out, const struct report_finding *f)
{
	report_add_fence(out, f, 0);
	text_puts(out, ",");
	report_add_outside(out, f, &f->second);
	if (report_narrow_fence(f, 1)) {
		text_puts(out, ", nor does ");
		report_add_fence(out, f, 1);
		text_puts(out, ", include ");
		report_add_other(out, f, &f->first);
	} else if (report_lacks_both(f)) {
		text_puts(out, "; an acquire is missing, too, at ");
		report_add_flag(out, "read", &f->flag_read);
	}
}

static void report_say_fence_acquire(struct text *out, const struct report_finding *f)
{
	report_add_fence(out, f, 1);
	text_puts(out, ",");
	report_add_outside(out, f, &f->first);
}

/* What is said of a finding: the first row of its reason whose `when` holds, if it has one; of a reason without a row, the last. */
static const struct report_saying {
	enum gsan_reason reason;
	int (*when)(const struct report_finding *f);
	enum report_class class;
	void (*say)(struct text *out, const struct report_finding *f);
} report_sayings[] = {
	{GSAN_WHY_RELAXED_WRITE, report_narrows_release, REPORT_NARROW_SCOPE, report_say_fence_release},
	{GSAN_WHY_RELAXED_WRITE, report_lacks_both, REPORT_MISSING_BOTH, report_say_no_release},
	{GSAN_WHY_RELAXED_WRITE, NULL, REPORT_MISSING_RELEASE, report_say_no_release},
	{GSAN_WHY_NO_ACQUIRE, report_narrows_acquire, REPORT_NARROW_SCOPE, report_say_fence_acquire},
	{GSAN_WHY_NO_ACQUIRE, NULL, REPORT_MISSING_ACQUIRE, report_say_no_acquire},
	{GSAN_WHY_RELEASE_SCOPE, report_narrows_release, REPORT_NARROW_SCOPE, report_say_fence_release},
	{GSAN_WHY_RELEASE_SCOPE, NULL, REPORT_NARROW_SCOPE, report_say_release_scope},
	{GSAN_WHY_ACQUIRE_SCOPE, report_narrows_acquire, REPORT_NARROW_SCOPE, report_say_fence_acquire},
	{GSAN_WHY_ACQUIRE_SCOPE, NULL, REPORT_NARROW_SCOPE, report_say_acquire_scope},
	{GSAN_WHY_BEFORE_PAYLOAD, NULL, REPORT_EARLY_RELEASE, report_say_before_payload},
	{GSAN_WHY_WEAK_WRITE, NULL, REPORT_WEAK_FLAG, report_say_weak},
	{GSAN_WHY_WEAK_READ, NULL, REPORT_WEAK_FLAG, report_say_weak},
	{GSAN_WHY_OTHER_CTA, NULL, REPORT_OTHER_FLAG, report_say_other_cta},
	{GSAN_WHY_PUBLISHED_ALONE, NULL, REPORT_MISSING_BARRIER, report_say_published_alone},
	{GSAN_WHY_ACQUIRED_ALONE, NULL, REPORT_MISSING_BARRIER, report_say_acquired_alone},
	{GSAN_WHY_OLDER, NULL, REPORT_STALE_FLAG, report_say_older},
	{GSAN_WHY_REUSED, NULL, REPORT_EARLY_REUSE, report_say_reused},
	{GSAN_WHY_LATE_ACQUIRE, NULL, REPORT_LATE_ACQUIRE, report_say_late_acquire},
	{GSAN_WHY_UNAWAITED, NULL, REPORT_MISSING_BARRIER, report_say_unawaited},
	{GSAN_WHY_UNLOCKED, NULL, REPORT_MISSING_LOCK, report_say_unlocked},
	{GSAN_WHY_NONE, report_is_overlap, REPORT_MISSING_DEPENDENCY, report_say_overlap},
	{GSAN_WHY_NONE, report_frees, REPORT_FREED, report_say_freed},
	{GSAN_WHY_NONE, report_is_nc, REPORT_NON_COHERENT, report_say_nc},
	{GSAN_WHY_NONE, report_is_scopes, REPORT_NARROW_SCOPE, report_say_scopes},
	{GSAN_WHY_NONE, report_two_launches, REPORT_MISSING_STREAM_EDGE, report_say_none},
	{GSAN_WHY_NONE, NULL, REPORT_NO_SYNCHRONISATION, report_say_none},
};

static const struct report_saying *report_saying(const struct report_finding *f)
{
	enum gsan_reason reason = report_reason(f);
	const struct report_saying *s = report_sayings, *last = s + sizeof report_sayings / sizeof *report_sayings - 1;
	while (s < last && (s->reason != reason || (s->when && !s->when(f))))
		s++;
	return s;
}

enum report_class report_class(const struct report_finding *f) { return report_saying(f)->class; }

/* Of two ranks, processes or GPUs that nothing orders, which access was checked first does not say which of them was to be first. */
void report_missing_edge(struct text *out, const struct report_finding *f)
{
	const struct report_saying *saying = report_saying(f);
	const int ordered = saying->say != report_say_none || report_is_ordered(f);
	text_puts(out, "nothing orders the ");
	report_add_side(out, &f->first, f->first.rank == f->second.rank);
	text_puts(out, ordered ? " before the " : " and the ");
	report_add_side(out, &f->second, f->first.rank == f->second.rank);
	text_puts(out, ": ");
	saying->say(out, f);
}

#include "report/suppress.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/lines.h"
#include "report/frame.h"

#define SUPPRESS_META "*?[\\" /* of fnmatch(3) */
#define SUPPRESS_ANY (-2)     /* rank, line */

struct suppress_glob { const char *text; int plain; }; /* text NULL: anything; plain: it is the name itself */
struct suppress_place { struct suppress_glob file; int64_t line; };                  /* line 0: code that is of no line */
#define SUPPRESS_PLACES 8                                                            /* that an access is at, for it was inlined */
struct suppress_side { struct suppress_glob kernel, function; struct suppress_place at, place[SUPPRESS_PLACES]; }; /* at: of the instruction itself */
struct suppression {
	uint32_t number;          /* of the line */
	uint32_t kinds;           /* bit k */
	int ranked, rank[2];
	struct suppress_glob label;
	struct suppress_side side[2];
	char *rule;               /* as it is written, malloc'ed */
};

/* ---- reading ---- */

/* The line may have each once; from PART_KERNEL on, each of the two accesses may, and several files. */
enum suppress_part { PART_KIND, PART_RANKS, PART_LABEL, PART_KERNEL, PART_FUNCTION, PART_AT, PART_FILE, SUPPRESS_PARTS };

static struct suppress_glob suppress_glob(const char *text)
{
	return (struct suppress_glob){text, !text[strcspn(text, SUPPRESS_META)]};
}

static int suppress_take_kind(struct suppression *s, unsigned which, struct lines *l, char *value)
{
	(void)which;
	for (int kind = GSAN_RAW; kind < GSAN_TOLD; kind++)
		if (!fnmatch(value, report_kind_name((enum gsan_kind)kind), 0))
			s->kinds |= 1u << kind;
	return s->kinds ? 0 : lines_wrong(l, "'%.60s' matches no kind of finding (gsan-report(1) has them)", value);
}

static int suppress_rank(const char *text, size_t n, int *rank)
{
	char *end;
	*rank = SUPPRESS_ANY;
	if (n == 1 && *text == '*')
		return 0;
	const unsigned long number = strtoul(text, &end, 10);
	*rank = (int)number;
	return n && *text >= '0' && *text <= '9' && end == text + n && number < REPORT_RANKS_MAX ? 0 : -EINVAL;
}

static int suppress_take_ranks(struct suppression *s, unsigned which, struct lines *l, char *value)
{
	const size_t n = strcspn(value, ",");
	(void)which;
	s->ranked = 1;
	if (value[n] && !suppress_rank(value, n, &s->rank[0]) && !suppress_rank(value + n + 1, strlen(value + n + 1), &s->rank[1]))
		return 0;
	return lines_wrong(l, "'%.60s' is no pair of ranks, as in 0,1 or 0,*", value);
}

static int suppress_take_label(struct suppression *s, unsigned which, struct lines *l, char *value)
{
	(void)which, (void)l;
	s->label = suppress_glob(value);
	return 0;
}

static int suppress_take_kernel(struct suppression *s, unsigned which, struct lines *l, char *value)
{
	(void)l;
	s->side[which].kernel = suppress_glob(value);
	return 0;
}

static int suppress_take_function(struct suppression *s, unsigned which, struct lines *l, char *value)
{
	(void)l;
	s->side[which].function = suppress_glob(value);
	return 0;
}

/* FILE[:LINE]. What stands behind the last colon is a line, unless the file's name goes on there. */
static int suppress_take_place(struct suppress_place *place, struct lines *l, char *value)
{
	char *colon = strrchr(value, ':'), *end;
	const unsigned long line = colon ? strtoul(colon + 1, &end, 10) : 0;
	if (colon && colon[1] >= '0' && colon[1] <= '9' && !*end && line <= UINT32_MAX) {
		*colon = 0;
		place->line = (int64_t)line;
	} else if (colon && !strpbrk(colon, "/.")) {
		return lines_wrong(l, "'%.60s' is no line of '%.*s'", colon + 1, (int)(colon - value < 60 ? colon - value : 60), value);
	}
	place->file = suppress_glob(value);
	return 0;
}

static int suppress_take_at(struct suppression *s, unsigned which, struct lines *l, char *value)
{
	return suppress_take_place(&s->side[which].at, l, value);
}

static int suppress_take_file(struct suppression *s, unsigned which, struct lines *l, char *value)
{
	struct suppress_place *place = s->side[which].place;
	while (place->file.text)
		place++;
	return suppress_take_place(place, l, value);
}

static const struct {
	const char *name;
	int (*take)(struct suppression *s, unsigned which, struct lines *l, char *value);
} suppress_parts[SUPPRESS_PARTS] = {
	[PART_KIND] = {"kind", suppress_take_kind},	      [PART_RANKS] = {"ranks", suppress_take_ranks},
	[PART_LABEL] = {"label", suppress_take_label},	      [PART_KERNEL] = {"kernel", suppress_take_kernel},
	[PART_FUNCTION] = {"function", suppress_take_function}, [PART_AT] = {"at", suppress_take_at},
	[PART_FILE] = {"file", suppress_take_file},
};

static int suppress_unknown(struct lines *l, const char *word)
{
	const char *names[SUPPRESS_PARTS];
	for (size_t i = 0; i < SUPPRESS_PARTS; i++)
		names[i] = suppress_parts[i].name;
	const char *near = lines_nearest(word, names, SUPPRESS_PARTS);
	return lines_wrong(l, "'%.60s' is no part of a suppression: %s%s%skind, ranks, label, kernel, function, at, file and 'and' are", word,
			   near ? "did you mean '" : "", near ? near : "", near ? "'? " : "");
}

/* The line, before its words are taken apart. */
static char *suppress_rule(const struct lines *l)
{
	struct text rule = {0};
	for (unsigned i = 0; i < l->words; i++) {
		text_puts(&rule, i ? " " : "");
		lines_add_word(&rule, l->word[i]);
	}
	return text_take(&rule);
}

/* given: bit i: the line has part i, or the access that is being read. */
static int suppress_parse_part(struct suppression *s, unsigned which, struct lines *l, unsigned i, unsigned *given)
{
	size_t part = 0;
	while (part < SUPPRESS_PARTS && strcmp(suppress_parts[part].name, l->word[i]))
		part++;
	if (part == SUPPRESS_PARTS)
		return suppress_unknown(l, l->word[i]);
	if (i + 1 == l->words || !*l->word[i + 1])
		return lines_wrong(l, "'%s' needs a value", l->word[i]);
	const int again = *given >> part & 1, room = part == PART_FILE && !s->side[which].place[SUPPRESS_PLACES - 1].file.text;
	if (again && !room)
		return lines_wrong(l, "'%s' is there %s%s", l->word[i], part == PART_FILE ? "too often" : "twice",
				   part >= PART_KERNEL ? ": 'and' begins the other access" : "");
	*given |= 1u << part;
	return suppress_parts[part].take(s, which, l, l->word[i + 1]);
}

static int suppress_parse(struct suppression *s, struct lines *l)
{
	unsigned given = 0, which = 0;
	int rc = 0;
	*s = (struct suppression){.number = l->number, .rule = suppress_rule(l)};
	for (unsigned i = 0; i < 2 * SUPPRESS_PLACES; i++)
		s->side[i / SUPPRESS_PLACES].at.line = s->side[i / SUPPRESS_PLACES].place[i % SUPPRESS_PLACES].line = SUPPRESS_ANY;
	for (unsigned i = 0; i < l->words && !rc; i += 2) {
		const int other = !strcmp(l->word[i], "and");
		if (other && which++)
			return lines_wrong(l, "'and' is there twice: a race has two accesses");
		if (other && ++i == l->words)
			return lines_wrong(l, "nothing about the other access behind 'and'");
		if (other)
			given &= (1u << PART_KERNEL) - 1;
		rc = suppress_parse_part(s, which, l, i, &given);
	}
	return rc || s->rule ? rc : -ENOMEM;
}

static int suppress_add(struct suppressions *s, struct lines *l)
{
	if (s->rows == s->room) {
		const uint32_t room = s->room ? s->room * 2 : 16;
		struct suppression *grown = realloc(s->row, room * sizeof *grown);
		if (!grown)
			return -ENOMEM;
		s->row = grown;
		s->room = room;
	}
	int rc = suppress_parse(&s->row[s->rows], l);
	s->rows++;
	return rc;
}

int suppressions_read(struct suppressions *s, const char *file, char *error, size_t error_size)
{
	struct lines l;
	size_t size;
	*s = (struct suppressions){.file = file};
	int rc = text_read_file(file, &s->text, &size);
	if (rc) {
		snprintf(error, error_size, "--suppressions %.300s: cannot be read: %s", file, strerror(-rc));
		return rc;
	}
	lines_begin(&l, file, s->text, size);
	while ((rc = lines_next(&l)) > 0 && !(rc = suppress_add(s, &l)))
		;
	if (rc)
		snprintf(error, error_size, "%s", rc == -EINVAL ? l.error : strerror(-rc));
	return rc;
}

void suppressions_free(struct suppressions *s)
{
	for (uint32_t i = 0; i < s->rows; i++)
		free(s->row[i].rule);
	free(s->row);
	free(s->text);
	*s = (struct suppressions){0};
}

/* ---- matching ---- */

/* Where an access is: the instruction itself, then each place that it was inlined at; files from the root on, if the program's folder is known. */
struct suppress_frames { struct report_place *at; unsigned count; char *text; };

static char *suppress_absolute(const char *directory, const char *file, size_t n, struct suppress_frames *frames, size_t *used)
{
	const int below = directory && n && file[0] != '/';
	const size_t size = (below ? strlen(directory) + 1 : 0) + n + 1;
	char *name = frames->text + *used;
	snprintf(name, size, "%s%s%.*s", below ? directory : "", below ? "/" : "", (int)n, file);
	*used += size;
	return name;
}

static int suppress_frames(struct suppress_frames *frames, const struct report_side *side, const char *directory)
{
	const char *at = side->inlined_at ? side->inlined_at : "";
	unsigned most = 1;
	size_t used = 0;
	for (struct frame f = frame_first(at, NULL); frame_next(&f);)
		most++;
	frames->text = malloc((side->at.file ? strlen(side->at.file) : 0) + strlen(at) + most * ((directory ? strlen(directory) : 0) + 2));
	frames->at = malloc(most * sizeof *frames->at);
	if (!frames->text || !frames->at)
		return -ENOMEM;
	frames->at[0] = side->at;
	if (side->at.file)
		frames->at[0].file = suppress_absolute(directory, side->at.file, strlen(side->at.file), frames, &used);
	frames->count = 1;
	for (struct frame f = frame_first(at, NULL); frame_next(&f);)
		if (f.file < f.size)
			frames->at[frames->count++] = (struct report_place){.file = suppress_absolute(directory, f.at, f.file, frames, &used), .line = f.line};
	return 0;
}

static void suppress_frames_free(struct suppress_frames *frames)
{
	free(frames->at);
	free(frames->text);
}

static int suppress_names(const struct suppress_glob *glob, const char *name)
{
	if (!glob->text)
		return 1;
	return name && !(glob->plain ? strcmp(glob->text, name) : fnmatch(glob->text, name, 0));
}

/* The whole name, or what is behind any of its slashes. */
static int suppress_file(const struct suppress_glob *glob, const char *file)
{
	const char *slash;
	for (const char *at = file; at; at = slash ? slash + 1 : NULL) {
		slash = strchr(at, '/');
		if (suppress_names(glob, at))
			return 1;
	}
	return 0;
}

/* One of the first `count` frames. */
static int suppress_place(const struct suppress_place *s, const struct suppress_frames *frames, unsigned count)
{
	for (unsigned i = 0; i < count && s->file.text; i++)
		if ((s->line == SUPPRESS_ANY || frames->at[i].line == s->line) && suppress_file(&s->file, frames->at[i].file))
			return 1;
	return !s->file.text;
}

/* A name of C++ as the driver has it, or as reports show it. */
static int suppress_either(const struct suppress_glob *glob, const char *name, const char *shown)
{
	return suppress_names(glob, name) || suppress_names(glob, shown);
}

static int suppress_access(const struct suppress_side *s, const struct report_side *side, const struct suppress_frames *frames)
{
	if (!suppress_place(&s->at, frames, 1))
		return 0;
	for (const struct suppress_place *place = s->place; place < s->place + SUPPRESS_PLACES; place++)
		if (!suppress_place(place, frames, frames->count))
			return 0;
	return suppress_either(&s->kernel, side->kernel, side->kernel_name) && suppress_either(&s->function, side->function, side->function_name);
}

static int suppress_ranks(const struct suppression *s, int a, int b)
{
	return (s->rank[0] == SUPPRESS_ANY || s->rank[0] == a) && (s->rank[1] == SUPPRESS_ANY || s->rank[1] == b);
}

/* All of its allocations. */
static int suppress_labels(const struct suppress_glob *glob, const struct report_finding *f)
{
	uint32_t n;
	const struct report_allocation *memory = report_memories(f, &n);
	int all = !glob->text || (n && !f->memory_unlisted);
	for (uint32_t i = 0; i < n; i++)
		all &= suppress_names(glob, memory[i].label);
	return all;
}

static int suppress_matches(const struct suppression *s, const struct report_finding *f, const struct suppress_frames frames[2])
{
	const int first = f->first.rank, second = f->second.rank;
	if (s->kinds && !(s->kinds & (1u << f->kind | f->also)))
		return 0;
	if (s->ranked && !suppress_ranks(s, first, second) && !suppress_ranks(s, second, first))
		return 0;
	if (!suppress_labels(&s->label, f))
		return 0;
	return (suppress_access(&s->side[0], &f->first, &frames[0]) && suppress_access(&s->side[1], &f->second, &frames[1])) ||
	       (suppress_access(&s->side[0], &f->second, &frames[1]) && suppress_access(&s->side[1], &f->first, &frames[0]));
}

/* What has to be held against a finding: suppressions of a line only if it is one of its lines, for there may be very many. */
struct suppress_order {
	const struct suppressions *all;
	struct index by_line; /* of one of their accesses */
	uint32_t *others, count;
	uint32_t *numbers;    /* what the report calls each */
};

/* A line that an access has to be at; SUPPRESS_ANY: there is none. */
static int64_t suppress_line(const struct suppress_side *side) { return side->at.line == SUPPRESS_ANY ? side->place[0].line : side->at.line; }

static int suppress_order(struct suppress_order *o, const struct suppressions *s)
{
	*o = (struct suppress_order){.all = s, .others = malloc(s->rows * sizeof *o->others + 1), .numbers = malloc(s->rows * sizeof *o->numbers + 1)};
	int rc = o->others && o->numbers ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < s->rows && !rc; i++) {
		const struct suppress_side *side = s->row[i].side;
		const int64_t line = suppress_line(&side[0]) == SUPPRESS_ANY ? suppress_line(&side[1]) : suppress_line(&side[0]);
		if (line != SUPPRESS_ANY)
			rc = index_add(&o->by_line, (uint64_t)line, i);
		else
			o->others[o->count++] = i;
	}
	return rc;
}

/* The first that matches; as many as there are: none does. */
static uint32_t suppress_first(const struct suppress_order *o, const struct report_finding *f, const struct suppress_frames frames[2])
{
	const struct suppression *const row = o->all->row;
	uint32_t best = o->all->rows, at, *i;
	for (unsigned side = 0; side < 2; side++)
		for (unsigned k = 0; k < frames[side].count; k++)
			for (at = 0; (i = index_next(&o->by_line, frames[side].at[k].line, &at));)
				if (*i < best && suppress_matches(&row[*i], f, frames))
					best = *i;
	for (uint32_t k = 0; k < o->count && o->others[k] < best; k++)
		if (suppress_matches(&row[o->others[k]], f, frames))
			best = o->others[k];
	return best;
}

static int suppress_finding(struct report *r, struct report_finding *f, const struct suppress_order *o)
{
	struct suppress_frames frames[2];
	int rc = suppress_frames(&frames[0], &f->first, r->job.directory) | suppress_frames(&frames[1], &f->second, r->job.directory);
	const uint32_t i = rc ? 0 : suppress_first(o, f, frames);
	if (!rc && i < o->all->rows) {
		f->suppressed = o->numbers[i];
		r->suppression[f->suppressed - 1].findings++;
		r->suppression[f->suppressed - 1].count += f->count;
	}
	suppress_frames_free(&frames[0]);
	suppress_frames_free(&frames[1]);
	return rc;
}

int report_suppress(struct report *r, const struct suppressions *s)
{
	struct suppress_order o;
	int rc = suppress_order(&o, s);
	for (uint32_t i = 0; i < s->rows && !rc; i++)
		rc = report_add_suppression(r, &(struct report_suppression){s->file, s->row[i].number, s->row[i].rule, 0, 0}, &o.numbers[i]);
	for (uint32_t i = 0; i < r->findings && !rc && s->rows; i++)
		if (!r->finding[i].suppressed)
			rc = suppress_finding(r, &r->finding[i], &o);
	index_free(&o.by_line);
	free(o.others);
	free(o.numbers);
	return rc;
}

/* ---- suggesting ---- */

/* A name as a pattern that matches it alone. */
static void suppress_add_name(struct text *out, const char *part, const char *name)
{
	struct text glob = {0};
	for (const char *at = name; *at; at++)
		text_printf(&glob, strchr(SUPPRESS_META, *at) ? "\\%c" : "%c", *at);
	text_printf(out, "%s%s ", out->size ? " " : "", part);
	lines_add_word(out, glob.data ? glob.data : "");
	out->failed |= glob.failed;
	text_free(&glob);
}

/* nvcc's name of what lies in an unnamed namespace is another one whenever the file changes. */
static const char *suppress_stable(const char *name, const char *shown) { return shown && strstr(name, "_GLOBAL__N_") ? shown : name; }

/* What is outside of the instruction itself, as far as a line may have it: from the kernel's own line inwards. What is within `shown`, a library's
 * own, is left out. */
static void suppress_add_outer(struct text *out, const struct report *r, const struct report_side *side, const char *shown)
{
	const char *from = side->inlined_at, *end = from ? from + strlen(from) : NULL;
	for (int places = 0; end && end > from && places < SUPPRESS_PLACES; places++) {
		const char *comma = memrchr(from, ',', (size_t)(end - from)), *at = comma ? comma + 1 : from;
		char *frame = strndup(at, (size_t)(end - at));
		if (frame)
			suppress_add_name(out, "file", report_below(r->job.directory, frame));
		out->failed |= !frame;
		end = frame && shown && !strcmp(frame, shown) ? NULL : comma;
		free(frame);
	}
}

/* The instruction's own place. One in a header of somebody else's, which may lie elsewhere on another machine, is named without its folder, and with
 * its function, if that is not the kernel. */
static void suppress_add_at(struct text *out, const struct report *r, const struct report_side *side, int elsewhere)
{
	const char *name = report_below(r->job.directory, side->at.file), *slash = strrchr(name, '/');
	struct text place = {0};
	text_printf(&place, "%s:%u", elsewhere && *name == '/' ? slash + 1 : name, side->at.line);
	if (elsewhere && side->function && (!side->kernel || strcmp(side->function, side->kernel)))
		suppress_add_name(out, "function", suppress_stable(side->function, side->function_name));
	suppress_add_name(out, "at", place.data ? place.data : "");
	out->failed |= place.failed;
	text_free(&place);
}

static void suppress_add_side(struct text *out, const struct report *r, const struct report_side *side)
{
	struct text shown = {0};
	if (side->kernel && side->kernel[0] == '#') /* it has no name, and another number in each run */
		text_puts(out, "kernel \"#*\"");
	else if (side->kernel)
		suppress_add_name(out, "kernel", suppress_stable(side->kernel, side->kernel_name));
	if (side->object && side->function) /* where it is in the binary changes with each build */
		suppress_add_name(out, "function", suppress_stable(side->function, side->function_name));
	if (!side->at.file)
		return;
	const int elsewhere = report_add_frame(&shown, &side->at, side->inlined_at);
	suppress_add_at(out, r, side, elsewhere);
	suppress_add_outer(out, r, side, elsewhere ? shown.data : NULL);
	out->failed |= shown.failed;
	text_free(&shown);
}

/* A copy of which a line would say no more than that it is one. */
static int suppress_is_vague(const struct report_side *side) { return report_is_copy(side) && !side->at.file && !side->function; }

/* It would hide all races of such calls. */
static void suppress_add_none(struct text *out, const struct report_finding *f)
{
	text_printf(out, "# none: a line for %s and %s would hide all such calls, for no line and no function is known that made them",
		    report_kernel_name(&f->first), report_kernel_name(&f->second));
}

void report_suggest_one(struct text *out, const struct report *r, const struct report_finding *f)
{
	struct text line = {0}, second = {0};
	if (suppress_is_vague(&f->first) && suppress_is_vague(&f->second) && !(report_label(f) && *report_label(f))) {
		suppress_add_none(out, f);
		return;
	}
	suppress_add_side(&line, r, &f->first);
	suppress_add_side(&second, r, &f->second);
	if (line.size && second.size)
		text_puts(&line, " and ");
	text_add(&line, second.data, second.size);
	if (report_label(f) && *report_label(f))
		suppress_add_name(&line, "label", report_label(f));
	if (f->kind == GSAN_SCOPE || f->kind == GSAN_STALE_NC || !line.size) /* which of the others it is the schedule chooses */
		suppress_add_name(&line, "kind", report_kind_name(f->kind));
	text_puts(out, line.data ? line.data : "");
	out->failed |= line.failed | second.failed;
	text_free(&line);
	text_free(&second);
}

static int suppress_is_new(struct index *known, const struct text *out, const struct text *line, size_t *starts, uint32_t *count)
{
	const uint64_t hash = hash_bytes(HASH_START, line->data, line->size);
	for (uint32_t at = 0, *one; (one = index_next(known, hash, &at));)
		if (!strncmp(out->data + starts[*one], line->data, line->size))
			return 0;
	starts[*count] = out->size;
	return !index_add(known, hash, (*count)++);
}

/* Its line, unless that is there already. */
static void suppress_suggest(struct text *out, const struct report *r, const struct report_finding *f, struct index *known, size_t *starts,
			     uint32_t *count)
{
	struct text line = {0};
	report_suggest_one(&line, r, f);
	text_puts(&line, "\n");
	if (line.failed || suppress_is_new(known, out, &line, starts, count))
		text_add(out, line.data, line.size);
	out->failed |= line.failed;
	text_free(&line);
}

static void suppress_add_unlisted(struct text *out, const struct report *r)
{
	uint64_t pairs = 0;
	for (uint32_t i = 0; i < r->findings; i++)
		pairs += r->finding[i].suppressed ? 0 : r->finding[i].pairs_unlisted;
	if (!report_unlisted(r) && !pairs)
		return;
	text_puts(out, "# not listed (--details), and without a line here: ");
	text_counted(out, report_unlisted(r), "finding", "findings");
	text_puts(out, " and ");
	text_counted(out, pairs, "further pair of lines\n", "further pairs of lines\n");
}

/* Of each pair that is not suppressed. */
void report_suggest(struct text *out, const struct report *r)
{
	size_t *starts = malloc(((size_t)r->findings + r->pairs) * sizeof *starts + 1);
	struct index known = {0};
	uint32_t count = 0, n;
	for (uint32_t i = 0; starts && i < r->findings; i++) {
		const struct report_finding *pair = report_pairs(r, &r->finding[i], &n);
		for (uint32_t k = 0; k < n; k++)
			if (!pair[k].suppressed)
				suppress_suggest(out, r, &pair[k], &known, starts, &count);
	}
	suppress_add_unlisted(out, r);
	out->failed |= !starts;
	index_free(&known);
	free(starts);
}

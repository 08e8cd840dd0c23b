/* The text of litmus programs, line by line: words, then a table from the first word to what reads the rest. The first
 * error ends it. */
#include "litmus.h"

#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 40 };

struct parser {
	struct lit_program *p;
	const char *file;
	char *error;
	size_t room;
	int failed;
	uint32_t line;
	char *word[WORDS + 1]; /* NULL behind the last */
	int words, at;
	int thread;            /* section that takes instructions, -1: none */
};

static void fail(struct parser *ps, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct parser *ps, const char *format, ...)
{
	va_list args;
	int used;

	if (ps->failed)
		return;
	ps->failed = -EINVAL;
	used = snprintf(ps->error, ps->room, "%s:%u: ", ps->file, ps->line);
	va_start(args, format);
	if (used >= 0 && (size_t)used < ps->room)
		vsnprintf(ps->error + used, ps->room - (size_t)used, format, args);
	va_end(args);
}

/* One more zeroed element at the end of an array; NULL after a failure. Room doubles. */
static void *grow(struct parser *ps, void *array, size_t *count, size_t size)
{
	char **data = array, *more = *data;

	if (ps->failed)
		return NULL;
	if (!(*count & (*count - 1)))
		more = realloc(*data, size * (*count ? *count * 2 : 1));
	if (!more) {
		fail(ps, "no memory");
		return NULL;
	}
	*data = more;
	return memset(more + size * (*count)++, 0, size);
}

/* ---- words ---------------------------------------------------------------------------------------------------- */
static const char *peek(const struct parser *ps)
{
	return ps->at < ps->words ? ps->word[ps->at] : "";
}

static int accept(struct parser *ps, const char *word)
{
	if (strcmp(peek(ps), word))
		return 0;
	ps->at++;
	return 1;
}

static const char *next(struct parser *ps, const char *what)
{
	if (ps->at < ps->words)
		return ps->word[ps->at++];
	fail(ps, "the line ends early; write %s there", what);
	return "";
}

static int number_read(const char *word, uint64_t *value)
{
	char *end;
	int negative = *word == '-';

	if (!isdigit((unsigned char)word[negative]))
		return 0;
	errno = 0;
	*value = strtoull(word + negative, &end, 0);
	if (negative)
		*value = 0 - *value;
	return !*end && !errno;
}

static uint64_t number(struct parser *ps, const char *what, uint64_t most)
{
	const char *word = next(ps, what);
	uint64_t value = 0;

	if (!ps->failed && (!number_read(word, &value) || (value > most && most != UINT64_MAX)))
		fail(ps, "'%s' is not %s; write a number from 0 to %llu", word, what, (unsigned long long)most);
	return ps->failed ? 0 : value;
}

static int index_of(struct parser *ps, const char *what, int most)
{
	return (int)number(ps, what, (uint64_t)most);
}

static void name_take(struct parser *ps, char *to, const char *what, const char *more)
{
	const char *word = next(ps, what);

	for (const char *c = word; *c && !ps->failed; c++)
		if (!isalnum((unsigned char)*c) && *c != '_' && !strchr(more, *c))
			fail(ps, "'%s' is not %s; write letters, digits and _", word, what);
	if (!ps->failed && (strlen(word) >= LIT_NAME || (!*more && isdigit((unsigned char)*word))))
		fail(ps, "'%s' is not %s; write at most %d letters, no digit first", word, what, LIT_NAME - 1);
	if (!ps->failed)
		strcpy(to, word);
}

/* rN, or -1 */
static int register_read(const char *word)
{
	uint64_t n;

	return word[0] == 'r' && isdigit((unsigned char)word[1]) && number_read(word + 1, &n) && n < LIT_REGS ? (int)n : -1;
}

static int register_take(struct parser *ps)
{
	const char *word = next(ps, "a register");
	int reg = register_read(word);

	if (reg < 0)
		fail(ps, "'%s' is not a register; write r0 to r%d", word, LIT_REGS - 1);
	return reg;
}

static int location_find(const struct lit_program *p, const char *name, size_t length)
{
	for (size_t i = 0; i < p->locations; i++)
		if (strlen(p->location[i].name) == length && !memcmp(p->location[i].name, name, length))
			return (int)i;
	return -1;
}

/* LOC, LOC+4, LOC-4, and with blanks LOC + 4 */
static int place_take(struct parser *ps, int32_t *offset)
{
	const char *word = next(ps, "a location"), *sign = word + strcspn(word, "+-");
	int location = location_find(ps->p, word, (size_t)(sign - word));
	uint64_t distance = 0;
	int minus;

	if (location < 0)
		fail(ps, "no location '%s'; write a line 'location %.*s rank 0 bytes 4' before", word, (int)(sign - word), word);
	if (!*sign && (!strcmp(peek(ps), "+") || !strcmp(peek(ps), "-")))
		sign = next(ps, "+");
	minus = *sign == '-';
	if (*sign && sign[1] && !(number_read(sign + 1, &distance) && distance < 1u << 30))
		fail(ps, "'%s' is no distance in bytes; write LOCATION+NUMBER", word);
	else if (*sign && !sign[1])
		distance = number(ps, "a distance in bytes", (1u << 30) - 1);
	*offset = minus ? -(int32_t)distance : (int32_t)distance;
	return location;
}

/* ---- instructions --------------------------------------------------------------------------------------------- */
static void operand_take(struct parser *ps, struct lit_instr *i)
{
	const char *word = next(ps, "a number or a register");

	i->value_reg = register_read(word);
	if (!ps->failed && i->value_reg < 0 && !number_read(word, &i->value))
		fail(ps, "'%s' is neither a number nor a register; write 1 or r0", word);
}

static void destination_take(struct parser *ps, struct lit_instr *i)
{
	i->reg = i->op == LIT_ATOM && accept(ps, "_") ? -1 : register_take(ps);
}

static void address_take(struct parser *ps, struct lit_instr *i)
{
	uint64_t stride = 0;

	i->location = place_take(ps, &i->offset);
	if (strncmp(peek(ps), "tid*", 4))
		return;
	if (!number_read(next(ps, "tid*8") + 4, &stride) || stride > 4096)
		fail(ps, "no stride; write tid*BYTES, at most 4096");
	i->stride = (int32_t)stride;
}

static void opcode_take(struct parser *ps, struct lit_instr *i)
{
	const char *word = next(ps, "an opcode"), *wrong = lit_opcode_read(word, i);

	if (wrong && !ps->failed)
		fail(ps, "%s: %s", word, wrong);
}

static void memory_take(struct parser *ps, struct lit_instr *i)
{
	opcode_take(ps, i);
	if (ps->failed || i->op == LIT_FENCE)
		return;
	if (i->op == LIT_LD || i->op == LIT_ATOM)
		destination_take(ps, i);
	address_take(ps, i);
	if ((i->op == LIT_ATOM || i->op == LIT_RED) && i->rmw == LIT_CAS)
		i->compare = number(ps, "the value to compare with", UINT64_MAX);
	if (i->op != LIT_LD)
		operand_take(ps, i);
}

static void poll_take(struct parser *ps, struct lit_instr *i)
{
	ps->at++;
	opcode_take(ps, i);
	if (!ps->failed && (i->op != LIT_LD || i->vector > 1))
		fail(ps, "poll loads one number; write poll ld.acquire.sys.global.b32 r0 LOCATION VALUE TIMES");
	i->op = LIT_POLL;
	i->reg = register_take(ps);
	address_take(ps, i);
	i->value = number(ps, "the awaited value", UINT64_MAX);
	i->count = (uint32_t)number(ps, "how often to look", 1u << 30);
}

static void if_take(struct parser *ps, struct lit_instr *i)
{
	const char *sign;

	ps->at++;
	i->op = LIT_IF;
	i->reg = register_take(ps);
	sign = next(ps, "==");
	i->negated = !strcmp(sign, "!=");
	if (!i->negated && strcmp(sign, "=="))
		fail(ps, "'%s' compares nothing; write == or !=", sign);
	i->value = number(ps, "a number", UINT64_MAX);
}

static void repeat_take(struct parser *ps, struct lit_instr *i)
{
	ps->at++;
	i->op = LIT_REPEAT;
	i->count = (uint32_t)number(ps, "how often", 1u << 30);
}

static void barrier_take(struct parser *ps, struct lit_instr *i, enum lit_meet meet, int lowest, int most)
{
	ps->at++;
	i->meet = (uint8_t)meet;
	i->barrier = (uint8_t)index_of(ps, "a barrier's number", most);
	if (!ps->failed && i->barrier < lowest)
		fail(ps, "barrier 0 is that of 'bar'; write 1 to %d", most);
	if (meet == LIT_MWAIT && accept(ps, "token"))
		i->meet = LIT_MTOKEN;
	else if (meet == LIT_MWAIT)
		i->value = number(ps, "a parity, or token", 1);
	else
		i->count = (uint32_t)number(ps, "how many threads", 1024);
}

static void sync_at(struct parser *ps, struct lit_instr *i) { barrier_take(ps, i, LIT_SYNC, 1, LIT_NAMED - 1); }
static void arrive_at(struct parser *ps, struct lit_instr *i) { barrier_take(ps, i, LIT_ARRIVE, 1, LIT_NAMED - 1); }
static void reduce_at(struct parser *ps, struct lit_instr *i) { barrier_take(ps, i, LIT_REDUCE, 1, LIT_NAMED - 1); }
static void mbarrier_arrive(struct parser *ps, struct lit_instr *i) { barrier_take(ps, i, LIT_MARRIVE, 0, LIT_MBARRIERS - 1); }
static void mbarrier_wait(struct parser *ps, struct lit_instr *i) { barrier_take(ps, i, LIT_MWAIT, 0, LIT_MBARRIERS - 1); }
static void warp_sync(struct parser *ps, struct lit_instr *i)
{
	ps->at++;
	i->meet = LIT_WARP;
}

static void instruction(struct parser *ps)
{
	static const struct { const char *word; enum lit_op op; void (*take)(struct parser *, struct lit_instr *); } forms[] = {
		{"bar.sync", LIT_BAR, sync_at}, {"bar.arrive", LIT_BAR, arrive_at}, {"bar.red", LIT_BAR, reduce_at},
		{"bar.warp.sync", LIT_BAR, warp_sync}, {"mbarrier.arrive", LIT_BAR, mbarrier_arrive}, {"mbarrier.wait", LIT_BAR, mbarrier_wait},
		{"bar", LIT_BAR, NULL}, {"end", LIT_END, NULL}, {"poll", LIT_POLL, poll_take}, {"if", LIT_IF, if_take},
		{"repeat", LIT_REPEAT, repeat_take}, {NULL, LIT_LD, memory_take}};
	struct lit_thread *t = ps->thread < 0 ? NULL : &ps->p->thread[ps->thread];
	struct lit_instr *i;
	size_t form = 0;

	if (!t) {
		fail(ps, "'%s' outside of any thread; write a line 'cta 0' before it, or a directive", peek(ps));
		return;
	}
	i = grow(ps, &t->instr, &t->instrs, sizeof(*i));
	if (!i)
		return;
	i->line = ps->line;
	i->location = i->reg = i->value_reg = -1;
	i->vector = 1;
	while (forms[form].word && strcmp(peek(ps), forms[form].word))
		form++;
	i->op = forms[form].op;
	if (forms[form].take)
		forms[form].take(ps, i);
	else
		ps->at++;
}

/* ---- directives ----------------------------------------------------------------------------------------------- */
static void litmus_take(struct parser *ps)
{
	if (ps->p->name[0])
		fail(ps, "a second program; write each in a file of its own");
	name_take(ps, ps->p->name, "the program's name", "-.+");
}

static void ranks_take(struct parser *ps)
{
	ps->p->ranks = index_of(ps, "the number of ranks", LIT_RANKS);
	if (!ps->failed && !ps->p->ranks)
		fail(ps, "no rank at all; write 1 to %d", LIT_RANKS);
	for (int r = 0; r < LIT_RANKS; r++)
		ps->p->device[r] = r;
}

static void devices_take(struct parser *ps)
{
	for (int r = 0; r < ps->p->ranks; r++)
		ps->p->device[r] = index_of(ps, "the device of each rank", 63);
}

static int rank_take(struct parser *ps)
{
	return index_of(ps, "a rank", ps->p->ranks - 1);
}

static void location_take(struct parser *ps)
{
	struct lit_location l = {.base = -1, .bytes = 4}, *at;
	int rank = -1;

	name_take(ps, l.name, "a location's name", "");
	if (register_read(l.name) >= 0)
		fail(ps, "'%s' is a register; give the location another name", l.name);
	if (location_find(ps->p, l.name, strlen(l.name)) >= 0)
		fail(ps, "a second location '%s'; give it another name", l.name);
	while (!ps->failed && *peek(ps)) {
		if (accept(ps, "rank"))
			rank = rank_take(ps);
		else if (accept(ps, "bytes"))
			l.bytes = (uint32_t)number(ps, "a size in bytes", 1u << 24);
		else if (accept(ps, "at"))
			l.base = place_take(ps, &l.offset);
		else
			fail(ps, "'%s'; write rank N, bytes N or at LOCATION + N", peek(ps));
	}
	if (ps->failed)
		return;
	l.rank = rank >= 0 ? rank : l.base >= 0 ? ps->p->location[l.base].rank : 0;
	at = grow(ps, &ps->p->location, &ps->p->locations, sizeof(*at));
	if (at)
		*at = l;
}

static struct lit_step *step(struct parser *ps, enum lit_step_op op)
{
	static struct lit_step nowhere;
	struct lit_step *s = grow(ps, &ps->p->step, &ps->p->steps, sizeof(*s));

	if (!s)
		s = &nowhere;
	*s = (struct lit_step){.op = op, .launch = -1, .event = -1, .line = ps->line};
	return s;
}

static void launch_take(struct parser *ps)
{
	struct lit_step *s = step(ps, LIT_DO_LAUNCH);
	struct lit_launch l = {.block = 32}, *at;

	name_take(ps, l.name, "a launch's name", "");
	for (size_t i = 0; i < ps->p->launches; i++)
		if (!strcmp(ps->p->launch[i].name, l.name))
			fail(ps, "a second launch '%s'; give it another name", l.name);
	while (!ps->failed && *peek(ps)) {
		if (accept(ps, "rank"))
			l.rank = rank_take(ps);
		else if (accept(ps, "stream"))
			l.stream = index_of(ps, "a stream", 63);
		else if (accept(ps, "grid"))
			l.grid = (uint32_t)number(ps, "a grid", 65535);
		else if (accept(ps, "block"))
			l.block = (uint32_t)number(ps, "a block", 1024);
		else
			fail(ps, "'%s'; write rank N, stream N, grid N or block N", peek(ps));
	}
	s->launch = (int)ps->p->launches;
	s->rank = l.rank;
	s->stream = l.stream;
	ps->thread = -1;
	at = grow(ps, &ps->p->launch, &ps->p->launches, sizeof(*at));
	if (at)
		*at = l;
}

static void cta_take(struct parser *ps)
{
	struct lit_thread t = {.launch = (int)ps->p->launches - 1, .threads = 1}, *at;

	if (t.launch < 0)
		fail(ps, "a cta before any launch; write a line 'launch P' before it");
	t.cta = (uint32_t)number(ps, "a cta", 65534);
	if (accept(ps, "thread")) {
		t.first = (uint32_t)number(ps, "a thread", 1023);
	} else if (accept(ps, "threads")) {
		unsigned last;
		int used = 0;
		const char *word = next(ps, "FIRST..LAST");

		if (sscanf(word, "%u..%u%n", &t.first, &last, &used) != 2 || word[used] || last < t.first || last > 1023)
			fail(ps, "'%s' is no range of threads; write 0..31", word);
		else
			t.threads = last - t.first + 1;
	}
	at = grow(ps, &ps->p->thread, &ps->p->threads, sizeof(*at));
	if (!at)
		return;
	*at = t;
	ps->thread = (int)ps->p->threads - 1;
}

static void event_step(struct parser *ps, enum lit_step_op op)
{
	struct lit_step *s = step(ps, op);

	ps->thread = -1;
	s->event = index_of(ps, "an event", 63);
	while (!ps->failed && *peek(ps)) {
		if (accept(ps, "rank"))
			s->rank = rank_take(ps);
		else if (accept(ps, "stream"))
			s->stream = index_of(ps, "a stream", 63);
		else
			fail(ps, "'%s'; write rank N or stream N", peek(ps));
	}
}

/* Both: TO, and of a copy FROM, then words. */
static void range_take(struct parser *ps, enum lit_step_op op)
{
	struct lit_step *s = step(ps, op);

	ps->thread = -1;
	s->bytes = 4;
	s->to.location = place_take(ps, &s->to.offset);
	if (op == LIT_DO_COPY)
		s->from.location = place_take(ps, &s->from.offset);
	while (!ps->failed && *peek(ps)) {
		if (accept(ps, "bytes"))
			s->bytes = (uint32_t)number(ps, "a size", 1u << 20);
		else if (op == LIT_DO_SET && accept(ps, "value"))
			s->value = (uint8_t)number(ps, "a byte", 255);
		else if (accept(ps, "rank"))
			s->rank = rank_take(ps);
		else if (accept(ps, "stream"))
			s->stream = index_of(ps, "a stream", 63);
		else
			fail(ps, "'%s'; write bytes N, rank N, stream N, or of a set value N", peek(ps));
	}
}

static void copy_take(struct parser *ps)
{
	range_take(ps, LIT_DO_COPY);
}

static void set_take(struct parser *ps)
{
	range_take(ps, LIT_DO_SET);
}

static void record_take(struct parser *ps)
{
	event_step(ps, LIT_DO_RECORD);
}

static void wait_take(struct parser *ps)
{
	event_step(ps, LIT_DO_WAIT);
}

static void sync_take(struct parser *ps)
{
	struct lit_step *s = step(ps, LIT_DO_SYNC_ALL);

	ps->thread = -1;
	if (accept(ps, "stream")) {
		s->op = LIT_DO_SYNC_STREAM;
		s->stream = index_of(ps, "a stream", 63);
	} else if (accept(ps, "event")) {
		s->op = LIT_DO_SYNC_EVENT;
		s->event = index_of(ps, "an event", 63);
	} else if (!accept(ps, "all")) {
		fail(ps, "'%s'; write sync stream N, sync event N or sync all", peek(ps));
	}
	if (accept(ps, "rank"))
		s->rank = rank_take(ps);
}

/* P.0:r0 or P.0.5:r0 */
static void term_register(struct parser *ps, const char *word, struct lit_term *term)
{
	char launch[LIT_NAME], reg[8];
	unsigned cta, tid;
	int used = 0, any = 0;

	if (sscanf(word, "%47[A-Za-z0-9_].%u.%u:%7[r0-9]%n", launch, &cta, &tid, reg, &used) != 4 || word[used]) {
		any = 1;
		used = 0;
		if (sscanf(word, "%47[A-Za-z0-9_].%u:%7[r0-9]%n", launch, &cta, reg, &used) != 3 || word[used]) {
			fail(ps, "'%s' has no value; write LAUNCH.CTA:rN, LAUNCH.CTA.THREAD:rN or a location", word);
			return;
		}
	}
	term->reg = register_read(reg);
	term->thread = -1;
	for (int i = (int)ps->p->threads; i-- > 0;) {
		const struct lit_thread *t = &ps->p->thread[i];

		if (!strcmp(ps->p->launch[t->launch].name, launch) && t->cta == cta && (any || t->first == tid))
			term->thread = i;
	}
	if (term->reg < 0 || term->thread < 0)
		fail(ps, "'%s' is no register of a thread above; write LAUNCH.CTA:rN, and .THREAD if the section is not the first", word);
}

static void exists_take(struct parser *ps)
{
	int clause = 0;

	ps->thread = -1;
	if (ps->p->terms)
		fail(ps, "a second outcome; join them with |");
	do {
		struct lit_term term = {.clause = clause, .location = -1, .thread = -1, .reg = -1}, *at;
		const char *word = next(ps, "P.0:r0 = 1");

		if (strchr(word, ':'))
			term_register(ps, word, &term);
		else if ((term.location = location_find(ps->p, word, strlen(word))) < 0)
			fail(ps, "no location '%s'; write one that is declared above, or LAUNCH.CTA:rN", word);
		if (!ps->failed && !accept(ps, "="))
			fail(ps, "no = behind '%s'; write %s = 1", word, word);
		term.value = number(ps, "a value", UINT64_MAX);
		at = grow(ps, &ps->p->term, &ps->p->terms, sizeof(*at));
		if (at)
			*at = term;
		clause += !strcmp(peek(ps), "|");
	} while (!ps->failed && (accept(ps, "&") || accept(ps, "|")));
}

static void string_take(struct parser *ps, char **to)
{
	size_t room = 2;

	if (*to)
		fail(ps, "said twice; remove one");
	for (int i = ps->at; i < ps->words; i++)
		room += strlen(ps->word[i]) + 1;
	if (ps->failed || ps->at == ps->words)
		return;
	*to = calloc(1, room);
	if (!*to)
		fail(ps, "no memory");
	for (; *to && ps->at < ps->words; ps->at++) {
		strcat(*to, **to ? " " : "");
		strcat(*to, ps->word[ps->at]);
	}
}

static void expect_take(struct parser *ps)
{
	ps->thread = -1;
	if (accept(ps, "race"))
		ps->p->expect = LIT_RACE;
	else if (accept(ps, "free"))
		ps->p->expect = LIT_FREE;
	else
		fail(ps, "'%s'; write expect race, with kinds of findings behind it if only they will do, or expect free", peek(ps));
	if (ps->p->expect == LIT_RACE)
		string_take(ps, &ps->p->kinds);
}

static void cites_take(struct parser *ps)
{
	ps->thread = -1;
	string_take(ps, &ps->p->cites);
}

static const struct { const char *word; void (*take)(struct parser *); } directives[] = {
	{"litmus", litmus_take}, {"ranks", ranks_take}, {"devices", devices_take}, {"location", location_take},
	{"launch", launch_take}, {"cta", cta_take}, {"record", record_take}, {"wait", wait_take}, {"sync", sync_take},
	{"copy", copy_take}, {"set", set_take},
	{"exists", exists_take}, {"expect", expect_take}, {"cites", cites_take}};

static void line_read(struct parser *ps)
{
	const char *first = ps->word[0];

	ps->at = 0;
	if (!ps->p->name[0] && strcmp(first, "litmus"))
		fail(ps, "'%s' before the program's name; write 'litmus NAME' first", first);
	for (size_t i = 0; i < sizeof(directives) / sizeof(directives[0]) && !ps->failed; i++)
		if (!strcmp(first, directives[i].word)) {
			ps->at = 1;
			directives[i].take(ps);
			break;
		}
	if (!ps->at && !ps->failed)
		instruction(ps);
	if (!ps->failed && ps->at < ps->words)
		fail(ps, "'%s' is too much; end the line before it, or begin a comment with #", peek(ps));
}

/* ---- whole texts ---------------------------------------------------------------------------------------------- */
/* Splits in place. Text between " is one word without them. */
static void words_split(struct parser *ps, char *line)
{
	ps->words = 0;
	for (char *at = line; !ps->failed;) {
		at += strspn(at, " \t\r");
		if (!*at || *at == '#')
			break;
		if (ps->words == WORDS) {
			fail(ps, "more than %d words; split the line", WORDS);
			break;
		}
		if (*at == '"') {
			char *end = strchr(at + 1, '"');

			if (!end) {
				fail(ps, "a \" without its partner; write another at the end");
				break;
			}
			ps->word[ps->words++] = at + 1;
			*end = 0;
			at = end + 1;
			continue;
		}
		ps->word[ps->words++] = at;
		at += strcspn(at, " \t\r");
		if (*at)
			*at++ = 0;
	}
	ps->word[ps->words] = NULL;
}

/* = & | get blanks around them, in a line that says what exists. Returns malloc'ed memory, or NULL. */
static char *spaced(const char *line, size_t length)
{
	char *copy = malloc(3 * length + 1), *to = copy;
	int exists = !strncmp(line + strspn(line, " \t"), "exists", 6);

	for (size_t i = 0; copy && i < length; i++) {
		int apart = exists && strchr("=&|", line[i]) != NULL;

		if (apart)
			*to++ = ' ';
		*to++ = line[i];
		if (apart)
			*to++ = ' ';
	}
	if (copy)
		*to = 0;
	return copy;
}

static void grids_settle(struct lit_program *p)
{
	for (size_t l = 0; l < p->launches; l++) {
		if (p->launch[l].grid)
			continue;
		p->launch[l].grid = 1;
		for (size_t t = 0; t < p->threads; t++)
			if (p->thread[t].launch == (int)l && p->thread[t].cta >= p->launch[l].grid)
				p->launch[l].grid = p->thread[t].cta + 1;
	}
}

static void lines_read(struct parser *ps, const char *text)
{
	while (*text && !ps->failed) {
		size_t length = strcspn(text, "\n");
		char *line = spaced(text, length);

		ps->line++;
		if (!line)
			fail(ps, "no memory");
		else
			words_split(ps, line);
		if (!ps->failed && ps->words)
			line_read(ps);
		free(line);
		text += length + (text[length] == '\n');
	}
	if (!ps->failed && (!ps->p->name[0] || !ps->p->launches))
		fail(ps, "the text ends without %s", ps->p->name[0] ? "a launch; write 'launch P'" : "a program; write 'litmus NAME'");
}

int lit_parse(const char *text, const char *file, struct lit_program **program, char *error, size_t room)
{
	struct parser ps = {.p = calloc(1, sizeof(*ps.p)), .file = file, .error = error, .room = room, .thread = -1};

	if (!ps.p || !(ps.p->file = strdup(file))) {
		free(ps.p);
		snprintf(error, room, "%s: no memory", file);
		return -ENOMEM;
	}
	ps.p->ranks = 1;
	for (int r = 0; r < LIT_RANKS; r++)
		ps.p->device[r] = r;
	lines_read(&ps, text);
	if (!ps.failed) {
		grids_settle(ps.p);
		ps.failed = lit_check(ps.p, error, room);
	}
	if (ps.failed) {
		lit_free(ps.p);
		return ps.failed;
	}
	*program = ps.p;
	return 0;
}

int lit_load(const char *path, struct lit_program **program, char *error, size_t room)
{
	char *text;
	size_t size;
	int failed = text_read_file(path, &text, &size);

	if (failed) {
		snprintf(error, room, "%s: %s", path, strerror(-failed));
		return failed;
	}
	failed = strlen(text) == size ? lit_parse(text, path, program, error, room) : -EINVAL;
	if (strlen(text) != size)
		snprintf(error, room, "%s:1: not a text: a byte is 0; give a .litmus file", path);
	free(text);
	return failed;
}

void lit_free(struct lit_program *p)
{
	if (!p)
		return;
	for (size_t t = 0; t < p->threads; t++)
		free(p->thread[t].instr);
	free(p->file);
	free(p->location);
	free(p->launch);
	free(p->thread);
	free(p->step);
	free(p->term);
	free(p->kinds);
	free(p->cites);
	free(p);
}

/* Functions that a module calls and the driver provides (CUDA C++ Programming Guide, formatted output and assertions): vprintf,
 * __assertfail. Text goes to the program's stdout as each call is executed, in one piece unless it is long. */
#include "emu/exec/call.h"
#include "emu/exec/ops.h"

#include <stdio.h>
#include <string.h>

/* Text that is on its way. A pointer of the program's may fault while it is filled: so nothing is locked or owned meanwhile. */
struct text { char at[4096]; size_t used; };

static void flush(struct text *t)
{
	fwrite(t->at, 1, t->used, stdout);
	t->used = 0;
}

static void put(struct text *t, char c)
{
	if (t->used == sizeof t->at)
		flush(t);
	t->at[t->used++] = c;
}

struct values { u64 at; int taken; }; /* side by side, each aligned to its size */

static u64 take(struct values *v, unsigned bytes)
{
	u64 value = 0;
	v->at = (v->at + bytes - 1) & ~(u64)(bytes - 1);
	memcpy(&value, (const void *)(uintptr_t)v->at, bytes);
	v->at += bytes;
	v->taken++;
	return value;
}

/* One conversion, rewritten for the host: a width or precision that was a value is a number, integers are of 64 bits. */
struct conversion { char text[40]; size_t used; unsigned longs, shorts; char type; };

static void add(struct conversion *c, char letter)
{
	if (c->used < sizeof c->text - 4)
		c->text[c->used++] = letter;
}

static const char *read_conversion(const char *at, struct conversion *c, struct values *v)
{
	*c = (struct conversion){ .text = "%", .used = 1 };
	for (; *at && strchr("-+ #0123456789.*", *at); at++) {
		if (*at != '*') {
			add(c, *at);
			continue;
		}
		char number[12];
		snprintf(number, sizeof number, "%d", (int)take(v, 4));
		for (const char *n = number; *n; n++)
			add(c, *n);
	}
	for (; *at && strchr("hlzjt", *at); at++) {
		c->longs += *at != 'h';
		c->shorts += *at == 'h';
	}
	c->type = *at;
	return *at ? at + 1 : at;
}

/* The rest of it: what the host calls integers of 64 bits, and the type. */
static const char *whole(struct conversion *c, const char *size)
{
	snprintf(c->text + c->used, sizeof c->text - c->used, "%s%c", size, c->type);
	return c->text;
}

static s64 as_signed(u64 value, const struct conversion *c)
{
	return c->longs ? (s64)value : c->shorts > 1 ? (s8)value : c->shorts ? (s16)value : (s32)value;
}
static u64 as_unsigned(u64 value, const struct conversion *c)
{
	return c->longs ? value : c->shorts > 1 ? (u8)value : c->shorts ? (u16)value : (u32)value;
}

/* The format is the program's: as a GPU, this executes what it says, but only conversions that write nothing back. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static int write_value(char *to, size_t room, struct conversion *c, struct values *v)
{
	double number;
	u64 bits;
	switch (c->type) {
	case 'd': case 'i':
		return snprintf(to, room, whole(c, "ll"), (long long)as_signed(take(v, c->longs ? 8 : 4), c));
	case 'u': case 'x': case 'X': case 'o':
		return snprintf(to, room, whole(c, "ll"), (unsigned long long)as_unsigned(take(v, c->longs ? 8 : 4), c));
	case 'f': case 'F': case 'e': case 'E': case 'g': case 'G': case 'a': case 'A':
		bits = take(v, 8);
		memcpy(&number, &bits, 8);
		return snprintf(to, room, whole(c, ""), number);
	case 'c':
		return snprintf(to, room, whole(c, ""), (int)take(v, 4));
	case 's': case 'p':
		return snprintf(to, room, whole(c, ""), (const void *)(uintptr_t)take(v, 8));
	default: return -1;
	}
}
#pragma GCC diagnostic pop

/* Returns how many values it took. */
static int print(struct text *t, const char *format, u64 values)
{
	struct values v = { values, 0 };
	while (*format) {
		struct conversion c;
		if (*format != '%' || format[1] == '%') {
			put(t, *format);
			format += *format == '%' ? 2 : 1;
			continue;
		}
		const char *end = read_conversion(format + 1, &c, &v);
		char value[1024];
		const int length = write_value(value, sizeof value, &c, &v);
		const char *from = length < 0 ? format : value, *to = length < 0 ? end : value + strnlen(value, sizeof value);
		while (from < to) /* what is no conversion stays as it is */
			put(t, *from++);
		format = end;
	}
	return v.taken;
}

/* (format, values) */
void op_vprintf(OP_ARGS)
{
	struct text t;
	t.used = 0;
	for (u32 rest = m; rest; rest &= rest - 1) {
		const unsigned l = (unsigned)__builtin_ctz(rest);
		w->address[l] = exec_call_value(w, l, &n->call->arg[0]);
		const int taken = print(&t, (const char *)(uintptr_t)w->address[l], exec_call_value(w, l, &n->call->arg[1]));
		if (n->call->results)
			exec_call_give(w, l, &n->call->result[0], (u64)(s64)taken);
		flush(&t);
	}
	fflush(stdout);
}

/* (message, file, line, function, size of a character) */
void op_assertfail(OP_ARGS)
{
	const u32 l = (u32)__builtin_ctz(m);
	const struct exec_pass *arg = n->call->arg;
	struct emu_grid *g = w->cta->grid;
	w->address[l] = exec_call_value(w, l, &arg[0]);
	snprintf(g->words, sizeof g->words, "%s:%u: %s: assertion '%s' failed", (const char *)(uintptr_t)exec_call_value(w, l, &arg[1]),
		 (u32)exec_call_value(w, l, &arg[2]), (const char *)(uintptr_t)exec_call_value(w, l, &arg[3]),
		 (const char *)(uintptr_t)w->address[l]);
	exec_warp_fault(w, l, EMU_ASSERTED, g->words);
}

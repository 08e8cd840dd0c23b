#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

/* By the first byte's upper bits: how long the sequence is, and the least code point that needs it. */
static const struct utf8_form { uint8_t mask, bits, length; uint32_t least; } utf8_forms[] = {
	{0x80, 0x00, 1, 0}, {0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000},
};
#define UTF8_FORMS (sizeof utf8_forms / sizeof *utf8_forms)

size_t utf8_next(const char *bytes, size_t n, uint32_t *point)
{
	const uint8_t first = (uint8_t)bytes[0];
	const struct utf8_form *form = utf8_forms, *end = form + UTF8_FORMS;
	uint32_t value;
	*point = first;
	while (form < end && (first & form->mask) != form->bits)
		form++;
	if (form == end || form->length > n)
		return 0;
	value = first & (uint8_t)~form->mask;
	for (size_t i = 1; i < form->length; i++) {
		if (((uint8_t)bytes[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | ((uint8_t)bytes[i] & 0x3f);
	}
	if (value < form->least || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
		return 0;
	*point = value;
	return form->length;
}

struct utf8_range { uint32_t first, last; };

static int utf8_in(uint32_t point, const struct utf8_range *range, size_t ranges)
{
	for (size_t i = 0; i < ranges; i++)
		if (point >= range[i].first && point <= range[i].last)
			return 1;
	return 0;
}

int utf8_commands(uint32_t point)
{
	static const struct utf8_range range[] = {
		{0, 0x1f}, {0x7f, 0x9f}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfdd0, 0xfdef},
	};
	return utf8_in(point, range, sizeof range / sizeof *range) || (point & 0xfffe) == 0xfffe;
}

unsigned utf8_cells(uint32_t point)
{
	static const struct utf8_range none[] = {
		{0x300, 0x36f}, {0x483, 0x489}, {0x591, 0x5bd}, {0x610, 0x61a}, {0x64b, 0x65f}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
		{0x200b, 0x200d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0x1f3fb, 0x1f3ff}, {0xe0100, 0xe01ef},
	};
	static const struct utf8_range two[] = {
		{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0x3247}, {0x3250, 0x4dbf}, {0x4e00, 0xa4cf}, {0xa960, 0xa97c}, {0xac00, 0xd7a3},
		{0xf900, 0xfaff}, {0xfe10, 0xfe19}, {0xfe30, 0xfe6b}, {0xff01, 0xff60}, {0xffe0, 0xffe6}, {0x16fe0, 0x1b2fb}, {0x1f300, 0x1f320},
		{0x1f32d, 0x1f335}, {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca}, {0x1f3e0, 0x1f3f0}, {0x1f3f8, 0x1f43e},
		{0x1f440, 0x1f440}, {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d}, {0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f90c, 0x1f9ff},
		{0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
	};
	if (point < none[0].first)
		return 1;
	return utf8_in(point, none, sizeof none / sizeof *none) ? 0 : 1 + (unsigned)utf8_in(point, two, sizeof two / sizeof *two);
}

/* The length of what comes next, which is one byte where that is not UTF-8. */
static size_t utf8_step(const char *bytes, size_t left, uint32_t *point, int *clean)
{
	size_t n = utf8_next(bytes, left, point);
	*clean = n && (!utf8_commands(*point) || *point == '\t');
	return n ? n : 1;
}

int utf8_is_clean(const char *bytes)
{
	uint32_t point;
	int clean = 1;
	for (size_t left = strlen(bytes), n; left && clean; bytes += n, left -= n)
		n = utf8_step(bytes, left, &point, &clean);
	return clean;
}

size_t utf8_clean(char *to, size_t room, const char *bytes)
{
	char escape[16];
	uint32_t point;
	size_t used = 0;
	int clean;
	for (size_t left = strlen(bytes), n, size; left; bytes += n, left -= n) {
		n = size = utf8_step(bytes, left, &point, &clean);
		if (!clean)
			size = (size_t)snprintf(escape, sizeof escape, point < 0x100 ? "\\x%02x" : "\\u%04x", point);
		if (used + size >= room)
			break;
		memcpy(to + used, clean ? bytes : escape, size);
		used += size;
	}
	to[used] = 0;
	return used;
}

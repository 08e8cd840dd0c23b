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

int utf8_commands(uint32_t point)
{
	static const struct { uint32_t first, last; } range[] = {
		{0, 0x1f}, {0x7f, 0x9f}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfdd0, 0xfdef},
	};
	for (size_t i = 0; i < sizeof range / sizeof *range; i++)
		if (point >= range[i].first && point <= range[i].last)
			return 1;
	return (point & 0xfffe) == 0xfffe;
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

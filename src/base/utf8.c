#include "base/utf8.h"

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

/* See code_lines.h. The tables are described in CPython's Objects/lnotab_notes.txt and
 * InternalDocs/code_objects.md. */
#include "py/code_lines.h"

#include <stdbool.h>

/* Pairs of (bytes, lines): a line holds until the bytes before the next pair are used up. */
static int from_lnotab(const uint8_t *t, size_t len, int line, int64_t offset)
{
	int64_t at = 0;

	for (size_t i = 0; i + 1 < len; i += 2) {
		at += t[i];
		if (at > offset)
			break;
		line += (int8_t)t[i + 1];
	}
	return line;
}

/* Pairs of (bytes, lines) again, but the line is the one of the bytes in its pair; -128: none. */
static int from_pairs(const uint8_t *t, size_t len, int line, int64_t offset)
{
	int64_t at = 0;
	int shown = line;

	for (size_t i = 0; i + 1 < len; i += 2) {
		if ((int8_t)t[i + 1] != -128) {
			line += (int8_t)t[i + 1];
			shown = line;
		}
		at += t[i];
		if (offset < at)
			break;
	}
	return shown;
}

struct cursor {
	const uint8_t *t;
	size_t at, len;
};

/* Six bits a byte, low ones first; bit 6: more follow. */
static uint32_t varint(struct cursor *c)
{
	uint32_t v = 0;

	for (unsigned shift = 0; c->at < c->len && shift < 30; shift += 6) {
		uint8_t b = c->t[c->at++];

		v |= (uint32_t)(b & 63) << shift;
		if (!(b & 64))
			break;
	}
	return v;
}

static int signed_varint(struct cursor *c)
{
	uint32_t v = varint(c);

	return v & 1 ? -(int)(v >> 1) : (int)(v >> 1);
}

/* Lines that an entry of this kind moves on, and its other numbers skipped. */
static int line_step(struct cursor *c, unsigned kind, bool *ret_none)
{
	int step = 0;

	*ret_none = kind == 15;
	if (kind == 14) {
		step = signed_varint(c);
		varint(c);
		varint(c);
		varint(c);
	} else if (kind == 13) {
		step = signed_varint(c);
	} else if (kind >= 10 && kind <= 12) {
		step = (int)kind - 10;
		c->at += 2;
	} else if (kind < 10) {
		c->at += 1;
	}
	return step;
}

static int from_locations(const uint8_t *t, size_t len, int line, int64_t offset)
{
	struct cursor c = {t, 0, len};
	int64_t at = 0;
	int shown = line;

	while (c.at < c.len) {
		uint8_t head = c.t[c.at++];
		bool none;

		line = (int)((unsigned)line + (unsigned)line_step(&c, head >> 3 & 15, &none));
		shown = none ? shown : line;
		at += ((head & 7) + 1) * 2;
		if (offset < at)
			break;
	}
	return shown;
}

int sp_pyline(unsigned minor, const uint8_t *table, size_t len, int first, int64_t offset)
{
	if (offset < 0)
		return first;
	if (minor < 10)
		return from_lnotab(table, len, first, offset);
	return minor == 10 ? from_pairs(table, len, first, offset)
			   : from_locations(table, len, first, offset);
}

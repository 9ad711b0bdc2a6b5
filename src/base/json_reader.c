/* See json_reader.h. Depth is bounded, broken text gives no values. */
#include "base/json_reader.h"

#include "base/utf8.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 64

static const char *blanks(const char *p, const char *end)
{
	while (p < end && isspace((unsigned char)*p))
		p++;
	return p;
}

/* Behind the string that begins at @p; NULL: it does not end. */
static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end; p++) {
		if (*p == '\\')
			p++;
		else if (*p == '"')
			return p + 1;
	}
	return NULL;
}

/* Behind the value that begins at @p; NULL: broken. Brackets need not be of the same kind. */
static const char *skip(const char *p, const char *end)
{
	int depth = 0;

	do {
		p = blanks(p, end);
		if (p >= end)
			return NULL;
		if (*p == '"') {
			p = skip_string(p, end);
			if (!p)
				return NULL;
		} else if (*p == '{' || *p == '[') {
			if (++depth > DEPTH)
				return NULL;
			p++;
		} else if (*p == '}' || *p == ']') {
			if (--depth < 0)
				return NULL;
			p++;
		} else if (*p == ',' || *p == ':') {
			if (depth == 0)
				return NULL;
			p++;
		} else {
			while (p < end && !strchr(",:]} \t\r\n", *p))
				p++;
		}
	} while (depth > 0);
	return p;
}

struct sp_json_reader sp_json_reader_value(const char *p, const char *end)
{
	struct sp_json_reader v = {blanks(p, end), NULL};

	v.end = skip(v.p, end);
	return v.end ? v : (struct sp_json_reader){NULL, NULL};
}

struct sp_json_reader sp_json_reader_get(struct sp_json_reader object, const char *key)
{
	const struct sp_json_reader none = {NULL, NULL};
	size_t n = strlen(key);
	const char *p;

	if (!object.p || *object.p != '{')
		return none;
	p = blanks(object.p + 1, object.end);
	while (p < object.end && *p == '"') {
		const char *name = p + 1;
		struct sp_json_reader v;

		p = skip_string(p, object.end);
		if (!p)
			return none;
		v.end = p; /* behind the name */
		p = blanks(p, object.end);
		if (p >= object.end || *p != ':')
			return none;
		if ((size_t)(v.end - name) == n + 1 && memcmp(name, key, n) == 0)
			return sp_json_reader_value(p + 1, object.end);
		v = sp_json_reader_value(p + 1, object.end);
		if (!v.p)
			return none;
		p = blanks(v.end, object.end);
		if (p >= object.end || *p != ',')
			return none;
		p = blanks(p + 1, object.end);
	}
	return none;
}

struct sp_json_reader sp_json_reader_next(struct sp_json_reader array, size_t *at)
{
	const struct sp_json_reader none = {NULL, NULL};
	struct sp_json_reader v;
	const char *p;

	if (!array.p || *array.p != '[')
		return none;
	p = blanks(array.p + (*at ? *at : 1), array.end);
	if (p < array.end && *p == ',' && *at)
		p++;
	v = sp_json_reader_value(p, array.end);
	if (v.p)
		*at = (size_t)(v.end - array.p);
	return v;
}

int64_t sp_json_reader_int(struct sp_json_reader v, int64_t otherwise)
{
	const char *p = v.p;
	char *end;
	int64_t n;

	if (!p)
		return otherwise;
	p += *p == '"';
	if (p >= v.end || !(isdigit((unsigned char)*p) || *p == '-'))
		return otherwise;
	n = strtoll(p, &end, 10);
	return end <= v.end ? n : otherwise;
}

static int hex4(const char *p, const char *end)
{
	char digits[5] = "";
	char *stop;
	long v;

	if (end - p < 4)
		return -1;
	memcpy(digits, p, 4);
	v = strtol(digits, &stop, 16);
	return stop == digits + 4 ? (int)v : -1;
}

/* What follows a backslash, at most as long as it was written. Returns behind it. */
static const char *put_escape(const char *p, const char *end, char *to, size_t *n)
{
	static const char from[] = "bfnrt", into[] = "\b\f\n\r\t";
	const char *at = strchr(from, *p);
	int c, low;

	if (*p != 'u') {
		to[(*n)++] = at && *p ? into[at - from] : *p;
		return p + 1;
	}
	c = hex4(p + 1, end);
	p += c < 0 ? 1 : 5;
	if (c >= 0xd800 && c < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
		low = hex4(p + 2, end);
		if (low >= 0xdc00 && low < 0xe000) {
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
			p += 6;
		}
	}
	/* half of a pair is no character */
	*n += sp_utf8_put(to + *n, c < 0 || (c >= 0xd800 && c < 0xe000) ? '?' : (uint32_t)c);
	return p;
}

char *sp_json_reader_text(struct sp_json_reader v)
{
	const char *p, *end;
	char *to;
	size_t n = 0;

	if (!v.p || v.p[0] != '"' || v.end - v.p < 2)
		return NULL;
	p = v.p + 1;
	end = v.end - 1;
	to = malloc((size_t)(v.end - v.p));
	if (!to)
		return NULL;
	while (p < end) {
		if (*p == '\\' && p + 1 < end)
			p = put_escape(p + 1, end, to, &n);
		else
			to[n++] = *p++;
	}
	to[n] = 0;
	return to;
}

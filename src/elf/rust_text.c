/* The letters of Rust's v0 mangling: cursor, numbers, identifiers, and output with its limits. */
#include "elf/rust.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "elf/demangle.h"

#define DEPTH_MAX    200
#define STEPS_MAX    50000
#define PUNYCODE_MAX 256

void sp_rust_put_n(struct sp_rust *d, const char *s, size_t n)
{
	if (d->quiet || d->bad)
		return;
	sp_buf_add(d->out, s, n);
	if (d->out->len - d->start > SP_DEMANGLE_MAX || d->out->failed)
		d->bad = true;
}

void sp_rust_put(struct sp_rust *d, const char *s)
{
	sp_rust_put_n(d, s, strlen(s));
}

void sp_rust_put_number(struct sp_rust *d, uint64_t v)
{
	char buf[24];

	sp_rust_put_n(d, buf, (size_t)snprintf(buf, sizeof(buf), "%" PRIu64, v));
}

char sp_rust_peek(const struct sp_rust *d)
{
	return d->pos < d->len ? d->s[d->pos] : 0;
}

char sp_rust_next(struct sp_rust *d)
{
	if (d->pos >= d->len) {
		d->bad = true;
		return 0;
	}
	return d->s[d->pos++];
}

bool sp_rust_eat(struct sp_rust *d, char c)
{
	if (d->bad || sp_rust_peek(d) != c)
		return false;
	d->pos++;
	return true;
}

/* Goes one level down; every call is matched by sp_rust_leave() even when it returns false. */
bool sp_rust_enter(struct sp_rust *d)
{
	if (++d->depth > DEPTH_MAX || ++d->steps > STEPS_MAX)
		d->bad = true;
	return !d->bad;
}

void sp_rust_leave(struct sp_rust *d)
{
	d->depth--;
}

/* "_" is 0, "0_" is 1, … */
uint64_t sp_rust_base62(struct sp_rust *d)
{
	uint64_t v = 0;

	if (sp_rust_eat(d, '_'))
		return 0;
	while (!d->bad && !sp_rust_eat(d, '_')) {
		char c = sp_rust_next(d);
		uint64_t digit;

		if (c >= '0' && c <= '9')
			digit = (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'z')
			digit = 10 + (uint64_t)(c - 'a');
		else if (c >= 'A' && c <= 'Z')
			digit = 36 + (uint64_t)(c - 'A');
		else
			digit = 62;
		if (digit == 62 || v > (UINT64_MAX - digit) / 62 - 1)
			d->bad = true;
		else
			v = v * 62 + digit;
	}
	return v + 1;
}

/* A number behind an optional tag: absent 0, "s_" 1, "s0_" 2, … */
uint64_t sp_rust_tagged(struct sp_rust *d, char tag)
{
	return sp_rust_eat(d, tag) ? sp_rust_base62(d) + 1 : 0;
}

struct sp_rust_ident sp_rust_identifier(struct sp_rust *d)
{
	struct sp_rust_ident id = {.disambiguator = sp_rust_tagged(d, 's')};
	size_t n = 0;

	id.punycode = sp_rust_eat(d, 'u');
	if (sp_rust_peek(d) < '0' || sp_rust_peek(d) > '9')
		d->bad = true;
	if (!sp_rust_eat(d, '0')) {
		while (!d->bad && sp_rust_peek(d) >= '0' && sp_rust_peek(d) <= '9' && n < d->len)
			n = n * 10 + (size_t)(sp_rust_next(d) - '0');
	}
	sp_rust_eat(d, '_');
	if (d->bad || n > d->len - d->pos) {
		d->bad = true;
		return id;
	}
	id.s = d->s + d->pos;
	id.len = n;
	d->pos += n;
	return id;
}

/* RFC 3492, with '_' for '-' as the delimiter. */
static bool punycode(const char *s, size_t n, uint32_t *ret, size_t *ret_n)
{
	uint32_t c = 0x80, i = 0, bias = 72, damp = 700;
	size_t count = 0, at = n;

	while (at > 0 && s[at - 1] != '_')
		at--;
	for (size_t k = 0; at > 0 && k < at - 1; k++) {
		if (count >= PUNYCODE_MAX)
			return false;
		ret[count++] = (unsigned char)s[k];
	}
	while (at < n) {
		uint32_t delta = 0, w = 1, k = 36;

		for (;; k += 36) {
			uint32_t t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias, v;
			char ch;

			if (at >= n)
				return false;
			ch = s[at++];
			if (ch >= 'a' && ch <= 'z')
				v = (uint32_t)(ch - 'a');
			else if (ch >= '0' && ch <= '9')
				v = 26 + (uint32_t)(ch - '0');
			else
				return false;
			if (w > 0x4000000 || v * (uint64_t)w > 0x7fffffff - delta)
				return false;
			delta += v * w;
			if (v < t)
				break;
			w *= 36 - t;
		}
		if (count >= PUNYCODE_MAX || i + (uint64_t)delta > 0x7fffffff)
			return false;
		count++;
		i += delta;
		c += i / (uint32_t)count;
		i %= (uint32_t)count;
		memmove(ret + i + 1, ret + i, (count - 1 - i) * sizeof(*ret));
		ret[i++] = c;
		delta /= damp;
		damp = 2;
		delta += delta / (uint32_t)count;
		for (bias = 0; delta > 455; bias += 36)
			delta /= 35;
		bias += 36 * delta / (delta + 38);
	}
	*ret_n = count;
	return true;
}

void sp_rust_put_ident(struct sp_rust *d, const struct sp_rust_ident *id)
{
	uint32_t text[PUNYCODE_MAX];
	size_t n;

	if (d->bad || d->quiet)
		return;
	if (!id->punycode) {
		sp_rust_put_n(d, id->s, id->len);
		return;
	}
	if (!punycode(id->s, id->len, text, &n)) {
		d->bad = true;
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (!sp_rust_add_char(d->out, text[i]))
			d->bad = true;
}

bool sp_rust_add_char(struct sp_buf *out, uint32_t c)
{
	char text[4];

	if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return false;
	sp_buf_add(out, text, sp_utf8_put(text, c));
	return true;
}

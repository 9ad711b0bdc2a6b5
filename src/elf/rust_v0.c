/* Rust's second mangling ("_R…", RFC 2603): a recursive descent over the grammar that prints as it
 * goes. Nesting, steps and output are limited (rust_text.c), because back references can make a
 * short symbol arbitrarily long. Once something is wrong, everything returns. */
#include "elf/demangle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "elf/rust.h"

static void path(struct sp_rust *d, bool in_value);
static void type(struct sp_rust *d);
static void constant(struct sp_rust *d);

/* Reads again from an earlier place. Where nothing is printed there is nothing to read. */
static void back_reference(struct sp_rust *d, void (*again)(struct sp_rust *))
{
	size_t here = d->pos - 1; /* of the 'B' */
	uint64_t to = sp_rust_base62(d);
	size_t back = d->pos;

	if (to >= here)
		d->bad = true;
	if (d->bad || d->quiet)
		return;
	d->pos = (size_t)to;
	again(d);
	d->pos = back;
}

static void path_type(struct sp_rust *d)
{
	path(d, false);
}

static void path_value(struct sp_rust *d)
{
	path(d, true);
}

static void put_lifetime(struct sp_rust *d, uint64_t index)
{
	char name[2] = "_";

	sp_rust_put(d, "'");
	if (index > d->lifetimes) {
		d->bad = true;
	} else if (index == 0) {
		sp_rust_put(d, "_");
	} else if (d->lifetimes - index < 26) {
		name[0] = (char)('a' + (d->lifetimes - index));
		sp_rust_put(d, name);
	} else {
		sp_rust_put(d, "_");
		sp_rust_put_number(d, d->lifetimes - index);
	}
}

/* "for<'a, 'b> " before function pointers and dyn; returns how many it bound. */
static uint64_t binder(struct sp_rust *d)
{
	uint64_t n = sp_rust_tagged(d, 'G');

	if (n > 64)
		d->bad = true;
	if (n == 0 || d->bad)
		return 0;
	sp_rust_put(d, "for<");
	for (uint64_t i = 0; i < n; i++) {
		if (i > 0)
			sp_rust_put(d, ", ");
		d->lifetimes++;
		put_lifetime(d, 1);
	}
	sp_rust_put(d, "> ");
	return n;
}

static void generic_arguments(struct sp_rust *d)
{
	for (bool first = true; !d->bad && !sp_rust_eat(d, 'E'); first = false) {
		if (!first)
			sp_rust_put(d, ", ");
		if (sp_rust_eat(d, 'L'))
			put_lifetime(d, sp_rust_base62(d));
		else if (sp_rust_eat(d, 'K'))
			constant(d);
		else
			type(d);
	}
}

static void nested_path(struct sp_rust *d, bool in_value)
{
	char ns = sp_rust_next(d);
	struct sp_rust_ident id;

	path(d, in_value);
	id = sp_rust_identifier(d);
	if (d->bad)
		return;
	if (ns >= 'A' && ns <= 'Z') {
		sp_rust_put(d, "::{");
		if (ns == 'C')
			sp_rust_put(d, "closure");
		else if (ns == 'S')
			sp_rust_put(d, "shim");
		else
			sp_rust_put_n(d, &ns, 1);
		if (id.len > 0) {
			sp_rust_put(d, ":");
			sp_rust_put_ident(d, &id);
		}
		sp_rust_put(d, "#");
		sp_rust_put_number(d, id.disambiguator);
		sp_rust_put(d, "}");
	} else if (id.len > 0) {
		sp_rust_put(d, "::");
		sp_rust_put_ident(d, &id);
	}
}

/* The path of an impl block is for uniqueness only. */
static void skip_impl_path(struct sp_rust *d)
{
	bool was = d->quiet;

	d->quiet = true;
	sp_rust_tagged(d, 's');
	path(d, false);
	d->quiet = was;
}

static void impl_path(struct sp_rust *d, char tag)
{
	if (tag != 'Y')
		skip_impl_path(d);
	sp_rust_put(d, "<");
	type(d);
	if (tag != 'M') {
		sp_rust_put(d, " as ");
		path(d, false);
	}
	sp_rust_put(d, ">");
}

static void path(struct sp_rust *d, bool in_value)
{
	struct sp_rust_ident id;
	char tag = 0;

	if (sp_rust_enter(d))
		tag = sp_rust_next(d);
	switch (tag) {
	case 'C':
		id = sp_rust_identifier(d);
		sp_rust_put_ident(d, &id);
		break;
	case 'N':
		nested_path(d, in_value);
		break;
	case 'M':
	case 'X':
	case 'Y':
		impl_path(d, tag);
		break;
	case 'I':
		path(d, in_value);
		sp_rust_put(d, in_value ? "::<" : "<");
		generic_arguments(d);
		sp_rust_put(d, ">");
		break;
	case 'B':
		back_reference(d, in_value ? path_value : path_type);
		break;
	default:
		d->bad = true;
	}
	sp_rust_leave(d);
}

static const char *basic_type(char c)
{
	static const char *const names[26] = {"i8", "bool", "char", "f64", "str", "f32", NULL, "u8",
		"isize", "usize", NULL, "i32", "u32", "i128", "u128", "_", NULL, NULL, "i16", "u16",
		"()", "...", NULL, "i64", "u64", "!"};

	return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

static void abi(struct sp_rust *d)
{
	struct sp_rust_ident id = {0};

	if (sp_rust_eat(d, 'C')) {
		sp_rust_put(d, "extern \"C\" ");
		return;
	}
	id = sp_rust_identifier(d);
	if (d->bad || id.len == 0 || id.punycode) {
		d->bad = true;
		return;
	}
	sp_rust_put(d, "extern \"");
	for (size_t i = 0; i < id.len; i++)
		sp_rust_put_n(d, id.s[i] == '_' ? "-" : id.s + i, 1);
	sp_rust_put(d, "\" ");
}

static void function_type(struct sp_rust *d)
{
	uint64_t bound = binder(d);

	if (sp_rust_eat(d, 'U'))
		sp_rust_put(d, "unsafe ");
	if (sp_rust_eat(d, 'K'))
		abi(d);
	sp_rust_put(d, "fn(");
	for (bool first = true; !d->bad && !sp_rust_eat(d, 'E'); first = false) {
		if (!first)
			sp_rust_put(d, ", ");
		type(d);
	}
	sp_rust_put(d, ")");
	if (!sp_rust_eat(d, 'u')) {
		sp_rust_put(d, " -> ");
		type(d);
	}
	d->lifetimes -= bound;
}

/* The trait of a dyn: its generic arguments stay open for "Name = type" bindings. Returns whether
 * they are. */
static bool open_trait_path(struct sp_rust *d)
{
	bool open = false;

	if (!sp_rust_enter(d)) {
		sp_rust_leave(d);
		return false;
	}
	if (sp_rust_eat(d, 'B')) {
		size_t here = d->pos - 1, back;
		uint64_t to = sp_rust_base62(d);

		back = d->pos;
		if (to >= here)
			d->bad = true;
		if (!d->bad && !d->quiet) {
			d->pos = (size_t)to;
			open = open_trait_path(d);
			d->pos = back;
		}
	} else if (sp_rust_eat(d, 'I')) {
		path(d, false);
		sp_rust_put(d, "<");
		generic_arguments(d);
		open = true;
	} else {
		path(d, false);
	}
	sp_rust_leave(d);
	return open;
}

static void dyn_trait(struct sp_rust *d)
{
	bool open = open_trait_path(d);

	while (sp_rust_eat(d, 'p')) {
		struct sp_rust_ident id;

		sp_rust_put(d, open ? ", " : "<");
		open = true;
		id = sp_rust_identifier(d);
		sp_rust_put_ident(d, &id);
		sp_rust_put(d, " = ");
		type(d);
	}
	if (open)
		sp_rust_put(d, ">");
}

static void dyn_type(struct sp_rust *d)
{
	uint64_t bound, lifetime;

	sp_rust_put(d, "dyn ");
	bound = binder(d);
	for (bool first = true; !d->bad && !sp_rust_eat(d, 'E'); first = false) {
		if (!first)
			sp_rust_put(d, " + ");
		dyn_trait(d);
	}
	d->lifetimes -= bound;
	if (!sp_rust_eat(d, 'L')) {
		d->bad = true;
		return;
	}
	lifetime = sp_rust_base62(d);
	if (lifetime) {
		sp_rust_put(d, " + ");
		put_lifetime(d, lifetime);
	}
}

static void reference_type(struct sp_rust *d, bool mutable)
{
	sp_rust_put(d, "&");
	if (sp_rust_eat(d, 'L')) {
		uint64_t lifetime = sp_rust_base62(d);

		if (lifetime) {
			put_lifetime(d, lifetime);
			sp_rust_put(d, " ");
		}
	}
	if (mutable)
		sp_rust_put(d, "mut ");
	type(d);
}

static void tuple_type(struct sp_rust *d)
{
	unsigned n = 0;

	sp_rust_put(d, "(");
	for (; !d->bad && !sp_rust_eat(d, 'E'); n++) {
		if (n > 0)
			sp_rust_put(d, ", ");
		type(d);
	}
	sp_rust_put(d, n == 1 ? ",)" : ")");
}

static void compound_type(struct sp_rust *d, char tag)
{
	switch (tag) {
	case 'A':
	case 'S':
		sp_rust_put(d, "[");
		type(d);
		if (tag == 'A') {
			sp_rust_put(d, "; ");
			constant(d);
		}
		sp_rust_put(d, "]");
		break;
	case 'T':
		tuple_type(d);
		break;
	case 'R':
	case 'Q':
		reference_type(d, tag == 'Q');
		break;
	case 'P':
	case 'O':
		sp_rust_put(d, tag == 'P' ? "*const " : "*mut ");
		type(d);
		break;
	case 'F':
		function_type(d);
		break;
	case 'D':
		dyn_type(d);
		break;
	case 'B':
		back_reference(d, type);
		break;
	default:
		d->pos--; /* a path */
		path(d, false);
	}
}

static void type(struct sp_rust *d)
{
	const char *basic;
	char tag = 0;

	if (sp_rust_enter(d)) {
		tag = sp_rust_next(d);
		basic = basic_type(tag);
		if (basic)
			sp_rust_put(d, basic);
		else if (!d->bad)
			compound_type(d, tag);
	}
	sp_rust_leave(d);
}

/* Hex digits up to "_"; false if there are more than fit, then *ret_s and *ret_n have the text. */
static bool hex_number(struct sp_rust *d, uint64_t *ret, const char **ret_s, size_t *ret_n)
{
	size_t start = d->pos;
	uint64_t v = 0;

	while (!d->bad && !sp_rust_eat(d, '_')) {
		char c = sp_rust_next(d);

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint64_t)(c - 'a' + 10);
		else
			d->bad = true;
	}
	if (d->bad)
		return false;
	*ret = v;
	*ret_s = d->s + start;
	*ret_n = d->pos - 1 - start;
	return *ret_n <= 16;
}

static void put_char(struct sp_rust *d, uint64_t c)
{
	char buf[16];

	if (d->quiet)
		return;
	sp_rust_put(d, "'");
	if (c == '\'' || c == '\\') {
		sp_rust_put(d, c == '\'' ? "\\'" : "\\\\");
	} else if (c > 0x10ffff || !sp_rust_add_char(d->out, (uint32_t)c)) {
		snprintf(buf, sizeof(buf), "\\u{%" PRIx64 "}", c & 0xffffff);
		sp_rust_put(d, buf);
	}
	sp_rust_put(d, "'");
}

static void constant_value(struct sp_rust *d, char tag)
{
	const char *hex = "";
	uint64_t v = 0;
	size_t n = 0;
	bool minus = strchr("aslxni", tag) && sp_rust_eat(d, 'n');
	bool fits = hex_number(d, &v, &hex, &n);

	if (d->bad)
		return;
	if (tag == 'b' && fits && v < 2) {
		sp_rust_put(d, v ? "true" : "false");
	} else if (tag == 'c' && fits) {
		put_char(d, v);
	} else if (strchr("hmtyojaslxni", tag)) {
		if (minus)
			sp_rust_put(d, "-");
		if (fits) {
			sp_rust_put_number(d, v);
		} else {
			sp_rust_put(d, "0x");
			sp_rust_put_n(d, hex, n);
		}
	} else {
		d->bad = true;
	}
}

static void constant(struct sp_rust *d)
{
	char tag = 0;

	if (sp_rust_enter(d))
		tag = sp_rust_next(d);
	if (d->bad)
		; /* said already */
	else if (tag == 'p')
		sp_rust_put(d, "_");
	else if (tag == 'B')
		back_reference(d, constant);
	else
		constant_value(d, tag);
	sp_rust_leave(d);
}

int sp_rust_demangle_v0(const char *name, struct sp_buf *out)
{
	struct sp_rust d = {.out = out, .start = out->len};

	if (strncmp(name, "_R", 2) != 0 || name[2] < 'A' || name[2] > 'Z')
		return -EINVAL;
	d.s = name + 2;
	d.len = strcspn(d.s, ".$@"); /* suffixes of compilers and linkers */
	path(&d, true);
	if (!d.bad && d.pos < d.len) {
		d.quiet = true; /* the crate that instantiated it */
		path(&d, false);
	}
	if (d.bad || d.pos != d.len || out->failed) {
		out->len = d.start;
		return -EINVAL;
	}
	return 0;
}

/* Names made to fit: see elide.h. */
#include "out/elide.h"

#include <ctype.h>
#include <string.h>

#include "base/safe_text.h"

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

size_t sp_elide_columns(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += !is_continuation(s[i]);
	return n;
}

/* Shortens packages from the left until the rest fits: class and method stay whole. */
static void shorten_packages(struct sp_buf *b, size_t start, size_t width)
{
	char *s = b->data + start;
	size_t at = 0;

	while (sp_elide_columns(s, b->len - start) > width) {
		size_t rest = b->len - start - at;
		char *dot = memchr(s + at, '.', rest);
		char *end = s + b->len - start;

		/* a package starts with a small letter and has two more dots behind it */
		if (!dot || !islower((unsigned char)s[at]) ||
			!memchr(dot + 1, '.', (size_t)(end - dot - 1)))
			return;
		memmove(s + at + 1, dot, (size_t)(end - dot));
		b->len -= (size_t)(dot - s) - at - 1;
		at += 2;
	}
}

/* Where the pair that opens at @i ends, @n: nowhere. */
static size_t closing(const char *s, size_t i, size_t n)
{
	int depth = 0;

	for (; i < n; i++) {
		depth += s[i] == '<';
		if (s[i] == '>' && s[i - 1] != '-' && --depth == 0)
			return i;
	}
	return n;
}

/* Where @word is in no pair of its own, @n: nowhere. */
static size_t find_word(const char *s, size_t n, const char *word)
{
	size_t len = strlen(word);
	int depth = 0;

	for (size_t i = 0; i + len <= n; i++) {
		depth += s[i] == '<' ? 1 : s[i] == '>' && (i == 0 || s[i - 1] != '-') ? -1 : 0;
		if (depth == 0 && memcmp(s + i, word, len) == 0)
			return i;
	}
	return n;
}

/* Rust's "<Type as Trait>::f" and "module::<impl Trait for Type>::f" become "Type::f": emptied like
 * template arguments, all of them would read "<>::f". */
static void shorten_impl(struct sp_buf *b, size_t start)
{
	char *s = b->data + start,
	     *open = s[0] == '<' ? s : memmem(s, b->len - start, "::<impl ", 8);
	size_t n = b->len - start, from, end, type, len;

	if (!open)
		return;
	from = (size_t)(open - s) + (s[0] == '<' ? 0 : 2);
	end = closing(s, from, n);
	if (end == n)
		return;
	type = from + 1;
	len = find_word(s + type, end - type, " as ");
	if (end - type > 5 && memcmp(s + type, "impl ", 5) == 0) {
		size_t at = find_word(s + type, end - type, " for ");

		type = type + at == end ? type + 5 : type + at + 5;
		len = end - type;
	}
	memmove(s, s + type, len);
	memmove(s + len, s + end + 1, n - end - 1);
	b->len = start + len + n - end - 1;
}

/* Empties the outermost "<…>" pairs. "operator<" and "operator->" are no pairs. */
static void shorten_templates(struct sp_buf *b, size_t start)
{
	char *s = b->data + start;
	size_t n = b->len - start, to = 0;
	int depth = 0;

	for (size_t i = 0; i < n; i++) {
		bool op = to >= 8 && depth == 0 && memcmp(s + to - 8, "operator", 8) == 0;

		if (s[i] == '<' && !op && depth++ == 0)
			s[to++] = '<';
		if (s[i] == '>' && depth > 0 && s[i > 0 ? i - 1 : 0] != '-' && --depth == 0)
			s[to++] = '>';
		else if (depth == 0)
			s[to++] = s[i];
	}
	if (depth == 0)
		b->len = start + to;
}

static void shorten_native(struct sp_buf *b, size_t start, size_t width)
{
	shorten_impl(b, start);
	if (sp_elide_columns(b->data + start, b->len - start) > width)
		shorten_templates(b, start);
}

static void cut_start(struct sp_buf *b, size_t start, size_t width)
{
	char *s = b->data + start, *p = s, *end = b->data + b->len;
	size_t have = sp_elide_columns(s, b->len - start), keep = width > 3 ? width - 3 : 0;

	if (have <= width)
		return;
	for (size_t drop = have - keep; p < end && (drop > 0 || is_continuation(*p)); p++)
		drop -= !is_continuation(*p);
	if (p - s < 3)
		return;
	memmove(s + 3, p, (size_t)(end - p));
	memcpy(s, "...", 3);
	b->len = start + 3 + (size_t)(end - p);
}

/* Steps over @columns code points. */
static char *step(char *s, const char *end, size_t columns)
{
	for (; s < end && (columns > 0 || is_continuation(*s)); s++)
		columns -= !is_continuation(*s);
	return s;
}

static void cut_middle(struct sp_buf *b, size_t start, size_t width)
{
	size_t have = sp_elide_columns(b->data + start, b->len - start), tail = width / 3;
	const char *end = b->data + b->len, *rest;
	char *cut;

	if (have <= width || width < 4)
		return;
	cut = step(b->data + start, end, width - 3 - tail);
	rest = step(b->data + start, end, have - tail);
	memmove(cut + 3, rest, (size_t)(end - rest));
	memcpy(cut, "...", 3);
	b->len = (size_t)(cut + 3 - b->data) + (size_t)(end - rest);
}

/* "f.<locals>.g (file.py)", "run (<frozen runpy>)": a function of Python with its file. */
static bool is_python(const char *name)
{
	const char *file = strrchr(name, '(');
	size_t n = strlen(name);

	return file && file - name >= 2 && file[-1] == ' ' && name[n - 1] == ')' &&
	       (file[1] == '<' || (n >= 4 && memcmp(name + n - 4, ".py", 3) == 0));
}

/* The names around it say which function it is in; both ends say the most. */
static void shorten_python(struct sp_buf *b, size_t start, size_t width)
{
	static const char locals[] = "<locals>.";
	const size_t len = sizeof(locals) - 1;
	char *s = b->data + start, *at;

	while ((at = memmem(s, b->len - start, locals, len))) {
		memmove(at, at + len, (size_t)(b->data + b->len - at) - len);
		b->len -= len;
	}
	cut_middle(b, start, width);
}

static void add_clean(const char *name, struct sp_buf *out)
{
	sp_safe_people(name, strlen(name), out);
}

void sp_elide(const char *name, size_t width, struct sp_buf *out)
{
	size_t start = out->len;
	bool java = strstr(name, ".<init>") || strstr(name, ".<clinit>");
	bool native = strstr(name, "::") || (strchr(name, '<') && !java) || strchr(name, '(');

	add_clean(name, out);
	if (out->failed || sp_elide_columns(out->data + start, out->len - start) <= width)
		return;
	if (is_python(name))
		shorten_python(out, start, width);
	else if (native)
		shorten_native(out, start, width);
	else
		shorten_packages(out, start, width);
	cut_start(out, start, width);
}

void sp_elide_middle(const char *name, size_t width, struct sp_buf *out)
{
	size_t start = out->len;

	add_clean(name, out);
	if (!out->failed)
		cut_middle(out, start, width);
}

void sp_elide_wrap(const char *text, size_t used, size_t indent, size_t width, struct sp_buf *out)
{
	bool first = true;

	while (*text) {
		size_t len = strcspn(text, " \n"), columns = sp_elide_columns(text, len);

		if (!first && used + 1 + columns > width) {
			sp_buf_addf(out, "\n%*s", (int)indent, "");
			used = indent;
		} else if (!first) {
			sp_buf_addc(out, ' ');
			used++;
		}
		sp_safe_people(text, len, out);
		used += columns;
		first = false;
		text += len;
		text += strspn(text, " \n");
	}
}

/* Which mangling is it, and what is left out of a frame's name: see demangle.h. C++ is demangled by
 * gcc's own runtime: that object needs no C++ library around it. */
#include "elf/demangle.h"

#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

/* libsupc++ (gcc 4.6 and later). It hands out pieces instead of allocating the whole, so growth can
 * be stopped: the plain __cxa_demangle would take what a hostile name asks for. */
extern int __gcclibcxx_demangle_callback(
	const char *mangled, void (*callback)(const char *, size_t, void *), void *opaque);

struct cpp {
	struct sp_buf *out;
	size_t start;
	jmp_buf too_long;
};

bool sp_demangle_is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R') && name[2];
}

static void take_piece(const char *s, size_t n, void *opaque)
{
	struct cpp *c = opaque;

	sp_buf_add(c->out, s, n);
	if (c->out->failed || c->out->len - c->start > SP_DEMANGLE_MAX)
		longjmp(c->too_long, 1); /* over C frames that own nothing on the heap */
}

static int demangle_cpp(const char *name, struct sp_buf *out)
{
	struct cpp c = {.out = out, .start = out->len};

	if (setjmp(c.too_long) || __gcclibcxx_demangle_callback(name, take_piece, &c) != 0) {
		out->len = c.start;
		return -EINVAL;
	}
	return 0;
}

/* Length of @s without gcc's and llvm's suffixes: a dot, a word, perhaps numbers. Symbol versions
 * (@@GLIBC_2.17) go too; "memset@plt" is a place of its own and stays. A name that starts with a
 * dot is left alone. */
static size_t without_suffix(const char *s)
{
	size_t n = strstr(s, "@plt") ? strlen(s) : strcspn(s, "@");
	const char *dot = memchr(s, '.', n);

	return dot && dot != s ? (size_t)(dot - s) : n;
}

/* Rust's legacy names are valid C++ names; their last part is a hash of sixteen hex digits. */
static bool is_rust_legacy(const char *name)
{
	const char *e = strrchr(name, 'E');

	if (!e || e - name < 23 || strncmp(e - 19, "17h", 3) != 0)
		return false;
	return strspn(e - 16, "0123456789abcdef") == 16;
}

/* Where the parameter list of a demangled C++ function starts, or @end. Template arguments and
 * nested names may hold parentheses of their own: the list is the last balanced pair, but for what
 * follows it ("const", "&", "[clone …]"). */
static size_t parameters_at(const char *s, size_t end)
{
	size_t close = end, depth = 0;

	while (close > 0 && s[close - 1] != ')')
		close--;
	if (close == 0)
		return end;
	/* a name such as "(anonymous namespace)::f" has its pair before the last "::" */
	for (size_t i = close; i + 1 < end; i++)
		if (s[i] == ':' && s[i + 1] == ':')
			return end;
	for (size_t i = close; i-- > 0;) {
		if (s[i] == ')')
			depth++;
		else if (s[i] == '(' && --depth == 0)
			return i > 0 ? i : end;
	}
	return end;
}

static bool starts_with(const char *s, size_t n, const char *prefix)
{
	size_t p = strlen(prefix);

	return n >= p && memcmp(s, prefix, p) == 0;
}

/* Where the name itself starts: behind a return type ("void f<int>"), which is what is before
 * the last blank that is in no bracket. "operator new" and conversions keep their blanks. */
static size_t name_at(const char *s, size_t end)
{
	size_t start = 0;
	int depth = 0;

	for (size_t i = 0; i < end; i++) {
		if (starts_with(s + i, end - i, "operator") &&
			(i == 0 || (!isalnum((unsigned char)s[i - 1]) && s[i - 1] != '_')) &&
			depth == 0)
			return start;
		if (s[i] == '<' || s[i] == '(' || s[i] == '[' || s[i] == '{')
			depth++;
		else if (s[i] == '>' || s[i] == ')' || s[i] == ']' || s[i] == '}')
			depth--;
		else if (s[i] == ' ' && depth == 0)
			start = i + 1;
	}
	return start;
}

/* "vtable for X", "non-virtual thunk to X::f()": the words belong to the name. */
static bool is_special(const char *s, size_t n)
{
	static const char *const words[] = {"vtable for ", "VTT for ", "typeinfo ",
		"guard variable ", "non-virtual thunk to ", "virtual thunk to ",
		"covariant return thunk to ", "construction vtable ", "reference temporary ",
		"TLS ", "transaction clone for ", "non-transaction clone for "};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (starts_with(s, n, words[i]))
			return true;
	return false;
}

/* Cuts a demangled C++ function at out[start…] down to its name. */
static void shorten_cpp(struct sp_buf *out, size_t start)
{
	char *s = out->data + start;
	size_t end = out->len - start, name;

	end = parameters_at(s, end);
	name = is_special(s, end) ? 0 : name_at(s, end);
	if (name >= end)
		return;
	memmove(s, s + name, end - name);
	out->len = start + end - name;
}

static int demangle_short(const char *name, struct sp_buf *out)
{
	char bare[4096];
	size_t n = without_suffix(name), start = out->len;

	if (n >= sizeof(bare))
		return -EINVAL;
	memcpy(bare, name, n);
	bare[n] = 0;
	if (demangle_cpp(bare, out) < 0)
		return -EINVAL;
	shorten_cpp(out, start);
	return 0;
}

int sp_demangle(const char *name, bool full, struct sp_buf *out)
{
	if (strncmp(name, "_R", 2) == 0)
		return sp_rust_demangle_v0(name, out);
	if (strncmp(name, "_Z", 2) == 0) {
		if (is_rust_legacy(name) && sp_rust_demangle_legacy(name, out) == 0)
			return 0;
		return full ? demangle_cpp(name, out) : demangle_short(name, out);
	}
	if (!full && without_suffix(name) < strlen(name)) {
		sp_buf_add(out, name, without_suffix(name));
		return 0;
	}
	return -EINVAL;
}

/* Rust's first mangling: an Itanium nested name whose identifiers escape what C++ has no letters
 * for ("$LT$", "..", "$u7e$") and whose last one is a hash. */
#include "elf/demangle.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "elf/rust.h"

static const struct {
	const char *code, *text;
} escapes[] = {{"SP", "@"}, {"BP", "*"}, {"RF", "&"}, {"LT", "<"}, {"GT", ">"}, {"LP", "("},
	{"RP", ")"}, {"C", ","}};

/* One "$…$" at @s; returns the bytes that it takes, 0 if it is none. */
static size_t unescape(const char *s, size_t n, struct sp_buf *out)
{
	const char *end = n > 1 ? memchr(s + 1, '$', n - 1) : NULL;
	size_t len = end ? (size_t)(end - s - 1) : 0;
	char hex[8] = "", *stop;

	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
		if (len == strlen(escapes[i].code) && memcmp(s + 1, escapes[i].code, len) == 0) {
			sp_buf_adds(out, escapes[i].text);
			return len + 2;
		}
	}
	if (len < 2 || len > sizeof(hex) || s[1] != 'u')
		return 0;
	memcpy(hex, s + 2, len - 1);
	if (!sp_rust_add_char(out, (uint32_t)strtoul(hex, &stop, 16)) || *stop)
		return 0;
	return len + 2;
}

static void add_identifier(const char *s, size_t n, struct sp_buf *out)
{
	size_t i = 0;

	if (n > 1 && s[0] == '_' && s[1] == '$')
		i = 1; /* an underscore keeps the escape from starting the identifier */
	while (i < n) {
		size_t used = s[i] == '$' ? unescape(s + i, n - i, out) : 0;

		if (used > 0) {
			i += used;
		} else if (s[i] == '.' && i + 1 < n && s[i + 1] == '.') {
			sp_buf_adds(out, "::");
			i += 2;
		} else {
			sp_buf_addc(out, s[i++]);
		}
	}
}

int sp_rust_demangle_legacy(const char *name, struct sp_buf *out)
{
	size_t start = out->len;
	const char *p = name + 3;
	bool first = true;

	if (strncmp(name, "_ZN", 3) != 0)
		return -EINVAL;
	while (*p >= '1' && *p <= '9') {
		char *s;
		unsigned long n = strtoul(p, &s, 10);

		if (n > SP_DEMANGLE_MAX || strnlen(s, n) < n)
			break;
		p = s + n;
		if (*p == 'E' && n == 17 && s[0] == 'h') {
			if (!first && !out->failed)
				return 0;
			break;
		}
		if (!first)
			sp_buf_adds(out, "::");
		add_identifier(s, n, out);
		first = false;
	}
	out->len = start;
	return -EINVAL;
}

/* See redact_forms.h. */
#include "base/redact_forms.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"

#define URL_MAX 4096 /* nobody's password is longer; and a line of many URLs takes no longer */

static const struct {
	const char *prefix, *more; /* characters beside letters and digits that may follow */
	size_t least;		   /* so many of them */
} forms[] = {
	{"AKIA", "", 16},
	{"ASIA", "", 16},
	{"AIza", "_-", 30},
	{"ya29.", "_-.", 20},
	{"GOCSPX-", "_-", 20},
	{"1//0", "_-", 30},
	{"ghp_", "", 30},
	{"gho_", "", 30},
	{"ghs_", "", 30},
	{"ghu_", "", 30},
	{"ghr_", "", 30},
	{"github_pat_", "_", 30},
	{"glpat-", "_-", 20},
	{"xoxb-", "-", 20},
	{"xoxp-", "-", 20},
	{"dapi", "-", 32},
	{"hf_", "", 30},
	{"eyJ", "_-.", 40},
};

/* How many bytes at @s are letters, digits or one of @more. */
static size_t span(const char *s, size_t n, const char *more)
{
	size_t len = 0;

	while (len < n && (isalnum((unsigned char)s[len]) || (s[len] && strchr(more, s[len]))))
		len++;
	return len;
}

static size_t count_of(const char *s, size_t n, int (*is)(int))
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += is((unsigned char)s[i]) != 0;
	return count;
}

static int is_digit_or_mark(int c)
{
	return isdigit(c) || c == '+' || c == '/';
}

/* 40 characters of base64 are a secret key of AWS, unless they are a path or a hash: a random one
 * has no digit, fewer than two digits and marks, or four small or four large letters once in 300.
 * 86 and "==" are a storage key of Azure. */
static size_t base64_key(const char *s, size_t n, size_t at)
{
	size_t len;

	if (at > 0 && (isalnum((unsigned char)s[at - 1]) || strchr("+/._-$", s[at - 1])))
		return 0;
	len = span(s + at, n - at < 100 ? n - at : 100, "+/");
	if (len == 86 && n - at >= 88 && memcmp(s + at + 86, "==", 2) == 0)
		return 88;
	if (len != 40 || s[at] == '/' || (at + 40 < n && strchr("=._-$:", s[at + 40])))
		return 0;
	s += at;
	return count_of(s, 40, isdigit) && count_of(s, 40, is_digit_or_mark) >= 2 &&
			       count_of(s, 40, isupper) >= 4 && count_of(s, 40, islower) >= 4
		       ? 40
		       : 0;
}

/* "abc8Q~" and 31 to 34 more: a client secret of Azure. */
static size_t azure_secret(const char *s, size_t n)
{
	size_t len = n < 40 ? 0 : span(s, n < 64 ? n : 64, "_.~-");

	return len >= 37 && len <= 40 && isdigit((unsigned char)s[3]) && memcmp(s + 4, "Q~", 2) == 0
		       ? len
		       : 0;
}

bool sp_redact_is_pem(const char *s, size_t n)
{
	return n >= 11 && memcmp(s, "-----BEGIN ", 11) == 0;
}

/* A key up to the end of "-----END … KEY-----"; all there is where that is missing. */
static size_t pem(const char *s, size_t n)
{
	const char *end = memmem(s, n, "-----END ", 9);
	const char *dashes = end ? memmem(end + 9, n - (size_t)(end + 9 - s), "-----", 5) : NULL;

	return dashes ? (size_t)(dashes + 5 - s) : n;
}

size_t sp_redact_form(const char *s, size_t n, size_t at)
{
	const char *p = s + at;
	size_t left = n - at, len;

	if (sp_redact_is_pem(p, left))
		return pem(p, left);
	if (at > 0 && isalnum((unsigned char)s[at - 1]))
		return 0;
	for (size_t i = 0; i < SP_COUNT(forms); i++) {
		size_t prefix = strlen(forms[i].prefix);

		if (left < prefix || memcmp(p, forms[i].prefix, prefix) != 0)
			continue;
		len = span(p + prefix, left - prefix, forms[i].more);
		if (len >= forms[i].least)
			return prefix + len;
	}
	len = azure_secret(p, left);
	return len ? len : base64_key(s, n, at);
}

/* jdbc:oracle:thin:user/password@host */
static size_t oracle(const char *s, size_t n, size_t *ret_at)
{
	const char *at = memchr(s, '@', n);
	const char *slash = at ? memchr(s, '/', (size_t)(at - s)) : NULL;

	if (!slash)
		return 0;
	*ret_at = (size_t)(slash + 1 - s);
	return (size_t)(at - slash - 1);
}

static bool is_port(const char *s, size_t n)
{
	return count_of(s, n, isdigit) == n;
}

/* scheme://user:password@host: a slash may be in it (keys of AWS), but "host:1234/" is a port. */
size_t sp_redact_user_info(const char *s, size_t n, size_t *ret_at)
{
	size_t colon = 3, end, at = 0;

	n = n < URL_MAX ? n : URL_MAX;
	if (n > 8 && memcmp(s, ":oracle:", 8) == 0)
		return oracle(s, n, ret_at);
	if (n < 4 || memcmp(s, "://", 3) != 0)
		return 0;
	while (colon < n && !strchr(":/?#@", s[colon]))
		colon++;
	if (colon == n || s[colon] != ':')
		return 0;
	for (end = colon + 1; end < n && !strchr("/?#", s[end]); end++)
		if (s[end] == '@')
			at = end;
	if (end < n && (at ? s[end] == '#' : !is_port(s + colon + 1, end - colon - 1))) {
		const char *slash = at ? memchr(s + end, '/', n - end) : NULL; /* p@ss#word@host/ */
		const char *later =
			memchr(s + end, '@', slash ? (size_t)(slash - s) - end : n - end);

		at = later ? (size_t)(later - s) : at;
	}
	*ret_at = colon + 1;
	return at > colon + 1 ? at - colon - 1 : 0;
}

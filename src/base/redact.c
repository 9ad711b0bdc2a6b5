/* What looks secret: see redact.h. A word is copied from left to right; at every place each rule is
 * asked once whether a secret begins there. */
#include "base/redact.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* In names, written without dots, dashes and underscores and in small letters. */
static const char *const always[] = {"secret", "password", "passwd", "passphrase", "token",
	"accesskey", "apikey", "accountkey", "privatekey", "encryptionkey", "signingkey",
	"sharedkey", "authkey", "accesssignature"};
/* The same, but names like these are also given to places and kinds of secrets. */
static const char *const often[] = {"credential"};
static const char *const places[] = {
	"path", "file", "provider", "providers", "class", "dir", "enabled", "type", "url", "uri"};
static const char *const exact[] = {"sig", "signature", "xamzsignature", "pwd"};

static bool ends_with(const char *s, size_t n, const char *end)
{
	size_t len = strlen(end);

	return n >= len && memcmp(s + n - len, end, len) == 0;
}

/* "spark.hadoop.fs.s3a.access-KEY" as "sparkhadoopfss3aaccesskey", its end where it is too long. */
static size_t plain_name(const char *name, size_t n, char plain[256])
{
	size_t len = 0;

	for (size_t i = n > 255 ? n - 255 : 0; i < n; i++)
		if (isalnum((unsigned char)name[i]))
			plain[len++] = (char)tolower((unsigned char)name[i]);
	plain[len] = '\0';
	return len;
}

bool sp_redact_is_secret(const char *name, size_t n)
{
	char plain[256];
	size_t len = plain_name(name, n, plain);

	for (size_t i = 0; i < SP_COUNT(always); i++)
		if (strstr(plain, always[i]))
			return true;
	for (size_t i = 0; i < SP_COUNT(exact); i++)
		if (strcmp(plain, exact[i]) == 0 && !(n == 3 && memcmp(name, "PWD", 3) == 0))
			return true;
	for (size_t i = 0; i < SP_COUNT(places); i++)
		if (ends_with(plain, len, places[i]))
			return false;
	for (size_t i = 0; i < SP_COUNT(often); i++)
		if (strstr(plain, often[i]))
			return true;
	return false;
}

static bool is_word(const char *s, size_t n, const char *word)
{
	return n == strlen(word) && strncasecmp(s, word, n) == 0;
}

/* Is @value nothing that has to be hidden, although its name looks secret? */
static bool is_harmless(const char *name, size_t n, const char *value, size_t len)
{
	size_t digits = 0;

	if (len == 0 || is_word(value, len, "true") || is_word(value, len, "false"))
		return true;
	while (digits < len && isdigit((unsigned char)value[digits]))
		digits++;
	return digits == len && len < 10 && n && tolower((unsigned char)name[n - 1]) == 's';
}

/* Forms of secrets that need no name. */
static const struct {
	const char *prefix, *more; /* characters beside letters and digits that may follow */
	size_t least;		   /* so many of them */
} forms[] = {
	{"AKIA", "", 16},
	{"ASIA", "", 16},
	{"AIza", "_-", 30},
	{"ya29.", "_-.", 20},
	{"ghp_", "", 30},
	{"gho_", "", 30},
	{"ghs_", "", 30},
	{"github_pat_", "_", 30},
	{"glpat-", "_-", 20},
	{"xoxb-", "-", 20},
	{"xoxp-", "-", 20},
	{"dapi", "-", 32},
	{"eyJ", "_-.", 40},
};

/* Length of the secret at @s that is known by its form; 0: none. */
static size_t form_at(const char *s, size_t n)
{
	for (size_t i = 0; i < SP_COUNT(forms); i++) {
		size_t len = strlen(forms[i].prefix), from = len;

		if (n < len || memcmp(s, forms[i].prefix, len) != 0)
			continue;
		while (len < n && (isalnum((unsigned char)s[len]) ||
					  (s[len] && strchr(forms[i].more, s[len]))))
			len++;
		if (len - from >= forms[i].least)
			return len;
	}
	return n >= 11 && memcmp(s, "-----BEGIN ", 11) == 0 ? n : 0;
}

/* The password of "scheme://user:password@host" whose "://" is at @s: where it begins, and its
 * length; 0: none. A slash may be in it (keys of AWS), but "host:1234/" is a port. */
static size_t user_info(const char *s, size_t n, size_t *ret_at)
{
	size_t colon = 3, end, at = 0;
	bool port = true;

	while (colon < n && !strchr(":/?#@", s[colon]))
		colon++;
	if (colon == n || s[colon] != ':')
		return 0;
	for (end = colon + 1; end < n && !strchr("/?#", s[end]); end++)
		if (s[end] == '@')
			at = end;
	for (size_t i = colon + 1; i < end; i++)
		port &= isdigit((unsigned char)s[i]) != 0;
	if (!at && end < n && !port) {
		const char *later = memchr(s + end, '@', n - end);

		at = later ? (size_t)(later - s) : 0;
	}
	*ret_at = colon + 1;
	return at > colon + 1 ? at - colon - 1 : 0;
}

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '.' || c == '_' || c == '-';
}

/* A name before the '=' at @at; *ret_start: where it begins. */
static size_t name_before(const char *s, size_t at, size_t *ret_start)
{
	size_t start = at;

	while (start > 0 && in_name(s[start - 1]))
		start--;
	*ret_start = start;
	if (start == 0 && at > 2 && s[0] == '-' && s[1] == 'D')
		*ret_start = 2;
	return at - *ret_start;
}

/* The value behind the '=' at @at: all of the word where the word is this one pair. */
static size_t value_length(const char *s, size_t n, size_t at, bool whole)
{
	size_t len = 0;

	if (whole)
		return n - at - 1;
	while (at + 1 + len < n && !strchr("&;,\"'", s[at + 1 + len]))
		len++;
	return len;
}

/* Is there the '=' (or, in JSON, the colon) of a secret at @at? Returns the length of its value. */
static size_t pair_at(const char *s, size_t n, size_t at)
{
	size_t start, len, name;

	if (s[at] != '=')
		return 0;
	name = name_before(s, at, &start);
	if (!name || !sp_redact_is_secret(s + start, name))
		return 0;
	len = value_length(s, n, at, start == 0 || (start == 2 && s[1] == 'D'));
	return is_harmless(s + start, name, s + at + 1, len) ? 0 : len;
}

/* Is @word an option whose value is the next word, and secret? */
static enum sp_redact_next next_word(const char *word, size_t n)
{
	size_t dashes = 0;

	if (is_word(word, n, "Bearer") || is_word(word, n, "Basic"))
		return SP_REDACT_SECRET;
	while (dashes < n && word[dashes] == '-')
		dashes++;
	if (dashes == 0 || memchr(word, '=', n) || (n > 1 && strchr("DX", word[1])) ||
		memchr(word, ':', n) || memchr(word, '/', n) ||
		!sp_redact_is_secret(word + dashes, n - dashes))
		return SP_REDACT_PLAIN;
	return tolower((unsigned char)word[n - 1]) == 's' ? SP_REDACT_SECRETS : SP_REDACT_SECRET;
}

static bool is_value(enum sp_redact_next next, const char *s, size_t n)
{
	return next != SP_REDACT_PLAIN && !(n > 1 && s[0] == '-' && s[1] == '-') &&
	       !is_harmless("s", next == SP_REDACT_SECRETS, s, n);
}

void sp_redact_word(const char *s, size_t n, enum sp_redact_next *next, struct sp_buf *out)
{
	bool value = is_value(*next, s, n);
	size_t i = 0;

	*next = value ? SP_REDACT_PLAIN : next_word(s, n);
	if (value) {
		sp_buf_adds(out, SP_REDACTED);
		return;
	}
	while (i < n) {
		size_t at, len = i == 0 || !isalnum((unsigned char)s[i - 1]) ? form_at(s + i, n - i)
									     : 0;

		if (len) {
			sp_buf_adds(out, SP_REDACTED);
			i += len;
			continue;
		}
		if (n - i > 3 && memcmp(s + i, "://", 3) == 0 &&
			(len = user_info(s + i, n - i, &at))) {
			sp_buf_add(out, s + i, at);
			sp_buf_adds(out, SP_REDACTED);
			i += at + len;
			continue;
		}
		len = pair_at(s, n, i);
		sp_buf_addc(out, s[i++]);
		if (len)
			sp_buf_adds(out, SP_REDACTED);
		i += len;
	}
}

/* Where the word at @s ends: at a blank that is in no quotes. */
static size_t word_length(const char *s, size_t n)
{
	char quote = '\0';
	size_t i = 0;

	for (; i < n && (quote || (s[i] != ' ' && s[i] != '\n' && s[i] != '\t')); i++) {
		if (quote && s[i] == quote)
			quote = '\0';
		else if (!quote && (s[i] == '"' || s[i] == '\'') &&
			 memchr(s + i + 1, s[i], n - i - 1))
			quote = s[i];
	}
	return i;
}

void sp_redact_line(const char *s, size_t n, struct sp_buf *out)
{
	enum sp_redact_next next = SP_REDACT_PLAIN;

	while (n > 0) {
		size_t len = word_length(s, n);

		if (len) /* not between two blanks */
			sp_redact_word(s, len, &next, out);
		if (len < n)
			sp_buf_addc(out, s[len++]);
		s += len;
		n -= len;
	}
}

void sp_redact_property(
	const char *name, size_t name_len, const char *value, size_t len, struct sp_buf *out)
{
	if (sp_redact_is_secret(name, name_len) && !is_harmless(name, name_len, value, len))
		sp_buf_adds(out, SP_REDACTED);
	else
		sp_redact_line(value, len, out);
}

void sp_redact_in_place(char *text, size_t size)
{
	SP_AUTO_BUF struct sp_buf out = {0};

	sp_redact_line(text, strnlen(text, size), &out);
	snprintf(text, size, "%s", sp_buf_str(&out));
}

/* What looks secret: see redact.h. A text is copied from left to right, word by word; at every
 * place of a word each rule is asked once whether a secret begins there. */
#include "base/redact.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/redact_forms.h"

#define NAME_MAX_LEN 255

/* In names, in small letters. */
static const char *const words[] = {
	"secret", "password", "passwd", "passphrase", "passcode", "token"};
/* The same, written without dots, dashes and underscores. */
static const char *const joined[] = {"accesskey", "apikey", "accountkey", "privatekey",
	"encryptionkey", "signingkey", "sharedkey", "authkey", "accesssignature"};
/* Names like these are also given to places and kinds of secrets. */
static const char *const places[] = {
	"path", "file", "provider", "providers", "class", "dir", "enabled", "type", "url", "uri"};
/* All of a name. */
static const char *const exact[] = {
	"sig", "signature", "xamzsignature", "authorization", "storepass", "keypass"};

struct text {
	const char *s;
	size_t n;
	bool one_word; /* blanks in it are parts of a word of the command line */
	enum sp_redact_next next;
	struct sp_buf *out;
};

static bool ends_with(const char *s, size_t n, const char *end)
{
	size_t len = strlen(end);

	return n >= len && memcmp(s + n - len, end, len) == 0;
}

/* "db.pass", "dbPass", "MYSQL_PWD"; not "bypass", nor the shell's PWD. */
static bool ends_in_part(const char *name, size_t n, const char *part)
{
	size_t len = strlen(part), at = n - len;

	if (n < len || strncasecmp(name + at, part, len) != 0)
		return false;
	return at == 0 ? !isupper((unsigned char)name[0])
		       : !isalnum((unsigned char)name[at - 1]) ||
				 (isupper((unsigned char)name[at]) &&
					 islower((unsigned char)name[at - 1]));
}

bool sp_redact_is_secret(const char *name, size_t n)
{
	char small[NAME_MAX_LEN + 1], plain[NAME_MAX_LEN + 1];
	size_t len = 0;

	if (n > NAME_MAX_LEN) { /* its end says what it is */
		name += n - NAME_MAX_LEN;
		n = NAME_MAX_LEN;
	}
	for (size_t i = 0; i < n; i++) {
		small[i] = (char)tolower((unsigned char)name[i]);
		if (isalnum((unsigned char)name[i]))
			plain[len++] = small[i];
	}
	small[n] = plain[len] = '\0';
	for (size_t i = 0; i < SP_COUNT(words); i++)
		if (strstr(small, words[i]))
			return true;
	for (size_t i = 0; i < SP_COUNT(joined); i++)
		if (strstr(plain, joined[i]))
			return true;
	for (size_t i = 0; i < SP_COUNT(exact); i++)
		if (strcmp(plain, exact[i]) == 0)
			return true;
	if (ends_in_part(name, n, "pass") || ends_in_part(name, n, "pwd"))
		return true;
	for (size_t i = 0; i < SP_COUNT(places); i++)
		if (ends_with(plain, len, places[i]))
			return false;
	return strstr(plain, "credential") != NULL;
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

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '.' || c == '_' || c == '-';
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

/* A name and its value in the word from @from to @to of a text. */
struct pair {
	size_t from, to;
	size_t name, name_len;
	size_t value;	    /* behind the '=' or ':' */
	bool whole, quoted; /* the word is this one pair; its name has quotes */
};

static bool is_option(const char *s, size_t n)
{
	size_t i = 0;

	if (n < 2 || n > NAME_MAX_LEN || s[0] != '-')
		return false;
	while (i < n && in_name(s[i]))
		i++;
	return i == n;
}

static bool name_before(const struct text *t, size_t at, struct pair *p)
{
	size_t end = at, start;

	p->quoted = end > p->from && is_quote(t->s[end - 1]);
	end -= p->quoted;
	if (p->quoted && end > p->from && t->s[end - 1] == '\\')
		end--;
	for (start = end; start > p->from && in_name(t->s[start - 1]);)
		start--;
	p->whole = start == p->from ||
		   (t->s[start - 1] == '=' && is_option(t->s + p->from, start - 1 - p->from));
	if (start == p->from && end - start > 2 && memcmp(t->s + start, "-D", 2) == 0)
		start += 2;
	p->name = start;
	p->name_len = end - start;
	p->value = at + 1;
	return end > start;
}

/* "hdfs://", "host:80" and "a.jar:b.jar" have colons, too. */
static bool is_colon_of_pair(const struct text *t, const struct pair *p)
{
	const char *name = t->s + p->name;

	if (p->quoted)
		return true;
	if (!p->whole || p->value == p->to || t->s[p->value] == '/')
		return false;
	for (size_t i = 0; i < SP_COUNT(words); i++)
		if (is_word(name, p->name_len, words[i]))
			return true;
	return name[0] == '-';
}

/* Behind the closing quote or brace of what is opened at @at; 0: there is none before @to. */
static size_t closed(const char *s, size_t at, size_t to)
{
	size_t open = at + (s[at] == '\\'), i = open + 1;
	char close = s[open] == '{' ? '}' : s[open];

	while (i < to && s[i] != close)
		i += open == at && s[i] == '\\' && i + 1 < to ? 2 : 1;
	return i < to ? i + 1 : 0;
}

static size_t value_length(const struct text *t, const struct pair *p)
{
	const char *s = t->s;
	size_t at = p->value, to = p->to, len = 0;
	char before = p->name > p->from ? s[p->name - 1] : '\0', first = at < to ? s[at] : '\0';
	bool first_word = p->from == 0 && (p->name == 0 || s[p->name] != '-');
	const char *ends = before == '(' ? ")" : p->quoted ? ",}" : "&;,\"'";

	if (p->whole && !p->quoted)
		return (t->one_word && first_word ? t->n : to) - at;
	if (is_quote(first) || first == '{' ||
		(first == '\\' && at + 1 < to && is_quote(s[at + 1]))) {
		size_t end = closed(s, at, t->one_word ? t->n : to);

		return (end ? end : to) - at;
	}
	if (t->one_word && before && strchr("&;?", before))
		to = t->n;
	while (at + len < to && s[at + len] && !strchr(ends, s[at + len]))
		len++;
	return len;
}

/* Is there the '=' or the colon of a secret at @at of the word? Returns the length of its value. */
static size_t pair_at(const struct text *t, size_t from, size_t to, size_t at)
{
	struct pair p = {.from = from, .to = to};
	size_t len;

	if ((t->s[at] != '=' && t->s[at] != ':') || !name_before(t, at, &p) ||
		(t->s[at] == ':' && !is_colon_of_pair(t, &p)) ||
		!sp_redact_is_secret(t->s + p.name, p.name_len))
		return 0;
	len = value_length(t, &p);
	return is_harmless(t->s + p.name, p.name_len, t->s + p.value, len) ? 0 : len;
}

/* "Bearer", "-Dheader=Basic" */
static bool is_scheme(const char *s, size_t n)
{
	static const char *const schemes[] = {"bearer", "basic"};

	for (size_t i = 0; i < SP_COUNT(schemes); i++) {
		size_t len = strlen(schemes[i]);

		if (n >= len && strncasecmp(s + n - len, schemes[i], len) == 0 &&
			(n == len || !isalnum((unsigned char)s[n - len - 1])))
			return true;
	}
	return false;
}

/* Does the word end with the name of a secret and a colon? */
static bool ends_in_name(const char *s, size_t n)
{
	struct text t = {.s = s, .n = n};
	struct pair p = {.to = n};

	return n > 1 && s[n - 1] == ':' && name_before(&t, n - 1, &p) &&
	       sp_redact_is_secret(s + p.name, p.name_len);
}

/* Is @word an option with a secret value in the next word? */
static enum sp_redact_next next_word(const char *word, size_t n)
{
	const char *pair = memrchr(word, '=', n);
	size_t dashes = 0, name;

	if (is_scheme(word, n) || ends_in_name(word, n))
		return SP_REDACT_SECRET;
	if (pair && pair + 1 < word + n && pair[1] == '-') { /* OPTS=--password x */
		n -= (size_t)(pair + 1 - word);
		word = pair + 1;
	}
	while (dashes < n && word[dashes] == '-')
		dashes++;
	for (name = dashes; name < n && in_name(word[name]);)
		name++;
	if (name < n || (n > 1 && dashes == 1 && strchr("DX", word[1])) ||
		!sp_redact_is_secret(word + dashes, n - dashes))
		return SP_REDACT_PLAIN;
	if (dashes == 0)
		return SP_REDACT_NAMED;
	return tolower((unsigned char)word[n - 1]) == 's' ? SP_REDACT_SECRETS : SP_REDACT_SECRET;
}

static bool is_value(enum sp_redact_next next, const char *s, size_t n)
{
	return (next == SP_REDACT_SECRET || next == SP_REDACT_SECRETS) &&
	       !(n > 1 && s[0] == '-' && s[1] == '-') && !is_scheme(s, n) &&
	       !is_harmless("s", next == SP_REDACT_SECRETS, s, n);
}

/* "password = x", "password : x" */
static bool is_between(enum sp_redact_next next, const char *s, size_t n)
{
	return n == 1 && (*s == '=' || *s == ':') && next != SP_REDACT_PLAIN;
}

/* A quote at @at that begins something, and is no apostrophe. */
static bool opens(const char *s, size_t from, size_t at)
{
	return is_quote(s[at]) && (at == from || strchr("=:([{,\\", s[at - 1]));
}

/* Behind the quotes that are opened at @at of the word at @from; 0: none are. */
static size_t quoted(const char *s, size_t from, size_t at, size_t to)
{
	return opens(s, from, at) ? closed(s, at > from && s[at - 1] == '\\' ? at - 1 : at, to) : 0;
}

/* Where the word at @from ends: at a blank that is in no quotes. */
static size_t word_end(const struct text *t, size_t from)
{
	const char *s = t->s;
	size_t i = from;

	while (i < t->n && s[i] != ' ' && s[i] != '\n' && s[i] != '\t') {
		size_t end = quoted(s, from, i, t->n);

		i = end ? end : i + 1;
	}
	return i;
}

static void put_text(struct text *t);

/* What is quoted at @at of a word, if there are blanks in it: words of another command line.
 * Returns how much it was; 0: nothing was put. */
static size_t put_quoted(const struct text *t, size_t from, size_t to, size_t at)
{
	size_t end = quoted(t->s, from, at, to);
	struct text inner = {.s = t->s + at + 1, .one_word = true, .out = t->out};

	inner.n = end ? end - at - 2 : 0;
	if (!end || !memchr(inner.s, ' ', inner.n))
		return 0;
	sp_buf_addc(t->out, t->s[at]);
	put_text(&inner);
	return inner.n + 1;
}

/* What is at @at of the word, redacted. Returns where to go on. */
static size_t put_at(const struct text *t, size_t from, size_t to, size_t at)
{
	const char *s = t->s;
	size_t pem = sp_redact_is_pem(s + at, t->n - at), skip = 0;
	size_t len = sp_redact_form(s, pem ? t->n : to, at);

	if (!len && s[at] == ':')
		len = sp_redact_user_info(s + at, to - at, &skip);
	if (!len && (len = pair_at(t, from, to, at)))
		skip = 1;
	if (len) {
		sp_buf_add(t->out, s + at, skip);
		sp_buf_adds(t->out, SP_REDACTED);
		return at + skip + len;
	}
	len = put_quoted(t, from, to, at);
	if (!len)
		sp_buf_addc(t->out, s[at]);
	return at + (len ? len : 1);
}

static size_t put_word(struct text *t, size_t from)
{
	size_t to = word_end(t, from), n = to - from, at = from;
	const char *s = t->s + from;

	if (is_between(t->next, s, n)) {
		t->next = t->next == SP_REDACT_SECRETS ? SP_REDACT_SECRETS : SP_REDACT_SECRET;
	} else if (is_value(t->next, s, n)) {
		t->next = SP_REDACT_PLAIN;
		sp_buf_adds(t->out, SP_REDACTED);
		return to;
	} else {
		t->next = next_word(s, n);
	}
	while (at < to)
		at = put_at(t, from, to, at);
	return at;
}

static void put_text(struct text *t)
{
	for (size_t at = 0; at < t->n;) {
		if (strchr(" \n\t", t->s[at]) && t->s[at])
			sp_buf_addc(t->out, t->s[at++]);
		else
			at = put_word(t, at);
	}
}

void sp_redact_word(const char *s, size_t n, enum sp_redact_next *next, struct sp_buf *out)
{
	struct text t = {.s = s, .n = n, .one_word = true, .next = *next, .out = out};

	if (is_value(*next, s, n) && !is_between(*next, s, n)) {
		*next = SP_REDACT_PLAIN;
		sp_buf_adds(out, SP_REDACTED);
		return;
	}
	put_text(&t);
	*next = t.next;
}

void sp_redact_line(const char *s, size_t n, struct sp_buf *out)
{
	struct text t = {.s = s, .n = n, .out = out};

	put_text(&t);
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

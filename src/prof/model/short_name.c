/* Readable names: see short_name.h. */
#include "prof/model/short_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

/* Scala's names for characters that the JVM does not take. */
static const struct {
	const char *code, *text;
} operators[] = {
	{"$plus", "+"},
	{"$minus", "-"},
	{"$times", "*"},
	{"$div", "/"},
	{"$eq", "="},
	{"$less", "<"},
	{"$greater", ">"},
	{"$colon", ":"},
	{"$bang", "!"},
	{"$qmark", "?"},
	{"$amp", "&"},
	{"$bar", "|"},
	{"$percent", "%"},
	{"$up", "^"},
	{"$tilde", "~"},
	{"$at", "@"},
	{"$hash", "#"},
};

static bool starts(const char *s, size_t n, const char *word)
{
	size_t len = strlen(word);

	return n >= len && memcmp(s, word, len) == 0;
}

/* The operator at the start; NULL: none. Its code ends there: "$hashAgg" is no '#'. */
static const char *operator_at(const char *s, size_t n, size_t *ret_len)
{
	for (size_t i = 0; n && *s == '$' && i < SP_COUNT(operators); i++) {
		size_t len = strlen(operators[i].code);

		if (!starts(s, n, operators[i].code) || (len < n && isalpha((unsigned char)s[len])))
			continue;
		*ret_len = len;
		return operators[i].text;
	}
	return NULL;
}

/* Length without a suffix "word<digits>" or "word". */
static size_t cut_number(const char *s, size_t n, const char *word)
{
	size_t len = strlen(word);
	const char *at = memmem(s, n, word, len);

	for (size_t i = at ? (size_t)(at - s) + len : n; at && i < n; i++)
		if (!isdigit((unsigned char)s[i]) && s[i] != '$')
			return n;
	return at ? (size_t)(at - s) + len : n;
}

size_t sp_short_name_stable(const char *s, size_t n)
{
	static const char *const words[] = {"$$Lambda", "MethodAccessor", "ConstructorAccessor",
		"$Proxy", "$$FastClassByCGLIB", "LambdaForm$MH", "LambdaForm$DMH", "LambdaForm$BMH",
		"LambdaForm$VH"};

	for (size_t i = n; i-- > 1;) {
		if ((s[i] == '/' || s[i] == '.' || s[i] == '+') && i + 1 < n &&
			isdigit((unsigned char)s[i + 1]))
			n = i;
	}
	for (size_t i = 0; i < SP_COUNT(words); i++)
		n = cut_number(s, n, words[i]);
	return n;
}

/* Appends with operators decoded and inner classes behind dots. */
static void add_scala(const char *s, size_t n, struct sp_buf *out)
{
	for (size_t i = 0; i < n;) {
		const char *text;
		size_t len;

		if (starts(s + i, n - i, "$$Lambda")) {
			sp_buf_adds(out, ".λ");
			i += strlen("$$Lambda");
			continue;
		}
		text = operator_at(s + i, n - i, &len);
		if (text) {
			sp_buf_adds(out, text);
			i += len;
		} else if (s[i] == '$' && i + 1 == n) {
			i++; /* a Scala object */
		} else if (s[i] == '$') {
			sp_buf_addc(out, '.');
			while (i < n && s[i] == '$')
				i++;
		} else {
			sp_buf_addc(out, s[i++]);
		}
	}
}

void sp_short_name_class(const char *s, size_t n, struct sp_buf *out)
{
	const char *generated, *slash;

	n = sp_short_name_stable(s, n);
	generated = memmem(s, n, "GeneratedClass$Generated", 24);
	if (generated) { /* org.apache.spark…GeneratedClass$GeneratedIteratorForCodegenStage7 */
		generated += strlen("GeneratedClass$");
		add_scala(generated, n - (size_t)(generated - s), out);
		return;
	}
	while ((slash = memchr(s, '/', n))) {
		sp_buf_addc(out, *s);
		sp_buf_addc(out, '.');
		n -= (size_t)(slash + 1 - s);
		s = slash + 1;
	}
	add_scala(s, n, out);
}

/* "$anonfun$map$1": the number at the end, and its length. */
static size_t last_number(const char *s, size_t n, const char **ret)
{
	size_t digits = 0;

	while (digits < n && isdigit((unsigned char)s[n - 1 - digits]))
		digits++;
	*ret = s + n - digits;
	return digits && digits < n && s[n - 1 - digits] == '$' ? digits : 0;
}

static size_t cut_end(const char *s, size_t n, const char *end)
{
	size_t len = strlen(end);

	return n > len && memcmp(s + n - len, end, len) == 0 ? n - len : n;
}

void sp_short_name_method(const char *s, size_t n, struct sp_buf *out)
{
	const char *number, *mc;
	size_t digits;
	bool lambda = false;

	n = cut_end(s, n, "$adapted");
	mc = memmem(s, n, "$mc", 3);
	if (mc && cut_end(s, n, "$sp") < n) /* specialised for a primitive type */
		n = (size_t)(mc - s);
	if (starts(s, n, "$anonfun$")) {
		lambda = true;
		s += strlen("$anonfun$");
		n -= strlen("$anonfun$");
	} else if (starts(s, n, "lambda$")) { /* javac's */
		lambda = true;
		s += strlen("lambda$");
		n -= strlen("lambda$");
	}
	if (!lambda) {
		add_scala(s, n, out);
		return;
	}
	digits = last_number(s, n, &number);
	add_scala(s, digits ? n - digits - 1 : n, out);
	sp_buf_addf(out, "{λ%.*s}", (int)digits, number);
}

/* "0f7b6a40-cd1f-4c0f-8f9a-2dc0f8e0b7a3" */
static bool is_uuid(const char *s)
{
	static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	for (size_t i = 0; shape[i]; i++)
		if (shape[i] == '-' ? s[i] != '-' : !isxdigit((unsigned char)s[i]))
			return false;
	return true;
}

/* How much of @s is a number that says nothing: those of versions are shorter. */
static size_t chance(const char *s)
{
	size_t digits = strspn(s, "0123456789"), hex = strspn(s, "0123456789abcdefABCDEF");

	if (is_uuid(s))
		return strlen("0f7b6a40-cd1f-4c0f-8f9a-2dc0f8e0b7a3");
	return hex >= 12 && strcspn(s, "0123456789") < hex ? hex : digits >= 7 ? digits : 0;
}

void sp_short_name_library(const char *s, struct sp_buf *out)
{
	const char *start = s;

	while (*s) {
		char before = s > start ? s[-1] : '-';
		size_t n = isalnum((unsigned char)before) && !isdigit((unsigned char)*s)
				   ? 0
				   : chance(s);

		if (n && before == '_' && starts(s, n, "64")) /* netty: right behind "x86_64" */
			sp_buf_adds(out, "64");
		else if (n && out->len && s > start && (before == '-' || before == '_'))
			out->len--;
		else if (n && s == start && s[n] == '-')
			n++;
		if (n)
			s += n;
		else
			sp_buf_addc(out, *s++);
	}
}

/* Values of options: see option_value.h. */
#include "option_value.h"

#include "base/time_spec.h"
#include "base/units.h"
#include "event_names.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
	const char *what, *examples;
} number_words[] = {
	[SP_OPTION_KIND_DURATION] = {"a duration", "30, 30s, 2m, 0.5s"},
	[SP_OPTION_KIND_SIZE] = {"a size", "512k, 2m"},
	[SP_OPTION_KIND_COUNT] = {"a whole number", "2048"},
	[SP_OPTION_KIND_DEPTH] = {"a whole number", "2048, or 200/40"},
	[SP_OPTION_KIND_INTERVAL] = {"an interval", "10ms, 500us"},
	[SP_OPTION_KIND_BESIDE_TIME] = {"an interval", "50ms, 1s"},
	[SP_OPTION_KIND_BESIDE_SIZE] = {"a size", "512k, 2m"},
};

static int parse_number(enum sp_option_kind kind, const char *text, uint64_t *ret)
{
	switch (kind) {
	case SP_OPTION_KIND_DURATION:
		return sp_duration_parse(text, 1000000000, ret);
	case SP_OPTION_KIND_INTERVAL:
	case SP_OPTION_KIND_BESIDE_TIME:
		return sp_duration_parse(text, 1, ret);
	case SP_OPTION_KIND_SIZE:
	case SP_OPTION_KIND_BESIDE_SIZE:
		return sp_size_parse(text, ret);
	default:
		return sp_count_parse(text, ret);
	}
}

/* "23:30:00": the time until then, by the local clock. Returns 0 or -EINVAL. */
static int until(const char *text, uint64_t *ret)
{
	time_t now = time(NULL), then;
	struct tm day;
	unsigned h, m, s;
	int end = 0;

	if (sscanf(text, "%2u:%2u:%2u%n", &h, &m, &s, &end) != 3 || text[end] || h > 23 || m > 59 ||
		s > 59 || !localtime_r(&now, &day))
		return -EINVAL;
	day.tm_hour = (int)h;
	day.tm_min = (int)m;
	day.tm_sec = (int)s;
	day.tm_isdst = -1;
	then = mktime(&day);
	if (then <= now) {
		day.tm_mday++;
		day.tm_isdst = -1;
		then = mktime(&day);
	}
	*ret = (uint64_t)(then - now) * 1000000000;
	return then > now ? 0 : -EINVAL;
}

static int number(const struct sp_option *o, const char *spelled, const char *text, uint64_t *ret,
	struct sp_err *err)
{
	uint64_t value, least = 0, most = UINT64_MAX;
	int r = parse_number(o->kind, text, &value);

	if (r == -EINVAL && strcmp(o->name, "timeout") == 0)
		r = until(text, &value);

	if (r == -EINVAL)
		return sp_err_set(err, -EINVAL, "%s: '%s' is not %s; write %s", spelled, text,
			number_words[o->kind].what, number_words[o->kind].examples);
	parse_number(o->kind, o->least, &least);
	parse_number(o->kind, o->most, &most);
	if (r < 0 || value < least || value > most)
		return sp_err_set(err, -EINVAL, "%s: '%s' is out of range; write %s to %s", spelled,
			text, o->least, o->most);
	*ret = value;
	return 0;
}

/* "2048", or "200/40": of more than 200 only 40. */
static int depth(const struct sp_option *o, const char *spelled, const char *text,
	struct sp_call_depth *ret, struct sp_err *err)
{
	const char *slash = strchr(text, '/');
	char most[32];
	int r;

	snprintf(most, sizeof(most), "%.*s", slash ? (int)(slash - text) : 31, text);
	r = number(o, spelled, most, &ret->most, err);
	ret->left = ret->most;
	return r < 0 || !slash ? r : number(o, spelled, slash + 1, &ret->left, err);
}

int sp_option_value_interval(const struct sp_option *o, const char *spelled, const char *text,
	const char *name, uint64_t *ret_interval, struct sp_err *err)
{
	const struct sp_option *own = sp_option_find(name, strlen(name));
	uint64_t value;

	/* --alloc and -e alloc -i mean the same and have the same bounds; -e live counts as alloc.
	 */
	if (sp_event_unit(name) == SP_EVENT_SIZE && !sp_option_is_beside(own))
		own = sp_option_find("alloc", strlen("alloc"));
	if (sp_option_is_beside(own))
		return number(own, spelled, text, ret_interval, err);
	if (sp_event_unit(name) == SP_EVENT_TIME)
		return number(o, spelled, text, ret_interval, err);
	if (sp_count_parse(text, &value) < 0 || value == 0)
		return sp_err_set(err, -EINVAL,
			"%s: '%s' is not a number of events; %s is counted: write 1, 1000", spelled,
			text, name);
	*ret_interval = value;
	return 0;
}

/* Counts words of "a|b|c"; the first is 1, as in the enums, where 0 means none was given. */
static int enum_word(const struct sp_option *o, const char *spelled, const char *text, int *ret,
	struct sp_err *err)
{
	const char *word = o->value;

	for (int i = 1;; i++) {
		size_t len = strcspn(word, "|");

		if (strlen(text) == len && memcmp(word, text, len) == 0) {
			*ret = i;
			return 0;
		}
		if (!word[len])
			return sp_err_set(
				err, -EINVAL, "%s: '%s' is not one of %s", spelled, text, o->value);
		word += len + 1;
	}
}

static bool read_id(const char **p, unsigned long *ret)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	errno = 0;
	*ret = strtoul(*p, &end, 10);
	*p = end;
	return errno == 0 && *ret > 0 && *ret <= INT_MAX;
}

/* "120-127,132" */
static int thread_ids(const char *spelled, const char *text, struct sp_err *err)
{
	const char *p = text;
	unsigned long from = 0, to;

	for (;;) {
		bool ok = read_id(&p, &from);

		to = from;
		if (ok && *p == '-') {
			p++;
			ok = read_id(&p, &to);
		}
		if (!ok || to < from || (*p && *p != ','))
			return sp_err_set(err, -EINVAL,
				"%s: '%s' is not a list of thread ids; write 120-127,132", spelled,
				text);
		if (!*p++)
			return 0;
	}
}

/* "running,lock" */
static int thread_states(const char *spelled, const char *text, struct sp_err *err)
{
	static const char known[] = "running runnable lock net disk sleep poll blocked";

	for (const char *p = text;; p++) {
		size_t len = strcspn(p, ",");
		const char *at = known;

		while (len && *at && (strcspn(at, " ") != len || strncmp(at, p, len) != 0))
			at += strcspn(at, " ") + (at[strcspn(at, " ")] == ' ');
		if (!len || !*at)
			return sp_err_set(err, -EINVAL, "%s: '%.*s' is not a state; there are %s",
				spelled, (int)len, p, known);
		p += len;
		if (!*p)
			return 0;
	}
}

/* "5" or, of a stage, "5.1" */
static int dotted(
	const struct sp_option *o, const char *spelled, const char *text, struct sp_err *err)
{
	bool stage = strcmp(o->value, "STAGE") == 0;
	size_t n = strspn(text, "0123456789"), m = 0;

	if (stage && n && text[n] == '.')
		m = 1 + strspn(text + n + 1, "0123456789");
	if (n == 0 || n > 18 || m == 1 || m > 10 || text[n + m])
		return sp_err_set(err, -EINVAL, "%s: '%s' is not a %s; write %s", spelled, text,
			stage ? "stage" : "number", stage ? "5, or 5.1 for one attempt" : "12");
	return 0;
}

/* "java.util.HashMap.put" or "java.util.HashMap.put:10ms" */
static int traced(const char *spelled, const char *text, struct sp_err *err)
{
	size_t len = strcspn(text, ":");
	char name[SP_EVENT_NAME_LEN];
	uint64_t ns;

	if (len < sizeof(name)) {
		memcpy(name, text, len);
		name[len] = '\0';
	}
	if (len >= sizeof(name) || !sp_event_is_method(name))
		return sp_err_set(err, -EINVAL,
			"%s: '%.*s' is not a Java method; write java.util.HashMap.put or "
			"org.acme.*.run*:10ms",
			spelled, (int)(len < 100 ? len : 100), text);
	if (text[len] && sp_duration_parse(text + len + 1, 1, &ns) < 0)
		return sp_err_set(err, -EINVAL, "%s: '%s' is not a time; write 10ms, 500us",
			spelled, text + len + 1);
	return 0;
}

static int percent(const char *spelled, const char *text, double *ret, struct sp_err *err)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || (*end && strcmp(end, "%") != 0) || !(value >= 0 && value < 100))
		return sp_err_set(
			err, -EINVAL, "%s: '%s' is not a percentage; write 0.5", spelled, text);
	*ret = value;
	return 0;
}

static int fraction(const char *spelled, const char *text, double *ret, struct sp_err *err)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value > 0 && value <= 1))
		return sp_err_set(err, -EINVAL,
			"%s: '%s' is not a part of one; write 0.1 for one of ten", spelled, text);
	*ret = value;
	return 0;
}

/* "1h", or "00:00:00" with letters for any, as the agent reads it. */
static int loop_time(const char *spelled, const char *text, struct sp_err *err)
{
	const char *colon = strchr(text, ':');
	uint64_t ns;

	if (colon ? strspn(text, "0123456789hms:") == strlen(text) && strlen(text) <= 8 &&
				strchr(colon + 1, ':')
		  : sp_duration_parse(text, 1000000000, &ns) == 0 && ns >= 1000000000)
		return 0;
	return sp_err_set(err, -EINVAL,
		"%s: '%s' is not a time; write 1h, or 00:00:00 for each midnight", spelled, text);
}

static int add_pattern(
	struct sp_call_patterns *list, const char *spelled, const char *text, struct sp_err *err)
{
	if (list->n == SP_CALL_MAX_PATTERNS)
		return sp_err_set(
			err, -EINVAL, "%s: may be given %d times", spelled, SP_CALL_MAX_PATTERNS);
	list->text[list->n++] = text;
	return 0;
}

/* A value that passed its check, by the type of its field. */
union field {
	uint64_t number;
	struct sp_call_depth depth;
	struct sp_time_spec when;
	int word;
	double share;
};

static int check(const struct sp_option *o, const char *spelled, const char *text,
	union field *ret_value, struct sp_err *err)
{
	switch (o->kind) {
	case SP_OPTION_KIND_DURATION:
	case SP_OPTION_KIND_SIZE:
	case SP_OPTION_KIND_COUNT:
		return number(o, spelled, text, &ret_value->number, err);
	case SP_OPTION_KIND_DEPTH:
		return depth(o, spelled, text, &ret_value->depth, err);
	case SP_OPTION_KIND_ENUM:
		return enum_word(o, spelled, text, &ret_value->word, err);
	case SP_OPTION_KIND_IDS:
		return thread_ids(spelled, text, err);
	case SP_OPTION_KIND_DOTTED:
		return dotted(o, spelled, text, err);
	case SP_OPTION_KIND_WHEN:
		if (sp_time_spec_parse(text, &ret_value->when) < 0)
			return sp_err_set(err, -EINVAL,
				"%s: '%s' is not a time; write 10s (from the start), -10s (from "
				"the end), 14:30:00 or 2026-03-01T14:30:00",
				spelled, text);
		return 0;
	case SP_OPTION_KIND_STATES:
		return thread_states(spelled, text, err);
	case SP_OPTION_KIND_METHOD:
		return traced(spelled, text, err);
	case SP_OPTION_KIND_PERCENT:
		return percent(spelled, text, &ret_value->share, err);
	case SP_OPTION_KIND_FRACTION:
		return fraction(spelled, text, &ret_value->share, err);
	case SP_OPTION_KIND_LOOP:
		return loop_time(spelled, text, err);
	case SP_OPTION_KIND_TEXT:
	case SP_OPTION_KIND_PATTERN:
		if (!*text)
			return sp_err_set(
				err, -EINVAL, "%s: is empty; write a %s", spelled, o->value);
		return 0;
	default:
		return 0;
	}
}

int sp_option_value_set(const struct sp_option *o, const char *spelled, const char *text,
	struct sp_call *call, struct sp_err *err)
{
	void *to = (char *)call + o->offset;
	union field value = {0};
	int r = check(o, spelled, text, &value, err);

	if (r < 0 || o->state != SP_OPTION_BUILT)
		return r;
	switch (o->kind) {
	case SP_OPTION_KIND_FLAG:
		*(bool *)to = true;
		return 0;
	case SP_OPTION_KIND_DURATION:
	case SP_OPTION_KIND_SIZE:
	case SP_OPTION_KIND_COUNT:
		*(uint64_t *)to = value.number;
		return 0;
	case SP_OPTION_KIND_DEPTH:
		*(struct sp_call_depth *)to = value.depth;
		return 0;
	case SP_OPTION_KIND_ENUM:
		*(int *)to = value.word;
		return 0;
	case SP_OPTION_KIND_WHEN:
		*(struct sp_time_spec *)to = value.when;
		return 0;
	case SP_OPTION_KIND_PERCENT:
	case SP_OPTION_KIND_FRACTION:
		*(double *)to = value.share;
		return 0;
	case SP_OPTION_KIND_LOOP:
	case SP_OPTION_KIND_TEXT:
	case SP_OPTION_KIND_IDS:
	case SP_OPTION_KIND_DOTTED:
	case SP_OPTION_KIND_STATES:
		*(const char **)to = text;
		return 0;
	case SP_OPTION_KIND_PATTERN:
	case SP_OPTION_KIND_METHOD:
		return add_pattern(to, spelled, text, err);
	default:
		return 0;
	}
}

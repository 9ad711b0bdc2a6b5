/* See method_patterns.h. */
#include "method_patterns.h"

#include "base/units.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

static bool matches(const char *pattern, const char *name)
{
	return fnmatch(pattern, name, FNM_NOESCAPE) == 0;
}

/* The last dot stands between class and method. */
static int split(struct sp_method_name *n, const char *text, size_t len, struct sp_err *err)
{
	const char *dot = memrchr(text, '.', len);
	size_t head = dot ? (size_t)(dot - text) : 0, tail = dot ? len - head - 1 : 0;

	if (!head || !tail || memchr(text, '[', len))
		return sp_err_set(err, -EINVAL,
			"'%.*s' is not a Java method; write java.util.HashMap.put or "
			"org.acme.*.run*",
			(int)len, text);
	if (head >= sizeof(n->class_name) || tail >= sizeof(n->method))
		return sp_err_set(err, -EINVAL, "'%.60s…' is too long for a Java method", text);
	snprintf(n->class_name, sizeof(n->class_name), "%.*s", (int)head, text);
	snprintf(n->method, sizeof(n->method), "%.*s", (int)tail, dot + 1);
	for (char *p = n->class_name; (p = strchr(p, '.'));)
		*p = '/';
	return 0;
}

static int parse_amount(
	struct sp_method_name *n, const char *text, size_t len, bool times, struct sp_err *err)
{
	char value[32];
	int r;

	snprintf(value, sizeof(value), "%.*s", (int)len, text);
	r = times ? sp_duration_parse(value, 1, &n->amount) : sp_count_parse(value, &n->amount);
	if (r < 0 || len >= sizeof(value) || (!times && n->amount == 0))
		return sp_err_set(err, -EINVAL, "'%.*s' is not %s", (int)len, text,
			times ? "a time; write 10ms, 500us" : "a number of calls; write 1, 1000");
	return 0;
}

int sp_method_patterns_parse(struct sp_method_patterns *m, const char *text, bool times,
	uint64_t amount, struct sp_err *err)
{
	while (*text) {
		size_t len = strcspn(text, ";"), name = strcspn(text, ":;");
		struct sp_method_name *n = &m->names[m->count];
		int r;

		if (m->count == SP_METHODS_MAX)
			return sp_err_set(err, -EINVAL, "at most %d Java methods", SP_METHODS_MAX);
		n->amount = amount;
		atomic_store(&n->found, false);
		r = split(n, text, name, err);
		if (r == 0 && name < len)
			r = parse_amount(n, text + name + 1, len - name - 1, times, err);
		if (r < 0)
			return r;
		m->count++;
		text += len + (text[len] == ';');
	}
	return 0;
}

bool sp_method_patterns_of_class(const struct sp_method_patterns *m, const char *class_name)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (matches(m->names[i].class_name, class_name))
			return true;
	return false;
}

int32_t sp_method_patterns_find(
	const struct sp_method_patterns *m, const char *class_name, const char *method)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (matches(m->names[i].class_name, class_name) &&
			matches(m->names[i].method, method))
			return (int32_t)i;
	return -1;
}

void sp_method_patterns_mark(
	struct sp_method_patterns *m, const char *class_name, const char *method)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (matches(m->names[i].class_name, class_name) &&
			matches(m->names[i].method, method))
			atomic_store(&m->names[i].found, true);
}

void sp_method_patterns_mark_class(struct sp_method_patterns *m, const char *class_name)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (matches(m->names[i].class_name, class_name))
			atomic_store(&m->names[i].found, true);
}

void sp_method_patterns_missing(const struct sp_method_patterns *m, char *buf, size_t size)
{
	for (uint32_t i = 0; i < m->count; i++) {
		const struct sp_method_name *n = &m->names[i];
		size_t used = strlen(buf);

		if (atomic_load(&n->found))
			continue;
		snprintf(buf + used, size - used, "%s%s.%s", used ? ", " : "", n->class_name,
			n->method);
		for (char *p = buf + used; (p = strchr(p, '/'));)
			*p = '.';
	}
}

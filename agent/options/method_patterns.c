/* See method_patterns.h. */
#include "method_patterns.h"

#include "base/descriptor.h"
#include "base/units.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

static bool matches(const char *pattern, const char *name)
{
	return fnmatch(pattern, name, FNM_NOESCAPE) == 0;
}

/* With or without the type that it returns. */
static bool fits(const struct sp_method_name *n, const char *descriptor)
{
	size_t len = strlen(n->descriptor);

	return strncmp(n->descriptor, descriptor, len) == 0 &&
	       (!len || !descriptor[len] || n->descriptor[len - 1] == ')');
}

static bool is_it(const struct sp_method_name *n, const char *class_name, const char *method,
	const char *descriptor)
{
	return matches(n->class_name, class_name) && matches(n->method, method) &&
	       fits(n, descriptor);
}

/* The last dot is between class and method. */
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

/* NAME, NAME(…), either with :AMOUNT. Returns how long it was, or -EINVAL. */
static int parse_one(struct sp_method_name *n, const char *text, bool times, struct sp_err *err)
{
	size_t name = strcspn(text, ":;("), described = sp_descriptor_length(text + name);
	size_t at = name + described, len = at + strcspn(text + at, ";");
	int r = split(n, text, name, err);

	if (r < 0)
		return r;
	if (text[name] == '(' && (!described || (text[at] && !strchr(":;", text[at]))))
		return sp_err_set(err, -EINVAL,
			"'%s' is not the descriptor of a Java method; write "
			"(ILjava/lang/String;)V or (ILjava/lang/String;)",
			text + name);
	if (described >= sizeof(n->descriptor))
		return sp_err_set(err, -EINVAL, "'%.60s…' is too long for a Java method", text);
	snprintf(n->descriptor, sizeof(n->descriptor), "%.*s", (int)described, text + name);
	r = at < len ? parse_amount(n, text + at + 1, len - at - 1, times, err) : 0;
	return r < 0 ? r : (int)len;
}

int sp_method_patterns_parse(struct sp_method_patterns *m, const char *text, bool times,
	uint64_t amount, struct sp_err *err)
{
	while (*text) {
		struct sp_method_name *n = &m->names[m->count];
		int len;

		if (m->count == SP_METHODS_MAX)
			return sp_err_set(err, -EINVAL, "at most %d Java methods", SP_METHODS_MAX);
		n->amount = amount;
		atomic_store(&n->found, false);
		len = parse_one(n, text, times, err);
		if (len < 0)
			return len;
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

int32_t sp_method_patterns_find(const struct sp_method_patterns *m, const char *class_name,
	const char *method, const char *descriptor)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (is_it(&m->names[i], class_name, method, descriptor))
			return (int32_t)i;
	return -1;
}

void sp_method_patterns_mark(struct sp_method_patterns *m, const char *class_name,
	const char *method, const char *descriptor)
{
	for (uint32_t i = 0; i < m->count; i++)
		if (is_it(&m->names[i], class_name, method, descriptor))
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
		snprintf(buf + used, size - used, "%s%s", used ? ", " : "", n->class_name);
		for (char *p = buf + used; (p = strchr(p, '/'));)
			*p = '.';
		used = strlen(buf);
		snprintf(buf + used, size - used, ".%s%s", n->method, n->descriptor);
	}
}

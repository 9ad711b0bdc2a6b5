/* See task_name.h. Called for every rename of a thread: no allocation, no scanf. */
#include "prof/model/task_name.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool skip(const char **p, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*p, word, n) != 0)
		return false;
	*p += n;
	return true;
}

static bool read_number(const char **p, int64_t max, int64_t *ret)
{
	int64_t v = 0;
	const char *s = *p;

	for (; *s >= '0' && *s <= '9'; s++) {
		v = v * 10 + (*s - '0');
		if (v > max)
			return false;
	}
	if (s == *p)
		return false;
	*ret = v;
	*p = s;
	return true;
}

/* "3.0" */
static bool pair(const char **p, int32_t *ret_first, int32_t *ret_second)
{
	int64_t a, b;

	if (!read_number(p, INT32_MAX, &a) || !skip(p, ".") || !read_number(p, INT32_MAX, &b))
		return false;
	*ret_first = (int32_t)a;
	*ret_second = (int32_t)b;
	return true;
}

bool sp_task_name_parse(const char *name, struct sp_task_name *ret)
{
	struct sp_task_name t = {-1, -1, -1, -1, -1};
	const char *p = name, *whole;

	if (!skip(&p, "Executor task launch worker for task "))
		return false;
	whole = p;
	if (pair(&p, &t.index, &t.attempt) && skip(&p, " in stage ") &&
		pair(&p, &t.stage, &t.stage_attempt) && skip(&p, " (TID ") &&
		read_number(&p, INT64_MAX / 16, &t.task_id) && *p == ')') {
		*ret = t;
		return true;
	}
	p = whole;
	t = (struct sp_task_name){-1, -1, -1, -1, -1};
	if (!read_number(&p, INT64_MAX / 16, &t.task_id) || *p)
		return false;
	*ret = t;
	return true;
}

bool sp_task_name_engine(const char *name, struct sp_task_name *ret)
{
	struct sp_task_name t = {-1, -1, -1, -1, -1};
	int64_t stage, part;
	const char *p = name;

	if (!skip(&p, "auron-native-stage-") && !skip(&p, "blaze-native-stage-"))
		return false;
	if (!read_number(&p, INT32_MAX, &stage) || !skip(&p, "-part-") ||
		!read_number(&p, INT32_MAX, &part) || !skip(&p, "-tid-") ||
		!read_number(&p, INT64_MAX / 16, &t.task_id))
		return false;
	t.stage = (int32_t)stage;
	t.index = (int32_t)part;
	*ret = t;
	return true;
}

bool sp_task_name_idle(const char *name)
{
	return strncmp(name, "Executor task idle worker", 25) == 0;
}

bool sp_task_name_feeder(const char *name)
{
	static const char *const starts[] = {
		"stdout writer for ", "stdin writer for ", "stderr reader for "};
	size_t n = strlen(name);

	for (size_t i = 0; i < SP_COUNT(starts); i++)
		if (strncmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	/* Thread-<its class, which differs by version and with Hive>-Feed */
	return n > 5 && strstr(name, "ScriptTransformation") && strcmp(name + n - 5, "-Feed") == 0;
}

const char *sp_task_name_tag(const struct sp_task_name *t, char *buf, size_t size)
{
	if (t->stage < 0)
		snprintf(buf, size, "TID %lld", (long long)t->task_id);
	else if (t->index < 0)
		snprintf(buf, size, "stage %d.%d (TID %lld)", t->stage, t->stage_attempt,
			(long long)t->task_id);
	else
		snprintf(buf, size, "task %d.%d in stage %d.%d (TID %lld)", t->index, t->attempt,
			t->stage, t->stage_attempt, (long long)t->task_id);
	return buf;
}

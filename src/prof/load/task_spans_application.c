/* Whose a recording is: application, executors, host. See task_spans.h. */
#include "prof/load/task_spans_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"

/* Returns 1 where the executor is a new one, 0, or -ENOMEM. */
static int know_executor(struct sp_task_spans *s, const char *id)
{
	for (size_t i = 0; i < s->known_count; i++)
		if (strcmp(s->known[i], id) == 0)
			return 0;
	if (sp_grow_one(&s->known, s->known_count, sizeof(*s->known)) < 0)
		return -ENOMEM;
	s->known[s->known_count] = strdup(id);
	return s->known[s->known_count] ? (s->known_count++, 1) : -ENOMEM;
}

/* "driver and 2 executors"; NULL when out of memory. */
static char *say_executors(const struct sp_task_spans *s)
{
	size_t n = s->known_count;
	bool driver = false;
	char *text;

	for (size_t i = 0; i < s->known_count; i++)
		driver |= strcmp(s->known[i], "driver") == 0;
	n -= driver;
	return asprintf(&text, "%s%zu executor%s", driver ? "driver and " : "", n,
		       n == 1 ? "" : "s") < 0
		       ? NULL
		       : text;
}

/* A recording that others were merged into is of no single executor. */
static int keep_executor(struct sp_task_spans *s, const struct sp_jfr_event *e)
{
	SP_AUTO_FREE char *is = NULL;
	int r = sp_spans_keep(e, "executorId", &is);

	if (r < 0 || !is)
		return r;
	r = know_executor(s, is);
	if (r <= 0)
		return r;
	s->several = s->executor != NULL;
	free(s->executor);
	s->executor = s->several ? say_executors(s) : sp_steal_ptr(is);
	return s->executor ? 0 : -ENOMEM;
}

int sp_spans_application(struct sp_task_spans *s, const struct sp_jfr_event *e)
{
	int r = sp_spans_keep(e, "appId", &s->app_id);

	if (r == 0)
		r = sp_spans_keep(e, "appName", &s->app_name);
	if (r == 0)
		r = keep_executor(s, e);
	if (r == 0)
		r = sp_spans_keep(e, "host", &s->host);
	return r < 0 ? r : sp_spans_keep(e, "sparkVersion", &s->spark);
}

/* See driver_rest_parse.h. */
#include "driver_rest_parse.h"

#include "base/json_reader.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool sp_driver_rest_parse_base(
	const struct sp_spark_identity *id, const char *ui, unsigned n, char *buf, size_t size)
{
	bool v6 = strchr(id->driver_host, ':') && id->driver_host[0] != '[';
	int port = id->ui_port ? id->ui_port : 4040;

	if (strcmp(ui, "none") == 0)
		return false;
	if (ui[0]) {
		snprintf(buf, size, "%s", ui);
		while (buf[0] && buf[strlen(buf) - 1] == '/')
			buf[strlen(buf) - 1] = 0;
		return n == 0;
	}
	if (!id->driver_host[0] || id->no_ui || n >= SP_REST_PORTS || port + (int)n > 65535)
		return false;
	snprintf(buf, size, "http://%s%s%s:%d", v6 ? "[" : "", id->driver_host, v6 ? "]" : "",
		port + (int)n);
	return true;
}

void sp_driver_rest_parse_url(const char *base, const struct sp_spark_identity *id,
	const char *path, char *buf, size_t size)
{
	size_t at = (size_t)snprintf(buf, size, "%s/api/v1/applications/", base);

	for (const char *p = id->app_id; *p && at + 4 < size; p++)
		at += (size_t)snprintf(buf + at, size - at,
			isalnum((unsigned char)*p) || strchr("-_.~", *p) ? "%c" : "%%%02X",
			(unsigned char)*p);
	if (at < size)
		snprintf(buf + at, size - at, "%s", path);
}

static bool copy_text(struct sp_json_reader v, char *to, size_t size)
{
	char *s = sp_json_reader_text(v);

	if (s)
		snprintf(to, size, "%s", s);
	free(s);
	return s && to[0];
}

static struct sp_json_reader find_stage(
	const char *json, size_t len, const struct sp_stage_about *a)
{
	struct sp_json_reader list = sp_json_reader_value(json, json + len), s;
	size_t at = 0;

	while ((s = sp_json_reader_next(list, &at)).p)
		if (sp_json_reader_int(sp_json_reader_get(s, "stageId"), -1) == a->stage &&
			sp_json_reader_int(sp_json_reader_get(s, "attemptId"), -1) == a->attempt)
			break;
	return s;
}

bool sp_driver_rest_parse_stage(const char *json, size_t len, struct sp_stage_about *a)
{
	struct sp_json_reader s = find_stage(json, len, a);

	return s.p && copy_text(sp_json_reader_get(s, "name"), a->name, sizeof(a->name));
}

bool sp_driver_rest_parse_finished(const char *json, size_t len, struct sp_stage_about *a)
{
	int64_t n = sp_json_reader_int(
		sp_json_reader_get(find_stage(json, len, a), "numCompleteTasks"), 0);

	a->finished = n > 0 && n <= UINT32_MAX ? (uint32_t)n : 0;
	return a->finished > 0;
}

/* The first of a list of numbers, "[ 2803.0 ]"; 0: none. */
static double first_number(struct sp_json_reader list)
{
	size_t at = 0;
	struct sp_json_reader v = sp_json_reader_next(list, &at);
	char text[32] = "";

	if (v.p)
		snprintf(text, sizeof(text), "%.*s", (int)(v.end - v.p), v.p);
	return strtod(text, NULL);
}

bool sp_driver_rest_parse_median(const char *json, size_t len, struct sp_stage_about *a)
{
	struct sp_json_reader all = sp_json_reader_value(json, json + len);
	/* not "duration": tasks that still run are among those, with what they have run so far */
	double ms = first_number(sp_json_reader_get(all, "executorRunTime"));

	a->median_ms = ms > 0 && ms < 1e15 ? (uint64_t)ms : 0;
	return a->median_ms > 0;
}

/* "2026-11-18T07:12:01.123GMT" in milliseconds since 1970; 0: it is something else. */
static uint64_t time_of(struct sp_json_reader v)
{
	struct tm tm = {0};
	char text[40];
	int ms = 0;
	time_t s;

	if (!copy_text(v, text, sizeof(text)) ||
		sscanf(text, "%d-%d-%dT%d:%d:%d.%3d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
			&tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ms) < 6)
		return 0;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	s = timegm(&tm);
	return s > 0 && ms >= 0 ? (uint64_t)s * 1000 + (uint64_t)ms : 0;
}

bool sp_driver_rest_parse_launch(
	const char *json, size_t len, size_t *at, int64_t *ret_task, uint64_t *ret_launch_ms)
{
	struct sp_json_reader t = sp_json_reader_next(sp_json_reader_value(json, json + len), at);

	*ret_task = sp_json_reader_int(sp_json_reader_get(t, "taskId"), -1);
	*ret_launch_ms = time_of(sp_json_reader_get(t, "launchTime"));
	return t.p != NULL;
}

static bool has(struct sp_json_reader list, int64_t n)
{
	struct sp_json_reader v;
	size_t at = 0;

	while ((v = sp_json_reader_next(list, &at)).p)
		if (sp_json_reader_int(v, -1) == n)
			return true;
	return false;
}

/* The first job runs a stage, later ones find its output. */
bool sp_driver_rest_parse_job(const char *json, size_t len, struct sp_stage_about *a)
{
	struct sp_json_reader list = sp_json_reader_value(json, json + len), j;
	size_t at = 0;

	while ((j = sp_json_reader_next(list, &at)).p) {
		int64_t id = sp_json_reader_int(sp_json_reader_get(j, "jobId"), -1);

		if (id >= 0 && has(sp_json_reader_get(j, "stageIds"), a->stage) &&
			(a->job < 0 || id < a->job))
			a->job = id;
	}
	return a->job >= 0;
}

bool sp_driver_rest_parse_sql(const char *json, size_t len, struct sp_stage_about *a)
{
	return copy_text(sp_json_reader_get(sp_json_reader_value(json, json + len), "description"),
		a->sql_text, sizeof(a->sql_text));
}

/* See rest_text.h. */
#include "rest_text.h"

#include "in/jsontext.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool sp_rest_base(const struct sp_identity *id, const char *ui, unsigned n, char *buf, size_t size)
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

void sp_rest_url(
	const char *base, const struct sp_identity *id, const char *path, char *buf, size_t size)
{
	size_t at = (size_t)snprintf(buf, size, "%s/api/v1/applications/", base);

	for (const char *p = id->app_id; *p && at + 4 < size; p++)
		at += (size_t)snprintf(buf + at, size - at,
			isalnum((unsigned char)*p) || strchr("-_.~", *p) ? "%c" : "%%%02X",
			(unsigned char)*p);
	if (at < size)
		snprintf(buf + at, size - at, "%s", path);
}

static bool keep(struct sp_json v, char *to, size_t size)
{
	char *s = sp_json_text(v);

	if (s)
		snprintf(to, size, "%s", s);
	free(s);
	return s && to[0];
}

bool sp_rest_stage(const char *json, size_t len, struct sp_stage_about *a)
{
	struct sp_json list = sp_json_value(json, json + len), s;
	size_t at = 0;

	while ((s = sp_json_next(list, &at)).p)
		if (sp_json_int(sp_json_get(s, "stageId"), -1) == a->stage &&
			sp_json_int(sp_json_get(s, "attemptId"), -1) == a->attempt)
			return keep(sp_json_get(s, "name"), a->name, sizeof(a->name));
	return false;
}

static bool has(struct sp_json list, int64_t n)
{
	struct sp_json v;
	size_t at = 0;

	while ((v = sp_json_next(list, &at)).p)
		if (sp_json_int(v, -1) == n)
			return true;
	return false;
}

/* The first job runs a stage, later ones find its output. */
bool sp_rest_job(const char *json, size_t len, struct sp_stage_about *a)
{
	struct sp_json list = sp_json_value(json, json + len), j;
	size_t at = 0;

	while ((j = sp_json_next(list, &at)).p) {
		int64_t id = sp_json_int(sp_json_get(j, "jobId"), -1);

		if (id >= 0 && has(sp_json_get(j, "stageIds"), a->stage) &&
			(a->job < 0 || id < a->job))
			a->job = id;
	}
	return a->job >= 0;
}

bool sp_rest_sql(const char *json, size_t len, struct sp_stage_about *a)
{
	return keep(sp_json_get(sp_json_value(json, json + len), "description"), a->sql_text,
		sizeof(a->sql_text));
}

/* See eventlog.h. Of the many kinds of events a few are looked at; the others are known by the
 * start of their line and cost no more than that. */
#include "in/eventlog.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file_error.h"
#include "base/json_reader.h"
#include "in/decompress.h"
#include "in/line_reader.h"
#include "in/plan_shape.h"
#include "in/tmpfile.h"

#define SQL "org.apache.spark.sql.execution.ui."

struct reading {
	struct sp_stage_names *names;
	uint64_t events;
};

/* Keeps a text in *to, where there is one. */
static void copy_text(struct sp_json_reader v, char **to)
{
	char *s = sp_json_reader_text(v);

	if (!s)
		return;
	free(*to);
	*to = s;
}

static int read_stage(struct reading *r, struct sp_json_reader e)
{
	struct sp_json_reader info = sp_json_reader_get(e, "Stage Info");
	int64_t id = sp_json_reader_int(sp_json_reader_get(info, "Stage ID"), -1);
	int64_t attempt = sp_json_reader_int(sp_json_reader_get(info, "Stage Attempt ID"), 0);
	struct sp_stage_name *s;

	if (id < 0 || id > INT32_MAX || attempt < 0 || attempt > INT32_MAX)
		return 0;
	s = sp_stage_names_add(r->names, (int32_t)id, (int32_t)attempt);
	if (!s)
		return -ENOMEM;
	copy_text(sp_json_reader_get(info, "Stage Name"), &s->name);
	if (!s->operators)
		s->operators = sp_stage_operators(sp_json_reader_get(info, "RDD Info"));
	return 0;
}

static int read_job(struct reading *r, struct sp_json_reader e)
{
	struct sp_json_reader ids = sp_json_reader_get(e, "Stage IDs"),
			      props = sp_json_reader_get(e, "Properties"), id;
	int64_t job = sp_json_reader_int(sp_json_reader_get(e, "Job ID"), -1);
	int64_t sql = sp_json_reader_int(sp_json_reader_get(props, "spark.sql.execution.id"), -1);
	size_t at = 0;

	while ((id = sp_json_reader_next(ids, &at)).p) {
		int64_t stage = sp_json_reader_int(id, -1);
		struct sp_stage_name *s;

		if (stage < 0 || stage > INT32_MAX)
			continue;
		s = sp_stage_names_add(r->names, (int32_t)stage, -1);
		if (!s)
			return -ENOMEM;
		if (s->job >= 0)
			continue; /* the first job runs a stage, later ones find its output */
		s->job = job;
		s->sql = sql;
		copy_text(sp_json_reader_get(props, "spark.job.description"), &s->description);
		copy_text(sp_json_reader_get(props, "spark.jobGroup.id"), &s->group);
	}
	return 0;
}

static bool is_true(struct sp_json_reader v)
{
	return v.p && v.end - v.p >= 4 && memcmp(v.p, "true", 4) == 0;
}

/* Of a line that is long, only its first part: metrics and accumulables come later. */
static int read_task(struct reading *r, struct sp_json_reader e)
{
	static const char key[] = "\"Task Info\":";
	const char *at = memmem(e.p, (size_t)(e.end - e.p), key, sizeof(key) - 1);
	struct sp_json_reader info;
	struct sp_task_time t;

	if (!at)
		return 0;
	info = sp_json_reader_value(at + sizeof(key) - 1, e.end);
	t = (struct sp_task_time){
		.task_id = sp_json_reader_int(sp_json_reader_get(info, "Task ID"), -1),
		.launch_ms = sp_json_reader_int(sp_json_reader_get(info, "Launch Time"), 0),
		.finish_ms = sp_json_reader_int(sp_json_reader_get(info, "Finish Time"), 0),
		.stage = (int32_t)sp_json_reader_int(sp_json_reader_get(e, "Stage ID"), -1),
		.attempt =
			(int32_t)sp_json_reader_int(sp_json_reader_get(e, "Stage Attempt ID"), 0),
		.failed = is_true(sp_json_reader_get(info, "Failed")) ||
			  is_true(sp_json_reader_get(info, "Killed"))};
	if (t.task_id < 0 || t.stage < 0 || t.attempt < 0)
		return 0;
	return sp_stage_names_task(r->names, &t);
}

/* Generated code has its numbers in the plan that runs: with adaptive execution not the initial
 * one.
 */
static void read_pipelines(struct reading *r, struct sp_json_reader e)
{
	int64_t sql = sp_json_reader_int(sp_json_reader_get(e, "executionId"), -1);
	char *pipelines = sp_plan_pipelines(sp_json_reader_get(e, "sparkPlanInfo"));

	if (pipelines)
		sp_stage_names_pipelines(r->names, sql, pipelines);
}

static int read_sql(struct reading *r, struct sp_json_reader e)
{
	int64_t sql = sp_json_reader_int(sp_json_reader_get(e, "executionId"), -1);
	struct sp_json_reader plan = sp_json_reader_get(e, "sparkPlanInfo");
	char *shape = sql < 0 ? NULL : sp_plan_shape(plan);

	if (shape && sp_stage_names_plan(r->names, sql, shape) < 0)
		return -ENOMEM;
	read_pipelines(r, e);
	return 0;
}

static uint64_t ms_to_ns(struct sp_json_reader v)
{
	int64_t ms = sp_json_reader_int(v, 0);

	return ms > 0 && ms < INT64_MAX / 1000000 ? (uint64_t)ms * 1000000 : 0;
}

/* The start or the end of a SQL execution or a job, by the keys that those events have. */
static int read_query(
	struct reading *r, struct sp_json_reader e, bool job, const char *start, const char *end)
{
	int64_t id = sp_json_reader_int(sp_json_reader_get(e, job ? "Job ID" : "executionId"), -1);
	struct sp_json_reader props = sp_json_reader_get(e, "Properties");
	struct sp_stage_query *q = id < 0 ? NULL : sp_stage_names_query(r->names, job, id);

	if (!q)
		return id < 0 ? 0 : -ENOMEM;
	if (end) {
		q->end_ns = ms_to_ns(sp_json_reader_get(e, end));
		return 0;
	}
	q->start_ns = ms_to_ns(sp_json_reader_get(e, start));
	if (job)
		q->sql =
			sp_json_reader_int(sp_json_reader_get(props, "spark.sql.execution.id"), -1);
	else
		copy_text(sp_json_reader_get(e, "description"), &q->name);
	return 0;
}

static int read_event(struct reading *r, const char *line, size_t len)
{
	static const char start[] = "{\"Event\":\"";
	const char *kind = line + sizeof(start) - 1;
	struct sp_json_reader e = {line, line + len};

	if (len < sizeof(start) || memcmp(line, start, sizeof(start) - 1) != 0)
		return 0;
	r->events++;
#define IS(name) (strncmp(kind, name "\"", sizeof(name)) == 0)
	if (IS("SparkListenerStageSubmitted") || IS("SparkListenerStageCompleted"))
		return read_stage(r, e);
	if (IS("SparkListenerTaskStart") || IS("SparkListenerTaskEnd"))
		return read_task(r, e);
	if (IS("SparkListenerJobStart"))
		return read_query(r, e, true, "Submission Time", NULL) < 0 ? -ENOMEM
									   : read_job(r, e);
	if (IS("SparkListenerJobEnd"))
		return read_query(r, e, true, NULL, "Completion Time");
	if (IS(SQL "SparkListenerSQLExecutionStart"))
		return read_query(r, e, false, "time", NULL) < 0 ? -ENOMEM : read_sql(r, e);
	if (IS(SQL "SparkListenerSQLAdaptiveExecutionUpdate"))
		read_pipelines(r, e);
	if (IS(SQL "SparkListenerSQLExecutionEnd"))
		return read_query(r, e, false, NULL, "time");
	if (IS("SparkListenerApplicationStart")) {
		copy_text(sp_json_reader_get(e, "App ID"), &r->names->app_id);
		copy_text(sp_json_reader_get(e, "App Name"), &r->names->app_name);
	}
	if (IS("SparkListenerApplicationEnd"))
		r->names->ended = true;
#undef IS
	return 0;
}

static int read_lines(struct reading *r, int fd, struct sp_err *err)
{
	struct sp_line_reader l;
	size_t len;
	char *line;
	int n = 0;

	sp_line_reader_init(&l, fd);
	while (n == 0 && (line = sp_line_reader_next(&l, &len)))
		n = read_event(r, line, len);
	if (n == 0 && l.error)
		n = l.error;
	sp_line_reader_done(&l);
	return n < 0 ? sp_err_set(err, n, "cannot be read: %s", strerror(-n)) : 0;
}

static int read_file(struct reading *r, int dir, const char *name, struct sp_err *err)
{
	SP_AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	SP_AUTO_CLOSE int plain = -1;
	struct sp_err cut = {0};
	struct stat st;
	void *data;
	int n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return sp_err_set(err, -errno, "%s: %s", name, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return sp_err_set(err, -EINVAL, "%s: is not a file", name);
	if (st.st_size == 0)
		return 0;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return sp_err_set(err, -errno, "%s: %s", name, strerror(errno));
	plain = sp_tmpfile_open();
	n = plain < 0 ? plain : sp_decompress(data, (size_t)st.st_size, plain, &cut);
	munmap(data, (size_t)st.st_size);
	if (n == -EBADMSG) /* one in progress always is */
		r->names->cut = true;
	else if (n < 0)
		return sp_err_set(err, n, "%s: cannot be unpacked: %s", name,
			cut.text[0] ? cut.text : strerror(-n));
	if (lseek(plain, 0, SEEK_SET) < 0)
		return sp_err_set(err, -errno, "%s: %s", name, strerror(errno));
	n = read_lines(r, plain, err);
	return n < 0 ? sp_err_prefix(err, n, "%s", name) : 0;
}

/* "events_12_app-…": 12, and -1 for what is no part of a rolling log. */
static long part_number(const char *name)
{
	return strncmp(name, "events_", 7) == 0 ? strtol(name + 7, NULL, 10) : -1;
}

static int is_part(const struct dirent *d)
{
	return part_number(d->d_name) >= 0;
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
	long x = part_number((*a)->d_name), y = part_number((*b)->d_name);

	return x < y ? -1 : x > y;
}

static int read_rolling(struct reading *r, const char *path, struct sp_err *err)
{
	SP_AUTO_CLOSE int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **parts = NULL;
	int n, e = 0;

	if (dir < 0)
		return sp_err_set(err, -errno, "%s", strerror(errno));
	n = scandirat(dir, ".", &parts, is_part, by_number);
	if (n < 0)
		return sp_err_set(err, -errno, "%s", strerror(errno));
	for (int i = 0; i < n; i++) {
		if (e == 0)
			e = read_file(r, dir, parts[i]->d_name, err);
		free(parts[i]);
	}
	free(parts);
	if (n == 0)
		return sp_err_set(err, -EBADMSG,
			"is a directory without events_…; give the log itself, or its directory "
			"eventlog_v2_…");
	return e;
}

int sp_eventlog_read(const char *path, struct sp_stage_names *ret, struct sp_err *err)
{
	struct reading r = {.names = ret};
	struct stat st;
	int n;

	if (stat(path, &st) < 0) {
		n = sp_err_read(err, -errno, path);
		return sp_err_prefix(err, n, "--event-log");
	}
	n = S_ISDIR(st.st_mode) ? read_rolling(&r, path, err) : read_file(&r, AT_FDCWD, path, err);
	if (n < 0)
		return sp_err_prefix(err, n, "--event-log: %s", path);
	if (r.events == 0)
		return sp_err_set(err, -EBADMSG, "--event-log: %s: %s", path,
			ret->cut ? "is cut or damaged before the end of its first event; copy it "
				   "again"
				 : "is not an event log of Spark; name the application's file in "
				   "spark.eventLog.dir");
	if (sp_stage_names_settle(ret) < 0)
		return sp_err_set(err, -ENOMEM, "out of memory");
	return 0;
}

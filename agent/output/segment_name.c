/* Names of segments: see segments.h. */
#include "segments_internal.h"

#include "base/buf.h"
#include "base/name_template.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool sp_segments_is_remote(const char *file)
{
	size_t n =
		strspn(file, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");

	return n && strncmp(file + n, ":/", 2) == 0 && strncmp(file, "file:", 5) != 0;
}

/* Puts what makes it unique before the extension, or before @whole: x.jfr → x.2.jfr, x-4711.jfr. */
static void add_mark(char *path, size_t size, const char *whole, bool pid, uint64_t number)
{
	char *slash = strrchr(path, '/'), *dot = strrchr(path, '.'), end[64] = "";
	size_t n = strlen(path), len = strlen(whole);

	if (len && n > len && strcmp(path + n - len, whole) == 0)
		dot = path + n - len;

	if (dot && dot > (slash ? slash + 1 : path) && strlen(dot) < sizeof(end)) {
		snprintf(end, sizeof(end), "%s", dot);
		*dot = 0;
	}
	n = strlen(path);
	if (pid)
		n += (size_t)snprintf(path + n, size - n, "-%d", (int)getpid());
	if (number && n < size)
		n += (size_t)snprintf(path + n, size - n, ".%llu", (unsigned long long)number);
	if (n < size)
		snprintf(path + n, size - n, "%s", end);
}

static bool is_directory(const char *pattern, bool remote)
{
	size_t n = strlen(pattern);

	if (n && pattern[n - 1] == '/')
		return true;
	return remote && (n < 4 || strcmp(pattern + n - 4, ".jfr") != 0);
}

/* A directory gets what Spark's own profiler lays into one: <application>/profile-exec-<id>.jfr. */
static void add_layout(char *pattern, size_t size, const struct sp_spark_identity *id)
{
	bool driver = strcmp(id->executor_id, "driver") == 0;
	size_t n = strlen(pattern);

	while (n > 1 && pattern[n - 1] == '/')
		n--;
	snprintf(pattern + n, size - n, "/{{APP_ID}}/profile-%s{{EXECUTOR_ID}}.jfr",
		driver ? "" : "exec-");
}

static int expand(const struct sp_segments *p, const char *file, bool remote,
	const struct sp_spark_identity *id, const struct sp_segment *x, char *ret,
	struct sp_err *err)
{
	struct sp_name_template_vars vars = {.pid = (int)getpid(),
		.time = x->time,
		.round = x->round,
		.app_id = id->app_id[0] ? id->app_id : p->stand_in,
		.executor_id = id->executor_id[0] ? id->executor_id : p->stand_in};
	char pattern[sizeof(p->pattern) + 128];
	SP_AUTO_BUF struct sp_buf b;
	int r;

	sp_buf_init(&b);
	snprintf(pattern, sizeof(pattern), "%s", file);
	if (is_directory(file, remote))
		add_layout(pattern, sizeof(pattern), id);
	r = sp_name_template_expand(pattern, &vars, &b, err);
	if (r < 0)
		return sp_err_prefix(err, -EINVAL, "file");
	if (b.len + 64 >= SP_SEGMENTS_PATH)
		return sp_err_set(err, -ENAMETOOLONG, "file: the name is too long");
	snprintf(ret, SP_SEGMENTS_PATH, "%s", sp_buf_str(&b));
	return 0;
}

int sp_segments_name(const struct sp_segments *p, const struct sp_spark_identity *id,
	const struct sp_segment *x, char *ret, struct sp_err *err)
{
	int r = expand(p, p->pattern, false, id, x, ret, err);

	if (r == 0 && (p->numbered || x->marked || x->clash))
		add_mark(ret, SP_SEGMENTS_PATH, p->end, x->clash,
			p->numbered || x->marked ? x->round : 0);
	return r;
}

int sp_segments_remote(
	struct sp_segments *p, unsigned n, char *ret, size_t size, struct sp_err *err)
{
	const struct sp_segment *oldest;
	char path[SP_SEGMENTS_PATH];
	int r = -EAGAIN;

	pthread_mutex_lock(&p->lock);
	oldest = p->n_done ? &p->done[0] : &p->now;
	if (sp_spark_identity_whole(&p->id)) {
		struct sp_segment file = {.round = oldest->turn, .time = oldest->turn_time};

		r = expand(p, p->remote, true, &p->id, &file, path, err);
	}
	pthread_mutex_unlock(&p->lock);
	if (r < 0)
		return r;
	if (n)
		add_mark(path, sizeof(path), "", false, n);
	if (strlen(path) >= size)
		return sp_err_set(err, -ENAMETOOLONG, "file: the name is too long");
	snprintf(ret, size, "%s", path);
	return 0;
}

struct sp_turn sp_segments_turn(struct sp_segments *p)
{
	struct sp_turn t = {.named = sp_name_template_has_round(p->remote),
		.keep = sp_name_template_rounds(p->remote)};

	pthread_mutex_lock(&p->lock);
	t.number = p->n_done ? p->done[0].turn : p->now.turn;
	pthread_mutex_unlock(&p->lock);
	return t;
}

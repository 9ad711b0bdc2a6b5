/* Finding targets: see target.h. */
#include "target.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/name_template.h"
#include "base/units.h"
#include "cli/safe_print.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sp_targets_done(struct sp_targets *t)
{
	free(t->list);
	t->list = NULL;
	t->n = 0;
}

static int add_target(struct sp_targets *t, const struct sp_jvm *j)
{
	for (size_t i = 0; i < t->n; i++) {
		if (t->list[i].pid == j->pid)
			return 0;
	}
	if (sp_grow_one(&t->list, t->n, sizeof(*t->list)) < 0)
		return -ENOMEM;
	t->list[t->n++] = *j;
	return 0;
}

/* What one word asks for. */
struct question {
	enum { BY_DRIVER, BY_EXECUTOR, BY_APPLICATION, BY_CLASS } by;
	bool many;	/* several answers are welcome */
	char app[128];	/* "" any */
	const char *id; /* executor id; NULL any */
	const char *class_part;
};

static bool is_meant(const struct question *q, const struct sp_jvm *j)
{
	switch (q->by) {
	case BY_DRIVER:
		return j->role == SP_ROLE_DRIVER;
	case BY_EXECUTOR:
		return j->role == SP_ROLE_EXECUTOR &&
		       (!q->id || strcmp(j->executor_id, q->id) == 0);
	case BY_APPLICATION:
		return j->app_id[0] && strcmp(j->app_id, q->app) == 0 &&
		       (q->id ? strcmp(j->executor_id, q->id) == 0 : j->role != SP_ROLE_OTHER);
	case BY_CLASS:
		return strstr(j->main_class, q->class_part) != NULL;
	}
	return false;
}

static bool has_app(const struct sp_jvm *all, size_t n, const char *app)
{
	for (size_t i = 0; i < n; i++) {
		if (all[i].app_id[0] && strcmp(all[i].app_id, app) == 0)
			return true;
	}
	return false;
}

/* Words that have the look of an id are never searched for in class names. */
static bool looks_like_app(const char *word)
{
	return strncmp(word, "application_", 12) == 0 || strncmp(word, "app-", 4) == 0 ||
	       strncmp(word, "spark-application-", 18) == 0;
}

static void parse_question(const struct sp_jvm *all, size_t n, const char *word, struct question *q)
{
	const char *slash = strchr(word, '/');
	size_t app_len = strcspn(word, "/");

	memset(q, 0, sizeof(*q));
	if (app_len < sizeof(q->app))
		memcpy(q->app, word, app_len);
	if (strcmp(word, "driver") == 0) {
		q->by = BY_DRIVER;
	} else if (strcmp(word, "executor") == 0 || strcmp(word, "executors") == 0) {
		q->by = BY_EXECUTOR;
		q->many = word[8] == 's';
	} else if (strncmp(word, "executor:", 9) == 0) {
		q->by = BY_EXECUTOR;
		q->id = word + 9;
	} else if (has_app(all, n, q->app) || looks_like_app(q->app)) {
		q->by = BY_APPLICATION;
		q->id = slash ? slash + 1 : NULL;
	} else {
		q->by = BY_CLASS;
		q->class_part = word;
	}
}

/* "2 executors, 1 driver and 3 other JVMs" */
static void say_what_there_is(const struct sp_jvm *all, size_t n, char *ret, size_t len)
{
	size_t count[3] = {0};

	for (size_t i = 0; i < n; i++)
		count[all[i].role]++;
	if (!n)
		snprintf(ret, len, "no JVM that this user can see runs here");
	else
		snprintf(ret, len,
			"there are %zu executor%s, %zu driver%s and %zu other JVM%s here",
			count[SP_ROLE_EXECUTOR], count[SP_ROLE_EXECUTOR] == 1 ? "" : "s",
			count[SP_ROLE_DRIVER], count[SP_ROLE_DRIVER] == 1 ? "" : "s",
			count[SP_ROLE_OTHER], count[SP_ROLE_OTHER] == 1 ? "" : "s");
}

static int say_none(const struct sp_jvm *all, size_t n, const char *word, const struct question *q,
	struct sp_err *err)
{
	char what[160];
	bool driver = false, executor = false;

	for (size_t i = 0; i < n; i++) {
		driver = driver || all[i].role == SP_ROLE_DRIVER;
		executor = executor || all[i].role == SP_ROLE_EXECUTOR;
	}
	say_what_there_is(all, n, what, sizeof(what));
	if (q->by == BY_EXECUTOR && driver && !executor)
		return sp_err_set(err, -ESRCH,
			"%s: %s; in local mode tasks run in the driver: try 'driver', or look with "
			"'sparkprof ps'",
			word, what);
	return sp_err_set(err, -ESRCH, "%s: no such target; %s: look with 'sparkprof ps'%s", word,
		what, n ? "" : ", or with sudo");
}

static int say_many(const char *word, const struct sp_targets *t, struct sp_err *err)
{
	SP_AUTO_BUF struct sp_buf b = {0};

	for (size_t i = 0; i < t->n; i++) {
		const struct sp_jvm *j = &t->list[i];

		sp_buf_addf(&b, "%s%d (%s", i ? ", " : "", (int)j->pid, sp_jvm_role_name(j->role));
		if (j->role == SP_ROLE_EXECUTOR) {
			sp_buf_addc(&b, ' ');
			sp_safe_print_text(&b, j->executor_id, 20);
		}
		if (j->role == SP_ROLE_OTHER || j->app_id[0]) {
			sp_buf_addc(&b, ' ');
			sp_safe_print_text(&b, j->app_id[0] ? j->app_id : j->main_class, 60);
		}
		sp_buf_addc(&b, ')');
	}
	return sp_err_set(err, -EINVAL, "%s fits %zu processes, name one of them: %s", word, t->n,
		sp_buf_str(&b));
}

/* An application's id alone means its executors; its driver only where it has none here. */
static bool drop_driver(const struct sp_jvm *all, size_t n, const struct question *q)
{
	if (q->by != BY_APPLICATION || q->id)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (is_meant(q, &all[i]) && all[i].role == SP_ROLE_EXECUTOR)
			return true;
	}
	return false;
}

/* async-profiler's word for the JVM that was started last. */
static int add_youngest(const struct sp_jvm *all, size_t n, struct sp_targets *ret)
{
	const struct sp_jvm *j = NULL;

	for (size_t i = 0; i < n; i++)
		if (!j || all[i].start_ticks > j->start_ticks)
			j = &all[i];
	return j ? add_target(ret, j) : 0;
}

int sp_target_match(const struct sp_jvm *all, size_t n, const char *word, struct sp_targets *ret,
	struct sp_err *err)
{
	SP_AUTO_TARGETS struct sp_targets found = {0};
	struct question q;
	bool no_driver;
	int r = 0;

	if (!*word)
		return sp_err_set(err, -EINVAL, "an empty word names no target");
	parse_question(all, n, word, &q);
	no_driver = drop_driver(all, n, &q);
	if (strcmp(word, "jps") == 0)
		r = add_youngest(all, n, &found);
	for (size_t i = 0; i < n && r == 0 && strcmp(word, "jps") != 0; i++) {
		if (is_meant(&q, &all[i]) && !(no_driver && all[i].role == SP_ROLE_DRIVER))
			r = add_target(&found, &all[i]);
	}
	if (r == 0 && found.n == 0)
		return say_none(all, n, word, &q, err);
	for (size_t i = 0; i < found.n && r == 0; i++)
		r = add_target(ret, &found.list[i]);
	if (r < 0)
		return sp_err_set(err, r, "%s: out of memory", word);
	return found.n > 1 && !q.many ? say_many(word, &found, err) : 0;
}

static bool is_number(const char *word)
{
	return *word && strspn(word, "0123456789") == strlen(word);
}

static int add_pid(int procfd, const char *word, struct sp_targets *ret, struct sp_err *err)
{
	struct sp_jvm j;
	uint64_t pid;
	int r = sp_count_parse(word, &pid);

	if (r == 0)
		r = pid && pid <= INT_MAX ? sp_jvm_inspect(procfd, (pid_t)pid, &j) : -ESRCH;
	/* SIGQUIT to a thread goes to its process, which finds no attach file of its own number and
	 * prints a thread dump. */
	if (r == 0 && j.tgid && j.tgid != j.pid)
		return sp_err_set(
			err, -ESRCH, "%s: is a thread of pid %d: name that", word, (int)j.tgid);
	if (r == 0)
		r = add_target(ret, &j);
	if (r == -ESRCH || r == -ERANGE)
		return sp_err_set(err, -ESRCH,
			"%s: no such process that this user can see: look with 'sparkprof ps'",
			word);
	if (r < 0)
		return sp_err_set(err, r, "%s: %s", word, strerror(-r));
	return 0;
}

int sp_target_resolve(int procfd, const char *const *words, size_t n_words, struct sp_targets *ret,
	struct sp_err *err)
{
	SP_AUTO_FREE struct sp_jvm *all = NULL;
	struct sp_targets t = {0};
	bool listed = false;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < n_words && r == 0; i++) {
		if (is_number(words[i])) {
			r = add_pid(procfd, words[i], &t, err);
			continue;
		}
		r = listed ? 0 : sp_jvm_list(procfd, &all, &n);
		if (r < 0)
			r = sp_err_set(err, r, "cannot read /proc: %s", strerror(-r));
		else
			r = sp_target_match(all, n, words[i], &t, err);
		listed = true;
	}
	if (r < 0)
		sp_targets_done(&t);
	else
		*ret = t;
	return r;
}

int sp_target_check_outputs(
	const struct sp_targets *t, const char *const *paths, size_t n_paths, struct sp_err *err)
{
	for (size_t i = 0; i < n_paths && t->n > 1; i++) {
		if (!sp_name_template_differs(paths[i]))
			return sp_err_set(err, -EINVAL,
				"-f %s: %zu targets cannot share one output; write %%p or "
				"{{EXECUTOR_ID}} in its name",
				paths[i], t->n);
	}
	return 0;
}

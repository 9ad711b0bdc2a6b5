/* See driver_rest.h. */
#include "driver_rest.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "driver_rest_parse.h"
#include "host/own_thread.h"
#include "host/sched_slice.h"
#include "jvm_http.h"
#include "plan_graph.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ANSWER_MAX (4u << 20)
#define LOOK_NS	   200000000ull	  /* how often it looks for stages that are new */
#define AGAIN_NS   3000000000ull  /* a driver's UI may come up later, or be slow at first */
#define DOUBLED	   4		  /* how often that grows */
#define LAST_NS	   1000000000ull  /* for the stages that are left at the end */
#define PLANS	   32		  /* queries that run, of which more may be known later */
#define RUNNING	   8		  /* stages with tasks that run at the end */
#define ALL_NS	   10000000000ull /* between questions for all jobs: many of them are megabytes */

/* A query that had not ended when the driver was asked: with adaptive execution its plan grows. */
struct open_plan {
	int64_t sql;
	uint64_t next_ns; /* when it is asked for again */
	unsigned asked;
	uint64_t hash; /* of what the recording has */
};

struct sp_driver_rest {
	JavaVM *vm;
	struct sp_threads *threads;
	struct sp_task_table *tasks;
	struct sp_spark_identity_box *box;
	uint32_t version; /* of the box's that is in id */
	struct sp_spark_identity id;
	char ui[SP_REST_URL], base[SP_REST_URL]; /* base "": not found */
	unsigned searches;
	uint64_t searched_ns;
	struct sp_stage_about about;
	struct sp_buf text, running, jobs; /* running: the driver's jobs, as of this round */
	bool running_known, jobs_known;
	bool named; /* a name, ever */
	struct open_plan plans[PLANS];
	uint32_t plan_count;
	uint64_t jobs_next_ns; /* when all jobs may be asked for again */
	struct sp_own_thread *thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool stop; /* under the lock */
	uint64_t stop_ns;
};

static bool stopped(struct sp_driver_rest *r)
{
	bool stop;

	pthread_mutex_lock(&r->lock);
	stop = r->stop && sp_clock_mono_ns() - r->stop_ns > LAST_NS;
	pthread_mutex_unlock(&r->lock);
	return stop;
}

static bool wait_stop(struct sp_driver_rest *r)
{
	uint64_t end = sp_clock_mono_ns() + LOOK_NS;
	struct timespec at = {(time_t)(end / 1000000000), (long)(end % 1000000000)};
	bool stop;

	pthread_mutex_lock(&r->lock);
	if (!r->stop)
		pthread_cond_timedwait(&r->cond, &r->lock, &at);
	stop = r->stop;
	pthread_mutex_unlock(&r->lock);
	return stop;
}

static bool get_to(struct sp_driver_rest *r, JNIEnv *env, const char *path, struct sp_buf *to)
{
	char url[SP_REST_URL + 256];

	sp_driver_rest_parse_url(r->base, &r->id, path, url, sizeof(url));
	return !stopped(r) && sp_jvm_http_get(env, url, ANSWER_MAX, to);
}

static bool get(struct sp_driver_rest *r, JNIEnv *env, const char *path)
{
	return get_to(r, env, path, &r->text);
}

/* The UI that knows our application; others may listen at the ports as well. */
static bool search(struct sp_driver_rest *r, JNIEnv *env)
{
	uint64_t now = sp_clock_mono_ns();
	unsigned doubled = r->searches < DOUBLED ? r->searches : DOUBLED;

	if (r->base[0])
		return true;
	/* Of a JVM that is recorded from its start, the port is known only when Spark is there. */
	if (sp_spark_identity_take(r->box, &r->version, &r->id))
		r->searches = 0;
	if (r->searches && now - r->searched_ns < AGAIN_NS << doubled)
		return false;
	r->searches++;
	r->searched_ns = now;
	for (unsigned n = 0; sp_driver_rest_parse_base(&r->id, r->ui, n, r->base, sizeof(r->base));
		n++)
		if (get(r, env, ""))
			return true;
	r->base[0] = 0;
	return false;
}

/* The job that runs the stage that r->text describes. One that has ended is only among all jobs,
 * and then a running one may have the stage as well, to find its output. */
static void find_job(struct sp_driver_rest *r, JNIEnv *env)
{
	struct sp_stage_about *a = &r->about;
	uint64_t now = sp_clock_mono_ns();
	bool active = memmem(r->text.data, r->text.len, "\"ACTIVE\"", 8) != NULL;

	if (active && !r->running_known)
		r->running_known = get_to(r, env, "/jobs?status=running", &r->running);
	if (active && r->running_known &&
		sp_driver_rest_parse_job(r->running.data, r->running.len, a))
		return;
	r->running_known = false; /* older than the stage */
	if (r->jobs_known && sp_driver_rest_parse_job(r->jobs.data, r->jobs.len, a))
		return;
	if (now < r->jobs_next_ns)
		return;
	r->jobs_known = get_to(r, env, "/jobs", &r->jobs);
	/* What is too long, or slow, is not asked for at every stage. */
	r->jobs_next_ns = now + (r->jobs_known ? ALL_NS : 6 * ALL_NS);
	if (r->jobs_known)
		sp_driver_rest_parse_job(r->jobs.data, r->jobs.len, a);
}

/* The executor does not know when tasks were launched that ran before the recording. The longest
 * come first: of thousands that run elsewhere, those that matter are among them. */
static void ask_launches(struct sp_driver_rest *r, JNIEnv *env, const struct sp_stage_about *a)
{
	char path[128];
	size_t at = 0;
	int64_t task;
	uint64_t launch_ms;

	if (!sp_task_table_wants_launch(r->tasks, a->stage, a->attempt))
		return;
	snprintf(path, sizeof(path),
		"/stages/%d/%d/taskList?status=running&sortBy=-runtime&offset=0&length=500",
		a->stage, a->attempt);
	if (!get(r, env, path))
		return;
	while (sp_driver_rest_parse_launch(r->text.data, r->text.len, &at, &task, &launch_ms))
		if (task >= 0 && launch_ms)
			sp_task_table_launched(r->tasks, task, launch_ms);
}

/* At the end: tasks that still run are measured by those of their stage that have finished, which
 * may have been elsewhere, or before. */
static void ask_running(struct sp_driver_rest *r, JNIEnv *env)
{
	struct sp_stage_about *list = calloc(RUNNING, sizeof(*list));
	uint32_t n = list ? sp_task_table_running(r->tasks, list, RUNNING) : 0;
	char path[128];

	for (uint32_t i = 0; i < n && !stopped(r); i++) {
		struct sp_stage_about *a = &list[i];

		ask_launches(r, env, a);
		snprintf(path, sizeof(path), "/stages/%d?details=false", a->stage);
		if (!get(r, env, path) ||
			!sp_driver_rest_parse_finished(r->text.data, r->text.len, a))
			continue;
		snprintf(path, sizeof(path), "/stages/%d/%d/taskSummary?quantiles=0.5", a->stage,
			a->attempt);
		if (get(r, env, path) && sp_driver_rest_parse_median(r->text.data, r->text.len, a))
			sp_task_table_named(r->tasks, a);
	}
	free(list);
}

static struct open_plan *find_plan(struct sp_driver_rest *r, int64_t sql)
{
	for (uint32_t i = 0; i < r->plan_count; i++)
		if (r->plans[i].sql == sql)
			return &r->plans[i];
	return NULL;
}

/* One that is new; the one that has not been asked for longest gives way. */
static struct open_plan *add_plan(struct sp_driver_rest *r, int64_t sql)
{
	struct open_plan *x = &r->plans[0];

	if (r->plan_count < PLANS)
		r->plan_count++;
	else
		memmove(x, x + 1, (PLANS - 1) * sizeof(*x));
	x = &r->plans[r->plan_count - 1];
	*x = (struct open_plan){.sql = sql};
	return x;
}

/* Its generated code, as far as it is planned. r->text: the answer about the query. */
static void keep_plan(struct sp_driver_rest *r, int64_t sql)
{
	struct open_plan *x = find_plan(r, sql);
	bool running;
	char *text = sp_plan_graph_pipelines(r->text.data, r->text.len, &running);
	uint64_t hash = text ? sp_hash_bytes(text, strlen(text)) : 0;

	if (text && !(x && x->hash == hash))
		sp_task_table_planned(r->tasks, sql, text);
	else
		free(text);
	if (!running && x) {
		*x = r->plans[--r->plan_count];
	} else if (running) {
		x = x ? x : add_plan(r, sql);
		x->next_ns = sp_clock_mono_ns() +
			     (AGAIN_NS << (x->asked < DOUBLED ? x->asked : DOUBLED));
		x->asked++;
		x->hash = hash;
	}
}

static bool get_sql(struct sp_driver_rest *r, JNIEnv *env, int64_t sql, bool details)
{
	char path[128];

	snprintf(path, sizeof(path), "/sql/%lld?details=%s&planDescription=false", (long long)sql,
		details ? "true" : "false");
	return get(r, env, path);
}

/* Of queries that had not ended; @all at the end. */
static void ask_plans(struct sp_driver_rest *r, JNIEnv *env, bool all)
{
	uint64_t now = sp_clock_mono_ns();
	int64_t list[PLANS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->plan_count; i++)
		if (all || r->plans[i].next_ns <= now)
			list[n++] = r->plans[i].sql;
	while (n-- > 0 && !stopped(r))
		if (get_sql(r, env, list[n], true))
			keep_plan(r, list[n]);
}

/* Returns whether the driver knew the stage: it may be slow, and hears of a stage from a queue.
 */
static bool ask(struct sp_driver_rest *r, JNIEnv *env)
{
	struct sp_stage_about *a = &r->about;
	char path[128];

	snprintf(path, sizeof(path), "/stages/%d?details=false", a->stage);
	if (!get(r, env, path) || !sp_driver_rest_parse_stage(r->text.data, r->text.len, a))
		return false;
	find_job(r, env);
	if (a->sql >= 0 && (get_sql(r, env, a->sql, true) || get_sql(r, env, a->sql, false))) {
		sp_driver_rest_parse_sql(r->text.data, r->text.len, a);
		keep_plan(r, a->sql);
	}
	sp_task_table_named(r->tasks, a);
	ask_launches(r, env, a);
	r->named = true;
	return true;
}

static void ask_all(struct sp_driver_rest *r, JNIEnv *env)
{
	r->running_known = false;
	while (!stopped(r) && sp_task_table_wants_name(r->tasks) && search(r, env) &&
		sp_task_table_next_wanted(r->tasks, &r->about))
		if (!ask(r, env)) {
			sp_task_table_want_again(r->tasks, &r->about);
			return;
		}
}

static void *run(void *arg)
{
	JavaVMAttachArgs attach = {JNI_VERSION_1_6, "sparkprof-names", NULL};
	struct sp_driver_rest *r = arg;
	JNIEnv *env;

	sp_threads_exclude_self(r->threads);
	sp_sched_slice_short();
	if ((*r->vm)->AttachCurrentThreadAsDaemon(r->vm, (void **)&env, &attach) != JNI_OK)
		return NULL;
	do {
		ask_all(r, env);
		if (r->base[0])
			ask_plans(r, env, false);
	} while (!wait_stop(r));
	if (r->base[0]) {
		ask_all(r, env);
		ask_running(r, env);
		ask_plans(r, env, true);
	}
	(*r->vm)->DetachCurrentThread(r->vm);
	return NULL;
}

static void init_lock(struct sp_driver_rest *r)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&r->cond, &attr);
	pthread_condattr_destroy(&attr);
}

static void dispose(struct sp_driver_rest *r)
{
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->cond);
	sp_buf_done(&r->text);
	sp_buf_done(&r->running);
	sp_buf_done(&r->jobs);
	free(r);
}

int sp_driver_rest_start(struct sp_driver_rest **ret, JavaVM *vm, struct sp_threads *threads,
	struct sp_task_table *tasks, struct sp_spark_identity_box *box, const char *ui)
{
	struct sp_spark_identity id;
	uint32_t version = 0;
	struct sp_driver_rest *r;
	int e;

	*ret = NULL;
	if (!sp_spark_identity_take(box, &version, &id) || !id.app_id[0])
		return 0;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->vm = vm;
	r->threads = threads;
	r->tasks = tasks;
	r->box = box;
	r->version = version;
	r->id = id;
	snprintf(r->ui, sizeof(r->ui), "%s", ui);
	sp_buf_init(&r->text);
	sp_buf_init(&r->running);
	sp_buf_init(&r->jobs);
	init_lock(r);
	if (!sp_driver_rest_parse_base(&id, r->ui, 0, r->base, sizeof(r->base))) {
		dispose(r);
		return 0;
	}
	r->base[0] = 0;
	e = sp_own_thread_start(&r->thread, "sparkprof-names", SP_STACK_JAVA, run, r);
	if (e < 0) {
		dispose(r);
		return e;
	}
	*ret = r;
	return 0;
}

bool sp_driver_rest_stop(struct sp_driver_rest *r)
{
	bool in_vain;

	if (!r)
		return false;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	r->stop_ns = sp_clock_mono_ns();
	pthread_cond_broadcast(&r->cond);
	pthread_mutex_unlock(&r->lock);
	sp_own_thread_join(r->thread);
	in_vain = r->searches && !r->named;
	dispose(r);
	return in_vain;
}

/* See rest.h. */
#include "rest.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/signals.h"
#include "rest_http.h"
#include "rest_text.h"
#include "slice.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
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
#define ALL_NS	   10000000000ull /* between questions for all jobs: many of them are megabytes */

struct sp_rest {
	JavaVM *vm;
	struct sp_threads *threads;
	struct sp_tasks *tasks;
	struct sp_identity_box *box;
	uint32_t version; /* of the box's that is in id */
	struct sp_identity id;
	char ui[SP_REST_URL], base[SP_REST_URL]; /* base "": not found */
	unsigned searches;
	uint64_t searched_ns;
	struct sp_stage_about about;
	struct sp_buf text, running, jobs; /* running: the driver's jobs, as of this round */
	bool running_known, jobs_known;
	bool told;	       /* a name, ever */
	uint64_t jobs_next_ns; /* when all jobs may be asked for again */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool stop; /* under the lock */
	uint64_t stop_ns;
};

static bool stopped(struct sp_rest *r)
{
	bool stop;

	pthread_mutex_lock(&r->lock);
	stop = r->stop && sp_clock_mono_ns() - r->stop_ns > LAST_NS;
	pthread_mutex_unlock(&r->lock);
	return stop;
}

static bool wait_stop(struct sp_rest *r)
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

static bool get_to(struct sp_rest *r, JNIEnv *env, const char *path, struct sp_buf *to)
{
	char url[SP_REST_URL + 256];

	sp_rest_url(r->base, &r->id, path, url, sizeof(url));
	return !stopped(r) && sp_rest_get(env, url, ANSWER_MAX, to);
}

static bool get(struct sp_rest *r, JNIEnv *env, const char *path)
{
	return get_to(r, env, path, &r->text);
}

/* The UI that knows our application; others may listen at the ports as well. */
static bool search(struct sp_rest *r, JNIEnv *env)
{
	uint64_t now = sp_clock_mono_ns();
	unsigned doubled = r->searches < DOUBLED ? r->searches : DOUBLED;

	if (r->base[0])
		return true;
	/* Of a JVM that is recorded from its start, the port is known only when Spark is there. */
	if (sp_identity_take(r->box, &r->version, &r->id))
		r->searches = 0;
	if (r->searches && now - r->searched_ns < AGAIN_NS << doubled)
		return false;
	r->searches++;
	r->searched_ns = now;
	for (unsigned n = 0; sp_rest_base(&r->id, r->ui, n, r->base, sizeof(r->base)); n++)
		if (get(r, env, ""))
			return true;
	r->base[0] = 0;
	return false;
}

/* The job that runs the stage that r->text tells of. One that has ended is only among all jobs, and
 * then a running one may have the stage as well, to find its output. */
static void find_job(struct sp_rest *r, JNIEnv *env)
{
	struct sp_stage_about *a = &r->about;
	uint64_t now = sp_clock_mono_ns();
	bool active = memmem(r->text.data, r->text.len, "\"ACTIVE\"", 8) != NULL;

	if (active && !r->running_known)
		r->running_known = get_to(r, env, "/jobs?status=running", &r->running);
	if (active && r->running_known && sp_rest_job(r->running.data, r->running.len, a))
		return;
	r->running_known = false; /* older than the stage */
	if (r->jobs_known && sp_rest_job(r->jobs.data, r->jobs.len, a))
		return;
	if (now < r->jobs_next_ns)
		return;
	r->jobs_known = get_to(r, env, "/jobs", &r->jobs);
	/* What is too long, or slow, is not asked for at every stage. */
	r->jobs_next_ns = now + (r->jobs_known ? ALL_NS : 6 * ALL_NS);
	if (r->jobs_known)
		sp_rest_job(r->jobs.data, r->jobs.len, a);
}

/* Returns whether the driver told of the stage: it may be slow, and hears of a stage from a queue.
 */
static bool ask(struct sp_rest *r, JNIEnv *env)
{
	struct sp_stage_about *a = &r->about;
	char path[128];

	snprintf(path, sizeof(path), "/stages/%d?details=false", a->stage);
	if (!get(r, env, path) || !sp_rest_stage(r->text.data, r->text.len, a))
		return false;
	find_job(r, env);
	snprintf(path, sizeof(path), "/sql/%lld?details=false&planDescription=false",
		(long long)a->sql);
	if (a->sql >= 0 && get(r, env, path))
		sp_rest_sql(r->text.data, r->text.len, a);
	sp_tasks_named(r->tasks, a);
	r->told = true;
	return true;
}

static void ask_all(struct sp_rest *r, JNIEnv *env)
{
	r->running_known = false;
	while (!stopped(r) && sp_tasks_wants_name(r->tasks) && search(r, env) &&
		sp_tasks_next_wanted(r->tasks, &r->about))
		if (!ask(r, env)) {
			sp_tasks_want_again(r->tasks, &r->about);
			return;
		}
}

static void *run(void *arg)
{
	JavaVMAttachArgs attach = {JNI_VERSION_1_6, "sparkprof-names", NULL};
	struct sp_rest *r = arg;
	JNIEnv *env;

	sp_threads_exclude_self(r->threads);
	sp_slice_short();
	if ((*r->vm)->AttachCurrentThreadAsDaemon(r->vm, (void **)&env, &attach) != JNI_OK)
		return NULL;
	do
		ask_all(r, env);
	while (!wait_stop(r));
	if (r->base[0])
		ask_all(r, env);
	(*r->vm)->DetachCurrentThread(r->vm);
	return NULL;
}

static void init_lock(struct sp_rest *r)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&r->cond, &attr);
	pthread_condattr_destroy(&attr);
}

static void dispose(struct sp_rest *r)
{
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->cond);
	sp_buf_done(&r->text);
	sp_buf_done(&r->running);
	sp_buf_done(&r->jobs);
	free(r);
}

int sp_rest_start(struct sp_rest **ret, JavaVM *vm, struct sp_threads *threads,
	struct sp_tasks *tasks, struct sp_identity_box *box, const char *ui)
{
	struct sp_identity id;
	uint32_t version = 0;
	struct sp_rest *r;
	sigset_t all, old;
	int e;

	*ret = NULL;
	if (!sp_identity_take(box, &version, &id) || !id.app_id[0])
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
	if (!sp_rest_base(&id, r->ui, 0, r->base, sizeof(r->base))) {
		dispose(r);
		return 0;
	}
	r->base[0] = 0;
	sp_signals_from_elsewhere(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	e = -pthread_create(&r->thread, NULL, run, r);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (e < 0) {
		dispose(r);
		return e;
	}
	pthread_setname_np(r->thread, "sparkprof-names");
	*ret = r;
	return 0;
}

bool sp_rest_stop(struct sp_rest *r)
{
	bool in_vain;

	if (!r)
		return false;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	r->stop_ns = sp_clock_mono_ns();
	pthread_cond_broadcast(&r->cond);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	in_vain = r->searches && !r->told;
	dispose(r);
	return in_vain;
}

/* See sparkside.h. Threads are remembered by weak references, made by the threads themselves and
 * deleted by the jvmside thread alone, so that it may use them without the lock. */
#include "sparkside.h"

#include "base/clock.h"
#include "runners.h"
#include "taskcontext.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define POLL_NS	   5000000ull /* how late the end of a task may be seen */
#define CONTEXT_NS 2000000ull /* Spark sets the context a moment after the name */
#define TRIES	   100	      /* for the context of one task */

struct worker {
	uint32_t tid;
	jweak thread;
	int64_t task_id;  /* the one that the rest is about */
	uint64_t seen_ns; /* when it was last seen at work */
	uint32_t tries;
};

static struct {
	pthread_mutex_t lock;
	struct sp_tasks *tasks;
	struct worker workers[SP_TASKS_OPEN];
	uint32_t worker_count;
	jweak dead[SP_TASKS_OPEN]; /* to be deleted */
	uint32_t dead_count;
	_Atomic bool exact;   /* idle workers have a name of their own */
	_Atomic bool polling; /* the next tick comes soon by itself */
	struct sp_task open[SP_TASKS_OPEN];
	struct sp_stage_about about;
} ss = {.lock = PTHREAD_MUTEX_INITIALIZER};

void sp_sparkside_start(struct sp_tasks *tasks)
{
	ss.tasks = tasks;
	ss.worker_count = ss.dead_count = 0;
	atomic_store(&ss.exact, false);
	atomic_store(&ss.polling, false);
}

static struct worker *find(uint32_t tid)
{
	for (uint32_t i = 0; i < ss.worker_count; i++)
		if (ss.workers[i].tid == tid)
			return &ss.workers[i];
	return NULL;
}

static void bury(struct worker *w)
{
	ss.dead[ss.dead_count++] = w->thread;
	*w = ss.workers[--ss.worker_count];
}

/* Each reference of a worker has a place among the dead as well. */
static bool has_room(void)
{
	return ss.worker_count + ss.dead_count < SP_TASKS_OPEN;
}

/* Remembers a thread the first time it has a task. */
static void remember(JNIEnv *env, jobject thread, uint32_t tid)
{
	jweak ref;
	bool known;

	pthread_mutex_lock(&ss.lock);
	known = find(tid) || !has_room();
	pthread_mutex_unlock(&ss.lock);
	if (known)
		return;
	ref = (*env)->NewWeakGlobalRef(env, thread);
	if (!ref)
		return;
	pthread_mutex_lock(&ss.lock);
	/* Another thread may have named it meanwhile, or our own first look. */
	known = find(tid) || !has_room();
	if (!known)
		ss.workers[ss.worker_count++] = (struct worker){.tid = tid, .thread = ref};
	pthread_mutex_unlock(&ss.lock);
	if (known)
		(*env)->DeleteWeakGlobalRef(env, ref);
}

bool sp_sparkside_named(
	JNIEnv *env, jobject thread, uint32_t tid, const char *name, uint64_t now_ns, bool begun)
{
	struct sp_task task = {.tid = tid, .start_ns = now_ns, .begun = begun};

	if (sp_taskname_engine(name, &task.name)) {
		task.feeder = true;
	} else if (!sp_taskname_parse(name, &task.name)) {
		task.feeder = sp_taskname_feeder(name);
		if (sp_taskname_idle(name))
			atomic_store_explicit(&ss.exact, true, memory_order_relaxed);
		if (!task.feeder) {
			sp_tasks_end(ss.tasks, tid, -2, now_ns);
			return false;
		}
		task.name = (struct sp_taskname){-1, -1, -1, -1, -1};
	}
	remember(env, thread, tid);
	sp_tasks_begin(ss.tasks, &task);
	return !atomic_load_explicit(&ss.polling, memory_order_relaxed);
}

void sp_sparkside_found(
	JNIEnv *env, jobject thread, uint32_t tid, const char *name, uint64_t now_ns, bool first)
{
	struct sp_taskname n;
	struct worker *w;
	bool old;

	if (sp_taskname_parse(name, &n)) {
		pthread_mutex_lock(&ss.lock);
		w = find(tid);
		old = w && w->task_id == n.task_id && w->seen_ns;
		pthread_mutex_unlock(&ss.lock);
		if (old || sp_tasks_is_open(ss.tasks, tid, n.task_id))
			return;
	}
	sp_sparkside_named(env, thread, tid, name, now_ns, false);
}

void sp_sparkside_ended(uint32_t tid, uint64_t now_ns)
{
	struct worker *w;

	sp_tasks_end(ss.tasks, tid, -2, now_ns);
	/* One that still has to come out is looked at once more. */
	if (sp_tasks_is_open(ss.tasks, tid, -1))
		return;
	pthread_mutex_lock(&ss.lock);
	w = find(tid);
	if (w)
		bury(w);
	pthread_mutex_unlock(&ss.lock);
}

static void delete_dead(JNIEnv *env)
{
	jweak list[64];
	uint32_t n;

	do {
		pthread_mutex_lock(&ss.lock);
		for (n = 0; n < 64 && ss.dead_count; n++)
			list[n] = ss.dead[--ss.dead_count];
		pthread_mutex_unlock(&ss.lock);
		for (uint32_t i = 0; i < n; i++)
			(*env)->DeleteWeakGlobalRef(env, list[i]);
	} while (n == 64);
}

/* A copy of what is known of the thread; its count of tries begins anew with each task. */
static bool get_worker(const struct sp_task *t, struct worker *ret)
{
	struct worker *w;

	pthread_mutex_lock(&ss.lock);
	w = find(t->tid);
	if (w && w->task_id != t->name.task_id) {
		w->task_id = t->name.task_id;
		w->seen_ns = 0;
		w->tries = 0;
	}
	if (w)
		*ret = *w;
	pthread_mutex_unlock(&ss.lock);
	return w != NULL;
}

static void set_worker(const struct worker *from)
{
	struct worker *w;

	pthread_mutex_lock(&ss.lock);
	w = find(from->tid);
	if (w && w->task_id == from->task_id && w->thread == from->thread)
		*w = *from;
	pthread_mutex_unlock(&ss.lock);
}

/* Asks for the context where something is still to be learnt from it. Returns whether to ask again.
 */
static bool learn(
	JNIEnv *env, jvmtiEnv *ti, const struct sp_task *t, struct worker *w, jobject thread)
{
	struct sp_taskname name;
	bool whole = t->name.stage >= 0;

	if (whole && sp_tasks_stage_known(ss.tasks, t->name.stage, t->name.stage_attempt))
		return false;
	if (w->tries >= TRIES)
		return false;
	w->tries++;
	if (!sp_taskcontext_read(env, ti, thread, &name, &ss.about))
		return true;
	/* The context of the task before, not yet taken away. */
	if (t->name.task_id >= 0 && name.task_id != t->name.task_id)
		return true;
	if (!whole)
		sp_tasks_learn(ss.tasks, t->tid, t->name.task_id, &name);
	sp_tasks_stage(ss.tasks, &ss.about);
	return false;
}

/* The executor tells, some time before the thread takes another name (Spark 4.2 on) or leaves the
 * pool's job (before). The end is put late rather than early: what is left of the thread's time
 * until then is idle, what came before is the task's. */
static bool is_over(JNIEnv *env, const struct sp_task *t, struct worker *w, jobject thread)
{
	int finished = sp_runners_finished(env, t->name.task_id);
	uint64_t now = sp_clock_mono_ns();
	bool exact = atomic_load(&ss.exact);

	if (finished == 0 || (finished < 0 && (exact || sp_taskcontext_busy(env, thread) != 0))) {
		w->seen_ns = now;
		return false;
	}
	if (!t->begun && !w->seen_ns && finished != 1)
		sp_tasks_forget(ss.tasks, t->tid, t->name.task_id);
	else
		sp_tasks_end(ss.tasks, t->tid, t->name.task_id, now);
	return true;
}

/* A thread that works for a task: its object tells whose, or what hangs on it. Returns whether to
 * ask again. */
static bool resolve(
	JNIEnv *env, jvmtiEnv *ti, const struct sp_task *t, struct worker *w, jobject thread)
{
	struct sp_taskname name;
	bool found = sp_taskcontext_held(env, ti, thread, &name, &ss.about) ||
		     (!t->over && sp_taskcontext_read(env, ti, thread, &name, &ss.about));

	if (found)
		sp_tasks_stage(ss.tasks, &ss.about);
	if (!found && !t->over && ++w->tries < TRIES)
		return true;
	sp_tasks_resolve(ss.tasks, t->tid, found ? &name : NULL);
	/* Its thread has ended, now or meanwhile. */
	if (!sp_tasks_is_open(ss.tasks, t->tid, found ? name.task_id : -1))
		sp_sparkside_ended(t->tid, t->end_ns);
	return false;
}

/* A thread that ended before it came out whose it was, and that cannot be asked any more: its
 * object is collected, or it found no place here. It must not hold the place of a task for ever. */
static uint64_t give_up(const struct sp_task *t)
{
	if (t->over) {
		sp_tasks_resolve(ss.tasks, t->tid, NULL);
		sp_sparkside_ended(t->tid, t->end_ns);
	}
	return 0;
}

/* Returns when it wants to be looked at again, 0: it need not. */
static uint64_t look(JNIEnv *env, jvmtiEnv *ti, const struct sp_task *t)
{
	bool watch = !t->feeder, again;
	struct worker w;
	jobject thread;

	if (!get_worker(t, &w))
		return give_up(t);
	thread = (*env)->NewLocalRef(env, w.thread);
	if (!thread)
		return give_up(t);
	if (watch && is_over(env, t, &w, thread)) {
		(*env)->DeleteLocalRef(env, thread);
		return 0;
	}
	again = t->feeder && t->name.task_id < 0 ? resolve(env, ti, t, &w, thread)
						 : learn(env, ti, t, &w, thread);
	(*env)->DeleteLocalRef(env, thread);
	set_worker(&w);
	if (again)
		return w.tries < 25 ? CONTEXT_NS : 10 * CONTEXT_NS;
	return watch ? POLL_NS : 0;
}

uint64_t sp_sparkside_tick(JNIEnv *env, jvmtiEnv *ti)
{
	uint64_t wait = 0;
	uint32_t n;

	delete_dead(env);
	/* Said before the look: a task that begins behind it asks for another. */
	atomic_store(&ss.polling, false);
	n = sp_tasks_open(ss.tasks, ss.open, SP_TASKS_OPEN);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t want = look(env, ti, &ss.open[i]);

		if (want && (!wait || want < wait))
			wait = want;
	}
	if (wait)
		atomic_store(&ss.polling, true);
	return wait;
}

void sp_sparkside_stop(JNIEnv *env)
{
	while (ss.worker_count)
		bury(&ss.workers[0]);
	delete_dead(env);
	sp_taskcontext_done(env);
	sp_runners_done(env);
}

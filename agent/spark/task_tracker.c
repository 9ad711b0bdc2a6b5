/* See task_tracker.h. Threads are remembered by weak references, made by the threads themselves and
 * deleted by the jvmside thread alone, so that it may use them without the lock. */
#include "task_tracker.h"

#include "base/clock.h"
#include "task_context.h"
#include "task_measures.h"
#include "task_runner_poll.h"
#include "threads/kernel_state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* How late the end of a task may be seen where nothing reports it: a part of its age, within
 * bounds. Where the executor says how long it took, the end is put there, and may be seen later.
 */
#define POLL_PART	 32
#define POLL_MIN_NS	 5000000ull
#define POLL_MAX_NS	 50000000ull
#define POLL_REPORTED_NS 40000000ull
#define SENT_NS		 5000000ull /* for a result to be sent: Spark's measure ends before */

#define CONTEXT_NS 2000000ull /* Spark sets the context a moment after the name */
#define TRIES	   40	      /* for the context of one task: for four seconds */

#define WAKES 400 /* begins and ends a second for which the executor is asked at once */

struct worker {
	uint32_t tid;
	jweak thread;
	int64_t task_id;  /* the one that the rest is about */
	uint64_t seen_ns; /* when it was last seen at work */
	uint64_t used_ns; /* what it had run and waited for a CPU by then */
	uint32_t tries;	  /* for the context */
	uint64_t try_ns;  /* not before */
	bool reports_end; /* the executor says when it ends */
};

static struct {
	pthread_mutex_t lock;
	struct sp_task_table *tasks;
	struct worker workers[SP_TASK_TABLE_OPEN];
	uint32_t worker_count;
	jweak dead[SP_TASK_TABLE_OPEN]; /* to be deleted */
	uint32_t dead_count;
	_Atomic bool exact;	  /* idle workers have a name of their own */
	_Atomic bool heard;	  /* and take it before our eyes: nobody need ask for ends */
	_Atomic bool reports_end; /* the executor reports ends */
	_Atomic bool asked;	  /* the executor has answered for a task */
	_Atomic uint64_t second;  /* of the clock, and how often we were woken in it */
	_Atomic uint32_t wakes;
	_Atomic uint64_t next_ns; /* when the next tick comes by itself */
	struct sp_task open[SP_TASK_TABLE_OPEN];
	struct sp_stage_about about;
} ss = {.lock = PTHREAD_MUTEX_INITIALIZER};

void sp_task_tracker_start(struct sp_task_table *tasks)
{
	ss.tasks = tasks;
	ss.worker_count = ss.dead_count = 0;
	atomic_store(&ss.exact, false);
	atomic_store(&ss.heard, false);
	atomic_store(&ss.reports_end, false);
	atomic_store(&ss.asked, false);
	sp_task_measures_clear();
	atomic_store(&ss.next_ns, UINT64_MAX);
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
	return ss.worker_count + ss.dead_count < SP_TASK_TABLE_OPEN;
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

/* Whether to look at once, while the executor still has the task: what it measured of it is read by
 * that. Of many short ones the rest is sampled only. */
static bool looks_now(uint64_t now_ns)
{
	uint64_t second = now_ns / 1000000000;

	if (!atomic_load_explicit(&ss.asked, memory_order_relaxed))
		return false;
	if (atomic_exchange_explicit(&ss.second, second, memory_order_relaxed) != second)
		atomic_store_explicit(&ss.wakes, 0, memory_order_relaxed);
	return atomic_fetch_add_explicit(&ss.wakes, 1, memory_order_relaxed) < WAKES;
}

/* When a task that begins wants its first look. */
static uint64_t look_before(const struct sp_task *t)
{
	const struct sp_task_name *n = &t->name;

	if (n->stage < 0 || !sp_task_table_stage_known(ss.tasks, n->stage, n->stage_attempt))
		return t->start_ns + CONTEXT_NS;
	if (t->begun && looks_now(t->start_ns))
		return t->start_ns;
	if (t->begun && atomic_load_explicit(&ss.heard, memory_order_relaxed))
		return UINT64_MAX;
	return t->start_ns + (atomic_load_explicit(&ss.reports_end, memory_order_relaxed)
					     ? POLL_REPORTED_NS
					     : POLL_MIN_NS);
}

bool sp_task_tracker_named(
	JNIEnv *env, jobject thread, uint32_t tid, const char *name, uint64_t now_ns, bool begun)
{
	struct sp_task task = {.tid = tid, .start_ns = now_ns, .begun = begun};

	if (sp_task_name_engine(name, &task.name)) {
		task.feeder = true;
	} else if (!sp_task_name_parse(name, &task.name)) {
		task.feeder = sp_task_name_feeder(name);
		if (sp_task_name_idle(name)) {
			atomic_store_explicit(&ss.exact, true, memory_order_relaxed);
			if (begun)
				atomic_store_explicit(&ss.heard, true, memory_order_relaxed);
		}
		if (!task.feeder) {
			bool ends = sp_task_table_is_open(ss.tasks, tid, -2);

			sp_task_table_end(ss.tasks, tid, -2, now_ns);
			return ends && begun &&
			       atomic_load_explicit(&ss.heard, memory_order_relaxed) &&
			       looks_now(now_ns);
		}
		task.name = (struct sp_task_name){-1, -1, -1, -1, -1};
	}
	remember(env, thread, tid);
	sp_task_table_begin(ss.tasks, &task);
	return atomic_load_explicit(&ss.next_ns, memory_order_relaxed) > look_before(&task);
}

void sp_task_tracker_found(
	JNIEnv *env, jobject thread, uint32_t tid, const char *name, uint64_t now_ns, bool first)
{
	struct sp_task_name n;
	struct worker *w;
	bool old;

	if (sp_task_name_parse(name, &n)) {
		pthread_mutex_lock(&ss.lock);
		w = find(tid);
		old = w && w->task_id == n.task_id && w->seen_ns;
		pthread_mutex_unlock(&ss.lock);
		if (old || sp_task_table_is_open(ss.tasks, tid, n.task_id))
			return;
	}
	sp_task_tracker_named(env, thread, tid, name, now_ns, false);
}

void sp_task_tracker_ended(uint32_t tid, uint64_t now_ns)
{
	struct worker *w;

	sp_task_table_end(ss.tasks, tid, -2, now_ns);
	/* One that still has to come out is looked at once more. */
	if (sp_task_table_is_open(ss.tasks, tid, -1))
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
		w->seen_ns = w->used_ns = 0;
		w->tries = 0;
		w->try_ns = 0;
		w->reports_end = false;
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

/* Counts a try for the context. Returns when to ask again: soon at first, then ever more rarely; 0:
 * not any more. */
static uint64_t try_again(struct worker *w)
{
	uint64_t wait = CONTEXT_NS << (w->tries < 8 ? 0 : w->tries / 4 - 1);

	if (++w->tries >= TRIES)
		return 0;
	w->try_ns = sp_clock_mono_ns() + wait;
	return wait;
}

/* How long it is until the next try; 0: it is now. */
static uint64_t try_later(const struct worker *w)
{
	uint64_t now = sp_clock_mono_ns();

	return w->try_ns > now ? w->try_ns - now : 0;
}

/* Asks for the context where something is still to be learnt from it. Returns when to ask again, 0:
 * it need not. */
static uint64_t learn(
	JNIEnv *env, jvmtiEnv *ti, const struct sp_task *t, struct worker *w, jobject thread)
{
	struct sp_task_name name;
	bool whole = t->name.stage >= 0;

	if (whole && sp_task_table_stage_known(ss.tasks, t->name.stage, t->name.stage_attempt))
		return 0;
	if (w->tries >= TRIES)
		return 0;
	if (try_later(w))
		return try_later(w);
	if (!sp_task_context_read(env, ti, thread, &name, &ss.about))
		return try_again(w);
	/* The context of the task before, not yet taken away. */
	if (t->name.task_id >= 0 && name.task_id != t->name.task_id)
		return try_again(w);
	if (!whole)
		sp_task_table_learn(ss.tasks, t->tid, t->name.task_id, &name);
	sp_task_table_stage(ss.tasks, &ss.about);
	return 0;
}

/* What a thread has run, and waited for a CPU, since it began; 0: it is gone. */
static uint64_t used_ns(uint32_t tid)
{
	struct sp_kernel_state_delay d = {0, 0};
	uint64_t cpu = sp_kernel_state_cpu_ns(tid);

	sp_kernel_state_delay(tid, -1, &d);
	return cpu ? cpu + d.ns : 0;
}

/* Where a task ended that is found over: where Spark's own measure puts it, but not before its
 * thread had done what it did since it was last seen at work, which is the end of the task but for
 * moments. Late rather than early: what is left of the thread's time until then is idle, what came
 * before is the task's. */
static uint64_t ended_at(const struct sp_task *t, const struct worker *w, uint64_t ran_ns)
{
	uint64_t now = sp_clock_mono_ns(), at = t->start_ns + ran_ns, used, done;

	if (!t->begun || !ran_ns)
		return now;
	if (w->used_ns) {
		used = used_ns(t->tid);
		done = w->seen_ns + (used > w->used_ns ? used - w->used_ns : 0);
	} else {
		done = at + SENT_NS;
	}
	if (done > at)
		at = done;
	return at < now ? at : now;
}

/* The executor says it, some time before the thread takes another name (Spark 4.2 on) or leaves the
 * pool's job (before). */
static bool is_over(JNIEnv *env, const struct sp_task *t, struct worker *w, jobject thread)
{
	uint64_t ran_ns, now = sp_clock_mono_ns();
	int finished = sp_task_runner_poll_finished(env, t->name.task_id, &ran_ns);
	bool exact = atomic_load(&ss.exact);

	if (finished >= 0)
		atomic_store_explicit(&ss.asked, true, memory_order_relaxed);
	if (finished == 0 || (finished < 0 && (exact || sp_task_context_busy(env, thread) != 0))) {
		if (finished == 0 && w->used_ns && now < w->seen_ns + POLL_MIN_NS)
			return false; /* both stay of one moment */
		w->seen_ns = now;
		w->reports_end = finished == 0;
		if (w->reports_end)
			atomic_store_explicit(&ss.reports_end, true, memory_order_relaxed);
		w->used_ns = w->reports_end ? used_ns(t->tid) : 0;
		return false;
	}
	if (!t->begun && !w->seen_ns && finished != 1)
		sp_task_table_forget(ss.tasks, t->tid, t->name.task_id);
	else
		sp_task_table_end(ss.tasks, t->tid, t->name.task_id, ended_at(t, w, ran_ns));
	return true;
}

/* The same where its end is heard: what Spark measures of it will be read. */
static void watch_runner(JNIEnv *env, const struct sp_task *t)
{
	uint64_t ran_ns;

	if (t->begun && t->name.task_id >= 0 &&
		sp_task_runner_poll_finished(env, t->name.task_id, &ran_ns) >= 0)
		atomic_store_explicit(&ss.asked, true, memory_order_relaxed);
}

/* When to look for the end of a task again. */
static uint64_t next_poll(const struct sp_task *t, const struct worker *w)
{
	uint64_t wait = (w->seen_ns - t->start_ns) / POLL_PART;

	if (t->begun && w->reports_end)
		return POLL_REPORTED_NS;
	return wait < POLL_MIN_NS ? POLL_MIN_NS : wait > POLL_MAX_NS ? POLL_MAX_NS : wait;
}

/* A thread that works for a task: its object says which, or what hangs on it. Returns when to ask
 * again, 0: it need not. */
static uint64_t resolve(
	JNIEnv *env, jvmtiEnv *ti, const struct sp_task *t, struct worker *w, jobject thread)
{
	struct sp_task_name name;
	uint64_t again = t->over ? 0 : try_later(w);
	bool found;

	if (!t->over && (again || w->tries >= TRIES))
		return again;
	found = sp_task_context_held(env, ti, thread, &name, &ss.about) ||
		(!t->over && sp_task_context_read(env, ti, thread, &name, &ss.about));
	if (found)
		sp_task_table_stage(ss.tasks, &ss.about);
	if (!found && !t->over && (again = try_again(w)))
		return again;
	sp_task_table_resolve(ss.tasks, t->tid, found ? &name : NULL);
	/* Its thread has ended, now or meanwhile. */
	if (!sp_task_table_is_open(ss.tasks, t->tid, found ? name.task_id : -1))
		sp_task_tracker_ended(t->tid, t->end_ns);
	return 0;
}

/* A thread that ended before its task was found, and that cannot be asked any more: its
 * object is collected, or it found no place here. It must not hold the place of a task for ever. */
static uint64_t give_up(const struct sp_task *t)
{
	if (t->over) {
		sp_task_table_resolve(ss.tasks, t->tid, NULL);
		sp_task_tracker_ended(t->tid, t->end_ns);
	}
	return 0;
}

/* Returns when it wants to be looked at again, 0: it need not. */
static uint64_t look_at_task(JNIEnv *env, jvmtiEnv *ti, const struct sp_task *t)
{
	bool watch = !t->feeder && !atomic_load(&ss.heard);
	uint64_t again, poll;
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
	if (!watch && !t->feeder)
		watch_runner(env, t);
	again = t->feeder && t->name.task_id < 0 ? resolve(env, ti, t, &w, thread)
						 : learn(env, ti, t, &w, thread);
	(*env)->DeleteLocalRef(env, thread);
	set_worker(&w);
	poll = watch ? next_poll(t, &w) : 0;
	return again && (!poll || again < poll) ? again : poll;
}

uint64_t sp_task_tracker_tick(JNIEnv *env, jvmtiEnv *ti)
{
	uint64_t wait = 0;
	uint32_t n;

	delete_dead(env);
	sp_task_runner_poll_collect(env);
	/* Said before the look: a task that begins behind it asks for another. */
	atomic_store(&ss.next_ns, UINT64_MAX);
	n = sp_task_table_open(ss.tasks, ss.open, SP_TASK_TABLE_OPEN);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t want = look_at_task(env, ti, &ss.open[i]);

		if (want && (!wait || want < wait))
			wait = want;
	}
	if (wait)
		atomic_store(&ss.next_ns, sp_clock_mono_ns() + wait);
	return wait;
}

void sp_task_tracker_stop(JNIEnv *env)
{
	while (ss.worker_count)
		bury(&ss.workers[0]);
	delete_dead(env);
	sp_task_context_done(env);
	sp_task_runner_poll_collect(env);
	sp_task_runner_poll_done(env);
}

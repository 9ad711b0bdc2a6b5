/* See python_workers.h. */
#include "python_workers.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/filtered.h"
#include "capture/perf_fd_inbox.h"
#include "host/own_thread.h"
#include "host/sched_slice.h"
#include "options/memory_shares.h"
#include "pysample/driver_python.h"
#include "pysample/py_processes.h"
#include "threads/kernel_state.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	BYTES_EACH = 8192,  /* of a process, without what is known of its code */
	SEARCHES = 60,	    /* seconds in which a driver's application is looked for */
	STUCK_SECONDS = 5,  /* without any CPU time: it will not end */
	CALM = 16,	    /* looks that find nothing that has run, until they become rarer, */
	CALM_NS = 40000000, /* to this */
};
static const uint64_t second_ns = 1000000000;

struct sp_python_workers {
	struct sp_pyprocesses all;
	struct sp_threads *threads;
	struct sp_task_table *tasks;
	const struct sp_perf_source *launcher; /* NULL: none is connected */
	pthread_mutex_t *lock;
	struct sp_own_thread *thread; /* NULL: it has ended */
	_Atomic uint32_t stop;	      /* futex */
	_Atomic uint32_t ended;	      /* futex: it is about to */
	_Atomic uint32_t tid;	      /* 0: it uses what others own, and soon not any more */
	bool left;		      /* it did not end: all of this is its own now */
	char pattern[sizeof(((struct sp_args *)0)->thread)]; /* of threads that are wanted */
	atomic_bool driver;
	bool on;	   /* python=on */
	unsigned searches; /* for the driver's application */
	unsigned calm;	   /* looks in a row at which nothing had run */
	/* Under the lock: */
	struct sp_counts counted; /* reported to the collector so far */
	struct sp_err said;	  /* for it to say; "" nothing */
	bool has_said;
};

static uint64_t cpu_ns(const struct sp_args *a)
{
	static const char *const events[] = {"cpu", "ctimer", "itimer"};

	for (size_t i = 0; i < SP_COUNT(events); i++)
		if (strcmp(a->event, events[i]) == 0)
			return sp_args_interval(a);
	return 0;
}

static uint64_t wall_ns(const struct sp_args *a)
{
	return strcmp(a->event, "wall") == 0 ? sp_args_interval(a) : a->wall_ns;
}

bool sp_python_workers_wanted(const struct sp_args *args, const struct sp_spark_identity *id)
{
	if (sp_args_gated(args) || args->target_cpu[0] || strcmp(args->python, "off") == 0 ||
		strcmp(args->python, "launcher") == 0 || !(cpu_ns(args) || wall_ns(args)))
		return false;
	return strcmp(args->python, "on") == 0 || id->executor_id[0] || id->app_id[0];
}

/* What the collector is to say, once. */
static void keep_said(struct sp_python_workers *p)
{
	struct sp_err full;

	if (p->has_said)
		return;
	if (p->all.full)
		sp_err_set(&full, 0,
			"only %zu Python processes were sampled at once: that is what --memory "
			"has room for",
			p->all.cfg.max);
	sp_pyrecord_hold(p->all.sampling.record);
	p->said = p->all.full ? full : p->all.said;
	p->has_said = p->said.text[0] != 0;
	sp_pyrecord_release(p->all.sampling.record);
}

static void every_second(struct sp_python_workers *p, uint64_t now_ns)
{
	if (atomic_load(&p->driver) && !p->all.cfg.driver && p->searches++ < SEARCHES)
		p->all.cfg.driver = sp_driver_python(getpid());
	sp_pyprocesses_second(&p->all, now_ns);
	keep_said(p);
}

static void sleep_until(struct sp_python_workers *p, uint64_t at_ns)
{
	uint64_t now = sp_clock_mono_ns();
	struct timespec left;

	if (now >= at_ns)
		return;
	left.tv_sec = (time_t)((at_ns - now) / second_ns);
	left.tv_nsec = (long)((at_ns - now) % second_ns);
	syscall(SYS_futex, &p->stop, FUTEX_WAIT_PRIVATE, 0, &left, NULL, 0);
}

/* CPU time is found whenever it is looked for. Where none was used for a while, and nobody wants to
 * know what they wait for, looks are rarer: still several in the life of a worker that is forked.
 */
static uint64_t step_of(struct sp_python_workers *p)
{
	const struct sp_pysampling *s = &p->all.sampling;
	uint64_t step =
		s->cpu_ns && (!s->wall_ns || s->cpu_ns < s->wall_ns) ? s->cpu_ns : s->wall_ns;

	p->calm = p->all.rest ? p->calm + 1 : 0;
	return !s->wall_ns && p->calm > CALM && step < CALM_NS ? CALM_NS : step;
}

static uint64_t next_look(struct sp_python_workers *p, uint64_t last)
{
	uint64_t now = sp_clock_mono_ns(), step = step_of(p), next = last + step;

	/* too slow for that: as often as it goes */
	return next < now ? now + step / 2 : next;
}

static void *run(void *arg)
{
	struct sp_python_workers *p = arg;
	uint64_t next = sp_clock_mono_ns(), second_at = next;

	sp_threads_exclude_self(p->threads);
	sp_sched_slice_short();
	atomic_store(&p->tid, (uint32_t)syscall(SYS_gettid));
	while (!atomic_load(&p->stop)) {
		uint64_t now = sp_clock_mono_ns();

		if (now >= second_at) {
			every_second(p, now);
			second_at = now + second_ns;
		}
		sp_pyprocesses_sample(&p->all, now);
		/* Without any there is nothing to do until they are looked for again. */
		next = p->all.count ? next_look(p, next) : second_at;
		sleep_until(p, next < second_at ? next : second_at);
	}
	/* The last look may be long ago on a busy machine: what they did since belongs to this. */
	sp_pyprocesses_sample(&p->all, sp_clock_mono_ns());
	atomic_store(&p->ended, 1);
	syscall(SYS_futex, &p->ended, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	return NULL;
}

static pid_t tell_refused(void *ctx, pid_t pid)
{
	const struct sp_python_workers *p = ctx;
	const struct sp_perf_source *launcher = p->launcher;
	int r;

	sp_pyrecord_enter(p->all.sampling.record);
	r = launcher->refused(launcher->ctx, (uint32_t)pid);
	sp_pyrecord_exit(p->all.sampling.record);
	return r < 0 ? r : pid;
}

static size_t task_threads(void *ctx, uint32_t *ret, size_t cap)
{
	const struct sp_python_workers *p = ctx;
	size_t n;

	sp_pyrecord_enter(p->all.sampling.record);
	n = sp_task_table_threads(p->tasks, ret, (uint32_t)cap);
	sp_pyrecord_exit(p->all.sampling.record);
	return n;
}

static int open_processes(struct sp_python_workers *p, const struct sp_capture *capture,
	struct sp_pyrecord *record, struct sp_err *err)
{
	const struct sp_args *a = capture->args;
	struct sp_pyprocesses_cfg c = {.root = getpid(),
		.beside = true,
		.max = a->memory / SP_SHARE_PYTHON_PROCESSES / BYTES_EACH,
		.no_call = sp_filtered(),
		.codes = a->memory / SP_SHARE_PYTHON_CODE,
		.ask = p->launcher && p->launcher->refused ? tell_refused : NULL,
		.tasks = task_threads,
		.ctx = p};
	struct sp_pysampling s = {.record = record,
		.cpu_ns = cpu_ns(a),
		.wall_ns = wall_ns(a),
		.depth = a->depth,
		.depth_left = (uint32_t)a->depth_left,
		.thread = a->thread[0] ? p->pattern : NULL};

	memcpy(p->pattern, a->thread, sizeof(p->pattern));
	return sp_pyprocesses_init(&p->all, &c, &s, err);
}

int sp_python_workers_start(struct sp_python_workers **ret, const struct sp_capture *capture,
	struct sp_task_table *tasks, struct sp_jfrw *w, struct sp_dict *dict, pthread_mutex_t *lock,
	bool driver, struct sp_err *err)
{
	struct sp_python_workers *p = calloc(1, sizeof(*p));
	struct sp_pyrecord *record = NULL;
	int r = p ? sp_pyrecord_join(&record, w, dict, lock, getpid()) : -ENOMEM;

	if (r < 0) {
		free(p);
		return sp_err_set(err, r, "out of memory");
	}
	p->threads = capture->threads;
	p->tasks = tasks;
	p->launcher = capture->launcher;
	p->lock = lock;
	atomic_init(&p->driver, driver);
	p->on = strcmp(capture->args->python, "on") == 0;
	r = open_processes(p, capture, record, err);
	if (r < 0)
		p->all.sampling.record = record;
	if (r == 0) {
		r = sp_own_thread_start(&p->thread, "sparkprof-py", SP_STACK_PLAIN, run, p);
		if (r < 0)
			sp_err_set(err, r, "cannot start a thread in the target: %s", strerror(-r));
	}
	if (r < 0)
		sp_python_workers_free(p);
	else
		*ret = p;
	return r;
}

void sp_python_workers_of_driver(struct sp_python_workers *p)
{
	atomic_store(&p->driver, true);
}

void sp_python_workers_settle(
	struct sp_python_workers *p, struct sp_counts *ret, struct sp_err *ret_said)
{
	const struct sp_pysampling *s = p ? &p->all.sampling : NULL;

	*ret = (struct sp_counts){0};
	ret_said->text[0] = 0;
	if (!p)
		return;
	if (!p->left)
		sp_pyprocesses_settle(&p->all, sp_clock_mono_ns());
	ret->samples = s->samples - p->counted.samples;
	ret->truncated = s->truncated - p->counted.truncated;
	ret->lost_by[SP_LOSS_PYTHON] = s->lost - p->counted.lost_by[SP_LOSS_PYTHON];
	ret->lost_by[SP_LOSS_MEMORY] = s->refused - p->counted.lost_by[SP_LOSS_MEMORY];
	p->counted = (struct sp_counts){.samples = s->samples,
		.truncated = s->truncated,
		.lost_by = {[SP_LOSS_PYTHON] = s->lost, [SP_LOSS_MEMORY] = s->refused}};
	*ret_said = p->said;
	p->said.text[0] = 0;
}

void sp_python_workers_new_chunk(struct sp_python_workers *p)
{
	if (p)
		sp_pyrecord_new_chunk(p->all.sampling.record);
}

/* Waits for its end as long as it gets on. Returns false where it does not: a thread that only
 * waits for a core gets one now and then. */
static bool ends(struct sp_python_workers *p)
{
	const struct timespec second = {1, 0};
	uint64_t cpu = 0, since = sp_clock_mono_ns();

	atomic_store(&p->stop, 1);
	syscall(SYS_futex, &p->stop, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	while (!atomic_load(&p->ended)) {
		uint32_t tid = atomic_load(&p->tid);
		uint64_t now = tid ? sp_kernel_state_cpu_ns(tid) : 0;

		if (!tid || now != cpu)
			since = sp_clock_mono_ns();
		else if (sp_clock_mono_ns() - since >= STUCK_SECONDS * second_ns)
			return false;
		cpu = now;
		syscall(SYS_futex, &p->ended, FUTEX_WAIT_PRIVATE, 0, &second, NULL, 0);
	}
	return true;
}

/* A page of a process that the kernel cannot get, on a file server that is gone, holds who reads
 * it, and nobody can wake that. What the thread may still use stays with it: it is leaked. */
static void leave(struct sp_python_workers *p)
{
	sp_pyrecord_leave(p->all.sampling.record);
	p->left = true;
	pthread_mutex_lock(p->lock);
	sp_pyprocesses_left(&p->all, sp_clock_mono_ns());
	sp_err_set(&p->said, 0,
		"the memory of a Python process could not be read to the end: what reads it waits "
		"in the kernel. That thread stays in the JVM, asleep");
	pthread_mutex_unlock(p->lock);
}

void sp_python_workers_end(struct sp_python_workers *p)
{
	if (!p || !p->thread)
		return;
	if (!ends(p)) {
		p->thread = NULL;
		leave(p);
		return;
	}
	sp_own_thread_join(p->thread);
	p->thread = NULL;
	if (p->on && !p->all.ever && !p->all.asked && !p->all.said.text[0])
		sp_err_set(&p->all.said, 0,
			"no Python process that could be sampled was seen below it, or above it");
	keep_said(p);
	p->all.said.text[0] = 0; /* the collector says it */
	sp_pyprocesses_end(&p->all, sp_clock_mono_ns());
}

void sp_python_workers_free(struct sp_python_workers *p)
{
	struct sp_pyrecord *record = p ? p->all.sampling.record : NULL;

	if (!p)
		return;
	sp_python_workers_end(p);
	if (p->left)
		return;
	sp_pyprocesses_done(&p->all);
	if (record)
		sp_pyrecord_close(record, NULL);
	free(p);
}

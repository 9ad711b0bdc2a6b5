/* Timers that need no permission: ctimer is a kernel timer on each thread's CPU clock that signals
 * that thread; itimer is the process's one ITIMER_PROF. Both tick at the kernel's HZ at best. */
#include "engine.h"
#include "gate.h"

#include "base/clock.h"
#include "itimer_weight.h"
#include "sample_ring.h"
#include "sig/rate_limit.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* The kernel's encoding of another thread's CPU clock (include/linux/posix-timers_types.h):
 * CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED. */
static clockid_t thread_cpu_clock(uint32_t tid)
{
	return (clockid_t)(~tid << 3 | 6);
}

/* Raw system calls: glibc's timer_t is not the kernel's id, and older glibc allocates it. */
static int create_timer(struct sp_tinfo *t)
{
	struct sigevent ev;
	int id;

	memset(&ev, 0, sizeof(ev));
	ev.sigev_notify = SIGEV_THREAD_ID;
	ev.sigev_signo = SIGPROF;
	ev.sigev_value.sival_ptr = t->sig;
	ev._sigev_un._tid = (pid_t)t->tid;
	if (syscall(SYS_timer_create, thread_cpu_clock(t->tid), &ev, &id) < 0)
		return -errno;
	t->timer = id;
	return 0;
}

/* A thread got no timer, for RLIMIT_SIGPENDING is reached: said once a recording. */
static _Atomic bool refused, said;

/* CPU timers are looked at when the kernel's clock ticks, which the coarse clock does as well. */
static uint64_t tick_ns(void)
{
	struct timespec tick;

	return clock_getres(CLOCK_MONOTONIC_COARSE, &tick) < 0 || tick.tv_sec
		       ? 0
		       : (uint64_t)tick.tv_nsec;
}

/* When a thread's first sample is due: at a random moment of its first interval, else threads that
 * end before would never be seen; and half a tick sooner, for the kernel notices at its next tick,
 * and a thread that has ended by then has none. */
static uint64_t first_ns(uint64_t interval_ns)
{
	uint64_t first = 1 + sp_rate_limit_random() % interval_ns, early = tick_ns() / 2;

	if (interval_ns < 2 * early)
		return first;
	return first > early ? first - early : 1;
}

static void ctimer_added(void *ctx, struct sp_tinfo *t)
{
	struct sp_capture *c = ctx;
	struct itimerspec every;
	uint64_t first;
	int r;

	sp_gate_added(t);
	if (t->timer >= 0)
		return;
	r = create_timer(t);
	if (r == -EAGAIN) /* else the thread is gone already */
		atomic_store_explicit(&refused, true, memory_order_relaxed);
	if (r < 0)
		return;
	every.it_interval.tv_sec = (time_t)(c->interval_ns / 1000000000);
	every.it_interval.tv_nsec = (long)(c->interval_ns % 1000000000);
	first = first_ns(c->interval_ns);
	every.it_value.tv_sec = (time_t)(first / 1000000000);
	every.it_value.tv_nsec = (long)(first % 1000000000);
	syscall(SYS_timer_settime, t->timer, 0, &every, NULL);
}

static void ctimer_gone(void *ctx, struct sp_tinfo *t)
{
	sp_gate_gone(t);
	if (t->timer < 0)
		return;
	syscall(SYS_timer_delete, t->timer);
	t->timer = -1;
}

static void say_tick(struct sp_capture *c, const char *engine)
{
	uint64_t tick = tick_ns();
	char text[160];

	if (c->interval_ns >= tick)
		return;
	snprintf(text, sizeof(text),
		"%s: this kernel's CPU timers tick every %llu ms, so samples come no closer; perf "
		"events would",
		engine, (unsigned long long)tick / 1000000);
	c->say(c->say_ctx, text);
}

static void ctimer_drain(struct sp_capture *c)
{
	if (!atomic_load(&refused) || atomic_exchange(&said, true))
		return;
	c->say(c->say_ctx, "ctimer: the kernel refuses timers for some threads, which are not "
			   "sampled (a higher ulimit -i would help, or -e itimer)");
}

/* Records hold whole stacks. */
static bool ctimer_can_wait(struct sp_capture *c)
{
	return true;
}

/* May this process have such timers at all? */
static int try_timer(struct sp_err *err)
{
	struct sp_tinfo self = {.tid = (uint32_t)syscall(SYS_gettid), .timer = -1};
	int r = create_timer(&self);

	if (r < 0)
		return sp_err_set(err, r,
			"ctimer: timer_create: %s (a seccomp filter, or ulimit -i is used up)",
			strerror(-r));
	syscall(SYS_timer_delete, self.timer);
	return 0;
}

static int ctimer_start(struct sp_capture *c, struct sp_err *err)
{
	struct sp_thread_hooks hooks = {ctimer_added, ctimer_gone, c};
	int r = try_timer(err);

	if (r == 0)
		r = sp_engine_signal_install(SP_SIG_CTIMER, c, err);
	if (r < 0)
		return r;
	atomic_store(&refused, false);
	atomic_store(&said, false);
	say_tick(c, "ctimer");
	sp_threads_hook(c->threads, &hooks);
	ctimer_drain(c);
	return 0;
}

static void ctimer_stop(struct sp_capture *c)
{
	sp_threads_hook(c->threads, NULL);
	sp_engine_signal_uninstall();
}

struct itimer {
	struct sp_itimer_weight weight;
	uint64_t tick_ns;
};

/* The samples that wait in the ring and are of the same tick as the oldest. */
static void begin_tick(struct sp_capture *c, struct itimer *e)
{
	uint64_t ahead = 0, from = 0, cpu = 0;
	struct sp_ring_head *head;
	uint32_t count = 0;

	for (; (head = sp_ring_peek_at(c->ring, ahead)); ahead += head->size) {
		const struct sp_sig_record *rec = (const struct sp_sig_record *)head;

		if (rec->kind != SP_HOOK_SAMPLE)
			continue;
		if (count && rec->time_ns > from + e->tick_ns / 2)
			break;
		from = count++ ? from : rec->time_ns;
		cpu = rec->weight > cpu ? rec->weight : cpu;
	}
	sp_itimer_weight_tick(&e->weight, cpu, count);
}

/* Whole intervals, as other engines have them. What is over waits for the thread's next sample; the
 * first begins somewhere between, so that short threads are not left out. */
static uint64_t intervals(const struct sp_capture *c, struct sp_tinfo *t, uint64_t weight_ns)
{
	uint64_t rest = t && t->rest_ns ? t->rest_ns - 1 : sp_rate_limit_random() % c->interval_ns;
	uint64_t n = sp_itimer_weight_whole(&rest, weight_ns, c->interval_ns);

	if (t)
		t->rest_ns = rest + 1;
	return n;
}

static void itimer_sampled(struct sp_capture *c, struct sp_raw_sample *s)
{
	struct itimer *e = c->engine_data;
	bool wall = strcmp(c->args->event, "wall") == 0;

	if (!e->weight.left)
		begin_tick(c, e);
	s->weight = sp_itimer_weight_next(&e->weight);
	if (!wall)
		s->weight = intervals(c, s->thread, s->weight) * c->interval_ns;
	if (s->weight)
		c->sink.take(c->sink.ctx, s);
}

static void itimer_drain(struct sp_capture *c)
{
	struct itimer *e = c->engine_data;

	e->weight.own_ns += sp_threads_own_cpu(c->threads);
}

static int new_itimer(struct sp_capture *c, struct sp_err *err)
{
	struct itimer *e = calloc(1, sizeof(*e));

	if (!e)
		return sp_err_set(err, -ENOMEM, "out of memory");
	e->tick_ns = tick_ns();
	e->weight.cpu_ns = sp_clock_read(CLOCK_PROCESS_CPUTIME_ID);
	sp_threads_own_cpu(c->threads); /* what was before is not of this recording */
	c->engine_data = e;
	return 0;
}

static void itimer_done(struct sp_capture *c)
{
	free(c->engine_data);
	c->engine_data = NULL;
}

static int itimer_arm(struct sp_capture *c, struct sp_err *err)
{
	struct itimerval every = {0}, now;
	int r;

	r = sp_engine_signal_install(SP_SIG_ITIMER, c, err);
	if (r < 0)
		return r;
	if (getitimer(ITIMER_PROF, &now) == 0 && (now.it_value.tv_sec || now.it_value.tv_usec)) {
		sp_engine_signal_uninstall();
		return sp_err_set(err, -EBUSY,
			"itimer: another profiler in this process uses ITIMER_PROF; stop it first "
			"or "
			"use -e ctimer");
	}
	every.it_interval.tv_sec = (time_t)(c->interval_ns / 1000000000);
	every.it_interval.tv_usec = (suseconds_t)(c->interval_ns % 1000000000 / 1000);
	if (!every.it_interval.tv_sec && !every.it_interval.tv_usec)
		every.it_interval.tv_usec = 1;
	every.it_value = every.it_interval;
	if (setitimer(ITIMER_PROF, &every, NULL) < 0) {
		r = -errno;
		sp_engine_signal_uninstall();
		return sp_err_set(err, r, "itimer: setitimer: %s", strerror(-r));
	}
	return 0;
}

static int itimer_start(struct sp_capture *c, struct sp_err *err)
{
	int r = new_itimer(c, err);

	if (r == 0)
		r = itimer_arm(c, err);
	if (r < 0)
		itimer_done(c);
	else
		say_tick(c, "itimer");
	return r;
}

static void itimer_stop(struct sp_capture *c)
{
	struct itimerval never = {0};

	setitimer(ITIMER_PROF, &never, NULL);
	sp_engine_signal_uninstall();
}

const struct sp_engine sp_engine_ctimer = {.name = "ctimer",
	.start = ctimer_start,
	.drain = ctimer_drain,
	.can_wait = ctimer_can_wait,
	.stop = ctimer_stop};
const struct sp_engine sp_engine_itimer = {.name = "itimer",
	.start = itimer_start,
	.drain = itimer_drain,
	.sampled = itimer_sampled,
	.stop = itimer_stop,
	.done = itimer_done};

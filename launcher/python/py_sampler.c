/* See py_sampler.h. */
#include "py_sampler.h"

#include "base/clock.h"
#include "base/redact.h"
#include "py_memory_request.h"
#include "pysample/py_processes.h"
#include "py_refused.h"
#include "py_stops.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES_MAX = 4096 };
static const uint64_t second_ns = 1000000000, nap_ns = 100000000;

struct sp_pysampler {
	struct sp_pysampler_cfg cfg;
	struct sp_pyprocesses all;
	struct sp_pystops stops;
	struct sp_py_memory_request ask;
	struct sp_py_refused refused;
	struct sp_pysampler_state state;
	pthread_mutex_t lock; /* around state */
	pthread_t thread;
	bool stop; /* atomic */
	struct sp_err err;
	int error;
};

static pid_t ask_for_memory(void *ctx, pid_t pid)
{
	struct sp_pysampler *s = ctx;

	return sp_py_memory_request(&s->ask, pid);
}

static bool was_refused(void *ctx, pid_t pid)
{
	struct sp_pysampler *s = ctx;

	return sp_py_refused_has(&s->refused, pid);
}

static void take_answers(struct sp_pysampler *s)
{
	struct sp_py_memory_request_answer answers[SP_PYASK_MAX];
	size_t n = sp_py_memory_request_take(&s->ask, answers);

	for (size_t i = 0; i < n; i++)
		sp_pyprocesses_answer(&s->all, answers[i].pid, answers[i].error, answers[i].fd);
}

static void every_second(struct sp_pysampler *s, uint64_t now_ns)
{
	sp_pyprocesses_second(&s->all, now_ns);
	sp_pyprocesses_settle(&s->all, now_ns);
	if (s->error == 0)
		s->error = sp_pyrecord_flush(s->all.sampling.record, &s->err);
}

static void update_state(struct sp_pysampler *s)
{
	pthread_mutex_lock(&s->lock);
	s->state.samples = s->all.sampling.samples;
	s->state.lost = s->all.sampling.lost + s->all.sampling.refused;
	s->state.workers = s->all.ever;
	s->state.ended = s->error < 0 || (!s->cfg.beside && !sp_pyprocesses_has_root(&s->all));
	pthread_mutex_unlock(&s->lock);
}

static void sleep_until(const struct sp_pysampler *s, uint64_t until_ns)
{
	uint64_t now;

	while ((now = sp_clock_mono_ns()) < until_ns &&
		!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE)) {
		uint64_t next = until_ns - now > nap_ns ? now + nap_ns : until_ns;
		struct timespec ts = {(time_t)(next / second_ns), (long)(next % second_ns)};

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	}
}

static void *run(void *ctx)
{
	struct sp_pysampler *s = ctx;
	const struct sp_pysampling *p = &s->all.sampling;
	uint64_t step =
		p->cpu_ns && (!p->wall_ns || p->cpu_ns < p->wall_ns) ? p->cpu_ns : p->wall_ns;
	uint64_t next = sp_clock_mono_ns(), search_at = next;

	while (!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE) && !s->state.ended) {
		uint64_t now = sp_clock_mono_ns();

		if (now >= search_at) {
			every_second(s, now);
			search_at = now + second_ns;
		}
		take_answers(s);
		sp_pyprocesses_sample(&s->all, now);
		update_state(s);
		next += step;
		now = sp_clock_mono_ns();
		if (next < now) /* too slow for that: as often as it goes */
			next = now + step / 2;
		sleep_until(s, next < search_at ? next : search_at);
	}
	/* The last look may be long ago on a busy machine: what they did since belongs to this. */
	if (!s->state.ended)
		sp_pyprocesses_sample(&s->all, sp_clock_mono_ns());
	return NULL;
}

static void free_all(struct sp_pysampler *s)
{
	struct sp_pymixed *mixed = s->all.sampling.mixed;

	sp_pyprocesses_done(&s->all);
	sp_py_memory_request_done(&s->ask);
	sp_py_refused_done(&s->refused);
	free(mixed);
	free(s);
}

static int open_record(struct sp_pysampler *s, struct sp_err *err)
{
	const struct sp_pyworker *root = s->cfg.beside ? NULL : s->all.workers[0];
	char version[32], command[4096] = "";
	struct sp_pyrecord_cfg c = {.fd = s->cfg.fd,
		.stream = s->cfg.stream,
		.chunk_bytes = s->cfg.chunk_bytes,
		.chunk_ns = s->cfg.chunk_ns,
		.event = s->cfg.event,
		.cpu_ns = s->cfg.cpu_ns,
		.wall_ns = s->cfg.wall_ns,
		.pid = s->cfg.root};

	if (root) {
		snprintf(version, sizeof(version), root->place.micro < 255 ? "3.%u.%u" : "3.%u",
			root->place.minor, root->place.micro);
		sp_pyproc_command(root->pid, command, sizeof(command));
		if (!s->cfg.no_redact)
			sp_redact_in_place(command, sizeof(command));
		c.version = version;
		c.command = command;
	}
	return sp_pyrecord_open(&s->all.sampling.record, &c, err);
}

static int open_processes(struct sp_pysampler *s, struct sp_err *err)
{
	const struct sp_pysampler_cfg *cfg = &s->cfg;
	struct sp_pyprocesses_cfg c = {.root = cfg->root,
		.beside = cfg->beside,
		.driver = cfg->driver,
		.max = PROCESSES_MAX,
		.ask = cfg->refused ? NULL : ask_for_memory,
		.mine = cfg->refused ? was_refused : NULL,
		.ctx = s};
	struct sp_pysampling p = {.cpu_ns = cfg->cpu_ns,
		.wall_ns = cfg->wall_ns,
		.depth = cfg->depth,
		.depth_left = cfg->depth_left,
		.thread = cfg->thread,
		.way = cfg->native || cfg->blocking ? &s->stops.way : NULL,
		.mixed = cfg->native ? malloc(sizeof(struct sp_pymixed)) : NULL};

	sp_pystops_init(&s->stops, cfg->native, cfg->blocking);
	if (cfg->native && !p.mixed)
		return sp_err_set(err, -ENOMEM, "out of memory");
	return sp_pyprocesses_init(&s->all, &c, &p, err);
}

/* Signals belong to the main thread. */
static int start_thread(struct sp_pysampler *s)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&s->thread, NULL, run, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}

int sp_pysampler_start(
	struct sp_pysampler **ret, const struct sp_pysampler_cfg *cfg, struct sp_err *err)
{
	struct sp_pysampler *s = calloc(1, sizeof(*s));
	int r = s ? 0 : sp_err_set(err, -ENOMEM, "out of memory");

	if (r < 0)
		return r;
	s->cfg = *cfg;
	pthread_mutex_init(&s->lock, NULL);
	sp_py_memory_request_init(&s->ask, cfg->beside ? cfg->agent : -1);
	sp_py_refused_init(&s->refused);
	if (cfg->refused)
		sp_py_refused_add(&s->refused, cfg->refused);
	r = open_processes(s, err);
	if (r == 0)
		r = open_record(s, err);
	if (r == 0) {
		r = start_thread(s);
		if (r < 0) {
			sp_pyrecord_close(s->all.sampling.record, NULL);
			s->all.sampling.record = NULL;
			sp_err_set(err, r, "no thread can be started: %s", strerror(-r));
		}
	}
	if (r < 0)
		free_all(s);
	else
		*ret = s;
	return r;
}

void sp_pysampler_look(const struct sp_pysampler *s, struct sp_pysampler_state *ret)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&s->lock;

	pthread_mutex_lock(lock);
	*ret = s->state;
	pthread_mutex_unlock(lock);
}

void sp_pysampler_give(struct sp_pysampler *s, pid_t pid, int error, int fd)
{
	sp_py_memory_request_give(&s->ask, pid, error, fd);
}

void sp_pysampler_refused(struct sp_pysampler *s, pid_t pid)
{
	sp_py_refused_add(&s->refused, pid);
}

static void write_end(struct sp_pysampler *s)
{
	const struct sp_pysampling *p = &s->all.sampling;

	sp_pyprocesses_end(&s->all, sp_clock_mono_ns());
	sp_pystops_note(&s->stops, p->record);
	sp_pyrecord_lost(p->record, SP_PYLOST_CHANGED, p->lost);
	sp_pyrecord_lost(p->record, "no room for the stacks of Python", p->refused);
}

int sp_pysampler_stop(struct sp_pysampler *s, struct sp_pysampler_state *ret,
	struct sp_err *ret_said, struct sp_err *err)
{
	int r;

	__atomic_store_n(&s->stop, true, __ATOMIC_RELEASE);
	pthread_join(s->thread, NULL);
	update_state(s);
	write_end(s);
	*ret = s->state;
	ret->samples = s->all.sampling.samples;
	*ret_said = s->all.said;
	r = sp_pyrecord_close(s->all.sampling.record, err);
	s->all.sampling.record = NULL;
	if (s->error < 0) {
		r = s->error;
		*err = s->err;
	}
	free_all(s);
	return r;
}

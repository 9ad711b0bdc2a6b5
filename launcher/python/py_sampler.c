/* See py_sampler.h. */
#include "py_sampler.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/redact.h"
#include "proc/cgroup.h"
#include "py_memory_request.h"
#include "py_sockets.h"
#include "py_worker.h"
#include "sampler_notes.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORKERS_MAX = 4096, CHILDREN = 1024 };
static const uint64_t second_ns = 1000000000, nap_ns = 100000000;

struct sp_pysampler {
	struct sp_pysampler_cfg cfg;
	char thread_pattern[256];
	struct sp_pysampling sampling;
	struct sp_pyworker **workers; /* owned, each; parents before their children */
	size_t count;
	uint64_t search_due_ns;
	uint64_t look_again_ns; /* at processes that execute something else, 0: none */
	struct sp_py_memory_request ask;
	struct sp_pysockets sockets;
	uint64_t sockets_due_ns, all_sockets_due_ns;
	unsigned opened; /* processes that were read by what the agent opened */
	struct sp_pysampler_state state;
	pthread_mutex_t lock; /* around state */
	pthread_t thread;
	bool stop; /* atomic */
	struct sp_err said, err;
	int error;
};

static struct sp_pyworker *find(const struct sp_pysampler *s, pid_t pid)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->workers[i]->pid == pid)
			return s->workers[i];
	return NULL;
}

static void say_refused(struct sp_pysampler *s, pid_t pid, const struct sp_err *why)
{
	struct sp_pyworker *w = find(s, pid);
	pid_t own = w && w->refused && !w->asked ? sp_py_memory_request(&s->ask, pid) : -EPERM;

	if (own > 0) {
		w->asked = true;
		w->own_pid = own;
		w->why = *why;
		return;
	}
	if (!s->said.text[0])
		sp_err_set(
			&s->said, 0, "Python worker %d was not sampled: %s", (int)pid, why->text);
}

/* Begins with a process, also with what is no Python: its children may be. */
static int add(
	struct sp_pysampler *s, pid_t pid, const struct sp_pyworker *parent, struct sp_err *err)
{
	struct sp_pyworker **list, *w;
	int r;

	if (find(s, pid) || s->count >= WORKERS_MAX)
		return 0;
	list = reallocarray(s->workers, s->count + 1, sizeof(struct sp_pyworker *));
	s->workers = list ? list : s->workers;
	w = list ? malloc(sizeof(*w)) : NULL;
	if (!w)
		return sp_err_set(err, -ENOMEM, "out of memory");
	r = sp_pyworker_init(w, pid, parent, -1, err);
	if (r == -ESRCH || r == -ENOMEM) {
		sp_pyworker_done(w);
		free(w);
		return r;
	}
	w->parent = parent ? parent->pid : 0;
	if (pid == s->cfg.driver)
		sp_pyworker_is_drivers(w);
	s->workers[s->count++] = w;
	s->state.workers += w->python;
	return r;
}

/* The Python of a driver's application may be the JVM's parent: nothing below leads to it. */
static void add_driver(struct sp_pysampler *s)
{
	struct sp_err err = {""};
	int r = s->cfg.driver && !find(s, s->cfg.driver) ? add(s, s->cfg.driver, NULL, &err) : 0;

	if ((r == -EPERM || r == -ENOTSUP) && !s->said.text[0])
		sp_err_set(&s->said, 0, "the application's Python (pid %d) was not sampled: %s",
			(int)s->cfg.driver, err.text);
}

static void add_children(struct sp_pysampler *s, pid_t pid, bool main_only)
{
	pid_t children[CHILDREN];
	size_t n = sp_pyproc_children(pid, main_only, children, CHILDREN);

	for (size_t i = 0; i < n; i++) {
		struct sp_err err = {""};
		int r = find(s, children[i]) ? 0 : add(s, children[i], find(s, pid), &err);

		if (r == -EPERM || r == -ENOTSUP)
			say_refused(s, children[i], &err);
	}
}

static void remove_at(struct sp_pysampler *s, size_t i)
{
	sp_pyworker_stops(s->workers[i], &s->sampling.stops);
	sp_pyworker_done(s->workers[i]);
	free(s->workers[i]);
	s->count--;
	memmove(s->workers + i, s->workers + i + 1, (s->count - i) * sizeof(*s->workers));
}

/* Processes that have ended, or became others: a shell that is Python by now is looked at again. */
static void check_known(struct sp_pysampler *s)
{
	for (size_t i = s->count; i-- > 0;) {
		struct sp_pyworker *w = s->workers[i];
		pid_t pid = w->pid, parent = w->parent;
		bool gone = sp_pyproc_start(pid) != w->start_ticks;
		struct sp_err err;

		if (!gone && (w->python || w->refused || w->jvm))
			continue;
		remove_at(s, i);
		if (!gone)
			add(s, pid, find(s, parent), &err);
	}
}

/* Everything below the root, once a second; where that takes long (a JVM of thousands of threads),
 * less often, so that it costs a twentieth of a core at most. */
static void search(struct sp_pysampler *s)
{
	uint64_t begun = sp_clock_mono_ns();

	if (begun < s->search_due_ns)
		return;
	check_known(s);
	add_driver(s);
	if (s->cfg.beside)
		add_children(s, s->cfg.root, false);
	for (size_t i = 0; i < s->count; i++)
		if (!s->cfg.beside || (!s->workers[i]->jvm && !s->workers[i]->driver))
			add_children(s, s->workers[i]->pid, false);
	s->search_due_ns = begun + 20 * (sp_clock_mono_ns() - begun);
}

/* Begins again with a process whose memory the agent has opened, unless it has become another. */
static void begin_again(struct sp_pysampler *s, struct sp_pyworker *w, int file)
{
	struct sp_pyworker old = *w;
	struct sp_err err = {""};

	sp_pyworker_done(w);
	sp_pyworker_init(w, old.pid, find(s, old.parent), file, &err);
	w->parent = old.parent;
	w->first_ns = old.first_ns;
	w->asked = true;
	w->why = err;
	if (w->start_ticks == old.start_ticks && w->python) {
		s->state.workers++;
		s->opened++;
	} else if (w->refused) {
		say_refused(s, w->pid, &old.why);
	}
}

static void take_answers(struct sp_pysampler *s)
{
	struct sp_py_memory_request_answer answers[SP_PYASK_MAX];
	size_t n = sp_py_memory_request_take(&s->ask, answers);

	for (size_t i = 0; i < n; i++) {
		struct sp_pyworker *w = NULL;

		for (size_t k = 0; k < s->count && !w; k++)
			if (s->workers[k]->refused && s->workers[k]->own_pid == answers[i].pid)
				w = s->workers[k];
		if (w && answers[i].error == 0) {
			begin_again(s, w, answers[i].fd);
			continue;
		}
		if (answers[i].fd >= 0)
			close(answers[i].fd);
		if (w)
			say_refused(s, w->pid, &w->why);
	}
}

/* It has no Python any more, and lives: it ends just now, or executes something else. That is
 * looked at soon, and then as for all others. */
static void set_aside(struct sp_pysampler *s, struct sp_pyworker *w, uint64_t now_ns)
{
	struct sp_pyworker old = *w;

	sp_pyworker_stops(w, &s->sampling.stops);
	sp_pyworker_done(w);
	w->pid = old.pid;
	w->parent = old.parent;
	w->start_ticks = old.start_ticks;
	s->look_again_ns = now_ns + nap_ns;
}

static void sample_all(struct sp_pysampler *s, uint64_t now_ns)
{
	size_t n = s->count;

	take_answers(s);

	for (size_t i = 0; i < n; i++) /* what a daemon forks may live for less than a second */
		if (s->workers[i]->python && !s->workers[i]->worker && !s->workers[i]->driver)
			add_children(s, s->workers[i]->pid, true);
	for (size_t i = s->count; i-- > 0;) {
		struct sp_pyworker *w = s->workers[i];

		if (!w->python || sp_pyworker_sample(w, &s->sampling, now_ns) == 0)
			continue;
		sp_pyworker_flush(w, &s->sampling, now_ns, true);
		if (sp_pyproc_start(w->pid) == w->start_ticks)
			set_aside(s, w, now_ns);
		else
			remove_at(s, i);
	}
}

static void every_second(struct sp_pysampler *s, uint64_t now_ns)
{
	uint64_t used, limit;

	search(s);
	for (size_t i = 0; i < s->count; i++) {
		if (!s->workers[i]->python)
			continue;
		sp_pyworker_flush(s->workers[i], &s->sampling, now_ns, false);
		sp_pyworker_use(s->workers[i], &s->sampling, now_ns);
	}
	if (sp_cgroup_memory(s->cfg.root, &used, &limit) == 0)
		sp_pyrecord_group(s->sampling.record, now_ns, used, limit);
	if (s->error == 0)
		s->error = sp_pyrecord_flush(s->sampling.record, &s->err);
}

/* Sockets between the JVM's threads and workers: every second of all, and sooner while one works
 * that does not say for whom. A look at a JVM of many threads takes long: it costs a hundredth of a
 * core at most. */
static void look_at_sockets(struct sp_pysampler *s, uint64_t now_ns)
{
	bool all = now_ns >= s->all_sockets_due_ns, wanted = all;

	for (size_t i = 0; i < s->count && !wanted; i++)
		wanted = sp_pyworker_is_unknown(s->workers[i]);
	if (!s->cfg.beside || !wanted || now_ns < s->sockets_due_ns)
		return;
	sp_pysockets_look(&s->sockets, s->cfg.root);
	for (size_t i = 0; i < s->count; i++) {
		struct sp_pyworker *w = s->workers[i];

		if (w->python && w->worker && (all || sp_pyworker_is_unknown(w)))
			sp_pyworker_socket(
				w, &s->sampling, sp_pysockets_find(&s->sockets, w->pid), now_ns);
	}
	s->sockets_due_ns = now_ns + nap_ns / 4 + 100 * (sp_clock_mono_ns() - now_ns);
	if (all)
		s->all_sockets_due_ns = now_ns + second_ns;
}

static void tell_state(struct sp_pysampler *s)
{
	pthread_mutex_lock(&s->lock);
	s->state.samples = s->sampling.samples;
	s->state.lost = s->sampling.lost;
	s->state.ended = s->error < 0 || (!s->cfg.beside && !find(s, s->cfg.root));
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
	const struct sp_pysampling *p = &s->sampling;
	uint64_t step =
		p->cpu_ns && (!p->wall_ns || p->cpu_ns < p->wall_ns) ? p->cpu_ns : p->wall_ns;
	uint64_t next = sp_clock_mono_ns(), search_at = next;

	while (!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE) && !s->state.ended) {
		uint64_t now = sp_clock_mono_ns();

		if (now >= search_at) {
			every_second(s, now);
			search_at = now + second_ns;
		}
		if (s->look_again_ns && now >= s->look_again_ns) {
			s->look_again_ns = 0;
			check_known(s);
		}
		sample_all(s, now);
		look_at_sockets(s, now);
		tell_state(s);
		next += step;
		now = sp_clock_mono_ns();
		if (next < now) /* too slow for that: as often as it goes */
			next = now + step / 2;
		sleep_until(s, next < search_at ? next : search_at);
	}
	/* The last look may be long ago on a busy machine: what they did since belongs to this. */
	if (!s->state.ended)
		sample_all(s, sp_clock_mono_ns());
	return NULL;
}

static void free_all(struct sp_pysampler *s)
{
	while (s->count)
		remove_at(s, s->count - 1);
	sp_py_memory_request_done(&s->ask);
	free(s->workers);
	free(s->sampling.stack);
	free(s->sampling.mixed);
	free(s);
}

static int open_record(struct sp_pysampler *s, struct sp_err *err)
{
	const struct sp_pyworker *root = s->cfg.beside ? NULL : s->workers[0];
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
	return sp_pyrecord_open(&s->sampling.record, &c, err);
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
	s->sampling = (struct sp_pysampling){.cpu_ns = cfg->cpu_ns,
		.wall_ns = cfg->wall_ns,
		.depth = cfg->depth < SP_PY_DEPTH_MAX ? cfg->depth : SP_PY_DEPTH_MAX,
		.thread = cfg->thread,
		.stack = malloc(sizeof(struct sp_pystack)),
		.blocking = cfg->blocking,
		.mixed = cfg->native ? malloc(sizeof(struct sp_pymixed)) : NULL};
	if (!s->sampling.stack || (cfg->native && !s->sampling.mixed))
		r = sp_err_set(err, -ENOMEM, "out of memory");
	if (r == 0 && !cfg->beside)
		r = add(s, cfg->root, NULL, err);
	if (r == 0 && !cfg->beside && !s->workers[0]->python)
		r = sp_err_set(err, -ENOEXEC, "is no Python");
	if (r == 0)
		r = open_record(s, err);
	if (r == 0) {
		r = start_thread(s);
		if (r < 0) {
			sp_pyrecord_close(s->sampling.record, NULL);
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

static void write_end(struct sp_pysampler *s)
{
	struct sp_pysampling *p = &s->sampling;
	struct sp_pyptraces stops = p->stops;
	uint64_t now = sp_clock_mono_ns();

	for (size_t i = 0; i < s->count; i++) {
		sp_pyworker_flush(s->workers[i], p, now, true);
		sp_pyworker_stops(s->workers[i], &stops);
	}
	sp_pysampling_note(p, &stops, s->opened);
	if (s->said.text[0])
		sp_pyrecord_note(p->record, s->said.text);
	sp_pyrecord_lost(p->record, "Python stack changed while it was read", p->lost);
}

int sp_pysampler_stop(struct sp_pysampler *s, struct sp_pysampler_state *ret,
	struct sp_err *ret_said, struct sp_err *err)
{
	int r;

	__atomic_store_n(&s->stop, true, __ATOMIC_RELEASE);
	pthread_join(s->thread, NULL);
	write_end(s);
	tell_state(s);
	*ret = s->state;
	*ret_said = s->said;
	r = sp_pyrecord_close(s->sampling.record, err);
	if (s->error < 0) {
		r = s->error;
		*err = s->err;
	}
	free_all(s);
	return r;
}

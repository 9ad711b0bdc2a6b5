/* See py_worker.h. */
#include "py_worker.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PSS_SLOW_NS = 3000000, /* a look at pss that took longer is not repeated soon */
	PSS_PAUSE = 10,
	OWED_MAX_NS = 1000000000,
};

static void read_exe(pid_t pid, char *ret, size_t len)
{
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, ret, len - 1);
	ret[n > 0 ? n : 0] = 0;
}

/* python-worker-123 for what Spark's daemon forked (it has its parent's command line), or a worker
 * without one; python-daemon-…, also of another module (spark.python.daemon.module); else the
 * program's own name. */
static void set_name(struct sp_pyworker *w, const struct sp_pyworker *like)
{
	char command[4096];
	const char *base = strrchr(w->exe, '/');
	bool daemon, forked = like && like->spark;

	sp_pyproc_command(w->pid, command, sizeof(command));
	daemon = !forked && sp_pyproc_is_daemon(w->pid, command);
	w->worker = sp_pyproc_is_worker(command) || forked;
	w->spark = w->worker || daemon;
	snprintf(w->name, sizeof(w->name), "%.40s-%d",
		w->worker ? "python-worker"
		: daemon  ? "python-daemon"
		: base	  ? base + 1
			  : "python",
		(int)w->pid);
}

static bool has_end(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && strcmp(s + n - k, end) == 0;
}

static int start_reader(struct sp_pyworker *w, const struct sp_pyruntime *place)
{
	struct sp_pymem mem = {sp_pymem_process, &w->process};
	int r;

	sp_pyreader_done(&w->reader);
	r = sp_pyreader_init(&w->reader, &mem, place->runtime, place->minor);
	if (r == 0)
		r = sp_pyreader_threads(&w->reader);
	if (r == 0)
		w->place = *place;
	w->python = r == 0;
	return r;
}

/* One that was there before us has had tasks, and waited between them for nobody's. */
static bool is_old(uint64_t start_ticks)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec > start_ticks / (uint64_t)sysconf(_SC_CLK_TCK) + 2;
}

int sp_pyworker_init(struct sp_pyworker *w, pid_t pid, const struct sp_pyworker *like, int file,
	struct sp_err *err)
{
	struct sp_pyruntime place;
	bool forked;
	int r;

	memset(w, 0, sizeof(*w));
	w->pid = pid;
	w->process = (struct sp_pymem_process){pid, file >= 0, file};
	w->task.tid = -1;
	w->first_ns = w->idle_ns = sp_clock_mono_ns();
	w->start_ticks = sp_pyproc_start(pid);
	if (!w->start_ticks)
		return sp_err_set(err, -ESRCH, "no such process");
	w->had_task = is_old(w->start_ticks);
	read_exe(pid, w->exe, sizeof(w->exe));
	forked = like && like->python && strcmp(w->exe, like->exe) == 0;
	if (forked && like->process.has_file && !w->process.has_file)
		sp_pymem_open(
			&w->process); /* where its parent's memory takes a file, so does its own */
	if (forked && start_reader(w, &like->place) == 0) {
		set_name(w, like);
		return 0;
	}
	w->jvm = has_end(w->exe, "/java");
	r = sp_pyruntime_find(&w->process, &place, err);
	if (r == -ENOEXEC)
		return 0;
	if (r == 0) {
		r = start_reader(w, &place);
		if (r == -ENOTSUP)
			sp_err_set(err, r,
				"Python 3.%u%s is not known to this version: 3.8 to 3.14 with GIL "
				"are",
				place.minor, place.minor >= 13 ? ", or this build of it," : "");
		else if (r == -ESRCH || r == -EBADMSG)
			r = sp_err_set(err, -EAGAIN, "its Python is only starting, or ending");
	}
	w->refused = r == -EPERM;
	set_name(w, forked ? like : NULL);
	return r;
}

static void thread_done(struct sp_pyworker_thread *t)
{
	for (int i = 0; i < 2; i++)
		if (t->fds[i] >= 0)
			close(t->fds[i]);
}

void sp_pyworker_done(struct sp_pyworker *w)
{
	for (size_t i = 0; i < w->thread_count; i++)
		thread_done(&w->threads[i]);
	free(w->threads);
	sp_pynative_free(w->native);
	sp_pyptrace_tidy(&w->stop);
	sp_pyreader_done(&w->reader);
	sp_pymem_close(&w->process);
	memset(w, 0, sizeof(*w));
}

void sp_pyworker_is_drivers(struct sp_pyworker *w)
{
	w->driver = true;
	snprintf(w->name, sizeof(w->name), "python-driver-%d", (int)w->pid);
}

void sp_pyworker_thread_name(
	const struct sp_pyworker *w, const struct sp_pyworker_thread *t, char *ret, size_t len)
{
	if (t->host_tid == w->pid)
		snprintf(ret, len, "%s", w->name);
	else
		snprintf(ret, len, "%s/%u", w->name, t->tid);
}

/* Ids of the recording, again after a chunk has ended. */
static void intern_thread(
	const struct sp_pyworker *w, struct sp_pyworker_thread *t, const struct sp_pysampling *s)
{
	char name[96];

	if (t->generation == sp_pyrecord_generation(s->record))
		return;
	sp_pyworker_thread_name(w, t, name, sizeof(name));
	t->generation = sp_pyrecord_generation(s->record);
	t->thread = sp_pyrecord_thread(s->record, t->tid, name);
	t->stack = t->busy = 0;
	t->known = false; /* its stack has to be read again */
}

void sp_pyworker_wall(struct sp_pyworker_thread *t, struct sp_pysampling *s)
{
	if (t->samples)
		sp_pyrecord_wall(s->record, t->since_ns, t->thread, t->stack, t->state, t->samples,
			t->span_ns);
	t->samples = 0;
}

/* A forked child's main thread carries the number that it had in its parent up to some version of
 * 3.11: it is the one that no other thread is. */
static pid_t main_thread(const struct sp_pyworker *w)
{
	for (size_t i = 0; i < w->thread_count; i++)
		if (w->threads[i].host_tid == w->pid)
			return 0;
	return w->pid;
}

/* The entry of a thread of Python's list, made where it is new; NULL when out of memory. */
static struct sp_pyworker_thread *entry_of(struct sp_pyworker *w, const struct sp_pythread *from)
{
	struct sp_pyworker_thread *t;
	pid_t host;

	for (size_t i = 0; i < w->thread_count; i++)
		if (w->threads[i].addr == from->addr && w->threads[i].told == from->tid)
			return &w->threads[i];
	t = reallocarray(w->threads, w->thread_count + 1, sizeof(*t));
	if (!t)
		return NULL;
	w->threads = t;
	host = sp_pyproc_thread(w->pid, from->tid);
	host = host ? host : main_thread(w);
	t += w->thread_count++;
	*t = (struct sp_pyworker_thread){.addr = from->addr, .told = from->tid, .fds = {-1, -1}};
	t->host_tid = host;
	t->tid = host ? sp_pyproc_own_tid(w->pid, host) : from->tid;
	return t;
}

static void drop_gone(struct sp_pyworker *w, struct sp_pysampling *s)
{
	size_t n = 0;

	for (size_t i = 0; i < w->thread_count; i++) {
		if (w->threads[i].seen) {
			w->threads[n] = w->threads[i];
			w->threads[n++].seen = false;
			continue;
		}
		sp_pyworker_wall(&w->threads[i], s);
		sp_pyworker_settle(&w->threads[i], s);
		thread_done(&w->threads[i]);
	}
	w->thread_count = n;
}

/* Who wants a core looks the same with and without one; how long it had none the kernel says once
 * it has one. Looks that find it running become waits until that is paid: right on the whole. */
static enum sp_state with_core(struct sp_pyworker_thread *t, enum sp_state state, uint64_t span_ns)
{
	int64_t span = (int64_t)span_ns;

	if (state != SP_STATE_RUNNING || t->wait_owed_ns < span / 2 + 1)
		return state;
	t->wait_owed_ns -= span;
	return SP_STATE_RUNNABLE;
}

static void owe_wait(struct sp_pyworker_thread *t, const struct sp_pyproc_look *look)
{
	if (t->last_ns)
		t->wait_owed_ns += (int64_t)(look->delay_ns - t->delay_ns);
	if (t->wait_owed_ns > OWED_MAX_NS)
		t->wait_owed_ns = OWED_MAX_NS;
	t->delay_ns = look->delay_ns;
}

static void add_wall(struct sp_pyworker_thread *t, struct sp_pysampling *s, uint64_t now_ns,
	uint32_t stack, enum sp_state state)
{
	uint64_t span = t->last_ns ? now_ns - t->last_ns : s->wall_ns;

	state = with_core(t, state, span);
	if (t->samples && (stack != t->stack || state != t->state))
		sp_pyworker_wall(t, s);
	if (!t->samples) {
		t->since_ns = now_ns - span;
		t->span_ns = 0;
		t->state = state;
	}
	t->stack = stack;
	t->samples++;
	t->span_ns += span;
	s->samples++;
}

/* Native and Python frames. Returns as sp_pynative_stack; -ENOSYS where only Python's are to be had
 * of this process. */
static int read_mixed(struct sp_pyworker *w, size_t number, pid_t tid, struct sp_pysampling *s)
{
	struct sp_err err;

	if (!w->native_tried && sp_pynative_new(&w->native, w->pid, &err) < 0)
		w->native = NULL;
	w->native_tried = true;
	if (!w->native)
		return -ENOSYS;
	return sp_pynative_stack(w->native, &w->reader, number, tid, s->stack, s->mixed);
}

struct python_look {
	struct sp_pyreader *reader;
	size_t number;
	struct sp_pystack *stack;
};

static int look_python(void *ctx)
{
	const struct python_look *l = ctx;

	return sp_pyreader_stack(l->reader, l->number, l->stack);
}

/* With --blocking a thread that runs is stopped meanwhile. Returns as sp_pyreader_stack. */
static int read_python(struct sp_pyworker *w, size_t number, pid_t tid, struct sp_pysampling *s)
{
	struct python_look look = {&w->reader, number, s->stack};
	int r, stopped;

	if (!s->blocking)
		return look_python(&look);
	r = sp_pyptrace_waiting(w->pid, tid, look_python, &look);
	if (r != -EAGAIN)
		return r;
	stopped = sp_pyptrace(&w->stop, tid);
	s->unstopped += stopped < 0;
	r = look_python(&look);
	if (stopped >= 0)
		sp_pyptrace_go(&w->stop, tid, stopped);
	return r;
}

/* Reads a stack and makes an id of it: *ret, 0: no room. Returns as sp_pyreader_stack. */
static int read_stack(
	struct sp_pyworker *w, size_t number, pid_t tid, struct sp_pysampling *s, uint32_t *ret)
{
	int r = s->mixed ? read_mixed(w, number, tid, s) : -ENOSYS;

	*ret = 0;
	if (r == 0 && s->stack->count && !s->stack->partial) {
		*ret = sp_pyrecord_mixed(s->record, s->mixed, s->depth);
		return 0;
	}
	s->bare += s->mixed && (r < 0 || s->stack->partial);
	r = r == 0 ? 0 : read_python(w, number, tid, s);
	if (r == 0 && s->stack->count)
		*ret = sp_pyrecord_stack(s->record, s->stack, s->depth);
	return r;
}

/* The stack as an id. A thread that sleeps and has not run since the last look stands where it
 * stood. Returns false where there is none to be had now. */
static bool stack_of(struct sp_pyworker *w, size_t number, struct sp_pyworker_thread *t,
	const struct sp_pyproc_look *look, struct sp_pysampling *s, uint32_t *ret)
{
	int r;

	if (t->known && look->state != SP_STATE_RUNNING && look->run_ns == t->run_ns) {
		*ret = t->stack;
		return true;
	}
	r = read_stack(w, number, t->host_tid, s, ret);
	if (r == -EAGAIN)
		s->lost++;
	if (r < 0)
		return false;
	if (s->stack->count == 0)
		return false; /* it runs no Python code: between threads, or in C from the start */
	s->truncated += s->stack->truncated;
	s->lost += *ret == 0;
	return *ret != 0;
}

static void add_stops(struct sp_pyptraces *sum, const struct sp_pyptraces *x)
{
	sum->count += x->count;
	sum->all_ns += x->all_ns;
	sum->longest_ns = x->longest_ns > sum->longest_ns ? x->longest_ns : sum->longest_ns;
}

void sp_pyworker_stops(const struct sp_pyworker *w, struct sp_pyptraces *sum)
{
	add_stops(sum, &w->stop.stops); /* also with --native, where that could not be had */
	if (w->native) {
		struct sp_pyptraces x = sp_pynative_stops(w->native);

		add_stops(sum, &x);
	}
}

/* A thread that runs another interpreter has a state in each, the one that it is in first: newer
 * interpreters come before those that made them. It is one thread, and has one stack. */
static bool has_sample(const struct sp_pyworker *w, const struct sp_pyworker_thread *t)
{
	for (size_t i = 0; w->reader.interp_count > 1 && i < w->thread_count; i++) {
		const struct sp_pyworker_thread *x = &w->threads[i];

		if (x != t && x->seen && x->sampled && x->host_tid == t->host_tid)
			return true;
	}
	return false;
}

static void sample_thread(struct sp_pyworker *w, size_t number, struct sp_pyworker_thread *t,
	struct sp_pysampling *s, uint64_t now_ns)
{
	struct sp_pyproc_look look;
	bool first = t->last_ns == 0;
	uint32_t stack = 0;

	t->sampled = false;
	if (has_sample(w, t)) {
		t->last_ns = 0; /* it begins anew when that one ends */
		t->known = false;
		return;
	}
	if (!t->host_tid || sp_pyproc_look(w->pid, t->host_tid, t->fds, &look) < 0)
		return;
	owe_wait(t, &look);
	t->sampled = stack_of(w, number, t, &look, s, &stack);
	if (t->sampled) {
		if (s->cpu_ns && !first)
			sp_pyworker_cpu(t, s, now_ns, look.run_ns - t->run_ns, stack,
				look.state == SP_STATE_RUNNING);
		if (s->wall_ns)
			add_wall(t, s, now_ns, stack, look.state);
		t->stack = stack;
		t->known = true;
	}
	t->run_ns = look.run_ns;
	t->last_ns = now_ns;
}

int sp_pyworker_sample(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns)
{
	int r = sp_pyreader_threads(&w->reader);

	if (r < 0)
		return -ESRCH;
	if (w->worker)
		sp_pyworker_task(w, s, now_ns);
	for (size_t i = 0; i < w->reader.thread_count; i++) {
		struct sp_pyworker_thread *t = entry_of(w, &w->reader.threads[i]);
		char name[96];

		if (!t)
			return -ENOMEM;
		t->seen = true;
		intern_thread(w, t, s);
		sp_pyworker_thread_name(w, t, name, sizeof(name));
		if (!s->thread || fnmatch(s->thread, name, 0) == 0)
			sample_thread(w, i, t, s, now_ns);
	}
	drop_gone(w, s);
	return 0;
}

void sp_pyworker_flush(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns, bool end)
{
	for (size_t i = 0; i < w->thread_count; i++)
		sp_pyworker_wall(&w->threads[i], s);
	if (end)
		sp_pyworker_end_task(w, s, now_ns);
}

void sp_pyworker_use(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns)
{
	struct sp_pyproc_use use;
	uint64_t before = sp_clock_mono_ns();
	bool pss = w->pss_pause == 0;
	double cpu = 0;

	if (sp_pyproc_use(w->pid, pss, &use) < 0)
		return;
	w->pss_pause -= !pss;
	w->pss = pss ? use.pss : w->pss;
	if (pss && sp_clock_mono_ns() - before > PSS_SLOW_NS)
		w->pss_pause = PSS_PAUSE;
	if (w->use_ns && now_ns > w->use_ns)
		cpu = (double)(use.cpu_ns - w->cpu_ns) / (double)(now_ns - w->use_ns);
	if (w->use_ns)
		sp_pyrecord_use(s->record, now_ns,
			sp_pyrecord_thread(
				s->record, w->thread_count ? w->threads[0].tid : 0, w->name),
			w->pid, use.rss, w->pss, cpu, w->task.tid >= 0 ? &w->task : NULL);
	w->cpu_ns = use.cpu_ns;
	w->use_ns = now_ns;
}

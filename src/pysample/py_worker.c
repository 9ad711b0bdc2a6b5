/* See py_worker.h. */
#include "pysample/py_worker.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	PSS_AFTER_NS = 1000000000, /* many live for less */
	PSS_SHARE = 20000, /* the kernel counts all pages for pss: a 20,000th of a core at most */
};

static void read_exe(pid_t pid, char *ret, size_t len)
{
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = readlink(path, ret, len - 1);
	ret[n > 0 ? n : 0] = 0;
}

bool sp_pyworker_is_same_program(const struct sp_pyworker *w)
{
	char exe[sizeof(w->exe)];

	read_exe(w->pid, exe, sizeof(exe));
	return strcmp(exe, w->exe) == 0;
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

int sp_pyworker_init_other(struct sp_pyworker *w, pid_t pid)
{
	memset(w, 0, sizeof(*w));
	w->pid = pid;
	w->task.tid = -1;
	w->first_ns = w->idle_ns = sp_clock_mono_ns();
	w->start_ticks = sp_pyproc_start(pid);
	read_exe(pid, w->exe, sizeof(w->exe));
	w->jvm = has_end(w->exe, "/java");
	return w->start_ticks ? 0 : -ESRCH;
}

int sp_pyworker_init(struct sp_pyworker *w, const struct sp_pymem_process *process,
	const struct sp_pyworker *like, struct sp_err *err)
{
	struct sp_pyruntime place;
	bool forked;
	int r = sp_pyworker_init_other(w, process->pid);

	w->process = *process;
	if (r < 0)
		return sp_err_set(err, r, "no such process");
	w->had_task = is_old(w->start_ticks);
	forked = like && like->python && strcmp(w->exe, like->exe) == 0;
	if (forked && like->process.has_file && !w->process.has_file)
		sp_pymem_open(
			&w->process); /* where its parent's memory takes a file, so does its own */
	if (forked && start_reader(w, &like->place) == 0) {
		set_name(w, like);
		return 0;
	}
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
			r = sp_err_set(
				err, -EAGAIN, "its Python interpreter is starting or ending");
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
	sp_pyreader_done(&w->reader);
	sp_pymem_close(&w->process);
	memset(w, 0, sizeof(*w));
}

void sp_pyworker_is_drivers(struct sp_pyworker *w)
{
	w->driver = true;
	snprintf(w->name, sizeof(w->name), "python-driver-%d", (int)w->pid);
}

void sp_pyworker_is_orphan(struct sp_pyworker *w)
{
	w->worker = true;
	snprintf(w->name, sizeof(w->name), "python-worker-%d", (int)w->pid);
}

enum sp_python_thread sp_pyworker_kind(const struct sp_pyworker *w)
{
	return w->driver   ? SP_PYTHON_THREAD_DRIVER
	       : w->worker ? SP_PYTHON_THREAD_WORKER
	       : w->spark  ? SP_PYTHON_THREAD_DAEMON
			   : SP_PYTHON_THREAD_OTHER;
}

void sp_pyworker_thread_name(
	const struct sp_pyworker *w, const struct sp_pyworker_thread *t, char *ret, size_t len)
{
	if (t->host_tid == w->pid)
		snprintf(ret, len, "%s", w->name);
	else
		snprintf(ret, len, "%s/%u", w->name, t->tid);
}

/* Ids of the recording, again after a chunk has ended: then returns true. */
static bool intern_thread(
	const struct sp_pyworker *w, struct sp_pyworker_thread *t, const struct sp_pysampling *s)
{
	char name[96];

	if (t->generation == sp_pyrecord_generation(s->record))
		return false;
	sp_pyworker_thread_name(w, t, name, sizeof(name));
	t->generation = sp_pyrecord_generation(s->record);
	t->thread = sp_pyrecord_thread(s->record, t->tid, name, sp_pyworker_kind(w));
	t->stack = t->busy = 0;
	t->known = false; /* its stack has to be read again */
	return true;
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

static int append(
	struct sp_pyworker *w, const struct sp_pysampling *s, const struct sp_pyworker_thread *t)
{
	int r;

	sp_pyrecord_hold(s->record);
	r = sp_grow(&w->threads, &w->thread_cap, w->thread_count, sizeof(*t), 4);
	if (r == 0)
		w->threads[w->thread_count++] = *t;
	sp_pyrecord_release(s->record);
	return r;
}

/* The entry of a thread of Python's list, made where it is new; NULL when out of memory. */
static struct sp_pyworker_thread *entry_of(
	struct sp_pyworker *w, const struct sp_pysampling *s, const struct sp_pythread *from)
{
	struct sp_pyworker_thread t = {
		.addr = from->addr, .python_tid = from->tid, .fds = {-1, -1}};

	for (size_t i = 0; i < w->thread_count; i++)
		if (w->threads[i].addr == from->addr && w->threads[i].python_tid == from->tid)
			return &w->threads[i];
	t.host_tid = sp_pyproc_thread(w->pid, from->tid);
	t.host_tid = t.host_tid ? t.host_tid : main_thread(w);
	t.tid = t.host_tid ? sp_pyproc_own_tid(w->pid, t.host_tid) : from->tid;
	return append(w, s, &t) < 0 ? NULL : &w->threads[w->thread_count - 1];
}

static void drop_gone(struct sp_pyworker *w, struct sp_pysampling *s)
{
	size_t n = 0;

	sp_pyrecord_hold(s->record);
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
	sp_pyrecord_release(s->record);
}

/* One look at a thread: its stack, in the sampling's room until the next. */
struct thread_look {
	bool stays; /* it sleeps and has not run since the last look: it is where it was */
	bool mixed; /* the stack has native frames */
	int status; /* as sp_pyreader_stack */
};

static void read_stack(struct sp_pyworker *w, size_t number, const struct sp_pyworker_thread *t,
	struct sp_pysampling *s, struct thread_look *look)
{
	look->stays = t->known && t->at.state != SP_STATE_RUNNING && t->at.run_ns == t->run_ns;
	look->mixed = false;
	look->status = 0;
	if (look->stays)
		return;
	look->status = s->way ? s->way->read(s->way->ctx, w, number, t->host_tid, s, &look->mixed)
			      : sp_pyreader_stack(&w->reader, number, s->stack);
}

/* How many of a stack's frames are recorded. */
static uint32_t kept_of(const struct sp_pysampling *s, size_t count)
{
	return count <= s->depth ? s->depth : s->depth_left;
}

/* The stack as an id. Returns false where there is none to be had now. */
static bool stack_of(const struct sp_pyworker_thread *t, const struct thread_look *look,
	struct sp_pysampling *s, uint32_t *ret)
{
	if (look->stays) {
		*ret = t->stack;
		return true;
	}
	if (look->status == -EAGAIN)
		s->lost++;
	if (look->status < 0 || s->stack->count == 0)
		return false; /* it runs no Python code: between threads, or in C from the start */
	*ret = look->mixed ? sp_pyrecord_mixed(s->record, s->mixed, kept_of(s, s->mixed->count))
			   : sp_pyrecord_stack(s->record, s->stack, kept_of(s, s->stack->count));
	s->truncated += s->stack->truncated;
	s->refused += *ret == 0;
	return *ret != 0;
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

static void write_look(const struct sp_pyworker *w, struct sp_pyworker_thread *t,
	struct sp_pysampling *s, const struct thread_look *look, uint64_t now_ns)
{
	bool first = t->last_ns == 0;
	uint32_t stack = 0;

	if (intern_thread(w, t, s) && look->stays)
		return; /* where it was has no number any more: the next look counts for this too */
	sp_pyworker_owe_wait(t, s, now_ns);
	t->sampled = stack_of(t, look, s, &stack);
	if (t->sampled) {
		if (s->cpu_ns && !first)
			sp_pyworker_cpu(t, s, now_ns, t->at.run_ns - t->run_ns, stack,
				t->at.state == SP_STATE_RUNNING);
		if (s->wall_ns)
			sp_pyworker_add_wall(t, s, now_ns, stack);
		t->stack = stack;
		t->known = true;
	}
	t->run_ns = t->at.run_ns;
	t->last_ns = now_ns;
}

/* Where it is in the kernel. */
static bool look_at(const struct sp_pyworker *w, struct sp_pyworker_thread *t)
{
	return t->host_tid && sp_pyproc_look(w->pid, t->host_tid, t->fds, &t->at) == 0;
}

static void sample_thread(struct sp_pyworker *w, size_t number, struct sp_pyworker_thread *t,
	struct sp_pysampling *s, uint64_t now_ns)
{
	struct thread_look look;

	t->sampled = false;
	if (has_sample(w, t)) {
		t->last_ns = 0; /* it begins anew when that one ends */
		t->known = false;
		return;
	}
	if (!t->looked && !look_at(w, t))
		return;
	t->looked = false;
	read_stack(w, number, t, s, &look);
	sp_pyrecord_hold(s->record);
	write_look(w, t, s, &look, now_ns);
	sp_pyrecord_release(s->record);
}

static bool is_wanted(const struct sp_pyworker *w, const struct sp_pyworker_thread *t,
	const struct sp_pysampling *s)
{
	char name[96];

	if (!s->thread)
		return true;
	sp_pyworker_thread_name(w, t, name, sizeof(name));
	return fnmatch(s->thread, name, 0) == 0;
}

/* CPU time of all its threads (clock_getcpuclockid(3)); 0: it is gone. */
static uint64_t clock_of(pid_t pid)
{
	return sp_clock_read((clockid_t)(~(unsigned)pid << 3 | 2));
}

bool sp_pyworker_rests(struct sp_pyworker *w)
{
	bool rests;

	w->now_clock_ns = clock_of(w->pid);
	rests = w->whole && w->clock_ns && w->now_clock_ns == w->clock_ns;
	for (size_t i = 0; rests && i < w->thread_count; i++)
		rests = w->threads[i].known;
	return rests;
}

/* All that it does is as it was, and need not be read. */
static void sample_resting(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns)
{
	struct thread_look look = {.stays = true};

	sp_pyrecord_hold(s->record);
	for (size_t i = 0; i < w->thread_count; i++)
		write_look(w, &w->threads[i], s, &look, now_ns);
	sp_pyrecord_release(s->record);
}

/* Before any memory is read: a thread that runs in between has another CPU time at the next look.
 */
static void look_at_threads(struct sp_pyworker *w, const struct sp_pysampling *s)
{
	for (size_t i = 0; i < w->thread_count; i++) {
		struct sp_pyworker_thread *t = &w->threads[i];

		t->looked = is_wanted(w, t, s) && look_at(w, t);
	}
}

static int sample_threads(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns)
{
	int r = sp_pyreader_threads(&w->reader);

	if (r < 0)
		return -ESRCH;
	if (w->worker)
		sp_pyworker_task(w, s, now_ns);
	/* Where a worker keeps its task has to be known, or is looked for again. */
	w->whole = w->reader.thread_count && (!w->worker || w->task_place.slot);
	for (size_t i = 0; i < w->reader.thread_count; i++) {
		struct sp_pyworker_thread *t = entry_of(w, s, &w->reader.threads[i]);

		if (!t)
			return -ENOMEM;
		t->seen = true;
		t->sampled = false;
		if (is_wanted(w, t, s))
			sample_thread(w, i, t, s, now_ns);
		w->whole &= t->sampled;
	}
	drop_gone(w, s);
	return 0;
}

int sp_pyworker_sample(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns)
{
	int r;

	if (w->rests)
		sample_resting(w, s, now_ns);
	if (w->rests || !sp_pyworker_is_due(w, s, now_ns))
		return 0;
	w->clock_ns = w->now_clock_ns;
	w->looked_ns = now_ns;
	w->whole = false;
	sp_pyreader_share(&w->reader, s->walk);
	look_at_threads(w, s);
	/* Another way may stop it first; and a file is read place by place. */
	if (!s->way && !w->process.has_file)
		sp_pyreader_ahead(&w->reader);
	r = sample_threads(w, s, now_ns);
	sp_pyreader_ahead_end(&w->reader);
	return r;
}

/* What it uses; as the last time where it has not run since. Returns false when it is gone. */
static bool read_use(struct sp_pyworker *w, uint64_t now_ns, struct sp_pyproc_use *ret)
{
	uint64_t before = sp_clock_read(CLOCK_THREAD_CPUTIME_ID), clock = clock_of(w->pid);
	bool pss = now_ns >= w->pss_due_ns && now_ns >= w->first_ns + PSS_AFTER_NS;

	*ret = (struct sp_pyproc_use){.rss = w->rss, .pss = w->pss, .cpu_ns = w->cpu_ns};
	if (w->use_ns && clock && clock == w->use_clock)
		return true;
	w->use_clock = clock;
	if (sp_pyproc_use(w->pid, pss, ret) < 0)
		return false;
	w->rss = ret->rss;
	w->pss = pss ? ret->pss : w->pss;
	if (pss)
		w->pss_due_ns =
			now_ns + PSS_SHARE * (sp_clock_read(CLOCK_THREAD_CPUTIME_ID) - before);
	return true;
}

void sp_pyworker_use(struct sp_pyworker *w, struct sp_pysampling *s, uint64_t now_ns)
{
	struct sp_pyproc_use use;
	double cpu = 0;

	if (!read_use(w, now_ns, &use))
		return;
	if (w->use_ns && now_ns > w->use_ns)
		cpu = (double)(use.cpu_ns - w->cpu_ns) / (double)(now_ns - w->use_ns);
	sp_pyrecord_hold(s->record);
	if (w->use_ns)
		sp_pyrecord_use(s->record, now_ns,
			sp_pyrecord_thread(s->record, w->thread_count ? w->threads[0].tid : 0,
				w->name, sp_pyworker_kind(w)),
			w->pid, use.rss, w->pss, cpu, w->task.tid >= 0 ? &w->task : NULL);
	sp_pyrecord_release(s->record);
	w->cpu_ns = use.cpu_ns;
	w->use_ns = now_ns;
}

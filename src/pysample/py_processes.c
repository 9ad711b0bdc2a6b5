/* See py_processes.h. */
#include "pysample/py_processes.h"

#include "base/cgroup.h"
#include "base/clock.h"
#include "base/grow.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHILDREN = 1024 };
/* The control group costs a read of all mounts and a walk to its root: a 10,000th of a core. */
enum { GROUP_SHARE = 10000, COMPARED = 8 };
static const uint64_t second_ns = 1000000000, nap_ns = 100000000;

static struct sp_pyworker *find(const struct sp_pyprocesses *p, pid_t pid)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->workers[i]->pid == pid)
			return p->workers[i];
	return NULL;
}

static void say_refused(struct sp_pyprocesses *p, pid_t pid, const struct sp_err *why)
{
	struct sp_pyworker *w = find(p, pid);
	pid_t own =
		w && w->refused && !w->asked && p->cfg.ask ? p->cfg.ask(p->cfg.ctx, pid) : -EPERM;

	if (own > 0) {
		w->asked = p->asked = true;
		w->own_pid = own;
		w->why = *why;
		return;
	}
	if (!p->said.text[0])
		sp_err_set(&p->said, 0, "%s %d was not sampled: %s",
			pid == p->cfg.driver ? "the application's Python, pid" : "Python worker",
			(int)pid, why->text);
}

static void let_go(struct sp_pyprocesses *p, struct sp_pyworker *w)
{
	if (p->sampling.way)
		p->sampling.way->gone(p->sampling.way->ctx, w);
	sp_pyworker_done(w);
}

/* What others look at: see py_record.h. */
static int append(struct sp_pyprocesses *p, struct sp_pyworker *w)
{
	int r;

	sp_pyrecord_hold(p->sampling.record);
	r = sp_grow(&p->workers, &p->cap, p->count, sizeof(struct sp_pyworker *), 16);
	if (r == 0)
		p->workers[p->count++] = w;
	sp_pyrecord_release(p->sampling.record);
	return r;
}

static bool is_mine(const struct sp_pyprocesses *p, pid_t pid, const struct sp_pyworker *parent)
{
	return !p->cfg.mine || (parent && parent->python) || p->cfg.mine(p->cfg.ctx, pid);
}

/* Begins with a process, also with what is no Python: its children may be. */
static int add(
	struct sp_pyprocesses *p, pid_t pid, const struct sp_pyworker *parent, struct sp_err *err)
{
	struct sp_pyworker *w;
	int r, e;

	if (find(p, pid))
		return 0;
	p->full |= p->count >= p->cfg.max;
	if (p->count >= p->cfg.max)
		return 0;
	w = malloc(sizeof(*w));
	if (!w)
		return sp_err_set(err, -ENOMEM, "out of memory");
	r = is_mine(p, pid, parent)
		    ? sp_pyworker_init(w,
			      &(struct sp_pymem_process){.pid = pid, .no_call = p->cfg.no_call},
			      parent, err)
		    : sp_pyworker_init_other(w, pid);
	w->parent = parent ? parent->pid : 0;
	if (pid == p->cfg.driver)
		sp_pyworker_is_drivers(w);
	e = r == -ESRCH || r == -ENOMEM ? r : append(p, w);
	if (e < 0) {
		sp_pyworker_done(w);
		free(w);
		return e == -ENOMEM ? sp_err_set(err, e, "out of memory") : e;
	}
	p->ever += w->python;
	return r;
}

/* The Python of a driver's application may be the JVM's parent: nothing below leads to it. */
static void add_driver(struct sp_pyprocesses *p)
{
	struct sp_err err = {""};
	int r = p->cfg.driver && !find(p, p->cfg.driver) ? add(p, p->cfg.driver, NULL, &err) : 0;

	if (r == -EPERM || r == -ENOTSUP)
		say_refused(p, p->cfg.driver, &err);
}

static void add_child(struct sp_pyprocesses *p, pid_t pid, pid_t parent)
{
	struct sp_err err = {""};
	int r = find(p, pid) ? 0 : add(p, pid, find(p, parent), &err);

	if (r == -EPERM || r == -ENOTSUP)
		say_refused(p, pid, &err);
}

static void add_orphan(struct sp_pyprocesses *p, pid_t pid)
{
	struct sp_pyworker *w;

	add_child(p, pid, 0);
	w = find(p, pid);
	if (!w || !w->spark)
		return;
	sp_pyrecord_hold(p->sampling.record);
	sp_pyworker_is_orphan(w);
	sp_pyrecord_release(p->sampling.record);
}

/* Workers whose daemon has died, where a thread of the JVM waits for them: nothing below leads to
 * them. */
static void add_orphans(struct sp_pyprocesses *p)
{
	struct sp_pyorphans *o = &p->orphans;
	bool looked = false;

	if (!p->cfg.beside || !p->cfg.tasks)
		return;
	sp_pyorphans_look(o);
	for (size_t i = 0; i < o->count; i++) {
		if (find(p, o->list[i]))
			continue;
		if (!looked)
			sp_pysockets_look(&p->sockets, p->cfg.root);
		looked = true;
		if (sp_pysockets_find(&p->sockets, o->list[i]))
			add_orphan(p, o->list[i]);
	}
}

static void add_children(struct sp_pyprocesses *p, pid_t pid, bool main_only)
{
	pid_t children[CHILDREN];
	size_t n = sp_pyproc_children(pid, main_only, children, CHILDREN);

	for (size_t i = 0; i < n; i++)
		add_child(p, children[i], pid);
}

static void remove_at(struct sp_pyprocesses *p, size_t i)
{
	struct sp_pyworker *w = p->workers[i];

	p->orphans.wanted |= w->spark && !w->worker;
	sp_pyrecord_hold(p->sampling.record);
	p->count--;
	memmove(p->workers + i, p->workers + i + 1, (p->count - i) * sizeof(*p->workers));
	sp_pyrecord_release(p->sampling.record);
	let_go(p, w);
	free(w);
}

/* Processes that have ended, or became others: a shell that is Python by now, or what a JVM started
 * and was the JVM's copy yet, is looked at again. */
static void check_known(struct sp_pyprocesses *p)
{
	for (size_t i = p->count; i-- > 0;) {
		struct sp_pyworker *w = p->workers[i];
		pid_t pid = w->pid, parent = w->parent;
		bool gone = !w->rests && sp_pyproc_start(pid) != w->start_ticks;
		struct sp_err err;

		if (!gone &&
			(w->python || w->refused || (w->jvm && sp_pyworker_is_same_program(w))))
			continue;
		remove_at(p, i);
		if (!gone)
			add(p, pid, find(p, parent), &err);
	}
}

/* Whose children are looked for. */
static bool is_parent(const struct sp_pyprocesses *p, pid_t pid)
{
	const struct sp_pyworker *w = find(p, pid);

	return w ? !p->cfg.beside || (!w->jvm && !w->driver) : p->cfg.beside && pid == p->cfg.root;
}

/* Returns false where all has to be searched. */
static bool add_newcomers(struct sp_pyprocesses *p, uint64_t now_ns)
{
	struct sp_pynewcomer list[SP_PYNEWCOMERS_MAX];
	int n = sp_pynewcomers_look(&p->newcomers, now_ns, list);

	for (int i = 0; i < n; i++)
		if (is_parent(p, list[i].parent))
			add_child(p, list[i].pid, list[i].parent);
	return n >= 0;
}

/* Everything below the root, once a second; where that takes long (a JVM of thousands of threads),
 * less often, so that it costs a twentieth of a core at most. */
static void search(struct sp_pyprocesses *p)
{
	uint64_t begun = sp_clock_mono_ns();

	if (begun < p->search_due_ns)
		return;
	check_known(p);
	add_driver(p);
	add_orphans(p);
	if (add_newcomers(p, begun))
		return;
	if (p->cfg.beside && sp_pyproc_has_children(p->cfg.root))
		add_children(p, p->cfg.root, false);
	for (size_t i = 0; i < p->count; i++)
		if (!p->cfg.beside || (!p->workers[i]->jvm && !p->workers[i]->driver))
			add_children(p, p->workers[i]->pid, false);
	p->search_due_ns = begun + 20 * (sp_clock_mono_ns() - begun);
}

/* Puts @by in the place of @w, who ends. */
static void replace(struct sp_pyprocesses *p, struct sp_pyworker *w, struct sp_pyworker *by)
{
	sp_pyrecord_hold(p->sampling.record);
	for (size_t i = 0; i < p->count; i++)
		if (p->workers[i] == w)
			p->workers[i] = by;
	sp_pyrecord_release(p->sampling.record);
	let_go(p, w);
	free(w);
}

/* Begins again with a process after its memory was opened, unless it has become another. */
static void begin_again(struct sp_pyprocesses *p, struct sp_pyworker *old, int file)
{
	struct sp_pyworker *w = malloc(sizeof(*w));
	struct sp_err err = {""}, why = old->why;
	bool same;

	if (!w) {
		close(file);
		return;
	}
	sp_pyworker_init(w,
		&(struct sp_pymem_process){.pid = old->pid, .has_file = true, .file = file},
		find(p, old->parent), &err);
	w->parent = old->parent;
	w->first_ns = old->first_ns;
	w->asked = true;
	w->why = err;
	same = w->start_ticks == old->start_ticks;
	replace(p, old, w);
	if (same && w->python) {
		p->ever++;
		p->opened++;
	} else if (w->refused) {
		say_refused(p, w->pid, &why);
	}
}

void sp_pyprocesses_answer(struct sp_pyprocesses *p, pid_t pid, int error, int fd)
{
	struct sp_pyworker *w = NULL;

	for (size_t i = 0; i < p->count && !w; i++)
		if (p->workers[i]->refused && p->workers[i]->own_pid == pid)
			w = p->workers[i];
	if (w && error == 0) {
		begin_again(p, w, fd);
		return;
	}
	if (fd >= 0)
		close(fd);
	if (w)
		say_refused(p, w->pid, &w->why);
}

/* It has no Python any more, and lives: it ends just now, or executes something else. That is
 * looked at soon, and then as for all others. */
static bool set_aside(struct sp_pyprocesses *p, struct sp_pyworker *old, uint64_t now_ns)
{
	struct sp_pyworker *w = calloc(1, sizeof(*w));

	if (!w)
		return false;
	w->pid = old->pid;
	w->parent = old->parent;
	w->start_ticks = old->start_ticks;
	replace(p, old, w);
	p->look_again_ns = now_ns + nap_ns;
	return true;
}

/* Sockets between the JVM's threads and workers: at once while one works that does not say for
 * which task, and now and then of all, to compare with what they say. A look at a JVM of many
 * threads takes long: it costs a hundredth of a core at most, and half of that where the threads
 * are known. */
static void look_at_sockets(struct sp_pyprocesses *p, uint64_t now_ns)
{
	bool all = now_ns >= p->all_sockets_due_ns, wanted = false;

	for (size_t i = 0; i < p->count && !wanted; i++)
		wanted = (all && p->workers[i]->python && p->workers[i]->worker) ||
			 sp_pyworker_is_unknown(p->workers[i]);
	if (!p->cfg.beside || !wanted || now_ns < p->sockets_due_ns)
		return;
	sp_pysockets_look(&p->sockets, p->cfg.root);
	for (size_t i = 0; i < p->count; i++) {
		struct sp_pyworker *w = p->workers[i];

		uint32_t java;

		if (!w->python || !w->worker || !(all || sp_pyworker_is_unknown(w)))
			continue;
		java = sp_pysockets_find(&p->sockets, w->pid);
		sp_pyworker_socket(w, &p->sampling, java, now_ns);
		p->compared += java && w->task.tid >= 0;
	}
	p->sockets_due_ns =
		now_ns + nap_ns / 4 + (p->cfg.tasks ? 200 : 100) * (sp_clock_mono_ns() - now_ns);
	if (all)
		p->all_sockets_due_ns = now_ns + (p->compared < COMPARED ? 1 : 10) * second_ns;
}

static void end_worker(struct sp_pyprocesses *p, size_t i, uint64_t now_ns)
{
	struct sp_pyworker *w = p->workers[i];

	sp_pyrecord_hold(p->sampling.record);
	sp_pyworker_flush(w, &p->sampling, now_ns, true);
	sp_pyrecord_release(p->sampling.record);
	if (sp_pyproc_start(w->pid) != w->start_ticks || !set_aside(p, w, now_ns))
		remove_at(p, i);
}

void sp_pyprocesses_sample(struct sp_pyprocesses *p, uint64_t now_ns)
{
	size_t n = p->count;

	if (p->look_again_ns && now_ns >= p->look_again_ns) {
		p->look_again_ns = 0;
		check_known(p);
		n = p->count;
	}
	p->rest = true;
	for (size_t i = 0; i < n; i++) {
		p->workers[i]->rests = p->workers[i]->python && sp_pyworker_rests(p->workers[i]);
		p->rest &= p->workers[i]->rests || !p->workers[i]->python;
	}
	for (size_t i = 0; i < n; i++) { /* what a daemon forks may live for less than a second */
		const struct sp_pyworker *w = p->workers[i];

		if (w->python && !w->worker && !w->driver && !w->rests)
			add_children(p, w->pid, true);
	}
	for (size_t i = p->count; i-- > 0;)
		if (p->workers[i]->python &&
			sp_pyworker_sample(p->workers[i], &p->sampling, now_ns) < 0)
			end_worker(p, i, now_ns);
	look_at_sockets(p, now_ns);
}

/* What is known of code is read again where it is needed. */
static void trim_codes(struct sp_pyprocesses *p)
{
	size_t bytes = 0;

	for (size_t i = 0; i < p->count; i++)
		bytes += p->workers[i]->reader.codes.bytes;
	for (size_t i = 0; p->cfg.codes && bytes > p->cfg.codes && i < p->count; i++)
		sp_pyreader_forget(&p->workers[i]->reader);
}

static void write_group(struct sp_pyprocesses *p, uint64_t now_ns)
{
	uint64_t before = sp_clock_read(CLOCK_THREAD_CPUTIME_ID), used, limit;
	int r = sp_cgroup_memory(p->cfg.root, &used, &limit);

	before = sp_clock_read(CLOCK_THREAD_CPUTIME_ID) - before;
	p->group_due_ns = now_ns + (p->groups++ < 3 ? 0 : GROUP_SHARE * before);
	if (r < 0)
		return;
	sp_pyrecord_hold(p->sampling.record);
	sp_pyrecord_group(p->sampling.record, now_ns, used, limit);
	sp_pyrecord_release(p->sampling.record);
}

void sp_pyprocesses_second(struct sp_pyprocesses *p, uint64_t now_ns)
{
	search(p);
	trim_codes(p);
	for (size_t i = 0; i < p->count; i++)
		if (p->workers[i]->python)
			sp_pyworker_use(p->workers[i], &p->sampling, now_ns);
	if (now_ns >= p->group_due_ns)
		write_group(p, now_ns);
}

bool sp_pyprocesses_has_root(const struct sp_pyprocesses *p)
{
	return find(p, p->cfg.root) != NULL;
}

void sp_pyprocesses_settle(struct sp_pyprocesses *p, uint64_t now_ns)
{
	for (size_t i = 0; i < p->count; i++)
		sp_pyworker_flush(p->workers[i], &p->sampling, now_ns, false);
}

void sp_pyprocesses_left(struct sp_pyprocesses *p, uint64_t now_ns)
{
	for (size_t i = 0; i < p->count; i++)
		sp_pyworker_flush(p->workers[i], &p->sampling, now_ns, true);
}

int sp_pyprocesses_init(struct sp_pyprocesses *p, const struct sp_pyprocesses_cfg *cfg,
	const struct sp_pysampling *sampling, struct sp_err *err)
{
	int r = 0;

	memset(p, 0, sizeof(*p));
	p->cfg = *cfg;
	p->sampling = *sampling;
	if (p->sampling.depth > SP_PY_DEPTH_MAX)
		p->sampling.depth = SP_PY_DEPTH_MAX;
	if (!p->sampling.depth_left || p->sampling.depth_left > p->sampling.depth)
		p->sampling.depth_left = p->sampling.depth;
	p->sampling.stack = malloc(sizeof(*p->sampling.stack));
	p->sampling.walk = sp_pywalk_new();
	p->orphans.wanted = true;
	p->sockets.no_call = cfg->no_call;
	p->sockets.tasks = cfg->tasks;
	p->sockets.ctx = cfg->ctx;
	if (!p->sampling.stack || !p->sampling.walk)
		return sp_err_set(err, -ENOMEM, "out of memory");
	if (!cfg->beside)
		r = add(p, cfg->root, NULL, err);
	if (r == 0 && !cfg->beside && !p->workers[0]->python)
		r = sp_err_set(err, -ENOEXEC, "is not a Python process");
	return r;
}

static void remove_all(struct sp_pyprocesses *p)
{
	while (p->count)
		remove_at(p, p->count - 1);
}

void sp_pyprocesses_done(struct sp_pyprocesses *p)
{
	remove_all(p);
	free(p->workers);
	free(p->sampling.stack);
	sp_pywalk_free(p->sampling.walk);
	p->workers = NULL;
	p->sampling.stack = NULL;
	p->sampling.walk = NULL;
	p->cap = 0;
}

static void note_opened(const struct sp_pyprocesses *p)
{
	char text[160];

	snprintf(text, sizeof(text),
		"%u Python processes were read by the JVM that started them, because the kernel "
		"allows no other process to read them",
		p->opened);
	sp_pyrecord_note(p->sampling.record, text);
}

void sp_pyprocesses_end(struct sp_pyprocesses *p, uint64_t now_ns)
{
	struct sp_pyrecord *r = p->sampling.record;

	for (size_t i = 0; i < p->count; i++)
		sp_pyworker_flush(p->workers[i], &p->sampling, now_ns, true);
	remove_all(p);
	if (p->opened)
		note_opened(p);
	if (p->said.text[0])
		sp_pyrecord_note(r, p->said.text);
}

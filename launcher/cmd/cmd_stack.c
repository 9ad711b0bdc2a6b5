/* sparkprof stack TARGET: what the tasks of an executor do at this moment (--all: all threads),
 * each with the Python workers that work for it below its thread; the threads of another JVM; or a
 * Python process and its children. Python is only read; nothing is stopped. */
#include "cli/command.h"

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/redact.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/safe_print.h"
#include "discover/target.h"
#include "elf/demangle.h"
#include "proc/proc.h"
#include "proc/stopped_target.h"
#include "pysample/driver_python.h"
#include "python/py_native.h"
#include "pysample/py_worker.h"
#include "run/jvm_stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 1024, AGAIN = 20 };

static const char *const states[SP_STATES] = {
	[SP_STATE_RUNNING] = "running",
	[SP_STATE_LOCK] = "waits for a lock",
	[SP_STATE_NET] = "waits for the network",
	[SP_STATE_DISK] = "waits for a disk",
	[SP_STATE_SLEEP] = "sleeps",
	[SP_STATE_POLL] = "polls",
	[SP_STATE_BLOCKED] = "blocked",
};

/* The thread as seen from here; 0: not found. */
static pid_t host_tid(const struct sp_pyworker *w, uint32_t tid)
{
	pid_t host = sp_pyproc_thread(w->pid, tid);

	return !host && w->reader.thread_count == 1 ? w->pid : host;
}

static const char *state_of(const struct sp_pyworker *w, pid_t host)
{
	struct sp_pyproc_look look = {0};
	int fds[2] = {-1, -1}, r;

	r = host ? sp_pyproc_look(w->pid, host, fds, &look) : -ESRCH;
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return r == 0 && states[look.state] ? states[look.state] : "state unknown";
}

struct room {
	bool no_redact;
	struct sp_pystack stack;
	struct sp_pymixed mixed;
	struct sp_pynative *native; /* of the process at hand; NULL: not asked for */
	bool json;
};

static void add_frames(struct sp_buf *b, const struct sp_pystack *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		sp_buf_adds(b, "    ");
		sp_safe_print_text(b, s->frames[i].code->name, 0);
		sp_buf_adds(b, " (");
		sp_safe_print_text(b, s->frames[i].code->file, 0);
		sp_buf_addf(b, ":%d)\n", s->frames[i].line);
	}
	if (s->truncated)
		sp_buf_adds(b, "    ...\n");
	if (!s->count)
		sp_buf_adds(b, "    no Python code\n");
}

static void add_function(struct sp_buf *b, const char *name)
{
	SP_AUTO_BUF struct sp_buf readable;

	sp_buf_init(&readable);
	if (sp_demangle(name, false, &readable) == 0)
		name = sp_buf_str(&readable);
	sp_safe_print_text(b, name, 0);
}

static void add_mixed(struct sp_buf *b, const struct sp_pymixed *m)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct sp_pymixed_frame *f = &m->frames[i];

		sp_buf_adds(b, "    ");
		if (f->code) {
			sp_safe_print_text(b, f->code->name, 0);
			sp_buf_adds(b, " (");
			sp_safe_print_text(b, f->code->file, 0);
			sp_buf_addf(b, ":%d)\n", f->line);
			continue;
		}
		sp_safe_print_text(b, f->native.module[0] ? f->native.module : "[unknown]", 0);
		if (f->native.name) {
			sp_buf_addc(b, '`');
			add_function(b, f->native.name);
		}
		sp_buf_addc(b, '\n');
	}
	if (m->truncated)
		sp_buf_adds(b, "    ...\n");
}

/* Native and Python frames; where the former cannot be had, why. Returns false: Python's alone. */
static bool add_native(
	struct sp_buf *b, struct sp_pyworker *w, size_t number, pid_t host, struct room *room)
{
	int r = -ESRCH;

	if (!room->native)
		return false;
	for (int i = 0; i < AGAIN && host && (i == 0 || r == -EAGAIN); i++)
		r = sp_pynative_stack(
			room->native, &w->reader, number, host, &room->stack, &room->mixed);
	if (r == 0)
		add_mixed(b, &room->mixed);
	else
		sp_buf_addf(b, "    native frames cannot be read: %s\n", strerror(-r));
	return r == 0;
}

/* The Python frames of a thread, tried again where they change too quickly. */
static int read_stack(struct sp_pyworker *w, size_t number, struct sp_pystack *stack)
{
	int r = -EAGAIN;

	for (int i = 0; i < AGAIN && (r == -EAGAIN || (r == 0 && stack->partial)); i++)
		r = sp_pyreader_stack(&w->reader, number, stack);
	return r;
}

static void add_json_frame(struct sp_buf *b, const char *name, const char *file, int line)
{
	sp_buf_adds(b, "{\"name\": ");
	sp_safe_print_json(b, name);
	sp_buf_adds(b, ", \"file\": ");
	sp_safe_print_json(b, file);
	sp_buf_addf(b, ", \"line\": %d}", line);
}

static void add_json_mixed(struct sp_buf *b, const struct sp_pymixed *m)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct sp_pymixed_frame *f = &m->frames[i];

		sp_buf_adds(b, i ? ", " : "");
		if (f->code)
			add_json_frame(b, f->code->name, f->code->file, f->line);
		else {
			sp_buf_adds(b, "{\"name\": ");
			sp_safe_print_json(b, f->native.name ? f->native.name : "[unknown]");
			sp_buf_adds(b, ", \"module\": ");
			sp_safe_print_json(b, f->native.module);
			sp_buf_addc(b, '}');
		}
	}
}

static void add_json_thread(
	struct sp_buf *b, struct sp_pyworker *w, size_t number, struct room *room)
{
	const struct sp_pythread *t = &w->reader.threads[number];
	pid_t host = host_tid(w, t->tid);
	struct sp_pystack *s = &room->stack;
	int r = -ESRCH;

	sp_buf_addf(b, "%s{\"tid\": %u, \"state\": ", number ? ", " : "", t->tid);
	sp_safe_print_json(b, state_of(w, host));
	sp_buf_addf(b, ", \"gil\": %s, \"frames\": [",
		sp_pyreader_gil(&w->reader) == t->addr ? "true" : "false");
	for (int i = 0; room->native && i < AGAIN && host && (i == 0 || r == -EAGAIN); i++)
		r = sp_pynative_stack(room->native, &w->reader, number, host, s, &room->mixed);
	if (room->native && r == 0)
		add_json_mixed(b, &room->mixed);
	else if (read_stack(w, number, s) == 0)
		for (uint32_t i = 0; i < s->count; i++) {
			sp_buf_adds(b, i ? ", " : "");
			add_json_frame(b, s->frames[i].code->name, s->frames[i].code->file,
				s->frames[i].line);
		}
	sp_buf_adds(b, "]}");
}

static void add_json_process(
	struct sp_buf *b, struct sp_pyworker *w, struct room *room, int64_t *ret_task)
{
	struct sp_pytask task;
	char command[512];

	sp_pyproc_command(w->pid, command, sizeof(command));
	sp_buf_addf(b, "{\"pid\": %d, \"name\": ", (int)w->pid);
	sp_safe_print_json(b, w->name);
	sp_buf_addf(b, ", \"version\": \"3.%u\", \"command\": ", w->place.minor);
	sp_safe_print_json(b, command);
	if (sp_pytask_find(&w->reader, &w->task_place) == 0 &&
		sp_pytask_read(&w->reader, &w->task_place, &task) == 0) {
		sp_buf_addf(b, ", \"stage\": %lld, \"partition\": %lld, \"task\": %lld",
			(long long)task.stage, (long long)task.partition, (long long)task.tid);
		*ret_task = task.tid;
	}
	sp_buf_adds(b, ", \"threads\": [");
	for (size_t i = 0; i < w->reader.thread_count; i++)
		add_json_thread(b, w, i, room);
	sp_buf_adds(b, "]}");
}

static void add_thread(struct sp_buf *b, struct sp_pyworker *w, size_t number, struct room *room)
{
	const struct sp_pythread *t = &w->reader.threads[number];
	pid_t host = host_tid(w, t->tid);
	const char *state = state_of(w, host); /* first: a thread that slept then is still there */
	struct sp_pystack *stack = &room->stack;
	int r;

	sp_buf_addf(b, "  thread %u, %s%s\n", t->tid, state,
		sp_pyreader_gil(&w->reader) == t->addr ? ", has the GIL" : "");
	if (add_native(b, w, number, host, room))
		return;
	r = read_stack(w, number, stack);
	if (r < 0)
		sp_buf_addf(b, "    cannot be read: %s\n",
			r == -EAGAIN ? "it changes too quickly" : strerror(-r));
	else
		add_frames(b, stack);
}

static void add_process(
	struct sp_buf *b, struct sp_pyworker *w, struct room *room, int64_t *ret_task)
{
	struct sp_pytask task;
	char command[512];
	const char *by;

	sp_pyproc_command(w->pid, command, sizeof(command));
	if (!room->no_redact)
		sp_redact_in_place(command, sizeof(command));
	sp_buf_addf(b, "%s, Python 3.%u", w->name, w->place.minor);
	if (w->place.micro < 255)
		sp_buf_addf(b, ".%u", w->place.micro);
	sp_buf_adds(b, ": ");
	sp_safe_print_text(b, command, 160);
	sp_buf_addc(b, '\n');
	if (sp_stopped_target_is(w->pid, &by))
		sp_buf_addf(b, "  is stopped (%s); kill -CONT %d lets it go on\n", by, (int)w->pid);
	if (sp_pytask_find(&w->reader, &w->task_place) == 0 &&
		sp_pytask_read(&w->reader, &w->task_place, &task) == 0) {
		sp_buf_addf(b, "  stage %lld, partition %lld, TID %lld\n", (long long)task.stage,
			(long long)task.partition, (long long)task.tid);
		*ret_task = task.tid;
	}
	for (size_t i = 0; i < w->reader.thread_count; i++)
		add_thread(b, w, i, room);
}

/* A Python process, in words, and the task it works on; -1: none. */
struct piece {
	int64_t task;
	bool placed; /* it is shown below its task's thread */
	struct sp_buf text;
};

struct dump {
	struct room *room;
	bool native;
	struct sp_jvm_stacks *jvm; /* of the target, NULL: it is none */
	pid_t driver;		   /* its application's own Python; 0: none */
	struct piece *pieces;	   /* owned */
	size_t count;
	struct sp_err why; /* the first that could not be read */
	int error;
};

static void add_piece(struct dump *d, struct sp_pyworker *w)
{
	struct sp_err err = {""};
	struct piece *list;

	if (sp_grow_one(&d->pieces, d->count, sizeof(*d->pieces)) < 0) {
		d->error = sp_err_set(&d->why, -ENOMEM, "out of memory");
		return;
	}
	list = &d->pieces[d->count++];
	*list = (struct piece){.task = -1};
	sp_buf_init(&list->text);
	if (d->native && sp_pynative_new(&d->room->native, w->pid, &err) < 0)
		sp_message_warn("pid %d: %s", (int)w->pid, err.text);
	(d->room->json ? add_json_process : add_process)(&list->text, w, d->room, &list->task);
	sp_pynative_free(d->room->native);
	d->room->native = NULL;
}

/* What the kernel does not let us read, the JVM that it is a child of may. */
static int look_into(struct dump *d, struct sp_pyworker *w, pid_t pid,
	const struct sp_pyworker *like, struct sp_err *err)
{
	struct sp_pymem_process process = {.pid = pid};
	int r = sp_pyworker_init(w, &process, like, err), fd;

	if (r != -EPERM || !d->jvm)
		return r;
	fd = sp_jvm_stacks_memory(d->jvm, pid);
	if (fd < 0)
		return r;
	sp_pyworker_done(w);
	process.has_file = true;
	process.file = fd;
	return sp_pyworker_init(w, &process, like, err);
}

/* @like: its parent, NULL: it has none that is Python. */
static void dump_tree(
	struct dump *d, pid_t pid, const struct sp_pyworker *like, bool jvm, int depth)
{
	SP_AUTO_FREE pid_t *children = calloc(PROCESSES, sizeof(*children));
	struct sp_pyworker w = {0};
	struct sp_err err = {""};
	size_t n = children ? sp_pyproc_children(pid, false, children, PROCESSES) : 0;
	int r = jvm ? 0 : look_into(d, &w, pid, like, &err);

	if (r < 0 && d->error == 0) {
		d->error = r;
		sp_err_set(&d->why, r, "pid %d: %s", (int)pid, err.text);
	}
	if (w.python && (depth == 0 || pid != d->driver))
		add_piece(d, &w);
	n = w.jvm && d->jvm ? 0 : n; /* below another JVM they are that one's */
	for (size_t i = 0; i < n && depth < 32; i++)
		dump_tree(d, children[i], w.python ? &w : NULL, false, depth + 1);
	sp_pyworker_done(&w);
}

/* The Python of a driver's application may be the JVM's parent: what is below it is not. */
static void dump_driver(struct dump *d, const struct sp_jvm *t)
{
	struct sp_pyworker w = {0};
	struct sp_err err = {""};
	int r;

	d->driver = t->role == SP_ROLE_DRIVER ? sp_driver_python(t->pid) : 0;
	if (!d->driver)
		return;
	r = look_into(d, &w, d->driver, NULL, &err);
	if (r < 0)
		d->error = sp_err_set(&d->why, r, "pid %d: %s", (int)d->driver, err.text);
	if (w.python) {
		sp_pyworker_is_drivers(&w);
		add_piece(d, &w);
	}
	sp_pyworker_done(&w);
}

/* Every line of a piece, further in. */
static void add_below(struct sp_buf *b, const char *text)
{
	for (const char *end; *text; text = end) {
		end = strchrnul(text, '\n');
		end += *end != 0;
		sp_buf_adds(b, "      ");
		sp_buf_add(b, text, (size_t)(end - text));
	}
}

/* @sep: what comes before a piece of JSON. */
static void add_json_piece(struct sp_buf *b, const char **sep, struct piece *p)
{
	sp_buf_adds(b, *sep);
	sp_buf_adds(b, sp_buf_str(&p->text));
	*sep = ", ";
}

static void add_workers(void *ctx, struct sp_buf *b, int64_t tid)
{
	struct dump *d = ctx;
	const char *sep = ", \"python\": [";

	for (size_t i = 0; i < d->count; i++) {
		if (d->pieces[i].task != tid || d->pieces[i].placed)
			continue;
		if (d->room->json)
			add_json_piece(b, &sep, &d->pieces[i]);
		else
			add_below(b, sp_buf_str(&d->pieces[i].text));
		d->pieces[i].placed = true;
	}
	sp_buf_adds(b, d->room->json && strcmp(sep, ", ") == 0 ? "]" : "");
}

/* Those without a task are shown where threads without one are. */
static void add_others(
	const struct dump *d, struct sp_buf *b, const struct sp_jvm *t, const struct sp_call *call)
{
	bool named = call->thread && t->kind != SP_JVM_NONE; /* of the JVM, and no process */
	bool tasks_only = !call->all && t->role == SP_ROLE_EXECUTOR;
	const char *sep = "";
	size_t left = 0;

	if (d->room->json && t->kind == SP_JVM_NONE)
		sp_buf_addf(b, "{\"pid\": %d", (int)t->pid);
	sp_buf_adds(b, d->room->json ? ",\n \"python\": [" : "");
	for (size_t i = 0; i < d->count; i++) {
		bool out = tasks_only && d->pieces[i].task < 0;

		if (d->pieces[i].placed || out || named) {
			left += out;
			continue;
		}
		if (d->room->json)
			add_json_piece(b, &sep, &d->pieces[i]);
		else
			sp_buf_adds(b, sp_buf_str(&d->pieces[i].text));
	}
	sp_buf_adds(b, d->room->json ? "]}\n" : "");
	if (left && !named && !d->room->json)
		sp_buf_addf(b, "%zu Python process%s for no task; --all shows %s\n", left,
			left == 1 ? " works" : "es work", left == 1 ? "it" : "them");
}

/* @code: what came of the JVM. */
static int give(const struct dump *d, struct sp_buf *text, const struct sp_jvm *t, int code)
{
	if (text->failed || fputs(sp_buf_str(text), stdout) < 0 || fflush(stdout)) {
		sp_message_error("stack: cannot write to stdout");
		return SP_EXIT_FAILED;
	}
	if (d->error && d->error != -ESRCH) {
		sp_message_error("%s", d->why.text);
		return SP_EXIT_TARGET;
	}
	if (text->len == 0 && t->kind == SP_JVM_NONE) {
		sp_message_error("pid %d: is not a Python process, nor is any child", (int)t->pid);
		return SP_EXIT_TARGET;
	}
	return code;
}

static int dump(const struct sp_call *call, const struct sp_jvm *t)
{
	SP_AUTO_BUF struct sp_buf text;
	struct dump d = {.room = calloc(1, sizeof(*d.room)), .native = call->native};
	bool is_jvm = t->kind != SP_JVM_NONE;
	int code = SP_EXIT_DONE;

	sp_buf_init(&text);
	if (d.room) {
		d.room->json = call->json;
		d.room->no_redact = call->no_redact;
	}
	if (is_jvm)
		sp_jvm_stacks_begin(&d.jvm, t, call);
	if (d.room && is_jvm)
		dump_driver(&d, t);
	if (d.room)
		dump_tree(&d, t->pid, NULL, is_jvm, 0);
	if (is_jvm)
		code = sp_jvm_stacks_end(d.jvm, &text, add_workers, &d);
	if (d.room && (!d.room->json || text.len || (!is_jvm && d.count)))
		add_others(&d, &text, t, call);
	code = give(&d, &text, t, code);
	for (size_t i = 0; i < d.count; i++)
		sp_buf_done(&d.pieces[i].text);
	free(d.pieces);
	free(d.room);
	return code;
}

int sp_cmd_stack(const struct sp_call *call)
{
	SP_AUTO_CLOSE int procfd = sp_proc_root();
	SP_AUTO_TARGETS struct sp_targets targets = {0};
	struct sp_err err = {""};
	int r = sp_target_resolve(procfd, call->targets, call->n_targets, &targets, &err), code = 0;

	if (r < 0) {
		sp_message_error("%s", err.text);
		return r == -EINVAL ? SP_EXIT_USAGE : SP_EXIT_TARGET;
	}
	if (targets.n > 1 && call->json) {
		sp_message_error("stack --json: takes one target, but %s are %zu", call->targets[0],
			targets.n);
		return SP_EXIT_USAGE;
	}
	for (size_t i = 0; i < targets.n && !sp_interrupted(); i++) {
		r = dump(call, &targets.list[i]);
		code = r > code ? r : code;
	}
	return code;
}

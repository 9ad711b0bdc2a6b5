/* sparkprof stack PID: what a Python process and its children do at this moment, or the Python
 * workers of a JVM. It reads only; nothing is stopped. */
#include "command.h"

#include "base/cleanup.h"
#include "message.h"
#include "proc.h"
#include "py_worker.h"
#include "show.h"
#include "target.h"

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

static const char *state_of(const struct sp_pyworker *w, uint32_t tid)
{
	struct sp_pyproc_look look;
	int fds[2] = {-1, -1}, r;
	pid_t host = sp_pyproc_thread(w->pid, tid);

	host = !host && w->reader.thread_count == 1 ? w->pid : host;
	r = host ? sp_pyproc_look(w->pid, host, fds, &look) : -ESRCH;
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return r == 0 && states[look.state] ? states[look.state] : "state unknown";
}

static void add_frames(struct sp_buf *b, const struct sp_pystack *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		sp_buf_adds(b, "    ");
		sp_show_text(b, s->frames[i].code->name, 0);
		sp_buf_adds(b, " (");
		sp_show_text(b, s->frames[i].code->file, 0);
		sp_buf_addf(b, ":%d)\n", s->frames[i].line);
	}
	if (s->truncated)
		sp_buf_adds(b, "    ...\n");
	if (!s->count)
		sp_buf_adds(b, "    no Python code\n");
}

static void add_thread(
	struct sp_buf *b, struct sp_pyworker *w, size_t number, struct sp_pystack *stack)
{
	const struct sp_pythread *t = &w->reader.threads[number];
	const char *state = state_of(w, t->tid); /* first: who slept then stands there now */
	int r = -EAGAIN;

	for (int i = 0; i < AGAIN && (r == -EAGAIN || (r == 0 && stack->partial)); i++)
		r = sp_pyreader_stack(&w->reader, number, stack);
	sp_buf_addf(b, "  thread %u, %s%s\n", t->tid, state,
		sp_pyreader_gil(&w->reader) == t->addr ? ", has the GIL" : "");
	if (r < 0)
		sp_buf_addf(b, "    cannot be read: %s\n",
			r == -EAGAIN ? "it changes too quickly" : strerror(-r));
	else
		add_frames(b, stack);
}

static void add_process(struct sp_buf *b, struct sp_pyworker *w, struct sp_pystack *stack)
{
	struct sp_pytask task;
	char command[512];

	sp_pyproc_command(w->pid, command, sizeof(command));
	sp_buf_addf(b, "%s, Python 3.%u", w->name, w->place.minor);
	if (w->place.micro < 255)
		sp_buf_addf(b, ".%u", w->place.micro);
	sp_buf_adds(b, ": ");
	sp_show_text(b, command, 160);
	sp_buf_addc(b, '\n');
	if (sp_pytask_find(&w->reader, &w->task_place) == 0 &&
		sp_pytask_read(&w->reader, &w->task_place, &task) == 0)
		sp_buf_addf(b, "  stage %lld, partition %lld, TID %lld\n", (long long)task.stage,
			(long long)task.partition, (long long)task.tid);
	for (size_t i = 0; i < w->reader.thread_count; i++)
		add_thread(b, w, i, stack);
}

struct dump {
	struct sp_buf text;
	struct sp_pystack *stack;
	size_t found;
	struct sp_err why; /* the first that could not be read */
	int error;
};

/* @like: its parent, NULL: it has none that is Python. */
static void dump_tree(
	struct dump *d, pid_t pid, const struct sp_pyworker *like, bool jvm, int depth)
{
	SP_AUTO_FREE pid_t *children = calloc(PROCESSES, sizeof(*children));
	struct sp_pyworker w = {0};
	struct sp_err err = {""};
	size_t n = children ? sp_pyproc_children(pid, false, children, PROCESSES) : 0;
	int r = jvm ? 0 : sp_pyworker_init(&w, pid, like, &err);

	if (r < 0 && d->error == 0) {
		d->error = r;
		sp_err_set(&d->why, r, "pid %d: %s", (int)pid, err.text);
	}
	if (w.python) {
		add_process(&d->text, &w, d->stack);
		d->found++;
	}
	for (size_t i = 0; i < n && depth < 32; i++)
		dump_tree(d, children[i], w.python ? &w : NULL, false, depth + 1);
	sp_pyworker_done(&w);
}

static int give(struct dump *d, const struct sp_jvm *t)
{
	if (d->found &&
		(d->text.failed || fputs(sp_buf_str(&d->text), stdout) < 0 || fflush(stdout))) {
		sp_message_error("stack: cannot write to stdout");
		return SP_EXIT_FAILED;
	}
	if (d->error && d->error != -ESRCH) {
		sp_message_error("%s", d->why.text);
		return SP_EXIT_TARGET;
	}
	if (d->found)
		return SP_EXIT_DONE;
	if (t->kind == SP_JVM_NONE)
		sp_message_error("pid %d: is no Python, and has no child that is one", (int)t->pid);
	else
		sp_message_error("pid %d: is a JVM without Python workers; for its own threads, "
				 "'jcmd %d Thread.print', or -e wall",
			(int)t->pid, (int)t->nspid);
	return SP_EXIT_TARGET;
}

int sp_cmd_stack(const struct sp_call *call)
{
	SP_AUTO_CLOSE int procfd = sp_proc_root();
	SP_AUTO_TARGETS struct sp_targets targets = {0};
	struct dump d = {0};
	struct sp_err err = {""};
	int r = sp_target_resolve(procfd, call->targets, call->n_targets, &targets, &err);
	int code;

	if (r < 0) {
		sp_message_error("%s", err.text);
		return r == -EINVAL ? SP_EXIT_USAGE : SP_EXIT_TARGET;
	}
	sp_buf_init(&d.text);
	d.stack = malloc(sizeof(*d.stack));
	if (d.stack)
		dump_tree(&d, targets.list[0].pid, NULL, targets.list[0].kind != SP_JVM_NONE, 0);
	code = give(&d, &targets.list[0]);
	free(d.stack);
	sp_buf_done(&d.text);
	return code;
}

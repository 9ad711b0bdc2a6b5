/* See stack_jvm.h. */
#include "stack_jvm.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "command.h"
#include "interrupt.h"
#include "message.h"
#include "py_ask.h"
#include "prof/framename.h"
#include "run.h"
#include "show.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A thread that stands still is seen at the first look, one that runs when it next has a core. */
static const uint64_t interval_ns = 10000000, duration_ns = 100000000;
/* Of a recording that goes on: it was flushed a moment ago, and every second before. */
static const uint64_t last_ns = 1500000000;
/* For what the agent opens: an answer, and a look whether it came. */
static const uint64_t answer_ns = 2000000000, look_ns = 20000000;

struct sp_stackjvm {
	struct sp_call call;
	struct sp_run run;
	uint64_t end_ns;
};

/* A thread and the last that was seen of it. */
struct line {
	uint32_t tid, until;
	int64_t task; /* TID; -1: none */
	bool own;     /* it is the task's thread, not one that helps it */
	const char *name;
	const struct sp_sample *row;
};

/* There is never a second sampler: the recording of the first is what can be shown. */
static void read_other(struct sp_stackjvm *s)
{
	struct sp_chan *chan = &s->run.link.chan;
	struct sp_msg request = {.type = SP_MSG_FLUSH}, m;
	struct sp_err err;

	if (sp_link_ask(&s->run.link, &request, NULL, 0, &m, &err) == 0 && chan->n_fds == 1 &&
		sp_chan_check_output(chan->fds[0]) == 0) {
		sp_outputs_adopt(&s->run.outputs, chan->fds[0]);
		chan->n_fds = 0;
	}
}

int sp_stackjvm_begin(
	struct sp_stackjvm **ret, const struct sp_jvm *target, const struct sp_call *call)
{
	struct sp_stackjvm *s = calloc(1, sizeof(*s));

	*ret = s;
	if (!s) {
		sp_message_error("out of memory");
		return SP_EXIT_FAILED;
	}
	sp_interrupt_mind();
	s->call = *call;
	s->call.action = SP_ACTION_COLLECT;
	s->call.python = SP_PYTHON_OFF;
	s->call.all_threads = true;
	s->call.events[0] = (struct sp_call_event){"wall", true, interval_ns};
	s->call.n_events = 1;
	s->call.outputs[0] = (struct sp_call_output){"-", SP_FORMAT_TEXT};
	s->call.n_outputs = 1;
	sp_run_init(&s->run, target);
	s->run.minds_busy = true;
	sp_run_start(&s->run, &s->call);
	if (s->run.busy.text[0])
		read_other(s);
	s->end_ns = sp_clock_mono_ns() + duration_ns;
	return s->run.code;
}

struct answer {
	bool came;
	int fd;
};

static void take_memory(void *ctx, pid_t pid, int error, int fd)
{
	struct answer *a = ctx;

	if (a->came && fd >= 0)
		close(fd);
	else
		*a = (struct answer){true, fd};
}

int sp_stackjvm_memory(struct sp_stackjvm *s, pid_t pid)
{
	uint64_t end = sp_clock_mono_ns() + answer_ns;
	struct answer answer = {false, -1};
	struct sp_link *l = s ? &s->run.link : NULL;
	struct sp_pyask ask;
	struct sp_err err;
	struct sp_msg m;
	int r = l && l->chan.fd >= 0 ? 0 : -EPERM;

	if (r < 0)
		return r;
	l->memory = take_memory;
	l->memory_ctx = &answer;
	sp_pyask_init(&ask, l->chan.fd);
	r = sp_pyask(&ask, pid);
	while (r > 0 && !answer.came && sp_clock_mono_ns() < end)
		if (sp_link_next(l, &m, sp_clock_mono_ns() + look_ns, &err) < 0 && l->chan.fd < 0)
			break;
	sp_pyask_done(&ask);
	l->memory = NULL;
	return answer.fd >= 0 ? answer.fd : -EPERM;
}

static void wait_for_all(struct sp_stackjvm *s)
{
	while (s->run.recording && !sp_interrupted()) {
		struct pollfd p = {s->run.link.chan.fd, POLLIN, 0};
		uint64_t now = sp_clock_mono_ns();

		if (now >= s->end_ns)
			return;
		if (poll(&p, 1, (int)((s->end_ns - now) / 1000000 + 1)) > 0)
			sp_run_follow(&s->run);
	}
}

static int by_task(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if ((x->task < 0) != (y->task < 0))
		return x->task < 0 ? 1 : -1;
	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->own != y->own)
		return x->own ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static struct line line_of(const struct sp_profile *p, const struct sp_sample *row)
{
	const struct sp_thread *t = sp_dict_get_thread(p->dict, row->thread);
	const struct sp_task_run *task = row->task ? &p->tasks[row->task - 1] : NULL;

	return (struct line){.tid = t ? t->tid : 0,
		.until = row->bucket + row->span,
		.task = task ? task->name.task_id : -1,
		.own = task && !task->helper,
		.name = t ? sp_dict_get_string(p->dict, t->name_id, NULL) : "",
		.row = row};
}

/* The last row of each thread. Returns how many, -ENOMEM. */
static ssize_t last_of_each(const struct sp_profile *p, struct line **ret)
{
	struct line *lines = calloc(p->row_count + 1, sizeof(*lines));
	size_t n = 0, k;

	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < p->row_count; i++) {
		struct line x = line_of(p, &p->rows[i]);

		if (strcmp(sp_profile_event_name(p, p->rows[i].event), "wall") != 0)
			continue;
		for (k = 0; k < n && lines[k].tid != x.tid; k++)
			;
		if (k == n || lines[k].until <= x.until)
			lines[k] = x;
		n += k == n;
	}
	qsort(lines, n, sizeof(*lines), by_task);
	*ret = lines;
	return (ssize_t)n;
}

static void add_frame(struct sp_buf *b, const struct sp_profile *p, const struct sp_frame_ref *f)
{
	static const struct sp_style style = {.libraries = true, .dotted = true};
	SP_AUTO_BUF struct sp_buf name;

	sp_buf_init(&name);
	sp_framename(p->dict, f, &style, &name);
	sp_buf_adds(b, "    ");
	sp_show_text(b, sp_buf_str(&name), 0);
	if (f->line > 0)
		sp_buf_addf(b, ":%d", f->line);
	sp_buf_addc(b, '\n');
}

static const char *words_for(const char *state)
{
	static const char *const words[][2] = {
		{"running", "running"},
		{"runnable", "waits for a core"},
		{"lock", "waits for a lock"},
		{"net", "waits for the network"},
		{"disk", "waits for a disk"},
		{"sleep", "sleeps"},
		{"poll", "polls"},
		{"blocked", "blocked"},
	};

	for (size_t i = 0; i < SP_COUNT(words); i++)
		if (strcmp(words[i][0], state) == 0)
			return words[i][1];
	return "state unknown";
}

static void add_thread(struct sp_buf *b, const struct sp_profile *p, const struct line *x)
{
	const struct sp_stack *s;

	sp_buf_addf(b, "  thread %u \"", x->tid);
	sp_show_text(b, x->name, 0);
	sp_buf_addf(b, "\", %s", words_for(sp_dict_get_string(p->dict, x->row->state, NULL)));
	if (x->task >= 0 && !x->own)
		sp_buf_addf(b, ", for TID %lld", (long long)x->task);
	sp_buf_addc(b, '\n');
	s = sp_dict_get_stack(p->dict, x->row->stack);
	for (uint32_t i = 0; s && i < s->count; i++)
		add_frame(b, p, &s->frames[i]);
	if (!s || !s->count)
		sp_buf_adds(b, "    no frames\n");
	else if (s->truncated)
		sp_buf_adds(b, "    ...\n");
}

static size_t count_threads(pid_t pid)
{
	char path[32];
	size_t n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

static void add_head(struct sp_buf *b, const struct sp_jvm *t, size_t seen)
{
	size_t all = count_threads(t->pid);

	sp_buf_addf(b, "pid %d, ", (int)t->pid);
	if (t->executor_id[0]) {
		sp_buf_adds(b, strcmp(t->executor_id, "driver") == 0 ? "" : "executor ");
		sp_show_text(b, t->executor_id, 0);
		sp_buf_adds(b, ", ");
	}
	sp_buf_adds(b, "JDK ");
	sp_show_text(b, t->jdk_version[0] ? t->jdk_version : "unknown", 0);
	sp_buf_addf(b, ": %zu threads", seen);
	if (all > seen)
		sp_buf_addf(b, ", %zu more did not run or changed meanwhile", all - seen);
	sp_buf_addc(b, '\n');
}

static int add_all(struct sp_stackjvm *s, const struct sp_profile *p, struct sp_buf *b,
	sp_stackjvm_task_fn *task, void *ctx, struct sp_err *err)
{
	SP_AUTO_FREE struct line *lines = NULL;
	ssize_t n = last_of_each(p, &lines);

	if (n < 0)
		return (int)n;
	if (n == 0 && s->run.busy.text[0])
		return sp_err_set(err, -EBUSY,
			"%s, without wall: sparkprof dump shows what it has, and after sparkprof "
			"stop there are stacks",
			s->run.busy.text);
	add_head(b, s->run.target, (size_t)n);
	for (ssize_t i = 0; i < n; i++) {
		add_thread(b, p, &lines[i]);
		if (lines[i].own)
			task(ctx, b, lines[i].task);
	}
	return 0;
}

int sp_stackjvm_end(struct sp_stackjvm *s, struct sp_buf *b, sp_stackjvm_task_fn *task, void *ctx)
{
	struct sp_profile *p = NULL;
	struct sp_err err = {""};
	int r = 0, code;

	if (!s)
		return SP_EXIT_FAILED;
	wait_for_all(s);
	if (s->run.recording)
		sp_run_stop(&s->run);
	if (s->run.outputs.fd >= 0) {
		r = sp_outputs_load(&s->run.outputs, &s->call, s->run.target,
			s->run.busy.text[0] ? last_ns : 0, &p, &err);
		if (r == 0)
			r = add_all(s, p, b, task, ctx, &err);
	} else if (s->run.busy.text[0]) {
		err = s->run.busy;
		r = -EBUSY;
	}
	if (r < 0)
		sp_message_error("%s", err.text[0] ? err.text : strerror(-r));
	else if (s->run.busy.text[0])
		sp_message_warn("%s: this is what that saw of its threads last", s->run.busy.text);
	code = s->run.code;
	if (r < 0 && code == SP_EXIT_DONE)
		code = r == -EBUSY ? SP_EXIT_TARGET : SP_EXIT_FAILED;
	sp_profile_free(p);
	sp_run_done(&s->run);
	free(s);
	return code;
}

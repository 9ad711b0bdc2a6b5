/* See jvm_stacks.h. */
#include "jvm_stacks.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/safe_print.h"
#include "prof/model/frame_name.h"
#include "prof/spark/driver_work.h"
#include "python/py_memory_request.h"
#include "stack_owners.h"
#include "target_run.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A blocked thread is seen at the first look, one that runs when it next has a core. */
static const uint64_t interval_ns = 10000000, duration_ns = 100000000;
/* Of a recording that goes on: it was flushed a moment ago, and every second before. */
static const uint64_t last_ns = 1500000000;
/* For what the agent opens: an answer, and a look whether it came. */
static const uint64_t answer_ns = 2000000000, look_ns = 20000000;

struct sp_jvm_stacks {
	struct sp_call call;
	struct sp_target_run run;
	uint64_t end_ns;
	bool all, json; /* all threads are shown; as JSON */
	struct sp_stack_owners owners;
};

/* A thread and the last that was seen of it. */
struct line {
	uint32_t tid, until;
	uint64_t java_id; /* 0: no Java thread */
	int64_t task;	  /* TID; -1: none */
	bool own;	  /* it is the task's thread, not one that helps it */
	bool blocks;	  /* a thread that is shown waits for it */
	const char *name;
	const struct sp_sample *row;
};

/* There is never a second sampler: the recording of the first is what can be shown. */
static void read_other(struct sp_jvm_stacks *s)
{
	struct sp_chan *chan = &s->run.link.chan;
	struct sp_msg request = {.type = SP_MSG_FLUSH}, m;
	struct sp_err err;
	struct stat st;

	/* segments before the one in hand may come with it */
	if (sp_link_ask(&s->run.link, &request, NULL, 0, &m, &err) == 0 && chan->n_fds >= 1 &&
		sp_chan_check_output(chan->fds[0]) == 0 && fstat(chan->fds[0], &st) == 0 &&
		S_ISREG(st.st_mode)) {
		sp_outputs_adopt(&s->run.outputs, chan->fds[0]);
		chan->fds[0] = chan->fds[--chan->n_fds];
		sp_chan_drop_fds(chan);
	}
}

/* Who holds the locks, as the JVM knows it. */
static void ask_owners(struct sp_jvm_stacks *s)
{
	struct sp_msg request = {.type = SP_MSG_OWNERS_WANTED}, m;
	struct sp_err err = {""};
	int r;

	if (s->run.code != SP_EXIT_DONE || s->run.link.chan.fd < 0)
		return;
	r = sp_link_ask(&s->run.link, &request, NULL, 0, &m, &err);
	sp_chan_drop_fds(&s->run.link.chan);
	if (r == 0)
		r = sp_stack_owners_init(&s->owners, m.text[0]);
	if (r < 0)
		sp_message_warn("who holds the locks is not known: %s",
			err.text[0] ? err.text : strerror(-r));
	else if (s->owners.cut)
		sp_message_warn("pid %d: only the first %zu threads that wait for a lock name its "
				"owner",
			(int)s->run.target->pid, s->owners.count);
}

int sp_jvm_stacks_begin(
	struct sp_jvm_stacks **ret, const struct sp_jvm *target, const struct sp_call *call)
{
	struct sp_jvm_stacks *s = calloc(1, sizeof(*s));

	*ret = s;
	if (!s) {
		sp_message_error("out of memory");
		return SP_EXIT_FAILED;
	}
	sp_interrupt_install();
	s->call = *call;
	s->all = call->all || call->thread;
	s->json = call->json;
	s->call.action = SP_ACTION_COLLECT;
	s->call.python = SP_PYTHON_OFF;
	s->call.all_threads = true;
	s->call.all = false;
	s->call.events[0] = (struct sp_call_event){"wall", true, interval_ns};
	s->call.n_events = 1;
	s->call.outputs[0] = (struct sp_call_output){"-", SP_FORMAT_TEXT};
	s->call.n_outputs = 1;
	sp_target_run_init(&s->run, target);
	s->run.minds_busy = true;
	sp_target_run_start(&s->run, &s->call);
	if (s->run.busy.text[0])
		read_other(s);
	ask_owners(s);
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

int sp_jvm_stacks_memory(struct sp_jvm_stacks *s, pid_t pid)
{
	uint64_t end = sp_clock_mono_ns() + answer_ns;
	struct answer answer = {false, -1};
	struct sp_link *l = s ? &s->run.link : NULL;
	struct sp_py_memory_request ask;
	struct sp_err err;
	struct sp_msg m;
	int r = l && l->chan.fd >= 0 ? 0 : -EPERM;

	if (r < 0)
		return r;
	l->memory = take_memory;
	l->python_ctx = &answer;
	sp_py_memory_request_init(&ask, l->chan.fd);
	r = sp_py_memory_request(&ask, pid);
	while (r > 0 && !answer.came && sp_clock_mono_ns() < end)
		if (sp_link_next(l, &m, sp_clock_mono_ns() + look_ns, &err) < 0 && l->chan.fd < 0)
			break;
	sp_py_memory_request_done(&ask);
	l->memory = NULL;
	return answer.fd >= 0 ? answer.fd : -EPERM;
}

/* Whether the agent has looked at the threads: on a busy machine it may come to that late. */
static bool has_looked(struct sp_jvm_stacks *s)
{
	struct sp_msg request = {.type = SP_MSG_FLUSH}, m;
	struct sp_err err;
	int r = sp_link_ask(&s->run.link, &request, NULL, 0, &m, &err);

	sp_chan_drop_fds(&s->run.link.chan);
	return r < 0 || m.num[SP_PROGRESS_SAMPLES] > 0;
}

static void wait_for_all(struct sp_jvm_stacks *s)
{
	uint64_t latest = s->end_ns + answer_ns;

	while (s->run.recording && !sp_interrupted()) {
		struct pollfd p = {s->run.link.chan.fd, POLLIN, 0};
		uint64_t now = sp_clock_mono_ns();

		if (now >= s->end_ns && (now >= latest || has_looked(s)))
			return;
		if (now >= s->end_ns)
			s->end_ns = now + duration_ns;
		if (poll(&p, 1, (int)((s->end_ns - now) / 1000000 + 1)) > 0)
			sp_target_run_follow(&s->run);
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
		.java_id = t ? t->java_id : 0,
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
	sp_frame_name(p->dict, f, &style, &name);
	sp_buf_adds(b, "    ");
	sp_safe_print_text(b, sp_buf_str(&name), 0);
	if (f->line > 0)
		sp_buf_addf(b, ":%d", f->line);
	sp_buf_addc(b, '\n');
}

/* The threads that are shown, and which of them wait for which. */
struct shown {
	const struct line *lines;
	size_t count;
	const struct sp_stack_owners *owners;
};

static const struct line *find_java(const struct shown *w, int64_t java_id)
{
	for (size_t i = 0; java_id > 0 && i < w->count; i++)
		if (w->lines[i].java_id == (uint64_t)java_id)
			return &w->lines[i];
	return NULL;
}

/* What it waits for; NULL: no lock, or none any more. */
static const struct sp_stack_owner *lock_of(
	const struct shown *w, const struct sp_profile *p, const struct line *x)
{
	const char *state = sp_dict_get_string(p->dict, x->row->state, NULL);
	bool waits = strcmp(state, "running") != 0 && strcmp(state, "runnable") != 0;

	return waits && x->java_id ? sp_stack_owners_find(w->owners, x->java_id) : NULL;
}

static struct sp_stack_holder holder_of(const struct shown *w, const struct sp_stack_owner *o)
{
	const struct line *by = find_java(w, o->owner);

	return (struct sp_stack_holder){by ? by->tid : 0, by ? by->task : -1};
}

static void add_thread(
	struct sp_buf *b, const struct sp_profile *p, const struct shown *w, const struct line *x)
{
	const struct sp_stack_owner *o = lock_of(w, p, x);
	const struct sp_stack *s;

	sp_buf_addf(b, "  thread %u \"", x->tid);
	sp_safe_print_text(b, x->name, 0);
	sp_buf_addf(b, "\", %s",
		sp_stack_state_words(sp_dict_get_string(p->dict, x->row->state, NULL)));
	if (x->task >= 0 && !x->own)
		sp_buf_addf(b, ", for TID %lld", (long long)x->task);
	sp_buf_addc(b, '\n');
	if (o)
		sp_stack_owner_text(b, o, holder_of(w, o));
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

/* Of an executor those that work for a task; of a driver those that work, for whatever but the JVM
 * itself; of other JVMs all. Who names threads, or asks for all, means it. */
static bool is_shown(
	const struct sp_jvm_stacks *s, const struct line *x, struct sp_driver_work_of *work)
{
	const struct sp_jvm *t = s->run.target;
	enum sp_driver_work is;

	if (s->all || x->task >= 0 || x->blocks || t->role == SP_ROLE_OTHER)
		return true;
	is = sp_driver_work_of_row(work, x->row);
	return t->role == SP_ROLE_DRIVER && is != SP_DRIVER_WORK_IDLE && is != SP_DRIVER_WORK_JIT &&
	       is != SP_DRIVER_WORK_GC;
}

static void add_head(struct sp_buf *b, const struct sp_jvm *t, size_t seen, size_t left, bool named)
{
	size_t all = count_threads(t->pid);

	sp_buf_addf(b, "pid %d, ", (int)t->pid);
	if (t->executor_id[0]) {
		sp_buf_adds(b, strcmp(t->executor_id, "driver") == 0 ? "" : "executor ");
		sp_safe_print_text(b, t->executor_id, 0);
		sp_buf_adds(b, ", ");
	}
	sp_buf_adds(b, "JDK ");
	sp_safe_print_text(b, t->jdk_version[0] ? t->jdk_version : "unknown", 0);
	sp_buf_addf(b, ": %zu thread%s", seen, seen == 1 ? "" : "s");
	if (left)
		sp_buf_addf(b, ", %zu of them work for no %s: --all shows them", left,
			t->role == SP_ROLE_DRIVER ? "query" : "task");
	if (all > seen && !named)
		sp_buf_addf(b, ", %zu more did not run or changed meanwhile", all - seen);
	sp_buf_addc(b, '\n');
}

static void add_json_head(struct sp_buf *b, const struct sp_jvm *t, size_t seen, size_t left)
{
	sp_buf_addf(b, "{\"pid\": %d, \"role\": \"%s\", \"executor_id\": ", (int)t->pid,
		sp_jvm_role_name(t->role));
	sp_safe_print_json(b, t->executor_id);
	sp_buf_addf(b, ", \"seen\": %zu, \"left_out\": %zu, \"threads\": [", seen, left);
}

/* Without its closing brace: Python workers may follow. */
static void add_json_thread(struct sp_buf *b, const struct sp_profile *p, const struct shown *w,
	const struct line *x, bool more)
{
	const struct sp_stack_owner *o = lock_of(w, p, x);
	static const struct sp_style style = {.libraries = true, .dotted = true};
	const struct sp_stack *s = sp_dict_get_stack(p->dict, x->row->stack);

	sp_buf_addf(b, "%s\n {\"tid\": %u, \"name\": ", more ? "," : "", x->tid);
	sp_safe_print_json(b, x->name);
	sp_buf_adds(b, ", \"state\": ");
	sp_safe_print_json(b, sp_dict_get_string(p->dict, x->row->state, NULL));
	if (x->task >= 0)
		sp_buf_addf(b, ", \"task\": %lld, \"helper\": %s", (long long)x->task,
			x->own ? "false" : "true");
	if (o)
		sp_stack_owner_json(b, o, holder_of(w, o));
	sp_buf_addf(b, ", \"truncated\": %s, \"frames\": [", s && s->truncated ? "true" : "false");
	for (uint32_t i = 0; s && i < s->count; i++) {
		SP_AUTO_BUF struct sp_buf name = {0};

		sp_frame_name(p->dict, &s->frames[i], &style, &name);
		sp_buf_adds(b, i ? ", {\"name\": " : "{\"name\": ");
		sp_safe_print_json(b, sp_buf_str(&name));
		if (s->frames[i].line > 0)
			sp_buf_addf(b, ", \"line\": %d", s->frames[i].line);
		sp_buf_addc(b, '}');
	}
	sp_buf_addc(b, ']');
}

static void free_work(struct sp_driver_work_of **w)
{
	sp_driver_work_free(*w);
}

/* Who holds the lock of a thread that is shown is shown too, and who holds his. */
static void mark_owners(struct sp_jvm_stacks *s, const struct sp_profile *p, struct line *lines,
	size_t n, struct sp_driver_work_of *work)
{
	struct shown w = {lines, n, &s->owners};

	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < n; i++) {
			const struct sp_stack_owner *o = lock_of(&w, p, &lines[i]);
			const struct line *by = o ? find_java(&w, o->owner) : NULL;

			if (!by || is_shown(s, by, work) || !is_shown(s, &lines[i], work))
				continue;
			lines[by - lines].blocks = true;
			more = true;
		}
	}
}

static int add_all(struct sp_jvm_stacks *s, const struct sp_profile *p, struct sp_buf *b,
	sp_jvm_stacks_task_fn *task, void *ctx, struct sp_err *err)
{
	__attribute__((cleanup(free_work))) struct sp_driver_work_of *work = NULL;
	SP_AUTO_FREE struct line *lines = NULL;
	ssize_t n = last_of_each(p, &lines), left = 0;
	struct shown w;

	if (n < 0 || sp_driver_work_new(&work, p) < 0)
		return n < 0 ? (int)n : -ENOMEM;
	if (n == 0 && s->run.busy.text[0])
		return sp_err_set(err, -EBUSY,
			"%s, and it does not record wall; use 'sparkprof dump' to see it, or "
			"'sparkprof stop' before 'stack'",
			s->run.busy.text);
	mark_owners(s, p, lines, (size_t)n, work);
	for (ssize_t i = 0; i < n; i++)
		left += !is_shown(s, &lines[i], work);
	if (s->json)
		add_json_head(b, s->run.target, (size_t)n, (size_t)left);
	else
		add_head(b, s->run.target, (size_t)n, (size_t)left, s->call.thread != NULL);
	w = (struct shown){lines, (size_t)n, &s->owners};
	for (ssize_t i = 0, shown = 0; i < n; i++) {
		if (!is_shown(s, &lines[i], work))
			continue;
		if (s->json)
			add_json_thread(b, p, &w, &lines[i], shown++ > 0);
		else
			add_thread(b, p, &w, &lines[i]);
		if (lines[i].own)
			task(ctx, b, lines[i].task);
		sp_buf_adds(b, s->json ? "}" : "");
	}
	sp_buf_adds(b, s->json ? "]" : "");
	return 0;
}

int sp_jvm_stacks_end(
	struct sp_jvm_stacks *s, struct sp_buf *b, sp_jvm_stacks_task_fn *task, void *ctx)
{
	struct sp_profile *p = NULL;
	struct sp_err err = {""};
	int r = 0, code;

	if (!s)
		return SP_EXIT_FAILED;
	wait_for_all(s);
	if (s->run.recording)
		sp_target_run_stop(&s->run);
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
		sp_message_warn("%s: showing the threads as that recording last saw them",
			s->run.busy.text);
	code = s->run.code;
	if (r < 0 && code == SP_EXIT_DONE)
		code = r == -EBUSY ? SP_EXIT_TARGET : SP_EXIT_FAILED;
	sp_profile_free(p);
	sp_target_run_done(&s->run);
	sp_stack_owners_done(&s->owners);
	free(s);
	return code;
}

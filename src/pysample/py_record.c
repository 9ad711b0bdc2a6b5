/* See py_record.h. */
#include "pysample/py_record.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "jfr/event_fields.h"
#include "jfr/setting.h"

#include <ctype.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DICT_CAP = 64 << 20 };

struct sp_pyrecord {
	struct sp_jfrw *w;
	struct sp_dict *dict;
	struct sp_pyrecord_cfg cfg; /* its strings are below */
	char event[32], version[32], command[4096];
	uint64_t start_ms, since_ns;
	uint32_t generation;
	pthread_mutex_t *lock; /* borrowed, as are w and dict then; NULL: all is its own */
	pthread_mutex_t users; /* with a lock: held by its thread while it uses what others own */
	bool left;	       /* … which it may not any more */
	struct sp_frame_ref frames[SP_PY_DEPTH_MAX + 1];
};

void sp_pyrecord_note(struct sp_pyrecord *r, const char *sentence)
{
	sp_jfrw_setting(r->w, "note", sentence);
}

/* What every chunk says about the recording itself. */
static void write_head(struct sp_pyrecord *r)
{
	const struct sp_pyrecord_cfg *c = &r->cfg;
	uint64_t now = sp_clock_mono_ns();

	sp_jfrw_event(
		r->w, SP_JFR_EVENT(ACTIVE_RECORDING, .startTime.u = now, .id.u = 1,
			      .name.s = "sparkprof " SP_VERSION, .recordingStart.u = r->start_ms));
	if (c->version)
		sp_jfrw_event(r->w,
			SP_JFR_EVENT(JVM_INFORMATION, .startTime.u = now, .jvmName.s = "CPython",
				.jvmVersion.s = r->version, .jvmArguments.s = "", .jvmFlags.s = "",
				.javaArguments.s = r->command, .jvmStartTime.u = r->start_ms,
				.pid.u = (uint64_t)c->pid));
	sp_jfrw_setting(r->w, "event", r->event);
	sp_jfrw_setting_number(r->w, "interval", c->cpu_ns ? c->cpu_ns : c->wall_ns);
	if (c->cpu_ns && c->wall_ns)
		sp_jfrw_setting_number(r->w, "wall", c->wall_ns);
	sp_jfrw_setting(r->w, "version", SP_VERSION);
}

int sp_pyrecord_open(
	struct sp_pyrecord **ret, const struct sp_pyrecord_cfg *cfg, struct sp_err *err)
{
	struct sp_jfrw_cfg to = {.chunk_size = cfg->chunk_bytes,
		.chunk_time_ns = cfg->chunk_ns,
		.stream = cfg->stream};
	struct sp_pyrecord *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return sp_err_set(err, -ENOMEM, "out of memory");
	r->cfg = *cfg;
	r->generation = 1;
	r->start_ms = sp_clock_wall_ns() / 1000000;
	r->since_ns = sp_clock_mono_ns();
	snprintf(r->event, sizeof(r->event), "%s", cfg->event);
	snprintf(r->version, sizeof(r->version), "%s", cfg->version ? cfg->version : "");
	snprintf(r->command, sizeof(r->command), "%s", cfg->command ? cfg->command : "");
	e = sp_dict_new(&r->dict, DICT_CAP);
	if (e < 0)
		sp_err_set(err, e, "out of memory");
	else
		e = sp_jfrw_new(&r->w, cfg->fd, r->dict, &to, err);
	if (e < 0) {
		sp_dict_free(r->dict);
		free(r);
		return e;
	}
	write_head(r);
	*ret = r;
	return 0;
}

int sp_pyrecord_join(struct sp_pyrecord **ret, struct sp_jfrw *w, struct sp_dict *dict,
	pthread_mutex_t *lock, pid_t pid)
{
	struct sp_pyrecord *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->w = w;
	r->dict = dict;
	r->lock = lock;
	pthread_mutex_init(&r->users, NULL);
	r->cfg.pid = pid;
	r->generation = 1;
	r->since_ns = sp_clock_mono_ns();
	*ret = r;
	return 0;
}

void sp_pyrecord_new_chunk(struct sp_pyrecord *r)
{
	r->generation++;
}

bool sp_pyrecord_is_joined(const struct sp_pyrecord *r)
{
	return r->lock != NULL;
}

/* A thread cannot be ended from within a call of its own without the unwinder of the host: it
 * sleeps. */
static void sleep_for_ever(void)
{
	static uint32_t never;

	for (;;)
		syscall(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

void sp_pyrecord_enter(struct sp_pyrecord *r)
{
	if (!r || !r->lock)
		return;
	pthread_mutex_lock(&r->users);
	if (!r->left)
		return;
	pthread_mutex_unlock(&r->users);
	sleep_for_ever();
}

void sp_pyrecord_exit(struct sp_pyrecord *r)
{
	if (r && r->lock)
		pthread_mutex_unlock(&r->users);
}

void sp_pyrecord_leave(struct sp_pyrecord *r)
{
	pthread_mutex_lock(&r->users);
	r->left = true;
	pthread_mutex_unlock(&r->users);
}

void sp_pyrecord_hold(struct sp_pyrecord *r)
{
	sp_pyrecord_enter(r);
	if (r && r->lock)
		pthread_mutex_lock(r->lock);
}

void sp_pyrecord_release(struct sp_pyrecord *r)
{
	if (r && r->lock)
		pthread_mutex_unlock(r->lock);
	sp_pyrecord_exit(r);
}

uint32_t sp_pyrecord_generation(const struct sp_pyrecord *r)
{
	return r->generation;
}

uint32_t sp_pyrecord_thread(
	struct sp_pyrecord *r, uint32_t tid, const char *name, enum sp_python_thread kind)
{
	const char *group = sp_python_thread_group(kind);
	struct sp_thread t = {.tid = tid,
		.name_id = sp_dict_string(r->dict, name, strlen(name)),
		.group_id = group ? sp_dict_string(r->dict, group, strlen(group)) : 0};

	return t.name_id ? sp_dict_thread(r->dict, &t) : 0;
}

/* Behind the last of these directories a module's own path begins. */
const char *sp_pyrecord_file(const char *path)
{
	static const char *const roots[] = {"/site-packages/", "/dist-packages/", "/pyspark.zip/",
		"/python/lib/", "/lib-dynload/"};
	const char *best = NULL, *p, *slash;

	if (path[0] != '/')
		return path;
	for (size_t i = 0; i < SP_COUNT(roots); i++) {
		p = strstr(path, roots[i]);
		if (p && p + strlen(roots[i]) > best)
			best = p + strlen(roots[i]);
	}
	if (best)
		return best;
	/* the standard library: …/python3.11/json/decoder.py */
	for (p = path; (p = strstr(p, "/python3.")); p++) {
		slash = strchr(p + 9, '/');
		if (slash && isdigit((unsigned char)p[9]))
			best = slash + 1;
	}
	p = strstr(path, "/pyspark/");
	if (!best && p)
		return p + 1;
	return best ? best : strrchr(path, '/') + 1;
}

static uint32_t method_of(struct sp_pyrecord *r, const struct sp_pycode *code)
{
	const char *file = sp_pyrecord_file(code->file);
	struct sp_method m = {.native = SP_NATIVE_PYTHON};

	m.sig_id = sp_dict_string(r->dict, SP_PYTHON_SIGNATURE, strlen(SP_PYTHON_SIGNATURE));
	m.class_id = sp_dict_string(r->dict, file, strlen(file));
	m.name_id = sp_dict_string(r->dict, code->name, strlen(code->name));
	return m.class_id && m.name_id ? sp_dict_method(r->dict, &m) : 0;
}

static struct sp_frame_ref python_frame(
	struct sp_pyrecord *r, const struct sp_pycode *code, int line)
{
	return (struct sp_frame_ref){method_of(r, code), line, -1, SP_FRAME_PYTHON};
}

/* Its method, looked for once in a chunk. */
static uint32_t known_method_of(struct sp_pyrecord *r, struct sp_pycode *code)
{
	if (!code->user || code->user_epoch != r->generation) {
		code->user = method_of(r, code);
		code->user_epoch = r->generation;
	}
	return code->user;
}

/* In the place of newest frames that could not be read: who called them did not run itself. */
static struct sp_frame_ref unread_frame(struct sp_pyrecord *r)
{
	static const struct sp_pycode unread = {.name = SP_PYTHON_UNREAD, .file = ""};

	return python_frame(r, &unread, -1);
}

static struct sp_frame_ref native_frame(struct sp_pyrecord *r, const struct sp_pynative_frame *f)
{
	const char *name = f->name ? f->name : "0x0"; /* as the agent's that nothing names */
	struct sp_method m = {.native = 1, .unresolved = !f->name};

	m.class_id = sp_dict_string(r->dict, f->module, strlen(f->module));
	m.name_id = sp_dict_string(r->dict, name, strlen(name));
	return (struct sp_frame_ref){
		m.name_id ? sp_dict_method(r->dict, &m) : 0, -1, -1, SP_FRAME_NATIVE};
}

uint32_t sp_pyrecord_stack(struct sp_pyrecord *r, const struct sp_pystack *stack, uint32_t depth)
{
	uint32_t n = stack->count < depth ? stack->count : depth, first = stack->partial;

	if (first)
		r->frames[0] = unread_frame(r);
	for (uint32_t i = 0; i < n; i++)
		r->frames[first + i] =
			(struct sp_frame_ref){known_method_of(r, stack->frames[i].code),
				stack->frames[i].line, -1, SP_FRAME_PYTHON};
	for (uint32_t i = 0; i < first + n; i++)
		if (!r->frames[i].method)
			return 0;
	return n ? sp_dict_stack(
			   r->dict, r->frames, first + n, stack->truncated || n < stack->count)
		 : 0;
}

uint32_t sp_pyrecord_mixed(struct sp_pyrecord *r, const struct sp_pymixed *stack, uint32_t depth)
{
	uint32_t n = stack->count < depth ? (uint32_t)stack->count : depth;

	for (uint32_t i = 0; i < n; i++) {
		const struct sp_pymixed_frame *f = &stack->frames[i];

		r->frames[i] =
			f->code ? python_frame(r, f->code, f->line) : native_frame(r, &f->native);
		if (!r->frames[i].method)
			return 0;
	}
	return n ? sp_dict_stack(r->dict, r->frames, n, stack->truncated || n < stack->count) : 0;
}

void sp_pyrecord_cpu(struct sp_pyrecord *r, uint64_t time_ns, uint32_t thread, uint32_t stack)
{
	sp_jfrw_sample(r->w, time_ns, thread, stack, SP_STATE_UNKNOWN);
}

void sp_pyrecord_wall(struct sp_pyrecord *r, uint64_t time_ns, uint32_t thread, uint32_t stack,
	enum sp_state state, uint32_t samples, uint64_t span_ns)
{
	sp_jfrw_wall(r->w, time_ns, thread, stack, state, samples, span_ns);
}

void sp_pyrecord_task(struct sp_pyrecord *r, const struct sp_pytask *t, uint32_t thread,
	uint64_t start_ns, uint64_t end_ns)
{
	/* Of the stage's attempt the worker knows nothing: readers take it from the JVM's task. */

	sp_jfrw_event(
		r->w, SP_JFR_EVENT(TASK, .startTime.u = start_ns, .duration.u = end_ns - start_ns,
			      .eventThread.u = thread, .stage.u = (uint32_t)t->stage,
			      .stageAttempt.u = (uint32_t)-1, .index.u = (uint32_t)t->partition,
			      .attempt.u = (uint32_t)t->attempt, .taskId.u = (uint64_t)t->tid,
			      .begun.u = 1, .ended.u = 1, .helper.u = 1));
}

void sp_pyrecord_use(struct sp_pyrecord *r, uint64_t time_ns, uint32_t thread, pid_t pid,
	uint64_t rss, uint64_t pss, double cpu, const struct sp_pytask *task)
{
	sp_jfrw_event(
		r->w, SP_JFR_EVENT(PYTHON_PROCESS, .startTime.u = time_ns, .eventThread.u = thread,
			      .pid.u = (uint64_t)pid, .rss.u = rss, .pss.u = pss, .cpu.f = cpu,
			      .stage.u = (uint32_t)(task ? task->stage : -1),
			      .taskId.u = (uint64_t)(task ? task->tid : -1)));
}

void sp_pyrecord_socket(struct sp_pyrecord *r, uint32_t thread, uint32_t java, int64_t task,
	uint64_t start_ns, uint64_t end_ns)
{
	sp_jfrw_event(r->w, SP_JFR_EVENT(PYTHON_SOCKET, .startTime.u = start_ns,
				    .duration.u = end_ns - start_ns, .eventThread.u = thread,
				    .javaThread.u = java, .taskId.u = (uint64_t)task));
}

void sp_pyrecord_group(struct sp_pyrecord *r, uint64_t time_ns, uint64_t used, uint64_t limit)
{
	sp_jfrw_event(
		r->w, SP_JFR_EVENT(MEMORY_GROUP, .startTime.u = time_ns,
			      .pid.u = (uint64_t)r->cfg.pid, .used.u = used, .limit.u = limit));
}

void sp_pyrecord_lost(struct sp_pyrecord *r, const char *reason, uint64_t count)
{
	if (count)
		sp_jfrw_event(r->w,
			SP_JFR_EVENT(LOST, .startTime.u = sp_clock_mono_ns(), .reason.s = reason,
				.count.u = count, .sinceTime.u = r->since_ns));
}

static int sentence(int e, struct sp_err *err)
{
	return sp_err_set(err, e, "the recording of Python could not be written: %s", strerror(-e));
}

int sp_pyrecord_flush(struct sp_pyrecord *r, struct sp_err *err)
{
	int e = sp_dict_used(r->dict) > DICT_CAP / 8 * 7 || sp_dict_refused(r->dict)
			? sp_jfrw_rotate(r->w)
			: sp_jfrw_flush(r->w);

	if (e < 0)
		return sentence(e, err);
	if (e == 0)
		return 0;
	sp_dict_reset(r->dict);
	r->generation++;
	write_head(r);
	return 0;
}

int sp_pyrecord_close(struct sp_pyrecord *r, struct sp_err *err)
{
	int e = r->lock ? 0 : sp_jfrw_close(r->w);

	if (!r->lock)
		sp_dict_free(r->dict);
	else
		pthread_mutex_destroy(&r->users);
	free(r);
	return e < 0 ? sentence(e, err) : 0;
}

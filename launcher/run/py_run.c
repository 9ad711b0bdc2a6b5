/* See py_run.h. */
#include "py_run.h"

#include "agent_link.h"
#include "cli/command.h"
#include "cli/message.h"
#include "proc/stopped_target.h"
#include "py/find_runtime.h"
#include "python/driver_python.h"
#include "python/py_proc.h"
#include "python/py_sampler.h"
#include "report/join_jfr.h"
#include "report/python_sidecar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const uint64_t cpu_default_ns = 10000000, wall_default_ns = 50000000;

/* What of the call's events can be had of Python. Returns false where it is nothing. */
static bool intervals(const struct sp_call *call, struct sp_pysampler_cfg *c)
{
	for (size_t i = 0; i < call->n_events; i++) {
		const struct sp_call_event *e = &call->events[i];
		bool wall = strcmp(e->name, "wall") == 0;
		bool cpu = strcmp(e->name, "cpu") == 0 || strcmp(e->name, "ctimer") == 0 ||
			   strcmp(e->name, "itimer") == 0;

		if (wall)
			c->wall_ns = e->given ? e->interval : wall_default_ns;
		else if (cpu)
			c->cpu_ns = e->given ? e->interval : cpu_default_ns;
	}
	c->event = c->cpu_ns ? "cpu" : "wall";
	return c->cpu_ns || c->wall_ns;
}

static int find(const struct sp_jvm *target, struct sp_err *err)
{
	struct sp_pymem_process process = {.pid = target->pid};
	struct sp_pyruntime place;
	int r = sp_pyruntime_find(&process, &place, err);

	sp_pymem_close(&process);
	return r;
}

bool sp_pyrun_is(const struct sp_jvm *target)
{
	struct sp_err err;

	return target->kind == SP_JVM_NONE && find(target, &err) == 0;
}

int sp_pyrun_check(const struct sp_jvm *target, const struct sp_call *call, struct sp_err *err)
{
	struct sp_pysampler_cfg c = {0};
	int r = find(target, err);

	if (r < 0)
		return r;
	if (call->action != SP_ACTION_COLLECT)
		return sp_err_set(err, -ENOTSUP,
			"is a Python: nothing stays in it that could go on recording; use "
			"'collect'");
	if (!intervals(call, &c))
		return sp_err_set(err, -ENOTSUP,
			"is a Python: of it only cpu and wall can be sampled; write -e wall");
	return 0;
}

static void configure(
	const struct sp_target_run *run, const struct sp_call *call, struct sp_pysampler_cfg *c)
{
	c->root = run->target->pid;
	c->chunk_bytes = call->chunk_bytes;
	c->chunk_ns = call->chunk_ns;
	c->depth = (uint32_t)call->depth;
	c->thread = call->thread;
	c->native = call->native;
	c->no_redact = call->no_redact;
	c->blocking = call->blocking;
}

int sp_pyrun_start(struct sp_target_run *run, const struct sp_call *call, struct sp_err *err)
{
	struct sp_pysampler_cfg c = {.fd = run->outputs.fd, .stream = run->outputs.stream};
	int r;

	configure(run, call, &c);
	intervals(call, &c);
	r = sp_pysampler_start(&run->python, &c, err);
	return r < 0 ? sp_err_prefix(err, r, "pid %d", (int)run->target->pid) : 0;
}

static int create_beside(struct sp_target_run *run, struct sp_err *err)
{
	struct sp_place *p = &run->python_place;
	int r = sp_place_find(p, run->python_path, err);

	if (r < 0)
		return r;
	if (p->exists)
		unlinkat(p->dir, p->name, 0);
	r = sp_place_create(p, true);
	if (r < 0)
		return sp_err_set(
			err, r, "%s: cannot be created: %s", run->python_path, strerror(-r));
	run->python_fd = r;
	return 0;
}

/* Beside the JVM's recording, or without a name. */
static int open_beside(struct sp_target_run *run, struct sp_err *err)
{
	const char *recording = run->outputs.recording;

	if (!recording) {
		run->python_fd = memfd_create("sparkprof", MFD_CLOEXEC);
		return run->python_fd < 0 ? sp_err_set(err, -errno,
						    "a recording in memory cannot be created: %s",
						    strerror(errno))
					  : 0;
	}
	if (asprintf(&run->python_path, "%s" SP_HALF_PYTHON, recording) < 0) {
		run->python_path = NULL;
		return sp_err_set(err, -ENOMEM, "out of memory");
	}
	return create_beside(run, err);
}

static bool wanted(const struct sp_target_run *run, const struct sp_call *call)
{
	if (call->action != SP_ACTION_COLLECT || call->python == SP_PYTHON_OFF)
		return false;
	return call->python == SP_PYTHON_ON || sp_jvm_is_spark(run->target);
}

/* What the agent opened: the link reads it, the sampler wants it. */
static void give(void *ctx, pid_t pid, int error, int fd)
{
	struct sp_target_run *run = ctx;

	if (run->python)
		sp_pysampler_give(run->python, pid, error, fd);
	else if (fd >= 0)
		close(fd);
}

static bool has_workers(pid_t pid)
{
	enum { CHILDREN = 256 };
	pid_t children[CHILDREN];
	size_t n = sp_pyproc_children(pid, false, children, CHILDREN);
	char command[4096];

	for (size_t i = 0; i < n; i++) {
		sp_pyproc_command(children[i], command, sizeof(command));
		if (sp_pyproc_is_worker(command) || sp_pyproc_is_daemon(children[i], command))
			return true;
	}
	return false;
}

/* Nobody stays who could sample them. */
static void tell_unsampled(const struct sp_target_run *run)
{
	if (sp_jvm_is_spark(run->target) && has_workers(run->target->pid))
		sp_message_note("pid %d: its Python workers are not sampled: only 'collect' does",
			(int)run->target->pid);
}

void sp_pyrun_start_beside(struct sp_target_run *run, const struct sp_call *call)
{
	struct sp_pysampler_cfg c = {.beside = true, .agent = run->link.chan.fd};
	struct sp_err err = {""};
	int r;

	if (call->action != SP_ACTION_COLLECT)
		tell_unsampled(run);
	if (!wanted(run, call) || !intervals(call, &c))
		return;
	configure(run, call, &c);
	c.driver = sp_driver_python(run->target);
	r = open_beside(run, &err);
	c.fd = run->python_fd;
	if (r == 0)
		r = sp_pysampler_start(&run->python, &c, &err);
	run->link.memory = give;
	run->link.memory_ctx = run;
	if (r < 0)
		sp_message_warn("Python workers are not sampled: %s", err.text);
}

static int append(int from, int to, bool stream)
{
	int r = sp_join_zero_durations(from);

	if (r == 0 && !stream && lseek(to, 0, SEEK_END) < 0)
		return -errno;
	r = r < 0 ? r : sp_join_write_separator(to, from);
	return r < 0 ? r : sp_join_append(from, to);
}

void sp_pyrun_join(struct sp_target_run *run, const struct sp_call *call)
{
	int r = 0;

	if (run->python_fd < 0)
		return;
	if (run->python_workers)
		r = append(run->python_fd, run->outputs.fd, run->outputs.stream);
	else if (call->python == SP_PYTHON_ON)
		sp_message_warn(
			"pid %d: no Python process that could be sampled was seen below it, or "
			"above it",
			(int)run->target->pid);
	if (r == 0)
		sp_pyrun_done(run);
	else
		sp_message_warn("Python workers are not in the recording: %s%s%s", strerror(-r),
			run->python_path ? "; they are in " : "",
			run->python_path ? run->python_path : "");
}

void sp_pyrun_done(struct sp_target_run *run)
{
	if (run->python_path && run->python_fd >= 0)
		unlinkat(run->python_place.dir, run->python_place.name, 0);
	if (run->python_fd >= 0)
		close(run->python_fd);
	run->python_fd = -1;
	sp_place_done(&run->python_place);
	free(run->python_path);
	run->python_path = NULL;
}

static void take(struct sp_target_run *run, const struct sp_pysampler_state *state)
{
	run->python_workers = state->workers;
	run->python_counts[0] = state->samples;
	run->python_counts[1] = state->lost;
}

void sp_pyrun_look(struct sp_target_run *run)
{
	struct sp_pysampler_state state;

	sp_pysampler_look(run->python, &state);
	take(run, &state);
	if (run->is_python && run->recording)
		sp_stopped_target_look(
			&run->link.halted, run->target->pid, "its threads only stand there");
	if (!state.ended || !run->recording || !run->is_python)
		return;
	run->recording = false;
	run->died = true;
	run->code = SP_EXIT_PART;
	sp_message_error(
		"pid %d has ended; what was recorded until then is written", (int)run->target->pid);
}

void sp_pyrun_stop(struct sp_target_run *run)
{
	struct sp_pysampler_state state;
	struct sp_err said, err = {""};
	int r = sp_pysampler_stop(run->python, &state, &said, &err);

	run->python = NULL;
	run->recording = run->recording && !run->is_python;
	take(run, &state);
	if (said.text[0])
		sp_message_warn("%s", said.text);
	if (r < 0 && !run->is_python) {
		sp_message_warn("%s", err.text);
	} else if (r < 0) {
		sp_message_error("%s", err.text);
		run->code = sp_link_exit_code(r);
	}
}

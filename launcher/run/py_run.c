/* See py_run.h. */
#include "py_run.h"

#include "agent_link.h"
#include "cli/command.h"
#include "cli/message.h"
#include "jfr/concat.h"
#include "proc/stopped_target.h"
#include "py/find_runtime.h"
#include "pysample/driver_python.h"
#include "pysample/py_proc.h"
#include "python/py_sampler.h"
#include "record_request.h"
#include "wire/record_options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What of the call's events can be had of Python. Returns false where it is nothing. */
static bool intervals(const struct sp_call *call, struct sp_pysampler_cfg *c)
{
	for (size_t i = 0; i < call->n_events; i++) {
		const struct sp_call_event *e = &call->events[i];
		bool wall = strcmp(e->name, "wall") == 0;
		bool cpu = strcmp(e->name, "cpu") == 0 || strcmp(e->name, "ctimer") == 0 ||
			   strcmp(e->name, "itimer") == 0;

		if (wall)
			c->wall_ns = e->given ? e->interval : SP_DEFAULT_WALL_NS;
		else if (cpu)
			c->cpu_ns = e->given ? e->interval : SP_DEFAULT_INTERVAL_NS;
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
			"is a Python process: a recording cannot continue without sparkprof; use "
			"'collect'");
	if (!intervals(call, &c))
		return sp_err_set(err, -ENOTSUP,
			"is a Python process: only cpu and wall can be sampled; write -e wall");
	return 0;
}

static void configure(
	const struct sp_target_run *run, const struct sp_call *call, struct sp_pysampler_cfg *c)
{
	c->root = run->target->pid;
	c->chunk_bytes = call->chunk_bytes;
	c->chunk_ns = call->chunk_ns;
	c->depth = (uint32_t)call->depth.most;
	c->depth_left = (uint32_t)call->depth.left;
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

/* What the launcher samples lies in a file without a name until it is put behind the JVM's
 * recording: of a run that is killed nothing is left beside it. In memory only where the file
 * system has no such files. */
static int open_beside(const struct sp_outputs *o)
{
	int fd =
		o->recording ? openat(o->place.dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;

	return fd < 0 ? memfd_create("sparkprof", MFD_CLOEXEC) : fd;
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

static void start_sampler(struct sp_target_run *run, pid_t refused)
{
	const struct sp_call *call = run->python_call;
	struct sp_pysampler_cfg c = {.beside = true,
		.refused = refused,
		.fd = run->python_fd,
		.agent = run->link.chan.fd};
	struct sp_err err = {""};

	configure(run, call, &c);
	intervals(call, &c);
	c.driver = run->target->role == SP_ROLE_DRIVER ? sp_driver_python(run->target->pid) : 0;
	if (sp_pysampler_start(&run->python, &c, &err) < 0)
		sp_message_warn("Python workers are not sampled: %s", err.text);
}

/* The kernel may let us read what it does not let the JVM: root, or its user. */
static void try_refused(void *ctx, pid_t pid)
{
	struct sp_target_run *run = ctx;

	if (run->python)
		sp_pysampler_refused(run->python, pid);
	else
		start_sampler(run, pid);
}

/* The agent may be refused some before it has answered that it has started. */
void sp_pyrun_prepare(struct sp_target_run *run, const struct sp_call *call)
{
	struct sp_pysampler_cfg c = {0};

	if (!wanted(run, call) || !intervals(call, &c))
		return;
	run->python_fd = open_beside(&run->outputs);
	run->python_call = call;
	run->link.python_ctx = run;
	if (run->python_fd >= 0 && !sp_call_samples_python(call))
		run->link.refused = try_refused;
}

void sp_pyrun_start_beside(struct sp_target_run *run, const struct sp_call *call)
{
	if (run->python_fd < 0 || !sp_call_samples_python(call))
		return;
	run->link.memory = give;
	start_sampler(run, 0);
}

void sp_pyrun_join(struct sp_target_run *run, const struct sp_call *call)
{
	int r = 0;

	if (run->python_fd < 0)
		return;
	if (run->python_workers || run->python_said)
		r = sp_jfr_concat_join(run->python_fd, run->outputs.fd);
	else if (call->python == SP_PYTHON_ON && sp_call_samples_python(call))
		sp_message_warn(
			"pid %d: no Python process that could be sampled was seen below it, or "
			"above it",
			(int)run->target->pid);
	if (r < 0)
		sp_message_warn("Python workers are not in the recording: %s", strerror(-r));
	sp_pyrun_done(run);
}

void sp_pyrun_done(struct sp_target_run *run)
{
	if (run->python_fd >= 0)
		close(run->python_fd);
	run->python_fd = -1;
}

static void take_state(struct sp_target_run *run, const struct sp_pysampler_state *state)
{
	run->python_workers = state->workers;
	run->python_counts[0] = state->samples;
	run->python_counts[1] = state->lost;
}

void sp_pyrun_look(struct sp_target_run *run)
{
	struct sp_pysampler_state state;

	sp_pysampler_look(run->python, &state);
	take_state(run, &state);
	if (run->is_python && run->recording)
		sp_stopped_target_look(
			&run->link.halted, run->target->pid, "its threads only wait");
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
	take_state(run, &state);
	run->python_said = said.text[0] != 0;
	if (run->python_said)
		sp_message_warn("%s", said.text);
	if (r < 0 && !run->is_python) {
		sp_message_warn("%s", err.text);
	} else if (r < 0) {
		sp_message_error("%s", err.text);
		run->code = sp_link_exit_code(r);
	}
}

/* One target's recording: see target_run.h. */
#include "target_run.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/safe_print.h"
#include "cpu_sum.h"
#include "proc/proc.h"
#include "proc/whoami.h"
#include "py_run.h"
#include "record_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sp_target_run_init(struct sp_target_run *run, const struct sp_jvm *target)
{
	memset(run, 0, sizeof(*run));
	run->target = target;
	run->link.chan.fd = -1;
	run->python_fd = -1;
	sp_outputs_init(&run->outputs);
}

void sp_target_run_done(struct sp_target_run *run)
{
	if (run->python)
		sp_pyrun_stop(run);
	sp_pyrun_done(run);
	sp_link_close(&run->link);
	sp_outputs_done(&run->outputs);
}

static void fail_run(struct sp_target_run *run, int error, const struct sp_err *err)
{
	if (error == -EBUSY && run->minds_busy) {
		run->busy = *err;
		return;
	}
	if (err->text[0])
		sp_message_error("%s", err->text);
	run->code = sp_link_exit_code(error);
}

/* Where the target may not open perf events and we may: while we stay, also for new threads. */
static void add_perf(
	struct sp_target_run *run, const struct sp_call *call, struct sp_record_options *fields)
{
	bool stay = call->action == SP_ACTION_COLLECT;

	if (sp_perf_fd_server_init(&run->link.perf, run->target->pid))
		fields->text[SP_RECORD_PERF] = stay ? "passed" : "leaves";
	run->link.perf.on = run->link.perf.on && stay;
}

/* collect ends its recording. Where it is stopped meanwhile, or gets no CPU, the agent does: a
 * moment later, and after the time that entering the other targets may take. */
static uint64_t latest_end(const struct sp_target_run *run, const struct sp_call *call)
{
	const uint64_t moment_ns = 2000000000ull, enter_ns = 60000000000ull;

	return call->duration_ns + moment_ns + run->after * (call->attach_timeout_ns + enter_ns);
}

static int ask_start(struct sp_target_run *run, const struct sp_call *call, struct sp_err *err)
{
	SP_AUTO_RECORD_REQUEST struct sp_record_request options;
	SP_AUTO_BUF struct sp_buf outputs;
	char who[SP_WHO_LEN];
	struct sp_msg request = {.type = SP_MSG_START}, reply;
	int fds[2];

	sp_buf_init(&outputs);
	sp_whoami(who);
	if (sp_record_request_init(&options, call, run->outputs.stream) < 0 ||
		sp_outputs_text(&run->outputs, &outputs) < 0)
		return sp_err_set(err, -ENOMEM, "out of memory");
	if (call->action == SP_ACTION_COLLECT)
		options.fields.num[SP_RECORD_TIMEOUT_NS] = latest_end(run, call);
	add_perf(run, call, &options.fields);
	sp_record_options_put(&options.fields, &request);
	request.text[0] = who;
	request.text[1] = sp_buf_str(&outputs);
	fds[0] = run->outputs.fd;
	fds[1] = run->python_fd;
	return sp_link_ask(&run->link, &request, fds, 1 + (fds[1] >= 0), &reply, err);
}

/* Nothing was recorded: there is nothing to finish. */
static void drop_outputs(struct sp_target_run *run)
{
	sp_outputs_discard(&run->outputs);
	close(run->outputs.fd);
	run->outputs.fd = -1;
}

/* The same for a target that nothing is loaded into. */
static void start_python(struct sp_target_run *run, const struct sp_call *call)
{
	struct sp_err err = {""};
	int r = sp_outputs_name(&run->outputs, call, run->target, &err);

	if (r == 0)
		r = sp_outputs_check(&run->outputs, &err);
	if (r == 0)
		r = sp_outputs_record(&run->outputs, &err);
	if (r == 0) {
		r = sp_pyrun_start(run, call, &err);
		if (r < 0)
			drop_outputs(run);
	}
	run->recording = r == 0;
	if (r < 0)
		fail_run(run, r, &err);
}

static void explain_way(struct sp_err *err)
{
	struct sp_err busy = *err;

	sp_err_set(err, -EBUSY,
		"%s; 'sparkprof dump' shows that recording, 'sparkprof stop' ends it if it runs in "
		"the background",
		busy.text);
}

void sp_target_run_start(struct sp_target_run *run, const struct sp_call *call)
{
	const struct sp_jvm *t = run->target;
	struct sp_err err = {""};
	int r;

	if (run->is_python) {
		start_python(run, call);
		return;
	}
	r = call->loop ? 0 : sp_outputs_name(&run->outputs, call, t, &err);
	if (r == 0 && call->action != SP_ACTION_RESUME)
		r = sp_outputs_check(&run->outputs, &err);
	sp_guest_lower_priority(t->pid);
	if (r == 0 && !call->force)
		r = sp_guest_check_memory(t->pid, call->memory, &err);
	if (r == 0)
		r = sp_link_open(&run->link, t->pid, call->attach_timeout_ns, &err);
	if (r < 0) {
		fail_run(run, r, &err);
		return;
	}
	if (call->action == SP_ACTION_RESUME)
		r = sp_outputs_reopen(&run->outputs, &err);
	else
		r = sp_outputs_record(&run->outputs, &err);
	if (r == 0) {
		sp_pyrun_prepare(run, call);
		r = ask_start(run, call, &err);
		if (r == 0)
			r = sp_outputs_settle(&run->outputs, &err);
		if (r < 0)
			drop_outputs(run);
	}
	run->recording = r == 0;
	run->began_ns = sp_clock_mono_ns();
	run->cpu_ns = sp_cpu_sum_read(t->pid);
	if (r == -EBUSY && !run->minds_busy)
		explain_way(&err);
	if (r < 0)
		fail_run(run, r, &err);
	else
		sp_pyrun_start_beside(run, call);
}

/* They go to the terminal, and are what the target says. */
static void keep_stages(struct sp_target_run *run, const char *text)
{
	SP_AUTO_BUF struct sp_buf safe;

	sp_buf_init(&safe);
	sp_safe_print_text(&safe, text, 40);
	snprintf(run->stages, sizeof(run->stages), "%s", sp_buf_str(&safe));
}

void sp_target_run_follow(struct sp_target_run *run)
{
	struct sp_err err = {""};
	struct sp_msg m;
	int r = sp_link_next(&run->link, &m, sp_clock_mono_ns() + 1000000000, &err);

	if (r == 0 && m.type == SP_MSG_PROGRESS) {
		memcpy(run->counts, m.num, sizeof(run->counts));
		keep_stages(run, m.text[0]);
	}
	if (r == 0 || r == -EINTR || r == -ETIMEDOUT)
		return;
	run->died = r == -ESRCH;
	run->recording = false;
	sp_link_close(&run->link);
	sp_message_error("%s; what was recorded until then is written", err.text);
	run->code = SP_EXIT_PART;
}

void sp_target_run_missing(struct sp_target_run *run, const char *sentence)
{
	if (!*sentence)
		return;
	sp_message_error("pid %d: %s", (int)run->target->pid, sentence);
	run->code = SP_EXIT_FAILED;
}

void sp_target_run_stop(struct sp_target_run *run)
{
	struct sp_err err = {""};
	struct sp_msg m;
	int r;

	run->link.patient = sp_interrupted();
	do /* an early end by Ctrl-C must not cut its own conversation short */
		r = sp_link_ask(
			&run->link, &(struct sp_msg){.type = SP_MSG_STOP}, NULL, 0, &m, &err);
	while (r == -EINTR);
	if (r == 0) {
		memcpy(run->counts, m.num, sizeof(run->counts));
		sp_target_run_missing(run, m.text[1]);
	} else if (r == -ESRCH || r == -ECONNRESET) {
		run->died = true;
	}
	run->recording = false;
	sp_link_close(&run->link);
	if (r == -ETIMEDOUT)
		sp_message_error("%s; what was flushed before is written", err.text);
	else if (r < 0)
		sp_message_error("%s", err.text);
	if (r < 0)
		run->code = run->died || r == -ETIMEDOUT ? SP_EXIT_PART : sp_link_exit_code(r);
}

/* An empty picture raises a question, and so does half of one. */
static void explain(const struct sp_target_run *run, const struct sp_call *call)
{
	struct sp_cpu_sum sum = {.took_ns = sp_clock_mono_ns() - run->began_ns,
		.samples = run->counts[SP_PROGRESS_SAMPLES] + run->counts[SP_PROGRESS_LOST],
		.others = run->python_counts[0]};
	uint64_t now = sp_cpu_sum_read(run->target->pid);

	if (run->died)
		return;
	sum.used_ns = run->cpu_ns && now > run->cpu_ns ? now - run->cpu_ns : 0;
	sp_cpu_sum_explain(run->target->pid, call, &sum);
}

void sp_target_run_finish(struct sp_target_run *run, const struct sp_call *call)
{
	struct sp_err err = {""};
	int r;

	/* The JVM first: on a busy machine it takes it a second to end its recording, and what its
	 * threads wait for until then is what the workers do. */
	if (run->recording && !run->is_python)
		sp_target_run_stop(run);
	if (run->python)
		sp_pyrun_stop(run);
	if (run->outputs.fd < 0)
		return;
	sp_pyrun_join(run, call);
	r = sp_outputs_write(&run->outputs, call, run->target, true, &err);
	if (r < 0)
		fail_run(run, r, &err);
	else
		explain(run, call);
}

/* What is no JVM may be a Python. Returns an exit code. */
static int check_python(const struct sp_jvm *t, const struct sp_call *call)
{
	struct sp_err err = {""};
	int r = sp_pyrun_check(t, call, &err);

	if (r == 0)
		return SP_EXIT_DONE;
	if (r == -ENOEXEC)
		sp_message_error("pid %d: %s: look with 'sparkprof ps'", (int)t->pid, t->reason);
	else
		sp_message_error("pid %d: %s", (int)t->pid, err.text);
	return r == -ENOTSUP ? SP_EXIT_USAGE : SP_EXIT_TARGET;
}

static bool is_no_jvm(const struct sp_jvm *t)
{
	return t->kind == SP_JVM_NONE && t->block == SP_BLOCK_NOT_JVM;
}

static int check_target(const struct sp_jvm *t, const struct sp_call *call)
{
	if (is_no_jvm(t))
		return check_python(t, call);

	/* A JVM that starts or is stopped may answer within the time that attaching has. */
	if (t->block == SP_BLOCK_STOPPED)
		sp_message_warn("pid %d: %s; waiting for that as long as --attach-timeout allows",
			(int)t->pid, t->reason);
	if (t->attach != SP_ATTACH_NO || t->block == SP_BLOCK_STARTING ||
		t->block == SP_BLOCK_STOPPED)
		return SP_EXIT_DONE;
	sp_message_error("pid %d: %s", (int)t->pid, t->reason);
	return SP_EXIT_TARGET;
}

int sp_target_runs_new(
	const struct sp_call *call, struct sp_targets *targets, struct sp_target_run **ret_runs)
{
	SP_AUTO_CLOSE int procfd = sp_proc_root();
	struct sp_err err = {""};
	struct sp_target_run *runs;
	int r = sp_target_resolve(procfd, call->targets, call->n_targets, targets, &err);

	if (r == 0)
		r = sp_options_check_outputs(call, targets->n, &err);
	if (r < 0) {
		sp_message_error("%s", err.text);
		return sp_link_exit_code(r);
	}
	for (size_t i = 0; i < targets->n; i++) {
		int code = check_target(&targets->list[i], call);

		if (code != SP_EXIT_DONE)
			return code;
	}
	runs = calloc(targets->n, sizeof(*runs));
	if (!runs) {
		sp_message_error("out of memory");
		return SP_EXIT_FAILED;
	}
	for (size_t i = 0; i < targets->n; i++)
		sp_target_run_init(&runs[i], &targets->list[i]);
	for (size_t i = 0; i < targets->n; i++)
		runs[i].is_python = is_no_jvm(&targets->list[i]);
	*ret_runs = runs;
	return SP_EXIT_DONE;
}

void sp_target_runs_skip(struct sp_target_run *runs, size_t from, size_t n)
{
	for (size_t i = from; i < n; i++) {
		sp_message_error(
			"pid %d: left out: interrupted before its turn", (int)runs[i].target->pid);
		runs[i].code = SP_EXIT_FAILED;
	}
}

void sp_target_runs_free(struct sp_target_run *runs, size_t n)
{
	for (size_t i = 0; i < n && runs; i++)
		sp_target_run_done(&runs[i]);
	free(runs);
}

int sp_target_runs_code(const struct sp_target_run *runs, size_t n)
{
	int worst = SP_EXIT_DONE;

	for (size_t i = 0; i < n; i++)
		worst = sp_exit_worse(worst, runs[i].code);
	return worst;
}

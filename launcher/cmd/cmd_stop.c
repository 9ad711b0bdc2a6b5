/* sparkprof stop TARGET… and sparkprof dump TARGET…: write what a `start` recorded, to the outputs
 * that it named and to those of this call; stop also ends the recording. */
#include "cli/command.h"

#include "base/cleanup.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "in/tmpfile.h"
#include "jfr/concat.h"
#include "run/last_recording.h"
#include "run/target_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Without any -f, then or now, the text goes to stdout. The names given at the start were the
 * agent's to keep, so they are the target's word by now: who has other rights than the target
 * writes no file because it says so, only those of his own call. */
static int name_outputs(struct sp_target_run *run, const struct sp_call *call, const char *started,
	struct sp_err *err)
{
	struct sp_outputs *o = &run->outputs;
	int r;

	if (geteuid() != run->target->uid)
		return sp_outputs_name(o, call, run->target, err);
	if (sp_outputs_parse(o, started) < 0)
		return sp_err_set(err, -EPROTO,
			"pid %d: the agent's answer about its outputs cannot be read (another "
			"version?)",
			(int)run->target->pid);
	r = sp_outputs_name(o, call, run->target, err);
	if (r == 0 && o->n == 0)
		r = sp_outputs_parse(o, "text -\n");
	return r;
}

/* What the call itself names can be had: asked before a recording is ended for it. */
static int check_outputs(
	const struct sp_target_run *run, const struct sp_call *call, struct sp_err *err)
{
	struct sp_outputs o;
	int r;

	sp_outputs_init(&o);
	r = sp_outputs_name(&o, call, run->target, err);
	if (r == 0)
		r = sp_outputs_check(&o, err);
	sp_outputs_done(&o);
	return r;
}

/* Takes the descriptors of a dump: the segment in hand first, then those before it. Several become
 * one recording, in a file without a name. Returns it or -errno. */
static int take_recording(struct sp_chan *chan)
{
	SP_AUTO_CLOSE int all = -1;
	int r = 0, n = chan->n_fds;

	if (n == 1) {
		chan->n_fds = 0;
		return chan->fds[0];
	}
	all = sp_tmpfile_open();
	for (int i = 1; i <= n && all >= 0 && r == 0; i++) /* the one in hand last */
		r = sp_jfr_concat_append(chan->fds[i % n], all);
	if (all < 0 || r < 0)
		return all < 0 ? all : r;
	sp_chan_drop_fds(chan);
	return sp_steal_fd(&all);
}

/* What another process passes is read as a recording, and must be a file: a FIFO would keep us
 * waiting. */
static bool is_recording(const struct sp_chan *chan)
{
	struct stat st;

	if (chan->n_fds < 1 || sp_chan_check_output(chan->fds[0]) < 0)
		return false;
	for (int i = 0; i < chan->n_fds; i++)
		if (fstat(chan->fds[i], &st) < 0 || !S_ISREG(st.st_mode))
			return false;
	return true;
}

/* Nothing is recorded any more: what was recorded last, @fd, is shown again. */
static int show_last(
	struct sp_target_run *run, const struct sp_call *call, int fd, struct sp_err *err)
{
	struct sp_outputs *o = &run->outputs;
	int r;

	o->fd = fd;
	r = sp_outputs_name(o, call, run->target, err);
	if (r == 0 && o->n == 0)
		r = sp_outputs_parse(o, "text -\n");
	if (r < 0)
		return r;
	sp_message_note("pid %d: nothing is being recorded; this is the last recording",
		(int)run->target->pid);
	return sp_outputs_write(o, call, run->target, false, err);
}

/* @ret_none: the agent has nothing; a file that cannot be made is -ENOENT, too. */
static int ask_agent(
	struct sp_target_run *run, const struct sp_call *call, bool *ret_none, struct sp_err *err)
{
	bool stop = call->action == SP_ACTION_STOP;
	struct sp_msg request = {.type = stop ? SP_MSG_STOP : SP_MSG_FLUSH}, m;
	int fd, r = check_outputs(run, call, err);

	*ret_none = false;
	if (r < 0)
		return r;
	r = sp_link_open(&run->link, run->target->pid, call->attach_timeout_ns, err);
	if (r == 0)
		r = sp_link_ask(&run->link, &request, NULL, 0, &m, err);
	*ret_none = r == -ENOENT;
	if (r < 0)
		return r;
	if (!is_recording(&run->link.chan))
		return sp_err_set(err, -EPROTO, "pid %d: did not hand over its recording",
			(int)run->target->pid);
	if (stop)
		sp_target_run_missing(run, m.text[1]);
	else if (m.text[1][0])
		sp_message_warn("pid %d: %s", (int)run->target->pid, m.text[1]);
	r = name_outputs(run, call, m.text[0], err);
	fd = take_recording(&run->link.chan);
	if (fd < 0)
		return sp_err_set(err, fd,
			"pid %d: the segments of its recording cannot be joined: %s",
			(int)run->target->pid, strerror(-fd));
	sp_outputs_adopt(&run->outputs, fd);
	if (r == 0 && run->outputs.n == 0)
		sp_message_note("pid %d: the recording is in the file that was named at its start; "
				"use -f to write another output",
			(int)run->target->pid);
	else if (r == 0)
		r = sp_outputs_write(&run->outputs, call, run->target, stop, err);
	return r;
}

static int ask_or_show(
	struct sp_target_run *run, const struct sp_call *call, bool *ret_none, struct sp_err *err)
{
	int r = ask_agent(run, call, ret_none, err), last;

	if (!*ret_none)
		return r;
	last = sp_last_recording_open(run->target);
	if (last < 0)
		return r;
	*ret_none = false;
	return show_last(run, call, last, err);
}

static int each(const struct sp_call *call)
{
	SP_AUTO_TARGETS struct sp_targets targets = {0};
	struct sp_target_run *runs = NULL;
	size_t i = 0;
	int code;

	sp_interrupt_install();
	code = sp_target_runs_new(call, &targets, &runs);
	if (code != SP_EXIT_DONE)
		return code;
	for (; i < targets.n && !sp_interrupted(); i++) {
		struct sp_err err = {""};
		bool none;
		int r;

		sp_guest_lower_priority(runs[i].target->pid);
		r = ask_or_show(&runs[i], call, &none, &err);
		if (r < 0) {
			sp_message_error("%s", err.text);
			runs[i].code = none ? SP_EXIT_TARGET : sp_link_exit_code(r);
		}
	}
	sp_target_runs_skip(runs, i, targets.n);
	code = sp_target_runs_code(runs, targets.n);
	sp_target_runs_free(runs, targets.n);
	return code;
}

int sp_cmd_stop(const struct sp_call *call)
{
	return each(call);
}

int sp_cmd_dump(const struct sp_call *call)
{
	return each(call);
}

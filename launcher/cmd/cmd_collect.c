/* sparkprof collect TARGET…: records for a while, then writes the outputs. Several targets record
 * side by side; the launcher itself has one thread. */
#include "cli/command.h"

#include "base/clock.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "run/py_run.h"
#include "run/target_run.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

struct collect {
	struct sp_target_run *runs;
	size_t n;
	struct pollfd *polls; /* one per run, and stdout where a recording streams to it */
	struct sp_progress progress;
	uint64_t end_ns;
};

static bool any_recording(const struct collect *c)
{
	for (size_t i = 0; i < c->n; i++) {
		if (c->runs[i].recording)
			return true;
	}
	return false;
}

static void draw_progress(struct collect *c)
{
	const char *stages = ""; /* of the first that reports some */
	uint64_t samples = 0, lost = 0;

	for (size_t i = 0; i < c->n; i++) {
		samples += c->runs[i].counts[SP_PROGRESS_SAMPLES] + c->runs[i].python_counts[0];
		lost += c->runs[i].counts[SP_PROGRESS_LOST] + c->runs[i].python_counts[1];
		stages = *stages ? stages : c->runs[i].stages;
	}
	sp_progress_draw(&c->progress, samples, lost, stages);
}

static int wait_ms(uint64_t end_ns)
{
	uint64_t now = sp_clock_mono_ns();

	if (now >= end_ns)
		return 0;
	return end_ns - now > 200000000 ? 200 : (int)((end_ns - now + 999999) / 1000000);
}

/* True once nobody reads the stream any more. */
static bool stream_closed(const struct collect *c)
{
	return c->runs[0].outputs.stream && c->polls[c->n].revents & (POLLERR | POLLHUP);
}

static void look_for_halted(struct collect *c)
{
	for (size_t i = 0; i < c->n; i++) {
		struct sp_link *l = &c->runs[i].link;

		if (c->runs[i].recording)
			sp_stopped_target_look(&l->halted, l->pid, "nothing in it is sampled");
	}
}

static void follow_recordings(struct collect *c)
{
	while (any_recording(c) && !sp_interrupted() && sp_clock_mono_ns() < c->end_ns) {
		for (size_t i = 0; i < c->n; i++)
			c->polls[i] = (struct pollfd){c->runs[i].link.chan.fd, POLLIN, 0};
		c->polls[c->n] = (struct pollfd){STDOUT_FILENO, 0, 0};
		draw_progress(c);
		look_for_halted(c);
		if (poll(c->polls, c->n + c->runs[0].outputs.stream, wait_ms(c->end_ns)) < 0)
			continue; /* a signal: the loop's condition looks at it */
		for (size_t i = 0; i < c->n; i++) {
			if (c->runs[i].recording && c->polls[i].revents)
				sp_target_run_follow(&c->runs[i]);
		}
		for (size_t i = 0; i < c->n; i++)
			if (c->runs[i].python)
				sp_pyrun_look(&c->runs[i]);
		if (stream_closed(c))
			break;
	}
}

static void record(struct collect *c, const struct sp_call *call)
{
	size_t i = 0;

	for (; i < c->n && !sp_interrupted(); i++) {
		c->runs[i].after = c->n - 1 - i;
		sp_target_run_start(&c->runs[i], call);
	}
	sp_target_runs_skip(c->runs, i, c->n);
	sp_progress_start(&c->progress, call->duration_ns, call->quiet);
	c->end_ns = sp_clock_mono_ns() + call->duration_ns;
	follow_recordings(c);
	sp_progress_end(&c->progress);
	for (i = 0; i < c->n; i++)
		sp_target_run_finish(&c->runs[i], call);
}

int sp_cmd_collect(const struct sp_call *call)
{
	SP_AUTO_TARGETS struct sp_targets targets = {0};
	struct collect c = {0};
	int code;

	sp_interrupt_install();
	code = sp_target_runs_new(call, &targets, &c.runs);
	if (code != SP_EXIT_DONE)
		return code;
	c.n = targets.n;
	c.polls = calloc(c.n + 1, sizeof(*c.polls));
	if (c.polls) {
		record(&c, call);
		code = sp_target_runs_code(c.runs, c.n);
	} else {
		sp_message_error("out of memory");
		code = SP_EXIT_FAILED;
	}
	free(c.polls);
	sp_target_runs_free(c.runs, c.n);
	return code;
}

/* A call over the targets of several hosts: see far_runs.h. */
#include "far_runs.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/safe_print.h"
#include "far_runs_internal.h"
#include "targets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 1 << 16, PRINTED_MAX = 64 << 20 };

/* Whether recordings come here, to become one report. */
static bool brings_recordings(const struct sp_call *call)
{
	return call->action == SP_ACTION_COLLECT || call->action == SP_ACTION_STOP ||
	       call->action == SP_ACTION_DUMP;
}

/* What of the user's call the copies are to know: how to record, not what to make of it. */
static bool is_for_far(const struct sp_call *call, const struct sp_call_given *g)
{
	static const char *const ours[] = {"via", "hosts", "ssh-option", "user", "sudo",
		"namespace", "context", "container", "executors", "fraction", "slowest", "driver",
		"parallel", "rm", "master", "follow", "strict", "dry-run", "file", "output"};

	for (size_t i = 0; i < SP_COUNT(ours); i++)
		if (strcmp(ours[i], g->name) == 0)
			return false;
	if (strcmp(g->name, "driver-ui") == 0)
		return call->action == SP_ACTION_COLLECT || call->action == SP_ACTION_START;
	return !brings_recordings(call) || !g->shapes;
}

static void add_word(struct sp_buf *b, const char *word)
{
	sp_buf_add(b, word, strlen(word) + 1);
}

/* The words of a run, each with its NUL. @target: NULL for none. @duration_ns: 0: as given. */
static void make_words(
	const struct sp_call *call, const char *target, uint64_t duration_ns, struct sp_buf *ret)
{
	add_word(ret, "sparkprof");
	add_word(ret, sp_action_name(call->action));
	for (size_t i = 0; i < call->n_given; i++) {
		const struct sp_call_given *g = &call->given[i];

		if (!is_for_far(call, g) || (duration_ns && strcmp(g->name, "duration") == 0))
			continue;
		sp_buf_addf(
			ret, "--%s%s%s", g->name, g->value ? "=" : "", g->value ? g->value : "");
		sp_buf_addc(ret, '\0');
	}
	if (duration_ns) {
		sp_buf_addf(ret, "--duration=%.3fs", (double)duration_ns / 1e9);
		sp_buf_addc(ret, '\0');
	}
	if (brings_recordings(call)) {
		add_word(ret, "--output=jfr");
		add_word(ret, "--file=-");
	}
	if (!target)
		return;
	add_word(ret, "--");
	add_word(ret, target);
}

void sp_far_runs_describe(const struct sp_call *call, struct sp_buf *ret)
{
	SP_AUTO_BUF struct sp_buf words = {0};

	if (call->action == SP_ACTION_PS)
		return;
	make_words(call, call->n_targets ? "PID" : NULL, 0, &words);
	for (size_t i = 0; i < words.len; i++)
		if (!words.data[i])
			words.data[i] = i + 1 < words.len ? ' ' : '\n';
	sp_buf_adds(ret, "there, for each target: ");
	sp_buf_add(ret, words.data, words.len);
}

struct sp_far_run *sp_far_runs_add(
	struct sp_far_runs *rs, struct sp_via_host *h, const struct sp_jvm *jvm)
{
	if (rs->n > UINT16_MAX || sp_grow(&rs->list, &rs->cap, rs->n, sizeof(*rs->list), 64) < 0)
		return NULL;
	rs->list[rs->n] =
		(struct sp_far_run){.host = h, .jvm = jvm, .fd = -1, .code = SP_EXIT_PART};
	return &rs->list[rs->n++];
}

static int add_runs(struct sp_far_runs *rs, struct sp_err *err)
{
	struct sp_via_targets found;
	int r = sp_via_targets_find(&found, rs->hs, rs->call, err);

	for (size_t i = 0; r == 0 && i < found.n; i++)
		if (!sp_far_runs_add(rs, found.list[i].host, found.list[i].jvm))
			r = sp_err_set(err, -ENOMEM, "out of memory");
	free(found.list);
	return r;
}

int sp_far_runs_start(struct sp_far_runs *rs, size_t i, uint64_t duration_ns, struct sp_err *err)
{
	SP_AUTO_BUF struct sp_buf words = {0};
	struct sp_far_run *r = &rs->list[i];
	char pid[16];

	if (rs->recording) {
		r->fd = sp_received_recordings_create(&rs->received, i, err);
		if (r->fd < 0)
			return r->fd;
	}
	if (r->jvm)
		snprintf(pid, sizeof(pid), "%d", (int)r->jvm->pid);
	make_words(rs->call, r->jvm ? pid : NULL, duration_ns, &words);
	if (words.failed || words.len > WORDS_MAX)
		return sp_err_set(err, -EINVAL, "the call is too long to be sent");
	sp_packets_send(&r->host->packets, SP_PACKET_RUN, (uint16_t)i, words.data, words.len);
	return 0;
}

static int start_all(struct sp_far_runs *rs, struct sp_err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < rs->n; i++)
		r = sp_far_runs_start(rs, i, 0, err);
	rs->begun_ns = rs->looked_ns = sp_clock_mono_ns();
	for (size_t i = 0; i < rs->hs->connected; i++)
		rs->hs->list[i].looked_at = true;
	return r;
}

/* What it prints is kept until its end: no action prints without one. */
static void keep_printed(struct sp_far_run *r, const struct sp_packet *m)
{
	if (r->code == SP_EXIT_FAILED)
		return;
	sp_buf_add(&r->out, m->data, m->len);
	if (!r->out.failed && r->out.len <= PRINTED_MAX)
		return;
	sp_message_error("%s: prints more than %d MB; the rest is left out", r->host->name,
		PRINTED_MAX >> 20);
	r->code = SP_EXIT_FAILED;
}

static void take_output(struct sp_far_runs *rs, struct sp_far_run *r, const struct sp_packet *m)
{
	size_t done = 0;

	r->bytes += m->len;
	if (r->fd < 0 && !rs->recording)
		keep_printed(r, m);
	while (r->fd >= 0 && done < m->len) {
		ssize_t n = write(r->fd, m->data + done, m->len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			sp_message_error("a recording cannot be written here: %s", strerror(errno));
			close(r->fd);
			r->fd = -1;
			r->code = SP_EXIT_FAILED;
			return;
		}
		done += (size_t)n;
	}
}

static void end_run(struct sp_far_runs *rs, struct sp_far_run *r, int code)
{
	if (r->ended)
		return;
	r->ended = true;
	rs->ended++;
	if (r->code != SP_EXIT_FAILED)
		r->code = code;
}

/* A line of its standard error. */
static void take_line(struct sp_far_runs *rs, struct sp_far_run *r, const struct sp_packet *m)
{
	char text[80];
	unsigned long long samples, lost;

	snprintf(text, sizeof(text), "%.*s", (int)(m->len < 79 ? m->len : 79),
		(const char *)m->data);
	if (sscanf(text, SP_PROGRESS_MARK "%llu %llu", &samples, &lost) == 2) {
		r->samples = samples;
		r->lost = lost;
	} else if (strncmp(text, SP_PROGRESS_MARK, strlen(SP_PROGRESS_MARK)) != 0) {
		sp_host_messages_add(&rs->messages, r->host->name, (const char *)m->data, m->len);
	}
}

static void take(struct sp_far_runs *rs, struct sp_via_host *h, const struct sp_packet *m)
{
	struct sp_far_run *r = m->id < rs->n ? &rs->list[m->id] : NULL;
	uint32_t code;

	if (m->type == SP_PACKET_JVM)
		sp_via_join_take(rs, h, m);
	if (m->type == SP_PACKET_JVM || !r || r->host != h)
		return;
	if (m->type == SP_PACKET_OUT) {
		take_output(rs, r, m);
	} else if (m->type == SP_PACKET_ERR) {
		take_line(rs, r, m);
	} else if (m->type == SP_PACKET_EXIT && m->len == sizeof(code)) {
		memcpy(&code, m->data, sizeof(code));
		end_run(rs, r, code <= SP_EXIT_PART ? (int)code : SP_EXIT_FAILED);
	}
}

/* A host that is gone ends what runs there; what has arrived stays. */
static void end_lost(struct sp_far_runs *rs, const struct sp_via_host *h)
{
	bool lost = false;

	for (size_t i = 0; i < rs->n; i++) {
		if (rs->list[i].host != h || rs->list[i].ended)
			continue;
		end_run(rs, &rs->list[i], SP_EXIT_PART);
		lost = true;
	}
	if (!lost)
		return;
	sp_progress_table_erase(&rs->table);
	sp_message_error("%s: the connection ended%s%s; what had arrived is kept", h->name,
		h->last[0] ? ": " : "", h->last);
}

static const char *state_of(const struct sp_far_run *r)
{
	if (!r->ended)
		return r->bytes ? "recording" : "begins";
	return r->code == SP_EXIT_DONE ? "done" : r->bytes ? "broken off" : "failed";
}

/* "driver", "executor 7", "pid 4711". */
static void say_who(const struct sp_far_run *r, struct sp_buf *ret)
{
	if (r->jvm && r->jvm->role == SP_ROLE_DRIVER) {
		sp_buf_adds(ret, "driver");
	} else if (r->jvm && r->jvm->executor_id[0]) {
		sp_buf_adds(ret, "executor ");
		sp_safe_print_text(ret, r->jvm->executor_id, 20);
	} else if (r->jvm) {
		sp_buf_addf(ret, "pid %d", (int)r->jvm->pid);
	}
}

/* One line more for each run that has come since. */
static bool make_rows(struct sp_far_runs *rs)
{
	for (; rs->n_rows < rs->n; rs->n_rows++) {
		SP_AUTO_BUF struct sp_buf who = {0};

		if (sp_grow_one(&rs->rows, rs->n_rows, sizeof(*rs->rows)) < 0)
			return false;
		say_who(&rs->list[rs->n_rows], &who);
		rs->rows[rs->n_rows].who = strdup(sp_buf_str(&who));
		if (!rs->rows[rs->n_rows].who)
			return false;
	}
	return true;
}

static void draw(struct sp_far_runs *rs)
{
	if (!sp_progress_table_due(&rs->table) || !make_rows(rs))
		return;
	for (size_t i = 0; i < rs->n; i++) {
		struct sp_far_run *r = &rs->list[i];
		struct sp_progress_row *l = &rs->rows[i];

		*l = (struct sp_progress_row){
			r->host->name, l->who, state_of(r), r->samples, r->lost, r->bytes};
	}
	sp_progress_table_draw(&rs->table, rs->rows, rs->n, sp_clock_mono_ns() - rs->begun_ns);
}

static void end_table(struct sp_far_runs *rs)
{
	sp_progress_table_erase(&rs->table);
	for (size_t i = 0; i < rs->n_rows; i++)
		free((char *)rs->rows[i].who);
	free(rs->rows);
	rs->rows = NULL;
	rs->n_rows = 0;
}

static void follow(struct sp_far_runs *rs)
{
	while (rs->ended < rs->n || sp_via_join_waits(rs)) {
		struct sp_packet m;

		sp_via_hosts_step(rs->hs, 200);
		for (size_t i = 0; i < rs->hs->n; i++) {
			struct sp_via_host *h = &rs->hs->list[i];

			while (sp_via_host_packet(h, &m))
				take(rs, h, &m);
			if (sp_via_host_ended(h))
				end_lost(rs, h);
		}
		sp_via_join_look(rs);
		draw(rs);
		if (!sp_interrupted() || rs->interrupted)
			continue;
		rs->interrupted = true;
		for (size_t i = 0; i < rs->hs->n; i++)
			if (rs->hs->list[i].state == SP_VIA_READY)
				sp_packets_send(
					&rs->hs->list[i].packets, SP_PACKET_INTERRUPT, 0, NULL, 0);
	}
}

static void print_heading(const struct sp_far_run *r, bool first)
{
	SP_AUTO_BUF struct sp_buf text = {0};

	sp_buf_addf(&text, "%s== %s", first ? "" : "\n", r->host->name);
	if (r->jvm)
		sp_buf_addf(&text, ", pid %d", (int)r->jvm->pid);
	if (r->jvm && r->jvm->role == SP_ROLE_DRIVER) {
		sp_buf_adds(&text, ", driver");
	} else if (r->jvm && r->jvm->executor_id[0]) {
		sp_buf_adds(&text, ", executor ");
		sp_safe_print_text(&text, r->jvm->executor_id, 20);
	}
	printf("%s\n", sp_buf_str(&text));
}

/* What each printed, under a line that says who it is where there are several. */
static int print_outputs(struct sp_far_runs *rs)
{
	bool whole = true;

	for (size_t i = 0; i < rs->n; i++) {
		struct sp_far_run *r = &rs->list[i];

		if (!r->out.len)
			continue;
		if (rs->n > 1 && !rs->call->json)
			print_heading(r, i == 0);
		whole &= fwrite(r->out.data, 1, r->out.len, stdout) == r->out.len;
	}
	if (whole && fflush(stdout) == 0)
		return SP_EXIT_DONE;
	sp_message_error("cannot write to stdout: %s", strerror(errno));
	return SP_EXIT_FAILED;
}

/* The worst of all is the call's; without --strict a part that worked is enough. */
static int code_of(const struct sp_far_runs *rs)
{
	int worst = SP_EXIT_DONE;
	size_t good = 0;

	for (size_t i = 0; i < rs->n; i++) {
		const struct sp_far_run *r = &rs->list[i];

		good += r->code == SP_EXIT_DONE || (r->code == SP_EXIT_PART && r->bytes);
		worst = sp_exit_worse(worst, r->code);
	}
	return good && !rs->call->strict ? SP_EXIT_DONE : worst;
}

static void say_partial(const struct sp_far_runs *rs)
{
	size_t bad = 0;

	for (size_t i = 0; i < rs->n; i++)
		bad += rs->list[i].code != SP_EXIT_DONE;
	if (bad)
		sp_message_warn(
			"%zu of %zu targets failed or ended early; with --strict the exit code "
			"would say so",
			bad, rs->n);
}

/* Its recording is whole: its times become ours. */
static void close_recording(struct sp_far_runs *rs, size_t i)
{
	const struct sp_far_run *r = &rs->list[i];

	if (r->fd < 0)
		return;
	close(r->fd);
	if (r->host->clock_ns && r->bytes &&
		sp_received_recordings_shift(&rs->received, i, r->host->clock_ns) < 0)
		sp_message_warn(
			"%s: the times of its recording could not be corrected", r->host->name);
}

/* Whatever has arrived is shown, also where it ended badly. */
static bool has_anything(const struct sp_far_runs *rs)
{
	bool any = false;

	for (size_t i = 0; i < rs->n; i++)
		any |= rs->list[i].code == SP_EXIT_DONE || rs->list[i].bytes;
	return any;
}

static int conclude(struct sp_far_runs *rs)
{
	int code = code_of(rs), written = SP_EXIT_DONE;

	sp_host_messages_print(&rs->messages, rs->hs->n);
	for (size_t i = 0; i < rs->n; i++)
		close_recording(rs, i);
	if (!rs->recording)
		written = print_outputs(rs);
	else if (has_anything(rs))
		written = sp_received_recordings_report(&rs->received, rs->call);
	else
		sp_received_recordings_remove(&rs->received);
	say_partial(rs);
	return written != SP_EXIT_DONE ? written : code;
}

int sp_far_runs_execute(struct sp_via_hosts *hs, const struct sp_call *call)
{
	struct sp_far_runs rs = {.hs = hs, .call = call, .recording = brings_recordings(call)};
	struct sp_err err;
	int code, r = add_runs(&rs, &err);

	if (r == 0 && rs.recording)
		r = sp_received_recordings_open(&rs.received, call, &err);
	if (r == 0)
		r = start_all(&rs, &err);
	if (r == 0) {
		sp_progress_table_start(&rs.table, call->quiet || !rs.recording);
		follow(&rs);
		end_table(&rs);
		code = conclude(&rs);
	} else {
		sp_message_error("%s", err.text);
		code = r == -EINVAL ? SP_EXIT_USAGE : r == -ESRCH ? SP_EXIT_TARGET : SP_EXIT_FAILED;
		sp_received_recordings_remove(&rs.received);
	}
	for (size_t i = 0; i < rs.n; i++) {
		sp_buf_done(&rs.list[i].out);
		free(rs.list[i].own);
	}
	free(rs.list);
	sp_host_messages_done(&rs.messages);
	sp_received_recordings_done(&rs.received);
	return code;
}

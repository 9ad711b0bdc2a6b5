/* Reading the files of report and diff: see report_inputs.h. Workers take files that follow each
 * other; with fewer files than cores a file is read by several readers. Profiles are merged as they
 * come, so that memory holds what is merged and what is being read. */
#include "report_inputs.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/path.h"
#include "cli/message.h"
#include "cli/read_progress.h"
#include "elf/symbols.h"
#include "in/input.h"
#include "proc/cgroup_guest.h"
#include "prof/model/coarsen.h"
#include "prof/model/rare_stacks.h"
#include "prof/model/tasks.h"
#include "python_sidecar.h"
#include "sigbus_guard.h"
#include "write_report.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORKERS = 8 };
static const size_t guest_dict = 24u
				 << 20; /* bytes a dictionary may take inside a target's group */
/* Rows of a report of several recordings: some 80 bytes each while it is made. More of few files
 * than of many, whose page should open quickly. */
static const size_t most_rows = 1u << 22, many_rows = 1u << 19, guest_rows = 1u << 17;
enum { MANY = 32 };

struct job {
	const struct sp_report_inputs *in;
	struct sp_load_opts opts;
	bool quiet; /* says nothing of what is in the files */
	const char *events[SP_CALL_MAX_EVENTS];
	size_t most_rows; /* of each worker's sum; 0: as many as there are */
	struct sp_profile *sum;
	struct sp_read_progress reading;
	struct sp_err err; /* the first failure */
	int result;
	size_t read; /* files that gave something */
};

/* One of several that read: files that follow each other, into a sum of its own, so that nobody
 * waits for another, and what comes out depends on the files and the number of workers alone. */
struct said;
struct worker {
	struct job *j;
	size_t from, to; /* of the files */
	struct sp_profile *sum;
	struct sp_symbols *symbols;    /* of all its files: most have the same modules */
	struct sp_symbolized resolved; /* by them */
	struct said *said;	       /* owned: what to warn of */
	size_t said_count;
	struct sp_err err;
	int result;
	size_t read;
	pthread_t thread;
	bool started;
};

static int open_input(const char *path, int *ret_fd, enum sp_input_kind *ret_kind,
	struct sp_err *ret_note, struct sp_err *err)
{
	SP_AUTO_CLOSE int fd = sp_python_sidecar_open(path);

	if (fd < 0)
		return sp_err_set(err, fd, "cannot be opened: %s", strerror(-fd));
	return sp_input_open(fd, ret_fd, ret_kind, ret_note, err);
}

/* "profile-nightly-exec-3.jfr", as Spark's profiler plugin calls it, is executor 3, and
 * "profile-driver.jfr" the driver; else the file's name without what is behind its first dot. */
static void name_executor(const char *path, char *buf, size_t size)
{
	const char *base = sp_path_base(path);
	static const char plugin[] = "profile-", word[] = "-exec-";
	const char *at = NULL, *next = base;
	size_t n;

	while ((next = strstr(next, word))) /* the last: an application is called as it likes */
		at = next++;
	if (at && strncmp(base, plugin, strlen(plugin)) == 0) {
		at += strlen(word);
		snprintf(buf, size, "executor %.*s", (int)strcspn(at, "."), at);
		return;
	}
	n = strcspn(base, ".");
	if (n == strlen("profile-driver") && strncmp(base, "profile-driver", n) == 0) {
		base += strlen(plugin);
		n -= strlen(plugin);
	}
	snprintf(buf, size, "%.*s", (int)(n ? n : strlen(base)), base);
}

/* A sentence about a file, and about how many more. */
struct said {
	char path[256], text[600];
	size_t more;
};

/* Kept until all is read: the same is said once, of however many files. */
static void note_sentence(struct worker *w, const char *path, const char *text, size_t more)
{
	struct said *s;

	for (size_t i = 0; i < w->said_count; i++) {
		if (strncmp(w->said[i].text, text, sizeof(s->text) - 1) == 0) {
			w->said[i].more += more + 1;
			return;
		}
	}
	if (sp_grow_one(&w->said, w->said_count, sizeof(*w->said)) < 0)
		return;
	s = &w->said[w->said_count++];
	snprintf(s->path, sizeof(s->path), "%s", path);
	snprintf(s->text, sizeof(s->text), "%s", text);
	s->more = more;
}

static void say_notes(struct worker *w, const char *path, const struct sp_profile *p)
{
	for (unsigned i = 0; i < p->note_count; i++)
		note_sentence(w, path, sp_dict_get_string(p->dict, p->notes[i].text_id, NULL), 0);
}

/* A dictionary with room for what one more file has, else NULL. */
static struct sp_dict *room_in(struct sp_dict *d)
{
	return sp_dict_used(d) < sp_dict_cap(d) / 2 ? d : NULL;
}

/* One file into a profile of its own. */
static int load_file(
	struct worker *w, const char *path, struct sp_profile **ret, struct sp_err *err)
{
	struct sp_load_opts opts = w->j->opts;
	SP_AUTO_CLOSE int fd = -1;
	struct sp_err note = {0};
	enum sp_input_kind kind;
	char executor[256];
	int r = open_input(path, &fd, &kind, &note, err);

	if (r < 0)
		return r;
	name_executor(path, executor, sizeof(executor));
	opts.executor = executor;
	opts.resolved = &w->resolved;
	opts.dict = w->sum ? room_in(w->sum->dict) : NULL;
	if (opts.dict && !w->sum->foreign)
		w->sum->foreign = sp_dict_threads(opts.dict) + 1;
	if (w->sum && w->sum->fold) {
		opts.fold = w->sum->fold;
		opts.bucket_ns = w->sum->bucket_ns;
	}
	r = sp_input_read(fd, kind, &opts, kind == SP_INPUT_JFR ? w->symbols : NULL, ret, err);
	if (r == 0 && note.text[0])
		sp_profile_note(*ret, note.text);
	if (r == 0 && kind != SP_INPUT_JFR)
		(*ret)->idle = SP_IDLE_UNTOLD;
	return r;
}

/* Adds @p, which passes on, to a sum of at most that many rows; 0: any. */
static int add_profile(struct sp_profile **sum, struct sp_profile *p, size_t rows)
{
	int r = 0;

	if (!*sum) {
		*sum = p;
		return 0;
	}
	if (p->fold > (*sum)->fold)
		r = sp_profile_coarsen(*sum, p->fold);
	if (r == 0)
		r = sp_profile_coarsen(p, (*sum)->fold);
	if (r == 0)
		r = sp_profile_merge(*sum, p);
	sp_profile_free(p);
	return r < 0 || !rows ? r : sp_profile_bound(*sum, rows);
}

/* Takes what came of a file. */
static void add_result(
	struct worker *w, const char *path, struct sp_profile *p, int r, const struct sp_err *err)
{
	bool quiet = w->j->quiet;

	if (r == 0) {
		if (!quiet)
			say_notes(w, path, p);
		r = add_profile(&w->sum, p, w->j->most_rows);
		w->read += r == 0;
	} else if (w->j->in->n > 1 && !quiet) {
		note_sentence(w, path, err->text, 0);
	}
	if (r < 0 && w->result == 0) {
		w->result = r;
		if (err->text[0])
			snprintf(w->err.text, sizeof(w->err.text), "%.200s: %.500s", path,
				err->text);
		else
			sp_err_set(&w->err, r, "%s: cannot be merged: %s", path, strerror(-r));
	}
}

static void *work(void *ctx)
{
	struct worker *w = ctx;
	SP_AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (sp_symbols_new(&w->symbols, root, NULL) < 0)
		w->symbols = NULL;
	else
		sp_symbols_elsewhere(w->symbols);
	for (size_t i = w->from; i < w->to; i++) {
		struct sp_profile *p = NULL;
		struct sp_err err = {0};
		int r = load_file(w, w->j->in->paths[i], &p, &err);

		add_result(w, w->j->in->paths[i], p, r, &err);
	}
	sp_symbols_free(w->symbols);
	sp_symbolized_done(&w->resolved);
	return NULL;
}

/* Joins a worker's sum to the whole, in the order of the files. */
static void gather(struct job *j, struct worker *w, struct worker *first)
{
	int r = 0;

	for (size_t i = 0; i < w->said_count && w != first; i++)
		note_sentence(first, w->said[i].path, w->said[i].text, w->said[i].more);
	if (w->sum)
		r = add_profile(&j->sum, w->sum, j->most_rows);
	if (w->result < 0 && j->result == 0) {
		j->result = w->result;
		j->err = w->err;
	}
	if (r < 0 && j->result == 0)
		j->result =
			sp_err_set(&j->err, r, "the recordings cannot be merged: %s", strerror(-r));
	j->read += w->read;
	if (w != first)
		free(w->said);
}

static void say_messages(struct worker *w)
{
	for (size_t i = 0; i < w->said_count; i++) {
		const struct said *s = &w->said[i];

		if (s->more)
			sp_message_warn("%s and %zu more: %s", s->path, s->more, s->text);
		else
			sp_message_warn("%s: %s", s->path, s->text);
	}
	free(w->said);
}

/* The time that all recordings cover, as far as headers say it: rows are then summed in the page's
 * buckets from the first sample on. */
static void set_range(struct job *j)
{
	uint64_t start = 0, end = 0;

	for (size_t i = 0; i < j->in->n; i++) {
		SP_AUTO_CLOSE int fd =
			open(j->in->paths[i], O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		uint64_t from, to;

		if (fd < 0 || sp_load_range(fd, &from, &to) < 0)
			continue;
		start = !start || from < start ? from : start;
		end = to > end ? to : end;
	}
	j->opts.start_ns = start > j->opts.from_ns ? start : j->opts.from_ns;
	j->opts.end_ns = j->opts.to_ns && j->opts.to_ns < end ? j->opts.to_ns : end;
}

/* Nothing is cut off at an end that lies where the recording begins or ends: events may have a time
 * before the first header's, such as those of a timer that came late. */
static void open_ends(struct job *j, uint64_t start, uint64_t end)
{
	if (start && j->opts.from_ns <= start)
		j->opts.from_ns = 0;
	if (end && j->opts.to_ns >= end)
		j->opts.to_ns = 0;
}

/* From offsets to moments: over all recordings together. */
static int set_times(struct job *j, const struct sp_call *call)
{
	uint64_t start = 0, end = 0;

	if (!call->from.kind && !call->to.kind)
		return 0;
	for (size_t i = 0; i < j->in->n; i++) {
		SP_AUTO_CLOSE int fd = -1;
		enum sp_input_kind kind;
		uint64_t from, to;

		if (open_input(j->in->paths[i], &fd, &kind, NULL, NULL) < 0 ||
			kind != SP_INPUT_JFR || sp_load_times(fd, &from, &to) < 0)
			continue;
		start = !start || from < start ? from : start;
		end = to > end ? to : end;
	}
	j->opts.from_ns = sp_time_spec_resolve(&call->from, start, end);
	j->opts.to_ns = sp_time_spec_resolve(&call->to, start, end);
	if (j->opts.from_ns && j->opts.to_ns && j->opts.from_ns > j->opts.to_ns)
		return sp_err_set(&j->err, -EINVAL, "--from is later than --to");
	if (start && (j->opts.from_ns > end || (j->opts.to_ns && j->opts.to_ns < start)))
		return sp_err_set(&j->err, -EINVAL,
			"--from and --to leave nothing: the recording lasts %.1f s",
			(double)(end - start) / 1e9);
	open_ends(j, start, end);
	return 0;
}

/* Tables show the gaps of a driver by times, which cost rows; whether it is one is not known before
 * it is read. */
static const uint64_t timed_bytes = 64u << 20;

/* Only the page of recordings has a time strip; a comparison has two times. */
static bool needs_times(const struct sp_call *call)
{
	for (size_t i = 0; i < call->n_outputs && call->action == SP_ACTION_REPORT; i++)
		if (call->outputs[i].format == SP_FORMAT_HTML)
			return true;
	return false;
}

/* A text on stdout says them itself. */
static bool shows_notes(const struct sp_call *call)
{
	for (size_t i = 0; i < call->n_outputs && call->action == SP_ACTION_REPORT; i++)
		if (call->outputs[i].format == SP_FORMAT_TEXT &&
			strcmp(call->outputs[i].path, "-") == 0)
			return true;
	return false;
}

static void set_options(struct job *j, const struct sp_call *call, unsigned cores)
{
	for (size_t i = 0; i < call->n_events; i++)
		j->events[i] = call->events[i].name;
	j->opts = (struct sp_load_opts){
		.events = j->events,
		.event_count = call->n_events,
		.thread = call->thread,
		.states = call->states,
		.min_duration_ns = call->min_duration_ns,
		.timeless = !needs_times(call) && (j->in->n > 1 || j->in->bytes > timed_bytes),
		.several = j->in->n > 1,
		.readers = j->in->n < cores ? cores / (unsigned)j->in->n : 1,
		.progress = sp_read_progress_add,
		.progress_ctx = &j->reading,
	};
}

static void print_fold(struct job *j)
{
	char text[400];

	sp_profile_describe_coarsened(j->sum, text, sizeof(text));
	if (!text[0])
		return;
	sp_profile_note(j->sum, text);
	if (!j->quiet)
		sp_message_warn("%s", text);
}

/* What is done once for all files together, and what there is to say of it. */
static int settle_sum(struct job *j)
{
	unsigned n = j->sum->note_count;
	int r = j->opts.several ? sp_profile_join_tasks(j->sum) : 0;

	if (r == 0 && j->opts.several)
		r = sp_profile_leave_idle(j->sum);
	if (r == 0 && !j->opts.from_ns && !j->opts.to_ns)
		sp_profile_note_unmeasured(j->sum);
	if (r == 0)
		r = sp_profile_fold_rare(j->sum, SP_STACKS_MOST);
	sp_profile_note_saturated(j->sum);
	for (; n < j->sum->note_count && !j->quiet; n++)
		sp_message_warn(
			"%s", sp_dict_get_string(j->sum->dict, j->sum->notes[n].text_id, NULL));
	return r;
}

/* Threads that are asked for are kept apart however many there are. */
static size_t rows_of(const struct sp_call *call, size_t files, bool guest, unsigned cores)
{
	size_t rows = guest ? guest_rows : files > MANY ? many_rows : most_rows;

	if (call->action != SP_ACTION_REPORT || call->by == SP_BY_THREAD || call->threads)
		return 0;
	return cores > 2 ? rows * 2 / cores : rows;
}

static void run_workers(struct job *j, unsigned cores)
{
	struct worker workers[WORKERS] = {0};
	size_t files = j->in->n, n = files < cores ? files : cores;

	for (size_t i = 0; i < n; i++) {
		struct worker *w = &workers[i];

		w->j = j;
		w->from = files * i / n;
		w->to = files * (i + 1) / n;
		if (i > 0)
			w->started = pthread_create(&w->thread, NULL, work, w) == 0;
	}
	for (size_t i = 0; i < n; i++) {
		if (workers[i].started)
			pthread_join(workers[i].thread, NULL);
		else
			work(&workers[i]);
		gather(j, &workers[i], &workers[0]);
	}
	say_messages(&workers[0]);
}

int sp_report_inputs_load(const struct sp_report_inputs *in, const struct sp_call *call,
	struct sp_profile **ret, struct sp_err *err)
{
	struct job j = {.in = in};
	bool guest = sp_cgroup_guest_of_jvm();
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned cores = guest || online < 1 ? 1 : online > WORKERS ? WORKERS : (unsigned)online;

	__attribute__((cleanup(sp_stage_names_done))) struct sp_stage_names names = {0};

	set_options(&j, call, cores);
	j.quiet = call->quiet || (in->n == 1 && shows_notes(call));
	j.most_rows = rows_of(call, in->n, guest, cores);
	if (guest)
		j.opts.dict_cap = guest_dict;
	sp_read_progress_start(&j.reading, in->bytes, call->quiet);
	j.result = sp_report_tasks(&j.opts, call, &names, &j.err);
	if (j.result == 0)
		j.result = set_times(&j, call);
	if (j.result == 0 && !j.opts.timeless)
		set_range(&j);
	if (j.result == 0)
		run_workers(&j, cores);
	sp_read_progress_end(&j.reading);
	if (sp_sigbus_guard_hit())
		sp_message_warn("a file became shorter while it was read: what it no longer holds "
				"is missing here");
	if (j.read == 0 || (j.result < 0 && j.result != -EBADMSG && in->n == 1)) {
		sp_profile_free(j.sum);
		*err = j.err;
		return j.result < 0 ? j.result : -EBADMSG;
	}
	print_fold(&j);
	if (settle_sum(&j) < 0) {
		sp_profile_free(j.sum);
		return sp_err_set(err, -ENOMEM, "not enough memory for the recordings");
	}
	*ret = j.sum;
	return 0;
}

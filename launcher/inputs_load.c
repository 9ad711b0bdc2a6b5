/* Reading the files of report and diff: see inputs.h. Workers take a file each; with fewer files
 * than cores a file is read by several readers. Profiles are merged as they come, so that memory
 * holds what is merged and what is being read. */
#include "inputs.h"

#include "guest.h"
#include "message.h"
#include "reading.h"
#include "shrunk.h"
#include "write_report.h"
#include "base/cleanup.h"
#include "elf/symbols.h"
#include "in/in.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORKERS = 8 };
static const size_t guest_dict = 24u
				 << 20; /* bytes a dictionary may take inside a target's group */

struct job {
	const struct sp_inputs *in;
	struct sp_load_opts opts;
	bool quiet; /* says nothing of what is in the files */
	const char *events[SP_CALL_MAX_EVENTS];
	atomic_size_t next;
	pthread_mutex_t lock; /* around what follows */
	struct sp_profile *sum;
	struct sp_reading reading;
	struct sp_err err; /* the first failure */
	int result;
	size_t read; /* files that gave something */
	size_t turn; /* whose result comes next: the order of files is the order of merging */
	pthread_cond_t turned;
};

static int open_input(const char *path, int *ret_fd, enum sp_in_kind *ret_kind,
	struct sp_err *ret_note, struct sp_err *err)
{
	SP_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return sp_err_set(err, -errno, "cannot be opened: %s", strerror(errno));
	return sp_in_open(fd, ret_fd, ret_kind, ret_note, err);
}

/* "profile-nightly-exec-3.jfr", as Spark's profiler plugin calls it, is executor 3; else the file's
 * name without what is behind its first dot. */
static void name_executor(const char *path, char *buf, size_t size)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
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
	snprintf(buf, size, "%.*s", (int)(n ? n : strlen(base)), base);
}

static void say_notes(const char *path, const struct sp_profile *p)
{
	for (unsigned i = 0; i < p->note_count; i++)
		sp_message_warn(
			"%s: %s", path, sp_dict_get_string(p->dict, p->notes[i].text_id, NULL));
}

/* One file into a profile of its own. */
static int load_file(struct job *j, const char *path, struct sp_profile **ret, struct sp_err *err)
{
	struct sp_load_opts opts = j->opts;
	struct sp_symbols *symbols = NULL;
	SP_AUTO_CLOSE int fd = -1, root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct sp_err note = {0};
	enum sp_in_kind kind;
	char executor[256];
	int r = open_input(path, &fd, &kind, &note, err);

	if (r < 0)
		return r;
	name_executor(path, executor, sizeof(executor));
	opts.executor = executor;
	if (kind == SP_IN_JFR && sp_symbols_new(&symbols, root, NULL) < 0)
		symbols = NULL;
	r = sp_in_read(fd, kind, &opts, symbols, ret, err);
	sp_symbols_free(symbols);
	if (r == 0 && note.text[0])
		sp_profile_note(*ret, note.text);
	return r;
}

/* Merges what came of file @i when it is its turn. */
static void add_result(
	struct job *j, size_t i, struct sp_profile *p, int r, const struct sp_err *err)
{
	const char *path = j->in->paths[i];

	pthread_mutex_lock(&j->lock);
	while (j->turn != i)
		pthread_cond_wait(&j->turned, &j->lock);
	if (r == 0) {
		if (!j->quiet)
			say_notes(path, p);
		if (!j->sum)
			j->sum = sp_steal_ptr(p);
		else
			r = sp_profile_merge(j->sum, p);
		j->read += r == 0;
	} else if (j->in->n > 1 && !j->quiet) {
		sp_message_warn("%s: %s", path, err->text);
	}
	if (r < 0 && j->result == 0) {
		j->result = r;
		if (err->text[0])
			snprintf(j->err.text, sizeof(j->err.text), "%.200s: %.500s", path,
				err->text);
		else
			sp_err_set(&j->err, r, "%s: cannot be merged: %s", path, strerror(-r));
	}
	j->turn++;
	pthread_cond_broadcast(&j->turned);
	pthread_mutex_unlock(&j->lock);
	sp_profile_free(p);
}

static void *work(void *ctx)
{
	struct job *j = ctx;

	for (;;) {
		size_t i = atomic_fetch_add(&j->next, 1);
		struct sp_profile *p = NULL;
		struct sp_err err = {0};
		int r;

		if (i >= j->in->n)
			return NULL;
		r = load_file(j, j->in->paths[i], &p, &err);
		add_result(j, i, p, r, &err);
	}
}

/* From offsets to moments: over all recordings together. */
static int set_times(struct job *j, const struct sp_call *call)
{
	uint64_t start = 0, end = 0;

	if (!call->from.kind && !call->to.kind)
		return 0;
	for (size_t i = 0; i < j->in->n; i++) {
		SP_AUTO_CLOSE int fd = -1;
		enum sp_in_kind kind;
		uint64_t from, to;

		if (open_input(j->in->paths[i], &fd, &kind, NULL, NULL) < 0 || kind != SP_IN_JFR ||
			sp_load_times(fd, &from, &to) < 0)
			continue;
		start = !start || from < start ? from : start;
		end = to > end ? to : end;
	}
	j->opts.from_ns = sp_when_resolve(&call->from, start, end);
	j->opts.to_ns = sp_when_resolve(&call->to, start, end);
	if (j->opts.from_ns && j->opts.to_ns && j->opts.from_ns > j->opts.to_ns)
		return sp_err_set(&j->err, -EINVAL, "--from is later than --to");
	if (start && (j->opts.from_ns > end || (j->opts.to_ns && j->opts.to_ns < start)))
		return sp_err_set(&j->err, -EINVAL,
			"--from and --to leave nothing: the recording lasts %.1f s",
			(double)(end - start) / 1e9);
	return 0;
}

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
		.timeless = !needs_times(call),
		.readers = j->in->n < cores ? cores / (unsigned)j->in->n : 1,
		.progress = sp_reading_add,
		.progress_ctx = &j->reading,
	};
}

static void run_workers(struct job *j, unsigned cores)
{
	pthread_t threads[WORKERS];
	unsigned n = 0;

	while (n + 1 < cores && n + 1 < j->in->n && pthread_create(&threads[n], NULL, work, j) == 0)
		n++;
	work(j);
	while (n)
		pthread_join(threads[--n], NULL);
}

int sp_inputs_load(const struct sp_inputs *in, const struct sp_call *call, struct sp_profile **ret,
	struct sp_err *err)
{
	struct job j = {
		.in = in, .lock = PTHREAD_MUTEX_INITIALIZER, .turned = PTHREAD_COND_INITIALIZER};
	bool guest = sp_guest_of_jvm();
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned cores = guest || online < 1 ? 1 : online > WORKERS ? WORKERS : (unsigned)online;

	__attribute__((cleanup(sp_stage_names_done))) struct sp_stage_names names = {0};

	set_options(&j, call, cores);
	j.quiet = call->quiet || (in->n == 1 && shows_notes(call));
	if (guest)
		j.opts.dict_cap = guest_dict;
	sp_reading_start(&j.reading, in->bytes, call->quiet);
	j.result = sp_report_tasks(&j.opts, call, &names, &j.err);
	if (j.result == 0)
		j.result = set_times(&j, call);
	if (j.result == 0)
		run_workers(&j, cores);
	sp_reading_end(&j.reading);
	if (sp_shrunk())
		sp_message_warn("a file became shorter while it was read: what it no longer holds "
				"is missing here");
	if (j.read == 0 || (j.result < 0 && j.result != -EBADMSG && in->n == 1)) {
		sp_profile_free(j.sum);
		*err = j.err;
		return j.result < 0 ? j.result : -EBADMSG;
	}
	*ret = j.sum;
	return 0;
}

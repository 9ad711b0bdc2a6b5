/* What is made of a recording at the end: reports, and the recording itself with native functions
 * named. See outputs.h. */
#include "last_recording.h"
#include "outputs.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/message.h"
#include "elf/symbols.h"
#include "jfr/rewrite.h"
#include "out/out.h"
#include "out/outfile.h"
#include "prof/load/load.h"
#include "prof/model/rare_stacks.h"
#include "report/frame_names.h"
#include "report/write_report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAPS_MAX = 64 << 20, COPY = 1 << 16 };

static void free_symbols(struct sp_symbols **s)
{
	sp_symbols_free(*s);
}

static void free_profile(struct sp_profile **p)
{
	sp_profile_free(*p);
}

static void add_maps(struct sp_symbols *symbols, pid_t pid)
{
	SP_AUTO_BUF struct sp_buf maps;
	SP_AUTO_CLOSE int fd = -1;
	char path[32];

	sp_buf_init(&maps);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && sp_buf_read_fd(&maps, fd, MAPS_MAX) == 0)
		sp_symbols_add_maps(symbols, maps.data, maps.len);
}

/* Symbols are read through the target's own root while it lives; afterwards what this root has is
 * believed by build id. Returns a descriptor of that root. */
static int open_symbols(const struct sp_jvm *target, struct sp_symbols **ret)
{
	char path[32];
	bool gone;
	int root;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)target->pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	gone = root < 0;
	if (gone)
		root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (sp_symbols_new(ret, root, NULL) < 0)
		*ret = NULL;
	else if (gone)
		sp_symbols_elsewhere(*ret);
	else
		add_maps(*ret, target->pid);
	return root;
}

/* stdout cannot be patched nor read again: the finished recording is copied to it. */
static int copy_to_stdout(int from, struct sp_err *err)
{
	char buf[COPY];
	off_t at = 0;

	for (;;) {
		ssize_t n = pread(from, buf, sizeof(buf), at);
		ssize_t w = n > 0 ? write(STDOUT_FILENO, buf, (size_t)n) : n;

		if (n == 0)
			return 0;
		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0 && errno == EPIPE)
			return 0; /* who reads has seen enough */
		if (w < 0)
			return sp_err_set(err, -errno, "stdout: %s", strerror(errno));
		at += w;
	}
}

/* The recording with names, whole under its name or not at all. */
static int write_recording(
	const struct sp_output *out, int recording, struct sp_symbols *symbols, struct sp_err *err)
{
	struct sp_frame_names names = {.symbols = symbols};
	struct sp_outfile file;
	int r;

	if (strcmp(out->path, "-") == 0)
		return copy_to_stdout(recording, err);
	r = sp_outfile_open(&file, out->path, SP_OUTFILE_PRIVATE, err);
	if (r < 0)
		return r;
	r = sp_jfr_rewrite(recording, file.fd, 0, sp_frame_names_find, &names, NULL, err);
	sp_buf_done(&names.readable);
	if (r < 0) {
		sp_outfile_abort(&file);
		return sp_err_prefix(err, r, "%s", out->path);
	}
	return sp_outfile_commit(&file, err);
}

static void print_written(const struct sp_outputs *o, const struct sp_profile *p)
{
	SP_AUTO_BUF struct sp_buf line;
	struct sp_profile shown = *p;
	bool whole = true;

	sp_buf_init(&line);
	/* A recording leaves nothing out. */
	for (size_t i = 0; i < o->n; i++)
		whole &= o->list[i].format == SP_FORMAT_JFR;
	if (whole) {
		shown.samples += p->outside;
		shown.outside = 0;
	}
	/* A text on stdout has said it all. */
	if (o->n == 1 && strcmp(o->list[0].path, "-") == 0 && o->list[0].format == SP_FORMAT_TEXT)
		return;
	sp_out_summary(&shown, &line);
	for (size_t i = 0; i < o->n; i++)
		sp_report_describe(o->list[i].path, p, &line);
	if (line.len)
		sp_message_note("%s", sp_buf_str(&line));
}

static int load(struct sp_outputs *o, const struct sp_call *call, const struct sp_jvm *target,
	struct sp_symbols *symbols, uint64_t last_ns, struct sp_profile **ret, struct sp_err *err)
{
	__attribute__((cleanup(sp_stage_names_done))) struct sp_stage_names names = {0};
	struct sp_load_opts opts = {0};
	uint64_t start, end;
	int r;

	if (lseek(o->fd, 0, SEEK_SET) < 0)
		return sp_err_set(err, -errno, "the recording cannot be read: %s", strerror(errno));
	r = sp_report_tasks(&opts, call, &names, err);
	if (last_ns && sp_load_times(o->fd, &start, &end) == 0 && end - start > last_ns)
		opts.from_ns = end - last_ns;
	if (r == 0 && lseek(o->fd, 0, SEEK_SET) < 0)
		r = -errno;
	if (r == 0)
		r = sp_load_with(o->fd, &opts, symbols, ret, err);
	if (r == 0)
		sp_outputs_describe(*ret, target);
	if (r == 0 && (r = sp_profile_fold_rare(*ret, SP_STACKS_MOST)) < 0)
		sp_err_set(err, r, "not enough memory for the recording");
	if (r == 0)
		sp_profile_note_saturated(*ret);
	return r;
}

/* As report does it: a dump with nothing in it is not what was asked for. What ends a recording
 * writes in any case. Returns 0, or -ENODATA with a sentence. */
static int check_stage(struct sp_outputs *o, const struct sp_call *call,
	const struct sp_jvm *target, const struct sp_profile *p, struct sp_err *err)
{
	__attribute__((cleanup(free_profile))) struct sp_profile *all = NULL;
	struct sp_call whole = *call;
	struct sp_err ignored;
	bool shown = false;

	for (size_t i = 0; i < o->n; i++)
		shown |= o->list[i].format != SP_FORMAT_JFR;
	if (!shown || !call->stage || p->samples || call->action != SP_ACTION_DUMP)
		return 0;
	whole.stage = NULL;
	if (load(o, &whole, target, NULL, 0, &all, &ignored) < 0)
		all = NULL;
	return sp_report_no_stage(call, all, err);
}

int sp_outputs_load(struct sp_outputs *o, const struct sp_call *call, const struct sp_jvm *target,
	uint64_t last_ns, struct sp_profile **ret_profile, struct sp_err *err)
{
	__attribute__((cleanup(free_symbols))) struct sp_symbols *symbols = NULL;
	SP_AUTO_CLOSE int root = -1;

	root = open_symbols(target, &symbols);
	return load(o, call, target, symbols, last_ns, ret_profile, err);
}

/* An output cannot be written: what was recorded is not lost for it. */
static int say_kept(const struct sp_outputs *o, const struct sp_jvm *target, bool complete, int r,
	struct sp_err *err)
{
	if (o->recording)
		return sp_err_prefix(err, r, "the recording is kept in %s", o->recording);
	if (complete && sp_last_recording_keep(target, o->fd))
		return sp_err_prefix(err, r,
			"the recording is kept: 'sparkprof dump -f FILE %d' writes it",
			(int)target->pid);
	return r;
}

int sp_outputs_write(struct sp_outputs *o, const struct sp_call *call, const struct sp_jvm *target,
	bool complete, struct sp_err *err)
{
	__attribute__((cleanup(free_symbols))) struct sp_symbols *symbols = NULL;
	__attribute__((cleanup(free_profile))) struct sp_profile *profile = NULL;
	SP_AUTO_CLOSE int root = -1;
	int r;

	if (o->stream)
		return 0;
	root = open_symbols(target, &symbols);
	r = load(o, call, target, symbols, 0, &profile, err);
	if (r == 0 && check_stage(o, call, target, profile, err) < 0)
		return -ENODATA;
	for (size_t i = 0; i < o->n && r == 0; i++) {
		/* While the agent still writes to it, the recording must keep its name. */
		if (!complete && o->keep && strcmp(o->list[i].path, o->recording) == 0)
			continue;
		if (o->list[i].format == SP_FORMAT_JFR)
			r = write_recording(&o->list[i], o->fd, symbols, err);
		else
			r = sp_report_write(o->list[i].path, o->list[i].format, call, profile, err);
	}
	if (r < 0)
		return say_kept(o, target, complete, r, err);
	if (complete)
		sp_last_recording_keep(target, o->fd);
	if (complete && o->recording && !o->keep)
		sp_outputs_remove(o);
	print_written(o, profile);
	return 0;
}

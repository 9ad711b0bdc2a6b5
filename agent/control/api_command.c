/* See api_command.h. A recording begins as that of -agentpath does (autostart.c), and is stopped
 * and flushed as for a launcher (recording_owner.c), which hands a descriptor of it over. */
#include "api_command.h"

#include "autostart.h"
#include "base/cleanup.h"
#include "base/name_template.h"
#include "host/own_thread.h"
#include "jfr/concat.h"
#include "options/arg_report.h"
#include "output/report_writer.h"
#include "output/segments.h"
#include "recording_owner.h"
#include "spark/spark_identity.h"
#include "wire/token_proof.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LARGEST (256u << 20) /* of a report that is given back */

enum verb { DUMP, START, STOP, STATUS, VERSION };

static const char *const verbs[] = {"dump", "start", "stop", "status", "version"};

struct command {
	JavaVM *vm;
	const char *words;
	struct sp_buf *out;
	struct sp_err *err;
	int result;
};

/* One command at a time. */
static struct {
	pthread_mutex_t lock;
	struct sp_recording_owner_seat seat;
	struct sp_args args;
	int last_fd; /* the recording that was stopped, plus 1; 0: none */
} cm = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The word that says what to do is taken out; "" and output words alone are a dump. */
static enum verb take_verb(const char *words, struct sp_buf *ret_rest)
{
	enum verb verb = DUMP;

	for (const char *w = words; *w;) {
		size_t len = 0, is = 0;

		while (w[len] && w[len] != ',')
			len += w[len] == '\\' && w[len + 1] ? 2 : 1;
		while (is < SP_COUNT(verbs) &&
			(strlen(verbs[is]) != len || memcmp(verbs[is], w, len) != 0))
			is++;
		if (is < SP_COUNT(verbs)) {
			verb = (enum verb)is;
		} else if (len) {
			sp_buf_addc(ret_rest, ',');
			sp_buf_add(ret_rest, w, len);
		}
		w += len + (w[len] == ',');
	}
	return verb;
}

static void forget_last(void)
{
	if (cm.last_fd)
		close(cm.last_fd - 1);
	cm.last_fd = 0;
}

/* Takes what the reply would bring to a launcher: the recording in hand. */
static int take_fd(void)
{
	int fd = cm.seat.pass_fd;

	for (size_t i = 0; i < cm.seat.more; i++)
		close(cm.seat.more_fds[i]);
	cm.seat.pass_fd = -1;
	cm.seat.more = 0;
	return fd;
}

/* The same where segments are before it: all of them, as one file without a name. */
static int take_all(int *ret_fd, struct sp_err *err)
{
	int to, last, r = 0;

	*ret_fd = -1;
	if (!cm.seat.more) {
		*ret_fd = take_fd();
		return 0;
	}
	to = sp_autostart_unnamed_fd();
	for (size_t i = 0; i < cm.seat.more && to >= 0 && r == 0; i++)
		r = sp_jfr_concat_append(cm.seat.more_fds[i], to);
	last = take_fd();
	if (to >= 0 && r == 0)
		r = sp_jfr_concat_append(last, to);
	close(last);
	if (to >= 0 && r == 0) {
		*ret_fd = to;
		return 0;
	}
	if (to >= 0)
		close(to);
	return sp_err_set(err, to < 0 ? -EROFS : r,
		"there is no room to put the recording's segments together");
}

static int code_of(const struct sp_msg *reply, struct sp_err *err)
{
	if (reply->type == SP_MSG_BUSY)
		return sp_err_set(err, -EBUSY, "this JVM is being recorded by %s", reply->text[0]);
	return reply->type == SP_MSG_FAILED ? -(int)reply->num[0] : 0;
}

/* It is recorded to the very file that is asked for. */
static bool is_file(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* The segments that a stop does not bring. Returns the one that is in hand then, or -1. */
static int take_segments(struct command *c)
{
	struct sp_msg reply;
	struct sp_err none;
	int fd;

	sp_recording_owner_flush(&cm.seat, &reply, &none);
	if (reply.type == SP_MSG_FLUSHED && reply.text[1][0] && cm.args.file[0])
		sp_buf_addf(c->out, "%s\n", reply.text[1]);
	fd = cm.seat.pass_fd;
	cm.seat.pass_fd = -1;
	return fd;
}

/* The next one may have begun since. */
static void add_segment(int fd)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (cm.seat.more && cm.seat.more < SP_FLUSHED_PIECES && cm.seat.pass_fd >= 0 &&
		!is_file(cm.seat.pass_fd, path))
		cm.seat.more_fds[cm.seat.more++] = fd;
	else if (fd >= 0)
		close(fd);
}

static int stop(struct command *c)
{
	struct sp_msg reply;
	bool wanted = cm.args.file[0] || cm.args.output[0];
	int r, all, fd, before = -1;

	sp_recording_owner_seat_init(&cm.seat, NULL, NULL);
	if (wanted && sp_autostart_is_remote() && sp_recording_owner_active())
		before = take_segments(c);
	sp_recording_owner_stop(&cm.seat, &reply, c->err);
	r = code_of(&reply, c->err);
	add_segment(before);
	if (cm.seat.pass_fd < 0) {
		(void)take_fd();
		return r;
	}
	/* also of one whose last part could not be written */
	all = take_all(&fd, r < 0 ? &(struct sp_err){{0}} : c->err);
	forget_last();
	sp_autostart_forget();
	cm.last_fd = fd + 1;
	return r < 0 ? r : all;
}

/* *ret_fd: a descriptor of the recording, the caller's. What is not in it is said where that
 * is not part of a report. */
static int find_recording(struct command *c, int *ret_fd)
{
	struct sp_msg reply;
	int r;

	if (sp_recording_owner_active()) {
		sp_recording_owner_seat_init(&cm.seat, NULL, NULL);
		sp_recording_owner_flush(&cm.seat, &reply, c->err);
		r = code_of(&reply, c->err);
		if (r == 0 && reply.text[1][0] && cm.args.file[0])
			sp_buf_addf(c->out, "%s\n", reply.text[1]);
		r = r < 0 ? r : take_all(ret_fd, c->err);
		if (r < 0)
			return r;
	} else {
		*ret_fd = cm.last_fd ? fcntl(cm.last_fd - 1, F_DUPFD_CLOEXEC, 3)
				     : sp_autostart_kept_fd();
	}
	return *ret_fd < 0 ? sp_err_set(c->err, -ENOENT, "nothing was recorded") : 0;
}

static int copy_recording(int from, const char *path, struct sp_err *err)
{
	SP_AUTO_CLOSE int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
	char bytes[16384];
	ssize_t n = 0;
	off_t at = 0;

	while (to >= 0 && (n = pread(from, bytes, sizeof(bytes), at)) > 0) {
		if (write(to, bytes, (size_t)n) != n)
			return sp_err_set(err, -EIO, "%.300s could not be written", path);
		at += n;
	}
	return to < 0 || n < 0 ? sp_err_set(err, -errno, "%.300s: %s", path, strerror(errno)) : 0;
}

/* A report that is given back goes through a file of a name that nobody knows. */
static int give_back(const char *format, const char *in, struct command *c)
{
	char path[64];
	uint64_t name;
	int fd, r;

	if (sp_random(&name, sizeof(name)) < 0)
		return sp_err_set(c->err, -EIO, "no random numbers");
	snprintf(path, sizeof(path), "/tmp/.sparkprof-%016llx", (unsigned long long)name);
	r = sp_report_writer_make(format, in, path, c->err);
	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	r = fd < 0 ? -errno : sp_buf_read_fd(c->out, fd, LARGEST);
	if (fd >= 0)
		close(fd);
	unlink(path);
	return r < 0 ? sp_err_set(c->err, r, "the report cannot be read") : 0;
}

static int write_out(struct command *c)
{
	const struct sp_args *a = &cm.args;
	const char *kind = a->report[0] ? a->report : a->output[0] ? a->output : "text";
	size_t n = strlen(a->file);
	SP_AUTO_CLOSE int fd = -1;
	char in[64], format[600];
	int r = find_recording(c, &fd);

	if (r < 0)
		return r;
	if (n && !a->report[0])
		return is_file(fd, a->file) ? 0 : copy_recording(fd, a->file, c->err);
	if (strcmp(kind, "jfr") == 0)
		return sp_err_set(c->err, -EINVAL, "jfr needs file=");
	snprintf(in, sizeof(in), "/proc/%d/fd/%d", (int)getpid(), fd);
	snprintf(format, sizeof(format), "%s%s", kind, a->looks);
	return n ? sp_report_writer_make(format, in, a->file, c->err) : give_back(format, in, c);
}

static int status(struct command *c)
{
	struct sp_msg reply;

	sp_recording_owner_seat_init(&cm.seat, NULL, NULL);
	sp_recording_owner_state(&cm.seat, &reply, c->err);
	if (reply.num[0])
		sp_buf_addf(c->out, "recording, %llu samples\n",
			(unsigned long long)reply.num[SP_STATE_PROGRESS + SP_PROGRESS_SAMPLES]);
	else
		sp_buf_adds(c->out, "nothing is being recorded\n");
	return 0;
}

static int start(struct command *c, const char *rest)
{
	SP_AUTO_BUF struct sp_buf words = {0};
	int r;

	sp_buf_addf(&words, "start%s", rest);
	r = sp_autostart_begin(c->vm, sp_buf_str(&words), c->err);
	if (r == 0)
		forget_last();
	return r;
}

/* As the name of a recording that begins: sequences such as %p mean this process. */
static int take_file(struct sp_args *a, struct sp_err *err)
{
	struct sp_spark_identity id;
	struct sp_name_template_vars vars = {.pid = (int)getpid(), .time = time(NULL)};
	SP_AUTO_BUF struct sp_buf name = {0};
	int r = sp_autostart_drop_scheme(a->file, err);

	if (r < 0 || !a->file[0])
		return r;
	if (sp_segments_is_remote(a->file) || a->file[strlen(a->file) - 1] == '/')
		return sp_err_set(err, -EINVAL, "file: '%.300s' is no file of this host", a->file);
	sp_spark_identity_early(&id);
	vars.app_id = id.app_id;
	vars.executor_id = id.executor_id;
	r = sp_name_template_expand(a->file, &vars, &name, err);
	if (r < 0)
		return sp_err_prefix(err, -EINVAL, "file");
	if (name.len >= sizeof(a->file))
		return sp_err_set(err, -ENAMETOOLONG, "file: the name is too long");
	memcpy(a->file, sp_buf_str(&name), name.len + 1);
	return 0;
}

static int execute(struct command *c)
{
	SP_AUTO_BUF struct sp_buf rest = {0};
	enum verb verb = take_verb(c->words, &rest);
	const char *words = sp_buf_str(&rest);
	int r;

	if (verb == START)
		return start(c, words);
	if (verb == VERSION) {
		sp_buf_adds(c->out, "sparkprof " SP_VERSION "\n");
		return 0;
	}
	sp_args_init(&cm.args);
	r = sp_args_parse(&cm.args, words, c->err);
	if (r < 0 || verb == STATUS)
		return r < 0 ? r : status(c);
	r = take_file(&cm.args, c->err);
	if (r < 0)
		return r;
	if (verb == STOP && (r = stop(c)) < 0)
		return r;
	/* Words of the recording may come again; an output is what has a name or a format. */
	return verb == DUMP || cm.args.file[0] || cm.args.output[0] ? write_out(c) : 0;
}

static void *run(void *arg)
{
	struct command *c = arg;

	sp_recording_owner_exclude_self();
	c->result = execute(c);
	return NULL;
}

int sp_api_command_run(JavaVM *vm, const char *words, struct sp_buf *out, struct sp_err *err)
{
	struct command c = {vm, words, out, err, 0};
	struct sp_own_thread *t;
	int r;

	pthread_mutex_lock(&cm.lock);
	r = sp_own_thread_start(&t, "sparkprof-api", SP_STACK_PLAIN, run, &c);
	if (r == 0) {
		sp_own_thread_join(t);
		r = c.result;
	} else {
		sp_err_set(err, r, "cannot start a thread in the target: %s", strerror(-r));
	}
	pthread_mutex_unlock(&cm.lock);
	return r;
}

uint64_t sp_api_command_samples(void)
{
	struct sp_err none;
	struct sp_msg reply;
	uint64_t n;

	pthread_mutex_lock(&cm.lock);
	sp_recording_owner_seat_init(&cm.seat, NULL, NULL);
	sp_recording_owner_state(&cm.seat, &reply, &none);
	n = reply.num[SP_STATE_PROGRESS + SP_PROGRESS_SAMPLES];
	pthread_mutex_unlock(&cm.lock);
	return n;
}

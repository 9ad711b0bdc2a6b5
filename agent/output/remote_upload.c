/* See remote_upload.h. */
#include "remote_upload.h"

#include "base/clock.h"
#include "base/grow.h"
#include "hadoop_fs.h"
#include "host/own_thread.h"
#include "host/sched_slice.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS	   1000000000ull
#define RETRY_NS   2000000000ull
#define RETRY_MOST 60000000000ull
#define SILENCE	   8000000000ull /* of the file system, after which the JVM's end waits no more */
#define LAST_WORD  4000000000ull /* what it waits in any case, for who was silent before */
#define TOGETHER   32u		 /* segments that are sent in one write */
#define REFUSED	   4u		 /* appends, before another file is begun */
#define NAMES	   1000u	 /* that are tried before giving up */
#define DOUBTS	   15u /* looks at a file that is not as we left it, before another is begun */
#define DOUBTS_END 2u  /* the same where the JVM ends */

/* A file in the cluster that goes when so many turns of loop= are over. */
struct made {
	uint64_t turn;
	char *path;
};

struct sp_remote_upload {
	_Atomic uint32_t holders; /* the session and the thread */
	JavaVM *vm;
	struct sp_segments *segments;
	struct sp_threads *threads;
	sp_say_fn *say;
	void *say_ctx;
	_Atomic bool stop;
	_Atomic uint64_t end_ns;    /* after stop: when to give up */
	_Atomic uint64_t silent_ns; /* since when nothing of what waits arrives; 0: nothing waits */
	/* the thread's own */
	struct sp_hadoop_fs *fs;
	char path[4096];
	uint64_t turn;	   /* of loop=: whose file it is */
	struct made *made; /* oldest first; only where %n{MAX} says how many are kept */
	size_t n_made;
	unsigned number;
	uint64_t length;   /* of the file there, as far as we wrote it */
	bool begun;	   /* the file is ours */
	bool alone;	   /* no append: a file per segment */
	unsigned doubts;   /* > 0: something may be behind @length */
	unsigned refused;  /* appends in a row that came to nothing */
	uint64_t retry_ns; /* after a failure: the pause */
	bool said;
	_Atomic bool rest_said;
	/* under the lock */
	pthread_mutex_t lock;
	pthread_cond_t over;
	bool ended;
};

static void drop_holder(struct sp_remote_upload *d)
{
	if (!d || atomic_fetch_sub(&d->holders, 1) > 1)
		return;
	sp_segments_free(d->segments);
	for (size_t i = 0; i < d->n_made; i++)
		free(d->made[i].path);
	free(d->made);
	pthread_cond_destroy(&d->over);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

/* A line on stderr, for there is no launcher, and the last word of `status`. */
static void say_waiting(struct sp_remote_upload *d, const struct sp_err *err)
{
	struct sp_err line;

	if (d->said)
		return;
	d->said = true;
	sp_err_set(&line, 0, "%.300s: %.300s; the recording is kept here and sent later",
		d->path[0] ? d->path : "file", err->text);
	sp_say_stderr(line.text);
	if (!atomic_load(&d->stop) && d->say)
		d->say(d->say_ctx, line.text);
}

/* What came of a failed attempt is cut off again. Returns 0 where the file is as we left it, or
 * another is to be begun. */
static int settle_file(struct sp_remote_upload *d, JNIEnv *env, struct sp_err *err)
{
	uint64_t length = 0;
	int released = sp_hadoop_fs_release(d->fs, env, d->path, err);
	int r = released < 0 ? released : sp_hadoop_fs_length(d->fs, env, d->path, &length, err);

	if (r == -ENOENT) { /* not there after all, or removed meanwhile */
		d->length = 0;
		d->begun = false;
		d->doubts = 0;
		return 0;
	}
	if (r < 0)
		return r; /* nobody answers: that says nothing of the file */
	if (released && length && length == d->length) {
		d->doubts = 0;
		return 0;
	}
	r = released ? sp_hadoop_fs_cut(d->fs, env, d->path, d->length, err) : 0;
	if (++d->doubts > (atomic_load(&d->stop) ? DOUBTS_END : DOUBTS)) {
		d->begun = false;
		d->number++;
		d->doubts = 0;
		return 0;
	}
	return r < 0 ? r : sp_err_set(err, -EAGAIN, "an unfinished write is taken back");
}

/* Without memory for that a file stays: its name is found taken. */
static void remember_path(struct sp_remote_upload *d)
{
	bool has_room = sp_grow_one(&d->made, d->n_made, sizeof(*d->made)) == 0;
	char *path = has_room ? strdup(d->path) : NULL;

	if (path)
		d->made[d->n_made++] = (struct made){d->turn, path};
}

/* Another turn of loop= has another file; those that %n{MAX} does not keep are removed, also
 * because their names come again. */
static int begin_turn(struct sp_remote_upload *d, JNIEnv *env, struct sp_err *err)
{
	struct sp_turn t = sp_segments_turn(d->segments);
	size_t old = 0;
	int r = 0;

	if (t.number == d->turn)
		return 0;
	while (t.keep && r == 0 && old < d->n_made && d->made[old].turn + t.keep <= t.number) {
		r = sp_hadoop_fs_cut(d->fs, env, d->made[old].path, 0, err);
		if (r == 0)
			free(d->made[old++].path);
	}
	if (old) {
		d->n_made -= old;
		memmove(d->made, d->made + old, d->n_made * sizeof(*d->made));
	}
	if (r < 0)
		return r;
	if (t.named)
		d->number = 0;
	else
		d->number += d->begun;
	d->begun = false;
	d->refused = 0;
	d->turn = t.number;
	return 0;
}

/* The first name that nobody has. */
static int create(
	struct sp_remote_upload *d, JNIEnv *env, const int *fds, size_t n, struct sp_err *err)
{
	unsigned tries = 0;
	bool touched = false;
	int r;

	do {
		r = sp_segments_remote(d->segments, d->number, d->path, sizeof(d->path), err);
		if (r == 0)
			r = sp_hadoop_fs_put(d->fs, env, d->path, fds, n, false, &touched, err);
		d->number += r == -EEXIST && !touched;
	} while (r == -EEXIST && !touched && ++tries < NAMES);
	if ((r == 0 || touched) && sp_segments_turn(d->segments).keep)
		remember_path(d);
	if (r < 0 && touched) {
		d->begun = true;
		d->length = 0;
		d->doubts = 1;
	}
	return r;
}

static int send(
	struct sp_remote_upload *d, JNIEnv *env, const int *fds, size_t n, struct sp_err *err)
{
	bool touched = false;
	uint64_t bytes = 0;
	struct stat st;
	int r = d->doubts ? settle_file(d, env, err) : 0;

	if (r == 0)
		r = begin_turn(d, env, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		if (fstat(fds[i], &st) < 0)
			return sp_err_set(err, -errno, "the local copy: %s", strerror(errno));
		bytes += (uint64_t)st.st_size;
	}
	if (d->begun && !d->alone && d->refused < REFUSED) {
		r = sp_hadoop_fs_put(d->fs, env, d->path, fds, n, true, &touched, err);
		if (r == 0)
			d->length += bytes;
		else if (r != -EOPNOTSUPP || touched)
			d->doubts = 1;
		d->refused = r == 0 ? 0 : d->refused + 1;
		if (r != -EOPNOTSUPP)
			return r;
		d->alone = true;
	}
	d->number += d->begun;
	d->begun = false;
	r = create(d, env, fds, n, err);
	if (r == 0) {
		d->begun = true;
		d->refused = 0;
		d->length = bytes;
	}
	return r;
}

static bool given_up(const struct sp_remote_upload *d)
{
	return atomic_load(&d->stop) && sp_clock_mono_ns() >= atomic_load(&d->end_ns);
}

/* As soon as Spark is there, not when the first segment is: at the end of a short application its
 * driver has no SparkEnv any more, and YARN gives an executor no time to load Hadoop's classes. */
static int open_files(struct sp_remote_upload *d, JNIEnv *env, struct sp_err *err)
{
	int r = 0;

	if (!d->fs) {
		r = sp_segments_remote(d->segments, 0, d->path, sizeof(d->path), err);
		if (r == 0)
			r = sp_hadoop_fs_open(&d->fs, env, d->path, err);
	}
	return r;
}

/* The new one first: a driver with a stopped Spark keeps what it has. */
static bool reopen(struct sp_remote_upload *d, JNIEnv *env)
{
	struct sp_hadoop_fs *fs;
	struct sp_err err;

	if (sp_hadoop_fs_open(&fs, env, d->path, &err) < 0)
		return false;
	sp_hadoop_fs_close(d->fs, env);
	d->fs = fs;
	return true;
}

/* Hadoop's FileSystem.closeAll() in the application closes ours too. */
static int send_or_reopen(
	struct sp_remote_upload *d, JNIEnv *env, const int *fds, size_t n, struct sp_err *err)
{
	int r = send(d, env, fds, n, err);

	return r == -ESHUTDOWN && reopen(d, env) ? send(d, env, fds, n, err) : r;
}

/* Sends all that waits, many segments at a time: each write costs several round trips. Returns 0,
 * or -errno after the first failure. */
static int send_all(struct sp_remote_upload *d, JNIEnv *env, struct sp_err *err)
{
	uint64_t none = 0;
	int fds[TOGETHER], r;
	size_t n = 0;

	atomic_compare_exchange_strong(&d->silent_ns, &none, sp_clock_mono_ns());
	r = open_files(d, env, err);
	while (r == 0 && !given_up(d) && (n = sp_segments_take(d->segments, fds, TOGETHER)) > 0) {
		r = send_or_reopen(d, env, fds, n, err);
		for (size_t i = 0; i < n; i++)
			close(fds[i]);
		if (r == 0) {
			sp_segments_sent(d->segments);
			atomic_store(&d->silent_ns, sp_clock_mono_ns());
		} else {
			sp_segments_keep(d->segments);
		}
	}
	if (r == 0 || r == -EAGAIN) /* there is Spark to wait for, or a file: a server answers */
		atomic_store(&d->silent_ns, 0);
	return r;
}

/* After a failure a while, longer each time; at the end there is no time for that. */
static void pause_after(struct sp_remote_upload *d, int r)
{
	uint64_t pause = TICK_NS, end;

	if (r != -EAGAIN) {
		d->retry_ns = d->retry_ns ? d->retry_ns * 2 : RETRY_NS;
		pause = d->retry_ns = d->retry_ns > RETRY_MOST ? RETRY_MOST : d->retry_ns;
	}
	end = sp_clock_mono_ns() + pause;
	do {
		nanosleep(&(struct timespec){0, TICK_NS / 10}, NULL);
	} while (sp_clock_mono_ns() < end && !atomic_load(&d->stop));
}

/* Whether the JVM's end need not wait for another attempt. Where Spark never came there is no file
 * system to wait for; what is forbidden stays so; and who was away before the end (@failing) has
 * been asked once more. */
static bool over(const struct sp_remote_upload *d, int r, bool failing)
{
	if (r == 0 || !d->fs || given_up(d))
		return true;
	return r != -EAGAIN && (failing || r == -EACCES || r == -EDQUOT);
}

static void upload_segments(struct sp_remote_upload *d, JNIEnv *env)
{
	struct sp_err err = {{0}};
	bool failing = false;

	for (;;) {
		bool last = atomic_load(&d->stop);
		size_t n = sp_segments_wait(d->segments, TICK_NS);
		int r = n || !d->fs ? send_all(d, env, &err) : 0;

		if (r == 0 && n)
			d->retry_ns = 0;
		if (last && over(d, r, failing))
			break;
		failing = last ? failing : r < 0 && r != -EAGAIN;
		if (r < 0 && r != -EAGAIN)
			say_waiting(d, &err);
		if (r < 0)
			pause_after(d, r);
	}
	sp_hadoop_fs_close(d->fs, env);
	d->fs = NULL;
}

/* What could not be sent is not lost, but the user must know where it is. */
static void say_rest(struct sp_remote_upload *d)
{
	size_t n = sp_segments_wait(d->segments, 0);
	struct sp_err line;
	char dir[512];

	if (!n || atomic_exchange(&d->rest_said, true))
		return;
	sp_err_set(&line, 0,
		"%zu segment%s of the recording could not be sent: see %s/sparkprof-%d.*.jfr on "
		"this host",
		n, n == 1 ? "" : "s", sp_segments_where(d->segments, dir, sizeof(dir)),
		(int)getpid());
	sp_say_stderr(line.text);
}

static void *run(void *arg)
{
	JavaVMAttachArgs attach = {JNI_VERSION_1_6, "sparkprof-dfs", NULL};
	struct sp_remote_upload *d = arg;
	JNIEnv *env;

	sp_threads_exclude_self(d->threads);
	sp_sched_slice_short();
	if ((*d->vm)->AttachCurrentThreadAsDaemon(d->vm, (void **)&env, &attach) == JNI_OK) {
		upload_segments(d, env);
		(*d->vm)->DetachCurrentThread(d->vm);
	}
	say_rest(d);
	pthread_mutex_lock(&d->lock);
	d->ended = true;
	pthread_cond_broadcast(&d->over);
	pthread_mutex_unlock(&d->lock);
	drop_holder(d);
	return NULL;
}

int sp_remote_upload_start(struct sp_remote_upload **ret, JavaVM *vm, struct sp_segments *segments,
	struct sp_threads *threads, sp_say_fn *say, void *say_ctx, struct sp_err *err)
{
	struct sp_remote_upload *d = calloc(1, sizeof(*d));
	pthread_condattr_t attr;
	int r;

	if (!d)
		return sp_err_set(err, -ENOMEM, "out of memory");
	d->holders = 2;
	d->vm = vm;
	d->segments = sp_segments_ref(segments);
	d->threads = threads;
	d->say = say;
	d->say_ctx = say_ctx;
	pthread_mutex_init(&d->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&d->over, &attr);
	pthread_condattr_destroy(&attr);
	r = sp_own_thread_start_alone("sparkprof-dfs", SP_STACK_JAVA, run, d);
	if (r < 0) {
		d->holders = 1;
		drop_holder(d);
		return sp_err_set(err, r, "cannot start a thread in the target: %s", strerror(-r));
	}
	*ret = d;
	return 0;
}

/* Until when the end waits by now: as long as something arrives, at most until @end. */
static uint64_t patience(struct sp_remote_upload *d, uint64_t stop_ns, uint64_t end_ns)
{
	uint64_t silent = atomic_load(&d->silent_ns);
	uint64_t until = (silent ? silent : stop_ns) + SILENCE;

	if (until < stop_ns + LAST_WORD)
		until = stop_ns + LAST_WORD;
	return until < end_ns ? until : end_ns;
}

void sp_remote_upload_finish(struct sp_remote_upload *d, uint64_t limit_ns)
{
	uint64_t now = sp_clock_mono_ns(), stop = now, end = now + limit_ns, until;
	bool ended;

	atomic_store(&d->end_ns, end);
	atomic_store(&d->stop, true);
	sp_segments_wake(d->segments);
	pthread_mutex_lock(&d->lock);
	while (!d->ended && now < (until = patience(d, stop, end))) {
		struct timespec at = {(time_t)(until / 1000000000), (long)(until % 1000000000)};

		pthread_cond_timedwait(&d->over, &d->lock, &at);
		now = sp_clock_mono_ns();
	}
	ended = d->ended;
	pthread_mutex_unlock(&d->lock);
	if (!ended) /* it hangs in a call, and the JVM may be gone before that returns */
		say_rest(d);
}

void sp_remote_upload_free(struct sp_remote_upload *d)
{
	drop_holder(d);
}

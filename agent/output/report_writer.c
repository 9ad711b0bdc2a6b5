/* See report_writer.h. The only place where the agent starts a process: posix_spawn, which copies
 * nothing of the JVM and runs none of its handlers. */
#include "report_writer.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "host/own_thread.h"
#include "host/say.h"
#include "options/arg_report.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS	   1000000000ull
#define LONGEST_NS 60000000000ull /* for a report of a loop, while the JVM runs */
#define LOOK_NS	   10000000	  /* at a child that works */
#define PATH	   4096

struct sp_report_writer {
	struct sp_segments *segments;
	struct sp_own_thread *thread;
	pthread_mutex_t lock; /* for who joins it */
	_Atomic bool stop;
	_Atomic uint64_t end_ns; /* with @stop: when patience ends */
	char launcher[SP_REPORT_LAUNCHER];
	char format[600];	       /* for -o: "html,total,title=x" */
	char extension[24], other[24]; /* of file=; what the launcher knows @format by, where that
					* is another */
	char jfr[PATH], out[PATH], made[PATH + 32];
};

bool sp_report_writer_launcher(char *ret)
{
	Dl_info own;
	const char *slash;
	int n;

	if (!dladdr((void *)sp_report_writer_launcher, &own) || !own.dli_fname)
		return false;
	slash = strrchr(own.dli_fname, '/');
	n = snprintf(ret, SP_REPORT_LAUNCHER, "%.*ssparkprof",
		slash ? (int)(slash + 1 - own.dli_fname) : 0, own.dli_fname);
	return n > 0 && n < SP_REPORT_LAUNCHER && access(ret, X_OK) == 0;
}

static int spawn(struct sp_report_writer *w, pid_t *ret)
{
	char *argv[] = {
		w->launcher, "report", "-q", "-o", w->format, "-f", w->made, "--", w->jfr, NULL};
	char *envp[] = {"SPARKPROF_CHILD=1", NULL};
	posix_spawnattr_t attr;
	sigset_t none;
	int r;

	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(
		&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_USEVFORK);
	r = posix_spawn(ret, w->launcher, NULL, &attr, argv, envp);
	posix_spawnattr_destroy(&attr);
	return -r;
}

/* Returns its exit code, -ETIMEDOUT where it still works, or -errno. A host that ignores SIGCHLD
 * has no code for us: then the file says it. */
static int wait_for(struct sp_report_writer *w, pid_t child)
{
	uint64_t give_up = sp_clock_mono_ns() + LONGEST_NS;
	struct timespec pause = {0, LOOK_NS};
	int status;

	for (;;) {
		pid_t r = waitpid(child, &status, WNOHANG);
		uint64_t now = sp_clock_mono_ns();

		if (r == child)
			return WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
		if (r < 0 && errno == ECHILD)
			return access(w->made, F_OK) == 0 ? 0 : -ECHILD;
		if (now > (atomic_load(&w->stop) ? atomic_load(&w->end_ns) : give_up))
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
}

/* x.html of x.html.jfr; where the words ask for another format than the name, by its own name
 * first.
 */
static void name_report(struct sp_report_writer *w)
{
	size_t n = strlen(w->jfr);

	snprintf(w->out, sizeof(w->out), "%.*s", n > 4 ? (int)(n - 4) : 0, w->jfr);
	snprintf(w->made, sizeof(w->made), "%s%s", w->out, w->other);
}

/* As x.jfr, unless there is one. */
static void keep_recording(struct sp_report_writer *w, int error)
{
	size_t n = strlen(w->out), ext = strlen(w->extension);
	char kept[PATH + 8];
	struct sp_err line;

	snprintf(kept, sizeof(kept), "%.*s.jfr", (int)(n > ext ? n - ext : n), w->out);
	if (error == -ETIMEDOUT || (access(kept, F_OK) == 0 || rename(w->jfr, kept) < 0))
		snprintf(kept, sizeof(kept), "%s", w->jfr);
	if (error == -ETIMEDOUT)
		sp_err_set(&line, 0, "%.300s is still being made of %.300s", w->out, kept);
	else
		sp_err_set(&line, 0,
			"%.300s could not be made; the recording is %.300s: sparkprof report makes "
			"it",
			w->out, kept);
	sp_say_stderr(line.text);
}

static bool make_one(struct sp_report_writer *w)
{
	pid_t child;
	int r;

	if (!sp_segments_oldest(w->segments, w->jfr, sizeof(w->jfr)))
		return false;
	name_report(w);
	r = spawn(w, &child);
	if (r == 0)
		r = wait_for(w, child);
	if (r == 0 && w->other[0] && rename(w->made, w->out) < 0)
		r = -errno;
	if (r != 0)
		keep_recording(w, r);
	sp_segments_sent(w->segments); /* and what there is by that name is removed */
	return true;
}

static void *run(void *arg)
{
	struct sp_report_writer *w = arg;
	bool last;

	do {
		last = atomic_load(&w->stop);
		sp_segments_wait(w->segments, last ? 0 : TICK_NS);
		while (make_one(w))
			;
	} while (!last);
	return NULL;
}

int sp_report_writer_start(
	struct sp_report_writer **ret, struct sp_segments *segments, const struct sp_args *args)
{
	struct sp_report_writer *w = calloc(1, sizeof(*w));
	const char *extension = sp_arg_report_extension(args->report);
	int r;

	if (!w)
		return -ENOMEM;
	snprintf(w->format, sizeof(w->format), "%s%s", args->report, args->looks);
	snprintf(w->extension, sizeof(w->extension), "%s", args->report_ext);
	if (!args->report_ext[0] || args->output[0])
		snprintf(w->other, sizeof(w->other), "%s", extension);
	pthread_mutex_init(&w->lock, NULL);
	w->segments = sp_segments_ref(segments);
	r = sp_report_writer_launcher(w->launcher)
		    ? sp_own_thread_start(&w->thread, "sparkprof-html", SP_STACK_PLAIN, run, w)
		    : -ENOENT;
	if (r < 0) {
		sp_report_writer_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

int sp_report_writer_make(const char *format, const char *in, const char *out, struct sp_err *err)
{
	SP_AUTO_FREE struct sp_report_writer *w = calloc(1, sizeof(*w));
	pid_t child;
	int r;

	if (!w)
		return sp_err_set(err, -ENOMEM, "out of memory");
	if (!sp_report_writer_launcher(w->launcher))
		return sp_err_set(err, -ENOENT,
			"no sparkprof lies beside the library: it makes the reports; file=x.jfr "
			"needs none");
	snprintf(w->format, sizeof(w->format), "%s", format);
	snprintf(w->jfr, sizeof(w->jfr), "%s", in);
	/* Under a name that says the format, whatever @out is called. */
	snprintf(w->made, sizeof(w->made), "%s.%d%.*s", out, (int)getpid(), 20,
		sp_arg_report_extension(format));
	r = spawn(w, &child);
	if (r == 0)
		r = wait_for(w, child);
	if (r == -ETIMEDOUT) { /* nobody else would wait for it */
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	if (r == 0 && rename(w->made, out) < 0)
		r = -errno;
	if (r == 0)
		return 0;
	unlink(w->made);
	return sp_err_set(
		err, r < 0 ? r : -EIO, "%.300s could not be made: sparkprof ended with %d", out, r);
}

void sp_report_writer_finish(struct sp_report_writer *w, uint64_t limit_ns)
{
	atomic_store(&w->end_ns, sp_clock_mono_ns() + limit_ns);
	atomic_store(&w->stop, true);
	sp_segments_wake(w->segments);
	pthread_mutex_lock(&w->lock);
	if (w->thread)
		sp_own_thread_join(w->thread);
	w->thread = NULL;
	pthread_mutex_unlock(&w->lock);
}

void sp_report_writer_free(struct sp_report_writer *w)
{
	if (!w)
		return;
	sp_segments_free(w->segments);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

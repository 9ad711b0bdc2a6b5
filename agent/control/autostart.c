/* See autostart.h. Whatever goes wrong, the job runs on: Agent_OnLoad always returns 0, and says at
 * most one line. */
#include "autostart.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/name_template.h"
#include "host/own_thread.h"
#include "host/say.h"
#include "options/args.h"
#include "output/report_writer.h"
#include "output/segments.h"
#include "recording_owner.h"
#include "spark/spark_identity.h"

#include <jvmti.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
	JavaVM *vm;
	struct sp_args args;
	struct sp_recording_owner_seat seat;
	uint64_t end_ns;	      /* timeout=; 0: none */
	struct sp_segments *segments; /* of a recording that waits for room on its disk */
	_Atomic uint32_t waiting;     /* threads that wait for somewhere to write */
	_Atomic int kept_fd; /* the last recording, if it is in a file without a name; 0: none */
} autostart;

static void wait_for_room(struct sp_segments *segments);

/* Ownership of @segments and @fd passes. Returns 1 or -errno. */
static int record(
	struct sp_segments *segments, const struct sp_args *args, int fd, struct sp_err *err)
{
	int r;

	/* The engines' step-downs are no error: they are in the recording. */
	sp_recording_owner_seat_init(&autostart.seat, NULL, NULL);
	r = sp_recording_owner_autostart(&autostart.seat, autostart.vm, args, segments, fd, err);
	if (r == 0)
		return 1;
	if (segments)
		sp_segments_discard(segments);
	sp_segments_free(segments);
	return r;
}

int sp_autostart_unnamed_fd(void)
{
	const char *const dirs[] = {autostart.args.localdir, ".", "/tmp", "/var/tmp"};
	int fd = -1;

	for (size_t i = 0; i < SP_COUNT(dirs) && fd < 0; i++)
		if (dirs[i][0])
			fd = open(dirs[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd;
}

static void keep(int fd)
{
	int before = atomic_exchange(&autostart.kept_fd, fd);

	if (before > 0)
		close(before);
}

void sp_autostart_forget(void)
{
	keep(0);
}

int sp_autostart_kept_fd(void)
{
	int fd = atomic_load(&autostart.kept_fd);

	return fd > 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
}

/* Without file= the recording waits for stop and dump, in a file without a name that goes with the
 * JVM; also when its time is over. */
static int begin_unnamed(struct sp_err *err)
{
	int r, fd = sp_autostart_unnamed_fd(), kept;

	if (fd < 0) {
		sp_err_set(err, -EROFS,
			"no directory takes a recording without file=; name one with localdir=");
		return 0;
	}
	kept = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	r = record(NULL, &autostart.args, fd, err);
	if (r > 0)
		keep(kept);
	else if (kept >= 0)
		close(kept);
	return r;
}

/* Returns 1 where it records; 0 where there is nowhere to write yet; -errno where it never will. */
static int begin_recording(const struct sp_spark_identity *id, struct sp_err *err)
{
	struct sp_segments *segments;
	int fd, r;

	if (autostart.args.timeout_ns)
		autostart.end_ns = sp_clock_mono_ns() + autostart.args.timeout_ns;
	if (!autostart.args.file[0])
		return begin_unnamed(err);
	r = sp_segments_new(&segments, &autostart.args, id, &fd, err);
	if (r < 0)
		return r == -ENOMEM || r == -EINVAL ? r : 0;
	sp_segments_on_failure(segments, wait_for_room);
	r = record(segments, &autostart.args, fd, err);
	if (r > 0)
		sp_autostart_forget();
	return r;
}

/* Why there is no recording, and that there is none. */
static void say_none(const char *why)
{
	struct sp_err line;

	sp_err_set(&line, 0, "%.600s; nothing is recorded", why);
	sp_say_stderr(line.text);
}

/* A directory that comes later (a volume that is mounted, a mount that is made writable) is waited
 * for: every second in the first minute, then every ten. */
static void *wait_and_begin(void *arg)
{
	struct sp_spark_identity id;
	struct sp_err err;
	int r = 0;

	for (int i = 0; r == 0; i++) {
		struct timespec pause = {i < 60 ? 1 : 10, 0};

		nanosleep(&pause, NULL);
		sp_spark_identity_early(&id);
		r = begin_recording(&id, &err);
	}
	autostart.waiting--;
	if (r < 0)
		say_none(err.text);
	else if (autostart.args.timeout_ns)
		sp_recording_owner_leave(&autostart.seat);
	return NULL;
}

static void *end_in_time(void *arg)
{
	sp_recording_owner_leave(&autostart.seat);
	return NULL;
}

static int start_thread(void *(*run)(void *))
{
	return sp_own_thread_start_alone("sparkprof-own", SP_STACK_PLAIN, run, NULL);
}

/* One that waits for somewhere to write. */
static void start_waiting(void *(*run)(void *))
{
	autostart.waiting++;
	if (start_thread(run) < 0)
		autostart.waiting--;
}

/* Ends the recording that could not be written and begins another beside its file. Returns as
 * begin(). */
static int go_on(struct sp_segments *segments, struct sp_err *err)
{
	struct sp_args args = autostart.args;
	uint64_t now = sp_clock_mono_ns();
	int fd;

	if (!sp_recording_owner_holds(&autostart.seat) ||
		(autostart.end_ns && now >= autostart.end_ns))
		return -ECANCELED;
	if (sp_segments_again(segments, &fd, err) < 0)
		return 0;
	if (autostart.end_ns)
		args.timeout_ns = autostart.end_ns - now;
	if (sp_recording_owner_end(&autostart.seat))
		return record(sp_segments_ref(segments), &args, fd, err);
	close(fd);
	sp_segments_discard(segments);
	return -ECANCELED;
}

/* Nothing is sampled meanwhile. */
static void *wait_and_go_on(void *arg)
{
	struct sp_segments *segments = autostart.segments;
	struct timespec pause = {5, 0};
	struct sp_err err;
	int r;

	do {
		nanosleep(&pause, NULL);
		r = go_on(segments, &err);
	} while (r == 0);
	sp_segments_free(segments);
	autostart.waiting--;
	if (r > 0 && autostart.end_ns)
		sp_recording_owner_leave(&autostart.seat);
	return NULL;
}

static void wait_for_room(struct sp_segments *segments)
{
	autostart.segments = sp_segments_ref(segments);
	start_waiting(wait_and_go_on);
}

static void *begin(void *arg)
{
	struct sp_spark_identity id;
	struct sp_err err = {{0}}, line;
	int r;

	sp_spark_identity_early(&id);
	if (!sp_spark_identity_chosen(&id, autostart.args.fraction))
		return NULL;
	r = begin_recording(&id, &err);
	if (r < 0) {
		say_none(err.text);
	} else if (r == 0) {
		sp_err_set(&line, 0, "%.600s; retrying until it works", err.text);
		sp_say_stderr(line.text);
		start_waiting(wait_and_begin);
	} else if (autostart.args.timeout_ns) {
		(void)start_thread(end_in_time);
	}
	return NULL;
}

/* The JVM's end is the session's business (agent/control/session.c: vm_death). The main thread
 * waits in a function with an unwind table, which most of ours lack: it is sampled from here on. */
static void JNICALL on_vm_init(jvmtiEnv *ti, JNIEnv *env, jthread thread)
{
	struct sp_own_thread *t;

	if (sp_own_thread_start(&t, "sparkprof-begin", SP_STACK_PLAIN, begin, NULL) == 0)
		sp_own_thread_join(t);
	else
		begin(NULL);
}

/* SPARKPROF_OPTS first, so that the command line has the last word. */
static int join_options(char *to, size_t size, const char *options, struct sp_err *err)
{
	const char *env = getenv("SPARKPROF_OPTS");
	int n = snprintf(to, size, "%s%s%s", env ? env : "",
		env && *env && options && *options ? "," : "", options ? options : "");

	if (n < 0 || (size_t)n >= size)
		return sp_err_set(err, -EINVAL, "the options are longer than %zu bytes", size - 1);
	return 0;
}

/* A recording never has a report's name. */
static void name_as_jfr(struct sp_args *a, const char *why)
{
	size_t n = strlen(a->file) - strlen(a->report_ext);
	struct sp_err line;

	if (n + 5 > sizeof(a->file))
		return;
	memcpy(a->file + n, ".jfr", 5);
	sp_err_set(&line, 0,
		"file: %s, so a JVM is recorded as JFR: %.600s; sparkprof report makes the %s of "
		"it",
		why, a->file, a->report);
	sp_say_stderr(line.text);
	a->report[0] = '\0';
}

/* Reports are made by the launcher, of a recording that lies beside them until then. */
static void name_report(struct sp_args *a)
{
	char launcher[SP_REPORT_LAUNCHER];
	size_t n = strlen(a->file);

	if (!a->report[0])
		return;
	if (sp_segments_is_remote(a->file))
		name_as_jfr(a, "reports are made on this host only");
	else if (n + 5 > sizeof(a->file) || !sp_report_writer_launcher(launcher))
		name_as_jfr(a, "no sparkprof lies beside the library");
	else
		memcpy(a->file + n, ".jfr", 5);
}

int sp_autostart_drop_scheme(char *file, struct sp_err *err)
{
	char *path = file + strlen("file:");

	if (strncmp(file, "file:/", 6) != 0)
		return 0;
	if (path[1] == '/' && path[2] != '/')
		return sp_err_set(err, -EINVAL, "file: '%s': is not on this host", file);
	path += path[1] == '/' ? 2 : 0;
	memmove(file, path, strlen(path) + 1);
	return 1;
}

/* A URI of this host, file:/dir or file:///dir, means what one of the cluster does: without .jfr a
 * directory. */
static int take_uri(char *file, size_t size, struct sp_err *err)
{
	int r = sp_autostart_drop_scheme(file, err);
	size_t n = strlen(file);

	if (r <= 0)
		return r;
	if ((n < 4 || strcmp(file + n - 4, ".jfr") != 0) && n + 2 <= size)
		memcpy(file + n, "/", 2);
	return 0;
}

static int check_file(const char *file, struct sp_err *err)
{
	int r;

	if (!*file)
		return autostart.args.loop || autostart.args.maxdisk
			       ? sp_err_set(err, -EINVAL, "file: missing; write file=PATH")
			       : 0;
	if (sp_name_template_has_event(file))
		return sp_err_set(
			err, -EINVAL, "file: {{EVENT}} cannot be used: a recording has all events");
	r = sp_name_template_check(file, err);
	return r < 0 ? sp_err_prefix(err, r, "file") : 0;
}

static int parse_options(const char *all, struct sp_err *err)
{
	int r;

	sp_args_init(&autostart.args);
	r = sp_args_parse(&autostart.args, all, err);
	if (r < 0)
		return r;
	if (!autostart.args.start)
		return sp_err_set(
			err, -EINVAL, "write start,event=…,file=… after the library's name");
	r = take_uri(autostart.args.file, sizeof(autostart.args.file), err);
	if (r == 0)
		r = check_file(autostart.args.file, err);
	if (r == 0)
		name_report(&autostart.args);
	return r;
}

bool sp_autostart_is_remote(void)
{
	return sp_segments_is_remote(autostart.args.file);
}

int sp_autostart_begin(JavaVM *vm, const char *words, struct sp_err *err)
{
	struct sp_spark_identity id;
	int r;

	if (sp_recording_owner_active() || autostart.waiting)
		return sp_err_set(err, -EBUSY, "this JVM is being recorded already");
	autostart.vm = vm;
	autostart.end_ns = 0;
	r = parse_options(words, err);
	if (r < 0)
		return r;
	sp_spark_identity_early(&id);
	r = begin_recording(&id, err);
	if (r <= 0)
		return r < 0 ? r : -EIO;
	if (autostart.args.timeout_ns)
		(void)start_thread(end_in_time);
	return 0;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	jvmtiEventCallbacks cb = {.VMInit = on_vm_init};
	char all[sizeof(autostart.args.given)];
	struct sp_err err = {{0}};
	jvmtiEnv *ti;

	if (autostart.vm) {
		sp_say_stderr("-agentpath names the library twice; the first one is used");
		return 0;
	}
	autostart.vm = vm;
	if (join_options(all, sizeof(all), options, &err) < 0 || parse_options(all, &err) < 0 ||
		(*vm)->GetEnv(vm, (void **)&ti, JVMTI_VERSION_1_2) != 0) {
		say_none(err.text[0] ? err.text : "this JVM has no tool interface");
		return 0;
	}
	(*ti)->SetEventCallbacks(ti, &cb, sizeof(cb));
	(*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL);
	return 0;
}

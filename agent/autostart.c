/* See autostart.h. Whatever goes wrong, the job runs on: Agent_OnLoad always returns 0. */
#include "autostart.h"

#include "args.h"
#include "recording.h"

#include <jvmti.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
	JavaVM *vm;
	struct sp_args args;
	char options[1024]; /* as given: status shows them */
	struct sp_recording_seat seat;
} autostart;

static void complain(const char *sentence)
{
	char line[1024];
	int n = snprintf(line, sizeof(line), "sparkprof: %s\n", sentence);

	if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof(line) ? (size_t)n : 0) < 0)
		return; /* nobody listens: nothing to be done */
}

/* %p: pid, %t: time of start; what else async-profiler knows comes with the other outputs. */
static void expand(const char *pattern, char *out, size_t size)
{
	size_t n = 0;
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	for (; *pattern && n + 1 < size; pattern++) {
		if (*pattern == '%' && pattern[1] == 'p') {
			n += (size_t)snprintf(out + n, size - n, "%d", (int)getpid());
			pattern++;
		} else if (*pattern == '%' && pattern[1] == 't') {
			n += strftime(out + n, size - n, "%Y%m%d-%H%M%S", &tm);
			pattern++;
		} else {
			out[n++] = *pattern;
		}
		if (n >= size)
			n = size - 1;
	}
	out[n] = 0;
}

static void *end_in_time(void *arg)
{
	sp_recording_leave(&autostart.seat);
	return NULL;
}

static void start_limit(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, &attr, end_in_time, NULL) == 0)
		pthread_setname_np(thread, "sparkprof-end");
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
}

/* The recording under the name by which others find it, as launchers say it (msg.h, START). */
static void name_output(int fd, char *ret, size_t size)
{
	char link[40], path[1100];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	ret[0] = '\0';
	if (n > 0 && !strchr(path, '\n'))
		snprintf(ret, size, "jfr %s\n", path);
}

/* The JVM's end is the session's business (agent/session.c: vm_death). */
static void JNICALL on_vm_init(jvmtiEnv *ti, JNIEnv *env, jthread thread)
{
	char path[1100], outputs[1200];
	struct sp_err err = {{0}};
	int fd;

	expand(autostart.args.file, path, sizeof(path));
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0) {
		sp_err_set(&err, -errno, "%s: %s", path, strerror(errno));
		complain(err.text);
		return;
	}
	name_output(fd, outputs, sizeof(outputs));
	/* The engines' step-downs are no error: they stand in the recording. */
	sp_recording_seat_init(&autostart.seat, NULL, NULL);
	if (sp_recording_autostart(
		    &autostart.seat, autostart.vm, autostart.options, outputs, fd, &err) < 0) {
		complain(err.text);
		unlink(path);
	} else if (autostart.args.timeout_ns) {
		start_limit();
	}
}

static int parse(const char *options, struct sp_err *err)
{
	int r;

	sp_args_init(&autostart.args);
	snprintf(autostart.options, sizeof(autostart.options), "%s", options ? options : "");
	r = sp_args_parse(&autostart.args, options ? options : "", err);
	if (r < 0)
		return r;
	if (!autostart.args.start)
		return sp_err_set(
			err, -EINVAL, "write start,event=…,file=… after the library's name");
	if (!*autostart.args.file)
		return sp_err_set(err, -EINVAL, "file: where should the recording go?");
	if (strlen(options) >= sizeof(autostart.options))
		return sp_err_set(err, -EINVAL, "the options are longer than %zu bytes",
			sizeof(autostart.options) - 1);
	return 0;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	jvmtiEventCallbacks cb = {.VMInit = on_vm_init};
	struct sp_err err = {{0}};
	jvmtiEnv *ti;

	autostart.vm = vm;
	if (parse(options, &err) < 0 || (*vm)->GetEnv(vm, (void **)&ti, JVMTI_VERSION_1_2) != 0) {
		complain(err.text[0] ? err.text : "this JVM has no tool interface");
		return 0;
	}
	(*ti)->SetEventCallbacks(ti, &cb, sizeof(cb));
	(*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, JVMTI_EVENT_VM_INIT, NULL);
	return 0;
}

/* See lock_owners.h. */
#include "lock_owners.h"

#include "base/clock.h"
#include "host/own_thread.h"
#include "host/sched_slice.h"
#include "jni_util.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PATIENCE_NS 3000000000ull
#define TEXT	    12288 /* fits into a message */
#define BEAN	    "java/lang/management/ThreadMXBean"
#define INFO	    "java/lang/management/ThreadInfo"

static struct {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool ready;   /* the condition is made */
	bool running; /* a thread is at it, perhaps of an earlier call */
	JavaVM *vm;
	void (*exclude)(void);
	int status;
	char text[TEXT], answer[TEXT]; /* of that thread; of the caller */
} own = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct info_methods {
	jmethodID id, owner, lock, owner_name, state;
};

static bool find_methods(JNIEnv *env, struct info_methods *m)
{
	jclass c = (*env)->FindClass(env, INFO);

	if (!c)
		return false;
	m->id = (*env)->GetMethodID(env, c, "getThreadId", "()J");
	m->owner = m->id ? (*env)->GetMethodID(env, c, "getLockOwnerId", "()J") : NULL;
	m->lock = m->owner ? (*env)->GetMethodID(env, c, "getLockName", "()Ljava/lang/String;")
			   : NULL;
	m->owner_name =
		m->lock ? (*env)->GetMethodID(env, c, "getLockOwnerName", "()Ljava/lang/String;")
			: NULL;
	m->state = m->owner_name ? (*env)->GetMethodID(
					   env, c, "getThreadState", "()Ljava/lang/Thread$State;")
				 : NULL;
	return m->state != NULL;
}

static bool is_blocked(JNIEnv *env, jobject info, const struct info_methods *m)
{
	jobject state = (*env)->CallObjectMethod(env, info, m->state);
	char text[32] = "";

	if (state && !(*env)->ExceptionCheck(env))
		sp_jni_text(env, sp_jni_call(env, state, "name", "()Ljava/lang/String;"), text,
			sizeof(text));
	return strcmp(text, "BLOCKED") == 0;
}

static void no_breaks(char *s)
{
	for (; *s; s++)
		if (*s == '\n' || *s == '\t')
			*s = ' ';
}

/* Returns whether there was room. */
static bool add_info(JNIEnv *env, jobject info, const struct info_methods *m, size_t *at)
{
	static const char lock_class[] = "java.util.concurrent.locks.Reentrant";
	jlong owner = (*env)->CallLongMethod(env, info, m->owner);
	char lock[256], name[256];
	int n;

	sp_jni_text(env, (*env)->CallObjectMethod(env, info, m->lock), lock, sizeof(lock));
	if (!lock[0] || (owner < 0 && strncmp(lock, lock_class, sizeof(lock_class) - 1) != 0 &&
				!is_blocked(env, info, m)))
		return true;
	sp_jni_text(env, (*env)->CallObjectMethod(env, info, m->owner_name), name, sizeof(name));
	no_breaks(lock);
	no_breaks(name);
	n = snprintf(own.text + *at, sizeof(own.text) - *at, "%lld %lld %s\t%s\n",
		(long long)(*env)->CallLongMethod(env, info, m->id), (long long)owner, lock, name);
	if (n < 0 || (size_t)n >= sizeof(own.text) - *at - sizeof("cut\n")) {
		snprintf(own.text + *at, sizeof(own.text) - *at, "cut\n");
		return false;
	}
	*at += (size_t)n;
	return true;
}

static int read_owners(JNIEnv *env)
{
	jobject bean = sp_jni_call_static(
		env, "java/lang/management/ManagementFactory", "getThreadMXBean", "()L" BEAN ";");
	jobject ids = bean ? sp_jni_call(env, bean, "getAllThreadIds", "()[J") : NULL;
	jobjectArray infos =
		ids ? sp_jni_call(env, bean, "getThreadInfo", "([J)[L" INFO ";", ids) : NULL;
	struct info_methods m;
	size_t at = 0;
	jsize n;

	if (!infos || !find_methods(env, &m))
		return -ENOTSUP;
	n = (*env)->GetArrayLength(env, infos);
	for (jsize i = 0; i < n; i++) {
		jobject info;
		bool room;

		if ((*env)->PushLocalFrame(env, 16) < 0)
			return -ENOMEM;
		info = (*env)->GetObjectArrayElement(env, infos, i); /* NULL: it has ended */
		room = !info || add_info(env, info, &m, &at);
		sp_jni_failed(env);
		(*env)->PopLocalFrame(env, NULL);
		if (!room)
			break;
	}
	return 0;
}

static int ask_jvm(JavaVM *vm)
{
	JavaVMAttachArgs attach = {JNI_VERSION_1_6, "sparkprof-owners", NULL};
	JNIEnv *env;
	int r = -ENOMEM;

	if ((*vm)->AttachCurrentThreadAsDaemon(vm, (void **)&env, &attach) != JNI_OK)
		return -ENOTSUP;
	if ((*env)->PushLocalFrame(env, 32) == 0) {
		r = read_owners(env);
		sp_jni_failed(env);
		(*env)->PopLocalFrame(env, NULL);
	}
	sp_jni_failed(env);
	(*vm)->DetachCurrentThread(vm);
	return r;
}

static void *run(void *arg)
{
	int r;

	own.exclude();
	sp_sched_slice_short();
	own.text[0] = 0;
	r = ask_jvm(own.vm);
	pthread_mutex_lock(&own.lock);
	own.status = r;
	own.running = false;
	pthread_cond_broadcast(&own.cond);
	pthread_mutex_unlock(&own.lock);
	return arg;
}

static void make_cond(void)
{
	pthread_condattr_t attr;

	if (own.ready)
		return;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&own.cond, &attr);
	pthread_condattr_destroy(&attr);
	own.ready = true;
}

/* Under the lock, which is released while it waits. */
static int start_and_wait(void)
{
	uint64_t end = sp_clock_mono_ns() + PATIENCE_NS;
	struct timespec at = {(time_t)(end / 1000000000), (long)(end % 1000000000)};
	int r;

	own.running = true;
	r = sp_own_thread_start_alone("sparkprof-owner", SP_STACK_JAVA, run, NULL);
	if (r < 0) {
		own.running = false;
		return r;
	}
	while (own.running && r == 0)
		r = pthread_cond_timedwait(&own.cond, &own.lock, &at);
	return own.running ? -ETIMEDOUT : own.status;
}

int sp_lock_owners(JavaVM *vm, void (*exclude)(void), const char **ret)
{
	int r = -EBUSY;

	pthread_mutex_lock(&own.lock);
	make_cond();
	if (!own.running) {
		own.vm = vm;
		own.exclude = exclude;
		r = start_and_wait();
		if (r == 0)
			memcpy(own.answer, own.text, sizeof(own.answer));
	}
	pthread_mutex_unlock(&own.lock);
	*ret = own.answer;
	return r;
}

/* What programs call: api/sparkprof.h, api/io/github/sparkprof/Sparkprof.java, and the native
 * methods of async-profiler's class, by whatever name it goes (JMH has one of its own): those of
 * the class that loads the library. Of several copies of this build in the process the first one
 * answers, for it may hold the recording. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/marks.h"
#include "api_command.h"
#include "recording_claim.h"
#include "vm/jni_util.h"

#include <dlfcn.h>
#include <errno.h>
#include <jvmti.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define API	   __attribute__((visibility("default")))
#define LONGEST	   4096 /* command */
#define CALLERS	   16
#define EXECUTE	   "(Ljava/lang/String;)Ljava/lang/String;"
#define NAME(name) Java_io_github_sparkprof_Sparkprof_##name

typedef int execute_fn(
	const char *, void (*)(void *, const char *, size_t), void *, char *, size_t);
typedef uint64_t samples_fn(void);
typedef void span_fn(uint64_t, const char *);

API int sparkprof_execute(const char *command,
	void (*output)(void *ctx, const char *text, size_t length), void *ctx, char *error,
	size_t size);
API uint64_t sparkprof_now(void);
API uint64_t sparkprof_samples(void); /* of the recording that runs */
API void sparkprof_span(uint64_t since, const char *tag);

static pid_t home; /* a forked child has neither the JVM's threads nor ours */

__attribute__((constructor)) static void note_home(void)
{
	home = getpid();
}

static const void *first_copy(const char *symbol)
{
	return sp_recording_claim_first_copy(symbol);
}

/* The JVM of this process, NULL: none yet. */
static JavaVM *find_vm(void)
{
	jint(JNICALL * created)(JavaVM **, jsize, jsize *) = (jint(JNICALL *)(
		JavaVM **, jsize, jsize *))dlsym(RTLD_DEFAULT, "JNI_GetCreatedJavaVMs");
	void *jvm = created ? NULL : dlopen("libjvm.so", RTLD_LAZY | RTLD_NOLOAD);
	JavaVM *vm = NULL;
	jsize n = 0;

	if (jvm)
		created = (jint(JNICALL *)(JavaVM **, jsize, jsize *))dlsym(
			jvm, "JNI_GetCreatedJavaVMs");
	if (!created || created(&vm, 1, &n) != JNI_OK || n < 1)
		return NULL;
	return vm;
}

/* @vm: of the Java thread that calls, for JNI_GetCreatedJavaVMs does not name one that has not
 * begun to run, as in an agent's premain; NULL: no Java thread. */
static int execute(JavaVM *vm, const char *command, struct sp_buf *out, struct sp_err *err)
{
	vm = vm ? vm : find_vm();
	if (!command)
		return sp_err_set(err, -EINVAL, "the command is missing");
	if (getpid() != home)
		return sp_err_set(err, -ENOTSUP, "this is a child of the process with the JVM");
	if (!vm)
		return sp_err_set(err, -ENOTSUP, "there is no JVM in this process");
	return sp_api_command_run(vm, command, out, err);
}

static int execute_in(JavaVM *vm, const char *command,
	void (*output)(void *ctx, const char *text, size_t length), void *ctx, char *error,
	size_t size)
{
	execute_fn *first = (execute_fn *)first_copy("sparkprof_execute");
	SP_AUTO_BUF struct sp_buf out = {0};
	struct sp_err err = {{0}};
	int r;

	if (first)
		return first(command, output, ctx, error, size);
	r = execute(vm, command, &out, &err);
	if (r == 0 && output && out.len)
		output(ctx, out.data, out.len);
	if (error && size)
		snprintf(error, size, "%s", r < 0 ? err.text : "");
	return r;
}

int sparkprof_execute(const char *command,
	void (*output)(void *ctx, const char *text, size_t length), void *ctx, char *error,
	size_t size)
{
	return execute_in(NULL, command, output, ctx, error, size);
}

uint64_t sparkprof_samples(void)
{
	samples_fn *first = (samples_fn *)first_copy("sparkprof_samples");

	return first ? first() : sp_api_command_samples();
}

uint64_t sparkprof_now(void)
{
	return sp_clock_mono_ns();
}

void sparkprof_span(uint64_t since, const char *tag)
{
	static _Atomic(span_fn *) to;
	span_fn *fn = atomic_load(&to);

	if (!fn) {
		fn = (span_fn *)first_copy("sparkprof_span");
		atomic_store(&to, fn ? fn : sparkprof_span);
	}
	if (fn && fn != sparkprof_span)
		fn(since, tag);
	else
		sp_marks_add(since, tag, tag ? strlen(tag) : 0);
}

static void throw(JNIEnv * env, int error, const char *text)
{
	const char *name = error == -EINVAL ? "java/lang/IllegalArgumentException"
			   : error == -EBUSY || error == -ENOENT ? "java/lang/IllegalStateException"
								 : "java/io/IOException";
	jclass c = (*env)->FindClass(env, name);

	if (c)
		(*env)->ThrowNew(env, c, text);
}

static JavaVM *vm_of(JNIEnv *env)
{
	JavaVM *vm;

	return (*env)->GetJavaVM(env, &vm) == JNI_OK ? vm : NULL;
}

static void add_text(void *ctx, const char *text, size_t length)
{
	sp_buf_add(ctx, text, length);
}

/* Java's strings of another encoding: what is not plain is written as ? there. */
static jstring new_string(JNIEnv *env, struct sp_buf *text)
{
	for (size_t i = 0; i < text->len; i++)
		if ((uint8_t)text->data[i] >= 0xf0 || !text->data[i])
			text->data[i] = '?';
	return (*env)->NewStringUTF(env, sp_buf_str(text));
}

JNIEXPORT jstring JNICALL NAME(execute0)(JNIEnv *env, jobject self, jstring command);
JNIEXPORT jstring JNICALL NAME(execute0)(JNIEnv *env, jobject self, jstring command)
{
	SP_AUTO_BUF struct sp_buf out = {0};
	char words[LONGEST * 3], error[sizeof(struct sp_err)];
	int r;

	if (!command || (*env)->GetStringLength(env, command) >= LONGEST) {
		throw(env, -EINVAL, "the command is missing or too long");
		return NULL;
	}
	sp_jni_text(env, command, words, sizeof(words));
	r = execute_in(vm_of(env), words, add_text, &out, error, sizeof(error));
	if (r < 0)
		throw(env, r, error);
	return r < 0 ? NULL : new_string(env, &out);
}

JNIEXPORT jlong JNICALL NAME(now0)(JNIEnv *env, jclass self);
JNIEXPORT jlong JNICALL NAME(now0)(JNIEnv *env, jclass self)
{
	return (jlong)sp_clock_mono_ns();
}

JNIEXPORT void JNICALL NAME(span0)(JNIEnv *env, jclass self, jlong since, jstring tag);
JNIEXPORT void JNICALL NAME(span0)(JNIEnv *env, jclass self, jlong since, jstring tag)
{
	char text[SP_MARK_TAG * 3 + 1];

	if (tag)
		sparkprof_span((uint64_t)since, sp_jni_text(env, tag, text, sizeof(text)));
}

static void JNICALL start0(JNIEnv *env, jobject self, jstring event, jlong interval, jboolean reset)
{
	char words[512], name[256], error[sizeof(struct sp_err)];
	int r;

	snprintf(words, sizeof(words),
		interval > 0 ? "start,event=%s,interval=%lld" : "start,event=%s",
		sp_jni_text(env, event, name, sizeof(name)), (long long)interval);
	r = execute_in(vm_of(env), words, NULL, NULL, error, sizeof(error));
	if (r < 0)
		throw(env, r == -EINVAL ? r : -EBUSY, error);
}

static void JNICALL stop0(JNIEnv *env, jobject self)
{
	char error[sizeof(struct sp_err)];
	int r = execute_in(vm_of(env), "stop", NULL, NULL, error, sizeof(error));

	if (r < 0)
		throw(env, -EBUSY, error);
}

static jlong JNICALL samples(JNIEnv *env, jobject self)
{
	return (jlong)sparkprof_samples();
}

static void JNICALL filter_thread(JNIEnv *env, jobject self, jobject thread, jboolean enable)
{
	jclass c = (*env)->FindClass(env, "java/lang/UnsupportedOperationException");

	if (c)
		(*env)->ThrowNew(
			env, c, "sparkprof chooses threads by the words filter= and thread=");
}

/* Those of the class that it has. */
static void bind_to(JNIEnv *env, jclass c)
{
	static const JNINativeMethod methods[] = {
		{"execute0", EXECUTE, (void *)NAME(execute0)},
		{"now0", "()J", (void *)NAME(now0)},
		{"span0", "(JLjava/lang/String;)V", (void *)NAME(span0)},
		{"start0", "(Ljava/lang/String;JZ)V", (void *)start0},
		{"stop0", "()V", (void *)stop0},
		{"getSamples", "()J", (void *)samples},
		{"filterThread0", "(Ljava/lang/Thread;Z)V", (void *)filter_thread},
	};

	for (size_t i = 0; i < SP_COUNT(methods); i++) {
		(*env)->RegisterNatives(env, c, &methods[i], 1);
		sp_jni_failed(env); /* it has none of that name */
	}
}

/* The first frame that is not the JDK's is of the class that loads the library. */
static void bind_to_caller(jvmtiEnv *ti, JNIEnv *env)
{
	jvmtiFrameInfo frames[CALLERS];
	jint n = 0;

	if ((*ti)->GetStackTrace(ti, NULL, 0, CALLERS, frames, &n) != JVMTI_ERROR_NONE)
		return;
	for (jint i = 0; i < n; i++) {
		char *signature = NULL;
		bool is_jdk = true;
		jclass c = NULL;

		if ((*ti)->GetMethodDeclaringClass(ti, frames[i].method, &c) == JVMTI_ERROR_NONE &&
			(*ti)->GetClassSignature(ti, c, &signature, NULL) == JVMTI_ERROR_NONE)
			is_jdk = strncmp(signature, "Ljava/", 6) == 0 ||
				 strncmp(signature, "Ljdk/", 5) == 0;
		if (!is_jdk)
			bind_to(env, c);
		(*ti)->Deallocate(ti, (unsigned char *)signature);
		(*env)->DeleteLocalRef(env, c);
		if (!is_jdk)
			return;
	}
}

/* System.load. An agent that the JVM loads itself is not called so. */
JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved)
{
	static jvmtiEnv *ti; /* stays, as the others do: see unhook() in jvmti_thread.c */
	JNIEnv *env;

	if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_6) == JNI_OK &&
		(ti || (*vm)->GetEnv(vm, (void **)&ti, JVMTI_VERSION_1_2) == JNI_OK))
		bind_to_caller(ti, env);
	return JNI_VERSION_1_6;
}

/* Native method of tests/jvm/targets/NativeApi.java: a program that uses api/sparkprof.h. */
#include "../../../api/sparkprof.h"

#include <dlfcn.h>
#include <jni.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char given[256];

static void take(void *ctx, const char *text, size_t length)
{
	snprintf(given, sizeof(given), "%.*s", (int)length, text);
}

JNIEXPORT jstring JNICALL Java_NativeApi_use(
	JNIEnv *env, jclass cls, jstring library, jstring file, jstring other)
{
	const char *path = (*env)->GetStringUTFChars(env, library, NULL);
	const char *out = (*env)->GetStringUTFChars(env, file, NULL);
	const char *copy = (*env)->GetStringUTFChars(env, other, NULL);
	void *lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	void *second;
	__typeof__(sparkprof_execute) *execute = lib ? dlsym(lib, "sparkprof_execute") : NULL;
	__typeof__(sparkprof_now) *now = lib ? dlsym(lib, "sparkprof_now") : NULL;
	__typeof__(sparkprof_span) *span = lib ? dlsym(lib, "sparkprof_span") : NULL;
	char words[512], error[256] = "", answer[1024];
	int wrong, start, stop, refused, status = 0;
	pid_t child;
	__typeof__(sparkprof_span) *other_span;
	uint64_t (*samples)(void);
	uint64_t since;

	if (!execute || !now || !span)
		return (*env)->NewStringUTF(env, "no such functions");
	wrong = execute("start,nonsense=1", NULL, NULL, error, sizeof(error));
	snprintf(words, sizeof(words), "start,event=ctimer,interval=1ms,file=%s", out);
	start = execute(words, NULL, NULL, NULL, 0);
	since = now();
	while (now() - since < 100000000)
		;
	span(since, "native work");
	span(since, NULL);
	/* Names of the first one are everybody's; the second one knows its own. */
	second = dlopen(copy, RTLD_NOW);
	other_span = second ? dlsym(second, "sparkprof_span") : NULL;
	samples = second ? dlsym(second, "sparkprof_samples") : NULL;
	for (int i = 0; i < 6000 && samples && !samples(); i++)
		usleep(10000);
	if (!samples || !other_span || !samples())
		return (*env)->NewStringUTF(env, "the second copy does not know of the first");
	other_span(since, "by the second");
	refused = execute(NULL, NULL, NULL, NULL, 0);
	child = fork();
	if (child == 0)
		_exit(-execute("status", NULL, NULL, NULL, 0));
	waitpid(child, &status, 0);
	execute("version", take, NULL, NULL, 0);
	stop = execute("stop", NULL, NULL, NULL, 0);
	/* Its code must not go: the handler of its signal stays, and threads may be in a hook. */
	dlclose(lib);
	lib = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	snprintf(answer, sizeof(answer), "%d %d %d %d %d %s %s %s", wrong, start, stop, refused,
		WEXITSTATUS(status), error, given, lib ? "kept" : "gone");
	return (*env)->NewStringUTF(env, answer);
}

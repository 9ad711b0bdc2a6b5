/* A JVM agent that holds the JVM on its way up, before it has its tool interface for others. Its
 * option is a file: it makes it when it is there, and goes on once the file is gone. */
#define _GNU_SOURCE
#include <jvmti.h>

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static char path[4096];

static void JNICALL on_start(jvmtiEnv *ti, JNIEnv *env)
{
	static const struct timespec pause = {0, 10000000};
	FILE *f = fopen(path, "we");

	if (!f)
		return;
	fclose(f);
	for (int i = 0; i < 2000 && access(path, F_OK) == 0; i++)
		nanosleep(&pause, NULL);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	jvmtiEventCallbacks cb = {.VMStart = on_start};
	jvmtiEnv *ti;

	snprintf(path, sizeof(path), "%s", options);
	if ((*vm)->GetEnv(vm, (void **)&ti, JVMTI_VERSION_1_2) != JNI_OK)
		return 1;
	(*ti)->SetEventCallbacks(ti, &cb, sizeof(cb));
	(*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, JVMTI_EVENT_VM_START, NULL);
	return 0;
}

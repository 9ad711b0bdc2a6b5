/* A JVM agent that writes down what java.lang.Thread.setNativeName is bound to, a line for each
 * time: the library and, where it is exported, the function. Its option is the file. */
#define _GNU_SOURCE
#include <jvmti.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static FILE *out;

static void JNICALL on_bind(jvmtiEnv *ti, JNIEnv *env, jthread thread, jmethodID method,
	void *address, void **ret_address)
{
	char *name = NULL;
	const char *library;
	Dl_info info;

	if ((*ti)->GetMethodName(ti, method, &name, NULL, NULL) != JVMTI_ERROR_NONE)
		return;
	if (strcmp(name, "setNativeName") == 0 && dladdr(address, &info)) {
		library = strrchr(info.dli_fname, '/');
		fprintf(out, "%s %s\n", library ? library + 1 : info.dli_fname,
			info.dli_sname ? info.dli_sname : "-");
		fflush(out);
	}
	(*ti)->Deallocate(ti, (unsigned char *)name);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM *vm, char *options, void *reserved)
{
	jvmtiCapabilities caps = {.can_generate_native_method_bind_events = 1};
	jvmtiEventCallbacks cb = {.NativeMethodBind = on_bind};
	jvmtiEnv *ti;

	out = fopen(options, "we");
	if (!out || (*vm)->GetEnv(vm, (void **)&ti, JVMTI_VERSION_1_2) != JNI_OK)
		return 1;
	(*ti)->AddCapabilities(ti, &caps);
	(*ti)->SetEventCallbacks(ti, &cb, sizeof(cb));
	(*ti)->SetEventNotificationMode(ti, JVMTI_ENABLE, JVMTI_EVENT_NATIVE_METHOD_BIND, NULL);
	return 0;
}

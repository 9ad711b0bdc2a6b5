/* Opens a library for tests/jvm/targets/Mallocs.java, as native code does, and uses it at once. */
#include <dlfcn.h>
#include <jni.h>
#include <stdio.h>

/* Calls the library's allocate_some(20, 50000, 0); says what dlopen answered. */
void Java_Mallocs_open(JNIEnv *env, jclass cls, jstring name)
{
	const char *file = (*env)->GetStringUTFChars(env, name, NULL);
	void *library = dlopen(file, RTLD_NOW), *twice;
	const char *why = library ? NULL : dlerror();
	char said[256];
	long (*some)(long, long, long) = NULL;

	snprintf(said, sizeof(said), "%s", why ? why : "-");
	if (library)
		some = (long (*)(long, long, long))dlsym(library, "allocate_some");
	if (some)
		some(20, 50000, 0);
	twice = dlopen(file, RTLD_NOW | RTLD_NOLOAD);
	printf("opened %d %d %s\n", library != NULL, twice == library, said);
	fflush(stdout);
	(*env)->ReleaseStringUTFChars(env, name, file);
}

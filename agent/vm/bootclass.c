/* See bootclass.h. */
#include "bootclass.h"

#include <stdbool.h>

static bool failed(JNIEnv *env)
{
	if (!(*env)->ExceptionCheck(env))
		return false;
	(*env)->ExceptionClear(env);
	return true;
}

jclass sp_bootclass(JNIEnv *env, const char *name, const uint8_t *bytes, size_t len)
{
	jclass c = (*env)->DefineClass(env, name, NULL, (const jbyte *)bytes, (jsize)len);

	if (!failed(env) && c)
		return c;
	/* Another build of the agent may have defined it before. */
	c = (*env)->FindClass(env, name);
	return failed(env) ? NULL : c;
}

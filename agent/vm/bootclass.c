/* See bootclass.h. */
#include "bootclass.h"

#include "jni_util.h"

#include <stdbool.h>

jclass sp_bootclass(JNIEnv *env, const char *name, const uint8_t *bytes, size_t len)
{
	jclass c = (*env)->DefineClass(env, name, NULL, (const jbyte *)bytes, (jsize)len);

	if (!sp_jni_failed(env) && c)
		return c;
	/* Another build of the agent may have defined it before. */
	c = (*env)->FindClass(env, name);
	return sp_jni_failed(env) ? NULL : c;
}

/* See jvmti_util.h. */
#include "jvmti_util.h"

#include "base/redact.h"

#include <stdio.h>
#include <string.h>

void sp_jvmti_dispose_info(jvmtiEnv *ti, JNIEnv *env, jvmtiThreadInfo *info)
{
	(*ti)->Deallocate(ti, (unsigned char *)info->name);
	(*env)->DeleteLocalRef(env, info->thread_group);
	(*env)->DeleteLocalRef(env, info->context_class_loader);
}

void sp_jvmti_group_name(jvmtiEnv *ti, JNIEnv *env, jthreadGroup group, char *buf, size_t size)
{
	jvmtiThreadGroupInfo info;

	buf[0] = 0;
	memset(&info, 0, sizeof(info));
	if (!group || (*ti)->GetThreadGroupInfo(ti, group, &info) != JVMTI_ERROR_NONE)
		return;
	snprintf(buf, size, "%s", info.name ? info.name : "");
	(*ti)->Deallocate(ti, (unsigned char *)info.name);
	(*env)->DeleteLocalRef(env, info.parent);
}

void sp_jvmti_properties(jvmtiEnv *ti, bool redact, struct sp_buf *ret)
{
	char **names = NULL, *value;
	jint count = 0;

	if ((*ti)->GetSystemProperties(ti, &count, &names) != JVMTI_ERROR_NONE)
		return;
	for (jint i = 0; i < count; i++) {
		if ((*ti)->GetSystemProperty(ti, names[i], &value) == JVMTI_ERROR_NONE) {
			sp_buf_add(ret, names[i], strlen(names[i]) + 1);
			if (redact)
				sp_redact_property(
					names[i], strlen(names[i]), value, strlen(value), ret);
			else
				sp_buf_adds(ret, value);
			sp_buf_addc(ret, 0);
			(*ti)->Deallocate(ti, (unsigned char *)value);
		}
		(*ti)->Deallocate(ti, (unsigned char *)names[i]);
	}
	(*ti)->Deallocate(ti, (unsigned char *)names);
}

/* See jvmti_util.h. */
#include "jvmti_util.h"

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

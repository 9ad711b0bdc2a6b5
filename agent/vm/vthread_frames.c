/* See vthread_frames.h. */
#include "vthread_frames.h"

#include <errno.h>
#include <string.h>

#define JDK_21 0x00150000
#define JDK_26 0x001a0000

jclass sp_vthread_frames_class(JNIEnv *env)
{
	jint version = (*env)->GetVersion(env);
	jclass c = NULL;

	if (version >= JDK_21 && version < JDK_26)
		c = (*env)->FindClass(env, "java/lang/VirtualThread");
	if ((*env)->ExceptionCheck(env))
		(*env)->ExceptionClear(env);
	return c;
}

static void ask_name(jvmtiEnv *ti, JNIEnv *env, jthread self, struct sp_vthread_frames *ret)
{
	jvmtiThreadInfo info;

	memset(&info, 0, sizeof(info));
	if ((*ti)->GetThreadInfo(ti, self, &info) != JVMTI_ERROR_NONE)
		return;
	(*env)->DeleteLocalRef(env, info.thread_group);
	(*env)->DeleteLocalRef(env, info.context_class_loader);
	ret->about.name = ret->name = info.name;
	ret->about.name_len = info.name ? (uint32_t)strnlen(info.name, 255) : 0;
}

/* A jmethodID points to the pointer to its Method up to JDK 25. */
int sp_vthread_frames_ask(jvmtiEnv *ti, JNIEnv *env, jthread self, uint64_t id, jint skip,
	struct sp_vthread_frames *ret)
{
	jvmtiFrameInfo found[SP_VIRTUAL_FRAMES];
	jint n = 0;

	memset(&ret->about, 0, sizeof(ret->about));
	ret->about.id = id;
	ret->name = NULL;
	if ((*ti)->GetStackTrace(ti, NULL, skip, SP_VIRTUAL_FRAMES, found, &n) !=
			JVMTI_ERROR_NONE ||
		n <= 0)
		return -ENOTSUP;
	ret->caller = n > 1 ? found[1].method : NULL;
	for (jint i = 0; i < n; i++)
		ret->frames[i] =
			(struct sp_given_frame){*(uint64_t *)found[i].method, found[i].location};
	ret->about.frames = ret->frames;
	ret->about.count = (uint32_t)n;
	ask_name(ti, env, self, ret);
	return 0;
}

void sp_vthread_frames_done(jvmtiEnv *ti, struct sp_vthread_frames *v)
{
	if (v->name)
		(*ti)->Deallocate(ti, (unsigned char *)v->name);
}

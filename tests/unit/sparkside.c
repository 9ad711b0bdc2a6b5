/* Threads that work for tasks, before a JVM that has only references: none is left behind. */
#include "sparkside.h"

#include <criterion/criterion.h>

#define FEEDER "stderr reader for cat"
#define TASK   "Executor task launch worker for task 1.0 in stage 2.0 (TID 3)"

static int refs;       /* weak references that are alive */
static bool collected; /* the threads they are for are not */

static uint32_t meanwhile; /* a thread that another one names while it is made */

static jweak JNICALL new_weak(JNIEnv *env, jobject o)
{
	uint32_t tid = meanwhile;

	refs++;
	meanwhile = 0;
	if (tid)
		sp_sparkside_named(env, o, tid, FEEDER, 1, true);
	return o;
}

static void JNICALL delete_weak(JNIEnv *env, jweak w)
{
	refs--;
}

static jobject JNICALL new_local(JNIEnv *env, jobject o)
{
	return collected ? NULL : o;
}

static void JNICALL delete_local(JNIEnv *env, jobject o)
{
}

/* No memory: nothing can be asked of an object. */
static jint JNICALL push_frame(JNIEnv *env, jint capacity)
{
	return JNI_ENOMEM;
}

static jboolean JNICALL no_exception(JNIEnv *env)
{
	return JNI_FALSE;
}

static const struct JNINativeInterface_ table = {
	.NewWeakGlobalRef = new_weak,
	.DeleteWeakGlobalRef = delete_weak,
	.NewLocalRef = new_local,
	.DeleteLocalRef = delete_local,
	.PushLocalFrame = push_frame,
	.ExceptionCheck = no_exception,
};
static JNIEnv env = &table;

static uint32_t open_now(struct sp_tasks *ts)
{
	static struct sp_task list[SP_TASKS_OPEN];

	return sp_tasks_open(ts, list, SP_TASKS_OPEN);
}

Test(sparkside, a_collected_helper_gives_its_place_back)
{
	static char thread;
	struct sp_tasks *ts;

	cr_assert_eq(sp_tasks_new(&ts), 0);
	sp_sparkside_start(ts);
	for (uint32_t tid = 1; tid <= 3 * SP_TASKS_OPEN; tid++) {
		collected = false;
		sp_sparkside_named(&env, (jobject)&thread, tid, FEEDER, tid, true);
		sp_sparkside_ended(tid, tid + 1);
		collected = true;
		sp_sparkside_tick(&env, NULL);
		cr_assert_eq(open_now(ts), 0, "thread %u", tid);
	}
	cr_assert_eq(sp_tasks_lost(ts), 0);
	sp_sparkside_stop(&env);
	cr_assert_eq(refs, 0);
	sp_tasks_free(ts);
}

Test(sparkside, more_ends_than_places_between_two_looks)
{
	static char thread;
	struct sp_tasks *ts;

	cr_assert_eq(sp_tasks_new(&ts), 0);
	sp_sparkside_start(ts);
	for (uint32_t tid = 1; tid <= 3 * SP_TASKS_OPEN; tid++) {
		sp_sparkside_named(&env, (jobject)&thread, tid, TASK, tid, true);
		sp_sparkside_ended(tid, tid + 1);
	}
	cr_assert_eq(sp_tasks_lost(ts), 0);
	sp_sparkside_stop(&env);
	cr_assert_eq(refs, 0);
	sp_tasks_free(ts);
}

Test(sparkside, named_by_two_threads_at_once)
{
	static char thread;
	struct sp_tasks *ts;

	cr_assert_eq(sp_tasks_new(&ts), 0);
	sp_sparkside_start(ts);
	meanwhile = 7;
	sp_sparkside_named(&env, (jobject)&thread, 7, FEEDER, 1, true);
	sp_sparkside_stop(&env);
	cr_assert_eq(refs, 0);
	sp_tasks_free(ts);
}

/* Threads that work for tasks, before a JVM that has only references: none is left behind. */
#include "spark/task_tracker.h"

#include <criterion/criterion.h>
#include <time.h>

#define FEEDER "stderr reader for cat"
#define IDLE   "Executor task idle worker#7"
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
		sp_task_tracker_named(env, o, tid, FEEDER, 1, true);
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

static uint32_t open_now(struct sp_task_table *ts)
{
	static struct sp_task list[SP_TASK_TABLE_OPEN];

	return sp_task_table_open(ts, list, SP_TASK_TABLE_OPEN);
}

Test(task_tracker, a_collected_helper_gives_its_place_back)
{
	static char thread;
	struct sp_task_table *ts;

	cr_assert_eq(sp_task_table_new(&ts), 0);
	sp_task_tracker_start(ts);
	for (uint32_t tid = 1; tid <= 3 * SP_TASK_TABLE_OPEN; tid++) {
		collected = false;
		sp_task_tracker_named(&env, (jobject)&thread, tid, FEEDER, tid, true);
		sp_task_tracker_ended(tid, tid + 1);
		collected = true;
		sp_task_tracker_tick(&env, NULL);
		cr_assert_eq(open_now(ts), 0, "thread %u", tid);
	}
	cr_assert_eq(sp_task_table_lost(ts), 0);
	sp_task_tracker_stop(&env);
	cr_assert_eq(refs, 0);
	sp_task_table_free(ts);
}

Test(task_tracker, more_ends_than_places_between_two_looks)
{
	static char thread;
	struct sp_task_table *ts;

	cr_assert_eq(sp_task_table_new(&ts), 0);
	sp_task_tracker_start(ts);
	for (uint32_t tid = 1; tid <= 3 * SP_TASK_TABLE_OPEN; tid++) {
		sp_task_tracker_named(&env, (jobject)&thread, tid, TASK, tid, true);
		sp_task_tracker_ended(tid, tid + 1);
	}
	cr_assert_eq(sp_task_table_lost(ts), 0);
	sp_task_tracker_stop(&env);
	cr_assert_eq(refs, 0);
	sp_task_table_free(ts);
}

Test(task_tracker, named_by_two_threads_at_once)
{
	static char thread;
	struct sp_task_table *ts;

	cr_assert_eq(sp_task_table_new(&ts), 0);
	sp_task_tracker_start(ts);
	meanwhile = 7;
	sp_task_tracker_named(&env, (jobject)&thread, 7, FEEDER, 1, true);
	sp_task_tracker_stop(&env);
	cr_assert_eq(refs, 0);
	sp_task_table_free(ts);
}

Test(task_tracker, an_end_that_is_heard_is_not_asked_for)
{
	struct sp_stage_about about = {.stage = 2, .job = -1, .sql = -1};
	static char thread;
	struct sp_task_table *ts;

	cr_assert_eq(sp_task_table_new(&ts), 0);
	sp_task_tracker_start(ts);
	sp_task_table_stage(ts, &about);
	cr_assert(sp_task_tracker_named(&env, (jobject)&thread, 7, TASK, 1, true));
	cr_assert_gt(sp_task_tracker_tick(&env, NULL), 0, "nobody has told of an end yet");
	sp_task_tracker_named(&env, (jobject)&thread, 7, IDLE, 2, false);
	sp_task_tracker_named(&env, (jobject)&thread, 7, TASK, 3, true);
	cr_assert_gt(sp_task_tracker_tick(&env, NULL), 0, "a name that was asked for is no word");
	sp_task_tracker_named(&env, (jobject)&thread, 7, IDLE, 4, true);
	cr_assert_not(sp_task_tracker_named(&env, (jobject)&thread, 7, TASK, 5, true));
	cr_assert_eq(open_now(ts), 1);
	cr_assert_eq(sp_task_tracker_tick(&env, NULL), 0);
	sp_task_tracker_named(&env, (jobject)&thread, 7, IDLE, 6, true);
	cr_assert_eq(open_now(ts), 0);
	sp_task_tracker_stop(&env);
	cr_assert_eq(refs, 0);
	sp_task_table_free(ts);
}

Test(task_tracker, a_helper_without_a_task_is_asked_ever_more_rarely)
{
	uint64_t wait, before = 0;
	static char thread;
	struct sp_task_table *ts;

	cr_assert_eq(sp_task_table_new(&ts), 0);
	sp_task_tracker_start(ts);
	sp_task_tracker_named(&env, (jobject)&thread, 7, FEEDER, 1, true);
	/* A look before its time is no try. */
	for (int looks = 0; looks < 1000; looks++)
		cr_assert_gt(sp_task_tracker_tick(&env, NULL), 0);
	for (int tries = 0; tries < 12; tries++, before = wait) {
		wait = sp_task_tracker_tick(&env, NULL);
		cr_assert_gt(wait, 0);
		nanosleep(&(struct timespec){0, (long)wait}, NULL);
	}
	cr_assert_gt(before, 2000000);
	sp_task_tracker_ended(7, 2);
	sp_task_tracker_tick(&env, NULL);
	cr_assert_eq(open_now(ts), 0);
	sp_task_tracker_stop(&env);
	cr_assert_eq(refs, 0);
	sp_task_table_free(ts);
}

Test(task_tracker, a_task_does_not_wait_for_anothers_turn)
{
	static char thread;
	struct sp_task_table *ts;
	uint64_t wait = 0;

	cr_assert_eq(sp_task_table_new(&ts), 0);
	sp_task_tracker_start(ts);
	sp_task_tracker_named(&env, (jobject)&thread, 7, FEEDER, 1, true);
	while (wait < 4000000) { /* its next try is not soon */
		wait = sp_task_tracker_tick(&env, NULL);
		cr_assert_gt(wait, 0);
		if (wait < 4000000)
			nanosleep(&(struct timespec){0, (long)wait}, NULL);
	}
	cr_assert(sp_task_tracker_named(&env, (jobject)&thread, 8, TASK, 2, true));
	cr_assert_leq(sp_task_tracker_tick(&env, NULL), 2000000);
	sp_task_tracker_stop(&env);
	cr_assert_eq(refs, 0);
	sp_task_table_free(ts);
}

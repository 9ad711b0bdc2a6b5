/* Findings that name a method, or say when nothing ran: each speaks where its condition holds and
 * is silent just below its bound. */
#include "base/cleanup.h"
#include "finding_profile.h"
#include "out/finding_rules.h"

Test(finding_methods, a_lock_names_who_waits)
{
	struct sp_profile *p = healthy();
	char says[512];

	for (uint32_t t = 1; t <= 12; t++)
		add_time(p, t, stack_of(p, "com/acme/Cache", "get"), "lock", S);
	cr_assert(finds(p, "lock", says, sizeof(says)));
	cr_expect(strstr(says, "for 12 s, 33 % of all task time"), "%s", says);
	cr_expect(strstr(says, "com.acme.Cache.get"), "%s", says);
	sp_profile_free(p);
}

/* The lock finding would send its reader after a monitor that there is not. */
Test(finding_methods, a_wait_for_a_class_names_who_uses_it)
{
	struct sp_profile *p = healthy();
	struct sp_frame_ref f[] = {native(p, "libjvm.so", "ObjectMonitor::wait", SP_FRAME_CPP),
		native(p, "libjvm.so", "InstanceKlass::initialize_impl", SP_FRAME_CPP),
		java(p, "com/acme/Curve", "call", "()V", SP_FRAME_C2)};
	char says[512];

	for (uint32_t t = 1; t <= 12; t++)
		add_time(p, t, sp_dict_stack(p->dict, f, 3, 0), "lock", S);
	cr_assert(finds(p, "class-init", says, sizeof(says)));
	cr_expect(strstr(says, "another thread has initialised a class for 12 s"), "%s", says);
	cr_expect(strstr(says, "com.acme.Curve.call has 100 % of it"), "%s", says);
	cr_expect(!finds(p, "lock", says, sizeof(says)), "%s", says);
	sp_profile_free(p);
}

/* On a busy machine who gets the monitor next has no core yet, or has not for its next try. */
Test(finding_methods, getting_a_lock_without_a_core_is_a_wait_for_it)
{
	for (int locking = 0; locking < 2; locking++) {
		struct sp_profile *p = healthy();
		struct sp_frame_ref f[] = {
			native(p, "libjvm.so", "ObjectMonitor::TrySpin", SP_FRAME_CPP),
			native(p, "[stubs]", "_complete_monitor_locking_Java", SP_FRAME_NATIVE),
			java(p, "com/acme/Cache", "get", "()V", SP_FRAME_C2)};
		char says[512];

		for (uint32_t t = 1; t <= 12; t++)
			add_time(p, t, sp_dict_stack(p->dict, f + 2 * !locking, 1 + 2 * locking, 0),
				"runnable", S);
		cr_expect_eq(finds(p, "lock", says, sizeof(says)), locking, "%s", says);
		sp_profile_free(p);
	}
}

/* A stage that waits for less than the rule's bound is not part of what the method has a share of.
 */
Test(finding_methods, shares_are_of_what_is_said)
{
	struct sp_profile *p = healthy();
	uint32_t stack = stack_of(p, "com/acme/Cache", "get");
	char says[512];

	for (uint32_t t = 1; t <= 12; t++)
		add_time(p, t, stack, "lock", S);
	for (int i = 0; i < 12; i++) {
		uint32_t t = add_task(p, 100 + i, 4, 20 * S);

		add_time(p, t, stack_of(p, "com/acme/Job", "work"), "running", 15 * S);
		add_time(p, t, stack, "lock", S);
	}
	cr_assert(finds(p, "lock", says, sizeof(says)));
	cr_expect(strstr(says, "for 12 s,") && strstr(says, "com.acme.Cache.get has 100 % of it"),
		"%s", says);
	sp_profile_free(p);
}

/* Recorded with lock events beside. */
Test(finding_methods, a_lock_has_its_class_and_who_held_it)
{
	struct sp_profile *p = healthy();
	struct sp_frame_ref f[] = {java(p, "com/acme/Table", "", "", SP_FRAME_C2),
		java(p, "com/acme/Cache", "get", "()V", SP_FRAME_C2)};
	int event = sp_profile_event(p, "lock", SP_UNIT_NS, 0, true);
	char says[512];

	for (uint32_t t = 1; t <= 12; t++) {
		struct sp_sample x = {.stack = sp_dict_stack(p->dict, f, 2, 0),
			.event = (uint32_t)event,
			.task = t,
			.count = 1,
			.weight = S,
			.holder = str(p, t < 10 ? "the cleaner" : "another")};

		add_time(p, t, stack_of(p, "com/acme/Cache", "get"), "lock", S);
		cr_assert_eq(sp_profile_add(p, &x), 0);
	}
	cr_assert(finds(p, "lock", says, sizeof(says)));
	cr_expect(strstr(says, "com.acme.Cache.get has 100 % of it"), "%s", says);
	cr_expect(strstr(says, ". The lock is a com.acme.Table"), "%s", says);
	cr_expect(strstr(says, ", held by the cleaner"), "%s", says);
	sp_profile_free(p);
}

static struct sp_frame_ref python(
	struct sp_profile *p, const char *file, const char *name, int line)
{
	struct sp_method m = {
		.class_id = str(p, file), .name_id = str(p, name), .native = SP_NATIVE_PYTHON};

	return (struct sp_frame_ref){sp_dict_method(p->dict, &m), line, -1, SP_FRAME_PYTHON};
}

/* Twelve tasks whose workers are in @state in a function of job.py. */
static struct sp_profile *in_python(const char *state)
{
	struct sp_profile *p = healthy();
	uint32_t stack = sp_dict_stack(p->dict,
		(struct sp_frame_ref[]){python(p, "re/__init__.py", "compile", 251),
			python(p, "job.py", "clean", 17),
			python(p, "pyspark/worker.py", "process", 9)},
		3, 0);

	for (uint32_t t = 1; t <= 12; t++)
		add_time(p, t, stack, state, 2 * S);
	return p;
}

Test(finding_methods, a_slow_udf_has_its_function_and_line)
{
	static const char *const cases[][4] = {{"running", "python", "python-blocked", ""},
		{"runnable", "python", "python-blocked", "; for 100 % of it they had no core"},
		{"sleep", "python-blocked", "python", ""}};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_profile *p = in_python(cases[i][0]);
		char says[512];

		cr_expect(!finds(p, cases[i][2], says, sizeof(says)), "%s", says);
		cr_assert(finds(p, cases[i][1], says, sizeof(says)));
		cr_expect(strstr(says, cases[i][3]), "%s", says);
		cr_expect(strstr(says, "clean (job.py) has 100 % of it, most of that at line 17"),
			"%s", says);
		cr_expect(strstr(says, "In there compile (re/__init__.py) has 100 % of it, most of "
				       "that at line 251"),
			"%s", says);
		sp_profile_free(p);
	}
}

/* Stage 3 has a fifth of its time in workers without a core: it is not what is said. */
Test(finding_methods, the_share_without_a_core_is_of_what_is_said)
{
	for (int also = 0; also < 2; also++) {
		struct sp_profile *p = healthy();
		struct sp_frame_ref f[] = {python(p, "job.py", "clean", 17),
			python(p, "pyspark/worker.py", "process", 9)};
		uint32_t stack = sp_dict_stack(p->dict, f, 2, 0);
		uint32_t task = add_task(p, 50, 4, 20 * S);
		char says[512];

		for (uint32_t t = 1; t <= 12; t++)
			add_time(p, t, stack, "runnable", S / 2);
		add_time(p, task, stack, "running", 10 * S);
		if (also)
			add_time(p, task, stack, "runnable", 10 * S);
		cr_assert(finds(p, "python", says, sizeof(says)));
		cr_expect_eq(!!strstr(says, "; for 50 % of it they had no core"), also, "%s", says);
		cr_expect_eq(!strstr(says, "no core"), !also, "%s", says);
		sp_profile_free(p);
	}
}

/* A worker that was just started: no function of the user's is to blame. */
Test(finding_methods, imports_are_no_function_of_yours)
{
	struct sp_profile *p = healthy();
	struct sp_frame_ref f[] = {python(p, "enum.py", "__new__", 12),
		python(p, "pyspark/sql/types.py", "<module>", 40),
		python(p, "<frozen importlib._bootstrap>", "_find_and_load", 1178),
		python(p, "pyspark/worker.py", "main", 9),
		python(p, "<frozen runpy>", "_run_module_as_main", 198)};
	struct sp_frame_ref own[] = {python(p, "job.py", "clean", 17), f[3]};
	char says[512];

	for (uint32_t t = 1; t <= 12; t++)
		add_time(p, t, sp_dict_stack(p->dict, f, 5, 0), "runnable", 2 * S);
	cr_assert(finds(p, "python", says, sizeof(says)));
	cr_expect(strstr(says, "For 100 % of it they import modules"), "%s", says);
	cr_expect(!strstr(says, "_find_and_load"), "%s", says);
	for (uint32_t t = 1; t <= 12; t++)
		add_time(p, t, sp_dict_stack(p->dict, own, 2, 0), "running", 3 * S);
	cr_assert(finds(p, "python", says, sizeof(says)));
	cr_expect(
		strstr(says, "For 40 % of it they import modules, before they call a function. Of "
			     "the rest, the function clean (job.py) has 100 % of it, most of "
			     "that at line 17"),
		"%s", says);
	sp_profile_free(p);
}

/* Twelve tasks with 2 s of generated code each, and @own more below com.acme.Score.call, which
 * Spark SQL calls, or which takes rows from it. */
static struct sp_profile *with_function(uint64_t own, bool takes_rows, const char *state)
{
	struct sp_profile *p = wall_profile();
	struct sp_frame_ref f[] = {java(p, "java/util/HashMap", "get", "()V", SP_FRAME_C2),
		java(p, takes_rows ? "org/apache/spark/sql/execution/SortExec" : "java/util/Map",
			"next", "()V", SP_FRAME_C2),
		java(p, "com/acme/Score", "call", "(Ljava/lang/Long;)V", SP_FRAME_C2),
		java(p, "com/acme/Score", "call", "(Ljava/lang/Object;)V", SP_FRAME_C2),
		java(p, "com/acme/Main$$Lambda$77", "apply", "()V", SP_FRAME_C2),
		java(p, "org/apache/spark/sql/catalyst/expressions/ScalaUDF", "eval", "()V",
			SP_FRAME_C2)};

	f[2].line = 31;
	for (int i = 0; i < 12; i++) {
		uint32_t t = add_task(p, i, 3, 2 * S + own);

		add_time(p, t, sp_dict_stack(p->dict, f + 5, 1, 0), "running", 2 * S);
		add_time(p, t, sp_dict_stack(p->dict, f, 6, 0), state, own);
	}
	return p;
}

Test(finding_methods, a_slow_function_in_java_has_its_name_and_line)
{
	static const struct {
		uint64_t own;
		bool takes_rows;
		const char *state;
		bool expected;
	} cases[] = {{S, false, "running", true}, {S, false, "runnable", true},
		{8 * S / 10, false, "running", false}, {S, true, "running", false},
		{S, false, "lock", false}};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_profile *p =
			with_function(cases[i].own, cases[i].takes_rows, cases[i].state);
		char says[512];

		cr_expect_eq(
			finds(p, "udf", says, sizeof(says)), cases[i].expected, "%zu: %s", i, says);
		if (cases[i].expected)
			cr_expect(strstr(says, "com.acme.Score.call has 100 % of it, most of that "
					       "at line 31. In there java.util.HashMap.get has"),
				"%s", says);
		sp_profile_free(p);
	}
}

/* Two tasks of 5 s each with @gap_ns between; of a stream where it says so. */
static struct sp_profile *with_gap(uint64_t gap_ns, bool stream)
{
	struct sp_profile *p = wall_profile();

	p->start_ns = S;
	for (unsigned i = 0; i < 2; i++) {
		struct sp_task_run t = {.name = {i, (int)i, 0, 0, 0},
			.start_ns = (2 + 5ull * i) * S + i * gap_ns,
			.begun = true,
			.ended = true};

		t.end_ns = t.start_ns + 5 * S;
		cr_assert_eq(sp_profile_add_task(p, &t), 0);
		if (stream)
			sp_profile_stage(p, 0, (int)i, 0)->query = str(p, "id of a stream");
		add_time(p, i + 1, stack_of(p, "com/acme/Job", "work"), "running", 5 * S);
	}
	return p;
}

Test(finding_methods, time_without_a_task_is_named_from_its_bound_on)
{
	static const struct {
		uint64_t ns;
		bool stream, expected;
	} cases[] = {{3 * S, false, true}, {2 * S, false, false}, {3 * S, true, false}};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_profile *p = with_gap(cases[i].ns, cases[i].stream);
		char says[512];

		cr_expect_eq(finds(p, "driver-gap", says, sizeof(says)), cases[i].expected,
			"%zu: %s", i, says);
		if (cases[i].expected)
			cr_expect(strstr(says,
					  "No task ran here for 3 s of the 13 s between the first "
					  "and the last one, from 6 s on: the driver had no job"),
				"%s", says);
		sp_profile_free(p);
	}
}

/* A UDF that asks a service for each row, and the driver of a database that Spark reads by. */
Test(finding_methods, who_waits_of_the_application_is_named)
{
	static const struct {
		const char *leaf[2], *own[2], *caller, *state;
		const char *blocked, *udf; /* NULL: nothing is said */
	} cases[] = {
		{{"sun/nio/ch/SocketDispatcher", "read0"}, {"com/acme/Remote", "call"},
			"org/apache/spark/sql/Udf", "net", "com.acme.Remote.call has 100 %", NULL},
		{{"sun/nio/ch/SocketDispatcher", "read0"}, {"com/acme/Remote", "call"},
			"org/apache/spark/rdd/RDD", "net", "com.acme.Remote.call has 100 %", NULL},
		{{"java/lang/Thread", "sleep"}, {"com/acme/Limit", "call"},
			"org/apache/spark/sql/Udf", "sleep", "com.acme.Limit.call has 100 %", NULL},
		/* it was woken, and has no core: that is no work */
		{{"java/lang/Thread", "sleep"}, {"com/acme/Limit", "call"},
			"org/apache/spark/sql/Udf", "runnable",
			"; for 100 % of it they had no core", NULL},
		{{"java/lang/Math", "sin"}, {"com/acme/Score", "call"}, "org/apache/spark/sql/Udf",
			"runnable", NULL, "com.acme.Score.call has 100 %"},
		/* Spark's own: the driver is asked where blocks are */
		{{"sun/nio/ch/SocketDispatcher", "read0"},
			{"org/apache/spark/rpc/netty/NettyRpcEnv", "ask"},
			"org/apache/spark/sql/Udf", "net", NULL, NULL},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_profile *p = healthy();
		struct sp_frame_ref f[] = {
			java(p, cases[i].leaf[0], cases[i].leaf[1], "()V", SP_FRAME_NATIVE),
			java(p, cases[i].own[0], cases[i].own[1], "()V", SP_FRAME_C2),
			java(p, cases[i].caller, "run", "()V", SP_FRAME_C2)};
		char says[512];

		for (uint32_t t = 1; t <= 12; t++)
			add_time(p, t, sp_dict_stack(p->dict, f, 3, 0), cases[i].state, S);
		cr_expect_eq(finds(p, "blocked", says, sizeof(says)), cases[i].blocked != NULL,
			"%zu: %s", i, says);
		cr_expect(!cases[i].blocked || strstr(says, cases[i].blocked), "%zu: %s", i, says);
		cr_expect(
			!strstr(says, "In there"), "%zu: the JDK is not the reader's: %s", i, says);
		cr_expect_eq(finds(p, "udf", says, sizeof(says)), cases[i].udf != NULL, "%zu: %s",
			i, says);
		sp_profile_free(p);
	}
}

/* 20 % of a stage, from which on it is said. */
Test(finding_methods, a_moment_of_waiting_is_none)
{
	for (int more = 0; more < 2; more++) {
		struct sp_profile *p = healthy();
		struct sp_frame_ref f[] = {
			java(p, "java/lang/Thread", "sleep", "()V", SP_FRAME_NATIVE),
			java(p, "com/acme/Limit", "call", "()V", SP_FRAME_C2)};
		char says[512];

		for (uint32_t t = 1; t <= 12; t++)
			add_time(p, t, sp_dict_stack(p->dict, f, 2, 0), "sleep",
				more ? 6 * S / 10 : 4 * S / 10);
		cr_expect_eq(finds(p, "blocked", says, sizeof(says)), more, "%s", says);
		sp_profile_free(p);
	}
}

/* Of each of twelve tasks @wait_ns waits for the driver, in @state; the rest computes. */
static bool says_driver_waits(
	const char *cls, const char *leaf, const char *state, uint64_t wait_ns, bool launch)
{
	struct sp_profile *p = wall_profile();
	struct sp_frame_ref f[] = {java(p, "jdk/internal/misc/Unsafe", leaf, "()V", SP_FRAME_C2),
		java(p, cls, "fetch", "()V", SP_FRAME_C2),
		launch ? java(p, "org/apache/spark/scheduler/ResultTask", "runTask", "()V",
				 SP_FRAME_C2)
		       : java(p, "com/acme/Job", "map", "()V", SP_FRAME_C2),
		java(p, "org/apache/spark/scheduler/Task", "run", "()V", SP_FRAME_C1)};
	char says[512];
	bool said;

	for (int i = 0; i < 12; i++) {
		uint32_t t = add_task(p, i, 3, 10 * S);

		add_time(p, t, stack_of(p, "com/acme/Job", "work"), "running", 10 * S - wait_ns);
		add_time(p, t, sp_dict_stack(p->dict, f, 4, 0), state, wait_ns);
	}
	said = finds(p, "driver-wait", says, sizeof(says));
	cr_expect(!said || (strstr(says, "Tasks wait for the driver") &&
				   strstr(says, strstr(cls, "broadcast/") ? "for broadcasts"
									  : "for its answers")),
		"%s", says);
	sp_profile_free(p);
	return said;
}

Test(finding_methods, waits_for_the_driver_are_named_from_their_bound_on)
{
	static const char map[] = "org/apache/spark/MapOutputTrackerWorker";
	static const char block[] = "org/apache/spark/broadcast/TorrentBroadcast";

	cr_expect(says_driver_waits(map, "park", "lock", 21 * S / 10, false));
	cr_expect(!says_driver_waits(map, "park", "lock", 19 * S / 10, false));
	cr_expect(says_driver_waits(block, "park", "lock", 3 * S, true), "of a task's launch");
	cr_expect(says_driver_waits(block, "park", "runnable", 3 * S, false), "woken, no core yet");
	cr_expect(!says_driver_waits(block, "copyMemory", "running", 3 * S, false), "is CPU");
	cr_expect(!says_driver_waits("com/acme/Queue", "park", "lock", 3 * S, false));
}

/* A setting of executors does nothing where the tasks run in the driver. */
Test(finding_methods, local_mode_has_advice_of_its_own)
{
	for (int local = 0; local < 2; local++) {
		struct sp_profile *p = healthy();
		struct sp_findings f;

		p->executor_id = str(p, local ? "driver" : "1");
		for (uint32_t t = 1; t <= 12; t++)
			add_time(p, t, stack_of(p, "com/acme/Job", "collected"), "lock", S);
		cr_assert_eq(sp_findings_init(&f, p, NULL), 0);
		cr_assert_eq(f.count, 1);
		cr_expect(strstr(f.list[0].advice,
				  local ? "spark.driver.memory" : "spark.executor.memory"),
			"%s", f.list[0].advice);
		sp_findings_done(&f);
		sp_profile_free(p);
	}
	for (size_t i = 0; i < sp_finding_rule_count; i++) {
		const struct sp_finding_rule *r = &sp_finding_rules[i];

		cr_expect(r->local || !strstr(r->advice, "spark.executor."), "%s", r->name);
		cr_expect(!r->local || !strstr(r->local, "spark.executor."), "%s", r->name);
	}
}

Test(finding_methods, a_wait_for_the_leave_to_commit_is_no_commit)
{
	struct sp_profile *p = healthy();
	struct sp_frame_ref f[] = {
		java(p, "jdk/internal/misc/Unsafe", "park", "()V", SP_FRAME_NATIVE),
		java(p, "org/apache/spark/rpc/RpcTimeout", "awaitResult", "()V", SP_FRAME_C1),
		java(p, "org/apache/spark/scheduler/OutputCommitCoordinator", "canCommit", "()V",
			SP_FRAME_C1),
		java(p, "org/apache/spark/mapred/SparkHadoopMapRedUtil$", "commitTask", "()V",
			SP_FRAME_C1),
		java(p, "org/apache/spark/scheduler/Task", "run", "()V", SP_FRAME_C1)};
	char says[1000];

	add_time(p, 1, sp_dict_stack(p->dict, f, 5, 0), "lock", 20 * S);
	cr_expect(finds(p, "driver-wait", says, sizeof(says)));
	cr_expect(!finds(p, "commit", says, sizeof(says)), "%s", says);
	sp_profile_free(p);
}

/* The others were over when the recording began: nothing is known of what they did. */
Test(finding_methods, a_straggler_that_waits_has_not_more_data)
{
	static const struct {
		const char *state, *says;
	} cases[] = {
		{"lock", ". 100 % of its time is lock"}, {"running", NULL}, {"runnable", NULL}};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_profile *p = wall_profile();
		struct sp_findings f;
		const char *said = "";

		for (int k = 0; k < 4; k++) {
			uint32_t t = add_task(p, 70 + k, 8, k == 3 ? 30 * S : 2 * S);

			if (k == 3)
				add_time(p, t, stack_of(p, "com/acme/Job", "work"), cases[i].state,
					20 * S);
		}
		cr_assert_eq(sp_findings_init(&f, p, NULL), 0);
		for (unsigned k = 0; k < f.count; k++) {
			if (strcmp(f.list[k].rule, "straggler") != 0)
				continue;
			said = sp_buf_str(&f.list[k].says);
			cr_expect_eq(strstr(f.list[k].advice, "salt") == NULL,
				cases[i].says != NULL, "%s", f.list[k].advice);
		}
		cr_expect(said[0]);
		cr_expect_eq(
			strstr(said, "of its time is") != NULL, cases[i].says != NULL, "%s", said);
		cr_expect(!cases[i].says || strstr(said, cases[i].says), "%s", said);
		sp_findings_done(&f);
		sp_profile_free(p);
	}
}

/* What a driver's threads work on: stacks as Spark has them, with the names and states that threads
 * have in them; and the times in which no job ran. */
#include <criterion/criterion.h>

#include "base/cleanup.h"
#include "out/findings.h"
#include "out/phases.h"
#include "prof/model/timeline.h"
#include "sample_profile.h"

#define PARK	 "jdk/internal/misc/Unsafe.park"
#define TAKE	 "java/util/concurrent/LinkedBlockingQueue.take"
#define GETTASK	 "java/util/concurrent/ThreadPoolExecutor.getTask"
#define QUERY	 "org/apache/spark/sql/execution/QueryExecution"
#define PLAN	 "org/apache/spark/sql/execution/SparkPlan"
#define AQE	 "org/apache/spark/sql/execution/adaptive/AdaptiveSparkPlanExec.getFinalPhysicalPlan"
#define LISTING	 "org/apache/spark/sql/execution/datasources/InMemoryFileIndex.refresh0"
#define RUNJOB	 "org/apache/spark/scheduler/DAGScheduler.runJob"
#define EXCHANGE "org/apache/spark/sql/execution/exchange/BroadcastExchangeExec.doExecuteBroadcast"
#define COLLECT	 PLAN ".executeCollect"
#define READ	 "java/net/SocketInputStream.read"
#define PY4J	 "py4j/ClientServerConnection.run"
#define MAIN	 "org/apache/spark/deploy/JavaMainApplication.start"
#define GATEWAY	 "org/apache/spark/api/python/PythonGatewayServer.main"

static const struct {
	const char *want, *thread, *state;
	const char *frames[6];
} cases[] = {
	{"analysis", "Thread-4", "running", {"java/util/HashMap.get", QUERY ".lazyAnalyzed", PY4J}},
	{"listing", "Thread-4", "disk", {LISTING, QUERY ".lazyAnalyzed", PY4J}},
	{"optimisation", "Thread-4", "running", {QUERY ".optimizedPlan", QUERY ".sparkPlan"}},
	{"planning", "Thread-4", "running", {QUERY ".sparkPlan", COLLECT, PY4J}},
	{"job", "Thread-4", "lock", {PARK, RUNJOB, COLLECT, PY4J}},
	{"job", "Thread-4", "lock", {PARK, TAKE, AQE, COLLECT, PY4J}},
	{"collect", "Thread-4", "running", {PLAN ".decodeUnsafeRows", COLLECT, PY4J}},
	{"collect", "task-result-getter-0", "running", {"java/io/ObjectInputStream.readObject"}},
	{"collect", "serve-DataFrame", "running", {"java/io/BufferedOutputStream.write"}},
	{"broadcast", "Thread-4", "lock", {PARK, EXCHANGE, COLLECT, PY4J}},
	{"broadcast", "broadcast-exchange-0", "running", {"java/util/HashMap.put"}},
	{"job", "broadcast-exchange-0", "lock", {PARK, RUNJOB, EXCHANGE}},
	{"query", "Thread-4", "running", {"java/util/HashMap.get", QUERY ".toRdd", PY4J}},
	{"py4j", "Thread-4", "running", {"java/lang/String.format", PY4J}},
	{"idle", "Thread-4", "net", {READ, PY4J}},
	{"idle", "broadcast-exchange-0", "lock", {PARK, TAKE, GETTASK}},
	{"idle", "broadcast-exchange-0", "runnable", {PARK, TAKE, GETTASK}},
	{"idle", "dag-scheduler-event-loop", "lock",
		{PARK, "org/apache/spark/util/EventLoop$$anon$1.run"}},
	{"scheduler", "dag-scheduler-event-loop", "running",
		{"java/util/HashMap.get", "org/apache/spark/util/EventLoop$$anon$1.run"}},
	{"listeners", "spark-listener-group-appStatus", "running", {"java/util/HashMap.get"}},
	{"event_log", "spark-listener-group-eventLog", "disk",
		{"java/io/FileOutputStream.writeBytes",
			"org/apache/spark/scheduler/EventLoggingListener.logEvent"}},
	{"application", "main", "sleep", {"java/lang/Thread.sleep", "com/acme/Job.main", MAIN}},
	{"idle", "main", "net", {READ, GATEWAY, MAIN}},
	{"gc", "GC Thread#0", "running", {"+G1ParScanThreadState::trim_queue"}},
	{"idle", "GC Thread#0", "lock", {"+futex", "+WorkerThread::run"}},
	{"jit", "C2 CompilerThread0", "runnable", {"+Compile::Compile"}},
	{"other", "Signal Dispatcher", "running", {"+os::signal_wait"}},
	{"idle", "Signal Dispatcher", "lock", {"+os::signal_wait"}},
	{"python", "python-driver-7", "running", {"@compute (app.py)", "@main (app.py)"}},
	{"python_wait", "python-driver-7", "sleep", {"@main (app.py)"}},
	{"idle", "python-driver-7/9", "sleep", {"@run (app.py)"}},
	{"idle", "python-driver-7", "net",
		{"@readinto (socket.py)", "@send_command (py4j/java_gateway.py)"}},
	{"other", "python-driver-7/9", "runnable",
		{"@select (selectors.py)", "@serve_forever (socketserver.py)"}},
	{"other", "python-driver-7/9", "running", {"@run (py4j/clientserver.py)"}},
	{"python", "python-driver-7/9", "running", {"@load (app.py)"}},
	{"idle", "python-worker-8", "net", {"@main (pyspark/worker.py)"}},
	{"idle", "python-daemon-8", "poll", {"@manager (pyspark/daemon.py)"}},
	{"python_decode", "python-driver-7", "running", {"@loads (pyspark/serializers.py)"}},
	{"listing_job", "Thread-4", "lock", {PARK, RUNJOB, LISTING, QUERY ".lazyAnalyzed", PY4J}},
};

static void free_work(struct sp_driver_work_of **w)
{
	sp_driver_work_free(*w);
}

static struct sp_sample sample(
	struct sp_profile *p, const char *name, const char *state, const char *const *names)
{
	struct sp_frame_ref frames[6];
	struct sp_sample s = {.count = 1, .weight = 1000000};
	uint32_t n = 0;

	for (; n < SP_COUNT(frames) && names[n]; n++)
		frames[n] = frame(p, names[n]);
	s.stack = sp_dict_stack(p->dict, frames, n, 0);
	s.thread = thread(p, name, 7);
	s.state = sp_dict_string(p->dict, state, strlen(state));
	return s;
}

Test(driver_phase, every_sample_has_one_answer)
{
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		__attribute__((cleanup(free_work))) struct sp_driver_work_of *w = NULL;
		struct sp_profile *p;
		struct sp_sample s;

		cr_assert_eq(sp_profile_new(&p, 1u << 20), 0);
		s = sample(p, cases[i].thread, cases[i].state, cases[i].frames);
		cr_assert_eq(sp_driver_work_new(&w, p), 0);
		cr_expect_str_eq(sp_driver_work_key(sp_driver_work_of_row(w, &s)), cases[i].want,
			"case %zu: %s", i, cases[i].frames[0]);
		sp_profile_free(p);
	}
}

static void add_by(
	struct sp_profile *p, const char *name, size_t number, uint64_t from_ms, uint64_t ms)
{
	struct sp_sample s = sample(p, name, cases[number].state, cases[number].frames);

	s.weight = ms * 1000000;
	cr_assert_eq(sp_profile_add_at(p, &s, p->start_ns + from_ms * 1000000, s.weight), 0);
}

static void add(struct sp_profile *p, size_t number, uint64_t from_ms, uint64_t ms)
{
	add_by(p, cases[number].thread, number, from_ms, ms);
}

static struct sp_profile *driver_profile(uint64_t duration_ms)
{
	struct sp_profile *p;

	cr_assert_eq(sp_profile_new(&p, 1u << 20), 0);
	sp_profile_event(p, "wall", SP_UNIT_NS, 10000000, true);
	p->executor_id = sp_dict_string(p->dict, "driver", 6);
	p->start_ns = 1000000000000;
	p->duration_ns = duration_ms * 1000000;
	return p;
}

/* 2 s of analysis, 1 s of a job, half a second of results, and 100 ms before the end without
 * anything. */
Test(driver_phase, gaps_are_the_times_without_a_job)
{
	struct sp_profile *p;
	__attribute__((cleanup(sp_phases_done))) struct sp_phases f = {0};

	cr_assert_eq(sp_profile_new(&p, 1u << 20), 0);
	sp_profile_event(p, "wall", SP_UNIT_NS, 10000000, true);
	p->executor_id = sp_dict_string(p->dict, "driver", 6);
	p->start_ns = 1000000000000;
	p->duration_ns = 3600000000;
	add(p, 0, 0, 2000);
	add(p, 4, 2000, 1000);
	add(p, 6, 3000, 500);
	add(p, 10, 1500, 300); /* beside */
	cr_assert_eq(sp_phases_init(&f, p, 0), 0);
	cr_expect_eq(f.query[SP_DRIVER_WORK_ANALYSIS], 2000000000);
	cr_expect_eq(f.query[SP_DRIVER_WORK_JOB], 1000000000);
	cr_expect_eq(f.beside[SP_DRIVER_WORK_BROADCAST], 300000000);
	cr_expect_eq(f.order[0], SP_DRIVER_WORK_ANALYSIS);
	cr_assert_eq(f.gap_count, 2);
	cr_expect_leq(f.gaps[0].took_ns, 2000000000);
	cr_expect_geq(f.gaps[0].took_ns, 1990000000);
	cr_expect_geq(f.gaps[1].took_ns, 590000000);
	cr_expect_geq(f.gaps[0].work[SP_DRIVER_WORK_ANALYSIS], 1990000000);
	cr_expect_geq(f.jobless_ns + 10000000, f.covered_ns - 1000000000);
	cr_expect_gt(f.gaps[1].work[SP_DRIVER_WORK_COLLECT], 490000000);
	sp_profile_free(p);
}

#define SECOND 1000000000ull

/* Two threads of a query wait for the same job for 4 s; a third has half a second of it, and half a
 * second for itself. */
Test(driver_phase, threads_in_one_phase_count_once)
{
	struct sp_profile *p = driver_profile(5000);
	__attribute__((cleanup(sp_phases_done))) struct sp_phases f = {0};
	SP_AUTO_BUF struct sp_buf name = {0};

	add_by(p, "Thread-4", 4, 0, 4000);
	add_by(p, "Thread-5", 4, 0, 4000);
	add_by(p, "Thread-9", 4, 3500, 1000);
	cr_assert_eq(sp_phases_init(&f, p, 0), 0);
	cr_expect_eq(f.threads[SP_DRIVER_WORK_JOB], 9 * SECOND);
	cr_expect_leq(f.query[SP_DRIVER_WORK_JOB], 4600000000);
	cr_expect_geq(f.query[SP_DRIVER_WORK_JOB], 4400000000);
	sp_phases_name(&f, SP_DRIVER_WORK_JOB, &name);
	cr_expect_str_eq(sp_buf_str(&name), "waiting for jobs (2.0 threads at a time)");
	sp_profile_free(p);
}

/* A thread alone keeps all it has, also where its samples came late: two in one bucket. */
Test(driver_phase, late_samples_of_one_thread_are_kept)
{
	struct sp_profile *p = driver_profile(2000);
	__attribute__((cleanup(sp_phases_done))) struct sp_phases f = {0};

	for (unsigned i = 0; i < 200; i++)
		add(p, 0, i / 20 * 100 + i % 20, 10);
	cr_assert_eq(sp_phases_init(&f, p, 0), 0);
	cr_expect_eq(f.query[SP_DRIVER_WORK_ANALYSIS], 2 * SECOND);
	sp_profile_free(p);
}

/* What is shown of a gap is no longer than the gap, whatever the number of threads. */
Test(driver_phase, work_in_a_gap_counts_once)
{
	struct sp_profile *p = driver_profile(2000);
	__attribute__((cleanup(sp_phases_done))) struct sp_phases f = {0};

	for (char name[] = "Thread-0"; name[7] < '6'; name[7]++)
		add_by(p, name, 0, 0, 2000);
	cr_assert_eq(sp_phases_init(&f, p, 0), 0);
	cr_assert_eq(f.gap_count, 1);
	cr_expect_leq(f.gaps[0].work[SP_DRIVER_WORK_ANALYSIS], f.gaps[0].took_ns);
	cr_expect_geq(f.gaps[0].work[SP_DRIVER_WORK_ANALYSIS], f.gaps[0].took_ns * 9 / 10);
	sp_profile_free(p);
}

Test(driver_phase, markdown_has_the_phases)
{
	struct sp_profile *p = driver_profile(5000);
	struct sp_execution sql = {.id = 7,
		.sql = -1,
		.start_ns = p->start_ns + SECOND,
		.end_ns = p->start_ns + 4 * SECOND,
		.name = sp_dict_string(p->dict, "a|b", 3)};
	struct sp_sink sink;
	const char *b;

	add(p, 0, 0, 2000);
	add_by(p, "Thread-4", 4, 2000, 3000);
	add_by(p, "Thread-9", 4, 2000, 3000);
	p->executions = malloc(sizeof(sql));
	cr_assert(p->executions);
	p->executions[0] = sql;
	p->execution_count = 1;
	sp_sink_init(&sink, -1);
	cr_assert_eq(sp_out_markdown(p, &(struct sp_out_opts){0}, &sink), 0);
	b = sp_buf_str(&sink.buf);
	cr_expect(strstr(b, "| analysis | 40.0 % | 2 s | – |"), "%s", b);
	cr_expect(strstr(b, "| waiting for jobs (2.0 threads at a time) | 60.0 % |"), "%s", b);
	cr_expect(strstr(b, "No job ran for 2 s of 5 s.\n\n- 2 s at 0 s: analysis"), "%s", b);
	cr_expect(strstr(b, "| 7 | 3 s | a\\|b | waiting for jobs 2 s, analysis"), "%s", b);
	sp_sink_done(&sink);
	sp_profile_free(p);
}

/* On a machine that others use up, planning is not what is slow. */
Test(driver_phase, a_gap_without_a_core_says_so)
{
	for (int without = 0; without < 2; without++) {
		struct sp_profile *p = driver_profile(5000);
		struct sp_findings f;
		const char *says;

		add(p, 0, 0, 4000);
		for (size_t i = 0; without && i < p->row_count; i++)
			p->rows[i].state = sp_dict_string(p->dict, "runnable", 8);
		cr_assert_eq(sp_findings_init(&f, p, NULL), 0);
		cr_assert_eq(f.count, 1);
		says = sp_buf_str(&f.list[0].says);
		cr_expect(strstr(says, "No job ran for 5 s of 5 s"), "%s", says);
		cr_expect_eq(
			strstr(says, ". Its threads had no core for 100 % of their time") != NULL,
			without, "%s", says);
		sp_findings_done(&f);
		sp_profile_free(p);
	}
}

Test(driver_phase, the_advice_is_about_what_took_most)
{
	static const struct {
		size_t number;
		const char *advice;
	} all[] = {{0, "build a plan once"}, {1, "list fewer files: "}, {6, "take fewer rows"},
		{21, "let tasks do what the driver's own"}};

	for (size_t i = 0; i < SP_COUNT(all); i++) {
		struct sp_profile *p = driver_profile(5000);
		struct sp_findings f;
		unsigned k = 0;

		add(p, all[i].number, 0, 4000);
		cr_assert_eq(sp_findings_init(&f, p, NULL), 0);
		while (k < f.count && strcmp(f.list[k].rule, "driver-gap") != 0)
			k++;
		cr_assert_lt(k, f.count, "case %zu", i);
		cr_expect_eq(strncmp(f.list[k].advice, all[i].advice, strlen(all[i].advice)), 0,
			"case %zu: %s", i, f.list[k].advice);
		sp_findings_done(&f);
		sp_profile_free(p);
	}
}

/* 20 % of the recording, by jobs or in the driver itself; jobs that list files are jobs. */
Test(driver_phase, files_that_are_listed_are_named_from_the_bound_on)
{
	static const struct {
		size_t number;
		uint64_t ms;
		const char *says;
	} all[] = {{SP_COUNT(cases) - 1, 1500, "15 % of the time; for 1.5 s of it by jobs"},
		{SP_COUNT(cases) - 1, 2500, "25 % of the time; for 2.5 s of it by jobs"},
		{1, 2500, "25 % of the time"}, {4, 2500, NULL}};

	for (size_t i = 0; i < SP_COUNT(all); i++) {
		struct sp_profile *p = driver_profile(10000);
		bool expected = i == 1 || i == 2, found = false;
		struct sp_findings f;

		add(p, all[i].number, 0, all[i].ms);
		cr_assert_eq(sp_findings_init(&f, p, NULL), 0);
		for (unsigned k = 0; k < f.count; k++) {
			if (strcmp(f.list[k].rule, "listing") == 0) {
				found = true;
				cr_expect(strstr(sp_buf_str(&f.list[k].says), all[i].says), "%s",
					sp_buf_str(&f.list[k].says));
			}
			cr_expect(strcmp(f.list[k].rule, "driver-gap") != 0 || i == 2,
				"jobs ran, or nothing: %s", sp_buf_str(&f.list[k].says));
		}
		cr_expect_eq(found, expected, "case %zu", i);
		sp_findings_done(&f);
		sp_profile_free(p);
	}
}

Test(driver_phase, others_have_no_phases)
{
	struct sp_profile *p = sample_profile();
	__attribute__((cleanup(sp_phases_done))) struct sp_phases f = {0};

	cr_assert_eq(sp_phases_init(&f, p, 0), 0);
	cr_expect_eq(f.count, 0);
	sp_profile_free(p);
}

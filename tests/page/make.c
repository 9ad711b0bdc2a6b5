/* Makes report pages for the tests: of a recording, or of a profile of any size that looks like a
 * Spark executor's.
 *   page-make FORMAT load FILE
 *   page-make FORMAT generate SAMPLES STACKS THREADS SECONDS DEPTH
 *   page-make FORMAT overlap THREADS
 *   page-make FORMAT repeated
 *   page-make FORMAT hostile
 * The report goes to stdout. The same arguments make the same profile. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "out/out.h"
#include "prof/load/load.h"
#include "prof/model/tasks.h"
#include "prof/model/timeline.h"

#define START_NS 1790000000000000000ull

static uint64_t seed = 88172645463325252ull;

static uint32_t rnd(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 20) % below;
}

static uint32_t str(struct sp_profile *p, const char *s)
{
	return sp_dict_string(p->dict, s, strlen(s));
}

static struct sp_frame_ref frame(struct sp_profile *p, const char *class, const char *name,
	int line, enum sp_frame_type type)
{
	struct sp_method m = {.class_id = str(p, class), .name_id = str(p, name)};

	m.native = type == SP_FRAME_NATIVE || type == SP_FRAME_CPP || type == SP_FRAME_KERNEL;
	return (struct sp_frame_ref){sp_dict_method(p->dict, &m), line, 0, (uint8_t)type};
}

static const struct {
	const char *class, *name;
	enum sp_frame_type type;
} roots[] =
	{
		{"java/lang/Thread", "run", SP_FRAME_INTERPRETED},
		{"java/util/concurrent/ThreadPoolExecutor$Worker", "run", SP_FRAME_INTERPRETED},
		{"java/util/concurrent/ThreadPoolExecutor", "runWorker", SP_FRAME_C1},
		{"org/apache/spark/executor/Executor$TaskRunner", "run", SP_FRAME_C1},
		{"org/apache/spark/scheduler/Task", "run", SP_FRAME_C1},
},
  heads[] = {
	  {"org/apache/spark/sql/catalyst/expressions/"
	   "GeneratedClass$GeneratedIteratorForCodegenStage",
		  "processNext", SP_FRAME_C2},
	  {"org/apache/spark/sql/catalyst/expressions/"
	   "GeneratedClass$GeneratedIteratorForCodegenStage",
		  "hashAgg_doAggregateWithKeys_0", SP_FRAME_C2},
	  {"org/apache/spark/shuffle/sort/UnsafeShuffleWriter", "insertRecordIntoSorter",
		  SP_FRAME_C2},
	  {"org/apache/spark/util/collection/unsafe/sort/TimSort", "mergeLo", SP_FRAME_INLINED},
	  {"org/apache/spark/serializer/KryoSerializerInstance", "serialize", SP_FRAME_C2},
	  {"com/esotericsoftware/kryo/Kryo", "writeObject", SP_FRAME_INLINED},
	  {"io/netty/channel/epoll/EpollEventLoop", "run", SP_FRAME_C1},
	  {"org/apache/hadoop/hdfs/DFSInputStream", "read", SP_FRAME_C2},
	  {"org/apache/parquet/column/impl/ColumnReaderBase", "readPage", SP_FRAME_C2},
	  {"org/apache/spark/api/python/BasePythonRunner$ReaderIterator", "read", SP_FRAME_C1},
	  {"com/acme/etl/Enrich", "apply", SP_FRAME_C2},
	  {"com/acme/etl/Scoring", "score", SP_FRAME_INLINED},
	  {"java/util/HashMap", "getNode", SP_FRAME_INLINED},
	  {"java/lang/String", "hashCode", SP_FRAME_INLINED},
	  {"libjvm.so", "G1CollectedHeap::mem_allocate", SP_FRAME_CPP},
	  {"libc.so.6", "epoll_wait", SP_FRAME_NATIVE},
	  {"libc.so.6", "pthread_cond_timedwait", SP_FRAME_NATIVE},
	  {"[kernel]", "do_syscall_64", SP_FRAME_KERNEL},
	  {"[kernel]", "copy_page_to_iter", SP_FRAME_KERNEL},
};

enum { HEADS = sizeof(heads) / sizeof(heads[0]), ROOTS = sizeof(roots) / sizeof(roots[0]) };

static struct sp_frame_ref some_frame(struct sp_profile *p, uint32_t variety)
{
	uint32_t k = rnd(HEADS), v = rnd(variety);
	char name[96];

	if (v < 4)
		return frame(p, heads[k].class, heads[k].name, (int)rnd(40) + 20, heads[k].type);
	snprintf(name, sizeof(name), "%s$%u", heads[k].name, v);
	return frame(p, heads[k].class, name, (int)rnd(40) + 20, heads[k].type);
}

/* Stacks grow on each other: a new one leaves an older one somewhere above its middle. */
static void make_stacks(struct sp_profile *p, uint32_t *ids, uint32_t count, uint32_t depth)
{
	enum { KEPT = 256 };
	uint32_t tail = depth > 100 ? 12 : 8;
	struct sp_frame_ref *old = calloc((size_t)KEPT * depth, sizeof(*old));
	struct sp_frame_ref *now = calloc(depth, sizeof(*now)),
			    *leaf_first = calloc(depth, sizeof(*now));
	uint32_t *lengths = calloc(KEPT, sizeof(*lengths));

	for (uint32_t i = 0; i < count; i++) {
		uint32_t from = rnd(i < KEPT ? i + 1 : KEPT), n = 0,
			 want = depth - rnd(depth / 3 + 1);

		if (i > 0 && lengths[from]) {
			n = lengths[from] > tail ? lengths[from] - rnd(tail)
						 : lengths[from] - rnd(lengths[from] / 2 + 1);
			memcpy(now, old + (size_t)from * depth, n * sizeof(*now));
		}
		for (; n < ROOTS && n < depth; n++)
			now[n] = frame(p, roots[n].class, roots[n].name, 80, roots[n].type);
		for (uint32_t k = rnd(tail) + 1; k > 0 && n < want; k--)
			now[n++] = some_frame(p, 60);
		for (; i < KEPT / 4 && n < want; n++) /* the first ones reach the whole depth */
			now[n] = some_frame(p, 60);
		for (uint32_t k = 0; k < n; k++)
			leaf_first[k] = now[n - 1 - k];
		ids[i] = sp_dict_stack(p->dict, leaf_first, n, 0);
		if (i < KEPT || rnd(8) == 0) {
			uint32_t to = i < KEPT ? i : rnd(KEPT);

			memcpy(old + (size_t)to * depth, now, n * sizeof(*now));
			lengths[to] = n;
		}
	}
	free(old);
	free(now);
	free(leaf_first);
	free(lengths);
}

static void make_series(struct sp_profile *p, uint64_t seconds)
{
	uint64_t heap = 2000;

	for (uint64_t s = 0; s < seconds; s++) {
		uint64_t t = START_NS + s * 1000000000;
		bool gc = s % 7 == 3;

		heap = gc ? 900 + rnd(200) : heap + 150 + rnd(200);
		sp_profile_point(p, SP_SERIES_HEAP, t, heap << 20);
		sp_profile_point(p, SP_SERIES_RSS, t, (5000 + s / 4 + rnd(20)) << 20);
		sp_profile_point(
			p, SP_SERIES_CPU_JVM, t, 60000 + rnd(20000) - (s % 90 < 12 ? 45000 : 0));
		sp_profile_point(
			p, SP_SERIES_CPU_MACHINE, t, 80000 + rnd(8000) - (s % 90 < 12 ? 45000 : 0));
		if (gc)
			sp_profile_point(p, SP_SERIES_GC, t, (uint64_t)(20 + rnd(200)) * 1000000);
	}
}

/* Small numbers are frequent, as they are among real stacks. */
static uint32_t skewed(uint32_t below)
{
	double u = (rnd(1u << 20) + 1) / (double)(1u << 20);

	return (uint32_t)(u * u * u * below) % below;
}

enum { STAGES = 3, STAGE_TASKS = 4, TASKS = STAGES * STAGE_TASKS };

/* Tasks of a thread follow each other, a stage's all at once; none in the first and last tenth of
 * the time, which is cut into 1,000 parts. The first thread has a straggler in the second stage: it
 * takes the time of three. */
enum { SLOW = STAGE_TASKS + 1, SLOW_END = SLOW + 3 };

static uint32_t slow(uint32_t t, uint32_t task)
{
	return t == 0 && task > SLOW && task < SLOW_END ? SLOW : task;
}

static void make_tasks(struct sp_profile *p, uint32_t threads, uint64_t seconds)
{
	for (uint32_t i = 0; i < threads * TASKS; i++) {
		uint32_t t = i / TASKS, task = i % TASKS;
		uint64_t from = (uint64_t)task * 1000 / TASKS, to = (task + 1ull) * 1000 / TASKS;
		bool ran;
		struct sp_task_run run = {
			.name = {.task_id = 1000 + task * threads + t,
				.stage = 3 + (int32_t)(task / STAGE_TASKS),
				.index = (int32_t)(task % STAGE_TASKS * threads + t)},
			.tid = 4000 + t,
			.executor = str(p, t % 2 ? "3" : "4"),
		};

		from = from < 100 ? 100 : from;
		to = t == 0 && task == SLOW ? SLOW_END * 1000 / TASKS : to > 900 ? 900 : to;
		ran = from < to && slow(t, task) == task;
		run.begun = run.ended = ran;
		if (ran) {
			run.start_ns = START_NS + from * seconds * 1000000;
			run.end_ns = START_NS + to * seconds * 1000000;
		}
		sp_profile_add_task(p, &run);
	}
	for (uint32_t t = 0; t < 2; t++) /* what executors do outside of tasks */
		sp_profile_add_task(p, &(struct sp_task_run){.name = {-1, -1, -1, -1, -1},
					       .executor = str(p, t % 2 ? "3" : "4")});
	sp_profile_stage(p, 0, 4, 0)->sql = 12;
	sp_profile_stage(p, 0, 4, 0)->description =
		str(p, "count of <b>orders</b> by customer at NightlyReport.scala:1042");
}

/* The task of a thread in a part of the time, as samples name it. */
static uint32_t task_at(uint32_t t, uint32_t threads, uint64_t part)
{
	return part < 100 || part >= 900 ? threads * TASKS + t % 2 + 1
					 : t * TASKS + slow(t, (uint32_t)(part * TASKS / 1000)) + 1;
}

static void generate(struct sp_profile *p, uint32_t samples, uint32_t stacks, uint32_t threads,
	uint32_t seconds, uint32_t depth)
{
	static const char *const states[] = {"running", "running", "running", "runnable", "lock",
		"net", "disk", "sleep", "running", "poll"};
	uint32_t *ids = calloc(stacks, sizeof(*ids)), state_ids[10],
		 *tids = calloc(threads, sizeof(*tids));
	uint64_t interval = (uint64_t)seconds * 1000000000 * threads / samples;
	int event = sp_profile_event(p, "wall", SP_UNIT_NS, interval, true);
	uint32_t made = 0;

	make_stacks(p, ids, stacks, depth);
	for (int i = 0; i < 10; i++)
		state_ids[i] = str(p, states[i]);
	for (uint32_t i = 0; i < threads; i++) {
		char name[96];

		snprintf(name, sizeof(name),
			"Executor task launch worker for task %u.0 in stage %u.0 (TID %u)", i % 16,
			3 + i / 16, 1000 + i);
		tids[i] = sp_dict_thread(p->dict,
			&(struct sp_thread){
				.tid = 4000 + i, .java_id = i + 1, .name_id = str(p, name)});
	}
	for (uint64_t k = 0; made < samples; k++) {
		uint64_t part = k * interval / (seconds * 1000000ull);

		for (uint32_t t = 0; t < threads && made < samples; t++, made++) {
			uint32_t phase = (uint32_t)(k * 6 * threads / samples), n = stacks / 8 + 1;
			/* every stack occurs once, then by the phase of the job */
			uint32_t s =
				made < stacks ? made : (phase * n + t * 3 + skewed(n)) % stacks;

			sp_profile_add_at(p,
				&(struct sp_sample){ids[s], tids[t], state_ids[s % 10],
					(uint32_t)event, 1, interval + rnd(2000) * 100,
					.task = task_at(t, threads, part)},
				START_NS + k * interval + t * 1000, interval);
		}
	}
	make_series(p, seconds);
	make_tasks(p, threads, seconds);
	free(ids);
	free(tids);
}

/* Threads whose time between two looks, 50 ms, is told in three spans that all begin with the first
 * look, and once in a second as of a wait that began four looks before. */
static void overlap(struct sp_profile *p, uint32_t threads)
{
	static const struct {
		const char *state;
		uint64_t ms;
	} parts[] = {{"running", 20}, {"net", 25}, {"runnable", 5}};
	int event = sp_profile_event(p, "wall", SP_UNIT_NS, 50000000, true);

	for (uint32_t i = 0; i < threads * 300; i++) {
		uint32_t look = i / threads, thread = sp_dict_thread(p->dict,
						     &(struct sp_thread){.tid = 4000 + i % threads,
							     .name_id = str(p, "worker")});

		for (uint32_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
			struct sp_frame_ref f =
				frame(p, heads[k].class, heads[k].name, 7, SP_FRAME_C2);
			uint64_t ns = parts[k].ms * 1000000,
				 back = k == 1 && look % 20 == 4 ? 4 * 50000000ull : 0;

			sp_profile_add_at(p,
				&(struct sp_sample){sp_dict_stack(p->dict, &f, 1, 0), thread,
					str(p, parts[k].state), (uint32_t)event, 1, ns},
				START_NS + look * 50000000ull - back, ns);
		}
	}
}

/* A stage of one task of a second, whose method ran in all ways that HotSpot has. */
static struct sp_stage *run_stage(struct sp_profile *p, int stage, const char *name)
{
	static const enum sp_frame_type ways[] = {
		SP_FRAME_INTERPRETED, SP_FRAME_C1, SP_FRAME_C2, SP_FRAME_C2, SP_FRAME_INLINED};
	struct sp_task_run run = {.name = {stage, stage, 0, 0, 0},
		.start_ns = START_NS + (uint64_t)stage * 1000000000,
		.begun = true,
		.ended = true};
	char thread[64];

	run.end_ns = run.start_ns + 1000000000;
	sp_profile_add_task(p, &run);
	for (uint32_t i = 0; i < 100; i++) {
		enum sp_frame_type way = ways[i % 5];
		struct sp_frame_ref f[] = {frame(p, "com/acme/Loop", "step", 9, SP_FRAME_C2),
			frame(p, "com/acme/Loop", "work", 7, way),
			frame(p, "com/acme/Main", "go", 3, SP_FRAME_C1)};

		snprintf(thread, sizeof(thread), "shuffle-client-4-%d", stage % 8 + 1);
		sp_profile_add_at(p,
			&(struct sp_sample){sp_dict_stack(p->dict, f, 3, 0),
				sp_dict_thread(p->dict,
					&(struct sp_thread){.tid = 50 + (uint32_t)stage % 8,
						.name_id = str(p, thread)}),
				str(p, "running"), 0, 1, 10000000, .task = (uint32_t)p->task_count},
			run.start_ns + i * 10000000ull, 10000000);
	}
	sp_profile_stage(p, 0, stage, 0)->name = str(p, name);
	return sp_profile_stage(p, 0, stage, 0);
}

/* Ten iterations, and then 14 batches of a streaming query with three stages each. */
static void repeated(struct sp_profile *p)
{
	char text[64];

	sp_profile_event(p, "wall", SP_UNIT_NS, 10000000, true);
	for (int i = 0; i < 10; i++)
		run_stage(p, i, "collectAsMap at KMeans.scala:302")->job = i;
	for (int i = 0; i < 42; i++) {
		struct sp_stage *a =
			run_stage(p, 10 + i, "start at NativeMethodAccessorImpl.java:0");

		a->query = str(p, "6c2f8d4e-0000-1111-2222-333344445555");
		snprintf(text, sizeof(text), "%d", i / 3);
		a->batch = str(p, text);
		snprintf(text, sizeof(text), "orders<br/>id = 6c2f8d4e<br/>batch = %d", i / 3);
		a->description = str(p, text);
	}
	run_stage(p, 52, "count at Report.scala:7");
}

/* Names that would break out of markup, script, JSON or XML if anything let them. */
static void hostile(struct sp_profile *p)
{
	static const char *const names[] = {"<script>alert(1)</script>",
		"</script><img src=x onerror=alert(2)>", "]]><!--", "-->", "\"'&lt;&amp;",
		"line\xe2\x80\xa8separator\xe2\x80\xa9paragraph",
		"invalid\xff\xfe\xc0\xaf utf8 \xed\xa0\x80", "control\x01\x1b[31m\x7f",
		"${7*7}{{7*7}}", "\xd7\x90\xe2\x80\xae right to left", "javascript:alert(3)",
		"\xf0\x9f\x94\xa5 fire"};
	int event = sp_profile_event(p, "<b>cpu</b>", SP_UNIT_NS, 10000000, false),
	    bytes = sp_profile_event(p, "alloc", SP_UNIT_BYTES, 524288, true);
	struct sp_frame_ref run = frame(p, "java/lang/Thread", "run", 1, SP_FRAME_C1);

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct sp_frame_ref f = frame(p, names[i], names[i], 7, SP_FRAME_C2);
		uint32_t stack = sp_dict_stack(p->dict, (struct sp_frame_ref[]){f, run}, 2, 0);
		uint32_t thread = sp_dict_thread(
			p->dict, &(struct sp_thread){.tid = i, .name_id = str(p, names[i])});

		sp_profile_add_at(p,
			&(struct sp_sample){stack, thread, str(p, names[i]), (uint32_t)event,
				10 - i % 5, (10 - i % 5) * 10000000ull},
			START_NS + i * 10000000ull, 0);
		sp_profile_add_at(p,
			&(struct sp_sample){stack, thread, 0, (uint32_t)bytes, 1, 524288 + i},
			START_NS + i * 10000000ull, 0);
	}
	p->title_id = str(p, "</title><script>alert(4)</script>");
	p->target_id = str(p, "<i>pid</i> 1");
	sp_profile_lost(p, "<b>ring</b> full", 3);
	sp_profile_note(p, "a note with </script> in it");
}

static int load(const char *path, struct sp_profile **ret)
{
	struct sp_err err = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC),
	    r = fd < 0 ? -errno : sp_load(fd, NULL, ret, &err);

	if (r < 0)
		fprintf(stderr, "page-make: %s: %s\n", path, fd < 0 ? strerror(-r) : err.text);
	if (fd >= 0)
		close(fd);
	return r;
}

static uint32_t number(const char *s)
{
	return (uint32_t)strtoul(s, NULL, 10);
}

int main(int argc, char **argv)
{
	const struct sp_out_format *format = argc > 2 ? sp_out_by_name(argv[1]) : NULL;
	struct sp_out_opts opts = {0};
	struct sp_profile *p = NULL;
	struct sp_sink sink;
	int r = format ? 0 : -EINVAL;

	if (r == 0 && strcmp(argv[2], "load") == 0 && argc == 4)
		r = load(argv[3], &p);
	else if (r == 0)
		r = sp_profile_new(&p, 1ull << 30);
	if (r < 0)
		return 2;
	if (strcmp(argv[2], "hostile") == 0)
		hostile(p);
	if (strcmp(argv[2], "repeated") == 0)
		repeated(p);
	if (strcmp(argv[2], "overlap") == 0 && argc == 4)
		overlap(p, number(argv[3]));
	if (strcmp(argv[2], "generate") == 0 && argc == 8) {
		generate(p, number(argv[3]), number(argv[4]), number(argv[5]), number(argv[6]),
			number(argv[7]));
		p->target_id = str(p, "executor 3 of application_1790000000000_0042 (pid 4711)");
		p->runtime_id = str(p, "OpenJDK 64-Bit Server VM 17.0.15+6");
	}
	sp_sink_init(&sink, STDOUT_FILENO);
	r = format->write(p, &opts, &sink);
	if (sp_sink_done(&sink) < 0 || r < 0)
		return 1;
	sp_profile_free(p);
	return 0;
}

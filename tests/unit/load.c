/* Recordings made by the writer become profiles: events, weights, states, losses and native names.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "prof/load/load.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "elf/symtab.h"
#include "jfr/writer.h"
#include "out/out.h"

static struct sp_dict *dict;
static struct sp_jfrw *w;
static int fd;

static void setup(void)
{
	fd = memfd_create("recording", MFD_CLOEXEC);
	cr_assert(fd >= 0 && sp_dict_new(&dict, 16u << 20) == 0);
	cr_assert(sp_jfrw_new(&w, fd, dict, &(struct sp_jfrw_cfg){0}, NULL) == 0);
}

static void teardown(void)
{
	sp_dict_free(dict);
	close(fd);
}

TestSuite(load, .init = setup, .fini = teardown);

static uint32_t str(const char *s)
{
	return sp_dict_string(dict, s, strlen(s));
}

static uint32_t stack_of(struct sp_method m, enum sp_frame_type type, int truncated)
{
	struct sp_frame_ref f = {sp_dict_method(dict, &m), -1, -1, (uint8_t)type};

	return sp_dict_stack(dict, &f, 1, truncated);
}

static uint32_t java_stack(const char *cls, const char *name)
{
	return stack_of((struct sp_method){.class_id = str(cls),
				.name_id = str(name),
				.sig_id = str("()V"),
				.modifiers = 1},
		SP_FRAME_C2, 0);
}

static uint32_t native_stack(const char *module, const char *name, const char *sig, bool open)
{
	return stack_of((struct sp_method){.class_id = module[0] ? str(module) : 0,
				.name_id = str(name),
				.sig_id = sig[0] ? str(sig) : 0,
				.native = 1,
				.unresolved = open},
		SP_FRAME_NATIVE, 0);
}

static void setting(const char *name, const char *value)
{
	union sp_jfr_val v[] = {{.u = sp_clock_mono_ns()}, {.u = SP_JFR_EXECUTION_SAMPLE},
		{.s = name}, {.s = value}};

	sp_jfrw_event(w, SP_JFR_ACTIVE_SETTING, v);
}

static uint64_t since; /* when the counters began */

static void lost(const char *reason, uint64_t n)
{
	union sp_jfr_val v[] = {{.u = sp_clock_mono_ns()}, {.s = reason}, {.u = n}, {.u = since}};

	sp_jfrw_event(w, SP_JFR_LOST, v);
}

static void counts(uint64_t n)
{
	union sp_jfr_val v[] = {{.u = sp_clock_mono_ns()}, {.u = 1}, {.u = n}, {.u = 0}, {.u = 0},
		{.u = n / 2}, {.u = since}};

	sp_jfrw_event(w, SP_JFR_COUNTS, v);
}

/* Ends the recording and loads it. */
static struct sp_profile *load(struct sp_symbols *symbols)
{
	struct sp_profile *p = NULL;
	struct sp_err err = {""};

	cr_assert(sp_jfrw_close(w) == 0);
	cr_assert(lseek(fd, 0, SEEK_SET) == 0);
	cr_assert(sp_load(fd, symbols, &p, &err) == 0, "%s", err.text);
	return p;
}

static void expect_collapsed(const struct sp_profile *p, const char *event, const char *want)
{
	struct sp_out_opts o = {.view = {.event = event, .total = true}};
	struct sp_sink s;

	sp_sink_init(&s, -1);
	cr_assert(sp_out_collapsed(p, &o, &s) == 0);
	cr_assert_str_eq(sp_buf_str(&s.buf), want, "%s", sp_buf_str(&s.buf));
	sp_sink_done(&s);
}

Test(load, cpu_and_wall_with_their_intervals)
{
	struct sp_thread th = {.tid = 7, .java_id = 1, .name_id = str("main")};
	uint32_t t = sp_dict_thread(dict, &th), a = java_stack("a/A", "run"),
		 b = java_stack("b/B", "wait");
	struct sp_profile *p;

	setting("event", "ctimer");
	setting("interval", "2000000");
	setting("wall", "50000000");
	for (uint64_t i = 1; i <= 3; i++)
		sp_jfrw_sample(w, sp_clock_mono_ns(), t, a, SP_STATE_RUNNING);
	sp_jfrw_wall(w, sp_clock_mono_ns(), t, b, SP_STATE_LOCK, 2, 90000000);
	sp_jfrw_wall(w, sp_clock_mono_ns(), t, b, SP_STATE_NET, 1, 10000000);
	sp_jfrw_wall(w, sp_clock_mono_ns(), t, a, SP_STATE_RUNNING, 3, 0); /* as the peer writes */
	p = load(NULL);
	cr_assert(p->event_count == 2 && p->samples == 8);
	expect_collapsed(p, "ctimer", "a/A.run 6000000\n");
	expect_collapsed(p, "wall", "a/A.run 150000000\nb/B.wait 100000000\n");
	cr_assert(p->events[1].measured && p->events[1].interval == 50000000);
	cr_assert_str_eq(sp_dict_get_string(p->dict, p->rows[1].state, NULL), "lock");
	cr_assert_str_eq(sp_dict_get_string(p->dict, p->rows[2].state, NULL), "net");
	sp_profile_free(p);
}

Test(load, min_duration_leaves_out_waits_that_do_not_say_how_long)
{
	uint32_t a = java_stack("a/A", "run"), b = java_stack("b/B", "wait");
	struct sp_load_opts o = {.min_duration_ns = 20000000};
	struct sp_profile *p = NULL;

	setting("event", "ctimer");
	setting("interval", "2000000");
	setting("wall", "50000000");
	sp_jfrw_sample(w, sp_clock_mono_ns(), 0, a, SP_STATE_RUNNING);
	sp_jfrw_wall(w, sp_clock_mono_ns(), 0, b, SP_STATE_LOCK, 1, 90000000);
	sp_jfrw_wall(w, sp_clock_mono_ns(), 0, b, SP_STATE_NET, 1, 10000000);
	sp_jfrw_wall(w, sp_clock_mono_ns(), 0, a, SP_STATE_RUNNING, 3, 0); /* as the peer writes */
	cr_assert(sp_jfrw_close(w) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	cr_assert(sp_load_with(fd, &o, NULL, &p, NULL) == 0);
	expect_collapsed(p, "ctimer", "a/A.run 2000000\n");
	expect_collapsed(p, "wall", "b/B.wait 90000000\n");
	sp_profile_free(p);
}

/* The time of a sample begins before the task that its stack is in: the name that the worker had
 * then is not the task's. One that is far from any task keeps it. */
Test(load, samples_of_a_task_do_not_stand_under_the_idle_name)
{
	static const char busy[] = "Executor task launch worker for task 3.0 in stage 5.1 (TID 45)";
	uint32_t idle = sp_dict_thread(dict,
		&(struct sp_thread){
			.tid = 7, .java_id = 33, .name_id = str("Executor task idle worker#33")});
	uint32_t named = sp_dict_thread(
		dict, &(struct sp_thread){.tid = 7, .java_id = 33, .name_id = str(busy)});
	uint32_t run = java_stack("org/apache/spark/executor/Executor$TaskRunner", "run");
	uint32_t wait = java_stack("java/util/concurrent/ThreadPoolExecutor", "getTask");
	uint64_t now = sp_clock_mono_ns(), ms = 1000000;
	union sp_jfr_val task[] = {{.u = now}, {.u = 100 * ms}, {.u = named}, {.u = 5}, {.u = 1},
		{.u = 3}, {.u = 0}, {.u = 45}, {.u = 1}, {.u = 1}, {.u = 0}, {.u = 0}};
	struct sp_load_opts o = {.tasks = true};
	struct sp_profile *p = NULL;
	uint32_t threads[3] = {0}, inside = 0;

	sp_jfrw_event(w, SP_JFR_TASK, task);
	sp_jfrw_wall(w, now - 3 * ms, idle, run, SP_STATE_RUNNING, 1, 5 * ms);
	sp_jfrw_wall(w, now + 3 * ms, named, run, SP_STATE_RUNNING, 1, 5 * ms);
	sp_jfrw_wall(w, now - 400 * ms, idle, wait, SP_STATE_LOCK, 1, 390 * ms);
	cr_assert(sp_jfrw_close(w) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	cr_assert(sp_load_with(fd, &o, NULL, &p, NULL) == 0);
	for (size_t i = 0; i < p->row_count; i++) {
		const struct sp_thread *t = sp_dict_get_thread(p->dict, p->rows[i].thread);

		cr_assert(t && t->tid == 7 && inside < 3);
		if (p->rows[i].task)
			threads[inside++] = p->rows[i].thread;
		cr_expect_str_eq(sp_dict_get_string(p->dict, t->name_id, NULL),
			p->rows[i].task ? busy : "Executor task idle worker#33");
	}
	cr_expect_eq(inside, 2);
	cr_expect_eq(threads[1], threads[0], "one thread, not two of one name");
	sp_profile_free(p);
}

/* A worker that waited for a core through the begin of its task, seen 500 ms later in there: what
 * lies within the task is the task's. */
Test(load, a_wait_for_a_core_that_begins_before_the_task)
{
	uint32_t worker = sp_dict_thread(
		dict, &(struct sp_thread){.tid = 7, .java_id = 33, .name_id = str("worker")});
	uint32_t run = java_stack("org/apache/spark/executor/Executor$TaskRunner", "run");
	uint64_t now = sp_clock_mono_ns(), ms = 1000000;
	union sp_jfr_val task[] = {{.u = now}, {.u = 900 * ms}, {.u = worker}, {.u = 5}, {.u = 1},
		{.u = 3}, {.u = 0}, {.u = 45}, {.u = 1}, {.u = 1}, {.u = 0}, {.u = 0}};
	struct sp_load_opts o = {.tasks = true, .tasks_only = SP_TASKS_ONLY};
	struct sp_profile *p = NULL;

	sp_jfrw_event(w, SP_JFR_TASK, task);
	sp_jfrw_wall(w, now - 300 * ms, worker, run, SP_STATE_RUNNABLE, 1, 800 * ms);
	sp_jfrw_wall(w, now - 300 * ms, worker, run, SP_STATE_RUNNABLE, 1, 200 * ms);
	cr_assert(sp_jfrw_close(w) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	cr_assert(sp_load_with(fd, &o, NULL, &p, NULL) == 0);
	cr_assert_eq(p->row_count, 1, "what ends before the task is not the task's");
	cr_expect(p->rows[0].task && p->rows[0].weight == 500 * ms);
	sp_profile_free(p);
}

/* The recording ends 5 s after the task did: a part of the task's CPU time is written then. */
Test(load, what_a_worker_ran_behind_the_last_sample_is_its_last_tasks)
{
	uint32_t idle = sp_dict_thread(dict,
		&(struct sp_thread){
			.tid = 7, .java_id = 33, .name_id = str("Executor task idle worker#33")});
	uint32_t run = java_stack("org/apache/spark/executor/Executor$TaskRunner", "run");
	uint64_t now = sp_clock_mono_ns(), ms = 1000000;
	union sp_jfr_val task[] = {{.u = now}, {.u = 900 * ms}, {.u = idle}, {.u = 5}, {.u = 1},
		{.u = 3}, {.u = 0}, {.u = 45}, {.u = 1}, {.u = 1}, {.u = 0}, {.u = 0}};
	struct sp_load_opts o = {.tasks = true, .tasks_only = SP_TASKS_ONLY};
	struct sp_profile *p = NULL;

	sp_jfrw_event(w, SP_JFR_TASK, task);
	sp_jfrw_wall(w, now + 5900 * ms, idle, run, SP_STATE_RUNNING, 1, 40 * ms);
	sp_jfrw_wall(
		w, now - 500 * ms, idle, run, SP_STATE_RUNNING, 1, 40 * ms); /* of one before */
	cr_assert(sp_jfrw_close(w) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	cr_assert(sp_load_with(fd, &o, NULL, &p, NULL) == 0);
	cr_assert_eq(p->row_count, 1);
	cr_expect(p->rows[0].task && p->rows[0].weight == 40 * ms);
	sp_profile_free(p);
}

/* Dumped twice while it ran, then ended. */
Test(load, a_dumped_task_is_one)
{
	uint32_t worker = sp_dict_thread(dict, &(struct sp_thread){.tid = 7, .name_id = str("w")});
	uint64_t now = sp_clock_mono_ns(), ms = 1000000;
	static const uint64_t took[] = {100, 300, 200};
	struct sp_load_opts o = {.tasks = true};
	struct sp_profile *p = NULL;

	for (size_t i = 0; i < SP_COUNT(took); i++) {
		union sp_jfr_val task[] = {{.u = now}, {.u = took[i] * ms}, {.u = worker}, {.u = 5},
			{.u = 1}, {.u = 3}, {.u = 0}, {.u = 45}, {.u = 1}, {.u = took[i] == 300},
			{.u = 0}, {.u = 0}};

		sp_jfrw_event(w, SP_JFR_TASK, task);
	}
	sp_jfrw_wall(w, now + ms, worker, java_stack("a/A", "run"), SP_STATE_RUNNING, 1, 5 * ms);
	cr_assert(sp_jfrw_close(w) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	cr_assert(sp_load_with(fd, &o, NULL, &p, NULL) == 0);
	cr_assert_eq(p->task_count, 1);
	cr_expect(p->tasks[0].ended);
	cr_expect_eq(p->tasks[0].end_ns - p->tasks[0].start_ns, 300 * ms);
	sp_profile_free(p);
}

/* One that ran for longer than the recording: written once, while it ran, and not seen to end. Its
 * end found later counts, also where that lies before. */
Test(load, a_task_that_runs_lasts_to_the_end_of_the_file)
{
	uint32_t worker = sp_dict_thread(dict, &(struct sp_thread){.tid = 7, .name_id = str("w")});
	uint64_t now = sp_clock_mono_ns(), ms = 1000000;
	static const struct {
		uint64_t at, took;
		unsigned tid, ended;
	} written[] = {{0, 100, 45, 0}, {20, 100, 46, 0}, {20, 60, 46, 1}};
	struct sp_load_opts o = {.tasks = true};
	struct sp_profile *p = NULL;

	for (size_t i = 0; i < SP_COUNT(written); i++) {
		uint32_t on = written[i].tid == 45
				      ? worker
				      : sp_dict_thread(dict,
						&(struct sp_thread){.tid = 8, .name_id = str("v")});
		union sp_jfr_val task[] = {{.u = now + written[i].at * ms},
			{.u = written[i].took * ms}, {.u = on}, {.u = 5}, {.u = 1}, {.u = 3},
			{.u = 0}, {.u = written[i].tid}, {.u = 1}, {.u = written[i].ended},
			{.u = 0}, {.u = 0}};

		sp_jfrw_event(w, SP_JFR_TASK, task);
	}
	sp_jfrw_wall(w, now + ms, worker, java_stack("a/A", "run"), SP_STATE_RUNNING, 1, 5 * ms);
	while (sp_clock_mono_ns() < now + 200 * ms)
		;
	cr_assert(sp_jfrw_close(w) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	cr_assert(sp_load_with(fd, &o, NULL, &p, NULL) == 0);
	cr_assert_eq(p->task_count, 2);
	for (unsigned i = 0; i < 2; i++) {
		const struct sp_task_run *t = &p->tasks[i];

		if (t->name.task_id == 45)
			cr_expect(!t->ended && t->end_ns - t->start_ns >= 200 * ms);
		else
			cr_expect(t->ended && t->end_ns - t->start_ns == 60 * ms);
	}
	sp_profile_free(p);
}

Test(load, losses_are_the_last_sums)
{
	struct sp_profile *p;
	SP_AUTO_BUF struct sp_buf b;

	lost("ring full", 2);
	counts(3);
	lost("ring full", 5);
	lost("late", 1);
	counts(9);
	p = load(NULL);
	sp_buf_init(&b);
	sp_out_summary(p, &b);
	cr_assert_str_eq(sp_buf_str(&b),
		"0 samples, 9 lost (ring full 5, late 1, reason unknown 3), "
		"0 truncated, 0 unknown");
	sp_profile_free(p);
}

/* Pieces that were appended to each other, as chunks that several readers share. */
Test(load, losses_of_counters_that_began_again_add_up)
{
	struct sp_profile *p = NULL;
	struct sp_load_opts opts = {.readers = 3};
	struct sp_err err;

	for (since = 1; since <= 40; since++) {
		lost("ring full", 1);
		lost("ring full", 2);
		lost("late", 1);
		counts(4);
		cr_assert(sp_jfrw_rotate(w) >= 0);
		lost("ring full", 3);
		counts(6);
		cr_assert(sp_jfrw_rotate(w) >= 0);
	}
	since = 0;
	cr_assert(sp_jfrw_close(w) == 0);
	cr_assert(lseek(fd, 0, SEEK_SET) == 0);
	cr_assert(sp_load_with(fd, &opts, NULL, &p, &err) == 0, "%s", err.text);
	cr_assert(p->lost_total == 240 && p->too_deep == 120, "%llu lost, %llu too deep",
		(unsigned long long)p->lost_total, (unsigned long long)p->too_deep);
	cr_assert(p->lost_count == 3 && p->lost[0].count == 120 && p->lost[1].count == 40);
	sp_profile_free(p);
}

Test(load, unknown_and_truncated_are_counted)
{
	struct sp_profile *p;

	sp_jfrw_sample(w, 1, 0, native_stack("", "[unknown]", "", false), SP_STATE_RUNNING);
	sp_jfrw_sample(w, 1, 0, native_stack("", SP_NATIVE_GAP, "", false), SP_STATE_RUNNING);
	sp_jfrw_sample(w, 1, 0, native_stack("", "inner", "", false), SP_STATE_RUNNING);
	sp_jfrw_sample(w, 1, 0,
		stack_of((struct sp_method){.class_id = str("a/A"),
				 .name_id = str("m"),
				 .sig_id = str("()V"),
				 .modifiers = 1},
			SP_FRAME_C2, 1),
		SP_STATE_RUNNING);
	p = load(NULL);
	cr_assert(p->samples == 4 && p->unknown == 2 && p->truncated == 1);
	sp_profile_free(p);
}

/* malloc of the libc that this program runs with, as the agent would write it. */
Test(load, native_frames_get_names)
{
	SP_AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct sp_symtab_source src = {.root_fd = root, .host_fd = root};
	struct sp_symbols *symbols;
	struct sp_symtab *t;
	struct sp_profile *p;
	const char *name;
	char path[4096] = "", line[4096], offset[32], sig[160];
	uint64_t addr = 0;
	struct stat st;
	FILE *f = fopen("/proc/self/maps", "re");

	while (fgets(line, sizeof(line), f) && !strstr(line, "/libc.so.6"))
		;
	fclose(f);
	cr_assert(sscanf(line, "%*s %*s %*s %*s %*s %4095s", path) == 1 && stat(path, &st) == 0);
	src.path = path;
	cr_assert(sp_symtab_open(&src, &t, NULL) == 0);
	for (size_t i = 0; sp_symtab_get(t, i, &addr, &name) && strcmp(name, "malloc") != 0; i++)
		;
	snprintf(offset, sizeof(offset), "0x%lx", (unsigned long)addr + 3);
	snprintf(sig, sizeof(sig), "()L%s;", sp_symtab_build_id(t));

	union sp_jfr_val module[] = {{.u = 1}, {.s = path}, {.s = sp_symtab_build_id(t)}, {.u = 0},
		{.u = 0}, {.u = st.st_dev}, {.u = st.st_ino}};

	setting("interval", "1");
	sp_jfrw_event(w, SP_JFR_MODULE, module);
	sp_jfrw_sample(w, 1, 0, native_stack("libc.so.6", offset, sig, true), SP_STATE_RUNNING);
	sp_jfrw_sample(w, 1, 0, native_stack("libc.so.6", "0x1", sig, true), SP_STATE_RUNNING);
	cr_assert(sp_symbols_new(&symbols, root, NULL) == 0);
	p = load(symbols);
	expect_collapsed(p, NULL, "[libc.so.6] 1\nmalloc 1\n");
	sp_profile_free(p);
	sp_symbols_free(symbols);
	sp_symtab_free(t);
}

Test(load, damage_gives_what_can_be_read_or_a_sentence)
{
	struct sp_profile *p = NULL;
	struct sp_err err = {""};

	sp_jfrw_sample(w, 1, 0, java_stack("a/A", "run"), SP_STATE_RUNNING);
	sp_profile_free(load(NULL));
	for (off_t n = lseek(fd, 0, SEEK_END); n >= 0; n -= 3) {
		cr_assert(ftruncate(fd, n) == 0 && lseek(fd, 0, SEEK_SET) == 0);
		p = NULL;
		if (sp_load(fd, NULL, &p, &err) == 0)
			sp_profile_free(p);
		else
			cr_assert(err.text[0], "at %ld", (long)n);
	}
}

/* Appends the recording of one stack of a method called @name to @to, and starts a new one. */
static void append_recording(int to, const char *name)
{
	uint8_t data[65536];
	ssize_t n;

	setting("event", "cpu");
	setting("interval", "1");
	sp_jfrw_sample(w, 1, 0, java_stack("a/A", name), SP_STATE_RUNNING);
	cr_assert(sp_jfrw_close(w) == 0);
	n = pread(fd, data, sizeof(data), 0);
	cr_assert(n > 0 && n < (ssize_t)sizeof(data) && write(to, data, (size_t)n) == n);
	teardown();
	setup();
}

Test(load, equal_keys_and_bytes_of_other_methods_are_other_stacks)
{
	static const char *const names[] = {"one", "one", "two", "one"};
	int joined = memfd_create("joined", MFD_CLOEXEC);
	struct sp_profile *p = NULL;

	for (size_t i = 0; i < SP_COUNT(names); i++)
		append_recording(joined, names[i]);
	cr_assert(lseek(joined, 0, SEEK_SET) == 0 && sp_load(joined, NULL, &p, NULL) == 0);
	expect_collapsed(p, NULL, "a/A.one 3\na/A.two 1\n");
	sp_jfrw_close(w);
	sp_profile_free(p);
	close(joined);
}

Test(load, profiles_of_one_dictionary_merge_without_new_ids)
{
	static const char *const names[] = {"one", "two", "one"};
	struct sp_profile *sum = NULL;

	for (size_t i = 0; i < SP_COUNT(names); i++) {
		int one = memfd_create("one", MFD_CLOEXEC);
		struct sp_load_opts opts = {.dict = sum ? sum->dict : NULL};
		struct sp_profile *p = NULL;
		uint32_t stacks;

		append_recording(one, names[i]);
		cr_assert(lseek(one, 0, SEEK_SET) == 0);
		cr_assert(sp_load_with(one, &opts, NULL, &p, NULL) == 0);
		close(one);
		if (!sum) {
			sum = p;
			continue;
		}
		stacks = sp_dict_stacks(p->dict);
		cr_expect_eq(p->dict, sum->dict);
		cr_assert(sp_profile_merge(sum, p) == 0);
		cr_expect_eq(sp_dict_stacks(sum->dict), stacks);
		sp_profile_free(p);
	}
	cr_expect_eq(sp_dict_stacks(sum->dict), 2);
	expect_collapsed(sum, NULL, "a/A.one 2\na/A.two 1\n");
	sp_jfrw_close(w);
	sp_profile_free(sum);
}

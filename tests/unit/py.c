/* The reader of CPython's memory, without a Python: recorded memory of each version, whole,
 * changing and damaged (tests/kit/pymem_record.c makes it of tests/python/targets/where.py). */
#include "base/clock.h"
#include "prof/load/load.h"
#include "py/code_lines.h"
#include "py/find_runtime.h"
#include "py/pyspark_task.h"
#include "py/stack_internal.h"
#include "py_kit.h"
#include "pysample/py_record.h"
#include "pysample/py_worker.h"
#include "python/py_stops.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

Test(py, each_version_has_its_threads_functions_and_lines)
{
	static struct sp_pystack s;

	for (unsigned minor = SP_PY_OLDEST; minor <= SP_PY_NEWEST; minor++) {
		struct memory m = memory_load(minor);
		struct sp_pyreader r;

		cr_assert_eq(memory_begin(&r, &m), 0, "3.%u", minor);
		for (int again = 0; again < 3; again++) {
			cr_assert_eq(sp_pyreader_threads(&r), 0, "3.%u", minor);
			cr_assert_eq(r.thread_count, 2);
			cr_assert_eq(sp_pyreader_stack(&r, 0, &s), 0);
			cr_assert_eq(s.count, 1);
			cr_assert_str_eq(s.frames[0].code->name, "second");
			cr_assert_eq(s.frames[0].line, 28);
			cr_assert_eq(sp_pyreader_stack(&r, 1, &s), 0, "3.%u", minor);
			cr_assert(!s.partial && !s.truncated);
			check_main(&s, minor, 0);
		}
		cr_assert_neq(r.threads[0].tid, r.threads[1].tid);
		sp_pyreader_done(&r);
		free(m.blocks);
	}
}

/* Calls that one look takes: threads and both stacks. */
static size_t calls_of_a_look(struct sp_pyreader *r, struct memory *m, bool ahead)
{
	enum { MANY = 1000000 };
	static struct sp_pystack s;

	m->reads_left = MANY;
	if (ahead)
		sp_pyreader_ahead(r);
	cr_assert_eq(sp_pyreader_threads(r), 0);
	cr_assert_eq(sp_pyreader_stack(r, 0, &s), 0);
	cr_assert_str_eq(s.frames[0].code->name, "second");
	cr_assert_eq(sp_pyreader_stack(r, 1, &s), 0);
	check_main(&s, (unsigned)m->minor, 0);
	if (ahead)
		sp_pyreader_ahead_end(r);
	return MANY - m->reads_left;
}

Test(py, what_was_read_the_last_time_is_read_in_one_call)
{
	for (unsigned minor = SP_PY_OLDEST; minor <= SP_PY_NEWEST; minor++) {
		struct memory m = memory_load(minor);
		struct sp_pyreader r;

		cr_assert_eq(memory_begin(&r, &m), 0);
		for (int i = 0; i < 3; i++)
			calls_of_a_look(&r, &m, true);
		cr_expect_eq(calls_of_a_look(&r, &m, true), 1, "3.%u", minor);
		cr_expect_eq(calls_of_a_look(&r, &m, true), 1, "3.%u", minor);
		cr_expect_geq(calls_of_a_look(&r, &m, false), 5, "3.%u", minor);
		sp_pyreader_done(&r);
		free(m.blocks);
	}
}

/* Memory of numbers: a call counts up, so that who reads sees by which call it was read. */
static int read_number(void *ctx, const struct sp_pyspan *spans, size_t n)
{
	unsigned *calls = ctx;

	++*calls;
	for (size_t i = 0; i < n; i++)
		memset(spans[i].to, (int)*calls, spans[i].len);
	return (int)n;
}

Test(py, what_is_asked_for_otherwise_is_read_then)
{
	static uint8_t room[SP_PYAHEAD_BYTES];
	unsigned calls = 0;
	struct sp_pyahead a = {.from = {read_number, &calls}};
	uint8_t x[4][16];
	const struct sp_pyspan copies[] = {
		{16, x[0], 8}, {64, x[1], 16}, {16, x[2], 8}, {64, x[3], 16}};
	const struct sp_pyspan other[] = {
		{16, x[0], 8}, {80, x[1], 16}, {16, x[2], 8}, {80, x[3], 16}};
	const struct sp_pyspan heads[] = {{128, x[0], 8}, {256, x[1], 8}, {512, x[2], 8}};
	const struct sp_pyspan called[] = {{384, x[0], 8}, {256, x[1], 8}, {512, x[2], 8}};

	for (int look = 0; look < 2; look++) {
		sp_pyahead_begin(&a, room);
		cr_expect_eq(sp_pyahead_read(&a, copies, 4), 4);
		cr_expect_eq(sp_pyahead_read(&a, heads, 3), 3);
		sp_pyahead_end(&a);
	}
	cr_expect_eq(calls, 3); /* two, and one ahead of the second look */

	sp_pyahead_begin(&a, room);
	sp_pyahead_read(&a, copies, 4);
	cr_expect_eq(x[3][0], 4);
	sp_pyahead_read(&a, called, 3); /* another function on top: that alone is read */
	cr_expect(x[0][0] == 5 && x[1][0] == 4 && x[2][0] == 4);
	sp_pyahead_read(&a, copies, 4); /* once more: as it is now */
	cr_expect_eq(x[0][0], 6);
	sp_pyahead_end(&a);

	sp_pyahead_begin(&a, room);
	cr_expect_eq(calls, 7);
	sp_pyahead_read(&a, other, 4); /* moved: what comes behind it must not be older */
	cr_expect(x[0][0] == 8 && x[1][0] == 8 && x[3][0] == 8);
	sp_pyahead_read(&a, called, 3);
	cr_expect(x[0][0] == 9 && x[2][0] == 9);
	sp_pyahead_end(&a);
	sp_pyahead_read(&a, copies, 4);
	cr_expect_eq(x[0][0], 10);
	sp_pyahead_done(&a);
}

/* One reading of everything, with whatever is there. */
static void read_all(struct memory *m)
{
	static struct sp_pystack s;
	struct sp_pytask_place place = {0};
	struct sp_pytask task;
	struct sp_pyreader r;

	if (memory_begin(&r, m) == 0 && sp_pyreader_threads(&r) == 0) {
		for (size_t i = 0; i < r.thread_count && i < 8; i++) {
			if (sp_pyreader_stack(&r, i, &s) < 0)
				continue;
			cr_assert_leq(s.count, SP_PY_DEPTH_MAX);
			for (uint32_t k = 0; k < s.count; k++)
				cr_assert(s.frames[k].code->name && s.frames[k].code->file);
		}
		sp_pyreader_gil(&r);
		if (sp_pytask_find(&r, &place) == 0)
			sp_pytask_read(&r, &place, &task);
		for (size_t i = 1; i < place.known.count; i++) /* neighbours are one place */
			cr_assert_lt(place.known.reads[i - 1].addr, place.known.reads[i].addr);
	}
	sp_pyreader_done(&r);
}

static uint64_t random_word(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 16;
}

/* Words become other words of that memory (pointers to the wrong thing, loops), or anything. */
static void damage(struct memory *m, uint64_t *seed)
{
	unsigned n = 1 + random_word(seed) % 4;

	while (n--) {
		struct block *to = &m->blocks[random_word(seed) % m->count];
		struct block *from = &m->blocks[random_word(seed) % m->count];
		uint64_t at = random_word(seed) % (BLOCK / 8) * 8, word = random_word(seed);

		switch (word % 4) {
		case 0:
			word = from->addr + at;
			break;
		case 1:
			memcpy(&word, from->bytes + random_word(seed) % (BLOCK / 8) * 8, 8);
			break;
		case 2:
			word = random_word(seed) << 20 ^ random_word(seed);
			break;
		default:
			word = to->bytes[at] ^ 1u << random_word(seed) % 31;
		}
		memcpy(to->bytes + at, &word, 8);
	}
}

Test(py, damaged_memory_is_read_in_bounds_and_to_an_end)
{
	uint64_t seed = 42;

	for (unsigned minor = SP_PY_OLDEST; minor <= SP_PY_NEWEST; minor++) {
		struct memory whole = memory_load(minor), m = whole;

		m.blocks = calloc(whole.count, sizeof(*m.blocks));
		for (int i = 0; i < 150; i++) {
			memcpy(m.blocks, whole.blocks, whole.count * sizeof(*m.blocks));
			m.bytes = 0;
			damage(&m, &seed);
			read_all(&m);
			cr_assert_lt(m.bytes, 200u << 20, "3.%u: run %d", minor, i);
		}
		free(m.blocks);
		free(whole.blocks);
	}
}

Test(py, memory_that_ends_anywhere_is_read_in_bounds)
{
	for (unsigned minor = SP_PY_OLDEST; minor <= SP_PY_NEWEST; minor++) {
		struct memory m = memory_load(minor);

		for (; m.count > 0; m.count--)
			read_all(&m);
		free(m.blocks);
	}
}

Test(py, lines_by_the_tables_of_each_version)
{
	static const uint8_t lnotab[] = {0, 1, 6, 2, 8, 0xff};
	static const uint8_t pairs[] = {6, 1, 4, 0x80, 8, 2};
	/* two instructions no line moved; no columns, +3; long, -1; no location */
	static const uint8_t places[] = {
		0x80 | 1, 0x10, 0x80 | 13 << 3, 6, 0x80 | 14 << 3, 3, 0, 0, 0, 0x80 | 15 << 3 | 2};
	static const struct {
		unsigned minor;
		const uint8_t *table;
		size_t len;
		int64_t at;
		int line;
	} cases[] = {
		{8, lnotab, sizeof(lnotab), 0, 11},
		{8, lnotab, sizeof(lnotab), 5, 11},
		{9, lnotab, sizeof(lnotab), 6, 13},
		{9, lnotab, sizeof(lnotab), 100, 12},
		{9, lnotab, sizeof(lnotab), -1, 10},
		{10, pairs, sizeof(pairs), 0, 11},
		{10, pairs, sizeof(pairs), 7, 11},
		{10, pairs, sizeof(pairs), 10, 13},
		{11, places, sizeof(places), 0, 10},
		{12, places, sizeof(places), 3, 10},
		{13, places, sizeof(places), 4, 13},
		{14, places, sizeof(places), 6, 12},
		{14, places, sizeof(places), 9, 12},
		{14, places, 0, 9, 10},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_assert_eq(
			sp_pyline(cases[i].minor, cases[i].table, cases[i].len, 10, cases[i].at),
			cases[i].line, "case %zu", i);
	for (size_t len = 0; len <= sizeof(places); len++)
		sp_pyline(11, places, len, 10, 1000);
}

Test(py, versions_by_paths)
{
	cr_assert_eq(sp_pyruntime_version("/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0"), 11);
	cr_assert_eq(sp_pyruntime_version("/opt/conda/bin/python3.8"), 8);
	cr_assert_eq(sp_pyruntime_version("/x/_json.cpython-312-x86_64-linux-gnu.so"), 12);
	cr_assert_eq(sp_pyruntime_version("/x/_json.cpython-39-x86_64-linux-gnu.so"), 9);
	cr_assert_eq(sp_pyruntime_version("/usr/bin/python3"), 0);
	cr_assert_eq(sp_pyruntime_version("/usr/bin/java"), 0);
}

Test(py, unknown_versions_and_strangers_are_refused)
{
	struct memory m = memory_load(13);
	struct sp_pymem mem = {memory_read, &m};
	struct sp_pylayout l;

	cr_assert_eq(sp_pylayout_get(&mem, m.runtime, 7, &l), -ENOTSUP);
	cr_assert_eq(sp_pylayout_get(&mem, m.runtime, 15, &l), -ENOTSUP);
	cr_assert_eq(sp_pylayout_get(&mem, m.runtime, 14, &l), -EBADMSG); /* it says 3.13 */
	cr_assert_eq(sp_pylayout_get(&mem, m.runtime + 8, 13, &l), -EBADMSG);
	free(m.blocks);
}

Test(py, files_without_what_is_before_their_package)
{
	static const char *const cases[][2] = {
		{"/usr/lib/python3/dist-packages/pyspark/worker.py", "pyspark/worker.py"},
		{"/opt/x/lib/python3.11/site-packages/pandas/core/frame.py",
			"pandas/core/frame.py"},
		{"/opt/x/lib/python3.11/json/decoder.py", "json/decoder.py"},
		{"/opt/spark/python/lib/pyspark.zip/pyspark/serializers.py",
			"pyspark/serializers.py"},
		{"/opt/spark/python/pyspark/serializers.py", "pyspark/serializers.py"},
		{"/home/me/job.py", "job.py"},
		{"<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>"},
		{"<stdin>", "<stdin>"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_assert_str_eq(sp_pyrecord_file(cases[i][0]), cases[i][1]);
}

/* A look that comes late on a busy machine, at a short interval: all of the CPU time counts. */
Test(py, no_cpu_time_is_dropped_however_late_a_look_comes)
{
	struct sp_pyrecord_cfg cfg = {.event = "cpu", .cpu_ns = 200000};
	struct sp_pyworker_thread t = {.thread = 1};
	struct sp_pysampling s = {.cpu_ns = cfg.cpu_ns};
	struct sp_err err;

	cfg.fd = memfd_create("py", 0);
	cr_assert_eq(sp_pyrecord_open(&s.record, &cfg, &err), 0);
	sp_pyworker_cpu(&t, &s, sp_clock_mono_ns(), 150000000, 1, true);
	cr_expect_eq(s.samples, 750);
	sp_pyworker_cpu(&t, &s, sp_clock_mono_ns(), 3000000000, 1, true);
	sp_pyworker_cpu(&t, &s, sp_clock_mono_ns(), 0, 1, true);
	cr_expect_eq(s.samples, 15750);
	cr_assert_eq(sp_pyrecord_close(s.record, &err), 0);
	close(cfg.fd);
}

/* Whoever called frames that changed did not run: it must not become a hot method. */
Test(py, newest_frames_that_are_missing_are_a_leaf_and_counted)
{
	static struct sp_pystack s;
	struct sp_pycode manager = {.name = "manager", .file = "pyspark/daemon.py"};
	struct sp_pyrecord_cfg cfg = {.event = "cpu", .cpu_ns = 10000000};
	struct sp_pyrecord *r;
	struct sp_profile *p;
	uint32_t whole, partial, thread, leaves = 0;
	struct sp_err err;

	cfg.fd = memfd_create("py", 0);
	cr_assert_eq(sp_pyrecord_open(&r, &cfg, &err), 0);
	thread = sp_pyrecord_thread(r, 7, "w", SP_PYTHON_THREAD_WORKER);
	s = (struct sp_pystack){.frames = {{&manager, 5, false}}, .count = 1};
	whole = sp_pyrecord_stack(r, &s, 100);
	s.partial = true;
	partial = sp_pyrecord_stack(r, &s, 100);
	cr_assert(whole && partial && whole != partial);
	for (int i = 0; i < 3; i++)
		sp_pyrecord_cpu(r, sp_clock_mono_ns(), thread, i ? partial : whole);
	cr_assert_eq(sp_pyrecord_close(r, &err), 0);
	cr_assert_eq(lseek(cfg.fd, 0, SEEK_SET), 0);
	cr_assert_eq(sp_load(cfg.fd, NULL, &p, &err), 0);
	cr_assert_eq(p->samples, 3);
	cr_assert_eq(p->truncated, 2);
	cr_assert_eq(sp_python_thread_of(p->dict, p->rows[0].thread), SP_PYTHON_THREAD_WORKER);
	for (size_t i = 0; i < p->row_count; i++) {
		const struct sp_stack *st = sp_dict_get_stack(p->dict, p->rows[i].stack);
		const struct sp_method *m = sp_dict_get_method(p->dict, st->frames[0].method);

		cr_assert(!st->truncated);
		if (strcmp(sp_dict_get_string(p->dict, m->name_id, NULL), "[frames not read]") == 0)
			leaves += p->rows[i].count;
	}
	cr_assert_eq(leaves, 2);
	sp_profile_free(p);
	close(cfg.fd);
}

static int no_memory(void *ctx, const struct sp_pyspan *spans, size_t n)
{
	return -ESRCH;
}

/* With --native and --blocking a stack that native frames were not to be had of is read stopped. */
Test(py, stops_with_and_without_native_frames_are_added)
{
	static struct sp_pystack room;
	static struct sp_pyworker w;
	struct sp_pysampling s = {.stack = &room};
	struct sp_pystops stops;
	pid_t child = fork();
	bool mixed = true;

	if (child == 0)
		for (;;)
			;
	cr_assert(child > 0);
	sp_pystops_init(&stops, false, true);
	w.pid = child;
	w.reader.threads = calloc(1, sizeof(*w.reader.threads));
	w.reader.thread_count = 1;
	w.reader.heap.mem.read = no_memory;
	stops.way.read(stops.way.ctx, &w, 0, child, &s, &mixed);
	cr_assert(w.way && !mixed && stops.sum.count == 0);
	stops.way.gone(stops.way.ctx, &w);
	cr_assert(!w.way && stops.sum.count + stops.unstopped == 1);
	sp_pyreader_done(&w.reader);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

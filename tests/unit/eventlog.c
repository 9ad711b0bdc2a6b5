/* Event logs of Spark: JSON text, the packings of its codecs, whole, cut at every byte and damaged
 * at random, and what becomes of them in a profile. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "in/eventlog.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_reader.h"
#include "in/decompress.h"
#include "out/stage_table.h"
#include "prof/model/tasks.h"
#include "sample_profile.h"

static struct sp_json_reader json(const char *s)
{
	return sp_json_reader_value(s, s + strlen(s));
}

Test(jsontext, finds_values_where_they_stand)
{
	struct sp_json_reader e = json(
		" {\"a\": {\"b\":[1, \"x\", {\"c\":-7}]}, \"t\":\"q\\\"\\u00e9\\ud83d\\ude00\\n\", "
		"\"n\":\"12\",\"e\":[]}");
	struct sp_json_reader list = sp_json_reader_get(sp_json_reader_get(e, "a"), "b");
	SP_AUTO_FREE char *text = sp_json_reader_text(sp_json_reader_get(e, "t"));
	size_t at = 0, none = 0;

	cr_expect_eq(sp_json_reader_int(sp_json_reader_next(list, &at), 0), 1);
	cr_expect_null(sp_json_reader_next(sp_json_reader_get(e, "e"), &none).p);
	sp_json_reader_next(list, &at);
	cr_expect_eq(
		sp_json_reader_int(sp_json_reader_get(sp_json_reader_next(list, &at), "c"), 0), -7);
	cr_expect_null(sp_json_reader_next(list, &at).p);
	cr_expect_str_eq(text, "q\"é😀\n");
	cr_expect_eq(sp_json_reader_int(sp_json_reader_get(e, "n"), 0), 12);
	cr_expect_null(sp_json_reader_get(e, "z").p);
	cr_expect_null(sp_json_reader_text(sp_json_reader_get(e, "a")));
}

Test(jsontext, broken_text_has_no_values)
{
	static const char whole[] =
		"{\"a\":{\"b\":[1,\"x\\u00e9\",{\"c\":-7}]},\"t\":\"\\ud83d\\ude00\"}";

	for (size_t n = 0; n < strlen(whole); n++) {
		SP_AUTO_FREE char *cut = strndup(whole, n);
		struct sp_json_reader v = sp_json_reader_value(cut, cut + n);
		SP_AUTO_FREE char *text = sp_json_reader_text(sp_json_reader_get(v, "t"));

		cr_expect_null(v.p);
		cr_expect_null(text);
	}
	cr_expect_null(json("}").p);
	cr_expect_null(json("").p);
}

/* Unpacks to a C string; NULL: refused. */
static char *unpacked(const void *data, size_t n, int *ret)
{
	int fd = memfd_create("out", MFD_CLOEXEC);
	char *s = calloc(1, 1 << 16);
	struct sp_err err = {0};

	*ret = sp_decompress(data, n, fd, &err);
	cr_assert(*ret == 0 || (*ret == -EBADMSG && err.text[0]), "%d", *ret);
	cr_assert(pread(fd, s, (1 << 16) - 1, 0) >= 0);
	close(fd);
	return s;
}

static void add32(struct sp_buf *b, uint32_t v, bool big)
{
	for (int i = 0; i < 4; i++)
		sp_buf_addc(b, (char)(v >> 8 * (big ? 3 - i : i)));
}

static void lz4_block(struct sp_buf *b, char method, const char *packed, size_t n, uint32_t whole)
{
	sp_buf_adds(b, "LZ4Block");
	sp_buf_addc(b, method);
	add32(b, (uint32_t)n, false);
	add32(b, whole, false);
	add32(b, 0, false);
	sp_buf_add(b, packed, n);
}

static void make_lz4(struct sp_buf *b)
{
	/* "abcd" and 8 more of it, then five literals; a raw block; the end mark */
	lz4_block(b, 0x20,
		"\x44"
		"abcd"
		"\x04\x00"
		"\x50"
		"vwxyz",
		13, 17);
	lz4_block(b, 0x10, "raw", 3, 3);
	lz4_block(b, 0x10, "", 0, 0);
}

static void make_snappy(struct sp_buf *b)
{
	sp_buf_add(b, "\x82SNAPPY\0", 8);
	add32(b, 1, true);
	add32(b, 1, true);
	add32(b, 12, true);
	/* 17 bytes: 4 literals, a copy of 8 from 4 back, 5 literals */
	sp_buf_add(b,
		"\x11"
		"\x0c"
		"abcd"
		"\x11\x04"
		"\x00"
		"v"
		"\x00"
		"w",
		12);
	b->data[b->len - 12] = 14;
	add32(b, 5, true);
	sp_buf_add(b,
		"\x03\x08"
		"raw",
		5);
}

static void make_zstd(struct sp_buf *b)
{
	static const char text[] = "abcdabcdabcdvwxyzraw";

	b->len += ZSTD_compress(sp_buf_reserve(b, 256), 256, text, strlen(text), 3);
}

Test(unpack, what_sparks_codecs_write)
{
	static const struct {
		void (*make)(struct sp_buf *b);
		const char *text;
	} cases[] = {{make_lz4, "abcdabcdabcdvwxyzraw"}, {make_snappy, "abcdabcdabcdvwraw"},
		{make_zstd, "abcdabcdabcdvwxyzraw"}};

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		SP_AUTO_BUF struct sp_buf b = {0};
		SP_AUTO_FREE char *whole = NULL;
		int r;

		cases[i].make(&b);
		whole = unpacked(b.data, b.len, &r);
		cr_expect_eq(r, 0, "%zu", i);
		cr_expect_str_eq(whole, cases[i].text);
		for (size_t n = 8; n < b.len; n++) {
			SP_AUTO_FREE void *cut = memcpy(malloc(n), b.data, n);
			SP_AUTO_FREE char *text = unpacked(cut, n, &r);

			cr_expect_eq(strncmp(text, cases[i].text, strlen(text)), 0);
		}
		for (int k = 0; k < 300; k++) {
			SP_AUTO_FREE uint8_t *bad = memcpy(malloc(b.len), b.data, b.len);

			bad[8 + (size_t)rand() % (b.len - 8)] = (uint8_t)rand();
			free(unpacked(bad, b.len, &r));
		}
	}
}

static int read_log(const char *text, struct sp_stage_names *names, struct sp_err *err)
{
	int fd = memfd_create("log", MFD_CLOEXEC), r;
	char path[32];

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = sp_eventlog_read(path, names, err);
	close(fd);
	return r;
}

#define STAGE(kind, id, attempt, name)                                                \
	"{\"Event\":\"SparkListenerStage" kind "\",\"Stage Info\":{\"Stage ID\":" #id \
	",\"Stage Attempt ID\":" #attempt ",\"Stage Name\":\"" name "\"}}\n"

static const char log_text[] =
	"{\"Event\":\"SparkListenerApplicationStart\",\"App Name\":\"x\",\"App ID\":\"app-1\"}\n"
	"{\"Event\":\"SparkListenerJobStart\",\"Job ID\":4,\"Stage IDs\":[7,8],\"Properties\":"
	"{\"spark.sql.execution.id\":\"12\",\"spark.job.description\":\"the join\"}}\n"
	"{\"Event\":\"SparkListenerJobStart\",\"Job ID\":5,\"Stage "
	"IDs\":[8,9],\"Properties\":{}}\n" STAGE("Submitted", 7, 0, "count at A.scala:1")
		STAGE("Completed", 7, 1,
			"count again") "{\"Event\":\"SparkListenerTaskEnd\",\"Stage ID\":7";

#define TASK(kind, id, launch, finish, failed)                                                    \
	"{\"Event\":\"SparkListenerTask" kind "\",\"Stage ID\":7,\"Stage Attempt ID\":0,"         \
	"\"Task Info\":{\"Task ID\":" #id ",\"Launch Time\":" #launch ",\"Finish Time\":" #finish \
	",\"Failed\":" #failed ",\"Killed\":false}}\n"

Test(eventlog, knows_when_tasks_ran)
{
	static const char text[] = TASK("Start", 1, 1000, 0, false) TASK("Start", 2, 1000, 0, false)
		TASK("Start", 3, 1000, 0, false) TASK("End", 2, 1000, 1300, false)
			TASK("End", 3, 1000, 9000, true) TASK("Start", 4, 1400, 0, false)
				TASK("End", 4, 1400, 1900, false);
	struct sp_stage_names names = {0};
	struct sp_profile *p = sample_profile();
	struct sp_err err;
	uint32_t missing;

	p->task_count = 0;
	cr_assert_eq(read_log(text, &names, &err), 0, "%s", err.text);
	for (int i = 1; i <= 5; i++)
		cr_assert_eq(
			sp_profile_add_task(p, &(struct sp_task_run){.name = {i, 7, 0, 0, 0}}), 0);
	cr_assert(sp_stage_names_apply(&names, p, &missing) >= 0);
	cr_expect_eq(p->tasks[0].launch_ns, 1000000000);
	cr_expect_eq(p->tasks[0].finish_ns, 0);
	cr_expect_eq(p->tasks[1].finish_ns, 1300000000);
	cr_expect_eq(p->tasks[4].launch_ns, 0);
	cr_expect_eq(p->stages[0].finished, 2, "one runs, one failed");
	cr_expect_eq(p->stages[0].median_ns, 500000000);
	sp_profile_free(p);
	sp_stage_names_done(&names);
}

Test(eventlog, names_stages_of_the_same_application)
{
	struct sp_stage_names names = {0};
	struct sp_profile *p = sample_profile();
	const struct sp_stage *s;
	struct sp_err err;
	uint32_t missing;

	cr_assert_eq(read_log(log_text, &names, &err), 0, "%s", err.text);
	cr_expect_str_eq(names.app_id, "app-1");
	for (int i = 0; i < 3; i++) {
		struct sp_task_run t = {
			.name = {i, 7 + i, 0, 0, 0}, .app = sp_dict_string(p->dict, "app-1", 5)};

		cr_assert_eq(sp_profile_add_task(p, &t), 0);
	}
	cr_assert_eq(sp_stage_names_apply(&names, p, &missing), 3);
	cr_expect_eq(missing, 2, "jobs tell of them, nothing else does");
	s = sp_profile_find_stage(p, p->tasks[0].app, 7, 0);
	cr_assert(s);
	cr_expect_eq(s->job, 4);
	cr_expect_eq(s->sql, 12);
	cr_expect_str_eq(sp_dict_get_string(p->dict, s->name, NULL), "count at A.scala:1");
	cr_expect_str_eq(sp_dict_get_string(p->dict, s->description, NULL), "the join");
	cr_expect_str_eq(sp_stage_table_name(p, &(struct sp_stage_row){.about = s}), "the join");
	s = sp_profile_find_stage(p, p->tasks[0].app, 8, 0);
	cr_expect_eq(s->job, 4, "the first job ran it");
	p->task_count = 0;
	cr_assert_eq(sp_profile_add_task(p, &(struct sp_task_run){.name = {9, 7, 0, 0, 0},
						    .app = sp_dict_string(p->dict, "other", 5)}),
		0);
	cr_expect_eq(sp_stage_names_apply(&names, p, &missing), 0, "another application's");
	cr_expect_eq(missing, 0);
	sp_profile_free(p);
	sp_stage_names_done(&names);
}

/* Tasks of both attempts follow each other on a thread. */
Test(eventlog, names_each_attempt_of_a_stage)
{
	struct sp_profile *p = sample_profile();
	struct sp_stage_names names = {0};
	struct sp_err err;
	uint32_t missing;

	cr_assert_eq(read_log(log_text, &names, &err), 0, "%s", err.text);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(
			sp_profile_add_task(p, &(struct sp_task_run){.name = {i, 7, i, 0, 0}}), 0);
	cr_assert_eq(sp_stage_names_apply(&names, p, &missing), 2);
	cr_expect_eq(missing, 0);
	for (int i = 0; i < 2; i++) {
		const struct sp_stage *s = sp_profile_find_stage(p, 0, 7, i);

		cr_assert(s);
		cr_expect_str_eq(sp_dict_get_string(p->dict, s->name, NULL),
			i ? "count again" : "count at A.scala:1");
	}
	sp_profile_free(p);
	sp_stage_names_done(&names);
}

#define NODE(name, children) \
	"{\"nodeName\":\"" name "\",\"simpleString\":\"\",\"children\":[" children "]}"
#define PLAN(kind, children)                                                   \
	"{\"Event\":\"org.apache.spark.sql.execution.ui.SparkListenerSQL" kind \
	"\",\"executionId\":12,\"sparkPlanInfo\":" NODE("AdaptiveSparkPlan", children) "}\n"

/* Numbers of generated classes are in the plan that runs; a subquery has its own, from 1 on. */
Test(eventlog, knows_what_is_fused_into_generated_code)
{
	static const char text[] = PLAN("ExecutionStart", NODE("HashAggregate", "")) PLAN(
		"AdaptiveExecutionUpdate",
		NODE("WholeStageCodegen (9)", NODE("Sort", ""))) PLAN("AdaptiveExecutionUpdate",
		NODE("WholeStageCodegen (3)",
			NODE("HashAggregate",
				NODE("Project",
					NODE("SortMergeJoin",
						NODE("InputAdapter",
							NODE("Exchange",
								NODE("WholeStageCodegen (1)",
									NODE("Filter",
										"")))) "," NODE("In"
												"pu"
												"tA"
												"da"
												"pt"
												"e"
												"r",
							NODE("WholeStageCodegen (2)",
								NODE("Scan parquet a.b",
									""))))))) "," NODE("WholeSt"
											   "ageCode"
											   "gen "
											   "(1)",
			NODE("Range", "")));
	struct sp_stage_names names = {0};
	struct sp_profile *p = sample_profile();
	const struct sp_stage *s;
	struct sp_err err;
	uint32_t missing;

	cr_assert_eq(read_log(log_text, &names, &err), 0, "%s", err.text);
	cr_assert_eq(read_log(text, &names, &err), 0, "%s", err.text);
	cr_assert_eq(sp_profile_add_task(p, &(struct sp_task_run){.name = {0, 7, 0, 0, 0}}), 0);
	cr_assert(sp_stage_names_apply(&names, p, &missing) > 0);
	s = sp_profile_find_stage(p, 0, 7, 0);
	cr_assert(s);
	cr_expect_str_eq(sp_dict_get_string(p->dict, s->pipelines, NULL),
		"1 \n2 Scan\n3 HashAggregate ← Project ← SortMergeJoin\n");
	sp_profile_free(p);
	sp_stage_names_done(&names);
}

/* A cut stream gives what it has whole, and that is said. */
Test(eventlog, cut_ones_are_known_as_such)
{
	static const char end[] = "{\"Event\":\"SparkListenerApplicationEnd\"}\n";
	char path[32], text[sizeof(log_text) + sizeof(end)], packed[4096];
	size_t n;

	snprintf(text, sizeof(text), "%s\n%s", log_text, end);
	n = ZSTD_compress(packed, sizeof(packed), text, strlen(text), 3);
	cr_assert(!ZSTD_isError(n));
	for (int whole = 0; whole < 2; whole++) {
		int fd = memfd_create("log", MFD_CLOEXEC), r;
		struct sp_stage_names names = {0};
		struct sp_err err = {0};

		cr_assert(write(fd, packed, whole ? n : n - 1) > 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		r = sp_eventlog_read(path, &names, &err);
		close(fd);
		cr_expect_eq(names.cut, !whole);
		cr_expect(r == 0 ? names.ended == whole
				 : !whole && strstr(err.text, "is cut or damaged before"),
			"%d %s", r, err.text);
		sp_stage_names_done(&names);
	}
}

Test(eventlog, what_is_none_is_refused)
{
	struct sp_stage_names names = {0};
	struct sp_err err;

	cr_expect_eq(read_log("hello\n", &names, &err), -EBADMSG);
	cr_expect(strstr(err.text, "not an event log of Spark"), "%s", err.text);
	cr_expect_eq(sp_eventlog_read("/proc/self/no-such-log", &names, &err), -ENOENT);
	cr_expect_eq(sp_eventlog_read("/proc/self/fd", &names, &err), -EBADMSG);
	sp_stage_names_done(&names);
}

/* Blocks of 128 KiB of one byte, in four bytes each. */
Test(unpack, what_is_made_to_fill_the_disk_is_not_unpacked)
{
	SP_AUTO_BUF struct sp_buf b = {0};
	SP_AUTO_CLOSE int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct sp_err err = {""};

	sp_buf_add(&b, "\x28\xb5\x2f\xfd\0\x38", 6);
	for (int i = 0; i < 10000; i++)
		sp_buf_add(&b, "\x02\x00\x10x", 4);
	cr_expect_eq(sp_decompress((const uint8_t *)b.data, b.len, null, &err), -EFBIG);
	cr_expect(strstr(err.text, "more than 1000 times its size"), "%s", err.text);
}

Test(eventlog, a_pipe_among_its_parts_is_not_waited_for)
{
	char dir[] = "/tmp/unit-eventlog-XXXXXX", part[64];
	struct sp_stage_names names = {0};
	struct sp_err err = {""};

	cr_assert(mkdtemp(dir));
	snprintf(part, sizeof(part), "%s/events_1_app-1", dir);
	cr_assert_eq(mkfifo(part, 0600), 0);
	cr_expect_eq(sp_eventlog_read(dir, &names, &err), -EINVAL);
	cr_expect(strstr(err.text, "is not a file"), "%s", err.text);
	sp_stage_names_done(&names);
	unlink(part);
	rmdir(dir);
}

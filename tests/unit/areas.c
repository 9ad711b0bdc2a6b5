/* Areas of work: by the frames of a stack, by a user's file, and the patterns of our own tables. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "prof/model/glob.h"
#include "prof/spark/area.h"
#include "sample_profile.h"

Test(match, in_our_own_tables_a_star_may_be_anywhere)
{
	static const struct {
		const char *pattern, *name;
		bool want;
	} cases[] = {
		{"a/B*pill*", "a/B$Iterator.spill", true},
		{"a/B*pill*", "a/B$Iterator.read", false},
		{"a/B*pill*", "xa/B.spill", false},
		{"a/*Commit*", "a/FileCommitter.run", true},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "a-b-c-d", false},
		{"a*bc", "abc", true},
		{"ab*bc", "abc", false},
		{"a", "a", true},
		{"a", "ab", false},
		{"*", "", true},
		{"**", "x", true},
		{"*b", "b", true},
		{"*b", "", false},
	};

	for (size_t i = 0; i < SP_COUNT(cases); i++)
		cr_assert(sp_match_glob(cases[i].pattern, cases[i].name) == cases[i].want,
			"%s on %s", cases[i].pattern, cases[i].name);
}

Test(area, the_frame_nearest_to_the_leaf_decides)
{
	struct sp_profile *p = sample_profile();
	struct sp_areas *a;
	struct sp_frame_ref hash = java(p, "java/util/HashMap", "get", "", SP_FRAME_C2);
	struct sp_frame_ref shuffle =
		java(p, "org/apache/spark/shuffle/sort/Sorter", "sort", "", SP_FRAME_C2);
	struct sp_frame_ref mine = java(p, "com/acme/Job", "map", "", SP_FRAME_C2);
	struct sp_frame_ref jit = native(p, "libjvm.so", "CompileBroker::loop", SP_FRAME_CPP);
	struct sp_frame_ref k = native(p, "[kernel]", "do_futex", SP_FRAME_KERNEL);
	struct sp_frame_ref fusion = native(p, "libcomet.so",
		"_ZN24datafusion_physical_plan4sort3run17h0123456789abcdefE", SP_FRAME_NATIVE);
	struct sp_frame_ref lz4 = native(p, "libcomet.so",
		"_ZN8lz4_flex5block8compress17h0123456789abcdefE", SP_FRAME_NATIVE);
	struct sp_frame_ref rust =
		native(p, "libcomet.so", "_ZN5alloc3vec17h0123456789abcdefE", SP_FRAME_NATIVE);
	const struct {
		struct sp_frame_ref frames[3];
		uint32_t n;
		const char *want;
	} cases[] = {{{rust, fusion, mine}, 3, "native SQL"},
		{{rust, lz4, fusion}, 3, "compression"}, {{hash, shuffle, mine}, 3, "shuffle"},
		{{hash, mine, shuffle}, 3, "your code"}, {{jit}, 1, "JIT"}, {{k}, 1, "kernel"},
		{{hash}, 1, "other"}, {{hash}, 0, "other"}};

	cr_assert_eq(sp_areas_new(&a, NULL, NULL), 0);
	/* looked up each time; each frame once; and from what is known */
	for (int pass = 0; pass < 3; pass++) {
		if (pass == 1)
			cr_assert_eq(sp_areas_learn(a, p), 0);
		for (size_t i = 0; i < SP_COUNT(cases); i++)
			cr_expect_str_eq(sp_areas_get(a, sp_area_of_stack(a, p->dict,
								 cases[i].frames, cases[i].n))
						 ->name,
				cases[i].want);
	}
	sp_areas_free(a);
	sp_profile_free(p);
}

Test(area, libraries_are_nobodys_own_code)
{
	static const char *const cases[][3] = {
		/* leaf, caller, area */
		{"org/apache/logging/log4j/core/Logger", "org/apache/spark/storage/BlockManager",
			"Spark"},
		{"org/slf4j/Logger", "com/acme/Job", "your code"},
		{"org/apache/hadoop/security/UserGroupInformation",
			"org/apache/spark/deploy/SparkHadoopUtil", "HDFS/S3"},
		{"com/twitter/chill/KryoBase", "com/acme/Job", "serialisation"},
		{"org/apache/spark/network/util/JavaUtils",
			"org/apache/spark/sql/catalyst/expressions/GeneratedClass$X",
			"SQL codegen"},
		{"org/apache/spark/network/util/TransportConf", "com/acme/Job", "network"},
		{"com/acme/Json", "org/apache/spark/scheduler/Stage", "your code"},
		{"org/apache/comet/Native", "org/apache/spark/scheduler/Stage", "native SQL"},
		{"org/apache/comet/parquet/Native", "com/acme/Job", "Parquet/ORC"},
		{"org/apache/spark/sql/comet/execution/shuffle/SpillSorter", "com/acme/Job",
			"shuffle"},
		{"ai/rapids/cudf/Table", "com/nvidia/spark/rapids/GpuX", "native SQL"},
		{"com/fasterxml/jackson/core/json/ReaderBasedJsonParser",
			"org/apache/spark/sql/catalyst/json/JacksonParser", "JSON/CSV/XML"},
		{"java/util/regex/Matcher",
			"org/apache/spark/sql/catalyst/expressions/GeneratedClass$X",
			"regular expressions"},
		{"java/util/regex/Matcher", "com/acme/Job", "your code"},
		{"org/apache/spark/sql/execution/datasources/v2/WritingSparkTask",
			"org/apache/spark/scheduler/ResultTask", "Spark SQL"},
		{"org/apache/spark/sql/execution/datasources/jdbc/JDBCRDD",
			"org/apache/spark/scheduler/ResultTask", "Spark SQL"},
		{"org/apache/spark/sql/execution/datasources/parquet/VectorizedColumnReader",
			"org/apache/spark/scheduler/ResultTask", "Parquet/ORC"},
		{"org/apache/spark/sql/execution/datasources/v2/orc/OrcScan",
			"org/apache/spark/scheduler/ResultTask", "Parquet/ORC"},
		{"java/util/regex/Matcher", "java/lang/Thread", "regular expressions"},
		{"com/fasterxml/jackson/databind/ObjectMapper",
			"org/apache/spark/sql/execution/streaming/state/RocksDB", "state store"},
	};
	struct sp_profile *p = sample_profile();
	struct sp_areas *a;

	cr_assert_eq(sp_areas_new(&a, NULL, NULL), 0);
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		struct sp_frame_ref f[2] = {java(p, cases[i][0], "call", "()V", SP_FRAME_C2),
			java(p, cases[i][1], "run", "()V", SP_FRAME_C2)};

		cr_expect_str_eq(sp_areas_get(a, sp_area_of_stack(a, p->dict, f, 2))->name,
			cases[i][2], "%s", cases[i][0]);
	}
	sp_areas_free(a);
	sp_profile_free(p);
}

/* Also where Spark's own code lies further down: the nearest caller counts. */
Test(area, a_regular_expression_is_of_the_query_that_has_it)
{
	struct sp_profile *p = sample_profile();
	struct sp_frame_ref match = java(p, "java/util/regex/Matcher", "find", "", SP_FRAME_C2);
	struct sp_frame_ref query =
		java(p, "org/apache/spark/sql/catalyst/expressions/GeneratedClass$X", "next", "",
			SP_FRAME_C2);
	struct sp_frame_ref mine = java(p, "com/acme/Job", "map", "", SP_FRAME_C2);
	struct sp_frame_ref spark = java(p, "org/apache/spark/util/Utils", "x", "", SP_FRAME_C2);
	struct sp_areas *a;

	cr_assert_eq(sp_areas_new(&a, NULL, NULL), 0);
	cr_expect_str_eq(sp_areas_get(a, sp_area_of_stack(a, p->dict,
						 (struct sp_frame_ref[]){match, query, spark}, 3))
				 ->name,
		"regular expressions");
	cr_expect_str_eq(sp_areas_get(a, sp_area_of_stack(a, p->dict,
						 (struct sp_frame_ref[]){match, mine, query}, 3))
				 ->name,
		"your code");
	sp_areas_free(a);
	sp_profile_free(p);
}

static int areas_of(const char *text, struct sp_areas **ret, struct sp_err *err)
{
	char path[] = "/tmp/areas-XXXXXX";
	int fd = mkstemp(path), r;

	cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	r = sp_areas_new(ret, path, err);
	unlink(path);
	return r;
}

Test(area, a_file_comes_before_the_built_in_table)
{
	struct sp_areas *a;
	unsigned pickle;
	struct sp_err err = {0};

	cr_assert_eq(
		areas_of("# ours\n[etl] #102030\norg/apache/spark/shuffle/*\n[b]\nx*\n", &a, &err),
		0, "%s", err.text);
	cr_expect_eq(sp_area_of_frame(a, "org/apache/spark/shuffle/X.y", SP_FRAME_C2), 0);
	cr_expect_str_eq(sp_areas_get(a, 0)->name, "etl");
	cr_expect_str_eq(sp_areas_get(a, 0)->colour, "#102030");
	cr_expect_str_eq(
		sp_areas_get(a, (unsigned)sp_area_of_frame(a, "f (job.py)", SP_FRAME_PYTHON))->name,
		"Python");
	cr_expect_str_eq(sp_areas_get(a, (unsigned)sp_area_of_frame(
						 a, "f (pyarrow/ipc.py)", SP_FRAME_PYTHON))
				 ->name,
		"Python serialisation");
	cr_expect_eq(sp_area_of_frame(a, "xyz", SP_FRAME_NATIVE), 1);
	pickle = (unsigned)sp_area_of_frame(a, "f (pickle.py)", SP_FRAME_PYTHON);
	cr_expect_eq(sp_area_in_state(a, pickle, "running"), pickle);
	cr_expect_eq(sp_area_in_state(a, pickle, ""), pickle);
	cr_expect_eq(sp_area_in_state(a, 1, "net"), 1);
	cr_expect_str_eq(
		sp_areas_get(a, sp_area_in_state(a, pickle, "net"))->name, "Python waits for JVM");
	sp_areas_free(a);
	cr_expect_eq(areas_of("[etl\n", &a, &err), -EINVAL);
	cr_expect(strstr(err.text, "line 1"));
	cr_expect_eq(areas_of("[etl] red\n", &a, &err), -EINVAL);
	cr_expect_eq(areas_of("x*\n", &a, &err), -EINVAL);
}

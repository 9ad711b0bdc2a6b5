/* The finding about programs that rows are sent through, and those that leave that time to it. */
#include "base/cleanup.h"
#include "finding_profile.h"
#include "out/finding_rules.h"

static struct sp_frame_ref python(struct sp_profile *p, const char *file, const char *name)
{
	struct sp_method m = {
		.class_id = str(p, file), .name_id = str(p, name), .native = SP_NATIVE_PYTHON};

	return (struct sp_frame_ref){sp_dict_method(p->dict, &m), 1589, -1, SP_FRAME_PYTHON};
}

/* The program is at work, not a call of the user's for each row, nor is it started again and again.
 */
Test(finding_pipe, a_program_that_rows_go_through_is_the_one_finding)
{
	static const struct {
		const char *cls, *name;
		bool feeds; /* a thread beside the task's own */
		bool expected;
	} cases[] = {
		{"org/apache/spark/rdd/PipedRDD$$anon$3", "hasNext", false, true},
		{"org/apache/spark/rdd/PipedRDD$$anon$3", "hasNext", true, false},
		{"org/apache/spark/sql/execution/BaseScriptTransformationExec", "next", false,
			true},
		{"pyspark/rdd.py", "RDD.pipe.func.<genexpr>", false, true},
		{"pyspark/core/rdd.py", "RDD.pipe.func.<genexpr>", false, true},
		{"pyspark/core/rdd.py", "RDD.mapPartitions", false, false},
	};
	char says[512];

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		bool py = strncmp(cases[i].cls, "pyspark/", 8) == 0;
		struct sp_profile *p = healthy();
		struct sp_frame_ref f[] = {
			java(p, "java/io/FileInputStream", "readBytes", "()V", SP_FRAME_C2),
			py ? python(p, cases[i].cls, cases[i].name)
			   : java(p, cases[i].cls, cases[i].name, "()V", SP_FRAME_C2)};
		uint32_t stack = sp_dict_stack(p->dict, f + py, 2u - py, 0);

		for (uint32_t t = 1; t <= 12; t++) {
			p->tasks[t - 1].helper = cases[i].feeds;
			add_time(p, t, stack, "blocked", 2 * S);
		}
		cr_expect_eq(finds(p, "pipe", says, sizeof(says)), cases[i].expected, "%zu: %s", i,
			says);
		cr_expect(!cases[i].expected || strstr(says, "(pipe, TRANSFORM) for 24 s"), "%s",
			says);
		cr_expect(!cases[i].expected || !finds(p, "processes", says, sizeof(says)), "%s",
			says);
		cr_expect(!cases[i].expected || !finds(p, "python-blocked", says, sizeof(says)),
			"%s", says);
		sp_profile_free(p);
	}
}

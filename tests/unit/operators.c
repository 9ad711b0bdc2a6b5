/* What a view says of frames beyond their names: operators of a query's plan, as far as generated
 * code tells, and lines. */
#include <criterion/criterion.h>
#include <string.h>

#include "prof/spark/operators.h"
#include "base/cleanup.h"
#include "prof/model/tasks.h"
#include "prof/view/view.h"
#include "sample_profile.h"

#define GENERATED                                    \
	"org/apache/spark/sql/catalyst/expressions/" \
	"GeneratedClass$GeneratedIteratorForCodegenStage"

static struct sp_profile *profile(void)
{
	struct sp_profile *p;

	cr_assert_eq(sp_profile_new(&p, 16u << 20), 0);
	sp_profile_event(p, "wall", SP_UNIT_NS, 10000000, true);
	return p;
}

static uint32_t task_of(struct sp_profile *p, int32_t stage, int64_t sql)
{
	struct sp_task_run t = {.name = {stage * 10, stage, 0, 0, 0}};

	cr_assert_eq(sp_profile_add_task(p, &t), 0);
	sp_profile_stage(p, 0, stage, 0)->sql = sql;
	return (uint32_t)p->task_count;
}

/* Adds a sample with these frames, root first: "class method" each. Returns its row. */
static size_t add(struct sp_profile *p, uint32_t task, const char *const *frames, uint32_t count)
{
	struct sp_frame_ref refs[8];
	struct sp_sample x = {.count = 1, .weight = 1, .task = task};

	for (uint32_t i = 0; i < count; i++) {
		char cls[160];
		const char *blank = strchr(frames[i], ' ');

		snprintf(cls, sizeof(cls), "%.*s", (int)(blank - frames[i]), frames[i]);
		refs[count - 1 - i] = java(p, cls, blank + 1, "()V", SP_FRAME_C2);
	}
	x.stack = sp_dict_stack(p->dict, refs, count, 0);
	cr_assert_eq(sp_profile_add(p, &x), 0);
	return p->row_count - 1;
}

static void check(struct sp_profile *p, size_t row, const char *expected)
{
	SP_AUTO_BUF struct sp_buf b = {0};
	struct sp_operators *o;

	cr_assert_eq(sp_operators_new(&o, p), 0);
	cr_expect_eq(sp_operators_name(o, &p->rows[row], &b), expected[0] != 0);
	cr_expect_str_eq(sp_buf_str(&b), expected);
	sp_operators_free(o);
}

Test(operators, a_fused_method_has_the_name_of_the_pipeline)
{
	struct sp_profile *p = profile();
	uint32_t task = task_of(p, 8, 3);
	const char *fused[] = {GENERATED "5 processNext"};
	const char *agg[] = {
		GENERATED "5 processNext", GENERATED "5 hashAgg_doAggregateWithKeys_0"};
	const char *join[] = {GENERATED "5 processNext",
		GENERATED "5 hashAgg_doAggregateWithKeys_0", GENERATED "5 smj_findNextJoinRows_0$"};
	size_t rows[] = {add(p, task, fused, 1), add(p, task, agg, 2), add(p, task, join, 3)};

	check(p, rows[0], "HashAggregate ← SortMergeJoin ← … (codegen 5)");
	check(p, rows[1], "HashAggregate ← SortMergeJoin ← … (codegen 5)");
	check(p, rows[2], "SortMergeJoin");
	sp_profile_free(p);
}

Test(operators, numbers_start_anew_in_every_query)
{
	struct sp_profile *p = profile();
	uint32_t first = task_of(p, 1, 0), second = task_of(p, 4, 1);
	const char *sort[] = {GENERATED "1 sort_addToSorter_0"};
	const char *agg[] = {GENERATED "1 hashAgg_doAggregateWithoutKey_0"};
	size_t a = add(p, first, sort, 1), b = add(p, second, agg, 1);

	check(p, a, "Sort ← … (codegen 1)");
	check(p, b, "HashAggregate ← … (codegen 1)");
	sp_profile_free(p);
}

Test(operators, code_of_an_operator_itself_and_of_its_map)
{
	struct sp_profile *p = profile();
	uint32_t task = task_of(p, 2, 0);
	const char *own[] = {
		"org/apache/spark/sql/execution/aggregate/ObjectHashAggregateExec$$anon$1 next",
		"java/util/HashMap put"};
	const char *map[] = {
		GENERATED "2 processNext", GENERATED "2$hashAgg_FastHashMap_0 findOrInsert"};
	const char *none[] = {"com/acme/Job run"};
	const char *udf[] = {GENERATED "2 processNext",
		"org/apache/spark/api/python/BasePythonRunner$ReaderIterator hasNext"};
	const char *whole[] = {
		"org/apache/spark/sql/execution/WholeStageCodegenExec$$anon$1 hasNext",
		GENERATED "7 processNext"};

	check(p, add(p, task, own, 2), "ObjectHashAggregate");
	check(p, add(p, task, map, 2), "HashAggregate");
	check(p, add(p, task, none, 1), "");
	check(p, add(p, task, udf, 2), "Python UDF");
	check(p, add(p, task, whole, 2), "codegen 7");
	sp_profile_free(p);
}

/* What several plans of a query say differently is not guessed. */
Test(operators, a_known_plan_tells_what_is_fused)
{
	struct sp_profile *p = profile();
	uint32_t task = task_of(p, 8, 3);
	const char *fused[] = {GENERATED "5 processNext", GENERATED "5 smj_findNextJoinRows_0$"};
	const char *other[] = {GENERATED "1 processNext"};
	size_t a = add(p, task, fused, 1), own = add(p, task, fused, 2), b = add(p, task, other, 1);

	p->stages[0].pipelines = str(p, "1 \n5 HashAggregate ← Project ← SortMergeJoin\n");
	check(p, a, "HashAggregate ← Project ← SortMergeJoin (codegen 5)");
	check(p, own, "SortMergeJoin");
	check(p, b, "codegen 1");
	sp_profile_free(p);
}

/* An iterator is pulled from outside of the operator that made it. */
Test(operators, iterators_that_work_for_one_operator)
{
	static const char *const cases[][2] = {
		{"aggregate/SortBasedAggregationIterator next", "SortAggregate"},
		{"aggregate/TungstenAggregationIterator$$anon$1 next", "HashAggregate"},
		{"joins/SortMergeJoinScanner findNextInnerJoinRows", "SortMergeJoin"},
		{"datasources/FileScanRDD$$anon$1 hasNext", "Scan"},
		{"aggregate/AggregationIterator apply", ""},
		{"aggregate/BaseAggregateExec toSortAggregate", ""},
	};
	struct sp_profile *p = profile();
	uint32_t task = task_of(p, 2, 0);

	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		char frame[160];
		const char *frames[] = {frame, "java/util/HashMap put"};

		snprintf(frame, sizeof(frame), "org/apache/spark/sql/execution/%s", cases[i][0]);
		check(p, add(p, task, frames, 2), cases[i][1]);
	}
	sp_profile_free(p);
}

Test(view, lines_are_part_of_names_when_asked)
{
	struct sp_profile *p = sample_profile();
	struct sp_view_opts o = {.event = "cpu", .lines = true, .name_lines = true};
	struct sp_view *v;
	unsigned with = 0, without = 0;

	cr_assert_eq(sp_view_new(p, &o, &v), 0);
	for (size_t i = 0; i < v->stack_count; i++)
		for (uint32_t k = 0; k < v->stacks[i].count; k++) {
			const char *name = sp_view_get_frame(v, v->stacks[i].frames[k]).name;

			with += strcmp(name, "java/lang/String.hashCode:10") == 0;
			without += strcmp(name, "java/lang/String.hashCode") == 0;
		}
	cr_expect_gt(with, 0);
	cr_expect_eq(without, 0);
	sp_view_free(v);
	sp_profile_free(p);
}

/* The words of Spark's REST API: addresses, and what is taken of answers. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "spark/driver_rest_parse.h"
#include "spark/plan_graph.h"

Test(driver_rest, addresses_to_try)
{
	struct sp_spark_identity id = {.app_id = "app-1/x", .driver_host = "h1"};
	char buf[SP_REST_URL];

	for (unsigned n = 0; n < SP_REST_PORTS; n++) {
		char want[64];

		snprintf(want, sizeof(want), "http://h1:%u", 4040 + n);
		cr_assert(sp_driver_rest_parse_base(&id, "", n, buf, sizeof(buf)));
		cr_expect_str_eq(buf, want);
	}
	cr_expect_not(sp_driver_rest_parse_base(&id, "", SP_REST_PORTS, buf, sizeof(buf)));
	cr_expect(sp_driver_rest_parse_base(&id, "https://gate/x//", 0, buf, sizeof(buf)));
	cr_expect_str_eq(buf, "https://gate/x");
	cr_expect_not(sp_driver_rest_parse_base(&id, "https://gate/x", 1, buf, sizeof(buf)));
	sp_driver_rest_parse_url("http://h1:4040", &id, "/stages/3", buf, sizeof(buf));
	cr_expect_str_eq(buf, "http://h1:4040/api/v1/applications/app-1%2Fx/stages/3");
	id.ui_port = 65534;
	snprintf(id.driver_host, sizeof(id.driver_host), "::1");
	cr_expect(sp_driver_rest_parse_base(&id, "", 1, buf, sizeof(buf)));
	cr_expect_str_eq(buf, "http://[::1]:65535");
	cr_expect_not(sp_driver_rest_parse_base(&id, "", 2, buf, sizeof(buf)));
	id.no_ui = true;
	cr_expect_not(sp_driver_rest_parse_base(&id, "", 0, buf, sizeof(buf)));
	cr_expect(sp_driver_rest_parse_base(&id, "http://elsewhere", 0, buf, sizeof(buf)));
	cr_expect_not(sp_driver_rest_parse_base(&id, "none", 0, buf, sizeof(buf)));
}

Test(driver_rest, what_is_taken_of_answers)
{
	static const char stages[] = "[ {\"status\":\"ACTIVE\", \"stageId\" : 5, \"attemptId\" : 0,"
				     "\"name\" : \"no\" }, {\"stageId\":5,\"attemptId\":1,"
				     "\"name\":\"collect at \\\"x\\\"\",\"tasks\":{\"1\":{}}} ]";
	static const char jobs[] = "[{\"jobId\":9,\"stageIds\":[5,6]},{\"jobId\":7,"
				   "\"stageIds\":[4, 5]},{\"jobId\":3,\"stageIds\":[50]}]";
	static const char sql[] = "{\"id\":2,\"description\":\"SELECT 1\",\"nodes\":[]}";
	struct sp_stage_about a = {.stage = 5, .attempt = 1, .job = -1};

	cr_expect(sp_driver_rest_parse_stage(stages, sizeof(stages) - 1, &a));
	cr_expect_str_eq(a.name, "collect at \"x\"");
	cr_expect(sp_driver_rest_parse_job(jobs, sizeof(jobs) - 1, &a));
	cr_expect_eq(a.job, 7);
	cr_expect(sp_driver_rest_parse_sql(sql, sizeof(sql) - 1, &a));
	cr_expect_str_eq(a.sql_text, "SELECT 1");
}

Test(driver_rest, when_tasks_were_launched_and_how_long_others_took)
{
	static const char stages[] = "[{\"stageId\":5,\"attemptId\":1,\"numTasks\":12,"
				     "\"numCompleteTasks\" : 11}]";
	static const char median[] =
		"{\"quantiles\":[0.5],\"duration\" : [ 4484.0 ],\"executorRunTime\" : [ 2803.0 ]}";
	static const char old[] = "{\"quantiles\":[0.5],\"executorRunTime\":[12.0]}";
	static const char tasks[] = "[ {\"taskId\" : 10, \"launchTime\" : "
				    "\"2026-11-18T07:12:01.123GMT\"}, {\"taskId\":11}]";
	struct sp_stage_about a = {.stage = 5, .attempt = 1};
	uint64_t launch;
	int64_t task;
	size_t at = 0;

	cr_expect(sp_driver_rest_parse_finished(stages, sizeof(stages) - 1, &a));
	cr_expect_eq(a.finished, 11);
	cr_expect(sp_driver_rest_parse_median(median, sizeof(median) - 1, &a));
	cr_expect_eq(a.median_ms, 2803);
	cr_expect(sp_driver_rest_parse_median(old, sizeof(old) - 1, &a));
	cr_expect_eq(a.median_ms, 12);
	cr_assert(sp_driver_rest_parse_launch(tasks, sizeof(tasks) - 1, &at, &task, &launch));
	cr_expect_eq(task, 10);
	cr_expect_eq(launch, 1794985921123ull);
	cr_assert(sp_driver_rest_parse_launch(tasks, sizeof(tasks) - 1, &at, &task, &launch));
	cr_expect_eq(launch, 0);
	cr_expect_not(sp_driver_rest_parse_launch(tasks, sizeof(tasks) - 1, &at, &task, &launch));
}

Test(driver_rest, answers_may_be_anything)
{
	static const char *const texts[] = {"", "[", "{}", "[{}]", "null", "<html></html>",
		"[{\"stageId\":5,\"attemptId\":1}]", "{\"description\":12}",
		"[{\"jobId\":\"x\",\"stageIds\":5}]"};
	struct sp_stage_about a = {.stage = 5, .attempt = 1, .job = -1};

	for (size_t i = 0; i < SP_COUNT(texts); i++)
		for (size_t n = 0; n <= strlen(texts[i]); n++) {
			cr_expect_not(sp_driver_rest_parse_stage(texts[i], n, &a), "%s", texts[i]);
			cr_expect_not(sp_driver_rest_parse_job(texts[i], n, &a), "%s", texts[i]);
			cr_expect_not(sp_driver_rest_parse_sql(texts[i], n, &a), "%s", texts[i]);
		}
}

/* Nodes come with the highest number first; a broadcast side is a class of its own. */
static const char graph[] =
	"{\"id\":3,\"status\" : \"RUNNING\",\"nodes\":["
	"{\"nodeId\":9,\"nodeName\":\"Range\",\"wholeStageCodegenId\":1},"
	"{\"nodeId\":8,\"nodeName\":\"WholeStageCodegen (1)\"},"
	"{\"nodeId\":7,\"nodeName\":\"BroadcastExchange\"},"
	"{\"nodeId\":6,\"nodeName\":\"Scan parquet default.sales\",\"wholeStageCodegenId\":2},"
	"{\"nodeId\":5,\"nodeName\":\"BroadcastHashJoin\",\"wholeStageCodegenId\":2},"
	"{\"nodeId\":4,\"nodeName\":\"HashAggregate\",\"wholeStageCodegenId\" : 2},"
	"{\"nodeId\":3,\"nodeName\":\"WholeStageCodegen (2)\"},"
	"{\"nodeId\":2,\"nodeName\":\"Sort\",\"wholeStageCodegenId\":4},"
	"{\"nodeId\":1,\"nodeName\":\"Filter\",\"wholeStageCodegenId\":4}],"
	"\"edges\":[{\"fromId\":5,\"toId\":4},{\"fromId\":6,\"toId\":5},{\"fromId\":7,\"toId\":5},"
	"{\"fromId\":9,\"toId\":7}]}";

Test(driver_rest, operators_of_generated_classes)
{
	bool running = false;
	SP_AUTO_FREE char *text = sp_plan_graph_pipelines(graph, sizeof(graph) - 1, &running);

	cr_expect(running);
	/* two classes with one number, as subqueries have them, are not told apart */
	cr_expect_str_eq(text, "1 Range\n2 HashAggregate ← BroadcastHashJoin ← Scan\n4 \n");
}

Test(driver_rest, a_plan_graph_may_be_anything)
{
	static const char loop[] =
		"{\"nodes\":[{\"nodeId\":1,\"nodeName\":\"A\",\"wholeStageCodegenId\":1},"
		"{\"nodeId\":2,\"nodeName\":\"B\",\"wholeStageCodegenId\":1},"
		"{\"nodeId\":3,\"nodeName\":\"C\",\"wholeStageCodegenId\":1}],"
		"\"edges\":[{\"fromId\":1,\"toId\":2},{\"fromId\":2,\"toId\":1},"
		"{\"fromId\":1,\"toId\":3},{\"fromId\":7,\"toId\":x},{}]}";
	bool running = true;

	for (size_t n = 0; n < sizeof(graph); n++)
		free(sp_plan_graph_pipelines(graph, n, &running));
	free(sp_plan_graph_pipelines(loop, sizeof(loop) - 1, &running));
	cr_expect_not(running);
	cr_expect_null(sp_plan_graph_pipelines("[{}]", 4, &running));
}

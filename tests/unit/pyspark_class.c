/* The classes by which a JVM works with Python: one table for the agent and for all reports. */
#include "base/cleanup.h"
#include "base/pyspark_class.h"
#include "base/star_match.h"
#include "prof/spark/area_table.h"

#include <criterion/criterion.h>
#include <string.h>

#define RDD "org/apache/spark/api/python/"
#define SQL "org/apache/spark/sql/execution/python/"

enum {
	EXCHANGE = SP_PYSPARK_IS_EXCHANGE,
	UDF = SP_PYSPARK_IS_UDF,
	FEEDER = SP_PYSPARK_IS_FEEDER,
	READER = SP_PYSPARK_IS_READER,
};

static const struct {
	const char *name;
	unsigned is;
} cases[] = {
	{RDD "PythonRunner", EXCHANGE | UDF | FEEDER},
	{RDD "BasePythonRunner$WriterThread", EXCHANGE | UDF | FEEDER},
	{RDD "BasePythonRunner$ReaderIterator", EXCHANGE | UDF | FEEDER | READER},
	{RDD "PythonWorkerFactory", EXCHANGE | FEEDER},
	{RDD "PythonRDD", EXCHANGE},
	{RDD "PythonGatewayServer", EXCHANGE},
	{RDD "SerDeUtil$", EXCHANGE},
	{SQL "PythonUDFRunner", EXCHANGE | UDF | FEEDER},
	{SQL "ArrowPythonWithNamedArgumentRunner", EXCHANGE | UDF | FEEDER},
	{SQL "PythonUDTFRunner", EXCHANGE | UDF | FEEDER},
	{SQL "EvaluatePython$", EXCHANGE | UDF},
	{SQL "PythonArrowOutput$$anon$1", EXCHANGE | UDF},
	{"org/apache/spark/sql/rapids/execution/python/GpuArrowPythonRunner",
		EXCHANGE | UDF | FEEDER},
	{"org/apache/spark/sql/rapids/execution/python/GpuPythonRunner$ReaderIterator",
		EXCHANGE | UDF | FEEDER | READER},
	{"org/apache/spark/deploy/PythonRunner", EXCHANGE | UDF},
	{"org/apache/spark/sql/execution/joins/SortMergeJoinExec", 0},
	{"org/example/api/python/Thing", 0},
	{"", 0},
};

Test(pyspark_class, of_runners_readers_factories_and_others)
{
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		size_t len = strlen(cases[i].name);
		char padded[128];

		cr_expect_eq(sp_pyspark_class(cases[i].name, len), cases[i].is, "%s: %u",
			cases[i].name, sp_pyspark_class(cases[i].name, len));
		memset(padded, 'x', sizeof(padded)); /* names of the agent have no end */
		memcpy(padded, cases[i].name, len);
		cr_expect_eq(sp_pyspark_class(padded, len), cases[i].is, "%s", cases[i].name);
	}
}

/* The tables of reports hold the same patterns. */
Test(pyspark_class, the_area_of_each_is_the_exchange_with_python)
{
	for (size_t i = 0; i < SP_COUNT(cases); i++) {
		const struct sp_area_pattern *t = sp_area_methods;
		char name[128];

		snprintf(name, sizeof(name), "%s.run", cases[i].name);
		while (t->pattern && !sp_star_match(t->pattern, name, strlen(name)))
			t++;
		cr_expect_eq(t->pattern && t->area == SP_AREA_PYTHON, (cases[i].is & EXCHANGE) != 0,
			"%s", cases[i].name);
	}
}

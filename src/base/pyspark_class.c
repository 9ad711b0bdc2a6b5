/* See pyspark_class.h. */
#include "base/pyspark_class.h"

#include "base/cleanup.h"
#include "base/star_match.h"

#include <string.h>

#define SPARK "org/apache/spark/"

/* Plug-ins have packages of their own beside Spark's (sql/rapids/execution/python). Names of
 * runners have words in between: PythonUDFRunner, ArrowPythonWithNamedArgumentRunner. */
static const struct {
	const char *pattern;
	unsigned is;
} classes[] = {
	SP_PYSPARK_EXCHANGE_PATTERNS(SP_PYSPARK_IS_EXCHANGE),
	{"*PythonRunner*", SP_PYSPARK_IS_UDF},
	{SP_PYSPARK_SQL "*", SP_PYSPARK_IS_UDF},
	{SPARK "*/python/*Python*Runner*", SP_PYSPARK_IS_EXCHANGE},
	{SPARK "*api/python/*Python*Runner*", SP_PYSPARK_IS_FEEDER},
	{SPARK "*/execution/python/*Python*Runner*", SP_PYSPARK_IS_FEEDER},
	{SPARK "*api/python/*PythonWorkerFactory*", SP_PYSPARK_IS_FEEDER},
	{SPARK "*/execution/python/*PythonWorkerFactory*", SP_PYSPARK_IS_FEEDER},
	{SP_PYSPARK_RDD "*Runner$ReaderIterator*", SP_PYSPARK_IS_READER},
	{SP_PYSPARK_SQL "*Runner$ReaderIterator*", SP_PYSPARK_IS_READER},
	{SPARK "*/execution/python/*Runner$ReaderIterator*", SP_PYSPARK_IS_READER},
};

unsigned sp_pyspark_class(const char *name, size_t len)
{
	unsigned is = 0;

	if (!memmem(name, len, "ython", 5)) /* in all of them */
		return 0;
	for (size_t i = 0; i < SP_COUNT(classes); i++)
		if (sp_star_match(classes[i].pattern, name, len))
			is |= classes[i].is;
	return is;
}

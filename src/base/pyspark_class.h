/* The classes by which Spark's JVM works with Python processes, as their names are in class files.
 * The one table of them, for the agent and for all reports. Any thread, no memory. */
#ifndef SP_BASE_PYSPARK_CLASS_H
#define SP_BASE_PYSPARK_CLASS_H

#include <stddef.h>

#define SP_PYSPARK_RDD "org/apache/spark/api/python/"
#define SP_PYSPARK_SQL "org/apache/spark/sql/execution/python/"

/* For tables of patterns (sp_match_glob) with a value each: the lines of all classes that exchange
 * data with Python. */
#define SP_PYSPARK_EXCHANGE_PATTERNS(value)                     \
	{"*PythonRunner*", value}, {SP_PYSPARK_RDD "*", value}, \
	{                                                       \
		SP_PYSPARK_SQL "*", value                       \
	}

enum sp_pyspark_is {
	SP_PYSPARK_IS_EXCHANGE = 1, /* exchanges data with Python */
	SP_PYSPARK_IS_UDF = 2,	    /* … as an operator of a query, or as a runner */
	SP_PYSPARK_IS_FEEDER = 4,   /* starts, feeds or reads workers; not a driver's own Python */
	SP_PYSPARK_IS_READER = 8,   /* reads what a worker sends */
};

/* What the class called @name (@len bytes) is: some of enum sp_pyspark_is, 0: none. */
unsigned sp_pyspark_class(const char *name, size_t len);

#endif

/* The built-in areas and what belongs to them. The first pattern that matches wins, so what is
 * special comes first. Inside of src/prof: see area.h. */
#ifndef SP_PROF_SPARK_AREA_TABLE_H
#define SP_PROF_SPARK_AREA_TABLE_H

#include <stddef.h>

#include "prof/spark/area.h"

enum sp_area_builtin {
	SP_AREA_NEUTRAL = -1, /* work done for the caller */
	SP_AREA_CODEGEN,
	SP_AREA_SQL,
	SP_AREA_ENGINE,
	SP_AREA_SHUFFLE,
	SP_AREA_SERIALISATION,
	SP_AREA_COMPRESSION,
	SP_AREA_NETWORK,
	SP_AREA_STORAGE,
	SP_AREA_FORMATS,
	SP_AREA_PARSE,
	SP_AREA_REGEX,
	SP_AREA_LISTING,
	SP_AREA_SPILL,
	SP_AREA_STATE,
	SP_AREA_ML,
	SP_AREA_CHILD,
	SP_AREA_GC,
	SP_AREA_JIT,
	SP_AREA_PYTHON,
	SP_AREA_PYTHON_CODE,
	SP_AREA_PICKLE,
	SP_AREA_FOR_JVM,
	SP_AREA_WAIT,
	SP_AREA_KERNEL,
	SP_AREA_JVM,
	SP_AREA_SPARK,
	SP_AREA_SPARK_LIBRARY,
	SP_AREA_YOUR_LIBRARY,
	SP_AREA_YOURS,
	SP_AREA_OTHER,
	SP_AREA_BUILTINS
};

struct sp_area_pattern {
	const char *pattern;
	int area; /* enum sp_area_builtin */
};

extern const struct sp_area sp_area_builtins[SP_AREA_BUILTINS];

/* Methods of Java, functions of the JVM and of C libraries, Python frames that serialise; each is
 * ended by an entry without a pattern. */
extern const struct sp_area_pattern sp_area_methods[], sp_area_functions[], sp_area_pickles[];

#endif

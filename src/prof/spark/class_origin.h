/* From where classes came, by the jars that a recording names (sparkprof.ClassSource): Spark's own,
 * with all that lies in the directory of its jars, or the application's. */
#ifndef SP_PROF_SPARK_CLASS_ORIGIN_H
#define SP_PROF_SPARK_CLASS_ORIGIN_H

#include "prof/model/profile.h"

enum sp_origin {
	SP_ORIGIN_UNKNOWN,
	SP_ORIGIN_SPARK,   /* on Spark's class path */
	SP_ORIGIN_LIBRARY, /* of --packages, or a known library inside the application's jar */
	SP_ORIGIN_YOURS,
};

struct sp_class_origins;

/* @p may go before it. Returns 0 or -ENOMEM. */
__attribute__((warn_unused_result)) int sp_class_origins_new(
	struct sp_class_origins **ret, const struct sp_profile *p);
void sp_class_origins_free(struct sp_class_origins *o);

/* @name: "com/acme/Job$$Lambda$12/0x…" is looked up as its host. */
enum sp_origin sp_class_origin(const struct sp_class_origins *o, const char *name);

#endif

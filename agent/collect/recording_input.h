/* What a recording holds beside samples, and where it goes: made by the session, written by the
 * collector. */
#ifndef SP_AGENT_COLLECT_RECORDING_INPUT_H
#define SP_AGENT_COLLECT_RECORDING_INPUT_H

#include "base/buf.h"
#include "spark/spark_identity.h"
#include "spark/task_table.h"
#include "threads/thread_lives.h"

struct sp_class_sources;
struct sp_live_objects;
struct sp_segments;

struct sp_recording_input {
	struct sp_task_table *tasks;
	struct sp_spark_identity_box identity; /* not Spark's: nothing comes */
	struct sp_live_objects *live;	       /* NULL: live objects are not wanted */
	struct sp_class_sources *sources;
	struct sp_buf properties;     /* the JVM's, names and values with a zero behind each */
	struct sp_thread_lives lives; /* of Java threads; the collector writes them */
	char notes[2048];	      /* what was said while starting, a line each */
	struct sp_segments *segments; /* NULL: one file */
};

#endif

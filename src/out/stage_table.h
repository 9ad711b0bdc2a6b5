/* The table of stages: tasks, run time, samples by area, and who lagged behind. Inside of src/out.
 */
#ifndef SP_OUT_STAGE_TABLE_H
#define SP_OUT_STAGE_TABLE_H

#include "out/out.h"
#include "prof/model/tasks.h"
#include "prof/spark/area.h"
#include "prof/spark/time_class.h"

struct sp_stage_row {
	uint32_t app; /* string of the profile */
	int32_t stage, attempt;
	uint32_t tasks;		  /* attempts that ran within the recording, whole or in part */
	uint64_t run_ns;	  /* what they took of it together … */
	uint64_t launch_ns;	  /* … of that by wall: launch and result, outside of their run */
	uint64_t own_ns;	  /* by wall: of their own threads, or of Python in their place */
	uint64_t cpu_ns, core_ns; /* of their own threads: on a core, and waiting for one */
	/* As Spark's own clocks have it, which overlap: the JVM collected while they ran, each task
	 * counts; they waited for blocks, and wrote them */
	uint64_t gc_ns, fetch_ns, write_ns;
	/* Of those that Spark measured: its run time; and what the first lines have of them */
	uint64_t spark_run_ns, spark_took_ns, spark_own_ns, spark_launch_ns;
	uint32_t spark_tasks;
	uint64_t launch_cpu_ns;		     /* of cpu_ns: launch and result */
	uint64_t samples, weight;	     /* of the event, helping threads included */
	uint64_t areas[SP_AREAS];	     /* weight by area */
	uint64_t spent[SP_TIME_CLASS_KINDS]; /* of cpu and wall: weight by time class */
	uint64_t median_ns;		     /* of those that have finished … */
	uint32_t finished;		     /* … so many, with their whole length known */
	struct sp_task_length max;	     /* the longest, also of those that still run */
	int64_t max_task;		     /* its TID; -1: none */
	uint32_t max_label;	    /* and its number in the profile's tasks, + 1; 0: folded */
	uint32_t long_tasks;	    /* that one, and others that the stage waits for as well */
	uint64_t first_ns, last_ns; /* since 1970: of all its tasks */
	uint64_t *lengths;	    /* owned: of those that finished here */
	uint32_t length_count;
	const struct sp_stage *about; /* borrowed from the profile; NULL: nothing is known */
};

struct sp_stage_table {
	struct sp_stage_row *rows; /* owned; heaviest first */
	size_t count;
	struct sp_areas *areas; /* what the numbers of areas mean */
	bool own_areas;
	bool timed;   /* rows have spent[] */
	bool waiting; /* and waiting threads are among them */
};

/* Sums @p's samples of the event with that index. Returns 0 (also where no task ran) or -ENOMEM;
 * sp_stage_table_done in any case. */
int sp_stage_table_init(struct sp_stage_table *s, const struct sp_profile *p, unsigned event,
	struct sp_areas *areas);
void sp_stage_table_done(struct sp_stage_table *s);

/* A straggler took more than twice the median of at least three that finished, and that cost the
 * stage something: 1 s or more, and 5 % of its time or more, and the stage did not go on without it
 * for longer than a median task. One that still runs counts with what it has run so far. */
bool sp_stage_table_lags(const struct sp_stage_row *r);

/* Run time as Spark means it: without launch and result, where wall shows them. */
uint64_t sp_stage_table_run_ns(const struct sp_stage_row *r);

/* What a person calls the stage: its description, its name by the driver, call site or job group;
 * "" where nothing is known. Where the driver knows only that Python called it
 * (NativeMethodAccessorImpl and the like), the call site in Python comes first. */
const char *sp_stage_table_name(const struct sp_profile *p, const struct sp_stage_row *r);

/* Where it was called: its name by the driver, or the call site in Python; "": not known. */
const char *sp_stage_table_site(const struct sp_profile *p, const struct sp_stage_row *r);

/* Appends the name, and where it was called where the name is a description: "nightly load, collect
 * at load.py:12". Paths of files are left out. */
void sp_stage_table_words(
	const struct sp_profile *p, const struct sp_stage_row *r, struct sp_buf *out);

/* Appends the same behind its job group, streaming query or SQL execution: "nightly: SQL 4: the
 * words of the test", "streaming query "orders", batch 3: start at Orders.scala:12". */
void sp_stage_table_title(
	const struct sp_profile *p, const struct sp_stage_row *r, struct sp_buf *out);

/* Appends parts of that: "nightly: ", unless the group is an id or says what the name says; and
 * "streaming query "orders"", with the begin of its id where it has no name. */
void sp_stage_table_group(
	const struct sp_profile *p, const struct sp_stage_row *r, struct sp_buf *out);
void sp_stage_table_query(
	const struct sp_profile *p, const struct sp_stage_row *r, struct sp_buf *out);

/* Appends what it was, with shares, heaviest first, at most @max: of wall the time classes
 * ("shuffle read wait 61 %, GC 12 %"), of other events areas. */
void sp_stage_table_work(const struct sp_stage_table *s, const struct sp_stage_row *r, unsigned max,
	struct sp_buf *out);

/* The table in CSV and JSON; see csv_json.c for the columns. */
void sp_stage_table_csv(const struct sp_stage_table *s, const struct sp_profile *p,
	const char *event, const char *unit, struct sp_sink *sink);
void sp_stage_table_json(
	const struct sp_stage_table *s, const struct sp_profile *p, struct sp_sink *sink);

#endif

/* Which task a thread was working on: spans of time by thread (sparkprof.Task, or profiler.Span of
 * others), and what recordings say of the stages. Inside of src/prof. */
#ifndef SP_PROF_LOAD_TASK_SPANS_H
#define SP_PROF_LOAD_TASK_SPANS_H

#include "base/buf.h"
#include "prof/load/load.h"
#include "prof/load/worker_sockets.h"

#include <pthread.h>
#include <stdbool.h>

struct sp_span {
	struct sp_task_run run; /* strings are not set */
	char *label;		/* owned: of a span that is no task; NULL */
};

struct sp_span_stage {
	int32_t stage, attempt;
	int64_t sql, job;					 /* -1: none */
	char *group, *description, *call_site, *name, *sql_text; /* owned; NULL */
	char *query, *batch;					 /* the same: of streaming */
	uint32_t finished;					 /* tasks; 0: unknown */
	uint64_t median_ns;
};

/* As struct sp_class_source, with texts. */
struct sp_span_source {
	char *location, *classes; /* owned */
};

/* Of an SQL execution, as far as it was planned when the driver was asked. */
struct sp_span_plan {
	int64_t sql;
	uint64_t start_ns;
	char *pipelines; /* owned: see sp_stage */
};

/* What Spark measured of an attempt. */
struct sp_span_measure {
	int64_t task_id;
	bool whole; /* its begin and its end were seen */
	struct sp_task_measured spark;
};

struct sp_task_spans {
	struct sp_span *list; /* owned; by tid, then start */
	size_t count, cap;
	/* Tasks known only by a thread's name, behind those of the list. */
	struct sp_task_name *named; /* owned */
	size_t named_count;
	pthread_mutex_t *lock; /* borrowed: readers share what is named */
	struct sp_span_stage *stages;
	size_t stage_count;
	struct sp_span_source *sources; /* owned */
	size_t source_count;
	struct sp_span_plan *plans; /* owned */
	size_t plan_count;
	struct sp_span_measure *measures; /* owned */
	size_t measure_count, measure_cap;
	struct sp_worker_sockets sockets;
	char *app_id, *app_name, *executor, *host, *spark; /* owned; NULL: unknown */
	char **known;					   /* owned: executors that were named */
	size_t known_count;
	bool several; /* executors, as one */
	bool read;    /* by sp_task_spans_read */
	bool helped;  /* some are of threads that help a task, or of Python workers */
	bool fold;    /* rows need not separate the tasks of a stage */
	uint32_t *
		same; /* owned: by number of the list, the first span of that stage; NULL: itself */
};

/* Puts one behind the list. Returns 0 or -ENOMEM. */
int sp_task_spans_add(struct sp_task_spans *s, const struct sp_span *x);

/* Reads all spans of a recording, and forgets what was named before. Returns 0 or -ENOMEM; a
 * damaged file gives those before. */
int sp_task_spans_read(struct sp_task_spans *s, int fd);
void sp_task_spans_done(struct sp_task_spans *s);

/* The number of the innermost span of a thread at a time, + 1; 0: none. @last: what was found for a
 * time shortly before, which is looked at first; 0: nothing. */
uint32_t sp_task_spans_find(
	const struct sp_task_spans *s, uint32_t tid, uint64_t time_ns, uint32_t last);

/* The same for a sample beside all spans that runs a task by its stack: the nearest span of the
 * thread, where it is near (Spark names a task a moment after it began). *ret_last: the thread has
 * no later span, so the recording may have been cut before one was written. */
uint32_t sp_task_spans_near(
	const struct sp_task_spans *s, uint32_t tid, uint64_t time_ns, bool *ret_last);

/* The last span of the thread that began before that time; 0: none. */
uint32_t sp_task_spans_before(const struct sp_task_spans *s, uint32_t tid, uint64_t time_ns);

/* The number of a task known by a thread's name, + 1, as if it followed the list; 0: out of
 * memory. */
uint32_t sp_task_spans_name(struct sp_task_spans *s, const struct sp_task_name *name);

/* Where tasks need not be separate, replaces the number of one by that of the first of its stage.
 * Returns false where they must. */
bool sp_task_spans_fold(const struct sp_task_spans *s, uint32_t *task);

/* Reads the numbers in a thread's name or a span's tag, as Spark and others write them: "… task 3.0
 * in stage 7.0 (TID 42)", "stage=12,task=5". Returns false where there is no stage and no task. */
bool sp_task_spans_parse(const char *text, struct sp_task_name *ret);

/* Keeps from where classes came; texts are copied. Returns 0 or -ENOMEM. */
int sp_task_spans_source(struct sp_task_spans *s, const char *location, const char *classes);
void sp_task_spans_sources_done(struct sp_task_spans *s);

/* Puts spans, stages and what the JVM was into the profile. Returns 0 or -ENOMEM. */
int sp_task_spans_finish(const struct sp_task_spans *s, struct sp_profile *p);

#endif

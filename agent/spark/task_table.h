/* Which tasks run on which threads, and what is known of their stages: reported by the threads
 * themselves and by the JVM's side, written to the recording by the collector. No JNI here.
 * Context: any thread but a signal handler; every call is short. */
#ifndef SP_AGENT_SPARK_TASK_TABLE_H
#define SP_AGENT_SPARK_TASK_TABLE_H

#include "prof/model/task_name.h"

#include <stdbool.h>
#include <stdint.h>

#define SP_TASK_TABLE_OPEN 1024 /* at once, in one JVM */
#define SP_STAGE_TEXT	   512

struct sp_task {
	struct sp_task_name name;
	uint32_t tid; /* OS thread */
	uint64_t start_ns, end_ns;
	uint64_t launch_ms; /* since 1970, by the driver; 0: unknown */
	bool begun;	    /* its begin was seen: else it ran when the recording began */
	bool ended;	    /* its end was seen: else it ran when the recording ended */
	bool feeder;	    /* not the task's own thread, but one that works for it */
	bool over;	    /* a feeder's thread has ended before its task was found */
	bool written;	    /* the recording has it as one that runs */
};

/* What the task's own properties say of its stage. Texts may be "". */
struct sp_stage_about {
	int32_t stage, attempt;
	int64_t sql; /* execution id, -1: none */
	int64_t job; /* -1: not known */
	char group[SP_STAGE_TEXT], description[SP_STAGE_TEXT], call_site[SP_STAGE_TEXT];
	uint32_t tries;			     /* how often the driver was asked in vain */
	char pool[64], batch[64], query[64]; /* scheduler pool; streaming */
	char name[SP_STAGE_TEXT], sql_text[SP_STAGE_TEXT]; /* as the driver has them */
	uint32_t finished;				   /* its tasks that have; 0: unknown … */
	uint64_t median_ms;				   /* … and how long they took */
};

struct sp_task_table;

int sp_task_table_new(struct sp_task_table **ret);
void sp_task_table_free(struct sp_task_table *ts);

/* @task begins on its thread; one that was open there ends at the same moment. */
void sp_task_table_begin(struct sp_task_table *ts, const struct sp_task *task);

/* The task that is open on the thread ends. @task_id: only if it is this one; -2: whichever. */
void sp_task_table_end(struct sp_task_table *ts, uint32_t tid, int64_t task_id, uint64_t end_ns);

/* It never ran: its thread still had the name of a task that was over. */
void sp_task_table_forget(struct sp_task_table *ts, uint32_t tid, int64_t task_id);

/* Tells the numbers that were not in the thread's name. */
void sp_task_table_learn(
	struct sp_task_table *ts, uint32_t tid, int64_t task_id, const struct sp_task_name *name);

/* A feeder with a task that was found, or never will be: it goes to the collector, or is dropped.
 */
void sp_task_table_resolve(struct sp_task_table *ts, uint32_t tid, const struct sp_task_name *name);

/* Copies the open tasks. Returns their number, at most @max. */
uint32_t sp_task_table_open(struct sp_task_table *ts, struct sp_task *list, uint32_t max);

/* The threads of open tasks, at most @max of them, without those that only work for one. Returns
 * their number. */
uint32_t sp_task_table_threads(struct sp_task_table *ts, uint32_t *list, uint32_t max);

/* Copies the open tasks that began before @before_ns, that have numbers, and that were not given
 * here before. */
uint32_t sp_task_table_unwritten(
	struct sp_task_table *ts, uint64_t before_ns, struct sp_task *list, uint32_t max);
void sp_task_table_write_again(struct sp_task_table *ts);

/* The stages that have open tasks, lowest first: "5.0, 6.0"; "" where there are none, and "…" at
 * the end where not all fit. Returns @buf. */
const char *sp_task_table_stages(struct sp_task_table *ts, char *buf, size_t size);

bool sp_task_table_is_open(struct sp_task_table *ts, uint32_t tid, int64_t task_id);

/* Is something known of this stage attempt, or was it given up? */
bool sp_task_table_stage_known(struct sp_task_table *ts, int32_t stage, int32_t attempt);
void sp_task_table_stage(struct sp_task_table *ts, const struct sp_stage_about *about);

/* For who asks the driver: stages that became known since (their numbers and SQL execution), each
 * once. Of more than a few hundred that wait, the oldest are not asked for. */
bool sp_task_table_wants_name(struct sp_task_table *ts);
bool sp_task_table_next_wanted(struct sp_task_table *ts, struct sp_stage_about *ret);

/* The driver did not answer: once more, behind the others, and a few times only. */
void sp_task_table_want_again(struct sp_task_table *ts, const struct sp_stage_about *about);

/* What the driver said of a stage. */
void sp_task_table_named(struct sp_task_table *ts, const struct sp_stage_about *about);

/* What the driver said of the generated code of an SQL execution: see plan_graph.h. The text passes
 * on. */
void sp_task_table_planned(struct sp_task_table *ts, int64_t sql, char *pipelines);

/* Stages with open tasks. Fills @list with their numbers, at most @max; returns how many. */
uint32_t sp_task_table_running(struct sp_task_table *ts, struct sp_stage_about *list, uint32_t max);

/* Is a task of that stage open with a begin that was not seen and a launch that is not known? */
bool sp_task_table_wants_launch(struct sp_task_table *ts, int32_t stage, int32_t attempt);

/* The driver launched the task at that time. */
void sp_task_table_launched(struct sp_task_table *ts, int64_t task_id, uint64_t launch_ms);

/* The recording ends: all that are open go to the collector as well. */
void sp_task_table_close(struct sp_task_table *ts, uint64_t now_ns);

/* For the collector: what has ended, and what was reported, each once. Return false when there is
 * no more. */
bool sp_task_table_next(struct sp_task_table *ts, struct sp_task *ret);
bool sp_task_table_next_stage(struct sp_task_table *ts, struct sp_stage_about *ret);
/* *ret_pipelines is owned by the caller. */
bool sp_task_table_next_plan(struct sp_task_table *ts, int64_t *ret_sql, char **ret_pipelines);

/* Tasks that found no place here since the start. */
uint64_t sp_task_table_lost(struct sp_task_table *ts);

#endif

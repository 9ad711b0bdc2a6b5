/* Which tasks run on which threads, and what is known of their stages: told by the threads
 * themselves and by the JVM's side, written to the recording by the collector. No JNI here.
 * Context: any thread but a signal handler; every call is short. */
#ifndef SP_AGENT_TASKS_H
#define SP_AGENT_TASKS_H

#include "prof/taskname.h"

#include <stdbool.h>
#include <stdint.h>

#define SP_TASKS_OPEN 1024 /* at once, in one JVM */
#define SP_STAGE_TEXT 512

struct sp_task {
	struct sp_taskname name;
	uint32_t tid; /* OS thread */
	uint64_t start_ns, end_ns;
	bool begun;  /* its begin was seen: else it ran when the recording began */
	bool ended;  /* its end was seen: else it ran when the recording ended */
	bool feeder; /* not the task's own thread, but one that works for it */
	bool over;   /* a feeder's thread has ended before it came out whose it was */
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
};

struct sp_tasks;

int sp_tasks_new(struct sp_tasks **ret);
void sp_tasks_free(struct sp_tasks *ts);

/* @task begins on its thread; one that was open there ends at the same moment. */
void sp_tasks_begin(struct sp_tasks *ts, const struct sp_task *task);

/* The task that is open on the thread ends. @task_id: only if it is this one; -2: whichever. */
void sp_tasks_end(struct sp_tasks *ts, uint32_t tid, int64_t task_id, uint64_t end_ns);

/* It never ran: its thread still had the name of a task that was over. */
void sp_tasks_forget(struct sp_tasks *ts, uint32_t tid, int64_t task_id);

/* Tells the numbers that were not in the thread's name. */
void sp_tasks_learn(
	struct sp_tasks *ts, uint32_t tid, int64_t task_id, const struct sp_taskname *name);

/* A feeder whose task has come out, or never will: it goes to the collector, or away. */
void sp_tasks_resolve(struct sp_tasks *ts, uint32_t tid, const struct sp_taskname *name);

/* Copies the open tasks. Returns their number, at most @max. */
uint32_t sp_tasks_open(struct sp_tasks *ts, struct sp_task *list, uint32_t max);

/* The stages that have open tasks, lowest first: "5.0, 6.0"; "" where there are none, and "…" at
 * the end where not all fit. Returns @buf. */
const char *sp_tasks_stages(struct sp_tasks *ts, char *buf, size_t size);

bool sp_tasks_is_open(struct sp_tasks *ts, uint32_t tid, int64_t task_id);

/* Is something told of this stage attempt, or was it given up? */
bool sp_tasks_stage_known(struct sp_tasks *ts, int32_t stage, int32_t attempt);
void sp_tasks_stage(struct sp_tasks *ts, const struct sp_stage_about *about);

/* For who asks the driver: stages that were told of since (their numbers and SQL execution), each
 * once. Of more than a few hundred that wait, the oldest are not asked for. */
bool sp_tasks_wants_name(struct sp_tasks *ts);
bool sp_tasks_next_wanted(struct sp_tasks *ts, struct sp_stage_about *ret);

/* The driver did not tell: once more, behind the others, and a few times only. */
void sp_tasks_want_again(struct sp_tasks *ts, const struct sp_stage_about *about);

/* What the driver said of a stage. */
void sp_tasks_named(struct sp_tasks *ts, const struct sp_stage_about *about);

/* The recording ends: all that are open go to the collector as well. */
void sp_tasks_close(struct sp_tasks *ts, uint64_t now_ns);

/* For the collector: what has ended, and what was told, each once. Return false when there is no
 * more. */
bool sp_tasks_next(struct sp_tasks *ts, struct sp_task *ret);
bool sp_tasks_next_stage(struct sp_tasks *ts, struct sp_stage_about *ret);

/* Tasks that found no place here since the start. */
uint64_t sp_tasks_lost(struct sp_tasks *ts);

#endif

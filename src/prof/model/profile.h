/* A profile in memory, as the report writers read it: samples summed by stack, thread, state and
 * event over a dictionary, and what has to be said beside them. Filled by the JFR reader (load.h);
 * outside of handlers only, one owner. */
#ifndef SP_PROF_MODEL_PROFILE_H
#define SP_PROF_MODEL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dict/dict.h"
#include "prof/model/task_name.h"

enum sp_unit {
	SP_UNIT_NS,    /* cpu, wall, lock: weights are nanoseconds */
	SP_UNIT_BYTES, /* alloc, nativemem */
	SP_UNIT_COUNT  /* perf events: weights are occurrences */
};

struct sp_tally {
	uint64_t count, weight; /* of rows, as they were recorded */
	uint64_t samples;	/* see sp_rounding */
};

/* What is known of a stack (sp_dict_stack_marks). */
enum {
	SP_STACK_LOOKED_AT = 1, /* the next two are */
	SP_STACK_TRUNCATED = 2,
	SP_STACK_UNKNOWN = 4, /* a frame is "[unknown]", or it has none */
	SP_STACK_TASK = 8,    /* of a task by its frames: one of three (sample_task.c) */
	SP_STACK_IDLE = 16,   /* of a pool's thread that waits for work */
	SP_STACK_OTHER = 32,
};

struct sp_event {
	uint32_t name_id; /* string: "cpu", "wall", "cache-misses" */
	enum sp_unit unit;
	uint64_t interval; /* in the unit; 0 unknown */
	/* Weights are measured, not samples times the interval (wall, allocations, locks). */
	bool measured;
	uint64_t samples, weight;	    /* of all rows: see sp_rounding */
	uint64_t count;			    /* of all rows, as they were recorded */
	struct sp_tally truncated, unknown; /* rows with such stacks */
};

/* What a sample is, in every report: an interval of the event. Where the recording measures weights
 * and records the interval (our wall: a thread that is blocked is written once, however long it
 * is, and one that ran a moment too), so many are in the weight, the first begun one included;
 * else each that was recorded is one, and the recorder's own count where it gives it.
 *
 * A table goes through its lines with one of these: what is left of one line goes on to the next,
 * so that lines that are short each are as much as they are together, and the sum over any table of
 * the same rows is the same. */
struct sp_rounding {
	uint64_t interval, left; /* 0: counts are samples */
};

static inline struct sp_rounding sp_rounding_of(const struct sp_event *e)
{
	uint64_t interval = e->measured ? e->interval : 0;

	return (struct sp_rounding){interval, interval ? interval - 1 : 0};
}

static inline uint64_t sp_round(struct sp_rounding *r, uint64_t count, uint64_t weight)
{
	uint64_t sum = weight + r->left;

	if (!r->interval)
		return count;
	r->left = sum % r->interval;
	return sum / r->interval;
}

struct sp_sample {
	uint32_t stack;	 /* dictionary id; 0: there was none */
	uint32_t thread; /* dictionary id; 0 unknown */
	uint32_t state;	 /* string: "running", "runnable", "lock", "net" …; 0: unknown */
	uint32_t event;	 /* index of events[] */
	uint64_t count, weight;
	uint32_t bucket,
		span;	 /* first bucket of time, and how many more it lies in; see timeline.h */
	uint32_t task;	 /* index of tasks[] + 1; 0: none, or they were not asked for */
	uint32_t holder; /* string: the thread that held the monitor waited for; 0: unknown */
	uint32_t root;	 /* string: what --by puts below the stack ("stage 7"); 0: nothing */
};

/* What is measured beside the samples, once a second or when it happens. */
enum sp_series_kind {
	SP_SERIES_CPU_JVM,	/* percent of all cores, in thousandths */
	SP_SERIES_CPU_MACHINE,	/* the same */
	SP_SERIES_HEAP,		/* bytes in use */
	SP_SERIES_RSS,		/* bytes */
	SP_SERIES_GC,		/* a pause: its length in ns */
	SP_SERIES_PY_RSS,	/* bytes of all Python workers at one time */
	SP_SERIES_PY_PSS,	/* the same, what they share with others counted in part */
	SP_SERIES_MEM_USED,	/* bytes of the target's memory control group … */
	SP_SERIES_MEM_LIMIT,	/* … and what it may have */
	SP_SERIES_PY_CPU,	/* of Python workers, in 1/100,000 of a core */
	SP_SERIES_PERIODS,	/* of the target's CPU limit, since it has one … */
	SP_SERIES_THROTTLED,	/* … those in which it was used up … */
	SP_SERIES_THROTTLED_NS, /* … and for how long: see throttle.h */
	SP_SERIES_CORES,	/* of the machine, as the kernel counts them */
	SP_SERIES_KINDS
};

struct sp_point {
	uint64_t time_ns; /* since 1970 */
	uint64_t value;
};

struct sp_series {
	struct sp_point *points; /* owned; in the order in which they were met */
	size_t count, cap;
};

/* A number with its reason, for what was lost, and sentences that reports repeat. */
struct sp_remark {
	uint32_t text_id; /* string */
	uint64_t count;	  /* 0 for plain sentences */
};

/* What Spark itself measured of an attempt, as its driver shows it. */
struct sp_task_measured {
	uint64_t read_cpu_ns, cpu_ns; /* CPU time to read the task, and to run it */
	uint64_t run_ns, gc_ns, fetch_wait_ns, shuffle_write_ns;
};

/* An attempt of a Spark task on a thread, or another span of a thread's time that has a label; or,
 * where the recordings of several executors were merged, what an executor did outside of tasks: all
 * but the executor is unknown then. */
struct sp_task_run {
	struct sp_task_name name;  /* all -1: no task */
	uint32_t tid;		   /* OS thread */
	uint64_t start_ns, end_ns; /* since 1970; 0: only the thread's name shows it */
	/* The same, by the driver, also where they lie outside of the recording; 0: unknown */
	uint64_t launch_ns, finish_ns;
	uint32_t label;		/* string: of a span that is no task */
	uint32_t app, executor; /* strings: where it ran; 0 unknown */
	uint64_t gc_ns;		/* the JVM collected for so long while it ran; see gc_share.h */
	bool begun, ended;	/* within the recording; else it lies over its border */
	bool helper;		/* not the task's own thread, but one that works for it */
	bool fills;    /* the same: its rows replace those in which the task's own waited for it */
	bool measured; /* by Spark; all of it lies within the recording, and a helper has nothing */
	struct sp_task_measured spark;
	bool folded;	      /* represents all tasks of its stage: see coarsen.h */
	uint32_t stage_label; /* string: of a comparison (match_runs.h); 0: its numbers */
};

/* What is left of a task that was folded. */
struct sp_past {
	uint32_t app; /* string */
	int32_t stage, attempt;
	bool running, least; /* as sp_task_length has them */
	int64_t task_id;
	uint64_t took_ns, length_ns; /* within the recording; and in all */
	uint64_t gc_ns;
};

/* Where an executor ran. */
struct sp_placed {
	uint32_t executor, host; /* strings */
};

/* What is no longer separate: see coarsen.h. */
enum sp_fold {
	SP_FOLD_NOTHING,
	SP_FOLD_STAGES,	   /* threads, and tasks of a stage of an executor */
	SP_FOLD_EXECUTORS, /* nor executors */
};

/* Whether wall of all threads is there because no task ran; of several recordings the highest. */
enum sp_idle {
	SP_IDLE_NONE,
	SP_IDLE_DRIVER,
	SP_IDLE_EXECUTOR,
	SP_IDLE_UNTOLD, /* because what is idle there is unknown */
};

/* Classes that came from one place. Strings. */
struct sp_class_source {
	uint32_t location; /* "/opt/spark/jars/spark-core_2.13-4.0.0.jar" */
	uint32_t classes;  /* their names, a line each */
};

/* What is known of a stage attempt. Strings; 0 unknown. */
struct sp_stage {
	int32_t stage, attempt;
	int64_t sql, job; /* -1: none, or not known */
	uint32_t app;
	uint32_t name; /* as the driver has it */
	uint32_t group, description, call_site, sql_text;
	uint32_t query, batch; /* of structured streaming: its id, and the batch's number */
	uint32_t finished;     /* tasks, by the driver, also before the recording; 0: unknown */
	uint64_t median_ns;    /* … of how long they took */
	/* From an event log: the initial plan of its query, and the operators of the stage itself,
	 * both without what differs from run to run (plan_shape.h). */
	uint32_t plan, operators;
	uint32_t pipelines; /* of its query's generated code: see plan_shape.h */
};

/* A SQL execution or a job, as the driver's event log has it. */
struct sp_execution {
	bool job;
	int64_t id, sql;	   /* sql: of a job, -1: none */
	uint64_t start_ns, end_ns; /* since 1970; end 0: not known */
	uint32_t name;		   /* string; 0: none */
};

/* Where a row is, with the hash of its key: most rows that are not it need not be looked at. */
struct sp_row_slot {
	uint32_t hash;
	uint32_t row; /* number + 1; 0: free */
};

#define SP_PROFILE_EVENTS  32
#define SP_PROFILE_REMARKS 32

struct sp_profile {
	struct sp_dict *dict; /* owned, perhaps with others */
	uint32_t foreign; /* threads from this id on may be of others that share it; 0: none are */

	struct sp_sample *rows; /* owned; no two are equal in all but count and weight */
	size_t row_count, row_cap;
	bool loose;		   /* … but where this is set: see sp_profile_defer_dedup */
	struct sp_row_slot *index; /* owned hash table */
	size_t index_size;

	struct sp_event events[SP_PROFILE_EVENTS];
	unsigned event_count;

	uint64_t count;	    /* of all rows as they were recorded */
	bool saturated;	    /* a sum was too large, and stays at the largest number there is */
	uint64_t samples;   /* all events; without the lost ones */
	uint64_t truncated; /* samples with a stack that lacks frames below, or its newest */
	uint64_t too_deep;  /* of them, those with more frames than are kept */
	bool depth_known;   /* the recording says how many those are */
	bool unread;	    /* some lack their newest frames: see SP_PYTHON_UNREAD */
	uint64_t unknown;   /* samples with no stack, or with a frame that is "[unknown]" */
	/* Samples of wall that were left out, for their threads were in no task, and their weight
	 */
	uint64_t outside, outside_weight;
	enum sp_idle idle;
	uint64_t lost_total;
	struct sp_remark lost[SP_PROFILE_REMARKS]; /* by reason */
	unsigned lost_count;
	struct sp_remark notes[SP_PROFILE_REMARKS]; /* fallbacks, each one sentence */
	unsigned note_count;

	uint64_t start_ns, duration_ns; /* wall clock; 0 unknown */
	uint64_t origin_ns, bucket_ns;	/* buckets of time count from here; 0: no row has a time */
	struct sp_series series[SP_SERIES_KINDS]; /* see timeline.h */
	struct sp_task_run *tasks;		  /* owned; see tasks.h */
	size_t task_count, task_cap;
	enum sp_fold fold;
	struct sp_past *pasts; /* owned: tasks that are no longer among tasks[] */
	size_t past_count, past_cap;
	struct sp_placed *placed; /* owned; of each executor once */
	size_t placed_count;
	struct sp_stage *stages; /* owned */
	size_t stage_count;
	struct sp_class_source *sources; /* owned */
	size_t source_count;
	struct sp_execution *executions; /* owned; of a driver, where its event log is given */
	size_t execution_count;
	uint32_t unknown_id; /* string: "[unknown]", as recordings name such methods */
	uint32_t gap_id;     /* string: SP_NATIVE_GAP */
	uint32_t unread_id;  /* string: SP_PYTHON_UNREAD */
	uint32_t target_id;  /* string: "executor 3 of application_… (pid 4711)" */
	bool several;	     /* of several targets, that number the same lambda differently */
	uint32_t runtime_id; /* string: "OpenJDK 17.0.15+6" */
	uint32_t title_id;   /* string: --title */
	uint32_t command_id; /* string: the command line that recorded it; 0 unknown */
	uint32_t host_id;    /* string: where the target ran; 0 unknown */
	/* strings: Spark's own words for the target; 0 unknown, or several */
	uint32_t app_id, app_name, executor_id, spark_id;
};

/* @cap: bytes that the dictionary may take. Returns 0 or -errno; *ret belongs to the caller. */
__attribute__((warn_unused_result)) int sp_profile_new(struct sp_profile **ret, size_t cap);

/* The same with a dictionary that it shares: what is merged later needs no new ids then. */
int sp_profile_new_with(struct sp_profile **ret, struct sp_dict *dict);
void sp_profile_free(struct sp_profile *p);

static inline const char *sp_profile_event_name(const struct sp_profile *p, unsigned event)
{
	return sp_dict_get_string(p->dict, p->events[event].name_id, NULL);
}

/* The index of an event, added when new (unit and interval are taken then).
 * Returns: the index, -ENOSPC with more than SP_PROFILE_EVENTS, or -ENOMEM. */
int sp_profile_event(struct sp_profile *p, const char *name, enum sp_unit unit, uint64_t interval,
	bool measured);

/* Adds to the row of its stack, thread, state, event and time, and to the totals.
 * Returns: 0; -EINVAL for an event that does not exist; -ENOMEM. */
int sp_profile_add(struct sp_profile *p, const struct sp_sample *s);

/* The same for several at once, up to SP_PROFILE_BATCH: quicker, for memory is asked for them all
 * before it is waited for. Those of a batch that are not added leave all uncounted. */
#define SP_PROFILE_BATCH 64
int sp_profile_add_many(struct sp_profile *p, const struct sp_sample *s, size_t count);
int sp_profile_add_batch(struct sp_profile *p, struct sp_sample *s, size_t count); /* changes s */

/* Rows of a profile without any are not looked for as they come, as long as they are few: for one
 * that is merged into another at once, which looks for them all the same. */
void sp_profile_defer_dedup(struct sp_profile *p);

/* Counts samples anew after an event's interval, or whether its weights are measured, was changed.
 */
void sp_profile_recount(struct sp_profile *p);

/* Adds everything in @from: rows with their times, events (by name), what was lost, notes, series,
 * and the time they cover together. Intervals that differ become 0, unknown. Returns: 0; -ENOSPC
 * with too many events; -ENOMEM. */
int sp_profile_merge(struct sp_profile *p, const struct sp_profile *from);

/* Takes @part's count and weight from that row, and adds them to the row that has @part's key: sums
 * stay. Returns 0 or -ENOMEM.
 * _hold_rows: before it, once: rows stay where they are while each is split once at most. */
int sp_profile_hold_rows(struct sp_profile *p);
int sp_profile_split_row(struct sp_profile *p, size_t row, const struct sp_sample *part);

/* No samples, as before the first: for those who go through the rows, which stay where they are,
 * and add again what they keep. */
void sp_profile_restart(struct sp_profile *p);

/* Leaves out all events but those with their bit set in @mask (bit i: events[i]), with their rows.
 * Returns 0 or -ENOMEM. */
int sp_profile_keep_events(struct sp_profile *p, uint32_t mask);

/* After rows were changed in place: finds them again by what they are now, merging equal ones. */
void sp_profile_reindex(struct sp_profile *p);

/* Puts the rows where the index expects them after @change has altered their keys (in a way that
 * may make rows equal, never more of them): equal ones are merged. Totals stay. */
typedef void sp_row_change(void *ctx, struct sp_sample *row);
void sp_profile_rekey(struct sp_profile *p, sp_row_change *change, void *ctx);

/* Replaces the stack of each row by @map[stack] (ids from @count on stay) and merges rows that have
 * become equal. Totals stay. */
void sp_profile_replace_stacks(struct sp_profile *p, const uint32_t *map, size_t count);

/* Keeps from where classes came, once. Returns 0 or -ENOMEM. */
int sp_profile_source(struct sp_profile *p, uint32_t location, uint32_t classes);

/* Counts samples that were lost, by a reason in words ("ring full"). */
void sp_profile_lost(struct sp_profile *p, const char *reason, uint64_t count);

/* Keeps a sentence that every report repeats, once. */
void sp_profile_note(struct sp_profile *p, const char *sentence);

/* Notes that sums are too small, where one was too large to be kept. */
void sp_profile_note_saturated(struct sp_profile *p);

#endif

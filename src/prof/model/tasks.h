/* Spark in a profile: the tasks that ran, what is known of their stages, and choosing samples by
 * them. A row of the profile names its task by index + 1. */
#ifndef SP_PROF_MODEL_TASKS_H
#define SP_PROF_MODEL_TASKS_H

#include "base/buf.h"
#include "prof/model/profile.h"
#include "prof/model/split_by.h"

/* Adds to the end of profile.tasks. Returns 0 or -ENOMEM. */
int sp_profile_add_task(struct sp_profile *p, const struct sp_task_run *task);

/* The same for profile.pasts. */
int sp_profile_add_past(struct sp_profile *p, const struct sp_past *past);

/* Notes where an executor, by its id, ran; both are strings of the dictionary, and 0 is not noted.
 * Returns 0 or -ENOMEM. */
int sp_profile_place(struct sp_profile *p, uint32_t executor, uint32_t host);

/* How long a task took, as far as it is known. */
struct sp_task_length {
	uint64_t ns;	   /* from its launch, where that is known */
	uint64_t begun_ns; /* since 1970 */
	bool running;	   /* it had not ended when the recording did: this long so far */
	bool least;	   /* this long, or longer: it runs, or when it began is not known */
};
struct sp_task_length sp_task_length(const struct sp_task_run *t);

/* Adds a folded run, or its time to the one of the same stage, executor and label. *ret: as rows
 * name it. Returns 0 or -ENOMEM. */
int sp_profile_add_group(struct sp_profile *p, const struct sp_task_run *g, uint32_t *ret);

/* The stage attempt of an application, added where it is new; NULL when out of memory. Valid until
 * the next call. */
struct sp_stage *sp_profile_stage(
	struct sp_profile *p, uint32_t app, int32_t stage, int32_t attempt);

/* What is known of a task's stage; NULL: nothing. An attempt of -1 is any. */
const struct sp_stage *sp_profile_find_stage(
	const struct sp_profile *p, uint32_t app, int32_t stage, int32_t attempt);

/* The task of a row, NULL where it has none. */
const struct sp_task_run *sp_profile_task(const struct sp_profile *p, const struct sp_sample *row);

/* Appends what --by puts below a stack: "[stage 5.0]", "[task 3.0 TID 345]", "[sql 12]"; "[no
 * stage]" where @t is NULL or has none. */
void sp_task_label(
	const struct sp_profile *p, const struct sp_task_run *t, enum sp_by by, struct sp_buf *out);

/* Which samples are shown. */
struct sp_task_filter {
	int64_t stage, attempt; /* -1: any */
	int64_t task, sql;	/* -1: any */
	bool tasks_only;
	int32_t event; /* tasks_only: of this event alone; -1: of all */
};

/* Leaves out the rows that do not pass. Returns 0 or -ENOMEM. */
int sp_profile_filter_tasks(struct sp_profile *p, const struct sp_task_filter *f);

/* The event wall. Returns its number, or -1. */
int32_t sp_profile_wall(const struct sp_profile *p);

/* For a profile of all that is read: a task that went on while its recording began another file is
 * recorded in the last one; files before have it by its thread's name alone. All rows of it move
 * to the entry with known times. And a target that is "several" says how many executors they are.
 * Returns 0 or -ENOMEM. */
int sp_profile_join_tasks(struct sp_profile *p);

/* For a profile of all that is read: where tasks ran in some recordings, wall of those in which
 * none ran (a driver, an executor that waits) goes too, for it would drown them; and a note says
 * what is not shown, or that all threads are. Returns 0 or -ENOMEM. */
int sp_profile_leave_idle(struct sp_profile *p);

/* For a profile of all that is read, and whole: a note where tasks ran from before its begin to
 * after its end, and neither it nor the driver has others of their stage to measure them by. */
void sp_profile_note_unmeasured(struct sp_profile *p);

#endif

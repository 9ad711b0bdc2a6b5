/* A stage, task or SQL execution below each stack (--by). */
#ifndef SP_PROF_SPARK_TASK_ROOTS_H
#define SP_PROF_SPARK_TASK_ROOTS_H

#include "prof/model/profile.h"
#include "prof/model/split_by.h"

/* Gives each row the root that @by asks for; of stage and task, rows of no task get what their
 * thread does for the driver (driver_phase.h). Returns 0 or -ENOMEM. */
int sp_profile_root_tasks(struct sp_profile *p, enum sp_by by);

#endif

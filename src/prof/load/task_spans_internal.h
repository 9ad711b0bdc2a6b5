/* What the files of spans share. Nobody else includes this. */
#ifndef SP_PROF_LOAD_TASK_SPANS_INTERNAL_H
#define SP_PROF_LOAD_TASK_SPANS_INTERNAL_H

#include "jfr/reader.h"
#include "prof/load/task_spans.h"

/* Keeps a text field in *to; where there is none, or an empty one, *to stays. Returns 0 or -ENOMEM.
 */
int sp_spans_keep(const struct sp_jfr_event *e, const char *name, char **to);

/* Reads a sparkprof.Application. Returns 0 or -ENOMEM. */
int sp_spans_application(struct sp_task_spans *s, const struct sp_jfr_event *e);

/* Reads a sparkprof.TaskMeasures; and, when all spans are there, gives tasks theirs. */
int sp_spans_measure(struct sp_task_spans *s, const struct sp_jfr_event *e);
void sp_spans_apply_measures(struct sp_task_spans *s);

#endif

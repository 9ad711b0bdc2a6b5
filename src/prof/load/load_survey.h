/* Pass 1 over a recording: what is to be known of all of it before its first sample is read. Pass 2
 * reads the samples (load.c). Inside of src/prof. */
#ifndef SP_PROF_LOAD_LOAD_SURVEY_H
#define SP_PROF_LOAD_LOAD_SURVEY_H

#include "prof/load/leaks.h"
#include "prof/load/load.h"
#include "prof/load/task_spans.h"

/* What is looked for. To look for tasks and dumps in every recording would cost 3.5 to 6 % of
 * reading it: most recordings of others have no tasks, and most of ours no dump. So these are
 * looked for once pass 2 meets one of them: it ends there with -EAGAIN, and begins anew. Of our
 * recordings that have tasks it does so at the first chunk's types, before any event. */
enum sp_load_topic {
	SP_LOAD_TASKS = 1,
	SP_LOAD_DUMPS = 2,
	SP_LOAD_LEAKS = 4,
};

/* What pass 1 has learned. */
struct sp_load_survey {
	struct sp_task_spans spans; /* which thread worked on which task, and whose it is */
	struct sp_leaks leaks;	    /* native memory that was not freed */
	uint64_t dump_ns;	    /* time of the last dump of live objects; UINT64_MAX: the
				     * recording has its end, no dump counts; 0: not looked for */
};

/* What @opts ask for, of tasks and leaks. */
unsigned sp_load_survey_topics(const struct sp_load_opts *opts);

/* Reads what is needed of @topics. Returns 0 or -ENOMEM; of a damaged file, what can be read. */
int sp_load_survey(struct sp_load_survey *s, int fd, unsigned topics);
void sp_load_survey_done(struct sp_load_survey *s);

/* For sp_jfr_visitor: of events of which only the time counts. */
const char *const *sp_load_no_fields(void *ctx, int wanted);

#endif

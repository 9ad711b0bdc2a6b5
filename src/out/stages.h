/* The table of stages: tasks, run time, samples by area, and who lagged behind. Inside of src/out.
 */
#ifndef SP_OUT_STAGES_H
#define SP_OUT_STAGES_H

#include "out/out.h"
#include "prof/area.h"
#include "prof/spent.h"

struct sp_stage_row {
	uint32_t app; /* string of the profile */
	int32_t stage, attempt;
	uint32_t tasks;		  /* attempts that ran within the recording, whole or in part */
	uint64_t run_ns;	  /* what they took of it together */
	uint64_t samples, weight; /* of the event, helping threads included */
	uint64_t areas[SP_AREAS]; /* weight by area */
	uint64_t spent[SP_SPENT_KINDS]; /* of cpu and wall: weight by what time was spent on */
	uint64_t median_ns, max_ns;	/* of tasks that began and ended within the recording */
	int64_t max_task;		/* TID of the longest; -1: none */
	uint64_t *lengths;		/* owned: of those tasks */
	uint32_t length_count;
	const struct sp_stage *about; /* borrowed from the profile; NULL: nothing is known */
};

struct sp_stages {
	struct sp_stage_row *rows; /* owned; heaviest first */
	size_t count;
	struct sp_areas *areas; /* what the numbers of areas mean */
	bool own_areas;
	bool timed;   /* rows have spent[] */
	bool waiting; /* and waiting threads are among them */
};

/* Sums @p's samples of the event with that index. Returns 0 (also where no task ran) or -ENOMEM;
 * sp_stages_done in any case. */
int sp_stages_init(
	struct sp_stages *s, const struct sp_profile *p, unsigned event, struct sp_areas *areas);
void sp_stages_done(struct sp_stages *s);

/* A task that took more than twice the median of at least three lagged behind. */
bool sp_stages_lags(const struct sp_stage_row *r);

/* What a person calls the stage: its name by the driver, its description, call site or job group;
 * "" where nothing is known. */
const char *sp_stages_name(const struct sp_profile *p, const struct sp_stage_row *r);

/* Appends the same behind its query: "SQL 4: the words of the test". */
void sp_stages_title(const struct sp_profile *p, const struct sp_stage_row *r, struct sp_buf *out);

/* Appends what it was, with shares, heaviest first, at most @max: of wall what time was spent on
 * ("shuffle read wait 61 %, GC 12 %"), of other events areas. */
void sp_stages_work(
	const struct sp_stages *s, const struct sp_stage_row *r, unsigned max, struct sp_buf *out);

/* The table in CSV and JSON; see table.c for the columns. */
void sp_stages_csv(const struct sp_stages *s, const struct sp_profile *p, const char *event,
	const char *unit, struct sp_sink *sink);
void sp_stages_json(const struct sp_stages *s, const struct sp_profile *p, struct sp_sink *sink);

#endif

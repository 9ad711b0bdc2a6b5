/* The table of a driver's phases: what its threads worked on, and the gaps in which no job ran.
 * Inside of src/out. */
#ifndef SP_OUT_PHASES_H
#define SP_OUT_PHASES_H

#include "out/out.h"
#include "prof/spark/driver_work.h"

#define SP_PHASES_GAPS 5

/* A time without a job. */
struct sp_gap {
	uint64_t from_ns, took_ns; /* from the start of the recording */
	uint64_t work[SP_WORKS];   /* thread time in it, of queries and of Python */
};

/* A SQL execution or a job, as far as it lies in the recording. */
struct sp_phase_query {
	const struct sp_execution *about; /* borrowed from the profile */
	uint64_t from_ns, took_ns;	  /* from the start of the recording */
	uint64_t work[SP_WORKS];	  /* thread time meanwhile, as in a gap */
};

struct sp_phases {
	/* Of threads that run queries, and of the driver's Python: time in which at least one was
	 * at it, where times are known; and the sum of all of them */
	uint64_t query[SP_WORKS], threads[SP_WORKS];
	uint64_t beside[SP_WORKS];	     /* of threads beside them */
	enum sp_driver_work order[SP_WORKS]; /* those that have any, longest first */
	size_t count;
	uint64_t covered_ns, jobless_ns;    /* the recording, and what of it had no job */
	uint64_t jobless_work[SP_WORKS];    /* thread time in that, as in a gap */
	struct sp_gap gaps[SP_PHASES_GAPS]; /* the longest, longest first */
	size_t gap_count;
	struct sp_phase_query *queries; /* owned: longest first; where the event log was given */
	size_t query_count;
	bool timed; /* the gaps are known: a wall recording with times */
};

/* Whether it is a recording of one driver. */
bool sp_phases_is_driver(const struct sp_profile *p);

void sp_phases_done(struct sp_phases *f);

/* Sums @p's samples of the event with that index that are in no task. Nothing is counted where @p
 * is no recording of one driver. sp_phases_done in any case. Returns 0 or -ENOMEM. */
int sp_phases_init(struct sp_phases *f, const struct sp_profile *p, unsigned event);

/* Appends the phase's name; where several threads were in it at a time, how many. */
void sp_phases_name(const struct sp_phases *f, enum sp_driver_work work, struct sp_buf *out);

/* Appends the longest of @work, at most @max: "analysis 3.21 s, planning 1.10 s". */
void sp_phases_list(const uint64_t work[SP_WORKS], unsigned max, struct sp_buf *out);

/* Appends a JSON object:
 * {"phases":[{"phase":…,"query_ns":…,"threads_ns":…,"beside_ns":…}],"covered_ns":…,
 * "jobless_ns":…,"gaps":[{"from_ns":…,"took_ns":…,"work":{…}}],"sql":[{"id":…,"name":…, as a
 * gap}],"jobs":[{"id":…,"sql":…, as a gap}]}. */
void sp_phases_json(const struct sp_phases *f, const struct sp_profile *p, struct sp_buf *out);

#endif

/* From a recording to a profile: the step before every report. Launcher side. */
#ifndef SP_PROF_LOAD_LOAD_H
#define SP_PROF_LOAD_LOAD_H

#include "base/err.h"
#include "elf/symbols.h"
#include "prof/model/profile.h"
#include "prof/model/split_by.h"
#include "prof/model/symbolize.h"
#include "prof/spark/stage_names.h"

/* Most memory that the dictionary of a recording may take: address space, touched as used. */
#define SP_LOAD_DICT_CAP (1ull << 30)

/* --tasks-only and --all-threads. */
enum sp_tasks_only {
	SP_TASKS_ONLY_WALL, /* of wall on an executor: idle pools would drown the picture */
	SP_TASKS_ONLY,
	SP_TASKS_AND_ALL,
};

/* What is taken of a recording; all zero takes everything. Strings are borrowed. */
struct sp_load_opts {
	const char *const *events; /* only these, by name */
	size_t event_count;
	uint64_t from_ns, to_ns;   /* since 1970; 0: from the start, to the end */
	uint64_t start_ns, end_ns; /* what all recordings cover, for times in rows; 0: not known */
	uint64_t bucket_ns;	   /* finer times are not needed */
	enum sp_fold fold;	   /* nor what is joined there: rows may have it all the same */
	const char *thread;	   /* glob over thread names */
	const char *states;	   /* "running,lock": only these */
	uint64_t min_duration_ns; /* locks, parks and waits that took less, or took an unknown time,
				     are left out; what is counted, not timed, stays */
	enum sp_by by;
	bool tasks;		       /* rows name their tasks; set by what needs it as well */
	enum sp_tasks_only tasks_only; /* only with tasks */
	bool python_both;	       /* a task's wall in the JVM and in Python both */
	bool several; /* sp_profile_leave_idle is called when all of them are merged */
	/* Only these; as given on the command line, NULL: all */
	const char *stage, *task, *sql, *executor_id, *host;
	const struct sp_stage_names *names; /* what the driver called its stages; NULL: unknown */
	const char *executor; /* SP_BY_EXECUTOR: its name where the recording does not say it */
	bool timeless;	  /* rows need no times: fewer of them, for reports without a time strip */
	unsigned readers; /* threads that read chunks of one file at once; 0: one */
	size_t dict_cap;  /* bytes for each reader's dictionary; 0: SP_LOAD_DICT_CAP */
	/* Shared by the profile, if one thread reads: it is to be merged with others that have it.
	 * NULL: one of its own. */
	struct sp_dict *dict;
	struct sp_symbolized *resolved; /* what was resolved of it; NULL: nothing is kept */
	void (*progress)(void *ctx, uint64_t bytes); /* so much more was read; from any thread */
	void *progress_ctx;
};

/* Reads the recording in @fd (from its position to its end) into a new profile: samples of cpu
 * (jdk.ExecutionSample), wall (profiler.WallClockSample), allocations and locks; what was sampled
 * and how often (jdk.ActiveSetting), the JVM, what was lost.
 * @symbols: names for native functions that the agent left open; NULL: they stay open. Modules that
 *           the recording names are added to it.
 * @opts:    NULL: everything.
 * Owner:   *ret belongs to the caller: sp_profile_free.
 * Returns: 0; a recording that is damaged or cut somewhere gives what can be read, with a note in
 *          the profile; -EBADMSG if nothing could be; else -errno. @err then holds a sentence. */
int sp_load(int fd, struct sp_symbols *symbols, struct sp_profile **ret, struct sp_err *err);
int sp_load_with(int fd, const struct sp_load_opts *opts, struct sp_symbols *symbols,
	struct sp_profile **ret, struct sp_err *err);

/* The time that a recording covers, for offsets from its start and end. Reads headers only, unless
 * its writer was killed. Returns 0, or -EBADMSG where there is no recording. */
int sp_load_times(int fd, uint64_t *ret_start_ns, uint64_t *ret_end_ns);

/* The same from headers alone. Returns 0, or -ENODATA where they do not say. */
int sp_load_range(int fd, uint64_t *ret_start_ns, uint64_t *ret_end_ns);

#endif

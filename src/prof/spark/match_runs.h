/* What two runs of a program have in common although their numbers differ: stages are matched by
 * call site and plan, generated classes by their operators. For comparisons; one matcher for all of
 * them.
 *
 * A stage has a partner by the first of these that applies, the best pair first, in the order in
 * which they ran where several are equal:
 *  1. the same attempt of the same application
 *  2. the same initial plan, the same operators of the stage itself, and the same words
 *  3. the same operators, and the same words without line numbers, paths and ids
 *  4. the same words, then without line numbers, where the samples do not speak against it
 *  5. where one run does not know the words: the same methods in its samples
 * Plans and operators come from an event log. Words are the call site, the description, the job
 * group. What has no partner is in the list, too. */
#ifndef SP_PROF_SPARK_MATCH_RUNS_H
#define SP_PROF_SPARK_MATCH_RUNS_H

#include "prof/model/profile.h"

enum { SP_RUN_BASE, SP_RUN_NEW, SP_RUNS };

/* One attempt of a stage in one run. */
struct sp_run_stage {
	bool there;
	uint32_t app; /* string of its run */
	int32_t stage, attempt;
	const char *title; /* owned; "" unknown */
};

struct sp_stage_pair {
	struct sp_run_stage of[SP_RUNS];
	char *label; /* owned: "stage 4.0", "stage 4.0 → 7.0", "stage 4.0 (only base)" */
};

struct sp_run_match {
	struct sp_stage_pair *pairs; /* owned; by the new run's order, then those of the base */
	size_t count;
};

/* Matches the stages of two runs. Both profiles are changed: each task of a stage gets the pair's
 * label as stage_label, and generated classes get names that are equal in both runs,
 * "GeneratedClass$Generated(hashAgg, smj)" for GeneratedClass$GeneratedIteratorForCodegenStage5.
 * Returns 0 or -ENOMEM; sp_run_match_done in any case. */
__attribute__((warn_unused_result)) int sp_run_match_init(
	struct sp_run_match *m, struct sp_profile *base, struct sp_profile *new);
void sp_run_match_done(struct sp_run_match *m);

/* The pair that a stage of a run is in; NULL: none. An attempt of -1 is any. */
const struct sp_stage_pair *sp_run_match_find(
	const struct sp_run_match *m, unsigned run, int64_t stage, int64_t attempt);

#endif

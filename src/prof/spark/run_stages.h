/* The stages of a run as the matcher sees them: in order, with their words, and with what their
 * samples did as a vector. Inside of src/prof/spark. */
#ifndef SP_PROF_SPARK_RUN_STAGES_H
#define SP_PROF_SPARK_RUN_STAGES_H

#include "prof/model/profile.h"

/* Names are hashed into this many places: enough to distinguish stages. */
#define SP_RUN_DIMS 256

struct sp_run_row {
	uint32_t app;
	int32_t stage, attempt;
	uint32_t tasks;
	uint64_t start_ns;
	uint64_t samples; /* of all events */
	const struct sp_stage *about;
	char *title, *loose; /* owned: its words, and these without numbers, paths and ids */
	uint32_t partner;    /* number in the other run + 1; 0: none */
	float did[SP_RUN_DIMS];
};

struct sp_run_stages {
	struct sp_profile *p;	 /* borrowed */
	struct sp_run_row *rows; /* owned; as they began */
	uint32_t count;
	uint32_t *of_task; /* owned: number + 1 by row.task - 1; 0: no stage */
};

/* Returns 0 or -ENOMEM; sp_run_stages_done in any case. */
__attribute__((warn_unused_result)) int sp_run_stages_init(
	struct sp_run_stages *s, struct sp_profile *p);
void sp_run_stages_done(struct sp_run_stages *s);

/* The same words for a reader: without directories, and without those of Python's way into the JVM
 * where there are others. Owned by the caller; NULL: no memory. */
char *sp_run_title(const struct sp_profile *p, const struct sp_stage *a);

/* The number of a row's stage; @s->count where it has none. */
static inline uint32_t sp_run_stage_of(const struct sp_run_stages *s, const struct sp_sample *row)
{
	uint32_t n = row->task ? s->of_task[row->task - 1] : 0;

	return n ? n - 1 : s->count;
}

/* How alike two vectors are: 0 to 1, and 0.5 where one of them is empty. */
double sp_run_alike(const float *a, const float *b, size_t dims);

/* Gives generated classes names that both runs share; partners must be known. Returns 0 or
 * -ENOMEM. */
int sp_run_rename_generated(struct sp_run_stages *base, struct sp_run_stages *new);

/* "…GeneratedClass$GeneratedIteratorForCodegenStage12$hashAgg_FastHashMap_0": 12, *ret_start to
 * where its own name begins and *ret_end behind the number; 0: not such a class. */
unsigned sp_run_codegen_number(const char *name, size_t len, size_t *ret_start, size_t *ret_end);

#endif

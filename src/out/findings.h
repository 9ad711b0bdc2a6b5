/* Findings: the answer first. At most seven sentences about Spark's tasks, the costliest first,
 * each with its numbers, what to look at next and what to try. A finding is a claim, so each comes
 * from one line of the table of rules (finding_rules.c), which has its bound and is silent below
 * it. */
#ifndef SP_OUT_FINDINGS_H
#define SP_OUT_FINDINGS_H

#include "base/buf.h"
#include "out/stage_table.h"

#define SP_FINDINGS_MOST 7

struct sp_finding {
	const char *rule;	/* its name, for scripts: "gc", "straggler" */
	const char *advice;	/* what to try */
	uint64_t time_ns;	/* thread time that it is about: what ranks it */
	int32_t stage, attempt; /* where most of it was; -1: in no single stage */
	int64_t task;		/* TID, of a finding about one task; -1: none */
	const char *executor;	/* its id, of a finding about one; borrowed from the profile */
	struct sp_buf says;	/* owned: what was found, with a number */
	struct sp_buf next;	/* owned: the options of sparkprof that show more; may be empty */
};

struct sp_findings {
	struct sp_finding list[SP_FINDINGS_MOST];
	unsigned count;
};

/* Looks at the samples of wall, or of cpu where there are none. @areas: NULL for the built-in ones.
 * Returns 0, also where nothing was found, or -ENOMEM; sp_findings_done in any case. */
int sp_findings_init(struct sp_findings *f, const struct sp_profile *p, struct sp_areas *areas);
void sp_findings_done(struct sp_findings *f);

/* "[{"rule":"gc","says":…}, …]" */
void sp_findings_json(const struct sp_findings *f, struct sp_buf *out);

#endif

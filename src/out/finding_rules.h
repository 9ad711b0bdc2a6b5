/* Inside of src/out: what the rules of findings look at. */
#ifndef SP_OUT_FINDING_RULES_H
#define SP_OUT_FINDING_RULES_H

#include "out/findings.h"

/* What is known before any rule is asked. */
struct sp_facts {
	const struct sp_profile *p;
	unsigned event;		      /* wall or cpu */
	struct sp_stage_table stages; /* of that event */
	struct sp_areas *areas;
	uint64_t weight;   /* of all tasks */
	bool single;	   /* no executor ran two tasks at a time */
	bool local;	   /* tasks ran in the driver */
	uint64_t *amounts; /* borrowed while a rule looks: by row of stages */
	uint64_t *kept;	   /* owned: the same of the last rule that names a method */
	struct sp_findings *to;
	int error; /* sticky: -ENOMEM */
};

/* One line of the table. A rule holds for a stage where its kind of time is at least @share of the
 * stage, and for the recording where those stages have at least SP_FINDING_NS and SP_FINDING_SHARE
 * of all task time together. */
struct sp_finding_rule {
	const char *name;
	enum sp_time_class spent; /* of rules about one kind of time */
	double share;		  /* 0 to 1 */
	void (*look)(struct sp_facts *f, const struct sp_finding_rule *rule);
	const char *words;  /* "Tasks wait for locks": goes before the number */
	const char *next;   /* options of sparkprof */
	const char *advice; /* what to try */
	const char
		*single;   /* the same where no executor runs two tasks at a time; NULL: as above */
	const char *local; /* the same where tasks run in the driver: local[N] has no executors */
	const char *area;  /* of rules about an area of work: its name */
	bool taskless;	   /* it is asked where no task ran, too */
};

/* How much of a stage a rule is about. */
typedef uint64_t sp_finding_amount_fn(
	const struct sp_facts *f, const struct sp_finding_rule *rule, const struct sp_stage_row *r);

#define SP_FINDING_NS	 1000000000ull
#define SP_FINDING_SHARE 0.05

extern const struct sp_finding_rule sp_finding_rules[];
extern const size_t sp_finding_rule_count;

/* A new finding, in its place by @time_ns; NULL where seven others cost more. */
struct sp_finding *sp_finding_add(
	struct sp_facts *f, const struct sp_finding_rule *rule, uint64_t time_ns);

/* Sums the stages of which @amount is at least the rule's share, and adds a finding with its words,
 * the sum and where most of it was. NULL: not enough in all. */
struct sp_finding *sp_finding_sum(
	struct sp_facts *f, const struct sp_finding_rule *rule, sp_finding_amount_fn *amount);

/* Amounts for sp_finding_sum: stages' time of the rule's kind; what the rule has summed itself. */
sp_finding_amount_fn sp_finding_of_kind, sp_finding_of_amounts;

/* The stage of a task; NULL: none. */
const struct sp_stage_row *sp_finding_stage_of(
	const struct sp_facts *f, const struct sp_task_run *t);

/* Appends what to look at next. */
void sp_finding_next(struct sp_finding *x, const struct sp_finding_rule *rule);

/* The rule about stragglers: finding_straggler.c. */
void sp_finding_straggler(struct sp_facts *f, const struct sp_finding_rule *rule);

/* The rule about an executor that is unlike the others: finding_executor.c. */
void sp_finding_executor(struct sp_facts *f, const struct sp_finding_rule *rule);

/* Rules that name a method: finding_frame.c. */
void sp_finding_lock(struct sp_facts *f, const struct sp_finding_rule *rule);
void sp_finding_python(struct sp_facts *f, const struct sp_finding_rule *rule);
void sp_finding_called(struct sp_facts *f, const struct sp_finding_rule *rule);
void sp_finding_blocked(struct sp_facts *f, const struct sp_finding_rule *rule);

/* Rules about what tasks work on, in whatever state: finding_work.c. */
void sp_finding_area(struct sp_facts *f, const struct sp_finding_rule *rule);
void sp_finding_driver(struct sp_facts *f, const struct sp_finding_rule *rule);
void sp_finding_opens(struct sp_facts *f, const struct sp_finding_rule *rule);

/* The rule about programs that rows go through, and whether a stack is about one: finding_pipe.c.
 */
void sp_finding_pipe(struct sp_facts *f, const struct sp_finding_rule *rule);
bool sp_finding_is_pipe(const struct sp_facts *f, const struct sp_stack *s);

/* The rule about tasks that run once more: finding_retries.c. */
void sp_finding_retries(struct sp_facts *f, const struct sp_finding_rule *rule);

/* The rules about time without a task, or without a job, and about a driver that lists files:
 * finding_gap.c. */
void sp_finding_gap(struct sp_facts *f, const struct sp_finding_rule *rule);
void sp_finding_listing(struct sp_facts *f, const struct sp_finding_rule *rule);

#endif

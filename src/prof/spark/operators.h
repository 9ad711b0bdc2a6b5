/* Which operators of a query's plan a stack works for. Spark fuses operators into generated
 * classes; what is known of a class is the names of its methods, which begin with the operator that
 * made them (hashAgg_doAggregateWithKeys_0). Numbers of such classes start anew in every query, so
 * one is known by query, stage and number together. A method into which several operators are fused
 * has the name of the whole pipeline; none of them is guessed. */
#ifndef SP_PROF_SPARK_OPERATORS_H
#define SP_PROF_SPARK_OPERATORS_H

#include "base/buf.h"
#include "prof/model/profile.h"

struct sp_operators;

/* Looks at all samples of @p, which is borrowed until sp_operators_free. Returns 0 or -ENOMEM. */
__attribute__((warn_unused_result)) int sp_operators_new(
	struct sp_operators **ret, const struct sp_profile *p);
void sp_operators_free(struct sp_operators *o);

/* Appends the operator that the frame nearest to the leaf with one names: "Sort", of an operator's
 * own code; "HashAggregate ← SortMergeJoin ← … (codegen 5)", what reads first, of a generated
 * class: operators without a method of their own, such as a projection, are in "…" unless the
 * driver's UI or an event log has the plan; "Python UDF". Returns false, and appends nothing, where
 * no frame names one. */
bool sp_operators_name(
	const struct sp_operators *o, const struct sp_sample *row, struct sp_buf *out);

/* Appends the same in brackets, "[no operator]" where no frame names one. */
void sp_operators_label(
	const struct sp_operators *o, const struct sp_sample *row, struct sp_buf *out);

#endif

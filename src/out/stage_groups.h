/* Stages that are the same work again, as one: all batches of a streaming query, and stages of one
 * name that run again and again, such as the iterations of k-means. Inside of src/out: text,
 * Markdown and the page show the same groups. */
#ifndef SP_OUT_STAGE_GROUPS_H
#define SP_OUT_STAGE_GROUPS_H

#include "out/stage_table.h"

struct sp_stage_group {
	/* Sums of the members; the rest is of the one with a straggler, else of the heaviest. What
	 * its pointers point to belongs to the stages. */
	struct sp_stage_row row;
	uint32_t *members; /* owned: numbers of rows of the stages, lowest stage first */
	uint32_t count;
	bool streaming;
};

struct sp_stage_groups {
	struct sp_stage_group *list; /* owned; heaviest first. A stage alone is a group of one */
	size_t count;
	const struct sp_stage_table *stages; /* borrowed */
};

/* Of stages of one query (SQL execution, else job) those of one name stay apart: the first of each
 * run of that query are a group, the second are another.
 * Owner:   @s is borrowed until sp_stage_groups_done, which is called in any case.
 * Returns: 0 or -ENOMEM. */
int sp_stage_groups_init(
	struct sp_stage_groups *g, const struct sp_stage_table *s, const struct sp_profile *p);
void sp_stage_groups_done(struct sp_stage_groups *g);

/* Appends what a person calls it: a stage's title; of several their common name, and with @numbers
 * which they are: "collectAsMap at KMeans.scala:302 (stages 5.0 to 23.0)", "streaming query
 * "orders", batches 3 to 16 (stages 7.0 to 48.0)". */
void sp_stage_groups_title(const struct sp_stage_groups *g, const struct sp_stage_group *x,
	const struct sp_profile *p, bool numbers, struct sp_buf *out);

#endif

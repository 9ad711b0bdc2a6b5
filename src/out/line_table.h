/* Self time by line: of each method, how much of an event's weight ended at which of its lines.
 * Java and Python frames know their lines. Inside of src/out. */
#ifndef SP_OUT_LINE_TABLE_H
#define SP_OUT_LINE_TABLE_H

#include "prof/model/frame_name.h"
#include "prof/model/profile.h"

struct sp_line_weight {
	int32_t line;
	uint64_t weight;
};

struct sp_line_method {
	char *name;		   /* owned; as sp_frame_name writes it */
	struct sp_frame_ref frame; /* one of those it was summed from */
	uint64_t weight;
	struct sp_line_weight *lines; /* borrowed from the table; heaviest first */
	size_t count;
};

struct sp_line_table {
	struct sp_line_method *methods; /* owned; heaviest first */
	size_t count;
	struct sp_line_weight *lines; /* owned */
};

/* Sums the samples of @p's event with that index. @shown: of each row of @p, 0 where it is left
 * out; NULL: all count. sp_line_table_done in any case. Returns 0 or -ENOMEM. */
int sp_line_table_init(struct sp_line_table *t, const struct sp_profile *p, unsigned event,
	const uint32_t *shown, const struct sp_style *style);
void sp_line_table_done(struct sp_line_table *t);

#endif

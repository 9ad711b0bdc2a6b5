/* --slowest: the executors whose tasks took longest, by what Spark's driver knows of them. */
#ifndef SP_LAUNCHER_VIA_SLOWEST_H
#define SP_LAUNCHER_VIA_SLOWEST_H

#include "choose.h"

/* Leaves of the executors among @list that are meant only @keep: those with the highest mean time
 * of a finished task, as the REST at --driver-ui has it. Drivers stay.
 * Returns 0; -ESRCH where it knows of no finished task of theirs; -errno; with a sentence. */
int sp_via_slowest(
	const struct sp_call *call, struct sp_via_member *list, size_t n, struct sp_err *err);

/* The same of an answer about @app. Returns how many are left. */
size_t sp_via_slowest_keep(const char *app, const char *json, size_t len, size_t keep,
	struct sp_via_member *list, size_t n);

#endif

/* Frames that threads start with: the C library's and the JVM's, pools, Spark's way into a task.
 * They say nothing of the work above them, so pictures open without them. The page has the same
 * list (src/page/starts.js). */
#ifndef SP_OUT_STARTS_H
#define SP_OUT_STARTS_H

#include <stdbool.h>

struct sp_starts;

/* Returns 0 or -ENOMEM; *ret belongs to the caller. */
int sp_starts_new(struct sp_starts **ret);
void sp_starts_free(struct sp_starts *s);

/* Whether a frame of that name is one where nothing but such frames is below it. */
bool sp_starts_has(const struct sp_starts *s, const char *name);

#endif

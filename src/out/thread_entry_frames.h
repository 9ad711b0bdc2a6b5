/* Frames that threads start with: the C library's and the JVM's, pools, Spark's way into a task.
 * They say nothing of the work above them, so pictures open without them. The page has the same
 * list (src/page/starts.js). */
#ifndef SP_OUT_THREAD_ENTRY_FRAMES_H
#define SP_OUT_THREAD_ENTRY_FRAMES_H

#include <stdbool.h>

struct sp_thread_entry_frames;

/* Returns 0 or -ENOMEM; *ret belongs to the caller. */
int sp_thread_entry_frames_new(struct sp_thread_entry_frames **ret);
void sp_thread_entry_frames_free(struct sp_thread_entry_frames *s);

/* Whether a frame of that name is one where nothing but such frames is below it. */
bool sp_thread_entry_frames_has(struct sp_thread_entry_frames *s, const char *name);

/* Whether one of those answers was wrong, for memory was short. */
bool sp_thread_entry_frames_failed(const struct sp_thread_entry_frames *s);

#endif

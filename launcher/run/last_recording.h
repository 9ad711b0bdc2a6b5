/* The last finished recording of a target, for a `stop` or `dump` that comes when nothing is
 * recorded any more. The agent keeps nothing in its host: the launcher keeps a copy of what it has
 * just written, in the cache directory of the user who asked (XDG_CACHE_HOME, ~/.cache), readable
 * by nobody else. At most four, of at most 32 MB each; those of targets that have ended go with the
 * next one. */
#ifndef SP_LAUNCHER_RUN_LAST_RECORDING_H
#define SP_LAUNCHER_RUN_LAST_RECORDING_H

#include "discover/jvm.h"

/* Keeps what @fd holds. Returns whether it is kept; nothing fails where it cannot be. */
bool sp_last_recording_keep(const struct sp_jvm *target, int fd);

/* Returns a descriptor for reading, the caller's; or -ENOENT. */
__attribute__((warn_unused_result)) int sp_last_recording_open(const struct sp_jvm *target);

#endif

/* Copies a recording with its unresolved native frames named: what the launcher does at stop. Every
 * event is kept, also those of types it does not know; pads are left out. Launcher side. */
#ifndef SP_JFR_REWRITE_H
#define SP_JFR_REWRITE_H

#include "base/err.h"

#include <stdint.h>

/* The name of the function at @offset in @module ("libc.so.6", "[kernel]") with @build_id (hex; of
 * the kernel its boot id), or NULL to leave it as it is. @has: NULL; or the mangled name that the
 * recording has for it, then @offset is 0 and @build_id empty. Borrowed until the next call. */
typedef const char *sp_jfr_name_fn(
	void *ctx, const char *module, uint64_t offset, const char *build_id, const char *has);

struct sp_jfr_rewrite_stats {
	uint64_t chunks, renamed, kept; /* methods */
	uint64_t copied; /* chunks that could not be decoded and were copied as they are */
};

/* Values that look secret are taken out of command lines, properties and the environment: see
 * jfr/redact_jfr.h. A chunk that cannot be decoded is still copied as it is. */
#define SP_JFR_REWRITE_REDACT 1u

/* Copies @in (a regular file) to @out (an empty one; the caller renames it when this has returned
 * 0). Returns: 0; -EBADMSG with a sentence after everything readable was copied; another -errno. */
int sp_jfr_rewrite(int in, int out, unsigned flags, sp_jfr_name_fn *name, void *ctx,
	struct sp_jfr_rewrite_stats *ret, struct sp_err *err);

#endif

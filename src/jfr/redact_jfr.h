/* Events of recordings that hold command lines, properties and variables of the environment,
 * written again without what looks secret (base/redact.h). For recordings of the JDK, of other
 * profilers and of older versions of ours. Launcher side. */
#ifndef SP_JFR_REDACT_JFR_H
#define SP_JFR_REDACT_JFR_H

#include "base/buf.h"
#include "jfr/chunk.h"

/* Does an event of this type hold such text? */
bool sp_jfr_redact_wants(const struct sp_jfr_schema *s, uint64_t type);

/* Appends the event with fields from @c on, with its size and type. Strings that the event does
 * not hold itself but names by number in a pool are left: no known writer does so in these events.
 * Returns 0; -EBADMSG where it cannot be read, then @out is as it was; -ENOMEM. */
int sp_jfr_redact_event(
	const struct sp_jfr_schema *s, struct sp_jfr_cursor c, uint64_t type, struct sp_buf *out);

#endif

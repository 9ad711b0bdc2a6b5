/* Events of a recording that are no samples: its settings, JVM, libraries, losses and the numbers
 * over time beside them. Each takes what it needs of @e into @l; 0, or -errno where memory fails.
 */
#ifndef SP_PROF_LOAD_LOAD_METADATA_H
#define SP_PROF_LOAD_LOAD_METADATA_H

#include "prof/load/load_event.h"

void sp_load_metadata_setting(struct sp_loading *l, const struct sp_jfr_event *e);
void sp_load_metadata_jvm(struct sp_loading *l, const struct sp_jfr_event *e);
int sp_load_metadata_module(struct sp_loading *l, const struct sp_jfr_event *e);
int sp_load_metadata_counts(struct sp_loading *l, const struct sp_jfr_event *e);
int sp_load_metadata_lost(struct sp_loading *l, const struct sp_jfr_event *e);

/* Points of the time line, for types that have some. */
int sp_load_metadata_series(struct sp_loading *l, const char *type, const struct sp_jfr_event *e);

#endif

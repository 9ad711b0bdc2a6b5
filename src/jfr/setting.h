/* What a recording says of itself: events jdk.ActiveSetting, one for each name and value. */
#ifndef SP_JFR_SETTING_H
#define SP_JFR_SETTING_H

#include "jfr/writer.h"

__attribute__((nonnull)) void sp_jfrw_setting(
	struct sp_jfrw *w, const char *name, const char *value);
__attribute__((nonnull)) void sp_jfrw_setting_number(
	struct sp_jfrw *w, const char *name, uint64_t n);

#endif

/* Settings of a recording: see setting.h. */
#include "jfr/setting.h"

#include <stdio.h>

#include "base/clock.h"
#include "jfr/event_fields.h"

void sp_jfrw_setting(struct sp_jfrw *w, const char *name, const char *value)
{
	sp_jfrw_event(
		w, SP_JFR_EVENT(ACTIVE_SETTING, .startTime.u = sp_clock_mono_ns(),
			   .id.u = SP_JFR_EXECUTION_SAMPLE, .name.s = name, .value.s = value));
}

void sp_jfrw_setting_number(struct sp_jfrw *w, const char *name, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	sp_jfrw_setting(w, name, text);
}

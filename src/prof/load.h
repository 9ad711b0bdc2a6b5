/* From a recording to a profile: the step before every report. Launcher side. */
#ifndef SP_PROF_LOAD_H
#define SP_PROF_LOAD_H

#include "base/err.h"
#include "elf/symbols.h"
#include "prof/profile.h"

/* Most memory that the dictionary of a recording may take: address space, touched as used. */
#define SP_LOAD_DICT_CAP (1ull << 30)

/* Reads the recording in @fd (from where it stands to its end) into a new profile: samples of cpu
 * (jdk.ExecutionSample), wall (profiler.WallClockSample), allocations and locks; what was sampled
 * and how often (jdk.ActiveSetting), the JVM, what was lost.
 * @symbols: names for native functions that the agent left open; NULL: they stay open. Modules that
 *           the recording tells of are added to it.
 * Owner:   *ret belongs to the caller: sp_profile_free.
 * Returns: 0; a recording that is damaged or cut somewhere gives what can be read, with a note in
 *          the profile; -EBADMSG if nothing could be; else -errno. @err then holds a sentence. */
int sp_load(int fd, struct sp_symbols *symbols, struct sp_profile **ret, struct sp_err *err);

#endif

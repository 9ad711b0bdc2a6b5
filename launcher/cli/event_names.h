/* Event names as -e takes them. What can be sampled on a given host is probed elsewhere; this only
 * knows the words. */
#ifndef SP_LAUNCHER_CLI_EVENT_NAMES_H
#define SP_LAUNCHER_CLI_EVENT_NAMES_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum sp_event_group {
	SP_EVENT_ENGINE, /* cpu, ctimer, itimer, wall */
	SP_EVENT_HOOK,	 /* alloc, live, lock, nativelock, nativemem: reported where they happen */
	SP_EVENT_SOFTWARE, /* perf software events */
	SP_EVENT_HARDWARE, /* perf hardware events */
	SP_EVENT_CACHE,	   /* perf cache events: L1-dcache-load-misses */
};

enum sp_event_unit { SP_EVENT_TIME, SP_EVENT_COUNT, SP_EVENT_SIZE };

struct sp_event_info {
	const char *name;
	enum sp_event_group group;
	bool built;
	enum sp_event_unit unit; /* of -i */
	const char *help;	 /* half a sentence */
};

/* The table of events with a fixed name, *ret_n entries. Static. */
const struct sp_event_info *sp_event_names_table(size_t *ret_n);

/* Checks a name: one of the table, sys:tracepoint, mem:ADDR[/LEN][:rwx], rNNN, kprobe:…, uprobe:…,
 * a Java method or a native function. Returns 0, or -EINVAL with a sentence. */
int sp_event_check(const char *name, struct sp_err *err);

/* What the event's -i is: a time (cpu, ctimer, itimer, wall, cpu-clock, task-clock, lock), bytes
 * (alloc, live, nativemem) or a number of events. */
enum sp_event_unit sp_event_unit(const char *name);

/* Whether it names a Java method: Class.method, * in either for any text. */
bool sp_event_is_method(const char *name);

/* Whether hooks report it, beside any other event. */
bool sp_event_is_hook(const char *name);

#endif

/* Which events can be had right here: by opening each one for the calling process, then closing it.
 * Runs in the launcher (`sparkprof list`) and, for a target, inside the agent: so in the target's
 * own security context (its user, capabilities, seccomp filter and cgroup).
 * Context: any ordinary thread. Allocates nothing, leaves no descriptor or timer behind, raises no
 * signal. */
#ifndef SP_PROBE_PROBE_H
#define SP_PROBE_PROBE_H

#include <stdint.h>

enum sp_probe_group {
	SP_PROBE_ENGINE,
	SP_PROBE_SOFTWARE,
	SP_PROBE_HARDWARE,
	SP_PROBE_CACHE,
	SP_PROBE_RAW,
	SP_PROBE_TRACEPOINT,
	SP_PROBE_BREAKPOINT,
	SP_PROBE_DYNAMIC, /* kprobes and uprobes */
	SP_PROBE_GROUPS
};

enum sp_probe_state {
	SP_PROBE_YES,	  /* available */
	SP_PROBE_LIMITED, /* available, but the note says what is missing */
	SP_PROBE_NO,	  /* not here: the note says why and what would help */
	SP_PROBE_STATES
};

struct sp_probe_row {
	enum sp_probe_group group;
	enum sp_probe_state state;
	const char *name; /* as -e takes it; borrowed for the call */
	const char *note; /* "" or a sentence; borrowed for the call */
};

/* Takes one row; a negative return ends the probing and is returned. */
typedef int sp_probe_fn(void *ctx, const struct sp_probe_row *row);

/* Probes everything in a fixed order, groups together. Returns 0 or what @fn returned. */
int sp_probe_run(sp_probe_fn *fn, void *ctx);

/* "perf software events", for headings; NULL for an unknown number. Static. */
const char *sp_probe_group_name(unsigned group);

#endif

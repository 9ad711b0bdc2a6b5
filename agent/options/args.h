/* What the agent records: from the fields of START, or from the words behind -agentpath, which are
 * async-profiler's (start,event=cpu,interval=10ms,file=x.jfr …). What async-profiler knows and a
 * recording does not need is accepted, so that its options can be kept. */
#ifndef SP_AGENT_OPTIONS_ARGS_H
#define SP_AGENT_OPTIONS_ARGS_H

#include "base/err.h"
#include "wire/record_options.h"

#include <stdbool.h>
#include <stdint.h>

#define SP_ARGS_NONE SP_RECORD_NONE /* an event that was not asked for */

struct sp_args {
	char event[128];      /* cpu, ctimer, itimer, wall, a perf event; or alloc, live, lock,
				 nativelock, nativemem, calls, trace where nothing else is sampled */
	uint64_t interval_ns; /* 0: the event's default; for counting perf events: the period */
	uint64_t wall_ns;     /* a second engine beside: 0 = none */
	/* What hooks report, beside: SP_ARGS_NONE, or how much one sample represents. */
	uint64_t alloc;		/* bytes of Java objects */
	uint64_t lock_ns;	/* time waited for Java locks */
	uint64_t nativelock_ns; /* time waited for locks of native code */
	uint64_t nativemem;	/* bytes of malloc and similar; 0: every call */
	char methods[1024];	/* Java methods to count calls of: see method_patterns.h; "" =
				   none */
	char trace[1024];	/* … and timed, with the least time to report */
	bool live;		/* keep what of alloc is still alive */
	bool allocs;		/* with live: also report what is not */
	bool nofree;		/* do not follow free */
	bool noredact;		/* what looks secret stays in the command line */
	char cstack[16];	/* native frames: "", "no", "fp", "dwarf", "lbr", "vm", "vmx" */
	bool vtable, comptask;	/* frames that say more: see unwind/extra_frames.h */
	bool left;		/* the launcher goes while it records */
	bool ttsp;		/* sample only while the JVM waits for a safepoint */
	bool nostop;		/* with begin: all is sampled, and when it was is noted */
	char begin[160];	/* … only from a call of this native function on; "" = always */
	char end[160];		/* … until one of this one; "" = to the end */
	bool alluser;		/* perf events count in user mode only */
	char target_cpu[8];	/* sample only what runs on this CPU; "" = any */
	char kernel[8];		/* kernel frames: "", "on" or "off" */
	char capture[16];	/* "", "ring" or "signal" */
	char perf[16];	     /* the launcher opens perf events where we may not: "passed"; it could,
			      * but "leaves"; "" */
	uint32_t depth;	     /* frames, 2048 by default */
	uint64_t depth_left; /* of a stack that has more; 0: all of @depth */
	uint64_t proc_ns;    /* how often processes of the machine are looked at; 0: never */
	uint64_t memory;     /* cap for what the agent maps, 12 MB by default */
	uint64_t chunk_bytes, chunk_ns, flush_ns;
	uint64_t timeout_ns; /* stop by itself after this long; 0 = never */
	char file[1024];     /* autostart only */
	char localdir[512];  /* autostart only: where segments wait for the cluster's files */
	char filter[1024];   /* thread ids "1-5,9"; "" = all */
	char thread[256];    /* thread name pattern; "" = all */
	char python[12]; /* Python processes below the JVM: "auto" (""), "on", "off"; "launcher":
			  * that samples them */
	char driver_ui[512]; /* where the driver's UI is; "": looked for */
	uint64_t loop;	   /* autostart only: a file per so long, see arg_values.h; 0 = one file */
	uint64_t maxdisk;  /* autostart only: bytes that local files may take; 0 = any */
	uint64_t dfs_ns;   /* autostart only: how often a segment goes to the cluster's files */
	uint32_t fraction; /* autostart only: how many of a million executors record */
	char ignored[256]; /* words of async-profiler that have no effect as written, "a, b" */
	/* What file= is to be in the end, as the launcher calls formats; "" a recording. */
	char output[12], report[12];
	char report_ext[24]; /* the extension that file= has for it; "" none */
	char looks[512];     /* how it looks: ",total,title=x" */
	bool start;	     /* the word "start" was there */
	bool stream;	     /* out_fd is a pipe: a self-contained chunk per flush */
	bool event_given;    /* "event" was there */
	bool append;	     /* out_fd holds a recording: go on behind it */
	char given[1024];    /* the words as they were written, to be shown */
};

void sp_args_init(struct sp_args *a);

/* Parses @text over the defaults: words separated by commas; a comma inside a value is written
 * "\\,". Unknown words and bad values are refused by name in @err.
 * Returns 0 or -EINVAL. */
int sp_args_parse(struct sp_args *a, const char *text, struct sp_err *err);

/* Fills @a by the fields of a START: the same bounds, and refused in the same words. No text is
 * parsed but those that are one value. Returns 0 or -EINVAL. */
__attribute__((warn_unused_result)) int sp_args_from_record(
	struct sp_args *a, const struct sp_record_options *o, struct sp_err *err);

/* The fields that @a has; texts are borrowed from it. */
void sp_args_to_record(const struct sp_args *a, struct sp_record_options *ret);

/* Is @tid in a->filter? True where there is no filter. */
bool sp_args_has_tid(const struct sp_args *a, uint32_t tid);

/* The interval that @a means for its event: what was given, else 10 ms (wall: 50 ms), else, for an
 * event that is counted, its period in events. */
uint64_t sp_args_interval(const struct sp_args *a);

/* Does @a ask for anything that hooks report? */
bool sp_args_hooks(const struct sp_args *a);

/* Is not all time sampled? */
bool sp_args_gated(const struct sp_args *a);

/* Is there nothing to sample beside what hooks report? */
bool sp_args_only_hooks(const struct sp_args *a);

#endif

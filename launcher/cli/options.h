/* The command line: what a user asked for, as one plain struct.
 * The options are in options.def; parser, help and checks come from there. main.c calls
 * sp_options_parse once and hands the result to one sp_cmd_<name> (command.h). */
#ifndef SP_LAUNCHER_CLI_OPTIONS_H
#define SP_LAUNCHER_CLI_OPTIONS_H

#include "base/err.h"
#include "base/time_spec.h"
#include "output_format.h"
#include "prof/load/load.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sp_action {
	SP_ACTION_COLLECT,
	SP_ACTION_START,
	SP_ACTION_STOP,
	SP_ACTION_DUMP,
	SP_ACTION_RESUME,
	SP_ACTION_STATUS,
	SP_ACTION_LIST,
	SP_ACTION_PS,
	SP_ACTION_STACK,
	SP_ACTION_REPORT,
	SP_ACTION_DIFF,
	SP_ACTION_VERSION,
	SP_ACTION_METRICS,
	SP_ACTION_CHECK, /* from here on kept words of async-profiler, refused */
	SP_ACTION_MEMINFO,
	SP_ACTION_LOAD,
	SP_ACTION_JCMD,
	SP_ACTION_THREADDUMP,
	SP_ACTION_DUMPHEAP,
	SP_ACTION_INSPECTHEAP,
	SP_ACTION_COUNT,
};

/* --cstack. */
enum sp_cstack_words {
	SP_CSTACK_WORD_NONE,
	SP_CSTACK_WORD_NO,
	SP_CSTACK_WORD_FP,
	SP_CSTACK_WORD_DWARF,
	SP_CSTACK_WORD_LBR,
	SP_CSTACK_WORD_VM,
	SP_CSTACK_WORD_VMX,
};

/* --kernel. */
enum sp_kernel_frames {
	SP_KERNEL_DEFAULT,
	SP_KERNEL_ON,
	SP_KERNEL_OFF,
};

enum sp_capture_by {
	SP_CAPTURE_AUTO,
	SP_CAPTURE_RING,
	SP_CAPTURE_SIGNAL,
};

/* --python. */
enum sp_python {
	SP_PYTHON_DEFAULT,
	SP_PYTHON_AUTO,
	SP_PYTHON_ON,
	SP_PYTHON_OFF,
};

/* --names. */
enum sp_name_style {
	SP_NAMES_DEFAULT,
	SP_NAMES_FULL,
	SP_NAMES_SHORT,
};

enum {
	SP_CALL_MAX_EVENTS = 8,
	SP_CALL_MAX_OUTPUTS = 16,
	SP_CALL_MAX_PATTERNS = 32,
	SP_CALL_MAX_TARGETS = 1024,
	SP_CALL_MAX_NOTES = 16,
	SP_CALL_WORDS = 1024,
	SP_CALL_MAX_GIVEN = 512,
	SP_EVENT_NAME_LEN = 128,
};

/* --via. */
enum sp_via {
	SP_VIA_DEFAULT,
	SP_VIA_LOCAL,
	SP_VIA_SSH,
	SP_VIA_KUBECTL,
};

/* --driver. */
enum sp_with_driver {
	SP_WITH_DRIVER_DEFAULT,
	SP_WITH_DRIVER_ON,
	SP_WITH_DRIVER_OFF,
};

/* An option as it was given: for those who pass a call on. */
struct sp_call_given {
	const char *name, *value; /* without dashes; NULL: takes none. Static, borrowed from argv */
	bool shapes;		  /* it is about what is printed, not about what is recorded */
};

/* One -e, --wall, --alloc … */
struct sp_call_event {
	char name[SP_EVENT_NAME_LEN]; /* checked by sp_event_check: cpu, wall, cycles, sched:… */
	bool given;		      /* @interval is the user's */
	uint64_t interval;	      /* in its unit (sp_event_unit); 0 where not given */
};

/* -j: most frames of a stack, and how many are left of one with more. */
struct sp_call_depth {
	uint64_t most, left;
};

/* One -f; or stdout where none was given. */
struct sp_call_output {
	const char
		*path; /* pattern as written (name_template.h), "-" is stdout; borrowed from argv */
	enum sp_format format;
};

/* --log. */
enum sp_log_level {
	SP_LOG_DEFAULT,
	SP_LOG_DEBUG,
	SP_LOG_INFO,
	SP_LOG_WARN,
	SP_LOG_ERROR,
	SP_LOG_NONE,
};

/* An option that was taken though nothing has to be done for it, and why. Static. */
struct sp_call_note {
	const char *name, *why;
};

/* -I and -X, in any number: glob patterns over frames, borrowed from argv. */
struct sp_call_patterns {
	const char *text[SP_CALL_MAX_PATTERNS];
	size_t n;
};

/* A checked call. Plain data: strings are borrowed from argv, nothing has to be freed. Fields that
 * the action does not take hold their defaults. */
struct sp_call {
	enum sp_action action;

	/* what to sample: collect, start */
	struct sp_call_event events[SP_CALL_MAX_EVENTS]; /* at least one, or a trace; at most one is
							    neither wall nor a hook's */
	size_t n_events;
	struct sp_call_depth depth;    /* -j */
	struct sp_call_patterns trace; /* --trace: Class.method[:TIME] each */
	bool live;		       /* --live */
	bool nofree;		       /* --nofree */
	bool no_redact;		       /* --no-redact */
	bool all;		       /* --all; also of stack */
	const char *filter;	       /* --filter: thread ids "1-5,9"; NULL: all */
	const char *thread;	       /* --thread: glob over thread names; NULL: all */
	bool all_user;		       /* --all-user */
	const char *features;	       /* --features; NULL: none */
	bool vtable, comptask;	       /* … of them */
	bool ttsp;		       /* --ttsp */
	bool nostop;		       /* --nostop */
	uint64_t proc_ns;	       /* --proc; 0: not */
	const char *target_cpu;	       /* --target-cpu; NULL: any */
	const char *begin, *end;       /* --begin, --end: native functions; NULL: none */
	enum sp_cstack_words cstack;
	enum sp_kernel_frames kernel;
	enum sp_capture_by capture;
	enum sp_python python;
	bool native;	      /* --native: native frames of Python too */
	bool blocking;	      /* --blocking: Python threads that run are stopped */
	uint64_t memory;      /* --memory: cap in bytes for what the agent maps, 12 MB */
	uint64_t chunk_bytes; /* --chunksize, 100 MB */
	uint64_t chunk_ns;    /* --chunktime, 1 h */

	/* how long */
	uint64_t duration_ns;	    /* -d, collect only, 60 s */
	uint64_t timeout_ns;	    /* --timeout, start and resume, 1 h */
	uint64_t attach_timeout_ns; /* --attach-timeout, 10 s */
	const char *loop;	    /* --loop as written: a checked time; NULL: none */

	/* where to and how it looks: collect, start, stop, dump */
	struct sp_call_output outputs[SP_CALL_MAX_OUTPUTS];
	size_t n_outputs; /* collect: at least one; else 0 where -f was not given */
	struct sp_call_patterns include, exclude;
	bool threads;	   /* -t */
	bool simple;	   /* -s */
	bool signatures;   /* -g */
	bool normalize;	   /* -n */
	bool dotted;	   /* --dot */
	bool samples;	   /* --samples; the same as no --total */
	const char *title; /* --title; NULL: what the recording is of */
	double minwidth;   /* --minwidth, in percent; 0: as narrow as can be drawn */
	bool reverse;	   /* --reverse */
	bool inverted;	   /* --inverted */
	bool text_parts;   /* -o flat or traces: these parts of text alone, this many lines each */
	unsigned flat, traces;
	bool annotate;	    /* -a */
	bool libs;	    /* -l */
	bool lines;	    /* --lines */
	const char *source; /* --source; NULL: none */
	bool total;	    /* --total: weights are time or bytes, not samples */

	/* what to show of recordings: report, diff; events and thread serve there too */
	struct sp_time_spec from, to;
	const char *states;	  /* --state: a checked list; NULL: all */
	uint64_t min_duration_ns; /* --min-duration; 0: none */
	enum sp_by by;
	const char *stage, *task, *sql, *executor; /* Spark's numbers as written; NULL: all */
	const char *host;			   /* where executors ran; NULL: anywhere */
	bool tasks_only, all_threads, python_both;
	const char *event_log; /* --event-log; NULL: none */
	const char *driver_ui; /* --driver-ui: an address, or "none"; NULL: looked for */
	enum sp_name_style names;
	const char *areas; /* --areas; NULL: the built-in ones */
	bool absolute;	   /* --absolute */

	/* other hosts */
	enum sp_via via;
	const char *hosts;		     /* --hosts as written; NULL: none */
	const char *rm;			     /* --rm: an address; NULL: see HADOOP_CONF_DIR */
	const char *master;		     /* --master: an address; NULL: none */
	const char *ssh_user;		     /* --user; NULL: ssh's own */
	struct sp_call_patterns ssh_options; /* --ssh-option */
	uint64_t parallel;		     /* --parallel, 32 */
	const char *kube_namespace;	     /* --namespace; NULL: kubectl's own, as are */
	const char *kube_context;	     /* --context */
	const char *container;		     /* --container; NULL: Spark's */
	const char *executors;		     /* --executors: a checked list; NULL: all */
	double fraction;		     /* --fraction; 0: all */
	uint64_t slowest;		     /* --slowest; 0: all */
	enum sp_with_driver with_driver;     /* --driver */
	bool sudo, follow, strict, dry_run;
	struct sp_call_given given[SP_CALL_MAX_GIVEN];
	size_t n_given;

	bool force; /* --force */
	bool json;  /* --json */
	bool quiet; /* -q */
	enum sp_log_level log;
	struct sp_call_note notes[SP_CALL_MAX_NOTES];
	size_t n_notes;
	char words[SP_CALL_WORDS]; /* what -o had between commas */
	size_t words_len;

	/* targets as written, or files of report and diff; target.h resolves the former. Borrowed
	 * from argv. */
	const char *targets[SP_CALL_MAX_TARGETS];
	size_t n_targets;

	/* -h, --help[=OPTION]: nothing else in the call counts */
	enum { SP_HELP_NONE, SP_HELP_SHORT, SP_HELP_WHOLE, SP_HELP_ACTION, SP_HELP_ONE } help;
	const char *help_topic; /* SP_HELP_ONE: an option that exists, borrowed from argv */
};

/* Parses and checks argv (argv[0] is skipped) over the defaults. Reads nothing but argv.
 * Returns: 0, or -EINVAL with one sentence in @err that names the option; then *ret_call is not
 * to be used. */
int sp_options_parse(int argc, char *const argv[], struct sp_call *ret_call, struct sp_err *err);

/* Whether each output of @call gets its own name with that many targets. The parser asks this for
 * the targets as written; whoever resolves `executors` asks again. Returns 0, or -EINVAL and a
 * sentence. */
int sp_options_check_outputs(const struct sp_call *call, size_t n_targets, struct sp_err *err);

/* The word for an action: "collect". Static. */
const char *sp_action_name(enum sp_action action);

#endif

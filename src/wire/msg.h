/* The messages between launcher and agent, as bytes. Pure functions over caller-owned memory: no
 * allocation, no I/O, any thread. A message is a head, then a fixed number of 64-bit numbers and a
 * fixed number of texts for its type; anything else (another length, a text with a zero inside, a
 * byte behind the end) is refused, and the reader then closes the connection.
 * Both ends always are the same build (the launcher loads the agent that it carries), so there is
 * no negotiation: HELLO carries the build id and the launcher refuses another. */
#ifndef SP_WIRE_MSG_H
#define SP_WIRE_MSG_H

#include <stddef.h>
#include <stdint.h>

#define SP_MSG_MAX	  16384 /* bytes of one message, head included */
#define SP_MSG_NUMS	  24
#define SP_MSG_TEXTS	  19
#define SP_FLUSHED_PIECES 64 /* of a recording, with FLUSHED */
#define SP_MSG_FDS	  250 /* descriptors with one message: what Linux allows, nearly (SCM_MAX_FD) */

enum sp_msg_type {
	SP_MSG_HELLO = 1, /* agent: here I am. enum sp_hello_num; text: build id, JDK, version */
	SP_MSG_BUSY,	/* agent: refused, somebody else records. num: since (wall ns); text: who */
	SP_MSG_LOG,	/* agent: text: one sentence for the user */
	SP_MSG_PROBE,	/* launcher: which events can be had here? */
	SP_MSG_ROW,	/* agent: num: group, state; text: name, note */
	SP_MSG_PROBED,	/* agent: that was the table */
	SP_MSG_START,	/* launcher: enum sp_record_num; text: who, outputs (kept for a later
			 * launcher, not read), enum sp_record_text; fds: the output, and what the
			 * launcher itself samples, where it does: a recording that is put behind
			 * the output by who is left */
	SP_MSG_STARTED, /* agent */
	SP_MSG_PROGRESS, /* agent: enum sp_progress_num; text: Spark stages that run now */
	SP_MSG_STOP,	 /* launcher */
	SP_MSG_STOPPED,	 /* agent: enum sp_progress_num; text: outputs, what was asked for and
			  * never seen ("": all was); fd: the recording, for a launcher that did not
			  * start it */
	SP_MSG_FLUSH,	 /* launcher: make everything sampled so far durable */
	SP_MSG_FLUSHED,	 /* agent: enum sp_progress_num; text: outputs, what is not here any more;
			  * fds: as with STOPPED, then segments before it, oldest first */
	SP_MSG_DETACH,	 /* launcher: go on without me; once more after DETACHED, which has no
			  * answer: one that ends before that ends its recording */
	SP_MSG_DETACHED, /* agent */
	SP_MSG_STATUS,	 /* launcher */
	SP_MSG_STATE,  /* agent: num: recording 0/1, detached 0/1, since and its end by itself (wall
			* ns, 0: none), then enum sp_progress_num and sp_record_num; text: who, last
			* sentence, outputs, enum sp_record_text */
	SP_MSG_FAILED, /* agent: the request failed. num: errno; text: a sentence */
	SP_MSG_PERF_WANTED, /* agent: open perf events for me. num: thread (0: those that own the
			     * rings), ticket, stack window, interval in ns */
	SP_MSG_PERF, /* launcher: num: thread, ticket, process and thread as the records will name
		      * them, errno; fds: one per CPU, none with an errno */
	SP_MSG_MEMORY_WANTED,  /* launcher: open the memory of a process below you for me. num: its
				* pid, as you count */
	SP_MSG_MEMORY,	       /* agent: num: pid, errno; fd: /proc/PID/mem, none with an errno */
	SP_MSG_PYTHON_REFUSED, /* agent: a Python process that I may not read. num: its pid, as I
				* count */
	SP_MSG_OWNERS_WANTED,  /* launcher: which Java threads wait for a lock, and who has it? */
	SP_MSG_OWNERS,	       /* agent: text: a line each (agent/vm/lock_owners.h) */
	SP_MSG_TYPES
};

enum sp_hello_num { SP_HELLO_PID, SP_HELLO_UID, SP_HELLO_RECORDING, SP_HELLO_NUMS };
enum sp_progress_num {
	SP_PROGRESS_SAMPLES,
	SP_PROGRESS_LOST,
	SP_PROGRESS_TRUNCATED,
	SP_PROGRESS_UNKNOWN,
	SP_PROGRESS_BYTES,
	SP_PROGRESS_NUMS
};
#define SP_STATE_PROGRESS 4 /* first progress number in STATE */

/* What a recording is asked for (wire/record_options.h). */
#define SP_RECORD_NONE UINT64_MAX /* alloc, lock, nativelock, nativemem: not asked for */
enum sp_record_num {
	SP_RECORD_FLAGS,    /* enum sp_record_flag */
	SP_RECORD_INTERVAL, /* ns or events; 0: the event's default */
	SP_RECORD_WALL_NS,  /* beside the event; 0: not */
	SP_RECORD_ALLOC,
	SP_RECORD_LOCK_NS,
	SP_RECORD_NATIVELOCK_NS,
	SP_RECORD_NATIVEMEM,
	SP_RECORD_DEPTH,
	SP_RECORD_DEPTH_LEFT, /* frames that are left of a stack with more; 0: SP_RECORD_DEPTH */
	SP_RECORD_MEMORY,
	SP_RECORD_CHUNK_BYTES,
	SP_RECORD_CHUNK_NS,
	SP_RECORD_TIMEOUT_NS, /* 0: never */
	SP_RECORD_PROC_NS,    /* how often processes of the machine are looked at; 0: never */
	SP_RECORD_NUMS
};
enum sp_record_flag {
	SP_RECORD_LIVE = 1,	/* only objects that are still alive */
	SP_RECORD_ALLOCS = 2,	/* … and all others too */
	SP_RECORD_NOFREE = 4,	/* do not follow free */
	SP_RECORD_NOREDACT = 8, /* command lines as they are */
	SP_RECORD_APPEND = 16,	/* the output holds a recording: go on behind it */
	SP_RECORD_STREAM = 32,	/* the output is a pipe */
	SP_RECORD_ALLUSER = 64, /* perf events count in user mode only */
	SP_RECORD_TTSP = 128,	/* only while the JVM waits for a safepoint */
	SP_RECORD_NOSTOP = 256, /* begin and end are noted, and all is sampled */
	SP_RECORD_VTABLE = 512, /* classes of receivers on stubs for calls by table */
	SP_RECORD_LEFT = 2048,	/* the launcher goes while it records, and another may not come */
	SP_RECORD_COMPTASK = 1024, /* methods being compiled in stacks of compilers */
};
enum sp_record_text {
	SP_RECORD_EVENT,      /* "calls", "trace" and hooks' names where nothing else is sampled */
	SP_RECORD_METHODS,    /* "Class.method:every;…" */
	SP_RECORD_TRACE,      /* "Class.method:time;…" */
	SP_RECORD_CSTACK,     /* native frames to keep: "no", "vm" …; "": all */
	SP_RECORD_KERNEL,     /* "off": no kernel frames */
	SP_RECORD_CAPTURE,    /* "ring", "signal"; "": the agent chooses */
	SP_RECORD_PERF,	      /* "passed": the launcher opens perf events; "leaves": it could */
	SP_RECORD_PYTHON,     /* Python below the JVM, by the agent: "auto" (""), "on", "off";
			       * "launcher": that does it */
	SP_RECORD_FILTER,     /* thread ids */
	SP_RECORD_THREAD,     /* pattern of thread names */
	SP_RECORD_TARGET_CPU, /* only what runs there is sampled; "": everywhere */
	SP_RECORD_BEGIN,      /* native function from whose call on is sampled; "": always */
	SP_RECORD_END,	      /* … until one of this one; "": to the end */
	SP_RECORD_DRIVER_UI,
	SP_RECORD_LOOP,	 /* a file per so long that the agent names and opens itself: "1h /x-%t.jfr"
			  */
	SP_RECORD_GIVEN, /* STATE: the words of -agentpath, to be shown only */
	SP_RECORD_TEXTS
};
#define SP_START_RECORD_TEXT 2 /* first of them in START and STATE */
#define SP_STATE_RECORD_TEXT 3
#define SP_STATE_RECORD_NUM  (SP_STATE_PROGRESS + SP_PROGRESS_NUMS)

struct sp_msg {
	enum sp_msg_type type;
	uint64_t num[SP_MSG_NUMS];
	const char *text[SP_MSG_TEXTS]; /* terminated; decoded ones are borrowed from the bytes */
};

/* How many of each @type carries; an unknown type has none and max_fds -1. */
struct sp_msg_shape {
	int nums, texts, max_fds;
};
struct sp_msg_shape sp_msg_shape(unsigned type);

/* Writes @m to @buf of @cap bytes (SP_MSG_MAX is always enough or -EMSGSIZE). A NULL text is "".
 * Returns the length, -EMSGSIZE if it does not fit, -EINVAL for an unknown type. */
int sp_msg_encode(const struct sp_msg *m, void *buf, size_t cap);

/* Reads exactly one message from @n bytes. Returns 0, or -EBADMSG and *ret untouched. */
int sp_msg_decode(const void *buf, size_t n, struct sp_msg *ret);

#endif

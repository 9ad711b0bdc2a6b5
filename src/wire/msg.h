/* The messages between launcher and agent, as bytes. Pure functions over caller-owned memory: no
 * allocation, no I/O, any thread. A message is a head, then a fixed number of 64-bit numbers and a
 * fixed number of texts for its type; anything else (another length, a text with a zero inside, a
 * byte behind the end) is refused, and the connection is then closed by whoever reads it.
 * Both ends always are the same build (the launcher loads the agent that it carries), so there is
 * no negotiation: HELLO carries the build id and the launcher refuses another. */
#ifndef SP_WIRE_MSG_H
#define SP_WIRE_MSG_H

#include <stddef.h>
#include <stdint.h>

#define SP_MSG_MAX	  16384 /* bytes of one message, head included */
#define SP_MSG_NUMS	  9
#define SP_MSG_TEXTS	  4
#define SP_FLUSHED_PIECES 64 /* of a recording, with FLUSHED */
#define SP_MSG_FDS	  250 /* descriptors with one message: what Linux allows, nearly (SCM_MAX_FD) */

enum sp_msg_type {
	SP_MSG_HELLO = 1, /* agent: here I am. enum sp_hello_num; text: build id, JDK, version */
	SP_MSG_BUSY,	/* agent: refused, somebody else records. num: since (wall ns); text: who */
	SP_MSG_LOG,	/* agent: text: one sentence for the user */
	SP_MSG_PROBE,	/* launcher: which events can be had here? */
	SP_MSG_ROW,	/* agent: num: group, state; text: name, note */
	SP_MSG_PROBED,	/* agent: that was the table */
	SP_MSG_START,	/* launcher: text: options (agent/options/args.h), who, outputs (kept for a
			 * later   launcher, not read); fd: the output */
	SP_MSG_STARTED, /* agent */
	SP_MSG_PROGRESS, /* agent: enum sp_progress_num; text: Spark stages that run now */
	SP_MSG_STOP,	 /* launcher */
	SP_MSG_STOPPED,	 /* agent: enum sp_progress_num; text: outputs, what was asked for and
			  * never seen ("": all was); fd: the recording, for a launcher that did not
			  * start it */
	SP_MSG_FLUSH,	 /* launcher: make everything sampled so far durable */
	SP_MSG_FLUSHED,	 /* agent: enum sp_progress_num; text: outputs, what is not here any more;
			  * fds: as with STOPPED, then pieces before it, oldest first */
	SP_MSG_DETACH,	 /* launcher: go on without me; once more after DETACHED, which has no
			  * answer: one that ends before that ends its recording */
	SP_MSG_DETACHED, /* agent */
	SP_MSG_STATUS,	 /* launcher */
	SP_MSG_STATE,  /* agent: num: recording 0/1, detached 0/1, since and its end by itself (wall
			* ns, 0: none), then enum sp_progress_num; text: who, options, last sentence,
			* outputs */
	SP_MSG_FAILED, /* agent: the request failed. num: errno; text: a sentence */
	SP_MSG_PERF_WANTED, /* agent: open perf events for me. num: thread (0: those that own the
			     * rings), ticket, stack window, interval in ns */
	SP_MSG_PERF, /* launcher: num: thread, ticket, process and thread as the records will name
		      * them, errno; fds: one per CPU, none with an errno */
	SP_MSG_MEMORY_WANTED, /* launcher: open the memory of a process below you for me. num: its
			       * pid, as you count */
	SP_MSG_MEMORY,	      /* agent: num: pid, errno; fd: /proc/PID/mem, none with an errno */
	SP_MSG_OWNERS_WANTED, /* launcher: which Java threads wait for a lock, and who has it? */
	SP_MSG_OWNERS,	      /* agent: text: a line each (agent/vm/lock_owners.h) */
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

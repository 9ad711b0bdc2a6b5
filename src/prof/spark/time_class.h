/* What a thread's time went to: computing, or waiting for which of the things that Spark's
 * tasks wait for. Each sample has exactly one answer, by its stack and its state; the first of
 * these that applies:
 *
 *  0. a stack of Python is its worker's: Python CPU or serialisation where it runs, the latter
 * where the function nearest to the leaf is of pickle, Arrow or pyspark's serialisers; where it
 * waits in one of those, it waits for the JVM, else it is blocked
 *  1. idle             a thread of a pool that waits for its next job; also, as it waits, a loop
 *                      for events or messages, and a thread of the JVM itself
 *  2. GC               held at a safepoint, or waiting for a collection, in whatever it did; but
 *     safepoint        where the recording says that the JVM did not collect then
 *  3. codegen compile  below Spark's CodeGenerator or Janino, also while another thread compiles
 *  4. shuffle write    below the streams that Spark counts as its shuffle write time
 *  5. task launch and result: a task's thread before and after what Spark counts as its run time
 *  6. a thread that waits: for what the frame nearest to the leaf represents that is not the JDK's,
 *     Scala's, a serialiser's or a codec's: JVM waits for Python, shuffle read wait, HDFS/S3,
 *     network; a pipe or child process; disk in RocksDB, whose own threads write, and where a
 *     shuffle file is finished; class initialisation where another thread does that; else by its
 *     state: disk, network, lock, sleep; in a native SQL engine lock where the state is unknown
 *  7. one that does not: disk or network where its own call is one on a file or a socket, spinning
 *     where it tries to get a monitor, serialisation where a serialiser's frame is the nearest,
 *     else CPU
 *
 * A thread that is runnable has no core: that is what it waits for, also where it was woken inside
 * of a call that blocks, and in 3 and 5. 1, 4 and the shuffle read wait are what they are all the
 * same, for Spark's own clocks of these go on in there. What remains is "other". */
#ifndef SP_PROF_SPARK_TIME_CLASS_H
#define SP_PROF_SPARK_TIME_CLASS_H

#include "prof/model/profile.h"

/* What a row is called in its state that is of that kind (load/gc_share.h). */
#define SP_STATE_SAFEPOINT "safepoint"

enum sp_time_class {
	SP_TIME_CLASS_CPU,
	SP_TIME_CLASS_SPIN, /* CPU as well */
	SP_TIME_CLASS_CORE, /* has none */
	SP_TIME_CLASS_GC,
	SP_TIME_CLASS_SAFEPOINT, /* held at one while nothing is collected */
	SP_TIME_CLASS_SHUFFLE_READ,
	SP_TIME_CLASS_SHUFFLE_WRITE,
	SP_TIME_CLASS_SERIALISATION,
	SP_TIME_CLASS_STORAGE,
	SP_TIME_CLASS_DISK,
	SP_TIME_CLASS_NETWORK,
	SP_TIME_CLASS_CHILD, /* a pipe, or a program that was started */
	SP_TIME_CLASS_LOCK,
	SP_TIME_CLASS_INIT, /* another thread initialises the class */
	SP_TIME_CLASS_PYTHON,
	SP_TIME_CLASS_COMPILE,
	SP_TIME_CLASS_LAUNCH,
	SP_TIME_CLASS_WORKER,	      /* a Python worker computes … */
	SP_TIME_CLASS_WORKER_SERIAL,  /* … pickles, or copies from and to Arrow */
	SP_TIME_CLASS_WORKER_FOR_JVM, /* … waits for the JVM to send or to take */
	SP_TIME_CLASS_WORKER_WAIT,    /* … waits for something else */
	SP_TIME_CLASS_SLEEP,
	SP_TIME_CLASS_IDLE,
	SP_TIME_CLASS_OTHER,
	SP_TIME_CLASS_KINDS
};

/* "CPU", "shuffle read wait" … */
const char *sp_time_class_name(enum sp_time_class spent);

/* @state: as samples have it: "running", "lock", "net" …; "": unknown, as running. */
enum sp_time_class sp_time_class_of_stack(const struct sp_dict *d,
	const struct sp_frame_ref *frames, uint32_t count, const char *state);

/* The same for many rows of one profile: stacks and frames are looked at once. */
struct sp_time_class_of;

/* @p is borrowed until sp_time_class_free. Returns 0 or -ENOMEM. */
__attribute__((warn_unused_result)) int sp_time_class_new(
	struct sp_time_class_of **ret, const struct sp_profile *p);
void sp_time_class_free(struct sp_time_class_of *s);

static inline void sp_time_class_cleanup(struct sp_time_class_of **s)
{
	sp_time_class_free(*s);
}

#define SP_AUTO_TIME_CLASS __attribute__((cleanup(sp_time_class_cleanup)))
enum sp_time_class sp_time_class_of_row(struct sp_time_class_of *s, const struct sp_sample *row);

/* Whether a stack of a task's thread lies outside of what Spark counts as the task's run time. */
bool sp_time_class_launches(struct sp_time_class_of *s, uint32_t stack);

/* Whether a stack lies in a call that blocks: a lock, a socket, a sleep. A thread that is runnable
 * there was woken and does not compute. */
bool sp_time_class_blocks(struct sp_time_class_of *s, uint32_t stack);

/* Whether a stack is held at a safepoint, rather than for a collection that goes on beside the
 * threads. */
bool sp_time_class_stops(struct sp_time_class_of *s, uint32_t stack);

/* Which of Spark's own clocks goes on in a row, whatever the thread is held by meanwhile: that of
 * shuffle read waits or of shuffle writes; SP_TIME_CLASS_OTHER: none. */
enum sp_time_class sp_time_class_clock(struct sp_time_class_of *s, const struct sp_sample *row);

enum sp_time_class_asks {
	SP_TIME_CLASS_ASKS_NOTHING,
	SP_TIME_CLASS_ASKS_DRIVER,
	SP_TIME_CLASS_ASKS_BROADCAST
};

/* What a stack blocks for: until the driver has answered, or until a broadcast is there. */
enum sp_time_class_asks sp_time_class_asks(struct sp_time_class_of *s, uint32_t stack);

/* Stacks of the same class in every state are of one kind. Kinds are numbered from 0 as they are
 * met; there are few. Returns -ENOMEM, or the number. */
int sp_time_class_kind(struct sp_time_class_of *s, uint32_t stack);
unsigned sp_time_class_kinds(const struct sp_time_class_of *s);
enum sp_time_class sp_time_class_of_kind(
	const struct sp_time_class_of *s, unsigned kind, const char *state);

#endif

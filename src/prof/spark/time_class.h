/* What a thread's time was spent on: computing, or waiting for which of the things that Spark's
 * tasks wait for. Each sample has exactly one answer, by its stack and its state; the first of
 * these that applies:
 *
 *  0. a stack of Python is its worker's: Python CPU or serialisation where it runs, the latter
 * where the function nearest to the leaf is of pickle, Arrow or pyspark's serialisers; where it
 * waits in one of those, it waits for the JVM
 *  1. idle             a thread of a pool that waits for its next job; also, as it waits, a loop
 *                      for events or messages, and a thread of the JVM itself
 *  2. GC               held at a safepoint, or waiting for a collection, in whatever it did
 *  3. codegen compile  below Spark's CodeGenerator or Janino, also while another thread compiles
 *  4. shuffle write    below the streams that Spark counts as its shuffle write time
 *  5. a thread that waits: for what the frame nearest to the leaf stands for that is not the JDK's,
 *     Scala's, a serialiser's or a codec's: Python wait, shuffle read wait, HDFS/S3, network; else
 *     by its state: disk, network, lock, sleep; in a native SQL engine lock where that is not told
 *  6. one that does not: disk or network where its own call is one on a file or a socket,
 *     serialisation where a serialiser's frame is the nearest, else CPU
 *
 * A thread that is runnable inside of a call that blocks was woken and has no core yet: it still
 * waits (but not for GC: a collection that is over holds nobody). What remains is "other". */
#ifndef SP_PROF_SPENT_H
#define SP_PROF_SPENT_H

#include "prof/profile.h"

enum sp_spent {
	SP_SPENT_CPU,
	SP_SPENT_GC,
	SP_SPENT_SHUFFLE_READ,
	SP_SPENT_SHUFFLE_WRITE,
	SP_SPENT_SERIALISATION,
	SP_SPENT_STORAGE,
	SP_SPENT_DISK,
	SP_SPENT_NETWORK,
	SP_SPENT_LOCK,
	SP_SPENT_PYTHON,
	SP_SPENT_COMPILE,
	SP_SPENT_WORKER,	 /* a Python worker computes … */
	SP_SPENT_WORKER_SERIAL,	 /* … pickles, or copies from and to Arrow */
	SP_SPENT_WORKER_FOR_JVM, /* … waits for the JVM to send or to take */
	SP_SPENT_WORKER_WAIT,	 /* … waits for something else */
	SP_SPENT_SLEEP,
	SP_SPENT_IDLE,
	SP_SPENT_OTHER,
	SP_SPENT_KINDS
};

/* "CPU", "shuffle read wait" … */
const char *sp_spent_name(enum sp_spent spent);

/* @state: as samples have it: "running", "lock", "net" …; "": not told, as running. */
enum sp_spent sp_spent_of_stack(const struct sp_dict *d, const struct sp_frame_ref *frames,
	uint32_t count, const char *state);

/* The same for many rows of one profile: stacks and frames are looked at once. */
struct sp_spent_of;

/* @p is borrowed until sp_spent_free. Returns 0 or -ENOMEM. */
int sp_spent_new(struct sp_spent_of **ret, const struct sp_profile *p);
void sp_spent_free(struct sp_spent_of *s);
enum sp_spent sp_spent_of_row(struct sp_spent_of *s, const struct sp_sample *row);

/* Stacks that tell the same in every state are of one kind. Kinds are numbered from 0 as they are
 * met; there are few. Returns -ENOMEM, or the number. */
int sp_spent_kind(struct sp_spent_of *s, uint32_t stack);
unsigned sp_spent_kinds(const struct sp_spent_of *s);
enum sp_spent sp_spent_of_kind(const struct sp_spent_of *s, unsigned kind, const char *state);

#endif

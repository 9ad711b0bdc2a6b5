/* Inside of the segments: what they hold. Nobody else includes this. */
#ifndef SP_AGENT_OUTPUT_SEGMENTS_INTERNAL_H
#define SP_AGENT_OUTPUT_SEGMENTS_INTERNAL_H

#include "segments.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define SP_SEGMENTS_PATH 4096

struct sp_segment {
	uint64_t round;
	time_t time;
	uint64_t turn;	  /* of loop= in the cluster: the file that it goes to, from 1 */
	time_t turn_time; /* when that began */
	bool clash;	  /* another JVM has the plain name */
	bool marked;	  /* the segment before has the same name but for the round */
	bool complete;
	uint64_t bytes, samples;
};

struct sp_segments {
	_Atomic uint32_t holders;
	char pattern[sizeof(((struct sp_args *)0)->file)];
	char remote[sizeof(((struct sp_args *)0)->file)]; /* "": the files stay here */
	char end[40]; /* what names end in, where that is more than an extension: ".html.jfr" */
	uint64_t loop, maxdisk;	   /* how long a segment is (arg_values.h), or 0 */
	uint64_t turn;		   /* loop= of a recording that goes to the cluster, else 0 */
	uint64_t loop_ns, turn_ns; /* of those in hand */
	bool numbered; /* a number goes before the extension: the pattern gives all rounds one name
			*/
	bool shared;   /* another JVM has the same names: ours have the pid in them */
	int claim_fd;  /* -1: none */
	void (*failed)(struct sp_segments *p); /* NULL: not needed */
	struct sp_spark_identity id;
	char stand_in[320];	     /* for an id that is not known */
	pthread_mutex_t lock;	     /* for what follows: others ask for the name */
	char path[SP_SEGMENTS_PATH]; /* of the segment in hand, from the root on; "" unknown */
	time_t started;
	struct sp_segment now;
	uint64_t began_ns, turn_began_ns, retry_ns;
	bool over;    /* there is no segment in hand any more */
	size_t taken; /* how many, the oldest ones, are being uploaded */
	bool woken;
	_Atomic bool hurry;
	pthread_cond_t came;
	struct sp_segment *done; /* oldest first */
	size_t n_done, cap;
	uint64_t done_bytes;
	uint64_t sent, sent_samples; /* segments that are in the cluster, and no longer here */
};

/* segment_name.c: the name of a file here, in @ret of SP_SEGMENTS_PATH bytes. Returns 0 or -errno
 * with a sentence. */
int sp_segments_name(const struct sp_segments *p, const struct sp_spark_identity *id,
	const struct sp_segment *x, char *ret, struct sp_err *err);

/* segment_name_claim.c: keeps @path and what follows it for this JVM, until claim_fd is closed.
 * Returns false where another JVM has it, which lives; true also where that cannot be known. */
bool sp_segments_claim(struct sp_segments *p, const char *path);

/* Drops complete segment @i, and its file, under the lock. Returns whether that was there. */
bool sp_segments_remove(struct sp_segments *p, size_t i);

#endif

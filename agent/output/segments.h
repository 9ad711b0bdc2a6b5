/* The files of a JVM that records from its start: named after file=, made with their directories,
 * and one segment after another where loop= or maxdisk= want it. Where the name wants ids that are
 * not known yet, a file bears a name for the time being and is renamed when they are. Where file=
 * is of the cluster (hdfs://…), the segments lie in localdir= until they were copied there.
 * Context: opened before the recording starts, then the collector's; where it says so, any
 * thread. */
#ifndef SP_AGENT_OUTPUT_SEGMENTS_H
#define SP_AGENT_OUTPUT_SEGMENTS_H

#include "base/err.h"
#include "options/args.h"
#include "spark/spark_identity.h"

#include <stddef.h>

struct sp_segments;

/* Opens the first segment. *ret_fd is the caller's. Nobody else writes to the file: one that
 * another JVM has open gets this process's id into its name. Returns 0, or -errno with a sentence
 * that names the file; nothing is left then. */
__attribute__((warn_unused_result)) int sp_segments_new(struct sp_segments **ret,
	const struct sp_args *args, const struct sp_spark_identity *id, int *ret_fd,
	struct sp_err *err);
/* Goes on, after sp_segments_finish, in a file beside the others. As sp_segments_new; one that
 * cannot be opened changes nothing. */
int sp_segments_again(struct sp_segments *p, int *ret_fd, struct sp_err *err);

/* What is called, by the collector and after sp_segments_finish, when the segment in hand can be
 * written no more. */
void sp_segments_on_failure(struct sp_segments *p, void (*failed)(struct sp_segments *p));
void sp_segments_failed(struct sp_segments *p);

/* Two may hold it: who has freed last frees it. */
struct sp_segments *sp_segments_ref(struct sp_segments *p);
void sp_segments_free(struct sp_segments *p);

/* Is @file of the cluster: does it begin with a scheme and a slash (hdfs:///x, dbfs:/x), not file:?
 */
bool sp_segments_is_remote(const char *file);

/* Ends the segment in hand at the next look. Any thread. */
void sp_segments_hurry(struct sp_segments *p);

/* No segment follows the current one, which is complete with @bytes and @samples. */
void sp_segments_finish(struct sp_segments *p, uint64_t bytes, uint64_t samples);

/* For segments that wait. Any thread, one at a time.
 * wait: until there is one, until @timeout_ns is over, or sp_segments_wake(). Returns how many
 * there are. take: opens the oldest, at most @max, for reading; the caller closes them, and says
 * sent, which removes them, or keep. Returns how many. */
size_t sp_segments_wait(struct sp_segments *p, uint64_t timeout_ns);
void sp_segments_wake(struct sp_segments *p);
size_t sp_segments_take(struct sp_segments *p, int *ret_fds, size_t max);
void sp_segments_sent(struct sp_segments *p);
void sp_segments_keep(struct sp_segments *p);

/* For who makes reports. reports: are segments to become some? oldest: the name of the oldest
 * complete segment, which is taken; false: there is none. */
bool sp_segments_reports(const struct sp_segments *p);
bool sp_segments_oldest(struct sp_segments *p, char *ret, size_t size);

/* For a dump of a recording that goes to the cluster: opens for reading the complete segments that
 * are still here, oldest first, at most @max; the caller closes them. @in_hand: the segment in
 * hand, which is not among them. @ret_gone: a sentence about those that are not here any more, or
 * "". Returns how many. Any thread. */
size_t sp_segments_here(
	struct sp_segments *p, int in_hand, int *ret_fds, size_t max, char *ret_gone, size_t size);

/* Where loop= is given each turn of it has a file of its own in the cluster. This is that of the
 * oldest segment; segments that are taken together are of one turn. Any thread. */
struct sp_turn {
	uint64_t number; /* from 1 */
	uint64_t keep;	 /* turns that are kept there, by %n{MAX}; 0: all */
	bool named;	 /* each has a name of its own, by %n or %t */
};
struct sp_turn sp_segments_turn(struct sp_segments *p);

/* The name in the cluster of the file for the oldest segment; with @n > 0 a number before the
 * extension. Returns 0; -EAGAIN where the
 * ids are not known yet; -errno with a sentence. Any thread. */
int sp_segments_remote(
	struct sp_segments *p, unsigned n, char *ret, size_t size, struct sp_err *err);

/* The ids by now. Renames what lacks them. */
void sp_segments_identify(struct sp_segments *p, const struct sp_spark_identity *id);

/* Is the segment, of @bytes by now, to end? */
bool sp_segments_due(const struct sp_segments *p, uint64_t now_ns, uint64_t bytes);

/* Opens the next segment. Returns its descriptor, the caller's, or -errno with a sentence; then the
 * segment in hand goes on, and the next look is a while later. */
int sp_segments_next(struct sp_segments *p, uint64_t now_ns, struct sp_err *err);

/* The segment before the one that was opened last is complete, with @bytes and @samples. */
void sp_segments_ended(struct sp_segments *p, uint64_t bytes, uint64_t samples);

/* Removes the oldest segments until all of them, with @bytes in hand, fit into maxdisk=. Returns
 * the samples that went with them. */
uint64_t sp_segments_fit(struct sp_segments *p, uint64_t bytes);

/* The segment in hand as launchers name outputs (wire/msg.h, START); "" where it cannot be said.
 * Returns @buf. */
const char *sp_segments_outputs(struct sp_segments *p, char *buf, size_t size);

/* The directory in which they lie, from the root on; "." where that is not known. Any thread.
 * Returns
 * @buf. */
const char *sp_segments_where(struct sp_segments *p, char *buf, size_t size);

/* Removes the segment in hand: the recording did not start. */
void sp_segments_discard(struct sp_segments *p);

#endif
